"""A Dask cluster: the same sweep on many machines (the extra ``sweep``; imported only when asked for). Dask stops
trying a task (``KilledWorker``) when ``allowed-failures`` + 1 workers that had it were lost (3 + 1 by default). It
counts tasks that only waited at such a worker, too, so the task that it drops need not be the one at fault. Such a task
is run again here while nothing else runs; only if it is dropped again does it become a row with an error. So the local
cluster allows one failure, not three: an item at fault costs six workers in all, and no other item is lost. The
scheduler of another cluster keeps its own setting; raise it (``distributed.scheduler.allowed-failures``) where nodes
may be taken away at any time. ``--retry`` runs the rows of lost items again."""

import logging
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

from restrict.base.errors import UsageError
from restrict.base.wording import install
from restrict.sweep.local import Lost, Pool, deaf

Given = TypeVar("Given")
Found = TypeVar("Found")
ALLOWED_FAILURES = 1
ALONE = 2
"""How often an item is tried when nothing else runs."""
AHEAD = 4
"""Items that are handed over for each thread of the cluster, so that workers never wait for this process."""
CONNECT_SECONDS = 15


def crew(jobs: int, dask: str | None, warm: Callable[[], object] | None = None) -> "Pool | Cluster":
    """``jobs`` processes here, or the Dask cluster at an address (``local``: of ``jobs`` processes here)."""
    return Pool(jobs, warm) if dask is None else Cluster(dask, max(1, jobs), warm)


def spread(
    work: Callable[[Given], Found],
    items: Sequence[Given],
    jobs: int,
    dask: str | None = None,
    warm: Callable[[], object] | None = None,
) -> Generator[tuple[int, Found | Lost], None, None]:
    """Do the items on a crew, results as they come; ``jobs``: 0 for this process alone. Yields the number of an item,
    and its result, or :class:`Lost`. Every item comes once."""
    if dask is None and jobs == 0:
        yield from enumerate(map(work, items))
    elif items:
        with crew(min(jobs, len(items)) if dask is None else jobs, dask, warm) as many:
            yield from many.map(work, items)


class Cluster:
    """A connection to a cluster, for one list of items after another."""

    def __init__(self, address: str, jobs: int, warm: Callable[[], object] | None = None) -> None:
        """Nothing is connected before the context is entered. ``address``: of the scheduler, or ``local`` for a cluster
        of processes on this machine."""
        self.address, self.jobs, self.warm = address, jobs, warm
        self._open = ExitStack()

    def __enter__(self) -> "Cluster":
        with ExitStack() as opened:
            self.client = _client(self.address, self.jobs, opened)
            _warmed(self.client, self.warm)
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def width(self) -> int:
        """The threads of all workers that are there now, at least 1."""
        return max(1, int(sum(self.client.nthreads().values())))

    def map(
        self, work: Callable[..., Any], items: Sequence[Any], common: tuple[Any, ...] = ()
    ) -> Generator[tuple[int, Any], None, None]:
        """Results of ``work``, a function of ``common`` and an item from a module that workers can import, as they
        come; as :func:`spread`. Items not yet done when it is closed are dropped."""
        return _Round(self.client, self.width, work, items, common).run()


def _client(address: str, jobs: int, opened: ExitStack) -> Any:
    """A client; what has to be closed afterwards goes to ``opened``."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError(f"--dask needs Dask: {install('sweep')}") from None
    opened.enter_context(_quiet())
    if address == "local":
        opened.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": ALLOWED_FAILURES}))
        with deaf():  # the thread that starts the workers comes from here
            cluster = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
            opened.callback(_close, cluster)
            return opened.enter_context(Client(cluster, set_as_default=False))
    try:
        return opened.enter_context(Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--dask {address}: no scheduler answers: {' '.join(str(error).split())}") from None


def _close(cluster: Any) -> None:
    """Close a cluster of this machine. While a killed worker is being started again, Dask cannot wait for it (one of
    its assertions fails); that worker ends by itself, and all results are there."""
    with suppress(Exception):
        cluster.close()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's own log and its tracebacks: this package says what matters in one line."""
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


def _warmed(client: Any, warm: Callable[[], object] | None) -> None:
    """One worker compiles what all need; this also shows that the workers have this package."""
    if warm is None:
        return
    try:
        client.submit(warm, pure=False).result()
    except ImportError as error:
        raise UsageError(
            f"--dask: the workers cannot import restrict ({error}); install the same version there"
        ) from None


def same(*given: Any) -> tuple[Any, ...]:
    """What all items share, as a task of its own: where its worker is lost Dask makes it again."""
    return given


def with_common(work: Callable[..., Any], common: tuple[Any, ...], item: Any) -> Any:
    """What a worker does: ``work`` with its first arguments from one tuple, in one thread unless the user says
    otherwise."""
    os.environ.setdefault("RESTRICT_THREADS", "1")
    return work(*common, item)


class _Round:
    """One list of items on a cluster."""

    def __init__(
        self, client: Any, width: int, work: Callable[..., Any], items: Sequence[Any], common: tuple[Any, ...]
    ) -> None:
        self.client, self.work, self.items, self.common = client, work, items, common
        self.ahead = min(AHEAD * width, len(items))
        self.shared = client.submit(same, *common, pure=False) if common else ()
        self.numbers: dict[Any, int] = {}

    def run(self) -> Generator[tuple[int, Any], None, None]:
        from distributed import as_completed

        following, suspects = iter(range(self.ahead, len(self.items))), list[int]()
        queue = as_completed([self._submit(k) for k in range(self.ahead)], loop=self.client.loop)
        try:
            for future in queue:
                number = self.numbers.pop(future)
                found, again = self._settled(future)
                if again:
                    suspects.append(number)
                else:
                    yield number, found
                future.release()
                upcoming = next(following, None)
                if upcoming is not None:
                    queue.add(self._submit(upcoming))
            for number in sorted(suspects):
                yield number, self._alone(number)
        finally:
            for future in self.numbers:
                future.release()

    def _submit(self, number: int) -> Any:
        future = self.client.submit(with_common, self.work, self.shared, self.items[number], pure=False, retries=0)
        self.numbers[future] = number
        return future

    def _settled(self, future: Any) -> tuple[Any, bool]:
        """The result or why there is none, and whether lost workers are the reason, perhaps by another item's doing."""
        try:
            return future.result(), False
        except Exception as error:
            name = type(error).__name__
            if self.client.status != "running":
                raise UsageError("--dask: the scheduler is gone; run the same command again when it is back") from None
            # A result can also be lost with the worker that held it, before it came here.
            if future.status in ("lost", "cancelled") or name in ("KilledWorker", "FutureCancelledError"):
                return Lost("its workers were killed, perhaps for memory"), True
            return Lost(f"{name}: {error}", killed=False), False

    def _alone(self, number: int) -> Any:
        """The result of an item while nothing else runs."""
        for _ in range(ALONE):
            # With all it needs: what is shared may be lost, too.
            future = self.client.submit(with_common, self.work, self.common, self.items[number], pure=False, retries=0)
            found, again = self._settled(future)
            if not again:
                break
        return found
