"""The inequalities behind Theorem 1 (Hahn 2020, sections 5 and 5.1), and their verification in exact arithmetic.

One application of the Depth Reduction Lemma (Lemma 4) takes a c-transformer with at least ``C n`` free positions to a
c'-transformer with one layer less and at least ``C' n`` free positions, for every ``n >= n0``. With ``s`` symbols,
``H`` heads and ``phi = (1 - eta1 - eta2) C``, the numbers ``eta1, eta2, q, delta, B`` (rationals), ``g, r, T, f, F, k``
(integers) are enough if they satisfy the inequalities below. The proof is that of the paper with the repairs of
docs/errata.md; the numbers in brackets are the paper's equations.

**Stage 1.** At most ``eta1 C n`` inputs feed more than ``g`` layer-0 activations, since there are at most ``c n`` pairs
of an input and an activation it feeds; they are fixed:

- *degree*: ``c <= eta1 C g``. In the first layer ``y_j`` is a function of ``x_j`` alone, so ``g = 1`` and
  ``eta1 = 0`` are enough.

**Stage 2.** A pair ``(i, h, z)`` (``z`` one of at most ``s^c`` values of ``y_i``) selects up to ``k`` activations in
the order of their largest score (7); each has a free input that no earlier one has, and all activations it passes over
are covered by the inputs of those selected. The pair is *captured* when the positions that rank above its best constant
key have at most ``c k`` free inputs altogether; fixing more keeps it so. While more than ``T`` pairs that are not
captured select the same activation, it is fixed to the value that is the maximiser of most of them, at least ``r``, and
captures these:

- *pigeonhole*: ``s^c r <= T``;
- *rounds*: ``c s^c H <= eta2 C r``: at most ``s^c H n / r`` rounds fix ``c`` inputs each, together ``eta2 C n``;
- *neighbours*: ``c k g T <= f``: the at most ``c k`` inputs of a pair feed ``g`` activations each, and each of these
  is selected by at most ``T`` pairs. This counts pairs, so events, and not heads.

**Stage 3.** Every free input becomes a given symbol with probability ``q / s`` each and stays free with ``1 - q``. Bad
events: ``X(i, h, z)``, no selected activation is fixed to its maximiser; ``X0``, more than ``(1 + delta) q`` of the
free inputs are fixed. An activation is fixed to its maximiser with probability at least ``p = (q/s)^c``; among ``k``
selected ones at least ``k / (c (g-1) + 1)`` share no input. The weights of the asymmetric local lemma are
``A = 1 / (F+1)`` for the pairs and ``B`` for ``X0``. As ``(1 - A)^f = (1 + 1/F)^-f >= exp(-f/F)``, it is enough that

- *pair events* (9), (10), (12): ``k ln(1/(1-p)) >= (c (g-1) + 1) (ln(F+1) + f/F + ln(1/(1-B)))``;
- *share* (8), (11): ``6 s^c H <= F delta^2 q phi``, and
- *length* (8), (11): ``6 ln(1/B) <= n0 delta^2 q phi``: together they make the Chernoff bound
  ``exp(-delta^2 q phi n / 3)`` of ``X0`` at most ``B (1-A)^(s^c H n)``, for the at most ``s^c H n`` pair events;
- *free positions* (6): ``C' <= phi (1 - (1 + delta) q)``;
- *dependencies* (Lemma 4): ``c (s^c k H + 1) <= c'``;
- *markers*: the at most two positions that a model pins are not free, so the first layer starts with ``C < 1`` and
  ``2 <= (1 - C) n0``.

:mod:`restrict.depth_reduction.constants.theorem_bounds` finds numbers that satisfy them; :func:`verify` shares nothing
with that search but the formulas of the left sides below, and computes with
:mod:`restrict.depth_reduction.constants.tower`, which always rounds up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from restrict.base.errors import InternalError
from restrict.base.options import Fact
from restrict.base.wording import columns
from restrict.depth_reduction.constants.tower import Tower, ln, of, power

Choices = Literal["best", "paper"]


@dataclass(frozen=True)
class LayerBounds:
    """One application of Lemma 4, in the names of the module's text; ``c_out`` is ``c'``, ``C_out`` is ``C'``."""

    layer: int
    c: Tower
    C: Fraction
    C_out: Fraction
    eta1: Fraction
    eta2: Fraction
    q: Fraction
    delta: Fraction
    B: Fraction
    g: Tower
    r: Tower
    T: Tower
    k: Tower
    f: Tower
    F: Tower
    n0: Tower
    c_out: Tower

    @property
    def phi(self) -> Fraction:
        """At least ``phi n`` positions are free after Stage 2."""
        return (1 - self.eta1 - self.eta2) * self.C


