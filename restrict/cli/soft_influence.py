"""The command `soft influence`. Imported with the command line, so it stays light."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import UsageError
from restrict.base.wording import at_least, at_most, columns
from restrict.cli.common import JSON, Given, Whole, command, flag, language_option, option, stages_on
from restrict.cli.printer import put
from restrict.cli.soft_common import FIGURE, LENGTHS, MODEL, SEED

if TYPE_CHECKING:
    from restrict.soft.influence.influence import Influence
    from restrict.soft.models.model import SoftModel


@command("influence")
@MODEL
@LENGTHS
@option("--samples", Whole(1, 10**7), "Exchanges to try.", default=2000)
@flag("--logit", "Changes of logit differences instead of the activation's norm.")
@flag("--matrix", "Print the bound for every pair (position changed, position read).")
@flag("--pairs by_pairs", "One layer: exact over pairs of words, with the two words.")
@language_option("With --pairs: both words are prefixes of this language's words.", "--inputs")
@option(
    "--time seconds",
    click.FloatRange(0, 10**7),
    "With --pairs --logit: seconds for each length after which no cell is halved.",
    default=60.0,
)
@SEED
@FIGURE
@JSON
def influence_command(o: Given) -> None:
    """How far exchanging one symbol can move the output: certified bounds (a), (b), and measured (c).

    With --pairs, for one layer: how far it can move what attention adds at the output, or any logit (--logit),
    certified and attained.
    """
    from restrict.soft.importers.opened import opened
    from restrict.soft.influence.influence import fit_decay, influence, influence_matrix

    loaded = opened(o.model)
    if o.by_pairs:
        if o.matrix or o.figure is not None:
            raise UsageError("--pairs goes with neither --matrix nor --figure")
        _by_pairs(loaded, o)
        return
    if o.inputs is not None:
        raise UsageError("--inputs goes with --pairs")
    if o.matrix:
        found = {n: influence_matrix(loaded, n).tolist() for n in o.lengths}
        put(lambda: _matrices(found), {"bounds": found}, o.as_json, wide=True)
        return
    with stages_on(loaded.name[:40]) as tell:
        rows = [influence(loaded, n, samples=o.samples, seed=o.seed, progress=tell) for n in o.lengths]
    if o.figure is not None:
        from restrict.report.soft_charts import influence_chart

        influence_chart([vars(row) for row in rows], loaded.name).save(o.figure)
    which = 1 if o.logit else 0
    fits = {name: fit_decay(rows, name, which) for name in ("sharp", "measured")}
    document: dict[str, Any] = {
        "model": loaded.name,
        "sha256": loaded.digest,
        "rows": [vars(r) for r in rows],
        "fits": {name: None if fit is None else vars(fit) for name, fit in fits.items()},
    }
    put(lambda: _text(loaded.name, rows, which, fits), document, o.as_json, wide=True)


def _text(name: str, rows: Sequence[Influence], which: int, fits: dict[str, Any]) -> str:
    what = "largest change of a logit difference" if which else "norm of the change of the output's activation"
    told = [
        f"{name}: {what}, one symbol exchanged anywhere but at the output",
        "(a) closed form, (b) layer by layer and by sets: certified bounds; (c) measured: the largest found, in floats",
        columns([_HEAD, *(_cells(row, which) for row in rows)], right=True),
    ]
    shown = {"sharp": "sets", "measured": "measured"}
    return "\n".join([*told, *(f"fit (estimate): {shown[k]} ~ {fit}" for k, fit in fits.items() if fit is not None)])


def _by_pairs(loaded: SoftModel, o: Given) -> None:
    """The table of bounds by pairs of words: of what attention adds, or of logits."""
    from restrict.soft.influence.attention import attention_influence
    from restrict.soft.influence.logits import logit_influence
    from restrict.soft.influence.pairs import changes_of, runs_of

    delta = None
    if o.inputs is not None:
        from restrict.all_lengths.verify import named

        delta = runs_of(loaded, named(o.inputs))
    with stages_on(loaded.name[:40]) as tell:
        rows = []
        for n in o.lengths:
            tell(f"n = {n}")
            found = changes_of(loaded, n, delta=delta)
            bound = logit_influence(loaded, found, seconds=o.seconds) if o.logit else attention_influence(found)
            rows.append((n, bound))
    told = [{"n": n, **vars(r), "words": _spelled(loaded, r.words)} for n, r in rows]
    what = "norm of the change of what attention adds at the output"
    if o.logit:
        what = (
            "largest change of a logit" + (" difference" if loaded.output.kind == "softmax" else "") + " at the output"
        )
    document = {"model": loaded.name, "rows": told}
    put(lambda: _pair_text(loaded.name, what, o.inputs, told), document, o.as_json)


def _spelled(loaded: SoftModel, words: tuple[list[int], list[int]] | None) -> list[list[str]] | None:
    """Both words as symbols, markers left out."""
    if words is None:
        return None
    pinned = loaded.pinned(len(words[0]))
    return [[loaded.alphabet[s] for j, s in enumerate(word) if j not in pinned] for word in words]


def _pair_text(name: str, what: str, inputs: str | None, rows: Sequence[dict[str, Any]]) -> str:
    """The table, then the words that attain the last row."""
    cells = [("n", "certified bound", "attained", "quotient")]
    for row in rows:
        quotient = f"{row['bound'] / row['attained']:.4f}" if row["attained"] > 0 else "-"
        cells.append((str(row["n"]), at_most(row["bound"]), at_least(row["attained"]), quotient))
    which = f"both words prefixes of {inputs}" if inputs else "all words"
    told = [f"{name}: {what}, one symbol exchanged elsewhere; {which}"]
    told.append(columns(cells, right=True))
    for label, word in zip(("attained by", "and"), rows[-1]["words"] or (), strict=False):
        told.append(f"{label}: {' '.join(word)}")
    return "\n".join(told)


_HEAD = ("n", "(a) closed", "(b) layers", "(b) sets", "(c) measured", "sets/measured", "tried")


def _cells(r: Influence, which: int) -> tuple[str, ...]:
    closed = "-" if r.closed is None else at_most(r.closed[which])
    if r.closed is not None and r.log10_closed is not None and not math.isfinite(r.closed[which]):
        closed = f"10^{math.ceil(r.log10_closed)}" if math.isfinite(r.log10_closed) else "none: eps is 0"
    ratio = r.sharp[which] / r.measured[which] if r.measured[which] > 0 else math.inf
    tried = f"all {r.tried}" if r.exhaustive else str(r.tried)
    bounds = (closed, at_most(r.layerwise[which]), at_most(r.sharp[which]), at_least(r.measured[which]))
    return (str(r.n), *bounds, f"{ratio:.2f}", tried)


def _matrices(found: dict[int, list[list[float]]]) -> str:
    told = []
    for n, rows in found.items():
        told.append(f"n = {n}: certified bound; row: position changed, column: position read")
        lines = [(str(i), *map(at_most, row)) for i, row in enumerate(rows)]
        told.append(columns([("", *map(str, range(n))), *lines], right=True))
    return "\n".join(told)
