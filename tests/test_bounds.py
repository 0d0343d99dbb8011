"""The constants of Theorem 1: every inequality, written out a second time; and towers, the numbers beyond floats."""

import dataclasses
import itertools
import json
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import pytest

import restrict
from restrict.base.errors import UsageError
from restrict.depth_reduction.constants import tower
from restrict.depth_reduction.constants.inequalities import LayerBounds, TheoremBounds, verify
from restrict.depth_reduction.constants.theorem_bounds import theorem_bounds as computed
from restrict.depth_reduction.constants.tower import Tower, exp2, ln, log2, log2_up, of, power, short
from tests.commands import Shell
from tests.marks import heavy_after, rows_after
from tests.naive_soft import decimal

theorem_bounds = lru_cache(maxsize=None, typed=True)(computed)
"""Several tests ask for the same sizes."""

GRID = [
    (1, 1, "0.5", 2), (1, 2, "0.9", 2), (1, 8, "0.99", 5), (1, 1, "0.000000001", 2), (1, 1, "0.999999999", 2),
    (1, 10**9, "0.9", 10**9), (2, 1, "0.1", 2), (2, 2, "0.9", 2), (2, 3, "0.999", 26), (2, 100, "0.99", 50_000),
    (3, 2, "0.6", 3), (4, 2, "0.9", 2), (7, 12, "0.3", 4), (3, 10**9, "0.999999999", 10**9),
    (4, 1, "0.000000001", 10**9), (20, 1, "0.5", 2),
]  # fmt: skip


@pytest.fixture(scope="module", params=heavy_after((2, len(GRID)), 1))
def grid(request: pytest.FixtureRequest) -> list[TheoremBounds]:
    return [theorem_bounds(layers, heads, c, alphabet=s) for layers, heads, c, s in GRID[: request.param]]


def test_every_inequality_holds(grid: list[TheoremBounds]) -> None:
    for bounds in grid:
        checked = bounds.verify()
        assert len(checked) == 22 * bounds.layers + 3
        assert [i for i in checked if not i.holds] == []
        assert bounds.split[-1] == bounds.fraction
        assert bounds.c > of(1)


@pytest.mark.parametrize("many", heavy_after((1, 15), 1))
def test_every_inequality_holds_at_random_sizes(many: int) -> None:
    """Any size up to 10^9 and any C: no exception, every inequality, never worse than the paper's choices."""
    rng = random.Random(0)
    for _ in range(many):
        layers, heads = rng.choice((1, 1, 2, 3)), int(10 ** rng.uniform(0, 9))
        alphabet = max(2, int(10 ** rng.uniform(0, 9)))
        share = Fraction(str(round(10 ** rng.uniform(-8.9, -0.3), 12)))
        share = share if rng.random() < 0.5 else 1 - share
        found = theorem_bounds(layers, heads, share, alphabet=alphabet)
        assert all(i.holds for i in found.verify()), found
        assert found.document()["fraction"] == str(share)
        if layers == 1:
            paper = theorem_bounds(1, heads, share, alphabet=alphabet, choices="paper")
            assert all(i.holds for i in paper.verify()), paper
            assert found.c <= paper.c


def number(x: Tower | Fraction | int) -> Decimal:
    """A number below 2^65536 as a decimal of the context's precision."""
    return decimal(value(x) if isinstance(x, Tower) else Fraction(x))


def ln1p(x: Decimal) -> Decimal:
    """ln(1 + x), by its series where x is small."""
    return x - x * x / 2 + x**3 / 3 if abs(x) < Decimal("1e-25") else (1 + x).ln()


def equations(step: LayerBounds, heads: int, s: int) -> list[tuple[str, Decimal]]:
    """Right side minus left side of the paper's inequalities, divided by the size of the sides, in 80 digits.

    Written from the text of the proof, with logarithms of (10) and (11) and no simplification; ``n = n0``."""
    c, k, g, n = (number(x) for x in (step.c, step.k, step.g, step.n0))
    r, T, f = number(step.r), number(step.T), number(step.f)
    C, B, q, delta = number(step.C), number(step.B), number(step.q), number(step.delta)
    A = 1 / (number(step.F) + 1)
    sc = Decimal(s) ** int(c)
    after1 = C * n - (c * n / g if step.eta1 else 0)
    after2 = after1 - c * (sc * heads * n / r)
    eta = number(1 - step.eta1 - step.eta2)
    p = (q / s) ** int(c)
    independent = k / (c * (g - 1) + 1)
    pairs = sc * heads * n
    sides = [
        ("stages 1 and 2 leave (1 - eta1 - eta2) C n free", eta * C * n, after2),
        ("pigeonhole", r, T / sc),
        ("neighbours", c * k * g * T, f),
        ("(10)", independent * ln1p(-p), A.ln() + ln1p(-B) + f * ln1p(-A)),
        ("(11)", -(delta**2) * q * eta * C * n / 3, B.ln() + pairs * ln1p(-A)),
        ("(6)", number(step.C_out) * n, (1 - (1 + delta) * q) * eta * C * n),
        ("Lemma 4", c * (sc * k * heads + 1), number(step.c_out)),
    ]
    return [(name, (right - left) / (abs(right) + abs(left))) for name, left, right in sides]


