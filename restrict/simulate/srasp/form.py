"""Affine forms of the residual stream that stand for integers and truth values, with their ranges."""

import math
from dataclasses import dataclass

from restrict.simulate.srasp.budget import Line, Weights


@dataclass(frozen=True)
class AffineForm:
    """An affine form of the stream, ready at ``time``; its values lie between the lines ``low`` and ``high``.
    ``spread`` bounds how far it is from what it stands for by what its dimensions are; by default as the row does."""

    row: tuple[tuple[int, float], ...]
    bias: float
    time: int
    low: Line = (0, 0)
    high: Line = (0, 1)
    spread: Weights | None = None

    @property
    def known(self) -> Weights:
        """The weights of the dimensions' errors."""
        return tuple((d, abs(w)) for d, w in self.row) if self.spread is None else self.spread

    def scaled(self, factor: int) -> "AffineForm":
        """The form times an integer."""
        ends = [(self.low[0] * factor, self.low[1] * factor), (self.high[0] * factor, self.high[1] * factor)]
        low, high = ends if factor >= 0 else ends[::-1]
        spread = tuple((d, w * abs(factor)) for d, w in self.known)
        return AffineForm(tuple((d, w * factor) for d, w in self.row), self.bias * factor, self.time, low, high, spread)

    def plus(self, other: "AffineForm") -> "AffineForm":
        """The sum of two forms."""
        row = dict(self.row)
        for d, w in other.row:
            row[d] = row.get(d, 0.0) + w
        low = (self.low[0] + other.low[0], self.low[1] + other.low[1])
        high = (self.high[0] + other.high[0], self.high[1] + other.high[1])
        kept, spread = tuple((d, w) for d, w in row.items() if w), dict(self.known)
        for d, w in other.known:
            spread[d] = spread.get(d, 0.0) + w
        return AffineForm(kept, self.bias + other.bias, max(self.time, other.time), low, high, tuple(spread.items()))


def number(value: float) -> AffineForm:
    """The form of a number."""
    return AffineForm((), float(value), 0, (0, math.floor(value)), (0, math.ceil(value)))


def below(one: Line, two: Line) -> bool:
    """Whether one line is nowhere above another. Result: the answer, for all ``i >= 0``."""
    return one[0] <= two[0] and one[1] <= two[1]
