"""Which calls of a kernel run as plain Python: the first, small ones. Compiling takes seconds, they take milliseconds.
As one rents before one buys: a kernel runs plainly until that has taken nearly as long as its compilation would,
then it is compiled. So what is lost is bounded by what compilation costs anyway. A kernel that the disk has compiled is
loaded at once; one whose arrays are large is compiled at once; so is one that is called in a thread of its own, where
others may write the same arrays. A plain run that lasts too long is abandoned at the next call of a kernel within it:
the arrays are put back as they were, and the compiled form does the call anew. Both forms give the same result."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np
from numba.core import types
from numba.core.registry import CPUDispatcher

from restrict.kernels.linked import Linked
from restrict.kernels.shield import uninterrupted

unliteral: Any = types.unliteral

RENT = 0.35e-3
"""Processor seconds that a kernel may run plainly before it is compiled, for each byte of its and its callees'
bytecode: somewhat less than what compilation takes, which is 0.3 to 0.6 ms a byte."""
LARGE = 100_000
"""Elements of a call's arrays from which it is compiled at once: a plain pass over them takes 10 ms and more."""
NUMBERS = (int, float, np.generic, type(None))
ALWAYS = "RESTRICT_COMPILE"
"""The variable that, as ``always``, has every kernel compiled when it is first called."""


class Kernel(CPUDispatcher):
    """What numba makes of a kernel, with one compiled form for all integers that stand in calls of it. numba would make
    a form for each of them, too: ``change(l, 1, ...)``, ``change(l, 0, ...)``, and so on. Ctrl-C waits until a form is
    compiled, or loaded, and written (:mod:`restrict.kernels.shield`). ``linked``: its forms for kernels that call it.
    """

    linked: Linked

    def compile(self, sig: Any) -> Any:
        """The form for these types, made where it is missing. Nobody looks for garbage meanwhile: a compilation
        keeps what it makes, and the look took a twentieth of its time."""
        collects = gc.isenabled()
        gc.disable()
        try:
            with uninterrupted():
                return super().compile(sig)
        finally:
            if collects:
                gc.enable()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What a kernel is linked with that calls this one, with arguments of these types."""
        with uninterrupted():
            return self.linked.template(tuple(map(unliteral, args)), {name: unliteral(kws[name]) for name in kws})

    def get_overload(self, sig: Any) -> Any:
        """By what a kernel that calls this one finds it."""
        return self.linked.key(sig)


class _Renting:
    """The plain run that is under way: until when it may last; 0 where there is none, or none is wanted."""

    until = 0.0
    allowed = os.environ.get(ALWAYS) != "always"


class _TooLong(BaseException):
    """A plain run that has used up its kernel's rent."""


@contextmanager
def always_compiled() -> Iterator[None]:
    """A context in which every kernel is compiled when it is called."""
    before, _Renting.allowed = _Renting.allowed, False
    try:
        yield
    finally:
        _Renting.allowed = before


@contextmanager
def instead_of(kernel: Any) -> Iterator[bool]:
    """Whether numpy may compute what a kernel would: it is not compiled, here or on disk, and has rent left, of which
    the context is paid."""
    may = _Renting.allowed and hasattr(kernel, "rent") and type(kernel) is not Kernel
    begun = time.thread_time() if may else 0.0
    if may and kernel.rent < 0:
        kernel.rent = RENT * _bytes(kernel, set())
        if kernel.kept.has_any():
            own(kernel)
            may = False
    yield may
    if may:
        kernel.rent -= time.thread_time() - begun
        if kernel.rent <= 0:
            own(kernel)


def call(kernel: Any, given: tuple[Any, ...]) -> Any:
    """Call a kernel that this process has not compiled yet."""
    if threading.get_ident() != threading.main_thread().ident:
        return _compiled(kernel, given)
    if _Renting.until:  # a call from within a plain run
        if time.thread_time() > _Renting.until:
            raise _TooLong
        return kernel.plainly(*given)
    begun = time.thread_time()
    arrays: list[np.ndarray] = []
    if not _Renting.allowed or not _collect(given, arrays) or _reads(kernel, given, arrays) > LARGE:
        return _compiled(kernel, given)
    if kernel.rent < 0:  # its first call
        if kernel.kept.has_any() and kernel.kept.has(tuple(map(kernel.typeof_pyval, given)), kernel.targetctx):
            return _compiled(kernel, given)
        kernel.rent, begun = RENT * _bytes(kernel, set()), time.thread_time()
    try:
        return _within(kernel.rent, kernel.plainly, given, arrays if kernel.plainly is kernel.py_func else [])
    except _TooLong:
        return _compiled(kernel, given)
    finally:
        kernel.rent -= time.thread_time() - begun
        if kernel.rent <= 0:
            own(kernel)


@lru_cache
def plain_form(kernel: Any) -> Any:
    """A kernel that runs as plain Python, with all that it calls: for arrays of Python's own integers."""
    body = getattr(kernel, "py_func", kernel)
    called = {name: body.__globals__.get(name) for name in body.__code__.co_names}
    plainly = {name: plain_form(other) for name, other in called.items() if hasattr(other, "py_func")}
    return FunctionType(body.__code__, body.__globals__ | plainly)


def _bytes(kernel: Any, seen: set[int]) -> int:
    """The bytes of code of a kernel and of the kernels that it calls."""
    if id(kernel) in seen:
        return 0
    seen.add(id(kernel))
    body = kernel.py_func
    called = [body.__globals__.get(name) for name in body.__code__.co_names]
    return len(body.__code__.co_code) + sum(_bytes(other, seen) for other in called if hasattr(other, "py_func"))


def _reads(kernel: Any, given: tuple[Any, ...], arrays: list[np.ndarray]) -> int:
    """How many elements a call reads: all that it is given, unless the kernel knows better."""
    return kernel.reads(*given) if kernel.reads else sum(array.size for array in arrays)


def _compiled(kernel: Any, given: tuple[Any, ...]) -> Any:
    """From now on the compiled form."""
    own(kernel)
    return kernel(*given)


def own(kernel: Any) -> None:
    """From now on calls go straight to numba, at its speed."""
    kernel.__class__ = Kernel


def _collect(given: Any, arrays: list[np.ndarray]) -> bool:
    """Gather the arrays of a call's arguments; whether there is nothing else but numbers."""
    for value in given:
        if isinstance(value, np.ndarray):
            arrays.append(value)
        elif isinstance(value, tuple):
            if not _collect(value, arrays):
                return False
        elif not isinstance(value, NUMBERS):
            return False
    return True


def _within(seconds: float, body: Callable[..., Any], given: tuple[Any, ...], arrays: list[np.ndarray]) -> Any:
    """Run a body for that long at most; where it lasts longer, the arrays are as they were."""
    before = [array.copy() for array in arrays if array.flags.writeable]
    _Renting.until = time.thread_time() + seconds
    try:
        with np.errstate(all="ignore"):
            return _native(body(*given))
    except _TooLong:
        for array, old in zip((a for a in arrays if a.flags.writeable), before, strict=True):
            array[...] = old
        raise
    finally:
        _Renting.until = 0.0


def _native(result: Any) -> Any:
    """A result as compiled code gives it: Python's own numbers."""
    if isinstance(result, np.generic):
        return result.item()
    if isinstance(result, tuple):
        parts = [_native(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result
