"""The class with the greatest logit, exactly, as maps over small domains.

A linear read-out adds one rational weight per feature and class, and answers the first class of greatest sum. One map
over all features would need a table too large to store. One running sum would need a domain too large to store, since
exact weights have many digits. So the sums are kept as digits to a base.

Let all weights be integers (scaled by a common denominator) and ``U = B**m``. Write ``w = U h + l`` with ``0 <= l <
U`` (floor), and ``l`` in ``m`` digits to base ``B``. Then

- for each two classes ``a < b``, a chain of maps adds ``h_a - h_b`` over the features (small numbers, and what the
  features do to both classes cancels before it is added);
- for each class and digit, a chain adds the digits, and carries pass upward: ``sum l = U carry + rest``;
- ``logit_a - logit_b = U (sum (h_a - h_b) + carry_a - carry_b) + rest_a - rest_b`` with ``|rest_a - rest_b| < U``, so
  its sign is that of the bracket, and that of ``rest_a - rest_b`` (compared digit by digit) where the bracket is 0;
- a tournament keeps the best class so far and replaces it only by a strictly greater one: the first greatest wins.

Every domain is at most the number of features times ``B`` or ``TOP``, so the abstract run never meets a long list, and
where the leading part already decides, the digits do not matter.

With more than ``PAIRS`` classes there are too many pairs. Then each class has its own sum, in which the least weight of
the same feature and value is subtracted (this changes all sums by the same amount). A sum is a leading part and one low
part below ``U``; the tournament carries both parts of the best class. There are fewer maps, with larger domains, and
the abstract run is less precise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

from restrict.base.errors import ResourceLimit
from restrict.importers.common import lookup
from restrict.model.document import Variable, mapped

TOP = 96
"""The leading part of a difference of weights spans at most about this many units."""
BASES = (16, 32, 64)
"""Bases to choose from: a small base makes small domains, a large one fewer variables."""
PAIRS = 12
"""Up to this many classes, every two are compared."""
MAX_CLASSES = 256


@dataclass(frozen=True)
class Feature:
    """A variable of the program with its weights: ``weights[value][class]``."""

    name: str
    weights: tuple[tuple[Fraction, ...], ...]


@dataclass
class _Builder:
    """The maps made so far."""

    prefix: str
    features: list[tuple[str, list[list[int]]]]
    base: int
    low: int
    variables: list[Variable] = field(default_factory=list)

    def add(self, name: str, args: Sequence[str], domain: int, text: str) -> str:
        self.variables.append(mapped(self.prefix + name, args, domain, text))
        return self.prefix + name

    def chain(self, name: str, columns: list[tuple[str, list[int]]], constant: int) -> tuple[str, int, int]:
        """Add one number per feature value. Returns (variable, its domain size, offset): the sum is value + offset."""
        moving = [(f, column) for f, column in columns if len(set(column)) > 1]
        offset = constant + sum(min(column) for _, column in columns)
        before, size = "", 1
        for at, (feature, column) in enumerate(moving):
            least = min(column)
            step = lookup(feature, [v - least for v in column])
            size += max(column) - least
            args = [before, feature] if before else [feature]
            before = self.add(f"{name}_{at}", args, size, f"{before} + {step}" if before else step)
        return (before or self.add(f"{name}_0", [], 1, "0")), size, offset


def argmax(features: Sequence[Feature], bias: Sequence[Fraction], prefix: str, room: int) -> tuple[list[Variable], str]:
    """Maps that compute the first class of greatest ``bias + sum of weights``; their names start with ``prefix``.
    ``room``: how many maps may be made; the base of the sums is chosen accordingly."""
    classes = len(bias)
    if classes > MAX_CLASSES:
        raise ResourceLimit(f"{classes} output classes; the importer compares at most {MAX_CLASSES}")
    every = [*bias, *(w for f in features for row in f.weights for w in row)]
    scale = lcm(*(w.denominator for w in every))
    whole = [(f.name, [[int(w * scale) for w in row] for row in f.weights]) for f in features]
    start = [int(w * scale) for w in bias]
    smallest = 0
    if classes > PAIRS:
        built = _Builder(prefix, [(f, [[w - min(row) for w in row] for row in rows]) for f, rows in whole], 2, 0)
        last = _by_sums(built, [w - min(start) for w in start])
        if len(built.variables) <= room:
            return built.variables, last
        raise ResourceLimit(
            f"the exact read-out of {classes} classes needs {len(built.variables)} maps; {room} are left"
        )
    for base in BASES:
        built = _Builder(prefix, whole, base, _digits(whole, base))
        last = _build(built, start)
        if len(built.variables) <= room:
            return built.variables, last
        smallest = len(built.variables)
    raise ResourceLimit(f"the exact read-out needs {smallest} maps and {room} are left")


def _digits(features: list[tuple[str, list[list[int]]]], base: int) -> int:
    """How many low digits to split off, so that the leading part of every weight spans at most ``TOP``."""
    span = max((max(map(max, rows)) - min(map(min, rows)) for _, rows in features), default=0)
    low = 0
    while span // base**low > TOP:
        low += 1
    return low


def _build(built: _Builder, start: list[int]) -> str:
    classes = len(start)
    if classes == 1:
        return built.add("class", [], 1, "0")
    lows = [_low_part(built, c, start[c]) for c in range(classes)]
    better = {
        (a, b): _compare(built, a, b, start, lows) for a in range(classes) for b in range(a + 1, classes)
    }  # 1 where a is at least b
    best = built.add("best_1", [better[0, 1]], 2, f"0 if {better[0, 1]} else 1")
    for c in range(2, classes):
        names = [better[a, c] for a in range(c)]
        kept = names[-1]
        for a in range(c - 2, -1, -1):
            kept = f"({names[a]} if {best} == {a} else {kept})"
        best = built.add(f"best_{c}", [best, *names], c + 1, f"{best} if {kept} else {c}")
    return best


@dataclass(frozen=True)
class _Low:
    """The low part of a class's logit: its digits, lowest first, and what it carries into the leading part."""

    digits: list[str]
    carry: str
    size: int
    offset: int


