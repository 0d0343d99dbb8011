"""Confirmation by a tree of cases: free positions that a certificate asks one after the other (docs/kernel.md). The
abstract run keeps no correlations between nodes, so a restriction may force the output although the run does not show
it. Filling a few free positions in every way brings the correlations back; on full inputs the run is exact, so some
tree always shows it. The next question is the position that leaves least open."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from restrict.abstract.run import Cone
from restrict.base.errors import InternalError
from restrict.base.options import HUGE
from restrict.certificate.cases import Case, Leaf, Question, leaves
from restrict.certificate.certificate import Certificate, certified
from restrict.force.looking import Looking
from restrict.force.options import CASES
from restrict.model.task import Task


def forced(task: Task, fixed: Mapping[int, int], cone: Cone) -> Certificate:
    """The certificate of a restriction that a search has found to force the label; a bug where it does not."""
    found = certified(task, fixed, cone)
    if found.c != 0:
        raise InternalError(
            f"internal disagreement: the abstract run gives c = {found.c}, the search found 0; please report the model"
        )
    return found


def confirm(task: Task, fixed: Mapping[int, int], shared: Looking | None = None) -> Certificate | None:
    """The certificate that a restriction forces the label at the target, or ``None`` where the abstract run leaves more
    than one open. Cost: a run on demand, and if that shows it a fresh one."""
    shared = shared or Looking(task.instance, task.one_position("a claim"))
    if len(shared.labels(fixed)) != 1:
        return None
    found = certified(task, fixed, shared.cone())
    return found if found.c == 0 else None


def confirm_by_tree(
    task: Task,
    fixed: Mapping[int, int],
    most: int | None = None,
    looks: int | None = None,
    shared: Looking | None = None,
) -> Certificate | None:
    """The certificate that a restriction forces the label, by a tree of at most ``most`` leaves; ``None``: these
    bounds are too small, or it is not forced. On full inputs the run is exact, so there is a tree wherever it is;
    the question asked next leaves the fewest labels and tokens open, chosen by at most ``looks`` runs; 0: the
    tokens that most nodes read, at once or not at all. By default :data:`CASES` says how many."""
    tree = find_tree(task, fixed, most, looks, shared)
    if tree is None:
        return None
    found = certified(task, fixed, tree.cone) if isinstance(tree, Leaf) else certified(task, fixed, {}, cases=tree)
    return found if found.c == 0 else None


def find_tree(
    task: Task, fixed: Mapping[int, int], most: int | None = None, looks: int | None = None,
    shared: Looking | None = None,
) -> Case | None:  # fmt: skip
    """The tree of :func:`confirm_by_tree`, with the same arguments, before a certificate is made of it."""
    shared = shared or Looking(task.instance, task.one_position("cases"))
    most, looks = CASES.leaves if most is None else most, CASES.looks if looks is None else looks
    tree = _Growing(task, shared, min(most, CASES.quick_leaves), 0).grow(dict(fixed))
    if tree is None and looks:
        tree = _Growing(task, shared, most, looks).grow(dict(fixed))
    return tree


class _Growing:
    """The search for a tree; one label is allowed at its leaves, that of the first."""

    def __init__(self, task: Task, shared: Looking, most: int, looks: int) -> None:
        self.task, self.shared, self.leaves, self.looks = task, shared, most, looks
        self.compares = looks > 0
        self.symbols = range(len(task.instance.model.alphabet))
        nodes, runs = (CASES.long_nodes, CASES.long_runs) if self.compares else (CASES.quick_nodes, CASES.quick_runs)
        self.nodes = (nodes + runs * len(task.instance.model.variables)) * (
            1 if shared.compiled is None else CASES.faster
        )
        self.scores = shared.scores + (HUGE if self.compares else CASES.quick_scores)
        self.label: str | None = None
        self.due, self.known = 1, -1

    def grow(self, fixed: dict[int, int]) -> Case | None:
        self.task.deadline.check()
        self.known = len(fixed) if self.known < 0 else self.known
        labels = self._labels(fixed)
        if len(labels) == 1:
            (label,) = labels
            self.label = label if self.label is None else self.label
            self.leaves -= 1
            self.due -= 1
            return Leaf(self.shared.cone()) if label == self.label and self.leaves >= 0 else None
        # Every branch that is due has a leaf at least, so a tree cannot be deeper than it may have leaves.
        self.due += len(self.symbols) - 1
        deep = self.due > self.leaves or len(fixed) > self.known + CASES.deepest
        if (self.label is not None and self.label not in labels) or self._spent() or deep:
            return None
        asked = self._question(fixed)
        children: list[Case] = []
        for a in self.symbols:
            child = self.grow(fixed | {asked: a})
            if child is None:
                return None
            children.append(child)
        return Question(asked, tuple(children))

    def _labels(self, fixed: dict[int, int]) -> set[str]:
        labels = self.shared.labels(fixed)
        self.nodes -= self.shared.examined
        return labels

    def _spent(self) -> bool:
        return self.nodes < 0 or self.shared.scores > self.scores or (self.compares and self.looks <= 0)

    def _question(self, fixed: dict[int, int]) -> int:
        """The position whose symbols leave least open, of those whose nodes leave most open."""
        weight = self.shared.open_tokens()
        # A row is read until it shows every value, so what was read may leave out a token that matters.
        order = sorted(weight, key=lambda i: (-weight[i], i)) or [
            i for i in self.task.instance.unpinned if i not in fixed
        ]
        if not self.compares:
            return order[0]
        ranks = {p: self._rank(fixed, p) for p in order[: CASES.compared]}
        return min(ranks, key=lambda p: (ranks[p], p))

    def _rank(self, fixed: dict[int, int], p: int) -> float:
        """How much the cases of a position leave open: the worst of them, and a part of the others."""
        left = []
        for a in self.symbols:
            self.looks -= 1
            decided = len(self._labels(fixed | {p: a})) == 1
            left.append(0.0 if decided else self.shared.open_weight())
        return CASES.others * sum(left) + (1 - CASES.others) * max(left)


def confirm_by_table(
    task: Task, fixed: Mapping[int, int], labels: npt.NDArray[np.int16], shared: Looking | None = None
) -> Certificate | None:
    """The certificate whose dependencies are exactly those of the label, by a tree of cases: it asks these positions
    until the table of labels has one left, then what the run needs to show it, which are no dependencies (Theorem A').
    On full inputs the run is exact, so a large enough tree shows it; ``None`` where it grows too large. Cost: up to
    about two runs on demand a leaf, where the quick choice of questions is enough."""
    shared = shared or Looking(task.instance, task.one_position("cases"))
    left = CASES.leaves

    def grow(fixed: dict[int, int], part: npt.NDArray[np.int16], free: list[int]) -> Case | None:
        nonlocal left
        # How often the label changes with a position.
        changes = [int((part != part.take([0], axis=axis)).sum()) for axis in range(part.ndim)]
        if not any(changes):
            tree = find_tree(task, fixed, left, 0, shared)
            left -= 0 if tree is None else sum(1 for _ in leaves(tree))
            return tree
        axis = int(np.argmax(changes))
        rest = free[:axis] + free[axis + 1 :]
        children: list[Case] = []
        for a in range(part.shape[axis]):
            child = grow(fixed | {free[axis]: a}, np.asarray(part.take(a, axis=axis)), rest)
            if child is None:
                return None
            children.append(child)
        return Question(free[axis], tuple(children))

    tree = grow(dict(fixed), labels, [i for i in task.instance.unpinned if i not in fixed])
    return None if tree is None else certified(task, fixed, {}, cases=tree)
