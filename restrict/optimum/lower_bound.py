"""Lower bounds at any length: how many positions it takes, at least, to force the output.

Level by level it is shown that no ``k`` positions force a label: the tree of :mod:`restrict.certificate.hitting_tree`
is closed for the boxes that exclude the label, and where it stays open :mod:`restrict.optimum.box_search` finds another
box for the place. This is implicit hitting sets, as in :mod:`restrict.optimum.exact`, but without an encoding of the
model: a box comes from the abstract run, whose cost does not grow with the tree, and whose cone is the proof. So the
length does not matter much, and the certificate (``restrict-lower-bound/1``) is a few dozen boxes.

Where no box exists at a node, its positions force the label. Since all smaller numbers have been ruled out, they are a
smallest restriction then: the search for a lower bound also finds optima.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from restrict.base.deadline import Deadline, OutOfTime, Progress
from restrict.base.errors import ResourceLimit
from restrict.certificate.certificate import Certificate
from restrict.certificate.hitting_run import SYMBOLS
from restrict.certificate.hitting_tree import HittingTree, Open, Uncovered, disjoint, needed
from restrict.certificate.lower_bound import Box, LowerBound, label_count
from restrict.elaboration.check import check
from restrict.force.cases import confirm_by_tree
from restrict.model.arguments import the_integer
from restrict.model.program import Instance, Model
from restrict.model.task import Target, Task
from restrict.optimum.box_search import BoxSearch, FoundBox
from restrict.optimum.options import OPTIONS
from restrict.trial.certificate import try_boxes, try_certificate

Stopped = Literal["optimal", "asked", "open", "budget", "time", "interrupted"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """What a search for lower bounds came to. ``bound`` is the certificate, ``at_least`` its number for the output
    being forced at all, ``disjoint`` the part of it that disjoint boxes alone prove. ``forcing`` fixes ``upper``
    positions and forces the output, where the search found one (``None``: it did not). ``stopped``: ``optimal`` (the
    bound is reached by a restriction known), ``asked`` (as far as was asked for), ``open`` (no box was found where one
    was needed, and no time was given to look on), ``budget``, ``time`` or ``interrupted``. ``checked`` is what the
    trusted checker said of the certificate; ``None``: it has not been asked, since the bound is 0, the check takes more
    than ``check`` steps, or the time was over."""

    model: Model = field(repr=False)
    bound: LowerBound
    at_least: int
    disjoint: int
    upper: int | None
    forcing: Certificate | None
    stopped: Stopped
    nodes: int
    checked: str | None = None

    def text(self) -> str:
        """The bound, its proof, and what else is known.

        Returns:
            Lines.
        """
        return str(import_module("restrict.report.lower_bound").bound_lines(self))

    def document(self) -> dict[str, Any]:
        """The bounds and the certificate.

        Returns:
            A JSON object.
        """
        document: dict[str, Any] = import_module("restrict.report.lower_bound").bound_document(self)
        return {"model": self.model.name, "n": self.bound.n} | document


def lower_bound(
    model: Model,
    n: int,
    *,
    target: Target = "last",
    k: int | None = None,
    upper: int | None = None,
    seed: int = 0,
    time: float | None = None,
    progress: Progress | None = None,
) -> Bounds:
    """Prove that few positions do not force the output.

    Cost: a search and some runs on demand for each box, milliseconds once rows are ordered, and the trees, which are
    exponential in the bound.

    Args:
        model, n: the program and its length, markers included.
        target: ``"last"``, or a position for a model with output at every position.
        k: stop when no ``k`` positions force the output; by default go on to the optimum.
        upper: so many positions are known to force it; the search stops when fewer are ruled out.
        seed: the same seed gives the same bound, byte for byte (without ``time``).
        time: seconds; the best bound by then is returned, after at most ``grace`` each for leaving boxes out and for
            the check. Ctrl-C does the same. Processes that are lent (:func:`restrict.workers`) share the search for
            boxes, and change nothing else.
        progress: called with what is being done and the number of positions ruled out.

    Returns:
        The best bound; its certificate has passed the check where ``checked`` says so.

    Raises:
        UsageError: a bad argument, or the target ``all``.
        ModelError: the model is not defined at this length.
        Disagreement: a run of the model contradicts a box or a restriction, which is a bug.
    """
    task = Task.of(model, n, target=target, seed=seed, time=time, progress=progress)
    position = task.one_position("a lower bound")
    asked = None if k is None else the_integer("k", k)
    known = None if upper is None else the_integer("upper", upper)
    search = _Proving(task, position)
    return search.result(search.run(asked, known))


@dataclass(eq=False)
class _Forced(Exception):
    """No box was found at a node: its positions force the label, or the search was not good enough."""

    node: Open
    label: str | None


@dataclass(eq=False)
class _Proving:
    """The boxes so far, what they prove for each label by which of them, and the smallest restriction met. ``before``:
    the nodes of all trees when the last level was begun. At the node ``stuck`` a first search found no box."""

    task: Task
    position: int
    boxes: list[FoundBox] = field(default_factory=list)
    bits: list[Mapping[int, int]] = field(default_factory=list)
    proved: dict[str | None, int] = field(default_factory=dict)
    used: dict[str | None, Sequence[int]] = field(default_factory=dict)
    forcing: Certificate | None = None
    upper: int | None = None
    nodes: int = 0
    tried: int = 0
    before: int = 0
    stuck: Open | None = None

    def __post_init__(self) -> None:
        self.instance = self.task.instance
        model = self.instance.model
        self.search = BoxSearch.at(self.instance, self.position, self.task.seed, self.task.deadline)
        self.everything = (1 << len(model.alphabet)) - 1
        self.size = self.instance.domains[model.output.variable]
        self.many = label_count(model.output, self.size) > OPTIONS.many_labels
        self.letters = len(self.instance.unpinned)

    # ------------------------------------------------------------ levels

    def run(self, k: int | None, upper: int | None) -> Stopped:
        """Rule out 0, 1, 2 ... positions; ``proved`` grows on the way."""
        self.upper, level = upper, 0
        try:
            self._disjoint_boxes(k)
            while True:
                if self.upper is not None and level >= self.upper:
                    return "optimal"
                if k is not None and level > k:
                    return "asked"
                if level > self.letters:
                    return "optimal"
                self.tried, self.before = level, self.nodes
                try:
                    self._level(level)
                except _Forced as stop:
                    if self._improved(stop):
                        level = self._ruled_out() - 1
                    elif self.task.deadline.left is None or stop.label is None:
                        return "open"
                    else:  # the time that was given is spent here: other random numbers may find a box
                        self.stuck = stop.node
                        continue
                level = self._next(level, k)
        except OutOfTime:
            return "time"
        except ResourceLimit:
            return "budget"
        except KeyboardInterrupt:
            self.task.deadline.interrupt()
            return "interrupted"

    def _disjoint_boxes(self, k: int | None) -> None:
        """Start with disjoint boxes for each label, while a single search finds one more."""
        if self.many:
            return
        enough = min(x for x in (self.upper, None if k is None else k + 1, OPTIONS.most_apart) if x is not None)
        for label in self._labels():
            used: set[int] = set()
            for count in range(1, enough + 1):
                self.task.tell(f"{count} disjoint boxes", self.upper)
                box = None if label is None else self.search.apart(label, used, count)
                if box is None:
                    break
                self._add(box)
                used.update(box.symbols)

    def _add(self, box: FoundBox) -> Mapping[int, int]:
        if len(self.boxes) >= OPTIONS.boxes:
            raise ResourceLimit(f"more than {OPTIONS.boxes} boxes")
        self.boxes.append(box)
        self.bits.append(box.bits)
        return self.bits[-1]

    def _next(self, level: int, k: int | None) -> int:
        """The level after this one: the next, or a larger step where this was cheap and an upper bound is far away."""
        goal = min(x for x in (self.upper and self.upper - 1, k, self.letters) if x is not None)
        small = level < OPTIONS.step or self.nodes - self.before > OPTIONS.cheap
        return level + 1 if small else max(level + 1, min(2 * level, goal))

    def _level(self, level: int) -> None:
        """Show that no ``level`` positions force the output, or raise :class:`_Forced`."""
        done: set[str | None] = set()
        while left := [label for label in self._labels() if label not in done]:
            for label in left:
                self.task.tell(f"at least {level}, {len(self.boxes)} boxes", self.upper)
                if self.proved.get(label, -1) < level:
                    self._close(label, level)
                    self.proved[label] = level
                done.add(label)

    def _labels(self) -> list[str | None]:
        """All labels, or those that boxes show and ``None`` for the others."""
        output = self.instance.model.output
        if not self.many:
            return list(dict.fromkeys(output.label(v) for v in range(self.size)))
        return [*sorted(set().union(*(box.labels for box in self.boxes))), None]

    def _close(self, label: str | None, level: int) -> None:
        """Close the tree of one label, finding boxes where it is open."""
        mine = self._without(label)

        def more(node: Open) -> list[Mapping[int, int]]:
            found = self.search.find(node, label)
            while not found and node == self.stuck:
                found = self.search.find(node, label)
            if not found:
                raise _Forced(node, label)
            return [self._add(box) for box in found]

        tick, first = self.task.deadline.check, len(self.boxes)
        most = OPTIONS.nodes if self.everything.bit_length() <= SYMBOLS else OPTIONS.plain_nodes
        tree = HittingTree([self.bits[t] for t in mine], self.everything, level, more, most, lambda steps: tick())
        try:
            tree.run()
        finally:
            self.nodes += tree.nodes
        self.used[label] = self._numbers([*mine, *range(first, len(self.boxes))], tree.used)

    def _numbers(self, among: Sequence[int], used: Iterable[int]) -> list[int]:
        return [among[t] for t in sorted(used)]

    # ------------------------------------------------------------ optima met on the way

    def _improved(self, stop: _Forced) -> bool:
        """Whether the node's positions force the label, provably; then they are the best restriction so far."""
        if stop.label is None:
            return False
        found = self.search.forced(stop.node, stop.label)
        fixed = {p: bits.bit_length() - 1 for p, bits in stop.node.symbols.items()}
        if found is not None:
            fixed = {p: allowed[0] for p, allowed in found.items()}
        if self.upper is not None and len(fixed) >= self.upper:
            return False
        confirmed = confirm_by_tree(self.task.noting(strategy="hitting sets"), fixed, looks=0)
        if confirmed is not None:
            self.forcing, self.upper = confirmed, len(fixed)
        return confirmed is not None

    def _ruled_out(self) -> int:
        """A number such that no fewer positions force the output."""
        labels = self._labels()
        return min((self.proved.get(label, -1) + 1 for label in labels), default=0)

    # ------------------------------------------------------------ the certificate

    def _disjoint_levels(self) -> None:
        """What disjoint boxes prove, where the search ended early; a label without a box gets one from a word."""
        for label in () if self.many else self._labels():
            if label in self.proved:
                continue
            if all(label in box.labels for box in self.boxes):
                word = BoxSearch.at(self.instance, self.position, self.task.seed).word_without(str(label))
                if word is None:
                    continue
                self._add(word)
            apart = disjoint(b for b, box in zip(self.bits, self.boxes, strict=True) if label not in box.labels)
            self.proved[label] = min(apart - 1, self.letters)

    def _harvest(self, rest: Deadline) -> None:
        """What the boxes found so far prove beyond the levels that were finished."""
        for label, level in self.proved.items():
            mine = self._without(label)
            while level + 1 < self.tried:
                level += 1
                boxes = [self.bits[t] for t in mine]
                tree = HittingTree(boxes, self.everything, level, None, OPTIONS.harvest, lambda steps: rest.check())
                try:
                    tree.run()
                except (Uncovered, ResourceLimit):
                    break
                self.proved[label], self.used[label] = level, self._numbers(mine, tree.used)

    def _without(self, label: str | None) -> list[int]:
        """The boxes that exclude a label."""
        return [t for t, box in enumerate(self.boxes) if label not in box.labels]

    def _trimmed(self, label: str | None, level: int, rest: Deadline) -> Sequence[int]:
        """Few boxes that prove a level; those of the tree that was closed where there is no time for more."""
        mine = self._without(label)
        with rest.ends(), suppress(ResourceLimit):
            bits = [self.bits[t] for t in mine]
            kept, _ = needed(bits, self.everything, level, OPTIONS.trimmed, lambda steps: rest.check())
            return [mine[t] for t in kept]
        return self.used.get(label, mine)

    def result(self, stopped: Stopped) -> Bounds:
        """The bound with the boxes that it needs, checked; Ctrl-C, and the end of the time, only cut this short."""
        left = self.task.deadline.left
        rest = Deadline.after(None if left is None else max(left, OPTIONS.grace))
        self._disjoint_levels()
        with rest.ends():
            self._harvest(rest)
        kept = set[int]().union(*(self._trimmed(label, level, rest) for label, level in self.proved.items()))
        apart = [disjoint(self.bits[t] for t in self._without(label)) for label in self.proved]
        boxes = [self.boxes[t] for t in sorted(kept, key=lambda t: (len(self.bits[t]), t))]
        try_boxes(self.instance, [(box.symbols, box.labels) for box in boxes], self.position)
        if self.forcing is not None:
            try_certificate(self.instance, self.forcing)
        bound = self._certificate(boxes)
        line = self._checked(bound, rest) if bound.labels or bound.others else None
        least = bound.at_least(self.instance.model)
        sure = min(least, *apart) if apart else 0
        stopped = "interrupted" if rest.interrupted else stopped
        return Bounds(self.instance.model, bound, least, sure, self.upper, self.forcing, stopped, self.nodes, line)

    def _checked(self, bound: LowerBound, rest: Deadline) -> str | None:
        """What the trusted checker says, where there is time for it."""
        left = rest.left
        steps = (
            OPTIONS.check
            if left is None
            else min(OPTIONS.check, int(max(left, OPTIONS.grace) * OPTIONS.checked_a_second))
        )
        with rest.ends(), suppress(ResourceLimit):
            return check(self.instance.model, bound, limit=steps)
        return None

    def _certificate(self, boxes: Iterable[FoundBox]) -> LowerBound:
        model = self.instance.model
        labels = {label: level + 1 for label, level in self.proved.items() if label is not None}
        others, boxes = self.proved.get(None), list(boxes)
        if any(label not in labels for box in boxes for label in box.labels):
            others = None  # it would speak of a label that is forced by no position at all
        boxes = boxes if labels or others else []
        return LowerBound(
            model.name,
            model.digest,
            self.instance.n,
            self.task.target,
            tuple(_written(self.instance, box) for box in boxes),
            labels,
            None if others is None else others + 1,
            self.task.provenance,
        )


def _written(instance: Instance, box: FoundBox) -> Box:
    """A box with its symbols by name, allowed or ruled out, whichever are fewer."""
    alphabet, only, never = instance.model.alphabet, {}, {}
    for p, allowed in box.symbols.items():
        if 2 * len(allowed) <= len(alphabet):
            only[p] = tuple(alphabet[a] for a in allowed)
        else:
            never[p] = tuple(alphabet[a] for a in sorted({*range(len(alphabet))}.difference(allowed)))
    cone = {v.name: tuple(box.cone[v.name]) for v in instance.model.variables if box.cone.get(v.name)}
    return Box(only, never, cone)
