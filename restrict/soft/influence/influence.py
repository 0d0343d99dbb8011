"""The influence of one symbol on the output: three certified bounds and the measured value, side by side.

(a) the closed form of Lemma 5, repaired; (b) the recursion over the layers with the model's norms, and the propagation
of sets; (c) the largest change that was found, in floats. Always (c) <= sets <= layers <= (a): each certified bound is
also cut to the one before it, and (c), whose rounding is not known, to that by sets.

Two quantities: ``activation``, the Euclidean norm of the change of the output position's activation, and ``logit``, the
largest change of a difference of two logits (of the logit, for a sign output). The exchanged position is any free one
other than the output's own, as in the paper.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from restrict.base.arrays import I64, all_words
from restrict.base.errors import UsageError
from restrict.soft.bounds.exchange import run_exchange
from restrict.soft.bounds.lemma5 import ROOM, closed_form, gap_norm, recursion
from restrict.soft.bounds.parts import ReadyModel, logit_gap, prepare
from restrict.soft.bounds.values import allowed_tokens
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.models import evaluate
from restrict.soft.models.model import Floats, SoftModel

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Influence:
    """The influence of one symbol at length ``n``, as pairs (activation, logit): the bounds ``closed`` (``None`` where
    the masks have no closed form), ``layerwise`` and ``sharp``, and what was ``measured``: over all inputs and
    exchanges where ``exhaustive`` (exact up to the evaluator's rounding), else from ``tried`` of them, a lower
    estimate. ``log10_closed`` of the activation is finite where ``closed`` is beyond a double."""

    n: int
    closed: tuple[float, float] | None
    layerwise: tuple[float, float]
    sharp: tuple[float, float]
    measured: tuple[float, float]
    exhaustive: bool
    tried: int
    log10_closed: float | None = None

    @property
    def ratio(self) -> float:
        """Sharp bound over measured value, for the activation."""
        return self.sharp[0] / self.measured[0] if self.measured[0] > 0 else math.inf


def exchangeable(model: SoftModel, n: int) -> I64:
    """The positions whose symbol may be exchanged: free, and not the output's own."""
    out = model.output_position(n)
    pinned = model.pinned(n)
    return np.array([i for i in range(n) if i != out and i not in pinned], dtype=np.int64)


def influence(
    model: SoftModel, n: int, *, samples: int = 2000, seed: int = 0, progress: Progress | None = None
) -> Influence:
    """All four numbers at length ``n`` (with markers), for all inputs and all exchanges of two symbols at free
    positions but the output's own. ``samples``: exchanges to try where there are more than 65536."""
    parts = prepare(model, n)
    tokens = allowed_tokens(parts)
    chosen = chosen_positions(model, n)
    gap = gap_norm(parts)
    closed = closed_form(parts, tokens)
    by_layer = recursion(parts, tokens).output
    a = None if closed is None else (closed.value, closed.value * gap)
    b = (by_layer, by_layer * gap)
    if a is not None:
        b = (min(a[0], b[0]), min(a[1], b[1]))
    tell = progress or (lambda _: None)
    tell(f"n = {n}: propagating sets")
    c = sharp_bound(parts, tokens, chosen)
    c = (min(b[0], c[0]), min(b[1], c[1]))
    tell(f"n = {n}: trying exchanges")
    d, everything, tried = measured_influence(model, n, chosen, samples=samples, seed=seed)
    d = (min(c[0], d[0]), min(c[1], d[1]))  # floats may be above a certified bound
    return Influence(n, a, b, c, d, everything, tried, None if closed is None else closed.log10)


def sharp_bound(parts: ReadyModel, tokens: I64, positions: I64) -> tuple[float, float]:
    """The propagated bound at the output: (activation, logit)."""
    out = parts.model.output_position(parts.n)
    values, pairs = run_exchange(parts, tokens, positions, at=np.array([out]))
    sets = [pair.other[0] for pair in pairs]
    # Two values of one set are never further apart than its diameter.
    diameter = 2 * values[0].ball * ROOM
    largest = max(float(s.norm()) * ROOM for s in sets)
    return min(largest, float(diameter)), max(logit_gap(parts, s) for s in sets)


def influence_matrix(model: SoftModel, n: int) -> Floats:
    """The propagated bound for every pair (position changed, position read), as activation norms. ``n``: length,
    markers counted. Result: shape (n, n), rows the changed position; the diagonal holds the bound at the changed
    position itself, rows of markers are 0. Cost: ``n`` runs of :func:`.exchange.run_exchange`."""
    parts = prepare(model, n)
    tokens = allowed_tokens(parts)
    found = np.zeros((n, n))
    for i in set(range(n)) - set(model.pinned(n)):
        _, pairs = run_exchange(parts, tokens, np.array([i]))
        found[i] = np.max([pair.other.norm() for pair in pairs], axis=0)
        found[i, i] = max(float(pair.own.norm()[i]) for pair in pairs)
    return found


def measured_influence(
    model: SoftModel, n: int, positions: I64, *, samples: int = 2000, seed: int = 0
) -> tuple[tuple[float, float], bool, int]:
    """The largest change found: (activation, logit), whether every exchange was tried, and how many were. Random words,
    the constant ones, and a climb: the best word so far is changed at random places and kept where the change grows."""
    size, slots = len(model.alphabet), n - len(model.pinned(n))
    total = len(positions) * size ** (slots - 1) * size * (size - 1) // 2 if slots < 40 else INFLUENCE.exhaustive + 1
    if total <= INFLUENCE.exhaustive:
        words = model.encode(all_words(size, slots)[:, ::-1])
        return _largest(model, n, words, positions), True, total
    rng = np.random.default_rng([seed, n])
    return _climb(model, n, positions, samples, rng), False, samples


def _changes(model: SoftModel, words: I64, other: I64) -> tuple[Floats, Floats]:
    """Activation and logit changes between two batches of words."""
    n = words.shape[1]
    at = np.array([model.output_position(n)])
    difference = evaluate.activations(model, words, at=at)[:, 0] - evaluate.activations(model, other, at=at)[:, 0]
    logits = difference @ model.output.unembed.T
    if model.output.kind != "softmax":
        return np.linalg.norm(difference, axis=1), np.abs(logits).max(axis=1)
    return np.linalg.norm(difference, axis=1), logits.max(axis=1) - logits.min(axis=1)


def batch(model: SoftModel, n: int) -> int:
    """Words per batch that keep memory near 100 MB."""
    return max(1, min(4096, 2**22 // (max(n, 1) * max(model.width, 8))))


def _largest(model: SoftModel, n: int, words: I64, positions: I64) -> tuple[float, float]:
    best = [0.0, 0.0]
    for i in positions:
        for step in range(1, len(model.alphabet)):
            other = words.copy()
            other[:, i] = (other[:, i] + step) % len(model.alphabet)
            for at in range(0, len(words), batch(model, n)):
                part = slice(at, at + batch(model, n))
                found = _changes(model, words[part], other[part])
                best = [max(b, float(f.max())) for b, f in zip(best, found, strict=True)]
    return best[0], best[1]


def _climb(model: SoftModel, n: int, positions: I64, samples: int, rng: np.random.Generator) -> tuple[float, float]:
    size, markers = len(model.alphabet), model.pinned(n)
    free = np.array([i for i in range(n) if i not in markers])
    best, top, record = [0.0, 0.0], None, -1.0
    done, most = 0, min(batch(model, n), max(1, samples // 4))
    while done < samples:
        count = min(most, samples - done)
        if top is None or rng.random() < 0.3:
            words = model.encode(varied(rng, count, len(free), size))
            places = rng.choice(positions, count)
        else:
            words = np.repeat(top[0][None], count, axis=0)
            flips = rng.random((count, len(free))) < rng.choice([1.0, 3.0, 0.1 * n], (count, 1)) / n
            words[:, free] = np.where(flips, rng.integers(0, size, flips.shape), words[:, free])
            places = np.where(rng.random(count) < 0.5, top[1], rng.choice(positions, count))
        other = words.copy()
        rows = np.arange(count)
        other[rows, places] = (other[rows, places] + rng.integers(1, size, count)) % size
        found = _changes(model, words, other)
        best = [max(b, float(f.max())) for b, f in zip(best, found, strict=True)]
        at = int(found[0].argmax())
        if float(found[0][at]) > record:
            record, top = float(found[0][at]), (words[at], places[at])
        done += count
    return best[0], best[1]


def varied(rng: np.random.Generator, count: int, slots: int, size: int) -> I64:
    """Random words of all biases: each symbol's share is itself random, so that constant words come up, too."""
    shares = rng.dirichlet(np.full(size, 0.5), count)
    draws = rng.random((count, slots, 1))
    found: I64 = (draws > shares.cumsum(axis=1)[:, None, :]).sum(axis=2)
    return np.minimum(found, size - 1)


def chosen_positions(model: SoftModel, n: int) -> I64:
    """The positions whose symbol is exchanged, all that may be; refused where there is none."""
    if len(model.alphabet) < 2:
        raise UsageError("the alphabet has one symbol: there is nothing to exchange")
    possible = exchangeable(model, model.check_length(n))
    if len(possible) == 0:
        raise UsageError(f"at n = {n} there is no free position other than the output's own")
    return possible


@dataclass(frozen=True)
class Fit:
    """``value ~ constant * n^exponent``, least squares in the logarithms; an estimate, no bound. ``least`` and ``most``
    are the ends of ``n * value``, which would be one number if the decay were exactly ``1/n``."""

    exponent: float
    constant: float
    least: float
    most: float

    def __str__(self) -> str:
        return (
            f"{self.constant:.3g} n^{self.exponent:.2f}; against 1/n: n times it is {self.least:.4g} .. {self.most:.4g}"
        )


def fit_decay(rows: Sequence[Influence], which: str = "sharp", quantity: int = 0) -> Fit | None:
    """The decay in ``n`` of one of the columns, to compare with ``O(1/n)``; ``None`` with fewer than two points."""
    points = [(row.n, getattr(row, which)) for row in rows]
    pairs = [(n, v[quantity]) for n, v in points if v is not None and 0 < v[quantity] < math.inf]
    if len(pairs) < 2:
        return None
    x, y = np.log([float(n) for n, _ in pairs]), np.log([v for _, v in pairs])
    slope, offset = np.polyfit(x, y, 1)
    scaled = [n * v for n, v in pairs]
    return Fit(float(slope), float(np.exp(offset)), min(scaled), max(scaled))
