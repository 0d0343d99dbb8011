"""What the softmax transformer of an S-RASP program does in float64, compared with the program."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from restrict.base.arrays import I64, all_words
from restrict.base.errors import UsageError
from restrict.base.wording import at_most
from restrict.simulate.floating import UNITS, shown_bound
from restrict.simulate.ours.measure import CELLS, EXHAUSTIVE, Measured, affordable, safe, soft_document
from restrict.simulate.srasp.compiler import compile_with_budget
from restrict.simulate.srasp.interpreter import run
from restrict.simulate.srasp.syntax import SRaspProgram
from restrict.simulate.theorem26 import Sharpness
from restrict.soft.models.evaluate import Real, activations
from restrict.soft.models.model import SoftModel


@dataclass(frozen=True)
class Softened:
    """An S-RASP program as a softmax model at length ``n`` (Theorem 26), and how the two compare."""

    program: SRaspProgram
    n: int
    epsilon: Fraction
    soft: SoftModel
    sharp: Sharpness
    every_length: bool
    found: Measured

    @property
    def certified(self) -> dict[str, int]:
        """Up to which length the model is right, by the type of the numbers."""
        return {kind: self.soft.certified[kind] for kind in UNITS}

    def document(self, place: Path | None = None) -> dict[str, Any]:
        """The model, its certified bounds and what was measured, as JSON; ``place``: the file of the softmax model."""
        asked = {"model": self.program.name, "n": self.n, "epsilon": str(self.epsilon), "gap": str(self.sharp.gap)}
        bounds = {"inverse_temperature": self.sharp.scale, "certified_error": self.sharp.error} | self.found.document()
        return asked | bounds | {"safe_length": self.certified} | soft_document(self.soft, place)

    def text(self) -> str:
        """What :meth:`document` has, in words."""
        soft, sharp, heads = self.soft, self.sharp, sum(len(layer.heads) for layer in self.soft.layers)
        told = [
            f"{self.program.name} at n = {self.n} (start marker counted): heads {heads}, layers {len(soft.layers)}, "
            f"width {soft.width}",
            f"needed 1/tau: {at_most(sharp.scale, 6)} for the gap {sharp.gap} (Theorem 26); all that is read is within "
            f"{shown_bound(sharp.error)} of the hard one (certified; asked for {self.epsilon}), and rounding makes it "
            f"exact, at {f'every length up to {self.n}' if self.every_length else f'n = {self.n}'}",
            self.found.text(),
        ]
        told += [f"{k}: {safe(self.n, most, self.every_length, self.n)}" for k, most in self.certified.items()]
        return "\n".join(told)


def soften(program: SRaspProgram, n: int, epsilon: Fraction, samples: int = 200, seed: int = 0) -> Softened:
    """The softmax model of a program, sharp enough for ``epsilon`` at length ``n``, compared with it by
    :func:`measure`."""
    hard, budget = compile_with_budget(program)
    sharp = budget.sharpness(hard.check_length(n), epsilon)
    soft = budget.soften(hard, sharp)
    found = measure(program, soft, budget.raw, n, samples, seed)
    return Softened(program, n, epsilon, soft, sharp, budget.every_length, found)


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
