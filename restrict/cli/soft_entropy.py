"""The command `soft cross-entropy`. Imported with the command line, so it stays light."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restrict.base.wording import columns
from restrict.cli.common import JSON, Text, Whole
from restrict.cli.printer import Told, number, put
from restrict.cli.soft_common import FIGURE, LENGTHS, MODEL, SEED, lengths_of

if TYPE_CHECKING:
    from restrict.soft.influence.theorem6 import CrossEntropy


@click.command("cross-entropy")
@MODEL
@click.option("-L", "--language", required=True, type=Text(), help="parity or 2dyck.")
@LENGTHS
@click.option("-p", "p", default="1/10", show_default=True, help="The source's parameter, such as 0.1.")
@click.option("--samples", type=Whole(2, 10**7), default=2000, show_default=True, help="Strings to draw.")
@SEED
@FIGURE
@JSON
def cross_entropy_command(
    model: str, language: str, lengths: str, p: str, samples: int, seed: int, figure: Path | None, as_json: bool
) -> None:
    """Theorem 6: optimum, certified lower bound and measured cross-entropy of MODEL on a source, in bits."""
    from restrict.soft.importers.opened import opened
    from restrict.soft.influence.theorem6 import cross_entropy
    from restrict.soft.restriction.claim import read_epsilon

    loaded = opened(model)
    share = read_epsilon(p)
    rows = [cross_entropy(loaded, n, language, p=share, samples=samples, seed=seed) for n in lengths_of(lengths)]
    if figure is not None:
        from restrict.report.soft_charts import cross_entropy_chart

        cross_entropy_chart([vars(row) for row in rows], loaded.name).save(figure)
    head = f"{loaded.name} on {language}, {rows[0].task}: bits per prediction"
    document = {"model": loaded.name, "rows": [vars(r) for r in rows]}
    put(Told(lambda: f"{head}\n{_table(rows)}", lambda: document), as_json, wide=True)


def _table(rows: Sequence[CrossEntropy]) -> str:
    head = ("n", "optimum", "floor", "measured", "+-", "chance", "eta")
    cells = [
        (str(r.n), f"{r.optimum:.6f}", f"{r.floor:.6f}", f"{r.measured:.6f}",
         "exact" if r.exhaustive else f"{r.margin:.1e}", f"{r.chance:.6f}", number(r.eta))
        for r in rows
    ]  # fmt: skip
    about = "optimum, chance: exact; floor: certified lower bound; measured: exact, or +- a 99 % interval"
    return f"{about}\n{columns([head, *cells], right=True)}"
