"""The command `show`. Imported with the command line, so it stays light."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@click.option("--model", default=None, metavar="MODEL", help="Also show what each examined node comes to.")
def show(certificate: Path, model: str | None) -> None:
    """Draw a certificate, or a refutation: the witnesses, the restriction and the cone."""
    from restrict.certificate.certificate import load_certificate
    from restrict.certificate.refutation import Refutation, is_refutation
    from restrict.errors import ModelError
    from restrict.report.text import certificate_picture, witness_lines

    refutation = Refutation.load(certificate) if is_refutation(certificate) else None
    found, program = refutation.certificate if refutation else load_certificate(certificate), None
    if model is not None:
        from restrict.model.source import load

        program = load(model)
        if program.digest != found.sha256:
            raise ModelError(f"{certificate}: model.sha256: the certificate is for another model than {model}")
    if refutation is not None:
        click.echo("\n".join([f"refutation of {refutation.language}", *witness_lines(refutation)]))
    click.echo(certificate_picture(found, program))
