"""Where compiled kernels are kept: a folder of the user's, one for each version of the kernels. Never beside the
source: an uninstall would leave the files there, and with them a folder that imports as an empty package. The folder's
name has a digest of all kernels, since numba notices only a change in a kernel's own file, not in that of one that it
calls. Where the folder cannot be written, kernels are compiled for the process alone."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, sigutils
from numba.core.runtime.nrt import rtsys

from restrict.kernels.home import home

config: Any = numba.core.config
FunctionCache: Any = caching.FunctionCache
NullCache: Any = caching.NullCache
normalize: Any = sigutils.normalize_signature


@cache
def folder() -> Path | None:
    """The folder of these kernels, made where it was missing; None where nothing can be written there."""
    place = Path(config.CACHE_DIR or home()) / f"kernels-{_digest()}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return None
    return place


@cache
def _digest() -> str:
    """A digest of the kernels' sources, and of what compiles them."""
    found = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


@cache
def _names() -> frozenset[str]:
    """The index files of the folder, when first asked."""
    place = folder()
    return frozenset() if place is None else frozenset(path.name for path in place.rglob("*.nbi"))


def forms() -> int:
    """How many compiled forms of kernels the folder has."""
    place = folder()
    return 0 if place is None else sum(1 for _ in place.rglob("*.nbc"))


class Kept:
    """The compiled forms of one kernel on disk; opened on first use, since most kernels of a program are not called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.opened: Any = None
        self.found: dict[Any, Any] = {}
        """What :meth:`has` has read, for the one call of :meth:`load_overload` that follows."""

    def has_any(self) -> bool:
        """Whether there may be a form at all: a look at the folder, long before numba is asked."""
        code = self.function.__code__
        name = f"{Path(code.co_filename).stem}.{self.function.__qualname__}-{code.co_firstlineno}."
        return any(found.startswith(name) for found in _names())

    def has(self, signature: Any, target: Any) -> bool:
        """Whether there is a form for these types."""
        self.found[signature] = self._load(signature, target)
        return self.found[signature] is not None

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The form for these types, or None."""
        return self.found.pop(signature, None) or self._load(signature, target)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a form; a disk that is full loses it, nothing else. So does Ctrl-C within a callback of the compiler,
        where Python drops it: then there is no object code to write (RuntimeError)."""
        try:
            self._open().save_overload(signature, compiled)
        except (OSError, RuntimeError):
            self.opened = NullCache()

    def flush(self) -> None:
        """Forget the forms of this kernel."""
        self._open().flush()

    @property
    def cache_path(self) -> str | None:
        """Where they are."""
        return None if folder() is None else str(folder())

    def _load(self, signature: Any, target: Any) -> Any:
        """A form from the disk, if it is what was asked for: of two processes that write at once, without a lock, numba
        may leave the form of one signature under the other's name."""
        try:
            compiled = _read(self._open(), signature, target)
        except Exception:  # cut short or damaged, which a pickle says in any way: it is compiled and written again
            return None
        wanted, _ = normalize(signature)
        return compiled if compiled is not None and tuple(compiled.signature.args) == tuple(wanted) else None

    def _open(self) -> Any:
        """numba's own cache of the kernel, in our folder."""
        if self.opened is None:
            place = folder()
            self.opened = NullCache() if place is None else _in(place, self.function)
        return self.opened


def _read(opened: Any, signature: Any, target: Any) -> Any:
    """A form from numba's cache of a kernel. numba would first read all that it can compile, a third of a second for
    each process: a form needs nothing of that but the runtime, and a compilation reads it by itself."""
    if isinstance(opened, NullCache):
        return None
    rtsys.initialize(target)
    with opened._guard_against_spurious_io_errors():
        return opened._load_overload(signature, target)


def _in(place: Path, function: Callable[..., Any]) -> Any:
    """numba's cache of a function below a folder; it asks for the folder only while it is made."""
    before, config.CACHE_DIR = config.CACHE_DIR, os.fspath(place)
    try:
        return FunctionCache(function)
    except RuntimeError:  # numba found no folder that it can write
        return NullCache()
    finally:
        config.CACHE_DIR = before
