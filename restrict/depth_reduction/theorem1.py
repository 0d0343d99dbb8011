"""Theorem 1 of Hahn (2020) for every position at once: remove all layers, one after the other (``--target all``).

Three methods find a restriction:

- ``lemma`` (:mod:`restrict.depth_reduction.lemma.by_lemma`): the Depth Reduction Lemma itself, Stage 1 to 3 per layer;
- ``exchange`` (:mod:`restrict.depth_reduction.ours.by_exchange`): each layer captured on the real objective;
- ``repeating`` (:mod:`restrict.depth_reduction.ours.repeating`): where no score mentions the query's position there is
  a shorter way, to any length: a restriction that repeats.

``auto`` takes ``repeating`` where it can, else ``exchange``. Given c instead of a free share, the share is bisected,
and what misses c is repaired (:mod:`restrict.depth_reduction.ours.repair`).

Nothing here is trusted: the certificate's claim is computed from the layers collapsed under the restriction found, and
the checker recomputes it for every position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

from restrict.abstract.all_positions import supported
from restrict.base.arrays import I64
from restrict.base.deadline import OutOfTime, Progress
from restrict.base.errors import NotEstablished, UsageError, quote
from restrict.base.options import Fact
from restrict.certificate.certificate import Certificate
from restrict.certificate.outline import Claim
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.c_transformer.layers import LayerTrace, collapsed, layer_traces
from restrict.depth_reduction.options import THEOREM
from restrict.depth_reduction.ours.by_exchange import by_exchange, choose_schedule
from restrict.depth_reduction.ours.repair import freed, repaired
from restrict.depth_reduction.ours.repeating import periodic
from restrict.kernels.shield import kept
from restrict.model.arguments import SEEDS, check_wish, least_free, the_integer, the_share
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.model.task import Task

if TYPE_CHECKING:
    from restrict.depth_reduction.lemma.lemma4 import Reduction
from restrict.trial.certificate import try_certificate

Method = Literal["auto", "lemma", "exchange", "repeating"]
METHODS: tuple[str, ...] = get_args(Method)
DEFAULT_FREE: Fact[float] = 0.9
"""The fraction that stays free where neither it nor c is given."""


@dataclass(frozen=True, eq=False)
class Everywhere:
    """What was found for all positions.

    Attributes:
        certificate: the certificate.
        method: the one that found it: "lemma", "exchange" or "repeating".
        how: the split of the inputs and other choices, or the pattern that repeats, as text.
        trace: per layer what is left under the restriction, as measured; empty where the restriction repeats.
        stages: by the lemma, per layer what Stages 1, 2 and 3 did, with their bounds.
        dependencies: how many inputs each position's label depends on (certified bounds), shape (n,).
    """

    certificate: Certificate
    method: str
    how: str
    trace: tuple[LayerTrace, ...]
    stages: tuple[Reduction, ...] = field(repr=False)
    dependencies: I64 = field(repr=False)

    @property
    def mean(self) -> float:
        """The mean number of inputs that a position's label depends on."""
        return float(self.dependencies.mean())

    @property
    def worth(self) -> tuple[int, float]:
        """The greatest and the mean number of dependencies: at the same free share, smaller is better."""
        return self.certificate.c, self.mean

    def text(self, trace: bool = False) -> str:
        """How it was found, in words.

        Args:
            trace: with the stages of the lemma beside their bounds, and the layers as in the paper's Figure 1.

        Returns:
            Lines.
        """
        out = [f"  method  {self.method}"]
        if not trace:
            return out[0]
        out.append(f"  how     {self.how}")
        out.append(f"  mean    {self.mean:.1f} (certified bounds on the dependencies, mean over the positions)")
        for layer, step in enumerate(self.stages, 1):
            out += step.lines(layer)
        if self.trace:
            out.append("layer  heads  captured  constant  values  dependencies: mean   99 %    max  fixed for it")
            out += [layer.line() for layer in self.trace]
        return "\n".join(out)

    def document(self) -> dict[str, Any]:
        """How it was found, as JSON.

        Returns:
            An object.
        """
        stages = [step.document() for step in self.stages]
        return {"method": self.method, "mean": self.mean, "trace": [vars(t) for t in self.trace], "stages": stages}

    def __repr__(self) -> str:
        return f"Everywhere({self.certificate!r}, mean={self.mean:.1f}, by {self.method})"


@dataclass
class BestEverywhere:
    """The best answer ``found`` so far, and the one ``nearest`` to ``c`` of those that miss it (``c``: ``None`` where
    the free share is given); both are kept after Ctrl-C and at the deadline. ``doing``: what was done last."""

    c: int | None
    found: Everywhere | None = None
    nearest: Everywhere | None = None
    doing: str = "the start"

    def offer(self, found: Everywhere) -> None:
        """Keep an answer if it is the best."""
        if self.c is not None and found.certificate.c > self.c:
            if self.nearest is None or found.worth < self.nearest.worth:
                self.nearest = found
        elif self.found is None or self._order(found) < self._order(self.found):
            self.found = found

    def _order(self, found: Everywhere) -> tuple[int, int, float]:
        """What is least of the best answer: where c is given, the most free positions come first."""
        return 0 if self.c is None else -found.certificate.free, *found.worth