def _low_part(built: _Builder, c: int, start: int) -> _Low | None:
    """Digits and carry of ``sum l`` for one class."""
    base, unit = built.base, built.base**built.low
    carry, size, low_carry = "", 1, 0
    digits = []
    for t in range(built.low):
        place = base**t
        columns = [(f, [row[c] % unit // place % base for row in rows]) for f, rows in built.features]
        total, most, offset = built.chain(f"low{c}_{t}", columns, start % unit // place % base)
        args = [total, carry] if carry else [total]
        least, greatest = offset + low_carry, offset + low_carry + most - 1 + size - 1
        text = f"({' + '.join(args)} + {least})"
        digits.append(built.add(f"digit{c}_{t}", args, base, f"{text} % {base}"))
        low_carry, size = least // base, greatest // base - least // base + 1
        carry = built.add(f"carry{c}_{t}", args, size, f"{text} // {base} - {low_carry}")
    return _Low(digits, carry, size, low_carry) if digits else None


def _compare(built: _Builder, a: int, b: int, start: list[int], lows: list[_Low | None]) -> str:
    """A map that is 1 where logit ``a`` is at least logit ``b``."""
    unit, tag = built.base**built.low, f"{a}_{b}"
    columns = [(f, [row[a] // unit - row[b] // unit for row in rows]) for f, rows in built.features]
    top, _, offset = built.chain(f"top{tag}", columns, start[a] // unit - start[b] // unit)
    low_a, low_b = lows[a], lows[b]
    if low_a is None or low_b is None:
        return built.add(f"least{tag}", [top], 2, f"{top} + {offset} >= 0")
    size = low_a.size + low_b.size - 1
    carried = built.add(
        f"carried{tag}", [low_a.carry, low_b.carry], size, f"{low_a.carry} - {low_b.carry} + {low_b.size - 1}"
    )
    offset += low_a.offset - low_b.offset - (low_b.size - 1)
    total = f"{top} + {carried} + {offset}"
    sign = built.add(f"sign{tag}", [top, carried], 3, f"1 + ({total} > 0) - ({total} < 0)")
    before = sign
    for t in range(built.low - 1, -1, -1):
        x, y = low_a.digits[t], low_b.digits[t]
        text = f"{before} if {before} != 1 else 1 + ({x} > {y}) - ({x} < {y})"
        before = built.add(f"digits{tag}_{t}", [before, x, y], 3, text)
    return built.add(f"least{tag}", [before], 2, f"{before} >= 1")


# ---------------------------------------------------------------- many classes


def _by_sums(built: _Builder, start: list[int]) -> str:
    """The tournament over sums in two parts; all weights are at least 0."""
    most = max((max(map(max, rows)) for _, rows in built.features), default=0)
    unit = max(1, most // TOP + 1)
    best, high, low, high_size, low_size = "", "", "", 0, 0
    for c, constant in enumerate(start):
        rest = [(f, [row[c] % unit for row in rows]) for f, rows in built.features]
        lead = [(f, [row[c] // unit for row in rows]) for f, rows in built.features]
        below, size_below, offset_below = built.chain(f"below{c}", rest, constant % unit)
        above, size_above, offset_above = built.chain(f"above{c}", lead, constant // unit)
        total = f"({below} + {offset_below})"
        size = size_above + offset_above + (size_below + offset_below) // unit + 1
        here = built.add(f"high{c}", [above, below], size, f"{above} + {offset_above} + {total} // {unit}")
        left = built.add(f"low{c}", [below], unit, f"{total} % {unit}")
        if c == 0:
            best, high, low, high_size, low_size = "", here, left, size, unit
            continue
        sign = built.add(f"sign{c}", [here, high], 3, f"1 + ({here} > {high}) - ({here} < {high})")
        wins = built.add(
            f"wins{c}", [sign, left, low], 2, f"sign > 1 or sign == 1 and {left} > {low}".replace("sign", sign)
        )
        args = [wins, best] if best else [wins]
        best = built.add(f"best_{c}", args, c + 1, f"{c} if {wins} else {best or 0}")
        high_size, low_size = max(high_size, size), max(low_size, unit)
        high = built.add(f"most_{c}", [here, high], high_size, f"max({here}, {high})")
        low = built.add(f"rest_{c}", [wins, left, low], low_size, f"{left} if {wins} else {low}")
    return best
