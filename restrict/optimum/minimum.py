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

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from pysat.examples.hitman import Hitman

from restrict.certificate.certificate import Certificate
from restrict.deadline import OutOfTime
from restrict.errors import ResourceLimit
from restrict.force.cases import MOST_LEAVES, MOST_LOOKS, confirm_by_tree, find_tree
from restrict.force.looking import Looking
from restrict.optimum.cnf import encode
from restrict.optimum.oracle import Cube, Oracle
from restrict.restriction import Restriction
from restrict.task import Task

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

    Args:
        task: the output at one position.
        word: the input: symbol indices by position, without markers.
        given: positions that are fixed in any case.
        label: that of the input.
        rng: draws the words.
        shared: runs of the same instance at the target, whose ordered rows are used.
    """

    def __init__(
        self, task: Task, word: Cube, given: Cube, label: str, rng: np.random.Generator, shared: Looking
    ) -> None:
        self.task, self.word, self.given, self.label, self.rng = task, word, given, label, rng
        self.instance, self.position = task.instance, task.one_position("an explanation")
        self.shared, self.symbols = shared, len(task.instance.model.alphabet)
        self.last = NEVER_SPENT
        self.input = np.empty(self.instance.n, dtype=np.int64)
        for cube in (self.instance.pinned, word):
            self.input[list(cube)] = list(cube.values())

    @property
    def left(self) -> int:
        """What may still be spent, in nodes of runs."""
        return self.last - self.shared.spent

    def singles(self, read: Mapping[int, int]) -> Iterator[int]:
        """Positions whose change alone flips the label; every explanation has them.

        Args:
            read: the positions to try, with their symbols.

        Yields:
            The positions. Cost: one evaluation per position and symbol.
        """
        for i in sorted(read):
            self.task.deadline.check()
            if any(self._flips({i: a}) for a in range(self.symbols) if a != self.word[i]):
                yield i

    def by_words(self, agreed: set[int], fails: int) -> Cube | None:
        """A block that leaves some positions alone, from words drawn at random.

        Args:
            agreed: positions that may not change.
            fails: how many words are drawn.

        Returns:
            The new symbols by position, subset-minimal; ``None`` where none of the words has another label.
        """
        held = np.array([*agreed, *self.given, *self.instance.pinned], dtype=np.int64)
        for _ in range(fails):
            self.task.deadline.check()
            drawn = self.rng.integers(self.symbols, size=self.instance.n)
            drawn[held] = self.input[held]
            if self.shared.label_of(drawn) != self.label:
                changes = {i: int(drawn[i]) for i in sorted(self.shared.tokens_read())}
                return self._minimal({i: a for i, a in changes.items() if a != self.word[i]})
        return None

    def by_sat(self, cube: Cube) -> Cube | None:
        """A block that leaves a set of positions alone, exactly.

        Args:
            cube: the positions with their symbols.

        Returns:
            The new symbols by position, subset-minimal, or ``None``: there is no block, so the cube explains.

        Raises:
            ResourceLimit: what is left of the cone is too large.
            OutOfTime: the deadline has passed.
        """
        fixed = Restriction.of(self.instance, {**self.given, **cube})
        code = encode(self.instance, fixed, [self.position], CLAUSES)
        oracle = Oracle(code, self.position, self.task.deadline)
        if self.label not in oracle.other or len(oracle.other) == 1:
            return None
        found = oracle.find({}, oracle.other[self.label])
        if found is None:
            return None
        return self._minimal({i: a for i, a in found.items() if a != self.word[i]})

    def _flips(self, changes: Mapping[int, int]) -> bool:
        word = self.input.copy()
        for i, a in changes.items():
            word[i] = a
        return self.shared.label_of(word) != self.label

    def _minimal(self, changes: Cube) -> Cube:
        """Changes of which none can be undone; first halves, then quarters, at last single ones are tried."""
        size = (len(changes) + 1) // 2
        while size:
            places = sorted(changes)
            for start in range(0, len(places), size):
                part = set(places[start : start + size])
                rest = {i: a for i, a in changes.items() if i not in part}
                if rest and self._flips(rest):
                    changes = rest
            size //= 2
        return changes


class _Hitting:
    """Minimum-weight hitting sets of the blocks so far."""

    def __init__(self, hitter: Hitman, blocks: Blocks, prices: Mapping[int, int]) -> None:
        self.hitter, self.blocks, self.prices = hitter, blocks, prices

    def add(self, positions: Iterable[int]) -> None:
        """One of these must be in the set."""
        self.hitter.hit(list(positions), weights={i: self.prices.get(i, 1) for i in positions})

    def block(self, cube: Cube) -> None:
        """Propose this set no more."""
        self.hitter.block(list(cube))

    def get(self) -> Cube | None:
        """The next proposal; ``None`` where there is none any more."""
        hit = self.hitter.get()
        return None if hit is None else {i: self.blocks.word[i] for i in sorted(hit)}

    def weight(self, cube: Iterable[int]) -> int:
        """The price of some positions."""
        return sum(self.prices.get(i, 1) for i in cube)


def minimum(
    blocks: Blocks,
    known: Cube,
    read: Mapping[int, int],
    prices: Mapping[int, int],
    rounds: int,
    effort: int | None = None,
) -> Minimum:
    """A minimum explanation, or the one known with a bound.

    Cost: for each round a minimum hitting set by MaxSAT, and the words and proofs of this module.

    Args:
        blocks: the input.
        known: an explanation.
        read: what the output reads on the input.
        prices: the price of one position, where it is not 1.
        rounds: proposals, at most.
        effort: the nodes of all runs, about; ``None``: no limit.

    Returns:
        The lightest explanation with a proof; it is a minimum one where ``lower`` is its weight.
    """
    with Hitman(solver="glucose4", htype="rc2") as hitter:
        blocks.last = NEVER_SPENT if effort is None else blocks.shared.spent + effort
        return _closing(blocks, _Hitting(hitter, blocks, prices), known, read, rounds)


def _closing(blocks: Blocks, hitting: _Hitting, known: Cube, read: Mapping[int, int], rounds: int) -> Minimum:
    """Proposals until one explains, or the bound meets what is known, or the work or the time is spent."""
    goal, lower, unproved = hitting.weight(known), 0, list[Cube]()
    with suppress(OutOfTime):
        for i in blocks.singles(read):
            hitting.add([i])
        for _ in range(rounds if known else 0):
            cube = hitting.get() if blocks.left > 0 else None
            if cube is None or (unproved and hitting.weight(cube) > lower):
                break
            lower = hitting.weight(cube)
            if lower >= goal:
                return Minimum(known, goal)
            found, proof, open_ = _judged(blocks, cube)
            for block in found:
                hitting.add(block)
            if proof is not None:
                return Minimum(cube, lower, proof)
            if open_ or (not found and len(unproved) == ALTERNATIVES):
                break
            if not found:
                unproved.append(cube)
                hitting.block(cube)
        known = _lighter(blocks, known) if lower < goal else known
    return Minimum(known, lower, by_sat=tuple(unproved))


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
