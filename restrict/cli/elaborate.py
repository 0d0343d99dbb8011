"""The command `elaborate`. Imported with the command line, so it stays light."""

from restrict.base.files import read_bytes, write_bytes
from restrict.cli import common
from restrict.cli.printer import put

PROGRAM = ".program"
"""The program lies beside the proof, under its name and this ending."""


@common.command()
@common.MODEL
@common.CERTIFICATE
@common.output_option("the proof", required=True)
@common.JSON
def elaborate(o: common.Given) -> None:
    """Write every step of the proof in CERTIFICATE down, for the kernel that only checks.

    CERTIFICATE is a certificate, a refutation or a lower bound. The program, which is MODEL at its length, is written
    beside the proof, as PROOF.program. `python -m restrict.checker PROOF.program PROOF` checks the two.
    """
    from restrict.elaboration.make import elaboration_of

    common.no_model(o.certificate, f"write `restrict elaborate {o.certificate} {o.model}`")
    program_file = o.output.with_name(o.output.name + PROGRAM)
    common.check_writable(program_file)
    found = elaboration_of(o.program, read_bytes(o.certificate), o.model, str(o.certificate)).made
    write_bytes(program_file, found.program)
    write_bytes(o.output, found.proof)
    document = {"program": str(program_file), "proof": str(o.output), "program_bytes": len(found.program)}
    document |= {"proof_bytes": len(found.proof), "digest": found.digest}
    text = f"a proof of {len(found.proof)} bytes about a program of {len(found.program)} bytes, not checked yet"
    put(f"{text}\n  written to {o.output} and {program_file}", document, o.as_json)
