"""The claim that a soft restriction keeps the output within epsilon, and its file ``restrict-soft-certificate/1``."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from restrict.base.errors import UsageError, quote
from restrict.base.htmltable import ShownTable
from restrict.base.strictjson import Node, Record, one_line_lists
from restrict.base.wording import at_most
from restrict.checker.account import Place, Reject
from restrict.checker.soft import CERTIFICATE, EPSILON
from restrict.checker.soft_terms import bits, quotient

FORMAT = "restrict-soft-certificate/1"
Quantity = Literal["probability", "margin"]


@dataclass(frozen=True)
class SoftCertificate(Record):
    """``fixed`` (position: symbol, without markers) keeps the output within ``epsilon``. ``position`` is the one that
    the output is read at; ``provenance`` is ignored by the re-check. Not in the file: ``bound``, the propagation's own
    bound, ``free``, and ``verified``, the line of the re-check where it has run."""

    model: str
    sha256: str
    n: int
    fixed: dict[int, str]
    position: int
    quantity: Quantity
    epsilon: Fraction
    norms: dict[str, str] = field(default_factory=dict)
    bound: float = math.nan
    free: int = 0
    provenance: dict[str, Any] = field(default_factory=dict)
    verified: str | None = None

    def to_bytes(self) -> bytes:
        """The certificate file."""
        document = {
            "format": FORMAT,
            "model": {"name": self.model, "sha256": self.sha256},
            "n": self.n,
            "fixed": [[i, s] for i, s in sorted(self.fixed.items())],
            "position": self.position,
            "quantity": self.quantity,
            "epsilon": str(self.epsilon),
            "norms": dict(sorted(self.norms.items())),
            "provenance": self.provenance,
        }
        return (one_line_lists(document) + "\n").encode()

    def document(self) -> dict[str, Any]:
        """What the file says, and what is not in it."""
        said: dict[str, Any] = super().document()
        return said | {"bound": self.bound, "free": self.free, "verified": self.verified}

    def text(self) -> str:
        """The claim in words."""
        lines = [f"{self.model} at n = {self.n}: fixed {len(self.fixed)}, free {self.free}"]
        moves, bound = f"the {self.quantity} moves by at most", at_most(self.bound, 6)
        if self.verified is None:
            lines.append(f"{moves} {bound} by the propagation (not re-checked)")
        else:
            lines.append(f"{moves} {self.epsilon} (certified), whatever the free tokens are")
            lines.append(f"the propagation's own bound is {bound}; the re-check confirms {self.epsilon}")
        tokens = " ".join(f"{i}:{s}" for i, s in list(self.fixed.items())[:20])
        more = " ..." if len(self.fixed) > 20 else ""
        return "\n".join([*lines, f"fixed: {tokens}{more}" if tokens else "nothing has to be fixed"])

    @classmethod
    def from_json(cls, root: Node) -> "SoftCertificate":
        """A certificate from its JSON form; see :class:`restrict.base.strictjson.Record`."""
        fields, places = root.read(CERTIFICATE | {"format": (FORMAT,)}), dict(root.members())
        model, n = fields["model"], fields["n"]
        fixed: dict[int, str] = {}
        for pair in places["fixed"].items():
            both = pair.items()
            if len(both) != 2:
                pair.fail("expected a position and a symbol")
            position = both[0].integer(0, n - 1)
            if position in fixed:
                pair.fail(f"position {position} is fixed twice")
            fixed[position] = both[1].text()
        try:
            epsilon = read_epsilon(places["epsilon"].text())
        except UsageError as error:
            places["epsilon"].fail(str(error))
        norms = {name: hint.text() for name, hint in places["norms"].members()}
        read_at, quantity = places["position"].integer(0, n - 1), fields["quantity"]
        provenance = fields.get("provenance", {})
        return SoftCertificate(
            model["name"], model["sha256"], n, fixed, read_at, quantity, epsilon, norms, provenance=provenance
        )

    def facts(self) -> ShownTable:
        """What a notebook shows."""
        rows: list[tuple[str, object]] = [("fixed", len(self.fixed)), ("quantity", self.quantity)]
        return ShownTable(
            f"soft certificate: {self.model} at n = {self.n}", [*rows, ("moves by at most", self.epsilon)]
        )


def read_epsilon(text: str) -> Fraction:
    """A positive rational such as ``0.01``, ``1e-6`` or ``1/100``, by the checker's grammar."""
    try:
        value = quotient(text, Place("epsilon"))
    except Reject:
        raise UsageError(f"epsilon {quote(text)} is not a number such as 0.01, 1e-6 or 1/100") from None
    if value <= 0 or bits(value) > EPSILON:
        raise UsageError(f"epsilon {quote(text)} must be positive and of moderate size")
    return value
