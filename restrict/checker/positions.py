"""Which expressions depend on the *classes* of positions only: the lemmas of docs/trusted-base.md ("Position classes"),
one function each.

With ``p = i``, ``s = n-1-i``, ``p2 = j``, ``s2 = n-1-j`` and ``d = j - i``, a :class:`Form` is a function of the five
that equals the expression wherever the five belong to some ``i, j < n``. From its threshold on it grows by ``slope``
when the period is added to one of the first four, whatever the others are; beyond its reach it does not depend on
``d``. Without slopes it is **finite**: it depends on the class of each number only, the number itself below the
threshold and its residue from there on.

What no lemma covers is refused. No lemma looks at more than the forms of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from math import lcm
from typing import ClassVar, NamedTuple, NoReturn

from .account import Meter, Place, unproved
from .evaluate import bound
from .rules import Tree

MOST = 4096
POINTS = 1 << 20
WORK = 1 << 16
"""The most steps of one value. The parts of ``abs`` and of chains of comparisons stand in more than one form."""
REACH = 1024
"""A comparison of ``j - i`` with a constant may tell apart at most this many distances to each side."""
FLAT = (0, 0, 0, 0)
Point = tuple[int, int, int, int, int]
Slopes = tuple[int, ...]
At = Callable[[Point], int]
SIGNS: dict[str, Callable[[int], bool]] = {
    "==": lambda v: v == 0,
    "!=": lambda v: v != 0,
    "<": lambda v: v < 0,
    "<=": lambda v: v <= 0,
    ">": lambda v: v > 0,
    ">=": lambda v: v >= 0,
}


class Line(NamedTuple):
    """``i * position + j * attended + n * length + constant``."""

    i: int
    j: int
    n: int
    constant: int


class Form(NamedTuple):
    """See the module. ``uses`` are the coordinates that ``at`` reads; the expression is the ``line``, if it has one.
    ``price``: the steps of one value, which are also its functions, each twice."""

    threshold: int
    period: int
    slope: Slopes
    at: At
    uses: frozenset[int]
    reach: int = 0
    line: Line | None = None
    price: int = 2


class Analysis:
    """The forms of expressions with all finite names replaced by numbers. What stands first here, a reader of arrays of
    points has otherwise."""

    reach = REACH
    extremes: ClassVar[dict[str, Callable[..., int]]] = {"min": min, "max": max}

    def __init__(self, place: Place, meter: Meter) -> None:
        self.place, self.meter = place, meter

    def refuse(self, why: str) -> NoReturn:
        """Not established; ``why`` says what a part of the rule does."""
        unproved(self.place, f"positions enter in a way that is not covered: a part of the rule {why}")

    def operation(self, op: str, count: int) -> Callable[[Sequence[int]], int]:
        """An operator on so many numbers."""
        return operation(op, count)

    def branch(self, test: At, yes: At, no: At) -> At:
        """One of two, as the test says."""
        return lambda point: yes(point) if test(point) else no(point)

    def form(self, tree: Tree, known: dict[str, int]) -> Form:
        """The form of a tree, bottom up; what no position enters is a number."""
        self.meter.charge(50)
        found = self.by_operator(tree, known)
        return found if found.uses or found.line else read(Line(0, 0, 0, found.at((0, 0, 0, 0, 0))))

    def by_operator(self, tree: Tree, known: dict[str, int]) -> Form:
        """The lemma for the operator at the root."""
        if tree.op == "int":
            return read(Line(0, 0, 0, tree.value))
        if tree.op == "name":
            name = tree.value
            return read(Line(+(name == "i"), +(name == "j"), +(name == "n"), known.get(name, 0)))
        if tree.op == "if":
            return self.choice(tree, known)
        args = [self.form(arg, known) for arg in tree.args]
        numbers = [number(arg) for arg in args]
        if tree.op in ("+", "-"):
            return self.sum(args[0], args[1], 1 if tree.op == "+" else -1)
        if tree.op == "neg":
            return multiple(-1, args[0])
        if tree.op == "*" and numbers[0] is not None:
            return multiple(numbers[0], args[1])
        if tree.op == "*" and numbers[1] is not None:
            return multiple(numbers[1], args[0])
        if tree.op in ("//", "%") and (divisor := numbers[1]) is not None:
            if not divisor:
                self.refuse("divides by 0")
            return (self.quotient if tree.op == "//" else self.remainder)(args[0], divisor)
        if tree.op in SIGNS or tree.op == "chain":
            signs = tree.value if tree.op == "chain" else (tree.op,)
            tests = [self.test(sign, self.sum(a, b, -1)) for sign, a, b in zip(signs, args, args[1:], strict=False)]
            return tests[0] if len(tests) == 1 else self.pointwise(tests, lambda v: +all(v))
        if tree.op in ("min", "max"):
            best = args[0]
            for other in args[1:]:
                best = self.extreme(tree.op, best, other)
            return best
        if tree.op == "abs":
            return self.extreme("max", args[0], multiple(-1, args[0]))
        if tree.op in ("and", "or", "not"):
            args = [self.test("!=", arg) for arg in args]
        return self.pointwise(args, self.operation(tree.op, len(tree.args)))

    def common(self, args: list[Form], slope: Slopes, at: At, times: int = 1) -> Form:
        """A form with the common classes of others (Lemma 2), ``times`` their common period."""
        threshold, period = max(a.threshold for a in args), lcm(*(a.period for a in args)) * times
        if threshold + period > MOST:
            self.refuse(f"tells positions apart up to {threshold} and modulo {period}; the limit is {MOST}")
        uses: frozenset[int] = frozenset().union(*(a.uses for a in args))
        if (price := 2 + sum(a.price for a in args)) > WORK:
            self.refuse(f"takes more than {WORK} steps, as its comparisons in chains and its abs are nested")
        return Form(threshold, period, slope, at, uses, max(a.reach for a in args), price=price)

    def sum(self, one: Form, two: Form, sign: int) -> Form:
        """The sum, or the difference (Lemma 3). That of two lines is a line."""
        if one.line and two.line:
            return read(Line(*(a + sign * b for a, b in zip(one.line, two.line, strict=True))))
        first, second = scaled([one, two])
        slope = tuple(a + sign * b for a, b in zip(first, second, strict=True))
        return self.common([one, two], slope, lambda point: one.at(point) + sign * two.at(point))

    def quotient(self, form: Form, c: int) -> Form:
        """Floor division by a number (Lemma 4)."""
        slope = tuple(k * abs(c) // c for k in form.slope)
        return self.common([form], slope, lambda point: form.at(point) // c, abs(c) if any(slope) else 1)

    def remainder(self, form: Form, c: int) -> Form:
        """The remainder by a number (Lemma 4)."""
        return self.common([form], FLAT, lambda point: form.at(point) % c, abs(c) if any(form.slope) else 1)

    def test(self, sign: str, form: Form) -> Form:
        """A comparison with 0, finite (Lemma 5); of ``c (j - i) + e``, by ``d`` alone (Lemma 6)."""
        holds = SIGNS[sign]
        if form.line and form.line.i == -form.line.j != 0 == form.line.n:
            scale, constant = form.line.j, form.line.constant
            reach = abs(constant) // abs(scale) + 1
            if reach > self.reach:
                self.refuse(f"tells {reach} distances j - i apart; the limit is {self.reach}")
            return Form(0, 1, FLAT, lambda point: 1 * holds(scale * point[4] + constant), frozenset((4,)), reach)
        return self.common([self.settled(form)], FLAT, lambda point: 1 * holds(form.at(point)))

    def settled(self, form: Form) -> Form:
        """The form with a threshold from which on its sign is that of its slopes (Lemma 5)."""
        if not any(form.slope):
            return form
        if form.reach:
            self.refuse("mixes j - i with the position itself")
        if min(form.slope) < 0 < max(form.slope):
            self.refuse("compares positions with each other or with a share of n, which no finite automaton can")
        blocks = self.largest(form) // min(abs(k) for k in form.slope if k) + 2
        return form._replace(threshold=form.threshold + blocks * form.period)

    def largest(self, form: Form) -> int:
        """The largest absolute value of a form on one block of its classes."""
        size, used = form.threshold + form.period, sorted(form.uses)
        if size ** len(used) > POINTS:
            self.refuse(f"compares positions that are told apart up to {size} on {len(used)} sides")
        self.meter.charge((20 + form.price) * size ** len(used))
        bound = 0
        for values in product(range(size), repeat=len(used)):
            point = [0, 0, 0, 0, 0]
            for c, value in zip(used, values, strict=True):
                point[c] = value
            bound = max(bound, abs(form.at((point[0], point[1], point[2], point[3], 0))))
        return bound

    def extreme(self, op: str, one: Form, two: Form) -> Form:
        """The smaller or the larger of two forms of which one is ahead in every coordinate (Lemma 7)."""
        one, two = alike(one, two)
        first, second = scaled([one, two])
        gap = tuple(a - b for a, b in zip(first, second, strict=True))
        ahead = self.settled(self.common([one, two], gap, lambda point: one.at(point) - two.at(point)))
        # One of the two has the larger slope, or the same one, in every coordinate.
        slope = (max if op == "max" else min)(first, second, key=sum)
        pick = self.extremes[op]
        return self.common([ahead], slope, lambda point: pick(one.at(point), two.at(point)))

    def choice(self, tree: Tree, known: dict[str, int]) -> Form:
        """``yes if condition else no``, of two forms that grow alike (Lemma 8)."""
        yes, condition, no = tree.args
        held = self.form(condition, known)
        if (value := number(held)) is not None:
            return self.form(yes if value else no, known)
        one, two, test = self.form(yes, known), self.form(no, known), self.test("!=", held)
        first, second = scaled([one, two])
        if first != second:
            self.refuse("grows differently in its two branches")
        times = lcm(one.period, two.period, test.period) // lcm(one.period, two.period)
        slope = tuple(k * times for k in first)
        return self.common([one, two, test], slope, self.branch(test.at, one.at, two.at))

    def pointwise(self, args: list[Form], apply: Callable[[list[int]], int]) -> Form:
        """Any operation on finite forms (Lemma 9)."""
        if any(any(a.slope) for a in args):
            self.refuse("grows with the position or with n inside a function that is not periodic")
        return self.common(args, FLAT, lambda point: apply([a.at(point) for a in args]))


def read(line: Line, by_j: bool | None = None) -> Form:
    """A line as a form (Lemma 1): ``n`` is ``p + s + 1`` or ``p2 + s2 + 1``. By default that of ``j`` where ``i`` does
    not occur."""
    i, j, n, constant = line
    if by_j is None:
        by_j = j != 0 == i
    slope = (i, 0, j + n, n) if by_j else (i + n, n, j, 0)
    base = n + constant
    uses = frozenset(c for c in range(4) if slope[c])
    return Form(0, 1, slope, lambda point: base + sum(a * b for a, b in zip(slope, point, strict=False)), uses, 0, line)


def alike(one: Form, two: Form) -> tuple[Form, Form]:
    """Two lines with ``n`` read from one side: the first on which the slopes of their difference have one sign."""
    if one.line and two.line:
        for by_j in (False, True):
            a, b = read(one.line, by_j), read(two.line, by_j)
            gap = [x - y for x, y in zip(a.slope, b.slope, strict=True)]
            if min(gap) >= 0 or max(gap) <= 0:
                return a, b
    return one, two


def multiple(c: int, form: Form) -> Form:
    """A multiple (Lemma 3). That of a line is a line."""
    if form.line:
        return read(Line(*(c * part for part in form.line)))
    slope, price = tuple(c * k for k in form.slope), form.price + 2
    return form._replace(slope=slope, at=lambda point: c * form.at(point), price=price)


@lru_cache(256)
def operation(op: str, count: int) -> Callable[[Sequence[int]], int]:
    """The operator on so many numbers."""
    names = tuple(Tree("name", value=f"x{at}") for at in range(count))
    # A name is never negative, as a rest modulo 2^64 of which a hash is made may be.
    args = tuple(Tree("-", (name, Tree("int"))) for name in names) if op == "hash" else names
    others = [name.value for name in names]
    return bound(Tree(op, args), {}, others)


def number(form: Form) -> int | None:
    """The number that a form is, if it is one."""
    return form.line.constant if form.line and not any(form.line[:3]) else None


def scaled(args: list[Form]) -> list[Slopes]:
    """The slopes for the common period (Lemma 2)."""
    period = lcm(*(a.period for a in args))
    return [tuple(k * (period // a.period) for k in a.slope) for a in args]
