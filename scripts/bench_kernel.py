"""The kernel that only checks: sizes and processor times, all in one run.

    python scripts/bench_kernel.py [--quick] [--present CHECKOUT] [-o bench.json]

For each certificate, in seconds of the processor: its search; its elaboration; the kernel (reading the model, lowering
it, reading the proof and checking it); the same with compiled scans in place of its loop over rows (`--fast`); and
`restrict-verified`, where it is on the PATH. Checks are the least of three runs. With `--present` also the abstract run
that decided before there was the kernel, from a checkout that still has it. Then two ratios: elaboration divided by
search, and the kernel's time by that of the abstract run. Of the last certificate, for which the loops in Python take
minutes, only the compiled checkers are measured.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import harness

import restrict
from restrict.checker.account import Meter, Place, Task
from restrict.checker.one_length import established, read_claim
from restrict.checker.read import read_json
from restrict.elaboration.compiled import check_compiled
from restrict.elaboration.make import Elaborated, Elaboration

LIMIT = 10**13
ABSTRACT_RUN = """
import pathlib, sys, time
from restrict.checker.main import verify
model, certificate = (pathlib.Path(name).read_bytes() for name in sys.argv[1:3])
seconds = []
for _ in range(3):
    start = time.process_time()
    line = verify(model, certificate, folder=sys.argv[3], limit=10**13)
    seconds.append(time.process_time() - start)
print(min(seconds))
print(line)
"""
NARROW, WIDE = "random:layers=2,heads=2,states=4,seed=1", "random:layers=2,heads=8,states=64,seed=1"
PLAIN = [(name, n) for name in ("and-of-ors", NARROW) for n in (1024, 99_856, 1_000_000)] + [(WIDE, 1000)]


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of all threads, and what came out."""
    found, seconds = harness.timed(run, time.process_time)
    return seconds, found


def least_of(run: Callable[[], Any]) -> tuple[float, Any]:
    """The least of three runs: other work on the machine only ever adds."""
    return min((timed(run) for _ in range(3)), key=lambda found: found[0])


def with_tree(model: restrict.Model, found: restrict.Certificate, leaves: int) -> restrict.Certificate:
    """The same certificate, shown for every way to fill some free positions."""
    taken, free = set(found.restriction.fixed), list[int]()
    for at in range(found.n):
        if at not in taken and 2 ** len(free) < leaves:
            free.append(at)
    cases: dict[str, Any] = {}
    for at in reversed(free):
        cases = {"position": at, "children": [cases] * len(model.alphabet)}
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        Path(file.name).write_text(json.dumps(json.loads(found.to_bytes()) | {"cases": cases}))
        return restrict.load_certificate(file.name)


def by_kernel(model: bytes, certificate: bytes, folder: Path, made: Elaborated) -> str:
    """Everything that has to be believed, on a proof that is there."""
    top, meter = Place("certificate"), Meter(LIMIT)
    task = Task(read_json(certificate, top, meter), top, model, Place("model"), folder, meter)
    return established(read_claim(task), *made)


def verified_time(made: Elaborated) -> float | None:
    """Processor seconds of `restrict-verified`, if it is there."""
    if (program := shutil.which("restrict-verified")) is None:
        return None
    return run_on([program], made).cpu


def run_on(words: list[str], contents: Collection[bytes], *more: str, folder: Path = harness.ROOT) -> harness.Ended:
    """Run a command on files with these contents; it succeeds."""
    with tempfile.TemporaryDirectory() as place:
        paths = [Path(place, str(number)) for number, _ in enumerate(contents)]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        run = harness.ended([*words, *map(str, paths), *more], folder=folder)
    assert run.code == 0, run.err
    return run


def present_time(checkout: Path, model: bytes, certificate: bytes, folder: Path) -> tuple[float, str]:
    """Processor seconds of the abstract run of another checkout, and its line."""
    words = [sys.executable, "-c", ABSTRACT_RUN]
    seconds, line = run_on(words, (model, certificate), str(folder.resolve()), folder=checkout).out.splitlines()
    return float(seconds), line


