"""Claims about every length at once, by Theorem B (docs/all-lengths.md): local equations, no search.

A ``restrict-automaton/1`` proof has layers. Between layers stands a *bimachine*: a left automaton that reads the
prefix, a right one that reads the suffix backwards, and a table that gives the values of some variables at a position
from both states and the letter. A layer adds heads: it refines both automata and says, for each head, new left state
and old right state, what the head's best pair among the positions to the left can be: a set of pairs (a **box**) for
each query value; likewise to the right. Then it merges states.

**Theorem B.** If the boxes hold "nothing" at the start, if a box extended by the pair of the letter lies in the box of
the next state, if every head's value at every ``(l, x, r)`` is one and the same for all choices from the boxes, and if
merging respects letters and values, then at every position of every word the table of the next bimachine is right.
Induction on layers, then on the prefix (suffix). The first bimachine knows the token and, on both sides, the class of
the position.

The last layer keeps ``@label``, the number of the output's label. What heads offer, and the values of maps, come from
:mod:`.program`; what is claimed of the labels at every length is decided in :mod:`.claims`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from .account import LARGEST, Place, Task, malformed, unproved
from .claims import Claim, Reader
from .labelling import Machine, Rows
from .positions import MOST
from .program import BEYOND, LABEL, AllLengthsProgram
from .read import Maybe, anything, digest, integer, integers, listing, record, string, strings, thing
from .rows import row, rows
from .window import FUTURE, PAST, Windowed

PROOF = {
    "format": Maybe(anything),
    "model": {"name": string, "sha256": digest},
    "n": integer(2, 1_000_000),
    "threshold": integer(1, MOST),
    "period": integer(1, MOST),
    "layers": listing,
    "claim": thing,
    "provenance": Maybe(thing),
}
SIDE = {"base": listing, "delta": listing, "merge": listing, "next": listing}
LAYER = {"heads": listing, "left": SIDE, "right": Maybe(SIDE), "keep": strings, "labels": listing, "table": listing}
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


def first(program: AllLengthsProgram) -> Machine:
    """The bimachine of the token and the classes."""
    size, letters = program.classes, program.letters
    program.meter.charge(4 * size * size * letters)
    program.meter.hold(150 * size * size * letters)
    return class_counters(program.threshold, program.period, letters, program.start, program.end)


def class_counters(threshold: int, period: int, letters: int, start: bool, end: bool) -> Machine:
    """The bimachine of letter and classes; the last letters are the markers. States: the class of the count; last, the
    whole word."""
    size, last = threshold + period, letters - 1
    opens, closes = last - end if start else -1, last if end else -1

    def step(state: int, x: int, first: int, last: int) -> int:
        """Reading from one end: ``first`` is the marker there, ``last`` the one at the other end (-1: none)."""
        if state == size or (x == first) != (state == 0 and first >= 0):
            return -1
        return size if x == last else state + 1 if state + 1 < size else threshold

    left = [[step(q, x, opens, closes) for x in range(letters)] for q in range(size + 1)]
    right = [[step(q, x, closes, opens) for x in range(letters)] for q in range(size + 1)]
    values: Rows = []
    table = [[[-1] * (size + 1) for _ in range(letters)] for _ in left]
    for p, x, s in product(range(size), range(letters), range(size)):
        if left[p][x] >= 0 and right[s][x] >= 0:
            table[p][x][s] = len(values)
            values.append([x, p, s])
    return Machine(left, right, table, ["token", "@p", "@s"], values)


class HeadBoxes:
    """The boxes of a head in a layer, its two tables, and what follows from them.

    ``entries[b][u]``: the possible entries of box ``b`` for query ``u``. ``left[l'][r]`` and ``right[r'][l]`` are box
    numbers, -1 where the word cannot be there.
    """

    def __init__(
        self, value: Any, place: Place, program: AllLengthsProgram, machine: Machine, sizes: list[int]
    ) -> None:
        fields = record(value, HEAD, place)
        head = program.look(fields["name"])
        if head is None:
            malformed(place.key("name"), "not a head of the model", fields["name"])
        self.head, self.place, self.program, self.machine = head, place, program, machine
        self.past = head.mask in PAST
        self.future = head.mask in FUTURE and len(sizes) == 2
        self.own = not head.mask.startswith("strict")
        queries, pairs = fields["queries"], fields["pairs"]
        program.meter.charge((len(queries) ** 2 + len(pairs) ** 2) >> 10)  # they may have been chosen to collide
        integers(0, head.queries - 1)(queries, place.key("queries"))
        integers(0, head.pairs - 1)(pairs, place.key("pairs"))
        self.query = {q: u for u, q in enumerate(queries)}
        self.pair = {p: at for at, p in enumerate(pairs)}
        if len(self.query) < len(queries) or len(self.pair) < len(pairs):
            malformed(place, "a query or a pair is listed twice")
        program.meter.charge(len(queries) * len(pairs) * (20 + head.price))
        program.meter.hold(130 * len(queries) * len(pairs))
        self.offers: list[list[Entry]] = [[head.offer(q, p) for p in pairs] for q in queries]
        self.entries = [self.read_box(b, place.key("boxes").item(at)) for at, b in enumerate(fields["boxes"])]
        most, meter = len(self.entries), program.meter
        self.left = self.right = None
        if self.past:
            self.left = rows(fields.get("left"), place.key("left"), sizes[0], len(machine.right), -1, most, meter)
        if self.future:
            self.right = rows(fields.get("right"), place.key("right"), sizes[1], len(machine.left), -1, most, meter)
        self.steps: dict[tuple[int, int, int, bool], bool] = {}
        self.results: dict[tuple[int, int, int], int] = {}
        self.seen: dict[int, tuple[int, int]] = {}

    def read_box(self, value: Any, place: Place) -> list[list[Entry]]:
        """The entries of a box for each query."""
        self.program.meter.charge(10 + 5 * len(self.query))
        if len(listing(value, place)) != len(self.query):
            malformed(place, f"expected a list for each of the {len(self.query)} queries")
        read = integers(NOTHING, len(self.pair) - 1)
        return [[self.offers[u][p] if p >= 0 else None for p in read(part, place)] for u, part in enumerate(value)]

    def at(self, label: int) -> tuple[int, int]:
        """The query's and the pair's number at a position with this label."""
        if label not in self.seen:
            self.program.meter.charge(4 + len(self.machine.names))
            self.program.meter.hold(150)
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
            first = self.head.left if abs(one[0]) < BEYOND else one[0] % 2 == 0
            return one if first else two
        return one if one[0] > two[0] else two

    def follows(self, box: int, pair: int, after: int, mirror: bool) -> bool:
        """Whether a box extended by a pair (to its right, or with ``mirror`` to its left) lies in the box ``after``."""
        key = box, pair, after, mirror
        if key not in self.steps:
            self.program.meter.hold(250)
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
            self.program.meter.hold(250)
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


# ---------------------------------------------------------------- one layer


class Refined(NamedTuple):
    """A refined automaton: ``base`` state and successors of each state; ``merge`` and ``next`` after merging."""

    base: list[int]
    delta: Rows
    merge: list[int]
    next: Rows


class LayerProof:
    """A layer, checked: :meth:`after` is the next bimachine. Without ``right`` it is for the last position only."""

    def __init__(self, value: Any, place: Place, program: AllLengthsProgram, machine: Machine) -> None:
        fields = record(value, LAYER, place)
        self.place, self.program, self.machine = place, program, machine
        self.last = "right" not in fields
        self.left = self.side(fields["left"], place.key("left"), machine.left)
        alone = Refined(list(range(len(machine.right))), machine.right, [0] * len(machine.right), [])
        self.right = alone if self.last else self.side(fields["right"], place.key("right"), machine.right)
        sizes = [len(self.left.base)] if self.last else [len(self.left.base), len(self.right.base)]
        inner = place.key("heads")
        self.boxes = [HeadBoxes(h, inner.item(at), program, machine, sizes) for at, h in enumerate(fields["heads"])]
        self.keep = fields["keep"]
        labels, meter = fields["labels"], program.meter
        self.values = rows(labels, place.key("labels"), len(labels), len(self.keep), 0, LARGEST, meter)
        ends = 1 if self.last else len(self.right.next)
        self.table = [
            rows(part, place.key("table").item(at), program.letters, ends, -1, len(self.values), meter)
            for at, part in enumerate(fields["table"])
        ]
        if len(self.table) != len(self.left.next):
            malformed(place.key("table"), f"expected {len(self.left.next)} entries", len(self.table))
        self.made: dict[tuple[int, ...], list[int]] = {}

    def side(self, fields: dict[str, Any], place: Place, old: Rows) -> Refined:
        """A refined automaton that projects to the old one and merges into the next."""
        letters, count = self.program.letters, len(fields["base"])
        base = row(fields["base"], place.key("base"), count, len(old))
        delta = rows(fields["delta"], place.key("delta"), count, letters, -1, count, self.program.meter)
        last = len(fields["next"])
        merge, after = row(fields["merge"], place.key("merge"), count, last), fields["next"]
        rows(after, place.key("next"), last, letters, -1, last, self.program.meter)
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

    def check_side(self, box: HeadBoxes, table: Rows, side: Refined, mirror: bool) -> None:
        """The equations of a head's boxes on one side."""
        machine = self.machine
        other = machine.left if mirror else machine.right
        self.program.meter.charge(len(side.base) * self.program.letters * len(other) * 2)
        for first in set(table[0]):
            if first < 0 or any(None not in part for part in box.entries[first]):
                unproved(box.place, f"nothing has been read at the start, which box {first} there does not allow")
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
        price = 3 + 2 * len(self.boxes) + len(self.keep) // 16
        self.program.meter.charge(len(left.base) * self.program.letters * len(ends) * price)
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
        width = len(self.machine.names) + len(self.keep) + len(self.boxes)
        self.program.meter.charge(10 + width)
        self.program.meter.hold(250 + 16 * width)
        known = dict(zip(self.machine.names, self.machine.values[label], strict=True))
        for at, box in enumerate(self.boxes):
            known[box.head.name] = box.result(label, key[1 + 2 * at], key[2 + 2 * at])
        return [self.program.value(name, known) for name in self.keep]


