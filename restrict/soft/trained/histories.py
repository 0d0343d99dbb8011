"""A memory made for a model: what came before is forgotten where the second layer would not see the difference. The
states are those of an automaton that counts positions. A state stands for words that lead to one state of the language
and end in one symbol; some of its words are kept as samples. Of what one more symbol makes of the states of a position,
those are merged whose samples give nearly the same queries, keys and values of the second layer, there and some symbols
later, until few enough are left. Any such automaton is sound (Theorem 7); the choice is a hint."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.trained.atoms import Atoms
from restrict.soft.trained.graph import MOST_STATES, Graph
from restrict.soft.trained.model import Trained, entered, networked
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array


class State(NamedTuple):
    """Words of one length that end in one symbol and lead to one state of the language: some of them."""

    symbol: int
    of: int
    words: I64


def merged_histories(
    model: Trained, graph: Graph, n: int, most: int, late: Callable[[], bool], alike: float = 0.0
) -> Graph | None:
    """The graph, up to ``n`` symbols, with a memory that tells apart what the second of two layers sees: at most ``n *
    most`` states and those of the graph; ``None`` if the time is over (``late``, asked at every position). States
    whose samples together span no more than ``alike`` are one, however few there are."""
    most = min(most, (MOST_STATES - len(graph.delta)) // max(n, 1))
    return Histories(model, graph, n, alike).merged(most, late)


class Histories:
    """What the second layer sees behind words, and the states that it tells apart."""

    def __init__(self, model: Trained, graph: Graph, n: int, alike: float = 0.0) -> None:
        self.model, self.graph, self.n, self.atoms = model, graph, n, Atoms(model, n)
        self.alike = max(alike, OPTIONS.equal)
        self.alive, rng = graph.prefixes(n), np.random.default_rng(0)
        self.ways = [[int(rng.choice(good)) if (good := [s for s, t in enumerate(row) if t >= 0]) else 0
                      for _ in range(max(OPTIONS.seen_later))] for row in graph.delta]  # fmt: skip
        self.scale = np.ones(1)

    def seen(self, words: I64) -> Array:
        """Query, key and value of the second layer behind each of some words of one length. ``words``: indices of
        symbols, shape ``(words, length)``. Gives shape ``(words, 3 d)``."""
        count, i = words.shape
        model, atoms, layer = self.model, self.atoms, self.model.layers[0]
        at = np.concatenate([np.zeros((count, 1), dtype=np.int64), words], axis=1)
        steps, last = np.arange(i + 1), at[:, -1]
        scores = np.einsum("whk,wjhk->whj", atoms.q[i, last], atoms.k[steps, at])
        scores[:, :, : model.first * (i > 0)] = -np.inf
        share = np.exp(scores - scores.max(2, keepdims=True))
        share /= share.sum(2, keepdims=True)
        y = atoms.x[i, last] + atoms.bias
        for h in range(model.heads):
            y = y + np.einsum("wj,wjd->wd", share[:, h], atoms.v[h][steps, at])
        x, after = networked(model, layer, y), model.layers[1]
        found: Array = entered(model, x, after.norm1)[0] @ after.attention.weight + after.attention.bias
        return found

    def measured(self, states: list[State]) -> None:
        """Units in which what is seen counts alike: a score's for queries and keys, the spread of values for these."""
        seen = np.concatenate([self.seen(state.words) for state in states])
        q, k, v = np.split(seen, 3, axis=1)
        root = math.sqrt(self.model.dk)
        far = [float(np.sqrt(((x - x.mean(0)) ** 2).sum(1).mean())) + 1e-9 for x in (q, k, v)]
        size = float(np.sqrt((q**2).sum(1).mean()))
        d = self.model.d
        self.scale = np.repeat([far[1] / root, size / root, 1 / far[2]], d)

    def profiles(self, states: list[State]) -> list[Array]:
        """What the second layer sees behind the words of states of one position, and behind some that go on from there.
        Words of one length are run together: one by one they were a third of a search."""
        asked, j = dict[int, list[tuple[int, I64]]](), states[0].words.shape[1]
        for k, (_, of, words) in enumerate(states):
            goes = [(), *((s,) for s, t in enumerate(self.graph.delta[of]) if t >= 0 and j < self.n)]
            q, way = of, list[int]()
            for length in range(min(max(OPTIONS.seen_later), self.n - j)):
                way.append(self.ways[q][length])
                q = self.graph.delta[q][way[-1]]
                if q < 0:
                    break
                if length + 1 in OPTIONS.seen_later:
                    goes.append(tuple(way))
            for more in goes:
                tail = np.tile(np.array(more, dtype=np.int64), (len(words), 1))
                asked.setdefault(len(more), []).append((k, np.hstack([words, tail])))
        found = list[list[Array]]([] for _ in states)
        for parts in asked.values():
            seen = self.seen(np.concatenate([words for _, words in parts])) * self.scale
            for (k, _), part in zip(parts, np.split(seen, np.cumsum([len(words) for _, words in parts])), strict=False):
                found[k].append(part)
        return [np.hstack(parts) for parts in found]

    def merged(self, most: int, late: Callable[[], bool]) -> Graph | None:
        """The graph with at most so many states for a position."""
        base, self.of, self.rows = self.graph, [0], list[list[int]]()
        level, first = [State(-1, 0, np.zeros((1, 0), dtype=np.int64))], 0
        for j in range(1, self.n + 1):
            if late():
                return None
            made = [(p, s, State(s, t, np.hstack([state.words, np.full((len(state.words), 1), s)])))
                    for p, state in enumerate(level) for s, t in enumerate(base.delta[state.of])
                    if t in self.alive[j]]  # fmt: skip
            if not made:
                break  # no word of the claim is so long
            if j in (1, 2, 4, 8, 16, 32):
                self.measured([state for *_, state in made])
            groups = self.grouped([state for *_, state in made], most)
            start = first + len(level)
            rows = [[-2 if t >= 0 else -1 for t in base.delta[state.of]] for state in level]
            for number, (members, _) in enumerate(groups):
                for m in members:
                    p, s, _ = made[m]
                    rows[p][s] = start + number
            self.rows += rows
            level, first = [state for _, state in groups], start
            self.of += [state.of for state in level]
        self.rows += [[-2 if t >= 0 else -1 for t in base.delta[state.of]] for state in level]
        return self.graph_of()

    def graph_of(self) -> Graph:
        """The refined graph; what no word of the claim reaches goes on in the graph itself."""
        base, count = self.graph, len(self.rows)
        delta = [tuple(count + base.delta[q][s] if t == -2 else t for s, t in enumerate(row))
                 for q, row in zip(self.of, self.rows, strict=True)]  # fmt: skip
        delta += [tuple(count + t if t >= 0 else -1 for t in row) for row in base.delta]
        return base.refined(delta, (*self.of, *range(len(base.delta))))

    def grouped(self, states: list[State], most: int) -> list[tuple[list[int], State]]:
        """The states of a position after merging: which of the given ones, and the state that stands for them."""
        profiles = self.profiles(states)
        kinds = {(state.symbol, state.of): k for k, state in enumerate(states)}
        width = max(p.shape[1] for p in profiles)
        low = np.full((len(states), width), 0.0)
        high = low.copy()
        for k, p in enumerate(profiles):
            low[k, : p.shape[1]], high[k, : p.shape[1]] = p.min(0), p.max(0)
        kind = np.array([kinds[state.symbol, state.of] for state in states])
        members = [[k] for k in range(len(states))]
        far = np.full((len(states), len(states)), np.inf)

        def renew(k: int) -> None:
            others = np.flatnonzero([bool(m) for m in members] & (kind == kind[k]))
            others = others[others != k]
            wide = np.maximum(high[others], high[k]) - np.minimum(low[others], low[k])
            far[k], far[:, k] = np.inf, np.inf
            far[k, others] = far[others, k] = np.sqrt((wide**2).sum(1))

        for k in range(len(states)):
            renew(k)
        left = len(states)
        while True:
            a, b = np.unravel_index(int(far.argmin()), far.shape)
            if not far[a, b] < (np.inf if left > most else self.alike):
                break
            members[a] += members[b]
            members[b] = []
            low[a], high[a] = np.minimum(low[a], low[b]), np.maximum(high[a], high[b])
            far[b], far[:, b] = np.inf, np.inf
            renew(int(a))
            left -= 1
        return [(group, self.standing(states, profiles, group)) for group in members if group]

    def standing(self, states: list[State], profiles: list[Array], group: list[int]) -> State:
        """A state for several: of their words those that are farthest from each other."""
        words = np.concatenate([states[k].words for k in group])
        points = np.concatenate([profiles[k] for k in group])
        chosen, near = [0], np.full(len(points), np.inf)
        while len(chosen) < min(OPTIONS.samples, len(points)):
            near = np.minimum(near, np.abs(points - points[chosen[-1]]).max(1))
            if near.max() <= OPTIONS.equal:
                break
            chosen.append(int(near.argmax()))
        return State(states[group[0]].symbol, states[group[0]].of, words[chosen])
