"""What a sweep costs besides its items: overhead, two workers against one, resuming 10 000 rows (docs/scale.md).

Run ``python scripts/bench_sweep.py`` on a machine with at least two free cores. Items are 100 ms of pure computing;
with ``--sleep`` they only wait, which shows what the sweep itself costs where the cores are busy with other things.
``--parts`` prints what the overhead consists of instead, in CPU time of each process, which other work on the machine
does not change; ``--quick`` does less of everything.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import arguments, spent, timed, written

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
    begin, start = time.perf_counter(), time.process_time()
    while time.process_time() - start < SPIN:
        pass
    return at_once(item, fixed_count=3, seconds=time.perf_counter() - begin)


def wait(item: Item) -> Outcome:
    """The same, waiting instead of computing."""
    begin = time.perf_counter()
    time.sleep(SPIN)
    return at_once(item, fixed_count=3, seconds=time.perf_counter() - begin)


def at_once(item: Item, **more: Any) -> Outcome:
    """A row and its file without work."""
    name = f"{item.identity}.cert"
    row = {"ok": True, "provenance": {"engine": "x" * 200}, "certificate": name, **more}
    return Outcome(item.row | row, {name: b"x" * 2000})


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
    run_items(items(folder, count), folder / f"rows-{count}-{jobs}.jsonl", Engine(jobs, step=step), function=work)
    return stamps[0] - start, stamps[-1] - stamps[0], sum(taken[1:])


def cpu(do: Callable[[], Any], count: int) -> float:
    """Milliseconds of this process's CPU for each of ``count`` items."""
    return 1000 * timed(do, time.process_time)[1] / count


def parts(folder: Path, count: int) -> None:
    """What the overhead of an item consists of."""
    some = items(folder, count)
    outcome = at_once(some[0])
    size = len(pickle.dumps(some[0])), len(pickle.dumps(outcome))
    sent = cpu(lambda: [pickle.loads(pickle.dumps(item)) for item in some], count)
    back = cpu(lambda: [pickle.loads(pickle.dumps(outcome)) for _ in some], count)
    here = cpu(lambda: run_items(some, folder / "here.jsonl", Engine(0), function=at_once), count)
    pool = cpu(lambda: run_items(some, folder / "pool.jsonl", Engine(1), function=at_once), count)
    _, less = timed(lambda: run_items(some[: count // 2], folder / "less.jsonl", Engine(1), function=at_once), spent)
    _, more = timed(lambda: run_items(some, folder / "more.jsonl", Engine(1), function=at_once), spent)
    worker = 1000 * (more - less) / (count - count // 2)
    print(f"an item is {size[0]} bytes on its way to a worker, its row and certificate {size[1]} on their way back")
    print(f"CPU for an item: {pool:.2f} ms of the process that writes rows (of it {here:.2f} ms for the row and its "
          f"files, {sent + back:.2f} ms for pickles, the rest for queues and locks), {max(0.0, worker):.2f} ms of the "
          f"worker; of an item of 100 ms together {pool + max(0.0, worker):.2f} %")  # fmt: skip


def real(folder: Path, count: int) -> None:
    """Certificates instead of artificial items: their own seconds, and of these the check of what was found."""
    text = SPEC.replace("LAST", str(count - 1)).replace("layers=1,heads=1", "layers=2,heads=2").replace("10", "2000")
    path = folder / "real.toml"
    path.write_text(text)
    rows: list[dict[str, Any]] = []
    _, wall = timed(lambda: run_items(read_spec(path).items, folder / "real.jsonl", Engine(1, step=rows.append)))
    own = sum(row["seconds"] for row in rows[1:])
    check = sum(row["check_seconds"] for row in rows[1:])
    print(f"{count} certificates at n = 2000: {1000 * own / (count - 1):.0f} ms each after the first, of these "
          f"{1000 * check / (count - 1):.0f} ms to check what was found; start, imports and first kernels "
          f"{wall - own:.1f} s in all")  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, "fewer items")
    parser.add_argument("--sleep", action="store_true", help="items wait instead of computing")
    parser.add_argument("--parts", action="store_true", help="what the overhead consists of")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.parts:
            parts(Path(name), 200 if options.quick else 2000)
            real(Path(name), 5 if options.quick else 40)
        else:
            sizes = (40, 1000) if options.quick else (200, 10_000)
            written(options.output, overhead(Path(name), options.sleep, *sizes))


def overhead(folder: Path, asleep: bool, count: int, rows: int) -> dict[str, float]:
    """One worker and two, and resuming."""
    work, kind = (wait, "waiting") if asleep else (spin, "computing")
    start, one, taken = measured(folder, count, 1, work)
    print(f"1 worker, {count - 1} items of {1000 * SPIN:.0f} ms {kind} after the first: {one:.2f} s, the items "
          f"alone {taken:.2f} s, so {100 * (one / taken - 1):.2f} % on top; {start:.1f} s until the first row",
          flush=True)  # fmt: skip
    start, two, taken = measured(folder, count, 2, work)
    print(f"2 workers: {two:.2f} s ({one / two:.2f} times as fast), the items alone {taken / 2:.2f} s on each; "
          f"{start:.1f} s until the first row", flush=True)  # fmt: skip
    many, out = items(folder, rows), folder / "many.jsonl"
    _, took = timed(lambda: run_items(many[: rows - 1], out, Engine(0), function=at_once))
    print(f"writing a row and its certificate: {1000 * took / rows:.2f} ms")
    done, again = timed(lambda: run_items(items(folder, rows), out, Engine(0), function=at_once))
    print(f"resuming {done.items} items, {done.new} of them open: {again:.2f} s")
    return {"one": one, "two": two, "items": taken, "row": took / rows, "resuming": again}


if __name__ == "__main__":
    main()
