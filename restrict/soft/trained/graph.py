"""The words that a verdict is about: a partial automaton whose states say which labels are wanted behind a prefix. The
states are pairs: one of the automaton of the words that may come, one of the language that says what is right. A state
lives if some word goes on from it; transitions to others are left out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.options import Fact
from restrict.kernels.verdict import heaviest, trace
from restrict.languages.dfa import Dfa, minimal
from restrict.soft.models.config import task_automaton
from restrict.soft.trained.model import Trained, forward
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.read_out import Asked
from restrict.soft.trained.stored import Array

MOST_STATES: Fact[int] = 4096
Delta = Sequence[Sequence[int]]
"""Transitions by state and symbol."""
Ways = tuple[I64, I64, I64, I64]
"""What leads to a case, for the kernels: transitions by target (``ptr, source, symbol``), and the case."""


@dataclass(frozen=True)
class Graph:
    """``delta[q][s]`` is a state or -1; ``want[q]`` are the labels (rows of the unembedding) to be positive among
    ``labels``; or, if ``greatest``, one of them is to be the greatest of ``labels``. With a memory, ``of[q]`` is the
    state of ``base`` that state ``q`` refines. ``empty``: whether the claim is about the empty prefix, too, as it is of
    models with a start token. ``closing``: words end with the last symbol, which stands for the token at which the
    answer is read, and the claim is about whole words."""

    delta: tuple[tuple[int, ...], ...]
    accept: frozenset[int]
    labels: tuple[int, ...]
    want: tuple[frozenset[int], ...]
    of: tuple[int, ...] = ()
    base: Graph | None = field(default=None, repr=False)
    greatest: bool = False
    empty: bool = True
    closing: bool = False

    @property
    def ends(self) -> range:
        """The symbols with which a case may end."""
        symbols = len(self.delta[0])
        return range(symbols - 1 if self.closing else 0, symbols)

    @cached_property
    def distances(self) -> list[float]:
        """For each state the symbols of a shortest word from there to an accepting one; infinite where none leads
        there. Linear in the transitions."""
        found, far, level = [math.inf] * len(self.delta), 0, set(self.accept)
        while level:
            for q in level:
                found[q] = far
            far, level = far + 1, {p for q in level for p in self.before[q] if found[p] == math.inf}
        return found

    @property
    def living(self) -> set[int]:
        """The states from which some word leads to an accepting one."""
        return {q for q, far in enumerate(self.distances) if far < math.inf}

    def closed(self) -> Graph:
        """The graph of the same words, each with one more symbol behind it, and no other word: behind that is wanted
        what was wanted behind the word, if any word goes on from there."""
        count, live = len(self.delta), self.living
        delta = [(*row, count + q if q in live else -1) for q, row in enumerate(self.delta)]
        nothing = (-1,) * len(delta[0])
        return replace(
            self, delta=(*delta, *[nothing] * count), accept=frozenset(range(count, 2 * count)), want=2 * self.want,
            of=tuple(range(2 * count)), closing=True,
        )  # fmt: skip

    @cached_property
    def asked(self) -> list[Asked]:
        """What is asked of the labels' logits in each state."""
        signs = np.array([[1.0 if k in want else -1.0 for k in self.labels] for want in self.want])
        return [Asked(row, self.greatest) for row in signs]

    def about(self, q: int, number: int) -> int:
        """The label that one of the combinations which are asked for in a state is about."""
        places = self.asked[q].places
        return self.labels[int(places[number]) if len(places) else 0]

    @cached_property
    def edges(self) -> tuple[I64, I64, I64]:
        """``ptr, source, symbol``: the transitions by target, for the kernels."""
        edges = sorted((t, q, s) for q, row in enumerate(self.delta) for s, t in enumerate(row) if t >= 0)
        target, source, symbol = np.array(edges, dtype=np.int64).reshape(-1, 3).T.copy()
        return np.searchsorted(target, np.arange(len(self.delta) + 1)), source, symbol

    @cached_property
    def before(self) -> list[list[int]]:
        """For each state those from which it is entered."""
        ptr, source, _ = self.edges
        return [source[low:high].tolist() for low, high in itertools.pairwise(ptr)]

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The range of the states that words of each length reach, as far as it was asked for."""
        return [(0, 1)]

    def spanned(self, key: tuple[int, int, int]) -> I64:
        """A case for the kernels, with the range of states at each position: small where the states count positions."""
        spans = self.spans
        more = self.reached(key[0])[len(spans) :]
        spans += [(min(states, default=0), max(states, default=-1) + 1) for states in more]
        return np.array([*key, *itertools.chain.from_iterable(spans[: key[0] + 1])], dtype=np.int64)

    def led(self, key: tuple[int, int, int]) -> Ways:
        """The transitions that lead to a case, by target, and the case, for the kernels. Where the states count
        positions, only the states from which it can be reached are left, with numbers of their own: a fifth of the
        search went through the others."""
        case, (ptr, source, symbol) = self.spanned(key), self.edges
        spans = self.spans[: key[0] + 1]
        if len(source) < OPTIONS.transitions or any(one[1] > other[0] for one, other in itertools.pairwise(spans)):
            return ptr, source, symbol, case
        ahead, levels = np.array([key[2]]), list[tuple[I64, I64, I64]]()
        for (low, high), (least, most) in zip(spans[:0:-1], spans[-2::-1], strict=True):
            edges = np.arange(ptr[low], ptr[high])
            target = np.repeat(np.arange(low, high), np.diff(ptr[low : high + 1]))
            here = np.zeros(high - low, dtype=bool)
            here[ahead - low] = True
            kept = here[target - low] & (source[edges] >= least) & (source[edges] < most)
            edges, target = edges[kept], target[kept]
            levels.append((ahead, edges, target))
            ahead = np.unique(source[edges])
        levels.append((ahead, np.zeros(0, dtype=np.int64), ahead[:0]))
        states, edges, target = (np.concatenate(part) for part in zip(*levels[::-1], strict=True))
        count = np.searchsorted(target, states, "right") - np.searchsorted(target, states)
        ends = np.cumsum([0, *(len(level[0]) for level in levels[::-1])])
        spread = np.stack([ends[:-1], ends[1:]], 1).ravel()
        found = np.concatenate([np.cumsum([0, *count]), np.searchsorted(states, source[edges]), symbol[edges]])
        first, second = len(states) + 1, len(states) + 1 + len(edges)
        return found[:first], found[first:second], found[second:], np.array([*key[:2], len(states) - 1, *spread])

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """For each state the state of the graph without memories from which it was made."""
        return tuple(range(len(self.delta))) if self.base is None else tuple(self.base.roots[q] for q in self.of)

    @cached_property
    def flow(self) -> list[set[int]]:
        """The states that words of each length reach, as far as they are known."""
        return [{0}]

    def state(self, word: Iterable[int]) -> int:
        """The state behind a word (indices of symbols)."""
        return reduce(lambda state, s: self.delta[state][s], word, 0)

    def reached(self, n: int) -> list[set[int]]:
        """The states of all words of each length. Gives ``n + 1`` sets."""
        while len(self.flow) <= n:
            self.flow.append({t for p in self.flow[-1] for t in self.delta[p] if t >= 0})
        return self.flow[: n + 1]

    def prefixes(self, n: int) -> list[set[int]]:
        """The states of the prefixes of each length of words of length at most ``n``. Gives ``n + 1`` sets."""
        far = self.distances
        return [{q for q in states if far[q] <= n - i} for i, states in enumerate(self.reached(n))]

    def cases(self, n: int) -> list[tuple[int, int, int]]:
        """All cases in the certificate's order: position, symbol there (-1 for the start token), state behind it."""
        reached, prefixes = self.reached(n), self.prefixes(n)
        found = [(0, -1, 0)] if self.empty and not self.closing and 0 in prefixes[0] else []
        for i in range(1, n + 1):
            for a in self.ends:
                states = {self.delta[p][a] for p in reached[i - 1]} & prefixes[i]
                found += [(i, a, q) for q in sorted(states)]
        return found

    def remembering(self, memory: Delta) -> Graph:
        """The graph refined by what a second automaton remembers of the word. ``memory``: complete transitions,
        ``memory[r][s]``, from state 0. Gives the product, with ``base`` and ``of``; only states that are reached."""
        found = list(itertools.islice(paired(self.delta, memory, -1), MOST_STATES + 1))
        if len(found) > MOST_STATES:
            raise ModelError(f"a memory would need more than {MOST_STATES} states")
        return self.refined([row for _, _, row in found], [q for q, _, _ in found])

    def refined(self, delta: Iterable[tuple[int, ...]], of: Sequence[int]) -> Graph:
        """The graph with other states, of which ``of`` says which state each refines, and their transitions."""
        accept, want = frozenset(p for p, q in enumerate(of) if q in self.accept), tuple(self.want[q] for q in of)
        return replace(self, delta=tuple(delta), accept=accept, want=want, of=tuple(of), base=self)


