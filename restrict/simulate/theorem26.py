"""Theorem 26 of Yang, Strobl, Chiang & Angluin (2024): uniform-tieless average-hard transformers by softmax.

In such a transformer every head is *uniform* (query or key is zero: all visible positions get the same share) or
*tieless with gap g* (at every position and for every input of length ``n`` one score is greatest, all others at least
``g`` below). With the same parameters and a temperature ``tau`` softmax approximates it within ``epsilon``.

The recursion along the layers (:mod:`.propagate`), with explicit constants of our own in place of the paper's worst
entries. For each entry of the residual stream let ``X`` bound its absolute value in the hard run and ``E`` the error of
the softmax run. A head with rows ``Q, K`` errs in its scores by at most::

    eta = sum_r (|Q_r| E) (|K_r| X + |k_r| + |K_r| E) + (|Q_r| X + |q_r|) (|K_r| E),

so all other scores stay ``g - 2 eta`` behind, the weight off the winner is at most ``p = m / (1 + m)`` with ``m = (n-1)
exp(-(g - 2 eta) / tau)``, and what is read errs by at most ``|V| E + 2 p (|V| X + |v|)``. A uniform head errs by ``|V|
E``. Networks with ReLU multiply errors by the absolute values of their weights. The error of the output falls with
``1/tau``, so the least ``1/tau`` that these bounds allow is found by bisection. In floating point every sum and product
adds its rounding to ``E``; a tieless head forgets the errors of its scores, so they do not add up along the layers.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from restrict.base.arrays import all_words
from restrict.base.errors import NotEstablished, UsageError
from restrict.simulate.floating import longest, share
from restrict.simulate.laws import exact_embedding, exact_scores, run_layer_exactly
from restrict.simulate.lemmas_6_to_9 import exp_above, least, low_float
from restrict.simulate.propagate import SLACK, logits_error, refuse
from restrict.soft.models.model import SoftHead, SoftModel, visible
from restrict.soft.models.terms import Term, down, up


@dataclass(frozen=True)
class Sharpness:
    """What Theorem 26 gives at one length. ``scale`` is the inverse temperature of the tieless heads, ``error`` the
    certified bound on the logits' error at that temperature, ``gap`` the gap that was assumed or computed."""

    n: int
    gap: Fraction
    scale: float
    error: float


def gap_function(model: SoftModel, n: int) -> Fraction | None:
    """The gap at a length, by running the average-hard transformer exactly on every word. ``n``: the length, markers
    included. Result: the least difference between the greatest score and the next one, over all words, positions and
    heads that are not uniform (exact); ``None`` where no head ever has two visible positions. Cost: all
    ``|alphabet|^n`` words."""
    met = set[Fraction]()
    for word in all_words(len(model.alphabet), n - len(model.pinned(n))):
        x = exact_embedding(model, model.encode(word[None])[0])
        for number, layer in enumerate(model.layers):
            for h, head in enumerate(layer.heads):
                found = set() if head.uniform else _head_gaps(head, x, n)
                if 0 in found:
                    raise NotEstablished(
                        f"layers[{number}].heads[{h}] has a tie on {tuple(word.tolist())}: it is not tieless"
                    )
                met |= found
            x = run_layer_exactly(layer, x, "average")
    return min(met, default=None)


def _head_gaps(head: SoftHead, x: np.ndarray, n: int) -> set[Fraction]:
    """The gaps at all positions that see two others."""
    rows = map(sorted, map(np.compress, visible(head.mask, np.arange(n), n), exact_scores(head, x)))
    return {row[-1] - row[-2] for row in rows if len(row) > 1}


# ------------------------------------------------------------ the recursion


def softmax_error(model: SoftModel, n: int, gap: Fraction, scale: float, unit: float = 0.0) -> float:
    """A bound on the error of the logits at one temperature. ``unit``: unit roundoff of floating-point arithmetic; 0
    for real arithmetic. Result: a certified bound on the difference of the softmax run (in that arithmetic) and the
    hard run (exact). Where the scores' errors reach the gap it allows for any weights, and so is large."""
    refuse(model, "Theorem 26")
    low = low_float(gap)

    def moved(head: SoftHead, off: float, _product: float) -> float:
        """Twice the weight off the winner; a uniform head's weights are the same in both runs."""
        if head.uniform:
            return 0.0
        left = down(low - up(2 * off))
        strength = left * scale * (1 - 1e-12 - 8 * unit)
        return 2 * share(math.inf if not left > 0 else (n - 1) * exp_above(-min(strength, 740.0)) * SLACK)

    return logits_error(model, n, unit, moved)


def temperature(model: SoftModel, n: int, gap: Fraction, epsilon: Fraction) -> Sharpness:
    """The temperature of Theorem 26: at it the softmax transformer's logits are within ``epsilon`` at length ``n``.
    Result: the inverse temperature, within 0.1 % of the least that these bounds allow, and the bound at it."""
    if gap <= 0 or epsilon <= 0:
        raise UsageError("the gap and epsilon must be positive")
    scale = least_scale(lambda scale: softmax_error(model, n, gap, scale) <= epsilon)
    return Sharpness(n, gap, scale, softmax_error(model, n, gap, scale))


def least_scale(fine: Callable[[float], bool]) -> float:
    """An inverse temperature, an integer, that is enough (``fine``, as all greater ones are), at most 0.1 % and 1 above
    the least. ``NotEstablished``: none up to 1e300 is."""
    return math.ceil(least(fine, 1e-3))


def by_softmax(model: SoftModel, found: Sharpness, guard: str = "") -> SoftModel:
    """The softmax transformer with the same parameters, at the temperature that was found. ``guard``: put behind the
    scale, such as ``/(n == 8)``, which has no value at other lengths. Result: the model; its tieless heads have that
    scale, its uniform heads none."""
    scale = Term(f"{found.scale:.0f}{guard}")
    layers = tuple(
        replace(layer, heads=tuple(h if h.uniform else replace(h, scale=scale) for h in layer.heads))
        for layer in model.layers
    )
    return replace(model, layers=layers)


def grows(model: SoftModel) -> bool:
    """Whether :func:`softmax_error` grows with the length, so that one length stands for all shorter ones: no position
    term reads ``n``."""
    return not any(re.search(r"\bn\b", term.text) for term in model.positions.terms)


def safe_length(model: SoftModel, found: Sharpness, unit: float) -> int:
    """The greatest length up to ``found.n`` (0: none) such that up to it the logits' errors in floating point are
    certified below 1/2, at a temperature found for one length; the gap at shorter lengths is at least ``found.gap``.
    Where a position term reads ``n``: ``found.n`` or 0, and only about that length."""
    only = None if grows(model) else found.n
    return longest(lambda n: n <= found.n and softmax_error(model, n, found.gap, found.scale, unit) < 0.5, only)
