"""The lemmas on position classes (docs/trusted-base.md), each tried against evaluation at all ``i, j < n <= 40``.

Random expressions with the lemma's operator at the root, over random operands of every kind. What the checker accepts
must be equal to the expression, grow as its slopes say, read only what it says, and, without slopes, be the same for
all positions of the same classes. The engine uses the same lemmas on arrays of points; it must read the same numbers.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from restrict.all_lengths import forms as engine
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.positions import Analysis, Form
from restrict.checker.rules import expression as checkers
from restrict.model.rules import evaluate, formula
from tests import naive
from tests.marks import heavy_after

LONGEST = 40
GRID = np.array([(i, j, n) for n in range(1, LONGEST + 1) for i in range(n) for j in range(n)])
I, J, N = GRID.T
COORDINATES = np.stack([I, N - 1 - I, J, N - 1 - J, J - I], axis=1)
"""``p, s, p2, s2`` and the difference of every row of the grid."""
PLACE = Place("m.json", "score")
NAMES = frozenset("ijn")


def line(rng: Generator) -> str:
    """A sum of multiples of positions and the length."""
    few = [
        str(rng.choice(["i", "j", "n", "2 * i", "-j", "3 * n", "-2 * n", "4", "-7"])) for _ in range(rng.integers(1, 4))
    ]
    return "(" + " + ".join(few) + ")"


def near(rng: Generator) -> str:
    """A comparison of ``j - i`` with a constant."""
    difference = str(rng.choice(["j - i", "i - j", "2 * j - 2 * i", "3 * (i - j)"]))
    return f"({difference} {rng.choice(['<', '<=', '==', '!=', '>', '>='])} {rng.integers(-5, 6)})"


def any_term(rng: Generator, depth: int) -> str:
    """Any expression over positions."""
    if depth == 0 or rng.random() < 0.2:
        return str(rng.choice(["i", "j", "n", str(rng.integers(-4, 9)), line(rng), line(rng)]))
    lemma = list(LEMMAS.values())[int(rng.integers(len(LEMMAS)))]
    return "(" + lemma(rng, depth - 1) + ")"


def finite_term(rng: Generator, depth: int) -> str:
    """An expression that is finite as a rule."""
    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"({any_term(rng, depth)}) % {rng.integers(2, 5)}",
        lambda: f"min({line(rng)} % 4, {any_term(rng, depth)} % 3)",
        lambda: f"({rng.choice(['i', 'j', 'n', 'n - i', 'n - j', 'i + j'])} < {rng.integers(0, 5)})",
        lambda: near(rng),
    )
    return "(" + kinds[int(rng.integers(len(kinds)))]() + ")"


def of(*shapes: str) -> Callable[[Generator, int], str]:
    """One of the shapes, with ``T`` for any term, ``F`` for one that is finite, ``C`` and ``D`` for numbers."""

    def made(rng: Generator, depth: int) -> str:
        parts: dict[str, Callable[[], object]] = {
            "T": lambda: any_term(rng, depth), "F": lambda: finite_term(rng, depth),
            "C": lambda: rng.choice([-3, -2, 2, 3, 5]), "D": lambda: rng.integers(-3, 6),
        }  # fmt: skip
        return "".join(str(parts[letter]()) if letter in parts else letter for letter in str(rng.choice(shapes)))

    return made


LEMMAS: dict[str, Callable[[Generator, int], str]] = {
    "1 lines": lambda rng, depth: line(rng),
    "3 sums and multiples": of("T + T", "T - T", "-(T)", "C * (T)", "(T) * C"),
    "4 division": of("(T) // (C)", "(T) % (C)"),
    "5 comparisons": of("(T) < D", "T == T", "(T) >= D", "D < (T) <= D", "T != D"),
    "6 differences": lambda rng, depth: near(rng),
    "7 extremes": of(
        "min(T, T)", "max(T, T)", "abs(T)", "min(T, D)", "max(D, T, F)", "min(j + D, n + D)", "max(i, n - D)"
    ),
    "8 choice": of("T if F else T", "(T) if T else (T)", "T + 1 if F else T", "F if 0 else T"),
    "9 finite": of(
        "hash(F, F) % 1000", "hash(F) % 3", "F * F", "F and T", "T or F", "not (T)", "F // (F + 7)", "isqrt(abs(F))",
        "F % (1 + abs(F))",
    ),
}  # fmt: skip


def accepted(text: str) -> Form | None:
    """The checker's form; None where no lemma covers the expression."""
    try:
        tree = checkers(text, PLACE, {"i", "j", "n"}, Meter(10**7)).tree
        return Analysis(PLACE, Meter(10**6)).form(tree, {})
    except (Reject, ArithmeticError):
        return None


