"""Numbers beyond floats: every operation is an upper bound, small ones are exact, the order is that of the values."""

import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from restrict.depth_reduction.constants import tower
from restrict.depth_reduction.constants.tower import Tower, exp2, ln, log2, log2_up, of, power, short


def exact_log2(x: Fraction) -> Fraction:
    """log2 to 60 digits by the standard library."""
    with localcontext() as context:
        context.prec = 80
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).ln() / Decimal(2).ln())


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
    return [
        *exact,
        *[Tower(1, Fraction(t)) for t in (8, 9, 15, 100, 255)],
        Tower(2, Fraction(8)),
        Tower(2, Fraction(9)),
    ]


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
    for a in small:
        for b in small:
            assert (a < b) == (value(a) < value(b))
            assert (a == b) == (value(a) == value(b))
            for found, truth in ((a + b, value(a) + value(b)), (a * b, value(a) * value(b))):
                assert normal(found)
                assert value(found) >= truth, (a, b)
                if a.height == b.height == 0 and truth < 2**8:
                    assert value(found) == truth
                elif found.height <= 1:
                    assert value(found) <= 4 * max(truth, value(a), value(b))


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
