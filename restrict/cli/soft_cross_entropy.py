"""The command `soft cross-entropy`. Imported with the command line, so it stays light."""

from __future__ import annotations

from restrict.cli.common import JSON, Given, Text, Whole, command, option
from restrict.cli.printer import put
from restrict.cli.soft_common import FIGURE, LENGTHS, MODEL, SEED


@command("cross-entropy")
@MODEL
@option("-L --language", Text(), "parity or 2dyck.", required=True)
@LENGTHS
@option("-p", None, "The source's parameter, such as 0.1.", default="1/10")
@option("--samples", Whole(2, 10**7), "Strings to draw.", default=2000)
@SEED
@FIGURE
@JSON
def cross_entropy_command(o: Given) -> None:
    """Theorem 6: optimum, certified lower bound and measured cross-entropy of MODEL on a source, in bits."""
    from restrict.soft.importers.opened import opened
    from restrict.soft.influence.tables import cross_entropies
    from restrict.soft.restriction.claim import read_epsilon

    loaded = opened(o.model)
    found = cross_entropies(loaded, o.lengths, o.language, p=read_epsilon(o.p), samples=o.samples, seed=o.seed)
    if o.figure is not None:
        from restrict.report.soft_charts import cross_entropy_chart

        cross_entropy_chart([vars(row) for row in found.rows], loaded.name).save(o.figure)
    put(found.text, found.document, o.as_json, wide=True)
