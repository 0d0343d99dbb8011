"""Tables of docs/soft.md: how close the influence bounds are, Chiang & Cholak's PARITY, cross-entropy, restrictions.

Run ``OMP_NUM_THREADS=1 python scripts/bench_soft.py [PART ...] [-o FILE]``; parts are influence, triples, parity,
entropy, restrictions, usual (all by default). ``--quick`` leaves out n above 256.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from harness import arguments, written

from restrict.soft.bounds.exchange import run_exchange
from restrict.soft.bounds.parts import prepare
from restrict.soft.bounds.values import allowed_tokens
from restrict.soft.influence.influence import Influence, fit_decay, influence
from restrict.soft.influence.sources import BRACKETS, Dyck2
from restrict.soft.influence.theorem6 import cross_entropy
from restrict.soft.models import evaluate
from restrict.soft.models.known import parity, random
from restrict.soft.models.model import SoftModel
from restrict.soft.models.source import load
from restrict.soft.restriction.claim import SoftCertificate
from restrict.soft.restriction.restriction import certify_soft

SIZES = ((1, 16, 2), (2, 16, 2), (3, 16, 2), (1, 64, 4), (2, 64, 4), (3, 64, 4))
"""Layers, width, heads."""
PERCENTS = (5, 10, 20)
"""Entries of matrices have standard deviation percent / 100 / sqrt(columns), embeddings 1."""
LENGTHS = (16, 64, 256, 1024, 4096)
LONGEST = {5: 1024, 10: 4096, 20: 1024}
"""The greatest length for each percentage."""


def bench_influence(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Bound over measured value for models with small weights, and the fit of the decay."""
    rows: list[dict[str, Any]] = []
    print("influence on the output's activation: certified bound / largest found (200 exchanges; 24 at n = 4096)")
    print("L  d   percent  n     closed     layers     sets       measured   sets/measured  seconds")
    for layers, width, heads in SIZES:
        for percent in options.percent or PERCENTS:
            model = random(layers=layers, width=width, heads=heads, hidden=2 * width, percent=percent, seed=1)
            made = []
            for n in LENGTHS:
                if n <= (256 if options.quick else LONGEST[percent]):
                    start = time.perf_counter()
                    made.append(influence(model, n, samples=200 if n < 4096 else 24))
                    rows.append(influence_row(layers, width, percent, made[-1], time.perf_counter() - start))
            for which in ("sharp", "measured"):
                print(f"{layers}  {width:<3d} {percent:<8d} fit (estimate): {which} ~ {fit_decay(made, which)}")
    return rows


def influence_row(layers: int, width: int, percent: int, found: Influence, seconds: float) -> dict[str, Any]:
    """One line of the table, printed."""
    closed = 10 ** (found.log10_closed or 0.0)
    bounds = f"{closed:<10.3g} {found.layerwise[0]:<10.3g} {found.sharp[0]:<10.3g} {found.measured[0]:<10.3g}"
    print(f"{layers}  {width:<3d} {percent:<8d} {found.n:<5d} {bounds} {found.ratio:<14.2f} {seconds:.1f}", flush=True)
    return {"layers": layers, "width": width, "percent": percent, "seconds": seconds} | vars(found)