@dataclass(frozen=True)
class Inequality:
    """One inequality of the proof: an upper bound of its left side, and its right side exactly."""

    layer: int
    name: str
    statement: str
    left: Tower
    right: Tower

    @property
    def holds(self) -> bool:
        """Whether the left side is at most the right side: exact."""
        return self.left <= self.right


@dataclass(frozen=True)
class TheoremBounds:
    """What Theorem 1 promises: for ``n >= n0`` a restriction with at least ``fraction * n`` free positions under which
    every output is a function of at most ``c`` inputs."""

    layers: int
    heads: int
    alphabet: int
    fraction: Fraction
    choices: Choices
    steps: tuple[LayerBounds, ...]

    @property
    def c(self) -> Tower:
        """Bound on the inputs that an output depends on."""
        return self.steps[-1].c_out

    @property
    def k(self) -> Tower:
        """``k`` of the last step."""
        return self.steps[-1].k

    @property
    def n0(self) -> Tower:
        """The inequalities hold for every length from here on; for ``n <= c`` the statement is empty."""
        return max(step.n0 for step in self.steps)

    @property
    def split(self) -> tuple[Fraction, ...]:
        """The free share after each layer; the last is ``fraction``."""
        return tuple(step.C_out for step in self.steps)

    def verify(self) -> tuple[Inequality, ...]:
        """Every inequality, evaluated; see :func:`verify`."""
        return verify(self)

    def checked(self) -> tuple[Inequality, ...]:
        """Every inequality, after a check that all of them hold; ``InternalError``: one does not, which is a bug."""
        checked = self.verify()
        bad = next((item for item in checked if not item.holds), None)
        if bad is not None:
            raise InternalError(f"layer {bad.layer}: {bad.statement} does not hold; please report these arguments")
        return checked

    def __repr__(self) -> str:
        return (
            f"TheoremBounds(layers={self.layers}, heads={self.heads}, alphabet={self.alphabet}, "
            f"C={float(self.fraction):g}, c={self.c}, n0={self.n0})"
        )

    def document(self) -> dict[str, Any]:
        """Everything exactly, and how many inequalities hold, for JSON; ``InternalError``: one does not."""

        def shown(value: Tower | Fraction | int | str) -> object:
            return (
                value.document() if isinstance(value, Tower) else str(value) if isinstance(value, Fraction) else value
            )

        names = ("layers", "heads", "alphabet", "fraction", "choices", "c", "n0")
        out = {name: shown(getattr(self, name)) for name in names}
        steps = [{name: shown(value) for name, value in vars(step).items()} for step in self.steps]
        return out | {"steps": steps, "inequalities_checked": len(self.checked())}

    def text(self, inequalities: bool = False) -> str:
        """The bounds in words and as a table; with ``inequalities`` each of them on a line. ``InternalError``: one does
        not hold, which is a bug."""
        share, checked = _share(self.fraction), self.checked()
        lines = [
            f"Theorem 1 for L = {self.layers}, H = {self.heads}, alphabet of {self.alphabet}, C = {share}: for every "
            "n >= n0, some restriction leaves at least",
            f"{share} n positions free, and every output then depends on at most c inputs.",
            f"  c  = {self.c}  (certified bound)",
            f"  n0 = {self.n0}  (certified bound)",
        ]
        if self.n0 <= self.c:
            lines.append("  n0 <= c: an input that is shorter than n0 has fewer than c symbols, so c bounds every n")
        lines += ["", _table(self.steps), ""]
        if self.layers > 1:
            lines.append("split of C over the layers: estimate of the best split; the inequalities hold exactly for it")
        held = f"all {len(checked)} inequalities of the proof hold for these numbers (exact)"
        lines += [f"{held}; they are printed rounded,", "large ones up, and --json has them exactly"]
        if inequalities:
            rows = [
                (str(i.layer), i.name, i.statement, "holds" if i.name == "range" else f"{i.left} <= {i.right}")
                for i in checked
            ]
            lines += ["", columns(rows, indent="  ")]
        return "\n".join(lines)


