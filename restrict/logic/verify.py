"""A compiled program against the evaluator, on every short word."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from restrict.base.arrays import I64, Bools, word_chunks
from restrict.base.errors import ResourceLimit
from restrict.logic.formula import Formula
from restrict.logic.semantics import evaluate_tokens
from restrict.model.program import Model
from restrict.model.trace import run_batch

MAX_WORDS = 2**20


def counterexample(model: Model, formula: Formula, length: int, *, at: str = "last") -> tuple[list[str] | None, int]:
    """A shortest word on which a model and a formula differ. Result: the word's symbols, or ``None`` where there is
    none, and how many words were compared (exact). Cost: one run of the model per word."""
    return first_wrong(model.alphabet, length, lambda words: differs(model, formula, words, at))


def first_wrong(alphabet: Sequence[str], length: int, wrong: Callable[[I64], Bools]) -> tuple[list[str] | None, int]:
    """A shortest word of 1 to ``length`` symbols that is ``wrong``, which is asked of many words at once, or ``None``,
    and how many words were looked at. ``ResourceLimit``: too many."""
    count = 0
    for words in word_batches(len(alphabet), length):
        found = np.flatnonzero(wrong(words))
        if len(found):
            return [alphabet[token] for token in words[found[0]]], count + int(found[0]) + 1
        count += len(words)
    return None, count


def word_batches(symbols: int, length: int) -> Iterator[I64]:
    """All words of 1 to ``length`` symbols, the shortest first, many at a time. ``ResourceLimit``: too many."""
    if (length if symbols == 1 else symbols ** min(length, 40)) > MAX_WORDS:
        raise ResourceLimit(f"there are more than {MAX_WORDS} words of {length} symbols; verify shorter ones")
    for n in range(1, length + 1):
        yield from word_chunks(symbols, n)


def differs(model: Model, formula: Formula, words: I64, at: str) -> Bools:
    """On which words (int64, (count, n)) the answer of a model with accepting values, at ``"last"``, ``"first"`` or
    ``"every"`` position, is not the formula's truth: bool, (count,). ``UsageError``: another alphabet, or a predicate
    divides by zero; ``ResourceLimit``: it has a value beyond 62 bits."""
    truth = evaluate_tokens(formula, words, model.alphabet)
    values = run_batch(model.at(words.shape[1]), words).values[model.output.variable]
    accepted = np.isin(values, sorted(model.output.accept or ()))
    if at == "every":
        return np.asarray((accepted != truth).any(axis=1))
    return np.asarray(accepted[:, -1] != truth[:, -1 if at == "last" else 0])
