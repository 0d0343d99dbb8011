"""Answers that a function gives: behind each of some words one label is to be the greatest, as where a model reads the
greatest of K numbers, or a sum modulo p, at its last position. Behind every other prefix nothing is asked: every label
is wanted there, so no certificate needs more than it has (Lemma V13). The function is a table of words, or a fold from
the left, of which only the states are gone through, not the words."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.files import read_bytes
from restrict.base.options import Fact
from restrict.soft.trained.graph import MOST_STATES, Graph
from restrict.soft.trained.model import Trained

LINE = re.compile(r"(.*(?<!\S))->\s+(\S+)\s*"), re.compile(r"(.*)->\s*(\S+)\s*")
"""A line whose arrow stands alone, so that symbols and labels may have arrows in their names; else one without spaces
beside it."""
MOST_NODES: Fact[int] = 4_000_000
"""Prefixes of the words of a table."""
Word = tuple[str, ...]
State = TypeVar("State", bound=Hashable)
Row = tuple[str | None, tuple[tuple[int, int], ...]]
"""A state: the answer that is asked for, and the states that symbols lead to."""


def read_answers(path: str | Path) -> dict[Word, str]:
    """The answers of a file: a line ``WORD -> ANSWER`` for each word, symbols separated by spaces. ``UsageError``: the
    file cannot be read, a line is none, or two say different things of one word. Linear in the file."""
    found = dict[Word, str]()
    try:
        lines = read_bytes(Path(path)).decode().splitlines()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if (parts := LINE[0].fullmatch(line) or LINE[1].fullmatch(line)) is None:
            raise UsageError(f"{path}: line {number}: expected WORD -> ANSWER, symbols separated by spaces")
        word, answer = tuple(parts[1].split()), parts[2]
        if found.setdefault(word, answer) != answer:
            raise UsageError(f"{path}: line {number}: another answer was given behind {quote(' '.join(word))} before")
    if not found:
        raise UsageError(f"{path}: no line WORD -> ANSWER")
    return found


def answered(model: Trained, answers: Mapping[Word, str]) -> Graph:
    """The graph of a table: behind each of its words the answer is to be the greatest of the labels, and no other word
    may come, nor go on.

    Args:
        model: the checkpoint.
        answers: for each word, a tuple of symbols, the name of a label.

    Returns:
        The graph, of the fewest states. Linear in the symbols of all words.

    Raises:
        UsageError: a word has a symbol that is none of the model's, or an answer is no label; or the model, which has
            no start token, is asked for an answer behind the empty word.
        ModelError: more than 4096 states, or four million prefixes.
    """
    nodes, said = [dict[int, int]()], dict[int, str]()
    number = {symbol: s for s, symbol in enumerate(model.symbols)}
    for word, answer in answers.items():
        at = 0
        for symbol in word:
            if symbol not in number:
                raise UsageError(f"{quote(symbol)} is not a symbol of {model.name}: {' '.join(model.symbols)}")
            at = nodes[at].setdefault(number[symbol], len(nodes))
            if at == len(nodes):
                nodes.append({})
        said[at] = answer
        if len(nodes) > MOST_NODES:
            raise ModelError(f"the words of the answers have more than {MOST_NODES} prefixes")
    classes, of, rows = dict[Row, int](), [0] * len(nodes), list[Row]()
    for at in reversed(range(len(nodes))):  # what goes on from a prefix stands behind it
        row = said.get(at), tuple(sorted((s, of[to]) for s, to in nodes[at].items()))
        of[at] = classes.setdefault(row, len(rows))
        rows += [row] if of[at] == len(rows) else []
    return _graph(model, rows[::-1], [len(rows) - 1 - q for q in range(len(rows))])


def folded(
    model: Trained, n: int, start: State, step: Callable[[State, str], State | None],
    answer: Callable[[State], str | None],
) -> Graph:  # fmt: skip
    """The graph of answers behind words of ``n`` symbols, as a fold from the left gives them: the greatest so far, the
    sum so far modulo p.

    Args:
        model: the checkpoint.
        n: the symbols of a word, at least one.
        start: what is known of the empty word.
        step: what is known behind one more symbol, or ``None`` where no word goes on so.
        answer: the name of the label that is to be the greatest behind a word; ``None`` where nothing is asked.

    Returns:
        The graph: a state for each length and what is known there. Linear in these, times the symbols.

    Raises:
        UsageError: an answer is no label, or no word has ``n`` symbols.
        ModelError: more than 4096 states.
    """
    number, todo, rows = {(0, start): 0}, [(0, start)], list[Row]()
    for length, known in todo:
        row = list[tuple[int, int]]()
        for s, symbol in enumerate(model.symbols if length < n else ()):
            if (after := step(known, symbol)) is not None:
                to = number.setdefault((length + 1, after), len(todo))
                todo += [(length + 1, after)] if to == len(todo) else []
                row.append((s, to))
        _bounded(len(todo))
        rows.append((answer(known) if length == n else None, tuple(row)))
    ends = {q for q, (length, _) in enumerate(todo) if length == n}
    return _graph(model, rows, range(len(rows)), ends)


def _graph(model: Trained, rows: Sequence[Row], of: Sequence[int], ends: Iterable[int] | None = None) -> Graph:
    """The graph of states, the first of which is that of the empty word. ``of``: the place of each number that rows
    name. ``ends``: the states of whole words, by default those with an answer."""
    _bounded(len(rows))
    labels = model.outputs
    place = {model.labels[k]: k for k in labels}
    for answer, _ in rows:
        if answer is not None and answer not in place:
            raise UsageError(f"the answer {quote(answer)} is not a label of {model.name}: {quote(' '.join(place))}")
    everything, symbols = frozenset(labels), len(model.symbols)
    want = tuple(everything if answer is None else frozenset({place[answer]}) for answer, _ in rows)
    steps = [{s: of[to] for s, to in row} for _, row in rows]
    delta = tuple(tuple(row.get(s, -1) for s in range(symbols)) for row in steps)
    accept = frozenset(ends if ends is not None else (q for q, (answer, _) in enumerate(rows) if answer is not None))
    if not accept:
        raise UsageError("no word may come, so no answer is asked for")
    if model.first and rows[0][0] is not None:
        raise UsageError(f"{model.name} has no start token, and so no answer behind the empty word")
    return Graph(delta, accept, labels, want, tuple(range(len(rows))), greatest=True, empty=not model.first)


def _bounded(states: int) -> None:
    if states > MOST_STATES:
        raise ModelError(f"the answers need more than {MOST_STATES} states: ask for fewer words at a time")
