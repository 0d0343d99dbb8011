"""What a compiled softmax model does in floating point, compared with its program: exhaustively, or on samples. Numbers
measured on all words are exact up to the rounding of the evaluator; on samples they are estimates from below."""

from dataclasses import dataclass

import numpy as np

from restrict.base.arrays import I64, all_words
from restrict.model.trace import Batch, run_batch
from restrict.simulate.ours.report import CompiledProgram
from restrict.soft.models.evaluate import Real, activations, labels
from restrict.soft.models.model import SoftModel

EXHAUSTIVE = 4096
"""Words that are all tried; above this many, samples are drawn."""
WORK, ONE_WORD = 2 * 10**8, 5 * 10**8
"""Scores that are computed for a measurement on samples, and those that a single word may take."""
CELLS = 2**22
"""Activations held at once."""


@dataclass(frozen=True)
class Measured:
    """A comparison of a softmax model with its program. ``errors`` has the largest deviation of each head's read from
    the one-hot vector, in the order of the heads; ``wrong`` counts the words on which some label differs."""

    errors: tuple[float, ...]
    words: int
    exhaustive: bool
    wrong: int

    @property
    def error(self) -> float:
        """The largest deviation of all heads."""
        return max(self.errors, default=0.0)


def affordable(samples: int, n: int, heads: int) -> int:
    """How many of the samples are run, ``n^2`` scores for each head and sample; 0: one would be too much."""
    cost = n * n * max(heads, 1)
    return min(samples, max(WORK // cost, int(cost <= ONE_WORD)))


def words_of(compiled: CompiledProgram, samples: int = 200, seed: int = 0) -> tuple[I64, bool]:
    """Words to try, symbol indices (words, symbols), and whether these are all: else ``samples`` random ones, some
    nearly constant; fewer, down to none, where the length makes them costly."""
    symbols, length = len(compiled.program.alphabet), len(compiled.program.at(compiled.n).unpinned)
    if length == 0 or symbols**length <= EXHAUSTIVE:
        return all_words(symbols, length), True
    samples = affordable(samples, compiled.n, len(compiled.heads))
    rng = np.random.default_rng(seed)
    found = rng.integers(0, symbols, (samples, length))
    rare = rng.random((samples, length)) < (2 / length)
    constant = np.broadcast_to(rng.integers(0, symbols, (samples, 1)), found.shape)
    # Ties matter most where few positions differ from the rest.
    half = np.arange(samples)[:, None] % 2 == 1
    return np.where(half & ~rare, constant, found), False


def measure(
    compiled: CompiledProgram, words: I64, exhaustive: bool, *, dtype: type = np.float64, soft: SoftModel | None = None
) -> Measured:
    """The largest deviations, and how many words get a wrong label somewhere, by running both models on ``words``,
    symbol indices without markers; ``exhaustive``: these are all, for the record. ``dtype``: ``np.float64`` or
    ``np.float32``. ``soft``: another softmax model with the same blocks, such as one that is less sharp."""
    model = compiled.soft if soft is None else soft
    instance = compiled.program.at(compiled.n)
    errors, wrong = np.zeros(len(compiled.heads)), 0
    step = max(1, CELLS // (compiled.n * model.width))
    for start in range(0, len(words), step):
        hard = run_batch(instance, words[start : start + step])
        x = activations(model, hard.values["token"], dtype=dtype)
        errors = np.maximum(errors, _deviations(compiled, hard, x))
        wrong += _wrong(compiled, model, hard, x)
    return Measured(tuple(errors.tolist()), len(words), exhaustive, wrong)


def _deviations(compiled: CompiledProgram, hard: Batch, x: Real) -> Real:
    found = []
    for head in compiled.heads:
        raw = x[..., head.raw.start : head.raw.start + head.raw.size].astype(np.float64)
        seen = hard.attended[head.variable] >= 0
        exact = np.arange(head.raw.size) == hard.values[head.variable][..., None]
        found.append(np.abs(raw - (exact & seen[..., None])).max(initial=0.0))
    return np.array(found)


def _wrong(compiled: CompiledProgram, model: SoftModel, hard: Batch, x: Real) -> int:
    out = compiled.program.output
    at = slice(None) if out.position == "every" else slice(-1, None)
    logits = x[:, at] @ model.output.unembed.T.astype(x.dtype) + model.output.bias.astype(x.dtype)
    found = labels(model, logits)
    block = compiled.blocks[out.variable]
    label_of = np.array([model.output.labels.index(out.label(v)) for v in range(block.size)])
    return int((found != label_of[hard.values[out.variable][:, at]]).any(axis=1).sum())
