"""The command `explain`. Imported with the command line, so it stays light."""

from __future__ import annotations

from restrict.base.errors import NotEstablished, UsageError
from restrict.cli import common
from restrict.cli.printer import put

MOST = 1_000_000
"""Explanations that may be asked for."""


@common.command("explain")
@common.MODEL
@common.option(
    "--input word", common.Text(), "The input, without markers: 0110, or symbols separated by spaces.", required=True
)
@common.TARGET
@common.flag("--exact", "A minimum explanation, by SAT (small models).")
@common.option("--all count", common.Whole(1, MOST), "K different minimal explanations.", metavar="K")
@common.option(
    "--pin",
    common.Whole(0, common.LONGEST - 1),
    "This position is fixed beforehand and costs nothing (repeatable).",
    multiple=True,
)
@common.option(
    "--weight", None, "Cost of a position, 1 by default (repeatable).", multiple=True, metavar="POSITION=COST"
)
@common.TIME
@common.SEED
@common.output_option("the first certificate")
@common.JSON
def explain_command(o: common.Given) -> None:
    """Find few input symbols that force MODEL's output on an input, whatever the other symbols are.

    The answer says what is shown of them: minimum (no fewer would do), minimal (none of them can be left out), or less.
    """
    from restrict.optimum.explain import explain

    prices = dict(_weight(w) for w in o.weight)
    with common.progress_on(o.program.name[:40]) as progress:
        found = explain(
            o.program, o.word, all=o.count, given=o.pin, weights=prices, progress=progress,
            **o.only("target", "exact", "time", "seed"),
        )  # fmt: skip
    certificate = found[0].certificate if found else None
    if o.output is not None:
        if certificate is None:
            raise NotEstablished(
                "the abstract run confirms no such explanation, so there is no certificate to write; leave out --exact"
            )
        certificate.save(o.output)
    files = {"certificate written to": o.output}
    more = ["(the time ended the search: there may be others)"] if any(e.more for e in found) else []
    put(lambda: "\n".join([*(e.text() for e in found), *more]), lambda: [e.document() for e in found], o.as_json, files)
    common.leave_interrupted(any(e.interrupted for e in found), o.output, "explanation")


def _weight(text: str) -> tuple[int, int]:
    position, _, cost = text.partition("=")
    if not (position.isdigit() and cost.isdigit() and text.isascii() and len(text) <= 20):
        raise UsageError(f"--weight {text!r}: write POSITION=COST with a positive integer cost")
    return int(position), int(cost)
