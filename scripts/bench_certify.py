"""Benchmark of `restrict certify`: sizes, times, memory, growth with n, and peers on the same models in the same run.

    python scripts/bench_certify.py [--quick] [-o FILE.json] [--only SECTION ...]

Sections: growth (random two-layer models up to a million positions), depth (three and four layers), deep (five and
six), known (instances with a known optimum), scan (scores per second), optimum (n = 13 and 40 against the exact
optimum), peers (other methods with a time limit), unseen (explanations of random inputs), everywhere (all positions at
once). End-to-end times are of a fresh process each, so they include start-up and JIT compilation (from its cache after
the first).
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from harness import Row, arguments, best_of, command, ended, exponent, table, timed, within, written


def measured(words: Sequence[str], **settings: str) -> tuple[str, float, float]:
    """Run `restrict WORDS` in a fresh process: its output, seconds, and peak memory in MiB."""
    run = ended(command(*words), settings=settings)
    if run.code:
        raise SystemExit(f"restrict {' '.join(words)} ended with exit code {run.code}: {run.err.strip()[:200]}")
    return run.out, run.seconds, run.mebibytes


def end_to_end(model: str, n: int) -> Row:
    """Certify, then check with the fast and, where it is quick, the pure checker."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "c.json")
        text, seconds, memory = measured(["certify", model, "-n", str(n), "-o", path, "--json"])
        certificate = json.loads(text)["certificate"]
        _, fast, _ = measured(["check", model, path, "--fast"])
        fixed = sum(count for _, count, _ in certificate["fixed"])
        cone = (
            "all" if certificate["cone"] == "all" else sum(c for runs in certificate["cone"].values() for _, c in runs)
        )
        row = {"model": model, "n": n, "fixed": fixed, "c": certificate["claim"]["c"], "cone": cone}
        row |= {"certify s": seconds, "MiB": memory, "check --fast s": fast}
        if n <= 20_000:
            _, row["check s"], _ = measured(["check", model, path])
        return row


def slope(rows: list[Row], key: str) -> float | None:
    """The exponent with which a column grows in n."""
    return exponent([row["n"] for row in rows], [max(row[key], 1e-9) for row in rows])


