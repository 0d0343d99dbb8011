"""The command `verify`. Imported with the command line, so it stays light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restrict.base.errors import NotEstablished, UsageError
from restrict.cli import common
from restrict.cli.every_length import STATES, document, shown, undefined_document, where_defined, write_proof
from restrict.cli.printer import put
from restrict.cli.terminal import complete_model

if TYPE_CHECKING:
    from restrict.all_lengths.evidence import Counterexample, Proved


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
    from restrict.all_lengths.evidence import Proved
    from restrict.all_lengths.verify import verify
    from restrict.model.source import load

    if (o.spec is None) == (o.equals is None):
        raise UsageError("give a language with -L or a model with --equals, one of the two")
    program = load(o.model)
    other = load(o.equals) if o.equals is not None else None
    with common.stages_on(program.name[:40]) as tell:
        found = verify(program, o.spec, equals=other, first=o.first, states=o.states, progress=tell)
    lines = "\n".join([write_proof(o.output, found), *_once(found)])
    once, partly = found.defined_once, where_defined(found)
    if other is not None and (once or partly):
        partly = " at which both are defined"
    at = f"every n >= {max(o.first, 1)}{partly}"
    more: dict[str, Any] = {} if once is None else {"defined_once": once.document()}
    if isinstance(found, Proved):
        more = {"proved": True, "from": max(o.first, 1)} | undefined_document(found.automaton) | more
        verb = "agrees with" if o.equals is not None else "recognises"
        text = f"proved: {program.name} {verb} {other.name if other else found.what} at {at}\n{lines}"
        put(text, lambda: document(found) | more, o.as_json)
        return
    wrong, since = found.difference, f" with n >= {o.first}" if o.first > 1 else ""
    others = {"member": wrong.member} if wrong.other is None else {"other": wrong.other, "position": wrong.position}
    more = {"proved": False, "word": list(wrong.word), "n": wrong.n, "said": wrong.said} | others | more
    put(lines, lambda: document(found) | more, o.as_json)
    if wrong.other is not None:
        where = "" if wrong.position is None else f", position {wrong.position}"
        raise NotEstablished(
            f"{program.name} and {other.name if other else ''} differ on {shown(wrong.word)} (n = {wrong.n}{where}, "
            f"a shortest one{since}): the labels are {wrong.said!r} and {wrong.other!r}"
        )
    member = "in" if wrong.member else "not in"
    raise NotEstablished(
        f"{program.name} is wrong on {shown(wrong.word)} (n = {wrong.n}, a shortest one{since}): it is {member} the "
        f"{'language of the other' if o.equals else 'language'}, and the model says {wrong.said!r}"
    )


def _once(found: Proved | Counterexample) -> list[str]:
    """The line about lengths at which only one of two models is defined, if there are any."""
    if not found.defined_once:
        return []
    return [f"  not compared, as exactly one of them is defined: {found.defined_once.text()}"]
