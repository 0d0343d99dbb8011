"""Theorem 1 on random transformers: a sweep over layers, states, n and C, and the table of docs/scale.md.

    python scripts/random_transformers.py rows.jsonl

runs (or goes on with) the sweep of scripts/random_transformers.toml and prints what it came to: at one position how
many symbols have to be fixed, at all positions the certified c for each share C that stays free; and the seconds.
Everything else (other grids, a cluster, Parquet, the re-check) is `restrict sweep`.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from restrict.sweep.local import cores
from restrict.sweep.run import Engine, run_items
from restrict.sweep.spec import read_spec
from restrict.sweep.store import read_rows

SPEC = Path(__file__).with_suffix(".toml")


def middle(rows: list[dict[str, Any]], key: str) -> str:
    """The median of a column over the rows that have it, least and greatest."""
    values = [row[key] for row in rows if row["ok"]]
    if not values:
        return "-"
    return f"{statistics.median(values):.4g} ({min(values):.4g} .. {max(values):.4g})"


def table(rows: list[dict[str, Any]]) -> str:
    """Median, least and greatest over the seeds, by layers, states, n, target and C."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["layers"], row["states"], row["target"], row["free"] or "", row["n"]].append(row)
    widths = (2, 7, 7, 5, 7, 4, 24, 24, 24)
    heads = ("L", "states", "target", "C", "n", "ok", "fixed", "c", "seconds")
    lines = [heads] + [
        (*map(str, key), f"{sum(r['ok'] for r in found)}/{len(found)}", middle(found, "fixed_count"),
         middle(found, "depends"), middle(found, "seconds"))
        for key, found in groups.items()
    ]  # fmt: skip
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def main() -> None:
    """Run the sweep and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--jobs", type=int, default=cores())
    options = parser.parse_args()
    items = read_spec(SPEC).items
    done = run_items(items, options.rows, Engine(options.jobs))
    found = read_rows(options.rows)[0]
    print(f"{done.items} items, {done.new} new, {done.failed} with an error")
    print(table([found[item.identity] for item in items]))


if __name__ == "__main__":
    main()
