"""The Depth Reduction Lemma measured: shares, certified dependencies, stages, and where the fallback helps.

    python scripts/bench_lemma.py [--quick] [--section one --section two ...] [--seed 0] [-o out.json]

Sections (default: all): ``shares``, ``one``, ``two``, ``stages``, ``tribes``, ``families``, ``methods``, ``symbols``,
``long``. Each prints its table; with ``-o`` its rows replace those of the same section in the JSON file, so
sections can be run one at a time. ``--quick`` takes lengths that end in a minute or two. Every c and mean is a
certified bound (of the abstract run, which the checker recomputes); shares are what was found; ``lower`` is certified
for the instance; exponents are least-squares slopes of log against log, estimates. Seconds include everything but the
compilation of kernels.
"""

from __future__ import annotations

import json
import math
import time as clock
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from harness import Row, arguments, exponent, head, peak, show, timed, written

import restrict
from restrict.base.errors import NotEstablished
from restrict.cover.lower_bound import lower_bound
from restrict.cover.solve import solve
from restrict.depth_reduction import theorem1
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.lemma.lemma4 import reduce_layer
from restrict.depth_reduction.lemma.selection import selection
from restrict.depth_reduction.lemma.stage1 import stage1
from restrict.depth_reduction.lemma.stage3 import cover_problem, stage3
from restrict.depth_reduction.theorem1 import certify_all
from restrict.elaboration.check import check
from restrict.model.restriction import Restriction
from tests.random_ctransformer import random_ctransformer


def shown(rows: list[Row]) -> list[Row]:
    """The rows, printed as a Markdown table of four digits."""
    print(head(list(rows[0])))
    for row in rows:
        show(f"{v:.4g}" if isinstance(v, float) else v for v in row.values())
    return rows


def one_layer(seed: int) -> str:
    """The family of the targets with one layer."""
    return f"random:layers=1,heads=2,states=2,every=1,seed={seed}"


def two_layers(seed: int) -> str:
    """The family of the targets with two layers."""
    return f"random:layers=2,heads=2,states=4,every=1,seed={seed}"


def shares(quick: bool, seed: int) -> list[Row]:
    """Stage 3 on the real rankings of a one-layer model: the share of inputs set so that every pair is captured."""
    rows = []
    for n in (300, 1000) if quick else (1000, 4000):
        t = CTransformer.of_model(restrict.load(one_layer(seed)), n)
        for k in (10, 20, 40) if quick else (10, 20, 40, 80):
            chosen = selection(t, k)
            problem, _ = cover_problem(t, chosen)
            row: Row = {"n": n, "k": k, "pairs": problem.pairs}
            for name in ("greedy", "local", "resample"):
                found = solve(problem, solver=name, seed=seed)
                row[name] = found.count / n if found.captured.all() else None
            row["lower"] = lower_bound(problem).value / n
            rows.append(row)
    shown(rows)
    for k in sorted({row["k"] for row in rows}):
        mine = [row for row in rows if row["k"] == k]
        slope = exponent([r["n"] for r in mine], [r["local"] for r in mine])
        print(f"share (local) at k = {k}: exponent in n {slope:.3f}")
    return rows


def random_c(model: str, n: int, C: float, seed: int) -> tuple[int, float]:
    """(c, mean) under a random restriction that leaves C n free: the baseline."""
    at = restrict.load(model).at(n)
    rng = np.random.default_rng(seed)
    fixed = {int(i): int(rng.integers(2)) for i in rng.choice(n, n - math.ceil(C * n), False)}
    t = CTransformer.of_model(at, None, Restriction.of(at, fixed))
    while t.layers:
        t = t.collapse()
    degrees = t.output_depends()
    return int(degrees.max()), float(degrees.mean())


def certified(model: str, n: int, C: float, seed: int) -> Row:
    """One certificate for all positions, beside a random restriction of the same size."""
    found, seconds = timed(lambda: certify_all(restrict.load(model), n, free=C, seed=seed))
    c, mean = random_c(model, n, C, seed)
    return {"n": n, "C": C, "free": found.certificate.free, "c": found.certificate.c, "mean": found.mean,
            "c/n": found.certificate.c / n, "random c": c, "random mean": mean, "s": seconds,
            "MiB": peak() >> 20}  # fmt: skip


