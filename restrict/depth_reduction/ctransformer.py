"""c-transformers (Hahn 2020, Definition 3): transformers whose layer-0 activations are functions of few inputs each.

A :class:`CTransformer` is a program whose first variables, the *base*, are given as functions of the inputs
``x_0 .. x_{n-1}`` under a restriction:

- :class:`Truth`: a truth table over a few inputs. The token is the case of one input, so a program is a 1-transformer;
- :class:`Mapped`: a map of base activations;
- :class:`Attended`: a collapsed head, as the decision lists it is computed from: for each query value the candidate
  pairs (position, key value), best first; the first one that its key fulfils is attended to.

Every activation has its possible values V and the inputs D that it is a function of, at every position, by the rules
of docs/trusted-base.md; :meth:`CTransformer.collapse` removes a layer. Invariant (Theorem A): on every input that
agrees with the restriction an activation's value lies in V and is a function of the inputs in D, and the collapsed
transformer computes what the original does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restrict.abstract.rows import Values
from restrict.arrays import I64
from restrict.depth_reduction.lists import Lists, candidate_lists
from restrict.errors import ResourceLimit, UsageError
from restrict.kernels import rowlists as kernels
from restrict.kernels.scan import attend_table
from restrict.model.expr import bind
from restrict.model.program import Head, Instance, Map, Model, Variable, mentions
from restrict.model.rules import Callback, evaluate, expression
from restrict.model.variables import references
from restrict.restriction import Restriction

MOST_POINTS = 1 << 24
"""A map is tabulated at all positions at once up to this many points."""
MOST_BYTES = 3 << 30
"""Dependency sets are bit matrices of n^2 bits per variable; more than this in all is refused."""


@dataclass(frozen=True, eq=False)
class Truth:
    """At position ``i`` a table over the inputs ``inputs[ptr[i] : ptr[i+1]]`` (the first one most significant), which
    is ``tables[table_ptr[i] : table_ptr[i+1]]``."""

    ptr: I64
    inputs: I64
    table_ptr: I64
    tables: I64

    @staticmethod
    def make(functions: Iterable[tuple[Iterable[int], Iterable[int]]]) -> Truth:
        """From (inputs, table) at every position."""
        parts = [(list(inputs), list(table)) for inputs, table in functions]
        sizes, flat, lengths, tables = ([len(a) for a, _ in parts], [x for a, _ in parts for x in a],
                                        [len(t) for _, t in parts], [v for _, t in parts for v in t])  # fmt: skip
        return Truth(*(np.array(a, dtype=np.int64) for a in (np.cumsum([0, *sizes]), flat)),
                     *(np.array(a, dtype=np.int64) for a in (np.cumsum([0, *lengths]), tables)))  # fmt: skip


@dataclass(frozen=True, eq=False)
class Mapped:
    """A map of the base."""

    variable: Map


@dataclass(frozen=True, eq=False)
class Attended:
    """A collapsed head: ``lists`` are the candidates under the restriction at which it was collapsed."""

    head: Head
    query: str | None
    key: str | None
    lists: Lists


@dataclass(frozen=True, eq=False)
class Activation:
    """One base variable at all positions: how it is computed, V (``values``) and D (``depends``: n rows of bits)."""

    name: str
    source: Truth | Mapped | Attended
    values: Values
    depends: I64

    def possible(self, i: int) -> tuple[int, ...]:
        """V at a position."""
        return tuple(int(v) for v in self.values.flat[self.values.ptr[i] : self.values.ptr[i + 1]])

    def inputs(self, i: int) -> tuple[int, ...]:
        """D at a position."""
        return tuple(int(x) for x in np.flatnonzero(unpacked(self.depends[i : i + 1])[0]))

    @property
    def degrees(self) -> I64:
        """The size of D at every position."""
        return popcount(self.depends)

    @property
    def sizes(self) -> I64:
        """The size of V at every position."""
        return np.diff(self.values.ptr)


def popcount(bits: I64) -> I64:
    """The number of ones in each row of 64-bit words."""
    out: I64 = np.bitwise_count(bits.view(np.uint64)).sum(axis=1, dtype=np.int64)
    return out


def unpacked(bits: I64) -> I64:
    """Rows of 64-bit words as rows of 0 and 1."""
    return np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), axis=1, bitorder="little").astype(np.int64)


@dataclass(frozen=True, eq=False)
class CTransformer:
    """The program ``at``, whose variables in ``base`` are activations (layer 0) and whose others are above.

    ``symbols`` is the alphabet of the inputs; ``restriction`` the restriction under which everything holds.
    """

    at: Instance
    symbols: tuple[str, ...]
    restriction: Restriction
    base: Mapping[str, Activation]

    # ------------------------------------------------------------ making

    @staticmethod
    def of_model(model: Model | Instance, n: int | None = None, restriction: Restriction | None = None) -> CTransformer:
        """The 1-transformer that a program is at length ``n``, under a restriction (default: nothing fixed)."""
        at = model if isinstance(model, Instance) else model.at(n if n is not None else 0)
        _check_length(at)
        size = range(len(at.model.alphabet))
        pinned = at.pinned
        token = Truth.make(((), (pinned[i],)) if i in pinned else ((i,), size) for i in range(at.n))
        return CTransformer.of_truth(at, at.model.alphabet, token, restriction or Restriction.of(at))

    @staticmethod
    def of_truth(at: Instance, symbols: tuple[str, ...], token: Truth, restriction: Restriction) -> CTransformer:
        """The c-transformer whose layer-0 activations, read by ``at`` as its tokens, are ``token``.

        Raises :class:`UsageError` where the tables do not fit, :class:`ResourceLimit` where n^2 bits are too many.
        """
        _check_length(at)
        if restriction.n != at.n:
            raise UsageError(f"the restriction has {restriction.n} positions, not {at.n}")
        _check_truth(token, at.n, len(symbols), at.domains["token"])
        empty = np.zeros((at.n, _words(at.n)), np.int64)
        positions = Truth.make(((), (i,)) for i in range(at.n))
        given = {"token": token, "position": positions}
        base = {name: Activation(name, source, _everything(at, name), empty) for name, source in given.items()}
        return CTransformer(at, symbols, restriction, base).restrict(restriction)._settled()

    # ------------------------------------------------------------ facts

    @property
    def n(self) -> int:
        """The number of positions, and of inputs."""
        return self.at.n

    @cached_property
    def fixed(self) -> I64:
        """The symbol index that each input is fixed to, -1 where it is free (a marker's position counts as free here,
        but nothing depends on it)."""
        out = np.full(self.n, -1, np.int64)
        index = {symbol: at for at, symbol in enumerate(self.symbols)}
        for i, symbol in self.restriction.fixed.items():
            out[i] = index[symbol]
        return out

    @cached_property
    def above(self) -> tuple[Variable, ...]:
        """The variables that are not in the base, in program order."""
        return tuple(v for v in self.at.model.variables if v.name not in self.base)

    @cached_property
    def depth(self) -> dict[str, int]:
        """The number of heads on the longest path from the base to each variable."""
        depth = dict.fromkeys(self.base, 0)
        for v in self.above:
            depth[v.name] = isinstance(v, Head) + max((depth[name] for _, name in references(v)), default=0)
        return depth

    @property
    def layers(self) -> int:
        """L: the layers of heads above the base that the output rests on."""
        return self.depth[self.at.model.output.variable]

    @cached_property
    def live(self) -> tuple[str, ...]:
        """The base variables that something above reads, or that are the output: the residual stream."""
        read = {name for v in self.above for _, name in references(v)} | {self.at.model.output.variable}
        return tuple(name for name in self.base if name in read)

    @property
    def heads(self) -> tuple[Head, ...]:
        """The heads of layer 1."""
        return tuple(v for v in self.above if isinstance(v, Head) and self.depth[v.name] == 1)

    @cached_property
    def depends(self) -> I64:
        """(n, words): the inputs of the layer-0 activation at each position: the union over the live base variables."""
        out = np.zeros((self.n, _words(self.n)), np.int64)
        for name in self.live:
            out |= self.base[name].depends
        return out

    @cached_property
    def degrees(self) -> I64:
        """How many inputs the layer-0 activation at each position is a function of."""
        return popcount(self.depends)

    @property
    def c(self) -> int:
        """The greatest of :attr:`degrees`: this is a c-transformer."""
        return int(self.degrees.max(initial=0))

    def output_depends(self) -> I64:
        """How many inputs the output's label at each position is a function of; the output must be in the base."""
        activation, at = self.base[self.at.model.output.variable], self.at
        values, degrees = activation.values, activation.degrees
        name = {int(v): at.label(int(v)) for v in np.unique(values.flat)}
        for i in np.flatnonzero(degrees):
            if len({name[v] for v in activation.possible(int(i))}) == 1:
                degrees[i] = 0
        return degrees

    # ------------------------------------------------------------ refining and collapsing

    def restrict(self, restriction: Restriction) -> CTransformer:
        """The same under a refinement of the restriction: V, D and the lists shrink, nothing is searched.

        Raises :class:`UsageError` where it does not refine the present one.
        """
        if not restriction.refines(self.restriction):
            raise UsageError("the new restriction does not refine the present one")
        fresh = CTransformer(self.at, self.symbols, restriction, {})
        base: dict[str, Activation] = {}
        for name, old in self.base.items():
            base[name] = fresh._again(old, base)
        return CTransformer(self.at, self.symbols, restriction, base)

    def _again(self, old: Activation, base: Mapping[str, Activation]) -> Activation:
        match old.source:
            case Truth():
                return _truth(self.at, old.name, old.source, len(self.symbols), self.fixed)
            case Mapped(variable):
                return _map(self.at, variable, base)
            case Attended(head, query, key, lists):
                lists = lists.under(possible_values(self.at, query, base), possible_values(self.at, key, base))
                return _attended(self.at, Attended(head, query, key, lists), base)

    def _settled(self) -> CTransformer:
        """The same with every map of base variables in the base, too."""
        base = dict(self.base)
        for v in self.above:
            if isinstance(v, Map) and all(a in base for a in v.args):
                base[v.name] = _map(self.at, v, base)
        return CTransformer(self.at, self.symbols, self.restriction, base)

    def lists(self, head: Head, limit: int = 0) -> Lists:
        """The candidate lists of a head of layer 1 (:func:`restrict.depth_reduction.lists.candidate_lists`)."""
        query, key = self.at.query(head), self.at.key(head)
        return candidate_lists(
            self.at, head, possible_values(self.at, query, self.base), possible_values(self.at, key, self.base), limit
        )

    def collapse(self) -> CTransformer:
        """Remove the first layer: its heads, and the maps that read nothing above them, become layer-0 activations.

        Returns a c'-transformer of one layer less that equals this one on every input that agrees with the
        restriction; its ``c`` says how large c' is. Cost: one score per row and possible pair.
        """
        base = dict(self.base)
        for head in self.heads:
            source = Attended(head, self.at.query(head), self.at.key(head), self.lists(head))
            base[head.name] = _attended(self.at, source, base)
        return CTransformer(self.at, self.symbols, self.restriction, base)._settled()

    # ------------------------------------------------------------ evaluating

    def evaluate(self, inputs: I64) -> dict[str, I64]:
        """Every variable at every position on inputs (b, n) of symbol indices that agree with the restriction.

        Markers' positions may hold anything. Cost: that of the lists and of n^2 comparisons per head above.
        """
        out: dict[str, I64] = {}
        for name, activation in self.base.items():
            out[name] = self._evaluated(activation, np.asarray(inputs, dtype=np.int64), out)
        for v in self.above:
            out[v.name] = _attend(self.at, v, out) if isinstance(v, Head) else _mapped(self.at, v, out)
        return out

    def output(self, inputs: I64) -> list[list[str]]:
        """The output's label at every position, for each of the inputs (b, n)."""
        values = self.evaluate(inputs)[self.at.model.output.variable]
        return [[self.at.label(int(v)) for v in row] for row in values]

    def _evaluated(self, activation: Activation, x: I64, known: Mapping[str, I64]) -> I64:
        source = activation.source
        if isinstance(source, Mapped):
            return _mapped(self.at, source.variable, known)
        if isinstance(source, Attended):
            return _decided(self.at, source, known, len(x))
        out = np.empty((len(x), self.n), np.int64)
        for i in range(self.n):
            point = np.zeros(len(x), np.int64)
            for t in range(source.ptr[i], source.ptr[i + 1]):
                point = point * len(self.symbols) + x[:, source.inputs[t]]
            out[:, i] = source.tables[source.table_ptr[i] + point]
        return out

    def __repr__(self) -> str:
        free = self.restriction.free
        return f"CTransformer({self.at.model.name!r}, n={self.n}, L={self.layers}, c={self.c}, free={free})"


