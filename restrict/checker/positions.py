"""Which expressions depend on the *classes* of positions only: a position, counted from the left or from the right, is
told apart below ``threshold`` and by its residue modulo ``period`` from there on.

With ``p = i``, ``s = n-1-i``, ``p2 = j`` and ``s2 = n-1-j``, a :class:`Form` is a function of these four that from its
threshold on grows by ``slope`` in a coordinate when its period is added to that coordinate, whatever the others are.
Without slopes it depends on classes only (**finite**). By induction over the expression: sums and multiples add and
multiply slopes; division by a constant ``c`` multiplies the period by ``c``, and a remainder has no slopes; a
comparison is finite if the slopes of the difference have one sign, since beyond a bound on the difference over one
block of classes the sign is that of the slopes; any other operation is finite when its operands are.

``j - i`` is no function of classes, but its comparison with a constant is one of ``d = j - i`` that does not change
beyond a **reach**; the fifth coordinate is ``d``, and may be cut off at the reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from math import lcm
from typing import NamedTuple

from .account import Meter, Place, unproved
from .rules import Tree, compiled

MOST = 4096
POINTS = 1 << 20
REACH = 64
"""A comparison of ``j - i`` with a constant may tell apart at most this many distances to each side."""
Point = tuple[int, int, int, int, int]
Slopes = tuple[int, ...]
SIGNS: dict[str, Callable[[int], bool]] = {
    "==": lambda v: v == 0,
    "!=": lambda v: v != 0,
    "<": lambda v: v < 0,
    "<=": lambda v: v <= 0,
    ">": lambda v: v > 0,
    ">=": lambda v: v >= 0,
}


class Form(NamedTuple):
    """See the module. ``line`` is (i, j, n, constant) where the expression is that sum of multiples; ``uses`` are the
    coordinates that it reads; ``slope`` is of the first four."""

    threshold: int
    period: int
    slope: Slopes
    at: Callable[[Point], int]
    uses: frozenset[int]
    line: tuple[int, int, int, int] | None = None
    reach: int = 0


class Analysis:
    """The forms of one expression with all finite names replaced by numbers."""

    def __init__(self, place: Place, meter: Meter) -> None:
        self.place, self.meter = place, meter

    def refuse(self, why: str) -> None:
        """Not established."""
        unproved(self.place, f"positions enter in a way that is not covered: {why}")

    def form(self, tree: Tree, known: dict[str, int]) -> Form:
        """The form of a tree, bottom up; what no position enters is a number."""
        self.meter.charge(50)
        found = self.form_of(tree, known)
        constant = found.line is None and not found.uses and not any(found.slope)
        return self.linear(0, 0, 0, found.at((0, 0, 0, 0, 0))) if constant else found

    def form_of(self, tree: Tree, known: dict[str, int]) -> Form:
        """The same, by the operator."""
        if tree.op == "int":
            return self.linear(0, 0, 0, tree.value)
        if tree.op == "name":
            name = tree.value
            return self.linear(+(name == "i"), +(name == "j"), +(name == "n"), known.get(name, 0))
        if tree.op == "if":
            return self.choice(tree, known)
        args = [self.form(arg, known) for arg in tree.args]
        if tree.op in ("+", "-"):
            return self.sum(args[0], args[1], 1 if tree.op == "+" else -1)
        if tree.op == "neg":
            return self.sum(self.linear(0, 0, 0, 0), args[0], -1)
        if tree.op == "*" and (number(args[0]) is not None or number(args[1]) is not None):
            one, two = args if number(args[0]) is not None else reversed(args)
            return self.multiple(number(one) or 0, two)
        if tree.op in ("//", "%") and (divisor := number(args[1])):
            return self.division(tree.op, args[0], divisor)
        if tree.op in SIGNS or tree.op == "chain":
            signs = tree.value if tree.op == "chain" else (tree.op,)
            tests = [self.test(sign, self.sum(a, b, -1)) for sign, a, b in zip(signs, args, args[1:], strict=False)]
            return tests[0] if len(tests) == 1 else self.finite(tests, lambda v: +all(v))
        if tree.op in ("min", "max"):
            best = args[0]
            for other in args[1:]:
                best = self.better(tree.op, best, other)
            return best
        if tree.op == "abs":
            return self.better("max", args[0], self.sum(self.linear(0, 0, 0, 0), args[0], -1))
        if tree.op in ("and", "or", "not"):
            args = [self.test("!=", a) for a in args]
        return self.finite(args, operation(tree.op, len(tree.args)))

    def linear(self, i: int, j: int, n: int, constant: int) -> Form:
        """``n`` is read from the side of ``j`` where ``i`` does not occur."""
        slope = (0, 0, j + n, n) if j and not i else (i + n, n, j, 0)
        base = n + constant

        def at(point: Point) -> int:
            return base + sum(a * b for a, b in zip(slope, point, strict=False))

        return Form(0, 1, slope, at, frozenset(c for c in range(4) if slope[c]), (i, j, n, constant))

    def joined(self, args: list[Form], slope: Slopes, at: Callable[[Point], int], times: int = 1) -> Form:
        """A form made of others, with their common classes."""
        threshold, period = max(a.threshold for a in args), lcm(*(a.period for a in args)) * times
        if threshold + period > MOST:
            self.refuse(f"{threshold + period} classes of positions")
        uses: frozenset[int] = frozenset().union(*(a.uses for a in args))
        return Form(threshold, period, slope, at, uses, None, max(a.reach for a in args))

    def finite(self, args: list[Form], apply: Callable[[list[int]], int]) -> Form:
        """A function of finite forms."""
        if any(any(a.slope) for a in args):
            self.refuse("something that grows inside a function that is not periodic")
        return self.joined(args, (0, 0, 0, 0), lambda point: apply([a.at(point) for a in args]))

    def sum(self, one: Form, two: Form, sign: int) -> Form:
        """The sum, or the difference."""
        if one.line is not None and two.line is not None:
            i, j, n, constant = (a + sign * b for a, b in zip(one.line, two.line, strict=True))
            return self.linear(i, j, n, constant)
        first, second = scaled([one, two])
        slope = tuple(a + sign * b for a, b in zip(first, second, strict=True))
        return self.joined([one, two], slope, lambda point: one.at(point) + sign * two.at(point))

    def multiple(self, c: int, form: Form) -> Form:
        """A multiple."""
        if form.line is not None:
            i, j, n, constant = (c * part for part in form.line)
            return self.linear(i, j, n, constant)
        return form._replace(slope=tuple(c * k for k in form.slope), at=lambda point: c * form.at(point))

    def division(self, op: str, form: Form, c: int) -> Form:
        """Floor division or remainder by a constant."""
        times, apply = abs(c) if any(form.slope) else 1, operation(op, 2)
        slope = (0, 0, 0, 0) if op == "%" else tuple(k * abs(c) // c for k in form.slope)
        return self.joined([form], slope, lambda point: apply([form.at(point), c]), times)

    def test(self, sign: str, difference: Form) -> Form:
        """A comparison with 0, as a finite form."""
        threshold, period, slope = difference.threshold, difference.period, difference.slope
        if difference.line is not None and difference.line[1] == -difference.line[0] != 0 == difference.line[2]:
            scale, constant = difference.line[1], difference.line[3]
            reach = abs(constant) // abs(scale) + 1
            if reach > REACH:
                self.refuse(f"a comparison tells {reach} distances j - i apart; the limit is {REACH}")
            compare = SIGNS[sign]
            line = (0, 0, 0, 0)
            return Form(0, 1, line, lambda p: +compare(scale * p[4] + constant), frozenset((4,)), None, reach)
        if any(slope):
            if difference.reach:
                self.refuse("j - i and the position itself in one comparison")
            if min(slope) < 0 < max(slope):
                self.refuse("a comparison of positions with each other or with a share of n")
            size, used = threshold + period, sorted(difference.uses)
            if size ** len(used) > POINTS:
                self.refuse("too many classes to compare")
            self.meter.charge(20 * size ** len(used))
            bound = 0
            for values in product(range(size), repeat=len(used)):
                point = [0, 0, 0, 0]
                for c, value in zip(used, values, strict=True):
                    point[c] = value
                bound = max(bound, abs(difference.at((point[0], point[1], point[2], point[3], 0))))
            threshold += period * (bound // min(abs(k) for k in slope if k) + 2)
        told = difference._replace(threshold=threshold, slope=(0, 0, 0, 0), line=None)
        return self.joined([told], (0, 0, 0, 0), lambda point: +SIGNS[sign](difference.at(point)))

    def better(self, op: str, one: Form, two: Form) -> Form:
        """The smaller or the larger of two forms."""
        less = self.test("<", self.sum(one, two, -1))
        pick = max if op == "max" else min
        slope = [pick(a, b) for a, b in zip(*scaled([one, two]), strict=True)]
        times = lcm(one.period, two.period, less.period) // lcm(one.period, two.period)
        slopes = tuple(k * times for k in slope)
        return self.joined([one, two, less], slopes, lambda point: pick(one.at(point), two.at(point)))

    def choice(self, tree: Tree, known: dict[str, int]) -> Form:
        """``yes if condition else no``."""
        yes, condition, no = tree.args
        held = self.form(condition, known)
        if (value := number(held)) is not None:
            return self.form(yes if value else no, known)
        one, two, test = self.form(yes, known), self.form(no, known), self.test("!=", held)
        first, second = scaled([one, two])
        if first != second:
            self.refuse("two branches that grow differently")
        times = lcm(one.period, two.period, test.period) // lcm(one.period, two.period)
        slopes = tuple(k * times for k in first)
        return self.joined([one, two, test], slopes, lambda p: one.at(p) if test.at(p) else two.at(p))


@lru_cache(256)
def operation(op: str, count: int) -> Callable[[Sequence[int]], int]:
    """The operator on so many numbers."""
    names = tuple(Tree("name", value=f"x{at}") for at in range(count))
    # A name is never negative, as a rest modulo 2^64 of which a hash is made may be.
    args = tuple(Tree("-", (name, Tree("int"))) for name in names) if op == "hash" else names
    others = [name.value for name in names]
    found: Callable[[Sequence[int]], int] = compiled(Tree(op, args), others, others)({})
    return found


def number(form: Form) -> int | None:
    """The number that a form is, if it is one."""
    return form.line[3] if form.line is not None and not any(form.line[:3]) else None


def scaled(args: list[Form]) -> list[Slopes]:
    """The slopes for the common period."""
    period = lcm(*(a.period for a in args))
    return [tuple(k * (period // a.period) for k in a.slope) for a in args]