SHOWN: Fact[int] = 4
"""Layers of the table; where there are more, it shows the first three and the last."""
LABELS = {
    "c": "c before", "g": "degree g", "r": "captured a round r", "T": "threshold T", "f": "neighbours f",
    "F": "1/A - 1", "k": "k", "n0": "n0", "c_out": "c after",
}  # fmt: skip


def _table(steps: tuple[LayerBounds, ...]) -> str:
    steps = steps if len(steps) <= SHOWN else (*steps[:3], steps[-1])
    rows = [["layer", *[str(s.layer) for s in steps]]]
    rows += [[name, *[_share(getattr(s, name)) for s in steps]] for name in ("C", "eta1", "eta2", "q", "delta")]
    rows += [[label, *[str(getattr(s, name)) for s in steps]] for name, label in LABELS.items()]
    rows.insert(2, ["C after", *[_share(s.C_out) for s in steps]])
    return columns(rows, indent="  ")


def _share(x: Fraction) -> str:
    """A rational in short: a decimal of up to nine characters, else rounded to six digits."""
    short = f"{float(x):.10g}"
    return short if len(short) <= 9 else f"{float(x):.6g}"


# ---------------------------------------------------------------- the inequalities


def verify(bounds: TheoremBounds) -> tuple[Inequality, ...]:
    """Evaluate every inequality of the proof for the given numbers. It recomputes each left side from the parameters
    alone, rounded up, and trusts nothing of the search. Returns all of them, whether they hold or not (up to the first
    step that is out of range); the bounds are proved if all hold. Cost: milliseconds per layer."""
    found: list[Inequality] = []
    c, share = of(1), Fraction(1)
    for index, step in enumerate(bounds.steps):
        found += _chain(step, index, c, share)
        if not all(i.holds for i in found):
            return tuple(found)  # the formulas have no meaning outside the ranges
        found += _inequalities(step, index + 1, bounds.heads, bounds.alphabet)
        c, share = step.c_out, step.C_out
    item = partial(_item, bounds.layers)
    last = item("target", "fraction <= C of the last layer", bounds.fraction, share)
    return (*found, item("chain", "layers <= number of steps", bounds.layers, len(bounds.steps)), last)


def _item(
    layer: int, name: str, statement: str, left: Tower | Fraction | int, right: Tower | Fraction | int
) -> Inequality:
    return Inequality(layer, name, statement, of(left), of(right))


def _chain(step: LayerBounds, index: int, c: Tower, share: Fraction) -> Iterator[Inequality]:
    """The step begins where the one below ended, and its parameters are in their ranges."""

    item = partial(_item, index + 1)
    yield item("chain", "c of the layer below <= c", c, step.c)
    yield item("chain", "C <= C of the layer below", step.C, share)
    below_one = {
        "eta1 + eta2": step.eta1 + step.eta2,
        "q": step.q,
        "B": step.B,
        "(1 + delta) q": (1 + step.delta) * step.q,
    }
    for name, value in below_one.items():
        yield item("range", f"0 < {name} < 1", 0 if 0 < value < 1 else 1, 0)
    yield item("range", "0 < delta <= 1", 0 if 0 < step.delta <= 1 else 1, 0)
    signs = step.eta1 >= 0 and step.eta2 > 0 and 0 < step.C_out < step.C
    yield item("range", "0 <= eta1, 0 < eta2, 0 < C' < C", 0 if signs else 1, 0)
    for name, number in (("g", step.g), ("r", step.r), ("k", step.k), ("F", step.F), ("n0", step.n0)):
        yield item("range", f"1 <= {name}, an integer", 1 if number.top.denominator == 1 else number + 1, number)
    if index == 0:
        yield item("markers", "2 <= (1 - C) n0", 2 / (1 - step.C) if step.C < 1 else step.n0 + 1, step.n0)


