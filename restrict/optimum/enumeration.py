"""All ``(|alphabet| + 1)^m`` restrictions of ``m`` positions at once, where these are few: exact optima. A table over
``{0 .. s-1, *}^m`` is filled one axis at a time, the entry at ``*`` from those at the symbols: is the label constant,
and on how many free positions does it depend (theory of the project, section 7)? On full inputs the model says it. The
index of a restriction is its digits in base ``s + 1``, the first position's first, and the last digit stands for
``*``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import I64, digits, word_chunks
from restrict.base.deadline import NEVER, Deadline, OutOfTime
from restrict.base.options import Fact
from restrict.certificate.certificate import Certificate, certified
from restrict.force.cases import confirm, confirm_by_table, confirm_by_tree
from restrict.force.dependence import DependenceState
from restrict.force.looking import Looking
from restrict.languages.search import of_restrictions
from restrict.model.program import Instance
from restrict.model.task import Task
from restrict.model.trace import read_at, run_batch
from restrict.optimum.faces import Faces, largest_faces
from restrict.optimum.options import ENUMERATION

MOST_RESTRICTIONS: Fact[int] = 20_000_000
MOST_WORDS: Fact[int] = 2**20
"""Restrictions in one table, and words, that are gone through at most."""
LABELS: Fact[int] = 255
"""Labels that a table of one byte an entry can tell apart."""
Labels = npt.NDArray[np.int16]
Scalar = TypeVar("Scalar", bound=np.generic)


def few_restrictions(instance: Instance) -> bool:
    """Whether every word is run by default: it takes some seconds."""
    nodes = instance.n * (1 + len(instance.model.variables))
    return (
        words_fit(instance, ENUMERATION.words, ENUMERATION.restrictions)
        and _words(instance) * nodes <= ENUMERATION.nodes
    )


def few_words(instance: Instance, position: int) -> bool:
    """Whether every word is run before a long search, for the output at one position: it takes some seconds, too."""
    if not words_fit(instance, ENUMERATION.many_words, ENUMERATION.restrictions):
        return False
    return _words(instance) * sum(len(places) for places in read_at(instance, position).values()) <= ENUMERATION.read


def few_tables(instance: Instance) -> bool:
    """Whether a table of all restrictions takes well under a second."""
    return words_fit(instance, ENUMERATION.table_words, ENUMERATION.table_restrictions)


def restrictions_fit(instance: Instance) -> bool:
    """Whether all restrictions can be tabulated at all."""
    return words_fit(instance, MOST_WORDS, MOST_RESTRICTIONS)


def words_fit(instance: Instance, words: int = MOST_WORDS, restrictions: int | None = None) -> bool:
    """Whether there are at most so many words, and (if given) restrictions."""
    m, symbols = len(instance.unpinned), len(instance.model.alphabet)
    if m > 30 or _words(instance) > words:
        return False
    return restrictions is None or (symbols + 1) ** m <= restrictions


def _words(instance: Instance) -> int:
    return int(len(instance.model.alphabet) ** len(instance.unpinned))


# ---------------------------------------------------------------- tables


def all_labels(instance: Instance, position: int, deadline: Deadline = NEVER) -> tuple[Labels, list[str]]:
    """The index of every word's label at a position, (s,) * m, int16; the labels' names. Every word is run."""
    symbols, m = len(instance.model.alphabet), len(instance.unpinned)
    parts, names = [], dict[str, int]()
    for words in word_chunks(
        symbols, m, ENUMERATION.chunk, ENUMERATION.chunk if deadline.moment is None else ENUMERATION.timed
    ):
        deadline.check()
        parts.append(numbered_labels(instance, words, position, names).astype(np.int16))
    return np.concatenate(parts).reshape((symbols,) * m), list(names)


def numbered_labels(instance: Instance, words: I64, position: int, names: dict[str, int]) -> I64:
    """The number of each word's label at a position; ``names`` has the numbers, and gets those of new labels."""
    values = run_batch(instance, words, position).values[instance.model.output.variable][:, position]
    seen, where = np.unique(values, return_inverse=True)
    return np.array([names.setdefault(instance.label(int(v)), len(names)) for v in seen], dtype=np.int64)[where]


def lift(
    table: npt.NDArray[Scalar], star: Callable[[npt.NDArray[Scalar], int], npt.NDArray[Any]], skip: int = -1
) -> npt.NDArray[Scalar]:
    """A table (s,) * m over words as one (s + 1,) * m over restrictions, index ``s`` for ``*``, a position not fixed:
    there ``star(table, axis)``, of size 1 along the axis. ``skip``: an axis that is left as it is; -1: none."""
    for axis in range(table.ndim):
        if axis != skip:
            table = np.concatenate([table, star(table, axis)], axis=axis)
    return table


def essential_counts(labels: Labels) -> npt.NDArray[np.int8]:
    """On how many free positions the label depends under each restriction: exact, int8, (s + 1,) * m, from
    :func:`all_labels`; 0 where the label is forced. Cost: m passes over the table."""
    m = labels.ndim
    counts = np.zeros([size + 1 for size in labels.shape], dtype=np.int8)
    for p in range(m):
        matters = (labels != labels.take([0], axis=p)).any(axis=p, keepdims=True)
        lifted = lift(matters, lambda table, axis: np.asarray(table.any(axis=axis, keepdims=True)), skip=p)
        counts[(slice(None),) * p + (slice(-1, None),)] += lifted.astype(np.int8)
    return counts


