"""Claims about every length at once, by Theorem B (docs/all-lengths.md): local equations, no search.

A ``restrict-automaton/1`` proof has layers. Between layers stands a *bimachine*: a left automaton that reads the
prefix, a right one that reads the suffix backwards, and a table that gives the values of some variables at a position
from both states and the letter. A layer adds heads: it refines both automata and says, for each head, new left state
and old right state, what the head's best pair among the positions to the left can be: a set of pairs (a **box**) for
each query value; likewise to the right. Then it merges states.

**Theorem B.** If the boxes hold "nothing" at the start, if a box extended by the pair of the letter lies in the box of
the next state, if every head's value at every ``(l, x, r)`` is one and the same for all choices from the boxes, and if
merging respects letters and values, then at every position of every word the table of the next bimachine is right.
Induction on layers, then on the prefix (suffix). The first bimachine knows the token alone.

Maps and scores may read the classes of positions (:mod:`.positions`), which the first bimachine counts. For
``output.accept`` at the last position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

from .account import LARGEST, Place, Task, malformed, unproved
from .claims import ACCEPT, Acceptor, Claim, Machine, Rows
from .formats import Head, Map, read_model
from .positions import MOST, Analysis, Form
from .read import Maybe, digest, integer, integers, listing, record, string, strings, thing
from .rules import Tree

PROOF = {
    "format": ("restrict-automaton/1",),
    "model": {"name": string, "sha256": digest},
    "n": integer(2, 1_000_000),
    "threshold": integer(1, MOST),
    "period": integer(1, MOST),
    "layers": listing,
    "claim": thing,
    "provenance": Maybe(thing),
}
SIDE = {"base": listing, "delta": listing, "merge": listing, "next": listing}
LAYER = {
    "heads": listing,
    "left": SIDE,
    "right": Maybe(SIDE),
    "keep": strings,
    "labels": listing,
    "table": listing,
}
HEAD = {
    "name": string,
    "queries": listing,
    "pairs": listing,
    "boxes": listing,
    "left": Maybe(listing),
    "right": Maybe(listing),
}
NOTHING = -1
Entry = tuple[int, int] | None
"""What a head sees best: (score, value), or nothing."""


def rows(value: Any, place: Place, count: int, width: int, least: int, most: int) -> Rows:
    """``count`` lists of ``width`` integers in ``least .. most - 1``."""
    if len(listing(value, place)) != count:
        malformed(place, f"expected {count} rows", len(value))
    read = integers(least, most - 1)
    for index, row in enumerate(value):
        if len(read(row, place.item(index))) != width:
            malformed(place.item(index), f"expected {width} integers", len(row))
    return list(value)


def row(value: Any, place: Place, count: int, most: int) -> list[int]:
    """A list of ``count`` integers in ``0 .. most - 1``."""
    if len(integers(0, most - 1)(value, place)) != count:
        malformed(place, f"expected {count} integers", len(value))
    return list(value)


# ---------------------------------------------------------------- the program


class Program:
    """What the layers are checked against: the model's variables and letters, which positions must not enter."""

    def __init__(self, task: Task, fields: dict[str, Any]) -> None:
        self.threshold: int = fields["threshold"]
        self.period: int = fields["period"]
        self.classes: int = self.threshold + self.period
        self.model = read_model(task, fields, task.top)
        self.meter, self.place = task.meter, task.model_place
        self.variables = {v.name: v for v in self.model.variables}
        if self.model.every or self.model.accept is None:
            unproved(self.place.key("output"), "a proof for all lengths needs 'accept' at the last position")
        self.symbols = len(self.model.alphabet)
        places = [at for at, _ in self.model.markers]
        self.start, self.end = 0 in places, self.model.n - 1 in places
        self.letters = self.symbols + len(places)
        self.rules: dict[str, Callable[[tuple[int, ...]], int]] = {}
        self.analysed: dict[str, dict[tuple[int, ...], Form]] = {}

    def forms(self, variable: Map | Head) -> dict[tuple[int, ...], Form]:
        """The form of a rule that reads positions, for each choice of its finite names in order (none: {}).

        Refuses what does not depend on the classes of the proof.
        """
        if variable.name not in self.analysed:
            self.analysed[variable.name] = self.analyse(variable)
        return self.analysed[variable.name]

    def analyse(self, variable: Map | Head) -> dict[tuple[int, ...], Form]:
        """The forms of a rule that reads positions."""
        names, rule = variable.rule.names, variable.rule
        sources = self.sources(variable)
        if not names & {"n", "i", "j"} and "position" not in [sources.get(name) for name in names]:
            return {}
        if rule.tree.op in ("table", "dot"):
            unproved(variable.place, "a table over positions is not covered")
        finite = [name for name in sources if sources[name] != "position"]
        sizes = [self.model.domains[sources[name]] if name in names else 1 for name in finite]
        self.meter.charge(math.prod(sizes))
        tree, work, out = moved(rule.tree, sources), Analysis(variable.place, self.meter), {}
        for values in product(*map(range, sizes)):
            form = work.form(tree, dict(zip(finite, values, strict=True)))
            if any(form.slope) or form.threshold > self.threshold or self.period % form.period:
                unproved(variable.place, "its rule tells more positions apart than the classes of the proof")
            out[values] = form
        return out

    @staticmethod
    def sources(variable: Map | Head) -> dict[str, str]:
        """The variable behind each name of the rule that is not a position."""
        if isinstance(variable, Map):
            return {arg: arg for arg in variable.args}
        roles = {"q": variable.query, "k": variable.key}
        return {letter: name for letter, name in roles.items() if name}

    def reads(self, variable: Head, coordinates: set[int]) -> bool:
        """Whether the score reads the class of the attending (0, 1) or of the attended (2, 3) position."""
        return any(form.uses & coordinates for form in self.forms(variable).values())

    def first(self) -> Machine:
        """The bimachine of the token and the classes. States: the class of the count; last, the whole word."""
        size, last = self.classes, self.letters - 1
        opens, closes = self.symbols if self.start else -1, last if self.end else -1
        letters, states = range(self.letters), range(size + 1)
        self.meter.charge(4 * size * size * self.letters)
        left = [[self.step(x, q, opens, closes) for x in letters] for q in states]
        right = [[self.step(x, q, closes, opens) for x in letters] for q in states]
        values: Rows = []
        table = [[[-1] * (size + 1) for _ in letters] for _ in states]
        for p, x, s in product(range(size), letters, range(size)):
            if left[p][x] >= 0 and right[s][x] >= 0:
                table[p][x][s] = len(values)
                values.append([x, p, s])
        return Machine(left, right, table, ["token", "@p", "@s"], values)

    def step(self, x: int, state: int, first: int, last: int) -> int:
        """Reading from one end: ``first`` is the marker there, ``last`` the one at the other end (-1: none)."""
        if state == self.classes or (x == first) != (state == 0 and first >= 0):
            return -1
        if x == last:
            return self.classes
        return state + 1 if state + 1 < self.classes else self.threshold

    def value(self, name: str, known: dict[str, int]) -> int:
        """A variable's value from those that are known at the position, through maps."""
        if name not in known:
            if name == ACCEPT:
                known[name] = +(self.value(self.model.output, known) in (self.model.accept or ()))
                return known[name]
            if "@" in name and name[0] != "@":
                head, _, role = name.partition("@")
                known[name] = self.role(head, role, known)
                return known[name]
            variable = self.variables.get(name)
            if not isinstance(variable, Map):
                unproved(self.place, f"the value of {name} is not known in this layer")
            args = [self.value(a, known) if a in variable.rule.names and a != "position" else 0 for a in variable.args]
            if self.forms(variable):
                args = [known["@p"] if a == "position" else v for a, v in zip(variable.args, args, strict=True)]
                args += [known["@p"], known["@p"] + known["@s"] + 1]
            if name not in self.rules:
                self.rules[name] = variable.rule.bind({}, (*variable.args, "i", "n"))
            self.meter.charge(1 + variable.price)
            known[name] = self.rules[name](tuple(args))
        return known[name]

    def role(self, name: str, role: str, known: dict[str, int]) -> int:
        """A head's ``query``, or its ``pair``, as one number: row-major in the query (key), then the classes of the
        position where the score reads them, then (of a pair) the value. What is not read is left out."""
        head = self.variables.get(name)
        if not isinstance(head, Head) or role not in ("query", "pair"):
            unproved(self.place, f"{name}@{role} is no value of this model")
        first, coordinates = (head.query, {0, 1}) if role == "query" else (head.key, {2, 3})
        number = self.value(first, known) if first and first != "position" else 0
        if self.reads(head, coordinates):
            number = (number * self.classes + known["@p"]) * self.classes + known["@s"]
        return number if role == "query" else number * self.model.domains[head.value] + self.value(head.value, known)

    def count(self, head: Head, role: str) -> int:
        """How many numbers a role has."""
        first, coordinates = (head.query, {0, 1}) if role == "query" else (head.key, {2, 3})
        size = self.model.domains[first] if first and first != "position" else 1
        size *= self.classes**2 if self.reads(head, coordinates) else 1
        return size if role == "query" else size * self.model.domains[head.value]

    def offer(self, head: Head, query: int, pair: int) -> tuple[int, int]:
        """Score and value of a pair for a query, both numbered as in :meth:`role`."""
        pair, value = divmod(pair, self.model.domains[head.value])
        q, p, s = self.unpack(head, query, {0, 1})
        k, p2, s2 = self.unpack(head, pair, {2, 3})
        known = {"q": q, "k": k}
        if forms := self.forms(head):
            sources = self.sources(head)
            return forms[tuple(known[x] for x in sources if sources[x] != "position")].at((p, s, p2, s2)), value
        return int(head.rule.bind({"q": q}, ("k",))((k,))), value

    def unpack(self, head: Head, packed: int, coordinates: set[int]) -> tuple[int, int, int]:
        """A number of :meth:`role` taken apart: query or key, and the classes."""
        if not self.reads(head, coordinates):
            return packed, 0, 0
        rest, s = divmod(packed, self.classes)
        return rest // self.classes, rest % self.classes, s