def test_the_papers_inequalities_as_they_stand(grid: list[TheoremBounds]) -> None:
    seen = 0
    with localcontext() as context:
        context.prec = 80
        for bounds in [*grid, theorem_bounds(1, 2, 0.9, choices="paper")]:
            for step in bounds.steps:
                if step.c_out.height or step.c_out.top > 2**30000:
                    continue
                seen += 1
                for name, slack in equations(step, bounds.heads, bounds.alphabet):
                    if not (bounds.choices == "paper" and name == "neighbours"):
                        assert slack > -Decimal("1e-60"), (bounds, step.layer, name)
    assert seen >= len(grid) - 1


def test_small_numbers_by_exact_powers() -> None:
    """(10) with integers and nothing else: (1-p)^k <= A (1-B) (1-A)^f."""
    for heads, share in ((1, "0.2"), (2, "0.5"), (3, "0.7")):
        step = theorem_bounds(1, heads, share).steps[0]
        p, A = step.q / 2, Fraction(1, int(step.F.top) + 1)
        assert (1 - p) ** int(step.k.top) <= A * (1 - step.B) * (1 - A) ** int(step.f.top)


HARM = {
    "c": lambda s: {"c": s.c + 1}, "C": lambda s: {"C": Fraction(1)},
    "C_out": lambda s: {"C_out": s.C_out + (1 - s.C_out) / 1000}, "eta2": lambda s: {"eta2": s.eta2 / 2},
    "more eta2": lambda s: {"eta2": s.eta2 * 2 + s.q / 10}, "q": lambda s: {"q": s.q * Fraction(99, 100)},
    "more q": lambda s: {"q": s.q * Fraction(101, 100)}, "delta": lambda s: {"delta": s.delta / 2},
    "no delta": lambda s: {"delta": Fraction(0)}, "B": lambda s: {"B": s.B / 1000},
    "B at 1": lambda s: {"B": Fraction(1)}, "g": lambda s: {"g": of((s.g.top + 1) / 2)},
    "r": lambda s: {"r": of(int(s.r.top * Fraction(99, 100)))}, "T": lambda s: {"T": of(s.T.top * Fraction(99, 100))},
    "k": lambda s: {"k": of(int(s.k.top * Fraction(98, 100)))}, "f": lambda s: {"f": of(s.f.top * Fraction(99, 100))},
    "F": lambda s: {"F": of(int(s.F.top * Fraction(99, 100)))},
    "n0": lambda s: {"n0": of(int(s.n0.top * Fraction(99, 100)))},
    "c_out": lambda s: {"c_out": of(int(s.c_out.top * Fraction(99, 100)))},
    "k of halves": lambda s: {"k": of(s.k.top + Fraction(1, 2))},
}  # fmt: skip


@pytest.fixture(scope="module")
def unharmed() -> TheoremBounds:
    return theorem_bounds(2, 2, "0.9", alphabet=2)


@pytest.mark.parametrize("name", HARM)
@pytest.mark.parametrize("layer", [0, 1])
def test_the_verifier_sees_every_parameter(unharmed: TheoremBounds, name: str, layer: int) -> None:
    bounds = unharmed
    step = bounds.steps[layer]
    if (name, layer) == ("g", 0):
        pytest.skip("g = 1 in the first layer")
    steps = list(bounds.steps)
    steps[layer] = dataclasses.replace(step, **HARM[name](step))
    spoilt = dataclasses.replace(bounds, steps=tuple(steps))
    assert [i for i in verify(spoilt) if not i.holds], name