def farthest(weights: Array, values: Array, ways: Ways, limit: float) -> tuple[float, float, tuple[int, ...]]:
    """The word of a case for which the sum of ``weights * (values - limit)`` is greatest, by symbol and position: that
    sum, that of the weights, and the word. ``ways``: as :meth:`Graph.led` gives them."""
    ptr, source, symbol, case = ways
    back, word = np.zeros((case[0] + 1, len(ptr) - 1), dtype=np.int64), np.zeros(case[0], dtype=np.int64)
    num, den = heaviest(weights, values, *ways, limit, back)
    trace(back, source, symbol, case[2], word)
    return num, den, tuple(word.tolist())


def paired(first: Delta, second: Delta, dead: int | None) -> Iterator[tuple[int, int, tuple[int, ...]]]:
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


def task_table(model: Trained) -> tuple[list[list[int]], int, dict[str, Any]]:
    """:func:`task_automaton` of a checkpoint."""
    found = task_automaton(model.task, len(model.symbols), f"the configuration of {model.name}")
    if found is None:
        what = "name the language with -L, or give --answers"
        raise UsageError(f"the configuration of {model.name} has no task.dfa; {what}")
    return found


def task_language(model: Trained) -> Dfa:
    """The language that a checkpoint's configuration says it was trained on: ``accepting`` says which states do."""
    delta, start, given = task_table(model)
    accept = given.get("accepting")
    if not isinstance(accept, list) or len(accept) != len(delta) - 1:
        raise ModelError(f"the configuration of {model.name}: task.dfa is no automaton over {' '.join(model.symbols)}")
    return minimal(model.symbols, delta, start, [q for q, yes in enumerate(accept) if yes])


