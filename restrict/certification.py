"""Certification: choose a strategy, spend a budget, keep the best, confirm it with the abstract run.

The search (:mod:`restrict.force.search`) forces the output, so ``c = 0``; deletion makes the restriction minimal; for
``c > 0`` or a wanted free fraction :mod:`restrict.force.release` frees more. The certificate is written from a fresh
abstract run over kernels, never from the search's own facts.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from restrict.arguments import least_free, the_integer, the_share
from restrict.certificate.certificate import Certificate, certified
from restrict.deadline import OutOfTime, Progress
from restrict.errors import InternalError, NotEstablished, ResourceLimit, UsageError, quote
from restrict.force.cases import confirm
from restrict.force.image import is_wide
from restrict.force.inputs import by_inputs
from restrict.force.release import relax
from restrict.force.search import Best, Search
from restrict.model.alike import kinds_of
from restrict.model.program import Model
from restrict.optimum.descent import descend, descends
from restrict.optimum.enumeration import by_enumeration, few_restrictions, few_tables, fewest_fixed, least_depends
from restrict.restriction import Restriction
from restrict.task import Target, Task
from restrict.trial.certificate import try_certificate

if TYPE_CHECKING:
    from restrict.depth_reduction.theorem1 import Method

MANY_VARIABLES = 48
"""Programs of more variables are run on every word before they are searched, where there are few words. Their searches
take longest (imported programs have hundreds of variables), and the optimum is then known."""
MOST_FIXED = 2**30
"""More positions than any instance has."""


def certify(
    model: Model,
    n: int,
    *,
    target: Target = "last",
    c: int | None = None,
    free: float | Fraction | None = None,
    method: Method = "auto",
    seed: int = 0,
    time: float | None = None,
    restriction: Restriction | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Find a restriction under which the model's output depends on at most ``c`` inputs, and certify it.

    The cost is bounded by counts of work, some seconds at any length, or by ``time``. After Ctrl-C the best so far is
    returned, with ``provenance["stopped"] == "interrupted"``.

    Args:
        model: the program.
        n: its length, markers included.
        target: ``"last"``, or for a model with output at every position one position, or ``"all"`` of them at once
            (:func:`restrict.depth_reduction.theorem1.certify_all`; without ``c`` and ``free`` it keeps 0.9 free).
        c: how many free inputs the output may depend on (0 by default, for one position); the search then frees as
            many positions as it can.
        free: instead of ``c``, a fraction in [0, 1] of the positions that must stay free; the search then makes ``c``
            as small as it can.
        method: for the target ``"all"``, how it is searched for: ``"lemma"``, ``"exchange"``, ``"repeating"`` or
            ``"auto"``, the best of these.
        seed: 0 .. 2^63 - 1; the same seed gives the same certificate, byte for byte (without ``time``).
        time: seconds to go on improving; by default a fixed budget of work.
        restriction: certify this one instead of searching.
        progress: called with (what is being done, best number of fixed positions so far).

    Returns:
        The best certificate found.

    Raises:
        NotEstablished: nothing was found within the budget.
        UsageError: a bad argument.
        ModelError: the model is not defined at this length, or the trusted checker calls it malformed.
        ResourceLimit: the model is too deep for the search, or a map's range cannot be checked at this length.
        Disagreement: a run of the model contradicts the certificate, which is a bug.
    """
    task = Task.of(model, n, target=target, seed=seed, time=time, progress=progress)
    check_wish(c, free)
    found = _certificate(task, c, free, method, restriction)
    try_certificate(task.instance, found)
    return found


def _certificate(
    task: Task, c: int | None, free: float | Fraction | None, method: Method, restriction: Restriction | None
) -> Certificate:
    """The best certificate, before it is tried."""
    if restriction is not None:
        return _given(task, restriction)
    if task.position is None:  # tried there, too
        from restrict.depth_reduction.theorem1 import everywhere

        return everywhere(task, free=free, c=c, method=method).certificate
    if method != "auto":
        raise UsageError(f"method = {quote(method)} is for target='all'")
    found = force_output(task if not c and free is None else task.until(task.deadline.share(0.6)))
    if c and found.provenance.get("stopped") == "interrupted":
        return found  # one Ctrl-C ends all of the search; c = 0 meets any bound
    if c or (free is not None and found.free < least_free(len(task.instance.unpinned), free)):
        found = _released(task, found, c or 0, free)
    return found


def _released(task: Task, start: Certificate, c: int, free: float | Fraction | None) -> Certificate:
    """A certificate with more free positions, or a smaller c: by enumeration where that is quick, else by search.

    After Ctrl-C, and where the time is over, it is the best so far that meets the wish.
    """
    found = relax(task, start, c, free)
    if not few_tables(task.instance) or found.provenance.get("stopped") == "interrupted":
        return found
    noted = task.noting(strategy="enumeration")
    try:
        if free is None:
            return fewest_fixed(noted, c, len(found.restriction.fixed)) or found
        most = len(task.instance.unpinned) - least_free(len(task.instance.unpinned), free)
        return least_depends(noted, most, found.c) or found
    except OutOfTime:
        return found
    except KeyboardInterrupt:
        return _interrupted(found)


def _interrupted(found: Certificate) -> Certificate:
    """A certificate that Ctrl-C left as the best so far."""
    return replace(found, provenance={**found.provenance, "stopped": "interrupted"})


def check_wish(c: int | None, free: float | Fraction | None) -> None:
    """Refuse a bad bound on the dependencies, a bad free fraction, and both together.

    Raises:
        UsageError: a bad argument.
    """
    if c is not None:
        the_integer("c", c)
    if free is not None:
        the_share("free", free)
    if c is not None and free is not None:
        raise UsageError("give c or free, not both: c bounds the dependencies, free the free positions")


