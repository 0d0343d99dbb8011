"""Theorem 1 of Hahn (2020) for every position at once: remove all layers, one after the other (``--target all``).

Each layer is captured (:mod:`restrict.depth_reduction.capture`) with a part of the inputs that may be fixed, then
collapsed (:class:`restrict.depth_reduction.ctransformer.CTransformer`); layers below the last one are pressed for many
constant and cheap activations, which are what the next layer's heads are captured with. How the inputs are split over
the layers, and what each layer is pressed for, is chosen by measuring candidates, at a shorter length where the model
is defined there.

Where no score mentions the query's position there is a shorter way, to any length: a restriction that repeats
(:mod:`restrict.depth_reduction.repeating`).

Nothing here is trusted: the certificate's claim is computed from a fresh collapse under the restriction found, and the
checker recomputes it for every position.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from restrict.abstract.all_positions import supported
from restrict.arguments import least_free
from restrict.certificate.certificate import Certificate, Claim
from restrict.depth_reduction.activations import Attended
from restrict.depth_reduction.capture import Aim, capture
from restrict.depth_reduction.ctransformer import CTransformer
from restrict.depth_reduction.repeating import periodic
from restrict.errors import NotEstablished, RestrictError, UsageError
from restrict.model.program import Instance
from restrict.restriction import Restriction
from restrict.task import position_of
from restrict.version import __version__

Progress = Callable[[str, int | None], None]
MEASURE_AT = 1200
"""Candidates are measured at this length, where n is longer."""
DEFAULT_PLAN = 4
"""The candidate that is taken unmeasured where n is long and the model is not defined at a shorter length."""
STEPS = 9000
"""Exchange steps per search at n = 10 000 (in proportion below, never fewer than 1000)."""


@dataclass(frozen=True)
class Plan:
    """How one run spends its inputs: ``shares[l]`` of what is left goes to layer ``l``, pressed for ``aims[l]``."""

    shares: tuple[float, ...]
    aims: tuple[Aim, ...]
    power: float = 8.0

    def text(self) -> str:
        """For provenance and traces."""
        parts = [f"{share:.2f} {aim.kind} {aim.tau:g}" for share, aim in zip(self.shares, self.aims, strict=True)]
        return "; ".join(parts)


@dataclass(frozen=True)
class LayerTrace:
    """One layer of the paper's Figure 1, under the final restriction.

    ``heads`` of the layer, of them ``captured`` (their lists end at a constant key for every query value), ``constant``
    (one value whatever the input); dependencies of the layer's activations: mean, 99 %, max; values per activation;
    ``fixed``: inputs that were fixed for this layer.
    """

    layer: int
    heads: int
    captured: int
    constant: int
    mean: float
    quantile: float
    most: int
    values: float
    fixed: int


@dataclass(frozen=True, eq=False)
class Everywhere:
    """What :func:`certify_all` found: the certificate, the trace, and how many inputs each label depends on.

    Without a plan the restriction repeats (:mod:`restrict.depth_reduction.repeating`), and no layers were removed one
    by one.
    """

    certificate: Certificate
    trace: tuple[LayerTrace, ...]
    dependencies: np.ndarray[Any, np.dtype[np.int64]] = field(repr=False)
    plan: Plan | None

    @property
    def mean(self) -> float:
        """The mean number of inputs that a position's label depends on."""
        return float(self.dependencies.mean())

    def lines(self) -> str:
        """The layers as a table, or what repeats."""
        if self.plan is None:
            return f"  {self.certificate.provenance['strategy']}"
        title = "layer  heads  captured  constant  values  dependencies: mean   99 %    max  fixed for it"
        rows = [
            f"{t.layer:>5}  {t.heads:>5}  {t.captured:>8}  {t.constant:>8}  {t.values:>6.2f}  {t.mean:>18.1f}"
            f"  {t.quantile:>5.0f}  {t.most:>5}  {t.fixed:>12}"
            for t in self.trace
        ]
        return "\n".join([title, *rows])

    def __repr__(self) -> str:
        return f"Everywhere({self.certificate!r}, mean={self.mean:.1f})"


