"""What is known under a box, with the hints that the kernel needs: for each head and query value a witness.

The rules are those of docs/kernel.md, computed on the engine's row scans. Every fact is remembered as a
*statement* in the order in which it was found; the floor of a row becomes the witness, and the least floor of all
contexts that use the row becomes its bar (:mod:`restrict.elaboration.rows`). Work is charged before it is done.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np

from restrict.abstract.run import mask_of
from restrict.base.arrays import I64
from restrict.checker.account import Meter, Reject
from restrict.elaboration.rows import Rows, distinct
from restrict.elaboration.statements import COMBINATIONS, LARGE, NODE, Depends, Group, Statement, joined
from restrict.elaboration.tokens import Tokens
from restrict.model.program import Head, Instance, Map
from restrict.rows.rule4 import TooMany, shown
from restrict.rows.values import CONSTANT, Values


class OutOfReach(Reject):
    """A map has too many combinations of arguments here; elsewhere, where more is known of them, it may have fewer."""


class Known:
    """What is known of every node under a box, besides the facts ``given`` of a context above. ``deep``: what is asked
    for is examined first, so no fact depends on all positions; ``blind``: dependencies do not matter."""

    def __init__(
        self, instance: Instance, tokens: Tokens, rows: Rows, deep: bool = False, blind: bool = False,
        given: Mapping[str, Mapping[int, Statement]] | None = None,
    ) -> None:  # fmt: skip
        self.instance, self.tokens, self.rows, self.deep, self.blind = instance, tokens, rows, deep, blind
        self.meter: Meter = rows.meter
        self.statements: list[Statement] = []
        self.facts = {name: dict(facts) for name, facts in (given or {}).items()}
        self._keys: dict[str, Values] = {}

    # ------------------------------------------------------------ asking

    def values(self, name: str, i: int) -> Sequence[int]:
        """V of a node, ascending. ``name``: ``"token"``, ``"position"`` or a variable."""
        if name == "token":
            return self.tokens.at(i)
        if name == "position":
            return (i,)
        fact = self.fact(name, i)
        return range(self.instance.domains[name]) if fact is None else fact.values

    def depends(self, name: str, i: int) -> Depends:
        """D of a node. ``name``: ``"token"``, ``"position"`` or a variable."""
        if self.blind:
            return None
        if name in ("token", "position"):
            return self.union(name, np.array([i]))
        if self.fact(name, i) is None and self.instance.domains[name] == 1:
            self.examine(name, i)
        fact = self.fact(name, i)
        return None if fact is None else fact.depends

    def fact(self, name: str, i: int) -> Statement | None:
        """The last statement about a node, here or in a context above, if there is one."""
        return self.facts.get(name, {}).get(i)

    def union(self, name: str, positions: I64) -> Depends:
        """The union of D of ``"token"``, ``"position"`` or a variable over ascending positions."""
        if self.blind:
            return None
        if name in ("token", "position"):
            return mask_of(self.tokens.free(positions)) if name == "token" else 0
        found = 0
        for p in positions.tolist():
            if (more := self.depends(name, p)) is None:
                return None
            self.meter.charge(1 + more.bit_length() // 2048)
            found |= more
        return found

    # ------------------------------------------------------------ examining

    def examine(self, name: str, i: int) -> None:
        """State what follows for a node of a map or head, unless it was stated before, or has too many values."""
        if self.fact(name, i) is not None:
            return
        self.meter.charge(NODE)
        variable = self.instance.model.by_name[name]
        if self.deep:
            self._inputs(variable, i)
        found = self._map(variable, i) if isinstance(variable, Map) else self._head(variable, i)
        if found is not None:
            self.state(found._replace(depends=0) if len(found.values) == 1 else found)

    def state(self, statement: Statement) -> None:
        """Remember a fact. ``statement``: what is stated after all others."""
        self.meter.hold(1000 + 40 * len(statement.values) + (statement.depends or 0).bit_length() // 8)
        self.statements.append(statement)
        self.facts.setdefault(statement.name, {})[statement.i] = statement
        self._keys.pop(statement.name, None)

    def forget(self, name: str, i: int) -> None:
        """Take the last statement back."""
        if self.statements and self.statements[-1][:2] == (name, i):
            self.statements.pop()
            del self.facts[name][i]
            self._keys.pop(name, None)

    def finish(self) -> None:
        """Forget what only examining needs."""
        self._keys.clear()

    def _inputs(self, variable: Map | Head, i: int) -> None:
        places: list[tuple[str | None, Iterable[int]]]
        if isinstance(variable, Map):
            places = [(arg, (i,)) for arg in variable.args]
        else:
            seen, query = range(*self.instance.visible(variable, i)), self.instance.query(variable)
            places = [(query, (i,)), (self.instance.key(variable), seen), (variable.value, seen)]
        for name, positions in places:
            for j in positions if name not in (None, "token", "position") else ():
                self.examine(str(name), j)

    def _map(self, variable: Map, i: int) -> Statement | None:
        """Rule 3 of docs/kernel.md for a map: its values, with the statement that shows them."""
        sets = [self.values(arg, i) for arg in variable.args]
        if (count := prod(map(len, sets))) > COMBINATIONS:
            said = f"more than 2^24 combinations of arguments of {variable.name} at {i}"
            raise OutOfReach(5, f"{self.meter.place}: {said}")
        self.meter.charge(count // 16)
        self.meter.fits(50 * count)
        image = np.unique(self.instance.map_values(variable, i, sets))
        if len(image) > LARGE:
            return None
        parts = [self.depends(arg, i) for arg in variable.args] if len(image) > 1 else []
        return Statement(variable.name, i, tuple(image.tolist()), joined(parts))

    def _head(self, head: Head, i: int) -> Statement | None:
        """Rule 4; the floor is the witness's least pair."""
        first, stop = self.instance.visible(head, i)
        if first >= stop:
            return Statement(head.name, i, (head.default,), 0, ())
        query = self.instance.query(head)
        seen, groups, read = set[int](), list[Group](), list[I64]()
        asked = self.values(query, i) if query else (0,)
        self.meter.hold(100 * len(asked))
        for u in asked:
            found = self._row(head, i, u)
            if found is None:
                return None
            group, shown, j = found
            groups.append(group)
            self.meter.charge(2 + len(shown))
            seen |= shown
            if len(seen) > LARGE:
                return None
            read += [j] if len(shown) > 1 else []
        depends = self._read(head, i, read) if len(seen) > 1 else 0
        for group in groups:
            self.rows.lower(self.rows.floors, head, i, group.u, (group.least, group.witness))
        return Statement(head.name, i, tuple(sorted(seen)), depends, tuple(groups))

    def _row(self, head: Head, i: int, u: int) -> tuple[Group, set[int], I64] | None:
        """The witness, what the candidates may show, and where they are; None where that are too many values."""
        key = self.instance.key(head)
        keys = CONSTANT if key is None else self._key_values(key)
        j, w, s = pairs = self.rows.scan_once(head, i, u, keys)
        places = distinct(j)
        try:
            found = shown(self.instance, head, i, u, places, w, self._asked, LARGE)
        except TooMany:
            return None
        least = int(s.min())
        at = j[s == least]
        witness = int(at.max() if head.ties == "left" else at.min())
        self.rows.found(head, i, u, keys, pairs, (least, witness))
        return Group(u, witness, least, _only(found)), found, places

    def _asked(self, name: str, i: int) -> Sequence[int]:
        """V of a node that a candidate may show, charged."""
        values = self.values(name, i)
        if len(values) > LARGE:
            raise TooMany
        self.meter.charge(2 + len(values) // 8)
        return values

    def _read(self, head: Head, i: int, read: Sequence[I64]) -> Depends:
        """What a head of several values depends on: its query, and keys and values of candidates at these places."""
        query, key = self.instance.query(head), self.instance.key(head)
        places = np.unique(np.concatenate([*read, np.empty(0, dtype=np.int64)]))
        parts = [self.depends(query, i)] if query else []
        return joined([*parts, *(self.union(name, places) for name in (head.value, key) if name)])

    def _key_values(self, name: str) -> Values:
        """V of a key at all positions, as a row scan takes it."""
        if name not in self._keys:
            self.meter.charge(self.instance.n // 64)
            if name in ("token", "position"):
                self._keys[name] = self.tokens.values() if name == "token" else Values.own(self.instance.n)
            else:
                known = {i: fact.values for i, fact in self.facts.get(name, {}).items()}
                self.meter.charge(sum(map(len, known.values())) // 4)
                self._keys[name] = Values.make(self.instance.domains[name], known)
        return self._keys[name]


def _only(values: set[int]) -> int:
    return next(iter(values)) if len(values) == 1 else -1
