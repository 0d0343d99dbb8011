"""The command `refute`. Imported with the command line, so it stays light."""

from __future__ import annotations

from typing import Any

from restrict.base.errors import NotEstablished
from restrict.cli import common
from restrict.cli.checking import checked_by, saved_and_asked
from restrict.cli.every_length import STATES, refuse_others, refute_everywhere
from restrict.cli.printer import put, put_json

OWN_TEST = "  the trusted checker does not know this language; its own membership test was used"


@common.command("refute")
@common.MODEL
@common.language_option("The language: parity, dyck:1, regex:(ab)*, model:FILE, ...", required=True)
@common.LENGTH_OR_ALL
@common.TARGET
@common.option("-c", common.Whole(0), "Let the label depend on up to C inputs.", metavar="C", default=0)
@common.flag("--exact", "The most free positions possible, with proof (n up to about 14).")
@common.SEED
@common.TIME
@STATES
@common.output_option("the refutation")
@checked_by
@common.JSON
def refute_command(o: common.Given) -> None:
    """Show that MODEL does not recognise the language at length n: a restriction that forces its output, and two words
    under it of which exactly one is in the language.

    Exit 0 where a refutation was found. Where there is none (immune), exit 3 and the reason; `proved` says whether that
    is a proof. With --all-lengths: the exact set of lengths at which MODEL is wrong, with a proof, and a shortest word;
    with -n N also a word of that length.
    """
    from restrict.certificate.refutation import Refutation
    from restrict.corollary2.refute import refute

    if o.all_lengths:
        refuse_others(("model", "spec", "states", "output", "as_json", "n"))
        refute_everywhere(o)
        return
    with common.progress_on(f"{o.program.name[:40]}, n = {o.n}") as progress:
        found = refute(o.program, o.spec, o.n, progress=progress, **o.only("target", "c", "exact", "seed", "time"))
        if isinstance(found, Refutation):
            said = saved_and_asked(o, found, found.certificate.provenance.get("stopped") == "interrupted")
    if not isinstance(found, Refutation):
        if o.as_json:
            put_json(found.document())
        raise NotEstablished(found.text())

    def document() -> dict[str, Any]:
        return {"refutation": found.document()} | said.document() | {"file": o.output and str(o.output)}

    def text() -> str:
        from restrict.report.text import refutation_summary

        own = said.line is None and not found.checkable
        return f"{refutation_summary(found)}\n{OWN_TEST if own else said.text()}"

    put(text, document, o.as_json, {"  written to": o.output})
    common.leave_interrupted(said.interrupted, o.output, "refutation")
