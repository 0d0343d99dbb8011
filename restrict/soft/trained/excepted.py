"""A claim without some of its words: the graph times a trie of these words. Behind one of them nothing is asked (every
label is wanted); where a claim is about signs, which always asks, that the signs are those that the model's logits
have. Shorter words, and words that go on from one of them, stay in the claim as they were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.options import Fact
from restrict.base.wording import counted
from restrict.soft.trained.graph import MOST_STATES, Graph
from restrict.soft.trained.model import Trained, forward
from restrict.soft.trained.wrong import Wrong

MANY: Fact[int] = 10**18
"""So many words are not counted."""
Word = tuple[int, ...]
Row = tuple[frozenset[int], bool, tuple[int, ...]]
"""A state: what is wanted, whether a word may end there, and the states that symbols lead to."""


class Behind(NamedTuple):
    """A wrong word (indices of symbols): the label whose sign is wrong, or that is the greatest, with its logit; what
    was wanted, and the greatest logit of that (NaN where nothing was)."""

    word: Word
    label: int
    logit: float
    wanted: tuple[int, ...]
    best: float

    @classmethod
    def of(cls, model: Trained, graph: Graph, wrong: Wrong) -> Behind:
        """What is kept of a wrong word of a claim, by a forward pass."""
        wanted, said = tuple(sorted(graph.want[graph.state(wrong.word)])), logits_behind(model, wrong.word)
        return cls(*wrong, wanted, max((float(said[k]) for k in wanted), default=float("nan")))

    def summary(self, model: Trained) -> dict[str, Any]:
        """The word for machines."""
        return {
            "word": [model.symbols[s] for s in self.word], "label": model.labels[self.label], "logit": self.logit,
            "wanted": [model.labels[k] for k in self.wanted],
        }  # fmt: skip

    def line(self, model: Trained, greatest: bool) -> str:
        """The word in words. ``greatest``: whether the greatest label counts, not signs."""
        word, name = " ".join(model.symbols[s] for s in self.word) or "the empty word", model.labels[self.label]
        if not greatest:
            sign = "positive" if self.label in self.wanted else "negative"
            return f"wrong behind: {word}: logit of {name} is {self.logit:.4g}, wanted {sign}"
        right = " ".join(model.labels[k] for k in self.wanted)
        return f"wrong behind: {word}: {name} has {self.logit:.6g}, and {right}, which is wanted, {self.best:.6g}"


def logits_behind(model: Trained, word: Word) -> Any:
    """The logits behind a word, by :func:`restrict.soft.trained.model.forward`."""
    return forward(model, model.rows([model.symbols[s] for s in word]))[-1]


def excepting(model: Trained, graph: Graph, words: Iterable[Word]) -> Graph:
    """The claim without some words.

    Args:
        model: the checkpoint, which a claim about signs is asked for what it says behind these words.
        graph: the claim; a memory is left out.
        words: tuples of indices of symbols, each a path of the graph.

    Returns:
        The graph, with no more states than the words' prefixes need. Linear in these and the graph, times the symbols.

    Raises:
        UsageError: a word is no path of the graph.
        ModelError: more than 4096 states.
    """
    nodes, states, taken = [dict[int, int]()], [0], dict[int, frozenset[int]]()
    for word in words:
        at = 0
        for s in word:
            if (state := graph.delta[states[at]][s]) < 0:
                named = " ".join(model.symbols[t] for t in word)
                raise UsageError(f"{quote(named)} cannot be taken out of the claim: it is no prefix of its words")
            at = nodes[at].setdefault(s, len(nodes))
            if at == len(nodes):
                nodes.append({})
                states.append(state)
        said = None if graph.greatest else logits_behind(model, word)
        taken[at] = frozenset(k for k in graph.labels if said is None or said[k] > 0)
    rows: list[Row] = [(graph.want[q], q in graph.accept, row) for q, row in enumerate(graph.delta)]
    classes, of = {row: q for q, row in enumerate(rows)}, [0] * len(nodes)
    for at in reversed(range(len(nodes))):  # what goes on from a prefix stands behind it
        q = states[at]
        to = tuple(of[nodes[at][s]] if s in nodes[at] else t for s, t in enumerate(graph.delta[q]))
        row = taken.get(at, graph.want[q]), q in graph.accept, to
        of[at] = q if row == rows[q] else classes.setdefault(row, len(rows))
        rows += [row] if of[at] == len(rows) else []
    return _numbered(graph, rows, of[0])


def _numbered(graph: Graph, rows: list[Row], start: int) -> Graph:
    """The graph of the states that words reach, numbered by their lengths."""
    number, order = {start: 0}, [start]
    for q in order:
        for t in rows[q][2]:
            if t >= 0 and number.setdefault(t, len(order)) == len(order):
                order.append(t)
    if len(order) > MOST_STATES:
        raise ModelError(f"the claim without these words needs more than {MOST_STATES} states")
    return replace(
        graph, delta=tuple(tuple(number[t] if t >= 0 else -1 for t in rows[q][2]) for q in order),
        accept=frozenset(k for k, q in enumerate(order) if rows[q][1]), want=tuple(rows[q][0] for q in order),
        of=tuple(range(len(order))), base=None,
    )  # fmt: skip


def words_asked(graph: Graph, n: int) -> int | None:
    """How many prefixes of words of at most ``n`` symbols something is asked behind; ``None``: more than 10^18. At
    most ``n`` times the transitions."""
    far, ways, total = graph.distances, {0: 1}, 0
    asks = [bool(len(asked.places)) for asked in graph.asked]
    for length in range(n + 1):
        ways = {q: count for q, count in ways.items() if far[q] <= n - length}
        total += sum(count for q, count in ways.items() if asks[q] and (length or graph.empty))
        if total > MANY:
            return None
        longer = dict[int, int]()
        for q, count in ways.items():
            for t in graph.delta[q]:
                if t >= 0:
                    longer[t] = longer.get(t, 0) + count
        ways = longer
    return total


class Share(NamedTuple):
    """What a search for up to ``most`` wrong words found: of ``words`` in all (``None``: more than 10^18)."""

    most: int
    words: int | None
    found: tuple[Behind, ...]

    def summary(self, model: Trained, status: str) -> dict[str, Any]:
        """The answer for machines: ``status`` is that of the claim, ``others`` that of the claim without these words,
        of which a verdict has ``status``."""
        return {
            "status": "wrong" if self.found else status,
            "others": "right" if status == "right" else "open",
            "words": self.words,
            "wrong_words": [behind.summary(model) for behind in self.found],
        }

    def lines(self, model: Trained, greatest: bool, status: str) -> list[str]:
        """The wrong words, and what is said of all others, of which a verdict has ``status``. Whether the checker has
        taken it stands elsewhere."""
        words, count = "more than 10^18" if self.words is None else str(self.words), len(self.found)
        told = [behind.line(model, greatest) for behind in self.found]
        share = f"{count} of {words} words {'is' if count == 1 else 'are'} wrong"
        if status == "right":
            return [*told, f"{share}, all others are right" if count else f"all of {words} words are right"]
        why = f": the search ends with {counted(count, 'wrong word')}" if count == self.most else ""
        share = share if count else f"none of {words} words is known to be wrong"
        return [*told, f"{share}; {'further ' if count else ''}words may be wrong{why}"]
