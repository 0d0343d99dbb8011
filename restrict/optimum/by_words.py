"""Few fixed positions at short lengths, from words: the restrictions of a size under which two labels were not met. At
a short length the restrictions of one or two positions are few, even where words are too many to run them all. A word
with another label than one before it refutes, at once, every restriction that both agree with. So words are drawn until
each restriction of the size has met two labels, or some have met only one on many words. The first is a proof, by words
that were run, that so few positions never force the output; the second is what a tree of cases may confirm
(:mod:`restrict.force.cases`). Sizes are tried in order, so a restriction confirmed at the first size that is left open
is an optimum."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from restrict.base.arrays import I64
from restrict.certificate.certificate import Certificate
from restrict.force.cases import confirm, confirm_by_tree
from restrict.force.looking import Looking
from restrict.model.program import Instance
from restrict.model.task import Task
from restrict.optimum.enumeration import numbered_labels
from restrict.optimum.options import WORDS
from restrict.optimum.oracle import Oracle
from restrict.sat.limit import Budget


def few_small(instance: Instance) -> bool:
    """Whether the restrictions of one position are few enough, and words short enough, for :func:`by_words`."""
    return instance.n <= WORDS.length and len(instance.unpinned) * len(instance.model.alphabet) <= WORDS.restrictions


def by_words(task: Task) -> tuple[int, Certificate | None, list[dict[int, int]]]:
    """The least size of a restriction that words do not refute (exact as a lower bound: every smaller one agrees with
    two words of different labels that were run), a certificate of the smallest one confirmed, or ``None``, and all
    those of that size; none where it was not tried. Cost: at most ``batches`` batches of words for each size, some
    trees."""
    search = _Refuting(task)
    least, first = 0, list[dict[int, int]]()
    for size in range(len(search.free) + 1):
        if comb(len(search.free), size) * search.symbols**size > WORDS.restrictions:
            break
        left = search.left(size)
        if not left:
            least, first = size + 1, []
            continue
        first = first or left
        if (found := search.confirmed(left, *WORDS.trees[0])) is not None:
            smaller = search.confirmed(first, *WORDS.trees[1]) if size > least else None
            return least, smaller or found, first
    return least, None, first


def forced_by_sat(task: Task, cubes: list[dict[int, int]]) -> bool:
    """Whether one of some restrictions forces the output, decided by SAT. Exact. Raises ``OutOfTime`` where the
    conflicts are spent, and ``ResourceLimit`` for too large a formula."""
    position = task.one_position("an optimum")
    oracle = Oracle.of(task.instance, position, deadline=task.deadline, most=WORDS.clauses)
    budget, runs = Budget(WORDS.conflicts), Looking(task.instance, position)
    for cube in cubes:
        task.tell("restrictions that words do not refute, by SAT", None)
        word = task.instance.pinned | cube
        label = runs.label_of(np.array([word.get(i, 0) for i in range(task.instance.n)]))
        if oracle.find(cube, oracle.other[label], budget=budget) is None:
            return True
    return False


class _Refuting:
    """Words that were run, and what they say of the restrictions of one size."""

    def __init__(self, task: Task) -> None:
        self.task, self.instance = task, task.instance
        self.position = task.one_position("an optimum")
        self.free, self.symbols = task.instance.unpinned, len(task.instance.model.alphabet)
        self.rng = np.random.default_rng(task.seed)
        self.names: dict[str, int] = {}
        nodes = task.instance.n * len(task.instance.model.variables)
        self.count = max(WORDS.at_once, min(WORDS.batch, WORDS.nodes // nodes))
        self.words = self.drawn()
        self.labels = self.run(self.words)
        self.runs = Looking(task.instance, self.position)

    def drawn(self) -> I64:
        return self.rng.integers(self.symbols, size=(self.count, len(self.free)))

    def run(self, words: I64) -> I64:
        """The label of each word, by its number."""
        self.task.deadline.check()
        return numbered_labels(self.instance, words, self.position, self.names)

    def left(self, size: int) -> list[dict[int, int]]:
        """The restrictions of a size that have met one label only, those with least open in the abstract run first."""
        sets = np.array(list(combinations(range(len(self.free)), size)), dtype=np.int64)
        sets = sets.reshape(comb(len(self.free), size), size)
        powers = self.symbols ** np.arange(size, dtype=np.int64)
        number = len(self.names) + self.symbols ** len(self.free)  # no label has it
        low, high = (np.full((len(sets), self.symbols**size), extreme) for extreme in (number, -1))
        met = np.zeros_like(low)

        def learn(words: I64, labels: I64) -> None:
            for t, at in enumerate(sets):
                index = words[:, at] @ powers
                np.minimum.at(low[t], index, labels)
                np.maximum.at(high[t], index, labels)
                met[t] += np.bincount(index, minlength=self.symbols**size)

        learn(self.words, self.labels)
        for _ in range(WORDS.batches):
            rows, index = np.nonzero((low >= high) & (met < WORDS.met))
            if not len(rows):
                break
            self.task.tell(f"words against {size} positions", None)
            chosen = np.argsort(met[rows, index], kind="stable")[: WORDS.at_once]
            turns = chosen[np.arange(self.count) % len(chosen)]
            words = self.drawn()
            np.put_along_axis(words, sets[rows[turns]], index[turns, None] // powers % self.symbols, axis=1)
            labels = self.run(words)
            self.words, self.labels = np.concatenate([self.words, words]), np.concatenate([self.labels, labels])
            learn(words, labels)
        rows, index = np.nonzero(low >= high)
        found = [
            {self.free[p]: int(a) for p, a in zip(sets[t], i // powers % self.symbols, strict=True)}
            for t, i in zip(rows, index, strict=True)
        ]
        return sorted(found, key=self._open)

    def _open(self, cube: dict[int, int]) -> tuple[int, float]:
        self.task.deadline.check()
        return len(self.runs.labels(cube)), self.runs.open_weight()

    def confirmed(self, cubes: list[dict[int, int]], tries: int, leaves: int, looks: int) -> Certificate | None:
        """A certificate of one of some restrictions, by the abstract run or by a tree of cases."""
        for cube in cubes[:tries]:
            found = confirm(self.task, cube, self.runs) or confirm_by_tree(self.task, cube, leaves, looks, self.runs)
            if found is not None:
                return found
        return None
