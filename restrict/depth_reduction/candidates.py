"""Measuring candidates for a run at a shorter length, here or in other processes.

The lemma and the exchange have choices that no formula makes well: how the inputs are split over the layers, what each
layer's search makes small. They try candidates on the same model at a length at which a run is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from restrict.base.blocks import each
from restrict.base.deadline import Deadline
from restrict.base.errors import NotEstablished, RestrictError
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.model.arguments import least_free
from restrict.model.program import Instance
from restrict.model.shipped import Shipped
from restrict.model.task import Task

MEASURE_AT = 1200
"""Candidates are measured at this length, where n is longer."""
HOPELESS = 0.98
"""Where a label depends on more than this part of the inputs left free, on average, for the best candidate so far and
at the very length that is asked for, no more candidates are measured. Five symbols, two layers of two heads, 90 % free,
n = 200: 1.6 seconds instead of 62 for the same trivial c."""
Worth = tuple[int, float]
"""The worth of a candidate: the greatest and the mean number of inputs that a label depends on."""
Candidate = TypeVar("Candidate")


Run = Callable[[Task, CTransformer, Any, int, int], CTransformer]
"""A run of all layers: the task, the program, a candidate, how many inputs may be fixed, and the seed; what is left."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What all candidates are measured with: the run, the program at the length for measuring, the inputs that may be
    fixed, the seed, and the deadline."""

    run: Run
    instance: Shipped
    budget: int
    seed: int
    deadline: Deadline


def shortened(instance: Instance) -> Instance:
    """The program at a length at which measuring is cheap.

    Gives the model at ``MEASURE_AT``, or the instance where that is not longer, or the model is not defined there.
    """
    if instance.n <= MEASURE_AT:
        return instance
    try:
        return instance.model.at(MEASURE_AT)
    except RestrictError:
        return instance


def measured(setup: Setup, candidate: Any) -> Worth | None:
    """The worth of a candidate, measured here or in another process; ``None`` where the run does not succeed."""
    task = Task(setup.instance.instance, "all", setup.seed, setup.deadline)
    try:
        end = setup.run(task, CTransformer.of_model(task.instance), candidate, setup.budget, setup.seed)
    except NotEstablished:
        return None
    depends = end.output_depends()
    return int(depends.max(initial=0)), float(depends.mean())


def least(
    task: Task, run: Run, budget: int, candidates: Sequence[Candidate], what: str, *, seed: int, falling: bool = False
) -> Candidate | None:
    """The candidate with the least worth among those that are measured in the time.

    They are measured at the length for measuring, with a budget in proportion. ``run`` stands at the top level of its
    module, since it is called in other processes, too. With ``falling`` they are tried until one is worse than the one
    before. Gives the candidate; ``None`` where none succeeded. Where the best is hopeless it is taken as it is.
    """
    short, best = shortened(task.instance), None
    if short is not task.instance:
        share = Fraction(budget, max(1, len(task.instance.unpinned)))
        budget = len(short.unpinned) - least_free(len(short.unpinned), 1 - share)
    setup = Setup(run, Shipped(short), budget, seed, task.deadline)
    results = each(measured, setup, candidates, here=not setup.instance.portable)
    for index, (candidate, found) in enumerate(zip(candidates, results, strict=True), 1):
        task.tell(f"measured {what} {index} of {len(candidates)}")
        if found is not None:
            if best is not None and falling and found > best[0]:
                break
            best = (found, candidate) if best is None or falling or found < best[0] else best
            if short is task.instance and best[0][1] > HOPELESS * (len(short.unpinned) - budget):
                break
        if task.deadline.passed:
            break
    return None if best is None else best[1]
