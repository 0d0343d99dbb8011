"""What each option of a search gains: switched off and doubled, on a fixed set of models.

    python scripts/ablation.py [--search goal|verdict|optimum] [--quick] [--only NAME ...] [--models MODEL:N ...]
                               [--seeds N] [-o FILE.json]

A row is an option of the search's table at another value: ``restrict/force/options.py`` (*goal*),
``restrict/soft/trained/options.py`` (*verdict*) or ``restrict/optimum/options.py`` (*optimum*). The first column of
figures is what the search is for, summed over the models and seeds, the next ones are what it takes, as ratios to the
table as it is; they are counts, the same on any machine. *s* is processor seconds.

- *goal*: *fixed* positions (less is better; where nothing is found, n); *work*: pairs walked.
- *verdict*: *proved*: up to how many symbols each model is decided (more is better); *cells* of the certificate, and
  its *bytes*. Options that are parts of a time limit are not seen here, as the models take less.
- *optimum*: *bound*: how many positions are shown not to force the output (more is better); *size* of a word's
  explanations; *nodes* of the bounds' trees.

An option that neither gains positions nor saves work or time where it is switched off should go.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import restrict
from restrict.base.options import Option, changed, table
from restrict.force.options import OPTIONS, SearchOptions
from restrict.force.search import GoalSearch
from restrict.model.task import Task
from restrict.optimum.explain import explain
from restrict.optimum.lower_bound import lower_bound
from restrict.optimum.options import OPTIONS as OPTIMUM
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.graph import task_graph
from restrict.soft.trained.model import load
from restrict.soft.trained.options import OPTIONS as VERDICT

Models = list[tuple[str, int]]
Found = tuple[tuple[int, ...], float]
"""Counts, and processor seconds."""
MODELS = [
    ("random:layers=2,heads=2,states=4,seed=1", 40), ("random:layers=2,heads=2,states=4,seed=3", 200),
    ("random:layers=3,heads=2,states=4,seed=1", 60), ("random:layers=1,heads=8,states=4,seed=1", 40), ("tagger", 40),
    ("alternating-tree", 128),
]  # fmt: skip
"""Flat, long, deep, wide, and two that are given."""
TESTS, GIVEN = (Path(__file__).parents[1] / folder / "trained" for folder in ("tests/corpus", "instances"))
CHECKPOINTS = [
    (str(folder / f"{name}.safetensors"), n)
    for folder, name, n in (
        (GIVEN, "flip-flop-1l1h16d", 16), (GIVEN, "012-0-2-1l1h16d", 34), (TESTS, "no-equal-neighbours-2l1h16d", 8),
        (GIVEN, "dyck2-depth2-1l1h16d", 30), (TESTS, "first-is-last-1l1h16d-last", 20),
        (TESTS, "dyck1-depth4-1l4h16d", 12), (TESTS, "contains-aba-1l1h16d-nope", 40),
        (TESTS, "contains-aba-2l1h16d", 12),
    )
]  # fmt: skip
"""Two with hard cases; two layers; many cases; another read-out; four heads; wrong, of one layer and of two."""
SHORT_MODELS = [
    ("random:layers=2,heads=2,states=4,seed=1", 20), ("random:layers=2,heads=2,states=3,seed=2", 30),
    ("random:layers=1,heads=8,states=4,seed=1", 16), ("tagger", 12), ("alternating-tree", 64),
]  # fmt: skip
"""Of the goal-directed search's kinds those of which bounds are proved in seconds."""
SEEDS, QUICK = 2, 3
"""Seeds a model; and with ``--quick`` one seed of the first ``QUICK`` models."""
SECONDS = 20.0
"""For one verdict, which takes at most a few with the table as it is."""


def measured(options: SearchOptions, models: Models, seeds: int) -> Found:
    """Fixed positions and pairs walked, summed over the models and seeds."""
    fixed = work = 0
    began = time.process_time()
    for name, n in models:
        for seed in range(seeds):
            search = GoalSearch(Task.of(restrict.load(name), n, seed=seed), options=options)
            search.run()
            fixed += n if search.best.count is None else search.best.count
            work += search.state.work
    return (fixed, work), time.process_time() - began


def verdicts(models: Models) -> Found:
    """Symbols up to which models are decided, cells and bytes of certificates, summed over the models."""
    proved = cells = size = 0
    began = time.process_time()
    for path, n in models:
        model = load(Path(path))
        found = verify_trained(model, task_graph(model), n, seconds=SECONDS)
        proved += found.upto + (found.shortest and found.wrong is not None)
        cells += sum(case.cells for case in found.cases)
        size += len(found.to_bytes())
    return (proved, cells, size), time.process_time() - began


