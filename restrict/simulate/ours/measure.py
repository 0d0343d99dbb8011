"""What a compiled softmax model does in floating point, compared with its program: exhaustively, or on samples. Numbers
measured on all words are exact up to the rounding of the evaluator; on samples they are estimates from below."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from restrict.base.arrays import I64, all_words
from restrict.base.wording import at_most, counted, parts
from restrict.model.trace import Batch, run_batch
from restrict.simulate.floating import right_up_to, shown_bound
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

    def text(self) -> str:
        """What was measured, in one line."""
        if not self.words:
            return "measured: nothing, one word of this length is too much"
        sampled = f"{counted(self.words, 'sampled word')} (estimate from below)"
        on = f"all {counted(self.words, 'word')}" if self.exhaustive else sampled
        wrong = f"WRONG LABELS on {self.wrong} words; please report this as a bug" if self.wrong else "no wrong label"
        return f"measured: {self.error:.6g} on {on}, {wrong}"

    def document(self) -> dict[str, Any]:
        """What was measured, as JSON."""
        return {"measured_error": self.error} | parts(self, "words exhaustive wrong")


@dataclass(frozen=True)
class Simulated:
    """A hard-attention program as a softmax model, and how the two compare."""

    compiled: CompiledProgram
    found: Measured

    @property
    def soft(self) -> SoftModel:
        """The softmax model."""
        return self.compiled.soft

    def document(self, place: Path | None = None) -> dict[str, Any]:
        """The model, its certified bounds and what was measured, as JSON; ``place``: the file of the softmax model."""
        c, soft = self.compiled, self.compiled.soft
        heads = [
            parts(head, "variable layer ties")
            | {"scale": head.scale.text, "certified_error": head.error(c.n), "measured_error": measured}
            for head, measured in zip(c.heads, self.found.errors, strict=True)
        ]
        asked = {"model": c.program.name, "n": c.n, "epsilon": str(c.epsilon)}
        bounds = {"inverse_temperature": c.scale, "certified_error": c.error} | self.found.document()
        safe = {"safe_length": dict(soft.certified), "every_length": c.every_length}
        return asked | bounds | safe | soft_document(soft, place) | {"heads": heads}

    def text(self) -> str:
        """What :meth:`document` has, in words."""
        c, soft = self.compiled, self.compiled.soft
        told = [
            f"{c.program.name} at n = {c.n}: heads {len(c.heads)}, layers {len(soft.layers)}, width {soft.width}",
            f"needed 1/tau: {at_most(c.scale, 6)}; every head is within {shown_bound(c.error)} of the "
            f"hard one (certified; asked for {c.epsilon}), and rounding makes it exact",
            self.found.text(),
            *(f"{kind}: {safe(c.n, longest, c.every_length)}" for kind, longest in soft.certified.items()),
        ]
        every = "every length at which the program is defined" if c.every_length else f"n = {c.n} only"
        told.append(f"the softmax model holds for {every}")
        width = max((len(h.variable) for h in c.heads), default=4)
        for head, measured in zip(c.heads, self.found.errors, strict=True):
            told.append(
                f"  {head.variable:<{width}}  layer {head.layer:>3}  ties {head.ties:<8}  1/tau = {head.scale.text}"
                f"  certified {shown_bound(head.error(c.n))}  measured {_shown(measured) if self.found.words else '-'}"
            )
        return "\n".join(told)


def soft_document(soft: SoftModel, place: Path | None) -> dict[str, Any]:
    """The softmax model and its file, as JSON."""
    file = None if place is None else str(place)
    return {"layers": len(soft.layers), "width": soft.width, "file": file, "sha256": soft.digest}


def safe(n: int, longest: int, every_length: bool, *most: int) -> str:
    """What is certified about floating point; ``most``: the longest length, if not that of the format."""
    if not every_length:
        return f"right at n = {n} (certified)" if longest else f"at n = {n} the result may be wrong"
    return right_up_to(longest, *most)


def _shown(x: float) -> str:
    """A measured number; below the size of rounding errors, which differ from machine to machine, only that is said."""
    return f"{x:.4g}" if x == 0 or x > 1e-12 else "below 1e-12"


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
