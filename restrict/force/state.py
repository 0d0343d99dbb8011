"""What the search knows: fixed tokens, value sets of examined nodes, and the best pairs of each row.

A row (head, position, query value) does not depend on the restriction: its pairs, best first, are computed once. Under
a restriction the candidates are then the feasible pairs of that list down to the first position all of whose feasible
pairs have been passed: that pair *is* the floor (docs/kernel.md, rule 4), since the list descends. So examining a
head again costs a short walk, not a row scan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from restrict.abstract.rows import CONSTANT, Row, Values
from restrict.arrays import I64
from restrict.force.image import MAX_IMAGE, combinations, whole
from restrict.model.program import Head, Instance, Map, Variable, mentions

Node = tuple[str, int]
Pair = tuple[int, int]
FIRST_PAIRS, MORE_PAIRS, COSTLY = 48, 512, 2**22
"""How many pairs of a row are listed at first; ``MORE_PAIRS`` where the row has at least ``COSTLY`` scores."""
VAST, VAST_PAIRS = 2**33, 4096
"""A row of at least ``VAST`` scores takes seconds, and listing more of its pairs is a new scan: so ``VAST_PAIRS`` are
listed at first."""
MOST_LISTED, LONG_LIST = 2**20, 2**24
"""The run abstains on a row of more than ``LONG_LIST`` pairs whose floor is not among the first ``MOST_LISTED``."""
FEW_FACTS, LONG_WALK = 64, 200
"""Where at most ``FEW_FACTS`` tokens and nodes are known, a walk of ``LONG_WALK`` steps is given up and the row's index
is used; where more are known, a walk soon reaches the floor."""
PAIR_CHARGE = 50
"""Listing one pair counts as this many scores, where rows are charged."""
MANY_VALUES, LONGEST_WALK = 64, 400
"""With more than ``MANY_VALUES`` key values, the run abstains on a row whose floor is not among its first
``LONGEST_WALK`` pairs: then the candidates above the floor have nearly all values."""
Box = tuple[tuple[int, ...], ...]
"""One sorted side per argument of a map, as indices into its lists of values."""


class RowList:
    """The pairs of one row, best first, extended on demand."""

    def __init__(self, row: Row, keys: Values) -> None:
        self.row, self.keys = row, keys
        self.pairs: list[Pair] = []
        self.complete = False
        self.arrays: tuple[I64, I64] | None = None
        self.index: RowIndex | None = None

    def indexed(self) -> RowIndex | None:
        """The index of the pairs found so far."""
        if self.index is None and self.arrays is not None:
            self.index = RowIndex(*self.arrays, self.keys)
        return self.index

    def extend(self) -> int:
        """Find more pairs; returns how many scores were computed."""
        scores = (self.row.stop - self.row.first) * self.keys.domain
        start = FIRST_PAIRS if scores < COSTLY else MORE_PAIRS if scores < VAST else VAST_PAIRS
        count = 8 * len(self.pairs) or start
        j, w, self.complete = self.row.best(self.keys, count)
        self.pairs = list(zip(j.tolist(), w.tolist(), strict=True))
        self.index = None
        self.arrays = (j, w)
        return scores


class RowIndex:
    """An index of a row's list, which answers without a walk over it.

    ``of(j)`` are the places of position ``j`` with their key values; ``completions`` are the places at which a position
    has its last pair, in order.
    """

    def __init__(self, j: I64, w: I64, keys: Values) -> None:
        self.j, self.w = j, w
        self.order = np.argsort(j, kind="stable")
        self.sorted = j[self.order]
        starts = np.flatnonzero(np.diff(self.sorted, prepend=-1))
        counts = np.diff(np.append(starts, len(j)))
        sizes = np.full(len(starts), keys.domain, dtype=np.int64)
        if len(keys.positions):
            at = np.minimum(np.searchsorted(keys.positions, self.sorted[starts]), len(keys.positions) - 1)
            known = keys.positions[at] == self.sorted[starts]
            sizes = np.where(known, np.diff(keys.ptr)[at], sizes)
        done = counts == sizes
        last = self.order[starts + counts - 1][done] if len(j) else np.empty(0, dtype=np.int64)
        self.completions = np.sort(last)

    def of(self, j: int) -> tuple[I64, I64]:
        """Places and key values of a position's pairs."""
        a, b = np.searchsorted(self.sorted, (j, j + 1))
        places = self.order[a:b]
        return places, self.w[places]

    def first_other(self, places: I64, low: int, high: int, apart: set[int]) -> int | None:
        """The first of ``places`` whose position is visible and not one of ``apart``."""
        for start in range(0, len(places), 256):
            for t in places[start : start + 256].tolist():
                j = int(self.j[t])
                if low <= j < high and j not in apart:
                    return int(t)
        return None

    @cached_property
    def by_value(self) -> dict[int, I64]:
        """The places of every key value."""
        return {int(w): np.flatnonzero(self.w == w) for w in np.unique(self.w)}


