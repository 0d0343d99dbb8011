"""Which expressions over positions depend on position *classes* only.

With ``i`` the position and ``n`` the length, ``p = i`` and ``s = n - 1 - i`` are what an automaton can count from the
left and from the right. A :class:`Wave` is a function of ``p, s`` (and of ``p2, s2`` for the attended position ``j``)
that is *eventually affine and periodic*: from ``threshold`` on, adding ``period`` to a coordinate adds that
coordinate's ``slope``. A wave without slopes is **finite**: it depends on the class of every coordinate only, the
coordinate itself below ``threshold`` and its residue above. The rules, each a two-line proof:

- sums, differences and multiples of waves are waves; so is a floor division by a constant ``c`` (period times ``c``);
- the remainder of a wave by a constant is finite (period times ``c``);
- a comparison of waves is finite if all slopes of their difference have one sign: far out, that is its sign;
- ``min`` and ``max`` of waves whose difference has slopes of one sign are waves with the slopes of one of them, and
  ``abs(x)`` is ``max(x, -x)``; anything else is finite when its operands are.

``j - i`` is not a function of classes. Its comparison with a constant is finite in ``d``, the difference cut off at
``reach``; a wave carries that ``reach``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import lcm

import numpy as np

from restrict.arrays import I64
from restrict.errors import quote
from restrict.model.expr import Expr, name
from restrict.model.expr_parser import COMPARED, SIGNS
from restrict.model.rules import evaluate

Env = Mapping[str, I64]
COORDINATES = ("p", "s", "p2", "s2")
MAX_CLASSES = 4096
MAX_BLOCK = 1 << 20
REACH = 64
"""A window of more distances would need as many heads, and has too many states for any but the smallest program."""


class Declined(Exception):
    """Not order-only: the text says which sub-expression and why."""


@dataclass(frozen=True)
class Wave:
    """See the module. ``at`` evaluates at arrays of coordinates; ``reach`` bounds the differences told apart."""

    threshold: int
    period: int
    slope: tuple[int, int, int, int]
    at: Callable[[Env], I64]
    reach: int = 0
    uses: frozenset[str] = frozenset()

    @property
    def finite(self) -> bool:
        """Whether it depends on classes only."""
        return not any(self.slope)


@dataclass(frozen=True)
class Linear:
    """``i * position + j * attended + n * length + constant``."""

    i: int
    j: int
    n: int
    constant: int

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        """The sum, or the difference."""
        return Linear(
            self.i + sign * other.i,
            self.j + sign * other.j,
            self.n + sign * other.n,
            self.constant + sign * other.constant,
        )

    @property
    def known(self) -> bool:
        """Whether it is a number."""
        return not (self.i or self.j or self.n)

    def wave(self, by_j: bool | None = None) -> Wave:
        """As a function of ``p, s, p2, s2``; by default ``n`` is read from the side of ``j`` where ``i`` does not
        occur."""
        if by_j is None:
            by_j = self.i == 0 and self.j != 0
        slope = (self.i, 0, self.j + self.n, self.n) if by_j else (self.i + self.n, self.n, self.j, 0)
        base = self.n + self.constant

        def at(env: Env) -> I64:
            return np.asarray(
                base + sum(k * env[c] for k, c in zip(slope, COORDINATES, strict=True) if k) + 0 * env["p"]
            )

        uses = frozenset(c for k, c in zip(slope, COORDINATES, strict=True) if k)
        return Wave(0, 1, slope, at, 0, uses)


Form = Linear | Wave


def show(expr: Expr) -> str:
    """An expression in words, short."""
    if expr.op == "const":
        return str(expr.value)
    if expr.op == "name":
        return expr.text
    if expr.op in SIGNS or expr.op in ("and", "or"):
        return f"({show(expr.args[0])} {SIGNS.get(expr.op, expr.op)} {show(expr.args[1])})"
    if expr.op == "select":
        return f"({show(expr.args[1])} if {show(expr.args[0])} else {show(expr.args[2])})"
    if expr.op in ("mix", "fin"):  # a hash is a chain of mixing steps on a seed
        absorbed: list[str] = []
        while expr.op in ("mix", "fin"):
            absorbed[:0] = [show(a) for a in expr.args[1:]]
            expr = expr.args[0]
        return f"hash({', '.join(absorbed)})"
    return f"{expr.op}({', '.join(show(a) for a in expr.args)})"


def _decline(expr: Expr, why: str) -> Declined:
    return Declined(f"the sub-expression {quote(show(expr), 90)} {why}")


def analyse(expr: Expr) -> Form:
    """The form of an expression over ``i``, ``j`` and ``n``. Raises :class:`Declined`. Cost linear in the tree."""
    match expr.op:
        case "const":
            return Linear(0, 0, 0, expr.value)
        case "name":
            return Linear(int(expr.text == "i"), int(expr.text == "j"), int(expr.text == "n"), 0)
    if expr.op == "gather":
        raise _decline(expr, "is a table over positions, which grows with n")
    if expr.op == "select":
        return _select(expr)
    args = [analyse(a) for a in expr.args]
    if expr.op in ("add", "sub"):
        return _sum(args[0], args[1], 1 if expr.op == "add" else -1)
    if expr.op == "mul":
        return _product(expr, args)
    if expr.op in ("div", "mod"):
        return _divide(expr, args)
    if expr.op in COMPARED:
        return _compare(expr, args[0], args[1])
    if expr.op in ("min", "max"):
        return _choose(expr, args)
    if expr.op == "abs":
        return _better(expr, args[0], _sum(Linear(0, 0, 0, 0), args[0], -1), True)
    if expr.op in ("and", "or", "not"):
        return _pointwise(expr, [truth(expr, a) for a in args])
    return _pointwise(expr, [_finite(expr, a) for a in args])


def wave(form: Form) -> Wave:
    """A form as a wave."""
    return form.wave() if isinstance(form, Linear) else form


def _finite(expr: Expr, form: Form) -> Wave:
    out = wave(form)
    if not out.finite:
        raise _decline(expr, "grows with the position or with n inside a function that is not periodic")
    return out


def _pointwise(expr: Expr, args: list[Wave]) -> Wave:
    """Any operator on finite waves."""
    whole = Expr(expr.op, tuple(name(f"x{at}") for at in range(len(args))))

    def at(env: Env) -> I64:
        values = [np.ascontiguousarray(a.at(env), dtype=np.int64).reshape(-1) for a in args]
        return evaluate(whole, {f"x{t}": v for t, v in enumerate(values)}, len(env["p"]))

    return _joined(args, (0, 0, 0, 0), at)


def _joined(args: list[Wave], slope: tuple[int, int, int, int], at: Callable[[Env], I64], times: int = 1) -> Wave:
    period = lcm(*(a.period for a in args)) * times
    threshold = max(a.threshold for a in args)
    if threshold + period > MAX_CLASSES:
        raise Declined(f"positions would have to be told apart up to {threshold} and modulo {period}")
    return Wave(threshold, period, slope, at, max(a.reach for a in args), frozenset().union(*(a.uses for a in args)))


def _scaled(args: list[Wave]) -> list[tuple[int, ...]]:
    period = lcm(*(a.period for a in args))
    return [tuple(k * (period // a.period) for k in a.slope) for a in args]


def _sum(one: Form, two: Form, sign: int) -> Form:
    if isinstance(one, Linear) and isinstance(two, Linear):
        return one.plus(two, sign)
    a, b = wave(one), wave(two)
    slopes = _scaled([a, b])
    slope = tuple(x + sign * y for x, y in zip(*slopes, strict=True))
    return _joined([a, b], slope, lambda env: a.at(env) + sign * b.at(env))


def _product(expr: Expr, args: list[Form]) -> Form:
    for one, two in (args, args[::-1]):
        if isinstance(one, Linear) and one.known:
            c = one.constant
            if isinstance(two, Linear):
                return Linear(c * two.i, c * two.j, c * two.n, c * two.constant)
            return _times(c, two)
    return _pointwise(expr, [_finite(expr, a) for a in args])


def _times(c: int, w: Wave) -> Wave:
    """A multiple of a wave."""
    slope = tuple(c * k for k in w.slope)
    return Wave(w.threshold, w.period, slope, lambda env: np.asarray(c * w.at(env)), w.reach, w.uses)  # type: ignore[arg-type]


def _divide(expr: Expr, args: list[Form]) -> Form:
    """Floor division and remainder: by a constant any wave, else finite ones only."""
    a, b = wave(args[0]), args[1]
    if not (isinstance(b, Linear) and b.known):
        return _pointwise(expr, [_finite(expr, x) for x in args])
    c = b.constant
    if c == 0:
        raise _decline(expr, "divides by 0")
    # From p to p + period * |c| the dividend grows by slope * |c|, a multiple of c.
    if expr.op == "mod":
        return _joined([a], (0, 0, 0, 0), lambda env: a.at(env) % c, 1 if a.finite else abs(c))
    slope = tuple(k * abs(c) // c for k in a.slope)
    return _joined([a], slope, lambda env: a.at(env) // c, 1 if a.finite else abs(c))  # type: ignore[arg-type]


def truth(expr: Expr, form: Form) -> Wave:
    """Whether a form is not 0."""
    found = _sign(expr, form)
    return _joined([found], (0, 0, 0, 0), lambda env: (found.at(env) != 0).astype(np.int64))


def _compare(expr: Expr, one: Form, two: Form) -> Wave:
    sign = _sign(expr, _sum(one, two, -1))
    test = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}
    compare = test.get(expr.op, np.greater_equal)
    return _joined([sign], (0, 0, 0, 0), lambda env: compare(sign.at(env), 0).astype(np.int64))


def _sign(expr: Expr, difference: Form) -> Wave:
    """The sign of a wave, as a finite wave. Raises :class:`Declined` where slopes of both signs meet."""
    if isinstance(difference, Linear) and difference.i == -difference.j and difference.i and not difference.n:
        scale, constant = difference.j, difference.constant
        reach = abs(constant) // abs(scale) + 1
        if reach > REACH:
            raise _decline(expr, f"tells {reach} distances j - i apart; the limit is {REACH}")
        return Wave(0, 1, (0, 0, 0, 0), lambda env: np.sign(scale * env["d"] + constant), reach, frozenset({"d"}))
    d = wave(difference)
    if d.finite:
        return _joined([d], (0, 0, 0, 0), lambda env: np.sign(d.at(env)))
    if min(d.slope) < 0 < max(d.slope):
        raise _decline(expr, "compares positions with each other or with a share of n, which no finite automaton can")
    if d.reach:
        raise _decline(expr, "mixes j - i with the position itself")
    least = min(abs(k) for k in d.slope if k)
    bound = int(np.abs(d.at(block(d.threshold + d.period, d.uses))).max())
    threshold = d.threshold + d.period * (bound // least + 2)
    if threshold + d.period > MAX_CLASSES:
        raise _decline(expr, f"tells positions apart up to {threshold}; the limit is {MAX_CLASSES}")
    return Wave(threshold, d.period, (0, 0, 0, 0), lambda env: np.sign(d.at(env)), 0, d.uses)


def block(size: int, uses: frozenset[str]) -> dict[str, I64]:
    """All points with every used coordinate in ``0 .. size-1`` and the others 0."""
    used = [c for c in COORDINATES if c in uses]
    if size ** len(used) > MAX_BLOCK:
        raise Declined(f"positions would have to be told apart up to {size} on {len(used)} sides")
    grid = np.meshgrid(*[np.arange(size, dtype=np.int64) for _ in used], indexing="ij") if used else []
    total = size ** len(used)
    out = {c: np.zeros(total, dtype=np.int64) for c in (*COORDINATES, "d")}
    return out | {c: g.reshape(-1) for c, g in zip(used, grid, strict=True)}


def _choose(expr: Expr, args: list[Form]) -> Form:
    out = args[0]
    for other in args[1:]:
        out = _better(expr, out, other, expr.op == "max")
    return out


def _better(expr: Expr, one: Form, two: Form, larger: bool) -> Form:
    """The smaller or the larger of two waves of which one is ahead in every coordinate: it has that one's slopes."""
    a, b = _alike(one, two)
    first, second = _scaled([a, b])
    gap = tuple(x - y for x, y in zip(first, second, strict=True))
    sign = _sign(expr, _joined([a, b], gap, lambda env: a.at(env) - b.at(env)))  # type: ignore[arg-type]
    slope = (max if larger else min)(first, second, key=sum)
    pick = np.maximum if larger else np.minimum
    return _joined([sign], slope, lambda env: pick(a.at(env), b.at(env)))  # type: ignore[arg-type]


