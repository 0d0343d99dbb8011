"""The command `bounds`: the theorem's own numbers. Imported with the command line, so it stays light."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restrict.base.errors import InternalError
from restrict.base.wording import columns
from restrict.cli import common
from restrict.cli.printer import put

if TYPE_CHECKING:
    from fractions import Fraction

    from restrict.depth_reduction.constants.inequalities import Inequality, TheoremBounds

SHOWN = 4
"""Layers of the table; where there are more, it shows the first three and the last."""


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
    checked = verified(found)
    more = "\n\n" + inequality_lines(checked) if o.inequalities else ""
    document = found.document() | {"inequalities_checked": len(checked)}
    put(lambda: bounds_text(found, len(checked)) + more, document, o.as_json)


def verified(found: TheoremBounds) -> tuple[Inequality, ...]:
    """Every inequality, after a check that all of them hold."""
    checked = found.verify()
    bad = next((item for item in checked if not item.holds), None)
    if bad is not None:
        raise InternalError(f"layer {bad.layer}: {bad.statement} does not hold; please report these arguments")
    return checked


def bounds_text(found: TheoremBounds, checked: int) -> str:
    """The bounds in words and as a table."""
    head = f"L = {found.layers}, H = {found.heads}, alphabet of {found.alphabet}, C = {_share(found.fraction)}"
    lines = [
        f"Theorem 1 for {head}: for every n >= n0, some restriction leaves at least",
        f"{_share(found.fraction)} n positions free, and every output then depends on at most c inputs.",
        f"  c  = {found.c}  (certified bound)",
        f"  n0 = {found.n0}  (certified bound)",
    ]
    if found.n0 <= found.c:
        lines.append("  n0 <= c: an input that is shorter than n0 has fewer than c symbols, so c bounds every n")
    lines += ["", _table(found), ""]
    if found.layers > 1:
        lines.append("split of C over the layers: estimate of the best split; the inequalities hold exactly for it")
    lines.append(f"all {checked} inequalities of the proof hold for these numbers (exact); they are printed rounded,")
    lines.append("large ones up, and --json has them exactly")
    return "\n".join(lines)


def _table(found: TheoremBounds) -> str:
    steps = found.steps if found.layers <= SHOWN else (*found.steps[:3], found.steps[-1])
    rows = [["layer", *[str(s.layer) for s in steps]]]
    rows += [[name, *[_share(getattr(s, name)) for s in steps]] for name in ("C", "eta1", "eta2", "q", "delta")]
    labels = {
        "c": "c before",
        "g": "degree g",
        "r": "captured a round r",
        "T": "threshold T",
        "f": "neighbours f",
        "F": "1/A - 1",
        "k": "k",
        "n0": "n0",
        "c_out": "c after",
    }
    rows += [[label, *[str(getattr(s, name)) for s in steps]] for name, label in labels.items()]
    rows.insert(2, ["C after", *[_share(s.C_out) for s in steps]])
    return columns(rows, indent="  ")


def _share(x: Fraction) -> str:
    """A rational in short: a decimal of up to nine characters, else rounded to six digits."""
    short = f"{float(x):.10g}"
    return short if len(short) <= 9 else f"{float(x):.6g}"


def inequality_lines(checked: tuple[Inequality, ...]) -> str:
    """One line per inequality."""
    sides = ["holds" if i.name == "range" else f"{i.left} <= {i.right}" for i in checked]
    rows = [(str(i.layer), i.name, i.statement, side) for i, side in zip(checked, sides, strict=True)]
    return columns(rows, indent="  ")
