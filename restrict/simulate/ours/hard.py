"""Hard-attention programs as softmax transformers that compute the same thing (Yang, Strobl, Chiang & Angluin 2024).

Every variable becomes a block of the residual stream that holds its value as a one-hot vector, *exactly*:

- the **token** is embedded so; what a map or a score reads of positions is a term of ``i`` and ``n``
  (:mod:`restrict.simulate.ours.atoms`);
- a **map** is a layer of ReLU units, one for each tuple of arguments: ``relu(sum of its one-hots - (m-1))``;
- a **head** attends by softmax to the key with the greatest score. Only the order of scores matters, so they are
  replaced by their ranks, as a bilinear form of one-hots: unequal scores then differ by at least 1, the gap. What is
  read is within ``epsilon <= 1/4`` of a one-hot vector, and Lemma 9 rounds it to an exact one.

Since every block is exact again after its layer, errors do not add up along the layers: the softmax model's output is
that of the program, for every word, wherever each head's certified error is at most 1/4.

**Ties.** Where tied keys can have different values, Lemma 8's term ``j / (2n)`` makes the leftmost or rightmost one
the only winner, at ``1/tau = O(n)``. Where they cannot (the value read is the key's, or the greatest score is at one
position only), no term is needed and ``1/tau = O(log n)``. A score that grows with ``j`` is such a term already.
This distinction is our own; the paper breaks ties always.

Invariant: :class:`CompiledProgram` holds at ``n``; where ``every_length`` is set, the same model is right at every
length at which the program is defined (its classes of positions are then complete:
:func:`restrict.simulate.ours.atoms.reach`).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from restrict.all_lengths.forms import Declined, analyse
from restrict.base.arrays import I64
from restrict.base.errors import ModelError, NotEstablished, ResourceLimit, UsageError, quote
from restrict.model.expr import Expr, bind, const, name, substitute, table
from restrict.model.program import Model
from restrict.model.rules import Callback, Dot, Formula, evaluate, expression
from restrict.model.variables import Head, Map, rule_of
from restrict.simulate.floating import UNITS, check_epsilon
from restrict.simulate.lemmas_6_to_9 import tied_rate
from restrict.simulate.ours.atoms import MOST_LENGTHS, Classes, atoms_of, classes_of, reach
from restrict.simulate.ours.report import CompiledProgram, HeadReport
from restrict.simulate.ours.rounding import safe_length
from restrict.simulate.stream import Affine, HeadRows, Stream, StreamBlock, Unit
from restrict.soft.models.terms import Term, up

MAX_UNITS = 2**14
"""Units of one map."""
MAX_POINTS = 2**22
"""Entries of one head's table of scores."""

Features = tuple[list[int | None], int]
"""Dimensions, ``None`` where a constant 1 takes their place, and when they are there."""


def compile_program(model: Model, n: int, epsilon: Fraction = Fraction(1, 5)) -> CompiledProgram:
    """A hard-attention program as a softmax transformer, right at length ``n`` on every word. ``n``: the length,
    markers included. ``epsilon``: every head's read is to be within this of the hard one, in (0, 1/4]; what is left to
    1/4 is room for rounding. Result: the model with its certified errors, each at most ``epsilon``."""
    check_epsilon(epsilon)
    return _Compiler(model, n, epsilon).result()


