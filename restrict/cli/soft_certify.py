"""The command `soft certify`. Imported with the command line, so it stays light."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from restrict.base.errors import UsageError, quote
from restrict.cli.common import (
    JSON,
    LENGTH,
    LONGEST,
    SECONDS,
    Text,
    Whole,
    leave_interrupted,
    output_option,
    progress_on,
)  # fmt: skip
from restrict.cli.printer import Answer, Told, put
from restrict.cli.soft_common import MODEL, SEED
from restrict.cli.terminal import complete_language

STATES = ("was not re-checked", "is valid")
"""What is said of an answer after Ctrl-C, by whether it was checked."""


@click.command("certify")
@MODEL
@LENGTH
@click.option("--epsilon", help="How far the free tokens together may move the output, such as 0.01.")
@click.option(
    "--quantity", type=click.Choice(["probability", "margin"]), default="probability", show_default=True,
    help="What may move by epsilon.",
)  # fmt: skip
@click.option(
    "--label",
    help="Without --epsilon: whose sign is forced, or all, or greatest (which label is); by default the end's.",
)  # fmt: skip
@click.option(
    "--inputs", type=Text(), shell_complete=complete_language,
    help="Without --epsilon: completions are prefixes of this language's words.",
)  # fmt: skip
@click.option("--fix", metavar="TEXT", help="Certify this instead of searching, such as 3:1,7:0.")
@click.option(
    "--position", type=Whole(0, LONGEST), help="Where the output is read, for models that have it everywhere."
)
@click.option(
    "--time", "seconds", type=SECONDS, default=30.0, show_default=True, help="Stop improving after this many seconds."
)
@click.option(
    "--no-recheck", is_flag=True, help="Leave out the re-check in exact arithmetic: a bound, not called certified."
)
@SEED
@output_option("the certificate")
@JSON
def certify_command(
    model: str,
    n: int,
    epsilon: str | None,
    quantity: str,
    label: str | None,
    inputs: str | None,
    fix: str | None,
    position: int | None,
    seconds: float,
    no_recheck: bool,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Fix few tokens so that all the others together move the output by at most epsilon, and certify it.

    Without --epsilon, for a trained checkpoint of one layer (GPT-2's names, NAME.config.json beside it): fix few of the
    n symbols behind the start token so that the decision is the same whatever the others are.

    What is found is checked again by a separate program in exact arithmetic (as `soft check` does) before it is called
    certified. That is slow: seconds at n = 50, minutes at several hundred with two layers or more.
    """
    fixed = None if fix is None else fixed_of(fix)
    if epsilon is None:
        if position is not None:
            raise UsageError("--position goes with --epsilon; a forced decision is read behind the last symbol")
        _forced(model, n, label, inputs, fixed, seconds, not no_recheck, output, as_json)
        return
    if label is not None or inputs is not None:
        raise UsageError("--label and --inputs are for forced decisions, without --epsilon")
    from restrict.soft.importers.opened import opened
    from restrict.soft.restriction.restriction import certify_soft

    loaded = opened(model)
    with progress_on(f"{loaded.name[:40]}, n = {n}") as progress:
        found = certify_soft(
            loaded, n, epsilon, quantity="margin" if quantity == "margin" else "probability", position=position,
            fixed=fixed, seed=seed, seconds=seconds, check=not no_recheck, progress=lambda what: progress(what, None),
        )  # fmt: skip
    _finish(found, found, found.provenance.get("stopped"), output, as_json)


def _forced(
    model: str, n: int, label: str | None, inputs: str | None, fix: dict[int, str] | None, seconds: float,
    check: bool, output: Path | None, as_json: bool,
) -> None:  # fmt: skip
    from restrict.soft.importers.opened import is_checkpoint
    from restrict.soft.restriction.forced import decision_of, force_decision
    from restrict.soft.trained.graph import dfa_of
    from restrict.soft.trained.model import load

    if not is_checkpoint(model):
        raise UsageError(f"{quote(model)} is no checkpoint with its configuration beside it; give --epsilon")
    loaded = load(Path(model))
    if inputs is not None:
        from restrict.all_lengths.verify import named

        words = dfa_of(named(inputs), loaded)
    fixed = None if fix is None else {i: loaded.tokens.index(loaded.rows([s])[-1]) for i, s in fix.items()}
    with progress_on(f"{loaded.name[:40]}, n = {n}") as progress:
        found = force_decision(
            loaded, n, decision_of(loaded, label), inputs=None if inputs is None else words, fixed=fixed,
            seconds=seconds, check=check, told=inputs or "all words", tell=lambda what: progress(what, None),
        )  # fmt: skip
    told = Told(found.text, lambda: found.document() | {"verified": found.verified, "stopped": found.stopped})
    _finish(found, told, found.stopped, output, as_json)


def _finish(found: Any, told: Answer, stopped: str | None, output: Path | None, as_json: bool) -> None:
    """Write, print, and after Ctrl-C say what the answer is."""
    if output is not None:
        found.save(output)
    put(told, as_json, {"certificate in": output})
    if stopped == "interrupted":
        leave_interrupted(output, "restriction", STATES[bool(found.verified)])


def fixed_of(text: str) -> dict[int, str]:
    """The tokens of ``3:1,7:0``."""
    found: dict[int, str] = {}
    for part in text.split(",") if text.strip() else []:
        position, colon, symbol = part.strip().partition(":")
        if not colon or not position.isascii() or not position.isdigit() or int(position) in found:
            raise UsageError(f"--fix {text!r}: {part!r} is not POSITION:SYMBOL, or the position comes twice")
        found[int(position)] = symbol
    return found
