"""The exact optimum by enumeration of all ``(|alphabet| + 1)^m`` restrictions of ``m`` positions, where these are few.

``E[rho]`` is the set of labels that the output takes under ``rho``, one bit a label: on full inputs the model says it,
and a free position unites its symbols. One pass an axis fills the whole table (theory of the project, section 7).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from restrict.arrays import I64
from restrict.certificate.certificate import Certificate
from restrict.force.cases import confirm_by_cases
from restrict.model.program import Instance
from restrict.model.trace import run_batch
from restrict.optimum.exact import confirm
from restrict.task import Task

RESTRICTIONS = 2_500_000
WORDS = 2**14
LABELS = 60


def few_restrictions(instance: Instance) -> bool:
    """Whether all restrictions can be tabulated in well under a second."""
    m, symbols = len(instance.unpinned), len(instance.model.alphabet)
    return m <= 30 and (symbols + 1) ** m <= RESTRICTIONS and symbols**m <= WORDS


def truth_table(instance: Instance, position: int) -> tuple[I64, list[str]]:
    """The index of the output's label for every word, shape ``(symbols,) * m``, and the labels. Cost: every input."""
    m, symbols = len(instance.unpinned), len(instance.model.alphabet)
    words = np.array(list(itertools.product(range(symbols), repeat=m)), dtype=np.int64).reshape(symbols**m, m)
    values = run_batch(instance, words).values[instance.model.output.variable][:, position]
    seen = np.unique(values)
    names = sorted({instance.label(int(v)) for v in seen})
    place = np.array([names.index(instance.label(int(v))) for v in seen], dtype=np.int64)
    return place[np.searchsorted(seen, values)].reshape((symbols,) * m), names


def forcing(instance: Instance, position: int) -> Iterator[dict[int, int]]:
    """All restrictions that force the output's label at ``where``, those that fix the fewest positions first."""
    table, names = truth_table(instance, position)
    if len(names) > LABELS:
        return
    letters, symbols = instance.unpinned, len(instance.model.alphabet)
    sets = np.int64(1) << table
    for axis in range(len(letters)):
        free = np.bitwise_or.reduce(sets, axis=axis, keepdims=True)
        sets = np.concatenate((sets, free), axis=axis)  # the last index of an axis is *
    forced = (sets & (sets - 1)) == 0
    fixed = np.zeros(sets.shape, dtype=np.int8)
    for axis in range(len(letters)):
        cost = np.append(np.ones(symbols, dtype=np.int8), np.int8(0))
        fixed += cost.reshape([-1 if a == axis else 1 for a in range(len(letters))])
    for count in range(len(letters) + 1):
        for cell in np.argwhere(forced & (fixed == count)):
            yield {i: int(a) for i, a in zip(letters, cell, strict=True) if a < symbols}


def by_enumeration(task: Task, most: int, tries: int = 12) -> tuple[int, Certificate | None]:
    """The optimum (exact), and a certificate of the smallest restriction below ``most`` fixed positions that the
    checker can confirm, if need be by cases.

    Of each size ``tries`` restrictions are tried: first whether the abstract run confirms one as it is, then the split
    over the fewest positions.
    """
    instance, target, provenance = task.instance, task.target, task.provenance
    groups = itertools.groupby(forcing(instance, task.one_position("an optimum")), key=len)
    size, group = next(groups)
    optimum = size
    while size < most:
        some = list(itertools.islice(group, tries))
        for fixed in some:
            if (found := confirm(instance, fixed, target, provenance)) is not None:
                return optimum, found
        split = [f for fixed in some if (f := confirm_by_cases(instance, fixed, target, provenance)) is not None]
        if split:
            return optimum, min(split, key=lambda f: len(f.split))
        size, group = next(groups)
    return optimum, None
