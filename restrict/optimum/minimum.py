"""Minimum explanations at any length: implicit hitting sets whose blocks come from words.

An explanation of ``x`` fixes a position of every sensitive block of ``x`` (:mod:`restrict.optimum.sensitivity`), so a
minimum hitting set of the blocks known weighs no more than any explanation. If it explains ``x``, it is a minimum one;
if not, some word agrees with it and has another label, and the changes of that word are a block that it misses
(Reiter 1987; Ignatiev, Narodytska and Marques-Silva, AAAI 2019). A formula of the whole cone is not needed:

- words are drawn at random as they are read, which costs the nodes that the output reads on them; where many agree with
  the input, they are made by dives, which set one free token after another as long as another label is possible;
- that a set explains is shown by the abstract run, by a tree of cases, or by SAT on what is left of the cone under it;
- where neither a word nor such a proof is found, the bound is what is known so far.

The plain abstract run is a second, weaker oracle with the same loop: what must be added to a set before the run
confirms it is a set to hit, too. With these sets the lightest explanation that the run confirms is found in few rounds,
and QuickXplain from each proposal gives explanations on the way. So the length does not matter much. Everything is
bounded by counts of work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from restrict.base.deadline import OutOfTime
from restrict.base.errors import ResourceLimit
from restrict.base.options import HUGE, Fact
from restrict.certificate.certificate import Certificate
from restrict.force.cases import confirm_by_tree, find_tree
from restrict.force.looking import Looking
from restrict.force.options import CASES
from restrict.model.task import Task
from restrict.optimum.options import OPTIONS
from restrict.optimum.oracle import Cube, Oracle
from restrict.optimum.quickxplain import quickxplain
from restrict.optimum.sensitivity import Flips
from restrict.sat.hitting_sets import Priced, unmissed
from restrict.sat.limit import Budget

TINY: Fact[float] = 1e-9
"""What is added to a weight that may be 0."""


@dataclass(frozen=True)
class Minimum:
    """``cube`` explains and has a ``certificate``, unless it is the one known; none weighs less than ``lower``.
    ``by_sat`` explain, too, and weigh ``lower``, by SAT alone. ``complete``: no part of ``Blocks.among`` that the plain
    run confirms is lighter."""

    cube: Cube
    lower: int
    certificate: Certificate | None = None
    by_sat: tuple[Cube, ...] = ()
    complete: bool = False


class Blocks:
    """Sensitive blocks of one input, and proofs that there are none. ``shared``: runs of the same instance at the
    target, whose ordered rows are used; ``among``: the part of the word that explanations for the plain abstract run
    are chosen from, which is one itself: at first all that is not given."""

    def __init__(
        self, task: Task, word: Cube, given: Cube, label: str, rng: np.random.Generator, shared: Looking
    ) -> None:
        self.task, self.word, self.given, self.label, self.rng = task, word, given, label, rng
        self.instance, self.position = task.instance, task.one_position("an explanation")
        self.shared, self.symbols = shared, len(task.instance.model.alphabet)
        self.last, self.fits = HUGE, True
        self.among = {i: a for i, a in word.items() if i not in given}
        self.flips = Flips(shared, word, label)

    @property
    def left(self) -> int:
        """What may still be spent, in nodes of runs."""
        return self.last - self.shared.spent

    def singles(self, read: Mapping[int, int]) -> Iterator[int]:
        """Positions whose change alone flips the label, in every explanation. A run per position and symbol."""
        for i in sorted(read):
            self.task.deadline.check()
            if any(self.flips.of({i: a}) for a in range(self.symbols) if a != self.word[i]):
                yield i

    def by_words(self, agreed: set[int], fails: int) -> Cube | None:
        """A block that leaves some positions alone, from words drawn at random. Gives the new symbols by position,
        subset-minimal; ``None`` where none of the words has another label."""
        held = np.array([*agreed, *self.given, *self.instance.pinned], dtype=np.int64)
        for _ in range(fails):
            self.task.deadline.check()
            drawn = self.rng.integers(self.symbols, size=self.instance.n)
            drawn[held] = self.flips.input[held]
            if self.shared.label_of(drawn) != self.label:
                changes = {i: int(drawn[i]) for i in sorted(self.shared.tokens_read())}
                return self.flips.minimal({i: a for i, a in changes.items() if a != self.word[i]})
        return None

    def by_dives(self, cube: Collection[int], dives: int) -> Cube | None:
        """A block that leaves a set of positions alone, from dives: free tokens that the output reads get symbols at
        random, as long as the run leaves another label possible, until it excludes that of the input. They find blocks
        that random words do not: on proposals that 80 words left open, of two random models (2 layers, 4 heads, n = 200
        and 400), 24 to 40 of 40 dives had another label, and at most 38 of 1000 words."""
        for _ in range(dives):
            found = self._dive({**self.given, **{i: self.word[i] for i in cube}})
            if found is not None:
                return self.flips.minimal({i: a for i, a in found.items() if self.word.get(i, a) != a})
        return None

    def _dive(self, fixed: Cube) -> Cube | None:
        """A partial input under which the label is another one, or ``None`` where the dive ends at the label."""
        labels = self.shared.labels(fixed)
        while self.label in labels and len(labels) > 1:
            self.task.deadline.check()
            weight = self.shared.open_tokens()
            if not weight:
                return None
            # The first of these waiting times are a draw in proportion to the weights.
            waits = {
                i: t / (weight[i] + TINY)
                for i, t in zip(sorted(weight), self.rng.exponential(size=len(weight)), strict=True)
            }
            drawn = sorted(waits, key=waits.__getitem__)[: 1 + len(waits) // OPTIONS.dive_step]
            step = {i: int(self.rng.integers(self.symbols)) for i in drawn}
            while (labels := self.shared.labels(fixed | step)) == {self.label} and len(step) > 1:
                step = dict(list(step.items())[: len(step) // 2])
            if labels == {self.label}:
                ((i, seen),) = step.items()
                others = ({i: a} for a in range(self.symbols) if a != seen)
                step = next((t for t in others if (labels := self.shared.labels(fixed | t)) != {self.label}), {})
            fixed = fixed | step
        return None if self.label in labels else fixed

    def explains(self, cube: Cube) -> bool:
        """Whether the plain abstract run shows that a set explains."""
        return self.shared.labels({**self.given, **cube}) == {self.label}

    def abstractly(self, cube: Cube) -> Cube | None:
        """What the plain abstract run reads of a set, if it shows that the set explains."""
        self.task.deadline.check()
        if not self.explains(cube):
            return None
        read = self.shared.tokens_read()
        return {i: a for i, a in cube.items() if i in read}

    def by_runs(self, cube: Cube) -> Iterator[list[int]]:
        """Disjoint sets that a set misses, and that every explanation for the plain abstract run hits that is part of
        ``among`` and this set. What is added without making the set explain never matters; the rest is one such set,
        and is added, too. Cost: about ``m log2(n / m)`` runs for a set of ``m`` of ``n`` positions."""
        kept = dict(cube)
        while not self.explains(kept):
            missed = list[int]()
            rest = [i for i in self.among if i not in kept]
            parts = [[rest[t] for t in self.rng.permutation(len(rest))]]
            while parts:
                self.task.deadline.check()
                part = parts.pop()
                wider = kept | {i: self.word[i] for i in part}
                if not self.explains(wider):
                    kept = wider
                elif len(part) == 1:
                    missed += part
                else:
                    parts += [part[: len(part) // 2], part[len(part) // 2 :]]
            yield missed
            kept |= {i: self.word[i] for i in missed}

    def by_sat(self, cube: Cube) -> Cube | None:
        """A block that leaves a set of positions alone, exactly. Gives the new symbols by position, subset-minimal, or
        ``None``: there is no block, so the cube explains."""
        fixed, deadline = {**self.given, **cube}, self.task.deadline
        self.shared.spent += OPTIONS.clause * OPTIONS.clauses
        oracle = Oracle.of(self.instance, self.position, fixed, deadline=deadline, most=OPTIONS.clauses)
        self.shared.spent -= OPTIONS.clause * (OPTIONS.clauses - len(oracle.code.clauses))
        decided = self.label not in oracle.other or len(oracle.other) == 1
        found = None if decided else oracle.find({}, oracle.other[self.label])
        return None if found is None else self.flips.minimal({i: a for i, a in found.items() if a != self.word[i]})


def minimum(
    blocks: Blocks,
    known: Cube,
    read: Mapping[int, int],
    prices: Mapping[int, int],
    rounds: int,
    effort: int | None = None,
) -> Minimum:
    """The lightest explanation with a proof (a minimum one where ``lower`` is its weight), or the one known with a
    bound. ``prices``: of positions, where not 1; at most ``rounds`` proposals; ``effort``: about the nodes of all runs.
    Cost: for each round a minimum hitting set by MaxSAT, and the words and proofs of this module."""
    blocks.last = HUGE if effort is None else blocks.shared.spent + effort
    return _Closing(blocks, prices, known).run(read, rounds)


class _Closing:
    """Proposals until one has a proof, or the bound meets what is known, or the work or the time is spent. At first the
    sets to hit are sensitive blocks, so the least weight of a hitting set is a bound. Once a proposal explains, or this
    is left open, the bound stands; sets that every explanation of the plain abstract run must hit come in, and the
    first proposal that it confirms is the lightest of those (in ``Blocks.among``). It may have a part that will do,
    with a position that is not in ``among``. ``last``: a proposal of which no explanation has been made."""

    def __init__(self, blocks: Blocks, prices: Mapping[int, int], known: Cube) -> None:
        self.blocks, self.sets, self.by_sat = blocks, list[Cube](), list[Cube]()
        self.budget, self.hard, self.last = Budget(0), 0, Cube()
        self.hitter = Priced(prices, blocks.task.deadline, self.budget)
        self.take(known)
        self.lower, self.bounding, self.complete = 0, True, False
        self.reserve, self.patient = blocks.left // OPTIONS.reserve, blocks.last == HUGE

    def take(self, cube: Cube, proof: Certificate | None = None) -> None:
        """Take a set that explains: as long as none is lighter, it is the answer."""
        self.known, self.goal, self.proof = cube, self.hitter.weight(cube), proof

    def run(self, read: Mapping[int, int], rounds: int) -> Minimum:
        with self.blocks.task.deadline.ends():
            for i in self.blocks.singles(read):
                self.sets.append({i: read[i]})
                self.hitter.add([i])
            next(unmissed(self.propose, self.learn, rounds if self.known else 0), None)
            if self.last and self.lower < self.goal and self.blocks.left <= 0:
                self.complete_it(self.last)
            if self.lower < self.goal:
                self.confirm_one()
            if self.lower < self.goal and self.proof is None:
                self.take(_lighter(self.blocks, self.known))
        return Minimum(self.known, self.lower, self.proof, tuple(self.by_sat), self.complete)

    def propose(self) -> Cube | None:
        """The lightest set that is left; none that weighs as much as is known, or where the effort is spent."""
        self.blocks.task.tell(f"sets to hit, at least {self.lower}", self.goal)
        hit = self.lightest(self.hitter)
        if hit is None:
            return None
        weight = self.hitter.weight(hit)
        if self.bounding:
            self.lower = min(weight, self.goal)
        self.complete = weight >= self.goal
        return None if self.complete else {i: self.blocks.word[i] for i in hit}

    def lightest(self, hitter: Priced) -> list[int] | None:
        """The next set of a hitter; none where there is none, or where the effort is spent: the conflicts that this
        takes (``hard``) count, too."""
        blocks = self.blocks
        if blocks.left <= 0:
            return None
        before = self.budget.conflicts = blocks.left // OPTIONS.conflict
        try:
            return hitter.get()
        except OutOfTime:
            blocks.task.deadline.check()
            return None
        finally:
            self.hard = before - self.budget.conflicts
            blocks.shared.spent += OPTIONS.conflict * self.hard

    def learn(self, cube: Cube) -> bool:
        """Add sets that not a proposal, but every explanation (of the plain run) hits; whether there are some."""
        self.last = cube
        if self.blocks.explains(cube):
            self.take(cube)
            self.complete = True
            self.complete_it(cube)
            return False
        least, sparing = self.bounding, not self.bounding or self.blocks.left < self.reserve
        found, open_ = _missed(self.blocks, cube, not sparing)
        self.sets += found
        if not found:
            if least:
                self.by_sat += [] if open_ else [cube]
                self.bounding = False
                self.blocks.last = min(self.blocks.last, self.blocks.shared.spent + OPTIONS.after)
            if self.proved(cube, OPTIONS.looks_first if least else 0):
                return False
        if sparing or not found or self.hard > OPTIONS.hard:
            self.complete_it(cube)
        for block in found or self.blocks.by_runs(cube):
            self.hitter.add(block)
        return True

    def complete_it(self, cube: Cube) -> None:
        """An explanation that begins with a proposal: often only a few positions are missing."""
        self.last = {}
        rest = [i for i in self.blocks.among if i not in cube]
        order = [*cube, *(rest[t] for t in self.blocks.rng.permutation(len(rest)))]
        lighter = quickxplain(self.blocks.abstractly, self.blocks.among | cube, order)
        if self.hitter.weight(lighter) < self.goal:
            self.take(lighter)

    def proved(self, cube: Cube, looks: int) -> bool:
        """Whether a tree of cases shows that a proposal explains that no block contradicts: then it is the answer.
        ``looks``: the runs that choosing its questions may take, in short inputs and where there is no limit."""
        short = self.blocks.instance.n <= OPTIONS.short
        looks = looks if short else min(looks, OPTIONS.looks) if self.patient else 0
        fixed = {**self.blocks.given, **cube}
        most = CASES.leaves if looks else OPTIONS.leaves
        proof = confirm_by_tree(self.blocks.task, fixed, most, looks, self.blocks.shared)
        if proof is not None:
            self.take(cube, proof)
        return proof is not None

    def confirm_one(self) -> None:
        """The certificate of one of the minimum sets that SAT shows. Some of them have a small tree of cases, so a few
        are tried before a large tree of the first may take what effort is left (110 inputs of 2 layers, 4 heads, n = 60
        to 100: 2708 positions, and 2719 where the large tree came first)."""
        others = self.others() if self.by_sat else iter(())
        large = [(cube, CASES.looks) for cube in self.by_sat[: OPTIONS.alternatives if self.patient else 1]]
        some = ((cube, OPTIONS.looks_others) for cube in islice(others, OPTIONS.alternatives))
        for cube, looks in chain(some, large, ((cube, 0) for cube in others)):
            if self.blocks.left <= 0 or self.proved(cube, looks):
                return

    def others(self) -> Iterator[Cube]:
        """Further minimum sets, by SAT; each is added to ``by_sat``."""
        hitter = Priced(self.hitter.prices, self.blocks.task.deadline, self.budget)
        for block in self.sets:
            hitter.add(block)
        for cube in self.by_sat:
            hitter.block(cube)
        while (hit := self.lightest(hitter)) is not None and hitter.weight(hit) <= self.lower:
            cube = {i: self.blocks.word[i] for i in hit}
            found, open_ = _missed(self.blocks, cube, True)
            if open_:
                return
            for block in found:
                hitter.add(block)
            if not found:
                self.by_sat.append(cube)
                hitter.block(cube)
                yield cube


def _lighter(blocks: Blocks, known: Cube) -> Cube:
    """Deletion, where a small tree of cases shows that the rest explains."""
    if blocks.last != HUGE:
        blocks.last = blocks.shared.spent + OPTIONS.lighter
    for i in sorted(known, key=lambda i: (int(blocks.rng.integers(len(known))), i)):
        if blocks.left < 0:
            break
        rest = {j: a for j, a in known.items() if j != i}
        if blocks.by_words(set(rest), OPTIONS.first_fails) is None:
            tree = find_tree(blocks.task, {**blocks.given, **rest}, OPTIONS.small_tree, 0, blocks.shared)
            known = known if tree is None else rest
    return known


def _missed(blocks: Blocks, cube: Cube, exactly: bool) -> tuple[list[Cube], bool]:
    """Disjoint blocks that a proposal does not hit, and whether "none" is left open; by SAT, too, if ``exactly``."""
    first, open_, by_words = blocks.by_words(set(cube), OPTIONS.first_fails), False, True
    if first is None:
        by_words = False
        first, open_ = _settled(blocks, cube) if exactly else (blocks.by_dives(cube, OPTIONS.few_dives), True)
    if first is None:
        return [], open_
    agreed, found = {*cube, *first}, [first]
    while len(found) < (OPTIONS.apart if by_words else OPTIONS.apart // 2):
        block = blocks.by_words(agreed, OPTIONS.fails) if by_words else blocks.by_dives(agreed, 1)
        if block is None:
            break
        agreed.update(block)
        found.append(block)
    return found, False


def _settled(blocks: Blocks, cube: Cube) -> tuple[Cube | None, bool]:
    """A block where words found none at first, by SAT, or by more words; whether "none" is left open."""
    asks = blocks.instance.n <= OPTIONS.sat_length and blocks.fits
    block = blocks.by_dives(cube, OPTIONS.few_dives if asks else OPTIONS.dives)
    if block is not None:
        return block, False
    if asks:
        try:
            return blocks.by_sat(cube), False
        except ResourceLimit:
            blocks.fits = False
    free = len(blocks.word) - len(blocks.given) - len(cube)
    most = OPTIONS.slow_words if blocks.shared.compiled is None else OPTIONS.more_words
    block = blocks.by_words(set(cube), min(most, 2 * blocks.symbols ** min(free, 12)))
    return block, block is None
