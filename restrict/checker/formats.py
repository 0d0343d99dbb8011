"""The formats: a model at one length, and a certificate, from tables of their fields (docs/format.md).

``read_pair`` reads both files. What a table cannot say stands in the code below it: what depends on ``n``, on the order
of things, or on the other file.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

from .read import (
    LARGEST,
    Bounds,
    Maybe,
    Place,
    Task,
    anything,
    digest,
    exhausted,
    integer,
    integers,
    listing,
    malformed,
    mask_of,
    plain,
    read_json,
    read_runs,
    record,
    runs_of,
    short,
    shown,
    string,
    strings,
    symbol,
    texts,
    thing,
)
from .rules import RESERVED, Dot, Expression, Rule, Table
from .tensors import Files

MAX_N = 100_000_000
COMBINATIONS = 1 << 24
SPLIT = 12
VARIABLES = 4096

Values = frozenset[int] | range
"""A set of values; a range has step 1 and is never spelt out."""


def symbols(value: Any, place: Place) -> dict[str, int]:
    """An alphabet: symbols with their indices."""
    if not 1 <= len(listing(value, place)) <= 65536:
        malformed(place, "expected 1 to 65536 symbols")
    found = {symbol(entry, place.item(index)): index for index, entry in enumerate(value)}
    if len(found) < len(value):
        malformed(place, "a symbol occurs twice")
    return found


OUTPUT = {
    "variable": string,
    "position": ("last", "every"),
    "accept": Maybe(integers(0, LARGEST)),
    "labels": Maybe(texts),
}
MODEL = {
    "format": ("restrict-model/1",),
    "name": plain(200),
    "description": Maybe(string),
    "alphabet": symbols,
    "start_marker": Maybe(symbol),
    "end_marker": Maybe(symbol),
    "when": Maybe(string),
    "files": Maybe(thing),
    "variables": listing,
    "output": OUTPUT,
}
MAP = {"name": string, "kind": Maybe(anything), "args": strings, "domain": anything, "map": anything}
HEAD = {
    "name": string,
    "kind": ("map", "head"),
    "value": string,
    "score": anything,
    "query": Maybe(string),
    "key": Maybe(string),
    "mask": Maybe(("none", "past", "strict_past", "future", "strict_future")),
    "ties": Maybe(("left", "right")),
    "domain": Maybe(anything),
    "default": Maybe(integer(0, LARGEST)),
}


def read_digest(value: Any, place: Place) -> str:
    """The digest of the certificate's model; null is malformed here."""
    if value is None:
        malformed(place, "the model has no file; only the process that has it can check this")
    return digest(value, place)


CERTIFICATE = {
    "format": ("restrict-certificate/1",),
    "model": {"name": string, "sha256": read_digest},
    "n": integer(1, MAX_N),
    "target": anything,
    "fixed": anything,
    "cone": anything,
    "claim": thing,
    "split": Maybe(integers(0, MAX_N)),
    "cases": Maybe(thing),
    "provenance": Maybe(thing),
}
CLAIM_ALL = {"free": integer(0, LARGEST), "c": integer(0, LARGEST)}
CLAIM = {**CLAIM_ALL, "dependencies": anything, "values": integers(0, LARGEST)}
LEAF = {"cone": Maybe(anything)}
CASE = {"position": integer(0, MAX_N), "children": listing}


# ---------------------------------------------------------------- the model at one length


class Map(NamedTuple):
    """``price`` is that of one value once ``n`` and ``i`` are known."""

    name: str
    place: Place
    domain: int
    args: list[str]
    rule: Rule
    price: int


class Head(NamedTuple):
    """``query`` and ``key`` are None where the score does not mention them; ``moving``: it mentions ``j``."""

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
    moving: bool
    price: int


class Pending(NamedTuple):
    """A map whose interval exceeds its domain: all combinations of what it mentions must be tried."""

    place: Place
    rule: Rule
    domain: int
    names: list[str]
    sizes: list[int]


