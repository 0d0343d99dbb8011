"""Independent blocks of one large piece of work: done here, or by workers that somebody lends.

A search asks :func:`each` for the results of blocks that do not depend on each other (rows of a head, candidates that
are measured). Where nobody lends workers the blocks are done here, one after the other, each when its result is asked
for. Inside :func:`lent` they go to processes or machines (:mod:`restrict.sweep.workers`). Invariant: a block is a pure
function of what it is given, and results come in the order of the blocks; so who does them changes how long it takes,
never what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

Work = Callable[[Any, Any], Any]
"""A function of a module: of what all blocks share, and of what a block has for itself."""


class Workers(Protocol):
    """Those who do blocks."""

    @property
    def width(self) -> int:
        """How many blocks they do at a time."""

    def each(self, work: Work, shared: Any, parts: Sequence[Any]) -> Generator[Any, None, None]:
        """Results in the order of the parts.

        Args:
            work: a function that the workers can import.
            shared: its first argument; it is pickled.
            parts: its second one.

        Yields:
            The results.
        """


_LENT: ContextVar[Workers | None] = ContextVar("workers", default=None)


@contextmanager
def lent(workers: Workers) -> Iterator[None]:
    """Within this context blocks go to these workers.

    Args:
        workers: they stay the caller's to close.
    """
    token = _LENT.set(workers)
    try:
        yield
    finally:
        _LENT.reset(token)


def width() -> int:
    """How many blocks are done at a time: 1 where nobody lends workers."""
    workers = _LENT.get()
    return 1 if workers is None else workers.width


def each(work: Work, shared: Any, parts: Sequence[Any], *, here: bool = False) -> Iterator[Any]:
    """The results of independent blocks.

    Args:
        work: a function of a module, of ``shared`` and one of ``parts``.
        shared: what all blocks need.
        parts: what each has for itself.
        here: do them here even where workers are lent, because ``shared`` cannot be sent.

    Returns:
        An iterator over the results, in the order of the parts. Where they are done here, a block is begun when its
        result is asked for; elsewhere all are begun at once, and those not asked for are given up.
    """
    workers = _LENT.get()
    if workers is None or here or len(parts) < 2:
        return (work(shared, part) for part in parts)
    return workers.each(work, shared, parts)


def cuts(count: int, least: int = 1) -> list[slice]:
    """Rows shared out to the workers: some blocks for each, so that none waits long for the others.

    Args:
        count: how many rows.
        least: rows that a block has at least.

    Returns:
        Consecutive slices of ``range(count)``; one where nobody lends workers.
    """
    blocks = max(1, min(BLOCKS_EACH * width(), count // least)) if width() > 1 else 1
    return [slice(count * b // blocks, count * (b + 1) // blocks) for b in range(blocks)]


BLOCKS_EACH = 4
"""Blocks for each worker."""