# ---------------------------------------------------------------- helpers


def _check_length(at: Instance) -> None:
    most = int((8 * MOST_BYTES / (len(at.model.variables) + 3)) ** 0.5)
    if at.n > most:
        raise ResourceLimit(f"n = {at.n}: the dependency sets of all positions take n^2 bits each; take n <= {most}")


def _words(n: int) -> int:
    return (n + 63) // 64


def _everything(at: Instance, name: str) -> Values:
    """One value everywhere: a placeholder that is recomputed at once."""
    return Values(at.domains[name], np.arange(at.n), np.arange(at.n + 1), np.zeros(at.n, np.int64))


def _check_truth(truth: Truth, n: int, symbols: int, domain: int) -> None:
    sizes = np.diff(truth.ptr)
    if len(sizes) != n or len(truth.table_ptr) != n + 1:
        raise UsageError(f"truth tables for {len(sizes)} positions, not {n}")
    if np.any(np.diff(truth.table_ptr) != np.array([symbols ** int(size) for size in sizes], dtype=np.int64)):
        raise UsageError("a truth table over c inputs has symbols^c entries")
    if len(truth.inputs) and not 0 <= truth.inputs.min() <= truth.inputs.max() < n:
        raise UsageError(f"a truth table reads an input outside 0..{n - 1}")
    for i in range(n):
        mine = truth.inputs[truth.ptr[i] : truth.ptr[i + 1]]
        if len(np.unique(mine)) != len(mine):
            raise UsageError(f"the truth table at position {i} reads an input twice")
    if len(truth.tables) and not 0 <= truth.tables.min() <= truth.tables.max() < domain:
        raise UsageError(f"a truth table leaves the domain 0..{domain - 1}")


