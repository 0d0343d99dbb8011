"""What can be checked at one length, read from its file: a certificate, a refutation or a lower bound."""

from __future__ import annotations

from restrict.base.strictjson import Node
from restrict.certificate import lower_bound, refutation
from restrict.certificate.certificate import Certificate
from restrict.certificate.lower_bound import LowerBound
from restrict.certificate.refutation import Refutation

Claimed = Certificate | Refutation | LowerBound


def read_any(root: Node) -> Claimed:
    """A certificate, a refutation or a lower bound from its JSON form.

    ``root``: the JSON value, with its place for messages; its field ``format`` says which it is. Result: the object
    that it describes; it is not checked here.
    """
    kind = root.value.get("format") if isinstance(root.value, dict) else None
    if kind == refutation.FORMAT:
        return Refutation.from_json(root)
    return LowerBound.from_json(root) if kind == lower_bound.FORMAT else Certificate.from_json(root)
