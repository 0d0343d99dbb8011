"""Checking from Python: the trusted checker on models that have a file, its fast twin on the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from restrict.certificate.certificate import Certificate, check_fast, load_certificate
from restrict.certificate.lower_bound import LowerBound, is_lower_bound
from restrict.certificate.lower_bound_check import check_lower_bound_fast
from restrict.certificate.refutation import Refutation, is_refutation
from restrict.checker.main import DEFAULT_LIMIT, verify
from restrict.checker.read import Meter, Place, Reject, Task, read_json
from restrict.errors import ModelError, NotEstablished, ResourceLimit, UsageError
from restrict.model.program import Model

Claimed = Certificate | Refutation | LowerBound


def load_any(path: Path) -> Claimed:
    """The certificate, refutation or lower bound in a file. Raises :class:`ModelError` for a malformed one."""
    if is_refutation(path):
        return Refutation.load(path)
    return LowerBound.load(path) if is_lower_bound(path) else load_certificate(path)


def check(model: Model, certificate: Claimed, *, fast: bool = False, limit: int | None = None) -> str:
    """Verify a certificate, a refutation or a lower bound; returns the line that the checker prints.

    By default the trusted checker (restrict/checker) reads the bytes of both; with ``fast``, or for a model built from
    Python callables, which has no file, the numba abstract run decides, in this process, and the line ends in
    ``unsigned`` where there is no digest.

    Raises :class:`NotEstablished` where the claim does not follow, :class:`ModelError` where the certificate is
    malformed or for another model, :class:`ResourceLimit` beyond ``limit`` steps. Cost: docs/checker.md.
    """
    if isinstance(certificate, Refutation) and model.content is None:
        raise ModelError(
            "model: a refutation of a model without a file cannot be checked again; it was when it was made"
        )
    if isinstance(certificate, Refutation) and fast:
        return _fast_refutation(model, certificate, limit)
    if isinstance(certificate, LowerBound) and (model.content is None or fast):
        line = check_lower_bound_fast(model.at(certificate.n), certificate)
        return f"s VERIFIED {line} {model.digest or 'unsigned'}"
    if isinstance(certificate, Certificate) and (model.content is None or fast):
        return f"s VERIFIED {check_fast(model, certificate)} {model.digest or 'unsigned'}"
    assert model.content is not None
    return trusted_check(model.content, certificate.to_bytes(), model.source, "certificate", limit)


def _fast_refutation(model: Model, refutation: Refutation, limit: int | None) -> str:
    """The certificate by the fast abstract run, the witnesses by the trusted checker's membership tests."""
    from restrict.checker.refutation import Refutation as Trusted

    check_fast(model, refutation.certificate)
    content = model.content
    assert content is not None

    def witnesses(folder: Path, model_name: str, most: int) -> str:
        top, meter = Place("refutation"), Meter(most)
        document = read_json(refutation.to_bytes(), top, meter)
        found = Trusted(Task(document, top, content, Place(model_name), folder, meter))
        return found.certificate.line(found.decide())

    return _as_errors(witnesses, model.source, limit)


def trusted_check(model: bytes, certificate: bytes, source: Path | None, name: str, limit: int | None) -> str:
    """The trusted checker on bytes in memory, its rejections as the package's errors."""

    def trusted(folder: Path, model_name: str, most: int) -> str:
        return verify(model, certificate, folder=folder, model_name=model_name, certificate_name=name, limit=most)

    return _as_errors(trusted, source, limit)


def _as_errors(run: Callable[[Path, str, int], str], source: Path | None, limit: int | None) -> str:
    try:
        folder, model_name = source.parent if source else Path(), str(source or "model")
        return run(folder, model_name, DEFAULT_LIMIT if limit is None else limit)
    except Reject as reject:
        kinds: dict[int, Callable[[str], Exception]] = {
            2: UsageError,
            3: NotEstablished,
            4: ModelError,
            5: ResourceLimit,
        }
        raise kinds[reject.code](str(reject)) from None
