"""The command `bounds`: the theorem's own numbers. Imported with the command line, so it stays light."""

from __future__ import annotations

from restrict.cli import common
from restrict.cli.printer import put


@common.command()
@common.option("-L --layers", common.Whole(1, 64), "Layers, 1 .. 64.", required=True)
@common.option("-H --heads", common.Whole(1), "Heads per layer.", required=True)
@common.option(
    "-C --fraction", common.Text(), "Share of the positions that stay free, such as 0.9.", required=True, metavar="C"
)
@common.option("--alphabet", common.Whole(1), "Number of symbols.", default=2)
@common.flag("--paper", "With the paper's own weights and thresholds (-L 1).")
@common.flag("--inequalities", "Also print every inequality with both sides.")
@common.flag("--json as_json", "Print JSON, with every number exactly.")
def bounds(o: common.Given) -> None:
    """What Theorem 1 promises for all transformers with these sizes: c, n0, and the parameters of every layer."""
    from restrict.depth_reduction.constants.theorem_bounds import theorem_bounds

    found = theorem_bounds(o.layers, o.heads, o.fraction, alphabet=o.alphabet, choices="paper" if o.paper else "best")
    found.checked()
    put(lambda: found.text(o.inequalities), found.document, o.as_json)