def _alike(one: Form, two: Form) -> tuple[Wave, Wave]:
    """Two forms as waves; of two lines, ``n`` is read from one side, on which one is ahead if there is such a side."""
    if isinstance(one, Linear) and isinstance(two, Linear):
        for by_j in (False, True):
            a, b = one.wave(by_j), two.wave(by_j)
            gap = [x - y for x, y in zip(a.slope, b.slope, strict=True)]
            if min(gap) >= 0 or max(gap) <= 0:
                return a, b
    return wave(one), wave(two)


def _rescale(slope: list[int], args: list[Wave], sign: Wave) -> tuple[int, int, int, int]:
    """Slopes per common period, as slopes per the period that includes the sign's."""
    inner = lcm(*(a.period for a in args))
    return tuple(k * (lcm(inner, sign.period) // inner) for k in slope)  # type: ignore[return-value]


def _select(expr: Expr) -> Form:
    condition = analyse(expr.args[0])
    if isinstance(condition, Linear) and condition.known:
        return analyse(expr.args[1] if condition.constant else expr.args[2])
    test, one, two = truth(expr, condition), analyse(expr.args[1]), analyse(expr.args[2])
    a, b = wave(one), wave(two)
    slopes = _scaled([a, b])
    if slopes[0] != slopes[1]:
        raise _decline(expr, "grows differently in its two branches")
    slope = _rescale(list(slopes[0]), [a, b], test)
    return _joined([a, b, test], slope, lambda env: np.where(test.at(env) != 0, a.at(env), b.at(env)))


def points(*columns: tuple[str, I64]) -> dict[str, I64]:
    """An environment from columns of one length; coordinates that are not given are 0."""
    size = len(columns[0][1]) if columns else 1
    return {c: np.zeros(size, dtype=np.int64) for c in (*COORDINATES, "d")} | dict(columns)


def grid(*sizes: int) -> list[tuple[int, ...]]:
    """The product of ranges."""
    return list(product(*(range(s) for s in sizes)))
