"""What each option of a search gains: switched off and doubled, on fixed sets of models.

    python scripts/ablation.py [--search goal|verdict|optimum|exchange] [--sets SET ...] [--quick] [--only NAME ...]
                               [--models MODEL:N ...] [--seeds N] [--off] [--limit S] [-o FILE.json]
                               [--markdown FILE.md]

A row is an option of the search's table at another value: ``restrict/force/options.py`` (*goal*),
``restrict/soft/trained/options.py`` (*verdict*), ``restrict/optimum/options.py`` (*optimum*) or
``restrict/depth_reduction/options.py`` (*exchange*). Only the models whose search reads the option are searched again,
as elsewhere nothing can change. *models*: on how many of these a count is another one. The figures are sums over these
models alone: ``as it is > at the other value`` for what the search is for, and then, for what it takes, the second as a
multiple of the first. Counts are the same on any machine; *s* is processor seconds.

- *goal*: *fixed* positions (less is better; where nothing is found, n); *work*: pairs walked; *scores* computed.
- *verdict*: *proved*: up to how many symbols each model is decided (more is better); *cells* of the certificate, and
  its *bytes*. Options that are parts of a time limit are not seen here, as the models take less.
- *optimum*: *bound*: how many positions are shown not to force the output (more is better); *size* of a word's
  explanations (less is better); *nodes* of the bounds' trees.
- *exchange*: *c*: the most inputs that an output depends on with 0.9 of them free (less is better); *fixed* positions.

An option that neither gains positions nor saves work or time where it is switched off should go, unless it is a limit
that other models meet. The set *large* of *goal* has models of up to ten seconds each, and runs where it is named.
After ``--limit`` processor seconds a goal-directed search ends with what it has. ``program:heads=4,mlps=2,seed=0`` is a
random program of the published form (tests/transformer_programs.py), whose output is asked in the middle.
``--markdown`` writes the rows into a page, between the comments that name the search, and the sets if they were named.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import harness
import numpy as np
from harness import arguments, head, line

import restrict
from restrict.base.options import Option, changed, table
from restrict.depth_reduction.options import EXCHANGE
from restrict.force.options import OPTIONS
from restrict.force.search import GoalSearch
from restrict.model.program import Model
from restrict.model.task import Target, Task
from restrict.optimum.explain import explain
from restrict.optimum.lower_bound import lower_bound
from restrict.optimum.options import OPTIONS as OPTIMUM
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.graph import task_graph
from restrict.soft.trained.model import load
from restrict.soft.trained.options import OPTIONS as VERDICT

Models = list[tuple[str, int]]
Counts = tuple[int, ...]


SETS: dict[str, Models] = {
    "narrow": [
        ("random:layers=2,heads=2,states=4,seed=1", 40), ("random:layers=2,heads=2,states=4,seed=1", 1_000_000),
        ("random:layers=1,heads=8,states=4,seed=1", 40), ("random:layers=2,heads=2,states=16,seed=1", 200),
    ],
    "deep": [("random:layers=4,heads=2,states=2,seed=1", 1000), ("random:layers=3,heads=2,states=4,seed=3", 60)],
    "wide": [
        ("random:layers=1,heads=8,states=16,symbols=26,seed=1", 300), ("random:layers=2,heads=4,states=16,seed=1", 60),
        ("random:layers=3,heads=6,states=8,seed=1", 500),
    ],
    "given": [
        ("tagger", 40), ("and-of-ors", 100), ("alternating-tree", 640), ("tribes", 240), ("dyck1-depth3", 300),
        ("anbn", 40), ("contains-one", 1000),
    ],
}  # fmt: skip
"""Narrow, of one or two layers; three layers and more; maps too large to tabulate; programs that are given."""
LARGE: Models = [
    ("random:layers=2,heads=8,states=16,seed=4", 1000), ("random:layers=1,heads=12,states=16,symbols=26,seed=4", 10**4),
    ("random:layers=1,heads=16,states=8,seed=4", 10_000), ("random:layers=3,heads=8,states=8,seed=4", 1000),
    ("random:layers=2,heads=4,states=64,symbols=26,seed=4", 200), ("random:layers=2,heads=2,states=64,seed=4", 1000),
    ("random:layers=2,heads=2,states=16,seed=4", 100_000), ("random:layers=3,heads=2,states=4,seed=4", 100_000),
    ("random:layers=4,heads=2,states=4,seed=4", 10_000), ("program:heads=2,mlps=1,seed=0", 10),
    ("program:heads=4,mlps=1,seed=1", 8), ("random:layers=2,heads=2,states=8,brackets=2,seed=4", 2000),
    ("dyck1-depth3", 3000), ("and-of-ors", 10_000),
]  # fmt: skip
"""One to four layers, 2 to 16 heads, 4 to 64 states, up to 100 000 positions; programs; languages. No seed is one of
those of the smaller sets."""
LIMIT = 40.0
"""Processor seconds of the goal-directed search of one model."""
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
EVERYWHERE = [
    ("random:layers=1,heads=2,states=2,every=1,seed=4", 600), ("random:layers=1,heads=4,states=4,every=1,seed=4", 200),
    ("random:layers=2,heads=2,states=2,every=1,seed=4", 150), ("random:layers=2,heads=1,states=3,every=1,seed=4", 600),
    ("instances/brasp-flip-flop.json", 200), ("shared-hubs", 100), ("tribes-trap", 200), ("dot-sparse", 100),
]  # fmt: skip
"""One and two layers with an output at every position, and programs that are given."""
QUICK = 3
"""With ``--quick`` so many models of each set."""
SECONDS = 120.0
"""For one verdict, which takes at most a few: so many that a busy machine, where parts of a limit are met, changes no
count."""


class Over(BaseException):
    """The processor seconds of a search are over."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends what runs within it after so many processor seconds."""

    def over(*_: object) -> None:
        raise Over

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except Over:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@cache
def loaded(name: str, n: int) -> Model:
    """A model by its name; a random program of the published form for words of up to ``n`` symbols."""
    if not name.startswith("program:"):
        return restrict.load(name)
    from tests.transformer_programs import write_program

    given = {key: int(value) for key, _, value in (part.partition("=") for part in name[8:].split(","))}
    with tempfile.TemporaryDirectory() as folder:
        path, _ = write_program(
            Path(folder), np.random.default_rng(given["seed"]), longest=n, heads=given["heads"], mlps=given["mlps"],
            letters=2, classes=2, markers=False,
        )  # fmt: skip
        return restrict.import_transformer_program(path).model


