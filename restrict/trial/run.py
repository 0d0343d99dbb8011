"""Runs of a model on words, within a bound of work, and what they showed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ModelError, ResourceLimit
from restrict.model.on_demand import OnDemandRun
from restrict.model.program import MAX_N, Instance, Model
from restrict.model.rules import Callback, Formula
from restrict.model.trace import read_at, run_batch
from restrict.model.variables import Head, Map, at_length, rule_of

LONG = 64
"""Up to this length all words of a length are run together; beyond, one by one, and only what the output reads."""
WORK = 1_000
"""Work of one trial, in rows of scores (some 40 microseconds each): less than a tenth of a second."""
ELEMENTS = 5_000
"""So many scores, or values of a map, cost as much as one row more."""
SCORES, ROWS = 4_000_000, 1_000
"""Scores that one long word may take, and rows of full length; where that is too few, the word is not run."""


@dataclass(frozen=True, eq=False)
class Sample:
    """``words`` (count, n - markers) and what the model says of each at ``positions``: values of the output variable,
    ``values`` (count, positions), and their ``labels``."""

    n: int
    words: I64
    positions: tuple[int, ...]
    values: I64
    labels: list[list[str]]


@dataclass(eq=False)
class Trial:
    """The runs of one model: ``samples`` so far, the ``undefined`` lengths met, and the ``work`` that is left."""

    model: Model
    work: int = field(default_factory=lambda: WORK)
    samples: list[Sample] = field(default_factory=list, repr=False)
    undefined: set[int] = field(default_factory=set)

    @property
    def over(self) -> bool:
        """Whether no work is left."""
        return self.work <= 0

    @property
    def count(self) -> int:
        """How many words were run."""
        return sum(len(sample.words) for sample in self.samples)

    def run(self, words: I64, positions: Sequence[int] | None = None) -> Sample | None:
        """Run words of one length. ``words``: symbol indices, shape (count, symbols); ``positions``: where to read the
        output; by default the last position or, where the output is at every one, all of them (three of a long word).
        Gives what was seen; ``None`` where the model is not defined at this length, where that is not known within the
        limits, or where all words are too long."""
        n = words.shape[1] + len(self.model.markers)
        instance = defined_at(self.model, n)
        if instance is None:
            self.undefined.add(n)
            return None
        where = tuple(positions) if positions is not None else _read_out(self.model, n)
        values = observed(instance, words, where)
        self.work -= cost(instance, len(words), where)
        if values is None:
            return None
        names = {v: instance.label(v) for v in np.unique(values).tolist()}
        labels = [[names[v] for v in row] for row in values.tolist()]
        sample = Sample(n, words, where, values, labels)
        self.samples.append(sample)
        return sample


def _read_out(model: Model, n: int) -> tuple[int, ...]:
    """The positions of the output that a trial reads by default."""
    if model.output.position == "last":
        return (n - 1,)
    return tuple(range(n)) if n <= LONG else (0, n // 2, n - 1)


def defined_at(model: Model, n: int) -> Instance | None:
    """The model at a length; ``None`` where it is not defined there, or that is not known. Gives the instance, or
    ``None``. A condition that fails is seen without an instance being made."""
    if not max(1, len(model.markers)) <= n <= MAX_N:
        return None
    try:
        if isinstance(model.when, Formula) and at_length(model.when.expr, n) == 0:
            return None
        return model.at(n)
    except (ModelError, ResourceLimit):
        return None


def observed(instance: Instance, words: I64, positions: tuple[int, ...]) -> I64 | None:
    """The values, int64 (count, positions), of the output on words of symbol indices by the ordinary evaluation;
    ``None`` where a long word takes more than ``SCORES`` scores or ``ROWS``."""
    output = instance.model.output.variable
    if instance.n <= LONG:
        target = positions[0] if len(positions) == 1 else None
        try:
            return run_batch(instance, words, target).values[output][:, list(positions)]
        except ResourceLimit:
            return None
    rows = []
    for word in words:
        run = OnDemandRun(instance, word, most_scores(instance))
        try:
            rows.append([run.value(output, i) for i in positions])
        except ResourceLimit:
            return None
    return np.array(rows, dtype=np.int64).reshape(len(words), len(positions))


def most_scores(instance: Instance) -> int:
    """The scores that one long word may take."""
    return min(SCORES, ROWS * instance.n)


def too_long(instance: Instance, positions: Sequence[int]) -> bool:
    """Whether the heads that every word's output reads at its own position alone take more scores than a word may. Then
    no word of this length is run, and none need be made: at 10^8 positions words take gigabytes."""
    if instance.n <= LONG:
        return False
    by_name = instance.model.by_name
    for position in positions:
        waiting, seen, scores = [instance.model.output.variable], set[str](), 0
        while waiting:
            variable = by_name.get(waiting.pop())
            if variable is None or variable.name in seen:
                continue
            seen.add(variable.name)
            if isinstance(variable, Map):
                waiting.extend(variable.args)
                continue
            first, stop = instance.visible(variable, position)
            if stop > first:
                key = instance.key(variable)
                scores += (stop - first) * (1 if key in (None, "token", "position") else instance.domains[key])
                waiting.extend(filter(None, (instance.query(variable),)))
        if scores > most_scores(instance):
            return True
    return False


def cost(instance: Instance, count: int, positions: tuple[int, ...]) -> int:
    """What a run costs that reads the output there, in rows of scores; an estimate, the same on all machines."""
    n, rows, elements = instance.n, 0, 0
    if n > LONG:
        return count * len(positions) * (len(instance.model.variables) + 2 * n // ELEMENTS + 1)
    wanted = read_at(instance, positions[0] if len(positions) == 1 else None)
    for variable in instance.model.variables:
        places = len(wanted[variable.name])
        slow = 50 if isinstance(rule_of(variable), Callback) else 1
        if isinstance(variable, Head):
            query = instance.query(variable)
            rows += places * (1 if query is None else min(instance.domains[query], count))
            elements += places * n * count * slow
        else:
            rows += 1
            elements += places * count * slow
    return rows + elements // ELEMENTS
