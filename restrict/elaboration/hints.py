"""The hints of a user's file: cone, split or tree of cases of a certificate, and the boxes of a lower bound. The
checker has read the model and the claim; it does not read these, for a proof that is right is right without them."""

from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

from restrict.checker.account import Place, malformed, require, shown
from restrict.checker.formats import MAX_N, Certificate, Model
from restrict.checker.lower_bound import Bound
from restrict.checker.read import (
    FlatRuns,
    Maybe,
    anything,
    integer,
    integers,
    listing,
    read_runs,
    record,
    runs_of,
    thing,
)

Cone = dict[str, FlatRuns]
"""The nodes to examine, as runs of positions by variable."""
Asked = tuple[Any, Place, dict[int, int]]
"""A case as the file has it, where it stands, and what was asked and answered on the way to it."""
Symbols = dict[int, int]
"""Positions with their allowed symbols as bits."""
SPLIT = 12
LEAF = {"cone": Maybe(anything)}
CASE = {"position": integer(0, MAX_N), "children": listing}
BOX = {"only": anything, "never": Maybe(anything), "cone": thing}


class Cones:
    """Reads cones for a model."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def read(self, cone: Any, place: Place) -> Cone:
        """The nodes to examine."""
        if cone == "all":
            return self.every_node
        require(isinstance(cone, dict), place, 'expected "all" or an object', cone)
        listed = sum(len(runs) for runs in cone.values() if isinstance(runs, list))
        self.model.meter.charge(8 * len(cone) + listed)
        found: Cone = {}
        for name, value in cone.items():
            if name not in self.model.domains or name in ("token", "position"):
                malformed(place, "no such map or head: " + shown(name))
            found[name] = read_runs(value, inside := place.key(name), self.model.n)
            require(len(found[name]) > 0, inside, "a run list in the cone is not empty")
        return found

    @cached_property
    def every_node(self) -> Cone:
        """The cone ``"all"``, made once, since every leaf of a tree may have it."""
        return {variable.name: (0, self.model.n) for variable in self.model.variables}


class Hints:
    """How a certificate's claim may be proved: the nodes to examine, in one case or in many."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate, self.model, self.top = certificate, certificate.model, certificate.top
        self.cones, fields = Cones(certificate.model), certificate.fields
        self.cases: Any = thing(fields["cases"], self.top.key("cases")) if "cases" in fields else None
        place = self.top.key("split")
        self.split: Sequence[int] = integers(0, MAX_N)(fields["split"], place) if "split" in fields else array("q")
        increasing = len(self.split) <= SPLIT and all(a < b for a, b in pairwise(self.split))
        require(increasing, place, f"expected at most {SPLIT} positions, strictly increasing")
        divided = self.cases is not None or len(self.split) > 0
        require(certificate.position is not None or not divided, self.top, "cases are for one position alone")
        require(self.cases is None or not self.split, self.top, "at most one of split and cases")
        for at in self.split:
            require(self.is_free(at), place, f"position {at} is not free")
        self.cone = self.cones.read(fields["cone"], self.top.key("cone"))
        self.model.meter.place = self.top.key("cone")

    def is_free(self, at: int) -> bool:
        """Whether a position has neither a marker nor a fixed symbol; a number beyond all positions has none."""
        self.model.meter.charge(self.model.n // 64)
        return at < self.model.n and self.certificate.free >> at & 1 == 1

    def leaves(self) -> Iterator[tuple[dict[int, int], Cone]]:
        """The ways to fill positions, by the split or the tree of cases."""
        alphabet, charge = range(len(self.model.alphabet)), self.model.meter.charge
        if self.cases is None:
            for letters in product(alphabet, repeat=len(self.split)):
                yield dict(zip(self.split, letters, strict=True)), self.cone
            return
        todo: list[Iterator[Asked]] = [iter([(self.cases, self.top.key("cases"), {})])]
        while todo:
            if (case := next(todo[-1], None)) is None:
                todo.pop()
                continue
            value, place, path = case
            charge(4 + len(path))
            if "position" not in thing(value, place):
                fields = record(value, LEAF, place)
                yield path, self.cones.read(fields["cone"], place.key("cone")) if fields else self.cone
                continue
            fields = record(value, CASE, place)
            at, children = fields["position"], fields["children"]
            new = at not in path and self.is_free(at)
            require(new, place.key("position"), "not a free position, or asked before", at)
            inside = place.key("children")
            require(len(children) == len(alphabet), inside, f"expected one for each of the {len(alphabet)} symbols")
            charge(len(children) * (4 + len(path)))
            todo.append(answered(children, inside, path, at))


def answered(children: Sequence[Any], inside: Place, path: dict[int, int], at: int) -> Iterator[Asked]:
    """The cases below a question, each made when it is needed. ``path``: what was asked and answered above."""
    return ((child, inside.item(a), {**path, at: a}) for a, child in enumerate(children))


class ReadBox(NamedTuple):
    """What a box allows, and the nodes to examine."""

    symbols: Symbols
    cone: Cone


def read_boxes(bound: Bound) -> list[ReadBox]:
    """The boxes of a lower bound. Gives the boxes in the order of the file."""
    place, cones = bound.top.key("boxes"), Cones(bound.model)
    bound.model.meter.place = place
    return [read_box(value, place.item(at), cones) for at, value in enumerate(bound.fields["boxes"])]


def read_box(value: Any, place: Place, cones: Cones) -> ReadBox:
    """A box, found well-formed."""
    fields, model = record(value, BOX, place), cones.model
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
    return ReadBox(symbols, cones.read(fields["cone"], place.key("cone")))


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