def empty_left_out(model: Trained, graph: Graph) -> Graph:
    """The graph with a start of its own, behind which is wanted what the model says: nothing is asked of it there."""
    if not graph.empty:
        return graph
    said = forward(model, model.rows([]))[-1][list(graph.labels)]
    bar = max(said) if graph.greatest else np.nextafter(0, 1)
    want = frozenset(k for k, logit in zip(graph.labels, said, strict=True) if logit >= bar)
    delta = [tuple(t + 1 if t >= 0 else -1 for t in row) for row in graph.delta]
    accept = frozenset(q + 1 for q in graph.accept) | ({0} if 0 in graph.accept else set())
    count = len(delta) + 1
    given = tuple(range(count))
    return replace(graph, delta=(delta[0], *delta), accept=accept, want=(want, *graph.want), of=given)


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
        more = set(dfa.alphabet) < set(model.symbols)
        never = "; a token that no word has is a ..._token_id in the configuration" if more else ""
        raise UsageError(f"{language.name} is over {quote(theirs)}, {model.name} over {quote(ours)}{never}")
    delta = [[row[dfa.index[s]] for s in model.symbols] for row in dfa.delta]
    return minimal(model.symbols, delta, 0, dfa.accept)


def graph_of(
    model: Trained, language: Dfa, inputs: Dfa | None = None, read_out: str = "next-set", label: str | None = None
) -> Graph:
    """The graph of a claim about the words of ``inputs``, by default of ``language``. ``read_out``: ``next-set`` (a
    symbol's logit is positive iff some word of the language goes on with it, the end token's iff the prefix is a
    member), ``membership`` (the end token alone), ``next`` (the greatest of these logits is one that would be positive)
    or ``greatest`` (``label`` is the greatest of all labels iff the prefix is a member)."""
    words, language = proper_words(inputs or language), minimal(language.alphabet, language.delta, 0, language.accept)
    labels = asked_labels(model, read_out, label)
    mine = {k for k in labels if model.labels[k] == label}

    def wanted(q: int) -> set[int]:
        member = q in language.accept
        if read_out == "greatest":
            return mine if member else set(labels) - mine
        good = {token for s, token in enumerate(model.tokens) if language.delta[q][s] != language.dead}
        return (good | {model.eos} if member and model.eos is not None else good) & set(labels)

    graph = judged(model, words, language.delta, labels, wanted)
    return graph if read_out in ("next-set", "membership") else compared(graph)


