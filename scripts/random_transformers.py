"""Theorem 1 on random transformers: a sweep over L, H, states, n and C; the table and the figures of docs/scale.md.

    python scripts/random_transformers.py rows.jsonl [--quick] [--figures FOLDER]

runs (or goes on with) the sweep of scripts/random_transformers.toml and prints the results: at one position how many
symbols have to be fixed, at all positions the certified c for each share C that stays free, the c of the theorem's own
proof beside it (a certified bound, for n beyond its n0), and the seconds. ``--figures`` draws c against C and c
against n (docs/figures). Everything else (other grids, a cluster, Parquet, the re-check) is `restrict sweep`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import restrict
from restrict.base.blocks import cores
from restrict.report.drawing import Drawing, Shape, save
from restrict.sweep.items import Item
from restrict.sweep.run import Engine, run_items
from restrict.sweep.spec import read_spec
from restrict.sweep.store import read_rows

SPEC = Path(__file__).with_suffix(".toml")
HEADS = ("L", "H", "states", "target", "C", "n", "ok", "fixed", "c", "theorem c", "seconds")
WIDTHS = (2, 2, 6, 6, 4, 6, 3, 14, 14, 12, 24)
Rows = list[dict[str, Any]]


def quick(item: Item) -> bool:
    """Whether the short run does this item."""
    return (item.n <= 100 and item.seed == 0) or (item.n == 200 and item.seed == 0 and item.free in ("0.6", "0.9"))


@cache
def theorem(layers: int, heads: int, free: str) -> str:
    """The c that the proof of Theorem 1 gives for these sizes, for every n from its n0 on."""
    return str(restrict.theorem_bounds(layers, heads, free).c)


def middle(rows: Rows, key: str) -> str:
    """The median of a column over the rows that have it, least and greatest."""
    values = [row[key] for row in rows if row["ok"]]
    if not values:
        return "-"
    return f"{statistics.median(values):.4g} ({min(values):.4g} .. {max(values):.4g})"


def line(rows: Rows) -> tuple[str, ...]:
    """One line of the table: rows that differ in the seed only."""
    row = rows[0]
    sizes = row["layers"], row["heads"], row["states"], row["target"], row["free"] or "", row["n"]
    said = theorem(row["layers"], row["heads"], row["free"]) if row["free"] else ""
    good = f"{sum(r['ok'] for r in rows)}/{len(rows)}"
    found = middle(rows, "fixed_count"), middle(rows, "depends"), said, middle(rows, "seconds")
    return (*map(str, sizes), good, *found)


def grouped(rows: Rows) -> list[Rows]:
    """Rows that differ in the seed only, together."""
    groups: dict[tuple[Any, ...], Rows] = defaultdict(list)
    for row in rows:
        groups[row["target"], row["layers"], row["heads"], row["states"], row["free"], row["n"]].append(row)
    return list(groups.values())


def table(rows: Rows) -> str:
    """Median, least and greatest over the seeds."""
    lines = [HEADS, *map(line, grouped(rows))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(cells, WIDTHS, strict=True)).rstrip() for cells in lines)


# ---------------------------------------------------------------- figures


class Chart:
    """Points over two axes; the vertical one is logarithmic from 1 on, and so may the other one be."""

    width, height, left, bottom = 420.0, 260.0, 46.0, 226.0

    def __init__(self, title: str, xs: Sequence[float], most: float, scale: Callable[[float], float]) -> None:
        self.drawing = Drawing(self.width, self.height, title)
        self.shapes = self.drawing.group().shapes
        self.scale, self.low, self.high = scale, scale(min(xs)), scale(max(xs))
        self.decades = math.ceil(math.log10(most))
        self.said = 0
        for x in xs:
            self.shapes.append(Shape("text", (self.x(x), self.bottom + 14, 9), "quiet", f"{x:g}", "middle"))
        for power in range(self.decades + 1):
            y = self.y(10**power)
            self.shapes.append(Shape("line", (self.left, y, self.width - 130, y), "skip"))
            self.shapes.append(Shape("text", (self.left - 5, y + 3, 9), "quiet", str(10**power), "end"))
        self.shapes.append(Shape("text", (6, 14, 11), "label", title))

    def x(self, value: float) -> float:
        """Where a value stands, from the left."""
        span = max(1e-9, self.high - self.low)
        return self.left + 12 + (self.width - self.left - 160) * (self.scale(value) - self.low) / span

    def y(self, value: float) -> float:
        """Where a value stands, from the top."""
        return self.bottom - (self.bottom - 30) * math.log10(max(1.0, value)) / self.decades

    def curve(self, points: Sequence[tuple[float, float, float, float]], name: str, look: str, dot: str) -> None:
        """A curve through (x, median, least, greatest), with its name at the right."""
        for (x0, y0, *_), (x1, y1, *_) in itertools.pairwise(points):
            self.shapes.append(Shape("line", (self.x(x0), self.y(y0), self.x(x1), self.y(y1)), look))
        for x, y, low, high in points:
            if high > low:
                self.shapes.append(Shape("line", (self.x(x), self.y(low), self.x(x), self.y(high)), "solid"))
            self.shapes.append(Shape("circle", (self.x(x), self.y(y), 2.6), dot))
        at = 40.0 + 15 * self.said
        self.said += 1
        self.shapes.append(Shape("line", (self.width - 122, at - 3, self.width - 106, at - 3), look))
        self.shapes.append(Shape("circle", (self.width - 114, at - 3, 2.6), dot))
        self.shapes.append(Shape("text", (self.width - 100, at, 9), "label", name))


LINES = (("firstline", "first"), ("secondline", "second"), ("solid", "reduced"), ("dashed", "fixed"))


def points(groups: list[Rows], key: str) -> list[tuple[float, float, float, float]]:
    """Median, least and greatest c over the seeds, by one argument."""
    found = []
    for rows in groups:
        values = [row["depends"] for row in rows if row["ok"]]
        if values:
            found.append((float(rows[0][key]), statistics.median(values), float(min(values)), float(max(values))))
    return sorted(found)


def against_share(groups: list[Rows]) -> Drawing:
    """The certified c against C, one layer at n = 200, and the theorem's beside it."""
    shares = (0.4, 0.6, 0.8, 0.9, 0.95)
    chart = Chart("one layer, n = 200, two states: c by the share C that is free", shares, 10**4, lambda x: x)
    for heads, (look, dot) in zip((1, 2, 4), LINES, strict=False):
        chosen = [g for g in groups if (g[0]["layers"], g[0]["heads"], g[0]["states"], g[0]["n"]) == (1, heads, 2, 200)]
        chart.curve(points(chosen, "free"), f"certified, H = {heads}", look, dot)
    proof = [(c, float(theorem(1, 2, str(c)))) for c in shares]
    chart.curve([(c, v, v, v) for c, v in proof], "the proof's c, H = 2", *LINES[3])
    return chart.drawing


