"""A pool of processes on this machine. Workers are new processes (not forked: threads and locks of the parent do not
survive that), end with their parent, and leave Ctrl-C to it. One worker first compiles what all of them need. Where a
worker is killed, the standard pool breaks and does not say which item was at fault. So all items that were under way
are run again, one at a time, and an item that loses its worker twice when it is alone is not tried again."""

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from multiprocessing import connection, resource_tracker
from typing import Any

from restrict.base.blocks import cores
from restrict.base.errors import ResourceLimit

GIVE_UP = 2
"""Workers that an item may lose while it is the only one under way."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Lost(Exception):
    """An item without a result: its worker was killed, too often, or it could not be sent or read."""

    def __init__(self, reason: str, *, killed: bool = True) -> None:
        super().__init__(reason)
        self.killed = killed


class Pool:
    """Processes on this machine, for one list of items after another."""

    def __init__(self, jobs: int, warm: Callable[[], object] | None = None) -> None:
        """Nothing starts before the context is entered. ``jobs``: processes, at least 1."""
        self.width, self.warm = jobs, warm
        self.abandoned = False
        self._open = ExitStack()

    def __enter__(self) -> "Pool":
        with ExitStack() as opened:
            opened.enter_context(_threads_of_one())
            self.executor = self._start()
            self._open = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._open:
            if kind is not None or self.abandoned:  # nobody waits for what is still under way
                self._kill()
            self.executor.shutdown()

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        """Hand something to a process."""
        with deaf():
            return self.executor.submit(work, *given)

    def restart(self) -> None:
        """New processes after one was killed, or where the old ones do what nobody waits for."""
        self._kill()
        self.abandoned = False
        self.executor = self._start()

    def map(
        self, work: Callable[..., Any], items: Sequence[Any], common: tuple[Any, ...] = ()
    ) -> Generator[tuple[int, Any], None, None]:
        """Do the items, results as they come. ``work``: a function of a module, of ``common`` and an item. Result: as
        :func:`restrict.sweep.cluster.spread`. Items not yet begun when it is closed are dropped."""
        return _Round(self, work, items, common).run()

    def _start(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        threads = max(1, cores() // self.width)
        executor = ProcessPoolExecutor(self.width, mp_context=context, initializer=_worker, initargs=(threads,))
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

    def _kill(self) -> None:
        """End the workers at once. Only the executor cancels futures: it fails where something else has done so."""
        processes = list((self.executor._processes or {}).values())
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


class _Round:
    """One list of items on a pool: what waits, what is under way, what is under suspicion."""

    def __init__(self, pool: Pool, work: Callable[..., Any], items: Sequence[Any], common: tuple[Any, ...]) -> None:
        self.pool, self.work, self.items, self.common = pool, work, items, common
        self.waiting, self.suspects = deque(range(len(items))), deque[int]()
        self.losses, self.flight = Counter[int](), dict[Future[Any], int]()

    def run(self) -> Generator[tuple[int, Any], None, None]:
        try:
            if self.pool.abandoned:
                self.pool.restart()
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
                    except Exception as error:  # such as what could not be pickled
                        result = Lost(f"{type(error).__name__}: {error}", killed=False)
                    yield number, result
                if broken:
                    yield from self._mend(broken)
        finally:
            self.pool.abandoned |= bool(self.flight)

    def _fill(self, broken: list[int]) -> None:
        """Keep the workers busy; a suspect is alone."""
        source, most = (self.suspects, 1) if self.suspects else (self.waiting, 2 * self.pool.width + 2)
        if self.suspects and self.flight:
            return
        while source and len(self.flight) < most:
            number = source.popleft()
            try:
                self.flight[self.pool.submit(self.work, *self.common, self.items[number])] = number
            except BrokenProcessPool:
                broken.append(number)
                return

    def _mend(self, broken: list[int]) -> Iterator[tuple[int, Lost]]:
        """A new pool after a worker was killed."""
        broken += self.flight.values()
        self.flight.clear()
        self.pool.restart()
        if len(broken) > 1:
            self.suspects.extend(sorted(broken))
            return
        (number,) = broken
        self.losses[number] += 1
        if self.losses[number] < GIVE_UP:
            self.suspects.appendleft(number)
        else:
            yield number, Lost(f"its worker was killed {GIVE_UP} times, perhaps for memory; try fewer jobs")


def _worker(threads: int) -> None:
    """Ctrl-C is left to the parent; where the parent is killed, its workers end too. ``threads``: for long rows, unless
    the user says otherwise."""
    os.environ.setdefault("RESTRICT_THREADS", str(threads))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def deaf() -> Iterator[None]:
    """Hold back Ctrl-C: processes that start in this context never receive it, not even while they import."""
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
