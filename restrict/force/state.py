"""What the search knows: fixed tokens and value sets of examined nodes, over the store of rows. Under a restriction the
candidates of a row are the feasible pairs of its list (:mod:`restrict.rows.store`) down to the first position all of
whose feasible pairs have been passed: that pair *is* the floor (docs/kernel.md, rule 4), since the list descends. So
examining a head again costs a short walk, not a row scan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from restrict.base.arrays import I64
from restrict.force.image import combinations, whole
from restrict.force.options import OPTIONS
from restrict.model.program import Head, Instance, Map, Variable
from restrict.rows.options import ROWS
from restrict.rows.row import asks_for_itself
from restrict.rows.store import Pair, RowList, RowStore

Node = tuple[str, int]
Sides = tuple[tuple[int, ...], ...]
"""One sorted side per argument of a map, as indices into its lists of values."""


def weights(instance: Instance) -> dict[str, float]:
    """An estimate of the tokens that force a node of each variable, where every head takes only an anchor."""
    weight = {"token": 1.0, "position": 0.0}
    for v in instance.model.variables:
        read = sorted({a for a in (instance.key(v), v.value) if a}) if isinstance(v, Head) else v.args
        weight[v.name] = min(1e9, sum(weight[a] for a in read))
    return weight


class ForcingState:
    """Tokens and value sets under the restriction so far, with a trail so that a trial can be undone. Value sets only
    shrink as tokens are fixed, so a fact stays true (if not tight) until the trail is undone past it."""

    def __init__(self, instance: Instance, base: Mapping[int, int] | None = None) -> None:
        """``base``: positions with symbols that stay fixed; here they count as markers."""
        self.instance = instance
        self.order = {v.name: t for t, v in enumerate(instance.model.variables)}
        self.depth = instance.model.depths
        self.weight = weights(instance).__getitem__
        self.alphabet = range(len(instance.model.alphabet))
        self.pinned = {i: (v,) for i, v in {**instance.pinned, **(base or {})}.items()}
        self.tokens: dict[int, tuple[int, ...]] = dict(self.pinned)
        self.facts: dict[Node, Sequence[int]] = {}
        self.reads: dict[Node, set[Node]] = {}
        self.trail: list[tuple[object, object]] = []
        self.scores, self.row_charge, self.wide = 0, 0, False
        self.work = 0
        self.boxes: dict[object, list[Sides]] = {}
        self.rows = RowStore(instance, self.pinned)

    def share(self, other: ForcingState) -> None:
        """Use, and add to, the rows and boxes of another state of the same instance with the same pinned positions."""
        self.rows, self.boxes = other.rows, other.boxes

    # ------------------------------------------------------------ facts

    @property
    def fixed(self) -> int:
        """How many positions are fixed."""
        return len(self.tokens) - len(self.pinned)

    @property
    def symbols(self) -> dict[int, int]:
        """The symbols of the positions that are fixed."""
        return {i: v[0] for i, v in self.tokens.items() if i not in self.pinned}

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
        if combinations(sets) > OPTIONS.image:
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
            self.scores += self.row_charge + OPTIONS.pair_charge * len(rows.pairs)

    def _too_many_rows(self, head: Head, i: int, positions: int, query: str) -> bool:
        """Whether to abstain on a head: its query leaves too many rows open, or several rows that cost too much."""
        key, queries = self.instance.key(head), len(self.values(query, i))
        domain = self.instance.domains[key] if key else 1
        if queries > OPTIONS.image:
            return True
        return domain > OPTIONS.many_keys and (
            queries > OPTIONS.many_keys or (queries > 1 and positions * domain >= ROWS.costly)
        )

    def row_values(self, head: Head, i: int, u: int, enough: int, reads: set[Node]) -> Collection[int]:
        """R(u) of docs/kernel.md; stops when ``enough`` values have been found."""
        key, everything = self.instance.key(head), self.instance.domains[head.value]
        found: set[int] = set()
        domain = self.instance.domains[key] if key else 1
        for steps, (j, w) in enumerate(self.walk(head, i, u, reads)):
            if domain > OPTIONS.many_keys and steps == OPTIONS.longest_walk:
                return whole(everything)
            if head.value == key:
                if steps == OPTIONS.long_walk and self.indexable:
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
        return len(self.tokens) + len(self.facts) <= OPTIONS.few_facts

    def key_values(self, head: Head, i: int, u: int, reads: set[Node] | None = None) -> Collection[int]:
        """The key values of the candidates of a row: R(u) where key and value are one variable. Only positions whose
        key values are restricted are looked at one by one. Of the others, only the first to be completed matters, and
        the first place of each value. So a row of a million equal pairs costs no walk."""
        first, stop = self.instance.visible(head, i)
        key = self.instance.key(head)
        assert key is not None
        domain = self.instance.domains[key]
        rows, same = self.rows.of(head, i, u), self.instance.query(head) == key
        while True:
            if not rows.pairs and not rows.complete:
                self.extend(rows)
            index = rows.indexed()
            assert index is not None
            known = {**self.restricted(key), i: (u,)} if same else self.restricted(key)
            pinned = self.pinned if key == "token" else {}
            apart = {j: v for j, v in known.items() if first <= j < stop and j not in pinned}
            self.work += 20 + 2 * len(apart)
            last = index.first_other(index.completions, first, stop, set(apart))
            floor = len(index.j) if last is None else last
            own = {j: index.of(j) for j in apart}
            for j, (places, values) in own.items():
                mine = places[np.isin(values, apart[j])]
                if len(mine) == len(apart[j]):
                    floor = min(floor, int(mine.max()))
            found: set[int] = set()
            for j, (places, values) in own.items():
                if len(places) and places[0] <= floor and reads is not None and len(apart[j]) < domain:
                    reads.add((key, j))
                found.update(int(w) for t, w in zip(places, values, strict=True) if t <= floor and w in apart[j])
            found |= index.values_above(floor, first, stop, list(apart))
            # With the floor inside the list, the values found are all of them: nothing more has to be listed.
            if floor < len(index.j) or rows.complete or len(found) == domain:
                return found
            if domain > OPTIONS.many_keys and len(index.j) >= OPTIONS.longest_walk:
                return whole(domain)
            if len(index.j) >= OPTIONS.listed and (rows.row.stop - rows.row.first) * domain > OPTIONS.long_list:
                return whole(domain)
            self.extend(rows)

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
        key, same = self.instance.key(head), asks_for_itself(self.instance, head)
        rows = self.rows.of(head, i, u)
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


def listed_whole(n: int, domain: int) -> bool:
    """Whether a run abstains on no row of ``n`` positions by keys of ``domain`` values."""
    return domain <= OPTIONS.many_keys and n * domain <= OPTIONS.long_list
