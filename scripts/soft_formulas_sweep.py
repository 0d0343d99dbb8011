"""Formulas as softmax transformers, tried at random and measured (docs/compile-soft.md).

    python scripts/soft_formulas_sweep.py --formulas 2000 --seconds 500 --state sweep.json   # again, to go on
    python scripts/soft_formulas_sweep.py --show sweep.json   # the table
    python scripts/soft_formulas_sweep.py --scales                   # the smallest 1/tau that works

The sweep compiles random formulas of each logic in every way that has a theorem, and compares the model with the
evaluator at every position of all words of up to 7 symbols over 2 letters (5 over 3) and of random words of up to 500,
in float64 and, as far as it is certified, in float32. ``--scales`` multiplies the inverse temperature of one head at a
time, and finds by bisection the smallest one at which every Boolean of the head stays within 1/4 of its truth value on
all words of a length; all other heads keep theirs.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from restrict.logic.fragments import NAMES
from restrict.logic.sample import random_in
from restrict.logic.verify import all_words
from restrict.simulate.formulas.bounds import UNITS
from restrict.simulate.formulas.compiler import Compiled, compile_soft
from restrict.simulate.formulas.patterns import How
from restrict.simulate.formulas.verify import DTYPES, measure
from restrict.soft import evaluate
from restrict.soft.terms import Term

WAYS: tuple[tuple[How, bool], ...] = (
    ("temperature", False),
    ("positions", False),
    ("temperature", True),
    ("positions", True),
)
EMPTY = {"formulas": 0, "words": 0, "wrong": 0, "uncertified": 0, "over": 0}
SHOWN = (
    ("a since b", False),
    ("a until b", False),
    ("previous a", False),
    ("once a", False),
    ("odd(#past a)", False),
    ("odd(#future a)", False),
    ("odd(#all a)", False),
    ("#past a > #past b", False),
    ("#all a >= #all b", False),
    ("#past a > #future b", False),
    ("a since b", True),
    ("previous a", True),
    ("odd(#past a)", True),
)


def cells() -> list[tuple[str, How, bool]]:
    """The logics and ways that have a theorem."""
    return [
        (name, how, decoder)
        for name in NAMES
        for how, decoder in WAYS
        if not (decoder and how == "positions" and "counting" in name)
    ]


def lengths(rng: np.random.Generator, number: int) -> list[tuple[int, int]]:
    """Lengths of random words, with how many of each; every 20th formula gets 500."""
    return [(int(rng.integers(8, 100)), 4), (500, 1)] if number % 20 == 0 else [(int(rng.integers(8, 100)), 4)]


def try_one(name: str, how: How, decoder: bool, number: int, row: dict[str, Any]) -> None:
    """One random formula in one cell; its measurements go into ``row``."""
    rng = np.random.default_rng([NAMES.index(name), WAYS.index((how, decoder)), number])
    symbols = ["a", "b", "c"] if number % 4 == 0 else ["0", "1"]
    formula = random_in(rng, symbols, int(rng.integers(1, 9)), name, past=decoder)
    compiled = compile_soft(formula, symbols, how=how, decoder=decoder, at="every")
    size = len(symbols)
    batches = [all_words(size, n) for n in range(1, 8 if size == 2 else 6)]
    batches += [rng.integers(0, size, (count, n)) for n, count in lengths(rng, number)]
    row["formulas"] += 1
    for kind in DTYPES:
        safe = compiled.budget.safe_length(kind)
        for words in batches:
            n = words.shape[1]
            if n > safe:
                row["uncertified"] += len(words)
                continue
            found = measure(compiled, words, kind)
            row["words"] += len(words)
            row["wrong"] += int(found.wrong.sum())
            bound = compiled.budget.deviation(n, kind)
            row["over"] += found.deviation > bound
            best = row.get(kind, [0.0, 0.0, 0])
            if found.deviation > best[0]:
                row[kind] = [found.deviation, bound, n]


def sweep(formulas: int, seconds: float, state: Path) -> None:
    """Go on with the sweep until each cell has so many formulas (a decoder's a quarter), or the time is over."""
    found: dict[str, Any] = json.loads(state.read_text()) if state.exists() else {}
    end = time.monotonic() + seconds
    for number in range(formulas):
        for cell in cells():
            row = found.setdefault("|".join(map(str, cell)), dict(EMPTY))
            if row["formulas"] <= number < (formulas // 4 if cell[2] else formulas):
                try_one(*cell, number, row)
        if time.monotonic() > end:
            break
    state.write_text(json.dumps(found))
    show(state)


def show(state: Path) -> None:
    """The table of a sweep."""
    print("| logic | way | formulas | words | wrong | largest deviation, float64 | float32 | certified there |")
    print("|---|---|---|---|---|---|---|---|")
    for key, row in json.loads(state.read_text()).items():
        name, how, decoder = key.split("|")
        a, b = row.get("float64", [0, 0, 0]), row.get("float32", [0, 0, 0])
        way = f"{how}, {'decoder' if decoder == 'True' else 'encoder'}"
        print(
            f"| {name} | {way} | {row['formulas']} | {row['words']} | {row['wrong']} | {a[0]:.4f} | {b[0]:.4f} | "
            f"{max(a[1], b[1]):.4f} |"
        )
        assert row["over"] == 0, "a deviation is over its bound"


def smallest(compiled: Compiled, number: int, n: int) -> float:
    """The smallest share of one head's inverse temperature that still works on all words of a length."""
    record = compiled.budget.heads[number]
    words = all_words(len(compiled.model.alphabet), n)
    right = np.rint(evaluate.activations(compiled.model, words)[..., record.coordinate])

    def works(share: float) -> bool:
        layers = list(compiled.model.layers)
        heads = list(layers[record.layer].heads)
        head = heads[record.head]
        heads[record.head] = replace(head, scale=Term(f"({head.scale.text})*{share!r}"))
        layers[record.layer] = replace(layers[record.layer], heads=tuple(heads))
        x = evaluate.activations(replace(compiled.model, layers=tuple(layers)), words)
        return bool((np.abs(x[..., record.coordinate] - right) < 0.25).all())

    low, high = 0.0, 1.0
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def scales(longest: int) -> None:
    """For each pattern: the computed inverse temperature over the smallest one that works."""
    print("| head | 1/tau | " + " | ".join(f"n = {n}" for n in range(2, longest + 1)) + " |")
    print("|---|---|" + "---|" * (longest - 1))
    for text, decoder in SHOWN:
        compiled = compile_soft(text, ["a", "b", "c"], decoder=decoder, at="every")
        for number, record in enumerate(compiled.budget.heads):
            if record.bound is None or record.bound.of_number or (record.pattern == "exists" and text != "once a"):
                continue
            scale = compiled.model.layers[record.layer].heads[record.head].scale
            ratios = [1 / smallest(compiled, number, n) for n in range(2, longest + 1)]
            shown = " | ".join(f"{r:.2f}" for r in ratios)
            print(
                f"| `{text}`{', decoder' if decoder else ''}: {record.pattern} | `{scale.text}` | {shown} |", flush=True
            )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formulas", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--state", type=Path, default=Path("soft-formulas.json"))
    parser.add_argument("--show", type=Path)
    parser.add_argument("--scales", type=int, nargs="?", const=7)
    given = parser.parse_args()
    if given.show:
        show(given.show)
    elif given.scales:
        scales(given.scales)
    else:
        sweep(given.formulas, given.seconds, given.state)


assert set(DTYPES) == set(UNITS)
if __name__ == "__main__":
    main()
