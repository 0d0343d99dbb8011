"""Models whose answer is read at a token of its own, the *reader*, once it has attended to the whole word: in front of
the word (CLS, no causal mask) or behind it (EOS, SEP). In one layer attention is an average over a set of tokens, so
nothing is lost if the reader counts as one more symbol, always the last of a word, with the position embedding of the
place where it stands (Lemma V17 of docs/soft-verdicts.md). The search works on that view of model and graph."""

from __future__ import annotations

from dataclasses import replace

from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.verdict import Open
from restrict.soft.trained.wrong import Wrong


def inside(model: Trained) -> Trained:
    """The model with its reader as the last symbol; itself, if it has none."""
    if model.reader is None or model.closing:
        return model
    return replace(model, symbols=(*model.symbols, model.vocab[model.reader]), closing=True)


def as_read(model: Trained, graph: Graph, n: int) -> tuple[Trained, Graph, int]:
    """Model, graph and length as the search takes them: words have the reader behind them, where there is one."""
    return (model, graph, n) if model.reader is None else (inside(model), graph.closed(), n + 1)


def ended(model: Trained, wrong: Wrong | None) -> Wrong | None:
    """A wrong word with the reader behind it, where there is one. ``model``: with the reader as a symbol."""
    if wrong is None or not model.closing:
        return wrong
    return wrong._replace(word=(*wrong.word, len(model.symbols) - 1))


def without_reader(model: Trained, wrong: Wrong | None) -> Wrong | None:
    """A wrong word without the reader behind it. ``model``: any view of the model."""
    return wrong if wrong is None or model.reader is None else wrong._replace(word=wrong.word[:-1])


def opened(model: Trained, graph: Graph, case: Open) -> Open:
    """An open case as it is told: with a reader, the number of symbols, no symbol (-1) and the language's state."""
    if model.reader is None:
        return case
    i, a, q = case.key
    return replace(case, key=(i - 1, -1, next(p for p, row in enumerate(graph.delta) if row[a] == q)))