def measure(
    name: str, model: restrict.Model, found: Any, search: float, present: Path | None, slow: bool = True
) -> dict[str, Any]:
    """One line of the table; ``slow``: with the times of the checkers in Python."""
    content, certificate = model.content, found.to_bytes()
    assert content is not None
    folder = model.source.parent if model.source else Path()

    def make() -> Elaboration:
        return Elaboration(
            content, certificate, folder=folder, model_name="model", certificate_name="certificate", limit=LIMIT
        )

    make()
    elaborate, made = timed(make)
    sizes = {"certificate": len(certificate), "proof": len(made.made.proof), "program": len(made.made.program)}
    line = {"file": name, **sizes, "rows": made.made.proof.count(b"\nrow "), "search": search, "elaborate": elaborate}
    fast, said = least_of(lambda: check_compiled(made))
    line |= {"fast": fast, "verified": verified_time(made.made), "made": elaborate / search}
    if not slow:
        return line
    kernel, new = least_of(lambda: by_kernel(content, certificate, folder, made.made))
    assert new == said
    line |= {"kernel": kernel}
    if present is not None:
        seconds, old = present_time(present, content, certificate, folder)
        assert old == new
        line |= {"present": seconds, "ratio": kernel / seconds}
    return line


COLUMNS = ("search", "elaborate", "present", "kernel", "fast", "verified", "made", "ratio")


def show(line: dict[str, Any]) -> None:
    """Print one line of the table."""
    times = " ".join("        -" if line.get(key) is None else f"{line[key]:9.3f}" for key in COLUMNS)
    sizes = " ".join(f"{line[key]:11d}" for key in ("certificate", "proof", "rows"))
    print(f"{line['file']:<42} {sizes} {times}", flush=True)


def cases(quick: bool) -> list[tuple[str, Callable[[], tuple[restrict.Model, Any]]]]:
    """Names and searches."""
    found: list[tuple[str, Callable[[], tuple[restrict.Model, Any]]]] = []

    def plain(name: str, n: int) -> tuple[restrict.Model, Any]:
        model = restrict.load(name)
        return model, restrict.certify(model, n)

    def tree(n: int) -> tuple[restrict.Model, Any]:
        model, certificate = plain(NARROW, n)
        return model, with_tree(model, certificate, 32)

    def bound(n: int) -> tuple[restrict.Model, Any]:
        model = restrict.load(NARROW)
        return model, restrict.lower_bound(model, n, time=60).bound

    for name, n in PLAIN:
        if not quick or n <= 100_000:
            found.append((f"{name.partition(':')[2] or name} {n}", partial(plain, name, n)))
    found += [(f"tree of 32 leaves {n}", partial(tree, n)) for n in ((1000,) if quick else (1000, 100_000))]
    found += [(f"bound {n}", partial(bound, n)) for n in ((1000,) if quick else (1000, 10_000))]
    return found


def main() -> None:
    """Print the table."""
    parser = harness.arguments(__doc__, "small lengths only")
    parser.add_argument("--present", type=Path, help="a checkout that has the abstract run")
    options = parser.parse_args()
    sizes = " ".join(f"{name:>11}" for name in ("certificate", "proof", "rows"))
    print(f"{'file':<42} {sizes} " + " ".join(f"{name:>9}" for name in COLUMNS))
    lines = []
    for name, search in cases(options.quick):
        seconds, (model, found) = timed(search)
        lines.append(measure(name, model, found, seconds, options.present))
        show(lines[-1])
    if not options.quick:
        model = restrict.load(WIDE)
        seconds, found = timed(lambda: restrict.certify(model, 1_000_000))
        lines.append(measure(f"{WIDE.partition(':')[2]} 1000000", model, found, seconds, None, slow=False))
        show(lines[-1])
    harness.written(options.output, lines)


if __name__ == "__main__":
    main()