def judged(
    model: Trained, words: Dfa, delta: Delta, labels: tuple[int, ...], wanted: Callable[[int], set[int]]
) -> Graph:
    """The graph of the words of an automaton, with what is wanted in each state of another one, ``delta``."""
    pairs, states, rows = zip(*paired(words.delta, delta, words.dead), strict=True)
    accept, want = (
        frozenset(k for k, p in enumerate(pairs) if p in words.accept),
        (frozenset(wanted(q)) for q in states),
    )
    return Graph(rows, accept, labels, tuple(want), tuple(range(len(rows))), empty=not model.first)


def proper_words(words: Dfa) -> Dfa:
    """The smallest automaton of the words that may come."""
    found = minimal(words.alphabet, words.delta, 0, words.accept)
    if found.dead == 0:
        raise UsageError("no word may come: the language of inputs is empty")
    return found


def asked_labels(model: Trained, read_out: str, label: str | None) -> tuple[int, ...]:
    """The labels that a read-out is about."""
    names = quote(" ".join(model.labels))
    if read_out == "greatest":
        if label not in model.labels:
            raise UsageError(f"--label names the label of members, one of {names}, for --read-out greatest")
        return model.outputs
    if label is not None:
        raise UsageError("--label is for --read-out greatest")
    if model.labels != model.vocab:
        raise UsageError(
            f"the read-out of {model.name} has labels of its own, {names}: give --read-out greatest --label NAME, "
            "--read-out tags or --answers FILE"
        )
    if model.eos is None and read_out == "membership":
        raise UsageError(f"{model.name} has no end token, by which membership is read")
    return model.outputs if read_out != "membership" else model.outputs[-1:]


def compared(graph: Graph) -> Graph:
    """The graph whose wanted labels hold the greatest; some label is wanted in every state that a prefix reaches, be
    the words that go there and on as long as they may. ``graph``: all states are reached, and live."""
    reached = {t for row in graph.delta for t in row if t >= 0} | ({0} if graph.empty else set())
    if any(not graph.want[q] for q in reached):
        raise UsageError("behind a prefix that may come no label is right, so none can be the greatest")
    everything = frozenset(graph.labels)
    return replace(graph, greatest=True, want=tuple(want or everything for want in graph.want))


def task_graph(model: Trained) -> Graph:
    """The graph of what a checkpoint's configuration says: its automaton and its read-out."""
    read_out = task_read_out(model)
    return tagged_graph(model) if read_out == "tags" else graph_of(model, task_language(model), read_out=read_out)


def task_read_out(model: Trained) -> str:
    """The read-out that a configuration's ``task.kind`` names; ``next-set`` where it names none."""
    kind = model.task.get("kind") if isinstance(model.task, dict) else None
    return kind if kind in ("membership", "next", "tags") else "next-set"


def tagged_graph(model: Trained, inputs: Dfa | None = None) -> Graph:
    """The graph of tags: the label that ``task.dfa.tags`` of the configuration gives each state is to be the greatest;
    where it is null, nothing is asked. ``inputs``: the words that may come, by default all that the automaton reads."""
    delta, start, given = task_table(model)
    tags, dead = given.get("tags"), len(delta) - 1
    asked = [model.labels[k] for k in model.outputs]  # a special token is none
    if not isinstance(tags, list) or len(tags) != dead or any(tag not in (*asked, None) for tag in tags):
        what = "a label of the model, or null, for each state"
        raise UsageError(f"the configuration of {model.name} has no task.dfa.tags, {what}")
    words = proper_words(inputs or minimal(model.symbols, delta, start, range(dead)))
    swap = {start: 0, 0: start}  # paired automata start at 0
    delta = [[swap.get(t, t) for t in delta[swap.get(q, q)]] for q in range(dead + 1)]

    def wanted(q: int) -> set[int]:
        if q == dead:
            raise UsageError("a word that may come is none that the automaton of the tags reads")
        tag = tags[swap.get(q, q)]
        return set(model.outputs) if tag is None else {model.labels.index(tag)}

    return compared(judged(model, words, delta, model.outputs, wanted))
