"""Time limits and progress: one deadline for all of the work, passed to each part, with a share of its time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from restrict.base.errors import UsageError, quote

Progress = Callable[[str, int | None], None]
"""Called now and then with what is being done and the best number of fixed positions so far."""


def seconds(given: Any) -> float:
    """A number of seconds, at least 0. ``given``: a number, or its text. Gives seconds, 0 .. 10^9 (thirty years): a
    greater number becomes 10^9, since the clock cannot compute with infinity."""
    try:
        found = float(given)
    except (TypeError, ValueError, OverflowError):
        found = -1.0
    if not found >= 0:
        raise UsageError(f"time = {quote(given)} must be a number of seconds, at least 0")
    return min(found, 1e9)


class OutOfTime(Exception):
    """The deadline has passed."""


@dataclass(eq=False)
class Deadline:
    """A moment on the monotonic clock, in seconds; ``None`` never comes. ``interrupted``: Ctrl-C made it come."""

    moment: float | None = None
    interrupted: bool = False

    @staticmethod
    def after(seconds: float | None) -> "Deadline":
        """The deadline ``seconds`` from now; for ``None``, the one that never comes."""
        return Deadline(None if seconds is None else time.monotonic() + seconds)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the time that is left: another process may have another clock."""
        return Deadline.after, (self.left,)

    @property
    def passed(self) -> bool:
        """Whether it has come."""
        return self.moment is not None and time.monotonic() > self.moment

    @property
    def left(self) -> float | None:
        """The seconds left, at least 0; ``None`` without a limit."""
        return None if self.moment is None else max(0.0, self.moment - time.monotonic())

    def check(self) -> None:
        """Raise :class:`OutOfTime` when the time is over."""
        if self.passed:
            raise OutOfTime

    @contextmanager
    def ends(self) -> Iterator[None]:
        """For work that has an answer at any time: it is cut off when the time is over, or by Ctrl-C. Then the deadline
        has passed for all that share it, so that what comes after is cut off, too."""
        try:
            yield
        except OutOfTime:
            pass
        except KeyboardInterrupt:
            self.interrupt()

    def later(self, seconds: float) -> "Deadline":
        """The deadline so many seconds after this one."""
        return Deadline(None if self.moment is None else self.moment + seconds)

    def interrupt(self) -> None:
        """Let it come now, as Ctrl-C does."""
        self.moment, self.interrupted = time.monotonic() - 1, True

    def share(self, part: float) -> "Deadline":
        """A deadline after ``part`` (0 to 1) of the time that is left: for one of several pieces of work."""
        left = self.left
        return self if left is None else Deadline.after(part * left)


NEVER = Deadline()
"""The deadline that never comes."""
