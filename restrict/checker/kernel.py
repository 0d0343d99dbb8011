"""Theorems A and A' of docs/trusted-base.md: the abstract run over the cone, and the comparison with the claim.

A set of values is a ``frozenset`` or a ``range`` (a whole domain, a stretch of positions), which is never spelt out; a
set of positions is an ``int`` whose bit ``i`` stands for position ``i``; runs of positions are flat bounds. All work is
charged before it is done: a score its price, a node ``NODE``, a mask one step for each 64 positions, a union of masks
one for each 2048, a union of sets of values one for each four values.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator
from itertools import chain, product
from typing import NamedTuple, Protocol

from .formats import COMBINATIONS, Certificate, Cone, Fixed, Head, Map, Model, Values, branch_of, read_pair
from .read import LEAST, Bounds, Meter, Task, exhausted, mask_of, runs_of, unproved
from .rules import Fn, function

NODE = 10
"""Steps of a node, of a run, of a variable in a branch."""
LARGE = 1 << 16

Node = tuple[Values, int]


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
    meter.charge(1 + sum(map(len, sets)) // 4)
    if len(spans) == 1 and all(value in spans[0] for part in sets for value in part):
        return spans[0]
    size = sum(map(len, sets)) + sum(map(len, spans))
    meter.charge(size // 4)
    meter.fits(100 * size)
    return frozenset(chain.from_iterable([*sets, *spans]))


# ---------------------------------------------------------------- what is known of a variable


class State(Protocol):
    """What the abstract run knows of one variable at all positions."""

    def values(self, at: int) -> Values:
        """``V(v, at)``."""

    def depends(self, bounds: Bounds) -> int:
        """The union of ``D(v, j)`` over runs of positions, by rule 5 without those where ``V`` has one value."""

    def count(self, low: int, high: int) -> tuple[int, int]:
        """At most how many segments there are in ``low .. high-1``, and how many pairs of a position and a value."""

    def segments(self, low: int, high: int) -> Iterator[tuple[int, int, Values]]:
        """``low .. high-1`` in stretches of equal ``V``, in order."""

    def sets(self, low: int, high: int) -> Iterator[Values]:
        """Sets of values whose union is that of ``V`` over ``low .. high-1``."""


class Tokens:
    """Rule 1 for ``token``, as stretches of equal symbols."""

    def __init__(self, model: Model, fixed: Fixed, free: int) -> None:
        count, self.free, self.meter = len(model.alphabet), free if len(model.alphabet) > 1 else 0, model.meter
        self.n, before, total = model.n, 0, 0
        marked = [((at, at + 1), count + index) for index, (at, _) in enumerate(model.markers)]
        head, tail = [m for m in marked if m[0][0] == 0], [m for m in marked if m[0][0] > 0]
        self.starts, self.sums, self.known = array("q"), array("q"), list[Values]()
        letters: dict[int, Values] = {}
        runs = zip(runs_of(fixed.bounds), fixed.symbols, strict=True)
        for (start, stop), value in chain(head, runs, tail, [((self.n, self.n), 0)]):
            if before < start:
                self.starts.append(before)
                self.sums.append(total)
                self.known.append(range(count))
                total += count * (start - before)
            self.starts.append(start)
            self.sums.append(total)
            self.known.append(letters.setdefault(value, frozenset((value,))))
            before, total = stop, total + stop - start

    def index(self, at: int) -> int:
        return bisect_right(self.starts, at) - 1

    def values(self, at: int) -> Values:
        return self.known[self.index(at)]

    def depends(self, bounds: Bounds) -> int:
        self.meter.charge(1 + bounds[-1] // 64 + 2 * len(bounds))
        return self.free & mask_of(bounds)

    def count(self, low: int, high: int) -> tuple[int, int]:
        first, last = self.index(low), self.index(high - 1)
        ends = [self.sums[at] + (p - self.starts[at]) * len(self.known[at]) for p, at in ((low, first), (high, last))]
        return last - first + 1, ends[1] - ends[0]

    def segments(self, low: int, high: int) -> Iterator[tuple[int, int, Values]]:
        index = self.index(low)
        while low < high:
            stop = min(high, self.starts[index + 1])
            yield low, stop, self.known[index]
            low, index = stop, index + 1

    def sets(self, low: int, high: int) -> Iterator[Values]:
        return iter(self.known[self.index(low) : self.index(high - 1) + 1])


class Positions:
    """Rule 1 for ``position``."""

    def values(self, at: int) -> Values:
        return range(at, at + 1)

    def depends(self, bounds: Bounds) -> int:
        return 0

    def count(self, low: int, high: int) -> tuple[int, int]:
        return high - low, high - low

    def segments(self, low: int, high: int) -> Iterator[tuple[int, int, Values]]:
        return ((at, at + 1, range(at, at + 1)) for at in range(low, high))

    def sets(self, low: int, high: int) -> Iterator[Values]:
        return iter((range(low, high),))


class Nodes:
    """The examined nodes of a map or head, in order of position; all others by rule 2."""

    def __init__(self, domain: int, free: int, meter: Meter) -> None:
        self.full, self.free, self.meter = range(domain), free if domain > 1 else 0, meter
        self.order, self.sums, self.examined = array("q"), [0], dict[int, Node]()

    def add(self, at: int, node: Node) -> None:
        self.order.append(at)
        self.sums.append(self.sums[-1] + len(node[0]))
        self.examined[at] = node

    def values(self, at: int) -> Values:
        return self.examined[at][0] if at in self.examined else self.full

    def depends(self, bounds: Bounds) -> int:
        found = 0
        for start, stop in runs_of(bounds):
            first, last = bisect_left(self.order, start), bisect_left(self.order, stop)
            self.meter.charge(2 + last - first)
            if last - first < stop - start and self.free:
                return self.free
            for at in self.order[first:last]:
                if more := self.examined[at][1]:
                    self.meter.charge(more.bit_length() // 2048)
                    found |= more
        return found

    def count(self, low: int, high: int) -> tuple[int, int]:
        first, last = bisect_left(self.order, low), bisect_left(self.order, high)
        known, rest = self.sums[last] - self.sums[first], high - low - (last - first)
        return 2 * (last - first) + 1, known + rest * self.full.stop

    def segments(self, low: int, high: int) -> Iterator[tuple[int, int, Values]]:
        for at in self.order[bisect_left(self.order, low) : bisect_left(self.order, high)]:
            if low < at:
                yield low, at, self.full
            yield at, at + 1, self.examined[at][0]
            low = at + 1
        if low < high:
            yield low, high, self.full

    def sets(self, low: int, high: int) -> Iterator[Values]:
        return (values for _, _, values in self.segments(low, high))


# ---------------------------------------------------------------- one row of a head


class Candidates(NamedTuple):
    """Runs of candidate positions, and whether a score at a position is at or above the floor."""

    bounds: Bounds
    reaches: Callable[[int, int], bool]


class Row(NamedTuple):
    """The pairs that an examined head at ``i`` may attend to for one value ``u`` of its query."""

    head: Head
    i: int
    u: int
    low: int
    high: int
    score: Fn
    keys: State | None
    meter: Meter

    def steps(self, low: int, high: int) -> int:
        """The steps of going through the segments of some positions, and of scoring their pairs."""
        segments, pairs = self.keys.count(low, high) if self.keys else (1, high - low)
        return (segments + high - low if self.head.moving else 2 * segments) + (
            pairs * self.head.price if self.head.moving else 0
        )

    def segments(self, low: int, high: int) -> Iterator[tuple[int, int, Values]]:
        """Visible positions with the ``w`` of their pairs: at ``i`` only ``u`` where query and key are one variable."""
        if self.keys is None:
            return iter(((low, high, range(1)),))
        if self.head.query != self.head.key or not low <= self.i < high:
            return self.keys.segments(low, high)
        return chain(
            self.keys.segments(low, self.i) if low < self.i else (),
            ((self.i, self.i + 1, frozenset((self.u,))),),
            self.keys.segments(self.i + 1, high) if self.i + 1 < high else (),
        )

    def candidates(self) -> Candidates:
        """One pass over the visible positions, which keeps those that reach the floor found so far.

        Among equal scores the floor is the leftmost for ties to the left, else the rightmost; the scan goes rightwards.
        """
        self.meter.charge(self.steps(self.low, self.high))
        score, left, moving, kept = self.score, self.head.left, self.head.moving, Kept(self.meter)
        floor, floor_at, scored = LEAST - 1, -1, dict[Values, tuple[int, int]]()
        for start, stop, keys in self.segments(self.low, self.high):
            if not moving:
                least, most = self.extremes(keys, scored)
                if least > floor or (least == floor and not left):
                    floor, floor_at = least, start if left else stop - 1
                if most >= floor:
                    kept.add(start, stop, most, floor)
                continue
            if len(keys) > LARGE:
                self.meter.fits(40 * len(keys))
            for j in range(start, stop):
                scores = [score((j, w)) for w in keys]
                least = min(scores)
                if least > floor or (least == floor and not left):
                    floor, floor_at = least, j
                if (most := max(scores)) >= floor:
                    kept.add(j, j + 1, most, floor)
        # Smaller positions are better for ties to the left, larger ones to the right.
        direction = 1 if left else -1
        return Candidates(
            kept.reaching(floor, floor_at, left),
            lambda score, at: score > floor or (score == floor and at * direction <= floor_at * direction),
        )

    def extremes(self, keys: Values, scored: dict[Values, tuple[int, int]]) -> tuple[int, int]:
        """Least and greatest score over the keys, where the position does not matter; remembered for sets met again."""
        if keys not in scored:
            self.meter.charge(len(keys) * (1 + self.head.price))
            self.meter.fits(100 * len(keys))
            scores = [self.score((0, w)) for w in keys]
            scored[keys] = min(scores), max(scores)
        return scored[keys]

    def winners(self, found: Candidates) -> Values:
        """The keys of the candidates, for a head whose value is its key."""
        seen: set[int] = set()
        for low, high in runs_of(found.bounds):
            self.meter.charge(self.steps(low, high))
            for start, stop, keys in self.segments(low, high):
                self.meter.charge(len(keys) * (1 + self.head.price))
                self.meter.fits(100 * (len(seen) + len(keys)))
                for w in keys:
                    if w in seen:
                        continue
                    if not self.head.moving:
                        reached = found.reaches(self.score((0, w)), start if self.head.left else stop - 1)
                    else:
                        reached = any(found.reaches(self.score((j, w)), j) for j in range(start, stop))
                    if reached:
                        seen.add(w)
        return frozenset(seen)


class Kept:
    """Runs of positions with their best score, as far as they reach the floor found so far."""

    def __init__(self, meter: Meter) -> None:
        self.bounds, self.tops, self.meter, self.most = array("q"), array("q"), meter, LARGE

    def add(self, start: int, stop: int, top: int, floor: int) -> None:
        self.bounds.append(start)
        self.bounds.append(stop)
        self.tops.append(top)
        if len(self.tops) > self.most:
            self.meter.charge(2 * len(self.tops))
            self.meter.fits(60 * len(self.tops))
            reached = array("q", (index for index, best in enumerate(self.tops) if best >= floor))
            self.bounds = array("q", (self.bounds[2 * index + end] for index in reached for end in (0, 1)))
            self.tops = array("q", (self.tops[index] for index in reached))
            self.most = 2 * len(reached) + LARGE

    def reaching(self, floor: int, floor_at: int, left: bool) -> Bounds:
        """What reaches the final floor, runs that touch joined."""
        self.meter.charge(len(self.tops))
        bounds = array("q")
        for (start, stop), top in zip(runs_of(self.bounds), self.tops, strict=True):
            if top < floor:
                continue
            if top == floor:
                start, stop = (start, min(stop, floor_at + 1)) if left else (max(start, floor_at), stop)
            if start < stop and bounds and bounds[-1] == start:
                bounds[-1] = stop
            elif start < stop:
                bounds.append(start)
                bounds.append(stop)
        return bounds


def visible(mask: str, i: int, n: int) -> tuple[int, int]:
    """The visible positions as start and stop."""
    if mask in ("past", "strict_past"):
        return 0, i + (mask == "past")
    return (0 if mask == "none" else i + (mask == "strict_future")), n


# ---------------------------------------------------------------- the run


class Run:
    """The abstract run over a cone, variable by variable."""

    def __init__(self, model: Model, fixed: Fixed, free: int, cone: Cone) -> None:
        self.model, self.free, self.meter = model, free, model.meter
        self.states: dict[str, State] = {"token": Tokens(model, fixed, free), "position": Positions()}
        self.stored: dict[Values, Values] = {}
        for variable in model.variables:
            nodes = Nodes(variable.domain, free, self.meter)
            examine = self.examine_map if isinstance(variable, Map) else self.examine_head
            for i in chain.from_iterable(range(*run) for run in runs_of(cone.get(variable.name, ()))):
                self.meter.charge(NODE + 2 * variable.rule.size)
                nodes.add(i, self.kept(*examine(variable, i)))  # type: ignore[arg-type]
            self.states[variable.name] = nodes

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

    def examine_map(self, variable: Map, i: int) -> Node:
        """Rule 3."""
        sets = [self.states[arg].values(i) for arg in variable.args]
        if (count := math.prod(map(len, sets))) > COMBINATIONS:
            exhausted(variable.place, f"more than 2^24 combinations of arguments at {i}")
        self.meter.charge(count * (1 + variable.price) + len(sets))
        self.meter.fits(100 * (min(count, variable.domain) + sum(map(len, sets))))
        slots = {arg: index for index, arg in enumerate(variable.args)}
        value = function(variable.rule.bind({"n": self.model.n, "i": i}, slots))
        image, dependencies = frozenset(map(value, product(*sets))), 0
        for arg in variable.args if len(image) > 1 else ():
            more = self.states[arg].depends((i, i + 1))
            self.meter.charge(1 + more.bit_length() // 2048)
            dependencies |= more
        return image, dependencies

    def examine_head(self, head: Head, i: int) -> Node:
        """Rule 4."""
        low, high = visible(head.mask, i, self.model.n)
        if low >= high:
            return frozenset((head.default,)), 0
        queries: Values = self.states[head.query].values(i) if head.query else range(1)
        keys, slots = self.states[head.key] if head.key else None, {"j": 0, "k": 1}
        results, dependencies, before = set[Values](), 0, self.meter.held
        for u in queries:
            self.meter.charge(NODE + head.rule.size)
            score = function(head.rule.bind({"n": self.model.n, "i": i, "q": u}, slots))
            row = Row(head, i, u, low, high, score, keys, self.meter)
            candidates = self.candidates(row)
            found = self.winners(row, candidates) if head.key == head.value else self.collected(row, candidates.bounds)
            if found not in results:
                self.meter.hold(100 + (0 if isinstance(found, range) else 100 * len(found)))
                results.add(found)
            if len(found) > 1 and dependencies is not self.free:
                more = self.states[head.value].depends(candidates.bounds)
                more |= keys.depends(candidates.bounds) if keys and more is not self.free else 0
                dependencies = self.joined(dependencies, more)
        values, self.meter.held = union(results, self.meter), before
        if head.query and len(values) > 1:
            dependencies = self.joined(dependencies, self.states[head.query].depends((i, i + 1)))
        return values, dependencies

    def candidates(self, row: Row) -> Candidates:
        return row.candidates()

    def winners(self, row: Row, found: Candidates) -> Values:
        return row.winners(found)

    def joined(self, first: int, second: int) -> int:
        """The union of two sets of positions; all free ones are always the same object, which saves comparing them."""
        if first is self.free or second is self.free:
            return self.free
        self.meter.charge(1 + max(first.bit_length(), second.bit_length()) // 2048)
        return first | second

    def collected(self, row: Row, bounds: Bounds) -> Values:
        """``R(u)`` where value and key are two variables: at ``i`` only ``u`` where query and value are one."""
        state, parts, own = self.states[row.head.value], set[Values](), row.head.query == row.head.value
        for low, high in runs_of(bounds):
            inside = own and low <= row.i < high
            if inside:
                parts.add(frozenset((row.u,)))
            for start, stop in ((low, row.i), (row.i + 1, high)) if inside else ((low, high),):
                if start < stop:
                    count = 1 if isinstance(state, Positions) else state.count(start, stop)[0]
                    self.meter.charge(2 + count)
                    self.meter.fits(100 * (len(parts) + count))
                    parts.update(state.sets(start, stop))
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


def decide(certificate: Certificate) -> None:
    """Compare what comes out with the claim."""
    model, place, n = certificate.model, certificate.top.key("claim"), certificate.n
    model.meter.charge(n // 64)
    if certificate.claimed_free != (free := certificate.free.bit_count()):
        unproved(place.key("free"), f"{free} positions are free, not {certificate.claimed_free}")
    at = certificate.position
    if at is None:
        decide_all(certificate)
        return
    values, more = outcome(certificate, at)
    model.meter.charge(min(len(values), len(claimed := certificate.values) + 1))
    for value in values:
        if (index := bisect_left(claimed, value)) == len(claimed) or claimed[index] != value:
            unproved(place.key("values"), f"{model.output} at {at} may take the value {value}")
    if more := more & ~certificate.dependencies:
        lowest = (more & -more).bit_length() - 1
        unproved(place.key("dependencies"), f"{model.output} at {at} may depend on position {lowest}")


def decide_all(certificate: Certificate) -> None:
    """The claim for every position: in a stretch of equal ``V`` all nodes have equally many dependencies."""
    model, n = certificate.model, certificate.n
    branch = next(branches(certificate))
    state = (certificate.runner or Run)(model, *branch).states[model.output]
    model.meter.charge(state.count(0, n)[0])
    for at, _, values in state.segments(0, n):
        if len(values) > 1 and (found := label_depends(model, state, at).bit_count()) > certificate.c:
            reason = f"{model.output} at {at} depends on {found} free positions"
            unproved(certificate.top.key("claim").key("c"), reason)


def label_depends(model: Model, state: State, at: int) -> int:
    """Rule 6."""
    model.meter.charge(1 + model.n // 2048)
    return 0 if model.one_label(state.values(at)) else state.depends((at, at + 1))


def branches(certificate: Certificate) -> Iterator[tuple[Fixed, int, Cone]]:
    """The restriction, its free positions and the cone in every case; each case is charged before it is made."""
    model, meter = certificate.model, certificate.model.meter
    each = 2 * NODE * (1 + len(model.variables)) + 12 * len(certificate.fixed.symbols) + model.n // 64
    if "cases" in certificate.fields:
        # All cases are read before any is examined.
        meter.expect(each * sum(1 for _ in certificate.leaves()))
    else:
        count = len(model.alphabet) ** len(certificate.split)
        meter.expect(count * (each + at_least(model, certificate.cone)))
    for path, cone in certificate.leaves():
        meter.charge(each + len(path) * (2 + model.n // 64))
        meter.expect(at_least(model, cone))
        meter.fits(200 * len(certificate.fixed.symbols) if path else 0)
        free = certificate.free
        for at in path:
            free ^= 1 << at
        yield branch_of(certificate.fixed, path), free, cone


def outcome(certificate: Certificate, at: int) -> Node:
    """Values and dependencies of the output, over all cases (Theorem A')."""
    model, meter = certificate.model, certificate.model.meter
    found, dependencies, before = set[Values](), 0, meter.held
    for fixed, free, cone in branches(certificate):
        state = (certificate.runner or Run)(model, fixed, free, cone).states[model.output]
        values = state.values(at)
        more = label_depends(model, state, at)
        meter.charge(1 + more.bit_length() // 2048)
        dependencies |= more | (certificate.free ^ free)
        meter.held = before
        if values not in found:
            meter.hold(100 + (0 if isinstance(values, range) else 100 * len(values)))
            before = meter.held
            found.add(values)
    values = union(found, meter)
    return values, 0 if model.one_label(values) else dependencies


def verify(task: Task) -> str:
    """The success line for a ``restrict-certificate/1``."""
    certificate = read_pair(task, task.document, task.top)
    decide(certificate)
    return certificate.line()