def possible_values(at: Instance, name: str | None, base: Mapping[str, Activation]) -> Values:
    """Possible values at every position; of no variable at all: one value 0."""
    if name is None:
        return Values(1, np.arange(at.n), np.arange(at.n + 1), np.zeros(at.n, np.int64))
    return base[name].values


def _pointers(counts: I64) -> I64:
    return np.concatenate(([0], np.cumsum(counts)))


def _truth(at: Instance, name: str, source: Truth, symbols: int, fixed: I64) -> Activation:
    n, domain = at.n, at.domains[name]
    arrays = source.ptr, source.inputs, source.table_ptr, source.tables, symbols, fixed, domain
    counts, depends = np.zeros(n, np.int64), np.zeros((n, _words(n)), np.int64)
    kernels.truth_values(*arrays, counts, np.empty(0, np.int64), depends, 0)
    flat = np.empty(int(counts.sum()), np.int64)
    kernels.truth_values(*arrays, counts, flat, depends, 1)
    return Activation(name, source, Values(domain, np.arange(n), _pointers(counts), flat), depends)


def _map(at: Instance, variable: Map, base: Mapping[str, Activation]) -> Activation:
    n, domain, args = at.n, at.domains[variable.name], [base[a] for a in variable.args]
    depends = np.zeros((n, _words(n)), np.int64)
    for a in args:
        depends |= a.depends
    table = full_table(at, variable)
    if table is None:
        images = [np.unique(at.map_values(variable, i, [a.possible(i) for a in args])) for i in range(n)]
        counts = np.array([len(image) for image in images], dtype=np.int64)
        flat = np.concatenate(images)
    else:
        sizes = [a.values.domain for a in args]
        strides = np.array([int(np.prod(sizes[t + 1 :])) for t in range(len(sizes))], dtype=np.int64)
        ptrs = np.array([a.values.ptr for a in args], dtype=np.int64).reshape(len(args), n + 1)
        flats = np.concatenate([np.empty(0, np.int64), *(a.values.flat for a in args)])
        offsets = np.cumsum([0, *(len(a.values.flat) for a in args)])
        counts = np.zeros(n, np.int64)
        kernels.map_values(table, strides, ptrs, flats, offsets, domain, counts, np.empty(0, np.int64), 0)
        flat = np.empty(int(counts.sum()), np.int64)
        kernels.map_values(table, strides, ptrs, flats, offsets, domain, counts, flat, 1)
    depends[counts == 1] = 0
    values = Values(domain, np.arange(n), _pointers(counts), flat)
    return Activation(variable.name, Mapped(variable), values, depends)


