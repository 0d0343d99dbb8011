"""Minimum explanations at any length: implicit hitting sets whose blocks come from words.

An explanation of ``x`` fixes a position of every sensitive block of ``x`` (:mod:`restrict.optimum.sensitivity`), so a
minimum hitting set of the blocks known weighs no more than any explanation. If it explains ``x``, it is a minimum one;
if not, some word agrees with it and has another label, and the changes of that word are a block that it misses
(Reiter 1987; Ignatiev, Narodytska and Marques-Silva, AAAI 2019). A formula of the whole cone is not needed:

- words are drawn at random as they are read, which costs the nodes that the output reads on them;
- that a set explains is shown by the abstract run, by a tree of cases, or by SAT on what is left of the cone under it;
- where neither a word nor such a proof is found, the search ends with the bound so far.

So the length does not matter much. Everything is bounded by counts of work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from restrict.base.deadline import OutOfTime
from restrict.base.errors import ResourceLimit
from restrict.certificate.certificate import Certificate
from restrict.force.cases import MOST_LEAVES, MOST_LOOKS, confirm_by_tree, find_tree
from restrict.force.looking import Looking
from restrict.model.task import Task
from restrict.optimum.oracle import Cube, Oracle
from restrict.optimum.sensitivity import Flips
from restrict.sat.hitting_sets import Priced, unmissed

FAILS, FIRST_FAILS, MORE_WORDS, SLOW_WORDS = 6, 80, 2_000, 300
"""Random words with no other label among them: after so many no further disjoint block is expected; a proof is tried;
SAT is asked or the proposal is left undecided (the last number is for runs that are not on kernels)."""
APART = 8
"""Disjoint blocks that one proposal adds, at most."""
LEAVES, SMALL_TREE = 256, 64
"""Leaves of the tree of one proposal, and of the trees that deletion may use."""
LOOKS, SHORT = 12_000, 128
"""Runs that choosing the questions of a larger tree may take, and the length up to which more are spent on it. Of
longer inputs no larger tree is asked for where the effort is limited: it takes seconds, and on ten random models (2
layers, 4 heads, n = 200 to 800) none was found."""
LIGHTER, NEVER_SPENT = 600_000, 2**62
"""Nodes that deletion by trees may cost beyond the rest; and no limit."""
LENGTH, ROUNDS = 20_000, 200
"""Longest input for which this is done by default, and its proposals at most."""
ALTERNATIVES = 3
"""Proposals that explain by SAT only, without a tree found for them; after so many no other is tried."""
SAT_LENGTH, CLAUSES = 1_000, 60_000
"""Longest input, and largest formula of what is left under a proposal, for which SAT is asked."""


@dataclass(frozen=True)
class Minimum:
    """``cube`` explains and has a ``certificate``, unless it is the one known; ``lower``: no explanation weighs less.

    ``by_sat`` explain, too, and weigh ``lower``, but only SAT shows it.
    """

    cube: Cube
    lower: int
    certificate: Certificate | None = None
    by_sat: tuple[Cube, ...] = ()


class Blocks:
    """Sensitive blocks of one input, and proofs that there are none.

    ``shared``: runs of the same instance at the target, whose ordered rows are used.
    """

    def __init__(
        self, task: Task, word: Cube, given: Cube, label: str, rng: np.random.Generator, shared: Looking
    ) -> None:
        self.task, self.word, self.given, self.label, self.rng = task, word, given, label, rng
        self.instance, self.position = task.instance, task.one_position("an explanation")
        self.shared, self.symbols = shared, len(task.instance.model.alphabet)
        self.last = NEVER_SPENT
        self.flips = Flips(shared, word, label)

    @property
    def left(self) -> int:
        """What may still be spent, in nodes of runs."""
        return self.last - self.shared.spent

    def singles(self, read: Mapping[int, int]) -> Iterator[int]:
        """Positions whose change alone flips the label; every explanation has them.

        Cost: one evaluation per position and symbol.
        """
        for i in sorted(read):
            self.task.deadline.check()
            if any(self.flips.of({i: a}) for a in range(self.symbols) if a != self.word[i]):
                yield i

    def by_words(self, agreed: set[int], fails: int) -> Cube | None:
        """A block that leaves some positions alone, from words drawn at random.

        Gives the new symbols by position, subset-minimal; ``None`` where none of the words has another label.
        """
        held = np.array([*agreed, *self.given, *self.instance.pinned], dtype=np.int64)
        for _ in range(fails):
            self.task.deadline.check()
            drawn = self.rng.integers(self.symbols, size=self.instance.n)
            drawn[held] = self.flips.input[held]
            if self.shared.label_of(drawn) != self.label:
                changes = {i: int(drawn[i]) for i in sorted(self.shared.tokens_read())}
                return self.flips.minimal({i: a for i, a in changes.items() if a != self.word[i]})
        return None

    def by_sat(self, cube: Cube) -> Cube | None:
        """A block that leaves a set of positions alone, exactly.

        Gives the new symbols by position, subset-minimal, or ``None``: there is no block, so the cube explains.
        """
        fixed, deadline = {**self.given, **cube}, self.task.deadline
        oracle = Oracle.of(self.instance, self.position, fixed, deadline=deadline, most=CLAUSES)
        if self.label not in oracle.other or len(oracle.other) == 1:
            return None
        found = oracle.find({}, oracle.other[self.label])
        if found is None:
            return None
        return self.flips.minimal({i: a for i, a in found.items() if a != self.word[i]})


def minimum(
    blocks: Blocks,
    known: Cube,
    read: Mapping[int, int],
    prices: Mapping[int, int],
    rounds: int,
    effort: int | None = None,
) -> Minimum:
    """A minimum explanation, or the one known with a bound.

    Cost: for each round a minimum hitting set by MaxSAT, and the words and proofs of this module. ``prices``: the price
    of one position, where it is not 1; ``rounds``: proposals, at most; ``effort``: the nodes of all runs, about;
    ``None``: no limit. Gives the lightest explanation with a proof; it is a minimum one where ``lower`` is its weight.
    """
    blocks.last = NEVER_SPENT if effort is None else blocks.shared.spent + effort
    return _Closing(blocks, Priced(prices), known).run(read, rounds)


class _Closing:
    """Proposals until one explains, or the bound meets what is known, or the work or the time is spent."""

    def __init__(self, blocks: Blocks, hitter: Priced, known: Cube) -> None:
        self.blocks, self.hitter, self.known, self.goal = blocks, hitter, known, hitter.weight(known)
        self.lower, self.unproved = 0, list[Cube]()
        self.proof: Certificate | None = None
        self.open = False

    def run(self, read: Mapping[int, int], rounds: int) -> Minimum:
        with suppress(OutOfTime):
            for i in self.blocks.singles(read):
                self.hitter.add([i])
            for cube in unmissed(self.propose, self.learn, rounds if self.known else 0):
                if self.proof is not None:
                    return Minimum(cube, self.lower, self.proof)
                if self.open or len(self.unproved) == ALTERNATIVES:
                    break
                self.unproved.append(cube)
                self.hitter.block(cube)
            if self.lower < self.goal:
                self.known = _lighter(self.blocks, self.known)
        return Minimum(self.known, self.lower, by_sat=tuple(self.unproved))

    def propose(self) -> Cube | None:
        """The lightest set that is left; none beyond those that explain by SAT, or that weigh as much as is known, or
        where the effort is spent."""
        hit = self.hitter.get() if self.blocks.left > 0 else None
        if hit is None or (self.unproved and self.hitter.weight(hit) > self.lower):
            return None
        self.lower = min(self.hitter.weight(hit), self.goal)
        return {i: self.blocks.word[i] for i in hit} if self.lower < self.goal else None

    def learn(self, cube: Cube) -> bool:
        """Add the blocks that a proposal does not hit; whether there are any."""
        found, self.proof, self.open = _judged(self.blocks, cube)
        for block in found:
            self.hitter.add(block)
        return bool(found)


def _lighter(blocks: Blocks, known: Cube) -> Cube:
    """Deletion, where a small tree of cases shows that the rest explains."""
    if blocks.last != NEVER_SPENT:
        blocks.last = blocks.shared.spent + LIGHTER
    for i in sorted(known, key=lambda i: (int(blocks.rng.integers(len(known))), i)):
        if blocks.left < 0:
            break
        rest = {j: a for j, a in known.items() if j != i}
        if blocks.by_words(set(rest), FIRST_FAILS) is None:
            tree = find_tree(blocks.task, {**blocks.given, **rest}, SMALL_TREE, 0, blocks.shared)
            known = known if tree is None else rest
    return known


def _judged(blocks: Blocks, cube: Cube) -> tuple[list[Cube], Certificate | None, bool]:
    """Disjoint blocks that a proposal does not hit; where there are none, its certificate, and whether it is left
    open."""
    first = blocks.by_words(set(cube), FIRST_FAILS)
    if first is None:
        proof = _proved(blocks, cube, LEAVES, 0)
        if proof is not None:
            return [], proof, False
        first, open_ = _settled(blocks, cube)
        if first is None:
            looks = MOST_LOOKS if blocks.instance.n <= SHORT else LOOKS
            worth = blocks.instance.n <= SHORT or blocks.last == NEVER_SPENT
            proof = _proved(blocks, cube, MOST_LEAVES, looks) if worth else None
            return [], proof, open_ and proof is None
    agreed, found = {*cube, *first}, [first]
    while len(found) < APART and (block := blocks.by_words(agreed, FAILS)) is not None:
        agreed.update(block)
        found.append(block)
    return found, None, False


def _settled(blocks: Blocks, cube: Cube) -> tuple[Cube | None, bool]:
    """A block where words found none at first, by more words, then by SAT; whether "none" is left open."""
    free = len(blocks.word) - len(blocks.given) - len(cube)
    most = SLOW_WORDS if blocks.shared.compiled is None else MORE_WORDS
    block = blocks.by_words(set(cube), min(most, 2 * blocks.symbols ** min(free, 12)))
    if block is None and blocks.instance.n <= SAT_LENGTH:
        with suppress(ResourceLimit):
            return blocks.by_sat(cube), False
    return block, block is None


def _proved(blocks: Blocks, cube: Cube, leaves: int, looks: int) -> Certificate | None:
    """The certificate of a proposal that no block contradicts, if there is one in reach."""
    return confirm_by_tree(blocks.task, {**blocks.given, **cube}, leaves, looks, blocks.shared)
