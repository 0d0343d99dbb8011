"""The fuzzer of the checker: a short seeded run finds nothing, and a fault that is put in is found."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from restrict.certificate import fast
from restrict.checker.account import Reject
from scripts import fuzz_checker
from tests import mutations


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """A chunk changes how rows are scanned, and the handler of the alarm."""
    long, handler = fast.LONG, signal.getsignal(signal.SIGALRM)
    yield
    fast.LONG = long
    signal.signal(signal.SIGALRM, handler)


def test_a_short_run_finds_nothing() -> None:
    tally = fuzz_checker.chunk((1, 400))
    assert tally.failures == []
    assert tally.codes.total() == 400
    assert {"verified", "exit 3", "exit 4"} <= set(tally.codes)
    assert tally.slowest < fuzz_checker.SECONDS


def test_a_crash_would_be_found_and_shrunk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(model: bytes, certificate: bytes, **more: object) -> str:
        if b'"cone"' in certificate:
            raise KeyError
        raise Reject(4, "certificate: top level: the key cone is missing")

    pair = mutations.original(np.random.default_rng(1))
    trial = fuzz_checker.Trial(*pair.bytes)
    monkeypatch.setattr(fuzz_checker, "verify", broken)
    code, wrong = fuzz_checker.fault(trial, tmp_path, compare=False)
    assert wrong == code == "crash: KeyError"
    found = fuzz_checker.shrunk(trial, wrong, tmp_path)
    assert len(found.certificate) < 80
    assert b'"cone"' in found.certificate
