"""Theorem 6 (Hahn 2020) as numbers: a certified lower bound on a model's cross-entropy at a length.

Two inputs that differ in one symbol away from the output have logits whose differences change by at most ``eta``
(:mod:`.influence`), so no probability changes by more than a factor ``e^eta``. All cross-entropies are in
bits, ``eta`` in nats.

- **Membership in PARITY** (a model with two labels, words uniform): pair every word with its neighbour. The pair's
  mean loss is at least ``log2(1 + e^(-eta/2))``, by convexity at the symmetric point. Chance is 1 bit, the optimum 0.
- **Next symbol of the PARITY source**: pair prefixes that differ in one symbol. With weights ``w``, ``w'`` in the
  source the pair's loss is at least the entropy of the mixture minus ``min(w, w') eta / ln 2``. If the last symbol may
  be exchanged the weights are equal and the floor tends to chance. A model that reads at the last symbol sees that one
  fully; then the symbol before it is exchanged, the weights are ``1-p : 1``, and the floor tends to the cross-entropy
  of the best predictor that knows the last symbol (the paper says unigram chance; this predictor is slightly better).
- **Next symbol of 2DYCK**: a prefix that ends with a closing bracket and is unbalanced, against the same one with
  its innermost open bracket of the other type. Both are equally likely, and the next bracket, if it closes, has another
  type: the floor is ``optimum + P0 (1-p) log2(1 + e^(-eta/2))``.

The pairs of PARITY use one position; which one is free to choose, so the one with the least bound is taken.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from restrict.base.arrays import I64, all_words
from restrict.base.errors import UsageError
from restrict.base.options import Fact
from restrict.soft.bounds.exchange import run_exchange
from restrict.soft.bounds.lemma5 import gap_norm, recursion
from restrict.soft.bounds.parts import ReadyModel, logit_gap, prepare
from restrict.soft.bounds.values import allowed_tokens
from restrict.soft.influence.influence import batch, chosen_positions, exchangeable
from restrict.soft.influence.logits import logit_influence
from restrict.soft.influence.options import INFLUENCE
from restrict.soft.influence.pairs import changes_of
from restrict.soft.influence.sources import SOURCES, Dyck2, Parity
from restrict.soft.models import evaluate
from restrict.soft.models.model import Floats, SoftModel

Z: Fact[float] = 2.5758293035489004
"""The normal quantile of a two-sided 99 % interval."""
DOWN: Fact[float] = 1 - 1e-12


@dataclass(frozen=True)
class CrossEntropy:
    """One row of the table, in bits per prediction: ``optimum``, ``chance`` exact (as doubles); ``floor`` a certified
    lower bound; ``measured`` exact up to the evaluator's rounding where ``exhaustive``, else an estimate with the 99 %
    interval ``+- margin``; ``eta`` a certified bound on the change of a logit difference."""

    n: int
    task: str
    optimum: float
    chance: float
    floor: float
    eta: float
    measured: float
    margin: float
    exhaustive: bool


def cross_entropy(
    model: SoftModel, n: int, language: str, *, p: Fraction = Fraction(1, 10), samples: int = 2000, seed: int = 0
) -> CrossEntropy:
    """The numbers at one length. ``n``: length, markers counted. ``language``: ``parity`` or ``2dyck``. ``samples``:
    prefixes to draw where there are more than 16384. Result: optimum, chance, certified floor and measured value."""
    source = _source(model, language)
    m = n - len(model.pinned(model.check_length(n)))
    parts = prepare(model, n)
    if source is None:
        eta, floor = _membership_floor(parts)
        return CrossEntropy(n, "membership", 0.0, 1.0, floor, eta, *_membership(model, m, samples, seed))
    made, task = source(p), f"next symbol, {source.name}"
    eta, floor = _parity_floor(parts, made, m) if isinstance(made, Parity) else _dyck_floor(parts, made, m)
    return CrossEntropy(n, task, made.optimum(m), made.chance(m), floor, eta, *_next(model, made, m, samples, seed))


def _source(model: SoftModel, language: str) -> type[Parity | Dyck2] | None:
    """The source whose next symbol the model predicts; ``None``: it says which prefixes are members of PARITY."""
    source = SOURCES.get(language)
    if source is None:
        raise UsageError(f"{language!r} has no source in Theorem 6; there are parity and 2dyck")
    letters = source.symbols
    if model.alphabet != letters:
        raise UsageError(f"{language}: the alphabet must be {' '.join(letters)}, not {' '.join(model.alphabet)}")
    if model.output.kind == "signs":
        raise UsageError(f"{model.name} answers with a set of labels, which has no cross-entropy")
    labels = len(model.output.labels)
    if labels == len(letters) + 1:
        return source
    if labels == 2 and source is Parity:
        return None
    also = " or 2 for membership" if language == "parity" else ""
    raise UsageError(
        f"{language}: the model has {labels} labels; needed are {len(letters) + 1} for the next symbol "
        f"(the last label is the end){also}"
    )


# ---------------------------------------------------------------- floors


def eta_bound(parts: ReadyModel, positions: I64, symbols: tuple[tuple[int, int], ...] = ()) -> float:
    """A certified bound on the change of any logit difference when one of these positions is exchanged."""
    tokens = allowed_tokens(parts)
    out = parts.model.output_position(parts.n)
    _, pairs = run_exchange(parts, tokens, positions, at=np.array([out]), symbols=symbols)
    eta = min(max(logit_gap(parts, p.other[0]) for p in pairs), recursion(parts, tokens).output * gap_norm(parts))
    model = parts.model
    if len(model.layers) != 1 or "additive scores" in model.special:
        return eta
    changes = changes_of(model, parts.n, positions.tolist())
    return min(eta, logit_influence(model, changes, cells=INFLUENCE.floor_cells, seconds=math.inf).bound)


def binary_floor(eta: float) -> float:
    """``log2(1 + e^(-eta/2))``, rounded down."""
    return math.log1p(math.exp(-eta / 2)) / math.log(2) * DOWN if eta < 1400 else 0.0


def _membership_floor(parts: ReadyModel) -> tuple[float, float]:
    possible = chosen_positions(parts.model, parts.n)
    tried = sorted({int(possible[0]), int(possible[len(possible) // 2]), int(possible[-1])})
    eta = min(eta_bound(parts, np.array([i])) for i in tried)
    return eta, binary_floor(eta)


def _last_symbol(parts: ReadyModel) -> tuple[int, bool]:
    """The last symbol's position, and whether the output is read there."""
    last = parts.n - 1 - (parts.model.end_marker is not None)
    return last, last == parts.model.output_position(parts.n)


