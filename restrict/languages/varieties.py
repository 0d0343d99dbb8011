"""The finer classes of a regular language, each decided with a witness or a reason.

All are decided on the minimal automaton or on its transition monoid, which is the syntactic monoid.

- **R-trivial** iff the minimal automaton is partially ordered: its only cycles are loops (Brzozowski and Fich 1980).
  These are the languages of temporal logic whose only operator is the strict `once`, read behind the last symbol, and
  of fixed-precision softmax transformers with strict future masking and no positions (Li and Cotterell 2025).
- **J-trivial**, or piecewise testable (Simon 1975), iff in addition the automaton is confluent: for each state `q` and
  symbols `a`, `b`, the words `qa` and `qb` come together again under words over `a` and `b` (Klima and Polak 2013).
- **DA** iff `e s e = e` for each idempotent `e` and each `s` of which `e` is a product `x s y`; the languages of
  first-order logic with two variables (Therien and Wilke 1998).
- **Dot-depth** of a star-free language: 0 iff it is finite or its complement is; at most 1 iff its syntactic semigroup
  satisfies Knast's equation (Knast 1983); at most 2 if it is in DA (Pin and Weil 1997). Beyond that it is only known to
  be at least 2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import networkx as nx
import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ResourceLimit
from restrict.base.wording import counted, joined
from restrict.languages.dfa import Dfa
from restrict.languages.monoid import Aperiodicity

MAX_ELEMENTS = 4_000
MAX_WORK = 400_000_000
CLASSES = ("finite or cofinite", "J-trivial", "R-trivial", "DA", "dot-depth at most 1", "star-free")
"""The names of the classes, as they are printed and read."""


@dataclass(frozen=True)
class Membership:
    """Whether a language is in a class: ``holds`` is None where that is not known, and ``reason`` says why it is so."""

    name: str
    holds: bool | None
    reason: str

    def text(self) -> str:
        """One line: yes, no or unknown, and the reason."""
        return f"{'unknown' if self.holds is None else 'yes' if self.holds else 'no'}: {self.reason}"


@dataclass(frozen=True)
class Varieties:
    """The classes of a language, in the order of :data:`CLASSES`, and its dot-depth: the least and the greatest value
    that are possible (``most`` is None where no bound is known, and both are where the language is not star-free)."""

    classes: tuple[Membership, ...]
    least: int | None
    most: int | None

    def lines(self) -> list[str]:
        """The classes in words, without star-freeness, which has a line of its own."""
        lines = [f"  {each.name:<18} {each.text()}" for each in self.classes if each.name != "star-free"]
        return [*lines, f"  dot-depth          {self.dot_depth()}"]

    def document(self) -> dict[str, Any]:
        """The classes as JSON."""
        classes = {each.name: {"holds": each.holds, "reason": each.reason} for each in self.classes}
        return {"classes": classes, "dot_depth": {"least": self.least, "most": self.most}}

    def dot_depth(self) -> str:
        """The dot-depth in words."""
        if self.least is None:
            return "none: the language is not known to be star-free"
        if self.least == self.most:
            return f"{self.least} (exact)"
        return f"at least {self.least}" + ("" if self.most is None else f", at most {self.most}")


def varieties(dfa: Dfa, aperiodic: Aperiodicity | None) -> Varieties:
    """The finer classes of the language of a minimal automaton, exactly; out of reach ``holds`` is None. ``aperiodic``:
    what is known of its star-freeness, or None. Cost: O(states * symbols^2) for partial order and confluence, the
    monoid of at most 4000 elements for the others."""
    order = partial_order(dfa)
    confluence = confluent(dfa) if order.holds else Membership("J-trivial", False, "it is not R-trivial")
    monoid = Monoid.of(dfa)
    free = (
        (None, "the transition monoid is too large") if aperiodic is None else (aperiodic.aperiodic, aperiodic.method)
    )
    found = [finite_or_cofinite(dfa), confluence, order, in_da(monoid, order), knast(monoid, aperiodic)]
    found.append(Membership("star-free", *free))
    return Varieties(tuple(found), *_dot_depth(found))


def _dot_depth(found: list[Membership]) -> tuple[int | None, int | None]:
    finite, _, _, da, one, free = (each.holds for each in found)
    if not free:
        return None, None
    if finite:
        return 0, 0
    if one:
        return 1, 1
    return (1 if one is None else 2), (2 if da else None)


def finite_or_cofinite(dfa: Dfa) -> Membership:
    """Whether the language or its complement is finite: all cycles are loops of one state that nothing leaves."""
    name = CLASSES[0]
    live = [q for q, row in enumerate(dfa.delta) if set(row) != {q}]
    cycles = nx.DiGraph((q, p) for q in live for p in dfa.delta[q] if p in set(live))
    sinks = dfa.states - len(live)
    if not nx.is_directed_acyclic_graph(cycles):
        edge = nx.find_cycle(cycles)[0]
        return Membership(name, False, f"state {edge[0]} of the minimal automaton is on a cycle and can be left")
    if sinks > 1:
        return Membership(name, False, "long words are accepted and others rejected, by what they begin with")
    kind = "the complement" if any(set(dfa.delta[q]) == {q} for q in dfa.accept) else "the language"
    return Membership(name, True, f"{kind} has no words of {counted(len(live), 'symbol')} or more")


def partial_order(dfa: Dfa) -> Membership:
    """R-trivial: the minimal automaton is partially ordered. The witness is a cycle of two or more states."""
    name = CLASSES[2]
    graph: nx.DiGraph[int] = nx.DiGraph((q, p) for q, row in enumerate(dfa.delta) for p in row if p != q)
    try:
        cycle = [edge[0] for edge in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return Membership(name, True, f"the minimal automaton of {counted(dfa.states, 'state')} is partially ordered")
    word = [
        next(s for s, p in zip(dfa.alphabet, dfa.delta[q], strict=True) if p == to)
        for q, to in pairwise([*cycle, cycle[0]])
    ]
    shown = ", ".join(map(str, cycle[:8])) + (", ..." if len(cycle) > 8 else "")
    return Membership(name, False, f"the word {spelt(word)} goes round the states {shown} of the minimal automaton")


def confluent(dfa: Dfa) -> Membership:
    """J-trivial, of a partially ordered automaton: ``qa`` and ``qb`` reach the same state under ``(ab)^S``. In a
    partially ordered automaton ``(ab)^S``, for ``S`` states, leads to a state that ``a`` and ``b`` leave alone; by
    Newman's lemma these states agree for all ``q, a, b`` iff the automaton is confluent."""
    name, table = CLASSES[1], dfa.table
    for a in range(len(table)):
        for b in range(a):
            ends = table[b][table[a]]
            for _ in range(dfa.states.bit_length()):
                ends = ends[ends]
            apart = np.flatnonzero(ends[table[a]] != ends[table[b]])
            if len(apart):
                words = f"{dfa.alphabet[a]} and {dfa.alphabet[b]}"
                reason = f"from state {apart[0]}, {words} lead to states that words over these symbols never join"
                return Membership(name, False, reason)
    return Membership(name, True, "the minimal automaton is partially ordered and confluent")


