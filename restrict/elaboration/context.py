"""What is known under a box, with the hints that the kernel needs: for each head and query value a witness.

The rules are those of docs/trusted-base.md, computed on the engine's row scans. Every fact is remembered as a
*statement* in the order in which it was found; the floor of a row becomes the witness, and the least floor of all
contexts that use the row becomes its bar (:mod:`restrict.elaboration.rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from restrict.abstract.rows import CONSTANT, Row, Values
from restrict.abstract.run import mask_of
from restrict.arrays import I64
from restrict.elaboration.rows import Rows
from restrict.model.program import Head, Instance, Map

LARGE = 1 << 16
"""A set of more values is not written down: nothing is stated about the node."""

Depends = int | None
"""Positions as bits; ``None``: all positions."""


class Group(NamedTuple):
    """For one value of the query: the witness, its least score, and the one value that is shown, or -1."""

    u: int
    witness: int
    least: int
    only: int


class Statement(NamedTuple):
    """A fact: the values of a node and the positions that it depends on; a head has groups, a map ``None``."""

    name: str
    i: int
    values: tuple[int, ...]
    depends: Depends
    groups: tuple[Group, ...] | None = None


class Known:
    """What is known of every node under a box. ``deep``: every node that is asked for is examined first, so that no
    fact depends on all positions; ``blind``: it does not matter what a fact depends on."""

    def __init__(
        self, instance: Instance, tokens: Mapping[int, tuple[int, ...]], rows: Rows, deep: bool = False,
        blind: bool = False,
    ) -> None:  # fmt: skip
        self.instance, self.rows, self.deep, self.blind = instance, rows, deep, blind
        self.tokens = {**tokens, **{i: (value,) for i, value in instance.pinned.items()}}
        self.free = np.ones(instance.n, dtype=bool)
        self.free[[i for i, symbols in self.tokens.items() if len(symbols) == 1]] = False
        self.statements: list[Statement] = []
        self.facts: dict[tuple[str, int], Statement] = {}
        self._keys: dict[str, Values] = {}

    # ------------------------------------------------------------ asking

    def values(self, name: str, i: int) -> Sequence[int]:
        """V of a node, ascending.

        Args:
            name: ``"token"``, ``"position"`` or a variable.
            i: the position.

        Returns:
            The values that the kernel will know.
        """
        if name == "token":
            return self.tokens.get(i, range(len(self.instance.model.alphabet)))
        if name == "position":
            return (i,)
        fact = self.facts.get((name, i))
        return range(self.instance.domains[name]) if fact is None else fact.values

    def depends(self, name: str, i: int) -> Depends:
        """D of a node.

        Args:
            name: ``"token"``, ``"position"`` or a variable.
            i: the position.

        Returns:
            Its positions. A node of one value that was not examined is examined, since the kernel takes it to depend
            on everything else.
        """
        if self.blind:
            return None
        if name == "token":
            return 1 << i if self.free[i] else 0
        if name == "position":
            return 0
        if (name, i) not in self.facts and self.instance.domains[name] == 1:
            self.examine(name, i)
        fact = self.facts.get((name, i))
        return None if fact is None else fact.depends

    def union(self, name: str, positions: Iterable[int]) -> Depends:
        """The union of D over positions.

        Args:
            name: ``"token"``, ``"position"`` or a variable.
            positions: positions, ascending.

        Returns:
            The positions.
        """
        if name == "token" and not self.blind:
            places = np.fromiter(positions, dtype=np.int64)
            return mask_of(places[self.free[places]])
        found = 0
        for p in positions:
            if (more := self.depends(name, p)) is None:
                return None
            found |= more
        return found

    # ------------------------------------------------------------ examining

    def examine(self, name: str, i: int) -> None:
        """State what follows for a node, unless it was stated before, or has too many values.

        Args:
            name: a map or head of the model.
            i: the position.

        Raises:
            ResourceLimit: a row or an image is too large.
        """
        if (name, i) in self.facts:
            return
        variable = self.instance.model.by_name[name]
        if self.deep:
            self._inputs(variable, i)
        found = self._map(variable, i) if isinstance(variable, Map) else self._head(variable, i)
        if found is not None:
            self.state(found._replace(depends=0) if len(found.values) == 1 else found)

    def state(self, statement: Statement) -> None:
        """Remember a fact.

        Args:
            statement: what is stated after all others.
        """
        self.statements.append(statement)
        self.facts[statement.name, statement.i] = statement
        self._keys.pop(statement.name, None)

    def _inputs(self, variable: Map | Head, i: int) -> None:
        """Examine all that a node reads."""
        places: list[tuple[str | None, Iterable[int]]] = []
        if isinstance(variable, Map):
            places += [(arg, (i,)) for arg in variable.args]
        else:
            seen = range(*self.instance.visible(variable, i))
            places += [
                (self.instance.query(variable), (i,)),
                (self.instance.key(variable), seen),
                (variable.value, seen),
            ]
        for name, positions in places:
            for j in positions if name not in (None, "token", "position") else ():
                self.examine(str(name), j)

    def _map(self, variable: Map, i: int) -> Statement:
        """Rule 3."""
        sets = [self.values(arg, i) for arg in variable.args]
        image = np.unique(self.instance.map_values(variable, i, sets))
        parts = [self.depends(arg, i) for arg in variable.args] if len(image) > 1 else []
        return Statement(variable.name, i, tuple(image.tolist()), _joined(parts))

    def _head(self, head: Head, i: int) -> Statement | None:
        """Rule 4; the floor is the witness's least pair."""
        first, stop = self.instance.visible(head, i)
        if first >= stop:
            return Statement(head.name, i, (head.default,), 0, ())
        query, key = self.instance.query(head), self.instance.key(head)
        keys = CONSTANT if key is None else self._key_values(key)
        seen, groups, read = set[int](), list[Group](), list[I64]()
        for u in self.values(query, i) if query else (0,):
            j, w, s = Row(self.instance, head, i, u).scored(keys)
            shown = self._shown(head, i, u, j, w)
            if shown is None:
                return None
            least = int(s.min())
            at = j[s == least]
            groups.append(Group(u, int(at.max() if head.ties == "left" else at.min()), least, _only(shown)))
            seen |= shown
            read += [j] if len(shown) > 1 else []
        depends: Depends = 0
        if len(seen) > 1:
            places = np.unique(np.concatenate([*read, np.empty(0, dtype=np.int64)])).tolist()
            parts = [self.depends(query, i)] if query else []
            depends = _joined([*parts, *(self.union(name, places) for name in (head.value, key) if name)])
        for group in groups:
            self.rows.use(head, i, group.u, group.least, group.witness)
        return Statement(head.name, i, tuple(sorted(seen)), depends, tuple(groups))

    def _shown(self, head: Head, i: int, u: int, j: I64, w: I64) -> set[int] | None:
        """The values that the candidates may show; None where they are too many."""
        if head.value == self.instance.key(head):
            return set(np.unique(w).tolist())
        found, positions = set[int](), np.unique(j)
        if head.value == self.instance.query(head) and i in positions:
            found.add(u)
            positions = positions[positions != i]
        if head.value == "position":
            return None if len(positions) > LARGE else found | set(positions.tolist())
        full = self.instance.domains[head.value]
        for p in positions.tolist():
            values = self.values(head.value, p)
            if len(values) > LARGE:
                return None
            found.update(values)
            if len(found) == full:
                break
        return found

    def _key_values(self, name: str) -> Values:
        """V of a key at all positions, as a row scan takes it."""
        if name not in self._keys:
            if name == "token":
                self._keys[name] = Values.make(len(self.instance.model.alphabet), self.tokens)
            elif name == "position":
                self._keys[name] = every_position(self.instance.n)
            else:
                known = {i: fact.values for (owner, i), fact in self.facts.items() if owner == name}
                self._keys[name] = Values.make(self.instance.domains[name], known)
        return self._keys[name]


def every_position(n: int) -> Values:
    """The values of ``position``.

    Args:
        n: the length.

    Returns:
        At each position the position itself.
    """
    order = np.arange(n, dtype=np.int64)
    return Values(1, order, np.arange(n + 1, dtype=np.int64), order)


def _joined(parts: Sequence[Depends]) -> Depends:
    """The union; all positions where one part is that."""
    return None if None in parts else reduce(or_, (part for part in parts if part is not None), 0)


def _only(values: set[int]) -> int:
    """The one value, or -1."""
    return next(iter(values)) if len(values) == 1 else -1
