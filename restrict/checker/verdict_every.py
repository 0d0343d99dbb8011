"""Verdicts for every length: models without position embeddings, and the prefixes of all words of a language.

Without positions the weight and the value of a symbol depend on the last symbol alone, so a case is a block of lengths,
a symbol, and the state behind it. A block ``[first, last]`` is settled by one longest path of ``last`` steps, at whose
every end from ``first`` on the bound is tested. The block of all lengths, ``last = -1``, is settled by potentials: one
number for each state that never falls along a transition by less than its weight says (Theorem 10). The certificate
lists them, and the inequalities are tested one by one. Everything else is as at one length: docs/soft-verdicts.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .account import Place, Task, require
from .read import Maybe, anything, integer, integers, listing, record, thing
from .verdict import WRONG, Check, Key
from .verdict_forms import Form
from .verdict_model import START, Atoms, Model
from .verdict_numbers import BITS, EXP_BITS, Vector
from .verdict_paths import FAR, NEVER, Language

FINEST = 60
"""Potentials are integers times ``2^-scale``, and have at most 63 bits."""
LONGEST = 1 << 16
EVERY = {
    "format": ("restrict-soft-every-length/1",),
    "model": thing,
    "language": thing,
    "memory": Maybe(anything),
    "basis": listing,
    "turned": Maybe(listing),
    "scale": integer(0, FINEST),
    "blocks": listing,
    "cases": listing,
    "phi": listing,
    "wrong": Maybe(thing),
    "provenance": Maybe(thing),
}
ALL = -1
"""The end of the block of all lengths."""
numbers = integers(-(1 << 62), 1 << 62)


class Ways(NamedTuple):
    """What words of a case go through: its states in increasing order, transitions among them, states before the
    last symbol."""

    states: list[int]
    edges: list[tuple[int, int, int]]
    ends: list[int]


def verify(task: Task) -> str:
    """The line ``s VERIFIED ...``, if the certificate proves its claim; raises ``Reject`` in every other case."""
    fields, top = record(task.document, EVERY, task.top), task.top
    model = Model(task, fields["model"], top.key("model"))
    language = Language(fields["language"], fields.get("memory"), top.key("language"), len(model.rows), model.labels)
    require(model.positions is None, top.key("model"), "every length is for models without position embeddings")
    check = Everywhere(task, model, language, Atoms(model, 1, task.meter), fields["scale"])
    check.read_basis(fields["basis"], top.key("basis"))
    check.read_turned(fields.get("turned", []), top.key("turned"))
    check.read_blocks(fields["blocks"], top.key("blocks"))
    check.phi, check.phi_place = fields["phi"], top.key("phi")
    wrong = record(fields["wrong"], WRONG, top.key("wrong")) if "wrong" in fields else None
    check.empty = wrong is None or len(wrong["word"]) > 0
    check.every(fields["cases"], list(check.blocked()), top.key("cases"))
    require(len(check.phi) == check.count, check.phi_place, f"expected {check.count} lists", len(check.phi))
    upto = check.blocks[-1][1]
    if wrong is None:
        require(check.count > 0, top.key("cases"), "nothing is claimed of any word")
        shown = "n>=0" if upto == ALL else f"n>=0 prefixes=0..{upto - model.pinned}"
        return f"s VERIFIED right {shown}{language.told}{model.told} cases={check.count} {model.sha256}"
    length = len(wrong["word"])
    require(ALL < upto < max(length, 1), top.key("blocks"), "expected lengths below that of the wrong word", upto)
    check.refuted(wrong, length + len(language.delta), top.key("wrong"))
    shortest = " shortest" if upto == max(length - 1, 0) else ""
    at = f"at={length - model.pinned} label={wrong['label']}{shortest}"
    return f"s VERIFIED wrong n>=0{language.told}{model.told} {at} {model.sha256}"


class Everywhere(Check):
    """The cases of every length; position 1 stands for all positions behind the start token."""

    def __init__(self, task: Task, model: Model, language: Language, atoms: Atoms, scale: int) -> None:
        super().__init__(task, model, language, atoms)
        self.shift, self.phi, self.phi_place, self.count = BITS + EXP_BITS - scale, list[Any](), Place("phi"), 0
        self.given: Iterator[Any] = iter(())
        self.before = [[p for p, _ in step] for step in language.entering]
        self.reached = closed({0}, language.delta)
        self.living = {q for q in self.reached if self.far[q] < FAR}
        self.blocks, self.span, self.ways = [(0, 0)], (0, 0), Ways([], [], [])
        self.empty = True

    def read_blocks(self, value: list[Any], place: Place) -> None:
        """Blocks of lengths, one behind the other from 1; block 0 is the empty prefix."""
        for index, entry in enumerate(value):
            first, last = (*integers(ALL, LONGEST)(entry, place.item(index)), ALL, ALL)[:2]
            follows = len(entry) == 2 and first == self.blocks[-1][1] + 1 and (last >= first or last == ALL)
            require(follows and self.blocks[-1][1] != ALL, place.item(index), "expected the lengths that follow")
            self.blocks.append((first, last))

    def blocked(self) -> Iterator[Key]:
        """The cases: what a prefix with a length of a block may end with."""
        if 0 in self.living and self.empty and not self.model.first + self.model.pinned:
            yield (0, START, 0)
        for b, (first, last) in enumerate(self.blocks[1:], 1):
            before = self.standing(first, last)
            for a in self.model.ends:
                found = {self.language.delta[p][a] for p in before} & self.living
                self.meter.hold(100 * len(found))
                yield from ((b, a, q) for q in sorted(found))

    def standing(self, first: int, last: int) -> set[int]:
        """The states in front of the last symbol of words with a length of a block."""
        delta, now, found = self.language.delta, {0}, set[int]()
        self.meter.charge((max(last, 0) + 2) * (len(delta) + 1) * (len(self.model.rows) + 1))
        if last == ALL:
            return self.reached
        for j in range(1, last + 1):
            found |= now if j >= first else set()
            now = {t for p in now for t in delta[p] if t >= 0}
        return found

    def weigh(self, i: int, a: int) -> None:
        """Weigh a symbol: at every later position as at position 1."""
        super().weigh(min(i, 1), a)

    def through(self, a: int, q: int) -> Ways:
        """The states and transitions of words that end with symbol ``a`` in state ``q``, without that symbol."""
        delta = self.language.delta
        self.meter.charge(4 * (len(delta) + 1) * (len(self.model.rows) + 1))
        ends = [p for p, s in self.language.entering[q] if s == a and p in self.reached]
        states = closed(set(ends), self.before) & self.reached
        edges = [(p, s, t) for p in sorted(states) for s, t in enumerate(delta[p]) if t in states]
        return Ways(sorted(states), edges, ends)

    def case(self, key: Key, hints: list[Any], place: Place) -> None:
        """One case, with the potentials of its bounds in the order in which they are needed; all are."""
        require(self.count < len(self.phi), self.phi_place, "the potentials of a case are missing")
        self.given = iter(listing(self.phi[self.count], self.phi_place.item(self.count)))
        if key[0]:
            self.span, self.ways = self.blocks[key[0]], self.through(key[1], key[2])
        super().case(key, hints, place)
        require(next(self.given, None) is None, self.phi_place.item(self.count), "more lists than bounds")
        self.count += 1

    def priced(self, key: Key) -> int:
        """As for a word of one symbol: what states and transitions cost, :meth:`longest` knows."""
        return 3 * len(self.model.rows)

    def longest(self, weights: Sequence[Vector], a: int, q: int) -> int:
        """Not less than the length of any path of the case, if the potentials hold; positive if they do not."""
        if len(weights) == 1:
            return super().longest(weights, a, q)
        if self.span[1] != ALL:
            return self.layered(weights[0][0], weights[1], a)
        ways = self.ways
        self.meter.charge(4 * (len(ways.edges) + len(ways.states)))
        start, *steps = [-(-u >> self.shift) for u in (weights[0][0], *weights[1])]
        phi = dict(zip(ways.states, self.potentials(ways, start, steps), strict=True))
        if phi[0] < start or any(phi[t] < phi[p] + steps[s] for p, s, t in ways.edges):
            return 1
        return max(phi[p] + steps[a] for p in ways.ends)

    def layered(self, start: int, steps: Vector, a: int) -> int:
        """The longest path of the case among those of a length of the block."""
        ways, (first, last) = self.ways, self.span
        self.meter.charge(last * (len(ways.edges) + 2 * len(ways.states)))
        phi, best = dict.fromkeys(ways.states, NEVER), NEVER
        phi[0] = start
        for j in range(1, last + 1):
            if j >= first:
                best = max(best, *(phi[p] + steps[a] for p in ways.ends))
            after = dict.fromkeys(ways.states, NEVER)
            for p, s, t in ways.edges:
                x = phi[p] + steps[s]
                if x > after[t]:
                    after[t] = x
            phi = after
        return best

    def point(self, word: list[int]) -> Form:
        """The residual stream of one word: every position has the tables of the first."""
        more = len(word) - 2
        self.weights = [[*rows, *rows[1:] * more] for rows in self.weights]
        self.atoms.values = [[*rows, *rows[1:] * more] for rows in self.atoms.values]
        return super().point(word)

    def potentials(self, ways: Ways, start: int, steps: Vector) -> Sequence[int]:
        """The next list of the certificate."""
        place = self.phi_place.item(self.count)
        found: Sequence[int] = numbers(next(self.given, None), place)
        require(len(found) == len(ways.states), place, "expected a number for each state", len(found))
        return found


def closed(states: set[int], ways: Sequence[Sequence[int]]) -> set[int]:
    """All states that are reached from some, or from which they are; -1 is none."""
    found, waiting = set(states), list(states)
    while waiting:
        for t in ways[waiting.pop()]:
            if t >= 0 and t not in found:
                found.add(t)
                waiting.append(t)
    return found
