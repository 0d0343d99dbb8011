"""Trading c for free positions: from a restriction that forces the output, free positions at the least growth of its
dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from restrict.abstract.run import Cone
from restrict.arguments import least_free
from restrict.certificate.certificate import Certificate, certificate_of
from restrict.task import Task

ALL_NODES = 4_000
"""Up to this many nodes every node is examined, which makes dependencies as small as the abstract run can see."""


def releases(task: Task, start: Certificate) -> Iterator[Certificate]:
    """Free positions one at a time, always the one that leaves the fewest dependencies; yields the certificate after
    each.

    Cost: one abstract run per fixed position and step.
    """
    instance = task.instance
    small = instance.n * max(1, len(instance.model.variables)) <= ALL_NODES
    cone: Cone = "all" if small else start.cone
    rho = start.restriction
    while rho.fixed:
        trials = (
            (certificate_of(instance, rho.release([i]), cone, start.target, task.provenance), i) for i in rho.fixed
        )
        found, chosen = min(trials, key=lambda trial: (trial[0].c, trial[1]))
        rho = rho.release([chosen])
        task.tell(f"freeing positions, c = {found.c}", len(rho.fixed))
        yield found


def relax(task: Task, start: Certificate, c: int, free: float | Fraction | None) -> Certificate:
    """Free as much as ``c`` dependencies allow; with ``free`` set, until that fraction is free, whatever ``c`` is."""
    best = start
    task = task.noting(**{k: v for k, v in start.provenance.items() if k in ("strategy", "stopped")})
    wanted = None if free is None else least_free(len(task.instance.unpinned), free)
    try:
        for found in releases(task, start) if wanted is None or best.free < wanted else ():
            if wanted is None and found.c > c:
                break
            best = found
            if wanted is not None and best.free >= wanted:
                break
    except KeyboardInterrupt:
        return replace(best, provenance={**best.provenance, "stopped": "interrupted"})
    return best
