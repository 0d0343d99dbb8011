"""The trusted checker on bytes in memory. What elaborates a proof is loaded where one is asked for: proofs of other
kinds need none of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from restrict.base.strictjson import translated
from restrict.checker.main import CERTIFICATE, DEFAULT_LIMIT, PROOFS, uncollected, verify

if TYPE_CHECKING:
    from restrict.checker.account import Task
    from restrict.checker.one_length import Claim, Prover

OTHER = tuple(f'"{name}"'.encode() for name, module in PROOFS.items() if module != PROOFS[CERTIFICATE])
"""Formats of proofs that the kernel does not know; the checker has modules of their own for them."""


@uncollected()
def trusted_check(
    model: bytes, certificate: bytes, source: Path | None, name: str, limit: int | None, fast: bool = False
) -> str:
    """The line ``s VERIFIED ...`` of the trusted checker on bytes in memory, in any format that it knows; its
    rejections as the package's errors: ``ResourceLimit`` (steps, memory or stack), ``NotEstablished``, ``ModelError``
    (malformed, or for another model), ``UsageError`` (an unreadable file). ``source``: the model file, beside its
    tensor files (``None``: the current folder). ``name``: of the certificate in messages. ``limit``: in steps;
    ``None``: docs/checker.md's. ``fast``: the engine's compiled scans decide on the rows of the proof."""
    folder, model_name = source.parent if source else Path(), str(source or "model")
    most = DEFAULT_LIMIT if limit is None else limit
    if fast and not any(word in certificate for word in OTHER):
        from restrict.elaboration.compiled import check_compiled
        from restrict.elaboration.make import Elaboration

        return check_compiled(Elaboration(model, certificate, folder, model_name, name, most))
    names = {"model_name": model_name, "certificate_name": name}
    with translated(name):
        return verify(model, certificate, folder=folder, limit=most, proof=proof_in_memory(most), **names)


def proof_in_memory(limit: int) -> Prover:
    """The elaborator for the checker: the bytes of a proof of what that has read, in ``limit`` steps."""

    def proof(task: Task, claim: Claim, program: bytes) -> bytes:
        from restrict.elaboration.make import instance_of, proof_in_reach

        return proof_in_reach(claim, program, instance_of(claim, task), limit)

    return proof
