"""Boxes that force the output away from a label and agree with given fixed positions, found by search.

The tree of :mod:`restrict.certificate.hitting_tree` asks, at a set of positions with possible symbols, for a box that
conflicts with none of them. One is found by

- the goal-directed search (:mod:`restrict.force.goal`) for a value without the label, with these positions given;
- words drawn at random that agree with them: what the output reads on such a word is a box;
- SAT on the cone (:mod:`restrict.optimum.cnf`), where it can be encoded, when neither finds one: then there is a word,
  or the label is forced.

Each is then made small: positions are left out while the abstract run still excludes the label, first those that the
tree would have to branch on; with more than two symbols each allowed set is made as large as it can be. A row is
ordered once for all boxes, so a box costs milliseconds at any length.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from restrict.base.blocks import each
from restrict.base.deadline import NEVER, Deadline, OutOfTime
from restrict.base.errors import ResourceLimit
from restrict.certificate.hitting_tree import Open
from restrict.certificate.lower_bound import indices
from restrict.force.goal import Manner, Solver
from restrict.force.minimise import needed_cone, shrink
from restrict.force.on_demand import OnDemandState
from restrict.force.state import ForcingState, listed_whole
from restrict.model.program import Head, Instance
from restrict.model.shipped import Shipped
from restrict.optimum.options import OPTIONS
from restrict.optimum.oracle import Oracle
from restrict.optimum.sensitivity import output_goal, solves

Symbols = dict[int, tuple[int, ...]]
"""Positions with their allowed symbols (indices), ascending."""
Accepts = Callable[[frozenset[str]], bool]


@dataclass(frozen=True, eq=False)
class FoundBox:
    """Under ``symbols`` the output has one of ``labels``, by the abstract run over ``cone``."""

    symbols: Mapping[int, tuple[int, ...]]
    labels: frozenset[str]
    cone: Mapping[str, tuple[int, ...]] = field(repr=False)

    @property
    def bits(self) -> dict[int, int]:
        """The allowed symbols as bits."""
        return {p: sum(1 << a for a in allowed) for p, allowed in self.symbols.items()}


class _Word(OnDemandState):
    """A word drawn at random as it is read."""

    rng: np.random.Generator

    def values(self, name: str, i: int) -> Sequence[int]:
        """V of a node; a token that has several possible symbols gets one of them."""
        found = super().values(name, i)
        if name == "token" and len(found) > 1:
            found = self.tokens[i] = (int(found[int(self.rng.integers(len(found)))]),)
        return found


@dataclass(frozen=True)
class _Avoid:
    """A guard of the goal-directed search: the positions ``used`` by so many ``boxes`` stay free."""

    used: frozenset[int]
    boxes: int

    def allows(self, state: ForcingState, i: int, symbol: int) -> bool:
        """Whether position ``i`` may be fixed, since no box uses it."""
        return i not in self.used

    def accepts(self, fixed: Mapping[int, int]) -> bool:
        """Whether all of these may be fixed."""
        return self.used.isdisjoint(fixed)


@dataclass(frozen=True, eq=False)
class _Ground:
    """What all searches at one target share: above all, the rows that are ordered. It is made once in a process."""

    shipped: Shipped
    position: int
    base: OnDemandState

    def __reduce__(self) -> tuple[Any, ...]:
        return _ground, (self.shipped, self.position)


@lru_cache(maxsize=1)
def _ground(shipped: Shipped, position: int) -> _Ground:
    return _Ground(shipped, position, OnDemandState(shipped.instance))


@dataclass(frozen=True)
class _Attempt:
    """One goal-directed search for a box at the ``held`` positions, by ``GOALS[number]``."""

    held: Symbols
    label: str
    number: int
    seed: tuple[int, ...]
    deadline: Deadline


def _attempted(ground: _Ground, attempt: _Attempt) -> tuple[FoundBox, ...] | None:
    """The small box that an attempt finds, if it does; ``None``: there was no time. Other processes do it, too."""
    search = BoxSearch(ground, attempt.seed, attempt.deadline)
    accepts = excluding(attempt.label)
    try:
        box = search.by_goal(attempt.held, attempt.label, *OPTIONS.goals[attempt.number], OPTIONS.tokens, OPTIONS.work)
        if box is None or not accepts(search.run(box)[0]):
            return ()
        return (search.made_small(box, attempt.held, accepts),)
    except OutOfTime:
        return None


def excluding(label: str | None) -> Accepts:
    """Whether labels exclude this one; ``None``: whether they are a single one."""
    return lambda labels: label not in labels if label is not None else len(labels) == 1


class BoxSearch:
    """Boxes at one instance and target, deterministic for a seed; past the deadline :class:`OutOfTime` is raised."""

    def __init__(self, ground: _Ground, seed: int | tuple[int, ...], deadline: Deadline = NEVER) -> None:
        self.ground, self.base, self.position = ground, ground.base, ground.position
        self.instance = ground.shipped.instance
        self.seed, self.deadline, self.tick = seed, deadline, deadline.check
        self.output = self.instance.model.output.variable
        self.rng = np.random.default_rng(seed)
        self.alphabet = self.base.alphabet
        self.pinned = set(self.instance.pinned)
        self.asked = 0

    @staticmethod
    def at(instance: Instance, position: int, seed: int, deadline: Deadline = NEVER) -> BoxSearch:
        """The search for a target."""
        return BoxSearch(_Ground(Shipped(instance), position, OnDemandState(instance)), seed, deadline)

    # ------------------------------------------------------------ the abstract run

    def run(self, symbols: Mapping[int, tuple[int, ...]]) -> tuple[frozenset[str], Symbols, OnDemandState]:
        """Labels under a box, the part of the box that was read, and the state."""
        self.tick()
        state = OnDemandState(self.instance)
        state.share(self.base)
        state.tokens.update(symbols)
        labels = self._labels(state)
        read = state.read_tokens((self.output, self.position))
        return labels, {p: allowed for p, allowed in symbols.items() if p in read}, state

    def _labels(self, state: ForcingState) -> frozenset[str]:
        return frozenset(self.instance.label(v) for v in state.values(self.output, self.position))

    def finished(self, symbols: Symbols) -> FoundBox:
        """A box with the nodes that prove it. Cost: one run on demand."""
        labels, read, state = self.run(symbols)
        return FoundBox(dict(sorted(read.items())), labels, needed_cone(state, (self.output, self.position)))

    # ------------------------------------------------------------ finding

    def find(self, node: Open, label: str | None) -> list[FoundBox]:
        """Small boxes that conflict with nothing at the node and exclude ``label`` (``None``: force some one), those
        with the fewest positions not chosen first; none: the label is forced at the node, or the search was not good
        enough. Cost: some searches, and a run on demand for each position found; lent workers share them
        (:mod:`restrict.base.blocks`)."""
        held, accepts = {p: indices(bits) for p, bits in node.symbols.items()}, excluding(label)
        if label is not None and self.run(held)[0] == {label}:
            return []
        found = (self._by_goals(held, label) if label is not None else []) or [
            self.made_small(box, held, accepts) for box in self._otherwise(held, label, accepts)
        ]
        found.sort(key=lambda box: self._price(box.symbols, held))
        return list({tuple(box.symbols.items()): box for box in found}.values())

    @cached_property
    def _shared(self) -> bool:
        """Whether other processes may take part: what they find must not depend on the rows that they have listed."""
        heads = (v for v in self.instance.model.variables if isinstance(v, Head))
        most = max((self.instance.domains[key] for key in map(self.instance.key, heads) if key), default=1)
        return listed_whole(self.instance.n, most) and self.ground.shipped.portable

    def _by_goals(self, held: Symbols, label: str) -> list[FoundBox]:
        self.asked += 1
        attempts = [
            _Attempt(held, label, number, (*np.atleast_1d(self.seed), self.asked, number), self.deadline)
            for number in range(len(OPTIONS.goals))
        ]
        found: list[FoundBox] = []
        for boxes in each(_attempted, self.ground, attempts, here=not self._shared):
            self.tick()
            if boxes is None:
                raise OutOfTime
            found += boxes
        return found

    def apart(self, label: str, used: Collection[int], boxes: int) -> FoundBox | None:
        """A box that excludes the label without the positions ``used`` by so many others; ``None``: there was none. So
        many disjoint boxes prove the optimum of models that are made of blocks, such as AND of ORs, at once. ``boxes``:
        how many boxes use them, at least 0; it sets the width of the search."""
        accepts = excluding(label)
        box = self.by_goal({}, label, 2, 0.0, self.instance.n, OPTIONS.apart_work, _Avoid(frozenset(used), boxes))
        if box is None or not accepts(self.run(box)[0]):
            return None
        return self.made_small(box, {}, accepts)

    def word_without(self, label: str) -> FoundBox | None:
        """What the output reads on a random word that does not have the label, as a box that is not made small. Gives
        the box, or ``None`` where no word that was drawn is without the label. Cost: a run on demand a word."""
        found = next(self._by_words({}, excluding(label)), None)
        return None if found is None else self.finished(found)

    def forced(self, node: Open, label: str) -> Symbols | None:
        """One symbol for each position of the node needed to force the label, by the abstract run, or ``None`` where
        these do not. Cost: one run on demand."""
        fixed = {p: indices(bits)[:1] for p, bits in node.symbols.items()}
        labels, read, _ = self.run(fixed)
        return read if labels == {label} else None

    def _price(self, box: Mapping[int, tuple[int, ...]], held: Symbols) -> tuple[int, int]:
        """Positions that the tree has to branch on, then all."""
        return sum(not set(held.get(p, self.alphabet)) <= set(allowed) for p, allowed in box.items()), len(box)

    def _otherwise(self, held: Symbols, label: str | None, accepts: Accepts) -> Iterator[Symbols]:
        """Boxes, not yet small, by words, else by one long search, else by SAT."""
        found = False
        for box in self._by_words(held, accepts):
            found = True
            yield box
        if not found and label is not None:
            long = self.by_goal(held, label, 3, 0.0, self.instance.n, OPTIONS.more_work) or self._by_sat(held, label)
            if long is not None and accepts(self.run(long)[0]):
                yield long

    def by_goal(
        self, held: Symbols, label: str | None, width: int, noise: float, limit: int, work: int,
        guard: _Avoid | None = None,
    ) -> Symbols | None:  # fmt: skip
        """A box that excludes the label, with at most ``limit`` more positions, by a goal-directed search. Its effort
        does not depend on what was searched for before, so only the rows are shared."""
        state = ForcingState(self.instance)
        state.rows = self.base.rows
        state.tokens.update(held)
        manner, guarded = Manner((width,), noise, work), 0 if guard is None else 2 * guard.boxes + 4
        solver = Solver(state, self.rng, manner, tick=self.tick, guard=guard, guarded=guarded)
        if not solves(solver, output_goal(self.instance, self.position, lambda other: other != label), limit):
            return None
        return {p: tuple(v) for p, v in state.tokens.items() if p not in self.pinned}

    def _by_words(self, held: Symbols, accepts: Accepts) -> Iterator[Symbols]:
        left = OPTIONS.enough
        for _ in range(OPTIONS.words):
            self.tick()
            word = _Word(self.instance)
            word.rng = self.rng
            word.share(self.base)
            word.tokens.update(held)
            if accepts(self._labels(word)):
                read = word.read_tokens((self.output, self.position))
                # Of an alphabet of one symbol nothing is drawn, and nothing needs to be held.
                yield {p: tuple(word.tokens[p]) for p in sorted(read - self.pinned) if p in word.tokens}
                left -= 1
                if left == 0:
                    return

    def _by_sat(self, held: Symbols, label: str) -> Symbols | None:
        if self.instance.n > OPTIONS.box_sat_length:
            return None
        fixed = {p: allowed[0] for p, allowed in held.items()}
        try:
            oracle = Oracle.of(
                self.instance, self.position, fixed, deadline=self.deadline, most=OPTIONS.box_sat_clauses
            )
        except ResourceLimit:
            return None
        if label not in oracle.other:
            return {p: (a,) for p, a in fixed.items()}
        word = oracle.find({}, oracle.other[label])
        return None if word is None else {p: (a,) for p, a in (fixed | word).items()}

    # ------------------------------------------------------------ making small

    def made_small(self, box: Symbols, held: Symbols, accepts: Accepts) -> FoundBox:
        """A box of few positions and many symbols that agrees with what is held, from a larger one."""
        return self.finished(self._widened(self._small(box, held, accepts), accepts))

    def _small(self, box: Symbols, held: Symbols, accepts: Accepts) -> Symbols:
        """A box that no position can be taken from. Positions that cost the tree a branch go first."""
        box = self.run(box)[1]
        costly = [p for p in box if not set(held.get(p, self.alphabet)) <= set(box[p])]
        rest = [p for p in box if p not in set(costly)]

        def test(part: Symbols) -> Symbols | None:
            labels, read, _ = self.run(part)
            return read if accepts(labels) else None

        return shrink(test, box, [*self._shuffled(costly), *self._shuffled(rest)])

    def _shuffled(self, positions: Collection[int]) -> list[int]:
        return [int(p) for p in self.rng.permutation(sorted(positions))]

    def _widened(self, box: Symbols, accepts: Accepts) -> Symbols:
        """Larger allowed sets: as few symbols as possible are ruled out at a position, halving what is tried."""
        if len(self.alphabet) == 2:
            return box
        for p in sorted(box):
            allowed = set(box[p])
            box = box | {
                p: self._others(self._ruled_out(box, p, [a for a in self.alphabet if a not in allowed], accepts))
            }
        return box

    def _ruled_out(self, box: Symbols, p: int, ruled_out: list[int], accepts: Accepts) -> list[int]:
        """Symbols to rule out at a position: smaller and smaller parts are allowed again where that does no harm."""
        size, left = len(ruled_out) // 2, OPTIONS.widenings
        while size and left > 0:
            for start in range(0, len(ruled_out), size)[::-1]:
                fewer = ruled_out[:start] + ruled_out[start + size :]
                left -= 1
                if fewer and left >= 0 and accepts(self.run(box | {p: self._others(fewer)})[0]):
                    ruled_out = fewer
            size //= 2
        return ruled_out

    def _others(self, symbols: Iterable[int]) -> tuple[int, ...]:
        left_out = set(symbols)
        return tuple(a for a in self.alphabet if a not in left_out)