def depths(instance: Instance) -> dict[str, int]:
    """The largest number of heads on a path to each variable."""
    depth = {"token": 0, "position": 0}
    for variable in instance.model.variables:
        if isinstance(variable, Head):
            read = (variable.value, instance.query(variable), instance.key(variable))
            depth[variable.name] = 1 + max(depth[name] for name in read if name is not None)
        else:
            depth[variable.name] = max((depth[a] for a in variable.args), default=0)
    return depth


def weights(instance: Instance) -> dict[str, float]:
    """An estimate of the tokens that force a node of each variable, where every head takes only an anchor."""
    weight = {"token": 1.0, "position": 0.0}
    for variable in instance.model.variables:
        if isinstance(variable, Head):
            read: set[str | None] = {instance.key(variable), variable.value} - {None}
        else:
            read = set()
        total = sum(weight[a] for a in variable.args) if isinstance(variable, Map) else 0.0
        weight[variable.name] = min(1e9, total + sum(weight[a] for a in sorted(filter(None, read))))
    return weight


class ForcingState:
    """Tokens and value sets under the restriction so far, with a trail so that a trial can be undone.

    Value sets only shrink as tokens are fixed, so a fact stays true (if not tight) until the trail is undone past it.
    """

    def __init__(self, instance: Instance, base: Mapping[int, int] | None = None) -> None:
        """``base``: positions with symbols that stay fixed; here they count as markers."""
        self.instance = instance
        self.order = {v.name: t for t, v in enumerate(instance.model.variables)}
        self.depth = depths(instance)
        self.weight = weights(instance).__getitem__
        self.alphabet = range(len(instance.model.alphabet))
        self.pinned = {i: (v,) for i, v in {**instance.pinned, **(base or {})}.items()}
        self.tokens: dict[int, tuple[int, ...]] = dict(self.pinned)
        self.facts: dict[Node, Sequence[int]] = {}
        self.reads: dict[Node, set[Node]] = {}
        self.trail: list[tuple[object, object]] = []
        self.scores, self.row_charge, self.wide = 0, 0, False
        self.work = 0
        self.boxes: dict[object, list[Box]] = {}
        self._lists: dict[tuple[str, int, int], RowList] = {}
        self._tables: dict[tuple[str, int], I64] = {}
        self._defaults: dict[str, Values] = {}

    def share(self, other: ForcingState) -> None:
        """Use the ordered rows and the tables of another state of the same instance with the same pinned positions.

        Both states go on adding to them.
        """
        self._lists, self._defaults, self._tables = other._lists, other._defaults, other._tables
        self.boxes = other.boxes

    # ------------------------------------------------------------ facts

    @property
    def fixed(self) -> int:
        """How many positions are fixed."""
        return len(self.tokens) - len(self.pinned)

    def values(self, name: str, i: int) -> Sequence[int]:
        """V of a node."""
        if name == "token":
            return self.tokens.get(i, self.alphabet)
        if name == "position":
            return (i,)
        fact = self.facts.get((name, i))
        return range(self.instance.domains[name]) if fact is None else fact

    def fix(self, i: int, symbol: int) -> None:
        """Fix a free position."""
        self.trail.append((i, None))
        self.tokens[i] = (symbol,)

    def learn(self, node: Node, values: Sequence[int]) -> None:
        """Record V of an examined node."""
        self.trail.append((node, self.facts.get(node)))
        self.facts[node] = values

    def undo(self, mark: int) -> None:
        """Back to the state when the trail had length ``mark``."""
        while len(self.trail) > mark:
            key, old = self.trail.pop()
            if isinstance(key, int):
                del self.tokens[key]
            elif old is None:
                del self.facts[key]  # type: ignore[arg-type]
            else:
                self.facts[key] = old  # type: ignore[index, assignment]

    def since(self, mark: int) -> list[tuple[object, Sequence[int]]]:
        """What has been fixed and learnt since ``mark``, to be replayed after an undo."""
        return [(key, self.tokens[key] if isinstance(key, int) else self.facts[key]) for key, _ in self.trail[mark:]]  # type: ignore[index]

    def replay(self, steps: list[tuple[object, Sequence[int]]]) -> None:
        """Do again what :meth:`since` recorded."""
        for key, values in steps:
            if isinstance(key, int):
                self.fix(key, values[0])
            else:
                self.learn(key, values)  # type: ignore[arg-type]

    # ------------------------------------------------------------ examining

    def examine(self, variable: Variable, i: int) -> Sequence[int]:
        """V of a node from the present facts; the nodes that mattered are noted in ``reads``."""
        node = (variable.name, i)
        self.work += 10
        self.reads[node] = set()
        found = self._head(variable, i) if isinstance(variable, Head) else self._map(variable, i)
        if found != self.facts.get(node):
            self.learn(node, found)
        return found

    def _map(self, variable: Map, i: int) -> Sequence[int]:
        self.work += 10
        self.reads[variable.name, i].update((a, i) for a in variable.args)
        sets = [self.values(a, i) for a in variable.args]
        if combinations(sets) > MAX_IMAGE:
            return whole(self.instance.domains[variable.name])
        return tuple(np.unique(self.block(variable, i, sets)).tolist())

    def block(self, variable: Map, i: int, sets: Sequence[Sequence[int]]) -> I64:
        """The map's values on a box; whole tables are kept where they are small."""
        size = np.prod([self.instance.domains[a] for a in variable.args], dtype=object)
        if size > 4096:
            return self.instance.map_values(variable, i, sets)
        return self.instance.map_table(variable, i)[np.ix_(*sets)]

    def _head(self, head: Head, i: int) -> Sequence[int]:
        node = (head.name, i)
        first, stop = self.instance.visible(head, i)
        if first >= stop:
            return (head.default,)
        query = self.instance.query(head)
        if query:
            self.reads[node].add((query, i))
        everything = self.instance.domains[head.value]
        if query and self._too_many_rows(head, i, stop - first, query):
            return whole(everything)
        found: set[int] = set()
        for u in self.values(query, i) if query else (0,):
            row = self.row_values(head, i, u, everything, self.reads[node])
            if len(row) == everything:
                return whole(everything)
            found.update(row)
            if len(found) == everything:
                break
        return tuple(sorted(found))

    def extend(self, rows: RowList) -> None:
        """List more pairs of a row, and count the scores that this costs."""
        self.scores += rows.extend()
        if self.row_charge:
            self.scores += self.row_charge + PAIR_CHARGE * len(rows.pairs)

    def _too_many_rows(self, head: Head, i: int, positions: int, query: str) -> bool:
        """Whether to abstain on a head: its query leaves too many rows open, or several rows that cost too much."""
        key, queries = self.instance.key(head), len(self.values(query, i))
        domain = self.instance.domains[key] if key else 1
        if queries > MAX_IMAGE:
            return True
        return domain > MANY_VALUES and (queries > MANY_VALUES or (queries > 1 and positions * domain >= COSTLY))

    def row_values(self, head: Head, i: int, u: int, enough: int, reads: set[Node]) -> Collection[int]:
        """R(u) of docs/kernel.md; stops when ``enough`` values have been found."""
        key, everything = self.instance.key(head), self.instance.domains[head.value]
        found: set[int] = set()
        domain = self.instance.domains[key] if key else 1
        for steps, (j, w) in enumerate(self.walk(head, i, u, reads)):
            if domain > MANY_VALUES and steps == LONGEST_WALK:
                return whole(everything)
            if head.value == key:
                if steps == LONG_WALK and self.indexable:
                    return self.key_values(head, i, u, reads)
                found.add(w)
            elif j == i and head.value == self.instance.query(head):
                found.add(u)
            else:
                reads.add((head.value, j))
                values = self.values(head.value, j)
                if len(values) >= enough:
                    return values
                found.update(values)
            if len(found) >= enough:
                break
        return found

    @property
    def indexable(self) -> bool:
        """Whether so little is known that looking it up in an index is cheaper than a long walk."""
        return len(self.tokens) + len(self.facts) <= FEW_FACTS

    def key_values(self, head: Head, i: int, u: int, reads: set[Node] | None = None) -> Collection[int]:
        """The key values of the candidates of a row: R(u) where key and value are one variable.

        Only positions whose key values are restricted are looked at one by one. Of the others, only the first to be
        completed matters, and the first place of each value. So a row of a million equal pairs costs no walk.
        """
        first, stop = self.instance.visible(head, i)
        key = self.instance.key(head)
        assert key is not None
        domain = self.instance.domains[key]
        rows, same = self.row_list(head, i, u), self.instance.query(head) == key
        while True:
            if not rows.pairs and not rows.complete:
                self.extend(rows)
            index = rows.indexed()
            assert index is not None
            apart: dict[int, Sequence[int]] = {j: v for j, v in self.restricted(key).items() if first <= j < stop}
            if same and first <= i < stop:
                apart[i] = (u,)
            pinned = self.pinned if key == "token" else {}
            apart = {j: v for j, v in apart.items() if j not in pinned}
            self.work += 20 + 2 * len(apart)
            last = index.first_other(index.completions, first, stop, set(apart))
            floor = len(index.j) if last is None else last
            own = {j: index.of(j) for j in apart}
            for j, (places, values) in own.items():
                mine = places[np.isin(values, apart[j])]
                if len(mine) == len(apart[j]):
                    floor = min(floor, int(mine.max()))
            found = self._key_values_above(floor, index, own, apart, (first, stop), (key, reads))
            # With the floor inside the list, the values found are all of them: nothing more has to be listed.
            if floor < len(index.j) or rows.complete or len(found) == domain:
                return found
            if domain > MANY_VALUES and len(index.j) >= LONGEST_WALK:
                return whole(domain)
            if len(index.j) >= MOST_LISTED and (rows.row.stop - rows.row.first) * domain > LONG_LIST:
                return whole(domain)
            self.extend(rows)

    def _key_values_above(
        self,
        floor: int,
        index: RowIndex,
        own: dict[int, tuple[I64, I64]],
        apart: Mapping[int, Sequence[int]],
        visible: tuple[int, int],
        noting: tuple[str, set[Node] | None],
    ) -> set[int]:
        """The key values of the possible pairs down to place ``floor`` of an index; what was read is noted."""
        found: set[int] = set()
        (key, reads), others = noting, set(apart)
        for j, (places, values) in own.items():
            if len(places) and places[0] <= floor and reads is not None and len(apart[j]) < self.instance.domains[key]:
                reads.add((key, j))
            found.update(int(w) for t, w in zip(places, values, strict=True) if t <= floor and w in apart[j])
        for w, places in index.by_value.items():
            if w not in found:
                t = index.first_other(places, *visible, others)
                if t is not None and t <= floor:
                    found.add(w)
        return found

    def restricted(self, name: str) -> Mapping[int, Sequence[int]]:
        """The positions at which less than the default is known to be possible, with V."""
        if name == "token":
            return self.tokens
        if name == "position":
            return {}
        return {i: v for (of, i), v in self.facts.items() if of == name and len(v) < self.instance.domains[name]}

    def walk(self, head: Head, i: int, u: int, reads: set[Node] | None = None) -> Iterator[Pair]:
        """The candidates of a row: its feasible pairs, best first, down to the floor."""
        first, stop = self.instance.visible(head, i)
        key, same = (
            self.instance.key(head),
            self.instance.query(head) is not None and self.instance.query(head) == self.instance.key(head),
        )
        rows = self.row_list(head, i, u)
        left: dict[int, int] = {}
        t = 0
        while True:
            if t == len(rows.pairs):
                if rows.complete:
                    return
                self.extend(rows)
                continue
            j, w = rows.pairs[t]
            t += 1
            self.work += 1
            if not first <= j < stop:
                continue
            if key is not None:
                own = same and j == i
                possible = (u,) if own else self.values(key, j)
                if reads is not None and len(possible) < self.instance.domains[key]:
                    reads.add((key, j))
                if w not in possible:
                    continue
                left[j] = left.get(j, len(possible)) - 1
            yield j, w
            if key is None or left[j] == 0:
                return

    def row_list(self, head: Head, i: int, u: int) -> RowList:
        """The row's list; positions that see half of the word or more share it if the score does not mention ``i``."""
        first, stop = self.instance.visible(head, i)
        shared = "i" not in mentions(head) and 2 * (stop - first) >= self.instance.n
        slot = (head.name, -1 if shared else i, u)
        if slot not in self._lists:
            row = Row(self.instance, head, i, u)
            row.own = (-1, -1)
            if shared:
                row.first, row.stop = 0, self.instance.n
            self._lists[slot] = RowList(row, self._default_values(self.instance.key(head)))
        return self._lists[slot]

    def _default_values(self, key: str | None) -> Values:
        if key is None:
            return CONSTANT
        if key not in self._defaults:
            if key == "token":
                self._defaults[key] = Values.make(len(self.alphabet), self.pinned)
            elif key == "position":
                self._defaults[key] = Values.make(1, {j: (j,) for j in range(self.instance.n)})
            else:
                self._defaults[key] = Values.make(self.instance.domains[key], {})
        return self._defaults[key]
