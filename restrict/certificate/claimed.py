"""What can be checked at one length, read from its file: a certificate, a refutation or a lower bound."""

from __future__ import annotations

from pathlib import Path

from restrict.base.strictjson import Node, read_document
from restrict.certificate.certificate import Certificate
from restrict.certificate.lower_bound import FORMAT as LOWER_BOUND
from restrict.certificate.lower_bound import LowerBound
from restrict.certificate.refutation import FORMAT as REFUTATION
from restrict.certificate.refutation import Refutation

Claimed = Certificate | Refutation | LowerBound


def load_any(path: Path) -> Claimed:
    """The certificate, refutation or lower bound in a file; it is not checked here.

    ``path``: the file; its field ``format`` says which it is.
    """
    return read_document(path, read_any)


def read_any(root: Node) -> Claimed:
    """A certificate, a refutation or a lower bound from its JSON form.

    ``root``: the JSON value, with its place for messages; its field ``format`` says which it is. Result: the object
    that it describes; it is not checked here.
    """
    kind = root.value.get("format") if isinstance(root.value, dict) else None
    if kind == REFUTATION:
        return Refutation.from_json(root)
    return LowerBound.from_json(root) if kind == LOWER_BOUND else Certificate.from_json(root)
