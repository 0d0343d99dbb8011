"""What `verify`, `certify --all-lengths` and `refute --all-lengths` share. Imported with them, so it stays light."""

from __future__ import annotations

import click
from click.core import ParameterSource

from restrict.base.errors import NotEstablished, UsageError
from restrict.cli import common
from restrict.cli.printer import put, put_json

STATES = common.option(
    "--states", common.Whole(1, 10_000_000), "Give up (exit 5) where an automaton has more states.", default=200_000
)


def refuse_others(allowed: tuple[str, ...]) -> None:
    """Refuse options that mean nothing with --all-lengths."""
    context = click.get_current_context()
    for one in context.command.params:
        given = context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
        if given and isinstance(one, click.Option) and one.name not in ("all_lengths", *allowed):
            draws = "; `restrict automaton MODEL --figure FILE.svg` draws what a model recognises at every length"
            raise UsageError(f"{one.opts[0]} is not for --all-lengths" + draws * (one.name == "figure"))


def certify_everywhere(o: common.Given) -> None:
    """The command `certify --all-lengths`; with `--cost` and a length also a restriction with the fewest positions."""
    from restrict.all_lengths.certify import certify_all_lengths, certify_costs

    with common.stages_on(o.program.name[:40]) as tell:
        if o.cost:
            _, found = certify_costs(o.program, o.label, n=o.n, states=o.states, progress=tell)
        else:
            _, found = certify_all_lengths(o.program, label=o.label, states=o.states, progress=tell)
    found.write(o.output)
    put(lambda: found.text(o.output), found.document, o.as_json)


def refute_everywhere(o: common.Given) -> None:
    """The command `refute --all-lengths`; with a length, also a word of that length."""
    from restrict.all_lengths.evidence import Evidenced, Proved
    from restrict.all_lengths.wrong import refute_all_lengths

    with common.stages_on(o.program.name[:40]) as tell:
        found = refute_all_lengths(o.program, o.spec, n=o.n, states=o.states, progress=tell)
    if isinstance(found, Proved):
        if o.as_json:
            put_json(Evidenced.document(found) | {"immune": True} | found.automaton.undefined_document())
        raise NotEstablished(found.immune())
    found.answer.write(o.output)
    put(lambda: found.text(o.output), found.document, o.as_json)
