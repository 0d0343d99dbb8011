"""The formats: a model at one length, and a certificate, from tables of their fields (docs/format.md).

``Certificate`` reads both files. What a table cannot say stands in the code below it: what depends on ``n``, on the
order of things, or on the other file.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from .account import LARGEST, LEAST, Place, Task, malformed, require
from .normal_form import Code, Table
from .read import (
    FlatRuns,
    Maybe,
    anything,
    digest,
    integer,
    integers,
    listing,
    mask_of,
    matching,
    plain,
    read_json,
    read_runs,
    record,
    runs_of,
    string,
    strings,
    symbol,
    thing,
)
from .rules import RESERVED, Emitter, Rule, expression, read_rule
from .tensors import Files

MAX_N = 100_000_000
VARIABLES = 4096
MASKS = ("none", "past", "strict_past", "future", "strict_future")

Values = frozenset[int] | range
"""A set of values; a range has step 1 and is never spelt out."""


def symbols(value: Any, place: Place) -> dict[str, int]:
    """An alphabet: symbols with their indices."""
    require(1 <= len(listing(value, place)) <= 65536, place, "expected 1 to 65536 symbols")
    found = {symbol(entry, place.item(index)): index for index, entry in enumerate(value)}
    require(len(found) == len(value), place, "a symbol occurs twice")
    return found


name = matching("[A-Za-z_][A-Za-z0-9_]{0,63}", "a name for a variable: up to 64 letters, digits and _, no digit first")
OUTPUT = {
    "variable": string,
    "position": ("last", "every"),
    "accept": Maybe(integers(0, LARGEST)),
    "labels": Maybe(strings),
}
MODEL = {
    "format": ("restrict-model/1",),
    "name": plain,
    "description": Maybe(string),
    "alphabet": symbols,
    "start_marker": Maybe(symbol),
    "end_marker": Maybe(symbol),
    "when": Maybe(string),
    "files": Maybe(thing),
    "variables": listing,
    "output": OUTPUT,
}
MAP = {"name": name, "kind": Maybe(anything), "args": strings, "domain": anything, "map": anything}
HEAD = {
    "name": name,
    "kind": ("map", "head"),
    "value": string,
    "score": anything,
    "query": Maybe(string),
    "key": Maybe(string),
    "mask": Maybe(MASKS),
    "ties": Maybe(("left", "right")),
    "domain": Maybe(anything),
    "default": Maybe(integer(0, LARGEST)),
}
CERTIFICATE = {
    "format": ("restrict-certificate/1",),
    "model": {"name": string, "sha256": digest},
    "n": integer(1, MAX_N),
    "target": anything,
    "fixed": anything,
    "cone": anything,
    "claim": thing,
    "split": Maybe(anything),
    "cases": Maybe(anything),
    "provenance": Maybe(thing),
}
CLAIM_ALL = {"free": integer(0, LARGEST), "c": integer(0, LARGEST)}
CLAIM = {**CLAIM_ALL, "dependencies": anything, "values": integers(0, LARGEST)}


# ---------------------------------------------------------------- the model at one length


class Map(NamedTuple):
    """A variable by a rule of others at its position."""

    name: str
    place: Place
    domain: int
    args: tuple[str, ...]
    rule: Rule


class Head(NamedTuple):
    """``query`` and ``key`` are None where the score does not mention them."""

    name: str
    place: Place
    domain: int
    query: str | None
    key: str | None
    value: str
    rule: Rule
    mask: str
    left: bool
    default: int


class Fixed(NamedTuple):
    """Runs of positions with a symbol each."""

    bounds: FlatRuns
    symbols: Sequence[int]


class Model:
    """A model at length ``n``: parsed, every domain known, intervals analysed."""

    def __init__(self, task: Task, n: int) -> None:
        top, self.meter, self.task, self.n = task.model_place, task.meter, task, n
        fields = record(read_json(task.model, top, task.meter), MODEL, top)
        self.name, self.alphabet = fields["name"], fields["alphabet"]
        self.markers: list[tuple[int, str]] = []
        for key, at in (("start_marker", 0), ("end_marker", n - 1)):
            if (marker := fields.get(key)) is not None:
                new = marker not in self.alphabet and marker not in [other for _, other in self.markers]
                require(new, top.key(key), "a marker is a symbol of its own, outside the alphabet", marker)
                self.markers.append((at, marker))
        require(len(self.markers) <= n, top, "a model with both markers needs n of at least 2")
        self.domains = {"token": len(self.alphabet) + len(self.markers), "position": n}
        self.numbers, self.lines, self.tables = {"token": 0, "position": 1}, list[str](), list[Table]()
        self.when: str | None = fields.get("when")
        if "when" in fields and not self.number(fields["when"], top.key("when"), LEAST):
            malformed(top.key("when"), f"the model is not defined at n = {n}")
        self.files = Files(task.folder, fields.get("files", {}), top.key("files"), task.meter)
        self.variables: list[Map | Head] = []
        listed, inside = fields["variables"], top.key("variables")
        require(len(listed) <= VARIABLES, inside, f"more than {VARIABLES} variables")
        for index, entry in enumerate(listed):
            self.read_variable(thing(entry, inside.item(index)), inside.item(index))
        self.read_output(fields["output"], top.key("output"))

    def number(self, value: Any, place: Place, least: int) -> int:
        """An integer or the value of an expression over ``n``."""
        if isinstance(value, str):
            found = self.code(expression(value, place, ("n",), self.meter), {}, [])[0].value({})
            assert isinstance(found, int)
            value = int(found)  # no truth value
        return int(integer(least, LARGEST)(value, place))

    def known(self, name: str, place: Place) -> str:
        """The name of a variable that was read before; any other is malformed."""
        require(name in self.domains, place, "no such variable before this one", name)
        return name

    def read_variable(self, value: dict[str, Any], place: Place) -> None:
        """One map or head, with a name that is still free."""
        mapped = value.get("kind") == "map"
        fields = record(value, MAP if mapped else HEAD, place)
        taken = fields["name"] in self.domains or fields["name"] in RESERVED
        require(not taken, place.key("name"), "the name is taken", fields["name"])
        self.variables.append((self.read_map if mapped else self.read_head)(fields, place))
        self.domains[fields["name"]], self.numbers[fields["name"]] = self.variables[-1].domain, len(self.numbers)

    def read_map(self, fields: dict[str, Any], place: Place) -> Map:
        """A map; where its interval leaves the domain, every combination of what it mentions is tried."""
        args, inside = fields["args"], place.key("map")
        sizes = {"n": self.n, "i": self.n} | {arg: self.domains[self.known(arg, place.key("args"))] for arg in args}
        require(len(sizes) == 2 + len(args), place.key("args"), "an argument occurs twice")
        domain = self.number(fields["domain"], place.key("domain"), 1)
        rule, registers = read_rule(fields["map"], inside, sizes.keys() - {"n"}, self.files), [*sizes.values()][1:]
        code, words = self.code(rule, {name: at for at, name in enumerate([*sizes][1:])}, registers)
        code.stays(domain, registers, inside, self.meter)
        numbers = "".join(f" {self.numbers[arg]}" for arg in args)
        self.lines.append(f"map {domain} {len(args)}{numbers}{words}")
        return Map(fields["name"], place, domain, tuple(args), rule)

    def code(self, rule: Rule, names: dict[str, int], sizes: Sequence[int]) -> tuple[Code, str]:
        """The code of a rule over registers of these sizes, and its words."""
        emitter = Emitter(names, sizes, self.n, self.tables, rule.place, self.meter)
        return emitter.finish(rule.tree), "".join(f" {word}" for word in emitter.words)

    def read_head(self, fields: dict[str, Any], place: Place) -> Head:
        """A head; what its score does not mention is neither query nor key."""
        value = self.known(fields["value"], place.key("value"))
        domain = self.domains[value]
        if "domain" in fields:
            domain = self.number(fields["domain"], place.key("domain"), domain)
        roles = {r[0]: self.known(fields[r], place.key(r)) for r in ("query", "key") if r in fields}
        score = read_rule(fields["score"], place.key("score"), {"q", "k", "i", "j"}, self.files)
        for unread in score.names & {"q", "k"} - set(roles):
            malformed(place.key("score"), f"the score mentions {unread}, which the head does not define")
        query, key = (roles[r] if r in score.names else None for r in ("q", "k"))
        asked, offered = (1 if role is None else self.domains[role] for role in (query, key))
        _, words = self.code(score, {"i": 0, "q": 1, "j": 2, "k": 3}, [self.n, asked, self.n, offered])
        mask, left = fields.get("mask", "none"), fields.get("ties", "left") == "left"
        default = integer(0, domain - 1)(fields.get("default", 0), place.key("default"))
        numbers = " ".join(str(-1 if role is None else self.numbers[role]) for role in (query, key))
        rest = f"{self.numbers[value]} {MASKS.index(mask)} {+left} {default}"
        self.lines.append(f"head {domain} {numbers} {rest}{words}")
        return Head(fields["name"], place, domain, query, key, value, score, mask, left, default)

    def read_output(self, fields: dict[str, Any], place: Place) -> None:
        """The output variable, where it is read, and what its values mean."""
        self.output, self.every = self.known(fields["variable"], place.key("variable")), fields["position"] == "every"
        accept, labels, domain = fields.get("accept"), fields.get("labels"), self.domains[self.output]
        self.meter.hold(150 * len(accept or labels or ()))
        require(accept is None or labels is None, place, "at most one of accept and labels")
        self.accept: set[int] | None = None
        if accept is not None:
            self.accept = set(accept)
            fits = len(self.accept) == len(accept) and max(accept, default=0) < domain
            require(fits, place.key("accept"), f"expected values below {domain}, each once")
        self.labels: array[int] | None = None
        self.label_names: dict[str, int] = {}
        if labels is not None:
            require(len(labels) == domain, place.key("labels"), f"expected one label for each of the {domain} values")
            names = self.label_names
            self.labels = array("q", (names.setdefault(label, len(names)) for label in labels))

    def label(self, values: Values) -> int | None:
        """The number of the label that all of these values have; ``None`` where they have more than one."""
        if self.accept is None and self.labels is None:
            return next(iter(values)) if len(values) == 1 else None
        labels, accept = self.labels, self.accept or ()
        met = {labels[value] if labels is not None else +(value in accept) for value in values}
        return met.pop() if len(met) == 1 else None

    def read_fixed(self, value: Any, place: Place) -> Fixed:
        """Runs of positions with a symbol each."""
        bounds, found = read_runs(value, place, self.n, 3), array("i")
        for index, entry in enumerate(value):
            if type(entry[2]) is not str or entry[2] not in self.alphabet:
                malformed(place.item(index), "not a symbol of the alphabet", entry[2])
            found.append(self.alphabet[entry[2]])
        for at, _ in self.markers:
            outside = not bounds or (bounds[0] if at == 0 else bounds[-1] - 1) != at
            require(outside, place, f"position {at} has a marker and cannot be fixed")
        return Fixed(bounds, found)

    def read_target(self, target: Any, place: Place) -> int:
        """The position of a claim."""
        if target == "last":
            return self.n - 1
        require(self.every, place, 'expected "last": the model has no output at other positions', target)
        return int(integer(0, self.n - 1)(target, place))


def bound_model(task: Task, fields: dict[str, Any], top: Place, kind: Callable[[Task, int], Any] = Model) -> Any:
    """The model that a proof is about, at the proof's length; the digest and the name must be those in the proof."""
    same = hashlib.sha256(task.model).hexdigest() == fields["model"]["sha256"]
    require(same, top.key("model").key("sha256"), "not the SHA-256 of the model file")
    model, named = kind(task, fields["n"]), fields["model"]["name"]
    require(named == model.name, top.key("model").key("name"), "not the name of the model", named)
    return model