@dataclass
class _Compiler:
    """The work: variables in program order, each a block."""

    model: Model
    n: int
    epsilon: Fraction
    blocks: dict[str, StreamBlock] = field(default_factory=dict)
    pairs: dict[tuple[tuple[str, ...], str], StreamBlock] = field(default_factory=dict)
    heads: list[HeadReport] = field(default_factory=list)
    defined: dict[int, bool] = field(default_factory=dict)
    every_length: bool = True

    def __post_init__(self) -> None:
        self.instance = self.model.at(self.n)
        self.stream = Stream(self.model.alphabet, self.model.start_marker, self.model.end_marker)
        self.blocks["token"] = self.stream.token
        sizes = [v.domain for v in self.model.variables if isinstance(v.domain, Formula)]
        self.every_length = not any("n" in size.mentions for size in sizes)

    def result(self) -> CompiledProgram:
        for variable in self.model.variables:
            try:
                self._head(variable) if isinstance(variable, Head) else self._map(variable)
            except (NotEstablished, ResourceLimit) as error:
                raise type(error)(f"variable {quote(variable.name)}: {error}") from None
        labels, rows = self._read_out()
        if not self.every_length:
            self.stream.guard(f"0/(n == {self.n})")
        name = f"{self.model.name[:80]} by softmax"
        lengths = "every length" if self.every_length else f"n = {self.n}"
        said, out = f"within {self.epsilon} before rounding, at {lengths}", self.model.output
        accept = (1,) if out.accept is not None else ()
        soft = self.stream.build(name, said, rows, labels, out.position, "softmax", accept)
        found = CompiledProgram(
            self.model, soft, self.n, self.epsilon, tuple(self.heads), dict(self.blocks), self.every_length
        )
        return replace(found, soft=replace(soft, certified={kind: safe_length(found, kind) for kind in UNITS}))

    def _read_out(self) -> tuple[tuple[str, ...], list[Affine]]:
        """The labels, and what each reads: the values that have it."""
        out, block = self.model.output, self._block(self.model.output.variable)
        names = [out.label(v) for v in range(block.size)]
        labels = ["reject", "accept"] if out.accept is not None else list(dict.fromkeys(names))
        if len(labels) == 1:
            labels.append("no other label" if labels[0] != "no other label" else "none")
        return tuple(labels), [({block[v]: 1.0 for v, name in enumerate(names) if name == y}, 0.0) for y in labels]

    # -------------------------------------------------------- positions

    def _lengths(self, atoms: Sequence[Expr]) -> list[int]:
        """The lengths at which classes are collected, ``n`` last; clears ``every_length`` where they are too few.
        Where the program is undefined below some length, the window that shows everything starts there."""
        needed = reach(atoms)
        first = needed and next((m for m in range(1, MOST_LENGTHS) if self._defined(m)), None)
        if needed is None or first is None:
            self.every_length = False
            return [self.n]
        lengths = [m for m in range(first, first + needed) if self._defined(m)]
        self.every_length &= len(lengths) == needed
        return [*lengths, self.n]

    def _defined(self, m: int) -> bool:
        """Whether the program is defined at a length, with the domains that it has at ``n``."""
        if m not in self.defined:
            try:
                self.defined[m] = self.model.at(m).domains == self.instance.domains | {"position": m}
            except (ModelError, UsageError):
                self.defined[m] = False
        return self.defined[m]

    def _classes(self, atoms: tuple[Expr, ...], lengths: list[int]) -> Classes:
        found = classes_of(atoms, self.n, lengths)
        self.every_length &= found.every_length
        return found

    def _block(self, variable: str) -> StreamBlock:
        """The one-hot block of a variable; that of the position is made on demand, for one length."""
        if variable not in self.blocks:
            self.every_length = False
            dims = [self.stream.term(f"i == {value}") for value in range(self.n)]
            target = self.stream.block(self.n, 1)
            for value, dim in enumerate(dims):
                self.stream.unit(0, Unit({dim: 1.0}, 0.0, {target[value]: 1.0}))
            self.blocks[variable] = target
        return self.blocks[variable]

    def _features(self, classes: Classes, variable: str | None) -> Features:
        """The dimensions of the one-hot vector over (class, value), and when it is there; ``None`` means constant 1."""
        if variable is None:
            return [None] if len(classes) == 1 else [self.stream.term(text) for text in classes.texts], 0
        block = self._block(variable)
        if len(classes) == 1:
            return [block[v] for v in range(block.size)], block.time
        slot = (classes.texts, variable)
        if slot not in self.pairs:
            made = self.stream.block(len(classes) * block.size, block.time + 1)
            for c, text in enumerate(classes.texts):
                for v in range(block.size):
                    inner = {self.stream.term(text): 1.0, block[v]: 1.0}
                    self.stream.unit(block.time, Unit(inner, -1.0, {made[c * block.size + v]: 1.0}))
            self.pairs[slot] = made
        made = self.pairs[slot]
        return [made[at] for at in range(made.size)], made.time

    # -------------------------------------------------------- maps

    def _map(self, variable: Map) -> None:
        if isinstance(rule_of(variable), Callback):
            raise NotEstablished("it is a Python callable; write it as an expression or a table")
        expr = substitute(expression(rule_of(variable)), {"position": name("i")})
        args = tuple(dict.fromkeys(a for a in variable.args if a != "position"))
        atoms = atoms_of(expr, "i")
        lengths = self._lengths(atoms)
        classes = self._classes(atoms, lengths)
        lengths = lengths if classes.every_length else [self.n]
        sizes = [self._block(a).size for a in args]
        total = len(classes) * math.prod(sizes)
        if total > MAX_UNITS:
            raise ResourceLimit(f"its map has {total} tuples of arguments; the limit is {MAX_UNITS} ReLU units")
        values = self._map_values(expr, args, sizes, classes, lengths)
        if values.min() < 0 or values.max() >= self.instance.domains[variable.name]:
            raise NotEstablished(f"its map leaves the domain 0 .. {self.instance.domains[variable.name] - 1}")
        self._write_map(variable.name, args, values, classes)

    def _map_values(
        self, expr: Expr, args: tuple[str, ...], sizes: list[int], classes: Classes, lengths: list[int]
    ) -> I64:
        """The map as a table over classes and arguments."""
        values = np.zeros((len(classes), math.prod(sizes)), dtype=np.int64)
        grid = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
        for m in lengths:
            bound = bind(expr, n=m)
            for c, i in _representatives(classes, m).items():
                at = bind(bound, i=i)
                inputs = {a: np.ascontiguousarray(grid[s]) for s, a in enumerate(args) if a in at.names}
                values[c] = evaluate(at, inputs, values.shape[1])
        return values.reshape(len(classes), *sizes)

    def _write_map(self, variable: str, args: tuple[str, ...], values: I64, classes: Classes) -> None:
        time = max((self._block(a).time for a in args), default=0)
        target = self.stream.block(self.instance.domains[variable], time + 1)
        common = int(np.bincount(values.reshape(-1)).argmax())
        self.stream.constant(time, target[common], 1.0)
        for point in np.argwhere(values != common):
            inner = {self._block(a)[int(v)]: 1.0 for a, v in zip(args, point[1:], strict=True)}
            if len(classes) > 1:
                inner[self.stream.term(classes.texts[int(point[0])])] = 1.0
            result = int(values[tuple(point)])
            self.stream.unit(time, Unit(inner, 1.0 - len(inner), {target[result]: 1.0, target[common]: -1.0}))
        self.blocks[variable] = target

    # -------------------------------------------------------- heads

    def _head(self, head: Head) -> None:
        expr, ties = self._score(head)
        query = head.query if "q" in expr.names else None
        key = head.key if "k" in expr.names else None
        left_atoms, right_atoms = atoms_of(expr, "i"), atoms_of(expr, "j")
        lengths = self._lengths([*left_atoms, *right_atoms])
        left, right = self._classes(left_atoms, lengths), self._classes(right_atoms, lengths)
        lengths = lengths if left.every_length and right.every_length else [self.n]
        sizes = (self._block(query).size if query else 1, self._block(key).size if key else 1)
        ranks = self._ranks(expr, left, right, sizes, lengths)
        harmless = self._harmless(head, key, ranks, left, right, lengths)
        self._write_head(head, ties, harmless, self._features(left, query), self._features(right, key), ranks)

    def _score(self, head: Head) -> tuple[Expr, str]:
        """The score with positions as ``i`` and ``j``; a score that is linear in ``j`` becomes a tie-break."""
        rule = rule_of(head)
        if isinstance(rule, Callback):
            raise NotEstablished("its score is a Python callable; write it as an expression or a table")
        expr = _dot_table(rule) if isinstance(rule, Dot) else expression(rule)
        known = {"q": name("i")} if head.query == "position" else {}
        known |= {"k": name("j")} if head.key == "position" else {}
        expr = substitute(expr, known)
        if expr.names <= {"i", "j", "n"} and "j" in expr.names:
            try:
                line = analyse(expr).line
            except Declined:
                return expr, head.ties
            if line and line.j:
                return const(0), "right" if line.j > 0 else "left"
        return expr, head.ties

    def _ranks(self, expr: Expr, left: Classes, right: Classes, sizes: tuple[int, int], lengths: list[int]) -> I64:
        """Ranks (left, q, right, k) of the scores in each row, among the classes that meet at some length."""
        shape = (len(left), sizes[0], len(right), sizes[1])
        if math.prod(shape) > MAX_POINTS:
            raise ResourceLimit(
                f"its score would be a table of {shape[0] * shape[1]} x {shape[2] * shape[3]} entries, because it "
                f"tells {max(shape[0], shape[2])} classes of positions apart"
            )
        scores, known = np.zeros(shape, dtype=np.int64), np.zeros((shape[0], shape[2]), dtype=np.int64)
        q, k = (np.ascontiguousarray(x.reshape(-1)) for x in np.indices(sizes))
        for m in lengths:
            columns = _representatives(right, m)
            for a, i in _representatives(left, m).items():
                row = bind(expr, n=m, i=i)
                for b, j in columns.items():
                    if not known[a, b]:
                        scores[a, :, b] = evaluate(bind(row, j=j), {"q": q, "k": k}, len(q)).reshape(sizes)
                        known[a, b] = 1
        ranks = np.zeros(shape, dtype=np.int64)
        for a, u in np.ndindex(shape[:2]):
            there = known[a] == 1
            ranks[a, u, there] = np.unique(scores[a, u, there], return_inverse=True)[1].reshape(-1, sizes[1])
        return ranks

    def _harmless(
        self, head: Head, key: str | None, ranks: I64, left: Classes, right: Classes, lengths: list[int]
    ) -> bool:
        """Whether keys that tie for the greatest score always have equal values: of the entries of a row not below its
        floor, those of one rank lie at one position, or read the key's value, the same for all."""
        if self._block(head.value).size == 1:
            return True
        copied = key is not None and head.value == key
        floor = self._floor(head, ranks, left, right, lengths)
        for m in lengths:
            count = np.bincount(right.at(m), minlength=len(right))
            there = np.flatnonzero(count)
            for a, u in itertools.product(_representatives(left, m), range(ranks.shape[1])):
                if not _ties_are_equal(ranks[a, u, there], count[there], int(floor[a, u]), copied):
                    return False
        return True

    def _floor(self, head: Head, ranks: I64, left: Classes, right: Classes, lengths: list[int]) -> I64:
        """For each row a rank that some visible key always reaches: shape (left, q); 0 where that is not known."""
        worst = ranks.min(axis=3)  # (left, q, right)
        if head.mask.startswith("strict"):
            return np.zeros(worst.shape[:2], dtype=np.int64)
        floor = np.full(worst.shape[:2], np.iinfo(np.int64).max, dtype=np.int64)
        for m in lengths:
            rows, columns = left.at(m), right.at(m)
            if head.mask == "none":  # every class that occurs is seen
                reached, there = worst[:, :, np.unique(columns)].max(axis=2), np.unique(rows)
                floor[there] = np.minimum(floor[there], reached[there])
            else:  # a position sees itself
                for a, b in sorted(set(zip(rows.tolist(), columns.tolist(), strict=True))):
                    floor[a] = np.minimum(floor[a], worst[a, :, b])
        return floor

    def _write_head(self, head: Head, ties: str, harmless: bool, rows: Features, columns: Features, ranks: I64) -> None:
        table_ = ranks.reshape(len(rows[0]), len(columns[0]))
        value = self._block(head.value)
        time = max(rows[1], columns[1], value.time)
        raw = self.stream.block(value.size, time + 1)
        query, key = _bilinear(table_, rows[0], columns[0])
        if harmless:
            scale = Term(f"log(n) + {_decimal(-math.log(self.epsilon / (1 - self.epsilon)))}")
        else:
            scale = Term(f"{_decimal(2 * tied_rate(self.epsilon))}*n")
            query.append(({}, 1.0))
            key.append(({self.stream.term("i/n"): 0.5 if ties == "right" else -0.5}, 0.0))
        copied = [({value[v]: 1.0}, 0.0) for v in range(value.size)]
        self.stream.head(time, HeadRows(query, key, copied, raw, head.mask, scale))
        kind = "harmless" if harmless else "broken"
        self.heads.append(HeadReport(head.name, time, kind, scale, raw, int(ranks.max())))
        self._round(head, time, raw)

    def _round(self, head: Head, time: int, raw: StreamBlock) -> None:
        """The entries read, rounded by Lemma 9, and the default where nothing is visible: one minus their sum."""
        target = self.stream.block(self.instance.domains[head.name], time + 1)
        default = target[head.default] if head.mask.startswith("strict") else None
        if default is not None:
            self.stream.constant(time, default, 1.0)
        for value in range(raw.size):
            to = target[value]
            for threshold, slope in ((0.25, 2.0), (0.75, -2.0)):
                outer = {to: slope} if default is None else {} if to == default else {to: slope, default: -slope}
                self.stream.unit(time, Unit({raw[value]: 1.0}, -threshold, outer))
        self.blocks[head.name] = target


