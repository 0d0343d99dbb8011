"""How time and memory grow with n, and how much faster more processes make one large certificate (docs/scale.md).

    python scripts/bench_scale.py [--quick] [--only SECTION ...] [--limit SECONDS] [-o FILE.jsonl]

Sections: last (one position), all (every position), repeating (every position, scores without the query's position),
workers (one certificate on one core, and on two in three ways), share (how much of a certificate is shared out). Except
in share, every row is a fresh process, started after another one has filled numba's cache. A row has the seconds of
`certify` alone (measured; processor seconds in the first three sections, by the clock in the fourth), the most memory
that the process ever had (measured), fixed positions and c (certified). The last column is the exponent of the seconds'
growth since the row above. With ``-o`` rows go to a file as they come, and those that are there are not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import resource
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from harness import ROOT, arguments, ended, timed

import restrict
from restrict.base import blocks
from restrict.model.fileformat import loads
from restrict.model.task import Target

GROWTH: dict[str, list[tuple[str, dict[str, Any], tuple[int, ...]]]] = {
    "last": [
        ("random:layers=1,heads=2,states=2,seed=1", {}, (10**4, 10**5, 10**6, 10**7)),
        ("random:layers=2,heads=2,states=2,seed=1", {}, (10**4, 10**5, 10**6, 10**7)),
        ("random:layers=1,heads=2,states=4,symbols=1000,seed=1", {}, (10**4, 10**5, 10**6)),
    ],
    "all": [
        ("random:layers=1,heads=2,states=2,seed=1,every=1", {"free": 0.9}, (1000, 2000, 4000, 10_000)),
        ("random:layers=2,heads=2,states=2,seed=1,every=1", {"free": 0.6}, (500, 1000, 2000, 4000)),
        ("random:layers=1,heads=4,states=16,seed=1,every=1", {"free": 0.6}, (500, 1000, 2000)),
    ],
    "repeating": [("since", {"free": 0.9}, (10**4, 10**5, 10**6, 10**7))],
}
WORKERS: list[tuple[str, dict[str, Any], int]] = [
    ("random:layers=2,heads=2,states=2,seed=1,every=1", {"free": 0.6}, 2000),
    ("near", {"free": 0.8}, 2000),
]
SHARES: list[tuple[str, dict[str, Any], int]] = [
    ("random:layers=1,heads=2,states=2,seed=1,every=1", {"free": 0.9}, 4000),
    ("random:layers=2,heads=2,states=2,seed=1,every=1", {"free": 0.6}, 2000),
    ("near", {"free": 0.8}, 3000),
]
SECTIONS = [*GROWTH, "workers", "share"]
QUICK = 10**4
NEAR = {
    "format": "restrict-model/1", "name": "near", "alphabet": ["0", "1"],
    "variables": [
        {"kind": "head", "name": f"h{h}", "value": "token", "key": "token",
         "score": f"({31 + h} * i + 17 * j + 53 * k + i * j) % 1009"}
        for h in range(2)
    ] + [{"kind": "map", "name": "out", "args": ["h0", "h1"], "domain": 2, "map": "(h0 + h1) % 2"}],
    "output": {"variable": "out", "position": "every", "accept": [1]},
}  # fmt: skip
"""Two heads whose scores are not a hash, so that every row goes through the register machine."""

WAYS = ("core", "threads", "processes", "dask")
"""One certificate on one core; on two threads, which share long rows of hashed scores; in two processes; on a Dask
cluster of two workers."""


def model_of(spec: str) -> Any:
    """The model of a row."""
    if spec == "near":
        return loads(json.dumps(NEAR).encode())
    if spec == "since":
        return restrict.compile_formula("a since b", alphabet=("a", "b", "c"), at="every")
    return restrict.load(spec)


def alone(spec: str, n: int, wish: dict[str, Any], way: str) -> None:
    """One row, in this process: its line of JSON."""
    model = model_of(spec)
    target: Target = "all" if "free" in wish else "last"
    restrict.certify(model, 40, target=target, **wish)

    def run() -> tuple[tuple[Any, float], float]:
        return timed(lambda: timed(lambda: restrict.certify(model, n, target=target, **wish)), time.process_time)

    if way in ("processes", "dask"):
        with restrict.workers(2, dask="local" if way == "dask" else None):
            restrict.certify(model, 1500, target=target, **wish)  # the workers' kernels are there, too
            (found, seconds), cpu = run()
    else:
        (found, seconds), cpu = run()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    digest = hashlib.sha256(found.to_bytes()).hexdigest()[:12]
    print(json.dumps({"seconds": round(seconds, 2), "cpu": round(cpu, 2), "mib": round(peak),
                      "fixed": len(found.restriction.fixed), "c": found.c, "digest": digest}))  # fmt: skip


def measured(key: list[Any], limit: float) -> dict[str, Any]:
    """One row, in a process of its own."""
    threads = {"RESTRICT_THREADS": "2" if key[3] == "threads" else "1"}
    done = ended([sys.executable, __file__, "--row", json.dumps(key)], limit, ROOT, threads)
    if done.code:
        return {"error": f"over {limit:.0f} s" if done.code < 0 else done.err.strip().splitlines()[-1][:100]}
    found: dict[str, Any] = json.loads(done.out)
    return found


class Book:
    """Rows that are known, by what they are about."""

    def __init__(self, path: Path | None, limit: float) -> None:
        self.path, self.limit, self.rows = path, limit, dict[str, dict[str, Any]]()
        if path is not None and path.exists():
            self.rows = {row["key"]: row for row in map(json.loads, path.read_text().splitlines())}

    def row(self, spec: str, n: int, wish: dict[str, Any], way: str = "core") -> dict[str, Any]:
        """Look up or measure."""
        key = json.dumps([spec, n, wish, way])
        if key not in self.rows:
            self.rows[key] = {"key": key, **measured(json.loads(key), self.limit)}
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps(self.rows[key]) + "\n")
        return self.rows[key]


def growth(book: Book, section: str, quick: bool) -> None:
    """The table of a section."""
    print(f"{section:<52}  {'n':>9}  {'CPU s':>8}  {'MiB':>6}  {'fixed':>6}  {'c':>5}  exponent")
    for spec, wish, lengths in GROWTH[section]:
        before: tuple[int, float] | None = None
        for n in lengths:
            if quick and n > (QUICK if section == "last" else 1000):
                continue
            row = book.row(spec, n, wish)
            if "error" in row:
                print(f"{spec:<52}  {n:>9}  {row['error']}", flush=True)
                continue
            power = "" if before is None else f"{math.log(row['cpu'] / before[1]) / math.log(n / before[0]):.2f}"
            print(f"{spec:<52}  {n:>9}  {row['cpu']:>8.2f}  {row['mib']:>6}  {row['fixed']:>6}  {row['c']:>5}"
                  f"  {power}", flush=True)  # fmt: skip
            before = n, max(row["cpu"], 0.01)


def shared_out(book: Book, quick: bool) -> None:
    """One certificate on one core and on two."""
    print(f"{'workers':<52}  {'n':>6}  {'1 core':>8}  {'2 threads':>16}  {'2 processes':>16}  {'2 on Dask':>16}  same")
    for spec, wish, n in WORKERS:
        rows = [book.row(spec, 1600 if quick else n, wish, way) for way in WAYS]
        base, cells = rows[0].get("seconds"), list[str]()
        for row in rows[1:]:
            found = f"{row['seconds']:.1f} s ({base / row['seconds']:.2f}x)" if base and "error" not in row else "error"
            cells.append(f"{found:>16}")
        same = "yes" if len({row.get("digest") for row in rows}) == 1 else "no"
        print(f"{spec:<52}  {n:>6}  {base or 0:>6.1f} s  {'  '.join(cells)}  {same}", flush=True)
        for row in rows:
            if "error" in row:
                print(f"  {row['error']}")


class Timed:
    """Workers in this process that add up the CPU seconds of the blocks they do."""

    width = 8

    def __init__(self) -> None:
        self.seconds, self.blocks, self.longest = 0.0, 0, 0.0

    def each(self, work: Any, shared: Any, parts: Any) -> Any:
        """The results, one after the other."""
        for part in parts:
            found, took = timed(partial(work, shared, part), time.process_time)
            self.seconds, self.blocks, self.longest = self.seconds + took, self.blocks + 1, max(self.longest, took)
            yield found


def share(quick: bool) -> None:
    """How much of the work of one certificate lies in blocks, in CPU time, which other work on the machine does not
    change; and so how many times as fast any number of workers can make it."""
    print(f"{'share':<52}  {'n':>9}  CPU seconds  in blocks  blocks  most times as fast")
    for spec, wish, n in SHARES:
        model, workers = model_of(spec), Timed()
        n = min(n, 1500) if quick else n
        restrict.certify(model, 40, target="all", **wish)
        with blocks.lent(workers):
            _, total = timed(partial(restrict.certify, model, n, target="all", **wish), time.process_time)
        most, inside = total / max(1e-9, total - workers.seconds), workers.seconds / total
        print(f"{spec:<52}  {n:>9}  {total:>11.1f}  {inside:>9.0%}  {workers.blocks:>6}  {most:>5.1f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, "small n only")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a row at most")
    parser.add_argument("--row", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row is not None:
        alone(*options.row)
        return
    book = Book(options.output, options.limit)
    for section in options.only:
        if section == "workers":
            shared_out(book, options.quick)
        elif section == "share":
            share(options.quick)
        else:
            growth(book, section, options.quick)


if __name__ == "__main__":
    main()
