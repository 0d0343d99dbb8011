"""Numbers far beyond floats, always rounded up: an exact rational, or a tower ``2^2^...^2^top`` with an integer top.

The constants of Hahn's Theorem 1 grow by one exponential per layer, so from the second layer on they have thousands of
digits, and from the third on their logarithms have. :class:`Tower` keeps a number exactly while it is below
``2^65536``, and above it as an upper bound that is a power of two, or a power of two to a power of two, and so on.

Invariants:

- every operation returns an upper bound of its true result, and the result itself where both are below ``2^65536``;
  so a left side computed here is never too small, and ``left <= right`` with an exact right side is a proof;
- the representation is unique: height 0 holds ``0 <= top < 2^65536``, a larger height ``2^16 <= top < 2^65536`` (one
  more step otherwise), so that numbers are ordered by height and then by top;
- no float takes part, here or in a comparison.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import total_ordering

from restrict.base.options import Fact

LIMIT: Fact[int] = 2**16
BITS: Fact[int] = 64
LN2 = Fraction(6931471805599453095, 10**19)
"""An upper bound of ln 2 = 0.69314718055994530941..."""

LONGEST: Fact[int] = 12
"""A tower with more twos than this is printed with its height in words."""


@total_ordering
@dataclass(frozen=True, eq=True)
class Tower:
    """``2^2^...^2^top`` with ``height`` twos; height 0 is the rational ``top`` itself."""

    height: int
    top: Fraction

    def __lt__(self, other: "Tower") -> bool:
        return (self.height, self.top) < (other.height, other.top)

    def __add__(self, other: "Tower | Fraction | int") -> "Tower":
        large, small = sorted((self, of(other)), reverse=True)
        if large.height == 0:
            return of(large.top + small.top)
        # a + b <= 2 a = 2^(log2 a + 1)
        return exp2(log2(large) + 1) if small.top else large

    __radd__ = __add__

    def __mul__(self, other: "Tower | Fraction | int") -> "Tower":
        """At least the product; exact below ``2^65536``. Beyond it a factor below 1 is taken for 1."""
        large, small = sorted((self, of(other)), reverse=True)
        if large.height == 0:
            return of(large.top * small.top)
        return large if small.height == 0 and small.top <= 1 else exp2(log2(large) + log2(small))

    __rmul__ = __mul__

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return f"Tower({text(self)})"

    def document(self) -> dict[str, object]:
        """The number exactly, for JSON: ``height``, and ``top`` as ``m*2^e`` (or ``p/q``); ``text`` is rounded up."""
        return {"height": self.height, "top": _exact(self.top), "text": text(self)}


def of(x: Tower | Fraction | int) -> Tower:
    """A number as a tower: itself below ``2^65536``, else the next power of two. Negative numbers are refused."""
    if isinstance(x, Tower):
        return x
    if x < 0:
        raise ValueError(f"{x} is negative")
    x = Fraction(x)
    return Tower(0, x) if _below_limit(x) else exp2(log2_up(x))


def _below_limit(x: Fraction) -> bool:
    """``x < 2^65536``, by the lengths alone where they decide."""
    length = x.numerator.bit_length() - x.denominator.bit_length()
    return length < LIMIT or (length == LIMIT and x.numerator < x.denominator << LIMIT)


def exp2(x: Tower | Fraction | int) -> Tower:
    """At least ``2^x``: exact for an integer and for a tower, else ``x`` is rounded up first."""
    x = of(x)
    x = x if x.height else of(_ceil(x.top))
    if x.height == 0 and x.top < LIMIT:
        return Tower(0, Fraction(2 ** int(x.top)))
    return Tower(x.height + 1, x.top)


def log2(x: Tower) -> Tower:
    """At least ``log2 x``, for ``x >= 1``; exact beyond ``2^65536``."""
    if x.height == 0:
        return Tower(0, log2_up(x.top))
    return of(x.top) if x.height == 1 else Tower(x.height - 1, x.top)


def ln(x: Tower) -> Tower:
    """At least ``ln x``, for ``x >= 1``."""
    return log2(x) * LN2


def power(x: Fraction, c: Tower) -> Tower:
    """At least ``x^c``, for a rational ``x >= 1`` and an integer ``c``; exact up to ``c = 64``."""
    if c.height == 0 and c.top <= 64:
        return of(x ** int(c.top))
    return exp2(c * log2_up(x))


def log2_up(x: Fraction) -> Fraction:
    """An upper bound of ``log2 x`` for ``x >= 1``, less than ``2^-63`` too large; exact for powers of two. The
    classical method: with ``1 <= y < 2``, the next bit of ``log2 y`` says whether ``y^2 >= 2``. All roundings of ``y``
    go up, and the rest that is cut off is less than one unit of the last bit."""
    if x < 1:
        raise ValueError(f"log2_up of {float(x):g}, which is below 1")
    whole = x.numerator.bit_length() - x.denominator.bit_length()
    if x.numerator < x.denominator << whole:
        whole -= 1
    places = BITS + 32
    shifted = x.numerator << places
    y = -(-shifted // (x.denominator << whole))
    if y == 1 << places and shifted == x.denominator << (whole + places):
        return Fraction(whole)
    bits = 0
    for _ in range(BITS):
        y = -(-(y * y) >> places)
        bits <<= 1
        if y >= 2 << places:
            bits |= 1
            y = -(-y >> 1)
    return whole + Fraction(bits + 1, 1 << BITS)


def short(x: Tower, bits: int = BITS) -> Tower:
    """The next integer, or tower with an integer top, of at most ``bits`` significant bits; keeps files small."""
    whole = _ceil(x.top)
    drop = max(0, whole.bit_length() - bits)
    rounded = -(-whole >> drop) << drop
    found = of(rounded)
    for _ in range(x.height):
        found = exp2(found)
    return found


def text(x: Tower) -> str:
    """The number as short text, rounded up: ``1441``, ``2^(13402.7)``, ``2^2^(1.84e6)``."""
    height, top = x.height, x.top
    if height == 0 and top < 10**9:
        return str(_ceil(top)) if top == _ceil(top) else _decimal(top)
    while top >= 10**9:
        height, top = height + 1, log2_up(top)
    if height > LONGEST:
        return f"2^2^...^2^({_decimal(top)}) with {height} twos"
    return "2^" * height + f"({_decimal(top)})"


def _decimal(x: Fraction) -> str:
    """Six significant digits below a million, three above, rounded up."""
    digits = Context(prec=6 if x < 10**6 else 3, rounding=ROUND_CEILING)
    value = digits.divide(Decimal(x.numerator), Decimal(x.denominator)) if x else Decimal(0)
    if x < 10**6:
        return f"{value.normalize():f}" if value >= Decimal("0.0001") or not value else f"{value.normalize():e}"
    return f"{value:.2e}".replace("e+", "e")


def _exact(x: Fraction) -> str:
    if x.denominator != 1:
        return str(x)
    m = int(x)
    twos = (m & -m).bit_length() - 1 if m else 0
    return str(m) if m < 2**BITS else f"{m >> twos}*2^{twos}"


def _ceil(x: Fraction) -> int:
    return -(-x.numerator // x.denominator)
