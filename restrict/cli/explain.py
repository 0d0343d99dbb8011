"""The command `explain`. Imported with the command line, so it stays light."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import NotEstablished, UsageError
from restrict.cli import common
from restrict.cli.printer import Told, put

if TYPE_CHECKING:
    from restrict.optimum.explain import Explanation


MOST = 1_000_000
"""Explanations that may be asked for."""


@click.command("explain")
@common.MODEL
@click.option(
    "--input",
    "word",
    type=common.Text(),
    required=True,
    help="The input, without markers: 0110, or symbols separated by spaces.",
)
@common.TARGET
@click.option("--exact", is_flag=True, help="A minimum explanation, by SAT (small models).")
@click.option("--all", "count", type=common.Whole(1, MOST), metavar="K", help="K different minimal explanations.")
@click.option(
    "--pin",
    multiple=True,
    type=common.Whole(0, common.LONGEST - 1),
    help="This position is fixed beforehand and costs nothing (repeatable).",
)
@click.option("--weight", multiple=True, metavar="POSITION=COST", help="Cost of a position, 1 by default (repeatable).")
@common.TIME
@common.SEED
@common.output_option("the first certificate")
@common.JSON
def explain_command(
    model: str, word: str, count: int | None, pin: tuple[int, ...], weight: tuple[str, ...], output: Path | None,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Find a smallest set of input symbols that forces MODEL's output on an input, whatever the other symbols are."""
    from restrict.model.source import load
    from restrict.optimum.explain import explain

    program = load(model)
    prices = dict(_weight(w) for w in weight)
    with common.progress_on(program.name[:40]) as progress:
        found = explain(program, word, all=count, given=pin, weights=prices, progress=progress, **options)
    certificate = found[0].certificate if found else None
    if output is not None:
        if certificate is None:
            raise NotEstablished(
                "the abstract run confirms no such explanation, so there is no certificate to write; leave out --exact"
            )
        certificate.save(output)
    text = "\n".join(explanation_text(e) for e in found)
    put(
        Told(lambda: text, lambda: [explanation_document(e) for e in found]),
        as_json,
        {"certificate written to": output},
    )
    if any(e.interrupted for e in found):
        common.leave_interrupted(output, "explanation")


def _weight(text: str) -> tuple[int, int]:

    position, _, cost = text.partition("=")
    if not (position.isdigit() and cost.isdigit() and text.isascii() and len(text) <= 20):
        raise UsageError(f"--weight {text!r}: write POSITION=COST with a positive integer cost")
    return int(position), int(cost)


def explanation_text(e: Explanation) -> str:
    """One explanation in words."""
    rho = e.restriction
    chosen = " ".join(f"{i}:{rho.fixed[i]}" for i in e.positions) or "(none: the output never changes)"
    if e.minimum:
        kind = "minimum (exact)"
    else:
        kind = {True: "minimal (exact)", False: "not minimal by SAT", None: "minimal for the abstract run"}[e.minimal]
    if e.lower and not e.minimum:
        kind += f" (every explanation weighs at least {e.lower})"
    checked = "" if e.certificate else "; confirmed by SAT only"
    force = "forces" if len(e.positions) == 1 else "force"
    return f"{e.label}: {len(e.positions)} of {rho.n} positions {force} it, {kind}{checked}\n  {chosen}"


def explanation_document(e: Explanation) -> dict[str, Any]:
    """One explanation as JSON."""
    return {
        "label": e.label,
        "positions": list(e.positions),
        "weight": e.weight,
        "lower": e.lower,
        "minimal": e.minimal,
        "certificate": json.loads(e.certificate.to_bytes()) if e.certificate else None,
    }