def goal(name: str, n: int, seed: int) -> Counts:
    """Fixed positions, pairs walked, and scores computed."""
    target: Target = n // 2 if name.startswith("program:") else "last"
    search = GoalSearch(Task.of(loaded(name, n), n, target=target, seed=seed))
    with limited(LIMIT):
        search.run()
    return n if search.best.count is None else search.best.count, search.state.work, search.state.scores


def verdict(path: str, n: int, _: int) -> Counts:
    """Symbols up to which a model is decided, cells and bytes of the certificate; the search has no seed."""
    model = load(Path(path))
    found = verify_trained(model, task_graph(model), n, seconds=SECONDS)
    proved = found.upto + (found.shortest and found.wrong is not None)
    return proved, sum(case.cells for case in found.cases), len(found.to_bytes())


def optimum(name: str, n: int, seed: int) -> Counts:
    """Positions that the bound rules out, the size of an explanation of a random word, nodes of the bound's trees."""
    model, rng = restrict.load(name), random.Random(seed)
    found, symbols = lower_bound(model, n, seed=seed), sorted(model.alphabet)
    word = [rng.choice(symbols) for _ in range(n - len(model.markers))]
    return found.at_least, int(explain(model, word, seed=seed)[0].weight), found.nodes


def exchange(name: str, n: int, seed: int) -> Counts:
    """The most inputs that an output depends on, and fixed positions."""
    found = restrict.certify(restrict.load(name), n, target="all", free=0.9, method="exchange", seed=seed)
    return found.c, len(found.restriction.fixed)


class Search(NamedTuple):
    """A search: its options as they are, its sets of models, its counts, how it is run on one model, and sets that run
    where they are named."""

    options: Any
    sets: dict[str, Models]
    counts: tuple[str, ...]
    one: Callable[[str, int, int], Counts]
    more: Mapping[str, Models] = MappingProxyType({})


SEARCHES = {
    "goal": Search(OPTIONS, SETS, ("fixed", "work", "scores"), goal, {"large": LARGE}),
    "verdict": Search(VERDICT, {"checkpoints": CHECKPOINTS}, ("proved", "cells", "bytes"), verdict),
    "exchange": Search(EXCHANGE, {"everywhere": EVERYWHERE}, ("c", "fixed"), exchange),
    "optimum": Search(OPTIMUM, {"short": SHORT_MODELS}, ("bound", "size", "nodes"), optimum),
}


class Found(NamedTuple):
    """What a search of one model gives and takes, and the options that it read."""

    counts: Counts
    seconds: float
    read: frozenset[str]


@contextmanager
def noted(options: Any) -> Iterator[set[str]]:
    """The names of the options that are read within it."""
    kind, names = type(options), set[str]()

    def read(self: Any, name: str) -> Any:
        names.add(name)
        return object.__getattribute__(self, name)

    options.__class__ = type(kind.__name__, (kind,), {"__getattribute__": read})
    try:
        yield names
    finally:
        options.__class__ = kind


def found_with(search: Search, values: dict[str, Any], name: str, n: int, seeds: int) -> Found:
    """One model, with some options at other values: counts and processor seconds of all seeds together."""
    with changed(search.options, **values), noted(search.options) as read:
        began = time.process_time()
        counts = [search.one(name, n, seed) for seed in range(seeds)]
        seconds = time.process_time() - began
    return Found(tuple(map(sum, zip(*counts, strict=True))), seconds, frozenset(read))


