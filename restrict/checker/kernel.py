"""Theorem K (docs/kernel.md): what is known of a program under a box, and the rule of each line of a proof.

The kernel searches for nothing and keeps no bounds of its own: every line names its sets, rows and witnesses, and a
rule looks them up and compares. A rule answers whether the line is right; a line that is right adds what it states.
Work is charged once for each line, from its numbers, before anything of it is done; the comparison of two runs, where
it is made.

A *context* stands for the words with certain symbols at certain positions. A *fact* about a node says which values it
may take on the words of a context, and which positions (the number of some runs) it depends on there. Runs number 0
are all positions; ``NONE`` are none; position ``j`` alone is ``NONE - 1 - j``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from math import prod
from typing import NamedTuple

from .account import Meter
from .normal_form import BLOCK, Code, Head, Map, Program, Values, visible
from .tree import DEEPEST, Tree

TOKEN, POSITION = 0, 1
EVERYWHERE, NONE = 0, -1

Fact = tuple[Values, int]
Row = tuple[int, int, int, int, int, int]
"""Outside of some runs no pair is as good as the bar: the head, its position, the query's value, the score and the
position of the bar, the runs."""
Group = tuple[int, int, int, int, int]
"""For a query's value: a row, a witness with its least score, and the one value that is shown, or -1."""


class Context(NamedTuple):
    """The words of another context that have an allowed symbol in some runs of positions."""

    parent: int
    depth: int
    runs: Sequence[int]
    sets: Sequence[frozenset[int]]
    facts: dict[tuple[int, int], Fact]

    def cells(self) -> Iterator[tuple[int, frozenset[int]]]:
        """The positions in order, with their symbols."""
        for start, stop, symbols in zip(self.runs[::2], self.runs[1::2], self.sets, strict=True):
            yield from ((at, symbols) for at in range(start, stop))


def size(runs: Sequence[int]) -> int:
    """How many positions runs have."""
    return sum(runs[1::2]) - sum(runs[::2])


def positions(runs: Sequence[int]) -> Iterator[int]:
    """The positions of runs."""
    return (at for run in zip(runs[::2], runs[1::2], strict=True) for at in range(*run))


def part_of(values: Values, larger: Values) -> bool:
    """Whether a set of values lies in another one."""
    return len(values) <= len(larger) and all(value in larger for value in values)


def below(left: int, score: int, at: int, other: int, other_at: int) -> bool:
    """The strict order of pairs: by score, then by position."""
    return score < other or (score == other and (at > other_at if left else at < other_at))


