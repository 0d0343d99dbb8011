"""Words of an automaton, and the longest path that bounds a head over all of them (Theorem 1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .account import Place, require
from .read import Maybe, integers, listing, record
from .verdict_numbers import Vector

NEVER = -(1 << 600)
"""Below every length of a path."""
STATES = 4096
FAR = 1 << 40
"""The distance where no word leads to acceptance."""
GRAPH = {
    "delta": listing,
    "accept": integers(0, STATES),
    "labels": integers(0, 1 << 20),
    "want": listing,
    "read_out": Maybe(("greatest",)),
}
MEMORY = {"delta": listing, "of": integers(0, STATES)}
Delta = list[list[int]]
Step = list[list[tuple[int, int]]]
"""For each state, what enters it: pairs of a state and a symbol."""
Way = list[tuple[int, list[tuple[int, int]]]]
"""States of one position, each with what enters it."""


def transitions(value: Any, place: Place, symbols: int) -> Delta:
    """A partial automaton: a row for each state, a state or -1 for each symbol; the start state is 0."""
    count = len(listing(value, place))
    require(1 <= count <= STATES, place, f"expected 1 to {STATES} states")
    rows = [list(integers(-1, count - 1)(row, place.item(q))) for q, row in enumerate(value)]
    for q, row in enumerate(rows):
        require(len(row) == symbols, place.item(q), "expected an entry for each symbol")
    return rows


class Language:
    """The automaton of the claim, with the labels that are wanted in each state; a memory refines its states."""

    def __init__(self, value: Any, memory: Any, place: Place, symbols: int, labels: int) -> None:
        fields = record(value, GRAPH, place)
        self.delta = transitions(fields["delta"], place.key("delta"), symbols)
        states, self.labels = len(self.delta), list(fields["labels"])
        proper = self.labels and len(set(self.labels)) == len(self.labels) and max(self.labels) < labels
        require(bool(proper), place.key("labels"), "expected different rows of the unembedding")
        accept = set(fields["accept"])
        require(max(accept, default=0) < states, place.key("accept"), "no such state")
        require(len(fields["want"]) == states, place.key("want"), "expected a list of labels for each state")
        want = [set(integers(0, labels - 1)(row, place.key("want").item(q))) for q, row in enumerate(fields["want"])]
        require(set().union(*want) <= set(self.labels), place.key("want"), "a label is not one of the labels")
        self.greatest, self.told = "read_out" in fields, " greatest" if "read_out" in fields else ""
        some = all(want) or not self.greatest
        require(some, place.key("want"), "the greatest of no labels is wanted in a state")
        self.of = list(range(states))
        self.fixed: dict[int, int] = {}
        self.ways: list[Way] = [[(0, [])]]
        self.led: tuple[tuple[int, int, int], list[Way]] = ((-1, 0, 0), [])
        if memory is not None:
            self.refine(record(memory, MEMORY, Place(place.file, "memory")), Place(place.file, "memory"), symbols)
        self.accept = [p for p, q in enumerate(self.of) if q in accept]
        self.want = [want[q] for q in self.of]
        self.entering: Step = [[] for _ in self.delta]
        for p, row in enumerate(self.delta):
            for s, t in enumerate(row):
                if t >= 0:
                    self.entering[t].append((p, s))

    def refine(self, fields: dict[str, Any], place: Place, symbols: int) -> None:
        """Replace the automaton by one whose runs project to its runs (Theorem 7)."""
        delta, of = transitions(fields["delta"], place.key("delta"), symbols), list(fields["of"])
        whole = len(of) == len(delta) and max(of) < len(self.delta) and of[0] == 0
        require(whole, place.key("of"), "expected a state of the language for each state, 0 for the first")
        for p, row in enumerate(delta):
            same = [of[t] if t >= 0 else -1 for t in row] == self.delta[of[p]]
            require(same, place.key("delta").item(p), "does not project to the language's transitions")
        self.delta, self.of = delta, of

    def distances(self) -> list[int]:
        """For each state the symbols of a shortest word from there to acceptance."""
        found, level = [FAR] * len(self.delta), set(self.accept)
        for far in range(len(self.delta)):
            for q in level:
                found[q] = far
            level = {p for q in level for p, _ in self.entering[q] if found[p] == FAR}
        return found

    def leading(self, i: int, a: int, q: int) -> list[Way]:
        """What the words of a case go through: for each position the states from which the case can be reached."""
        if self.led[0] != (i, a, q):
            found, ahead = list[Way](), {q}
            for j in range(i, 0, -1):
                found.append([(t, step) for t, way in self.steps(j) if t in ahead
                              and (step := [e for e in way if j < i or e[1] == a])])  # fmt: skip
                ahead = {p for _, way in found[-1] for p, _ in way}
            self.led = (i, a, q), found[::-1]
        return self.led[1]

    def steps(self, j: int) -> Way:
        """The states that words of ``j`` symbols reach, each with what enters it: by the fixed symbol, where there is
        one, from states that words of one symbol less reach."""
        while len(self.ways) <= j:
            before, at = {p for p, _ in self.ways[-1]}, len(self.ways)
            self.ways.append([(t, way) for t, step in enumerate(self.entering)
                    if (way := [e for e in step if e[0] in before and self.fixed.get(at, e[1]) == e[1]])])  # fmt: skip
        return self.ways[j]


def longest(language: Language, weights: Sequence[Vector], a: int, q: int) -> int:
    """The longest path to state ``q`` by symbol ``a`` where ``weights[j][s]`` is the length of symbol ``s`` at ``j``:
    the least potentials of Theorem 1."""
    phi = {0: weights[0][0]}
    for u, way in zip(weights[1:], language.leading(len(weights) - 1, a, q), strict=True):
        phi = {t: max([phi[p] + u[s] for p, s in step]) if step[1:] else phi[step[0][0]] + u[step[0][1]]
               for t, step in way}  # fmt: skip
    return phi.get(q, NEVER)


def restriction(value: list[Any], n: int, symbols: int, place: Place) -> dict[int, int]:
    """The fixed symbols: pairs of a position and a symbol, in the order of the positions."""
    pairs = [integers(0, max(n, symbols))(pair, place.item(k)) for k, pair in enumerate(value)]
    require(all(len(p) == 2 and 0 < p[0] <= n and p[1] < symbols for p in pairs), place, "expected [position, symbol]")
    require(all(p[0] < q[0] for p, q in pairwise(pairs)), place, "expected each position once, in order")
    return {p[0]: p[1] for p in pairs}
