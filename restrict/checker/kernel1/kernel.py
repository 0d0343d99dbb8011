"""Theorem K (docs/kernel.md): what is known of a program under a box, and the rule of each line of a proof.

The kernel searches for nothing and keeps no bounds of its own: every line names its sets, rows and witnesses, and a
rule looks them up and compares. A rule answers whether the line is right; a line that is right adds what it states.
Work is charged once for each line, from its numbers, before anything of it is done.

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

from ..account import Meter
from .program import BLOCK, Code, Head, Map, Program, Register, Values
from .tree import DEEPEST, Tree

TOKEN, POSITION = 0, 1
EVERYWHERE, NONE = 0, -1

Fact = tuple[Values, int]
Pair = tuple[int, int, int]
"""A position, the key's value there, the score."""


class Row(NamedTuple):
    """Outside of the runs ``listed`` no pair of the head at ``i`` with query value ``u`` is as good as the bar."""

    head: int
    i: int
    u: int
    bar: int
    bar_at: int
    listed: int


class Group(NamedTuple):
    """For one query value: its row, a witness with its least score, and the one value that is shown, or -1."""

    u: int
    row: int
    witness: int
    least: int
    only: int


class Context:
    """The words of another context that have an allowed symbol in some runs of positions."""

    def __init__(self, parent: int, depth: int, runs: Sequence[int], sets: Sequence[frozenset[int]]) -> None:
        self.parent, self.depth, self.runs, self.sets = parent, depth, runs, sets
        self.facts: dict[tuple[int, int], Fact] = {}

    def cells(self) -> Iterator[tuple[int, frozenset[int]]]:
        """The positions in order, with their symbols."""
        for start, stop, symbols in zip(self.runs[::2], self.runs[1::2], self.sets, strict=True):
            yield from ((at, symbols) for at in range(start, stop))

    def size(self) -> int:
        """How many positions it restricts."""
        return sum(self.runs[1::2]) - sum(self.runs[::2])


def part_of(values: Values, larger: Values) -> bool:
    """Whether a set of values lies in another one."""
    return len(values) <= len(larger) and all(value in larger for value in values)


def below(left: int, score: int, at: int, other: int, other_at: int) -> bool:
    """The strict order of pairs: by score, then by position."""
    return score < other or (score == other and (at > other_at if left else at < other_at))