def _inequalities(step: LayerBounds, layer: int, heads: int, alphabet: int) -> Iterator[Inequality]:
    """The inequalities of the module's text for one layer, in its order."""
    values = power(Fraction(alphabet), step.c)
    rate, item = step.delta**2 * step.q * step.phi, partial(_item, layer)

    if layer == 1 and step.eta1 == 0:
        yield item("degree", "c <= 1 <= g: each input feeds one activation", step.c, of(1))
    else:
        bad = step.eta1 <= 0
        left = step.g + 1 if bad else step.c * (1 / (step.eta1 * step.C))
        yield item("degree", "c / (eta1 C) <= g", left, step.g)
    yield item("pigeonhole", "s^c r <= T", values * step.r, step.T)
    yield item("rounds", "c s^c H / (eta2 C) <= r", rounds(step.c, values, heads, step.eta2 * step.C), step.r)
    yield item("neighbours", "c k g T <= f", neighbours(step.c, step.k, step.g, step.T), step.f)
    events = "(c (g-1) + 1) (ln(F+1) + f/F + ln(1/(1-B))) / ln(1/(1-p)) <= k"
    yield item("pair events", events, least_k(step.c, step.g, step.f, step.F, step.B, step.q, alphabet), step.k)
    yield item("share", "6 s^c H / (delta^2 q phi) <= F", values * heads * (6 / rate), step.F)
    yield item("length", "6 ln(1/B) / (delta^2 q phi) <= n0", ln(of(1 / step.B)) * (6 / rate), step.n0)
    free = step.phi * (1 - (1 + step.delta) * step.q)
    yield item("free positions", "C' <= phi (1 - (1 + delta) q)", step.C_out, free)
    yield item("dependencies", "c (s^c k H + 1) <= c'", dependencies(step.c, values, step.k, heads), step.c_out)


def rounds(c: Tower, values: Tower, heads: int, share: Fraction) -> Tower:
    """The most rounds of Stage 2."""
    return c * values * heads * (1 / share)


def neighbours(c: Tower, k: Tower, g: Tower, selected: Tower) -> Tower:
    """The most neighbours of an event."""
    return c * k * g * selected


def dependencies(c: Tower, values: Tower, k: Tower, heads: int) -> Tower:
    """``c'``: the inputs of an activation after the layer is removed."""
    return c * (values * k * heads + 1)


def least_k(c: Tower, g: Tower, f: Tower, spread: Tower, B: Fraction, q: Fraction, alphabet: int) -> Tower:
    """An upper bound of the right side of *pair events*, divided by ``ln(1/(1-p))``."""
    ratio = of(1) if f <= spread else f  # an upper bound either way, since F >= 1
    if f.height == spread.height == 0:
        ratio = of(f.top / spread.top)
    weight = ln(spread + 1) + ratio + ln(of(1 / (1 - B)))
    overlap = of((g.top - 1) * c.top + 1) if g.height == c.height == 0 else c * g
    return weight * overlap * _inverse_log(q / alphabet, c)


def _inverse_log(p: Fraction, c: Tower) -> Tower:
    """At least ``1 / ln(1/(1-p^c))``, by ``ln(1/(1-p)) = p + p^2/2 + ...``: 60 terms for ``c = 1``, else the first."""
    if c != of(1):
        return power(1 / p, c)
    # Integers in units of 2^-256, rounded down: the logarithm comes out a little too small, its inverse too large.
    one = fixed = p.numerator * 2**256 // p.denominator
    total = 0
    for t in range(1, 61):
        total += fixed // t
        fixed = fixed * one >> 256
    return of(Fraction(2**256, total))
