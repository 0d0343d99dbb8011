"""The command `report`. Imported with the command line, so it stays light."""

import click

from restrict.base.errors import UsageError
from restrict.cli import common
from restrict.cli.checking import trusted_line
from restrict.cli.printer import put

DRAWINGS = (
    "drawn are certificates, refutations, lower bounds and soft certificates at one length, automata and proofs of "
    "languages of up to 60 states, sweeps and influence tables"
)
"""What ``--figure`` can draw."""


@common.command()
@click.argument("file", type=common.PATH)
@common.output_option("the report (HTML)")
@common.model_option("The model; a built-in one is found by its name.")
@common.flag("--stages", "Run the Depth Reduction Lemma and show its stages (--target all).")
@common.file_option("--figure", "Write the main drawing here (.svg or .pdf).")
@common.JSON
def report(o: common.Given) -> None:
    """Write a report of FILE: one HTML page that needs no network.

    FILE is a certificate, a refutation, a lower bound, an automaton, a proof for all lengths, a soft certificate, a
    verdict on a trained model, the rows of a sweep, or what `restrict soft influence --json` printed. The page shows
    the claim, inputs, layers and attention before and after; point at a node for its values, dependencies and
    candidates.
    """
    from restrict.report.drawing import check_ending, save
    from restrict.report.page import need_jinja
    from restrict.report.source import page_of

    if o.output is None and o.figure is None:
        raise UsageError("nothing to write: give -o report.html, --figure figure.svg, or both")
    common.no_model(o.file, f"`restrict certify {o.file} -n N -o FILE` makes one")
    if o.output is not None:
        need_jinja()
    if o.figure is not None:
        check_ending(o.figure)
    page = page_of(o.file, o.model, trusted_line, o.stages)
    if o.output is not None:
        page.save(o.output)
    if o.figure is not None:
        if page.drawing is None:
            raise UsageError(f"{o.file}: {page.kind.lower()} without a drawing; {DRAWINGS}")
        save(page.drawing, o.figure)
    document = {"kind": page.kind, "title": page.title, "claim": page.claim}
    document |= {what: str(path) for what, path in (("report", o.output), ("figure", o.figure)) if path}
    files = {"  report written to": o.output, "  figure written to": o.figure}
    put(f"{page.title}: {page.claim}", document, o.as_json, files)