def test_the_verifier_sees_the_chain() -> None:
    bounds = theorem_bounds(3, 2, 0.9)
    a, b, c = bounds.steps
    for steps in ((b, c), (a, c), (b, a, c)):
        assert any(not i.holds for i in verify(dataclasses.replace(bounds, steps=steps)))
    wide = dataclasses.replace(bounds, heads=3)
    assert {i.name for i in wide.verify() if not i.holds} >= {"rounds", "dependencies"}
    assert any(not i.holds for i in dataclasses.replace(bounds, alphabet=3).verify())
    assert any(not i.holds for i in dataclasses.replace(bounds, fraction=Fraction(91, 100)).verify())
    # A tower that is one step too small.
    low = dataclasses.replace(c, k=Tower(c.k.height, Fraction(int(c.k.top) * 9 // 10)))
    assert any(i.name == "pair events" and not i.holds for i in verify(dataclasses.replace(bounds, steps=(a, b, low))))


# ---------------------------------------------------------------- known answers


def test_the_constants_of_known_sizes_are_as_published() -> None:
    one = theorem_bounds(1, 2, 0.9)
    # 295 and 1181; the search is in floats, whose last digits may differ between machines.
    assert of(285) < one.k < of(305)
    assert one.c == of(4 * one.k.top + 1)
    paper = theorem_bounds(1, 2, 0.9, choices="paper")
    assert of(440_000) < paper.k < of(480_000)  # about 4.5e5
    assert of(1_760_000) < paper.c < of(1_920_000)  # about 1.8e6
    assert [i for i in paper.verify() if not i.holds] == []
    step = paper.steps[0]
    assert int(step.k.top) ** 2 - 1 == step.F.top
    assert step.eta1 == step.eta2
    two = theorem_bounds(2, 2, 0.9)
    assert exp2(of(11_000)) < two.c < exp2(of(12_000))


def test_k_is_the_least_for_its_parameters() -> None:
    """With k one less, and the neighbours counted again, (10) fails."""
    for heads, share, s in ((2, "0.9", 2), (1, "0.5", 3), (5, "0.99", 2)):
        bounds = theorem_bounds(1, heads, share, alphabet=s)
        step = bounds.steps[0]
        k = of(step.k.top - 1)
        f = k * step.g * step.T
        less = dataclasses.replace(step, k=k, f=f, F=max(f, of(0) if step.f == step.F else step.F))
        failed = {i.name for i in verify(dataclasses.replace(bounds, steps=(less,))) if not i.holds}
        assert "pair events" in failed


def test_the_search_is_near_the_best_parameters() -> None:
    """Against a grid of 200 other choices of eta2 and delta."""
    from restrict.depth_reduction.constants.theorem_bounds import _LayerTask, _shares, _step

    for heads, share, s in ((2, "0.9", 2), (1, "0.5", 3), (4, "0.99", 2)):
        shares = _shares(Fraction(share), [1.0])
        task = _LayerTask(1, of(1), shares[0], shares[1], heads, s, "best")
        choices = [(task.loss / 2**a, Fraction(1, 2**d)) for a in range(2, 12) for d in range(1, 13)]
        best = min(_step(task, Fraction(0), eta, delta).k for eta, delta in choices)
        assert theorem_bounds(1, heads, share, alphabet=s).k.top <= best.top * Fraction(101, 100)


@pytest.mark.parametrize(("heads", "share", "s"), rows_after(((2, "0.9", 2), (1, "0.5", 3)), 1))
def test_the_split_is_near_the_best(heads: int, share: str, s: int) -> None:
    """Against other shares of the second layer: the exponent of c is within a percent of the best."""
    from restrict.depth_reduction.constants.theorem_bounds import _shares, _steps

    found = log2(theorem_bounds(2, heads, share, alphabet=s).c)
    shares = [_shares(Fraction(share), [1 - w / 20, w / 20]) for w in range(1, 20)]
    others = [log2(_steps(each, heads, s, "best")[-1].c_out) for each in shares]
    assert found.top <= min(others).top * Fraction(101, 100)


@pytest.mark.parametrize("many", heavy_after((2, 5), 1))
def test_c_grows_with_the_share_the_heads_the_alphabet_and_the_layers(many: int) -> None:
    assert theorem_bounds(1, 2, 0.8).c < theorem_bounds(1, 2, 0.9).c < theorem_bounds(1, 3, 0.9).c
    assert theorem_bounds(1, 2, 0.9).c < theorem_bounds(1, 2, 0.9, alphabet=3).c
    values = [theorem_bounds(layers, 2, 0.9).c for layers in range(1, many + 1)]
    assert values == sorted(values)


def test_a_fraction_is_taken_as_written() -> None:
    for written in (0.9, "0.9", Fraction(9, 10), "9e-1"):
        assert restrict.theorem_bounds(1, 2, written).fraction == Fraction(9, 10)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 2, 0.9), {}, "layers = 0 must be in 1 .. 64; the nearest value is 1"),
        ((65, 2, 0.9), {}, "layers = 65 must be in 1 .. 64; the nearest value is 64"),
        ((1, 0, 0.9), {}, "heads = 0 must be in 1 .. 1000000000; the nearest value is 1"),
        ((1, True, 0.9), {}, "heads = True must be an integer"),
        ((1, 2.0, 0.9), {}, "heads = 2.0 must be an integer"),
        ((1, 2, 1), {}, "C = 1 must be .* the nearest value is 0.999999999"),
        ((1, 2, 0.0), {}, "C = 0.0 must be .* the nearest value is 0.000000001"),
        ((1, 2, -3), {}, "the nearest value is 0.000000001"),
        ((1, 2, "1e999999999"), {}, "the nearest value is 0.999999999"),
        ((1, 2, "1e-999999999"), {}, "the nearest value is 0.000000001"),
        ((1, 2, float("nan")), {}, "C = nan is not a number"),
        ((1, 2, "half"), {}, "C = 'half' is not a number; write a fraction such as 0.9"),
        ((1, 2, 0.9), {"alphabet": 1}, "alphabet = 1 must be in 2 .. 1000000000; the nearest value is 2"),
        ((2, 2, 0.9), {"choices": "paper"}, "layers = 2, nearest is 1"),
        ((2, 2, 0.9), {"choices": "worst"}, "neither 'best' nor 'paper'"),
    ],
)
def test_bad_arguments_are_refused(arguments: tuple[int, int, float], options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        theorem_bounds(*arguments, **options)


# ---------------------------------------------------------------- the command


def test_the_command_prints_the_constants_and_checks_the_inequalities(shell: Shell) -> None:
    out = shell.good("bounds", "-L", "2", "-H", "2", "-C", "0.9", "--inequalities")
    for said in (
        "c  = 2^(11", "(certified bound)", "estimate of the best split; the inequalities hold exactly for it",
        "all 47 inequalities of the proof hold for these numbers (exact)",
    ):  # fmt: skip
        assert said in out
    assert [out.count(word) for word in ("pair events", "inf", "nan")] == [2, 0, 0]
    assert "2^2^2^(1" in shell.good("bounds", "-L", "4", "-H", "2", "-C", "0.9")


def test_the_command_prints_json(shell: Shell) -> None:
    document = json.loads(shell.good("bounds", "-L", "2", "-H", "2", "-C", "0.9", "--alphabet", "1000", "--json"))
    assert document["c"]["height"] == 1
    assert document["fraction"] == "9/10"
    assert [step["layer"] for step in document["steps"]] == [1, 2]
    assert document["inequalities_checked"] == 47


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-L 1 -H 2 -C 1", "C = 1 must be at least 1e-9 and at most 1 - 1e-9; the nearest value is 0.999999999"),
        ("-L 0 -H 2 -C .9", "'-L' / '--layers': 0 is not between 1 and 64"),
        ("-L 1 -H 2", "Missing option '-C'"),
        ("-L one -H 2 -C .9", "'one' is not a valid integer"),
    ],
)
def test_wrong_use_of_the_command_is_one_line(shell: Shell, words: str, message: str) -> None:
    assert message in shell.bad(2, "bounds", *words.split())


