"""From a star-free automaton to a cascade of resets: the holonomy decomposition without groups (Krohn-Rhodes 1965;
Eilenberg 1976, volume B, chapter II).

``I`` is the set of the images ``Q w`` of the state set and of all single states. ``P <= R`` if ``P`` lies in some
image ``R w``; equivalent sets have one **height**, and a set below another a smaller one. Where ``P`` and ``R`` are
equivalent, words map ``P`` onto ``R``; in an automaton without groups all of them do so by the same bijection. The
**tiles** of a set are its maximal proper subsets in ``I``.

A state ``q`` is written as a chain ``Q = P0 > P1 > ... > {q}`` in which each set is a tile of the one before; level
``i`` keeps the tile chosen in the set of height ``i``, named in a fixed representative of its class. Reading ``a``,
the new chain is made from the top. Let ``R`` be its set of height ``i``, and ``S`` the first set of the old chain of
height at most ``i``; ``S a`` lies in ``R``. If ``S a = R`` the two are equivalent and the tile **stays**; else ``S a``
lies in a tile of ``R``, and level ``i`` is **reset** to such a tile. So every level remembers its last reset: one head
on the rightmost reset before.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from restrict.base.errors import ResourceLimit
from restrict.languages.dfa import Dfa
from restrict.languages.walk import breadth_first

Set = frozenset[int]
Front = set[tuple[int, Set, Set]]
MAX_IMAGES = 3_000
MAX_TRIPLES = 400_000


@dataclass(frozen=True)
class Level:
    """One level as tables over what occurs. ``sets``: the sets that can be ``S`` or ``R`` here. ``tiles``: the choices;
    number 0 is the one before the first reset. ``event[a, S, R]``: 0 stay, or 1 + the tile. ``down[S, tile]``: the
    next set of the chain (``S`` itself where its height is smaller)."""

    height: int
    sets: tuple[Set, ...]
    tiles: tuple[Set, ...]
    event: dict[tuple[int, int, int], int]
    down: dict[tuple[int, int], int]


@dataclass
class Cascade:
    """The cascade of a minimal star-free automaton, ``levels`` from the top; ``states``: the single states."""

    dfa: Dfa
    levels: list[Level] = field(default_factory=list)
    states: tuple[Set, ...] = ()

    @cached_property
    def images(self) -> list[Set]:
        """``I``, breadth first."""
        letters = range(len(self.dfa.alphabet))
        found = breadth_first(
            frozenset(range(self.dfa.states)), lambda one: [self.image(one, a) for a in letters], MAX_IMAGES,
            f"the automaton has more than {MAX_IMAGES} images of its state set",
        )  # fmt: skip
        return list(dict.fromkeys([*found, *(frozenset([q]) for q in range(self.dfa.states))]))

    def image(self, states: Iterable[int], a: int) -> Set:
        """The image of a set under a letter."""
        return frozenset(self.dfa.delta[q][a] for q in states)


class _Structure:
    """Heights, representatives, bijections and tiles of the images of an automaton without groups."""

    def __init__(self, cascade: Cascade) -> None:
        self.cascade, self.images = cascade, cascade.images
        letters = range(len(cascade.dfa.alphabet))
        self.number = {s: at for at, s in enumerate(self.images)}
        self.next = [[self.number[cascade.image(s, a)] for a in letters] for s in self.images]
        self._classes()
        self._bijections()

    def _classes(self) -> None:
        """Components of equivalent images, and heights by the longest chain of smaller ones (single states have 0)."""
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_edges_from((at, to) for at, row in enumerate(self.next) for to in row)
        graph.add_edges_from(
            (at, other) for at, one in enumerate(self.images) for other, small in enumerate(self.images) if small < one
        )
        below = nx.condensation(graph)
        self.component: dict[int, int] = below.graph["mapping"]
        height: dict[int, int] = {}
        for c in reversed(list(nx.topological_sort(below))):
            height[c] = max((height[d] + 1 for d in below.successors(c)), default=0)
        single = {c for c in below if all(len(self.images[at]) == 1 for at in below.nodes[c]["members"])}
        levels = sorted({height[c] for c in below if c not in single})
        images = range(len(self.images))
        self.rank = [0 if (c := self.component[at]) in single else 1 + levels.index(height[c]) for at in images]
        self.representative = {self.component[at]: at for at in reversed(images)}

    def _bijections(self) -> None:
        """``from_rep[P]``: state of the representative to state of ``P``, along any word."""
        self.from_rep: dict[int, dict[int, int]] = {}
        delta = self.cascade.dfa.delta
        for rep in self.representative.values():
            self.from_rep[rep] = {q: q for q in self.images[rep]}
            todo = [rep]
            for at in todo:
                for a, to in enumerate(self.next[at]):
                    if self.component[to] == self.component[at] and to not in self.from_rep:
                        self.from_rep[to] = {q: delta[p][a] for q, p in self.from_rep[at].items()}
                        todo.append(to)

    def height(self, states: Set) -> int:
        return self.rank[self.number[states]]

    def whole(self, states: Set) -> Set:
        """The representative of an image's class."""
        return self.images[self.representative[self.component[self.number[states]]]]

    def place(self, states: Set, tile: Set) -> Set:
        """A tile of the representative, in an equivalent set."""
        move = self.from_rep[self.number[states]]
        return frozenset(move[q] for q in tile)

    def tile(self, states: Set, part: Set) -> Set:
        """A tile of the representative of ``states`` whose copy in ``states`` holds ``part``, a proper subset."""
        back = {to: q for q, to in self.from_rep[self.number[states]].items()}
        inner = frozenset(back[q] for q in part)
        options = [s for s in self.images if inner <= s < self.whole(states)]
        return max(options, key=lambda s: (len(s), sorted(s)))


