"""What can be claimed of a model at every length: each claim is decided by one walk over a closed set of states.

The model is an :class:`Acceptor`, proved by Theorem B (:mod:`.all_lengths`). A claim about a language walks pairs of
states, a claim about a pattern walks sets of states until one repeats, and the exact forcing cost walks vectors of
costs over all sets of states that fixed and free positions reach, until one repeats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .account import LARGEST, Place, malformed, unproved
from .read import integer, integers, listing, record, string, strings, thing
from .refutation import Language

if TYPE_CHECKING:
    from .all_lengths import Program

ACCEPT = "@accept"
Rows = list[list[int]]
FROM = integer(0, 1_000_000)
CLAIMS: dict[str, dict[str, Any]] = {
    "recognises": {"kind": string, "language": thing, "from": FROM},
    "differs": {"kind": string, "language": thing, "word": strings, "from": FROM, "shortest": integer(0, 1)},
    "forces": {
        "kind": string,
        "label": ("accept", "reject"),
        "start": strings,
        "middle": strings,
        "end": strings,
        "from": FROM,
    },
    "cost": {"kind": string, "label": ("accept", "reject"), "costs": listing, "period": integer(1, 10_000)},
}


class Machine(NamedTuple):
    """A bimachine; ``table[l][x][r]`` is a row of ``values`` (columns ``names``), -1 where no position is."""

    left: Rows
    right: Rows
    table: list[Rows]
    names: list[str]
    values: Rows


class Acceptor:
    """The model at all lengths: ``start`` state, successors by symbol, and acceptance of the word read so far.

    A state is a state of the left automaton, and whether the last position accepts (with an end marker: the marker's).
    """

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program, self.machine = program, machine
        at, self.markers = machine.names.index(ACCEPT), program.start + program.end
        self.good = [values[at] for values in machine.values]
        first = machine.left[0][program.symbols] if program.start else 0
        said = 0 if not program.start or program.end else self.good[machine.table[0][program.symbols][0]]
        self.start = self.ended(first, said)

    def ended(self, l: int, said: int) -> tuple[int, int]:
        """The state, with what an end marker here would say."""
        if self.program.end and (label := self.machine.table[l][self.program.letters - 1][0]) >= 0:
            said = self.good[label]
        return l, said

    def step(self, state: tuple[int, int], a: int) -> tuple[int, int]:
        """The state after a symbol."""
        label = self.machine.table[state[0]][a][0]
        return self.ended(self.machine.left[state[0]][a], self.good[label] if label >= 0 else 0)


class Claim:
    """One claim about an acceptor. Lengths count positions, markers included; without markers they begin at 1."""

    def __init__(self, value: Any, place: Place, acceptor: Acceptor) -> None:
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in CLAIMS:
            malformed(place.key("kind"), "expected " + ", ".join(CLAIMS), kind)
        self.kind, self.place, self.acceptor = kind, place, acceptor
        self.fields = record(value, CLAIMS[kind], place)
        self.alphabet, self.meter = acceptor.program.model.alphabet, acceptor.program.meter
        if "language" in self.fields:
            self.language = Language(self.fields["language"], place.key("language"))
            if set(self.language.symbols) != set(self.alphabet):
                malformed(place.key("language").key("alphabet"), "not the symbols of the model")

    def decide(self) -> str:
        """The claim in words, where it holds."""
        return str(getattr(self, self.kind)())

    def agreement(self, first: int, most: int) -> None:
        """Model and automaton agree on every word of length ``first .. most``: a set of pairs closed under letters."""
        automaton = self.language.automaton
        if automaton is None:
            malformed(self.place.key("language"), "agreement at all lengths is for automata and parity alone")
        order = [(x, self.language.symbols[a]) for a, x in self.alphabet.items()]
        start, first = (self.acceptor.start, automaton.start), max(first, 1)  # no claim is about the empty run
        level, seen, n = [start], {(start, min(self.acceptor.markers, first))}, self.acceptor.markers
        while level and n <= most:
            for (_, said), q in level:
                if n >= first and said != (q in automaton.accept):
                    unproved(self.place, f"model and language differ on a word of {n} positions")
            n += 1
            after: list[tuple[tuple[int, int], int]] = []
            self.meter.charge(8 * len(level) * len(order))
            for state, q in level:
                for x, a in order:
                    to = (self.acceptor.step(state, x), automaton.moves[q][a])
                    if (key := (to, min(n, first))) not in seen:
                        seen.add(key)
                        after.append(to)
            level = after

    def recognises(self) -> str:
        """Model and automaton agree at every length."""
        self.agreement(self.fields["from"], LARGEST)
        return f"recognises={self.language.text} n>={max(self.fields['from'], 1)}"

    def differs(self) -> str:
        """A word on which they do not, and perhaps none shorter."""
        word, state = self.fields["word"], self.acceptor.start
        for a in word:
            if a not in self.alphabet:
                malformed(self.place.key("word"), "not a symbol of the model", a)
            state = self.acceptor.step(state, self.alphabet[a])
        n = len(word) + self.acceptor.markers
        if n < max(self.fields["from"], 1):
            unproved(self.place.key("word"), "the word is shorter than the claim's first length")
        if state[1] == self.language.contains([self.language.symbols[a] for a in word]):
            unproved(self.place.key("word"), "model and language agree on the word")
        if self.fields["shortest"]:
            self.agreement(self.fields["from"], n - 1)
        return f"differs-from={self.language.text} n={n}" + (" shortest" if self.fields["shortest"] else "")

    def sets(self, states: frozenset[tuple[int, int]], cell: int) -> frozenset[tuple[int, int]]:
        """The states after a symbol, or (-1) after any."""
        letters = self.alphabet.values() if cell < 0 else (cell,)
        self.meter.charge(4 * len(states) * len(self.alphabet))
        return frozenset(self.acceptor.step(q, x) for q in states for x in letters)

    def cells(self, key: str) -> list[int]:
        """A part of a pattern: symbols, and -1 for free positions."""
        for a in self.fields[key]:
            if a != "*" and a not in self.alphabet:
                malformed(self.place.key(key), "neither * nor a symbol of the model", a)
        return [-1 if a == "*" else self.alphabet[a] for a in self.fields[key]]

    def forces(self) -> str:
        """``start middle middle ... end``, the middle cut off where the length says: one label at every length."""
        start, middle, end = self.cells("start"), self.cells("middle"), self.cells("end")
        if not middle:
            malformed(self.place.key("middle"), "expected at least one cell")
        wanted, n = self.fields["label"] == "accept", len(start) + len(end) + self.acceptor.markers
        if n > max(1, self.fields["from"]):
            unproved(self.place.key("from"), f"the pattern is for {n} positions and more")
        states = frozenset([self.acceptor.start])
        for cell in start:
            states = self.sets(states, cell)
        seen: set[tuple[Any, int]] = set()
        for at in range(LARGEST):
            key = (states, at % len(middle))
            if n + at >= max(1, self.fields["from"]):
                if key in seen:
                    break
                seen.add(key)
                last = states
                for cell in end:
                    last = self.sets(last, cell)
                if any(said != wanted for _, said in last):
                    unproved(self.place, f"the pattern does not force the label at {n + at} positions")
            states = self.sets(states, middle[at % len(middle)])
        fixed = sum(c >= 0 for c in (*start, *end))
        return f"forces={self.fields['label']} fixed={fixed} period={len(middle)} n>={max(1, self.fields['from'])}"

    def cost(self) -> str:
        """``costs[t]``: the least number of fixed symbols that forces the label on words of ``t`` symbols (-1: more
        than any listed, or impossible); from the end of the list on, the last ``period`` entries repeat."""
        costs, period = self.fields["costs"], self.fields["period"]
        integers(-1, LARGEST)(costs, self.place.key("costs"))
        if len(costs) < period:
            malformed(self.place.key("costs"), "shorter than its period")
        wanted, cap = self.fields["label"] == "accept", max(costs) + 1
        sets = {frozenset([self.acceptor.start]): 0}
        order = list(sets)
        edges: list[list[int]] = []
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
        goal = [all(said == wanted for _, said in states) for states in order]
        at = [0] + [cap] * (len(order) - 1)
        seen: set[tuple[Any, int]] = set()
        for t in range(LARGEST):
            index = t if t < len(costs) else len(costs) - period + (t - len(costs)) % period
            key = (tuple(at), index)
            spoken = t + self.acceptor.markers > 0  # no claim is about the empty run
            if t >= len(costs) - period and spoken:
                if key in seen:
                    break
                seen.add(key)
            self.meter.charge(3 * len(order) * (1 + len(self.alphabet)))
            best = min([c for c, g in zip(at, goal, strict=True) if g], default=cap)
            if spoken and costs[index] != (best if best < cap else -1):
                unproved(self.place.key("costs"), f"the cost for {t} symbols is not {costs[index]}")
            then = [cap] * len(order)
            for v, steps in enumerate(edges):
                for k, target in enumerate(steps):
                    then[target] = min(then[target], at[v] + (k > 0))
            at = then
        return f"cost-of={self.fields['label']} greatest={max(costs)} period={period}"
