"""The command `refute`. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from restrict.base.errors import NotEstablished
from restrict.cli import common
from restrict.cli.checking import KERNEL, Asked, asked, checked_by, checked_line, document_of
from restrict.cli.every_length import STATES, refuse_others, refute_everywhere
from restrict.cli.printer import parts, put, put_json

if TYPE_CHECKING:
    from restrict.certificate.refutation import Refutation
    from restrict.corollary2.verdict import Immune, NoRefutation
    from restrict.model.program import Model


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
    from restrict.model.source import load

    if o.all_lengths:
        refuse_others(("model", "spec", "states", "output", "as_json", "n"))
    program = load(o.model)
    if o.all_lengths:
        refute_everywhere(program, o)
        return
    with common.progress_on(f"{program.name[:40]}, n = {o.n}") as progress:
        found = refute(program, o.spec, o.n, progress=progress, **o.only("target", "c", "exact", "seed", "time"))
        said, late = Asked(None), False
        if isinstance(found, Refutation):
            late = common.saved(found, o.output) or found.certificate.provenance.get("stopped") == "interrupted"
            said = asked(program, found, o.checker, late=late)
    if not isinstance(found, Refutation):
        if o.as_json:
            put_json(immune_document(found))
        text = (
            f"immune ({'proved' if found.proved else 'not proved'}): {found.language} at n = {found.n}: {found.reason}"
        )
        raise NotEstablished(text)

    def document() -> dict[str, Any]:
        place = {"file": str(o.output) if o.output else None}
        return {"refutation": json.loads(found.to_bytes())} | document_of(said.line, o.checker) | place

    put(lambda: summary(program, found, said, o.checker), document, o.as_json, {"  written to": o.output})
    if late or said.interrupted:
        common.leave_interrupted(o.output, "refutation")


def summary(program: Model, found: Refutation, said: Asked, checker: str = KERNEL) -> str:
    """A refutation in words."""
    from restrict.report.text import cases_line, fixed_list, witness_lines

    rho = found.certificate.restriction
    how = {
        "full": "both were run in full",
        "output": "both were run as far as the output reads",
        "certificate": "too long to run; equal by the certificate",
    }[found.rechecked]
    lines = [
        f"{program.name} does not recognise {found.language} at n = {found.n}: two words get the label {found.label!r}",
        f"  fixed   {len(rho.fixed)} of {found.n} positions, {found.free} free",
        f"  c       {found.certificate.c} (certified bound on the inputs that the label depends on)",
        f"  rho     {fixed_list(rho)}",
        *witness_lines(found),
        f"  they differ at {differences(found)} of the free positions; {how}",
    ]
    if found.certificate.split or found.certificate.cases is not None:
        lines.append(cases_line(found.certificate))
    if found.errors is not None:
        lines.append(f"  errors  {found.errors.text()}")
    if found.optimum is not None:
        best = f"{found.optimum} are possible, by enumeration or SAT"
        best = "the most possible" if found.optimum == found.free else best
        if "exact" in found.provenance and found.optimum > found.free:
            lines.append(f"  optimum at most {found.optimum} free positions (certified bound; the time was over)")
        else:
            lines.append(f"  optimum {found.free} free positions: {best} (exact)")
    if said.line is None and not found.checkable:
        lines.append("  the trusted checker does not know this language; its own membership test was used")
    else:
        lines.append(checked_line(said.line, checker, said.why))
    return "\n".join(lines)


def differences(found: Refutation) -> int:
    """At how many positions the witnesses differ."""
    return sum(a != b for a, b in zip(found.member, found.nonmember, strict=True))


def immune_document(found: Immune | NoRefutation) -> dict[str, Any]:
    """An immune answer as JSON; ``most``: the most positions that a refutation can leave free, where that is proved."""
    from restrict.corollary2.verdict import NoRefutation

    return {
        "immune": True,
        **parts(found, "language n proved exact"),
        "most": found.most if isinstance(found, NoRefutation) else None,
        "reason": found.reason,
        "example": None if found.example is None else json.loads(found.example.to_bytes()),
    }
