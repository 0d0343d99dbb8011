"""A Dask cluster: the same sweep on many machines (the extra ``sweep``; imported only when asked for).

Dask gives a task up once it was under way on ``allowed-failures`` lost workers and one more, three and one by default.
A worker that is lost for want of memory takes with it only what it was doing, and that is one item (one thread each):
so the count is that of the item itself, and four lost workers are taken to be its fault. Where nodes are taken away
by others (pre-emption), set ``distributed.scheduler.allowed-failures`` of the scheduler higher; the item's row then
comes later. A row of a lost item is run again with ``--retry``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from restrict.errors import UsageError
from restrict.sweep.local import Lost

Given = TypeVar("Given")
Found = TypeVar("Found")
ALLOWED_FAILURES = 3
AHEAD = 4
"""Items that are handed over for each thread of the cluster, so that workers never wait for this process."""
CONNECT_SECONDS = 15


def cluster_map(
    work: Callable[[Given], Found],
    items: Sequence[Given],
    address: str,
    jobs: int,
    warm: Callable[[], object] | None = None,
) -> Iterator[tuple[int, Found | Lost]]:
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
        cluster = LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
        return _Both(cluster, Client(cluster))
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
    queue = as_completed([submitted(k) for k in range(min(ahead, len(items)))])
    for future in queue:
        number = numbers.pop(future.key)
        if future.status == "finished":
            result = future.result()
        else:
            error = future.exception()
            kind = type(error).__name__
            result = Lost(
                "its workers were killed, perhaps for memory" if kind == "KilledWorker" else f"{kind}: {error}"
            )
        future.release()
        yield number, result
        upcoming = next(following, None)
        if upcoming is not None:
            queue.add(submitted(upcoming))


def _reason(error: BaseException | None) -> str:
    if type(error).__name__ == "KilledWorker":
        return "its workers were killed, perhaps for memory"
    return f"{type(error).__name__}: {error}"
