"""Formulas as softmax transformers, tried at random and measured (docs/compile-soft.md).

    python scripts/soft_formulas_sweep.py --formulas 2000 --seconds 500 --state sweep.json   # again, to go on
    python scripts/soft_formulas_sweep.py --show sweep.json   # the table
    python scripts/soft_formulas_sweep.py --scales                   # the smallest 1/tau that works
    python scripts/soft_formulas_sweep.py --lengths                  # certified lengths

The sweep compiles random formulas of each logic in every way that has a theorem, both ways the same formulas, and
compares the model with the evaluator at every position of all words of up to 7 symbols over 2 letters (a quarter of the
formulas: 3) and of random words of 8 to 99 and of 500 symbols, in float64 and in float32. Where a type is certified up
to a shorter length than 500, the longest words have that length. ``--scales`` multiplies the inverse temperature of
one head at a time, and finds by bisection the smallest one at which every Boolean of the model stays within 1/4 of its
truth value on all words of a length; all other heads keep theirs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import head, least_share, show

from restrict.base.arrays import I64, all_words
from restrict.base.errors import UsageError
from restrict.logic.fragments import NAMES
from restrict.simulate.floating import UNITS
from restrict.simulate.formulas.compiler import Compiled, compile_soft
from restrict.simulate.formulas.patterns import How
from restrict.simulate.formulas.verify import DTYPES, measure
from restrict.soft.models import evaluate
from restrict.soft.models.terms import Term
from tests.random_counting import random_in

WAYS: list[tuple[How, bool]] = [(how, decoder) for decoder in (False, True) for how in ("temperature", "positions")]
LONG = 500
EMPTY = {"formulas": 0, "words": 0, "wrong": 0, "uncertified": 0, "over": 0}
SHOWN = {
    False: (
        "a since b", "a until b", "previous a", "once a", "odd(#past a)", "odd(#future a)", "odd(#all a)",
        "#past a > #past b", "#all a >= #all b", "#past a > #future b", "#past a >= #all a",
    ),
    True: ("a since b", "previous a", "odd(#past a)"),
}  # fmt: skip
"""Formulas for encoders, and for decoders."""


def cells(only: Sequence[str] = NAMES) -> list[tuple[str, How, bool]]:
    """The logics and ways that have a theorem."""
    return [
        (name, how, decoder)
        for name in only
        for how, decoder in WAYS
        if not (decoder and how == "positions" and "counting" in name)
    ]


def try_one(name: str, how: How, decoder: bool, number: int, row: dict[str, Any]) -> None:
    """One random formula in one cell; its measurements go into ``row``. Both ways have the same formulas."""
    rng = np.random.default_rng([NAMES.index(name), int(decoder), number])
    symbols = ["a", "b", "c"] if number % 4 == 0 else ["0", "1"]
    formula = random_in(rng, symbols, int(rng.integers(1, 9)), name, past=decoder)
    compiled = compile_soft(formula, symbols, how=how, decoder=decoder, at="every")
    size = len(symbols)
    batches = [all_words(size, n) for n in range(1, 8)]
    batches += [rng.integers(0, size, (count, n)) for n, count in ((int(rng.integers(8, 100)), 3), (LONG, 1))]
    row["formulas"] += 1
    for kind in DTYPES:
        safe = compiled.budget.safe_length(kind)
        row["short"] = min(row.get("short", LONG), safe)
        for words in batches:
            n = words.shape[1]
            if n > safe:
                row["uncertified"] += len(words)
                if n < LONG:
                    continue
                words = words[:, :safe]  # the longest that is certified
            try_words(compiled, words, kind, row)


def try_words(compiled: Compiled, words: I64, kind: str, row: dict[str, Any]) -> None:
    """Some words of one length in one type."""
    n = words.shape[1]
    found = measure(compiled, words, kind)
    row["words"] += len(words)
    row["wrong"] += int(found.wrong.sum())
    bound = compiled.budget.deviation(n, kind)
    row["over"] += found.deviation > bound
    best = row.get(kind, [0.0, 0.0, 0])
    if found.deviation > best[0]:
        row[kind] = [found.deviation, bound, n]


def sweep(formulas: int, seconds: float, state: Path, only: Sequence[str]) -> None:
    """Go on with the sweep until each cell has so many formulas (a decoder's an eighth), or the time is over."""
    found: dict[str, Any] = json.loads(state.read_text()) if state.exists() else {}
    end = time.monotonic() + seconds
    for number in range(formulas):
        for cell in cells(only):
            row = found.setdefault("|".join(map(str, cell)), dict(EMPTY))
            if row["formulas"] <= number < (formulas // 8 if cell[2] else formulas):
                try_one(*cell, number, row)
        if time.monotonic() > end:
            break
    state.write_text(json.dumps(found))
    table([state])


def table(states: Sequence[Path]) -> None:
    """The table of some sweeps."""
    counts = ("formulas", "words", "wrong")
    print(head(("logic", "way", *counts, "largest deviation, float64", "float32", "certified there")))
    rows = [item for state in states for item in json.loads(state.read_text()).items()]
    for key, row in sorted(rows, key=lambda item: NAMES.index(item[0].split("|")[0])):
        name, how, decoder = key.split("|")
        a, b = row.get("float64", [0, 0, 0]), row.get("float32", [0, 0, 0])
        way = f"{how}, {'decoder' if decoder == 'True' else 'encoder'}"
        show((name, way, *map(row.get, counts), *(f"{x:.4f}" for x in (a[0], b[0], max(a[1], b[1])))))
        assert row["over"] == 0, "a deviation is over its bound"


def smallest(compiled: Compiled, number: int, words: I64) -> float:
    """The smallest share of one head's inverse temperature that still works on some words of a length.

    It works while every Boolean of the model, and the formula, stays within 1/4 of its truth value at every position.
    """
    record = compiled.budget.heads[number]
    read = [r.coordinate for r in compiled.budget.heads if r.bound is not None and not r.bound.of_number]
    right = np.rint(evaluate.activations(compiled.model, words)[..., read])

    def works(share: float) -> bool:
        layers = list(compiled.model.layers)
        heads = list(layers[record.layer].heads)
        head = heads[record.head]
        heads[record.head] = replace(head, scale=Term(f"({head.scale.text})*{share!r}"))
        layers[record.layer] = replace(layers[record.layer], heads=tuple(heads))
        x = evaluate.activations(replace(compiled.model, layers=tuple(layers)), words)
        return bool((np.abs(x[..., read] - right) < 0.25).all())

    return least_share(works)


def scales(longest: int) -> None:
    """For each pattern: the computed inverse temperature over the smallest one that works."""
    print(head(("head", "1/tau", *(f"n = {n}" for n in range(2, longest + 1)))))
    for decoder, text in ((decoder, text) for decoder, texts in SHOWN.items() for text in texts):
        compiled = compile_soft(text, ["a", "b", "c"], decoder=decoder, at="every")
        for number, record in enumerate(compiled.budget.heads):
            if record.bound is None or (record.pattern == "exists" and text != "once a"):
                continue
            scale = compiled.model.layers[record.layer].heads[record.head].scale
            ratios = [1 / smallest(compiled, number, all_words(3, n)) for n in range(2, longest + 1)]
            what = f"{', decoder' if decoder else ''}: {record.pattern}{' of a number' * record.bound.of_number}"
            show((f"`{text}`{what}", f"`{scale.text}`", *(f"{r:.2f}" for r in ratios)))


def lengths() -> None:
    """For each pattern and way: up to which length it is certified."""
    print(head(("formula", *(f"{'decoder, ' * decoder}{how}" for how, decoder in WAYS))))
    for text in ("a since b", "previous a", "once a", "#past a > #past b", "#past a > #future b", "odd(#past a)"):
        row = []
        for how, decoder in WAYS:
            try:
                budget = compile_soft(text, ["a", "b"], how=how, decoder=decoder).budget
                row.append(f"{budget.safe_length('float32')} / {budget.safe_length('float64')}")
            except UsageError:
                row.append("no theorem")
        show((f"`{text}`", *row))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formulas", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--state", type=Path, default=Path("soft-formulas.json"))
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--show", type=Path, nargs="+")
    parser.add_argument("--lengths", action="store_true")
    parser.add_argument("--scales", type=int, nargs="?", const=7)
    given = parser.parse_args()
    if given.show:
        table(given.show)
    elif given.lengths:
        lengths()
    elif given.scales:
        scales(given.scales)
    else:
        sweep(given.formulas, given.seconds, given.state, given.only)


assert set(DTYPES) == set(UNITS)
if __name__ == "__main__":
    main()