def full_table(at: Instance, variable: Map) -> I64 | None:
    """The map at all positions on the product of the whole domains, (n or 1, points); ``None`` where that is large."""
    sizes = [at.domains[a] for a in variable.args]
    rows = at.n if "i" in mentions(variable) else 1
    points = 1
    for size in sizes:
        points *= size
    if isinstance(variable.map, Callback) or points * rows > MOST_POINTS:
        return None
    grid = np.indices((rows, *sizes)).reshape(len(sizes) + 1, -1)
    assert not isinstance(variable.map, str)
    expr = bind(expression(variable.map), n=at.n)  # type: ignore[arg-type]
    inputs = dict(zip(("i", *variable.args), grid, strict=True))
    inputs = {name: np.ascontiguousarray(inputs[name], dtype=np.int64) for name in expr.names}
    return evaluate(expr, inputs, rows * points).reshape(rows, points)


def _attended(at: Instance, source: Attended, base: Mapping[str, Activation]) -> Activation:
    n, head, lists = at.n, source.head, source.lists
    domain, value = at.domains[head.name], base[head.value]
    if not lists.complete.all():
        raise ResourceLimit(f"head {head.name!r}: a truncated list cannot be collapsed")
    several, counts = np.zeros(lists.rows, np.int64), np.zeros(n, np.int64)
    pairs = lists.start, lists.stop, lists.j, lists.w
    by_key, by_query = int(head.value == source.key), int(head.value == source.query)

    def values_into(flat: I64, fill: int) -> None:
        kernels.head_values(
            lists.row_ptr, lists.row_list, lists.row_u, *pairs, by_key, by_query, value.values.ptr, value.values.flat,
            head.default, domain, counts, several, flat, fill,
        )  # fmt: skip

    values_into(np.empty(0, np.int64), 0)
    flat = np.empty(int(counts.sum()), np.int64)
    values_into(flat, 1)
    none = np.zeros((0, _words(n)), np.int64)
    depends = np.zeros((n, _words(n)), np.int64)
    shared = 8 * len(lists.start) <= n
    kernels.head_depends(
        lists.row_ptr, lists.row_list, several, counts, *pairs[:3],
        base[source.query].depends if source.query else none, base[source.key].depends if source.key else none,
        none if head.value == source.key else value.depends,
        np.zeros((len(lists.start) if shared else 0, _words(n)), np.int64), depends,
    )  # fmt: skip
    return Activation(head.name, source, Values(domain, np.arange(n), _pointers(counts), flat), depends)


