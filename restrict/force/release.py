"""Trading c for free positions: from a restriction that forces the output, free positions at the least growth of its
dependencies.

The path from ``c = 0`` to nothing fixed gives the points of a Pareto front of (free positions, c), each with its
certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from restrict.abstract.run import Cone
from restrict.certificate.certificate import Certificate, certificate_of
from restrict.model.program import Instance, Model

Progress = Callable[[str, int | None], None]
ALL_NODES = 4_000
"""Up to this many nodes every node is examined, which makes dependencies as small as the abstract run can see."""


def releases(
    at: Instance, start: Certificate, provenance: dict[str, Any], progress: Progress | None
) -> Iterator[Certificate]:
    """Free positions one at a time, always the one that leaves the fewest dependencies; yields the certificate after
    each.

    Cost: one abstract run per fixed position and step.
    """
    small = at.n * max(1, len(at.model.variables)) <= ALL_NODES
    cone: Cone = "all" if small else start.cone
    rho = start.restriction
    while rho.fixed:
        trials = ((certificate_of(at, rho.release([i]), cone, start.target, provenance), i) for i in rho.fixed)
        found, chosen = min(trials, key=lambda trial: (trial[0].c, trial[1]))
        rho = rho.release([chosen])
        if progress is not None:
            progress(f"freeing positions, c = {found.c}", len(rho.fixed))
        yield found


def least_free(at: Instance, fraction: float) -> int:
    """How many positions a free fraction, the decimal as written, asks for: of those without a marker, rounded up."""
    return math.ceil(Fraction(repr(float(fraction))) * (at.n - len(at.pinned)))


def relax(
    at: Instance, start: Certificate, c: int, free: float | None, provenance: dict[str, Any], progress: Progress | None
) -> Certificate:
    """Free as much as ``c`` dependencies allow; with ``free`` set, until that fraction is free, whatever ``c`` is."""
    best = start
    wanted = None if free is None else least_free(at, free)
    try:
        for found in releases(at, start, provenance, progress) if wanted is None or best.free < wanted else ():
            if wanted is None and found.c > c:
                break
            best = found
            if wanted is not None and best.free >= wanted:
                break
    except KeyboardInterrupt:
        return replace(best, provenance={**provenance, "stopped": "interrupted"})
    return best


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
    target: Any = "last",
    seed: int = 0,
    time: float | None = None,
    progress: Progress | None = None,
) -> Front:
    """The front of (free positions, c) on the greedy path from the forced output to nothing fixed.

    Every point carries its certificate. The points are certified bounds; the front is what was found, not proved to
    be the best.
    """
    from restrict.certification import certify

    start = certify(model, n, target=target, seed=seed, time=time, progress=progress)
    points = [start]
    strategy = dict(start.provenance) | {"strategy": "goal, then releases"}
    for found in releases(model.at(n), start, strategy, progress):
        while points and found.c <= points[-1].c:
            points.pop()
        points.append(found)
    return Front(tuple(points))
