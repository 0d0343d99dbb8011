"""Who is told that kernels are being compiled: compilation takes seconds, and happens once on a machine. It imports
nothing of numba, so that the command line can ask to be told before anything is loaded."""

from __future__ import annotations

from collections.abc import Callable

_waiting: list[Callable[[], None]] = []


def on_first_compilation(tell: Callable[[], None]) -> None:
    """Ask to be told, once, when the first kernel of this process is compiled rather than loaded."""
    _waiting[:] = [tell]


def compiling() -> None:
    """A kernel is about to be compiled."""
    while _waiting:
        _waiting.pop()()