def _mapped(at: Instance, variable: Map, known: Mapping[str, I64]) -> I64:
    shape = known["token"].shape
    if isinstance(variable.map, Callback):
        out = np.empty(shape, np.int64)
        for b, i in np.ndindex(*shape):
            out[b, i] = at.map_values(variable, i, [[int(known[a][b, i])] for a in variable.args]).item()
        return out
    expr = bind(expression(variable.map), n=at.n)  # type: ignore[arg-type]
    inputs = {a: np.ascontiguousarray(known[a]).reshape(-1) for a in variable.args}
    inputs["i"] = np.tile(np.arange(at.n, dtype=np.int64), shape[0])
    return evaluate(expr, {a: inputs[a] for a in expr.names}, shape[0] * shape[1]).reshape(shape)


def _decided(at: Instance, source: Attended, known: Mapping[str, I64], count: int) -> I64:
    """The decision lists of a collapsed head on ``count`` inputs."""
    head, lists = source.head, source.lists
    out = np.full((count, at.n), head.default, np.int64)
    for r, (i, u) in enumerate(zip(lists.row_i.tolist(), lists.row_u.tolist(), strict=True)):
        open_ = known[source.query][:, i] == u if source.query else np.ones(count, bool)
        for j, w in lists.pairs(r):
            hit = open_ & (known[source.key][:, j] == w) if source.key else open_
            out[hit, i] = known[head.value][hit, j]
            open_ = open_ & ~hit
            if not open_.any():
                break
        if open_.any():
            raise UsageError("an input does not agree with the restriction")
    return out


def _attend(at: Instance, head: Head, known: Mapping[str, I64]) -> I64:
    """A head above the base, by its definition."""
    query, key = at.query(head), at.key(head)
    count = len(known["token"])
    out = np.full((count, at.n), head.default, np.int64)
    keys = known[key] if key else np.zeros((count, at.n), np.int64)
    domain = at.domains[key] if key else 1
    for i in range(at.n):
        first, stop = at.visible(head, i)
        for u in (np.unique(known[query][:, i]) if query else (0,)) if first < stop else ():
            who = np.flatnonzero(known[query][:, i] == u) if query else np.arange(count)
            size = stop - first
            grid = {"j": np.repeat(np.arange(first, stop), domain), "k": np.tile(np.arange(domain), size)}
            scores = evaluate(at.row(head, i, int(u)), grid, size * domain).reshape(size, domain)
            winners = np.empty(len(who), np.int64)
            seen = np.ascontiguousarray(keys[who, first:stop])
            attend_table(scores, seen, first, int(head.ties == "right"), winners)
            out[who, i] = known[head.value][who, winners]
    return out
