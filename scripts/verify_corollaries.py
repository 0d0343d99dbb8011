"""Corollary 2 over a family of models: PARITY and Dyck refuted, every refutation checked again, as a sweep.

    python scripts/verify_corollaries.py rows.jsonl [--quick] [--jobs N]

runs (or goes on with) the sweep of scripts/verify_corollaries.toml: random transformers of one to three layers, and
programs that do recognise PARITY or Dyck-1 up to a bound. Each refutation goes through the fast checker; then the
trusted checker verifies those of n up to 200. One that does not verify ends the script with exit code 3. The table of
docs/refute.md has for each language, kind of model and length how many models were refuted (exact counts), the free
share of the positions (exact; median, least, greatest) and why others were not. With ``--quick`` only n = 12 and 40 and
two seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from restrict.base.blocks import cores
from restrict.sweep.items import Item
from restrict.sweep.run import Engine, established, recheck_rows, run_items
from restrict.sweep.spec import read_spec
from restrict.sweep.store import read_rows

SPEC = Path(__file__).with_suffix(".toml")
HEADS = ("language", "model", "n", "models", "refuted", "free share", "seconds", "not refuted")
WIDTHS = (8, 20, 6, 6, 7, 22, 22, 1)


def quick(item: Item) -> bool:
    """Whether the short run does this item."""
    return item.n <= 40 and item.seed <= 1


def spread(values: list[float]) -> str:
    """Median, least and greatest."""
    return f"{median(values):.3f} ({min(values):.3f} .. {max(values):.3f})" if values else "-"


def line(key: tuple[str, str, int], rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """One line of the table."""
    good = [row for row in rows if row.get("outcome") == "refuted"]
    others = Counter(row.get("outcome") or row["error"] for row in rows if row not in good)
    share = [row["free_count"] / (row["free_count"] + row["fixed_count"]) for row in good]
    missed = ", ".join(f"{count} {what}" for what, count in others.items()) or "-"
    seconds = spread([row["seconds"] for row in rows if row["seconds"] is not None])
    return (*map(str, key), str(len(rows)), str(len(good)), spread(share), seconds, missed)


def table(rows: list[dict[str, Any]]) -> str:
    """The table, by language, kind of model and length."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        layers = f", L = {row['layers']}" if "layers" in row else ""
        groups[row["language"], row["model"].partition(":")[0] + layers, row["n"]].append(row)
    lines = [HEADS, *(line(key, found) for key, found in groups.items())]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(cells, WIDTHS, strict=True)).rstrip() for cells in lines)


def main() -> None:
    """Run the sweep, check again, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--quick", action="store_true", help="two seeds, n = 12 and 40")
    parser.add_argument("--trusted-up-to", type=int, default=200, metavar="N", help="n that the trusted checker gets")
    parser.add_argument("--jobs", type=int, default=cores())
    options = parser.parse_args()
    items = [item for item in read_spec(SPEC).items if quick(item) or not options.quick]
    done = run_items(items, options.rows, Engine(options.jobs))
    found = read_rows(options.rows)[0]
    print(f"{done.items} items, {done.failed} with an error")
    print(table([found[item.identity] for item in items]))
    checked = recheck_rows(options.rows, Engine(options.jobs), up_to=options.trusted_up_to)
    established(checked, options.rows)
    print(f"{checked.checked} refutations of n <= {options.trusted_up_to} verified by the trusted checker")


if __name__ == "__main__":
    from restrict.base.errors import RestrictError

    try:
        main()
    except RestrictError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
