"""Measuring candidates for a run at a shorter length, here or in other processes. The lemma and the exchange have
choices that no formula makes well: how the inputs are split over the layers, what each layer's search makes small. They
try candidates on the same model at a length at which a run is cheap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

from restrict.base.blocks import each, width
from restrict.base.deadline import Deadline, OutOfTime
from restrict.base.errors import NotEstablished, RestrictError
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.options import THEOREM
from restrict.model.arguments import least_free
from restrict.model.program import Instance
from restrict.model.shipped import Shipped
from restrict.model.task import Task

Worth = tuple[int, float]
"""The worth of a candidate: the greatest and the mean number of inputs that a label depends on."""
Candidate = TypeVar("Candidate")


class Ended(Protocol):
    """What a run of all layers gives."""

    @property
    def end(self) -> CTransformer:
        """The transformer with no layer left."""


Result = TypeVar("Result", bound=Ended)
Run = Callable[[Task, CTransformer, Any, int, int], Result]
"""A run of all layers: the task, the program, a candidate, how many inputs may be fixed, and the seed."""


@dataclass(frozen=True, eq=False)
class Setup(Generic[Result]):
    """What all candidates are measured with: the run, the program at the length for measuring, the inputs that may be
    fixed, the seed, the deadline, and whether the runs themselves are wanted."""

    run: Run[Result]
    instance: Shipped
    budget: int
    seed: int
    deadline: Deadline
    kept: bool


def shortened(instance: Instance) -> Instance:
    """The program at a length at which measuring is cheap. Gives the model at ``measure_at``, or the instance where
    that is not longer, or the model is not defined there."""
    if instance.n <= THEOREM.measure_at:
        return instance
    try:
        return instance.model.at(THEOREM.measure_at)
    except RestrictError:
        return instance


def measured(setup: Setup[Result], candidate: Any) -> tuple[Worth, Result | None] | None:
    """The worth of a candidate, measured here or elsewhere, and its run if kept; ``None``: it fails in the time."""
    task = Task(setup.instance.instance, "all", setup.seed, setup.deadline)
    start = CTransformer.of_model(task.instance).until(setup.deadline.later(THEOREM.grace if setup.kept else 0))
    try:
        found = setup.run(task, start, candidate, setup.budget, setup.seed)
    except (NotEstablished, OutOfTime):
        return None
    depends = found.end.output_depends()
    return (int(depends.max(initial=0)), float(depends.mean())), found if setup.kept else None


def least(
    task: Task, run: Run[Result], budget: int, candidates: Sequence[Candidate], what: str, *, seed: int,
    falling: bool = False,
) -> tuple[Candidate, Result | None] | None:  # fmt: skip
    """The candidate of least worth among those measured in the time at the length for measuring, with a budget in
    proportion, and its run where that was made here at the very length. ``run`` is called in other processes, too, so
    it stands at the top level. ``falling``: until one is worse than the one before. ``None``: none succeeded. A
    hopeless best is taken as it is."""
    short, best = shortened(task.instance), None
    if short is not task.instance:
        share = Fraction(budget, max(1, len(task.instance.unpinned)))
        budget = len(short.unpinned) - least_free(len(short.unpinned), 1 - share)
    deadline, ship = task.deadline if short is task.instance else task.deadline.share(THEOREM.measuring), Shipped(short)
    here = not ship.portable
    setup = Setup(run, ship, budget, seed, deadline, short is task.instance and (here or width() == 1))
    results = each(measured, setup, candidates, here=here)
    for index, (candidate, found) in enumerate(zip(candidates, results, strict=True), 1):
        task.tell(f"measured {what} {index} of {len(candidates)}")
        if found is not None:
            if best is not None and falling and found[0] > best[0]:
                break
            worth, result = found
            best = (worth, candidate, result) if best is None or falling or worth < best[0] else best
            if short is task.instance and best[0][1] > THEOREM.hopeless * (len(short.unpinned) - budget):
                break
        if deadline.passed:
            break
    return None if best is None else best[1:]
