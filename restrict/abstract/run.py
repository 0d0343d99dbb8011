"""The abstract run on kernels: V and D of every node of a cone (docs/kernel.md, rules 1-6). The fast twin of
restrict/checker, and tested against it: the same rules, written a second time. Sets of positions are Python integers
used as bit masks, so that a union costs n/64 words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from restrict.abstract.options import RUN
from restrict.base.arrays import I64, bits_of
from restrict.base.blocks import cuts, each, width
from restrict.model.program import Head, Instance, Map, Variable, mentions
from restrict.model.restriction import Restriction
from restrict.model.shipped import Shipped
from restrict.rows.options import ROWS
from restrict.rows.rule4 import shown
from restrict.rows.values import CONSTANT, Values, unrestricted
from restrict.rows.winners import winners

Cone = Literal["all"] | Mapping[str, Sequence[int]]
Fact = tuple[tuple[int, ...], int]
"""V as a sorted tuple, D as a bit mask."""


def mask_of(positions: Iterable[int]) -> int:
    """The bit mask of positions (at least 0, in any order): bit ``i`` stands for position ``i``."""
    array = np.fromiter(positions, dtype=np.int64)
    if not len(array):
        return 0
    bits = np.zeros(int(array.max()) + 1, dtype=np.uint8)
    bits[array] = 1
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def positions_of(mask: int) -> tuple[int, ...]:
    """The positions in a bit mask, ascending."""
    return tuple(bits_of(mask).tolist())


class SharedFinds(NamedTuple):
    """What several runs of one instance may share, since it does not depend on the restriction: the images of maps by
    name, position (-1 for all) and the arguments' values; and the candidates of rows by head, position, query value
    and the keys' values."""

    images: dict[tuple[str, int, tuple[tuple[int, ...], ...]], tuple[int, ...]]
    candidates: dict[tuple[str, int, int, tuple[bytes, bytes, bytes]], tuple[I64, I64]]


@dataclass(eq=False)
class AbstractRun:
    """What is known of every node; nodes that were not examined have their whole domain and depend on every free
    position."""

    instance: Instance
    restriction: Restriction
    facts: dict[str, dict[int, Fact]] = field(default_factory=dict)
    found: SharedFinds = field(default_factory=lambda: SharedFinds({}, {}))

    def __post_init__(self) -> None:
        self.tokens = {
            i: (v,) for i, v in {**self.restriction.tokens(self.instance.model), **self.instance.pinned}.items()
        }
        self.alphabet = tuple(range(len(self.instance.model.alphabet)))
        self.free = np.ones(self.instance.n, dtype=np.uint8)
        self.free[list(self.tokens)] = 0
        self.all_free = mask_of(np.flatnonzero(self.free))
        self._keys: dict[str, Values] = {}

    def values(self, name: str, i: int) -> Sequence[int]:
        """V of a node. ``i``: the position, 0..n - 1."""
        if name == "token":
            return self.tokens.get(i, self.alphabet)
        if name == "position":
            return (i,)
        fact = self.facts.get(name, {}).get(i)
        return range(self.instance.domains[name]) if fact is None else fact[0]

    def depends(self, name: str, i: int) -> int:
        """D of a node, as a bit mask. ``i``: the position, 0..n - 1. Result: the free positions on which the node may
        depend; bit ``j`` stands for position ``j``."""
        if name == "token":
            return 0 if len(self.values(name, i)) == 1 else 1 << i
        if name == "position":
            return 0
        fact = self.facts.get(name, {}).get(i)
        if fact is None:
            return 0 if self.instance.domains[name] == 1 else self.all_free
        return fact[1]

    def label_depends(self, i: int) -> int:
        """D of the output's label at a position (rule 6). ``i``: the position, 0..n - 1. Result: a bit mask, 0 where
        only one label is possible."""
        output = self.instance.model.output.variable
        labels = {self.instance.label(v) for v in self.values(output, i)}
        return 0 if len(labels) == 1 else self.depends(output, i)

    def examine(self, variable: Variable, i: int) -> Fact:
        """Compute V and D of one node from what is known of earlier variables, and remember it. ``i``: the position,
        0..n - 1."""
        fact = self.examined(variable, i)
        self.learn(variable.name, {i: fact})
        return fact

    def examined(self, variable: Variable, i: int) -> Fact:
        """V and D of one node from what is known of earlier variables; it is not remembered. ``i``: the position, 0..n
        - 1."""
        fact = self._head(variable, i) if isinstance(variable, Head) else self._map(variable, i)
        return (fact[0], 0) if len(fact[0]) == 1 else fact

    def learn(self, name: str, facts: Mapping[int, Fact]) -> None:
        """Remember facts."""
        self.facts.setdefault(name, {}).update(facts)
        self._keys.pop(name, None)

    # ------------------------------------------------------------ rules 3 and 4

    def _map(self, variable: Map, i: int) -> Fact:
        sets = [self.values(a, i) for a in variable.args]
        image = self._image(variable, i, sets)
        depends = 0
        for a in variable.args:
            depends |= self.depends(a, i)
        return image, depends

    def _image(self, variable: Map, i: int, sets: list[Sequence[int]]) -> tuple[int, ...]:
        """The values of a map on a product; small ones are kept."""
        if prod(map(len, sets)) > RUN.shared:
            return tuple(np.unique(self.instance.map_values(variable, i, sets)).tolist())
        slot = (variable.name, i if "i" in mentions(variable) else -1, tuple(map(tuple, sets)))
        if slot not in self.found.images:
            if len(self.found.images) == RUN.most_shared:
                self.found.images.clear()
            self.found.images[slot] = tuple(np.unique(self.instance.map_values(variable, i, sets)).tolist())
        return self.found.images[slot]

    def _winners(self, head: Head, i: int, u: int, keys: Values) -> tuple[I64, I64]:
        """Where the candidates of a row are, and their key values; those of short rows are kept."""
        if self.instance.n * keys.domain > RUN.shared:
            return winners(self.instance, head, i, u, keys)
        slot = (head.name, i, u, keys.signature)
        if slot not in self.found.candidates:
            if len(self.found.candidates) == RUN.most_shared:
                self.found.candidates.clear()
            self.found.candidates[slot] = winners(self.instance, head, i, u, keys)
        return self.found.candidates[slot]

    def _head(self, head: Head, i: int) -> Fact:
        first, stop = self.instance.visible(head, i)
        if first >= stop:
            return (head.default,), 0
        query, key = self.instance.query(head), self.instance.key(head)
        keys = self.key_values(key) if key else CONSTANT
        seen: set[int] = set()
        depends = self.depends(query, i) if query else 0
        for u in self.values(query, i) if query else (0,):
            positions, w = self._winners(head, i, u, keys)
            found = shown(self.instance, head, i, u, positions, w, self.values)
            seen |= found
            if len(found) > 1:
                depends |= self._union(head.value, positions) | (self._union(key, positions) if key else 0)
        return tuple(sorted(seen)), depends

    def _union(self, name: str, positions: I64) -> int:
        """The union of D over positions."""
        if name == "token":
            return mask_of(positions[self.free[positions] == 1])
        depends = 0
        for p in positions:
            depends |= self.depends(name, int(p))
            if depends == self.all_free:
                break
        return depends

    def key_values(self, name: str) -> Values:
        """V of a variable at all positions, as a row scan takes it."""
        if name not in self._keys:
            if name in ("token", "position"):
                self._keys[name] = unrestricted(self.instance, name, self.tokens)
            else:
                known = {i: fact[0] for i, fact in self.facts.get(name, {}).items()}
                self._keys[name] = Values.make(self.instance.domains[name], known)
        return self._keys[name]


