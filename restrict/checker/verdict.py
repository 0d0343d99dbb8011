"""Verdicts: on every prefix of every word of a language, the signs of a trained model's logits are those wanted.

The prefixes are those of words of length at most ``n`` that have at most ``upto`` symbols. A case is a position, its
symbol and the state behind it (with symbols ``fixed``: those of words of exactly ``n`` symbols that have these, and one
answer is wanted behind them all); the cases are derived here, and each must stand there once, with hints: bounds in the
directions of a basis, and a tree of cells. Every bound is verified by one longest path (Theorem 1), carried to the
logits by affine forms, sharpened in a label's own direction (Theorems 5 and 6). A wrong word is run with enclosures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from .account import Place, Task, require, unproved
from .read import Maybe, anything, integer, integers, listing, record, thing
from .verdict_forms import Behind, Extent, Form, Side, Sign, added, averaged, moved, network, reached, signed
from .verdict_model import MODEL, START, Atoms, Model
from .verdict_numbers import BITS, NEURON, ONE, Matrix, Network, Vector, dot, enclosed, stretched, total
from .verdict_paths import Language, longest, restriction

MAX_N = 4096
HINT = BITS - 24
"""Bases are integers times ``2^-24``."""
BOUND = BITS - 16
"""Bounds are integers times ``2^-16``."""
QUOTIENT = BITS - 40
"""Bounds on quotients of denominators are integers times ``2^-40``."""
SPANS = 64
"""The widest coordinates, which have generators; the others go to the remainder."""
TURNS = 256
PIECES = 64
"""The most parts of the range of an inverse deviation."""
VERDICT = {
    "format": ("restrict-soft-verdict/1",),
    "model": thing,
    "n": integer(0, MAX_N),
    "upto": integer(-1, MAX_N),
    "language": thing,
    "memory": Maybe(anything),
    "fixed": Maybe(listing),
    "basis": listing,
    "turned": Maybe(listing),
    "cases": listing,
    "wrong": Maybe(thing),
    "provenance": Maybe(thing),
}
BASIS = {"centre": integers(-(1 << 50), 1 << 50), "rows": listing}
WRONG = {"word": integers(0, 1 << 16), "label": integer(0, 1 << 20)}
hint = integers(-(1 << 60), 1 << 60)
Key = tuple[int, int, int]
Interval = tuple[int, int]
Shown = dict[tuple[Any, ...], list[tuple[int, int, Vector]]]
"""Labels, and lower bounds on what is asked of them, for each cell with all that they depend on."""
Column = tuple[int, list[Vector], list[Vector]]
"""A direction of a head: upper bounds on the coordinates of values, and on their negatives."""


class Basis(NamedTuple):
    """Directions of one head (integers times ``2^-24``), the coordinates of every value, what they leave out, and what
    the directions are at the neurons; each image is off by at most the remainder."""

    centre: Vector
    rows: Matrix
    at: list[list[Vector]]
    off: int
    rest: Vector
    image: Form


def verify(task: Task) -> str:
    """The line ``s VERIFIED ...``, if the certificate proves its claim; raises ``Reject`` in every other case."""
    return decided(task, VERDICT, MODEL, Check)


def decided(task: Task, said: dict[str, Any], shape: dict[str, Any], kind: type[Check]) -> str:
    """:func:`verify` for a format, what it says of the model, and the check of its cases."""
    fields = record(task.document, said, task.top)
    model = Model(task, fields["model"], task.top.key("model"), shape)
    memory, n, upto = fields.get("memory"), fields["n"], fields["upto"]
    language = Language(fields["language"], memory, task.top.key("language"), len(model.rows), model.labels)
    require(upto <= n, task.top.key("upto"), "expected at most n", upto)
    wrong = record(fields["wrong"], WRONG, task.top.key("wrong")) if "wrong" in fields else None
    deepest = max(upto, len(wrong["word"]) if wrong else 0)
    room = model.positions is None or model.offset + max(deepest - model.first, 0) < len(model.positions)
    require(room and deepest <= n, task.top.key("n"), "there are no position embeddings that far")
    check = kind(task, model, language, Atoms(model, deepest, task.meter))
    if "fixed" in fields:
        require(upto == n and wrong is None, task.top.key("upto"), "expected n, and no wrong word", upto)
        language.fixed = restriction(fields["fixed"], n - model.pinned, model.reader, task.top.key("fixed"))
    if upto >= 0:
        check.read_basis(fields["basis"], task.top.key("basis"))
        check.read_turned(fields.get("turned", []), task.top.key("turned"))
        check.read_more(fields, task.top)
        expected = list(check.keys(n, n if "fixed" in fields else 0, upto))
        if "fixed" in fields:
            answers = {frozenset(language.want[q]) for q in {q for *_, q in expected}}
            one = len(answers) == 1 and all(len(want) == 1 for want in answers if language.greatest)
            require(one, task.top.key("fixed"), "expected words, and one answer behind all of them")
        check.every(fields["cases"], expected, task.top.key("cases"))
    if "fixed" in fields:
        fixed = f"fixed={len(language.fixed)} cases={len(fields['cases'])}"
        return f"s VERIFIED forced n={n - model.pinned}{language.told}{model.told} {fixed} {model.sha256}"
    if wrong is None:
        require(upto >= 0 and fields["cases"] != [], task.top.key("cases"), "nothing is claimed of any word")
        shown = "" if upto == n else f" prefixes=0..{upto - model.pinned}"
        shown += language.told + model.told
        return f"s VERIFIED right n=0..{n - model.pinned}{shown} cases={len(fields['cases'])} {model.sha256}"
    check.refuted(wrong, n, task.top.key("wrong"))
    shortest = " shortest" if upto == len(wrong["word"]) - 1 else ""
    at = f"at={len(wrong['word']) - model.pinned} label={wrong['label']}{shortest}"
    return f"s VERIFIED wrong n=0..{n - model.pinned}{language.told}{model.told} {at} {model.sha256}"


class Check:
    """What the cases share."""

    def __init__(self, task: Task, model: Model, language: Language, atoms: Atoms) -> None:
        self.meter, self.model, self.language, self.atoms = task.meter, model, language, atoms
        self.signs: dict[int, Sign] = {label: model.sign(label) for label in language.labels}
        self.nothing = Sign([0] * model.d, 0, 0)
        self.basis: list[Basis] = []
        self.turned: list[list[Basis]] = []
        self.final: Network = model.blocks[-1].network
        self.edges = 3 * len(model.rows)
        self.meter.charge(4 * len(language.delta) * (len(model.rows) + 1))
        self.far = language.distances()
        over = (t for row in language.delta for t in row[model.reader :] if t >= 0)
        once = all(max(language.delta[t]) < 0 for t in over)
        require(once, task.top.key("language"), "expected nothing behind the token at which the answer is read")
        self.weights: list[list[list[Interval]]] = []
        self.held: list[Side | None] = []
        self.inner: list[list[list[Form]]] = []
        self.alike, self.shown = model.positions is None and len(model.blocks) == 1, Shown()
        self.price, self.sizes, self.map = 0, (5, 8), (model.d + 16) * (len(self.final.inner.bias) + 16) >> 3

    def read_more(self, fields: dict[str, Any], place: Place) -> None:
        """What a format has beside the fields of one layer."""

    def read_basis(self, value: list[Any], place: Place) -> None:
        """The directions of every head, with the coordinates of all its values."""
        require(len(listing(value, place)) == self.model.heads, place, "expected a basis for each head")
        if not self.turned:
            self.meter.charge(self.model.d * (2 * self.map + (self.model.d + 16) ** 2))
            self.meter.fits(200 * self.model.d**2)
            self.final = stretched(self.final)
        self.basis = []
        for h, entry in enumerate(value):
            self.basis.append(self.measured(h, *self.directions(entry, place.item(h))))
        self.estimate(sum(len(b.rows) for b in self.basis), 0)
        self.turned.append(self.basis)

    def estimate(self, rows: int, more: int) -> None:
        """Raise the price of a cell to that of one in so many directions, with more generators."""
        m, d, inner = min(SPANS, rows) + more, self.model.d, len(self.final.inner.bias)
        price = (more + 3) * self.map + (m + 2) * ((m >> 2) + 8) * (d + inner) + rows * (d + 8)
        price += inner * NEURON[self.model.activation] + len(self.signs) * (2 * self.map + (m + 8) * (d + inner))
        self.price = max(self.price, price)

    def directions(self, entry: Any, place: Place) -> tuple[Vector, Matrix]:
        """A centre in units, and directions times ``2^24``."""
        fields, d = record(entry, BASIS, place), self.model.d
        centre, rows = list(fields["centre"]), [list(hint(row, place)) for row in fields["rows"]]
        fits = len(centre) == d and all(len(row) == d for row in rows) and len(rows) <= d
        require(fits, place, "expected at most d directions of d entries")
        return [v << HINT for v in centre], rows

    def read_turned(self, value: list[Any], place: Place) -> None:
        """Further bases, of which a case may name one."""
        require(len(value) < TURNS, place, f"expected fewer than {TURNS}")
        for number, entry in enumerate(value):
            self.read_basis(entry, place.item(number))

    def measured(self, h: int, centre: Vector, rows: Matrix) -> Basis:
        """Coordinates of the values of a head, and the largest remainder of each entry (Lemma V5)."""
        d, values = self.model.d, self.atoms.values[h]
        count = sum(map(len, values))
        self.meter.charge(count * (2 * len(rows) + 2) * (d + 4))
        self.meter.hold(count * 60 * len(rows))
        radius = max(v.radius for row in values for v in row)
        off = max((total(row) * radius >> 24) + 2 for row in rows) if rows else 0
        columns = list(map(list, zip(*rows, strict=True))) or [[]] * d
        gaps = [[[a - b for a, b in zip(v.centre, centre, strict=True)] for v in row] for row in values]
        at = [[[dot(b, gap) >> 24 for b in rows] for gap in row] for row in gaps]
        left = ([abs(g - (dot(c, t) >> 24)) for g, c in zip(gap, columns, strict=True)]
                for gap, t in zip(chain(*gaps), chain(*at), strict=True))  # fmt: skip
        rest = [max(r) + (total(c) * off >> 24) + radius + 2
                for r, c in zip(zip(*left, strict=True), columns, strict=True)]  # fmt: skip
        return Basis(centre, rows, at, off, rest, self.seen(rows))

    def seen(self, rows: Matrix) -> Form:
        """What directions are at the neurons."""
        self.meter.charge(len(rows) * self.map)
        self.meter.hold(60 * len(rows) * len(self.final.inner.bias))
        none = [0] * self.model.d
        return moved(self.final.normal, Form(none, [[v << HINT for v in row] for row in rows], none))[0]

    # ---------------------------------------------------------------- cases

    def every(self, cases: list[Any], expected: Sequence[Key], place: Place) -> None:
        """Each case of the prefixes, once, in the order of position, symbol and state."""
        before, said = (-1, -1), dict[tuple[int, int], list[Any]]()
        for index, key in enumerate(expected):
            require(index < len(cases), place, f"the case {list(key)} is missing")
            entry = listing(cases[index], place.item(index))
            given = tuple(integers(-1, 1 << 20)(entry[:3], place.item(index)))
            require(given == key, place.item(index), f"expected the case {list(key)}", entry[:3])
            hints = said[key[1:]] = entry[3:] or said.get(key[1:], [])  # where there are none: those given before
            least, most = self.sizes
            require(least <= len(hints) + 3 <= most, place.item(index), f"expected {least} to {most} entries")
            if key[:2] != before:
                before = key[:2]
                self.weigh(key[0], key[1])
            self.case(key, hints, place.item(index))
        require(len(cases) == len(expected), place, f"expected {len(expected)} cases", len(cases))

    def keys(self, n: int, first: int, upto: int) -> Iterator[Key]:
        """The cases: what a prefix of ``first`` to ``upto`` symbols, of a word of at most ``n``, can end with."""
        if first == 0 == self.model.first + self.model.pinned and self.far[0] <= n:
            yield (0, START, 0)
        before, symbols = {0}, range(len(self.model.rows))
        for i in range(1, upto + 1):
            self.meter.charge((2 * len(before) + len(self.far)) * (len(symbols) + 1))
            for a in self.model.ends if i >= first else ():
                if self.language.fixed.get(i, a) != a:
                    continue
                found = {t for p in before if (t := self.language.delta[p][a]) >= 0 and self.far[t] <= n - i}
                yield from ((i, a, q) for q in sorted(found))
            before = {t for t, _ in self.language.steps(i)}
            self.meter.hold(sum(160 + 120 * len(step) for _, step in self.language.steps(i)))

    def weigh(self, i: int, a: int) -> None:
        """Enclosures of the weights of all symbols up to the position, for each head."""
        dk, count = self.model.d // self.model.heads, (i + 1) * len(self.model.rows)
        self.meter.charge(self.model.heads * count * (3 * dk + 40))
        self.weights = []
        for h in range(self.model.heads):
            scores, radius = self.atoms.scores(h, i, a)
            top = max(map(max, scores))
            require(radius < ONE >> 1, Place("model"), "scores are too large")
            self.weights.append([[enclosed(s - top, radius) for s in row] for row in scores])
            if self.model.first:
                self.weights[-1][0] = [(0, 0)]

    def bounded(self, h: int, key: Key, ends: list[Vector], limit: int) -> bool:
        """Whether a head's average is at most ``limit`` in all words of the case (Theorem 1), for values of at most
        ``ends[j][s]``."""
        self.meter.charge((key[0] + 1) * self.edges)
        return self.longest(self.lengths(h, ends, limit), key[1], key[2]) <= 0

    def together(self, key: Key, tables: list[list[Vector]]) -> bool:
        """Whether the sum of some heads' lengths is at most 0 in all words of the case."""
        self.meter.charge((key[0] + 1) * (self.edges + 2 * len(tables) * len(self.model.rows)))
        weights = [list(map(sum, zip(*rows, strict=True))) for rows in zip(*tables, strict=True)]
        return self.longest(weights, key[1], key[2]) <= 0

    def lengths(self, h: int, ends: list[Vector], limit: int) -> list[Vector]:
        """Upper bounds on a head's weights times ``v - limit``, for values ``v`` of at most ``ends[j][s]``."""
        return [[(v - limit) * (e[1] if v > limit else e[0]) for v, e in zip(row, es, strict=True)]
                for row, es in zip(ends, self.weights[h], strict=True)]  # fmt: skip

    def longest(self, weights: Sequence[Vector], a: int, q: int) -> int:
        """The longest path of a case."""
        return longest(self.language, weights, a, q)

    def case(self, key: Key, hints: list[Any], place: Place) -> None:
        """One case: the box by its hints, then the cells."""
        self.edges = self.priced(key)
        number = integer(0, len(self.turned) - 1)(hints[3], place) if len(hints) > 3 else 0
        self.number, self.basis = number, self.turned[number]
        at = [(h, b.off, b.at[: key[0] + 1], k) for h, b in enumerate(self.basis) for k in range(len(b.rows))]
        ends = [(h, [[off + t[k] for t in row] for row in rows], [[off - t[k] for t in row] for row in rows])
                for h, off, rows, k in at]  # fmt: skip
        upper, width, m = hint(hints[0], place), hint(hints[1], place), len(ends)
        fits = len(upper) == len(width) and len(upper) in (m, m + (len(self.model.blocks) == 1) * (len(self.basis) - 1))
        require(fits, place, f"expected {m} bounds and widths")
        boxes = self.boxes(key, ends, zip(upper, width, strict=True), place)
        for h, (u, w) in enumerate(zip(upper[m:], width[m:], strict=True), 1):
            boxes.append(self.quotient(h, key, u << QUOTIENT, (u - w) << QUOTIENT, place))
        self.held = self.narrowed(key, hints[4] if len(hints) > 4 else [], place)
        self.cell(key, boxes, hints[2] if len(hints) > 2 else 0, place)

    def priced(self, key: Key) -> int:
        """What a longest path of the case costs, for each position."""
        self.meter.charge(sum(len(way) for j in range(key[0] + 1) for _, way in self.language.steps(j)))
        ways = sum(len(way) + 1 for step in self.language.leading(*key) for _, way in step)
        return 5 * len(self.model.rows) + 3 + 2 * ways // (key[0] + 1)

    def narrowed(self, key: Key, value: Any, place: Place) -> list[Side | None]:
        """The ends of what neurons read before the division, in all words of the case, where they are given: the
        neuron, then for each head a bound and a width, in units of ``2^-8``."""
        found, heads = list[Side | None]([None] * len(self.final.inner.bias)), self.model.heads
        given = [hint(entry, place) for entry in listing(value, place)]
        fits = all(len(e) == 2 * heads + 1 and 0 <= e[0] < len(found) for e in given)
        require(fits, place, "expected neurons, each with a bound and a width for each head")
        self.meter.charge(len(given) * heads * (key[0] + 1) * 4 * len(self.model.rows) + 2 * self.map)
        x, bias = self.stream(key)
        base = moved(self.final.normal, added(Form(bias, [], [1] * len(bias)), x))[0]
        far = reached(base)
        for j, *hints in given:
            at = [(h, [[(f.centre[j], f.rest[j]) for f in row] for row in rows[: key[0] + 1]])
                  for h, rows in enumerate(self.read())]  # fmt: skip
            ends = [(h, [[r + c for c, r in row] for row in rows], [[r - c for c, r in row] for row in rows])
                    for h, rows in at]  # fmt: skip
            boxes = self.boxes(key, ends, ((u << 8, w << 8) for u, w in zip(*[iter(hints)] * 2, strict=True)), place)
            middle, radius = (sum(v) for v in zip((base.centre[j], far[j]), *boxes, strict=True))
            found[j] = (middle - radius, middle + radius)
        return found

    def read(self) -> list[list[list[Form]]]:
        """What neurons read of every value, before the division."""
        if not self.inner:
            count = sum(len(row) for rows in self.atoms.values for row in rows)
            self.meter.charge(2 * count * self.map)
            self.meter.hold(count * 120 * len(self.final.inner.bias))
            self.inner = [[[moved(self.final.normal, Form(v.centre, [], [v.radius] * len(v.centre)))[0] for v in row]
                           for row in rows] for rows in self.atoms.values]  # fmt: skip
        return self.inner

    def boxes(self, key: Key, ends: list[Column], sides: Iterable[Interval], place: Place) -> list[Extent]:
        """The coordinates by their bounds and widths, which hold for all words of the case."""
        found = list[Extent]()
        for (h, ups, downs), (u, w) in zip(ends, sides, strict=False):
            high, low = u << BOUND, (u - w) << BOUND
            if not self.bounded(h, key, ups, high) or not self.bounded(h, key, downs, -low):
                unproved(place, f"head {h}, direction {len(found)}: a word of the case is beyond the bound")
            found.append(Extent((high + low) >> 1, ((high - low) >> 1) + 1))
        return found

    def quotient(self, h: int, key: Key, high: int, low: int, place: Place) -> Extent:
        """Bounds on the first head's denominator by another head's, in all words of the case (Theorem 6)."""
        none = [[0] * len(row) for row in self.weights[0]]
        for one, other in ((-ONE, high), (ONE, -low)):
            if low <= 0 or not self.together(key, [self.lengths(0, none, one), self.lengths(h, none, other)]):
                unproved(place, f"head {h}: the quotient of the denominators of a word is beyond its bound")
        return Extent((high + low) >> 1, ((high - low) >> 1) + 1)

    def cell(self, key: Key, boxes: list[Extent], tree: Any, place: Place) -> None:
        """A leaf has pieces (0: none), and perhaps multipliers; or a row alone: no word. ``[m, low, high]`` halves."""
        parts = [tree, []] if type(tree) is int else listing(tree, place)
        if len(parts) == 1:
            return self.unreached(key, boxes, list(hint(parts[0], place)), place)
        if len(parts) == 2:
            rows = [list(hint(row, place)) for row in listing(parts[1], place)]
            require(all(0 < len(row) <= len(boxes) + 1 for row in rows), place, "expected rows of multipliers")
            return self.leaf(key, boxes, integer(0, PIECES)(parts[0], place), rows, place)
        require(len(parts) == 3, place, "expected 0 or [coordinate, tree, tree]")
        m = integer(0, len(boxes) - 1)(parts[0], place)
        middle, radius = boxes[m]
        half = (radius >> 1) + 1
        for side, inner in ((middle - half, parts[1]), (middle + half, parts[2])):
            self.cell(key, [*boxes[:m], Extent(side, half), *boxes[m + 1 :]], inner, place)

    def unreached(self, key: Key, boxes: list[Extent], row: Vector, place: Place) -> None:
        """No word of the case is in this cell: ``row`` has coordinates, each with a multiplier of its lower end, or, if
        that is negative, of its upper end. In the cell all lengths together would be positive (Lemma V21)."""
        pull, tables, at, m = dict(zip(row[::2], row[1::2], strict=False)), list[list[Vector]](), 0, len(boxes)
        require(len(row) == 2 * len(pull) and all(0 <= k < m for k in pull), place, "expected coordinates, each once")
        for h, basis in enumerate(self.basis):
            part = [(pull.get(k, 0), *boxes[k]) for k in range(at, at + len(basis.rows))]
            ends, at = self.against(key, [-v << BOUND for v, *_ in part], h), at + len(part)
            limit = sum(v * middle - abs(v) * radius >> BITS - BOUND for v, middle, radius in part) - (h == 0)
            tables.append(self.lengths(h, ends, limit))
        if not self.together(key, tables):
            unproved(place, "a word may be in a cell that is said to have none")

    def leaf(self, key: Key, boxes: list[Extent], pieces: int, rows: list[Vector], place: Place) -> None:
        """All that is asked holds on this cell, by a chord of the inverse deviation or pieces of its range. Bounds may
        be known (Lemma V19). A row has the bound from which on it is used, and multipliers of sides (Lemma V20)."""
        if self.language.greatest and self.language.want[key[2]] >= self.signs.keys():
            return None  # every label is wanted
        count, known = sum(len(b.rows) for b in self.basis), self.shown if self.alike else Shown()
        kept = sorted(sorted(range(count), key=lambda m: -boxes[m].radius)[:SPANS])
        self.meter.charge(10 * count + len(self.held) + 200 + len(self.signs) * (pieces + 1) * (count + 32 >> 4))
        self.meter.charge(len(rows) * (1 + len(self.signs) * (2 * pieces + 1) + count))
        if (cell := (*key[1:], self.number, pieces, *boxes, *self.held)) not in known:
            self.meter.charge(self.price * (pieces + 1))
            self.meter.hold(self.alike * 150 * (count + 8) * len(self.signs) * (pieces + 1))
            y, wanted, epsilon = self.start(key, boxes, kept), self.language.want[key[2]], self.model.epsilon
            zs = network(epsilon, self.final, y, *self.image(y, boxes, kept), pieces, self.held)
            known[cell] = [(label, *end) for z in zs for label, sign in self.asked(wanted, z)
                           for end in signed(sign, z, self.final, epsilon)]  # fmt: skip
        for number, (label, least, lines) in enumerate(known[cell]):
            short, bound = lines[: len(kept)], least - total(lines[len(kept) :])
            pull = next((row[1:] for row in reversed(rows) if row[0] <= number), [])
            if bound <= total(short) and not self.own(key, boxes, bound, dict(zip(kept, short, strict=True)), pull):
                unproved(place, f"label {label} is not shown to be right")

    def asked(self, wanted: set[int], z: Behind) -> list[tuple[int, Sign]]:
        """What is to be positive: a wanted label, and the negative of another; or what the wanted one that is greatest
        in the middle of the cell is more than each that is not wanted."""
        if not self.language.greatest:
            return [(k, s if k in wanted else self.nothing.less(s)) for k, s in self.signs.items()]
        s = math.isqrt(dot(z.middle, z.middle) // len(z.middle) + self.model.epsilon)
        best = self.signs[max((dot(v.row, z.centre) + v.beta * s + (v.shift << BITS), -k, k)
                              for k, v in self.signs.items() if k in wanted)[2]]  # fmt: skip
        return [(k, best.less(s)) for k, s in self.signs.items() if k not in wanted]

    def own(self, key: Key, boxes: list[Extent], least: int, lines: dict[int, int], pull: Vector) -> bool:
        """The label's own direction over all words of the case (Theorems 5 and 6), less what multipliers of the cell's
        sides make, of its coordinates and then of its quotients, which is not negative in the cell (Lemma V20)."""
        m, first = sum(len(b.rows) for b in self.basis), len(self.basis[0].rows)
        if len(boxes) - m != len(self.basis) - 1:
            return False
        slopes = [(lines.get(k, 0) << BITS) // b.radius if b.radius else 0 for k, b in enumerate(boxes[:m])]
        least -= sum(abs(lines.get(k, 0) - (s * boxes[k].radius >> BITS)) + 2 for k, s in enumerate(slopes))
        for k, g in enumerate(pull[:m]):
            slopes[k] -= g << BOUND
            least -= (abs(g) << BOUND) * boxes[k].radius >> BITS
        least -= len(pull) + (sum(pull[m:]) << BOUND)
        shifts = [(s * b.middle >> BITS) + 1 for s, b in zip(slopes, boxes, strict=False)]
        ends, limit = self.against(key, slopes[:first]), least - sum(shifts[:first]) - 1
        if len(self.basis) == 1:
            return self.bounded(0, key, ends, limit)
        tables, at = [self.lengths(0, ends, limit)], first
        for h, ratio in enumerate(boxes[m:], 1):
            part = range(at, at + len(self.basis[h].rows))
            reach = sum((abs(slopes[k]) * boxes[k].radius >> BITS) + 1 for k in part)
            off = ratio.middle * sum(shifts[k] for k in part) + ratio.radius * reach
            ends = self.against(key, slopes[at : part.stop], h)
            g = sum(pull[m + h - 1 : m + h]) << BOUND
            side = g * (ratio.middle - ratio.radius if g > 0 else ratio.middle + ratio.radius) >> BITS
            tables.append(self.lengths(h, [[(ratio.middle * v + off >> BITS) + 1 for v in row] for row in ends], side))
            at = part.stop
        return self.together(key, tables)

    def against(self, key: Key, slopes: Vector, h: int = 0) -> list[Vector]:
        """Upper bounds on all values of a head against the direction that some slopes of its coordinates make."""
        off = (total(slopes) * self.basis[h].off >> BITS) + 2
        self.meter.charge((key[0] + 1) * len(self.model.rows) * (len(slopes) + 3))
        return [[off - (dot(slopes, t) >> BITS) for t in row] for row in self.basis[h].at[: key[0] + 1]]

    # ---------------------------------------------------------------- from attention to the logits

    def start(self, key: Key, boxes: list[Extent], kept: list[int]) -> Form:
        """The residual stream behind attention, with a generator for each coordinate that is kept."""
        x, bias = self.stream(key)
        rows = [(row, box) for row, box in zip((row for b in self.basis for row in b.rows), boxes, strict=False)]
        moves, spans = ([[v * box[k] >> 24 for v in row] for row, box in rows] for k in (0, 1))
        centre = list(map(sum, zip(x.centre, bias, *(b.centre for b in self.basis), *moves, strict=True)))
        others = (map(abs, g) for m, g in enumerate(spans) if m not in kept)
        rest = zip(x.rest, *(b.rest for b in self.basis), *others, strict=True)
        return Form(centre, [*(spans[m] for m in kept), *x.spans], [sum(r) + 3 * len(boxes) + 4 for r in rest])

    def stream(self, key: Key) -> tuple[Form, Vector]:
        """What attention's output is added to, and attention's bias."""
        x = self.model.token(key[1], key[0])
        return Form(x.centre, [], [x.radius] * len(x.centre)), self.model.blocks[0].bias

    def image(self, y: Form, boxes: list[Extent], kept: list[int]) -> tuple[Form, int]:
        """What a cell's form is at the neurons, and what of the remainder is due to rounding: directions are mapped
        once for all cells."""
        form, slack = moved(self.final.normal, Form(y.centre, y.spans[len(kept) :], y.rest))
        seen = [(g, b.image.rest[0]) for b in self.basis for g in b.image.spans]
        spans = [[v * boxes[m].radius >> BITS for v in seen[m][0]] for m in kept]
        more = sum((seen[m][1] * boxes[m].radius >> BITS) + 2 for m in kept)
        return Form(form.centre, [*spans, *form.spans], [r + more for r in form.rest]), slack + more

    def refuted(self, wrong: dict[str, Any], n: int, place: Place) -> None:
        """The wrong word: a prefix of a word of the language, on which the label's sign is not the one wanted."""
        word, label = list(wrong["word"]), wrong["label"]
        symbols = len(self.model.rows)
        require(all(s < symbols for s in word), place.key("word"), "no such symbol")
        require(len(word) >= self.model.first, place.key("word"), "expected a symbol: there is no start token")
        require(label in self.signs, place.key("label"), "not one of the language's labels", label)
        read = not self.model.pinned or word[-1:] == [self.model.reader]
        require(read, place.key("word"), "expected the token at which the answer is read at its end")
        states = [0]
        for s in word:
            states.append(self.language.delta[states[-1]][s])
            require(states[-1] >= 0, place.key("word"), "not a prefix of a word of the language")
        alive = self.far[states[-1]] <= n - len(word)
        require(alive, place.key("word"), f"no word of length at most {n} begins so")
        self.meter.charge((len(word) + 1) * self.model.d * 40 + (len(self.final.inner.bias) + 8) * 1000 + 6 * self.map)
        self.meter.hold((len(word) + 1) * (16 * self.model.heads + 100))
        self.weigh(len(word), word[-1] if word else START)
        y = self.point([START, *word])
        (z,) = network(self.model.epsilon, self.final, y, *moved(self.final.normal, y))
        want, sign = self.language.want[states[-1]], self.signs[label]
        found = [self.nothing.less(sign) if label in want else sign]
        if self.language.greatest:
            require(label not in want, place.key("label"), "the label is wanted there", label)
            self.meter.charge(len(want) * 2 * self.map)
            found = [sign.less(self.signs[k]) for k in want]
        if any(signed(s, z, self.final, self.model.epsilon)[0][0] <= 0 for s in found):
            unproved(place, f"label {label} is not shown to be wrong")

    def point(self, word: list[int]) -> Form:
        """The residual stream of one word behind attention."""
        x, bias = self.stream((len(word) - 1, word[-1], 0))
        values = self.atoms.values
        read, heads = [(j, max(s, 0)) for j, s in enumerate(word)], []
        for h, rows in enumerate(self.weights):
            balls = [values[h][j][s] for j, s in read]
            heads.append(([rows[j][s] for j, s in read], [v.centre for v in balls], max(v.radius for v in balls)))
        return averaged(x, bias, heads)
