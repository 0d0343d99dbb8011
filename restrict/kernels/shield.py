"""Ctrl-C waits while a kernel is made, since Python prints and drops what is raised in a callback of the compiler, and
while a result is made of what a search has found."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Holding:
    """The handler meanwhile: it holds the first signal back; whoever asks again is heard at once."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.handler, self.held = handler, False

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if self.held:
            self.handler(signum, frame)
        self.held = True


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A context in which Ctrl-C waits for the end, where it is raised. Within another one it does nothing, and in a
    thread of its own neither, since signals are handled in the main thread."""
    handler = signal.getsignal(signal.SIGINT)
    here = threading.current_thread() is threading.main_thread()
    if not here or isinstance(handler, _Holding) or not callable(handler):
        yield
        return
    holding = _Holding(handler)
    signal.signal(signal.SIGINT, holding)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if holding.held:
            handler(signal.SIGINT, None)


def kept(work: Callable[[], Result]) -> tuple[Result, bool]:
    """What work gives that must not be lost, and whether Ctrl-C came: a first one waits, a second is heard at once."""
    found: list[Result] = []
    try:
        with uninterrupted():
            found.append(work())
    except KeyboardInterrupt:
        if not found:
            raise
        return found[0], True
    return found[0], False
