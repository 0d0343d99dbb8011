"""What a node depends on, computed on demand and given up where that is too much: rules 3 to 6, for the search.

:class:`DependenceState` computes V and D of docs/kernel.md from a target backwards, and only what it reads. A
bound on D, ``most``, keeps this short at any length: a row ends as soon as its candidates depend on more free
positions, and a node that depends on more counts as not examined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from restrict.abstract.run import Cone
from restrict.force.goal import OutOfBudget
from restrict.force.on_demand import OnDemandState
from restrict.model.program import Head, Instance, Map, Variable

Depends = frozenset[int]
NOTHING: Depends = frozenset()


class DependenceState(OnDemandState):
    """V and D under a restriction, of the nodes that a target reads. ``most`` bounds the size of the sets D that are of
    interest; ``limit`` the effort (in units of ``work``) of one look, beyond which it is given up."""

    def __init__(self, instance: Instance, position: int) -> None:
        """The target is the output's label at ``position``."""
        super().__init__(instance)
        self.target = (instance.model.output.variable, position)
        self.most, self.limit, self._last = 0, 50_000, 0
        self._known: dict[tuple[str, int], Depends | None] = {}

    def look(self, fixed: Mapping[int, int], most: int) -> Depends | None:
        """On which free positions the label depends under a restriction. Gives the positions, or ``None`` where there
        are more than ``most``, or the effort exceeds ``limit``."""
        self.tokens = {**self.pinned, **{i: (a,) for i, a in fixed.items()}}
        self.facts.clear()
        self.reads.clear()
        self.trail.clear()
        self._known.clear()
        self.most, self._last = most, self.work + self.limit
        try:
            labels = {self.instance.label(v) for v in self.values(*self.target)}
            found = NOTHING if len(labels) == 1 else self.depends(*self.target)
        except OutOfBudget:
            return None
        return found if found is not None and len(found) <= most else None

    def cone(self) -> Cone:
        """The nodes of the last look that say more than nodes that are not examined: the cone of its certificate."""
        kept: dict[str, list[int]] = {}
        for name, i in self.facts:
            domain = self.instance.domains[name]
            if len(self.facts[name, i]) < domain or self._known.get((name, i)) is not None:
                kept.setdefault(name, []).append(i)
        return {name: tuple(sorted(kept[name])) for name in sorted(kept, key=self.order.__getitem__)}

    def free_tokens(self) -> list[int]:
        """The free positions that the last look read, in order."""
        nodes = set().union(*self.reads.values()) if self.reads else set()
        return sorted(i for name, i in nodes if name == "token" and i not in self.tokens)

    def examine(self, variable: Variable, i: int) -> Sequence[int]:
        """V of a node, within the effort of a look."""
        self._spend()
        return super().examine(variable, i)

    def depends(self, name: str, i: int) -> Depends | None:
        """D of a node; ``None`` for more than ``most`` positions."""
        if name == "position" or len(self.values(name, i)) == 1:
            return NOTHING
        if name == "token":
            return frozenset((i,))
        if (name, i) not in self._known:
            variable = self.instance.model.by_name[name]
            found = self._of_map(variable, i) if isinstance(variable, Map) else self._of_head(variable, i)
            self._known[name, i] = found
        return self._known[name, i]

    def _spend(self) -> None:
        if self.work > self._last:
            raise OutOfBudget

    def _of_map(self, variable: Map, i: int) -> Depends | None:
        found: set[int] = set()
        for name in variable.args:
            part = self.depends(name, i)
            if part is None:
                return None
            found |= part
        return frozenset(found) if len(found) <= self.most else None

    def _of_head(self, head: Head, i: int) -> Depends | None:
        query, key = self.instance.query(head), self.instance.key(head)
        start = self.depends(query, i) if query else NOTHING
        if start is None:
            return None
        found = set(start)
        sources = {name for name in (key, head.value) if name is not None}
        for u in self.values(query, i) if query else (0,):
            if len(self.row_values(head, i, u, 2, self.reads.setdefault((head.name, i), set()))) < 2:
                continue
            done: set[int] = set()
            for j, _ in self.walk(head, i, u, self.reads[head.name, i]):
                self._spend()
                if j in done:
                    continue
                done.add(j)
                for name in sources:
                    part = self.depends(name, j)
                    if part is None:
                        return None
                    self.reads[head.name, i].add((name, j))
                    found |= part
                if len(found) > self.most:
                    return None
        return frozenset(found)
