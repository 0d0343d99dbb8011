"""The one place where kernels are compiled, so that all share the same options, the same cache and the same policy:
the first, small calls run as plain Python (:mod:`restrict.kernels.plain`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast

import numba
from numba.core import event

from restrict.kernels import plain
from restrict.kernels.cache import Kept
from restrict.kernels.linked import Linked, customised
from restrict.kernels.notice import compiling

njit: Any = numba.njit
"""Its declared types leave out the option ``_nrt``: whether references to arrays are counted."""
P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")


class _Decorator(Protocol):
    """What takes a function of any type and returns one of the same."""

    def __call__(self, function: Callable[Q, S]) -> Callable[Q, S]: ...


class _Announcing(event.Listener):
    """Passes on that a kernel is compiled; one that the cache has is loaded without it."""

    def on_start(self, event: event.Event) -> None:
        compiling()

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcing())  # type: ignore[no-untyped-call]


class Rented(plain.Kernel):
    """A kernel that this process has not compiled yet: its calls go through the policy. ``rent``: seconds for which it
    may still run plainly, negative before the first call; ``kept``: its compiled forms on disk; ``plainly``: its plain
    form; ``reads``: how many elements a call reads, from its arguments."""

    rent: float
    kept: Kept
    plainly: Callable[..., Any]
    reads: Callable[..., int] | None

    def __call__(self, *given: Any) -> Any:
        return plain.call(self, given)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile when it pays, cached on disk, without the GIL, with wrap-around integers and no zero-division checks. A
    kernel makes no arrays, so it counts no references to them, which took most of the time of small kernels: callers
    hold what they give."""
    return _rented(njit(function, nogil=True, error_model="numpy", _nrt=False), function)


def making_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that makes arrays, or gets some from a kernel that does. (numba refuses any other that does.)"""
    return _rented(njit(function, nogil=True, error_model="numpy", _nrt=True), function)


def sized_kernel(
    reads: Callable[..., int], plainly: Callable[..., Any] | None = None, *, makes: bool = False
) -> _Decorator:
    """The decorator of a kernel that reads far less than its arrays hold (``reads``: how many elements, from the
    arguments), or whose first calls numpy does about as fast (``plainly``, in place of the body; it calls no
    kernel). ``makes``: it makes arrays."""

    def decorate(function: Callable[Q, S]) -> Callable[Q, S]:
        made = njit(function, nogil=True, error_model="numpy", _nrt=makes)
        return cast(Callable[Q, S], _rented(made, plainly or function, function, reads))

    return decorate


def inline_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile into its callers what is called at every position; it makes no arrays."""
    return _rented(njit(function, nogil=True, error_model="numpy", inline="always", _nrt=False), function)


def caller_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile without the cache: for kernels that call a function of the user's, which may change between runs."""
    return cast(Callable[P, R], njit(nogil=True, error_model="numpy")(function))


def _rented(
    made: Any, plainly: Callable[P, R], function: Callable[..., Any] | None = None, reads: Any = None
) -> Callable[P, R]:
    """What numba has made of a function, with our cache and policy; numba may have been told to make nothing."""
    if hasattr(made, "py_func"):
        made._cache = made.kept = Kept(function or plainly)
        made.linked = Linked(made)
        made._compiler._customize_flags = customised
        made.rent, made.plainly, made.reads = -1.0, plainly, reads
        made.__class__ = Rented
    return cast(Callable[P, R], made)
