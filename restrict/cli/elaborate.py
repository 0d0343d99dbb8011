"""The command `elaborate`. Imported with the command line, so it stays light."""

from __future__ import annotations

from pathlib import Path

import click

from restrict.base.errors import UsageError
from restrict.base.files import read_bytes, write_bytes
from restrict.cli import common
from restrict.cli.printer import Told, put

PROGRAM = ".program"
"""The program lies beside the proof, under its name and this ending."""


@click.command()
@common.MODEL
@click.argument("certificate", type=click.Path(path_type=Path))
@common.output_option("the proof", required=True)
@common.JSON
def elaborate(model: str, certificate: Path, output: Path, as_json: bool) -> None:
    """Write every step of the proof in CERTIFICATE down, for the kernel that only checks.

    CERTIFICATE is a certificate, a refutation or a lower bound. The program, which is MODEL at its length, is written
    beside the proof, as PROOF.program. `python -m restrict.checker PROOF.program PROOF` checks the two.
    """
    from restrict.elaboration.make import elaboration_of
    from restrict.model.source import load

    common.no_model(certificate, f"write `restrict elaborate {certificate} {model}`")
    program_file = output.with_name(output.name + PROGRAM)
    for path in (output, program_file):
        common.check_writable(path)
    program, content = load(model), read_bytes(certificate)
    inputs = [path.resolve() for path in (program.source, certificate) if path is not None]
    for path in (output, program_file):
        if path.resolve() in inputs:
            raise UsageError(f"{path}: an input would be overwritten; name another file")
    found = elaboration_of(program, content, model, str(certificate)).made
    write_bytes(program_file, found.program)
    write_bytes(output, found.proof)
    document = {"program": str(program_file), "proof": str(output), "program_bytes": len(found.program)}
    document |= {"proof_bytes": len(found.proof), "digest": found.digest}
    text = f"a proof of {len(found.proof)} bytes about a program of {len(found.program)} bytes, not checked yet"
    put(Told(lambda: f"{text}\n  written to {output} and {program_file}", lambda: document), as_json)