def by_size(mask: npt.NDArray[np.bool_]) -> tuple[I64, I64]:
    """The restrictions of a mask over (s + 1,) * m. ``mask``: bool, shape (s + 1,) * m: the restrictions that are
    wanted. Gives how many positions each fixes, and its index; the fewest fixed first, then by index."""
    fixed = of_restrictions(np.zeros([size - 1 for size in mask.shape], dtype=np.bool_))[1]
    index = np.flatnonzero(mask)
    sizes = fixed.reshape(-1)[index].astype(np.int64)
    order = np.argsort(sizes, kind="stable")
    return sizes[order], index[order]


def cube_of(index: int, symbols: int, unpinned: Sequence[int]) -> dict[int, int]:
    """The restriction of an index: symbol indices by position. ``index``: the flat index into a table of shape (s + 1,)
    * m; ``unpinned``: the m positions without markers, ascending."""
    row = digits(np.array([index], dtype=np.int64), symbols + 1, len(unpinned))[0].tolist()
    return {i: a for i, a in zip(unpinned, row, strict=True) if a < symbols}


# ---------------------------------------------------------------- the optimum


def fewest(task: Task) -> Faces | None:
    """The restrictions that force the output with the fewest fixed positions, by running every word. Gives up to
    ``kept`` of them; ``None`` where there are too many labels."""
    labels, names = all_labels(task.instance, task.one_position("an optimum"), task.deadline)
    if len(names) > LABELS:
        return None
    faces = largest_faces(labels, keep=ENUMERATION.kept, deadline=task.deadline)
    if not faces.complete:
        raise OutOfTime
    return faces


def by_enumeration(task: Task) -> tuple[int | None, Certificate | None]:
    """The optimum (exact), ``None`` where there are too many labels to say; and a certificate of an optimal
    restriction, ``None`` where none could be confirmed. Cost: every word is run, then the search of
    :mod:`restrict.optimum.faces`."""
    faces = fewest(task)
    if faces is None:
        return None, None
    return faces.axes - faces.largest, confirm_one(task, faces.cubes(task.instance.unpinned))


def confirm_one(task: Task, cubes: Iterable[dict[int, int]]) -> Certificate | None:
    """A certificate of the first of several forcing restrictions that the abstract run confirms as it is; else of the
    first with a small tree of cases, or with a larger one; ``None`` where all that is too much."""
    shared, seen = Looking(task.instance, task.one_position("an optimum")), list[dict[int, int]]()
    for fixed in cubes:
        if (found := confirm(task, fixed, shared)) is not None:
            return found
        seen.append(fixed)
    tried = (
        confirm_by_tree(task, fixed, most, looks, shared)
        for most, looks, tries in ENUMERATION.trials
        for fixed in seen[:tries]
    )
    return next((found for found in tried if found is not None), None)


# ---------------------------------------------------------------- c > 0


def fewest_fixed(task: Task, c: int, most: int | None = None) -> tuple[Certificate | None, bool]:
    """A certificate of the smallest restriction with at most ``c`` dependencies that the checker can confirm by the run
    over all nodes or case by case: of those of the least size alone, or of any below ``most``; and whether no smaller
    one exists. ``None`` where none is confirmed. Cost: every word is run, m passes over the table of restrictions, up
    to ``tries`` abstract runs a size."""
    labels, counts = _counted(task)
    sizes, order = by_size(counts <= c)

    def of_size(size: int) -> tuple[I64, int]:
        index = order[sizes == size]
        return index[np.argsort(counts.reshape(-1)[index], kind="stable")], c

    return _first_confirmed(task, labels, of_size, int(sizes[0]), most)


def least_depends(task: Task, most: int, below: int | None = None) -> tuple[Certificate | None, bool]:
    """A certificate with at most ``most`` fixed positions and as few dependencies as the checker can confirm: as few as
    any restriction has, or any number below ``below``; and whether none has fewer. ``None`` where none is confirmed.
    Cost: every word is run, m passes over the table, up to ``tries`` abstract runs for each ``c``."""
    labels, counts = _counted(task)
    sizes, order = by_size(counts >= 0)
    order = order[sizes <= most]
    needed = counts.reshape(-1)[order]
    return _first_confirmed(task, labels, lambda c: (order[needed <= c], c), int(needed.min()), below)


def _counted(task: Task) -> tuple[Labels, npt.NDArray[np.int8]]:
    """The labels of all words, and on how many free positions they depend under each restriction."""
    labels, _ = all_labels(task.instance, task.one_position("an optimum"), task.deadline)
    return labels, essential_counts(labels)


def _first_confirmed(
    task: Task, labels: Labels, of_level: Callable[[int], tuple[I64, int]], least: int, stop: int | None
) -> tuple[Certificate | None, bool]:
    """A certificate at the first level below ``stop`` (``None``: at the ``least`` one alone) where one is confirmed,
    and whether none is below it. ``of_level``: the restrictions of a level, and how many dependencies they have."""
    for level in range(least, least + 1 if stop is None else stop):
        index, c = of_level(level)
        if (found := _confirmed(task, index[: ENUMERATION.tries], labels, c)) is not None:
            return found, level == least
    return None, stop is not None and least >= stop


def _confirmed(task: Task, index: I64, labels: Labels, c: int) -> Certificate | None:
    """The first of some restrictions that the abstract run confirms to leave at most ``c`` dependencies."""
    symbols, unpinned = len(task.instance.model.alphabet), task.instance.unpinned
    cubes = [cube_of(t, symbols, unpinned) for t in index.tolist()]
    state = DependenceState(task.instance, task.one_position("an optimum"))
    for cube in cubes:
        if state.look(cube, c) is not None and (plain := certified(task, cube, "all")).c <= c:
            return plain
    shared = Looking(task.instance, task.one_position("an optimum"))
    for cube in cubes[: ENUMERATION.trees]:
        part = labels[tuple(cube.get(i, slice(None)) for i in unpinned)]
        if (found := confirm_by_table(task, cube, part, shared)) is not None and found.c <= c:
            return found
    return None
