"""The command `lower-bound`. Imported with the command line, so it stays light."""

from typing import Any

from restrict.base.errors import NotEstablished
from restrict.base.wording import doing
from restrict.cli import common
from restrict.cli.checking import KERNEL, Asked, asked, checked_by, unchecked
from restrict.cli.printer import put


@common.command("lower-bound")
@common.MODEL
@common.LENGTH
@common.option(
    "-k",
    common.Whole(0, common.LONGEST),
    "Show that no K positions force the output (exit 3 where that is not proved), and stop there.  "
    "[default: go on to the optimum]",
    metavar="K",
)
@common.TARGET
@common.output_option("the certificate")
@common.SEED
@common.TIME
@common.option("--jobs", common.Whole(1, 4096), "Share the search for boxes among N processes.")
@checked_by
@common.JSON
def lower_bound_command(o: common.Given) -> None:
    """Prove how many positions must be fixed, at least, to force MODEL's output. It works at any length.

    `restrict certify` finds a restriction that forces the output; this proves that none with fewer positions does.
    """
    from restrict.optimum.lower_bound import lower_bound
    from restrict.report.lower_bound import has_claim

    with common.progress_on(f"{o.program.name[:40]}, n = {o.n}") as progress:
        with common.crew(o.jobs):
            found = lower_bound(o.program, o.n, k=o.k, progress=progress, **o.only("target", "seed", "time"))
        claimed = has_claim(found.bound)
        written = o.output if claimed else None
        if written is not None:
            found.bound.save(written)
        own = o.checker == KERNEL or not claimed
        said = Asked(found.checked, o.checker) if own else asked(o.program, found.bound, o.checker)
        if found.stopped in ("time", "interrupted"):
            said = said._replace(why=said.why or unchecked("the time was over"))

    def document() -> dict[str, Any]:
        place = {"file": written and str(written)}
        return found.document() | place | said.document()

    told = [found.text(), *([said.text()] if claimed else [])]
    if o.output is not None:
        told.append(f"  written to {o.output}" if written else "  not written: a bound of 0 has no certificate")
    put("\n".join(told), document, o.as_json)
    common.leave_interrupted(found.stopped == "interrupted" or said.interrupted, written)
    if o.k is not None and found.at_least <= o.k:
        size = found.upper
        known = f"{doing(size, 'position', 'force')} the output" if size is not None and size <= o.k else "not decided"
        raise NotEstablished(
            f"not proved: no {doing(o.k, 'position', 'force')} the output; the lower bound is {found.at_least}; {known}"
        )