class Kernel:
    """The tables that a proof fills line by line."""

    def __init__(self, program: Program, meter: Meter) -> None:
        self.program, self.meter, self.longest, self.label = program, meter, 2, len(program.variables) - 1
        self.sets: list[frozenset[int]] = []
        self.runs: list[Sequence[int]] = [(0, program.n)]
        self.rows: list[Row] = []
        self.contexts: list[Context] = []
        self.within: dict[tuple[int, int], bool] = {}

    # ------------------------------------------------------------ what is known

    def known(self, c: int, v: int, j: int) -> Fact:
        """What is known of a node in a context; -1 are all words, of which nothing was said."""
        if v == POSITION or (v == TOKEN and j in self.program.markers):
            value = j if v == POSITION else self.program.markers[j]
            return range(value, value + 1), NONE
        while c >= 0:
            context = self.contexts[c]
            if v == TOKEN and (at := bisect_right(context.runs, j)) % 2:
                symbols = context.sets[at // 2]
                return symbols, NONE if len(symbols) == 1 else NONE - 1 - j
            if (v, j) in context.facts:
                return context.facts[v, j]
            c = context.parent
        return (range(self.program.symbols), NONE - 1 - j) if v == TOKEN else (self.domain(v), EVERYWHERE)

    def domain(self, v: int) -> range:
        """All values of a variable; one where a score mentions none."""
        return range(1 if v == -1 else self.program.domains[v])

    def inside(self, positions: int, larger: int) -> bool:
        """Whether positions, by their number, lie in runs."""
        if positions < 0:
            return positions == NONE or bisect_right(self.runs[larger], NONE - 1 - positions) % 2 == 1
        if (positions, larger) not in self.within:
            self.meter.charge(len(self.runs[positions]))
            self.meter.hold(150)
            ends, runs = iter(self.runs[positions]), self.runs[larger]
            found = ((bisect_right(runs, start), stop) for start, stop in zip(ends, ends, strict=True))
            self.within[positions, larger] = all(at % 2 and stop <= runs[at] for at, stop in found)
        return self.within[positions, larger]

    def charge(self, c: int, lookups: int, *more: int) -> None:
        """The work of a line: so many times it is asked what is known, and comparisons of runs; and more."""
        self.meter.charge(lookups * (4 + self.contexts[c].depth) + self.longest + sum(more))

    # ------------------------------------------------------------ rows

    def row(self, h: int, i: int, u: int, score: int, at: int, runs: int) -> bool:
        """The only loop over all positions: every pair that is not listed is below the bar."""
        head = self.head_of(h)
        low, high = visible(head.mask, i, self.program.n)
        keys = 1 if head.key == POSITION else len(self.domain(head.key))
        listed = self.listed(runs, low, high)
        places = max(0, high - low) - size(listed)
        calls = places // BLOCK + len(listed) if places else 0
        work = head.code.work(places * keys, 1 + (1 + keys) * calls // 2) + 20 * keys * calls
        self.meter.charge(len(self.runs[runs]) + work)
        code, ends = head.code.given({0: i, 1: u}), [low, *listed, max(low, high)]
        for start, stop in zip(ends[::2], ends[1::2], strict=True):
            for block in blocks(start, stop, self.program.markers):
                placed = code.given({2: block})
                for w in [block] if head.key == POSITION else self.keys(-1, head, block[0])[0]:
                    found = placed.value({3: w})
                    scores = found if isinstance(found, list) else [found] * len(block)
                    if max(scores) >= score and not all(
                        below(head.left, one, j, score, at) for j, one in zip(block, scores, strict=True)
                    ):
                        return False
        return True

    def head_of(self, h: int) -> Head:
        """A variable that was found to be a head."""
        head = self.program.variables[h]
        assert isinstance(head, Head)
        return head

    def keys(self, c: int, head: Head, j: int) -> Fact:
        """What is known of a head's key."""
        return (range(1), NONE) if head.key == -1 else self.known(c, head.key, j)

    def listed(self, runs: int, low: int, high: int) -> list[int]:
        """The ends of runs, as far as they are visible."""
        ends = iter(self.runs[runs])
        cut = ((max(start, low), min(stop, high)) for start, stop in zip(ends, ends, strict=True))
        return [end for start, stop in cut if start < stop for end in (start, stop)]

    # ------------------------------------------------------------ facts

    def map(self, c: int, v: int, i: int, values: Values, where: int) -> bool:
        """The image of what is known of the arguments."""
        node = self.program.variables[v]
        assert isinstance(node, Map)
        self.charge(c, len(node.args), len(node.args) * self.longest)
        known = [self.known(c, arg, i) for arg in node.args]
        combinations = prod(len(fact[0]) for fact in known)
        self.meter.charge(node.code.work(4 * combinations, 1 + combinations // BLOCK))
        self.meter.fits(100 * sum(len(fact[0]) for fact in known))
        depends = len(values) == 1 or all(self.inside(fact[1], where) for fact in known)
        sets = [range(i, i + 1), *(fact[0] for fact in known)]
        return depends and all(value in values for block in node.code.images(sets) for value in block)

    def head(self, c: int, v: int, i: int, values: Values, where: int, *words: int) -> bool:
        """What a head may show, from a row and a witness for each value of its query."""
        head, groups = self.head_of(v), list(zip(*[iter(words)] * 5, strict=True))
        low, high = visible(head.mask, i, self.program.n)
        if low >= high:
            return head.default in values and not groups
        self.charge(c, 1, len(groups) * self.longest)
        asked, depends = self.known(c, head.query, i) if head.query >= 0 else (range(1), NONE)
        listed = [self.rows[row][-1] for _, row, *_ in groups]
        places = sum(1 + size(self.listed(runs, low, high)) for runs in listed)
        self.charge(c, 5 * places, places * len(values))
        seen = chain((group[2] for group in groups), *(positions(self.listed(runs, low, high)) for runs in listed))
        pairs = sum(len(self.keys(c, head, j)[0]) for j in seen)
        self.charge(c, 0, 4 * pairs + head.code.work(2 * pairs, 3 * len(groups) + pairs // BLOCK))
        right = len(groups) == len(asked) and [group[0] for group in groups] == sorted(asked)
        right = right and (len(values) == 1 or self.inside(depends, where))
        return right and all(self.group(c, v, i, values, where, *group) for group in groups)

    def group(
        self, c: int, v: int, i: int, values: Values, where: int, u: int, row: int, witness: int, least: int, only: int
    ) -> bool:
        """One value of the query: only listed pairs that are not below the witness's least one can win."""
        head, (*of, bar, bar_at, runs) = self.head_of(v), self.rows[row]
        low, high = visible(head.mask, i, self.program.n)
        if of != [v, i, u] or not low <= witness < high or below(head.left, least, witness, bar, bar_at):
            return False
        code, own, seen = head.code.given({0: i, 1: u}), (range(u, u + 1), NONE), -1

        def keys(j: int) -> Fact:
            return own if j == i and head.key == head.query != -1 else self.keys(c, head, j)

        if any(score < least for _, _, score in scored(code, [(witness, keys(witness)[0])])):
            return False
        free = len(values) == 1 or only >= 0
        allowed = values if only < 0 else frozenset((only,) if only in values else ())
        for j, w, score in scored(code, ((j, keys(j)[0]) for j in positions(self.listed(runs, low, high)))):
            if below(head.left, score, j, least, witness) or (j == seen and head.key != head.value):
                continue
            seen, same = j, j == i and head.query == head.value
            other = own if same or head.key == head.value else self.known(c, head.value, j)
            shown: Fact = (range(w, w + 1), NONE) if head.key == head.value else other
            if not (part_of(shown[0], allowed) and (free or all(self.inside(f[1], where) for f in (shown, keys(j))))):
                return False
        return True

    def case(self, c: int, v: int, i: int, values: Values, where: int, p: int, *kids: int) -> bool:
        """What holds in every way to fill one position, from what is known in contexts that do."""
        contexts, symbols = [self.contexts[kid] for kid in kids], self.known(c, TOKEN, p)[0]
        self.charge(c, 2 * len(kids), len(symbols), len(kids) * (len(values) + self.longest))
        alone = all(kid.parent == c and kid.runs == (p, p + 1) and len(kid.sets[0]) == 1 for kid in contexts)
        right = alone and [a for kid in contexts for a in kid.sets[0]] == sorted(symbols)
        facts = (self.known(kid, v, i) for kid in kids)
        if len(values) == 1:
            return right and all(part_of(fact[0], values) for fact in facts)
        right = right and self.inside(NONE - 1 - p, where)
        return right and all(part_of(fact[0], values) and self.inside(fact[1], where) for fact in facts)

    # ------------------------------------------------------------ lower bounds

    def unforced(self, labels: Values, most: int, i: int, boxes: Sequence[int], tree: Sequence[int]) -> bool:
        """No ``most`` positions force any of the labels: under no box is one met, and no so few conflict with all."""
        contexts = [self.contexts[box] for box in boxes]
        sizes, symbols = [size(context.runs) for context in contexts], self.program.symbols
        self.meter.charge(len(boxes) * (9 + len(labels)) + sum(sizes))
        self.meter.fits(100 * sum(sizes))
        met = (label in self.known(box, self.label, i)[0] for box in boxes for label in labels)
        shape = Tree([list(context.cells()) for context in contexts], frozenset(range(symbols)), most)
        places, nodes = len({p for box in shape.boxes for p, _ in box}), len(tree)
        self.meter.charge(nodes * (places // 8 + max(sizes) * (1 + symbols // 8)))
        self.meter.fits(100 * places * (1 + min(nodes, DEEPEST)))
        return not any(met) and shape.closes(iter(tree), {}, frozenset())


def blocks(start: int, stop: int, markers: Iterable[int]) -> Iterator[list[int]]:
    """The positions of a run in blocks; one with a marker is alone, since its token is known."""
    while start < stop:
        last = start + 1 if start in markers else min([start + BLOCK, stop, *(at for at in markers if at > start)])
        yield list(range(start, last))
        start = last


def scored(code: Code, positions: Iterable[tuple[int, Values]]) -> Iterator[tuple[int, int, int]]:
    """The pairs of some positions with their scores, which are computed in blocks."""
    pairs = ((j, w) for j, keys in positions for w in keys)
    while block := list(islice(pairs, BLOCK)):
        places, keys = map(list, zip(*block, strict=True))
        scores = code.value({2: places, 3: keys})
        yield from zip(places, keys, scores if isinstance(scores, list) else [scores] * len(places), strict=True)