def certify_all(
    model: Model, n: int, *, free: float | Fraction | None = None, c: int | None = None, method: Method = "auto",
    seed: int = 0, time: float | None = None, progress: Progress | None = None,
) -> Everywhere:  # fmt: skip
    """A restriction under which the label at *every* position depends on few inputs, with its certificate.

    After Ctrl-C the best so far is returned, with ``provenance["stopped"] == "interrupted"``.

    Args:
        model: a program with output at every position.
        n: its length, markers included.
        free: the fraction of the positions that stays free (default 0.9); c is made as small as the search can.
        c: instead, the most inputs that a label may depend on (0: every label is forced); as many positions as the
            search can stay free.
        method: "auto", "lemma", "exchange" or "repeating".
        seed: 0 .. 2^63 - 1; same seed, same certificate (without ``time``).
        time: seconds; the search ends soon after, or goes on improving until then.
        progress: called with (what is being done, best number of fixed positions so far).

    Returns:
        The best found. Cost: a few scans of all score pairs; memory for the lists, and at most n^2 / 8 bytes per
            variable, where nearly every position depends on nearly every input.

    Raises:
        UsageError: a bad argument, or ``method="repeating"`` for a model that it is not for.
        NotEstablished: no restriction that repeats was found (``method="repeating"``), or none at all in the time.
        ModelError: the model is not defined at this length.
        ResourceLimit: n, the sets of inputs or the candidate lists are too large; or SAT is out of time.
    """
    task = Task.of(model, n, target="all", seed=seed, time=time, progress=progress)
    return everywhere(task, free=free, c=c, method=method)


def everywhere(
    task: Task, *, free: float | Fraction | None = None, c: int | None = None, method: Method = "auto"
) -> Everywhere:
    """:func:`certify_all` for a task, with the target all, that is already made; its errors."""
    if task.position is not None:
        raise UsageError("certify_all is for the target all")
    if method not in METHODS:
        raise UsageError(f"method = {quote(method)} is none of {', '.join(METHODS)}")
    check_wish(c, free)
    wanted = None if c is None else the_integer("c", c)
    share = float(the_share("free", DEFAULT_FREE if free is None else free))
    best, stopped = BestEverywhere(wanted), "budget" if task.deadline.moment is None else "time"
    told = task.progress

    def tell(what: str, fixed: int | None) -> None:
        best.doing = what
        if told is not None:
            told(what, fixed)

    try:
        with suppress(OutOfTime):
            _search(replace(task, progress=tell), best, share, method)
    except KeyboardInterrupt:
        if best.found is None:
            raise
        stopped = "interrupted"
    if best.found is None:
        raise NotEstablished(_nothing(best))
    found = best.found.certificate
    _, late = kept(lambda: try_certificate(task.instance, found))
    provenance = {"stopped": stopped, **found.provenance} | ({"stopped": "interrupted"} if late else {})
    return replace(best.found, certificate=replace(found, provenance=provenance))


def _nothing(best: BestEverywhere) -> str:
    """Why there is no answer."""
    what = "no restriction found under which every label depends on "
    what += "fewer inputs than are free" if best.c is None else f"at most {best.c} inputs"
    if best.nearest is None:
        return f"{what} in the time given, which was over in: {best.doing}; allow more --time"
    nearest = best.nearest.certificate
    return f"{what}; the least found is c = {nearest.c} with {nearest.free} positions free"


def _search(task: Task, best: BestEverywhere, share: float, method: Method) -> None:
    """Offer to ``best`` what the method finds."""
    if method == "repeating" or (method == "auto" and supported(task.instance)):
        try:
            best.offer(_repeating(task, best.c, share))
            return
        except NotEstablished:
            if method == "repeating":
                raise
    if best.c is None:
        _at_share(task, best, share, method)
    else:
        _at_c(task, best, best.c, method)


def _repeating(task: Task, c: int | None, share: float) -> Everywhere:
    """A restriction that repeats, at any length."""
    instance = task.instance
    if not supported(instance):
        raise UsageError(
            f"method repeating is for programs none of whose scores mentions the query's position, and "
            f"{quote(instance.model.name)} is not one: use lemma or exchange"
        )
    wanted = None if c is not None else least_free(len(task.instance.unpinned), share)
    found = periodic(task, c=c, free=wanted)
    text, depends = found.pattern.text(instance.model.alphabet), found.dependencies
    claim = Claim(found.restriction.free, int(depends.max(initial=0)), None, None)
    task = task.noting(stopped="interrupted") if found.interrupted else task
    certificate = _certificate(task, found.restriction, claim, "repeating", text)
    return Everywhere(certificate, "repeating", text, (), (), depends)