def against_length(groups: list[Rows]) -> Drawing:
    """The certified c against n, one layer, two heads."""
    lengths = (100, 200, 400)
    chart = Chart("one layer, two heads, two states: c by the length n", lengths, 10**3, math.log)
    for share, (look, dot) in zip(("0.9", "0.6"), LINES, strict=False):
        sizes = (1, 2, 2, share)
        chosen = [g for g in groups if (g[0]["layers"], g[0]["heads"], g[0]["states"], g[0]["free"]) == sizes]
        chart.curve(points(chosen, "n"), f"certified, C = {share}", look, dot)
    chart.curve([(float(n), n * 0.9, n * 0.9, n * 0.9) for n in lengths], "all free (C = 0.9)", *LINES[3])
    return chart.drawing


def main() -> None:
    """Run the sweep, print the table, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--quick", action="store_true", help="one seed, small n")
    parser.add_argument("--figures", type=Path, help="draw into this folder")
    parser.add_argument("--jobs", type=int, default=cores())
    options = parser.parse_args()
    items = [item for item in read_spec(SPEC).items if quick(item) or not options.quick]
    done = run_items(items, options.rows, Engine(options.jobs))
    found = read_rows(options.rows)[0]
    rows = [found[item.identity] for item in items]
    print(f"{done.items} items, {done.failed} with an error")
    print(table(rows))
    if options.figures is not None:
        options.figures.mkdir(parents=True, exist_ok=True)
        everywhere = [group for group in grouped(rows) if group[0]["target"] == "all"]
        save(against_share(everywhere), options.figures / "random-c-by-share.svg")
        save(against_length(everywhere), options.figures / "random-c-by-length.svg")


if __name__ == "__main__":
    main()
