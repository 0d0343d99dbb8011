"""Certification: a portfolio of strategies, run in order, the best certificate kept.

:data:`FORCED` is the portfolio for ``c = 0`` at one position, :data:`RELEASED` frees more for a wished ``c`` or free
share; all positions are for :mod:`restrict.depth_reduction.theorem1`. Each certificate is written from a fresh abstract
run over kernels, never from a search's own facts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from restrict.base.deadline import OutOfTime, Progress
from restrict.base.errors import NotEstablished, ResourceLimit, UsageError, quote
from restrict.certificate.certificate import Certificate, certified
from restrict.force.cases import confirm, forced
from restrict.force.image import is_wide
from restrict.force.inputs import by_inputs
from restrict.force.release import relax
from restrict.force.search import Best, GoalSearch
from restrict.kernels.shield import kept
from restrict.model.alike import kinds_of
from restrict.model.arguments import check_wish, least_free
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.model.task import Target, Task
from restrict.optimum.by_words import by_words, few_small, forced_by_sat
from restrict.optimum.descent import descend, descends
from restrict.optimum.enumeration import (
    by_enumeration,
    few_restrictions,
    few_tables,
    few_words,
    fewest_fixed,
    least_depends,
)
from restrict.trial.certificate import try_certificate

if TYPE_CHECKING:
    from restrict.depth_reduction.theorem1 import Method

MANY_VARIABLES = 48
"""Programs of more variables are run on every word before they are searched, where there are few words. Their searches
take longest (imported programs have hundreds of variables), and the optimum is then known."""
MOST_FIXED = 2**30
"""More positions than any instance has."""


@dataclass(frozen=True)
class Standing:
    """What is known while strategies go on: the ``best`` certificate, the fewest positions that any restriction fixes
    (``optimum``; ``at_least`` where words are known to refute all smaller ones, ``left`` those of this size that they
    do not refute; ``None`` while unknown), and whether nothing is left to do (``over``). ``c`` and ``free`` are the
    wish, for strategies that release positions, and ``searched`` whether these have searched."""

    task: Task
    best: Certificate | None = None
    optimum: int | None = None
    optimum_by: str = ""
    at_least: int | None = None
    left: tuple[dict[int, int], ...] = ()
    over: bool = False
    c: int = 0
    free: float | Fraction | None = None
    searched: bool = False

    @property
    def certificate(self) -> Certificate:
        """The best certificate, once there is one."""
        assert self.best is not None
        return self.best

    @property
    def fixed(self) -> int:
        """How many positions the best certificate fixes."""
        return MOST_FIXED if self.best is None else len(self.best.restriction.fixed)

    def noting(self, **notes: object) -> Standing:
        """What is known, with notes on the best certificate's provenance."""
        best = self.certificate
        return replace(self, best=replace(best, provenance={**best.provenance, **notes}))

    def ended(self) -> bool:
        """Whether Ctrl-C, a proof of the optimum, or a strategy has ended the portfolio."""
        stopped = self.best is not None and self.best.provenance.get("stopped") == "interrupted"
        return self.over or stopped or self.fixed in (self.optimum, self.at_least)


class Strategy(NamedTuple):
    """One strategy: when it is worth its work, and how it improves what is known. It may raise ``OutOfTime`` and
    ``KeyboardInterrupt``; what is known then stays."""

    name: str
    applies: Callable[[Standing], bool]
    improved: Callable[[Standing], Standing]


def run(standing: Standing, portfolio: tuple[Strategy, ...]) -> Standing:
    """Run the strategies that apply, in order, until nothing is left to do; Ctrl-C ends all of them."""
    for strategy in portfolio:
        if not strategy.applies(standing):
            continue
        try:
            standing = strategy.improved(standing)
        except OutOfTime:
            continue
        except KeyboardInterrupt:
            if standing.best is None:
                raise
            return standing.noting(stopped="interrupted")
        if standing.ended():
            break
    return standing


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
    _, late = kept(lambda: try_certificate(task.instance, found))
    return replace(found, provenance={**found.provenance, "stopped": "interrupted"}) if late else found


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
        return released(task, found, c or 0, free)
    return found


def released(task: Task, start: Certificate, c: int, free: float | Fraction | None = None) -> Certificate:
    """The best certificate for a wished ``c`` or free share that the portfolio :data:`RELEASED` finds from one for
    ``c = 0``."""
    return run(Standing(task, start, c=c, free=free), RELEASED).certificate


def _given(task: Task, restriction: Restriction) -> Certificate:
    """The certificate of a restriction that was given."""
    if not isinstance(restriction, Restriction):
        raise UsageError(f"expected a Restriction, not {quote(restriction)}; use Restriction.parse for text")
    if restriction.n != task.instance.n:
        raise UsageError(f"the restriction has {restriction.n} positions, not {task.instance.n}")
    return certified(task.noting(strategy="given restriction"), dict(restriction.fixed), "all")


def force_output(task: Task) -> Certificate:
    """The best certificate for c = 0 that the portfolio :data:`FORCED` finds; its provenance says how it ended.
    ``NotEstablished``: nothing was found within the budget; ``ModelError``: the checker calls the model malformed;
    ``ResourceLimit``: it is too deep for the search; ``InternalError``: the abstract run does not confirm what was
    found."""
    standing = run(Standing(task), FORCED)
    if standing.optimum is not None:
        standing = standing.noting(optimum=standing.optimum, optimum_by=standing.optimum_by)
    elif standing.at_least == standing.fixed:
        standing = standing.noting(optimum=standing.fixed, optimum_by="words")
    elif standing.at_least:
        standing = standing.noting(optimum_at_least=standing.at_least)
    return standing.certificate  # the search raises where it finds nothing


