"""Certification: choose a strategy, spend a budget, keep the best, confirm it with the abstract run.

The search (:mod:`restrict.force.goal`) forces the output, so ``c = 0``; deletion makes the restriction minimal; for
``c > 0`` or a wanted free
fraction :mod:`restrict.force.release` frees more. The certificate is written from a fresh abstract run over kernels,
never from the search's own facts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from restrict.certificate.certificate import Certificate, certificate_of
from restrict.errors import NotEstablished, ResourceLimit, UsageError
from restrict.force.release import least_free, relax
from restrict.force.search import Progress, Search
from restrict.model.program import Instance, Model
from restrict.optimum.enumeration import by_enumeration, few_restrictions
from restrict.restriction import Restriction
from restrict.task import Target, position_of
from restrict.version import __version__


def certify(
    model: Model,
    n: int,
    *,
    target: Target = "last",
    c: int = 0,
    free: float | None = None,
    seed: int = 0,
    time: float | None = None,
    restriction: Restriction | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Find a restriction under which the model's output depends on at most ``c`` inputs, and certify it.

    Arguments:
        model, n: the program and its length, markers included.
        target: ``"last"``, or for a model with output at every position one position, or ``"all"`` of them at once
            (:func:`restrict.depth_reduction.theorem1.certify_all`; without ``c`` and ``free`` it keeps 0.9 free).
        c: how many free inputs the output may depend on; the search then frees as many positions as it can.
        free: instead of ``c``, a fraction in [0, 1] of the positions that must stay free; the search then makes ``c``
        as small as it can.
        seed: the same seed gives the same certificate, byte for byte (without ``time``).
        time: seconds to go on improving; by default a fixed budget of work.
        restriction: certify this one instead of searching.
        progress: called with (what, best number of fixed positions so far).

    Returns the best certificate found. After Ctrl-C it is the best so far, with ``provenance["stopped"] ==
    "interrupted"``.

    Raises :class:`NotEstablished` where nothing was found within the budget, :class:`UsageError` and
    :class:`ModelError` for bad input.
    """
    at = model.at(n)
    where = position_of(at, target)
    _check_arguments(c, free, seed, time)
    provenance: dict[str, Any] = {"engine": __version__, "seed": seed}
    if restriction is not None:
        if restriction.n != n:
            raise UsageError(f"the restriction has {restriction.n} positions, not {n}")
        restriction = Restriction.of(at, dict(restriction.fixed))
        return certificate_of(at, restriction, "all", target, provenance | {"strategy": "given restriction"})
    if where is None:
        from restrict.depth_reduction.theorem1 import certify_all

        wanted = None if c == 0 else c
        return certify_all(at, free=free, c=wanted, seed=seed, time=time, progress=progress).certificate
    found = _force(at, where, target, seed, time, progress, provenance)
    if c > 0 or (free is not None and found.free < least_free(at, free)):
        found = relax(at, found, c, free, provenance, progress)  # keeps its best on Ctrl-C where that meets the wish
    return found


def _check_arguments(c: int, free: float | None, seed: int, time: float | None) -> None:
    if c < 0:
        raise UsageError(f"c = {c} must be at least 0")
    if free is not None and not 0 <= free <= 1:
        raise UsageError(f"the free fraction {free} must be between 0 and 1")
    if c > 0 and free is not None:
        raise UsageError("give c or free, not both: c bounds the dependencies, free the free positions")
    if not 0 <= seed < 2**63:
        raise UsageError(f"seed = {seed} must be in 0 .. 2^63-1")
    if time is not None and not time >= 0:
        raise UsageError(f"time = {time} must be a number of seconds, at least 0")


def _force(
    at: Instance,
    where: int,
    target: Target,
    seed: int,
    time: float | None,
    progress: Progress | None,
    provenance: dict[str, Any],
) -> Certificate:
    """Search for c = 0 and confirm the best that was found; adds to ``provenance`` how it ended."""
    search = Search(at, where, seed, time, progress)
    stopped = "budget" if time is None else "time"
    try:
        search.run()
    except KeyboardInterrupt:
        if search.best.fixed is None:
            raise
        stopped = "interrupted"
    except RecursionError:
        if search.best.fixed is None:
            raise ResourceLimit(
                f"{at.model.name!r} is too deep for the search, which recurses once or twice a head on a path; "
                "raise Python's recursion limit (sys.setrecursionlimit)"
            ) from None
        stopped = "recursion limit"
    best = search.best
    if best.fixed is None:
        raise NotEstablished(
            f"no restriction found that forces the output of {at.model.name!r} at n = {at.n} within the budget; "
            f"best found: the trivial one, which fixes all {at.n} positions. "
            "Try another --seed, a longer --time or a smaller n"
        )
    provenance.update(strategy="goal", stopped=stopped)
    if progress is not None:
        progress("confirming", best.count)
    found = certificate_of(at, Restriction.of(at, dict(best.fixed)), best.cone, target, provenance)
    if found.c != 0:
        raise ResourceLimit(
            f"internal disagreement: the abstract run gives c = {found.c}, the search found 0; please report the model"
        )
    if stopped != "interrupted" and best.fixed and few_restrictions(at):
        optimum, smaller = by_enumeration(at, target, len(best.fixed), provenance | {"strategy": "enumeration"})
        found = smaller or found
        found = replace(found, provenance={**found.provenance, "optimum": optimum})
    return found
