"""What the softmax transformer of an S-RASP program does in float64, compared with the program."""

from __future__ import annotations

import numpy as np

from restrict.errors import UsageError
from restrict.simulate.measure import CELLS, EXHAUSTIVE, Measured, affordable
from restrict.simulate.srasp.interpreter import run
from restrict.simulate.srasp.syntax import Program
from restrict.soft.evaluate import logits
from restrict.soft.model import SoftModel


def measure(program: Program, soft: SoftModel, n: int, samples: int = 200, seed: int = 0) -> Measured:
    """The largest deviation of the logits from plus or minus 1/2, at all positions of the word.

    Args:
        program: the program.
        soft: its softmax transformer.
        n: the length, the start marker counted.
        samples: how many words are drawn where there are more than 4096.
        seed: of the samples.

    Returns:
        The deviation, and how many words get a wrong label somewhere: exact on all words, else an estimate from below.

    Raises:
        UsageError: a length that leaves no room for a word.
    """
    symbols, length = len(program.alphabet), n - 1
    if length < 1:
        raise UsageError(f"n = {n} leaves no room for a word behind the start marker")
    everything = symbols**length <= EXHAUSTIVE
    if everything:
        words = np.indices((symbols,) * length).reshape(length, -1).T
    else:
        samples = affordable(samples, n, sum(len(layer.heads) for layer in soft.layers))
        words = np.random.default_rng(seed).integers(0, symbols, (samples, length))
    error, wrong = 0.0, 0
    for part in np.array_split(words, max(1, len(words) * n * soft.width // CELLS)):
        if not len(part):
            continue
        truth = np.array([run(program, [program.alphabet[a] for a in word])[program.output] for word in part])
        found = logits(soft, soft.encode(np.ascontiguousarray(part)))[:, 1:, 0]
        error = max(error, float(np.abs(found - (truth - 0.5)).max(initial=0.0)))
        wrong += int(((found > 0) != (truth > 0)).any(axis=1).sum())
    return Measured((error,), len(words), everything, wrong)
