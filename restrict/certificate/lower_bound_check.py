"""The fast check of lower bounds: the twin of ``restrict/checker/lower_bound.py``, by ordered rows.

The trusted checker streams every row of scores once and keeps what lies above a floor. Here a row's best pairs come
from the kernels, best first and on demand, and each box walks down the list. Pairs that the box rules out are skipped.
The first position of which every possible pair has been passed gives the floor (docs/trusted-base.md, rule 4). Rows do
not depend on the box, so all boxes share them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from restrict.abstract.rows import CONSTANT, Row, Values
from restrict.certificate.hitting_tree import HittingTree, Uncovered
from restrict.certificate.lower_bound import Box, LowerBound, has_label, symbol_bits
from restrict.errors import ModelError, NotEstablished, UsageError, quote
from restrict.model.program import Head, Instance, Map, mentions
from restrict.task import position_of

FIRST_PAIRS = 48
Pairs = list[tuple[int, int]]
Cone = Mapping[str, Sequence[int]]


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

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.lists: dict[tuple[str, int, int], _List] = {}
        self.keys: dict[str, Values] = {}
        self.facts: dict[tuple[str, int], Collection[int]] = {}

    def values(self, name: str, i: int) -> Collection[int]:
        """V of a node under the present box.

        Args:
            name: ``"token"``, ``"position"`` or a variable.
            i: the position, 0..n - 1.

        Returns:
            Value indices; for ``"token"`` symbol indices.
        """
        if name == "position":
            return (i,)
        fact = self.facts.get((name, i))
        if fact is None:
            return range(len(self.instance.model.alphabet) if name == "token" else self.instance.domains[name])
        return fact

    def under(
        self, symbols: Mapping[int, Collection[int]], cone: Mapping[str, Sequence[int]], position: int
    ) -> list[int]:
        """The values that the output can take at a position.

        Args:
            symbols: the allowed symbols (indices) at the box's positions.
            cone: the nodes to examine.
            position: where the output is.

        Returns:
            The values, ascending. Cost: a walk for each head node of the cone and each value of its query; rows are
            scanned on first use.
        """
        self.facts = {("token", i): (value,) for i, value in self.instance.pinned.items()}
        self.facts.update({("token", i): frozenset(allowed) for i, allowed in symbols.items()})
        for variable in self.instance.model.variables:
            for i in cone.get(variable.name, ()):
                found = self._head(variable, i) if isinstance(variable, Head) else self._map(variable, i)
                self.facts[variable.name, i] = frozenset(found)
        return sorted(self.values(self.instance.model.output.variable, position))

    def _map(self, variable: Map, i: int) -> set[int]:
        sets = [sorted(self.values(a, i)) for a in variable.args]
        return {int(v) for v in np.unique(self.instance.map_values(variable, i, sets))}

    def _head(self, head: Head, i: int) -> set[int]:
        first, stop = self.instance.visible(head, i)
        if first >= stop:
            return {head.default}
        query, full = self.instance.query(head), self.instance.domains[head.value]
        found: set[int] = set()
        for u in sorted(self.values(query, i)) if query else (0,):
            for j, w in self._candidates(head, i, u):
                if head.value == self.instance.key(head):
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
        key, left, t = self.instance.key(head), dict[int, int](), 0
        own = key is not None and key == self.instance.query(head)
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
        shared = (
            "i" not in mentions(head) and head.mask == "none" and self.instance.query(head) != self.instance.key(head)
        )
        slot = (head.name, -1 if shared else i, u)
        if slot not in self.lists:
            self.lists[slot] = _List(Row(self.instance, head, i, u), self._keys(self.instance.key(head)))
        return self.lists[slot]

    def _keys(self, key: str | None) -> Values:
        """The values of a key where no box says more."""
        if key is None:
            return CONSTANT
        if key not in self.keys:
            if key == "position":
                self.keys[key] = Values.make(1, {j: (j,) for j in range(self.instance.n)})
            elif key == "token":
                pinned = {j: (value,) for j, value in self.instance.pinned.items()}
                self.keys[key] = Values.make(len(self.instance.model.alphabet), pinned)
            else:
                self.keys[key] = Values.make(self.instance.domains[key], {})
        return self.keys[key]


def indices(bits: int) -> tuple[int, ...]:
    """The set bits, ascending.

    Args:
        bits: a bit mask, at least 0.

    Returns:
        The numbers of its set bits.
    """
    return tuple(t for t, bit in enumerate(reversed(bin(bits)[2:])) if bit == "1")


def check_lower_bound_fast(instance: Instance, bound: LowerBound) -> str:
    """The checker's verdict by the fast run: the success line without the digest.

    Cost: one scan of each row that a box needs, a walk for each box, and the trees.

    Args:
        instance: the model at the bound's length.
        bound: what is claimed.

    Returns:
        The claim as the checker prints it, without ``s VERIFIED``.

    Raises:
        ModelError: the bound is for another model, or names what the model does not have.
        NotEstablished: it does not follow from the boxes.
        ResourceLimit: a tree or a row is too large.
    """
    position = _check_form(instance, bound)
    run, output = BoxRun(instance), instance.model.output
    families = [symbol_bits(instance.model, box) for box in bound.boxes]
    labels = []
    for box, bits in zip(bound.boxes, families, strict=True):
        symbols = {p: indices(allowed) for p, allowed in bits.items()}
        labels.append({output.label(v) for v in run.under(symbols, box.cone, position)})
    everything = (1 << len(instance.model.alphabet)) - 1
    claims: dict[str | None, int] = dict(bound.labels.items())
    if bound.others is not None:
        seen = set().union(*labels) - set(bound.labels)
        claims |= dict.fromkeys(seen, bound.others) | {None: bound.others}
    for label, least in claims.items():
        boxes: list[Mapping[int, int]] = [b for b, found in zip(families, labels, strict=True) if label not in found]
        try:
            HittingTree(boxes, everything, least - 1).run()
        except Uncovered as error:
            place = f"claim.labels.{label}" if label in bound.labels else "claim.others"
            raise NotEstablished(
                f"{place}: {least} claimed, but {len(error.node.symbols)} positions conflict with all boxes "
                f"without the label{'' if label is None else ' ' + quote(label)}"
            ) from None
    return bound.text(instance.model)


def _check_form(instance: Instance, bound: LowerBound) -> int:
    """Check that a bound fits the model; returns the position of the target."""
    if bound.sha256 != instance.model.digest or bound.model_name != instance.model.name:
        raise ModelError(f"model: the bound is for another model ({bound.model_name!r}, {bound.sha256})")
    try:
        position = position_of(instance, bound.target)
    except UsageError as error:
        raise ModelError(f"target: {error}") from None
    assert position is not None
    size = instance.domains[instance.model.output.variable]
    unknown = next((label for label in bound.labels if not has_label(instance.model.output, size, label)), None)
    if unknown is not None:
        raise ModelError(f"claim.labels: {quote(unknown)} is no label of the output")
    for number, box in enumerate(bound.boxes):
        _check_box(instance, box, f"boxes[{number}]")
    return position


def _check_box(instance: Instance, box: Box, place: str) -> None:
    pinned = next((p for p in (*box.only, *box.never) if p in instance.pinned), None)
    if pinned is not None:
        raise ModelError(f"{place}: position {pinned} holds a marker")
    unknown = next((name for name in box.cone if name not in instance.model.by_name), None)
    if unknown is not None:
        raise ModelError(f"{place}.cone: {quote(unknown)} is no map or head of the model")
