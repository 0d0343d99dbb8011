"""The trade of c for free positions as a whole: a front of certificates, from the forced output to nothing fixed.

The path from ``c = 0`` to nothing fixed gives the points of a Pareto front of (free positions, c), each with its
certificate. A task of its own above :mod:`restrict.certification`, which gives the first point.
"""

from __future__ import annotations

from dataclasses import dataclass

from restrict.certificate.certificate import Certificate
from restrict.certification import force_output
from restrict.deadline import Progress
from restrict.force.release import releases
from restrict.model.program import Model
from restrict.task import Target, Task


@dataclass(frozen=True)
class Front:
    """Certificates by increasing ``c`` and free positions; none is dominated by another that was found."""

    points: tuple[Certificate, ...]

    def table(self) -> str:
        """One line per point: c, free positions, free share, and how many are fixed."""
        head = f"{'c':>8} {'free':>10} {'free %':>9} {'fixed':>8}"
        rows = [f"{p.c:>8} {p.free:>10} {100 * p.free / p.n:>9.4g} {len(p.restriction.fixed):>8}" for p in self.points]
        return "\n".join([head, *rows])

    def figure(self, path: str) -> None:
        """Draw the front as steps to an image file. Needs matplotlib (the extra ``report``)."""
        from matplotlib.figure import Figure

        picture = Figure(figsize=(6, 4), layout="constrained")
        axes = picture.add_subplot()
        axes.step([p.free for p in self.points], [p.c for p in self.points], where="pre", marker="o")
        axes.set_xlabel("free positions")
        axes.set_ylabel("c: certified bound on dependencies")
        axes.set_title(f"{self.points[0].model_name[:50]}, n = {self.points[0].n}", fontsize=9)
        axes.grid(alpha=0.3)
        picture.savefig(path, dpi=150)


def pareto(
    model: Model,
    n: int,
    *,
    target: Target = "last",
    seed: int = 0,
    time: float | None = None,
    progress: Progress | None = None,
) -> Front:
    """The front of (free positions, c) on the greedy path from the forced output to nothing fixed.

    Every point carries its certificate. The points are certified bounds; the front is what was found, not proved to
    be the best. Cost: that of ``certify``, and an abstract run per fixed position and step of the path.

    Args:
        model: the program.
        n: its length, markers included.
        target: ``"last"`` or a position.
        seed: the same seed gives the same front (without ``time``).
        time: seconds for the first point.
        progress: called with (what is being done, best number of fixed positions so far).

    Returns:
        The points, by increasing ``c``.

    Raises:
        UsageError: a bad argument, or the target ``all``.
        NotEstablished: nothing was found that forces the output.
    """
    task = Task.of(model, n, target=target, seed=seed, time=time, progress=progress)
    task.one_position("a front")
    points = [force_output(task)]
    for found in releases(task.noting(strategy="goal, then releases"), points[0]):
        while points and found.c <= points[-1].c:
            points.pop()
        points.append(found)
    return Front(tuple(points))