def variants(option: Option) -> Iterator[tuple[str, Any]]:
    """Other values of an option: off, where it has such a value, and doubled, within its range."""
    if option.off is not None:
        yield "off", option.off
    if isinstance(option.value, tuple):
        yield "doubled", tuple(2 * x for x in option.value)
    elif option.value:
        doubled = 2 * option.value if option.most is None else min(2 * option.value, option.most)
        yield "doubled", type(option.value)(doubled)


def row_of(
    search: Search, base: dict[tuple[str, int], Found], option: Option, value: Any, seeds: int
) -> dict[str, Any]:
    """An option at another value, on the models that read it: where a count changes, sums as it is, and then."""
    reads = [model for model, as_it_is in base.items() if option.name in as_it_is.read]
    then = {model: found_with(search, {option.name: value}, *model, seeds) for model in reads}
    moved = [model for model in reads if then[model].counts != base[model].counts]
    row: dict[str, Any] = {"option": option.name, "value": value, "read": len(reads), "moved": len(moved)}
    for t, count in enumerate(search.counts):
        row[count] = [sum(found[model].counts[t] for model in moved) for found in (base, then)]
    row["s"] = [round(sum(found[model].seconds for model in moved), 2) for found in (base, then)]
    each = {f"{name}:{n}": [base[name, n].counts, then[name, n].counts] for name, n in moved}
    return row | {"each": each}


def shown(search: Search, kind: str, row: dict[str, Any]) -> list[str]:
    """The cells of a line."""
    (before, after), rest = row[search.counts[0]], [row[count] for count in search.counts[1:]]
    ratios = [f"{b / a:.2f}" if a else "" for a, b in rest]
    text = f"{kind}: {row['value']}" if kind == "doubled" else kind
    seconds = [f"{s:.1f}" for s in row["s"]]
    return [row["option"], text, f"{row['moved']} of {row['read']}", f"{before} > {after}", *ratios, *seconds]


def written(page: Path, name: str, table_lines: list[str]) -> None:
    """Put a table into a page, between the comments that name the search."""
    first, last = f"<!-- ablation {name} -->\n", "<!-- end -->"
    before, _, rest = page.read_text().partition(first)
    _, _, after = rest.partition(last)
    page.write_text("".join([before, first, "\n", *table_lines, "\n", last, after]))


def main() -> int:
    """Print the table; with ``-o`` write it as JSON, too."""
    parser = arguments(__doc__, "few models of each set")
    parser.add_argument("--search", choices=SEARCHES, default="goal", help="whose options")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="these sets of models only")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these options only")
    parser.add_argument("--models", nargs="+", default=[], metavar="MODEL:N", help="these models in place of the sets")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of the search for each model")
    parser.add_argument("--off", action="store_true", help="nothing is doubled but what cannot be switched off")
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds of one goal-directed search")
    parser.add_argument("--markdown", type=Path, help="write them into this page")
    options = parser.parse_args()
    search, globals()["LIMIT"] = SEARCHES[options.search], options.limit
    given = [(name, int(n)) for name, _, n in (text.rpartition(":") for text in options.models)]
    known = search.sets | dict(search.more)
    sets = [known[name][: QUICK if options.quick else None] for name in options.sets or search.sets]
    models = given or [model for some in sets for model in some]
    for _ in range(2):  # the first time compiles kernels
        base = {model: found_with(search, {}, *model, options.seeds) for model in models}
    totals = [sum(found.counts[t] for found in base.values()) for t in range(len(search.counts))]
    whole = ", ".join(f"{name} {count}" for name, count in zip(search.counts, totals, strict=True))
    said = f"{len(models)} models as it is: {whole}, {sum(f.seconds for f in base.values()):.1f} s"
    print(said, flush=True)
    heads = ["option", "", "models", *search.counts, "s", "s then"]
    rows, lines = [{"option": "", "base": [[*m, f.counts, f.seconds] for m, f in base.items()]}], list[list[str]]()
    for option in table(type(search.options)):
        for kind, value in variants(option) if not options.only or option.name in options.only else ():
            if options.off and kind != "off" and option.off is not None:
                continue
            row = row_of(search, base, option, value, options.seeds)
            rows.append(row)
            cells = shown(search, kind, row)
            print(
                f"{cells[0]:<16}{cells[1]:>30}{cells[2]:>10}{cells[3]:>14}", *(f"{c:>6}" for c in cells[4:]), flush=True
            )
            if row["moved"]:
                lines.append(cells)
            harness.written(options.output, rows)
    if options.markdown:
        ruled = [text + "\n" for text in (head(heads), *map(line, lines))]
        said = f"Version {restrict.__version__}, {time.strftime('%Y-%m-%d', time.gmtime())}. {said}.\n"
        still = sorted({f"`{row['option']}`" for row in rows[1:] if not row["moved"]})
        rest = f"No count changes on these models with another value of {', '.join(still)}.\n"
        around = [textwrap.fill(text, 100) + "\n" for text in (said, rest)]
        name = " ".join([options.search, *(options.sets or ())])
        written(options.markdown, name, [around[0], "\n", *ruled, "\n", *around[1:]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