class Kernel:
    """The tables that a proof fills line by line."""

    def __init__(self, program: Program, meter: Meter) -> None:
        self.program, self.meter = program, meter
        self.runs: list[Sequence[int]] = [(0, program.n)]
        self.rows: list[Row] = []
        self.contexts: list[Context] = []
        self.within: dict[tuple[int, int], bool] = {}
        self.longest = 2

    # ------------------------------------------------------------ what is known

    def symbols(self, c: int, j: int) -> Values:
        """The symbols that are allowed at a position without marker."""
        while c >= 0:
            context = self.contexts[c]
            if (at := bisect_right(context.runs, j)) % 2:
                return context.sets[at // 2]
            c = context.parent
        return range(self.program.symbols)

    def known(self, c: int, v: int, j: int) -> Fact:
        """What is known of a node in a context; -1 are all words, of which nothing was said."""
        if v == POSITION:
            return range(j, j + 1), NONE
        if v == TOKEN and j in self.program.markers:
            return range(self.program.markers[j], self.program.markers[j] + 1), NONE
        if v == TOKEN:
            symbols = self.symbols(c, j)
            return symbols, NONE if len(symbols) == 1 and isinstance(symbols, frozenset) else NONE - 1 - j
        while c >= 0:
            context = self.contexts[c]
            if (v, j) in context.facts:
                return context.facts[v, j]
            c = context.parent
        return range(self.program.domains[v]), EVERYWHERE

    def inside(self, positions: int, larger: int) -> bool:
        """Whether positions, by their number, lie in runs."""
        if positions == NONE:
            return True
        if positions < NONE:
            return bisect_right(self.runs[larger], NONE - 1 - positions) % 2 == 1
        if (positions, larger) not in self.within:
            ends, runs = iter(self.runs[positions]), self.runs[larger]
            found = ((bisect_right(runs, start), stop) for start, stop in zip(ends, ends, strict=True))
            self.within[positions, larger] = all(at % 2 and stop <= runs[at] for at, stop in found)
        return self.within[positions, larger]

    def entails(self, fact: Fact, values: Values, where: int) -> bool:
        """Whether a fact says no less than a statement; of one value it does not matter what it depends on."""
        return part_of(fact[0], values) and (len(values) == 1 or self.inside(fact[1], where))

    def state(self, c: int, v: int, i: int, values: Values, where: int) -> None:
        """Remember a fact. A node of one value depends on nothing."""
        self.meter.hold(400)
        self.contexts[c].facts[v, i] = values, NONE if len(values) == 1 else where

    def charge(self, c: int, lookups: int, *more: int) -> None:
        """The work of a line: so many times it is asked what is known, and comparisons of runs; and more."""
        self.meter.charge(lookups * (4 + self.contexts[c].depth) + self.longest + sum(more))

    # ------------------------------------------------------------ rows

    def row(self, row: Row, head: Head) -> bool:
        """The only loop over all positions: every pair that is not listed is below the bar."""
        low, high = self.program.visible(head, row.i)
        domain, places = self.keys_of(head), max(0, high - low)
        self.meter.charge(
            head.code.work(places * domain) + (places // BLOCK + len(self.runs[row.listed])) * 20 * domain
        )
        code, at = head.code.given({0: row.i, 1: row.u}), low
        for start, stop in [*self.listed(row, low, high), (high, high)]:
            for first in range(at, start, BLOCK):
                if not self.block_below(row, head, code, range(first, min(first + BLOCK, start))):
                    return False
            at = stop
        return True

    def keys_of(self, head: Head) -> int:
        """How many values a key may have at a position."""
        return 1 if head.key in (-1, POSITION) else self.program.domains[head.key]

    def listed(self, row: Row, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The runs of a row, as far as they are visible."""
        ends = iter(self.runs[row.listed])
        cut = ((max(start, low), min(stop, high)) for start, stop in zip(ends, ends, strict=True))
        return ((start, stop) for start, stop in cut if start < stop)

    def block_below(self, row: Row, head: Head, code: Code, block: range) -> bool:
        """Whether all pairs at some positions are below the bar, whatever the word is."""
        marked = {j: w for j, w in self.program.markers.items() if head.key == TOKEN and j in block}
        places = [j for j in block if j not in marked] if marked else list(block)
        keys: Sequence[Register] = range(self.program.symbols if head.key == TOKEN else self.keys_of(head))
        placed = code.given({2: places})
        blocks = ((places, placed.value({3: places if head.key == POSITION else w})) for w in keys if places)
        single = (([j], code.value({2: j, 3: w})) for j, w in marked.items())
        for at, found in chain(blocks, single):
            scores = found if isinstance(found, list) else [found] * len(at)
            if max(scores) >= row.bar and not all(
                below(head.left, score, j, row.bar, row.bar_at) for j, score in zip(at, scores, strict=True)
            ):
                return False
        return True

    # ------------------------------------------------------------ facts

    def map(self, c: int, v: int, i: int, values: Values, where: int) -> bool:
        """The image of what is known of the arguments."""
        node = self.program.variables[v]
        assert isinstance(node, Map)
        known = [self.known(c, arg, i) for arg in node.args]
        combinations = prod(len(fact[0]) for fact in known)
        self.charge(c, len(known), node.code.work(4 * combinations), len(known) * self.longest)
        self.meter.fits(100 * sum(len(fact[0]) for fact in known))
        depends = len(values) == 1 or all(self.inside(fact[1], where) for fact in known)
        sets = [range(i, i + 1), *(fact[0] for fact in known)]
        return depends and all(value in values for block in node.code.images(sets) for value in block)

    def head(self, c: int, v: int, i: int, values: Values, where: int, groups: Sequence[Group]) -> bool:
        """What a head may show, from a row and a witness for each value of its query."""
        head = self.program.variables[v]
        assert isinstance(head, Head)
        low, high = self.program.visible(head, i)
        if low >= high:
            return head.default in values and not groups
        asked, depends = self.known(c, head.query, i) if head.query >= 0 else (range(1), NONE)
        self.charge(c, 1 + len(groups) * (1 + self.keys_of(head)), len(groups) * self.longest)
        places = sum(stop - start for group in groups for start, stop in self.listed(self.rows[group.row], low, high))
        self.charge(c, 4 * places, (4 + head.code.work(4)) * places * self.keys_of(head), places * len(values))
        right = len(groups) == len(asked) and [group.u for group in groups] == sorted(asked)
        right = right and (len(values) == 1 or self.inside(depends, where))
        return right and all(self.group(c, v, i, values, where, group) for group in groups)

    def group(self, c: int, v: int, i: int, values: Values, where: int, group: Group) -> bool:
        """One value of the query: only listed pairs that are not below the witness's least one can win."""
        head, row = self.program.variables[v], self.rows[group.row]
        assert isinstance(head, Head)
        low, high = self.program.visible(head, i)
        fits = (row.head, row.i, row.u) == (v, i, group.u) and low <= group.witness < high
        if not fits or below(head.left, group.least, group.witness, row.bar, row.bar_at):
            return False
        code, own = head.code.given({0: i, 1: group.u}), (range(group.u, group.u + 1), NONE)

        def keys(j: int) -> Fact:
            if head.key == -1:
                return range(1), NONE
            return own if j == i and head.key == head.query else self.known(c, head.key, j)

        if any(score < group.least for _, _, score in scored(code, [(group.witness, keys(group.witness)[0])])):
            return False
        free = len(values) == 1 or group.only >= 0
        allowed = values if group.only < 0 else frozenset((group.only,) if group.only in values else ())
        listed = (j for run in self.listed(row, low, high) for j in range(*run))
        for j, w, score in scored(code, ((j, keys(j)[0]) for j in listed)):
            if below(head.left, score, j, group.least, group.witness):
                continue
            shown: Fact = range(w, w + 1), NONE
            if head.key != head.value:
                shown = own if j == i and head.query == head.value else self.known(c, head.value, j)
            if not part_of(shown[0], allowed):
                return False
            if not (free or (self.inside(shown[1], where) and self.inside(keys(j)[1], where))):
                return False
        return True

    def case(self, c: int, v: int, i: int, p: int, values: Values, where: int, kids: Sequence[int]) -> bool:
        """What holds in every way to fill one position, from what is known in contexts that do."""
        contexts, symbols = [self.contexts[kid] for kid in kids], self.known(c, TOKEN, p)[0]
        self.charge(c, 2 * len(kids), len(symbols), len(kids) * (len(values) + self.longest))
        alone = all(kid.parent == c and kid.runs == (p, p + 1) and len(kid.sets[0]) == 1 for kid in contexts)
        right = alone and [a for kid in contexts for a in kid.sets[0]] == sorted(symbols)
        right = right and (len(values) == 1 or self.inside(NONE - 1 - p, where))
        return right and all(self.entails(self.known(kid, v, i), values, where) for kid in kids)

    # ------------------------------------------------------------ lower bounds

    def unforced(self, labels: Values, most: int, i: int, boxes: Sequence[int], tree: Sequence[int]) -> bool:
        """No ``most`` positions force any of the labels: under no box is one met, and no so few conflict with all."""
        label, contexts = len(self.program.variables) - 1, [self.contexts[box] for box in boxes]
        sizes, symbols = [context.size() for context in contexts], self.program.symbols
        nodes, cells = len(tree), sum(sizes)
        self.meter.charge(len(boxes) * (9 + len(labels)) + cells + nodes * (cells + max(sizes) * (1 + symbols // 8)))
        self.meter.fits(100 * cells * (1 + min(nodes, DEEPEST)))
        met = (value in labels for box in boxes for value in self.known(box, label, i)[0])
        shape = Tree([list(context.cells()) for context in contexts], frozenset(range(symbols)), most)
        return not any(met) and shape.closes(iter(tree), {}, frozenset())


def scored(code: Code, positions: Iterable[tuple[int, Values]]) -> Iterator[Pair]:
    """The pairs of some positions with their scores, which are computed in blocks."""
    pairs = ((j, w) for j, keys in positions for w in keys)
    while block := list(islice(pairs, BLOCK)):
        places, keys = map(list, zip(*block, strict=True))
        scores = code.value({2: places, 3: keys})
        yield from zip(places, keys, scores if isinstance(scores, list) else [scores] * len(places), strict=True)