def optima(models: Models, seeds: int) -> Found:
    """Positions that bounds rule out, sizes of explanations of random words, nodes of trees, over all models."""
    bound = size = nodes = 0
    began = time.process_time()
    for name, n in models:
        model = restrict.load(name)
        for seed in range(seeds):
            rng, symbols = random.Random(seed), sorted(model.alphabet)
            found = lower_bound(model, n, seed=seed)
            bound, nodes = bound + found.at_least, nodes + found.nodes
            word = [rng.choice(symbols) for _ in range(n - len(model.markers))]
            size += explain(model, word, seed=seed)[0].weight
    return (bound, size, nodes), time.process_time() - began


def goal_with(values: dict[str, Any], models: Models, seeds: int) -> Found:
    """The goal-directed search with some options at other values."""
    return measured(replace(OPTIONS, **values), models, seeds)


def verdict_with(values: dict[str, Any], models: Models, _: int) -> Found:
    """The search for verdicts with some options at other values; it has no seed."""
    with changed(VERDICT, **values):
        return verdicts(models)


def optimum_with(values: dict[str, Any], models: Models, seeds: int) -> Found:
    """Lower bounds and explanations with some options at other values."""
    with changed(OPTIMUM, **values):
        return optima(models, seeds)


class Search(NamedTuple):
    """A search: its table, its models, its counts, and how it is run with other values."""

    rows: tuple[Option, ...]
    models: Models
    counts: tuple[str, ...]
    run: Callable[[dict[str, Any], Models, int], Found]


SEARCHES = {
    "goal": Search(table(type(OPTIONS)), MODELS, ("fixed", "work"), goal_with),
    "verdict": Search(table(type(VERDICT)), CHECKPOINTS, ("proved", "cells", "bytes"), verdict_with),
    "optimum": Search(table(type(OPTIMUM)), SHORT_MODELS, ("bound", "size", "nodes"), optimum_with),
}


def variants(option: Option) -> Iterator[tuple[str, Any]]:
    """Other values of an option: off, where it has such a value, and doubled, within its range."""
    if option.off is not None:
        yield "off", option.off
    if isinstance(option.value, tuple):
        yield "doubled", tuple(2 * x for x in option.value)
    elif option.value:
        doubled = 2 * option.value if option.most is None else min(2 * option.value, option.most)
        yield "doubled", type(option.value)(doubled)


def shown(name: str, value: str, counts: tuple[int, ...], base: tuple[int, ...], seconds: float) -> str:
    """A line of the table."""
    ratios = "".join(f"{a / b:>8.2f}" for a, b in zip(counts[1:], base[1:], strict=True))
    return f"{name:<18}{value:>32}{counts[0]:>8}{ratios}{seconds:>8.1f}"


def main() -> int:
    """Print the table; with ``-o`` write it as JSON, too."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--search", choices=SEARCHES, default="goal", help="whose options")
    parser.add_argument("--quick", action="store_true", help="few models, one seed")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these options only")
    parser.add_argument(
        "--models", nargs="+", default=[], metavar="MODEL:N", help="these models in place of the fixed set"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds of each model")
    parser.add_argument("-o", "--output", type=Path, help="write the rows as JSON")
    arguments = parser.parse_args()
    search = SEARCHES[arguments.search]
    given = [(name, int(n)) for name, _, n in (text.rpartition(":") for text in arguments.models)]
    models, seeds = given or search.models, arguments.seeds
    if arguments.quick:
        models, seeds = models[:QUICK], 1
    search.run({}, models[:1], 1)  # compiles the kernels
    base, seconds = search.run({}, models, seeds)
    names = (*search.counts, "seconds")
    rows = [{"option": "(as it is)", "value": None} | dict(zip(names, (*base, seconds), strict=True))]
    print(f"{'option':<18}{'value':>32}" + "".join(f"{name:>8}" for name in (*search.counts, "s")))
    whole = ", ".join(f"{name} {count}" for name, count in zip(search.counts[1:], base[1:], strict=True))
    print(shown("(as it is)", "", base, base, seconds), f"  1.00 is {whole}", flush=True)
    for option in search.rows:
        for kind, value in variants(option) if not arguments.only or option.name in arguments.only else ():
            found, seconds = search.run({option.name: value}, models, seeds)
            rows.append({"option": option.name, "value": value} | dict(zip(names, (*found, seconds), strict=True)))
            text = f"{kind}: {value}" if kind == "doubled" else kind
            print(shown(option.name, text, found, base, seconds), flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
