"""Reads a proof, `restrict-kernel/1` (docs/kernel-format.md), line by line, and hands every line to the kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from ..account import Meter, Place, require, unproved
from .kernel import EVERYWHERE, NONE, Context, Group, Kernel, Row
from .program import Head, Map, Program, Reader, Values, inside, integers, lines


class Conclusion(NamedTuple):
    """What a proof ends with: the claim as it is printed, and what a user's file is compared with."""

    kind: str
    text: str
    at: int
    context: int = -1
    values: Values = range(0)
    where: int = NONE
    c: int = 0
    labels: tuple[tuple[int, int], ...] = ()


class Proof:
    """The tables of a proof; each method reads the line of its name, and the kernel has to find it right."""

    def __init__(self, data: bytes, place: Place, program: Program, digest: str, meter: Meter) -> None:
        meter.hold(len(data) + 80 * data.count(b" "))
        meter.charge(len(data) // 4)
        self.program, self.n, self.kernel, self.digest = program, program.n, Kernel(program, meter), digest
        self.sets: list[frozenset[int]] = []
        self.automata: list[tuple[int, int, frozenset[int], Sequence[int]]] = []
        self.words: list[Sequence[int]] = []
        self.found: Conclusion | None = None
        read = lines(data, place)
        self.place, first = next(read)
        expected = len(first) == 2 and first[0] == "restrict-kernel/1" and re.fullmatch("[0-9a-f]{64}", first[1])
        require(bool(expected), self.place, "not a restrict-kernel/1")
        require(first[1] == digest, self.place, "not the SHA-256 of the program file")
        for self.place, words in read:
            self.line(words[0], integers(words[1:], self.place))
        require(self.found is not None, place, "there is no conclusion")

    def line_of_success(self) -> str:
        """What is printed."""
        assert self.found is not None
        return f"s VERIFIED {self.found.text} {self.digest}"

    def line(self, name: str, numbers: list[int]) -> None:
        """One line; the conclusion stands at the end."""
        kind = self.found.kind if self.found else ""
        after = {"refutes": ("claim",), "unforced": ("", "unforced")}.get(name, ("",))
        require(name in LINES and kind in after, self.place, "no such line, or none here")
        read, least, step = LINES[name]
        well = len(numbers) == least if not step else len(numbers) >= least and (len(numbers) - least) % step == 0
        require(well, self.place, f"a line {name} with so many words is none")
        read(self, *numbers[:least], *([numbers[least:]] if step else []))

    def right(self, holds: bool) -> None:
        """The rule of a line has to hold."""
        if not holds:
            unproved(self.place, "the rule of this line does not hold")

    def below(self, count: int, *numbers: int) -> None:
        """Numbers of things, of values or of positions have to be in range; none is negative."""
        for number in numbers:
            inside(number, 0, count - 1, self.place, "a number")

    def increasing(self, numbers: Sequence[int], what: str) -> None:
        """Numbers that have to be at least 0, and strictly increasing."""
        well = not numbers or (numbers[0] >= 0 and all(a < b for a, b in pairwise(numbers)))
        require(well, self.place, f"{what} are strictly increasing, and not negative")

    def statement(self, c: int, v: int, i: int, s: int, r: int) -> tuple[int, int, int, Values, int]:
        """What a fact says: in a context, of a node, that its values are in a set, and what it depends on."""
        self.below(len(self.kernel.contexts), c)
        self.below(len(self.program.variables), v)
        self.below(self.n, i)
        self.below(len(self.sets), s)
        self.below(len(self.kernel.runs), r)
        require(max(self.sets[s]) < self.program.domains[v], self.place, "a value is outside the domain")
        return c, v, i, self.sets[s], r

    def unmarked(self, *positions: int) -> None:
        """Positions that must have no marker."""
        require(not self.program.markers.keys() & set(positions), self.place, "there is a marker at the position")

    # ------------------------------------------------------------ tables

    def set(self, values: list[int]) -> None:
        """A set of values."""
        require(len(values) > 0, self.place, "a set has at least one value")
        self.increasing(values, "values")
        self.kernel.meter.hold(100 * len(values))
        self.sets.append(frozenset(values))

    def runs(self, ends: list[int]) -> None:
        """Runs of positions."""
        self.increasing(ends, "runs")
        self.below(self.n + 1, *ends[-1:])
        self.kernel.meter.hold(100 * len(ends))
        self.kernel.longest = max(self.kernel.longest, len(ends))
        self.kernel.runs.append(tuple(ends))

    def row(self, h: int, i: int, u: int, s: int, p: int, r: int) -> None:
        """A row lemma."""
        self.below(len(self.program.variables), h)
        head = self.program.variables[h]
        require(isinstance(head, Head), self.place, "not a head")
        assert isinstance(head, Head)
        self.below(1 if head.query == -1 else self.program.domains[head.query], u)
        self.below(self.n, i, p)
        self.below(len(self.kernel.runs), r)
        row = Row(h, i, u, s, p, r)
        self.right(self.kernel.row(row, head))
        self.kernel.meter.hold(300)
        self.kernel.rows.append(row)

    def box(self, c: int, triples: list[int]) -> None:
        """A context."""
        contexts, starts, stops, numbers = self.kernel.contexts, triples[::3], triples[1::3], triples[2::3]
        inside(c, -1, len(contexts) - 1, self.place, "a context")
        self.below(len(self.sets), *numbers)
        after = [0, *stops]
        for last, start, stop in zip(after, starts, stops, strict=False):
            require(last <= start < stop <= self.n, self.place, "the triples are not increasing")
            self.unmarked(*(at for at in self.program.markers if start <= at < stop))
        sets = [self.sets[number] for number in numbers]
        require(all(max(symbols) < self.program.symbols for symbols in sets), self.place, "not a symbol")
        self.kernel.meter.hold(1000 + 100 * len(triples))
        depth = 1 + contexts[c].depth if c >= 0 else 0
        ends = tuple(end for run in zip(starts, stops, strict=True) for end in run)
        contexts.append(Context(c, depth, ends, sets))

    # ------------------------------------------------------------ facts

    def map(self, c: int, v: int, i: int, s: int, r: int) -> None:
        """A fact about a map."""
        fact = self.statement(c, v, i, s, r)
        require(isinstance(self.program.variables[v], Map), self.place, "not a map")
        self.right(self.kernel.map(*fact))
        self.kernel.state(*fact)

    def head(self, c: int, v: int, i: int, s: int, r: int, listed: list[int]) -> None:
        """A fact about a head."""
        fact = self.statement(c, v, i, s, r)
        require(isinstance(self.program.variables[v], Head), self.place, "not a head")
        groups = [Group(*listed[at : at + 5]) for at in range(0, len(listed), 5)]
        self.increasing([group.u for group in groups], "values of the query")
        for group in groups:
            self.below(len(self.kernel.rows), group.row)
            self.below(self.n, group.witness)
            require(group.only >= -1, self.place, "not a value")
        self.right(self.kernel.head(*fact, groups))
        self.kernel.state(*fact)

    def case(self, c: int, v: int, i: int, p: int, s: int, r: int, kids: list[int]) -> None:
        """A fact from those in the cases of a position."""
        fact = self.statement(c, v, i, s, r)
        require(self.program.variables[v] is not None and len(kids) > 0, self.place, "not a map or head, or no case")
        self.below(self.n, p)
        self.unmarked(p)
        self.increasing(kids, "cases")
        self.below(len(self.kernel.contexts), *kids[-1:])
        self.right(self.kernel.case(c, v, i, p, fact[3], r, kids))
        self.kernel.state(*fact)

    # ------------------------------------------------------------ words

    def dfa(self, states: int, start: int, s: int, moves: list[int]) -> None:
        """An automaton."""
        self.below(len(self.sets), s)
        require(
            len(moves) == states * self.program.symbols > 0, self.place, "not a successor for each state and symbol"
        )
        self.below(states, start, max(self.sets[s]), min(moves), max(moves))
        self.kernel.meter.hold(100 * len(moves))
        self.automata.append((states, start, self.sets[s], moves))

    def word(self, runs: list[int]) -> None:
        """A word, as symbols with their counts."""
        counts, symbols, places = runs[::2], runs[1::2], self.n - len(self.program.markers)
        require(
            all(count > 0 for count in counts) and sum(counts) == places, self.place, "not a symbol for each position"
        )
        require(all(a != b for a, b in pairwise(symbols)), self.place, "a symbol occurs twice in a row")
        self.below(self.program.symbols, *symbols)
        self.kernel.meter.charge(self.n // 4)
        self.kernel.meter.hold(16 * self.n)
        word = [symbol for count, symbol in zip(counts, symbols, strict=True) for symbol in [symbol] * count]
        self.words.append([-1] * (0 in self.program.markers) + word)

    # ------------------------------------------------------------ conclusions

    def restriction(self, c: int, free: int) -> Context:
        """A context that fixes symbols and leaves so many positions free."""
        self.below(len(self.kernel.contexts), c)
        self.below(self.n + 1, free)
        context = self.kernel.contexts[c]
        self.right(context.parent == -1 and all(len(symbols) == 1 for symbols in context.sets))
        self.right(free == self.n - len(self.program.markers) - context.size())
        return context

    def claim(self, c: int, i: int, free: int, k: int, s: int, r: int) -> None:
        """The output at a position takes values of a set, and its label depends on few positions."""
        program, kernel, label = self.program, self.kernel, len(self.program.variables) - 1
        context = self.restriction(c, free)
        self.below(self.n, i)
        self.below(self.n + 1, k)
        self.below(len(self.sets), s)
        self.below(len(kernel.runs), r)
        runs = kernel.runs[r]
        kernel.meter.charge(len(runs) + len(context.runs) + len(self.sets[s]))
        self.right(sum(runs[1::2]) - sum(runs[::2]) == k)
        ends = [*context.runs, *(end for at in program.markers for end in (at, at + 1))]
        taken = sorted([*zip(runs[::2], runs[1::2], strict=True), *zip(ends[::2], ends[1::2], strict=True)])
        self.right(all(one[1] <= other[0] for one, other in pairwise(taken)))
        output = kernel.known(c, program.output, i)[0]
        self.right(len(output) <= len(self.sets[s]) and all(value in self.sets[s] for value in output))
        self.right(kernel.inside(kernel.known(c, label, i)[1], r))
        values = ",".join(map(str, sorted(self.sets[s])))
        text = f"n={self.n} target={i} free={free} c={k} values={values}"
        self.found = Conclusion("claim", text, i, c, self.sets[s], r, k)

    def refutes(self, member: int, nonmember: int, automaton: int) -> None:
        """Two words that have one label by the claim, of which the automaton accepts the first alone."""
        assert self.found is not None
        self.below(len(self.words), member, nonmember)
        self.below(len(self.automata), automaton)
        kernel, claim = self.kernel, self.found
        states, start, final, moves = self.automata[automaton]
        words = self.words[member], self.words[nonmember]
        kernel.meter.charge(self.n)
        for at, symbols in kernel.contexts[claim.context].cells():
            self.right(all(word[at] in symbols for word in words))
        ends = iter(kernel.runs[claim.where])
        self.right(all(words[0][a:b] == words[1][a:b] for a, b in zip(ends, ends, strict=True)))
        for word, accepted in zip(words, (True, False), strict=True):
            state = start
            for symbol in word:
                state = moves[state * self.program.symbols + symbol] if symbol >= 0 else state
            self.right((state in final) == accepted)
        self.found = claim._replace(kind="refutes", text=f"{claim.text} refutes=dfa-of-{states}-states")

    def all(self, c: int, free: int, k: int) -> None:
        """The label at every position depends on few positions."""
        self.restriction(c, free)
        self.below(self.n + 1, k)
        kernel, label = self.kernel, len(self.program.variables) - 1
        kernel.meter.charge(self.n * 4 + sum(map(len, kernel.runs)))
        sizes = {NONE: 0, **{at: sum(runs[1::2]) - sum(runs[::2]) for at, runs in enumerate(kernel.runs)}}
        sizes |= {at: free for at, runs in enumerate(kernel.runs) if runs == kernel.runs[EVERYWHERE]}
        self.right(all(sizes[kernel.known(c, label, i)[1]] <= k for i in range(self.n)))
        self.found = Conclusion("all", f"n={self.n} target=all free={free} c={k}", -1, c, c=k)

    def unforced(self, s: int, most: int, i: int, b: int, tree: list[int]) -> None:
        """Forcing any of the labels takes more than ``most`` positions."""
        self.below(len(self.sets), s, b)
        labels, boxes, domain = self.sets[s], sorted(self.sets[b]), self.program.domains[-1]
        self.below(domain, max(labels))
        self.below(self.n + 1, most)
        self.below(self.n, i)
        self.below(len(self.kernel.contexts), boxes[-1])
        self.shape(tree, len(boxes))
        require(self.found is None or self.found.at == i, self.place, "the lines are not about one position")
        self.right(all(self.kernel.contexts[box].parent == -1 for box in boxes))
        self.right(self.kernel.unforced(labels, most, i, boxes, tree))
        bounds = (*(self.found.labels if self.found else ()), *((label, most + 1) for label in sorted(labels)))
        least = min(bound for _, bound in bounds) if len({label for label, _ in bounds}) == domain else 0
        names = ",".join(f"{label}:{bound}" for label, bound in bounds)
        text = f"n={self.n} target={i} at_least={least} labels={names}"
        self.found = Conclusion("unforced", text, i, labels=bounds)

    def shape(self, tree: Sequence[int], boxes: int) -> None:
        """A tree in preorder, with nothing left over."""
        at, open_ = 0, 1
        while open_ and at < len(tree):
            count, width = tree[at], max(1, tree[at])
            self.below(boxes, *tree[at + 1 : at + 1 + width])
            require(count != 0 and at + width < len(tree), self.place, "not a tree")
            at, open_ = at + 1 + width, open_ - 1 + max(0, -count)
        require(open_ == 0 and at == len(tree), self.place, "not a tree, or words are left over")


LINES: dict[str, tuple[Callable[..., None], int, int]] = {
    **{"set": (Proof.set, 0, 1), "runs": (Proof.runs, 0, 2), "row": (Proof.row, 6, 0), "box": (Proof.box, 1, 3)},
    **{"map": (Proof.map, 5, 0), "head": (Proof.head, 5, 5), "case": (Proof.case, 6, 1)},
    **{"dfa": (Proof.dfa, 3, 1), "word": (Proof.word, 0, 2), "claim": (Proof.claim, 6, 0)},
    **{"refutes": (Proof.refutes, 3, 0), "all": (Proof.all, 3, 0), "unforced": (Proof.unforced, 4, 1)},
}
"""For each line the method that reads it, how many numbers it has, and the width of what may follow them."""


def check(program: bytes, proof: bytes, places: tuple[Place, Place], meter: Meter) -> Proof:
    """The proof, read and found right: ``found`` is what it concludes."""
    digest = sha256(program).hexdigest()
    return Proof(proof, places[1], Reader(program, places[0], meter).program, digest, meter)