def _certificate(task: Task, rho: Restriction, claim: Claim, method: str, how: str) -> Certificate:
    model, name = task.instance.model, f"{method}: {how}" if method == "repeating" else f"depth reduction: {how}"
    provenance = task.noting(strategy=name, method=method).provenance
    return Certificate(model.name, model.digest, task.instance.n, "all", rho, "all", claim, provenance)


# ---------------------------------------------------------------- the layers, one after the other


def _at_share(task: Task, best: BestEverywhere, share: float, method: Method) -> None:
    """One run after another, each with another seed, until the deadline; a single run where there is none."""
    run = _runner(task, share, method)
    turn = 0
    while turn == 0 or (task.deadline.moment is not None and not task.deadline.passed):
        best.offer(run(task, (task.seed + turn) % SEEDS))
        assert best.found is not None
        known, turn = best.found.certificate, turn + 1
        task.tell(f"every label depends on at most {known.c} inputs", len(known.restriction.fixed))


def _at_c(task: Task, best: BestEverywhere, c: int, method: Method) -> None:
    """The largest free share with at most ``c`` dependencies: bisected, then repaired from what misses c."""
    low, high, missed = 0, THEOREM.parts, list[Everywhere]()
    while high - low > 1 and not (task.deadline.passed and (best.found or best.nearest)):
        middle = (low + high) // 2
        steps = (high - low).bit_length() + 1  # of the bisection that are left, and the repair
        part = task.until(task.deadline.share(1 / steps))
        try:
            found = _runner(part, middle / THEOREM.parts, method)(part, task.seed)
        except OutOfTime:  # more fixed inputs make shorter lists
            if task.deadline.passed:
                raise
            high = middle
            continue
        best.offer(found)
        if found.certificate.c <= c:
            low = middle
        else:
            high = middle
            missed.append(found)

    def changed(found: Everywhere, rho: Restriction, how: str) -> Everywhere:
        """With the share and the seed of the turn that the answer comes from."""
        notes = {note: found.certificate.provenance[note] for note in ("share", "seed")}
        return _measured(task.noting(**notes), rho, found.method, f"{found.how}{how}", (), found.stages)

    for found in sorted(missed, key=lambda one: one.worth):
        rho = found.certificate.restriction
        fixed = repaired(task, collapsed(task.instance, rho, task.deadline.later(THEOREM.grace))[-1], c)
        if best.found is None or fixed.free > best.found.certificate.free:
            best.offer(changed(found, fixed, "; repaired"))
        if task.deadline.passed:
            break
    if best.found is not None and best.found.how.endswith("repaired"):
        best.offer(changed(best.found, freed(task, best.found.certificate.restriction, c), " and freed"))


def _runner(task: Task, share: float, method: Method) -> Callable[[Task, int], Everywhere]:
    """One turn at a share: a function of the task, whose deadline it keeps, and a seed."""
    instance, budget = task.instance, len(task.instance.unpinned) - least_free(len(task.instance.unpinned), share)
    start = CTransformer.of_model(instance).until(task.deadline.later(THEOREM.grace))
    # With these the same turn can be run again: a certificate alone does not say how much it was allowed to fix.
    notes, first = {"share": str(share)}, task.seed
    if method == "lemma":
        from restrict.depth_reduction.lemma.by_lemma import by_lemma

        def run(task: Task, seed: int) -> Everywhere:
            found = by_lemma(task.until(task.deadline.share(THEOREM.searching)), start, budget, seed)
            told = task.noting(**notes, seed=seed)
            return _measured(told, found.restriction, "lemma", found.text(), found.fixed, found.layers)
    else:
        schedule, known = choose_schedule(task, budget)

        def run(task: Task, seed: int) -> Everywhere:
            found = known if known is not None and seed == first else by_exchange(task, start, schedule, budget, seed)
            return _told(task.noting(**notes, seed=seed), found.stages, "exchange", found.text(), found.fixed, ())

    return run


def _measured(
    task: Task, rho: Restriction, method: str, how: str, fixed: tuple[int, ...], stages: tuple[Reduction, ...]
) -> Everywhere:
    """The certificate from a fresh collapse under the restriction, with the trace."""
    return _told(task, collapsed(task.instance, rho, task.deadline.later(THEOREM.grace)), method, how, fixed, stages)


def _told(
    task: Task, layers: Sequence[CTransformer], method: str, how: str, fixed: tuple[int, ...],
    stages: tuple[Reduction, ...],
) -> Everywhere:  # fmt: skip
    """The certificate from the layers under the restriction found, with the trace."""
    rho = layers[-1].restriction
    depends = layers[-1].output_depends()
    claim = Claim(rho.free, int(depends.max(initial=0)), None, None)
    certificate = _certificate(task, rho, claim, method, how)
    return Everywhere(certificate, method, how, layer_traces(layers, fixed), stages, depends)