def verify(task: Task) -> str:
    """The success line for a ``restrict-automaton/1``."""
    try:
        return proved(task)
    except (ArithmeticError, ValueError, LookupError):
        # Intervals and domains are those of the proof's own n; the classes of positions stand for every length.
        unproved(
            task.top, "at some length a rule divides by 0, takes the root of a negative number, or leaves its domain"
        )


def proved(task: Task) -> str:
    """:func:`verify`, but for what is not defined at some length."""
    fields = record(task.document, PROOF, task.top)
    task.meter.place = task.top
    program = Windowed(task, fields)
    machine, last = first(program), False
    for index, layer in enumerate(fields["layers"]):
        if last:
            malformed(task.top.key("layers"), "a layer after the one for the last position")
        made = LayerProof(layer, task.top.key("layers").item(index), program, machine)
        machine, last = made.check(), made.last
    if LABEL not in machine.names:
        malformed(task.top.key("layers"), f"the last layer does not keep {LABEL}")
    if program.model.every and last:
        unproved(task.top.key("layers"), "the output is at every position, and the last layer is for the last one")
    claim = Claim(fields["claim"], task.top.key("claim"), Reader(program, machine))
    return f"s VERIFIED all-lengths {claim.decide()} states={len(machine.left)} {fields['model']['sha256']}"
