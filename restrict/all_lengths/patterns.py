"""Patterns that force a label at every length: fixed symbols at both ends, and between them free positions. After
``start`` and any number of cells of the middle the states reached lie in one set, the union over all these numbers. So
the pattern works at every length from ``len(start) + len(end)`` on iff ``end`` leads that union to states with the
label. With a middle of free positions only, the cost is the same at every length. Where no such pattern forces a label
(by Theorem 1 one of two labels has one), a middle with fixed symbols at a period is tried."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from restrict.all_lengths.forcing import MAX_SETS, Set, Sets
from restrict.all_lengths.moore import Moore
from restrict.languages.walk import cheapest_first, until_repeat
from restrict.model.restriction import FREE

MIDDLES = 300
"""Middles of a length are tried only where there are at most this many words of cells of that length."""
SMALL = 1000
"""With more sets of states, only the free middle is tried."""
Place = tuple[Set, int]
"""A set of states, and 0 before the middle, 1 behind it."""


@dataclass(frozen=True)
class Pattern:
    """``start``, then ``middle`` repeated and cut off to fit the length, then ``end``: this forces ``label``. It does
    so at every ``n >= first`` (markers counted) at which the model is defined."""

    label: str
    start: tuple[str, ...]
    end: tuple[str, ...]
    first: int
    middle: tuple[str, ...] = (FREE,)

    @property
    def cost(self) -> int:
        """How many symbols are fixed at the two ends together."""
        return sum(a != FREE for a in (*self.start, *self.end))

    def text(self) -> str:
        """The pattern as text."""
        middle = "*...*" if self.middle == (FREE,) else f"({' '.join(self.middle)})..."
        return " ".join([*self.start, middle, *self.end])

    @property
    def share(self) -> float:
        """The share of the middle that is fixed."""
        return sum(a != FREE for a in self.middle) / len(self.middle)

    def document(self) -> dict[str, object]:
        """The pattern as JSON."""
        return self.claim() | {"text": self.text(), "fixed": self.cost}

    def cells(self, symbols: int) -> tuple[str, ...] | None:
        """The pattern on words of so many symbols: a symbol or ``*`` for each; ``None`` where it does not fit."""
        inner = symbols - len(self.start) - len(self.end)
        if inner < 0:
            return None
        return (*self.start, *(self.middle[t % len(self.middle)] for t in range(inner)), *self.end)

    def claim(self) -> dict[str, object]:
        """The claim of a proof."""
        content = {"kind": "forces", "label": self.label, "start": list(self.start), "middle": list(self.middle)}
        return content | {"end": list(self.end), "from": self.first}


def cheapest_pattern(automaton: Moore, label: str, markers: int) -> Pattern | None:
    """The pattern that forces a label with the fewest fixed symbols at its ends and a free middle, else with the
    smallest share of fixed symbols in a middle of up to four cells; ``None`` where none does."""
    sets = Sets(automaton, label)
    for middle in middles(automaton.alphabet):
        if middle != (FREE,) and len(sets.met) > SMALL:
            break
        if (found := _with_middle(sets, middle, markers)) is not None:
            return found
    return None


def middles(alphabet: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The free middle; then words of up to four cells, no powers of shorter ones, by the share that is fixed."""
    out: list[tuple[str, ...]] = []
    for length in range(1, 5):
        if (len(alphabet) + 1) ** length > MIDDLES:
            break
        for cells in product((FREE, *alphabet), repeat=length):
            parts = [d for d in range(1, length) if length % d == 0]
            if not any(cells == cells[:d] * (length // d) for d in parts):
                out.append(cells)
    return sorted(out, key=lambda cells: (sum(a != FREE for a in cells) / len(cells), len(cells)))


def _with_middle(sets: Sets, middle: tuple[str, ...], markers: int) -> Pattern | None:
    """The pattern with the fewest fixed symbols at its ends: 0-1 breadth-first search over (set, before or behind)."""
    symbols = (FREE, *sets.automaton.alphabet)
    cells = [symbols.index(a) for a in middle]

    def moves(at: Place) -> Iterator[tuple[Place, int, str]]:
        states, part = at
        for to, a in zip(sets.after(states), symbols, strict=True):
            yield (to, part), +(a != FREE), a
        if part == 0:
            yield (_union(sets, states, cells), 1), 0, ""

    parent: dict[Place, tuple[Place, str]] = {}
    for at, _ in cheapest_first((sets.start, 0), moves, parent):
        if at[1] == 1 and at[0] <= sets.good and at[0] & sets.spoken:
            return _pattern(parent, at, sets.label, markers, middle)
    return None


def _union(sets: Sets, states: Set, cells: list[int]) -> Set:
    """The set of all states after any number of cells of the middle."""
    size = len(cells)
    places, _ = until_repeat(
        (states, 0), lambda at: (sets.after(at[0])[cells[at[1]]], (at[1] + 1) % size), size * MAX_SETS, ""
    )
    return sets.meet(frozenset().union(*(reached for reached, _ in places)))


def _pattern(
    parent: dict[Place, tuple[Place, str]], at: Place, label: str, markers: int, middle: tuple[str, ...]
) -> Pattern:
    """The path to a node as a pattern."""
    cells: list[str] = []
    while at in parent:
        at, cell = parent[at]
        cells.append(cell)
    cells.reverse()
    cut = cells.index("")
    start, end = tuple(cells[:cut]), tuple(cells[cut + 1 :])
    return Pattern(label, start, end, max(1, len(start) + len(end) + markers), middle)
