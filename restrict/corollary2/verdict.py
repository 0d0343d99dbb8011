"""The answers of :func:`restrict.refute` that are not refutations."""

from dataclasses import dataclass
from typing import Any

from restrict.base.wording import parts
from restrict.certificate.certificate import Certificate


class Unrefuted:
    """What both answers say."""

    model_name: str
    language: str
    n: int
    reason: str
    example: Certificate | None
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
        """The answer as JSON; ``most``: the most positions that a refutation can leave free, where that is proved."""
        return {
            "immune": True,
            **parts(self, "language n proved exact most reason"),
            "example": None if self.example is None else self.example.document(),
        }


@dataclass(frozen=True, eq=False)
class Immune(Unrefuted):
    """Proved: at this length and target, every restriction that forces the model's output decides membership.

    Attributes:
        model_name, language, n: what was asked about; ``n`` counts the markers.
        reason: by what this is proved.
        exact: the label tells members from non-members at this length, as every word or a proof for all lengths shows.
        example: a forcing restriction that decides membership, if one was met.
    """

    model_name: str
    language: str
    n: int
    reason: str
    exact: bool = False
    example: Certificate | None = None

    def __repr__(self) -> str:
        return f"Immune({self.model_name!r}, {self.language!r}, n={self.n}, proved)"


@dataclass(frozen=True, eq=False)
class NoRefutation(Unrefuted):
    """No refutation was found, which proves nothing; the fields are those of :class:`Immune`. ``most``: proved is that
    a refutation leaves at most this many positions free; ``None``: no such bound is known."""

    model_name: str
    language: str
    n: int
    reason: str
    example: Certificate | None = None
    most: int | None = None

    @property
    def exact(self) -> bool:
        """Always false: not every word was seen."""
        return False

    def __repr__(self) -> str:
        return f"NoRefutation({self.model_name!r}, {self.language!r}, n={self.n})"
