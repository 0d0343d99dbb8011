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
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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

CHILD = r"""
import json, resource, sys, time
sys.path.insert(0, ROOT)
def main():
    import restrict
    from scripts.bench_scale import model_of
    spec, n, wish, way = json.loads(sys.argv[1])
    model = model_of(spec)
    target = "all" if "free" in wish else "last"
    restrict.certify(model, 40, target=target, **wish)
    def run():
        start, used = time.perf_counter(), time.process_time()
        found = restrict.certify(model, n, target=target, **wish)
        return found, time.perf_counter() - start, time.process_time() - used
    if way in ("processes", "dask"):
        with restrict.workers(2, dask="local" if way == "dask" else None):
            restrict.certify(model, 1500, target=target, **wish)  # the workers' kernels are there, too
            found, seconds, cpu = run()
    else:
        found, seconds, cpu = run()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    import hashlib
    print(json.dumps({"seconds": round(seconds, 2), "cpu": round(cpu, 2),
                      "mib": round(peak), "fixed": len(found.restriction.fixed),
                      "c": found.c, "digest": hashlib.sha256(found.to_bytes()).hexdigest()[:12]}))
if __name__ == "__main__":
    main()
"""


def model_of(spec: str) -> Any:
    """The model of a row."""
    import restrict
    from restrict.model.fileformat import loads

    if spec == "near":
        return loads(json.dumps(NEAR).encode())
    if spec == "since":
        return restrict.compile_formula("a since b", alphabet=("a", "b", "c"), at="every")
    return restrict.load(spec)


def measured(key: list[Any], limit: float, child: Path) -> dict[str, Any]:
    """One row, in a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, child, json.dumps(key)], capture_output=True, text=True, timeout=limit, check=False,
            env={**os.environ, "RESTRICT_THREADS": "2" if key[3] == "threads" else "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"over {limit:.0f} s"}
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:100]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Book:
    """Rows that are known, by what they are about."""

    def __init__(self, path: Path | None, limit: float, folder: Path) -> None:
        self.path, self.limit, self.rows = path, limit, dict[str, dict[str, Any]]()
        self.child = folder / "child.py"
        self.child.write_text(f"ROOT = {str(Path(__file__).resolve().parent.parent)!r}\n{CHILD}")
        if path is not None and path.exists():
            self.rows = {row["key"]: row for row in map(json.loads, path.read_text().splitlines())}

    def row(self, spec: str, n: int, wish: dict[str, Any], way: str = "core") -> dict[str, Any]:
        """Look up or measure."""
        key = json.dumps([spec, n, wish, way])
        if key not in self.rows:
            self.rows[key] = {"key": key, **measured(json.loads(key), self.limit, self.child)}
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
            start = time.process_time()
            found = work(shared, part)
            took = time.process_time() - start
            self.seconds, self.blocks, self.longest = self.seconds + took, self.blocks + 1, max(self.longest, took)
            yield found


def share(quick: bool) -> None:
    """How much of the work of one certificate lies in blocks, in CPU time, which other work on the machine does not
    change; and so how many times as fast any number of workers can make it."""
    import restrict
    from restrict.base import blocks

    print(f"{'share':<52}  {'n':>9}  CPU seconds  in blocks  blocks  most times as fast")
    for spec, wish, n in SHARES:
        model, timed = model_of(spec), Timed()
        n = min(n, 1500) if quick else n
        restrict.certify(model, 40, target="all", **wish)
        start = time.process_time()
        with blocks.lent(timed):
            restrict.certify(model, n, target="all", **wish)
        total = time.process_time() - start
        most = total / max(1e-9, total - timed.seconds)
        print(f"{spec:<52}  {n:>9}  {total:>11.1f}  {timed.seconds / total:>9.0%}  {timed.blocks:>6}  {most:>5.1f}",
              flush=True)  # fmt: skip


def main() -> None:
    """Measure and print."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small n only")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a row at most")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        book = Book(options.output, options.limit, Path(folder))
        for section in options.only:
            if section == "workers":
                shared_out(book, options.quick)
            elif section == "share":
                share(options.quick)
            else:
                growth(book, section, options.quick)


if __name__ == "__main__":
    main()