def curve(model: str, points: Sequence[tuple[int, float]], seed: int) -> list[Row]:
    """Certificates along a curve, with the exponents of c and of the seconds in n."""
    rows = [certified(model, n, C, seed) for n, C in points]
    shown(rows)
    for C in sorted({row["C"] for row in rows}):
        mine = [row for row in rows if row["C"] == C]
        for what in ("c", "mean", "s"):
            slope = exponent([r["n"] for r in mine], [r[what] for r in mine])
            if slope is not None:
                print(f"C = {C}: {what} grows with exponent {slope:.2f} in n")
    return rows


def one(quick: bool, seed: int) -> list[Row]:
    """One layer, two heads, binary: c against n at C = 0.9, and against C."""
    certify_all(restrict.load(one_layer(seed)), 200, free=0.9)
    lengths = (500, 1000, 2000) if quick else (1000, 2000, 5000, 10000, 20000)
    n = lengths[1]
    return curve(one_layer(seed), [(n, C) for n in lengths for C in (0.9,)] + [(n, C) for C in (0.8, 0.95)], seed)


def long(quick: bool, seed: int) -> list[Row]:
    """One layer, two heads, binary, C = 0.9, at the greatest lengths: processor seconds and memory."""
    certify_all(restrict.load(one_layer(seed)), 3000, free=0.9)
    rows: list[Row] = []
    for n in (5000, 10000) if quick else (10000, 30000, 100000):
        once = partial(certify_all, restrict.load(one_layer(seed)), n, free=0.9, seed=seed)
        found, seconds = timed(once, clock.process_time)
        rows.append({"n": n, "C": 0.9, "free": found.certificate.free, "c": found.certificate.c, "mean": found.mean,
                     "CPU s": seconds, "MiB": peak() >> 20})  # fmt: skip
    return shown(rows)


def two(quick: bool, seed: int) -> list[Row]:
    """Two layers, two heads, four states: c against n at C = 0.6, and against C."""
    certify_all(restrict.load(two_layers(seed)), 200, free=0.6)
    lengths = (500, 1000, 2000) if quick else (1000, 2000, 5000, 10000, 20000)
    n = lengths[1] if quick else 5000
    return curve(two_layers(seed), [(n, 0.6) for n in lengths] + [(n, C) for C in (0.3, 0.45, 0.75, 0.9)], seed)


def stages(quick: bool, seed: int) -> list[Row]:
    """reduce_layer on random c-transformers with shared inputs: what was measured beside the paper's bounds."""
    rows = []
    for c, n, k in [(1, 200, 8), (2, 200, 8), (3, 120, 8)] + ([] if quick else [(1, 1000, 10), (2, 1000, 12)]):
        t = random_ctransformer(np.random.default_rng(seed + c), n, c, heads=2, states=2, shared=0.5)
        row: Row = {"c": t.c, "n": n, "k": k}
        try:
            found = reduce_layer(t, C_next=0.4, k=k, seed=seed)
        except NotEstablished as error:
            print(f"c = {c}, n = {n}, k = {k}: {error}")
            continue
        a, b, d = found.stage1, found.stage2, found.stage3
        row |= {"S1 fixed (bound)": f"{len(a.fixed)} ({float(a.fixed_bound):.3g})",
                "degree (bound)": f"{a.degree_before} to {a.degree_after} ({float(a.degree_bound):.3g})",
                "S2 rounds (bound)": f"{b.rounds} ({float(b.rounds_bound):.3g})",
                "neighbours (bound)": f"{b.neighbours_after} ({float(b.neighbours_bound):.3g})",
                "S3 set": d.spent, "by": d.method, "redraws": d.resamplings,
                "lemma": d.lemma is not None and d.lemma.holds,
                "free": found.restriction.free, "c' (bound)": f"{found.transformer.c} ({found.c_bound})"}  # fmt: skip
        rows.append(row)
    return shown(rows)


def tribes(quick: bool, seed: int) -> list[Row]:
    """Stage 3 on the tribes-trap family, each method by itself."""
    rows = []
    for width, n in [(6, 64), (8, 256)] if quick else [(6, 64), (8, 256), (9, 512)]:
        t = CTransformer.of_model(restrict.load(f"tribes-trap:width={width},seed={seed}"), n).collapse()
        for method in ("resample", "greedy", "local", "auto"):
            for k in (4, 8):
                start = clock.perf_counter()
                _, record = stage3(
                    t, k=k, q=0.6, delta=0.2, eta=0.1, C=1, C_next=0.2, method=method, seed=seed, time=60
                )
                rows.append({"n": n, "width": width, "k": k, "method": method, "status": record.status,
                             "by": record.method,
                             "uncaptured": int((~record.solution.captured).sum()), "set": record.spent,
                             "budget": record.budget, "redraws": record.resamplings,
                             "s": clock.perf_counter() - start})  # fmt: skip
    return shown(rows)


