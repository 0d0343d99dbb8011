"""The command `show`. Imported with the command line, so it stays light."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restrict.base.errors import ModelError
from restrict.base.files import naming, read_bytes
from restrict.cli import common
from restrict.cli.printer import put
from restrict.cli.terminal import echo

if TYPE_CHECKING:
    from restrict.base.strictjson import Node
    from restrict.model.program import Model

EXAMINED = 1_000_000
"""A certificate with more positions and nodes than this is drawn without examining its nodes again."""


@common.command()
@common.CERTIFICATE
@common.model_option("Also show the values of each examined node.")
@common.JSON
def show(o: common.Given) -> None:
    """Draw a certificate or a refutation: the witnesses, the restriction and the cone.

    Other files that `restrict report` knows (lower bounds, automata, proofs for all lengths, soft certificates,
    influence tables) are printed as facts and tables.
    """
    from restrict.base.strictjson import Node, parse
    from restrict.model.source import load
    from restrict.report.source import DRAWN, document_page, table_page

    common.no_model(o.certificate, f"`restrict certify {o.certificate} -n N -o FILE` makes one")
    content = read_bytes(o.certificate)
    page = table_page(content, o.certificate)
    if page is None:
        root = Node(parse(content, str(o.certificate)), "top level")
        kind = root.value.get("format") if isinstance(root.value, dict) else None
        if not o.as_json and kind in DRAWN:
            program = None if o.model is None else load(o.model)
            with naming(o.certificate):
                echo(_drawing(root, kind, program))
            return
        page = document_page(root, o.certificate, o.model)
    put(page.text, page.document, o.as_json)


def _drawing(root: Node, kind: object, program: Model | None) -> str:
    """The drawing of a certificate or a refutation; ``root`` is the file, which is read once."""
    from restrict.certificate import refutation
    from restrict.certificate.certificate import Certificate
    from restrict.certificate.outline import read_outline
    from restrict.report.text import certificate_picture, witness_lines

    lines: list[str] = []
    if kind == refutation.FORMAT:
        refuted = refutation.Refutation.from_json(root)
        lines = [f"refutation of {refuted.named}", *witness_lines(refuted)]
        root = root.fields(root.value)["certificate"]
    outline, found = read_outline(root), None
    if program is not None:
        if program.digest != outline.sha256:
            raise ModelError(f"model.sha256: the file is for another model than {program.source or program.name}")
        nodes = outline.n * len(program.variables) if outline.cone == "all" else 0
        if outline.positions + nodes <= EXAMINED:
            found = Certificate.from_json(root)
    return "\n".join([*lines, certificate_picture(outline, program, found)])
