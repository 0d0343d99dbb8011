"""The answers of :func:`restrict.refute` that are not refutations."""

from dataclasses import dataclass

from restrict.certificate.certificate import Certificate


@dataclass(frozen=True, eq=False)
class Immune:
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

    @property
    def proved(self) -> bool:
        """Always true: that there is no refutation is proved."""
        return True

    def __repr__(self) -> str:
        return f"Immune({self.model_name!r}, {self.language!r}, n={self.n}, proved)"


@dataclass(frozen=True, eq=False)
class NoRefutation:
    """No refutation was found, which proves nothing; the fields are those of :class:`Immune`. ``most``: proved is that
    a refutation leaves at most this many positions free; ``None``: no such bound is known."""

    model_name: str
    language: str
    n: int
    reason: str
    example: Certificate | None = None
    most: int | None = None

    @property
    def proved(self) -> bool:
        """Always false: nothing is proved."""
        return False

    @property
    def exact(self) -> bool:
        """Always false: not every word was seen."""
        return False

    def __repr__(self) -> str:
        return f"NoRefutation({self.model_name!r}, {self.language!r}, n={self.n})"