def _representatives(classes: Classes, m: int) -> dict[int, int]:
    """A position for each class that occurs at a length."""
    found, first = np.unique(classes.at(m), return_index=True)
    return dict(zip(found.tolist(), first.tolist(), strict=True))


def _ties_are_equal(ranks: I64, count: I64, floor: int, copied: bool) -> bool:
    """For one row: entries (class, key) of one rank, at or above the floor, are at one position or copy one key."""
    for rank in np.unique(ranks[ranks >= floor]):
        classes, keys = map(np.unique, np.nonzero(ranks == rank))
        if not (count[classes].tolist() == [1] or (copied and len(keys) == 1)):
            return False
    return True


def _bilinear(ranks: I64, rows: list[int | None], columns: list[int | None]) -> tuple[list[Affine], list[Affine]]:
    """Query and key rows whose dot product is the entry of a table at two one-hot vectors."""
    if len(columns) > len(rows):
        key, query = _bilinear(ranks.T, columns, rows)
        return query, key
    query, key = list[Affine](), list[Affine]()
    for c, column in enumerate(columns):
        if ranks[:, c].any():
            weights = {d: float(ranks[r, c]) for r, d in enumerate(rows) if d is not None and ranks[r, c]}
            constant = sum(float(ranks[r, c]) for r, d in enumerate(rows) if d is None)
            query.append((weights, constant))
            key.append(({}, 1.0) if column is None else ({column: 1.0}, 0.0))
    return query or [({}, 0.0)], key or [({}, 0.0)]


def _decimal(x: float) -> str:
    """A decimal that is not below a number, with six places."""
    return f"{math.ceil(up(x) * 10**6) / 10**6:.6f}"


def _dot_table(rule: Dot) -> Expr:
    """A dot product as a table over the axes of both sides."""
    dim = rule.query.values.shape[-1]
    q = rule.query.values.reshape(-1, dim).astype(object)
    k = rule.key.values.reshape(-1, dim).astype(object)
    if len(q) * len(k) > MAX_POINTS:
        raise ResourceLimit(f"its score is a table of {len(q)} x {len(k)} dot products")
    axes = (*rule.query.axes[:-1], *rule.key.axes[:-1])
    shape = (*rule.query.values.shape[:-1], *rule.key.values.shape[:-1])
    return table((q @ k.T).astype(np.int64).reshape(-1), shape, [name(a) for a in axes])
