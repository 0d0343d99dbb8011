"""The command `automaton`. Imported with the command line, so it stays light."""

from __future__ import annotations

from restrict.base.errors import UsageError
from restrict.base.files import write_bytes
from restrict.cli import common
from restrict.cli.every_length import STATES
from restrict.cli.printer import put


@common.command("automaton")
@common.MODEL
@STATES
@common.output_option("the minimal automaton (restrict-dfa/1)")
@common.file_option("--dot", "Write a drawing for Graphviz here.")
@common.file_option("--export", "Write the minimal automaton here for another tool: FILE.hoa, FILE.smv or FILE.dot.")
@common.file_option("--figure", "Draw it here: FILE.svg or FILE.pdf.")
@common.JSON
def automaton_command(o: common.Given) -> None:
    """Compute what MODEL recognises at every length: its minimal automaton.

    Prints the states, whether the language is star-free, the cost of forcing each label at every length, and shortest
    words. Exit 3 where the model is not order-only, 5 where an automaton is too large.
    """
    from restrict.all_lengths.automaton import automaton
    from restrict.languages.export import exported, to_json
    from restrict.report.drawing import check_ending

    if o.figure is not None:
        check_ending(o.figure)
    with common.stages_on(o.program.name[:40]) as tell:
        found = automaton(o.program, states=o.states, progress=tell)
    if found.every and (o.output or o.dot or o.export or o.figure):
        raise UsageError(
            "-o, --dot, --export and --figure are for models with output at the last position, not at every one"
        )
    about = f"what {found.model.name} recognises"
    if o.output is not None:
        write_bytes(o.output, to_json(found.dfa(), about).encode())
    for path, suffix in ((o.dot, ".dot"), (o.export, o.export.suffix if o.export else "")):
        if path is not None:
            write_bytes(path, exported(found.dfa(), about, suffix).encode())
    if o.figure is not None:
        found.figure().save(o.figure)
    named = (("automaton", o.output), ("drawing", o.dot), ("export", o.export), ("figure", o.figure))
    put(found.text, found.document, o.as_json, {f"  {what} written to": path for what, path in named})
