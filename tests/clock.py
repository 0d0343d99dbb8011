"""Time in tests: on a machine that is slower, or busy with other work, they say the same.

A search that ends when its time is over is given a clock that goes on by each look at it (:func:`looks`), and what must
not take long is measured in processor seconds of this machine (:func:`quicker_than`).
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from unittest.mock import patch

LOOP, QUICK = 200_000, 0.013
"""Turns of a loop, and the processor seconds that they take on the machine for which bounds in seconds are written."""


def slowness() -> float:
    """How many times as long plain Python takes here and now, at least 1."""
    start, total = time.process_time(), 0
    for turn in range(LOOP):
        total = (total * 31 + turn) % 1_000_003
    return max(1.0, (time.process_time() - start) / QUICK)


def within(taken: float, seconds: float) -> None:
    """So many processor seconds are fewer than those, of a machine as quick as that of :data:`QUICK`. How slow this
    one is, is only asked where it matters: to find out takes longer than most of what is measured."""
    assert taken < seconds or taken < seconds * slowness(), taken


@contextmanager
def quicker_than(seconds: float) -> Iterator[None]:
    """What is done inside takes fewer processor seconds, of a machine as quick as that of :data:`QUICK`."""
    start = time.process_time()
    try:
        yield
    finally:
        within(time.process_time() - start, seconds)


@contextmanager
def looks(module: str, each: float = 1.0) -> Iterator[None]:
    """The clock of a module goes on by ``each`` seconds at every look at it, and not otherwise."""
    turns = count()
    with patch(f"{module}.time", SimpleNamespace(monotonic=lambda: each * next(turns))):
        yield
