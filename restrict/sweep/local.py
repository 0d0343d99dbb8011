"""A pool of processes on this machine.

Workers are started afresh (not forked: threads and locks of the parent do not survive that), end with their parent, and
leave Ctrl-C to it. One worker first compiles what all of them need. Where a worker is killed, the standard pool breaks
and does not say which item was at fault; so all items that were under way are run again, one at a time, and one that
loses its worker twice when it is alone is given up.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection, resource_tracker
from typing import Any, TypeVar

from restrict.errors import ResourceLimit

Given = TypeVar("Given")
Found = TypeVar("Found")
GIVE_UP = 2
"""Workers that an item may lose while it is the only one under way."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Lost(Exception):
    """An item's worker was killed, too often."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_map(
    work: Callable[[Given], Found],
    items: Sequence[Given],
    jobs: int,
    warm: Callable[[], object] | None = None,
) -> Generator[tuple[int, Found | Lost], None, None]:
    """Do the items on several processes, results as they come.

    Args:
        work: a function of a module, for the workers to import.
        items: what it is applied to; they are pickled.
        jobs: processes; 0: this process alone.
        warm: called in one worker before the others start.

    Yields:
        The number of an item, and its result, or :class:`Lost`. Every item comes once.
    """
    if jobs == 0:
        for number, item in enumerate(items):
            yield number, work(item)
        return
    if items:
        with _threads_of_one():
            pool = _Pool(work, items, jobs, warm)
            try:
                yield from pool.run()
            except BaseException:
                pool.kill()
                raise
            pool.executor.shutdown()


class _Pool:
    """The state of :func:`local_map`: what waits, what is under way, what is under suspicion."""

    def __init__(self, work: Callable[[Any], Any], items: Sequence[Any], jobs: int, warm: Any) -> None:
        self.work, self.items, self.jobs, self.warm = work, items, jobs, warm
        self.waiting = deque(range(len(items)))
        self.suspects: deque[int] = deque()
        self.losses: Counter[int] = Counter()
        self.flight: dict[Future[Any], int] = {}
        self.executor = self._start()

    def _start(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        executor = ProcessPoolExecutor(min(self.jobs, len(self.items)), mp_context=context, initializer=_worker)
        if self.warm is not None:
            # The executor starts a process only when none is idle, so this runs in one alone.
            try:
                with deaf():
                    first = executor.submit(self.warm)
                first.result()
            except BrokenProcessPool:
                raise ResourceLimit("a worker was killed while it started, perhaps for memory") from None
            self.warm = None
        return executor

    def run(self) -> Iterator[tuple[int, Any]]:
        """The results as they come."""
        while self.waiting or self.suspects or self.flight:
            broken: list[int] = []
            self._fill(broken)
            done = wait(self.flight, return_when=FIRST_COMPLETED).done if self.flight else set()
            for future in done:
                number = self.flight.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    broken.append(number)
                    continue
                except Exception as error:  # what could not be pickled, say
                    result = Lost(f"{type(error).__name__}: {error}")
                yield number, result
            if broken:
                yield from self._mend(broken)

    def _fill(self, broken: list[int]) -> None:
        """Keep the workers busy; a suspect is alone."""
        source, most = (self.suspects, 1) if self.suspects else (self.waiting, 2 * self.jobs + 2)
        if self.suspects and self.flight:
            return
        while source and len(self.flight) < most:
            number = source.popleft()
            try:
                with deaf():
                    self.flight[self.executor.submit(self.work, self.items[number])] = number
            except BrokenProcessPool:
                broken.append(number)
                return

    def _mend(self, broken: list[int]) -> Iterator[tuple[int, Lost]]:
        """A new pool after a worker was killed."""
        broken += self.flight.values()
        self.flight.clear()
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self._start()
        if len(broken) > 1:
            self.suspects.extend(sorted(broken))
            return
        (number,) = broken
        self.losses[number] += 1
        if self.losses[number] < GIVE_UP:
            self.suspects.appendleft(number)
        else:
            yield number, Lost(f"its worker was killed {GIVE_UP} times, perhaps for memory; try fewer jobs")

    def kill(self) -> None:
        """End the workers at once."""
        for process in list((self.executor._processes or {}).values()):
            process.terminate()
        self.executor.shutdown(wait=False, cancel_futures=True)


def _worker() -> None:
    """Ctrl-C is the parent's business; and where the parent is killed, its workers end too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def deaf() -> Iterator[None]:
    """Hold back Ctrl-C: processes that start meanwhile never hear it, not even while they import."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its own start would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _threads_of_one() -> Iterator[None]:
    """Workers use one thread each, unless the user says otherwise: as many processes as cores are there already."""
    added = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