class Model:
    """A model at length ``n``: parsed, every domain known, intervals analysed; ``pending`` is what is left to try."""

    def __init__(self, task: Task, n: int) -> None:
        top, self.meter, self.task = task.model_place, task.meter, task
        fields = record(read_json(task.model, top, task.meter), MODEL, top)
        self.n, self.name = n, fields["name"]
        self.read_symbols(fields, top)
        self.domains = {"token": len(self.alphabet) + len(self.markers), "position": n}
        self.when: Expression | None = None
        if "when" in fields:
            self.when = Expression(fields["when"], top.key("when"), ("n",), self.meter)
            self.when.fit({"n": n})
            if not self.when.bind({"n": n}, {}):
                malformed(top.key("when"), f"the model is not defined at n = {n}")
        self.files = Files(task.folder, fields.get("files", {}), top.key("files"), task.meter)
        self.pending: list[Pending] = []
        self.variables: list[Map | Head] = []
        if len(fields["variables"]) > VARIABLES:
            malformed(top.key("variables"), f"more than {VARIABLES} variables")
        for index, entry in enumerate(fields["variables"]):
            self.read_variable(thing(entry, top.key("variables").item(index)), top.key("variables").item(index))
        self.read_output(fields["output"], top.key("output"))
        self.check_domains()

    def read_symbols(self, fields: dict[str, Any], top: Place) -> None:
        """The alphabet, and the markers with their positions."""
        self.alphabet = fields["alphabet"]
        self.markers: list[tuple[int, str]] = []
        for key, at in (("start_marker", 0), ("end_marker", self.n - 1)):
            if (marker := fields.get(key)) is not None:
                if marker in self.alphabet or marker in [other for _, other in self.markers]:
                    malformed(top.key(key), "a marker is a symbol of its own, outside the alphabet", marker)
                self.markers.append((at, marker))
        if len(self.markers) > self.n:
            malformed(top, "a model with both markers needs n of at least 2")

    def number(self, value: Any, place: Place, least: int) -> int:
        """An integer or the value of an expression over ``n``."""
        if isinstance(value, str):
            rule = Expression(value, place, ("n",), self.meter)
            rule.fit({"n": self.n})
            value = rule.bind({"n": self.n}, {})
        return integer(least, LARGEST)(value, place)

    def known(self, name: str, place: Place) -> str:
        """The name of a variable that was read before; any other is malformed."""
        if name not in self.domains:
            malformed(place, "no such variable before this one", name)
        return name

    def read_variable(self, value: dict[str, Any], place: Place) -> None:
        """One map or head, with a name that is still free."""
        fields = record(value, MAP if value.get("kind") == "map" else HEAD, place)
        name = fields["name"]
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,63}", name) or name in RESERVED:
            malformed(place.key("name"), "not a name for a variable", name)
        if name in self.domains:
            malformed(place.key("name"), "the name is taken", name)
        read = self.read_map if fields["kind"] == "map" else self.read_head
        self.variables.append(read(name, fields, place))
        self.domains[name] = self.variables[-1].domain

    def read_map(self, name: str, fields: dict[str, Any], place: Place) -> Map:
        """A map; where its interval leaves the domain, it is noted, to be tried value by value."""
        args = fields["args"]
        names = {"i", *args}
        if len(names) <= len(args):
            malformed(place.key("args"), "an argument occurs twice")
        for arg in args:
            self.known(arg, place.key("args"))
        domain = self.number(fields["domain"], place.key("domain"), 1)
        rule = self.read_rule(fields["map"], place.key("map"), names)
        sizes = {"n": self.n, "i": self.n, **{arg: self.domains[arg] for arg in args}}
        low, high = rule.fit(sizes)
        if low < 0 or high >= domain:
            spread = sorted(rule.names - {"n"})
            self.pending.append(Pending(place.key("map"), rule, domain, spread, [sizes[other] for other in spread]))
        return Map(name, place, domain, args, rule, rule.price(args))

    def read_head(self, name: str, fields: dict[str, Any], place: Place) -> Head:
        """A head; what its score does not mention is neither query nor key."""
        value = self.known(fields["value"], place.key("value"))
        domain = self.domains[value]
        if "domain" in fields:
            domain = self.number(fields["domain"], place.key("domain"), domain)
        roles = {}
        for role, letter in (("query", "q"), ("key", "k")):
            if role in fields:
                roles[letter] = self.known(fields[role], place.key(role))
        score = self.read_rule(fields["score"], place.key("score"), {"q", "k", "i", "j"})
        for unread in score.names & {"q", "k"} - set(roles):
            malformed(place.key("score"), f"the score mentions {unread}, which the head does not define")
        score.fit({"n": self.n, "i": self.n, "j": self.n, **{r: self.domains[v] for r, v in roles.items()}})
        return Head(
            name=name,
            place=place,
            domain=domain,
            query=roles["q"] if "q" in score.names else None,
            key=roles["k"] if "k" in score.names else None,
            value=value,
            rule=score,
            mask=fields.get("mask", "none"),
            left=fields.get("ties", "left") == "left",
            default=integer(0, domain - 1)(fields.get("default", 0), place.key("default")),
            moving="j" in score.names,
            price=score.price(("j", "k")),
        )

    def read_rule(self, value: Any, place: Place, names: set[str]) -> Rule:
        """An expression, a dot product (in a score) or a table."""
        if not isinstance(value, dict):
            return Expression(value, place, {"n", *names}, self.meter)
        if "dot" in value and "j" in names:
            return Dot(value, place, self.files)
        return Table(value, place, names, self.files)

    def read_output(self, fields: dict[str, Any], place: Place) -> None:
        """The output variable, where it is read, and what its values mean."""
        self.output = self.known(fields["variable"], place.key("variable"))
        self.every = fields["position"] == "every"
        domain, self.accept = self.domains[self.output], None
        self.labels: array[int] | None = None
        self.label_names: dict[str, int] = {}
        self.single: dict[Values, bool] = {}
        if "accept" in fields and "labels" in fields:
            malformed(place, "at most one of accept and labels")
        if "accept" in fields:
            values = fields["accept"]
            if values and max(values) >= domain:
                malformed(place.key("accept"), f"expected values below {domain}", max(values))
            self.meter.hold(100 * len(values))
            self.accept = set(values)
            if len(self.accept) < len(values):
                malformed(place.key("accept"), "a value occurs twice")
        if "labels" in fields:
            names, numbers = fields["labels"], self.label_names
            if len(names) != domain:
                malformed(place.key("labels"), f"expected one label for each of the {domain} values")
            self.meter.hold(150 * domain)
            self.labels = array("q", [numbers.setdefault(label, len(numbers)) for label in names])

    def check_domains(self) -> None:
        """Try the maps whose intervals are too wide."""
        for task in self.pending:
            count, price = math.prod(task.sizes), task.rule.price(task.names)
            if count > COMBINATIONS:
                exhausted(task.place, "more than 2^24 combinations to try for the domain")
            self.meter.charge(count * (1 + price))
            value = task.rule.bind({"n": self.n}, {name: index for index, name in enumerate(task.names)})
            for combination in product(*map(range, task.sizes)):
                if not 0 <= (value if isinstance(value, int) else value(combination)) < task.domain:
                    where = ", ".join(f"{name} = {at}" for name, at in zip(task.names, combination, strict=True))
                    malformed(task.place, "a value is outside the domain" + (" at " + short(where) if where else ""))

    def one_label(self, values: Values) -> bool:
        """Whether all of these values have the same label."""
        if len(values) == 1 or (self.accept is None and self.labels is None):
            return len(values) == 1
        if values not in self.single:
            self.meter.charge(len(values) if self.accept is None else len(self.accept))
            self.single[values] = self.same_label(values)
        return self.single[values]

    def label_of(self, value: int) -> int:
        """The number of a value's label."""
        if self.labels is not None:
            return self.labels[value]
        return value if self.accept is None else +(value in self.accept)

    def label_number(self, name: str) -> int | None:
        """The number of a label that some value has."""
        domain = self.domains[self.output]
        if self.labels is not None:
            return self.label_names.get(name)
        if self.accept is not None:
            there = {"accept": len(self.accept) > 0, "reject": len(self.accept) < domain}
            return +(name == "accept") if there.get(name) else None
        number = int(name) if re.fullmatch("0|[1-9][0-9]{0,9}", name) else domain
        return number if number < domain else None

    def label_count(self) -> int:
        """How many labels the values have."""
        domain = self.domains[self.output]
        if self.labels is not None:
            return len(self.label_names)
        return domain if self.accept is None else (len(self.accept) > 0) + (len(self.accept) < domain)

    def same_label(self, values: Values) -> bool:
        """Whether all these values of the output have one label."""
        if self.labels is not None:
            first = self.labels[next(iter(values))]
            return all(self.labels[value] == first for value in values)
        return sum(value in values for value in self.accept or ()) in (0, len(values))


