"""Independent blocks of one large piece of work: done here, or by workers that the caller lends. A search asks
:func:`each` for the results of blocks that do not depend on each other (rows of a head, candidates that are measured).
Without lent workers the blocks are done here, one after the other, each when its result is asked for. Inside
:func:`lent` they go to processes or machines (:mod:`restrict.sweep.workers`). Invariant: a block is a pure function of
its arguments, and results come in the order of the blocks; so who does them changes how long it takes, never what is
found."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

Work = Callable[[Any, Any], Any]
"""A function at the top level of a module. Its arguments: what all blocks share, and what one block has for itself."""


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers(Protocol):
    """Processes or machines that do blocks."""

    @property
    def width(self) -> int:
        """How many blocks they do at a time."""

    def each(self, work: Work, shared: Any, parts: Sequence[Any]) -> Generator[Any, None, None]:
        """Results of ``work``, which the workers can import, in the parts' order; ``shared`` is pickled."""


_LENT: ContextVar[Workers | None] = ContextVar("workers", default=None)


@contextmanager
def lent(workers: Workers) -> Iterator[None]:
    """Within this context blocks go to these workers."""
    token = _LENT.set(workers)
    try:
        yield
    finally:
        _LENT.reset(token)


def width() -> int:
    """How many blocks are done at a time: 1 without lent workers."""
    workers = _LENT.get()
    return 1 if workers is None else workers.width


def each(work: Work, shared: Any, parts: Sequence[Any], *, here: bool = False) -> Iterator[Any]:
    """The results of independent blocks. Result: an iterator over the results, in the order of the parts. Here a block
    begins when its result is asked for; with lent workers all begin at once, and blocks whose results are not asked for
    are cancelled."""
    workers = _LENT.get()
    if workers is None or here or len(parts) < 2:
        return (work(shared, part) for part in parts)
    return workers.each(work, shared, parts)


def cuts(count: int, least: int = 1) -> list[slice]:
    """Rows divided among the workers: ``BLOCKS_EACH`` blocks for each, so that none waits long for the others. Result:
    consecutive slices of ``range(count)``; one slice without lent workers."""
    blocks = max(1, min(BLOCKS_EACH * width(), count // least)) if width() > 1 else 1
    return [slice(count * b // blocks, count * (b + 1) // blocks) for b in range(blocks)]


BLOCKS_EACH = 4
"""Blocks for each worker."""