def _searched(task: Task) -> tuple[Best, str]:
    """What the search found, and why it ended. Where the program cannot tell most of its symbols apart, the search uses
    only one symbol of each kind."""
    kinds, instance = kinds_of(task.instance.model), task.instance
    search = GoalSearch(task if kinds is None else replace(task, instance=kinds.model.at(instance.n)))
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


def _with_half(task: Task) -> Task:
    """The task with half of the time that is left: the other half is for a search."""
    return task.until(task.deadline.share(0.5))


def _by_words(standing: Standing) -> Standing:
    """The optimum by running every word, and its certificate where the checker can confirm it."""
    task = _with_half(standing.task).noting(strategy="enumeration", stopped="optimum")
    task.tell("enumeration", len(task.instance.unpinned))
    (optimum, found), late = kept(lambda: by_enumeration(task))
    if late and found is None:
        raise KeyboardInterrupt
    standing = replace(standing, best=found, optimum=optimum, optimum_by="enumeration")
    return standing.noting(stopped="interrupted") if late else standing


def _by_some_words(standing: Standing) -> Standing:
    """Few positions that random words do not refute; what they do refute is a lower bound."""
    least, found, left = by_words(standing.task.noting(strategy="words", stopped="budget"))
    return replace(standing, best=found, at_least=least, left=tuple(left))


def _by_sat(standing: Standing) -> Standing:
    """The optimum where a restriction that words do not refute forces the output; else one position more is needed."""
    assert standing.at_least is not None
    try:
        forced = forced_by_sat(standing.task, list(standing.left))
    except ResourceLimit:
        return standing
    if forced:
        return replace(standing, optimum=standing.at_least, optimum_by="SAT")
    return replace(standing, at_least=standing.at_least + 1)


def _by_inputs(standing: Standing) -> Standing:
    """What random inputs give."""
    cube, stopped = by_inputs(standing.task)
    task = standing.task.noting(strategy="inputs", stopped=stopped)
    found, late = (None, False) if cube is None else kept(lambda: confirm(task, cube))
    standing = replace(standing, best=found)
    return standing.noting(stopped="interrupted") if late and found is not None else standing


def _by_search(standing: Standing) -> Standing:
    """The search from the output backwards; where it fails, what is known is the end of it."""
    task = standing.task
    try:
        best, stopped = _searched(task)
    except (NotEstablished, ResourceLimit):
        if standing.best is None:
            raise
        return replace(standing.noting(stopped="budget"), over=True)
    assert best.fixed is not None
    task = task.noting(strategy="goal", stopped=stopped)
    task.tell("confirming", best.count)
    found, late = kept(lambda: forced(task, dict(best.fixed or {}), best.cone))
    if standing.fixed >= len(best.fixed):
        standing = replace(standing, best=found)
    standing = replace(standing.noting(stopped=stopped), task=task)
    return standing.noting(stopped="interrupted") if late else standing


def _by_hitting_sets(standing: Standing) -> Standing:
    """Fewer positions, and the optimum where it is proved, by SAT."""
    known = standing.certificate.restriction.tokens(standing.task.instance.model)
    found = descend(standing.task.noting(strategy="hitting sets"), known)
    return replace(standing, best=found.certificate or standing.best, optimum=found.optimum, optimum_by="SAT")


def _by_releases(standing: Standing) -> Standing:
    """More free positions, or a smaller c, by search."""
    found = relax(standing.task, standing.certificate, standing.c, standing.free)
    return replace(standing, best=found, searched=True)


def _by_tables(standing: Standing) -> Standing:
    """More free positions, or a smaller c, by enumeration: the best of all restrictions, where the checker can confirm
    it; after the search any that is better than what that found."""
    noted, size = _with_half(standing.task).noting(strategy="enumeration"), len(standing.task.instance.unpinned)
    if standing.free is None:
        found, over = fewest_fixed(noted, standing.c, standing.fixed if standing.searched else None)
    else:
        most = size - least_free(size, standing.free)
        found, over = least_depends(noted, most, standing.certificate.c if standing.searched else None)
    return replace(standing, best=found or standing.best, over=over)


def _many(standing: Standing) -> bool:
    return len(standing.task.instance.model.variables) > MANY_VARIABLES


def _few_words(standing: Standing) -> bool:
    return few_words(standing.task.instance, standing.task.one_position("an optimum"))


def _open(standing: Standing) -> bool:
    return standing.optimum is None and standing.fixed > 0


FORCED = (
    Strategy("every word", lambda s: few_restrictions(s.task.instance) or (_many(s) and _few_words(s)), _by_words),
    Strategy("some words", lambda s: _many(s) and not _few_words(s) and few_small(s.task.instance), _by_some_words),
    Strategy("random inputs", lambda s: _many(s) and s.best is None, _by_inputs),
    Strategy("search", lambda s: s.best is None or not is_wide(s.task.instance), _by_search),
    Strategy("what words leave", lambda s: _open(s) and bool(s.left), _by_sat),
    Strategy(
        "hitting sets",
        lambda s: _open(s) and not few_restrictions(s.task.instance) and descends(s.task.instance),
        _by_hitting_sets,
    ),
)
"""For ``c = 0``. Where there are few restrictions, every word is run first: that takes less than a search, and gives
the optimum. Programs of many variables are run on words, too, since their searches take longest; and wide ones of them
are not searched where a certificate is known."""
RELEASED = (
    Strategy("best table", lambda s: few_tables(s.task.instance) and not s.ended(), _by_tables),
    Strategy("releases", lambda _: True, _by_releases),
    Strategy("every table", lambda s: few_tables(s.task.instance), _by_tables),
)
"""For a wished ``c`` or free share, from a certificate for ``c = 0``."""
