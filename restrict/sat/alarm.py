"""A time limit for a SAT call: a timer that interrupts the solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer


@contextmanager
def alarm(time: float | None, ring: Callable[[], None]) -> Iterator[Timer | None]:
    """Within the block, call ``ring`` after ``time`` seconds, unless the block ends before.

    Args:
        time: seconds; ``None``: never.
        ring: called on another thread, such as a solver's ``interrupt``.

    Yields:
        The timer, or ``None``.
    """
    timer = None if time is None else Timer(time, ring)
    if timer is not None:
        timer.start()
    try:
        yield timer
    finally:
        if timer is not None:
            timer.cancel()
