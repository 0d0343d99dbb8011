"""Reads a proof, `restrict-kernel/1` (docs/kernel-format.md), line by line, and hands every line to the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple

from .account import Meter, Place, require, unproved
from .kernel import EVERYWHERE, NONE, Context, Kernel, part_of, size
from .normal_form import NUMBER, Head, Letters, Program, Values, lines, numbers

FORMS = {
    "set": "*Y",
    "runs": "*ee",
    "row": "hiyzir",
    "box": "k*ees",
    "map": "cmisr",
    "head": "chisr*Ywizo",
    "case": "cvipsr*C",
    "dfa": "yys*y",
    "word": "*ya",
    "claim": "cinnsr",
    "refutes": "xxd",
    "all": "cnn",
    "unforced": "snis*z",
}
"""The numbers of each line (``program.numbers``); ``fixed_letters`` and ``Proof.line`` say what a letter stands for."""


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
    """The tables of a proof. A line is of a form and is found right by the kernel; then it adds what it says."""

    def __init__(self, data: bytes, place: Place, program: Program, digest: str, meter: Meter) -> None:
        self.program, self.kernel, self.digest, self.meter = program, Kernel(program, meter), digest, meter
        self.automata: list[tuple[int, int, frozenset[int], Sequence[int]]] = []
        self.words: list[Sequence[int]] = []
        self.found: Conclusion | None = None
        self.letters = fixed_letters(program)
        read = lines(data, place, meter)
        self.place, name, words = next(read)
        require(name == "restrict-kernel/1", self.place, "not a restrict-kernel/1")
        require(words == [digest], self.place, "not the SHA-256 of the program file")
        for self.place, name, words in read:
            self.line(name, words)
        require(self.found is not None, place, "there is no conclusion")

    def line_of_success(self) -> str:
        """What is printed."""
        assert self.found is not None
        return f"s VERIFIED {self.found.text} {self.digest}"

    def right(self, holds: bool) -> None:
        """The rule of a line has to hold."""
        if not holds:
            unproved(self.place, "the rule of this line does not hold")

    def form(self, holds: bool) -> None:
        """A line has to be of its form."""
        require(holds, self.place, "a line that is not of its form")

    def line(self, name: str, words: list[str]) -> None:
        """One line; the conclusion stands at the end."""
        kind, kernel = self.found.kind if self.found else "", self.kernel
        after = {"refutes": ("claim",), "unforced": ("", "unforced")}.get(name, ("",))
        require(name in FORMS and kind in after, self.place, "no such line, or none here")
        above: dict[str, Sized] = {"c": kernel.contexts, "s": kernel.sets, "r": kernel.runs, "w": kernel.rows}
        above |= {"d": self.automata, "x": self.words}
        letters = {letter: range(len(things)) for letter, things in above.items()}
        letters["k"] = range(-1, len(kernel.contexts))
        found, count = numbers(words, FORMS[name], {**self.letters, **letters}, self.place), FORMS[name].find("*")
        self.kernel.meter.hold(400 + 100 * len(found))
        getattr(self, name)(*found) if count < 0 else getattr(self, name)(*found[:count], found[count:])

    # ------------------------------------------------------------ tables

    def set(self, values: list[int]) -> None:
        """A set of values."""
        self.form(len(values) > 0)
        self.kernel.sets.append(frozenset(values))

    def runs(self, ends: list[int]) -> None:
        """Runs of positions."""
        self.form(all(a < b for a, b in pairwise(ends)))
        self.kernel.longest = max(self.kernel.longest, len(ends))
        self.kernel.runs.append(tuple(ends))

    def row(self, h: int, i: int, u: int, s: int, p: int, r: int) -> None:
        """A row lemma."""
        self.form(u in self.kernel.domain(self.kernel.head_of(h).query))
        self.right(self.kernel.row(h, i, u, s, p, r))
        self.kernel.rows.append((h, i, u, s, p, r))

    def box(self, parent: int, triples: list[int]) -> None:
        """A context."""
        starts, stops, sets = triples[::3], triples[1::3], [self.kernel.sets[s] for s in triples[2::3]]
        ends, markers = [end for run in zip(starts, stops, strict=True) for end in run], self.program.markers
        self.form(all(a < b for a, b in zip(starts, stops, strict=True)) and ends == sorted(ends))
        self.form(not any(start <= at < stop for start, stop in zip(starts, stops, strict=True) for at in markers))
        self.meter.charge(sum(map(len, sets)) // 16)
        self.form(all(max(symbols) < self.program.symbols for symbols in sets))
        depth = 1 + self.kernel.contexts[parent].depth if parent >= 0 else 0
        self.kernel.contexts.append(Context(parent, depth, tuple(ends), sets, {}))

    # ------------------------------------------------------------ facts

    def map(self, c: int, v: int, i: int, s: int, r: int) -> None:
        """A fact about a map."""
        self.fact(c, v, i, s, r, self.kernel.map)

    def head(self, c: int, v: int, i: int, s: int, r: int, groups: list[int]) -> None:
        """A fact about a head."""
        self.fact(c, v, i, s, r, self.kernel.head, *groups)

    def case(self, c: int, v: int, i: int, p: int, s: int, r: int, kids: list[int]) -> None:
        """A fact from those in the cases of a position."""
        self.form(len(kids) > 0)
        self.fact(c, v, i, s, r, self.kernel.case, p, *kids)

    def fact(self, c: int, v: int, i: int, s: int, r: int, rule: Callable[..., bool], *more: int) -> None:
        """Remember that the values of a node are in a set, and what it depends on; one value depends on nothing."""
        values = self.kernel.sets[s]
        self.meter.charge(len(values) // 16)
        self.form(max(values) < self.program.domains[v])
        self.right(rule(c, v, i, values, r, *more))
        self.kernel.contexts[c].facts[v, i] = values, NONE if len(values) == 1 else r

    # ------------------------------------------------------------ words

    def dfa(self, states: int, start: int, s: int, moves: list[int]) -> None:
        """An automaton."""
        self.form(len(moves) == states * self.program.symbols > 0)
        self.form(max(start, *self.kernel.sets[s], *moves) < states)
        self.automata.append((states, start, self.kernel.sets[s], moves))

    def word(self, runs: list[int]) -> None:
        """A word, as symbols with their counts."""
        counts, symbols, markers = runs[::2], runs[1::2], self.program.markers
        self.form(0 not in counts and sum(counts) == self.program.n - len(markers))
        self.form(all(a != b for a, b in pairwise(symbols)))
        self.kernel.meter.charge(self.program.n // 4)
        self.kernel.meter.hold(16 * self.program.n)
        word = [symbol for count, symbol in zip(counts, symbols, strict=True) for symbol in [symbol] * count]
        self.words.append([-1] * (0 in markers) + word)

    # ------------------------------------------------------------ conclusions

    def restriction(self, c: int, free: int) -> Context:
        """A context that fixes symbols and leaves so many positions free."""
        context = self.kernel.contexts[c]
        self.right(context.parent == -1 and all(len(symbols) == 1 for symbols in context.sets))
        self.right(free == self.program.n - len(self.program.markers) - size(context.runs))
        return context

    def claim(self, c: int, i: int, free: int, k: int, s: int, r: int) -> None:
        """The output at a position takes values of a set, and its label depends on few positions."""
        kernel, context, values, runs = self.kernel, self.restriction(c, free), self.kernel.sets[s], self.kernel.runs[r]
        kernel.meter.charge(len(runs) + len(context.runs) + len(values))
        ends = [*runs, *context.runs, *(end for at in self.program.markers for end in (at, at + 1))]
        taken = sorted(zip(ends[::2], ends[1::2], strict=True))
        self.right(size(runs) == k and all(one[1] <= other[0] for one, other in pairwise(taken)))
        self.right(part_of(kernel.known(c, self.program.output, i)[0], values))
        self.right(kernel.inside(kernel.known(c, kernel.label, i)[1], r))
        listed = ",".join(map(str, sorted(values)))
        text = f"n={self.program.n} target={i} free={free} c={k} values={listed}"
        self.found = Conclusion("claim", text, i, c, values, r, k)

    def refutes(self, member: int, nonmember: int, automaton: int) -> None:
        """Two words that have one label by the claim, of which the automaton accepts the first alone."""
        assert self.found is not None
        kernel, claim, (states, start, final, moves) = self.kernel, self.found, self.automata[automaton]
        words = self.words[member], self.words[nonmember]
        kernel.meter.charge(self.program.n)
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
        kernel, n = self.kernel, self.program.n
        kernel.meter.charge(n * 4 + sum(map(len, kernel.runs)))
        sizes = [free if runs == kernel.runs[EVERYWHERE] else size(runs) for runs in kernel.runs]
        where = (kernel.known(c, kernel.label, i)[1] for i in range(n))
        self.right(all(runs == NONE or sizes[runs] <= k for runs in where))
        self.found = Conclusion("all", f"n={n} target=all free={free} c={k}", -1, c, c=k)

    def unforced(self, s: int, most: int, i: int, b: int, tree: list[int]) -> None:
        """Forcing any of the labels takes more than ``most`` positions."""
        labels, boxes, domain = self.kernel.sets[s], sorted(self.kernel.sets[b]), self.program.domains[-1]
        self.form(max(labels) < domain and boxes[-1] < len(self.kernel.contexts))
        self.form(self.found is None or self.found.at == i)
        self.form(well_formed(tree, len(boxes)))
        self.right(all(self.kernel.contexts[box].parent == -1 for box in boxes))
        self.right(self.kernel.unforced(labels, most, i, boxes, tree))
        before = self.found.labels if self.found else ()
        self.meter.charge(len(before) + len(labels) + (len(labels) ** 2 >> 10))  # all may collide
        self.meter.hold(400 * len(labels))
        bounds = (*before, *((label, most + 1) for label in sorted(labels)))
        least = min(bound for _, bound in bounds) if len({label for label, _ in bounds}) == domain else 0
        names = ",".join(f"{label}:{bound}" for label, bound in bounds)
        text = f"n={self.program.n} target={i} at_least={least} labels={names}"
        self.found = Conclusion("unforced", text, i, labels=bounds)


def fixed_letters(program: Program) -> Letters:
    """The numbers that the letters of a form may stand for, as far as the program alone says so."""
    n, markers, nodes = program.n, program.markers, range(2, len(program.variables))
    heads = frozenset(v for v in nodes if isinstance(program.variables[v], Head))
    last = n - (len(markers) > (0 in markers))
    places = {"i": range(n), "n": range(n + 1), "e": range(n + 1), "p": range(0 in markers, last)}
    values = {"a": range(program.symbols), "z": NUMBER, "y": range(NUMBER[-1]), "o": range(-1, NUMBER[-1])}
    return {**places, **values, "v": nodes, "h": heads, "m": frozenset(nodes) - heads}


def well_formed(tree: Sequence[int], boxes: int) -> bool:
    """Whether numbers are a tree in preorder, with nothing left over."""
    at, open_ = 0, 1
    while open_ and at < len(tree):
        count, first = tree[at], at + 1
        at = first + max(1, count) + (count == 0)  # a case names a position, too
        if at > len(tree) or min(tree[first:at]) < 0 or max(tree[first : at - (count == 0)]) >= boxes:
            return False
        open_ += (2 if count == 0 else max(0, -count)) - 1
    return open_ == 0 and at == len(tree)


def check(program: bytes, proof: bytes, places: tuple[Place, Place], meter: Meter) -> Proof:
    """The proof, read and found right: ``found`` is what it concludes."""
    digest = sha256(program).hexdigest()
    return Proof(proof, places[1], Program(program, places[0], meter), digest, meter)