def bench_triples(options: argparse.Namespace) -> dict[str, Any]:
    """Random (model, input, exchange) triples: differences outside their set."""
    rng, tried, outside = np.random.default_rng(0), 0, 0
    for seed in range(10 if options.quick else 60):
        model = random(layers=1 + seed % 3, width=4 + seed % 5, hidden=6, heads=1 + seed % 2, seed=seed,
                       percent=20 + 10 * (seed % 9), symbols=2 + seed % 2, causal=seed // 2 % 2, norm=seed // 4 % 3,
                       additive=seed // 12 % 2, gelu=seed // 24 % 2)  # fmt: skip
        for n in (3, 7):
            parts = prepare(model, n)
            _, pairs = run_exchange(parts, allowed_tokens(parts), np.arange(n))
            for pair in pairs:
                for i in range(n):
                    words = model.encode(rng.integers(0, len(model.alphabet), (24, n)))
                    first, second = words.copy(), words.copy()
                    first[:, i], second[:, i] = pair.symbols
                    change = evaluate.activations(model, first) - evaluate.activations(model, second)
                    rest = np.arange(n) != i
                    good = pair.other[rest].holds(change[:, rest], 1e-11).all(axis=1)
                    good &= pair.own[[i]].holds(change[:, [i]], 1e-11).all(axis=1)
                    tried, outside = tried + len(words), outside + int((~good).sum())
    print(f"{tried} random triples (model, input, exchange): {outside} outside their certified set")
    return {"tried": tried, "outside": outside}


def bench_parity(options: argparse.Namespace) -> dict[str, Any]:
    """Chiang & Cholak's transformer on random strings, and the largest change of its logit by one flip."""
    model, rng = parity(), np.random.default_rng(1)
    right = total = 0
    for n in (2, 11, 101, 500) if options.quick else (2, 3, 11, 40, 101, 256, 500, 751, 1000, 1001):
        words = rng.integers(0, 2, (1000, n - 1))
        for part in np.array_split(words, max(1, len(words) * n // 100_000)):
            found = evaluate.labels(model, evaluate.logits(model, model.encode(part)))[:, 0]
            right, total = right + int((found == part.sum(axis=1) % 2).sum()), total + len(part)
    flips = {}
    for n in (10, 100, 1000):
        words = rng.integers(0, 2, (50, n - 1))
        other = words.copy()
        other[np.arange(50), rng.integers(0, n - 1, 50)] ^= 1
        moved = evaluate.logits(model, model.encode(words)) - evaluate.logits(model, model.encode(other))
        flips[n] = float(np.abs(moved).max()) * n * n
    row = cross_entropy(model, 1000 if not options.quick else 200, "parity", samples=200)
    print(f"parity of Chiang & Cholak: {right} of {total} strings right")
    print("largest change of the logit by one flip, times n^2:", {n: round(v, 4) for n, v in flips.items()})
    print(f"cross-entropy at n = {row.n}: {row.measured:.8f} bits per string; certified floor {row.floor:.6f}")
    return {"right": right, "total": total, "flips": flips, "cross_entropy": row.measured, "floor": row.floor}


def language_model(symbols: tuple[str, ...], labels: int, seed: int, percent: int = 10) -> SoftModel:
    """A random model over an alphabet with one label more than symbols."""
    model = random(layers=2, width=16, symbols=len(symbols), labels=labels, seed=seed, percent=percent)
    return replace(model, alphabet=symbols)


def bench_entropy(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Floors and measured values on both sources, and P0 against Monte Carlo."""
    rows = []
    cases = (("parity", language_model(("0", "1"), 3, 1)), ("2dyck", language_model(BRACKETS, 5, 2)))
    print("next symbol, p = 1/10, random models (L = 2, d = 16, percent = 10): bits")
    print("source  n     optimum   floor     measured  +-       chance")
    for name, model in cases:
        for n in (4, 16, 64, 256) if options.quick else (4, 16, 64, 256, 1024):
            row = cross_entropy(model, n, name, samples=300)
            print(f"{name:<7} {n:<5d} {row.optimum:<9.5f} {row.floor:<9.5f} {row.measured:<9.5f} {row.margin:<8.1e} "
                  f"{row.chance:.5f}", flush=True)  # fmt: skip
            rows.append({"source": name, **vars(row)})
    source, rng = Dyck2(Fraction(3, 10)), np.random.default_rng(3)
    for m in (5, 20, 61):
        words = source.sample(m, 20_000, rng)
        height = np.where(words % 2 == 0, 1, -1).sum(axis=1)
        share = float(((words[:, -1] % 2 == 1) & (height > 0)).mean())
        margin = 2.576 * math.sqrt(share * (1 - share) / len(words))
        print(f"P0({m}, 3/10) = {float(source.p0(m)):.5f} exactly; Monte Carlo {share:.5f} +- {margin:.5f}; "
              f"limit {float(source.p0_limit(m % 2 == 0)):.5f}")  # fmt: skip
    return rows


EPSILON = Fraction(1, 20)


def bench_restrictions(options: argparse.Namespace) -> dict[str, Any]:
    """Soft restrictions of random models: completions that move the output further than certified.

    Every model has one restriction at n = 8 .. 12, tried on all completions, and one at n = 24, tried on 1000 sampled
    ones. Both are re-checked in exact arithmetic.
    """
    rng, models = np.random.default_rng(4), 10 if options.quick else 100
    tried = {"all": 0, "sampled": 0}
    violations, free, confirmed, start = 0, [], 0, time.perf_counter()
    for seed in range(models):
        model = random(layers=1 + seed % 2, width=6, hidden=6, heads=1, seed=seed, percent=10 + 20 * (seed % 4),
                       symbols=2 + (seed % 10 == 9))  # fmt: skip
        for n, kind in ((8 + seed % 5, "all"), (24, "sampled")):
            found = certify_soft(model, n, EPSILON, seconds=1.0, tries=2, seed=seed)
            confirmed += found.verified is not None
            words = completions(model, found, 1000 if kind == "sampled" else None, rng)
            tried[kind] += len(words)
            violations += spread(model, words) > float(EPSILON)
            free.append((n - len(found.fixed)) / n)
    print(
        f"{models} random models, epsilon {EPSILON}: {2 * models} restrictions, {confirmed} confirmed by the re-check\n"
        f"{violations} violations in {tried['all']} completions (all of them, n = 8 .. 12) and {tried['sampled']} "
        f"sampled ones (n = 24)\n"
        f"mean share of free positions {np.mean(free):.2f}; {time.perf_counter() - start:.0f} s"
    )
    for n in (20, 100, 1000):
        start = time.perf_counter()
        found = certify_soft(load("first:log=1"), n, Fraction(1, 100), seconds=5.0)
        print(f"first:log=1 at n = {n}: {len(found.fixed)} fixed, re-checked, {time.perf_counter() - start:.1f} s")
    return {"models": models, "violations": violations, "free": float(np.mean(free)), **tried}


def completions(
    model: SoftModel, found: SoftCertificate, count: int | None, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """All inputs that agree with a restriction, or some drawn at random, constant ones among them: (words, n)."""
    size, slots = len(model.alphabet), [i for i in range(found.n) if i not in found.fixed]
    if count is None:
        grid = (np.arange(size ** len(slots))[:, None] // size ** np.arange(len(slots))[None, :]) % size
    else:
        shares = rng.dirichlet(np.full(size, 0.5), count)
        grid = (rng.random((count, len(slots), 1)) > shares.cumsum(axis=1)[:, None, :]).sum(axis=2).clip(0, size - 1)
        grid[:size] = np.arange(size)[:, None]
    words = np.zeros((len(grid), found.n), dtype=np.int64)
    words[:, slots] = grid
    for i, s in found.fixed.items():
        words[:, i] = model.alphabet.index(s)
    return words


def spread(model: SoftModel, words: npt.NDArray[np.int64]) -> float:
    """The largest difference of a label's probability between two words."""
    low, high = np.full(len(model.output.labels), np.inf), np.full(len(model.output.labels), -np.inf)
    for first in range(0, len(words), 4096):
        logits = evaluate.logits(model, words[first : first + 4096])
        chances = evaluate.probabilities(model, logits)[:, 0]
        low, high = np.minimum(low, chances.min(axis=0)), np.maximum(high, chances.max(axis=0))
    return float((high - low).max())


def bench_usual(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Bound over measured value for weights of the usual size, where the sets lose."""
    rows = []
    print("weights of larger size (d = 16, H = 2): certified bound by sets / largest found (200 exchanges)")
    print("L  percent  " + "".join(f"n = {n:<20d}" for n in (16, 64, 256)))
    for layers in (1, 2, 3):
        for percent in (20, 50, 100):
            model = random(layers=layers, width=16, heads=2, hidden=32, percent=percent, seed=1)
            made = [influence(model, n, samples=200) for n in (16, 64, 256)]
            cells = [f"{m.sharp[0]:.2g} / {m.measured[0]:.2g} = {m.ratio:.3g}" for m in made]
            print(f"{layers}  {percent:<7d}  " + "".join(f"{c:<24s}" for c in cells), flush=True)
            rows += [{"layers": layers, "percent": percent} | vars(m) for m in made]
    return rows


PARTS = {
    "influence": bench_influence, "triples": bench_triples, "parity": bench_parity, "entropy": bench_entropy,
    "restrictions": bench_restrictions, "usual": bench_usual,
}  # fmt: skip


def main() -> None:
    """Run the parts that were asked for."""
    parser = arguments(__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--percent", type=int, action="append", choices=PERCENTS, help="influence: only these weights")
    options = parser.parse_args()
    found = {name: PARTS[name](options) for name in options.parts or PARTS}
    written(options.output, found)


if __name__ == "__main__":
    main()
