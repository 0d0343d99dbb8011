"""Tests on random models and programs in full: CI runs a sample of them (``heavy_after`` of tests/marks.py).

    python scripts/full_sizes.py
    python scripts/full_sizes.py soft_pairs --share 0.1

For each test the cases that neither README's test command nor CI has, how many of them failed, and their processor
seconds. Exit 1 if one failed. Source: docs/contributing.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


class Sampled:
    """Keeps the cases that are left out elsewhere, and counts what becomes of them by test."""

    def __init__(self, names: list[str], share: float) -> None:
        self.names, self.every = names, max(1, round(1 / share))
        self.cases, self.failed = Counter[str](), Counter[str]()
        self.seconds: Counter[str] = Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep one in so many, over all tests."""
        marked = [item for item in items if any(mark.kwargs.get("sampled") for mark in item.iter_markers("slow"))]
        named = [item for item in marked if not self.names or any(name in item.nodeid for name in self.names)]
        items[:] = named[:: self.every]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """The processor seconds of a case."""
        begin, name = time.process_time(), item.nodeid.partition("[")[0]
        self.cases[name] += 1
        try:
            return (yield)
        finally:
            self.seconds[name] += time.process_time() - begin  # type: ignore[assignment] # a counter of floats

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a failure."""
        self.failed[report.nodeid.partition("[")[0]] += report.failed

    def table(self) -> str:
        """A row for each test."""
        rows = [f"| {n} | {k} | {self.failed[n]} | {self.seconds[n]:.0f} |" for n, k in self.cases.items()]
        whole = f"| all | {self.cases.total()} | {self.failed.total()} | {self.seconds.total():.0f} |"
        return "\n".join(["| test | cases | failed | processor seconds |", "|---|---|---|---|", *rows, whole])


def main() -> int:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of the names of tests; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="which share of the cases")
    options = parser.parse_args()
    os.chdir(ROOT)
    sampled = Sampled(options.names, options.share)
    code = pytest.main(["-q", "-m", "slow", "-p", "no:cacheprovider", "--no-header", "--no-summary"], [sampled])
    print(sampled.table())
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
