"""Measuring candidates for a run at a shorter length, here or in other processes.

The lemma and the exchange have choices that no formula makes well: how the inputs are split over the layers, what each
layer's search makes small. They try candidates on the same model at a length at which a run is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from restrict.arrays import I64
from restrict.blocks import each
from restrict.deadline import Deadline
from restrict.errors import RestrictError
from restrict.model.program import Instance
from restrict.model.shipped import Shipped
from restrict.task import Task

MEASURE_AT = 1200
"""Candidates are measured at this length, where n is longer."""
Worth = tuple[int, float]
"""The worth of a candidate: the greatest and the mean number of inputs that a label depends on."""
Candidate = TypeVar("Candidate")


@dataclass(frozen=True, eq=False)
class Setup:
    """What all candidates are measured with: the program at the length for measuring, the inputs that may be fixed, the
    seed, and the deadline."""

    instance: Shipped
    budget: int
    seed: int
    deadline: Deadline

    def task(self) -> Task:
        """The task that a candidate is run on: all positions."""
        return Task(self.instance.instance, "all", self.seed, self.deadline)


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


def worth(depends: I64) -> Worth:
    """The worth of a run.

    ``depends``: int64, shape (n,): on how many free inputs each label depends.
    """
    return int(depends.max(initial=0)), float(depends.mean())


def least(
    task: Task,
    measure: Callable[[Setup, Candidate], Worth | None],
    trial: Setup,
    candidates: Sequence[Candidate],
    what: str,
    *,
    falling: bool = False,
) -> Candidate | None:
    """The candidate with the least worth among those that are measured in the time.

    ``measure``: the worth of a candidate, ``None`` where it does not succeed; it is called in other processes, too.
    Gives the candidate; ``None`` where none succeeded.
    """
    best: tuple[Worth, Candidate] | None = None
    results = each(measure, trial, candidates, here=not trial.instance.portable)
    for index, (candidate, found) in enumerate(zip(candidates, results, strict=True), 1):
        task.tell(f"measured {what} {index} of {len(candidates)}")
        if found is not None:
            if best is not None and falling and found > best[0]:
                break
            best = (found, candidate) if best is None or falling or found < best[0] else best
        if task.deadline.passed:
            break
    return None if best is None else best[1]