def families(quick: bool, seed: int) -> list[Row]:
    """All positions of the hard families; and Stage 1 on shared hubs."""
    rows = []
    for name, n, C in (
        ("shared-hubs", 400, 0.8),
        ("dot-dense", 400, 0.9),
        ("dot-sparse", 400, 0.9),
        ("tribes-trap", 256, 0.3),
    ):
        rows.append({"model": name} | certified(name, n if quick else 2 * n, C, seed))
    shown(rows)
    t = CTransformer.of_model(restrict.load("shared-hubs"), 400).collapse()
    _, record = stage1(t, eta=0.1, C=1)
    print(f"shared-hubs, n = 400, Stage 1: degree {record.degree_before} to {record.degree_after} (bound "
          f"{float(record.degree_bound):g}), fixed {len(record.fixed)} "
          f"(bound {float(record.fixed_bound):g})")  # fmt: skip
    return rows


def methods(quick: bool, seed: int) -> list[Row]:
    """The methods of Theorem 1 on the same models: the lemma by its stages, and the exchange."""
    rows: list[Row] = []
    cases = [
        (one_layer(seed), 1000, 0.9), (two_layers(seed), 1000, 0.6), (one_layer(seed), 10_000, 0.9),
        (two_layers(seed), 1000, 0.9), (two_layers(seed), 10_000, 0.6), ("shared-hubs", 800, 0.8),
        ("tribes-trap", 256, 0.3),
    ]  # fmt: skip
    for name, n, C in cases[: 2 if quick else None]:
        for method in ("lemma", "exchange"):
            rows.append(measured(name, n, C, method, seed))
            print(rows[-1], flush=True)
    return shown(rows)


def measured(name: str, n: int, C: float, method: theorem1.Method, seed: int) -> Row:
    """All positions of one model by one method."""
    model = restrict.load(name)
    certify_all(model, 200, free=C, method=method)
    found, seconds = timed(partial(certify_all, model, n, free=C, method=method, seed=seed), clock.process_time)
    k = ", ".join(str(step.stage2.k) for step in found.stages) or "-"
    return {"model": name.replace("random:", ""), "n": n, "C": C, "method": method, "k": k,
            "free": found.certificate.free, "c": found.certificate.c, "mean": found.mean, "CPU s": seconds}  # fmt: skip


CHECKED = 500
"""Longest instance of many symbols whose certificate is checked, too: at n = 2000 that takes 200 s."""


def symbols(quick: bool, seed: int) -> list[Row]:
    """One layer, two heads, many symbols, C = 0.9: the lists are streamed; processor seconds, also of check --fast."""
    rows: list[Row] = []
    for count, n in ((50, 200), (100, 200)) if quick else ((50, 500), (50, 2000), (100, 500), (1000, 60)):
        model = restrict.load(one_layer(seed) + f",symbols={count}")
        once = partial(timed, partial(certify_all, model, n, free=0.9, seed=seed))
        (found, seconds), cpu = timed(once, clock.process_time)
        again = partial(check, model, found.certificate, fast=True)
        fast = timed(again, clock.process_time)[1] if n <= CHECKED else None
        rows.append({"symbols": count, "n": n, "free": found.certificate.free, "c": found.certificate.c,
                     "mean": found.mean, "s": seconds, "CPU s": cpu,
                     "check --fast CPU s": fast, "MiB": peak() >> 20})  # fmt: skip
        print(rows[-1], flush=True)
    return shown(rows)


SECTIONS: dict[str, Callable[[bool, int], list[Row]]] = {
    "shares": shares, "one": one, "two": two, "stages": stages, "tribes": tribes, "families": families,
    "methods": methods, "symbols": symbols, "long": long,
}  # fmt: skip


def main() -> None:
    """Run the sections asked for and keep their rows."""
    parser = arguments(__doc__)
    parser.add_argument("--section", action="append", choices=list(SECTIONS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.section or list(SECTIONS):
        print(f"\n## {name}: {(SECTIONS[name].__doc__ or '').strip()}\n", flush=True)
        rows = SECTIONS[name](options.quick, options.seed)
        if options.output:
            kept = json.loads(options.output.read_text()) if options.output.exists() else {}
            kept[name] = {"quick": options.quick, "seed": options.seed, "rows": rows}
            written(options.output, kept)


if __name__ == "__main__":
    main()
