"""What can be claimed of a model at every length: each claim is decided by one walk over a closed set of states.

The model is a :class:`Reader`, proved by Theorem B (:mod:`.all_lengths`). A claim about a language or a labelling walks
pairs of states, a claim about a pattern walks sets of states until one repeats, and the exact forcing cost walks the
least costs of all sets of states that fixed and free positions reach, until they are settled (:mod:`.costs`).

Nothing is claimed at lengths at which the model is not defined (``when``).
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

from .account import LARGEST, Place, malformed, unproved
from .costs import COSTS, Costs, spoken_costs
from .labelling import Labelling
from .lengths import LENGTHS, Walked, check_lengths, contains, errors_of
from .machines import Other, machine_of
from .program import LABEL, Program
from .read import Maybe, integer, record, string, strings, thing
from .refutation import Language

Rows = list[list[int]]
FROM = integer(0, 1_000_000)
RECOGNISES = {"language": thing, "from": FROM}
DIFFERS = {"language": thing, "word": strings, "from": FROM, "shortest": integer(0, 1)}
FORCES = {"label": string, "start": strings, "middle": strings, "end": strings, "from": FROM}
COST = {"label": string, **COSTS}
COMPUTES = {"machine": thing, "from": FROM}
DEVIATES = {
    "machine": thing,
    "word": strings,
    "position": Maybe(integer(0, 1_000_000)),
    "from": FROM,
    "shortest": integer(0, 1),
}
WRONG = {"language": thing, **LENGTHS}
CLAIMS: dict[str, dict[str, Any]] = {
    "recognises": RECOGNISES,
    "differs": DIFFERS,
    "forces": FORCES,
    "cost": COST,
    "computes": COMPUTES,
    "deviates": DEVIATES,
    "lengths": WRONG,
}
State = tuple[int, int]


class Machine(NamedTuple):
    """A bimachine; ``table[l][x][r]`` is a row of ``values`` (columns ``names``), -1 where no position is."""

    left: Rows
    right: Rows
    table: list[Rows]
    names: list[str]
    values: Rows


class Reader:
    """The model at all lengths: ``start`` state, successors by symbol, and the label at the last position.

    A state is a state of the left automaton, and the number of the last position's label (with an end marker: the
    marker's); the label ``undefined`` is that of lengths at which the model is not defined.
    """

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program, self.machine = program, machine
        at, self.markers = machine.names.index(LABEL), program.start + program.end
        self.label = [values[at] for values in machine.values]
        self.undefined = len(program.labels)
        first = machine.left[0][program.symbols] if program.start else 0
        said = 0 if not program.start or program.end else self.label[machine.table[0][program.symbols][0]]
        self.start = self.ended(first, said)

    def ended(self, l: int, said: int) -> State:
        """The state, with what an end marker here would say."""
        if self.program.end and (label := self.machine.table[l][self.program.letters - 1][0]) >= 0:
            said = self.label[label]
        return l, said

    def step(self, state: State, a: int) -> State:
        """The state after a symbol."""
        label = self.machine.table[state[0]][a][0]
        return self.ended(self.machine.left[state[0]][a], self.label[label] if label >= 0 else 0)


class Claim:
    """One claim about a reader. Lengths count positions, markers included; without markers they begin at 1."""

    def __init__(self, value: Any, place: Place, reader: Reader) -> None:
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in CLAIMS:
            malformed(place.key("kind"), "expected " + ", ".join(CLAIMS), kind)
        self.kind, self.place, self.reader = kind, place, reader
        self.fields = record({key: inner for key, inner in value.items() if key != "kind"}, CLAIMS[kind], place)
        self.program = reader.program
        self.alphabet, self.meter = reader.program.model.alphabet, reader.program.meter
        self.at = " target=last" if self.program.model.every else ""
        if "language" in self.fields:
            if self.program.model.accept is None or self.program.model.every:
                unproved(place, "a model recognises a language if its output has 'accept' at the last position")
            self.language = Language(self.fields["language"], place.key("language"), self.meter)
            if set(self.language.symbols) != set(self.alphabet):
                malformed(place.key("language").key("alphabet"), "not the symbols of the model")
        if "machine" in self.fields:
            self.labelling = Labelling(self.fields["machine"], place.key("machine"), self.program)

    def decide(self) -> str:
        """The claim in words, where it holds."""
        return str(getattr(self, self.kind)())

    def first(self) -> int:
        """The claim's first length; at one from there on the model must be defined."""
        first: int = max(self.fields["from"], 1)
        self.program.defined_from(first, self.place.key("from"))
        return first

    # ------------------------------------------------------------ languages and labellings

    def agreement(self, other: Other, first: int, most: int) -> None:
        """The labels of the model and of a machine agree on every word of length ``first .. most``: a set of pairs of
        states (configurations) closed under letters, which is finite for an automaton."""
        start, first = (self.reader.start, other.start), max(first, 1)  # no claim is about the empty run
        level, seen, n = [start], {(start, min(self.reader.markers, first))}, self.reader.markers
        letters = list(self.alphabet.values())
        while level and n <= most:
            for (_, said), q in level:
                if n >= first and said not in (other.label(q), self.reader.undefined):
                    unproved(self.place, f"model and {other.what} differ on a word of {n} positions")
            n += 1
            after: list[tuple[State, int]] = []
            self.meter.charge((12 + n // 8) * len(level) * len(letters))
            for state, q in level:
                for x in letters:
                    to = (self.reader.step(state, x), other.step(q, x))
                    if (key := (to, min(n, first))) not in seen:
                        self.meter.hold(300 + 8 * n)
                        seen.add(key)
                        after.append(to)
            level = after

    def machine(self) -> Other:
        """The machine of the language."""
        return machine_of(self.language, [self.language.symbols[a] for a in self.alphabet])

    def recognises(self) -> str:
        """Model and automaton agree at every length."""
        if self.language.automaton is None:
            malformed(self.place.key("language"), "agreement at all lengths is for automata and parity alone")
        self.agreement(self.machine(), self.fields["from"], LARGEST)
        return f"recognises={self.language.text} n>={self.first()}"

    def word(self) -> tuple[list[int], int]:
        """The word as symbol indices, and the model's label at its end."""
        self.meter.charge(2 * len(self.fields["word"]))
        state, out = self.reader.start, []
        for a in self.fields["word"]:
            if a not in self.alphabet:
                malformed(self.place.key("word"), "not a symbol of the model", a)
            out.append(self.alphabet[a])
            state = self.reader.step(state, out[-1])
        if (n := len(out) + self.reader.markers) < max(self.fields["from"], 1):
            unproved(self.place.key("word"), "the word is shorter than the claim's first length")
        if state[1] == self.reader.undefined:
            unproved(self.place.key("word"), "the model is not defined at the length of the word")
        self.program.defined_at(n, self.place.key("word"))
        return out, state[1]

    def differs(self) -> str:
        """A word on which they do not, and perhaps none shorter."""
        word, said = self.word()
        n = len(word) + self.reader.markers
        if said == self.language.contains([self.language.symbols[a] for a in self.fields["word"]]):
            unproved(self.place.key("word"), "model and language agree on the word")
        if self.fields["shortest"]:
            self.agreement(self.machine(), self.fields["from"], n - 1)
        return f"differs-from={self.language.text} {self.found(n)}"

    def found(self, n: int) -> str:
        """The length of the word; a shortest one is so among those from the claim's first length on."""
        first = self.fields["from"]
        since = f" n>={first}" if first > max(self.reader.markers, 1) else ""
        return f"n={n} shortest{since}" if self.fields["shortest"] else f"n={n}"

    def computes(self) -> str:
        """The labels are those of a machine, at every length."""
        self.agreed(self.fields["from"], LARGEST)
        return f"computes={self.labelling.text} n>={self.first()}"

    def agreed(self, first: int, most: int) -> None:
        """The labels are those of the machine at all lengths ``first .. most``."""
        if (other := self.labelling.automaton) is not None:
            self.agreement(other, first, most)
            return
        if first > 1:
            unproved(self.place.key("from"), "labels at every position are compared from length 1 on")
        self.labelling.everywhere(self.reader.machine, self.reader.label, most)

    def deviates(self) -> str:
        """A word (with output at every position: and a position) at which they are not, and perhaps none shorter."""
        word, said = self.word()
        n, position = len(word) + self.reader.markers, self.fields.get("position")
        if (position is None) == self.program.model.every:
            malformed(self.place.key("position"), "it is for output at every position, and only for that")
        if (other := self.labelling.automaton) is not None:
            q = other.start
            for a in word:
                q = other.step(q, a)
            theirs = other.label(q)
        else:
            if position is None or position >= n:
                malformed(self.place.key("position"), f"expected a position below {n}", position)
            said, theirs = self.labelling.at(self.reader.machine, self.reader.label, word, position)
        if said == theirs:
            unproved(self.place.key("word"), "model and machine agree on the word")
        if self.fields["shortest"]:
            self.agreed(self.fields["from"], n - 1)
        return f"deviates-from={self.labelling.text} {self.found(n)}"

    def lengths(self) -> str:
        """The lengths at which the model is wrong about a language on some word."""
        order = [self.language.symbols[a] for a in self.alphabet]
        wrong = errors_of(self.walked(order), self.language, self.meter)
        spoken = check_lengths(self.fields, self.place, wrong, self.reader.markers)
        least = self.fields["least"]
        some = range(len(least["early"]) + len(least["cycle"]))
        if (n := next((n for n in (self.program.model.n, *some) if contains(least, n)), None)) is not None:
            self.program.defined_at(n, self.place.key("least"))
        return f"{spoken} language={self.language.text}"

    def walked(self, order: list[int]) -> Walked:
        """The states that words reach, and what the model says there."""
        known, moves = {self.reader.start: 0}, list[list[int]]()
        states = list(known)
        for state in states:
            self.meter.charge(6 * len(order))
            self.meter.hold(300 + 20 * len(order))
            after = [self.reader.step(state, x) for x in self.alphabet.values()]
            for to in after:
                if to not in known:
                    known[to] = len(states)
                    states.append(to)
            moves.append([known[to] for to in after])
        return Walked(moves, [said for _, said in states], order)

    # ------------------------------------------------------------ restrictions

    def sets(self, states: frozenset[State], cell: int) -> frozenset[State]:
        """The states after a symbol, or (-1) after any."""
        letters = self.alphabet.values() if cell < 0 else (cell,)
        self.meter.charge(4 * len(states) * len(self.alphabet))
        return frozenset(self.reader.step(q, x) for q in states for x in letters)

    def cells(self, key: str) -> list[int]:
        """A part of a pattern: symbols, and -1 for free positions."""
        for a in self.fields[key]:
            if a != "*" and a not in self.alphabet:
                malformed(self.place.key(key), "neither * nor a symbol of the model", a)
        return [-1 if a == "*" else self.alphabet[a] for a in self.fields[key]]

    def spoken(self) -> str:
        """The label in the line of success, percent-encoded: a name may look like other parts of the line."""
        return quote(self.fields["label"], "")

    def good(self) -> tuple[int, int]:
        """The numbers of the labels that a restriction may leave: the claim's, and undefined."""
        return self.program.label(self.fields["label"], self.place.key("label")), self.reader.undefined

    def forces(self) -> str:
        """``start middle middle ... end``, the middle cut off where the length says: one label at every length."""
        start, middle, end = self.cells("start"), self.cells("middle"), self.cells("end")
        if not middle:
            malformed(self.place.key("middle"), "expected at least one cell")
        good, n, first = self.good(), len(start) + len(end) + self.reader.markers, self.first()
        if n > first:
            unproved(self.place.key("from"), f"the pattern is for {n} positions and more")
        states = frozenset([self.reader.start])
        for cell in start:
            states = self.sets(states, cell)
        # What `end` makes of a union of sets is the union of what it makes of each: one walk is enough for all lengths.
        together: set[State] = set()
        seen: set[tuple[Any, int]] = set()
        for at in range(LARGEST):
            key = (states, at % len(middle))
            if n + at >= first:
                if key in seen:
                    break
                self.meter.hold(200 + 100 * len(states))
                seen.add(key)
                together |= states
            states = self.sets(states, middle[at % len(middle)])
        last = frozenset(together)
        for cell in end:
            last = self.sets(last, cell)
        if any(said not in good for _, said in last):
            unproved(self.place, "the pattern does not force the label at some length")
        if all(said == self.reader.undefined for _, said in last):
            unproved(self.place.key("from"), "the model is defined at none of these lengths")
        fixed, more = sum(c >= 0 for c in (*start, *end)), sum(c >= 0 for c in middle)
        share = f" fixed-of-{len(middle)}={more}" if more else ""
        return f"forces={self.spoken()} fixed={fixed}{share} period={len(middle)} n>={first}{self.at}"

    def cost(self) -> str:
        """``costs[t]``: the least number of fixed symbols that forces the label on words of ``t`` symbols (-1: no word
        has it); from the end of the list on, the last entries repeat, each time with its ``growth`` added."""
        fields, edges, goals = self.fields, *self.graph()
        Costs(fields, self.place, self.meter).check(edges, goals, +(self.reader.markers == 0))
        return f"cost-of={self.spoken()} {spoken_costs(fields['costs'], fields['growth'])}{self.at}"

    def graph(self) -> tuple[Rows, list[int]]:
        """All sets of states that fixed and free positions reach, their successors, and which force the label."""
        good = self.good()
        sets = {frozenset([self.reader.start]): 0}
        order = list(sets)
        edges: Rows = []
        for states in order:
            steps = []
            for cell in (-1, *self.alphabet.values()):
                to = self.sets(states, cell)
                if to not in sets:
                    self.meter.hold(200 + 100 * len(to))
                    sets[to] = len(order)
                    order.append(to)
                steps.append(sets[to])
            edges.append(steps)
        return edges, [v for v, states in enumerate(order) if all(said in good for _, said in states)]
