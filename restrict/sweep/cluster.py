"""A Dask cluster: the same sweep on many machines (the extra ``sweep``; imported only when asked for).

Dask gives a task up (``KilledWorker``) once it was assigned to ``allowed-failures`` lost workers and one more, three
and one by default, and counts what waited at a worker like what it was doing. So a task that is given up need not be
the one at fault: it is run again here when nothing else is, and only what is given up then becomes a row with an error.
Hence the local cluster allows one failure, not three: an item at fault costs six workers in all, and no other item is
lost. The scheduler of another cluster keeps its own setting; raise it (``distributed.scheduler.allowed-failures``)
where nodes are taken away by others. ``--retry`` runs the rows of lost items again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar

from restrict.errors import UsageError
from restrict.sweep.local import Lost, deaf

Given = TypeVar("Given")
Found = TypeVar("Found")
ALLOWED_FAILURES = 1
ALONE = 2
"""How often an item is tried when nothing else runs."""
AHEAD = 4
"""Items that are handed over for each thread of the cluster, so that workers never wait for this process."""
CONNECT_SECONDS = 15


def cluster_map(
    work: Callable[[Given], Found],
    items: Sequence[Given],
    address: str,
    jobs: int,
    warm: Callable[[], object] | None = None,
) -> Generator[tuple[int, Found | Lost], None, None]:
    """Do the items on a cluster, results as they come.

    Args:
        work: a function of a module that the workers can import.
        items: what it is applied to.
        address: of the scheduler, or ``local`` for a cluster of processes on this machine.
        jobs: processes of the local cluster.
        warm: called on one worker before the others start.

    Yields:
        The number of an item, and its result, or :class:`Lost`. Every item comes once.

    Raises:
        UsageError: Dask is not installed, no cluster answers there, or its workers do not have this package.
    """
    if not items:
        return
    with _client(address, max(1, jobs)) as client:
        _warmed(client, warm)
        yield from _run(client, work, items)


def _client(address: str, jobs: int) -> Any:
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("--dask needs Dask: pip install 'restrict[sweep]'") from None
    if address == "local":
        dask.config.set({"distributed.scheduler.allowed-failures": ALLOWED_FAILURES})
        with deaf():  # the thread that starts the workers comes from here
            cluster = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
            return _Both(cluster, Client(cluster, set_as_default=False))
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--dask {address}: no scheduler answers: {' '.join(str(error).split())}") from None


class _Both:
    """A local cluster and its client, closed together."""

    def __init__(self, cluster: Any, client: Any) -> None:
        self.cluster, self.client = cluster, client

    def __enter__(self) -> Any:
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.cluster.close()


def _warmed(client: Any, warm: Callable[[], object] | None) -> None:
    """One worker compiles what all need; and shows that the workers have this package."""
    if warm is None:
        return
    try:
        client.submit(warm, pure=False).result()
    except ImportError as error:
        raise UsageError(
            f"--dask: the workers cannot import restrict ({error}); install the same version there"
        ) from None


def _run(client: Any, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    from distributed import as_completed

    numbers: dict[str, int] = {}

    def submitted(number: int) -> Any:
        future = client.submit(work, items[number], pure=False, retries=0)
        numbers[future.key] = number
        return future

    ahead = AHEAD * max(1, sum(client.nthreads().values()))
    following = iter(range(ahead, len(items)))
    queue = as_completed([submitted(k) for k in range(min(ahead, len(items)))], loop=client.loop)
    suspects: list[int] = []
    for future in queue:
        number = numbers.pop(future.key)
        found, again = _settled(future)
        if again:
            suspects.append(number)
        else:
            yield number, found
        future.release()
        upcoming = next(following, None)
        if upcoming is not None:
            queue.add(submitted(upcoming))
    for number in sorted(suspects):
        yield number, _alone(lambda number=number: submitted(number))  # type: ignore[misc]


def _settled(future: Any) -> tuple[Any, bool]:
    """The result or why there is none, and whether lost workers are the reason, which may be another item's doing."""
    try:
        return future.result(), False
    except Exception as error:
        # A result can also be lost with the worker that held it, before it came here.
        if future.status in ("lost", "cancelled") or type(error).__name__ in ("KilledWorker", "FutureCancelledError"):
            return Lost("its workers were killed, perhaps for memory"), True
        return Lost(f"{type(error).__name__}: {error}"), False


def _alone(start: Callable[[], Any]) -> Any:
    """The result of an item that nothing else runs beside."""
    for _ in range(ALONE):
        found, again = _settled(start())
        if not again:
            break
    return found
