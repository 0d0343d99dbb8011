"""What the compiler of hard-attention programs returns: the softmax model, and one report for each head."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from restrict.model.program import Model
from restrict.simulate.lemmas_6_to_9 import gap_error, tied_error
from restrict.simulate.stream import StreamBlock
from restrict.soft.models.model import SoftModel
from restrict.soft.models.terms import Term


@dataclass(frozen=True)
class HeadReport:
    """One head of the softmax model: what it reads (``raw``: before rounding), how sharp it must be, and what it can
    lose. ``ties``: ``broken``, or ``harmless`` where none can matter. ``top``: the greatest rank of a score."""

    variable: str
    layer: int
    ties: str
    scale: Term
    raw: StreamBlock
    top: int

    def error(self, n: int, unit: float = 0.0) -> float:
        """The certified bound on the weight off the winning keys at length ``n``, outward rounded. ``unit``: unit
        roundoff of the arithmetic in which the scale is computed."""
        low = max(self.scale.enclose(0, n).low, 0.0) * (1 - 4 * unit)
        return gap_error(n - 1, 1, low) if self.ties == "harmless" else tied_error(n, 1, low)


@dataclass(frozen=True)
class CompiledProgram:
    """A softmax model that computes a hard-attention program, with what is known about it."""

    program: Model
    soft: SoftModel
    n: int
    epsilon: Fraction
    heads: tuple[HeadReport, ...]
    blocks: Mapping[str, StreamBlock]
    every_length: bool

    @property
    def error(self) -> float:
        """The certified bound on every head's error at ``n``; exact 0 where there is no head."""
        return max((head.error(self.n) for head in self.heads), default=0.0)

    @property
    def scale(self) -> float:
        """The greatest inverse temperature at ``n``, rounded up; 0 where there is no head."""
        return max((head.scale.enclose(0, self.n).high for head in self.heads), default=0.0)
