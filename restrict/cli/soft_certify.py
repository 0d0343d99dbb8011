"""The command `soft certify`. Imported with the command line, so it stays light."""

from pathlib import Path
from typing import Any

from restrict.base.errors import UsageError, quote
from restrict.cli import common
from restrict.cli.printer import put
from restrict.cli.soft_common import MODEL, SEED

STATES = ("was not re-checked", "is valid")
"""What is said of an answer after Ctrl-C, by whether it was checked."""


@common.command("certify")
@MODEL
@common.LENGTH
@common.option("--epsilon", None, "How far the free tokens together may move the output, such as 0.01.")
@common.option("--quantity", ("probability", "margin"), "What may move by epsilon.", default="probability")
@common.option(
    "--label",
    None,
    "Without --epsilon: whose sign is forced, or all, or greatest (which label is); by default the end's.",
)
@common.language_option("Without --epsilon: completions are prefixes of this language's words.", "--inputs")
@common.option("--fix", None, "Certify this instead of searching, such as 3:1,7:0.", metavar="TEXT")
@common.option(
    "--position", common.Whole(0, common.LONGEST), "Where the output is read, for models that have it everywhere."
)
@common.option("--time seconds", common.SECONDS, "Stop improving after this many seconds.", default=30.0)
@common.flag("--no-recheck", "Leave out the re-check in exact arithmetic: a bound, not called certified.")
@SEED
@common.output_option("the certificate")
@common.JSON
def certify_command(o: common.Given) -> None:
    """Fix few tokens so that all the others together move the output by at most epsilon, and certify it.

    Without --epsilon, for a trained checkpoint of one layer (GPT-2's names, NAME.config.json beside it): fix few of the
    n symbols behind the start token so that the decision is the same whatever the others are.

    What is found is checked again by a separate program in exact arithmetic (as `soft check` does) before it is called
    certified. That is slow: seconds at n = 50, minutes at several hundred with two layers or more.
    """
    fixed = None if o.fix is None else fixed_of(o.fix)
    if o.epsilon is None:
        if o.position is not None:
            raise UsageError("--position goes with --epsilon; a forced decision is read behind the last symbol")
        _forced(o, fixed)
        return
    if o.label is not None or o.inputs is not None:
        raise UsageError("--label and --inputs are for forced decisions, without --epsilon")
    from restrict.soft.importers.opened import opened
    from restrict.soft.restriction.restriction import certify_soft

    loaded = opened(o.model)
    with common.stages_on(f"{loaded.name[:40]}, n = {o.n}") as progress:
        found = certify_soft(
            loaded, o.n, fixed=fixed, check=not o.no_recheck, progress=progress,
            **o.only("epsilon", "quantity", "position", "seed", "seconds"),
        )  # fmt: skip
    _finish(found, found.document, found.provenance.get("stopped"), o)


def _forced(o: common.Given, fix: dict[int, str] | None) -> None:
    from restrict.soft.importers.opened import is_checkpoint
    from restrict.soft.restriction.forced import decision_of, force_decision
    from restrict.soft.trained.graph import dfa_of
    from restrict.soft.trained.model import load

    if not is_checkpoint(o.model):
        raise UsageError(f"{quote(o.model)} is no checkpoint with its configuration beside it; give --epsilon")
    loaded = load(Path(o.model))
    words = None
    if o.inputs is not None:
        from restrict.all_lengths.verify import named

        words = dfa_of(named(o.inputs), loaded)
    loaded.rows(list((fix or {}).values()))  # what is no symbol is refused
    fixed = None if fix is None else {i: loaded.symbols.index(s) for i, s in fix.items()}
    with common.stages_on(f"{loaded.name[:40]}, n = {o.n}") as tell:
        found = force_decision(
            loaded, o.n, decision_of(loaded, o.label), inputs=words, fixed=fixed, seconds=o.seconds,
            check=not o.no_recheck, told=o.inputs or "all words", tell=tell,
        )  # fmt: skip
    _finish(found, found.summary, found.stopped, o)


def _finish(found: Any, document: Any, stopped: str | None, o: common.Given) -> None:
    """Write, print, and after Ctrl-C say what the answer is."""
    if o.output is not None:
        found.save(o.output)
    put(found.text, document, o.as_json, {"certificate in": o.output})
    common.leave_interrupted(stopped == "interrupted", o.output, "restriction", STATES[bool(found.verified)])


def fixed_of(text: str) -> dict[int, str]:
    """The tokens of ``3:1,7:0``."""
    found: dict[int, str] = {}
    for part in text.split(",") if text.strip() else []:
        position, colon, symbol = part.strip().partition(":")
        if not colon or not position.isascii() or not position.isdigit() or int(position) in found:
            raise UsageError(f"--fix {text!r}: {part!r} is not POSITION:SYMBOL, or the position comes twice")
        found[int(position)] = symbol
    return found