def certify_all(
    instance: Instance, *, free: float | None = None, c: int | None = None, seed: int = 0, time: float | None = None,
    progress: Progress | None = None,
) -> Everywhere:  # fmt: skip
    """A restriction under which the label at *every* position depends on few inputs, with its certificate.

    Arguments:
        at: a model with output at every position, at one length.
        free: the fraction of the positions that stays free (default 0.9); c is made as small as the search can.
        c: instead, the most inputs that a label may depend on; as many positions as the search can stay free.
        seed: same seed, same certificate (without ``time``); time: seconds to go on improving.

    Raises :class:`UsageError` for bad input, :class:`NotEstablished` where ``c`` cannot be reached, with the least c
    found. Cost: a few scans of all score pairs; memory: about n^2 / 8 bytes per variable.
    """
    if position_of(instance, "all") is not None:
        raise UsageError("certify_all is for the target all")
    if supported(instance):
        with suppress(NotEstablished):
            return _repeating(instance, free, c, seed, progress)
    deadline = None if time is None else clock.monotonic() + time
    if c is None:
        return _for_share(instance, 0.9 if free is None else free, seed, deadline, progress)
    return _for_c(instance, c, seed, deadline, progress)


def _repeating(
    instance: Instance, free: float | None, c: int | None, seed: int, progress: Progress | None
) -> Everywhere:
    """Where no score mentions the query's position: a restriction that repeats, at any length."""
    wanted = None if c is not None else least_free(len(instance.unpinned), 0.9 if free is None else free)
    pattern, rho, depends = periodic(instance, c=c, free=wanted, seed=seed, progress=progress)
    claim = Claim(rho.free, int(depends.max(initial=0)), None, None)
    strategy = f"repeating: {pattern.text(instance.model.alphabet)}"
    provenance = {"engine": __version__, "seed": seed, "strategy": strategy}
    certificate = Certificate(
        instance.model.name, instance.model.digest, instance.n, "all", rho, "all", claim, provenance
    )
    return Everywhere(certificate, (), depends, None)


def _for_c(instance: Instance, c: int, seed: int, deadline: float | None, progress: Progress | None) -> Everywhere:
    """The largest free share, to one in 64, whose certificate has at most ``c`` dependencies."""
    best, least, low, high = None, None, 0, 64
    while high - low > 1:
        middle = (low + high) // 2
        found = _for_share(instance, middle / 64, seed, deadline, progress)
        least = found if least is None or found.certificate.c < least.certificate.c else least
        best, low, high = (found, middle, high) if found.certificate.c <= c else (best, low, middle)
    if best is None:
        assert least is not None
        raise NotEstablished(
            f"no restriction found under which every label depends on at most {c} inputs; "
            f"the least found is c = {least.certificate.c} with {least.certificate.free} positions free"
        )
    return best


def _for_share(
    instance: Instance, free: float, seed: int, deadline: float | None, progress: Progress | None
) -> Everywhere:
    budget = instance.n - len(instance.pinned) - least_free(len(instance.unpinned), free)
    start = CTransformer.of_model(instance)
    plan = choose_plan(instance, free, seed, progress)
    best: Everywhere | None = None
    turn, stopped = 0, "budget" if deadline is None else "time"
    while best is None or (deadline is not None and clock.monotonic() < deadline):
        try:
            restriction, spent = spend(start, plan, budget, seed + turn, deadline if turn else None, progress)
            found = _certified(instance, restriction, plan, spent, seed, stopped)
        except KeyboardInterrupt:
            if best is None:
                raise
            provenance = {**best.certificate.provenance, "stopped": "interrupted"}
            return replace(best, certificate=replace(best.certificate, provenance=provenance))
        if best is None or (found.certificate.c, found.mean) < (best.certificate.c, best.mean):
            best = found
        if progress is not None:
            progress(
                f"every label depends on at most {best.certificate.c} inputs", len(best.certificate.restriction.fixed)
            )
        turn += 1
    return best


# ---------------------------------------------------------------- spending the budget


