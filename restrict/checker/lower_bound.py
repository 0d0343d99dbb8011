"""Theorem C of docs/trusted-base.md: no few fixed positions force a label, by boxes and a tree.

A box allows some positions some symbols; by Theorem A the output then lies in a set ``V``. A restriction that forces a
label conflicts with every box whose ``V`` does not have it. ``Evaluator`` computes each ``V``, ``Tree`` decides whether
so few positions conflict with all of these boxes. Nothing that reads a certificate needs this file.

A *special* position is one that some box restricts or examines, or a marker's. At all others every variable has its
whole domain in every box, so of these a row is scored once for all boxes, and only its best pairs are kept. All work
is charged before it is done, as in ``kernel``.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import product
from typing import Any, NamedTuple
from urllib.parse import quote

from .account import LARGEST, LEAST, Meter, Place, Task, exhausted, malformed, shown, unproved
from .formats import COMBINATIONS, MAX_N, Cone, Head, Map, Model, Values, read_model
from .kernel import NODE, visible
from .read import Maybe, anything, digest, integer, listing, read_runs, record, runs_of, string, thing
from .rules import SCORES

BOUND = {
    "format": Maybe(anything),
    "model": {"name": string, "sha256": digest},
    "n": integer(1, MAX_N),
    "target": anything,
    "boxes": listing,
    "claim": {"labels": thing, "others": Maybe(integer(1, MAX_N + 1))},
    "provenance": Maybe(thing),
}
BOX = {"only": anything, "never": Maybe(anything), "cone": thing}
KEPT = 1024
"""At least this many positions of a row are kept, in case another box needs them."""
PAIR = 250
"""Bytes of a pair with its rank."""
VALUES = 4096
"""A box under which the output may have more values is of no use, and left out."""

Symbols = dict[int, int]
"""Positions with their allowed symbols as bits."""
Rank = tuple[int, int]
"""A pair's score, then its position (negative for ties to the left): the greater wins."""


class Box(NamedTuple):
    """What a box allows, and the nodes to examine."""

    symbols: Symbols
    cone: Cone


# ---------------------------------------------------------------- reading