def growth(quick: bool) -> tuple[list[Row], list[str]]:
    """Random L = 2, H = 2, 4 states."""
    sizes = (1_000, 10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    seeds = range(1 if quick else 5)
    rows = [end_to_end(f"random:layers=2,heads=2,states=4,seed={seed}", n) for n in sizes for seed in seeds]
    notes = [f"n = {n}: mean fixed {mean(r['fixed'] for r in rows if r['n'] == n):.1f}" for n in sizes]
    notes.append(
        f"fitted exponent in n of fixed positions: {slope(rows, 'fixed'):.3f}; of time: {slope(rows, 'certify s'):.3f}"
    )
    return rows, notes


def depth(quick: bool) -> tuple[list[Row], list[str]]:
    """Three and four layers, ten seeds of four; and three layers of four heads with eight states."""
    n = 10_000 if quick else 100_000
    seeds = {3: range(1 if quick else 3), 4: range(1 if quick else 10)}
    rows = [end_to_end(f"random:layers={L},heads=2,states=4,seed={s}", n) for L, some in seeds.items() for s in some]
    if not quick:
        rows.append(end_to_end("random:layers=3,heads=4,states=8", n))
    four = [1 - r["fixed"] / r["n"] for r in rows if "layers=4" in r["model"]]
    enough = sum(share >= 0.999 for share in four)
    return rows, [f"four layers: at least 99.9 % free on {enough} of {len(four)}, least {100 * min(four):.3f} %"]


def deep(quick: bool) -> tuple[list[Row], list[str]]:
    """Five layers of four states and six of two, ten seeds each."""
    n, seeds = (10_000, range(1)) if quick else (100_000, range(10))
    kinds = ("layers=5,heads=2,states=4", "layers=6,heads=2,states=2")
    rows = {kind: [end_to_end(f"random:{kind},seed={s}", n) for s in seeds] for kind in kinds}
    notes = [
        f"{kind}: mean fixed {mean(r['fixed'] for r in some):.1f}; "
        f"at least 99.9 % free on {sum(1000 * r['fixed'] <= n for r in some)} of {len(some)}"
        for kind, some in rows.items()
    ]
    return [row for some in rows.values() for row in some], notes


KNOWN: tuple[tuple[str, int], ...] = (
    ("and-of-ors", 10_000), ("or-of-ands", 10_000), ("alternating-tree", 9_984),
    ("alternating-tree:bottom=20,middle=20", 8_000), ("tribes", 10_000), ("tribes:width=12", 9_996),
    ("dyck1-depth2", 10_000), ("dyck1-depth3", 10_000), ("all-ones", 10_000), ("anbn", 10_000),
    ("first-symbol", 10_000), ("contains-one", 10_000), ("flip-flop", 10_000), ("induction-head", 10_000),
    ("parity8", 10_000),
)  # fmt: skip


def known(quick: bool) -> tuple[list[Row], list[str]]:
    """Instances whose optimum is known (instances/README.md)."""
    import restrict
    from restrict.model.examples.known import known_optimum

    rows = [
        end_to_end(model, n) | {"optimum": known_optimum(restrict.load(model), n)}
        for model, n in (KNOWN[:4] if quick else KNOWN)
    ]
    return rows, [f"at the optimum: {sum(r['fixed'] == r['optimum'] for r in rows)} of {len(rows)}"]


def forty_heads() -> dict[str, Any]:
    """Four layers of ten heads with expression scores of different kinds."""
    variables: list[dict[str, Any]] = []
    below = "token"
    for layer in range(4):
        names = [f"h{layer}_{h}" for h in range(10)]
        for h, name in enumerate(names):
            score = f"(k * {h + 1} + q + {layer}) % 5 * 100 - abs(i - j - {h}) + hash({layer}, {h}, j, k) % 7"
            head: dict[str, Any] = {
                "name": name, "kind": "head", "query": below, "key": below, "value": below, "score": score,
            }  # fmt: skip
            mask = ("none", "past", "strict_past", "future")[h % 4]
            variables.append(head | {"mask": mask, "ties": ("left", "right")[h % 2]})
        args = [below, *names[:9]]
        rule = f"hash({layer}, {', '.join(args)}) % 2"
        below = f"y{layer}"
        variables.append({"name": below, "kind": "map", "args": args, "domain": 2, "map": rule})
    output = {"variable": below, "position": "last", "accept": [1]}
    top = {"format": "restrict-model/1", "name": "forty-heads", "alphabet": ["0", "1"]}
    return {**top, "variables": variables, "output": output}


def cold(quick: bool) -> tuple[list[Row], list[str]]:
    """A program of forty heads at n = 100 with an empty cache of compiled kernels, and again with a full one."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forty.json"
        path.write_text(json.dumps(forty_heads()))
        for turn in range(1 if quick else 3):
            cache = {"NUMBA_CACHE_DIR": str(Path(folder) / f"cache{turn}")}
            text, first, _ = measured(["certify", str(path), "-n", "100", "--json"], **cache)
            _, second, _ = measured(["certify", str(path), "-n", "100", "--json"], **cache)
            fixed = sum(count for _, count, _ in json.loads(text)["certificate"]["fixed"])
            rows.append({"model": "forty heads", "n": 100, "fixed": fixed, "cold s": first, "warm s": second})
        _, seconds, _ = measured(["--help"])
        rows.append({"model": "restrict --help", "warm s": seconds})
    return rows, []


def scan(quick: bool) -> tuple[list[Row], list[str]]:
    """Scores per second of one row of a million positions and four key values, in process."""
    import restrict
    from restrict.rows import row as module
    from restrict.rows.values import Values

    at = restrict.load("random:layers=2,heads=2,states=4,seed=0").at(1_000_000)
    head: Any = at.model.variables[3]
    keys = Values.make(4, {})
    out = []

    def best(general: bool) -> None:
        row = module.Row(at, head, 999_999, 1)
        if general:
            row.seed = None
        row.best(keys, 48)

    for name, general in {"hash kernel": False, "register machine": True}.items():
        for threads in ("1", "2"):
            os.environ["RESTRICT_THREADS"] = threads
            seconds = best_of(partial(best, general), 5 if quick else 20)
            out.append({"kernel": name, "threads": int(threads), "ms": 1000 * seconds, "scores/s": 4e6 / seconds})
    os.environ.pop("RESTRICT_THREADS")
    return out + [dot_row(dim, 5 if quick else 20) for dim in (16, 64, 256)], []


def dot_row(dim: int, times: int) -> Row:
    """One row of dot products, 2^24 products in all, two key values, against BLAS's time for the product alone."""
    import numpy as np

    import restrict
    from restrict.rows import row as module
    from restrict.rows.values import Values

    n, rng = 2**23 // dim, np.random.default_rng(0)
    query = restrict.Table(("q", "dim"), rng.integers(-9, 10, (2, dim)))
    key = restrict.Table(("j", "k", "dim"), rng.integers(-9, 10, (n, 2, dim)))
    head = restrict.Head("h", "token", restrict.Dot(query, key), query="token", key="token")
    at = restrict.Model("dot", ("0", "1"), (head,), restrict.Output("h", "last")).at(n)
    matrix, vector = key.values.reshape(-1, dim).astype(np.float64), query.values[1].astype(np.float64)
    keys = Values.make(2, {})
    blas = best_of(lambda: matrix @ vector, times)
    row = best_of(lambda: module.Row(at, head, n - 1, 1).best(keys, 48), times)
    title = f"dot products, dim {dim}, n = {n}"
    return {"kernel": title, "ms": 1000 * row, "BLAS ms": 1000 * blas, "ratio": row / blas}


def everywhere(quick: bool) -> tuple[list[Row], list[str]]:
    """Programs whose scores do not mention the query's position, certified at every position at once."""
    rows: list[Row] = []
    sizes = (1_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        for name, formula in (("since", "a since b"), ("nested", "(a since (b until c)) or once (c and previous b)")):
            path = str(Path(folder) / f"{name}.json")
            measured(["compile", formula, "--alphabet", "a,b,c,x", "--at", "every", "-o", path])
            for n in sizes:
                proof = str(Path(folder) / "c.json")
                arguments = ["certify", path, "-n", str(n), "--target", "all", "--free", "0.9", "-o", proof, "--json"]
                text, seconds, memory = measured(arguments)
                claim = json.loads(text)["certificate"]["claim"]
                _, fast, _ = measured(["check", path, proof, "--fast"])
                rows.append({"formula": formula, "n": n, "free": claim["free"], "c": claim["c"],
                             "certify s": seconds, "MiB": memory, "check --fast s": fast})  # fmt: skip
    names = list(dict.fromkeys(r["formula"] for r in rows))
    growths = {f: slope([r for r in rows if r["formula"] == f], "certify s") for f in names}
    return rows, [f"{f}: fitted exponent of time in n {e:.2f}" for f, e in growths.items()]


def optimum(quick: bool) -> tuple[list[Row], list[str]]:
    """Sizes against the exact optimum by SAT, on random two-layer models."""
    import restrict

    rows: list[Row] = []
    for n, seeds in ((13, 10 if quick else 50), (40, 2 if quick else 20)):
        for seed in range(seeds):
            model = restrict.load(f"random:layers=2,heads=2,states=4,seed={seed}")
            started = time.perf_counter()
            found = restrict.certify(model, n)
            middle = time.perf_counter()
            best = restrict.exact(model, n, start=found, time=60)
            fixed, done = len(found.restriction.fixed), time.perf_counter()
            row: Row = {"n": n, "seed": seed, "fixed": fixed, "lower": best.lower, "upper": best.upper}
            row |= {"confirmed": best.confirmed, "certify s": middle - started, "exact s": done - middle}
            rows.append(row)
    notes = []
    for n in (13, 40):
        solved = [r for r in rows if r["n"] == n and r["lower"] == r["upper"]]
        sure = [r for r in solved if r["confirmed"]]
        told = f"solved {len(solved)}", f"{len(sure)} of them with an optimum that the checker can confirm"
        for some, what in zip((solved, sure), told, strict=True):
            size, least = mean(r["fixed"] for r in some), mean(r["upper"] for r in some)
            notes.append(f"n = {n}, {what}: mean size {size:.2f} / exact optimum {least:.2f} = {size / least:.3f}")
    return rows, notes


PEERS = ("restrict", "QuickXplain", "deletion + SAT", "implicit hitting set", "CP-SAT")


def peers(quick: bool) -> tuple[list[Row], list[str]]:
    """One explanation task for all, at growing n: free the tokens of an input while its label stays forced."""
    limit = 10.0 if quick else 60.0
    sizes = (13, 40) if quick else (13, 40, 100, 200, 400, 800, 1600)
    rows: list[Row] = []
    alive = set(PEERS)
    for n in sizes:
        for seed in range(1 if quick or n > 200 else 3):
            row: Row = {"n": n, "seed": seed}
            for name in PEERS:
                if name in alive:
                    answer = within(limit + 15, run_peer, name, n, seed)  # seconds for its start
                    row[f"{name} size"], row[f"{name} s"] = answer or ("timeout", "")
                    if answer is None:
                        alive.discard(name)
            rows.append(row)
        if alive == {"restrict"}:
            break
    return rows, [
        f"a peer that exceeds {limit:.0f} s once is not run at larger n; times are in process, without start-up"
    ]


def run_peer(name: str, n: int, seed: int) -> tuple[int, float]:
    """Explain the model's label on a seeded input; the first call on a tiny model compiles and does not count."""
    import numpy as np

    import restrict

    model = restrict.load(f"random:layers=2,heads=2,states=4,seed={seed}")
    word = [model.alphabet[a] for a in np.random.default_rng(seed).integers(0, 2, n)]
    run = {
        "restrict": ours, "QuickXplain": quick_orders, "deletion + SAT": deletion,
        "implicit hitting set": hitting_set, "CP-SAT": cp_sat,
    }[name]  # fmt: skip
    run(model, word[:4])
    started = time.perf_counter()
    return run(model, word), time.perf_counter() - started


def ours(model: Any, word: list[str]) -> int:
    """This package's minimal explanation."""
    import restrict

    return len(restrict.explain(model, word)[0].positions)


def quick_orders(model: Any, word: list[str]) -> int:
    """The best of five orders of QuickXplain on this package's abstract run, as VeriX+ takes a verifier as the test."""
    import numpy as np

    from restrict.force.looking import Looking
    from restrict.optimum.quickxplain import quickxplain

    at, n = model.at(len(word)), len(word)
    symbols, runs = dict(enumerate(model.symbols(word))), Looking(at, n - 1)
    label = runs.labels(symbols)

    def test(cube: dict[int, int]) -> dict[int, int] | None:
        if runs.labels(cube) != label:
            return None
        read = runs.tokens_read()
        return {i: a for i, a in cube.items() if i in read}

    rng = np.random.default_rng(0)
    orders = [list(range(n)), list(range(n))[::-1], *(rng.permutation(n).tolist() for _ in range(3))]
    return min(len(quickxplain(test, symbols, order)) for order in orders)


def unseen(quick: bool) -> tuple[list[Row], list[str]]:
    """Explanations of random inputs of random models with four heads: sizes, bounds, processor seconds."""
    import numpy as np

    import restrict

    rows: list[Row] = []
    for layers, heads, states, n in [(2, 4, 4, 200)] if quick else WIDE:
        size = quick_size = proved = larger = 0
        seconds = []
        for seed in [0, *range(1000, 1002 if quick else 1010)]:
            model = restrict.load(f"random:layers={layers},heads={heads},states={states},seed={seed}")
            word = [model.alphabet[a] for a in np.random.default_rng(seed).integers(0, 2, n)]
            (found, *_), took = timed(partial(restrict.explain, model, word), time.process_time)
            if seed == 0:  # it compiles
                continue
            least = quick_orders(model, word)
            size, quick_size, proved = size + found.weight, quick_size + least, proved + found.minimum
            larger += found.weight > least
            seconds.append(took)
        row: Row = {"layers": layers, "heads": heads, "states": states, "n": n, "models": len(seconds)}
        row |= {"positions": size, "best of five QuickXplain": quick_size, "larger": larger, "minimum proved": proved}
        rows.append(row | {"median s": float(np.median(seconds)), "most s": max(seconds)})
    return rows, ["seeds 1000 to 1009; processor seconds of all threads, compiled before"]


WIDE = [(2, 4, 4, 200), (2, 4, 4, 400), (2, 4, 4, 800), (2, 4, 16, 800), (2, 2, 4, 800), (3, 2, 4, 400)]
"""Layers, heads, states and length of what ``unseen`` explains."""


def deletion(model: Any, word: list[str]) -> int:
    """Deletion-based explanation with a SAT oracle (PySAT) on the whole model."""
    from pysat.solvers import Solver

    clauses, assume = encoding(model, word)
    with Solver("cadical153", bootstrap_with=clauses) as solver:
        return deleted(assume, lambda rest: not solver.solve(assumptions=rest))


def deleted(assume: list[int], enough: Callable[[list[int]], bool]) -> int:
    """How many literals are left once each that the others can do without has gone."""
    kept = list(assume)
    for literal in assume:
        rest = [x for x in kept if x != literal]
        kept = rest if enough(rest) else kept
    return len(kept)


def hitting_set(model: Any, word: list[str]) -> int:
    """A minimum explanation by implicit hitting sets on the whole model, every counterexample made subset-minimal."""
    from pysat.examples.hitman import Hitman
    from pysat.solvers import Solver

    clauses, assume = encoding(model, word)
    with Solver("glucose4", bootstrap_with=clauses) as solver, Hitman(solver="glucose4", htype="rc2") as hitter:
        hit: list[int] = []
        while solver.solve(assumptions=hit):
            agreed, shown = set(hit), set(solver.get_model())
            for literal in assume:
                if literal in shown or literal in agreed:
                    agreed.add(literal)
                elif solver.solve(assumptions=[*agreed, literal]):
                    agreed.add(literal)
                    shown = set(solver.get_model())
            hitter.hit([literal for literal in assume if literal not in agreed])
            hit = hitter.get()
    return len(hit)


def cp_sat(model: Any, word: list[str]) -> int:
    """Deletion-based explanation with OR-Tools CP-SAT as the oracle."""
    from ortools.sat.python import cp_model

    clauses, assume = encoding(model, word)
    problem = cp_model.CpModel()
    top = max(abs(x) for clause in clauses for x in clause)
    variables = [problem.new_bool_var("") for _ in range(top + 1)]
    for clause in clauses:
        problem.add_bool_or([variables[x] if x > 0 else variables[-x].negated() for x in clause])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1

    def enough(rest: list[int]) -> bool:
        problem.clear_assumptions()
        problem.add_assumptions([variables[x] if x > 0 else variables[-x].negated() for x in rest])
        return bool(solver.solve(problem) == cp_model.INFEASIBLE)

    return deleted(assume, enough)


def encoding(model: Any, word: list[str]) -> tuple[list[list[int]], list[int]]:
    """The whole model with another label than on ``word``, and the literals that say which input it is."""
    from restrict.model.restriction import Restriction
    from restrict.optimum.cnf import encode

    at = model.at(len(word))
    code = encode(at, Restriction.of(at), [at.n - 1])
    label = model.run(word).label()
    clauses = [*code.clauses, *([-x] for name, row in code.labels(at.n - 1).items() if name == label for x in row)]
    symbols = dict(enumerate(model.symbols(word)))
    return clauses, [code.token_lit(i, a) for i, a in symbols.items() if ("token", i) in code.values]


SECTIONS: dict[str, Callable[[bool], tuple[list[Row], list[str]]]] = {
    "growth": growth, "depth": depth, "deep": deep, "known": known, "everywhere": everywhere, "scan": scan,
    "cold": cold, "optimum": optimum, "peers": peers, "unseen": unseen,
}  # fmt: skip


def main() -> None:
    """Run the sections and print their tables."""
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    options = parser.parse_args()
    results = {}
    for name in options.only:
        rows, notes = SECTIONS[name](options.quick)
        results[name] = {"rows": rows, "notes": notes}
        print(f"\n## {name}\n\n{table(rows)}\n", *(f"- {note}" for note in notes), sep="\n", flush=True)
    written(options.output, results)


if __name__ == "__main__":
    main()
