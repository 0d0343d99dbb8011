"""The command `report`. Imported with the command line, so it stays light."""

from __future__ import annotations

from pathlib import Path

import click

from restrict.base.errors import UsageError
from restrict.cli import common
from restrict.cli.checking import trusted_line
from restrict.cli.printer import Told, put

DRAWINGS = (
    "drawn are certificates, refutations, lower bounds and soft certificates at one length, automata and proofs of "
    "languages of up to 60 states, sweeps and influence tables"
)
"""What ``--figure`` can draw."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@common.output_option("the report (HTML)")
@common.model_option("The model; a built-in one is found by its name.")
@click.option("--stages", is_flag=True, help="Run the Depth Reduction Lemma and show its stages (--target all).")
@common.file_option("--figure", text="Write the main drawing here (.svg or .pdf).")
@common.JSON
def report(
    file: Path, output: Path | None, model: str | None, stages: bool, figure: Path | None, as_json: bool
) -> None:  # fmt: skip
    """Write a report of FILE: one HTML page that needs no network.

    FILE is a certificate, a refutation, a lower bound, an automaton, a proof for all lengths, a soft certificate, the
    rows of a sweep, or what `restrict soft influence --json` printed. The page shows the claim, inputs, layers and
    attention before and after; point at a node for its values, dependencies and candidates.
    """
    from restrict.report.drawing import check_ending, save
    from restrict.report.page import need_jinja
    from restrict.report.source import page_of

    if output is None and figure is None:
        raise UsageError("nothing to write: give -o report.html, --figure figure.svg, or both")
    common.no_model(file, f"`restrict certify {file} -n N -o FILE` makes one")
    if output is not None:
        need_jinja()
    if figure is not None:
        check_ending(figure)
    page = page_of(file, model, trusted_line, stages)
    if output is not None:
        page.save(output)
    if figure is not None:
        if page.drawing is None:
            raise UsageError(f"{file}: {page.kind.lower()} without a drawing; {DRAWINGS}")
        save(page.drawing, figure)
    document = {"kind": page.kind, "title": page.title, "claim": page.claim}
    document |= {what: str(path) for what, path in (("report", output), ("figure", figure)) if path}
    told = Told(lambda: f"{page.title}: {page.claim}", lambda: document)
    put(told, as_json, {"  report written to": output, "  figure written to": figure})