def read_box(value: Any, place: Place, model: Model) -> Box:
    """A box, found well-formed."""
    fields = record(value, BOX, place)
    symbols: Symbols = {}
    everything = (1 << len(model.alphabet)) - 1
    for key, inverted in (("only", 0), ("never", everything)):
        inside, listed = place.key(key), fields.get(key, [])
        for index, (start, stop) in enumerate(runs_of(read_runs(listed, inside, model.n, 3))):
            bits = read_bits(listed[index][2], inside.item(index), model) ^ inverted
            if bits in (0, everything):
                malformed(inside.item(index), "expected some symbols of the alphabet, not none or all")
            if any(start <= at < stop for at, _ in model.markers):
                malformed(inside.item(index), "a marker is among the positions")
            model.meter.charge(stop - start)
            model.meter.hold(200 * (stop - start) + len(model.alphabet) // 8)
            for at in range(start, stop):
                if at in symbols:
                    malformed(inside.item(index), f"position {at} is in only, too")
                symbols[at] = bits
    return Box(symbols, model.read_cone(fields["cone"], place.key("cone")))


def read_bits(value: Any, place: Place, model: Model) -> int:
    """A list of symbols, in the order of the alphabet, as bits."""
    bits, last = 0, -1
    model.meter.charge(len(listing(value, place)) * (1 + len(model.alphabet) // 4096))
    for entry in value:
        if type(entry) is not str or entry not in model.alphabet:
            malformed(place, "not a symbol of the alphabet", entry)
        if model.alphabet[entry] <= last:
            malformed(place, "expected symbols in the order of the alphabet, each once", entry)
        last = model.alphabet[entry]
        bits |= 1 << last
    return bits


def symbols_of(bits: int) -> frozenset[int]:
    """The indices of the set bits."""
    return frozenset(at for at, bit in enumerate(reversed(bin(bits)[2:])) if bit == "1")


def label_of(model: Model, value: int) -> int:
    """The number of a value's label."""
    if model.labels is not None:
        return model.labels[value]
    return value if model.accept is None else +(value in model.accept)


def label_number(model: Model, name: str) -> int | None:
    """The number of a label that some value has."""
    domain = model.domains[model.output]
    if model.labels is not None:
        return model.label_names.get(name)
    if model.accept is not None:
        there = {"accept": len(model.accept) > 0, "reject": len(model.accept) < domain}
        return +(name == "accept") if there.get(name) else None
    number = int(name) if re.fullmatch("0|[1-9][0-9]{0,9}", name) else domain
    return number if number < domain else None


def label_count(model: Model) -> int:
    """How many labels the values have."""
    domain = model.domains[model.output]
    if model.labels is not None:
        return len(model.label_names)
    return domain if model.accept is None else (len(model.accept) > 0) + (len(model.accept) < domain)


class Bound:
    """A lower bound and its model; ``position`` is the target, ``claims`` are label numbers with their bounds."""

    def __init__(self, task: Task) -> None:
        self.top, self.fields = task.top, record(task.document, BOUND, task.top)
        self.n, self.digest = self.fields["n"], self.fields["model"]["sha256"]
        self.model = model = read_model(task, self.fields, task.top)
        self.target = self.fields["target"]
        self.position = model.read_target(self.target, task.top.key("target"))
        self.read_claim()
        boxes = task.top.key("boxes")
        task.meter.place = boxes
        self.boxes = [read_box(value, boxes.item(at), model) for at, value in enumerate(self.fields["boxes"])]

    def read_claim(self) -> None:
        """The numbers, by label and for the others."""
        place, claim = self.top.key("claim"), self.fields["claim"]
        self.named, self.others, least = claim["labels"], claim.get("others"), integer(1, self.n + 1)
        if not self.named and self.others is None:
            malformed(place, "nothing is claimed")
        self.model.meter.charge(4 * len(self.named))
        self.claims: dict[int, int] = {}
        for name, value in self.named.items():
            number = label_number(self.model, name)
            if number is None:
                malformed(place.key("labels"), "no such label: " + shown(name))
            self.claims[number] = least(value, place.key("labels").key(name))
        if self.others is not None:
            least(self.others, place.key("others"))

    def line(self) -> str:
        """With ``at_least``: any label takes so many positions, 0 where a label is not claimed."""
        rest = [] if len(self.named) == label_count(self.model) else [self.others or 0]
        names = ",".join(f"{quote(name, '', None, 'backslashreplace')}:{value}" for name, value in self.named.items())
        more = (f" labels={names}" if names else "") + (f" others={self.others}" if self.others else "")
        least = min([*self.claims.values(), *rest])
        return f"s VERIFIED n={self.n} target={self.target} at_least={least}{more} {self.digest}"


# ---------------------------------------------------------------- V of the output under a box


class Row:
    """The pairs that a head at ``i`` may attend to with the query ``u``, at positions that are not special: the floor
    that these alone give, and every pair whose score reaches ``bar``, best first."""

    def __init__(self, run: Evaluator, head: Head, i: int, u: int) -> None:
        self.run, self.head = run, head
        self.low, self.high = visible(head.mask, i, run.model.n)
        run.meter.charge(NODE + head.rule.size)
        self.score = head.rule.bind({"n": run.model.n, "i": i, "q": u}, SCORES)
        self.own = u if head.key and head.key == head.query else -1
        self.i = i
        self.floor: Rank | None = None
        self.bar = LARGEST + 1
        self.pairs: list[tuple[Rank, int]] = []

    def rank(self, score: int, j: int) -> Rank:
        """The order of pairs: by score, then by the tie rule."""
        return score, -j if self.head.left else j

    def scored(self, j: int, keys: Values) -> list[tuple[Rank, int]]:
        """The pairs of one position, each with its rank."""
        return [(self.rank(self.score((j, w)), j), w) for w in keys]

    def scan(self, bar: int) -> None:
        """Keep what reaches ``bar``, and no less than ``KEPT`` positions if so many there are."""
        head, meter, run = self.head, self.run.meter, self.run
        each = run.model.domains[head.key] if head.key and head.key != "position" else 1
        meter.charge((self.high - self.low) * (5 + each * (1 + head.price)))
        meter.fits(16 * (self.high - self.low) + 40 * each)
        best = array("q")
        for j in range(self.low, self.high):
            if j in run.special:
                best.append(LEAST)
                continue
            scores = [self.score((j, w)) for w in run.default(head.key, j)]
            best.append(max(scores))
            if self.floor is None or self.rank(min(scores), j) > self.floor:
                self.floor = self.rank(min(scores), j)
        self.bar = min(bar, *nlargest(KEPT, best)[-1:])
        if self.floor is not None:
            self.bar = max(self.bar, self.floor[0])
        kept = [self.low + at for at, score in enumerate(best) if score >= self.bar]
        meter.charge(len(kept) * (2 + each * (2 + head.price)))
        meter.held -= PAIR * len(self.pairs)
        meter.fits(PAIR * len(kept) * each)
        found = (pair for j in kept if j not in run.special for pair in self.scored(j, run.default(head.key, j)))
        self.pairs = sorted((pair for pair in found if pair[0][0] >= self.bar), reverse=True)
        meter.hold(PAIR * len(self.pairs))

    def candidates(self) -> Iterator[tuple[int, int]]:
        """Positions and key values of the candidates, best first (rule 4)."""
        mine: list[tuple[Rank, int]] = []
        if self.bar > LARGEST:
            self.scan(LARGEST)
        floor = self.floor
        for j in self.run.special_in(self.low, self.high):
            keys: Values = range(self.own, self.own + 1) if j == self.i and self.own >= 0 else self.keys(j)
            self.run.meter.charge(2 + len(keys) * (2 + self.head.price))
            pairs = self.scored(j, keys)
            mine.extend(pairs)
            worst = min(pairs)[0]
            floor = worst if floor is None or worst > floor else floor
        assert floor is not None
        if floor[0] < self.bar and (self.floor is None or self.bar > self.floor[0]):
            self.scan(floor[0])
        self.run.meter.charge(len(mine))
        for pairs in (mine, self.pairs):
            for rank, w in pairs:
                if rank >= floor:
                    yield abs(rank[1]), w
                elif pairs is self.pairs:
                    break

    def keys(self, j: int) -> Values:
        """``V`` of the key at a position, or a dummy value."""
        return self.run.values(self.head.key, j) if self.head.key else range(1)


class Evaluator:
    """``V`` of the output under one box after another; rows are kept from box to box."""

    def __init__(self, model: Model, boxes: Sequence[Box]) -> None:
        self.model, self.meter = model, model.meter
        size = sum(len(box.symbols) for box in boxes)
        size += sum(stop - start for box in boxes for runs in box.cone.values() for start, stop in runs_of(runs))
        self.meter.charge(2 * size)
        self.meter.hold(100 * size)
        self.special = {at for at, _ in model.markers}.union(*(box.symbols for box in boxes))
        for box in boxes:
            for runs in box.cone.values():
                for run in runs_of(runs):
                    self.special.update(range(*run))
        self.order = sorted(self.special)
        self.rows: dict[tuple[str, int, int], Row] = {}
        self.known: dict[tuple[str, int], Values] = {}

    def special_in(self, low: int, high: int) -> Iterator[int]:
        """The special positions ``low .. high-1``."""
        self.meter.charge(len(self.order) // 4)
        return (j for j in self.order if low <= j < high)

    def default(self, name: str | None, j: int) -> Values:
        """``V`` where no box says more (rules 1 and 2; a marker's token is among ``known``)."""
        if name == "position":
            return range(j, j + 1)
        return range(len(self.model.alphabet) if name == "token" else self.model.domains[name] if name else 1)

    def values(self, name: str, j: int) -> Values:
        """``V`` of a node under the present box."""
        return self.known.get((name, j)) or self.default(name, j)

    def under(self, box: Box, position: int) -> Values:
        """``V`` of the output at a position."""
        self.meter.charge(NODE + len(self.model.variables) + len(box.symbols) * (1 + len(self.model.alphabet) // 8))
        size = sum(200 + 80 * bits.bit_count() for bits in box.symbols.values())
        self.meter.fits(size)
        marked = {("token", at): len(self.model.alphabet) + t for t, (at, _) in enumerate(self.model.markers)}
        self.known = {node: range(value, value + 1) for node, value in marked.items()}
        self.known.update({("token", at): symbols_of(bits) for at, bits in box.symbols.items()})
        for variable in self.model.variables:
            for run in runs_of(box.cone.get(variable.name, ())):
                for i in range(*run):
                    self.meter.charge(NODE + 2 * variable.rule.size)
                    found = self.image(variable, i) if isinstance(variable, Map) else self.attended(variable, i)
                    size += 200 + (0 if isinstance(found, range) else 100 * len(found))
                    self.meter.fits(size)
                    self.known[variable.name, i] = found
        return self.values(self.model.output, position)

    def image(self, variable: Map, i: int) -> Values:
        """Rule 3."""
        sets = [self.values(arg, i) for arg in variable.args]
        if (count := math.prod(map(len, sets))) > COMBINATIONS:
            exhausted(variable.place, f"more than 2^24 combinations of arguments at {i}")
        self.meter.charge(count * (1 + variable.price))
        self.meter.fits(100 * min(count, variable.domain))
        return frozenset(map(variable.rule.bind({"n": self.model.n, "i": i}, variable.args), product(*sets)))

    def attended(self, head: Head, i: int) -> Values:
        """Rule 4, without dependencies."""
        low, high = visible(head.mask, i, self.model.n)
        if low >= high:
            return frozenset((head.default,))
        found, full = set[int](), self.model.domains[head.value]
        for u in self.values(head.query, i) if head.query else range(1):
            if (head.name, i, u) not in self.rows:
                self.meter.hold(1000)
                self.rows[head.name, i, u] = Row(self, head, i, u)
            for j, w in self.rows[head.name, i, u].candidates():
                more: Values = range(w, w + 1)
                if head.value != head.key:
                    more = range(u, u + 1) if j == i and head.value == head.query else self.values(head.value, j)
                self.meter.charge(2 + len(more) // 4)
                if len(more) == full:
                    return range(full)
                self.meter.fits(100 * (len(found) + len(more)))
                found.update(more)
        return frozenset(found)


# ---------------------------------------------------------------- the tree


class Tree:
    """Whether at most ``most`` positions conflict with every box. A node is a set of chosen positions, fixed for
    certain, and for each position the symbols (bits) that it has if it is fixed; ``ways`` of a box are the positions
    where a conflict is still possible. The children of a node are all the restrictions that conflict with one box, each
    at its first way in order; so a node without restrictions has none in its children, and no node is left out."""

    def __init__(self, boxes: Sequence[Symbols], alphabet: int, most: int, meter: Meter) -> None:
        self.boxes, self.most, self.meter = boxes, most, meter
        self.everything, self.price = (1 << alphabet) - 1, 1 + alphabet // 2048

    def unmet(self, chosen: frozenset[int], has: Symbols, candidates: Sequence[int]) -> list[tuple[int, list[int]]]:
        """The boxes without a certain conflict, with their ways."""
        self.meter.charge(NODE + sum(1 + self.price * len(self.boxes[number]) for number in candidates))
        found = []
        for number in candidates:
            ways, met = list[int](), False
            for at, allowed in self.boxes[number].items():
                symbols = has.get(at, self.everything)
                met = met or (at in chosen and not symbols & allowed)
                if symbols & ~allowed and (at in chosen or len(chosen) < self.most):
                    ways.append(at)
            if not met:
                found.append((number, ways))
        return sorted(found, key=lambda entry: (len(entry[1]), entry[0]))

    def uncovered(self, chosen: frozenset[int], has: Symbols, candidates: Sequence[int]) -> frozenset[int] | None:
        """Positions that conflict with every box, of those that the node stands for; None where there are none."""
        unmet = self.unmet(chosen, has, candidates)
        if not unmet:
            return chosen
        number, ways = unmet[0]
        apart, taken = 0, set[int]()
        for _, others in unmet:
            if taken.isdisjoint(others) and chosen.isdisjoint(others):
                apart += 1
                taken.update(others)
        # Boxes without a common way and without one that is chosen take a new position each.
        if not ways or apart > self.most - len(chosen):
            return None
        rest, has = [box for box, _ in unmet], dict(has)
        for at in ways:
            symbols, allowed = has.get(at, self.everything), self.boxes[number][at]
            self.meter.charge(len(has))
            found = self.uncovered(chosen | {at}, {**has, at: symbols & ~allowed}, rest)
            if found is not None:
                return found
            has[at] = symbols & allowed
            if at in chosen and not has[at]:
                return None
        return None


# ---------------------------------------------------------------- deciding


def decide(bound: Bound) -> None:
    """Compare what comes out with the claim."""
    model, run = bound.model, Evaluator(bound.model, bound.boxes)
    found: list[tuple[Symbols, frozenset[int]]] = []
    for box in bound.boxes:
        values = run.under(box, bound.position)
        if len(values) <= VALUES:
            model.meter.charge(len(values))
            model.meter.hold(300 + 100 * len(values))
            found.append((box.symbols, frozenset(label_of(model, value) for value in values)))
    place = bound.top.key("claim")
    claims: list[tuple[int | None, int, Place]] = []
    for (name, least), label in zip(bound.named.items(), bound.claims, strict=True):
        claims.append((label, least, place.key("labels").key(name)))
    if bound.others is not None:
        seen = frozenset[int]().union(*(labels for _, labels in found)) - bound.claims.keys()
        claims += [(label, bound.others, place.key("others")) for label in (*sorted(seen), None)]
    for wanted, least, where in claims:
        model.meter.charge(len(found))
        boxes = [symbols for symbols, labels in found if wanted is None or wanted not in labels]
        tree = Tree(boxes, len(model.alphabet), least - 1, model.meter)
        chosen = tree.uncovered(frozenset(), {}, range(len(boxes)))
        if chosen is not None:
            unproved(where, f"{len(chosen)} positions conflict with all {len(boxes)} boxes without the label")


def verify(task: Task) -> str:
    """The success line for a ``restrict-lower-bound/1``."""
    bound = Bound(task)
    decide(bound)
    return bound.line()