def decompose(dfa: Dfa) -> Cascade:
    """The cascade of a minimal automaton without groups (:func:`restrict.languages.monoid.star_free`), with tables over
    what occurs from the start state on."""
    cascade = Cascade(dfa)
    whole, structure = frozenset(range(dfa.states)), _Structure(cascade)
    top = structure.height(whole)
    builder = _Builder(cascade, structure, _first(structure, whole, top))
    front, sets = {(a, whole, whole) for a in range(len(dfa.alphabet))}, {whole: 0}
    for height in range(top, 0, -1):
        front, sets = builder.level(height, front, sets)
    cascade.states = tuple(sets)
    return cascade


def _first(structure: _Structure, whole: Set, top: int) -> dict[int, Set]:
    """The tiles of the start state's chain, by height."""
    out: dict[int, Set] = {}
    here, start = whole, frozenset([0])
    for height in range(top, 0, -1):
        if structure.height(here) == height:
            out[height] = structure.tile(here, start)
            here = structure.place(here, out[height])
    return out


class _Builder:
    """Goes down the levels and notes what can occur: letter, old and new set, and all tiles that resets choose.
    Whatever the tile of the old chain is, the old set's image lies in the new set, so no more than that is followed."""

    def __init__(self, cascade: Cascade, structure: _Structure, first: dict[int, Set]) -> None:
        self.cascade, self.structure, self.first = cascade, structure, first

    def level(self, height: int, front: Front, sets: dict[Set, int]) -> tuple[Front, dict[Set, int]]:
        """One level; what can occur below it."""
        structure = self.structure
        tiles: dict[Set | None, int] = {self.first.get(height): 0}
        event: dict[tuple[int, int, int], int] = {}
        for a, s, r in sorted(front, key=lambda f: (f[0], sorted(f[1]), sorted(f[2]))):
            chosen = 0
            if structure.height(r) == height and (moved := self.cascade.image(s, a)) != r:
                chosen = 1 + tiles.setdefault(structure.tile(r, moved), len(tiles))
            event[a, sets[s], sets[r]] = chosen
        below: dict[Set, int] = {}
        down: dict[tuple[int, int], int] = {}
        named: dict[tuple[Set, int], Set] = {}
        for s, number in sets.items():
            for tile, t in tiles.items():
                here = structure.height(s) == height
                if here and (tile is None or not tile < structure.whole(s)):
                    continue
                to = structure.place(s, tile) if here and tile is not None else s
                named[s, t] = to
                down[number, t] = below.setdefault(to, len(below))
        after: Front = set()
        for a, s, r in front:
            chosen = event[a, sets[s], sets[r]]
            for t in range(len(tiles)):
                new = named.get((r, chosen - 1 if chosen else t))
                if (s, t) in named and new is not None:
                    after.add((a, named[s, t], new))
            if len(after) > MAX_TRIPLES:
                raise ResourceLimit(f"a level of the cascade has more than {MAX_TRIPLES} cases")
        shown = tuple(t if t is not None else frozenset[int]() for t in tiles)
        self.cascade.levels.append(Level(height, tuple(sets), shown, event, down))
        return after, below