def _parity_floor(parts: ReadyModel, source: Parity, m: int) -> tuple[float, float]:
    last, seen = _last_symbol(parts)
    if m < (2 if seen else 1):
        return math.inf, source.optimum(m) * DOWN
    eta = eta_bound(parts, np.array([last - 1 if seen else last]))
    if seen:
        weight = float(min(source.last_weight, 1 - source.last_weight))
        limit = source.chance_given_last(m)
    else:
        weight, limit = 0.5, source.chance(m)
    floor = limit - weight * eta / math.log(2) - 1e-12
    return eta, max(floor, source.optimum(m)) * DOWN


def _dyck_floor(parts: ReadyModel, source: Dyck2, m: int) -> tuple[float, float]:
    if m == 0 or len(exchangeable(parts.model, parts.n)) == 0:
        return math.inf, source.optimum(m) * DOWN
    eta = eta_bound(parts, exchangeable(parts.model, parts.n), ((0, 2),))
    share = source.p0(m) if _last_symbol(parts)[1] else source.unbalanced(m)
    # Beyond the exact lengths the share is a double with a relative error below 1e-10.
    return eta, (source.optimum(m) + float(share) * (1 - 1e-9) * float(1 - source.p) * binary_floor(eta)) * DOWN


# ---------------------------------------------------------------- measured


def _membership(model: SoftModel, m: int, samples: int, seed: int) -> tuple[float, float, bool]:
    everything = m <= 14
    drawn = np.random.default_rng([seed, m])
    words = all_words(2, m)[:, ::-1] if everything else drawn.integers(0, 2, (samples, m))
    weights = np.full(len(words), 1 / len(words)) if everything else None
    return _mean(model, words, weights, lambda part: _membership_loss(model, part))


def _membership_loss(model: SoftModel, words: I64) -> Floats:
    odd = words.sum(axis=1) % 2 == 1
    margin = _accept_margin(model, _read(model, words))
    return np.asarray(np.logaddexp(0, np.where(odd, -margin, margin)) / math.log(2))


def _accept_margin(model: SoftModel, logits: Floats) -> Floats:
    """The log-odds of the label that stands for an odd number of ones: the accepted one."""
    sign = 1.0 if tuple(model.output.accept) in ((), (1,)) else -1.0
    if model.output.kind == "sign":
        return np.asarray(sign * logits[:, 0])
    return np.asarray(sign * (logits[:, 1] - logits[:, 0]))


def _read(model: SoftModel, words: I64) -> Floats:
    """The logits at the output's position, behind words without markers."""
    encoded = model.encode(words)
    return np.asarray(evaluate.logits(model, encoded, at=np.array([model.output_position(encoded.shape[1])]))[:, 0])


def _next(model: SoftModel, source: Parity | Dyck2, m: int, samples: int, seed: int) -> tuple[float, float, bool]:
    count = 2**m if isinstance(source, Parity) else 3**m
    if count <= INFLUENCE.prefixes:
        pairs = list(source.prefixes(m))
        words = np.array([w for w, _ in pairs], dtype=np.int64).reshape(len(pairs), m)
        weights = np.array([float(q) for _, q in pairs])
    else:
        words, weights = source.sample(m, samples, np.random.default_rng([seed, m])), None
    return _mean(model, words, weights, lambda part: _next_loss(model, source, part))


def _next_loss(model: SoftModel, source: Parity | Dyck2, words: I64) -> Floats:
    found = _read(model, words)
    log_q = found - np.logaddexp.reduce(found, axis=1, keepdims=True)
    true = source.next_many(words)
    return np.asarray(-(np.where(true > 0, true * log_q, 0.0)).sum(axis=1) / math.log(2))


def _mean(
    model: SoftModel, words: I64, weights: Floats | None, loss: Callable[[I64], Floats]
) -> tuple[float, float, bool]:
    """The mean of the losses of words that have weights; of a sample, without any, an estimate with its margin."""
    step = batch(model, words.shape[1])
    losses = np.concatenate([loss(words[at : at + step]) for at in range(0, len(words), step)])
    if weights is not None:
        return float(losses @ weights), 0.0, True
    margin = Z * float(losses.std(ddof=1)) / math.sqrt(len(losses)) if len(losses) > 1 else math.inf
    return float(losses.mean()), margin, False
