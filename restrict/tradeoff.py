"""The trade of c for free positions as a whole: a front of certificates, from the forced output to nothing fixed.

Each bound on c gives a point of a Pareto front of (free positions, c), with its certificate.
:mod:`restrict.certification` gives the first point.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from restrict.base.deadline import Progress
from restrict.base.wording import percent
from restrict.certificate.certificate import Certificate
from restrict.certification import force_output, released
from restrict.force.release import few_nodes, releases
from restrict.model.program import Model
from restrict.model.task import Target, Task
from restrict.trial.certificate import try_certificate


@dataclass(frozen=True)
class Front:
    """Certificates by increasing ``c`` and free positions; none is dominated by another that was found."""

    points: tuple[Certificate, ...]

    def table(self) -> str:
        """One line per point: c, free positions, free share, and how many are fixed."""
        head = f"{'c':>8} {'free':>10} {'free %':>9} {'fixed':>8}"
        rows = [f"{p.c:>8} {p.free:>10} {percent(p.free, p.n):>9} {len(p.restriction.fixed):>8}" for p in self.points]
        return "\n".join([head, *rows])

    def document(self) -> dict[str, Any]:
        """The points as JSON.

        Returns:
            An object.
        """
        return {"points": [{"c": p.c, "free": p.free, "certificate": p.document()} for p in self.points]}

    def figure(self, path: str | Path) -> None:
        """Draw the front as steps to an ``.svg``, ``.pdf`` or ``.png`` file."""
        # What is shown stands above what is found, so the room is named here, and loaded when something is shown.
        import_module("restrict.report.chart").front_chart(self.points).save(Path(path))


def pareto(
    model: Model,
    n: int,
    *,
    target: Target = "last",
    seed: int = 0,
    time: float | None = None,
    progress: Progress | None = None,
) -> Front:
    """The front of (free positions, c): the fewest fixed positions found for growing bounds on c, until none is fixed.

    Every point carries its certificate. The points are certified bounds; the front is what was found, not proved to
    be the best. On small programs the points of a greedy path from the forced output to nothing fixed are added. Cost:
    that of ``certify``, and a search of a second or two for each of about ``2 log2(n)`` bounds.

    Args:
        model: the program.
        n: its length, markers included.
        target: ``"last"`` or a position.
        seed: the same seed gives the same front (without ``time``).
        time: seconds for all of it: half of them for the first point, and of what is left a quarter for each next one.
        progress: called with (what is being done, best number of fixed positions so far).

    Returns:
        The points, by increasing ``c``.

    Raises:
        UsageError: a bad argument, or the target ``all``.
        NotEstablished: nothing was found that forces the output.
        ModelError: the model is not defined at this length, or the trusted checker calls it malformed.
        ResourceLimit: the model is too deep for the search, or a map's range cannot be checked at this length.
        Disagreement: a run of the model contradicts a point, which is a bug.
    """
    task = Task.of(model, n, target=target, seed=seed, time=time, progress=progress)
    task.one_position("a front")
    start = force_output(task.until(task.deadline.share(0.5)))
    noted = task.noting(strategy="goal, then releases")
    found = [start, *_searched(noted, start)]
    if found[-1].restriction.fixed or few_nodes(task):
        found += releases(noted, start)
    points = _undominated(found)
    for point in points:
        try_certificate(task.instance, point)
    return Front(points)


def _searched(task: Task, start: Certificate) -> list[Certificate]:
    """For growing bounds on c, the certificates with the fewest fixed positions that the search finds."""
    found, bound = [start], 1
    while found[-1].restriction.fixed and bound < start.free:
        found.append(released(task.until(task.deadline.share(0.25)), start, bound))
        bound = max(bound + 1, bound * 7 // 5)
    return found[1:]


def _undominated(found: Iterable[Certificate]) -> tuple[Certificate, ...]:
    """The certificates that no other one dominates (as many free positions, and as small a c), by increasing c."""
    points: list[Certificate] = []
    for one in sorted(found, key=lambda p: (p.c, -p.free)):
        if not points or one.free > points[-1].free:
            points.append(one)
    return tuple(points)