class Box:
    """The boxes of a head in a layer, its two tables, and what follows from them.

    ``entries[b][u]``: the possible entries of box ``b`` for query ``u``. ``left[l'][r]`` and ``right[r'][l]`` are box
    numbers, -1 where the word cannot be there.
    """

    def __init__(self, value: Any, place: Place, program: Program, machine: Machine, sizes: list[int]) -> None:
        fields = record(value, HEAD, place)
        head = program.variables.get(fields["name"])
        if not isinstance(head, Head):
            malformed(place.key("name"), "not a head of the model", fields["name"])
        self.head, self.place, self.program, self.machine = head, place, program, machine
        self.past = head.mask in ("none", "past", "strict_past")
        self.future = head.mask in ("none", "future", "strict_future") and len(sizes) == 2
        self.own = not head.mask.startswith("strict")
        queries, pairs = fields["queries"], fields["pairs"]
        integers(0, program.count(head, "query") - 1)(queries, place.key("queries"))
        integers(0, program.count(head, "pair") - 1)(pairs, place.key("pairs"))
        self.query = {q: u for u, q in enumerate(queries)}
        self.pair = {p: at for at, p in enumerate(pairs)}
        if len(self.query) < len(queries) or len(self.pair) < len(pairs):
            malformed(place, "a query or a pair is listed twice")
        program.meter.charge(len(queries) * len(pairs) * (20 + head.price))
        self.offers: list[list[Entry]] = [[program.offer(head, q, p) for p in pairs] for q in queries]
        self.entries = [self.read_box(b, place.key("boxes").item(at)) for at, b in enumerate(fields["boxes"])]
        most = len(self.entries)
        self.left = self.right = None
        if self.past:
            self.left = rows(fields.get("left"), place.key("left"), sizes[0], len(machine.right), -1, most)
        if self.future:
            self.right = rows(fields.get("right"), place.key("right"), sizes[1], len(machine.left), -1, most)
        self.steps: dict[tuple[int, int, int, bool], bool] = {}
        self.results: dict[tuple[int, int, int], int] = {}
        self.seen: dict[int, tuple[int, int]] = {}

    def read_box(self, value: Any, place: Place) -> list[list[Entry]]:
        """The entries of a box for each query."""
        if len(listing(value, place)) != len(self.query):
            malformed(place, f"expected a list for each of the {len(self.query)} queries")
        read = integers(NOTHING, len(self.pair) - 1)
        return [[self.offers[u][p] if p >= 0 else None for p in read(part, place)] for u, part in enumerate(value)]

    def at(self, label: int) -> tuple[int, int]:
        """The query's and the pair's number at a position with this label."""
        if label not in self.seen:
            known = dict(zip(self.machine.names, self.machine.values[label], strict=True))
            query, pair = (self.program.value(self.head.name + role, known) for role in ("@query", "@pair"))
            if query not in self.query or pair not in self.pair:
                unproved(self.place, "a query or pair that occurs is not listed")
            self.seen[label] = self.query[query], self.pair[pair]
        return self.seen[label]

    def better(self, one: Entry, two: Entry) -> Entry:
        """The better of two, the first being further left."""
        if one is None or two is None:
            return one or two
        if one[0] == two[0]:
            return one if self.head.left else two
        return one if one[0] > two[0] else two

    def follows(self, box: int, pair: int, after: int, mirror: bool) -> bool:
        """Whether a box extended by a pair (to its right, or with ``mirror`` to its left) lies in the box ``after``."""
        key = box, pair, after, mirror
        if key not in self.steps:
            ok = box >= 0 and after >= 0
            for u in range(len(self.query)) if ok else ():
                new = self.offers[u][pair]
                self.program.meter.charge(2 + len(self.entries[box][u]) * (1 + len(self.entries[after][u])))
                for e in self.entries[box][u]:
                    ok = ok and (self.better(new, e) if mirror else self.better(e, new)) in self.entries[after][u]
            self.steps[key] = ok
        return self.steps[key]

    def result(self, label: int, before: int, behind: int) -> int:
        """The head's value at a position, given the boxes to its left and right."""
        key = label, before, behind
        if key not in self.results:
            u, pair = self.at(label)
            parts: list[list[Entry]] = [[None], [self.offers[u][pair] if self.own else None], [None]]
            for at, seen, box in ((0, self.past, before), (2, self.future, behind)):
                if seen:
                    if box < 0:
                        unproved(self.place, "a box is missing where a position can be")
                    parts[at] = self.entries[box][u]
            self.program.meter.charge(4 + len(parts[0]) * len(parts[2]))
            best = {self.better(self.better(a, b), c) for a, b, c in product(*parts)}
            values = {self.head.default if e is None else e[1] for e in best}
            if len(values) != 1:
                unproved(self.place, f"the boxes leave {len(values)} values of the head open at some position")
            self.results[key] = values.pop()
        return self.results[key]


