"""The words that a verdict is about: a partial automaton whose states say which labels are wanted behind a prefix. The
states are pairs: one of the automaton of the words that may come, one of the language that says what is right. A state
lives if some word goes on from it; transitions to others are left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ModelError, UsageError, quote
from restrict.languages.dfa import Dfa, minimal
from restrict.soft.trained.model import Trained, forward

MOST_STATES = 4096


@dataclass(frozen=True)
class Graph:
    """``delta[q][s]`` is a state or -1; ``want[q]`` are the labels (rows of the unembedding) to be positive among
    ``labels``. With a memory, ``of[q]`` is the state of ``base`` that state ``q`` refines."""

    delta: tuple[tuple[int, ...], ...]
    accept: frozenset[int]
    labels: tuple[int, ...]
    want: tuple[frozenset[int], ...]
    of: tuple[int, ...] = ()
    base: Graph | None = field(default=None, repr=False)

    @cached_property
    def edges(self) -> tuple[I64, I64, I64]:
        """``ptr, source, symbol``: the transitions by target, for the kernels."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.delta]
        for q, row in enumerate(self.delta):
            for s, t in enumerate(row):
                if t >= 0:
                    found[t].append((q, s))
        ptr = np.cumsum([0, *map(len, found)]).astype(np.int64)
        flat = [edge for edges in found for edge in edges]
        pairs = np.array(flat, dtype=np.int64).reshape(-1, 2)
        return ptr, pairs[:, 0].copy(), pairs[:, 1].copy()

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The range of the states that words of each length reach, as far as it was asked for."""
        return [(0, 1)]

    def spanned(self, key: tuple[int, int, int]) -> I64:
        """A case for the kernels, with the range of states at each position: small where the states count positions."""
        spans, flow = self.spans, self.flow
        while len(spans) <= key[0]:
            flow.append({t for p in flow[-1] for t in self.delta[p] if t >= 0})
            spans.append((min(flow[-1], default=0), max(flow[-1], default=-1) + 1))
        return np.array([*key, *itertools.chain.from_iterable(spans[: key[0] + 1])], dtype=np.int64)

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """For each state that of the graph without memories."""
        return tuple(range(len(self.delta))) if self.base is None else tuple(self.base.roots[q] for q in self.of)

    @cached_property
    def flow(self) -> list[set[int]]:
        """The states that words of each length reach, as far as they are known."""
        return [{0}]

    def state(self, word: Iterable[int]) -> int:
        """The state behind a word (indices of symbols)."""
        return reduce(lambda state, s: self.delta[state][s], word, 0)

    def traced(self, back: I64, case: tuple[int, int, int]) -> tuple[int, ...]:
        """The word of a case from the table of a kernel: the last edge of the best path to each position and state."""
        _, source, symbol = self.edges
        state, word = case[2], [0] * case[0]
        for j in range(case[0], 0, -1):
            edge = back[j, state]
            word[j - 1], state = int(symbol[edge]), int(source[edge])
        return tuple(word)

    def reached(self, n: int) -> list[set[int]]:
        """The states of all words of each length. Gives ``n + 1`` sets."""
        found = [{0}]
        for _ in range(n):
            found.append({t for p in found[-1] for t in self.delta[p] if t >= 0})
        return found

    def prefixes(self, n: int) -> list[set[int]]:
        """The states of the prefixes of each length of words of length at most ``n``. Gives ``n + 1`` sets."""
        back = [set(self.accept)]
        for _ in range(n):
            back.append(back[-1] | {p for p, row in enumerate(self.delta) for t in row if t in back[-1]})
        return [states & back[n - i] for i, states in enumerate(self.reached(n))]

    def cases(self, n: int) -> list[tuple[int, int, int]]:
        """All cases in the certificate's order: position, symbol there (-1 for the start token), state behind it."""
        reached, prefixes = self.reached(n), self.prefixes(n)
        found = [(0, -1, 0)] if 0 in prefixes[0] else []
        for i in range(1, n + 1):
            for a in range(len(self.delta[0])):
                states = {self.delta[p][a] for p in reached[i - 1]} & prefixes[i]
                found += [(i, a, q) for q in sorted(states)]
        return found

    def remembering(self, memory: Sequence[Sequence[int]]) -> Graph:
        """The graph refined by what a second automaton remembers of the word. ``memory``: complete transitions,
        ``memory[r][s]``, from state 0. Gives the product, with ``base`` and ``of``; only states that are reached."""
        found = list(itertools.islice(paired(self.delta, memory, -1), MOST_STATES + 1))
        if len(found) > MOST_STATES:
            raise ModelError(f"a memory would need more than {MOST_STATES} states")
        of = tuple(q for q, _, _ in found)
        accept = frozenset(p for p, q in enumerate(of) if q in self.accept)
        delta = tuple(row for _, _, row in found)
        return Graph(delta, accept, self.labels, tuple(self.want[q] for q in of), of, self)


