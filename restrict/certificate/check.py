"""Checking from Python: the trusted checker on models that have a file, its fast twin on the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from restrict.arguments import the_model
from restrict.certificate.certificate import Certificate, check_fast, read_certificate
from restrict.certificate.lower_bound import FORMAT as LOWER_BOUND
from restrict.certificate.lower_bound import LowerBound, read_lower_bound
from restrict.certificate.lower_bound_check import check_lower_bound_fast
from restrict.certificate.refutation import FORMAT as REFUTATION
from restrict.certificate.refutation import Refutation, read_refutation
from restrict.checker.account import Reject
from restrict.checker.main import DEFAULT_LIMIT, verify
from restrict.errors import ModelError, NotEstablished, ResourceLimit, UsageError, quote
from restrict.model.program import Model
from restrict.strictjson import Node, read_document

Claimed = Certificate | Refutation | LowerBound


def load_any(path: Path) -> Claimed:
    """The certificate, refutation or lower bound in a file; it is not checked here.

    Args:
        path: the file; its field ``format`` says which it is.

    Returns:
        The object that the file describes.

    Raises:
        ModelError: the file is malformed; the message is file: place: reason.
        UsageError: it cannot be read.
        ResourceLimit: it is too large, or has more positions than can be held one by one.
    """
    return read_document(path, read_any)


def read_any(root: Node) -> Claimed:
    """A certificate, a refutation or a lower bound from its JSON form.

    Args:
        root: the JSON value, with its place for messages; its field ``format`` says which it is.

    Returns:
        The object that it describes; it is not checked here.

    Raises:
        ModelError: it is malformed, with the place.
        ResourceLimit: it has more positions than can be held one by one.
    """
    kind = root.value.get("format") if isinstance(root.value, dict) else None
    if kind == REFUTATION:
        return read_refutation(root)
    return read_lower_bound(root) if kind == LOWER_BOUND else read_certificate(root)


def check(model: Model, certificate: Claimed, *, fast: bool = False, limit: int | None = None) -> str:
    """Verify a certificate, a refutation or a lower bound.

    By default the trusted checker (restrict/checker) reads the bytes of both. With ``fast``, or for a model built from
    Python callables, which has no file, the numba abstract run decides, in this process; where the model has no digest,
    the line ends in ``unsigned``. The fast check of a lower bound counts no steps, so with a ``limit`` the trusted
    checker decides.

    Cost: docs/checker.md.

    Args:
        model: the program.
        certificate: what is to be verified.
        fast: let the numba abstract run decide.
        limit: the most steps, by default those of docs/checker.md.

    Returns:
        The line ``s VERIFIED ...``.

    Raises:
        NotEstablished: the claim does not follow.
        ModelError: the certificate is malformed or for another model; or it is a refutation of a model without a file.
        ResourceLimit: more than ``limit`` steps, or not enough memory.
        UsageError: something else than a model and one of these was given.
    """
    the_model(model)
    if not isinstance(certificate, Claimed):
        raise UsageError(
            f"expected a Certificate, a Refutation or a LowerBound, not {quote(certificate)}; "
            "restrict.load_certificate reads a certificate's file"
        )
    if isinstance(certificate, Refutation) and model.content is None:
        raise ModelError(
            "model: a refutation of a model without a file cannot be checked again; it was when it was made"
        )
    if isinstance(certificate, LowerBound) and (model.content is None or (fast and limit is None)):
        line = check_lower_bound_fast(model.at(certificate.n), certificate)
        return f"s VERIFIED {line} {model.digest or 'unsigned'}"
    if isinstance(certificate, Certificate) and model.content is None:
        return f"s VERIFIED {check_fast(model, certificate)} {model.digest or 'unsigned'}"
    assert model.content is not None
    runner = None
    if fast:
        from restrict.certificate.fast import FAST_LIMIT, FastRun

        runner, limit = FastRun, FAST_LIMIT if limit is None else limit
    return trusted_check(model.content, certificate.to_bytes(), model.source, "certificate", limit, runner)


def trusted_check(
    model: bytes,
    certificate: bytes,
    source: Path | None,
    name: str,
    limit: int | None,
    runner: Callable[..., Any] | None = None,
) -> str:
    """The trusted checker on bytes in memory, its rejections as the package's errors.

    Args:
        model: the bytes of the model file.
        certificate: the bytes of the certificate, refutation or lower bound.
        source: the model file, whose folder has the tensor files; ``None``: the current folder.
        name: what messages call the certificate.
        limit: the most steps; ``None``: those of docs/checker.md.
        runner: another abstract run in place of the checker's own; ``None``: its own.

    Returns:
        The line ``s VERIFIED ...``.

    Raises:
        ResourceLimit: the checker ran out of steps, memory or stack.
        NotEstablished: the claim does not follow.
        ModelError: one of the two is malformed, or the certificate is for another model.
        UsageError: a file cannot be read.
    """
    try:
        return verify(
            model,
            certificate,
            folder=source.parent if source else Path(),
            model_name=str(source or "model"),
            certificate_name=name,
            limit=DEFAULT_LIMIT if limit is None else limit,
            runner=runner,
        )
    except (MemoryError, RecursionError):
        raise ResourceLimit(f"{name}: out of memory or stack") from None
    except Reject as reject:
        kinds: dict[int, Callable[[str], Exception]] = {
            2: UsageError,
            3: NotEstablished,
            4: ModelError,
            5: ResourceLimit,
        }
        raise kinds[reject.code](str(reject)) from None