def spend(
    start: CTransformer, plan: Plan, budget: int, seed: int, deadline: float | None, progress: Progress | None
) -> tuple[Restriction, list[int]]:
    """Capture and collapse layer after layer; the restriction, and how many inputs each layer took."""
    t, spent, left = start, [], budget
    for layer, (share, aim) in enumerate(zip(plan.shares, plan.aims, strict=True), 1):
        if progress is not None:
            progress(f"layer {layer}", None)
        steps = max(1000, STEPS * t.n // 10_000)
        before = len(t.restriction.fixed)
        rho = capture(
            t, round(share * left), aim, seed=seed, steps=steps, power=plan.power, deadline=deadline, progress=progress
        )
        spent.append(len(rho.fixed) - before)
        left -= spent[-1]
        t = t.restrict(rho)
        if layer < len(plan.shares):
            t = t.collapse()
    return t.restriction, spent


def plans(layers: int) -> Iterator[Plan]:
    """Candidates: for one layer what to press is known; for more, the split and the aim below the last layer."""
    last = Aim("long", 20.0)
    if layers <= 1:
        yield Plan((1.0,) * layers, (last,) * layers)
        return
    for first in (0.35, 0.5, 0.65, 0.8):
        for below in (Aim("short", 3.0), Aim("long", 10.0)):
            shares = [first if layer == 0 else 0.6 for layer in range(layers - 1)]
            yield Plan((*shares, 1.0), (*(below for _ in shares), last))


def choose_plan(instance: Instance, free: float, seed: int, progress: Progress | None) -> Plan:
    """The plan with the least maximum, measured at a shorter length where there is one at which the model is
    defined."""
    short = instance
    if instance.n > MEASURE_AT:
        try:
            short = instance.model.at(MEASURE_AT)
        except RestrictError:
            short = instance
    start = CTransformer.of_model(short)
    candidates = list(plans(start.layers))
    if len(candidates) == 1:
        return candidates[0]
    if short.n > 2 * MEASURE_AT:  # measuring would cost more than it gains
        return candidates[DEFAULT_PLAN]
    budget = short.n - len(short.pinned) - least_free(len(short.unpinned), free)
    measured = []
    for index, plan in enumerate(candidates):
        if progress is not None:
            progress(f"measuring plan {index + 1} of {len(candidates)}", None)
        restriction, _ = spend(start, plan, budget, seed, None, None)
        depends = _collapsed(short, restriction)[-1].output_depends()
        measured.append((int(depends.max(initial=0)), float(depends.mean()), index))
    return candidates[min(measured)[2]]


# ---------------------------------------------------------------- certifying


def _collapsed(instance: Instance, restriction: Restriction) -> list[CTransformer]:
    """The c-transformers of all layers under one restriction, from the program itself to no layers."""
    out = [CTransformer.of_model(instance, None, restriction)]
    while out[-1].layers:
        out.append(out[-1].collapse())
    return out


def _certified(
    instance: Instance, restriction: Restriction, plan: Plan, spent: list[int], seed: int, stopped: str
) -> Everywhere:
    stages = _collapsed(instance, restriction)
    depends = stages[-1].output_depends()
    claim = Claim(restriction.free, int(depends.max(initial=0)), None, None)
    provenance = {
        "engine": __version__, "seed": seed, "strategy": f"depth reduction: {plan.text()}", "stopped": stopped
    }  # fmt: skip
    certificate = Certificate(
        instance.model.name, instance.model.digest, instance.n, "all", restriction, "all", claim, provenance
    )
    trace = tuple(_trace(layer, *pair, spent) for layer, pair in enumerate(pairwise(stages), 1))
    return Everywhere(certificate, trace, depends, plan)


def _trace(layer: int, below: CTransformer, above: CTransformer, spent: list[int]) -> LayerTrace:
    captured, constant = 0, 0
    for head in below.heads:
        activation = above.base[head.name]
        constant += int(np.count_nonzero(activation.sizes == 1))
        captured += int(np.count_nonzero(_cut(below, above, head.name)))
    sizes = [above.base[name].sizes for name in above.live if above.depth[name] == 0 and name not in below.base]
    degrees = above.degrees
    return LayerTrace(
        layer, len(below.heads) * below.n, captured, constant, float(degrees.mean()), float(np.quantile(degrees, 0.99)),
        int(degrees.max(initial=0)), float(np.mean(sizes)) if sizes else 1.0,
        spent[layer - 1] if layer <= len(spent) else 0,
    )  # fmt: skip


def _cut(below: CTransformer, above: CTransformer, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """(n,): whether every list of the head at the position ends at a constant key (or it sees nothing)."""
    source = above.base[name].source
    assert isinstance(source, Attended)
    lists = source.lists
    if source.key is None:
        return np.ones(below.n, bool)
    sizes = below.base[source.key].sizes
    last = np.where(lists.stop > lists.start, lists.j[np.maximum(lists.stop - 1, 0)], 0)
    ends = (sizes[last] == 1) | (lists.own_j == last)
    open_ = np.bincount(lists.row_i[~ends[lists.row_list]], minlength=below.n) > 0
    return np.asarray(~open_)