def abstract_run(
    instance: Instance, restriction: Restriction, cone: Cone, found: SharedFinds | None = None
) -> AbstractRun:
    """Examine every node of the cone, in program order.

    Cost: one row scan of at most n * domain scores per examined head node and query value; memory O(cone * n / 64)
    words. Result: the run, with the facts of all nodes examined (docs/kernel.md, rules 1-4)."""
    run = AbstractRun(instance, restriction, found=found or SharedFinds({}, {}))
    for variable in instance.model.variables:
        positions = range(instance.n) if cone == "all" else cone.get(variable.name, ())
        if isinstance(variable, Head) and width() > 1 and len(positions) * instance.n >= ROWS.spread:
            _spread(run, variable, positions)
            continue
        for i in positions:
            run.examine(variable, i)
    return run


@dataclass(frozen=True, eq=False)
class Earlier:
    """What the nodes of a head are examined from: the restriction, and the facts of earlier variables."""

    instance: Shipped
    restriction: Restriction
    facts: dict[str, dict[int, Fact]]
    head: str


def examined_block(earlier: Earlier, positions: Sequence[int]) -> list[Fact]:
    """The facts of some nodes of a head, for another process. ``ResourceLimit``: a row has too many pairs."""
    run = AbstractRun(earlier.instance.instance, earlier.restriction, earlier.facts)
    head = run.instance.model.by_name[earlier.head]
    return [run.examined(head, i) for i in positions]


def _spread(run: AbstractRun, head: Head, positions: Sequence[int]) -> None:
    """Examine the nodes of a head in blocks (:mod:`restrict.base.blocks`)."""
    ship = Shipped(run.instance)
    earlier = Earlier(ship, run.restriction, run.facts, head.name)
    parts = [positions[cut] for cut in cuts(len(positions))]
    known: dict[int, Fact] = {}
    for part, facts in zip(parts, each(examined_block, earlier, parts, here=not ship.portable), strict=True):
        known.update(zip(part, facts, strict=True))
    run.learn(head.name, known)


def all_but_wide(instance: Instance, restriction: Restriction) -> Cone:
    """The cone of all nodes except those whose image is too large to compute; ``"all"`` where no map is wide, which
    makes certificates smaller. What is not examined has its whole domain and depends on every free position, so this is
    sound; the checker reads the cone, and needs no rule of its own. Cost: :func:`abstract_run`'s where a map is wide.
    ``ResourceLimit``: a row has too many pairs."""
    domains = instance.domains
    wide = {
        v.name: v
        for v in instance.model.variables
        if isinstance(v, Map) and prod(domains[a] for a in v.args) > RUN.points
    }
    if not wide:
        return "all"
    run, cone = AbstractRun(instance, restriction), dict[str, tuple[int, ...]]()
    for variable in instance.model.variables:
        chosen = [
            i
            for i in range(instance.n)
            if variable.name not in wide or prod(len(run.values(a, i)) for a in wide[variable.name].args) <= RUN.points
        ]
        for i in chosen:
            run.examine(variable, i)
        cone[variable.name] = tuple(chosen)
    return cone
