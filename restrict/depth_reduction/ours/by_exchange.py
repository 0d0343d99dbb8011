"""Theorem 1 by exchange: every layer captured on the real objective, how many inputs each position depends on. Each
layer is captured (:mod:`restrict.depth_reduction.ours.capture`) with a part of the inputs that may be fixed, then
collapsed. In the layers below the last one the aim is many constant and cheap activations, since the next layer's heads
are captured with these. How the inputs are split over the layers, and which objective each layer has, is chosen by
measuring candidates, at a shorter length where the model is defined there."""

from collections.abc import Iterator
from dataclasses import dataclass

from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.candidates import least, shortened
from restrict.depth_reduction.options import EXCHANGE, THEOREM
from restrict.depth_reduction.ours.capture import LayerObjective, capture
from restrict.model.task import Task


@dataclass(frozen=True)
class LayerSchedule:
    """How one run spends its inputs. ``shares``: per layer the share of the inputs left that it may use.
    ``objectives``: per layer what the exchange makes small. ``power``: the exponent of the greedy forcing's
    objective."""

    shares: tuple[float, ...]
    objectives: tuple[LayerObjective, ...]
    power: float = 8.0

    def text(self) -> str:
        """For provenance and traces: "layer 1: up to 100 % of the inputs to fix, for few long lists (scale 20)"."""
        each = enumerate(zip(self.shares, self.objectives, strict=True), 1)
        return "; ".join(
            f"layer {layer}: up to {100 * share:.4g} % of the inputs {'to fix' if layer == 1 else 'left'}, for "
            f"{objective.text()}"
            for layer, (share, objective) in each
        )


@dataclass(frozen=True, eq=False)
class Exchanged:
    """The result of one run of all layers: the c-transformers (``stages``) under the restriction found, from the
    program itself to no layers, the inputs ``fixed`` for each layer, and the ``schedule`` by which they were spent."""

    stages: tuple[CTransformer, ...]
    fixed: tuple[int, ...]
    schedule: LayerSchedule

    @property
    def end(self) -> CTransformer:
        """The transformer with no layer left."""
        return self.stages[-1]

    def text(self) -> str:
        """For provenance and traces."""
        return self.schedule.text()


def by_exchange(task: Task, start: CTransformer, schedule: LayerSchedule, budget: int, seed: int) -> Exchanged:
    """Capture and collapse layer after layer. ``seed``: same seed, same answer (where the deadline never comes).
    Result: the layers under the restriction, and how many inputs each took. What a layer's search has listed is not
    scored again."""
    stages, spent, left = [start], list[int](), budget
    for layer, (share, objective) in enumerate(zip(schedule.shares, schedule.objectives, strict=True), 1):
        task.tell(f"layer {layer}")
        t = stages[-1]
        part = task.until(task.deadline.share(THEOREM.searching / (len(schedule.shares) + 1 - layer)))
        found = capture(part, t, round(share * left), objective, seed=seed, power=schedule.power)
        spent.append(len(found.restriction.fixed) - len(t.restriction.fixed))
        left -= spent[-1]
        stages[-1] = t.restrict(found.restriction)
        stages.append(stages[-1].collapse(found.lists))
    rho = stages[-1].restriction
    return Exchanged(tuple(t if t.restriction == rho else t.restrict(rho) for t in stages), tuple(spent), schedule)


def schedules(layers: int) -> Iterator[LayerSchedule]:
    """Candidates: one for a single layer; for more layers, with several splits and objectives below the last layer."""
    last = LayerObjective("long")
    if layers <= 1:
        yield LayerSchedule((1.0,) * layers, (last,) * layers)
        return
    for first in (0.35, 0.5, 0.65, 0.8):
        for below in (LayerObjective("long"), LayerObjective("short")):
            shares = [first if layer == 0 else 0.6 for layer in range(layers - 1)]
            yield LayerSchedule((*shares, 1.0), (*(below for _ in shares), last))


def choose_schedule(task: Task, budget: int) -> tuple[LayerSchedule, Exchanged | None]:
    """The schedule with the least maximum of dependencies, measured at a shorter length where one is defined. ``task``:
    its instance, seed, deadline and progress. Result: one of :func:`schedules`, and the run with it where it was
    measured here at the task's own length."""
    short = shortened(task.instance)
    candidates = list(schedules(CTransformer.of_model(short).layers))
    if len(candidates) == 1:
        return candidates[0], None
    if short.n > 2 * THEOREM.measure_at:  # measuring would cost more than it gains
        return candidates[EXCHANGE.schedule], None
    return least(task, by_exchange, budget, candidates, "schedule", seed=task.seed) or (
        candidates[EXCHANGE.schedule],
        None,
    )