def _given(task: Task, restriction: Restriction) -> Certificate:
    """The certificate of a restriction that was given."""
    if not isinstance(restriction, Restriction):
        raise UsageError(f"expected a Restriction, not {quote(restriction)}; use Restriction.parse for text")
    if restriction.n != task.instance.n:
        raise UsageError(f"the restriction has {restriction.n} positions, not {task.instance.n}")
    return certified(task.noting(strategy="given restriction"), dict(restriction.fixed), "all")


def force_output(task: Task) -> Certificate:
    """Search for c = 0 and confirm the best that was found; its provenance says how the search ended.

    Raises:
        NotEstablished: nothing was found within the budget.
        ModelError: the trusted checker calls the model malformed.
        ResourceLimit: the model is too deep for the search.
        InternalError: the abstract run does not confirm what the search found.
    """
    known, optimum = _without_a_search(task)
    if known is not None and known.provenance["stopped"] == "interrupted":
        return known
    if known is not None and len(known.restriction.fixed) == optimum:
        return known
    if known is not None and is_wide(task.instance):
        return known if optimum is not None else _compared(task, known)
    try:
        best, stopped = _searched(task)
    except (NotEstablished, ResourceLimit, KeyboardInterrupt) as error:
        if known is None:
            raise
        stopped = "interrupted" if isinstance(error, KeyboardInterrupt) else "budget"
        return replace(known, provenance={**known.provenance, "stopped": stopped})
    assert best.fixed is not None
    task = task.noting(strategy="goal", stopped=stopped)
    task.tell("confirming", best.count)
    found = certified(task, dict(best.fixed), best.cone)
    if found.c != 0:
        raise InternalError(
            f"internal disagreement: the abstract run gives c = {found.c}, the search found 0; please report the model"
        )
    if known is not None and len(known.restriction.fixed) < len(best.fixed):
        found = replace(known, provenance={**known.provenance, "stopped": stopped})
    if optimum is not None:
        return _with_optimum(found, optimum)
    if stopped != "interrupted" and best.fixed:
        found = _compared(task, found)
    return found


def _without_a_search(task: Task) -> tuple[Certificate | None, int | None]:
    """For programs of many variables: the optimum by running every word, where these are few, and its certificate; else
    what random inputs give, with the optimum where only the checker's bounds keep it from a certificate."""
    if len(task.instance.model.variables) <= MANY_VARIABLES:
        return None, None
    found, optimum = _enumerated(task) if few_restrictions(task.instance) else (None, None)
    if found is None:
        cube, stopped = by_inputs(task)
        found = None if cube is None else confirm(task.noting(strategy="inputs", stopped=stopped), cube)
    return (found if found is None or optimum is None else _with_optimum(found, optimum)), optimum


def _enumerated(task: Task) -> tuple[Certificate | None, int | None]:
    """The optimum by running every word, and its certificate where the checker can confirm it; ``None`` for what is not
    known when the time is over."""
    task.tell("enumeration", len(task.instance.unpinned))
    try:
        optimum, found = by_enumeration(task.noting(strategy="enumeration", stopped="optimum"), MOST_FIXED)
    except OutOfTime:
        return None, None
    return found, optimum


def _with_optimum(found: Certificate, optimum: int) -> Certificate:
    """The certificate, with the optimum that enumeration gave."""
    return replace(found, provenance={**found.provenance, "optimum": optimum, "optimum_by": "enumeration"})


def _compared(task: Task, found: Certificate) -> Certificate:
    """The certificate that was found, or one with fewer fixed positions, with the optimum where it is known.

    Unchanged where the time is over, and after Ctrl-C.
    """
    fixed = len(found.restriction.fixed)
    try:
        if few_restrictions(task.instance):
            optimum, smaller = by_enumeration(task.noting(strategy="enumeration"), fixed)
            how = "enumeration"
        elif descends(task.instance):
            descent = descend(task.noting(strategy="hitting sets"), found.restriction.tokens(task.instance.model))
            optimum, smaller, how = descent.optimum, descent.certificate, "SAT"
        else:
            return found
    except OutOfTime:
        return found
    except KeyboardInterrupt:
        return _interrupted(found)
    found = smaller or found
    notes = {} if optimum is None else {"optimum": optimum, "optimum_by": how}
    return replace(found, provenance={**found.provenance, **notes})


def _searched(task: Task) -> tuple[Best, str]:
    """What the search found, and why it ended.

    Where the program cannot tell most of its symbols apart, the search uses only one symbol of each kind.
    """
    kinds, instance = kinds_of(task.instance.model), task.instance
    search = Search(task if kinds is None else replace(task, instance=kinds.model.at(instance.n)))
    stopped = "budget" if task.deadline.moment is None else "time"
    try:
        search.run()
    except KeyboardInterrupt:
        if search.best.fixed is None:
            raise
        stopped = "interrupted"
    except RecursionError:
        if search.best.fixed is None:
            raise ResourceLimit(
                f"{quote(instance.model.name)} is too deep for the search, which recurses once or twice a head on a "
                "path; raise Python's recursion limit (sys.setrecursionlimit)"
            ) from None
        stopped = "recursion limit"
    if search.best.fixed is None:
        raise NotEstablished(
            f"no restriction found that forces the output of {quote(instance.model.name)} at n = {instance.n} within "
            f"the budget; best found: the trivial one, which fixes all {instance.n} positions. "
            "Try another `seed`, a longer `time` or a smaller n"
        )
    best = search.best
    if kinds is not None and best.fixed is not None:
        best = replace(best, fixed={i: int(kinds.least[a]) for i, a in best.fixed.items()})
    return best, stopped