def paired(
    first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], dead: int | None
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """The pairs of states that two automata reach from (0, 0), with their transitions; -1 where the first is dead."""
    number, order = {(0, 0): 0}, [(0, 0)]
    for p, q in order:
        row = []
        for pair in zip(first[p], second[q], strict=True):
            if pair[0] != dead and pair not in number:
                number[pair] = len(order)
                order.append(pair)
            row.append(-1 if pair[0] == dead else number[pair])
        yield p, q, tuple(row)


def task_language(model: Trained) -> Dfa:
    """The language that a checkpoint's configuration says it was trained on. ``model``: a checkpoint whose task has
    ``dfa`` with ``delta`` (null: no such transition) and ``accepting``."""
    given = None if not isinstance(model.task, dict) else model.task.get("dfa")
    if given is None:
        raise UsageError(f"the configuration of {model.name} has no task.dfa; name the language with -L")
    try:
        rows, accept, start = given["delta"], given["accepting"], given.get("start", 0)
        dead, symbols = len(rows), len(model.symbols)
        delta = [[dead if t is None else t for t in row] for row in rows] + [[dead] * symbols]
        whole = all(t is None or (type(t) is int and 0 <= t < dead) for row in rows for t in row)
        proper = whole and all(len(row) == symbols for row in delta)
        proper = proper and len(accept) == dead and type(start) is int and 0 <= start < dead
    except (TypeError, KeyError, AttributeError):
        proper = False
    if not proper:
        raise ModelError(f"the configuration of {model.name}: task.dfa is no automaton over {' '.join(model.symbols)}")
    return minimal(model.symbols, delta, start, [q for q, yes in enumerate(accept) if yes])


def empty_left_out(model: Trained, graph: Graph) -> Graph:
    """The graph with a start of its own, behind which is wanted what the model says: nothing is asked of it there."""
    said = forward(model, model.rows([]))[-1]
    want = frozenset(k for k in graph.labels if said[k] > 0)
    delta = [tuple(t + 1 if t >= 0 else -1 for t in row) for row in graph.delta]
    accept = frozenset(q + 1 for q in graph.accept) | ({0} if 0 in graph.accept else set())
    count = len(delta) + 1
    return Graph((delta[0], *delta), accept, graph.labels, (want, *graph.want), tuple(range(count)))


def all_words(model: Trained) -> Dfa:
    """The automaton of all words over the model's symbols."""
    return minimal(model.symbols, [[0] * len(model.symbols)], 0, [0])


def dfa_of(language: Any, model: Trained) -> Dfa:
    """The automaton of a language over the model's symbols. ``language``: a regular language, as ``-L`` reads it. Gives
    the automaton with its symbols in the order of the model's."""
    dfa: Dfa | None = getattr(language, "dfa", None)
    if dfa is None:
        raise UsageError(f"{language.name} is not given by an automaton, which a verdict needs")
    if set(dfa.alphabet) != set(model.symbols):
        theirs, ours = " ".join(dfa.alphabet), " ".join(model.symbols)
        raise UsageError(f"{language.name} is over {quote(theirs)}, {model.name} over {quote(ours)}")
    delta = [[row[dfa.index[s]] for s in model.symbols] for row in dfa.delta]
    return minimal(model.symbols, delta, 0, dfa.accept)


def graph_of(model: Trained, language: Dfa, inputs: Dfa | None = None, read_out: str = "next-set") -> Graph:
    """The graph of a claim about the words of ``inputs``, by default of ``language``. ``read_out``: ``next-set`` (a
    symbol's logit is positive iff some word of the language goes on with it, the end token's iff the prefix is a
    member) or ``membership`` (the end token alone)."""
    language, words = (minimal(d.alphabet, d.delta, 0, d.accept) for d in (language, inputs or language))
    if words.dead == 0:
        raise UsageError("no word may come: the language of inputs is empty")
    if model.eos is None and read_out == "membership":
        raise UsageError(f"{model.name} has no end token, by which membership is read")
    found = list(paired(words.delta, language.delta, words.dead))
    end = () if model.eos is None else (model.eos,)
    labels = (*(model.tokens if read_out == "next-set" else ()), *end)
    want = []
    for _, q, _ in found:
        good = {token for s, token in enumerate(model.tokens) if language.delta[q][s] != language.dead}
        want.append(frozenset((good | (set(end) if q in language.accept else set())) & set(labels)))
    accept = frozenset(k for k, (p, _, _) in enumerate(found) if p in words.accept)
    return Graph(tuple(row for _, _, row in found), accept, labels, tuple(want), tuple(range(len(found))))
