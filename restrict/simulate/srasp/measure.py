"""What the softmax transformer of an S-RASP program does in float64, compared with the program."""

from collections.abc import Sequence

import numpy as np

from restrict.base.arrays import I64, all_words
from restrict.base.errors import UsageError
from restrict.simulate.ours.measure import CELLS, EXHAUSTIVE, Measured, affordable
from restrict.simulate.srasp.interpreter import run
from restrict.simulate.srasp.syntax import SRaspProgram
from restrict.soft.models.evaluate import Real, activations
from restrict.soft.models.model import SoftModel


def measure(
    program: SRaspProgram, soft: SoftModel, raw: Sequence[int], n: int, samples: int = 200, seed: int = 0
) -> Measured:
    """The largest deviation of any truth value or integer before it is rounded (the dimensions ``raw`` of the budget),
    at all positions of the word, and how many words get a wrong label somewhere: exact on all words; where these are
    more than 4096, an estimate from below on ``samples``."""
    symbols, length = len(program.alphabet), n - 1
    if length < 1:
        raise UsageError(f"n = {n} leaves no room for a word behind the start marker")
    everything = symbols**length <= EXHAUSTIVE
    if everything:
        words = all_words(symbols, length)
    else:
        samples = affordable(samples, n, sum(len(layer.heads) for layer in soft.layers))
        words = np.random.default_rng(seed).integers(0, symbols, (samples, length))
    error, wrong = 0.0, 0
    for part in np.array_split(words, max(1, len(words) * n * soft.width // CELLS)):
        if not len(part):
            continue
        truth = np.array([run(program, [program.alphabet[a] for a in word])[program.output] for word in part])
        error, found = deviation(soft, raw, np.ascontiguousarray(part), error)
        wrong += int(((found > 0) != (truth > 0)).any(axis=1).sum())
    return Measured((error,), len(words), everything, wrong)


def deviation(
    soft: SoftModel, raw: Sequence[int], words: I64, before: float = 0.0, dtype: type = np.float64
) -> tuple[float, Real]:
    """How far what is rounded is from integers, and the logits. ``words``: int64, shape (words, n - 1): symbol indices,
    without the marker. ``dtype``: ``np.float64`` or ``np.float32``. Result: the larger of the two deviations
    (measured), and the logits at the positions of the word, shape (words, n - 1)."""
    x = activations(soft, soft.encode(words), dtype=dtype)[:, 1:]
    out: Real = soft.output.unembed.T.astype(dtype)
    read = x[..., list(raw)].astype(np.float64)
    return max(before, float(np.abs(read - np.rint(read)).max(initial=0.0))), (x @ out + soft.output.bias)[..., 0]
