"""What can be checked: a certificate, a refutation or a lower bound, at one length; and results with a file of another
kind, at every length or about a softmax model."""

from typing import Protocol

from restrict.certificate.certificate import Certificate
from restrict.certificate.lower_bound import LowerBound
from restrict.certificate.refutation import Refutation

Claimed = Certificate | Refutation | LowerBound


class Weights(Protocol):
    """A softmax model: a file's bytes."""

    @property
    def content(self) -> bytes:
        """The bytes, which the checker reads."""