# ---------------------------------------------------------------- the certificate


class Certificate:
    """A certificate and its model, read and found well-formed.

    ``position`` is the target, or None for all; ``free`` and ``dependencies`` have a bit for each position.
    """

    def __init__(self, task: Task, document: Any, top: Place) -> None:
        self.top, self.fields = top, record(document, CERTIFICATE, top)
        self.model: Model = bound_model(task, self.fields, top)
        model = self.model
        self.n, self.target, every = model.n, self.fields["target"], self.fields["target"] == "all" and model.every
        self.position = None if every else model.read_target(self.target, top.key("target"))
        self.fixed = model.read_fixed(self.fields["fixed"], top.key("fixed"))
        model.meter.charge(self.n // 16 + 2 * len(self.fixed.symbols))
        model.meter.hold(self.n // 2)  # the masks below, and what they are made of
        self.free = ((1 << self.n) - 1) ^ mask_of(self.fixed.bounds)
        for at, _ in model.markers:
            self.free ^= 1 << at
        self.read_claim()

    def read_claim(self) -> None:
        """The free positions, c, and for one position its dependencies and values."""
        place, single = self.top.key("claim"), self.position is not None
        claim = record(self.fields["claim"], CLAIM if single else CLAIM_ALL, place)
        self.claimed_free, self.c, self.values = claim["free"], claim["c"], claim.get("values", array("q", [0]))
        runs = read_runs(claim.get("dependencies", []), place.key("dependencies"), self.n)
        self.claimed, self.dependencies, domain = runs, mask_of(runs), self.model.domains[self.model.output]
        require(not self.dependencies & ~self.free, place.key("dependencies"), "a position is not free")
        listed = sum(stop - start for start, stop in runs_of(runs)) == self.c
        require(listed or not single, place.key("c"), "not the number of dependencies", self.c)
        increasing = len(self.values) > 0 and all(a < b for a, b in pairwise(self.values)) and self.values[-1] < domain
        require(increasing, place.key("values"), f"expected at least one, strictly increasing, below {domain}")

    def line(self, more: str = "") -> str:
        """The line that says that the claim is verified."""
        self.model.meter.fits(80 * len(self.values))
        values = "" if self.position is None else " values=" + ",".join(map(str, self.values))
        claim = f"n={self.n} target={self.target} free={self.claimed_free} c={self.c}{values}{more}"
        return f"s VERIFIED {claim} {self.fields['model']['sha256']}"
