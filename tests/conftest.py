"""Hypothesis profiles: every run draws the same examples, so that a failure here is a failure everywhere."""

import gc
import os
import signal
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

from restrict.cli.entry import MATRIX_THREADS
from restrict.force.options import OPTIONS

for variable in MATRIX_THREADS:  # before numpy is imported; pytest-xdist uses the cores
    os.environ.setdefault(variable, "1")

settings.register_profile("default", derandomize=True, deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs behind it; commands inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `restrict-verified` is built from source (docs/proof.md). Where it is not there, there is nothing to test.
VERIFIED = Path(__file__).resolve().parent.parent / "restrict" / "checker" / "rocq" / "restrict-verified"
collect_ignore = [] if VERIFIED.exists() else ["test_verified.py"]


FULL = replace(OPTIONS)
"""Other searches improve their answers a hundredth as long: nearly all tests that search are about what comes after."""
TRIED, FEW_TRIED = 1_000, 200
"""Work of a trial of an answer, for users and in tests: what is wrong shows among the first words."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Heavy and slow tests search, and try their answers, as users do."""
    from restrict.trial import run

    full = any(map(item.get_closest_marker, ("heavy", "slow")))
    share, run.WORK = (1, TRIED) if full else (100, FEW_TRIED)
    OPTIONS.more_work, OPTIONS.work_per_token = FULL.more_work // share, FULL.work_per_token // share


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> object:
    """Types commands, in this process."""
    from tests.commands import Shell

    return Shell(monkeypatch, capfd)


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are empty: for tests that read the words of a page, whose pictures take longest."""
    monkeypatch.setattr("restrict.report.chart.painted", lambda *_: b"<svg></svg>")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives as long as the run: the garbage collector never walks over it, and over what comes later
    seldom. It took 6 % of the processor time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        gc.enable()
