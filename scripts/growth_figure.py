"""docs/figures/growth.svg: how the inverse temperature grows with the length, theorem by theorem.

    python scripts/growth_figure.py [FILE]

A line is the computed 1/tau. Dots are the smallest 1/tau that works, by bisection: filled on all words of the length
over three letters (measured), open on a sample of words (an estimate from below). A dashed line grows as the panel's
title says. The same bytes each time.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_simulate import EPSILON, Words, least_of_program, smallest_factor
from soft_formulas_sweep import smallest

from restrict.base.arrays import all_words
from restrict.model.source import load
from restrict.report.drawing import Drawing, Group, Shape, save
from restrict.simulate.formulas import compile_soft
from restrict.simulate.ours.hard import compile_program
from restrict.simulate.ours.measure import words_of
from restrict.simulate.srasp.compiler import compile_with_budget
from restrict.simulate.srasp.parser import parse
from restrict.simulate.srasp.source import BUILT_IN

FILE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "growth.svg"
ALL, SAMPLED = (2, 3, 4, 5), (8, 16, 32)
LENGTHS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512)
FORMULAS = (
    ("Theorem 12 (a)", "previous a", False, "neighbour", "n"),
    ("Theorem 13 (c)", "previous a", True, "neighbour", "n^2"),
    ("Theorem 15 (a)", "a since b", False, "nearest", "n"),
    ("Theorem 16 (a)", "a since b", True, "nearest", "n^2"),
    ("Corollary 17 (a)", "(previous a) since b", False, "nearest", "n"),
    ("Corollary 18 (a)", "(previous a) since b", True, "nearest", "n^2"),
    ("Theorem 20 (a)", "#past a > #past b", False, "threshold", "n log n"),
    ("Theorem 20 (a)", "odd(#past a)", False, "look-up", "n^3"),
    ("Theorem 21", "odd(#past a)", True, "look-up", "n^4"),
    ("Corollary 22 (a)", "odd(#past a) since b", False, "look-up", "n^3"),
    ("Corollary 23", "odd(#past a) since b", True, "look-up", "n^4"),
)
"""The theorem, a formula, whether a decoder, the head that is drawn (its sharpest), and how its scale grows."""
PROGRAMS = (("Theorem 26", "dyck-1", "n"), ("Theorem 26", "flip-flop", "n"), ("Theorem 26", "induction-1", "n"))
HARD = (("hard, ties broken", "flip-flop", "n"), ("hard, ties harmless", "contains-one", "log n"))
RATES: dict[str, Callable[[int], float]] = {
    "log n": math.log,
    "n": float,
    "n log n": lambda n: n * math.log(n),
    "n^2": lambda n: float(n**2),
    "n^3": lambda n: float(n**3),
    "n^4": lambda n: float(n**4),
}
WIDE, HIGH, ACROSS = 180.0, 150.0, 4


class Panel(NamedTuple):
    """One panel: the computed curve, and the smallest that works on all words and on samples."""

    title: str
    what: str
    grows: str
    curve: list[tuple[int, float]]
    exact: list[tuple[int, float]]
    below: list[tuple[int, float]]


def sample(n: int, symbols: int) -> Words:
    """Words of a length, half of them constant except in a few places."""
    rng = np.random.default_rng(n)
    found = rng.integers(0, symbols, (40, n))
    constant = np.broadcast_to(rng.integers(0, symbols, (40, 1)), found.shape)
    return np.where((np.arange(40)[:, None] % 2 == 1) & (rng.random((40, n)) > 2 / n), constant, found)


def of_formula(theorem: str, text: str, decoder: bool, pattern: str, grows: str) -> Panel:
    """The sharpest head of a formula."""
    compiled = compile_soft(text, ["a", "b", "c"], decoder=decoder, at="every")
    assert compiled.budget.theorem == theorem
    number, record = next((k, r) for k, r in enumerate(compiled.budget.heads) if r.pattern == pattern)
    scale = compiled.model.layers[record.layer].heads[record.head].scale

    def least(n: int, words: Words) -> tuple[int, float]:
        return n, scale.value(0, n) * smallest(compiled, number, words)

    curve = [(n, scale.value(0, n)) for n in LENGTHS]
    exact = [least(n, all_words(3, n)) for n in ALL]
    return Panel(theorem, text, grows, curve, exact, [least(n, sample(n, 3)) for n in SAMPLED])


def of_program(theorem: str, name: str, grows: str) -> Panel:
    """An S-RASP program; lengths count the start marker."""
    program = parse(BUILT_IN[name])
    budget = compile_with_budget(program)[1]
    curve = [(n, budget.sharpness(n, EPSILON).scale) for n in LENGTHS[1:]]
    exact = [(n, least_of_program(program, n - 1)[1]) for n in (3, 4, 5, 6)]
    below = [(n, least_of_program(program, n - 1, sample(n - 1, len(program.alphabet)))[1]) for n in SAMPLED]
    return Panel(theorem, f"S-RASP {name}", grows, curve, exact, below)


def of_hard(title: str, name: str, grows: str) -> Panel:
    """A hard-attention program."""

    def least(n: int) -> tuple[int, float]:
        compiled = compile_program(load(name), n, EPSILON)
        return n, compiled.scale * smallest_factor(compiled, *words_of(compiled, 40), steps=9)

    curve = [(n, compile_program(load(name), n, EPSILON).scale) for n in LENGTHS]
    return Panel(title, name, grows, curve, [least(n) for n in (2, 3, 4, 5)], [least(n) for n in SAMPLED])


def drawn(panel: Panel, left: float, top: float, group: Group) -> None:
    """One panel, both axes logarithmic."""
    points = [*panel.curve, *panel.exact, *panel.below]
    bottom = 10.0 ** math.floor(math.log10(min(y for _, y in points)))
    ceiling = 10.0 ** math.ceil(math.log10(max(y for _, y in points)))
    box = (left + 34, top + 34, WIDE - 46, HIGH - 56)

    def place(n: float, y: float) -> tuple[float, float]:
        x = box[0] + box[2] * math.log(n / 2) / math.log(LENGTHS[-1] / 2)
        return x, box[1] + box[3] * (1 - math.log(y / bottom) / math.log(ceiling / bottom))

    def joined(line: list[tuple[int, float]], look: str) -> None:
        for one, two in itertools.pairwise(line):
            group.shapes.append(Shape("line", (*place(*one), *place(*two)), look))

    group.shapes += [
        Shape("text", (left + 34, top + 14, 9.5), "label", f"{panel.title}: {panel.grows}"),
        Shape("text", (left + 34, top + 26, 8), "quiet", panel.what),
        Shape("rect", box, "unexamined"),
    ]
    for n in (2, 8, 32, 128, 512):
        group.shapes.append(Shape("text", (place(n, bottom)[0], top + HIGH - 11, 7), "quiet", str(n), "middle"))
    for power in range(round(math.log10(bottom)), round(math.log10(ceiling)) + 1, 1 if ceiling / bottom < 1e4 else 3):
        height = place(2, 10.0**power)[1]
        text = str(10**power) if 0 <= power < 4 else f"1e{power}"
        group.shapes.append(Shape("text", (left + 31, height + 2.5, 7), "quiet", text, "end"))
    last = panel.curve[-1]
    rate = RATES[panel.grows]
    guide = [(n, last[1] * rate(n) / rate(last[0]) * 0.35) for n in LENGTHS if n >= 16]
    joined([(n, y) for n, y in guide if y >= bottom], "dashed")
    joined(panel.curve, "solid")
    group.shapes += [Shape("circle", (*place(*point), 2.2), "reduced") for point in panel.exact]
    group.shapes += [Shape("circle", (*place(*point), 2.2), "open") for point in panel.below]


def main() -> None:
    """Draw all panels."""
    panels = [of_formula(*row) for row in FORMULAS]
    panels += [of_program(*row) for row in PROGRAMS] + [of_hard(*row) for row in HARD]
    rows = -(-len(panels) // ACROSS)
    drawing = Drawing(ACROSS * WIDE, rows * HIGH + 22, "The inverse temperature 1/tau by the length n")
    group = drawing.group()
    for at, panel in enumerate(panels):
        drawn(panel, at % ACROSS * WIDE, at // ACROSS * HIGH, group)
        for (n, y), mark in [*((p, "") for p in panel.exact), *((p, ", sampled") for p in panel.below)]:
            computed = dict(panel.curve).get(n)
            if computed is not None:
                print(f"{panel.title}, {panel.what}: n = {n}: {computed:.5g}, least {y:.5g}{mark}: {computed / y:.2f}")
    note = "line: computed; filled: smallest that works, all words; open: on a sample (from below); dashed: growth"
    group.shapes.append(Shape("text", (34, rows * HIGH + 12, 8.5), "quiet", note))
    save(drawing, Path(sys.argv[1]) if len(sys.argv) > 1 else FILE)


if __name__ == "__main__":
    main()
