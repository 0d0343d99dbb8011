"""Tests in full: README's test command runs a few cases or a small size of each (``heavy_after`` of tests/marks.py).

    python scripts/full_sizes.py
    python scripts/full_sizes.py soft_pairs --share 0.1

For each test the cases that neither README's test command nor CI has, how many of them failed, and their processor
seconds, by two processes. Exit 1 if one failed. Source: docs/contributing.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from harness import ROOT, head, line

PROCESSES = 2


class Sampled:
    """Keeps some of the cases that are left out elsewhere, and counts what becomes of them by test."""

    def __init__(self, names: list[str], every: int, first: int) -> None:
        self.names, self.every, self.first, self.code = names, every, first, 0
        self.cases, self.failed = Counter[str](), Counter[str]()
        self.seconds: Any = Counter[str]()  # of floats

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep one in so many, over all tests."""
        named = [item for item in items if not self.names or any(name in item.nodeid for name in self.names)]
        items[:] = named[self.first :: self.every]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """The processor seconds of a case."""
        begin, name = time.process_time(), item.nodeid.partition("[")[0]
        self.cases[name] += 1
        try:
            return (yield)
        finally:
            self.seconds[name] += time.process_time() - begin

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a failure."""
        self.failed[report.nodeid.partition("[")[0]] += report.failed

    def run(self) -> Sampled:
        """The cases run."""
        self.code = pytest.main(["-q", "-m", "slow", "-p", "no:cacheprovider", "--no-header", "--no-summary"], [self])
        return self


def table(parts: list[Sampled]) -> str:
    """A row for each test."""
    cases, failed, seconds = (
        sum((getattr(part, of) for part in parts), Counter[str]()) for of in ("cases", "failed", "seconds")
    )
    rows = [(n, k, failed[n], f"{seconds[n]:.0f}") for n, k in cases.items()]
    whole = ("all", cases.total(), failed.total(), f"{seconds.total():.0f}")
    return "\n".join([head(("test", "cases", "failed", "processor seconds")), *map(line, [*rows, whole])])


def main() -> int:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of the names of tests; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="which share of the cases")
    options = parser.parse_args()
    os.chdir(ROOT)
    every = max(1, round(1 / options.share))
    with ProcessPoolExecutor(PROCESSES) as pool:
        shares = [Sampled(options.names, every * PROCESSES, k * every) for k in range(PROCESSES)]
        parts = list(pool.map(Sampled.run, shares))
    print(table(parts))
    return int(any(part.code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) for part in parts))


if __name__ == "__main__":
    sys.exit(main())
