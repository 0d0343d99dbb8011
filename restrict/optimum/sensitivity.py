"""Disjoint sensitive blocks: a lower bound on every explanation of an input that anyone can check.

A *sensitive block* of ``x`` is a set ``B`` of positions with an input ``x'`` that differs from ``x`` only on ``B`` and
has another label (block sensitivity: Nisan, STOC 1989). An explanation of ``x`` fixes positions to their symbols
in ``x`` so that the label is forced. If it fixed no position of ``B``, ``x'`` would agree with it. So it fixes one of
every block, and **disjoint blocks number at most the size of the smallest explanation**.

Where the cone fits into CNF, smallest blocks come first, by SAT with a totalizer, until there is no further block at
all; then the positions of the blocks together are an explanation (``exhausted``). Elsewhere blocks come from
single changes and from the goal-directed search for another label, which scales to long inputs and may miss blocks.
Both kinds are evaluated again before they are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from pysat.card import ITotalizer

from restrict.base.deadline import Deadline, OutOfTime
from restrict.base.errors import InternalError, ResourceLimit, UsageError
from restrict.force.goal import Goal, Manner, OutOfBudget, Solver
from restrict.force.looking import Looking
from restrict.force.state import ForcingState
from restrict.model.arguments import the_model, the_time
from restrict.model.on_demand import OnDemandRun
from restrict.model.program import Instance, Model
from restrict.model.task import Target, position_of
from restrict.optimum.options import OPTIONS
from restrict.optimum.oracle import Cube, Oracle


@dataclass(frozen=True)
class Block:
    """``word`` differs from the input only at ``positions`` and has the label ``label``."""

    positions: tuple[int, ...]
    label: str
    word: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True)
class Sensitivity:
    """Disjoint sensitive blocks of one input, whose label is ``label``; ``lower`` is their number. ``exhausted``: there
    is no further block disjoint from these."""

    label: str
    blocks: tuple[Block, ...]
    exhausted: bool

    @property
    def lower(self) -> int:
        """Every explanation of the input fixes at least this many positions."""
        return len(self.blocks)


def input_of(model: Model, x: str | Sequence[str]) -> tuple[Instance, Cube]:
    """The model at the length of a word with its markers, and the word's symbol indices by position. ``UsageError``: an
    empty word or an unknown symbol; ``ModelError``: not defined at this length."""
    symbols = the_model(model).symbols(x)
    n = len(symbols) + len(model.markers)
    if n < 1:
        raise UsageError("the input is empty")
    instance = model.at(n)
    pinned = instance.pinned
    return instance, dict(zip((i for i in range(n) if i not in pinned), symbols, strict=True))


class Flips:
    """One word (symbol indices by position), its ``label`` at a position, and which changes of it give another one.
    Cost of a question: the nodes that the output reads."""

    def __init__(self, runs: Looking, word: Cube, label: str | None = None) -> None:
        self.runs, self.word = runs, word
        self.input = np.empty(runs.instance.n, dtype=np.int64)
        for cube in (runs.instance.pinned, word):
            self.input[list(cube)] = list(cube.values())
        self.label = runs.label_of(self.input) if label is None else label

    def of(self, changes: Mapping[int, int]) -> bool:
        """Whether the label on the word with changes is another one (exact)."""
        word = self.input.copy()
        for i, a in changes.items():
            word[i] = a
        return self.runs.label_of(word) != self.label

    def minimal(self, changes: Cube) -> Cube:
        """Changes of which none can be undone; first halves, then quarters, at last single ones are tried."""
        size = (len(changes) + 1) // 2
        while size:
            places = sorted(changes)
            for start in range(0, len(places), size):
                part = set(places[start : start + size])
                rest = {i: a for i, a in changes.items() if i not in part}
                if rest and self.of(rest):
                    changes = rest
            size //= 2
        return changes


def sensitive_block(oracle: Oracle, x: Cube, agreed: Collection[int], other: int) -> Cube | None:
    """The new symbols of a subset-minimal block of positions, none in ``agreed``, that flips the label on ``x`` to that
    of the selector ``other``; ``None``: there is none. Cost: one SAT call per position of the first input found;
    ``OutOfTime`` at the deadline."""
    found = oracle.find({i: x[i] for i in oracle.inputs if i in agreed}, other)
    if found is None:
        return None
    for i in [i for i in oracle.inputs if found[i] != x[i]]:
        if found[i] != x[i]:
            closer = {j: x[j] for j in oracle.inputs if found[j] == x[j] or j == i}
            found = oracle.find(closer, other) or found
    return {i: found[i] for i in oracle.inputs if found[i] != x[i]}


def sensitivity(
    model: Model, x: str | Sequence[str], *, target: Target = "last", time: float | None = None, seed: int = 0
) -> Sensitivity:
    """Disjoint sensitive blocks of the input ``x`` (a word without markers), as many as a greedy choice finds.

    Cost: a SAT call or a search per block and size.

    Args:
        model: the program.
        x: a word without markers.
        target: ``"last"``, or a position.
        time: seconds after which the blocks so far are returned.
        seed: for the search on long inputs; the same seed gives the same blocks (without ``time``).

    Returns:
        The blocks, each with the change that flips the label.

    Raises:
        UsageError: a bad word or target.
        ModelError: the model is not defined at this length.
    """
    instance, word = input_of(model, x)
    position = position_of(instance, target)
    if position is None:
        raise UsageError("sensitivity is for one position, not for the target all")
    deadline = Deadline.after(the_time(time))
    flips = Flips(Looking(instance, position), word)
    found: Iterator[Cube] | None = None
    if instance.n <= OPTIONS.block_length:
        with suppress(ResourceLimit):
            found = _by_sat(Oracle.of(instance, position, deadline=deadline), word, flips.label)
    exhausted = found is not None
    blocks = []
    try:
        for changes in found or _by_search(flips, seed, deadline):
            blocks.append(_checked(flips, changes))  # noqa: PERF401 - those before a timeout count
    except OutOfTime:
        exhausted = False
    return Sensitivity(flips.label, tuple(blocks), exhausted)


def _checked(flips: Flips, changes: Cube) -> Block:
    """Evaluate a block's witness again, by the model's own definition."""
    instance, changed = flips.runs.instance, flips.word | changes
    word = [changed[i] for i in sorted(changed)]
    seen = OnDemandRun(instance, word).label(flips.runs.position)
    if seen == flips.label:
        raise InternalError(f"the block {sorted(changes)} is not sensitive; please report the model")
    return Block(tuple(sorted(changes)), seen, tuple(instance.model.alphabet[a] for a in word))


# ---------------------------------------------------------------- by SAT


def _by_sat(oracle: Oracle, word: Cube, label: str) -> Iterator[Cube]:
    """Disjoint blocks by SAT, greedily, smallest first, until none is left."""
    other = oracle.other[label]
    if not oracle.inputs or len(oracle.other) == 1:
        return
    differ = [-oracle.code.token_lit(i, word[i]) for i in oracle.inputs]
    count = ITotalizer(differ, ubound=min(OPTIONS.small, len(differ)), top_id=oracle.top)
    oracle.solver.append_formula(count.cnf.clauses)
    used: set[int] = set()
    size = 1
    while size <= min(OPTIONS.small, len(differ) - 1):
        found = oracle.find({i: word[i] for i in used}, other, [-count.rhs[size]])
        if found is None:
            size += 1
            continue
        changes = {i: found[i] for i in oracle.inputs if found[i] != word[i]}
        used.update(changes)
        yield changes
    while (block := sensitive_block(oracle, word, used, other)) is not None:
        used.update(block)
        yield block


# ---------------------------------------------------------------- by search


def _by_search(flips: Flips, seed: int, deadline: Deadline) -> Iterator[Cube]:
    """Single changes of tokens that the target reads, then what forces another label."""
    rng, word = np.random.default_rng(seed), flips.word
    used: set[int] = set()
    flips.runs.label_of(flips.input)
    for i in sorted(flips.runs.tokens_read()):
        deadline.check()
        for a in range(len(flips.runs.instance.model.alphabet)):
            if a != word[i] and i not in used and flips.of({i: a}):
                used.add(i)
                yield {i: a}
    while (found := _other_label(flips, used, rng)) is not None:
        deadline.check()
        block = flips.minimal(found)
        used.update(block)
        yield block


def _other_label(flips: Flips, used: set[int], rng: np.random.Generator) -> Cube | None:
    """Changes off ``used`` that, laid over the input, give another label; found by goal-directed search."""
    instance, word = flips.runs.instance, flips.word
    goal = output_goal(instance, flips.runs.position, lambda label: label != flips.label)
    found = force(instance, goal, {i: word[i] for i in used}, instance.n, rng)
    return None if found is None else {i: a for i, a in found.items() if a != word[i]}


def output_goal(instance: Instance, position: int, wanted: Callable[[str], bool]) -> Goal:
    """The goal that the output at a position has one of the labels wanted."""
    name = instance.model.output.variable
    return Goal(name, position, frozenset(v for v in range(instance.domains[name]) if wanted(instance.label(v))))


def force(
    instance: Instance, goal: Goal, pinned: Cube, limit: int, rng: np.random.Generator,
    symbols: Mapping[int, int] | None = None,
) -> Cube | None:  # fmt: skip
    """What one goal-directed search fixes besides ``pinned``, at most ``limit`` positions (each only to its symbol in
    ``symbols``, where given), so that a node has the goal's values; ``None``, which proves nothing, where it fails."""
    state = ForcingState(instance)
    state.pinned.update({i: (a,) for i, a in pinned.items()})
    state.tokens = dict(state.pinned)
    solver = Solver(state, rng, Manner((OPTIONS.width,), 0.0, OPTIONS.block_work), symbols=symbols)
    if not solves(solver, goal, limit):
        return None
    return {i: v[0] for i, v in state.tokens.items() if i not in state.pinned}


def solves(solver: Solver, goal: Goal, limit: int) -> bool:
    """Whether a search meets a goal by at most so many positions, within its effort."""
    try:
        return bool(goal.allowed) and solver.solve(goal, limit)
    except OutOfBudget:
        return False