# ----------------------------------------------------------------
# Numbers beyond floats: every operation is an upper bound, small ones are exact, the order is that of the values.


def exact_log2(x: Fraction) -> Fraction:
    """log2 to 60 digits by the standard library."""
    with localcontext() as context:
        context.prec = 80
        return Fraction(decimal(x).ln() / Decimal(2).ln())


def test_log2_is_an_upper_bound_and_tight() -> None:
    rng = random.Random(0)
    noise = Fraction(1, 10**60)
    for _ in range(600):
        d = rng.getrandbits(rng.randrange(1, 200)) + 1
        x = Fraction(d + rng.getrandbits(rng.randrange(1, 300)), d)
        assert -noise <= log2_up(x) - exact_log2(x) <= Fraction(1, 2**62), x
    for e in range(0, 300, 7):
        assert log2_up(Fraction(2**e)) == e
        assert log2_up(Fraction(2**e + 1)) > e
        assert e < log2_up(Fraction(2 ** (e + 2) - 1, 2)) <= e + 1


def test_ln2_is_an_upper_bound() -> None:
    with localcontext() as context:
        context.prec = 40
        assert 0 < tower.LN2 - Fraction(Decimal(2).ln()) < Fraction(1, 10**18)


# ---------------------------------------------------------------- small limit: everything can be computed exactly


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[Tower]:
    """With towers from 2^8 on, the same code works on numbers that Python can still write out."""
    monkeypatch.setattr(tower, "LIMIT", 8)
    exact = [of(Fraction(a, b)) for a in (0, 1, 2, 3, 7, 100, 255) for b in (1, 2, 3)]
    return [*exact, *(Tower(1, Fraction(t)) for t in (8, 9, 15, 100, 255)), *(Tower(2, Fraction(t)) for t in (8, 9))]


