"""The command `soft cross-entropy`. Imported with the command line, so it stays light."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from restrict.base.wording import columns
from restrict.cli.common import JSON, Given, Text, Whole, command, option
from restrict.cli.printer import number, put
from restrict.cli.soft_common import FIGURE, LENGTHS, MODEL, SEED

if TYPE_CHECKING:
    from restrict.soft.influence.theorem6 import CrossEntropy


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
    from restrict.soft.influence.theorem6 import cross_entropy
    from restrict.soft.restriction.claim import read_epsilon

    loaded = opened(o.model)
    share = read_epsilon(o.p)
    rows = [cross_entropy(loaded, n, o.language, p=share, samples=o.samples, seed=o.seed) for n in o.lengths]
    if o.figure is not None:
        from restrict.report.soft_charts import cross_entropy_chart

        cross_entropy_chart([vars(row) for row in rows], loaded.name).save(o.figure)
    head = f"{loaded.name} on {o.language}, {rows[0].task}: bits per prediction"
    document = {"model": loaded.name, "rows": [vars(r) for r in rows]}
    put(f"{head}\n{_table(rows)}", document, o.as_json, wide=True)


def _table(rows: Sequence[CrossEntropy]) -> str:
    head = ("n", "optimum", "floor", "measured", "+-", "chance", "eta")
    cells = [
        (str(r.n), f"{r.optimum:.6f}", f"{math.floor(r.floor * 1e6) / 1e6:.6f}", f"{r.measured:.6f}",
         "exact" if r.exhaustive else f"{r.margin:.1e}", f"{r.chance:.6f}", number(r.eta))
        for r in rows
    ]  # fmt: skip
    about = "optimum, chance: exact; floor: certified lower bound; measured: exact, or +- a 99 % interval"
    return f"{about}\n{columns([head, *cells], right=True)}"