# ---------------------------------------------------------------- the certificate


class Fixed(NamedTuple):
    """Runs of positions with a symbol each."""

    bounds: Bounds
    symbols: Sequence[int]


Cone = dict[str, Bounds]


class Certificate:
    """A certificate; its fields first, which say for which ``n`` to read the model, then what depends on the model.

    ``position`` is the target, or None for all; ``free`` and ``dependencies`` have a bit for each position.
    """

    def __init__(self, value: Any, top: Place) -> None:
        self.top, self.fields = top, record(value, CERTIFICATE, top)
        self.runner: Callable[..., Any] | None = None
        self.n, self.model_digest = self.fields["n"], self.fields["model"]["sha256"]

    def read(self, model: Model) -> None:
        """Everything else, once the model is known; what does not fit the model is malformed."""
        self.model = model
        if self.fields["model"]["name"] != model.name:
            malformed(self.top.key("model").key("name"), "not the name of the model", self.fields["model"]["name"])
        self.read_target()
        self.fixed = self.read_symbols(self.fields["fixed"], self.top.key("fixed"))
        model.meter.charge(self.n // 16 + 2 * len(self.fixed.symbols))
        model.meter.hold(self.n // 2)  # the masks below, and what they are made of
        self.free = ((1 << self.n) - 1) ^ mask_of(self.fixed.bounds)
        for at, _ in model.markers:
            self.free ^= 1 << at
        self.read_split()
        self.cone = self.read_cone(self.fields["cone"], self.top.key("cone"))
        self.read_claim()

    def read_target(self) -> None:
        """The position of the claim; ``None`` for the target ``all``."""
        target, place = self.fields["target"], self.top.key("target")
        self.target = str(target) if isinstance(target, int) else target
        self.position: int | None = self.n - 1
        if target == "last":
            return
        if not self.model.every:
            malformed(place, 'expected "last": the model has no output at other positions', target)
        self.position = None if target == "all" else integer(0, self.n - 1)(target, place)

    def read_symbols(self, value: Any, place: Place) -> Fixed:
        """Runs of positions with a symbol each."""
        bounds = read_runs(value, place, self.n, 3)
        symbols = array("i")
        for index, entry in enumerate(value):
            if type(entry[2]) is not str or entry[2] not in self.model.alphabet:
                malformed(place.item(index), "not a symbol of the alphabet", entry[2])
            symbols.append(self.model.alphabet[entry[2]])
        for at, _ in self.model.markers:
            if bounds and (bounds[0] if at == 0 else bounds[-1] - 1) == at:
                malformed(place, f"position {at} has a marker and cannot be fixed")
        return Fixed(bounds, symbols)

    def read_split(self) -> None:
        """Free positions; every way to fill them is a branch of its own. Or a tree of cases, which is read in time."""
        place, split = self.top.key("split"), self.fields.get("split", array("q"))
        if any(a >= b for a, b in pairwise(split)):
            malformed(place, "expected a strictly increasing list")
        if len(split) > SPLIT:
            malformed(place, f"more than {SPLIT} positions", len(split))
        if (split or "cases" in self.fields) and self.position is None:
            malformed(self.top, "only a certificate for one position can have cases")
        if split and "cases" in self.fields:
            malformed(self.top, "at most one of split and cases")
        for at in split:
            if at >= self.n or not self.is_free(at):
                malformed(place, f"position {at} is not free")
        self.split = split.tolist()

    @cached_property
    def letters(self) -> bytes:
        """The bits of ``free``, so that one can be looked at."""
        free: int = self.free
        return free.to_bytes((self.n + 7) // 8, "little")

    def is_free(self, at: int) -> bool:
        """Whether a position has neither a marker nor a fixed symbol."""
        return bool(self.letters[at >> 3] >> (at & 7) & 1)

    def read_cone(self, cone: Any, place: Place) -> Cone:
        """The nodes to examine, as runs of positions by variable."""
        if cone == "all":
            return {variable.name: (0, self.n) for variable in self.model.variables}
        if not isinstance(cone, dict):
            malformed(place, 'expected "all" or an object', cone)
        found: Cone = {}
        for name, value in cone.items():
            if name in ("token", "position") or name not in self.model.domains:
                malformed(place, "no such map or head: " + shown(name))
            found[name] = read_runs(value, place.key(name), self.n)
            if not found[name]:
                malformed(place.key(name), "a run list in the cone is not empty")
        return found

    def leaves(self) -> Iterator[tuple[dict[int, int], Cone]]:
        """The ways to fill positions, by the split or the tree of cases, each with the cone to examine."""
        symbols = range(len(self.model.alphabet))
        if "cases" not in self.fields:
            for letters in product(symbols, repeat=len(self.split)):
                yield dict(zip(self.split, letters, strict=True)), self.cone
            return
        todo: list[tuple[dict[str, Any], Place, dict[int, int]]] = [(self.fields["cases"], self.top.key("cases"), {})]
        while todo:
            value, place, path = todo.pop()
            self.model.meter.charge(4 + len(path))
            if not isinstance(value, dict) or "position" not in value:
                fields = record(value, LEAF, place)
                yield path, self.read_cone(fields["cone"], place.key("cone")) if "cone" in fields else self.cone
                continue
            fields = record(value, CASE, place)
            at, children = fields["position"], fields["children"]
            if at >= self.n or at in path or not self.is_free(at):
                malformed(place.key("position"), "not a free position, or asked before", at)
            if len(children) != len(symbols):
                malformed(place.key("children"), f"expected one for each of the {len(symbols)} symbols")
            self.model.meter.charge(len(children) * (4 + len(path)))
            todo.extend((children[a], place.key("children").item(a), {**path, at: a}) for a in reversed(symbols))

    def read_claim(self) -> None:
        """The free positions, c, and for one position its dependencies and values."""
        place, single = self.top.key("claim"), self.position is not None
        claim = record(self.fields["claim"], CLAIM if single else CLAIM_ALL, place)
        self.claimed_free, self.c = claim["free"], claim["c"]
        self.dependencies, self.values, self.claimed = 0, array("q", [0]), array("q")
        if not single:
            return
        self.claimed = runs = read_runs(claim["dependencies"], place.key("dependencies"), self.n)
        self.dependencies = mask_of(runs)
        if self.dependencies & ~self.free:
            malformed(place.key("dependencies"), "a position is not free")
        if sum(stop - start for start, stop in runs_of(runs)) != self.c:
            malformed(place.key("c"), "not the number of dependencies", self.c)
        self.values, domain = claim["values"], self.model.domains[self.model.output]
        if not self.values or any(a >= b for a, b in pairwise(self.values)):
            malformed(place.key("values"), "expected a non-empty, strictly increasing list")
        if self.values[-1] >= domain:
            malformed(place.key("values"), f"expected values below {domain}", self.values[-1])

    def line(self, more: str = "") -> str:
        """The line that says that the claim is verified."""
        self.model.meter.fits(80 * len(self.values))
        values = "" if self.position is None else " values=" + ",".join(map(str, self.values))
        target = f"n={self.n} target={self.target} free={self.claimed_free} c={self.c}"
        return f"s VERIFIED {target}{values}{more} {self.model_digest}"


def read_pair(task: Task, document: Any, top: Place) -> Certificate:
    """A certificate and its model, read and found well-formed."""
    certificate = Certificate(document, top)
    if hashlib.sha256(task.model).hexdigest() != certificate.model_digest:
        malformed(top.key("model").key("sha256"), "not the SHA-256 of the model file")
    certificate.read(Model(task, certificate.n))
    certificate.runner = task.runner
    task.meter.place = top.key("cone")
    return certificate


def branch_of(fixed: Fixed, path: dict[int, int]) -> Fixed:
    """The restriction with some free positions filled."""
    if not path:
        return fixed
    filled = (((at, at + 1), a) for at, a in path.items())
    runs = sorted([*zip(runs_of(fixed.bounds), fixed.symbols, strict=True), *filled])
    return Fixed(array("q", [end for run, _ in runs for end in run]), array("i", [a for _, a in runs]))
