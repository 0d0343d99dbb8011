"""Theorems A and A' of docs/trusted-base.md: the abstract run over the cone, and the comparison with the claim.

A set of values is a ``frozenset`` or a ``range`` (a whole domain, a stretch of positions), which is never spelt out; a
set of positions is an ``int`` whose bit ``i`` stands for position ``i``; runs of positions are flat bounds. All work is
charged before it is done: a score its price, a node ``NODE``, a mask one step for each 64 positions, a union of masks
one for each 2048, a union of sets one for each value.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator
from itertools import chain, product
from typing import NamedTuple

from .account import LEAST, Meter, Task, exhausted, unproved
from .formats import COMBINATIONS, Certificate, Cone, Fixed, Head, Map, Model, Values, branch_of
from .read import Bounds, mask_of, runs_of
from .rules import SCORES

NODE = 10
"""Steps of a node, of a run, of a variable in a branch."""
LARGE = 1 << 16

Node = tuple[Values, int]
Segment = tuple[int, int, Values]


def union(parts: Collection[Values], meter: Meter) -> Values:
    """The union. Ranges that touch are joined; one range that holds everything else stays a range."""
    if len(parts) == 1:
        return next(iter(parts))
    spans: list[range] = []
    for part in sorted((part for part in parts if isinstance(part, range)), key=lambda part: part.start):
        if spans and part.start <= spans[-1].stop:
            spans[-1] = range(spans[-1].start, max(part.stop, spans[-1].stop))
        else:
            spans.append(part)
    sets = [part for part in parts if not isinstance(part, range)]
    meter.charge(1 + sum(map(len, sets)) // 2)
    if len(spans) == 1 and all(value in spans[0] for part in sets for value in part):
        return spans[0]
    size = sum(map(len, sets)) + sum(map(len, spans))
    meter.charge(size // 2)
    meter.fits(100 * size)
    return frozenset(chain.from_iterable([*sets, *spans]))


# ---------------------------------------------------------------- what is known of a variable


class State:
    """What the abstract run knows of one variable: ``V`` and ``D`` in *stretches* of positions, in order.

    Between stretches ``V`` is the whole domain, and ``D`` every free position (rule 2) or, with ``own``, the position
    itself if it is free (rule 1). ``weight`` bounds the number of values of all different sets together.
    """

    def __init__(self, domain: int, free: int, meter: Meter, own: bool = False) -> None:
        self.full, self.free, self.meter, self.own = range(domain), free if domain > 1 else 0, meter, own
        self.starts, self.stops, self.nodes = array("q"), array("q"), list[Node]()
        self.less, self.weight, self.met = [0], domain, set[Values]()

    def add(self, start: int, stop: int, node: Node) -> None:
        """A stretch behind all others; ``less`` counts the pairs that are ruled out so far."""
        self.starts.append(start)
        self.stops.append(stop)
        self.nodes.append(node)
        self.less.append(self.less[-1] + (self.full.stop - len(node[0])) * (stop - start))
        if node[0] not in self.met:
            self.met.add(node[0])
            self.weight += len(node[0])

    def within(self, low: int, high: int) -> range:
        """The numbers of the stretches that have a position in ``low .. high-1``."""
        return range(bisect_right(self.stops, low), bisect_left(self.starts, high) if low < high else 0)

    def values(self, at: int) -> Values:
        """``V(v, at)``."""
        index = bisect_right(self.starts, at) - 1
        return self.nodes[index][0] if index >= 0 and at < self.stops[index] else self.full

    def depends(self, bounds: Bounds) -> int:
        """The union of ``D(v, j)`` over runs of positions, by rule 5 without those where ``V`` has one value."""
        if self.own:
            self.meter.charge(1 + bounds[-1] // 64 + 2 * len(bounds))
            return self.free & mask_of(bounds)
        found = 0
        for start, stop in runs_of(bounds):
            inside = self.within(start, stop)
            self.meter.charge(2 + len(inside))
            if len(inside) < stop - start and self.free:
                return self.free
            for index in inside:
                if more := self.nodes[index][1]:
                    self.meter.charge(more.bit_length() // 2048)
                    found |= more
        return found

    def pairs(self, at: int) -> int:
        """How many pairs there are of a position before ``at`` and a value there."""
        if not (index := bisect_left(self.starts, at)):
            return at * self.full.stop
        behind = max(0, self.stops[index - 1] - at) * (self.full.stop - len(self.nodes[index - 1][0]))
        return at * self.full.stop - self.less[index] + behind

    def count(self, low: int, high: int) -> tuple[int, int]:
        """A bound on the segments in ``low .. high-1``, and the number of pairs of a position and a value there."""
        return 2 * len(self.within(low, high)) + 1, self.pairs(high) - self.pairs(low)

    def segments(self, low: int, high: int) -> Iterator[Segment]:
        """``low .. high-1`` in pieces of equal ``V``, in order."""
        for index in self.within(low, high):
            start, stop = max(low, self.starts[index]), min(high, self.stops[index])
            if low < start:
                yield low, start, self.full
            yield start, stop, self.nodes[index][0]
            low = stop
        if low < high:
            yield low, high, self.full

    def sets(self, low: int, high: int) -> Iterator[Values]:
        """Sets of values whose union is that of ``V`` over ``low .. high-1``."""
        self.meter.charge(3 + 2 * len(self.within(low, high)))
        return (values for _, _, values in self.segments(low, high))


class Positions(State):
    """Rule 1 for ``position``: its own value, which is no input."""

    def values(self, at: int) -> Values:
        """The position itself."""
        return range(at, at + 1)

    def depends(self, bounds: Bounds) -> int:
        """Nothing."""
        return 0

    def count(self, low: int, high: int) -> tuple[int, int]:
        """One segment and one value a position."""
        return high - low, high - low

    def segments(self, low: int, high: int) -> Iterator[Segment]:
        """Every position by itself."""
        return ((at, at + 1, range(at, at + 1)) for at in range(low, high))

    def sets(self, low: int, high: int) -> Iterator[Values]:
        """All positions in one range."""
        self.meter.charge(3)
        return iter((range(low, high),) if low < high else ())


def tokens(model: Model, fixed: Fixed, free: int) -> State:
    """Rule 1 for ``token``: one symbol in every run of the restriction and at every marker."""
    count, known = len(model.alphabet), dict[int, Node]()
    state = State(count, free, model.meter, own=True)
    marked = [(at, at + 1, count + index) for index, (at, _) in enumerate(model.markers)]
    runs = ((*run, symbol) for run, symbol in zip(runs_of(fixed.bounds), fixed.symbols, strict=True))
    first = [marker for marker in marked if marker[0] == 0]
    for start, stop, value in chain(first, runs, marked[len(first) :]):
        state.add(start, stop, known.setdefault(value, (frozenset((value,)), 0)))
    return state


# ---------------------------------------------------------------- one row of a head


class Candidates(NamedTuple):
    """Runs of candidate positions, and whether a score at a position is at or above the floor."""

    bounds: Bounds
    reaches: Callable[[int, int], bool]


class Row(NamedTuple):
    """The pairs that an examined head at ``i`` may attend to for one value ``u`` of its query."""

    head: Head
    known: dict[str, int]
    low: int
    high: int
    keys: State

    def steps(self, low: int, high: int) -> tuple[int, int]:
        """The steps of going through the pairs at some positions, and the sizes of the sets of keys there."""
        segments, pairs = self.keys.count(low, high)
        sets = min(self.keys.weight, pairs)
        if self.head.moving:
            return segments + high - low + pairs * self.head.price, sets
        return 2 * segments + sets * (1 + self.head.price), sets

    def segments(self, low: int, high: int) -> Iterator[Segment]:
        """Positions with the ``w`` of their pairs: at ``i`` only ``u`` where query and key are one variable."""
        head, i = self.head, self.known["i"]
        if not head.key or head.query != head.key or not low <= i < high:
            return self.keys.segments(low, high)
        own = i, i + 1, frozenset((self.known["q"],))
        return chain(self.keys.segments(low, i), (own,), self.keys.segments(i + 1, high))

    def extremes(self) -> Iterator[tuple[int, int, int, int]]:
        """Pieces of the visible positions, each with its least and its greatest score.

        Where the position does not matter, scores of sets that are met again are remembered.
        """
        if self.head.moving:
            yield from self.head.rule.bind(self.known, SCORES, True)(self.segments(self.low, self.high))
            return
        score, met = self.head.rule.bind(self.known, SCORES), dict[Values, tuple[int, int]]()
        for start, stop, keys in self.segments(self.low, self.high):
            if keys not in met:
                scores = [score((0, w)) for w in keys]
                met[keys] = min(scores), max(scores)
            yield start, stop, *met[keys]

    def candidates(self) -> Candidates:
        """One pass over the visible positions, which keeps those that reach the floor found so far.

        Among equal scores the floor is the leftmost for ties to the left, else the rightmost; the scan goes rightwards.
        """
        floor, floor_at, left = LEAST - 1, -1, self.head.left
        kept, most = array("q"), LARGE
        for start, stop, least, top in self.extremes():
            if least > floor or (least == floor and not left):
                floor, floor_at = least, start if left else stop - 1
            if top >= floor and kept and kept[-2] == start and kept[-1] == top:
                kept[-2] = stop
            elif top >= floor:
                kept.extend((start, stop, top))
                if len(kept) > most:
                    self.keys.meter.fits(16 * len(kept))
                    kept = array("q", chain.from_iterable(piece for piece in triples(kept) if piece[2] >= floor))
                    most = 2 * len(kept) + LARGE
        # Smaller positions are better for ties to the left, larger ones to the right.
        direction = 1 if left else -1
        return Candidates(
            reaching(kept, floor, floor_at, left),
            lambda score, at: score > floor or (score == floor and at * direction <= floor_at * direction),
        )

    def winners(self, found: Candidates) -> Values:
        """The keys of the candidates, for a head whose value is its key; a set counts where it is best placed."""
        score, left = self.head.rule.bind(self.known, SCORES), self.head.left
        places, winners = dict[Values, int](), set[int]()
        for start, stop, keys in chain.from_iterable(self.segments(*run) for run in runs_of(found.bounds)):
            if self.head.moving:
                winners.update(w for j in range(start, stop) for w in keys if found.reaches(score((j, w)), j))
            elif not left or keys not in places:
                places[keys] = start if left else stop - 1
        for keys, at in places.items():
            winners.update(w for w in keys if found.reaches(score((at, w)), at))
        return frozenset(winners)


def triples(kept: array[int]) -> Iterator[tuple[int, int, int]]:
    """Pieces as start, stop and best score."""
    ends = iter(kept)
    return zip(ends, ends, ends, strict=True)


def reaching(kept: array[int], floor: int, floor_at: int, left: bool) -> Bounds:
    """The runs of the pieces that reach the final floor, as far as they do, joined where they touch."""
    bounds = array("q")
    for start, stop, top in triples(kept):
        if top == floor:
            start, stop = (start, min(stop, floor_at + 1)) if left else (max(start, floor_at), stop)
        if top >= floor and start < stop:
            if bounds and bounds[-1] == start:
                bounds[-1] = stop
            else:
                bounds.extend((start, stop))
    return bounds


def visible(mask: str, i: int, n: int) -> tuple[int, int]:
    """The visible positions as start and stop."""
    if mask in ("past", "strict_past"):
        return 0, i + (mask == "past")
    return (0 if mask == "none" else i + (mask == "strict_future")), n


# ---------------------------------------------------------------- the run


class Run:
    """The abstract run over a cone, variable by variable. A score without query (key) has a dummy one: ``None``."""

    def __init__(self, model: Model, fixed: Fixed, free: int, cone: Cone) -> None:
        self.model, self.free, self.meter, self.stored = model, free, model.meter, dict[Values, Values]()
        self.states: dict[str | None, State] = {
            None: State(1, 0, self.meter),
            "token": tokens(model, fixed, free),
            "position": Positions(model.n, 0, self.meter),
        }
        for variable in model.variables:
            state = State(variable.domain, free, self.meter)
            for i in chain.from_iterable(range(*run) for run in runs_of(cone.get(variable.name, ()))):
                self.meter.charge(NODE + 2 * variable.rule.size)
                found = self.examine_map(variable, i) if isinstance(variable, Map) else self.examine_head(variable, i)
                state.add(i, i + 1, self.kept(*found))
            self.states[variable.name] = state

    def kept(self, values: Values, dependencies: int) -> Node:
        """Rule 5; equal sets are kept once."""
        if len(values) == 1:
            dependencies = 0
        elif dependencies is not self.free:
            self.meter.charge(dependencies.bit_length() // 2048)
            dependencies = self.free if dependencies == self.free else dependencies
        if values not in self.stored:
            self.meter.hold(300 + (0 if isinstance(values, range) else 80 * len(values)))
            self.stored[values] = values
        self.meter.hold(300 + (0 if dependencies is self.free else dependencies.bit_length() // 7))
        return self.stored[values], dependencies

    def joined(self, first: int, second: int) -> int:
        """The union of two sets of positions; all free ones are always the same object, which saves comparing them."""
        if first is self.free or second is self.free:
            return self.free
        self.meter.charge(1 + max(first.bit_length(), second.bit_length()) // 2048)
        return self.free if (both := first | second) == self.free else both

    def examine_map(self, variable: Map, i: int) -> Node:
        """Rule 3."""
        sets = [self.states[arg].values(i) for arg in variable.args]
        if (count := math.prod(map(len, sets))) > COMBINATIONS:
            exhausted(variable.place, f"more than 2^24 combinations of arguments at {i}")
        self.meter.charge(count * (1 + variable.price) + len(sets))
        self.meter.fits(100 * (min(count, variable.domain) + sum(map(len, sets))))
        value, dependencies = variable.rule.bind({"n": self.model.n, "i": i}, variable.args), 0
        image = frozenset(map(value, product(*sets)))
        for arg in variable.args if len(image) > 1 else ():
            dependencies = self.joined(dependencies, self.states[arg].depends((i, i + 1)))
        return image, dependencies

    def examine_head(self, head: Head, i: int) -> Node:
        """Rule 4."""
        low, high = visible(head.mask, i, self.model.n)
        if low >= high:
            return frozenset((head.default,)), 0
        query, keys, value = self.states[head.query], self.states[head.key], self.states[head.value]
        results, dependencies, before = set[Values](), query.depends((i, i + 1)), self.meter.held
        for u in query.values(i):
            self.meter.charge(NODE + head.rule.size)
            row = Row(head, {"n": self.model.n, "i": i, "q": u}, low, high, keys)
            self.expect(row, (low, high))
            candidates = self.candidates(row)
            if head.key == head.value:
                self.expect(row, candidates.bounds)
                found = self.winners(row, candidates)
            else:
                found = self.collected(row, candidates.bounds)
            if found not in results:
                self.meter.hold(100 + (0 if isinstance(found, range) else 100 * len(found)))
                results.add(found)
            if len(found) > 1 and dependencies is not self.free:
                dependencies = self.joined(dependencies, value.depends(candidates.bounds))
                if dependencies is not self.free:
                    dependencies = self.joined(dependencies, keys.depends(candidates.bounds))
            if dependencies is self.free and len(found) == head.domain:
                break  # No other row can add to V or D.
        values, self.meter.held = union(results, self.meter), before
        return values, dependencies

    def expect(self, row: Row, bounds: Bounds) -> None:
        """Charge for going through the pairs in these runs."""
        for run in runs_of(bounds):
            steps, sets = row.steps(*run)
            self.meter.charge(steps)
            self.meter.fits(100 * sets)

    def candidates(self, row: Row) -> Candidates:
        """The candidates of a row; another abstract run may find them in another way."""
        return row.candidates()

    def winners(self, row: Row, found: Candidates) -> Values:
        """The key values of the candidates of a row."""
        return row.winners(found)

    def collected(self, row: Row, bounds: Bounds) -> Values:
        """``R(u)`` where value and key are two variables: at ``i`` only ``u`` where query and value are one."""
        state, parts, i = self.states[row.head.value], set[Values](), row.known["i"]
        self.meter.fits(100 * len(bounds))
        for low, high in runs_of(bounds):
            if row.head.query == row.head.value and low <= i < high:
                parts.add(frozenset((row.known["q"],)))
                parts.update(state.sets(low, i))
                low = i + 1
            parts.update(state.sets(low, high))
        return union(parts, self.meter)


# ---------------------------------------------------------------- deciding


def at_least(model: Model, cone: Cone) -> int:
    """Steps that a run over this cone certainly takes."""
    steps = 0
    for variable in model.variables:
        for start, stop in runs_of(cone.get(variable.name, ())):
            steps += NODE * (stop - start)
            if isinstance(variable, Head) and variable.moving:
                (low, high), (last_low, last_high) = (visible(variable.mask, i, model.n) for i in (start, stop - 1))
                # The number of visible positions is linear in the position.
                steps += (high - low + last_high - last_low) * (stop - start) // 2 * (1 + variable.price)
    return steps


def branches(certificate: Certificate) -> Iterator[tuple[State, dict[int, int]]]:
    """The output in every case, and what was asked and answered there; each case is charged before it is made."""
    model, meter, runs = certificate.model, certificate.model.meter, len(certificate.fixed.symbols)
    each = 2 * NODE * (1 + len(model.variables)) + 12 * runs + model.n // 64
    if "cases" in certificate.fields:
        # All cases are read before any is examined.
        meter.expect(each * sum(1 for _ in certificate.leaves()))
    else:
        meter.expect(len(model.alphabet) ** len(certificate.split) * (each + at_least(model, certificate.cone)))
    for path, cone in certificate.leaves():
        meter.charge(each + len(path) * (2 + model.n // 64))
        meter.expect(at_least(model, cone))
        meter.fits(200 * runs if path else 0)
        free = certificate.free
        for at in path:
            free ^= 1 << at
        yield Run(model, branch_of(certificate.fixed, path), free, cone).states[model.output], path


def label_depends(model: Model, state: State, at: int) -> int:
    """Rule 6."""
    model.meter.charge(1 + model.n // 2048)
    return state.depends((at, at + 1)) if model.label(state.values(at)) is None else 0


def outcome(certificate: Certificate, at: int) -> Node:
    """Values of the output over all cases, and what its label depends on (Theorem A').

    A question counts as soon as two labels are met below it. Leaves come in the order of the tree: where the answers
    first differ from those of the leaf before, all deeper questions are finished."""
    model, meter = certificate.model, certificate.model.meter
    found, dependencies, before = set[Values](), 0, meter.held
    last, below = list[tuple[int, int]](), list[int | None]()  # its answers; the one label below each question, if one
    for state, path in branches(certificate):
        values, more = state.values(at), label_depends(model, state, at)
        meter.charge(1 + more.bit_length() // 2048)
        dependencies |= more
        label, answers = model.label(values), list(path.items())
        del below[next((k for k, (now, then) in enumerate(zip(answers, last, strict=False)) if now != then), 0) + 1 :]
        for depth, (asked, _) in enumerate(answers):
            if depth == len(below):
                below.append(label)
            elif below[depth] != label:
                below[depth] = None
            if below[depth] is None:
                dependencies |= 1 << asked
        last, meter.held = answers, before
        if values not in found:
            meter.hold(100 + (0 if isinstance(values, range) else 100 * len(values)))
            before = meter.held
            found.add(values)
        del state, values  # before the next case is run
    return union(found, meter), dependencies


def decide(certificate: Certificate) -> None:
    """Compare what comes out with the claim."""
    model, place, claimed = certificate.model, certificate.top.key("claim"), certificate.values
    model.meter.charge(model.n // 64)
    if certificate.claimed_free != (free := certificate.free.bit_count()):
        unproved(place.key("free"), f"{free} positions are free, not {certificate.claimed_free}")
    if (at := certificate.position) is None:
        decide_all(certificate)
        return
    values, more = outcome(certificate, at)
    model.meter.charge(min(len(values), len(claimed) + 1))
    for value in values:
        if (index := bisect_left(claimed, value)) == len(claimed) or claimed[index] != value:
            unproved(place.key("values"), f"{model.output} at {at} may take the value {value}")
    if more := more & ~certificate.dependencies:
        lowest = (more & -more).bit_length() - 1
        unproved(place.key("dependencies"), f"{model.output} at {at} may depend on position {lowest}")


def decide_all(certificate: Certificate) -> None:
    """The claim for every position: in a segment of equal ``V`` all nodes have equally many dependencies."""
    model, n = certificate.model, certificate.model.n
    state, _ = next(branches(certificate))
    model.meter.charge(state.count(0, n)[0])
    for at, _, values in state.segments(0, n):
        if len(values) > 1 and (found := label_depends(model, state, at).bit_count()) > certificate.c:
            reason = f"{model.output} at {at} depends on {found} free positions"
            unproved(certificate.top.key("claim").key("c"), reason)


def verify(task: Task) -> str:
    """The success line for a ``restrict-certificate/1``."""
    certificate = Certificate(task, task.document, task.top)
    decide(certificate)
    return certificate.line()
