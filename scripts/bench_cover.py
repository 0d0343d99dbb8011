"""The covering problem of Stage 3 on the random family of theory section 5, and where resampling fails.

    python scripts/bench_cover.py [-n 1000 -n 4000] [-k 10 -k 20] [--seed 0] [-o out.json]

Family: one layer, two heads, binary alphabet, independent random scores: 4n pairs (position, head, query value), each
ranks the 2n pairs (position, symbol) at random; its cubes are the literals of its k best positions with their
maximising symbols. Shares are of n. `lower` is certified for the instance. `moment` holds for the family: with
probability at least 0.999 no restriction that sets at most this share captures every pair (the expected number of such
restrictions is at most 0.001).
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np
from harness import arguments, head, show, timed, written

from restrict.base.errors import ResourceLimit
from restrict.cover.local_lemma import local_lemma
from restrict.cover.lower_bound import lower_bound
from restrict.cover.problem import CoverProblem
from restrict.cover.solution import CoverSolution
from restrict.cover.solve import solve

HEADS, SYMBOLS = 2, 2


def random_family(n: int, k: int, seed: int) -> CoverProblem:
    """The pairs' top k distinct positions, each with its better symbol; 2k ranks always contain k positions."""
    rng = np.random.default_rng(seed)
    pairs = n * HEADS * SYMBOLS
    literal = np.empty((pairs, k), np.int64)
    for p in range(pairs):
        ranking = rng.choice(2 * n, 2 * k, replace=False)
        _, first = np.unique(ranking // 2, return_index=True)
        literal[p] = ranking[np.sort(first)[:k]]
    flat = np.arange(pairs * k + 1)
    return CoverProblem.from_arrays(n, SYMBOLS, flat[::k], flat, literal.ravel() // 2, literal.ravel() % 2)


def moment_bound(n: int, k: int, chance: float = 1e-3) -> int:
    """The largest B for which the expected number of restrictions of at most B inputs that capture all is <= chance.

    A fixed restriction of b inputs misses a pair with probability sum_t H(t) 2^-t, H hypergeometric; pairs are
    independent. Floating point.
    """

    def choose(a: int, b: int) -> float:
        return math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(a - b + 1)

    total = 0.0
    for b in range(n + 1):
        logs = [choose(b, t) + choose(n - b, k - t) - t * math.log(2) for t in range(max(0, k - n + b), min(k, b) + 1)]
        top = max(logs)
        miss = math.exp(top - choose(n, k)) * math.fsum(math.exp(v - top) for v in logs)
        if miss < 1:
            exponent = choose(n, b) + b * math.log(2) + 4 * n * math.log1p(-miss)
            total += math.exp(min(exponent, 0.0))
        if total > chance:
            return b - 1
    return n


def lemma_threshold(problem: CoverProblem) -> float | None:
    """The least q = i/16 at which the asymmetric local lemma is verified, or None."""
    good = [i / 16 for i in range(16, 0, -1) if local_lemma(problem, i / 16).holds]
    return min(good, default=None)


def measure(n: int, k: int, seed: int, lemma: bool) -> dict[str, Any]:
    """One row: shares of n and seconds for each solver."""
    problem = random_family(n, k, seed)
    _, core = timed(lambda: problem.core)
    row: dict[str, Any] = {"n": n, "k": k, "seed": seed, "core_s": core}
    for name in ("greedy", "decimate", "local", "resample"):
        found, seconds = timed(partial(solve, problem, solver=name, seed=seed))
        found.verify()
        row |= {name: found.count / n, f"{name}_s": seconds, f"{name}_status": found.status}
        if name == "resample":
            row |= {"drawn": found.statistics["drawn"] / n, "q": found.statistics["q"], "x0": found.statistics["over"],
                    "resamplings": found.statistics["resamplings"]}  # fmt: skip
    bound, row["lower_s"] = timed(lambda: lower_bound(problem))
    row |= {"lower": bound.value / n, "lower_source": bound.source, "moment": moment_bound(n, k) / n}
    row["lemma_q"] = lemma_threshold(problem) if lemma else None
    return row


def planted_clauses(inputs: int, density: float, seed: int) -> CoverProblem:
    """Random pairs of three single literals, at least one of which agrees with a hidden assignment."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, inputs)
    pairs: list[list[list[tuple[int, int]]]] = []
    while len(pairs) < density * inputs:
        where, symbols = rng.choice(inputs, 3, replace=False), rng.integers(0, 2, 3)
        if np.any(hidden[where] == symbols):
            pairs.append([[(int(j), int(w))] for j, w in zip(where, symbols, strict=True)])
    return CoverProblem.from_pairs(inputs, 2, pairs)


def planted_tribes(inputs: int, seed: int) -> CoverProblem:
    """Every pair needs all of log2(inputs) inputs: one cube agrees with a hidden assignment, one is random."""
    rng = np.random.default_rng(seed)
    hidden, width, pairs = rng.integers(0, 2, inputs), math.ceil(math.log2(inputs)), []
    for _ in range(inputs):
        good, bad = rng.choice(inputs, width, replace=False), rng.choice(inputs, width, replace=False)
        cubes = [[(int(j), int(hidden[j])) for j in good], [(int(j), int(rng.integers(2))) for j in bad]]
        pairs.append([cubes[t] for t in rng.permutation(2)])
    return CoverProblem.from_pairs(inputs, 2, pairs)


def duel(name: str, problem: CoverProblem, seed: int) -> list[dict[str, Any]]:
    """Each solver on one adversary, without a budget."""
    rows = []
    for solver in ("resample", "greedy", "local", "sat"):
        row: dict[str, Any] = {"instance": name, "inputs": problem.inputs, "pairs": problem.pairs, "solver": solver}
        start = time.perf_counter()
        try:
            found: CoverSolution = solve(problem, solver=solver, seed=seed, time=60 if solver == "sat" else None)
            found.verify()
            row |= {"status": found.status, "uncaptured": int((~found.captured).sum()), "set": found.count}
        except ResourceLimit:
            row |= {"status": "out of time", "uncaptured": None, "set": None}
        rows.append(row | {"seconds": time.perf_counter() - start})
    return rows


def percent(value: float | None) -> str:
    """A share as text."""
    return "-" if value is None else f"{100 * value:.2f} %"


def main() -> None:
    """Print both tables and write the JSON."""
    parser = arguments(__doc__, quick=None)
    parser.add_argument("-n", type=int, action="append", help="inputs (default: 1000 and 4000)")
    parser.add_argument("-k", type=int, action="append", help="cubes per pair (default: 10, 20, 40, 80)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lemma-up-to", type=int, default=1000, help="largest n for the local lemma's threshold")
    options = parser.parse_args()
    measure(50, 5, 0, True)  # compiles the kernels
    solvers = ("greedy", "decimate", "local")
    print(head(("n", "k", *solvers, "resample (drawn)", "q", "lemma holds from q", "lower", "moment", "s (local)")))
    rows = []
    for n in options.n or [1000, 4000]:
        for k in options.k or [10, 20, 40, 80]:
            row = measure(n, k, options.seed, n <= options.lemma_up_to)
            rows.append(row)
            drawn = f"{percent(row['resample'])} ({percent(row['drawn'])})"
            lemma = "not run" if n > options.lemma_up_to else row["lemma_q"] or "never"
            bounds = percent(row["lower"]), percent(row["moment"]), f"{row['local_s']:.1f}"
            show((n, k, *(percent(row[name]) for name in solvers), drawn, row["q"], str(lemma), *bounds))
    print("\n" + head(("adversary", "inputs", "pairs", "solver", "status", "uncaptured", "set", "s")))
    duels = duel("planted clauses", planted_clauses(150, 4.2, options.seed), options.seed)
    duels += duel("planted tribes", planted_tribes(256, options.seed), options.seed)
    for row in duels:
        show((*(str(row[key]) for key in row if key != "seconds"), f"{row['seconds']:.2f}"))
    written(options.output, {"family": rows, "adversaries": duels})


if __name__ == "__main__":
    main()
