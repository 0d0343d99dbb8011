"""What each option of the goal-directed search gains: switched off and doubled, on a fixed set of models.

    python scripts/ablation.py [--quick] [--only NAME ...] [--models MODEL:N ...] [--seeds N] [-o FILE.json]

A row is an option of ``restrict/force/options.py`` at another value. *fixed* is the sum of fixed positions over the
models and seeds (less is better; where nothing is found, n), beside the sum with the table as it is; *work* is the sum
of the pairs walked, as a ratio. Both are counts, so they are the same on any machine; *s* is processor seconds. An
option that neither gains positions nor saves work or time where it is switched off should go.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import restrict
from restrict.force.options import OPTIONS, Option, SearchOptions, table
from restrict.force.search import GoalSearch
from restrict.model.task import Task

MODELS = (
    ("random:layers=2,heads=2,states=4,seed=1", 40), ("random:layers=2,heads=2,states=4,seed=3", 200),
    ("random:layers=3,heads=2,states=4,seed=1", 60), ("random:layers=1,heads=8,states=4,seed=1", 40), ("tagger", 40),
    ("alternating-tree", 128),
)  # fmt: skip
"""Flat, long, deep, wide, and two that are given."""
SEEDS, QUICK = 2, 3
"""Seeds a model; and with ``--quick`` one seed of the first ``QUICK`` models."""


def measured(options: SearchOptions, models: list[tuple[str, int]], seeds: int) -> tuple[int, int, float]:
    """Fixed positions, pairs walked and processor seconds, summed over the models and seeds."""
    fixed = work = 0
    began = time.process_time()
    for name, n in models:
        for seed in range(seeds):
            search = GoalSearch(Task.of(restrict.load(name), n, seed=seed), options=options)
            search.run()
            fixed += n if search.best.count is None else search.best.count
            work += search.state.work
    return fixed, work, time.process_time() - began


def variants(option: Option) -> Iterator[tuple[str, Any]]:
    """Other values of an option: off, where it has such a value, and doubled, within its range."""
    if option.off is not None:
        yield "off", option.off
    if isinstance(option.value, tuple):
        yield "doubled", tuple(2 * x for x in option.value)
    elif option.value:
        doubled = 2 * option.value if option.most is None else min(2 * option.value, option.most)
        yield "doubled", type(option.value)(doubled)


def main() -> int:
    """Print the table; with ``-o`` write it as JSON, too."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few models, one seed")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these options only")
    parser.add_argument(
        "--models", nargs="+", default=[], metavar="MODEL:N", help="these models in place of the fixed set"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds of each model")
    parser.add_argument("-o", "--output", type=Path, help="write the rows as JSON")
    arguments = parser.parse_args()
    given = [(name, int(n)) for name, _, n in (text.rpartition(":") for text in arguments.models)]
    models, seeds = given or list(MODELS), arguments.seeds
    if arguments.quick:
        models, seeds = models[:QUICK], 1
    fixed, work, seconds = measured(OPTIONS, models, seeds)
    rows = [{"option": "(as it is)", "value": None, "fixed": fixed, "work": work, "seconds": seconds}]
    line = "{:<18}{:>28}{:>8}{:>8}{:>8}"
    print(line.format("option", "value", "fixed", "work", "s"))
    print(line.format("(as it is)", "", fixed, "1.00", f"{seconds:.1f}"), f"  work 1.00 is {work} pairs", flush=True)
    for option in table():
        for kind, value in variants(option) if not arguments.only or option.name in arguments.only else ():
            found, walked, seconds = measured(replace(OPTIONS, **{option.name: value}), models, seeds)
            rows.append({"option": option.name, "value": value, "fixed": found, "work": walked, "seconds": seconds})
            shown = f"{kind}: {value}" if kind == "doubled" else kind
            print(line.format(option.name, shown, found, f"{walked / work:.2f}", f"{seconds:.1f}"), flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