# ------------------------------------------------------------ with the monoid


def spelt(word: list[str] | tuple[str, ...]) -> str:
    """A word as it is printed."""
    return joined(word) or "(empty)"


@dataclass(frozen=True)
class Monoid:
    """The transition monoid, element 0 the empty word's: ``maps`` (elements, states); ``right[m][a]`` is ``m`` followed
    by ``a``, ``left[m][a]`` ``a`` followed by ``m``; ``words[m]`` is a shortest word."""

    dfa: Dfa
    maps: I64
    right: I64
    left: I64
    words: list[tuple[int, ...]]
    number: dict[bytes, int]

    @classmethod
    def of(cls, dfa: Dfa) -> "Monoid | None":
        """The monoid, or None where it has over 4000 elements or its table would be large."""
        letters = list(dfa.table)
        start = np.arange(dfa.states, dtype=np.int64)
        words: list[tuple[int, ...]] = [()]
        number, maps, right = {start.tobytes(): 0}, [start], []
        for m, element in enumerate(maps):
            row = []
            for a, letter in enumerate(letters):
                after = letter[element]
                k = number.setdefault(after.tobytes(), len(maps))
                if k == len(maps):
                    if k >= min(MAX_ELEMENTS, MAX_WORK // (10 * dfa.states)):
                        return None
                    maps.append(after)
                    words.append((*words[m], a))
                row.append(k)
            right.append(row)
        before = [[number[element[letter].tobytes()] for letter in letters] for element in maps]
        return cls(dfa, np.array(maps), np.array(right), np.array(before), words, number)

    @cached_property
    def idempotents(self) -> list[int]:
        """The elements ``e`` with ``e e = e``."""
        return [m for m, e in enumerate(self.maps) if np.array_equal(e[e], e)]

    def product(self, *elements: int) -> int:
        """The product, from left to right."""
        out = self.maps[elements[0]]
        for m in elements[1:]:
            out = self.maps[m][out]
        return self.number[out.tobytes()]

    def power(self, m: int) -> int:
        """The idempotent power of an element."""
        e = m
        while True:
            square = self.product(e, e)
            if square == e:
                return e
            e = self.product(e, m)

    def word(self, m: int) -> str:
        """A short word of an element, as it is printed; not the empty one where another acts as it does."""
        word = self.words[m]
        if not word:
            word = next(((*self.words[k], int(a)) for k, a in np.argwhere(self.right == m)), ())
        return spelt([self.dfa.alphabet[a] for a in word])

    def above(self) -> dict[int, Any]:
        """For each idempotent, the elements ``s`` of which it is a product ``x s y``, as an array."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(len(self.maps)))
        for m in range(len(self.maps)):
            graph.add_edges_from((m, int(k)) for k in (*self.right[m], *self.left[m]))
        shared = nx.condensation(graph)
        part = shared.graph["mapping"]
        ups: dict[int, I64] = {}
        for e in self.idempotents:
            if part[e] not in ups:
                parts = nx.ancestors(shared, part[e]) | {part[e]}
                ups[part[e]] = np.array(sorted(m for c in parts for m in shared.nodes[c]["members"]), dtype=np.int64)
        return {e: ups[part[e]] for e in self.idempotents}


def in_da(monoid: Monoid | None, order: Membership) -> Membership:
    """DA: ``e s e = e`` wherever ``e`` is a product ``x s y``."""
    name = CLASSES[3]
    if order.holds:
        return Membership(name, True, "it is R-trivial")
    if monoid is None:
        return _large(name)
    for e, candidates in monoid.above().items():
        element = monoid.maps[e]
        around = element[monoid.maps[candidates][:, element]]  # e, then s, then e
        wrong = np.flatnonzero((around != element).any(axis=1))
        if len(wrong):
            s = int(candidates[wrong[0]])
            words = f"e = {monoid.word(e)} and s = {monoid.word(s)}"
            return Membership(name, False, f"{words}: e is idempotent and a product x s y, but e s e is not e")
    return Membership(
        name, True, f"e s e = e for {counted(len(monoid.idempotents), 'idempotent')}, wherever e is x s y"
    )


def _large(name: str) -> Membership:
    return Membership(name, None, f"the transition monoid has over {MAX_ELEMENTS} elements")


def knast(monoid: Monoid | None, aperiodic: Aperiodicity | None) -> Membership:
    """Dot-depth at most one: Knast's equation ``(a b)^w a d (c d)^w = (a b)^w (c d)^w``. For all idempotents ``e, f``
    of the syntactic semigroup, ``a, c`` in ``e S f`` and ``b, d`` in ``f S e``."""
    name = CLASSES[4]
    if aperiodic is not None and not aperiodic.aperiodic:
        return Membership(name, False, "it is not star-free")
    if monoid is None:
        return _large(name)
    try:
        for e, f, a, b, c, d in _knast_failures(monoid):
            word = {x: monoid.word(y) for x, y in zip("efabcd", (e, f, a, b, c, d), strict=True)}
            shown = ", ".join(f"{x} = {text}" for x, text in word.items())
            return Membership(name, False, f"Knast's equation fails for {shown}")
    except ResourceLimit as error:
        return Membership(name, None, str(error))
    return Membership(name, True, f"Knast's equation holds for {counted(len(monoid.maps), 'element')}")


def _knast_failures(monoid: Monoid) -> Iterator[tuple[int, ...]]:
    """Elements for which the equation fails; pairs with one ``(ab)^w`` and ``a``, or ``d`` and ``(cd)^w``, are tried
    once."""
    work = 0

    def spend(more: int) -> None:
        nonlocal work
        work += more
        if work > MAX_WORK // 1000:
            raise ResourceLimit(f"Knast's equation was given up for a monoid of {len(monoid.maps)} elements")

    # Without the empty word, unless another word acts as it does.
    semigroup = sorted(set(monoid.right.ravel().tolist()))
    for e, f in product([e for e in semigroup if e in set(monoid.idempotents)], repeat=2):
        there = sorted({monoid.product(e, s, f) for s in semigroup})
        back = sorted({monoid.product(f, s, e) for s in semigroup})
        spend(2 * len(semigroup) + 3 * len(there) * len(back))
        first: dict[tuple[int, int], int] = {}
        second: dict[tuple[int, int], int] = {}
        for a, b in product(there, back):
            loop = monoid.power(monoid.product(a, b))
            first.setdefault((loop, a), b)
            second.setdefault((b, loop), a)
        spend(len(first) * len(second))
        for ((u, a), b), ((d, v), c) in product(first.items(), second.items()):
            if monoid.product(u, a, d, v) != monoid.product(u, v):
                yield e, f, a, b, c, d
