"""Workers for the blocks of one large certificate: the same pool of processes, and the same Dask cluster, as a sweep's.

    with restrict.workers(dask="tcp://10.0.0.1:8786"):
        certificate = restrict.certify(model, 20_000, target="all")

Rows of heads and candidate schedules are independent (:mod:`restrict.base.blocks`), so they go to the workers; what
comes back is what would have been found here. A block whose worker is killed is done again, as an item of a sweep is.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from restrict.base.blocks import Work, cores, lent
from restrict.base.errors import InternalError, ResourceLimit, RestrictError, UsageError
from restrict.sweep.cluster import Cluster, crew
from restrict.sweep.items import warm_up
from restrict.sweep.local import Lost, Pool


@contextmanager
def workers(jobs: int | None = None, dask: str | None = None) -> Iterator[None]:
    """Within this context one large search spreads over several processes or machines.

    It is for the target ``all``: there the rows of all positions are independent. The certificate is the same, byte for
    byte, as without (where no ``time`` is given). A script that uses it must do so under
    ``if __name__ == "__main__":``, as for every pool of processes.

    Args:
        jobs: processes on this machine, at least 1; ``None``: one for each core.
        dask: instead, a Dask cluster: the scheduler's address, or ``"local"`` for one of ``jobs`` processes here.

    Returns:
        A context manager; it takes the seconds that the workers need to start.

    Raises:
        UsageError: Dask is not installed, or no cluster answers at that address.
        ResourceLimit: the workers cannot start.
    """
    count = cores() if jobs is None else jobs
    if count < 1:
        raise UsageError(f"jobs = {jobs}: at least 1 process")
    with crew(count, dask, warm_up) as many, lent(_Crew(many)):
        yield


@dataclass(frozen=True, eq=False)
class _Crew:
    """A pool or a cluster that does blocks."""

    crew: Pool | Cluster

    @property
    def width(self) -> int:
        """How many blocks are done at a time."""
        return self.crew.width

    def each(self, work: Work, shared: Any, parts: Sequence[Any]) -> Generator[Any, None, None]:
        """The results of ``work`` for the parts, in their order; ``shared`` goes to every worker once. Raises what the
        work raises, ``ResourceLimit`` where a block lost its workers again and again, ``InternalError`` for a fault
        there."""
        found: dict[int, Any] = {}
        results = self.crew.map(attempted, parts, (work, shared))
        try:
            for wanted in range(len(parts)):
                while wanted not in found:
                    number, result = next(results)
                    found[number] = result
                yield _taken(found.pop(wanted))
        finally:
            results.close()


def attempted(work: Work, shared: Any, part: Any) -> tuple[Any, RestrictError | None]:
    """One block on a worker: its result and no error, or no result and what it raises on purpose."""
    try:
        return work(shared, part), None
    except RestrictError as error:
        return None, error
    except MemoryError:
        return None, ResourceLimit("a worker is out of memory; fewer jobs, or a smaller n")


def _taken(outcome: Any) -> Any:
    """The result of a block, or what it raised; ``ResourceLimit`` if its workers were killed."""
    if isinstance(outcome, Lost):
        raise (ResourceLimit if outcome.killed else InternalError)(f"a block of the work: {outcome}")
    result, error = outcome
    if error is not None:
        raise error
    return result