def moved(tree: Tree, sources: dict[str, str]) -> Tree:
    """The tree with the names behind which ``position`` stands replaced: at the attended position it is ``j``."""
    if tree.op == "name" and sources.get(tree.value) == "position":
        return tree._replace(value="j" if tree.value == "k" else "i")
    return tree._replace(args=tuple(moved(arg, sources) for arg in tree.args))


# ---------------------------------------------------------------- one layer


class Refined(NamedTuple):
    """A refined automaton: ``base`` state and successors of each state; ``merge`` and ``next`` after merging."""

    base: list[int]
    delta: Rows
    merge: list[int]
    next: Rows


class Layer:
    """A layer, checked: :meth:`after` is the next bimachine. Without ``right`` it is for the last position only."""

    def __init__(self, value: Any, place: Place, program: Program, machine: Machine) -> None:
        fields = record(value, LAYER, place)
        self.place, self.program, self.machine = place, program, machine
        self.last = "right" not in fields
        self.left = self.side(fields["left"], place.key("left"), machine.left)
        alone = Refined(list(range(len(machine.right))), machine.right, [0] * len(machine.right), [])
        self.right = alone if self.last else self.side(fields["right"], place.key("right"), machine.right)
        sizes = [len(self.left.base)] if self.last else [len(self.left.base), len(self.right.base)]
        inner = place.key("heads")
        self.boxes = [Box(h, inner.item(at), program, machine, sizes) for at, h in enumerate(fields["heads"])]
        self.keep = fields["keep"]
        self.values = rows(fields["labels"], place.key("labels"), len(fields["labels"]), len(self.keep), 0, LARGEST)
        ends = 1 if self.last else len(self.right.next)
        self.table = [
            rows(part, place.key("table").item(at), program.letters, ends, -1, len(self.values))
            for at, part in enumerate(fields["table"])
        ]
        if len(self.table) != len(self.left.next):
            malformed(place.key("table"), f"expected {len(self.left.next)} entries", len(self.table))
        self.made: dict[tuple[int, ...], list[int]] = {}

    def side(self, fields: dict[str, Any], place: Place, old: Rows) -> Refined:
        """A refined automaton that projects to the old one and merges into the next."""
        letters, count = self.program.letters, len(fields["base"])
        base = row(fields["base"], place.key("base"), count, len(old))
        delta = rows(fields["delta"], place.key("delta"), count, letters, -1, count)
        last = len(fields["next"])
        merge, after = row(fields["merge"], place.key("merge"), count, last), fields["next"]
        rows(after, place.key("next"), last, letters, -1, last)
        if not count or base[0] != 0 or merge[0] != 0:
            unproved(place, "the start states are not the same")
        self.program.meter.charge(3 * count * letters)
        for q in range(count):
            for x, to in enumerate(delta[q]):
                if (base[to] if to >= 0 else -1) != old[base[q]][x]:
                    unproved(place.key("delta").item(q), f"letter {x} does not go where the old automaton goes")
                if (merge[to] if to >= 0 else -1) != after[merge[q]][x]:
                    unproved(place.key("merge").item(q), f"merging does not respect letter {x}")
        return Refined(base, delta, merge, after)

    def check(self) -> Machine:
        """All local equations; the next bimachine."""
        for box in self.boxes:
            if box.left is not None:
                self.check_side(box, box.left, self.left, False)
            if box.right is not None:
                self.check_side(box, box.right, self.right, True)
        self.check_labels()
        right = [[-1] * self.program.letters] if self.last else self.right.next
        return Machine(self.left.next, right, self.table, self.keep, self.values)

    def check_side(self, box: Box, table: Rows, side: Refined, mirror: bool) -> None:
        """The equations of a head's boxes on one side."""
        machine = self.machine
        other = machine.left if mirror else machine.right
        self.program.meter.charge(len(side.base) * self.program.letters * len(other) * 2)
        for b, first in enumerate(table[0]):
            if first < 0 or any(None not in part for part in box.entries[first]):
                unproved(box.place, f"nothing has been read at the start, which the box at {b} does not allow")
        for q, (base, steps) in enumerate(zip(side.base, side.delta, strict=True)):
            for x, to in enumerate(steps):
                if to < 0:
                    continue
                for b, here in enumerate(other):
                    label = machine.table[b][x][base] if mirror else machine.table[base][x][b]
                    if label >= 0 and not box.follows(table[q][here[x]], box.at(label)[1], table[to][b], mirror):
                        unproved(box.place, f"the box of state {to} does not hold what letter {x} makes of state {q}")

    def check_labels(self) -> None:
        """The values at every position, before and after merging."""
        machine, left, right = self.machine, self.left, self.right
        ends = [0] if self.last else list(range(len(right.base)))
        self.program.meter.charge(len(left.base) * self.program.letters * len(ends) * (3 + 2 * len(self.boxes)))
        for l, old in enumerate(left.base):
            for x in range(self.program.letters):
                line, target = machine.table[old][x], self.table[left.merge[l]][x]
                onward = machine.left[old][x]
                for r in ends:
                    label, said = line[right.base[r]], target[right.merge[r]]
                    if label < 0 or said < 0:
                        if label != said:
                            unproved(self.place.key("table"), "it disagrees on where a position can be")
                        continue
                    behind = machine.right[right.base[r]][x]
                    key = (label, *self.corner(l, r, onward, behind))
                    if key not in self.made:
                        self.made[key] = self.compute(key)
                    if self.made[key] != self.values[said]:
                        unproved(
                            self.place.key("table"), f"wrong values at left state {l}, letter {x}, right state {r}"
                        )

    def corner(self, l: int, r: int, onward: int, behind: int) -> Iterator[int]:
        """The box numbers of every head to the left and to the right of a position."""
        for box in self.boxes:
            yield box.left[l][behind] if box.left is not None else -1
            yield box.right[r][onward] if box.right is not None else -1

    def compute(self, key: tuple[int, ...]) -> list[int]:
        """The kept values at a position with this label and these boxes."""
        label = key[0]
        known = dict(zip(self.machine.names, self.machine.values[label], strict=True))
        for at, box in enumerate(self.boxes):
            known[box.head.name] = box.result(label, key[1 + 2 * at], key[2 + 2 * at])
        return [self.program.value(name, known) for name in self.keep]


def verify(task: Task) -> str:
    """The success line for a ``restrict-automaton/1``."""
    fields = record(task.document, PROOF, task.top)
    task.meter.place = task.top
    program = Program(task, fields)
    machine, last = program.first(), False
    for index, layer in enumerate(fields["layers"]):
        if last:
            malformed(task.top.key("layers"), "a layer after the one for the last position")
        made = Layer(layer, task.top.key("layers").item(index), program, machine)
        machine, last = made.check(), made.last
    if ACCEPT not in machine.names:
        malformed(task.top.key("layers"), f"the last layer does not keep {ACCEPT}")
    claim = Claim(fields["claim"], task.top.key("claim"), Acceptor(program, machine))
    return f"s VERIFIED all-lengths {claim.decide()} states={len(machine.left)} {fields['model']['sha256']}"
