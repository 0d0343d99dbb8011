"""Hypothesis profiles: every run draws the same examples, so that a failure here is a failure everywhere."""

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from restrict.cli.entry import MATRIX_THREADS

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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives as long as the run: the garbage collector never walks over it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
