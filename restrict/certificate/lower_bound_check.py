"""The fast check of lower bounds: the twin of ``restrict/checker/lower_bound.py``, by ordered rows.

The trusted checker streams every row of scores once and keeps what lies above a floor. Here a row's best pairs come
from the kernels, best first and on demand, and a box walks down the list: pairs that it rules out are skipped, and the
first position of which every possible pair has been passed is the floor (docs/trusted-base.md, rule 4). Rows do not
depend on the box, so all boxes share them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from restrict.abstract.rows import CONSTANT, Row, Values
from restrict.certificate.certificate import position_of
from restrict.certificate.hitting_tree import HittingTree, Uncovered
from restrict.certificate.lower_bound import Box, LowerBound, has_label, symbol_bits
from restrict.errors import ModelError, NotEstablished, UsageError, quote
from restrict.model.program import Head, Instance, Map, mentions

FIRST_PAIRS = 48
Pairs = list[tuple[int, int]]


class _List:
    """The pairs of a row, best first, extended on demand."""

    def __init__(self, row: Row, keys: Values) -> None:
        self.row, self.keys = row, keys
        self.pairs: Pairs = []
        self.complete = False

    def reaches(self, t: int) -> bool:
        """Whether there is a ``t``-th pair."""
        while t >= len(self.pairs) and not self.complete:
            j, w, self.complete = self.row.best(self.keys, 8 * len(self.pairs) or FIRST_PAIRS)
            self.pairs = list(zip(j.tolist(), w.tolist(), strict=True))
        return t < len(self.pairs)


class BoxRun:
    """The abstract run under boxes, at one instance; rows are shared between boxes."""

    def __init__(self, at: Instance) -> None:
        self.at = at
        self.lists: dict[tuple[str, int, int], _List] = {}
        self.keys: dict[str, Values] = {}
        self.facts: dict[tuple[str, int], Collection[int]] = {}

    def values(self, name: str, i: int) -> Collection[int]:
        """V of a node under the present box."""
        if name == "position":
            return (i,)
        fact = self.facts.get((name, i))
        if fact is None:
            return range(len(self.at.model.alphabet) if name == "token" else self.at.domains[name])
        return fact

    def under(self, symbols: Mapping[int, Collection[int]], cone: Mapping[str, Sequence[int]], where: int) -> list[int]:
        """The values that the output can take at a position.

        Args:
            symbols: the allowed symbols (indices) at the box's positions.
            cone: the nodes to examine.
            where: the position of the output.

        Returns:
            Ascending. Cost: a walk for each head of the cone and each value of its query; rows on first use.
        """
        self.facts = {("token", i): (value,) for i, value in self.at.pinned.items()}
        self.facts.update({("token", i): frozenset(allowed) for i, allowed in symbols.items()})
        for variable in self.at.model.variables:
            for i in cone.get(variable.name, ()):
                found = self._head(variable, i) if isinstance(variable, Head) else self._map(variable, i)
                self.facts[variable.name, i] = frozenset(found)
        return sorted(self.values(self.at.model.output.variable, where))

    def _map(self, variable: Map, i: int) -> set[int]:
        sets = [sorted(self.values(a, i)) for a in variable.args]
        return {int(v) for v in np.unique(self.at.map_values(variable, i, sets))}

    def _head(self, head: Head, i: int) -> set[int]:
        first, stop = self.at.visible(head, i)
        if first >= stop:
            return {head.default}
        query, full = self.at.query(head), self.at.domains[head.value]
        found: set[int] = set()
        for u in sorted(self.values(query, i)) if query else (0,):
            for j, w in self._candidates(head, i, u):
                if head.value == self.at.key(head):
                    found.add(w)
                elif j == i and head.value == query:
                    found.add(u)
                else:
                    found.update(self.values(head.value, j))
                if len(found) >= full:
                    return found
        return found

    def _candidates(self, head: Head, i: int, u: int) -> Iterator[tuple[int, int]]:
        """The possible pairs of a row, best first, down to the floor."""
        key, left, t = self.at.key(head), dict[int, int](), 0
        own = key is not None and key == self.at.query(head)
        row = self._list(head, i, u)
        while row.reaches(t):
            j, w = row.pairs[t]
            t += 1
            possible = (0,) if key is None else (u,) if own and j == i else self.values(key, j)
            if w not in possible:
                continue
            yield j, w
            left[j] = left.get(j, len(possible)) - 1
            if left[j] == 0:
                return

    def _list(self, head: Head, i: int, u: int) -> _List:
        shared = "i" not in mentions(head) and head.mask == "none" and self.at.query(head) != self.at.key(head)
        slot = (head.name, -1 if shared else i, u)
        if slot not in self.lists:
            self.lists[slot] = _List(Row(self.at, head, i, u), self._keys(self.at.key(head)))
        return self.lists[slot]

    def _keys(self, key: str | None) -> Values:
        """The values of a key where no box says more."""
        if key is None:
            return CONSTANT
        if key not in self.keys:
            if key == "position":
                self.keys[key] = Values.make(1, {j: (j,) for j in range(self.at.n)})
            elif key == "token":
                pinned = {j: (value,) for j, value in self.at.pinned.items()}
                self.keys[key] = Values.make(len(self.at.model.alphabet), pinned)
            else:
                self.keys[key] = Values.make(self.at.domains[key], {})
        return self.keys[key]


def indices(bits: int) -> tuple[int, ...]:
    """The set bits, ascending."""
    return tuple(t for t, bit in enumerate(reversed(bin(bits)[2:])) if bit == "1")


def check_lower_bound_fast(at: Instance, bound: LowerBound) -> str:
    """The checker's verdict by the fast run: the success line without the digest.

    Args:
        at: the model at the bound's length.
        bound: what is claimed.

    Raises:
        ModelError: the bound is for another model, or names what the model does not have.
        NotEstablished: it does not follow from the boxes.
        ResourceLimit: a tree or a row is too large.

    Cost: one scan of each row that a box needs, a walk for each box, and the trees.
    """
    where = _check_form(at, bound)
    run, output = BoxRun(at), at.model.output
    families = [symbol_bits(at.model, box) for box in bound.boxes]
    labels = []
    for box, bits in zip(bound.boxes, families, strict=True):
        symbols = {position: indices(allowed) for position, allowed in bits.items()}
        labels.append({output.label(v) for v in run.under(symbols, box.cone, where)})
    everything = (1 << len(at.model.alphabet)) - 1
    claims: dict[str | None, int] = dict(bound.labels)
    if bound.others is not None:
        seen = set().union(*labels) - set(bound.labels)
        claims |= dict.fromkeys(seen, bound.others) | {None: bound.others}
    for label, least in claims.items():
        boxes = [bits for bits, found in zip(families, labels, strict=True) if label not in found]
        try:
            HittingTree(boxes, everything, least - 1).run()
        except Uncovered as error:
            place = f"claim.labels.{label}" if label in bound.labels else "claim.others"
            raise NotEstablished(
                f"{place}: {least} claimed, but {len(error.node.symbols)} positions conflict with all boxes "
                f"without the label{'' if label is None else ' ' + quote(label)}"
            ) from None
    return bound.text(at.model)


def _check_form(at: Instance, bound: LowerBound) -> int:
    """What a bound must have in common with the model; returns the position of the target."""
    if bound.sha256 != at.model.digest or bound.model_name != at.model.name:
        raise ModelError(f"model: the bound is for another model ({bound.model_name!r}, {bound.sha256})")
    try:
        where = position_of(at, bound.target)
    except UsageError as error:
        raise ModelError(f"target: {error}") from None
    assert where is not None
    size = at.domains[at.model.output.variable]
    unknown = next((label for label in bound.labels if not has_label(at.model.output, size, label)), None)
    if unknown is not None:
        raise ModelError(f"claim.labels: {quote(unknown)} is no label of the output")
    for number, box in enumerate(bound.boxes):
        _check_box(at, box, f"boxes[{number}]")
    return where


def _check_box(at: Instance, box: Box, place: str) -> None:
    pinned = next((p for p in (*box.only, *box.never) if p in at.pinned), None)
    if pinned is not None:
        raise ModelError(f"{place}: position {pinned} holds a marker")
    unknown = next((name for name in box.cone if name not in at.model.by_name), None)
    if unknown is not None:
        raise ModelError(f"{place}.cone: {quote(unknown)} is no map or head of the model")
