"""The constants of Theorem 1 (Hahn 2020): numbers for which every inequality of its proof holds.

The proof, its parameters and the inequalities are in :mod:`restrict.depth_reduction.constants.inequalities`. This
module chooses.
For given ``eta1``, ``eta2`` and ``delta`` the least ``g, r, T, k, f, F, n0`` follow one after the other (``k`` by
climbing to the least fixed point: what it must be at least grows with it). Those three, and the split of ``C`` over the
layers, come from a pattern search in floats, which decides only how good the numbers are.

The paper takes ``eta1 = eta2``, ``T = s^c k H``, ``A = 1/k^2``, ``B = 1/2``, Stage 1 also in the first layer, and an
``f`` that is larger by a factor ``s^c`` (``choices="paper"``). The proof does not need this: with a ``T`` chosen apart
from ``k``, ``A`` of the order ``1/f`` and no Stage 1 where it has nothing to do, the numbers are far smaller.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from operator import index
from typing import SupportsIndex

from restrict.base.errors import UsageError
from restrict.base.options import Fact
from restrict.depth_reduction.constants.inequalities import (
    Choices,
    LayerBounds,
    TheoremBounds,
    dependencies,
    least_k,
    neighbours,
    rounds,
)
from restrict.depth_reduction.constants.tower import Tower, ln, of, power, short
from restrict.depth_reduction.options import THEOREM

MAX_LAYERS: Fact[int] = 64
MAX_SIZE: Fact[int] = 10**9
SMALLEST = Fraction(1, 10**9)
"""``C`` must be this far from 0 and from 1."""

PLACES: Fact[int] = 10**24
"""Denominator of the shares ``C`` between layers."""

B_BEST = Fraction(1, 1000)
FLOAT_C: Fact[int] = 10**100
"""Beyond this ``c`` the parameters are constants: they make no difference that a float can show."""
TINY = Fraction(1, 2**20)

# ---------------------------------------------------------------- one layer


@dataclass(frozen=True)
class _LayerTask:
    """What one step is given: everything but the parameters that the search may choose."""

    layer: int
    c: Tower
    C: Fraction
    C_out: Fraction
    heads: int
    alphabet: int
    choices: Choices

    @property
    def loss(self) -> Fraction:
        return 1 - self.C_out / self.C


def _probability(task: _LayerTask, eta: Fraction, delta: Fraction) -> Fraction:
    """The largest ``q`` of twelve digits that leaves ``C'`` free; not positive where there is none."""
    exact = (1 - task.C_out / ((1 - eta) * task.C)) / (1 + delta)
    if exact <= 0:
        return Fraction(0)
    scale = 10 ** (12 + max(0, _digits(1 / exact)))
    return Fraction(exact.numerator * scale // exact.denominator, scale)


def _digits(x: Fraction) -> int:
    """About the number of decimal digits before the point, minus one."""
    return (x.numerator.bit_length() - x.denominator.bit_length()) * 3 // 10


def _step(task: _LayerTask, eta1: Fraction, eta2: Fraction, delta: Fraction) -> LayerBounds:
    """The least numbers that satisfy the inequalities for given ``eta1``, ``eta2`` and ``delta``."""
    c, heads, paper = task.c, task.heads, task.choices == "paper"
    values = power(Fraction(task.alphabet), c)
    q = _probability(task, eta1 + eta2, delta)
    if q <= 0:
        raise UsageError(f"no q > 0 is left for layer {task.layer}")
    phi = (1 - eta1 - eta2) * task.C
    rate = delta**2 * q * phi
    B = Fraction(1, 2) if paper else B_BEST
    g = of(1) if not eta1 else short(c * (1 / (eta1 * task.C)))
    k, fixed, share = of(1), rounds(c, values, heads, eta2 * task.C), values * heads * (6 / rate)
    while True:
        r = k * heads if paper else short(fixed)
        T = short(values * r)
        f = short(neighbours(c, k, g, T) * (values if paper else 1))
        spread = of(max(int(k.top) ** 2 - 1, 1)) if paper else short(max(share, f))
        needed = short(least_k(c, g, f, spread, B, q, task.alphabet))
        if paper:
            needed = max(needed, short(fixed * Fraction(1, heads)), of(math.isqrt(math.ceil(share.top)) + 1))
        if needed <= k:
            break
        k = needed  # the right side grows with k, so this climbs to the least k that satisfies it
    n0 = max(ln(of(1 / B)) * (6 / rate), of(2 / (1 - task.C) if task.layer == 1 else 1))
    c_out = short(dependencies(c, values, k, heads))
    return LayerBounds(
        task.layer, c, task.C, task.C_out, eta1, eta2, q, delta, B, g, r, T, k, f, spread, short(n0), c_out
    )


def _parameters(task: _LayerTask) -> tuple[Fraction, Fraction, Fraction]:
    """``eta1``, ``eta2``, ``delta``: by a search in floats, constants where ``c`` is beyond them."""
    first = task.layer == 1 and task.choices == "best"
    if task.c.height or task.c.top > FLOAT_C:
        return TINY * task.loss, TINY * task.loss, TINY

    def split(point: list[float]) -> tuple[Fraction, Fraction, Fraction]:
        low = [_rounded(2.0**-x) for x in point]
        if task.choices == "paper":
            return low[0] * task.loss, low[0] * task.loss, low[1]
        return (Fraction(0) if first else low[2] * task.loss), low[0] * task.loss, low[1]

    def cost(point: list[float]) -> float:
        return _estimate(task, *split(point))

    start = [4.0, 3.0] if first or task.choices == "paper" else [6.0, 4.0, 6.0]
    return split(_descend(cost, start, [(1.0, 60.0)] * len(start)))


def _rounded(x: float) -> Fraction:
    """Two significant digits: parameters that a person can copy."""
    return Fraction(Decimal(f"{x:.1e}"))


def _estimate(task: _LayerTask, eta1: Fraction, eta2: Fraction, delta: Fraction) -> float:
    """About ``log2 k`` by floats, plus a little for ``n0``; infinite where no ``q`` is left."""
    q = float(_probability(task, eta1 + eta2, delta))
    if q <= 0 or (1 + delta) * Fraction(q) >= 1:
        return math.inf
    c, heads, s = float(task.c.top), task.heads, task.alphabet
    paper, C = task.choices == "paper", float(task.C)
    phi = (1 - float(eta1 + eta2)) * C
    rate = float(delta) ** 2 * q * phi
    if rate <= 0:
        return math.inf
    g = max(0.0, math.log2(c / (float(eta1) * C))) if eta1 else 0.0
    symbols = c * math.log2(s)
    r = math.log2(c) + symbols + math.log2(heads / (float(eta2) * C))
    overlap = math.log2(c * (2**g - 1) + 1) if g < 500 else g + math.log2(c)
    p = c * math.log2(s / q)
    chance = p if p > 50 else -math.log2(-math.log1p(-(2.0**-p)))
    k = 0.0
    for _ in range(60):
        T = symbols + (k + math.log2(heads) if paper else r)
        f = math.log2(c) + k + g + T + (symbols if paper else 0)
        share = symbols + math.log2(6 * heads / rate)
        spread = 2 * k if paper else max(share, f)
        ratio = 2.0 ** min(f - spread, 1000)
        weight = spread * math.log(2) + ratio + (math.log(2) if paper else -math.log1p(-float(B_BEST)))
        k, old = max(math.log2(weight) + overlap + chance, max(share / 2, r - math.log2(heads)) if paper else 0), k
        if abs(k - old) < 1e-9:
            break
    return k + THEOREM.n0_weight * math.log2(1 / rate)


def _descend(cost: Callable[[list[float]], float], start: list[float], box: list[tuple[float, float]]) -> list[float]:
    """Pattern search: steps along the axes, halved where none helps. Deterministic; an estimate of the minimum."""
    point, best, step = list(start), cost(start), 4.0
    while step > 0.02:
        better = False
        for axis, (low, high) in enumerate(box):
            for sign in (1.0, -1.0):
                other = list(point)
                other[axis] = min(high, max(low, point[axis] + sign * step))
                value = cost(other)
                if value < best:
                    point, best, better = other, value, True
        if not better:
            step /= 2
    return point


# ---------------------------------------------------------------- all layers


def theorem_bounds(
    layers: int, heads: int, fraction: float | str | Fraction, *, alphabet: int = 2, choices: Choices = "best"
) -> TheoremBounds:
    """Explicit constants of Theorem 1: ``c`` and ``n0``, and the parameters of Lemma 4 for every layer.

    For every hard-attention transformer with these sizes and every ``n >= n0`` there is a restriction with at least
    ``fraction * n`` free positions under which each output is a function of at most ``c`` inputs.

    >>> theorem_bounds(1, 2, 0.9).c < theorem_bounds(1, 2, 0.9, choices="paper").c
    True

    Cost: about a second at worst. Source: Hahn (2020), Theorem 1 and Lemma 4.

    Args:
        layers: ``L``, 1 .. 64.
        heads: ``H`` per layer, 1 .. 10^9.
        alphabet: ``s`` symbols, 2 .. 10^9.
        fraction: ``C``, at least 10^-9 and at most 1 - 10^-9; a float counts as the decimal that Python prints for it.
        choices: ``"best"``, or ``"paper"`` for the paper's own choices of weights and thresholds (``layers = 1``).

    Returns:
        A :class:`TheoremBounds`; ``c``, ``n0`` and the other integers are certified bounds, each a
        :class:`restrict.depth_reduction.constants.tower.Tower` with exact order and ``str``. That the split of ``C``
        over the layers is the best is an estimate; that the inequalities hold for it is exact
        (:func:`restrict.depth_reduction.constants.inequalities.verify`).

    Raises:
        UsageError: an argument is outside its range; the message names the nearest value inside.
    """
    layers = _in_range("layers", layers, 1, MAX_LAYERS)
    heads = _in_range("heads", heads, 1, MAX_SIZE)
    alphabet = _in_range("alphabet", alphabet, 2, MAX_SIZE)
    if choices not in ("best", "paper"):
        raise UsageError(f"choices {choices!r} is neither 'best' nor 'paper'")
    if choices == "paper" and layers != 1:
        raise UsageError(f"the paper's own choices are worked out for one layer; layers = {layers}, nearest is 1")
    target = _fraction(fraction)
    shares = _split(layers, heads, target, alphabet)
    return TheoremBounds(layers, heads, alphabet, target, choices, _steps(shares, heads, alphabet, choices))


def _steps(shares: list[Fraction], heads: int, alphabet: int, choices: Choices) -> tuple[LayerBounds, ...]:
    """Lemma 4 once per layer; ``shares`` holds the free share at the start and after each layer."""
    steps: list[LayerBounds] = []
    c = of(1)
    for layer, (before, after) in enumerate(pairwise(shares), start=1):
        task = _LayerTask(layer, c, before, after, heads, alphabet, choices)
        steps.append(_step(task, *_parameters(task)))
        c = steps[-1].c_out
    return tuple(steps)


def _shares(target: Fraction, weights: list[float]) -> list[Fraction]:
    """The free share at the start and after each layer, when the layers share ``ln(1/C)`` in these proportions."""
    start = 1 - (1 - target) / 1000
    total, log = sum(weights), math.log(float(target / start))
    shares, done = [start], 0.0
    for weight in weights[:-1]:
        done += weight / total
        loss = Fraction(-math.expm1(log * done))
        shares.append(Fraction(round(start * (1 - loss) * PLACES), PLACES))
    return [*shares, target]


def _split(layers: int, heads: int, target: Fraction, alphabet: int) -> list[Fraction]:
    """An estimate of the best split of ``C``. The ``c`` of a layer almost alone decides how large that of the next is,
    so the first layers get nearly all; only the second and third are searched, later ones get a millionth each."""
    if layers == 1:
        return _shares(target, [1.0])

    def weights(point: list[float]) -> list[float]:
        chosen = [2.0**-x for x in point]
        return [1 - sum(chosen), *chosen, *[2.0**-20] * (layers - 1 - len(chosen))]

    def cost(point: list[float]) -> float:
        if sum(2.0**-x for x in point) >= 1:
            return math.inf
        return _tower_estimate(_shares(target, weights(point))[: len(point) + 2], heads, alphabet)

    start = [3.0] if layers == 2 else [3.0, 14.0]
    return _shares(target, weights(_descend(cost, start, [(0.1, 30.0)] * len(start))))


def _tower_estimate(shares: list[Fraction], heads: int, alphabet: int) -> float:
    """About ``log2 c`` after two layers, or ``log2 log2 c`` after three, by floats."""
    task = _LayerTask(1, of(1), shares[0], shares[1], heads, alphabet, "best")
    if task.loss <= 0 or shares[2] >= shares[1]:
        return math.inf
    first = _estimate(task, *_parameters(task))
    c = float(alphabet * heads * 2.0**first + 1)
    task = _LayerTask(2, of(Fraction(c)), shares[1], shares[2], heads, alphabet, "best")
    log2_c = math.log2(c * heads) + c * math.log2(alphabet) + _estimate(task, *_parameters(task))
    if len(shares) == 3:
        return log2_c
    third = 1 - float(shares[3] / shares[2])
    return log2_c + math.log2(math.log2(alphabet) + math.log2(alphabet / third)) if third > 0 else math.inf


# ---------------------------------------------------------------- arguments


def _in_range(name: str, value: SupportsIndex, least: int, most: int) -> int:
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UsageError(f"{name} = {value!r} must be an integer in {least} .. {most}")
    if not least <= number <= most:
        near = least if number < least else most
        raise UsageError(f"{name} = {number} must be in {least} .. {most}; the nearest value is {near}")
    return number


def _fraction(value: float | str | Fraction) -> Fraction:
    """``C`` as the rational that was written."""
    try:
        if isinstance(value, Fraction):
            exact = value
        else:
            written = Decimal(str(value))
            exact = Fraction(written) if abs(written.adjusted()) <= 1000 else Fraction(2 if written > 1 else -1)
    except (InvalidOperation, ValueError, OverflowError):
        raise UsageError(f"C = {value!r} is not a number; write a fraction such as 0.9") from None
    if not SMALLEST <= exact <= 1 - SMALLEST:
        near = "0.000000001" if exact < SMALLEST else "0.999999999"
        raise UsageError(f"C = {value} must be at least 1e-9 and at most 1 - 1e-9; the nearest value is {near}")
    return exact
