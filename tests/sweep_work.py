"""Functions that the workers of tests/test_sweep.py import."""

import os
import signal
import time


def square(x: int) -> int:
    """The square."""
    return x * x


def kill_on_three(x: int) -> int:
    """The square; at 3 the worker kills itself, as the system does where memory runs out."""
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return x * x


def added(shared: int, part: int) -> int:
    """Their sum."""
    return shared + part


def fail(kind: type[Exception], part: int) -> int:
    """The part; at 3 an error."""
    if part == 3:
        raise kind("no 3")
    return part


def kill_first(mark: str, part: int) -> int:
    """The part; at 3 the worker kills itself: once where there is a file to mark that, else each time."""
    if part == 3 and not (mark and os.path.exists(mark)):
        if mark:
            with open(mark, "x"):
                pass
        os.kill(os.getpid(), signal.SIGKILL)
    return part
