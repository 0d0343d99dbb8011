"""The command `soft influence`. Imported with the command line, so it stays light."""

from __future__ import annotations

import click

from restrict.base.errors import UsageError
from restrict.cli.common import JSON, Given, Whole, command, flag, language_option, option, stages_on
from restrict.cli.printer import put
from restrict.cli.soft_common import FIGURE, LENGTHS, MODEL, SEED


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
    from restrict.soft.influence.tables import influence_matrices, influences, pair_bounds

    loaded = opened(o.model)
    if o.by_pairs:
        if o.matrix or o.figure is not None:
            raise UsageError("--pairs goes with neither --matrix nor --figure")
        language = None
        if o.inputs is not None:
            from restrict.all_lengths.verify import named

            language = named(o.inputs)
        with stages_on(loaded.name[:40]) as tell:
            pairs = pair_bounds(
                loaded, o.lengths, logit=o.logit, language=language, inputs=o.inputs, seconds=o.seconds, progress=tell
            )
        put(pairs.text, pairs.document, o.as_json)
        return
    if o.inputs is not None:
        raise UsageError("--inputs goes with --pairs")
    if o.matrix:
        matrices = influence_matrices(loaded, o.lengths)
        put(matrices.text, matrices.document, o.as_json, wide=True)
        return
    with stages_on(loaded.name[:40]) as tell:
        found = influences(loaded, o.lengths, logit=o.logit, samples=o.samples, seed=o.seed, progress=tell)
    if o.figure is not None:
        from restrict.report.soft_charts import influence_chart

        influence_chart([vars(row) for row in found.rows], loaded.name).save(o.figure)
    put(found.text, found.document, o.as_json, wide=True)