def value(x: Tower) -> Fraction:
    """The number itself."""
    number = x.top
    for _ in range(x.height):
        assert number.denominator == 1
        number = Fraction(2 ** int(number))
    return number


def normal(x: Tower) -> bool:
    """The representation is the unique one."""
    limit = 2**tower.LIMIT
    return 0 <= x.top < limit if x.height == 0 else tower.LIMIT <= x.top < limit and x.top.denominator == 1


def test_order_is_exact_and_sums_and_products_are_upper_bounds(small: list[Tower]) -> None:
    for a, b in itertools.product(small, repeat=2):
        x, y = value(a), value(b)
        assert ((a < b), (a == b)) == (x < y, x == y)
        for found, truth in ((a + b, x + y), (a * b, x * y)):
            assert normal(found)
            assert value(found) >= truth, (a, b)
            if a.height == b.height == 0 and truth < 2**8:
                assert value(found) == truth
            elif found.height <= 1:
                assert value(found) <= 4 * max(truth, x, y)


def test_exponentials_logarithms_and_powers_are_upper_bounds(small: list[Tower]) -> None:
    rng = random.Random(1)
    for a in small:
        if a.height <= 1:
            up = exp2(a)
            assert normal(up)
            if a.height == 0 and a.top <= 64:
                assert value(up) == 2 ** -(-a.top.numerator // a.top.denominator)
            assert log2(up) >= a
        if value(a) >= 1:
            assert normal(log2(a))
            assert value(log2(a)) >= exact_log2(value(a)) - Fraction(1, 10**60)
            assert value(ln(a)) * Fraction(1443, 1000) >= value(log2(a))
    cases = [(Fraction(rng.randrange(8, 60), 7), rng.randrange(1, 90)) for _ in range(300)]
    cases = [(x, c) for x, c in cases if x**c < 2**250]
    assert len(cases) >= 200
    for x, c in cases:
        assert value(power(x, of(c))) >= x**c


def test_towers_of_a_thousand_digits() -> None:
    huge = exp2(of(2**70000))
    assert (huge.height, huge.top) == (2, 70000)
    assert huge * huge == Tower(2, Fraction(70001))
    assert huge + 1 == Tower(2, Fraction(70001))
    assert huge + 0 == huge
    assert exp2(of(65536)) == Tower(1, Fraction(65536))
    assert of(2**65536 - 1).height == 0
    assert of(2**65536) == Tower(1, Fraction(65536))
    assert of(2**65536 + 1) == Tower(1, Fraction(65537))
    assert sorted([huge, of(3), exp2(of(10**6))]) == [of(3), exp2(of(10**6)), huge]
    with pytest.raises(ValueError, match="negative"):
        of(-1)
    with pytest.raises(ValueError, match="below 1"):
        log2_up(Fraction(1, 2))


def test_short_rounds_up() -> None:
    rng = random.Random(2)
    for _ in range(500):
        x = rng.getrandbits(rng.randrange(1, 500)) + 1
        found = short(of(x)).top
        assert x <= found <= x + (x >> 62)
        assert int(found) % 2 ** max(0, x.bit_length() - 64) == 0
    assert short(of(Fraction(7, 2))) == of(4)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (of(1441), "1441"), (of(Fraction(1, 3)), "0.333334"), (of(0), "0"), (of(2**40), "2^(40)"),
        (of(2**40 + 1), "2^(40.0001)"), (exp2(of(1_800_001)), "2^(1.81e6)"), (exp2(of(2**70)), "2^2^(70)"),
        (exp2(exp2(of(2**70))), "2^2^2^(70)"), (exp2(exp2(of(70_000))), "2^2^(70000)"),
        (Tower(40, Fraction(70_000)), "2^2^...^2^(70000) with 40 twos"),
    ],
)  # fmt: skip
def test_text_is_rounded_up(number: Tower, text: str) -> None:
    assert str(number) == text
    assert repr(number) == f"Tower({text})"
    assert number.document()["text"] == text


def test_the_document_is_exact() -> None:
    assert of(12 * 2**100).document()["top"] == "3*2^102"
    assert of(Fraction(2, 3)).document()["top"] == "2/3"
    assert exp2(of(70_000)).document() == {"height": 1, "top": "70000", "text": "2^(70000)"}
