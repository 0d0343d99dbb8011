"""The command `show`. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restrict.cli import common
from restrict.cli.terminal import echo

if TYPE_CHECKING:
    from restrict.certificate.lower_bound import LowerBound

EXAMINED = 1_000_000
"""Positions and nodes up to which the nodes of a certificate are examined again for a picture."""


@click.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@common.model_option("Also show what each examined node comes to.")
@common.JSON
def show(certificate: Path, model: str | None, as_json: bool) -> None:
    """Draw a certificate, a refutation or a lower bound: the witnesses, the restriction and the cone; the boxes.

    Other files that `restrict report` knows (automata, proofs for all lengths, soft certificates, influence tables)
    are printed as facts and tables.
    """
    from restrict.certificate.certificate import read_certificate
    from restrict.certificate.lower_bound import LowerBound, is_lower_bound
    from restrict.certificate.outline import read_outline
    from restrict.certificate.refutation import Refutation, is_refutation
    from restrict.errors import ModelError
    from restrict.files import read_bytes
    from restrict.report.text import certificate_picture, witness_lines
    from restrict.strictjson import Node, parse

    common.no_model(certificate, f"`restrict certify {certificate} -n N -o FILE` makes one")
    if as_json or _has_page(certificate):
        from restrict.report.source import page_of

        page = page_of(certificate, model)
        if as_json:
            click.echo(json.dumps(page.document()))
        else:
            echo(page.text())
        return
    if is_lower_bound(certificate):
        _show_bound(certificate, LowerBound.load(certificate), model)
        return
    refutation = Refutation.load(certificate) if is_refutation(certificate) else None
    root = Node(parse(read_bytes(certificate), str(certificate)), "top level")
    if refutation is not None:
        root = root.fields(root.value)["certificate"]
    try:
        outline = read_outline(root)
    except ModelError as error:
        raise ModelError(f"{certificate}: {error}") from None
    program, found = None, None
    if model is not None:
        from restrict.model.source import load

        program = load(model)
        if program.digest != outline.sha256:
            raise ModelError(f"{certificate}: model.sha256: the certificate is for another model than {model}")
        nodes = outline.n * len(program.variables) if outline.cone == "all" else 0
        if outline.positions + nodes <= EXAMINED:
            found = read_certificate(root)
    if refutation is not None:
        echo("\n".join([f"refutation of {refutation.language}", *witness_lines(refutation)]))
    echo(certificate_picture(outline, program, found))


def _has_page(path: Path) -> bool:
    """Whether a file is of a kind that has no drawing in letters."""
    from restrict.files import read_bytes

    content = read_bytes(path)
    kinds = (b'"restrict-dfa/1"', b'"restrict-automaton/1"', b'"restrict-soft-certificate/1"')
    from restrict.report.sweep_page import is_sweep

    if is_sweep(content):
        return True
    if b'"restrict-refutation/1"' in content:
        return False
    return any(kind in content for kind in kinds) or (b'"format"' not in content and b'"rows"' in content)


def _show_bound(path: Path, bound: LowerBound, model: str | None) -> None:
    from restrict.errors import ModelError
    from restrict.report.lower_bound import bound_picture

    program = None
    if model is not None:
        from restrict.model.source import load

        program = load(model)
        if program.digest != bound.sha256:
            raise ModelError(f"{path}: model.sha256: the lower bound is for another model than {model}")
    echo(bound_picture(bound, program))
