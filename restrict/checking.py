"""Checking from Python: the trusted checker on models that have a file, its fast twin on the others."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from restrict.certificate import Certificate, check_fast
from restrict.errors import ModelError, NotEstablished, ResourceLimit, UsageError
from restrict.model.program import Model


def check(model: Model, certificate: Certificate, *, fast: bool = False, limit: int | None = None) -> str:
    """Verify a certificate; returns the line that the checker prints.

    By default the trusted checker (restrict/check.py) reads the bytes of both; with ``fast``, or for a model built
    from Python callables, which
    has no file, the numba abstract run decides, in this process, and the line ends in ``unsigned`` where there is no
    digest.

    Raises :class:`NotEstablished` where the claim does not follow, :class:`ModelError` where the certificate is
    malformed or for another
    model, :class:`ResourceLimit` beyond ``limit`` steps. Cost: docs/checker.md.
    """
    if model.content is None or fast:
        return f"s VERIFIED {check_fast(model, certificate)} {model.digest or 'unsigned'}"
    return trusted_check(model.content, certificate.to_bytes(), model.source, "certificate", limit)


def trusted_check(model: bytes, certificate: bytes, source: Path | None, name: str, limit: int | None) -> str:
    """restrict/check.py on bytes in memory, its rejections as the package's errors."""
    checker = import_module("restrict.check")
    folder, model_name = source.parent if source else Path(), str(source or "model")
    limit = checker.DEFAULT_LIMIT if limit is None else limit
    try:
        line = checker.verify(
            model, certificate, folder=folder, model_name=model_name, certificate_name=name, limit=limit
        )
    except checker.Reject as reject:
        kinds: dict[int, Callable[[str], Exception]] = {
            2: UsageError,
            3: NotEstablished,
            4: ModelError,
            5: ResourceLimit,
        }
        raise kinds[reject.code](str(reject)) from None
    return str(line)
