"""The one place where kernels are compiled, so that all share the same options."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit
from numba.core import event

from restrict.kernels.notice import compiling

P = ParamSpec("P")
R = TypeVar("R")


class _Announcing(event.Listener):
    """Passes on that a kernel is compiled; one that the cache has is loaded without it."""

    def on_start(self, event: event.Event) -> None:
        compiling()

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcing())  # type: ignore[no-untyped-call]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first use, cached on disk, without the GIL, with wrap-around integers and no zero-division checks."""
    return cast(Callable[P, R], njit(cache=True, nogil=True, error_model="numpy")(function))


def inline_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a part of a kernel that is called at every position: a call would count the references of each array
    that it is given."""
    return cast(Callable[P, R], njit(cache=True, nogil=True, error_model="numpy", inline="always")(function))


def caller_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """The same without the cache, for kernels that call a function of the user's: it may change between runs."""
    return cast(Callable[P, R], njit(nogil=True, error_model="numpy")(function))
