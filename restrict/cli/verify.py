"""The command `verify`. Imported with the command line, so it stays light."""

from __future__ import annotations

from restrict.base.errors import NotEstablished, UsageError
from restrict.cli import common
from restrict.cli.every_length import STATES
from restrict.cli.printer import put
from restrict.cli.terminal import complete_model


@common.command("verify")
@common.MODEL
@common.language_option("The language: dyck:1, model:FILE, ...")
@common.option(
    "--equals",
    common.Text(),
    "Compare with this model instead of a language.",
    metavar="MODEL2",
    shell_complete=complete_model,
)
@common.option("--from first", common.Whole(0, 1_000_000), "Only lengths from here on, markers counted.", default=0)
@STATES
@common.output_option("the proof")
@common.JSON
def verify_command(o: common.Given) -> None:
    """Prove that MODEL recognises a language, or agrees with MODEL2, at every length; or show a shortest word on which
    it does not (exit 3). Two models are compared at the lengths at which both are defined, so their order does not
    matter.

    For order-only models: scores that compare query and key values, and periodic or threshold predicates of positions.
    """
    from restrict.all_lengths.evidence import Counterexample
    from restrict.all_lengths.verify import verify
    from restrict.model.source import load

    if (o.spec is None) == (o.equals is None):
        raise UsageError("give a language with -L or a model with --equals, one of the two")
    program = o.program  # read first
    other = None if o.equals is None else load(o.equals)
    with common.stages_on(program.name[:40]) as tell:
        found = verify(program, o.spec, equals=other, first=o.first, states=o.states, progress=tell)
    found.write(o.output)
    if isinstance(found, Counterexample):
        put(lambda: found.proof_text(o.output), found.document, o.as_json)
        raise NotEstablished(found.wrong())
    put(lambda: found.text(o.output), found.document, o.as_json)
