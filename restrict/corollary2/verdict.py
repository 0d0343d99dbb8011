"""The answers of :func:`restrict.refute` that are not refutations."""

from dataclasses import dataclass
from typing import Any

from restrict.base.wording import parts
from restrict.certificate.certificate import Certificate


@dataclass(frozen=True, eq=False, repr=False)
class Unrefuted:
    """What both answers say.

    Attributes:
        model_name, language, n: what was asked about; ``n`` counts the markers.
        reason: why there is no refutation.
        example: a forcing restriction that decides membership, if one was met.
        exact: the label tells members from non-members at this length, as every word or a proof for all lengths shows.
        most: proved is that a refutation leaves at most this many positions free; ``None``: no such bound is known.
    """

    model_name: str
    language: str
    n: int
    reason: str
    example: Certificate | None = None
    exact: bool = False
    most: int | None = None

    @property
    def proved(self) -> bool:
        """Whether it is proved that there is no refutation."""
        return isinstance(self, Immune)

    def text(self) -> str:
        """The answer in one line."""
        proved = "proved" if self.proved else "not proved"
        return f"immune ({proved}): {self.language} at n = {self.n}: {self.reason}"

    def document(self) -> dict[str, Any]:
        """The answer as JSON."""
        example = None if self.example is None else self.example.document()
        return {"immune": True, **parts(self, "language n proved exact most reason"), "example": example}

    def __repr__(self) -> str:
        told = f"{self.model_name!r}, {self.language!r}, n={self.n}{', proved' * self.proved}"
        return f"{type(self).__name__}({told})"


class Immune(Unrefuted):
    """Proved: at this length and target, every restriction that forces the model's output decides membership;
    ``reason`` says by what."""


class NoRefutation(Unrefuted):
    """No refutation was found, which proves nothing; ``exact`` is false, as not every word was seen."""
