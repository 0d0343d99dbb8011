"""Benchmark of wide models: what `restrict certify` finds where no map can be tabulated, with times and memory.

    python scripts/bench_wide.py [--quick] [--n 10000 ...] [--layers 1 2] [--heads 2 4 8 12] [--states 4 16 64]
                                 [--symbols 2 26 1000] [--seed 0 ...] [--seconds S] [--explain K]

One line per model `random:layers=L,heads=H,states=S,symbols=A`: fixed positions, the free share, c, the seconds of a
fresh process (start-up and compiled kernels included; `cpu s` adds up all its threads), its peak memory, and the fast
check of the certificate. `--explain K` adds the smallest explanation of K random inputs, for comparison. A run that
takes longer than `--seconds` is ended and reported as such.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any


def measured(arguments: list[str], seconds: float) -> tuple[str | None, float, float, float]:
    """Run `restrict ARGUMENTS` in a fresh process: its output (``None`` if ended), seconds, CPU seconds, peak MiB."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        command = [sys.executable, "-m", "restrict.cli", *arguments]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.setitimer(signal.ITIMER_REAL, seconds)
        _, status, usage = os.wait4(process.pid, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    wall, cpu, memory = time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    if process.returncode < 0:
        return None, wall, cpu, memory
    return (text if process.returncode == 0 else f"exit {process.returncode}: {text.strip()}"), wall, cpu, memory


def explanations(spec: str, n: int, count: int) -> int:
    """The smallest explanation of ``count`` random inputs."""
    import numpy as np

    import restrict

    model, rng = restrict.load(spec), np.random.default_rng(0)
    words = [[model.alphabet[a] for a in rng.integers(len(model.alphabet), size=n).tolist()] for _ in range(count)]
    return min(restrict.explain(model, word)[0].weight for word in words)


def line(spec: str, n: int, seconds: float, inputs: int) -> dict[str, Any]:
    """Certify and check one model."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "c.json")
        text, wall, cpu, memory = measured(["certify", spec, "-n", str(n), "-o", path, "--json"], seconds)
        row: dict[str, Any] = {"model": spec, "n": n, "s": round(wall, 1), "cpu s": round(cpu, 1), "MiB": round(memory)}
        if text is None or text.startswith("exit"):
            return row | {"fixed": "ended" if text is None else text[:60]}
        certificate = json.loads(text)["certificate"]
        fixed = sum(count for _, count, _ in certificate["fixed"])
        row |= {"fixed": fixed, "free %": round(100 * (1 - fixed / n), 4), "c": certificate["claim"]["c"]}
        verdict, wall, _, _ = measured(["check", spec, path, "--fast"], seconds)
        row["check --fast s"] = round(wall, 1) if verdict and not verdict.startswith("exit") else str(verdict)[:40]
    if inputs:
        row["explain"] = explanations(spec, n, inputs)
    return row


def main() -> None:
    """Print one line per model, then a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one model of each number of layers")
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--heads", type=int, nargs="+", default=[2, 4, 8, 12])
    parser.add_argument("--states", type=int, nargs="+", default=[4, 16, 64])
    parser.add_argument("--symbols", type=int, nargs="+", default=[2, 26, 1000])
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--explain", type=int, default=0, metavar="K")
    args = parser.parse_args()
    if args.quick:
        args.n, args.heads, args.states, args.symbols = [1000], [4], [16], [26]
    rows = []
    grid = product(args.n, args.layers, args.heads, args.states, args.symbols, args.seed)
    for n, layers, heads, states, symbols, seed in grid:
        spec = f"random:layers={layers},heads={heads},states={states},symbols={symbols},seed={seed}"
        rows.append(line(spec, n, args.seconds, args.explain))
        print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    answered = [r for r in rows if r.get("c") == 0]
    print(f"{len(answered)} of {len(rows)} answered with c = 0; slowest {max((r['s'] for r in answered), default=0)} s")


if __name__ == "__main__":
    main()
