"""What a sweep costs besides its items: overhead, two workers against one, resuming 10 000 rows (docs/scale.md).

Run ``python scripts/bench_sweep.py`` on a machine with at least two free cores. Items are 100 ms of pure computing;
with ``--sleep`` they only wait, which shows what the sweep itself costs where the cores are busy with other things.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from restrict.sweep.items import Item, Outcome
from restrict.sweep.run import Engine, run_items
from restrict.sweep.spec import read_spec

SPEC = """
[[grid]]
model = "random:layers=1,heads=1,states=2,seed={seed}"
seed = {from = 0, to = LAST}
n = 10
"""
SPIN = 0.1
"""Seconds of an item."""


def spin(item: Item) -> Outcome:
    """Compute for :data:`SPIN` seconds of CPU time; the row of a certificate's size, with a file of that size."""
    begin, start, x = time.perf_counter(), time.process_time(), 0
    while time.process_time() - start < SPIN:
        x += 1
    name = f"{item.identity}.cert"
    row = {
        "ok": True,
        "fixed_count": x % 7,
        "provenance": {"engine": "x" * 200},
        "certificate": name,
        "seconds": time.perf_counter() - begin,
    }
    return Outcome(item.row | row, {name: b"x" * 2000})


def wait(item: Item) -> Outcome:
    """The same, waiting instead of computing."""
    begin, name = time.perf_counter(), f"{item.identity}.cert"
    time.sleep(SPIN)
    row = {"ok": True, "fixed_count": 3, "provenance": {"engine": "x" * 200}, "certificate": name}
    return Outcome(item.row | row | {"seconds": time.perf_counter() - begin}, {name: b"x" * 2000})


def at_once(item: Item) -> Outcome:
    """A row and its file without work."""
    name = f"{item.identity}.cert"
    return Outcome(
        item.row | {"ok": True, "provenance": {"engine": "x" * 200}, "certificate": name}, {name: b"x" * 2000}
    )


def items(folder: Path, count: int) -> tuple[Item, ...]:
    """That many items, read from a spec."""
    path = folder / "sweep.toml"
    path.write_text(SPEC.replace("LAST", str(count - 1)))
    return read_spec(path).items


def measured(folder: Path, count: int, jobs: int, work: Callable[[Item], Outcome]) -> tuple[float, float, float]:
    """Seconds until the first row, seconds for the rest, and what the items of the rest say that they took."""
    stamps: list[float] = []
    taken: list[float] = []

    def step(row: dict[str, Any]) -> None:
        stamps.append(time.perf_counter())
        taken.append(row["seconds"])

    start = time.perf_counter()
    run_items(items(folder, count), folder / f"rows-{count}-{jobs}.jsonl", Engine(jobs), function=work, step=step)
    return stamps[0] - start, stamps[-1] - stamps[0], sum(taken[1:])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sleep", action="store_true", help="items wait instead of computing")
    asleep = parser.parse_args().sleep
    work, kind = (wait, "waiting") if asleep else (spin, "computing")
    with tempfile.TemporaryDirectory() as name:
        folder, count = Path(name), 200
        start, one, taken = measured(folder, count, 1, work)
        print(f"1 worker, {count - 1} items of {1000 * SPIN:.0f} ms {kind} after the first: {one:.2f} s, the items "
              f"alone {taken:.2f} s, so {100 * (one / taken - 1):.2f} % on top; {start:.1f} s until the first row",
              flush=True)  # fmt: skip
        start, two, taken = measured(folder, count, 2, work)
        print(f"2 workers: {two:.2f} s ({one / two:.2f} times as fast), the items alone {taken / 2:.2f} s on each; "
              f"{start:.1f} s until the first row", flush=True)  # fmt: skip
        many, out = items(folder, 10_000), folder / "many.jsonl"
        begin = time.perf_counter()
        run_items(many[:9_999], out, Engine(0), function=at_once)
        print(f"writing a row and its certificate: {(time.perf_counter() - begin) / 10:.2f} ms")
        begin = time.perf_counter()
        done = run_items(items(folder, 10_000), out, Engine(0), function=at_once)
        print(f"resuming {done.items} items, {done.new} of them open: {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