def classes(form: Form, at: np.ndarray) -> np.ndarray:
    """The class of each of the first four; the difference cut off at the reach."""
    late = form.threshold + (at - form.threshold) % form.period
    out = np.where(at < form.threshold, at, late)
    out[:, 4] = np.clip(at[:, 4], -form.reach, form.reach)
    return out


def try_form(text: str, form: Form, rng: Generator) -> None:
    """Everything that a form promises."""
    expr = formula(text, NAMES).expr
    known = {name: np.ascontiguousarray(v) for name, v in zip("ijn", GRID.T, strict=True) if name in expr.names}
    truth = evaluate(expr, known, len(GRID))
    for row in rng.integers(len(GRID), size=5):
        env = dict(zip("ijn", map(int, GRID[row]), strict=True))
        assert naive.evaluate(text, env) == truth[row]
    points = COORDINATES if any(form.slope) else classes(form, COORDINATES)
    kinds, which = np.unique(points, axis=0, return_inverse=True)
    values = np.array([form.at(tuple(map(int, point))) for point in kinds])
    assert (values[which.reshape(-1)] == truth).all()
    for _ in range(60):
        point = [*rng.integers(0, form.threshold + 3 * form.period, size=4).tolist(), int(rng.integers(-50, 50))]
        c, e = int(rng.integers(4)), int(rng.integers(5))
        further = point.copy()
        further[c] += form.period
        if point[c] >= form.threshold:
            assert form.at(tuple(further)) == form.at(tuple(point)) + form.slope[c]
        if e not in form.uses:
            other = point.copy()
            other[e] = int(rng.integers(99))
            assert form.at(tuple(other)) == form.at(tuple(point))


def sample(lemma: str, seed: int, count: int) -> int:
    """Try so many accepted expressions of a lemma; how many were refused meanwhile."""
    rng, tried, refused = default_rng([seed, list(LEMMAS).index(lemma)]), 0, 0
    while tried < count:
        text = LEMMAS[lemma](rng, int(rng.integers(1, 3)))
        if (form := accepted(text)) is None or form.threshold + form.period > 200:
            refused += 1
            assert refused < 60 * count, "hardly anything is accepted"
            continue
        try_form(text, form, rng)
        tried += 1
    return refused


@pytest.mark.parametrize("lemma", LEMMAS)
@pytest.mark.parametrize("count", heavy_after((2, 60, 250), 1))
def test_a_lemma_holds_at_all_positions(lemma: str, count: int) -> None:
    sample(lemma, count, count)


@pytest.mark.parametrize("lemma", LEMMAS)
@pytest.mark.parametrize("count", heavy_after((24, 150), 1))
def test_the_engine_accepts_what_the_checker_accepts(lemma: str, count: int) -> None:
    rng = default_rng([3, list(LEMMAS).index(lemma)])
    both = 0
    for _ in range(count):
        text = LEMMAS[lemma](rng, int(rng.integers(1, 3)))
        form = accepted(text)
        try:
            found = engine.analyse(formula(text, NAMES).expr)
        except engine.Declined:
            continue  # it does not fold all numbers, which loses a proof and never makes one
        if form is None:  # three operands are paired in another order, and one order may need too many classes
            assert text.count("max(") * text.count(",") > 1
            continue
        both += 1
        some = COORDINATES[rng.integers(len(GRID), size=8)]
        read = engine.values_at(found, engine.points(dict(enumerate(some.T.copy()))))
        assert read.tolist() == [form.at(tuple(map(int, point))) for point in some]
        if not any(found.slope):
            assert not any(form.slope)
    assert both > count // 8


@pytest.mark.parametrize(
    "text",
    [
        "min(i, j)", "max(i, j)", "abs(i - j)", "max(i - j, 0)", "min(i - j, 2) % 3", "min(i, n - 1 - i)",
        "min(i, j) % 2", "(i if i < j else j)", "min(n // 2, i)", "max(2 * j, n)", "abs(2 * i - n) < 3",
        "min(j - i, i)", "(j == i) + i < 3", "i * j", "i % j", "n // 2 == i", "2 * i < j", "hash(i)",
    ],
)  # fmt: skip
def test_what_is_no_function_of_classes_is_refused(text: str) -> None:
    form = accepted(text)
    assert form is None or (any(form.slope) and form.line is None and text.startswith("min(j"))


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("min(j, n)", (0, 0, 1, 0)), ("min(j + 1, n - 1)", (0, 0, 1, 0)), ("max(n - i, 4)", (0, 1, 0, 0)),
        ("abs(i + 2)", (1, 0, 0, 0)), ("max(i, 3) - i", (0, 0, 0, 0)), ("min(i, 3) + min(n - j, 5)", (0, 0, 0, 0)),
    ],
)  # fmt: skip
def test_one_of_two_that_is_ahead_everywhere_gives_its_slopes(text: str, slope: tuple[int, ...]) -> None:
    form = accepted(text)
    assert form is not None
    assert form.slope == slope
    try_form(text, form, default_rng(5))
