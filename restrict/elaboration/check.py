"""Checking from Python and from the command line: elaborate the proof in memory, and let the kernel decide. The user's
file is read by the checker's own reader; the elaborator writes the proof down, and the kernel checks every line of it
(docs/kernel.md). Proofs of other kinds are decided by the checker's modules for them."""

from __future__ import annotations

import dataclasses

from restrict.base.errors import ModelError, UsageError, quote
from restrict.certificate.claimed import Claimed
from restrict.certificate.refutation import Refutation
from restrict.elaboration.tabulated import tabulated
from restrict.elaboration.trusted import trusted_check
from restrict.model.arguments import the_model
from restrict.model.program import Model

FAST_LIMIT = 10**12
"""Steps of ``fast``: no limit that matters."""


def check(model: Model, certificate: Claimed, *, fast: bool = False, limit: int | None = None) -> str:
    """Verify a certificate, a refutation or a lower bound.

    The trusted checker (restrict/checker) reads the bytes of both, and its kernel decides. A model built from Python
    callables has no file: it is tabulated at the certificate's length, and the line ends in ``unsigned`` in place of a
    digest.

    Cost: docs/checker.md.

    Args:
        model: the program.
        certificate: what is to be verified.
        fast: let the engine's compiled scans decide on the rows of the proof, without a limit that matters where
            none is given.
        limit: the most steps, by default those of docs/checker.md.

    Returns:
        The line ``s VERIFIED ...``.

    Raises:
        NotEstablished: the claim does not follow.
        ModelError: the certificate is malformed or for another model; or it is a refutation of a model without a file.
        ResourceLimit: more than ``limit`` steps, not enough memory, or callables with too many values to tabulate.
        UsageError: something else than a model and one of these was given.
    """
    the_model(model)
    if not isinstance(certificate, Claimed):
        raise UsageError(
            f"expected a Certificate, a Refutation or a LowerBound, not {quote(certificate)}; "
            "restrict.load_certificate reads a certificate's file"
        )
    limit = FAST_LIMIT if fast and limit is None else limit
    if model.content is not None:
        return trusted_check(model.content, certificate.to_bytes(), model.source, "certificate", limit, fast)
    if isinstance(certificate, Refutation):
        raise ModelError(
            "model: a refutation of a model without a file cannot be checked again; it was when it was made"
        )
    if certificate.sha256 is not None:
        raise ModelError(f"model.sha256: the certificate is for another model ({certificate.sha256})")
    made = tabulated(model, certificate.n)
    assert made.content is not None
    named = dataclasses.replace(certificate, sha256=made.digest)
    line = trusted_check(made.content, named.to_bytes(), None, "certificate", limit, fast)
    return line.rsplit(" ", 1)[0] + " unsigned"
