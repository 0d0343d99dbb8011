"""Restrictions for every position at once, of programs that treat all positions alike. Where no score mentions the
query's position (:mod:`restrict.abstract.all_positions`), what a position's output depends on is decided by the symbols
around it and at the two ends; so the search is among restrictions that repeat: a word at the start, one at the end, and
one repeated between, each over the alphabet and ``*``. Hill climbing at a short length finds the words; the run at the
length that was asked for decides. A temporal operator such as *since* is cut once a period, so a fixed share of the
positions bounds c for any n (Theorem 1 of Hahn 2020, with small constants)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

import numpy as np

from restrict.abstract.all_positions import AllPositions
from restrict.base.arrays import FREE_INPUT, I64
from restrict.base.deadline import Deadline
from restrict.base.errors import NotEstablished
from restrict.depth_reduction.options import REPEATING
from restrict.model.lengths import least_length
from restrict.model.program import Instance
from restrict.model.restriction import Restriction
from restrict.model.task import Task

FREE = FREE_INPUT
Cost = tuple[int, int]


@dataclass(frozen=True)
class Pattern:
    """Symbols (or ``FREE``) at the start, repeated, and at the end."""

    start: tuple[int, ...]
    period: tuple[int, ...]
    end: tuple[int, ...]

    def restriction(self, instance: Instance) -> Restriction:
        """The pattern at a length; markers keep their positions."""
        unpinned = [i for i in range(instance.n) if i not in instance.pinned]
        head, tail = len(self.start), max(len(self.start), len(unpinned) - len(self.end))
        cells = [*self.start, *(self.period[t % len(self.period)] for t in range(tail - head)), *self.end]
        fixed = {i: a for i, a in zip(unpinned, cells, strict=False) if a != FREE}
        return Restriction.of(instance, fixed)

    def text(self, alphabet: Sequence[str]) -> str:
        """Start, ``(period)*`` and end, with ``-`` for nothing."""
        start, period, end = (
            " ".join("*" if a == FREE else alphabet[a] for a in word) or "-"
            for word in (self.start, self.period, self.end)
        )
        return f"start {start}, then ({period}) repeated, end {end}"

    def changed(self, rng: np.random.Generator, symbols: int) -> "Pattern":
        """One cell changed, or a cell of the period moved by one."""
        part = ("start", "period", "period", "period", "end")[int(rng.integers(5))]
        word = list(getattr(self, part))
        if not word:
            return self
        t = int(rng.integers(len(word)))
        if part == "period" and len(word) > 1 and rng.random() < 0.4:
            other = (t + (1 if rng.random() < 0.5 else -1)) % len(word)
            word[t], word[other] = word[other], word[t]
        else:
            word[t] = int(rng.integers(FREE, symbols))
        return replace(self, **{part: tuple(word)})


@dataclass(frozen=True, eq=False)
class Repeated:
    """A pattern, the restriction that it is at the task's length, certified bounds on how many inputs each position's
    label depends on there, shape (n,), and whether Ctrl-C ended the search for patterns."""

    pattern: Pattern
    restriction: Restriction
    dependencies: I64
    interrupted: bool


def periodic(task: Task, *, c: int | None = None, free: int | None = None) -> Repeated:
    """A restriction that repeats: most free positions with every label depending on at most ``c`` inputs, or least c.
    Only for programs that :func:`restrict.abstract.all_positions.supported` accepts. Cost: some thousand runs at a
    short length and a few at n, O(n) each."""
    instance, rng = task.instance, np.random.default_rng(task.seed)
    unpinned = len(task.instance.unpinned)
    spare = Fraction(1) if free is None else Fraction(max(0, unpinned - free), max(1, unpinned))
    starts = list(_starts(rng, len(instance.model.alphabet), spare, c))
    short = _short(instance, max(REPEATING.short, 6 * max(len(p.period) for p in starts)))
    cost = cache(partial(_cost, short, c, spare))  # climbs meet the same patterns often
    found, interrupted = dict[Pattern, Cost](), False
    try:
        for pattern in starts:
            best = _climb(cost, pattern, rng, len(instance.model.alphabet), task.deadline)
            found[best] = cost(best)
            task.tell("searching patterns")
            if task.deadline.passed:
                break
    except KeyboardInterrupt:
        if not found:
            raise
        interrupted = True
    looks = 0
    for pattern in sorted(found, key=lambda p: (found[p], len(p.period))):
        rho = pattern.restriction(instance)
        if (free is not None and rho.free < free) or looks == REPEATING.looks:
            continue
        looks += 1
        depends = AllPositions(instance, rho).label_sets().sizes()
        if c is None or depends.max() <= c:
            return Repeated(pattern, rho, depends, interrupted)
    wanted = f"c <= {c}" if c is not None else f"{free} free positions"
    best_c, fixed = min(found.values())
    raise NotEstablished(
        f"no repeating restriction found with {wanted} for every position; the nearest at n = {short.n} misses c by "
        f"{best_c} with {fixed} fixed: allow a larger c, or a smaller free fraction"
    )


def _short(instance: Instance, least: int) -> Instance:
    """The program at a length at which a run is cheap, ``least`` or the next that it is defined at."""
    first = min(instance.n, least)
    n = least_length(instance.model, first, min(instance.n - first, 64)) if first < instance.n else None
    return instance if n is None else instance.model.at(n)


def _starts(rng: np.random.Generator, symbols: int, spare: Fraction, c: int | None) -> Iterator[Pattern]:
    """Patterns to climb from: only the ends fixed, and blocks of fixed symbols once in each period."""
    ends = (FREE,) * REPEATING.ends
    yield Pattern(ends, (FREE,), ends)
    for a in range(symbols):
        yield Pattern((a, *ends[1:]), (FREE,), ends)
        yield Pattern(ends, (FREE,), (*ends[1:], a))
        yield Pattern((a, *ends[1:]), (FREE,), (*ends[1:], a))
    if c is None:
        shapes = [(p, int(spare * p)) for p in range(1, REPEATING.longest + 1) if 1 <= int(spare * p) <= 6]
        shapes = shapes[:: max(1, len(shapes) // 12)]
    else:
        shapes = [(1, 1), *((c + b, b) for b in (1, 2, 3, 4) if c + b <= REPEATING.longest)]
    for period, block in shapes:
        for a in range(symbols):
            yield Pattern((), (a,) * block + (FREE,) * (period - block), ())
        yield Pattern((), tuple(rng.integers(0, symbols, block).tolist()) + (FREE,) * (period - block), ())


def _climb(
    cost: Callable[[Pattern], Cost], pattern: Pattern, rng: np.random.Generator, symbols: int, deadline: Deadline
) -> Pattern:
    """Change one cell at a time, keep what is no worse."""
    for _ in range(REPEATING.trials):
        if deadline.passed:
            break
        other = pattern.changed(rng, symbols)
        if cost(other) <= cost(pattern):
            pattern = other
    return pattern


def _cost(instance: Instance, c: int | None, spare: Fraction, pattern: Pattern) -> Cost:
    """(How far c is above the wanted one, positions fixed). Where a free share is wanted, a pattern that fixes too many
    positions counts as one whose labels depend on all inputs."""
    rho = pattern.restriction(instance)
    slack = len([a for a in pattern.start + pattern.end if a != FREE])  # the ends cost nothing at a great length
    repeated = Fraction(sum(a != FREE for a in pattern.period), len(pattern.period))
    if c is None and (repeated > spare or (repeated == spare and slack)):
        return instance.n, len(rho.fixed)
    worst = int(AllPositions(instance, rho).label_sets().sizes().max())
    return (max(0, worst - c) if c is not None else worst), len(rho.fixed)
