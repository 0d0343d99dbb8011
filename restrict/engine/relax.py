"""Trading c for free positions: from a restriction that forces the output, free positions at the least growth of its
dependencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from restrict.abstract.run import Cone
from restrict.certificate import Certificate, certificate_of
from restrict.errors import NotEstablished
from restrict.model.program import Instance
from restrict.restriction import Restriction

ALL_NODES = 4_000
"""Up to this many nodes every node is examined, which makes dependencies as small as the abstract run can see."""


def relax(
    at: Instance,
    start: Certificate,
    c: int,
    free: float | None,
    provenance: dict[str, Any],
    progress: Callable[[str, int | None], None] | None,
) -> Certificate:
    """Free positions one at a time, always the one that adds the fewest dependencies.

    With ``free`` set, until that fraction is free, whatever ``c`` becomes; else as long as at most ``c`` dependencies
    remain.
    Cost: one abstract run per fixed position and step. Raises :class:`NotEstablished` where ``free`` cannot be met.
    """
    small = at.n * max(1, len(at.model.variables)) <= ALL_NODES
    cone: Cone = "all" if small else start.cone
    best, rho = start, start.restriction
    wanted = None if free is None else min(at.n - len(at.pinned), -int(-free * at.n // 1))
    while rho.fixed and (wanted is None or best.free < wanted):
        trials = [(_certify(at, rho, i, cone, start, provenance), i) for i in rho.fixed]
        found, chosen = min(trials, key=lambda trial: (trial[0].c, trial[1]))
        if wanted is None and found.c > c:
            break
        best, rho = found, rho.release([chosen])
        if progress is not None:
            progress(f"freeing positions, c = {best.c}", len(rho.fixed))
    if wanted is not None and best.free < wanted:
        raise NotEstablished(f"only {best.free} of {at.n} positions can be free (the markers are pinned), not {wanted}")
    return best


def _certify(
    at: Instance, rho: Restriction, i: int, cone: Cone, start: Certificate, provenance: dict[str, Any]
) -> Certificate:
    return certificate_of(at, rho.release([i]), cone, start.target, provenance)
