"""Layer-0 activations of a c-transformer (Hahn 2020, Definition 3): each is a function of few inputs at every position.

An activation is one variable at all positions. It is given as

- :class:`Truth`: a truth table over a few inputs. The token is the case of one input, so a program is a 1-transformer;
- :class:`Mapped`: a map of other activations;
- :class:`Attended`: a collapsed head, as the decision lists it is computed from: for each query value the candidate
  pairs (position, key value), best first; the first one that its key fulfils is attended to.

Invariant (Theorem A, docs/kernel.md): on every input that agrees with the restriction the value lies in V and is
a function of the inputs in D.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from restrict.base.arrays import I64, offsets
from restrict.base.deadline import NEVER, Deadline
from restrict.base.errors import ResourceLimit, UsageError
from restrict.depth_reduction.c_transformer.input_sets import InputSets, words_of
from restrict.depth_reduction.options import THEOREM
from restrict.kernels import collapse, input_sets
from restrict.model.expr import bind
from restrict.model.program import Head, Instance, Map, mentions, rule_of
from restrict.model.rules import Callback, evaluate, expression
from restrict.rows.lists import Lists
from restrict.rows.values import Values

NO_SETS = input_sets.SetRows(np.zeros(1, np.int64), np.empty(0, np.int64))
"""What stands for the sets of no variable."""


@dataclass(frozen=True, eq=False)
class Truth:
    """At position ``i`` a table over the inputs ``inputs[ptr[i] : ptr[i+1]]`` (the first one most significant), which
    is ``tables[table_ptr[i] : table_ptr[i+1]]``."""

    ptr: I64
    inputs: I64
    table_ptr: I64
    tables: I64

    @staticmethod
    def make(functions: Iterable[tuple[Iterable[int], Iterable[int]]]) -> "Truth":
        """The tables of all positions, from one (inputs, table) each."""
        parts = [(list(inputs), list(table)) for inputs, table in functions]
        inputs = np.array([x for mine, _ in parts for x in mine], dtype=np.int64)
        tables = np.array([value for _, table in parts for value in table], dtype=np.int64)
        return Truth(offsets([len(mine) for mine, _ in parts]), inputs, offsets([len(t) for _, t in parts]), tables)


@dataclass(frozen=True, eq=False)
class Mapped:
    """A map of the base."""

    variable: Map


@dataclass(frozen=True, eq=False)
class Attended:
    """A collapsed head: ``lists`` are the candidates under the restriction at which it was collapsed. Where these are
    too many to be kept, ``lists`` is ``None``, and ``captured`` (n,) is 1 at each position all of whose rows end at a
    key with one value."""

    head: Head
    query: str | None
    key: str | None
    lists: Lists | None
    captured: I64 | None = None


@dataclass(frozen=True, eq=False)
class Activation:
    """One base variable at all positions: how it is computed, V (``values``) and D (``depends``)."""

    name: str
    source: Truth | Mapped | Attended
    values: Values
    depends: InputSets

    def possible(self, i: int) -> tuple[int, ...]:
        """V at a position."""
        return tuple(int(v) for v in self.values.flat[self.values.ptr[i] : self.values.ptr[i + 1]])

    def inputs(self, i: int) -> tuple[int, ...]:
        """D at a position."""
        return self.depends.of(i)

    @property
    def degrees(self) -> I64:
        """The size of D at every position."""
        return self.depends.sizes

    @property
    def sizes(self) -> I64:
        """The size of V at every position."""
        return np.diff(self.values.ptr)


def check_truth(truth: Truth, n: int, symbols: int, domain: int) -> None:
    """Refuse (``UsageError``) truth tables that are not functions of ``n`` inputs with so many symbols to ``domain``
    values at ``n`` positions, each input read once."""
    sizes = np.diff(truth.ptr)
    if len(sizes) != n or len(truth.table_ptr) != n + 1:
        raise UsageError(f"truth tables for {len(sizes)} positions, not {n}")
    if np.any(np.diff(truth.table_ptr) != np.array([symbols ** int(size) for size in sizes], dtype=np.int64)):
        raise UsageError("a truth table over c inputs has symbols^c entries")
    if len(truth.inputs) and not 0 <= truth.inputs.min() <= truth.inputs.max() < n:
        raise UsageError(f"a truth table reads an input outside 0..{n - 1}")
    read = np.sort(np.repeat(np.arange(n), sizes) * n + truth.inputs)
    twice = np.flatnonzero(read[1:] == read[:-1])
    if len(twice):
        raise UsageError(f"the truth table at position {read[twice[0]] // n} reads an input twice")
    if len(truth.tables) and not 0 <= truth.tables.min() <= truth.tables.max() < domain:
        raise UsageError(f"a truth table leaves the domain 0..{domain - 1}")


def values_read(instance: Instance, head: Head, base: Mapping[str, Activation]) -> tuple[Values, Values]:
    """Possible values of a head's query and of its key at each of the n positions; where there is none: one value 0."""
    query, key = (
        Values.one(1, instance.n) if name is None else base[name].values
        for name in (instance.query(head), instance.key(head))
    )
    return query, key


def inputs_given(instance: Instance, head: Head, base: Mapping[str, Activation]) -> InputSets:
    """The inputs of a head's value and key at each of the n positions. Cost: they, and n^2 / 64 where many."""
    parts = [base[name].depends for name in dict.fromkeys((head.value, instance.key(head))) if name is not None]
    return InputSets.unions(parts, np.ones(instance.n, np.int64))


def truth_activation(instance: Instance, name: str, source: Truth, symbols: int, fixed: I64) -> Activation:
    """V and D of a variable's truth tables where inputs are ``fixed`` (symbols, -1 where free, shape (n,)). Linear."""
    domain = instance.domains[name]
    arrays = source.ptr, source.inputs, source.table_ptr, source.tables, symbols, fixed, domain
    values, counts = _counted(instance.n, domain, lambda *room: collapse.truth_values(*arrays, *room))
    read = (fixed[source.inputs] < 0) & np.repeat(counts > 1, np.diff(source.ptr))
    depends = InputSets.of_lists(offsets(read)[source.ptr], source.inputs[read])
    return Activation(name, source, values, depends)


def _counted(n: int, domain: int, fill: Callable[[I64, I64, int], object]) -> tuple[Values, I64]:
    """The values at n positions that a kernel counts first (0) and then writes (1), and how many they are."""
    counts = np.zeros(n, np.int64)
    fill(counts, np.empty(0, np.int64), 0)
    flat = np.empty(int(counts.sum()), np.int64)
    fill(counts, flat, 1)
    return Values(domain, np.arange(n), offsets(counts), flat), counts


def map_activation(instance: Instance, variable: Map, base: Mapping[str, Activation]) -> Activation:
    """V and D of a map of base variables: the image of the product of its arguments' V, the union of their D. Cost: the
    points of the product at every position."""
    n, domain, args = instance.n, instance.domains[variable.name], [base[a] for a in variable.args]
    table = full_table(instance, variable)
    if table is None:
        images = [np.unique(instance.map_values(variable, i, [a.possible(i) for a in args])) for i in range(n)]
        counts = np.array([len(image) for image in images], dtype=np.int64)
        values = Values(domain, np.arange(n), offsets(counts), np.concatenate(images))
    else:
        points = argument_arrays(n, [a.values for a in args])
        values, counts = _counted(n, domain, lambda *room: collapse.map_values(table, *points, domain, *room))
    depends = InputSets.unions([a.depends for a in args], (counts > 1).astype(np.int64))
    return Activation(variable.name, Mapped(variable), values, depends)


def argument_arrays(n: int, args: Sequence[Values]) -> tuple[I64, I64, I64, I64]:
    """A map's arguments as the kernels take them: each one's stride in the map's table, row pointers, (args, n + 1),
    all values one after the other, and where those of each begin."""
    sizes = [values.domain for values in args]
    strides = np.array([math.prod(sizes[t + 1 :]) for t in range(len(sizes))], dtype=np.int64)
    ptrs = np.array([values.ptr for values in args], dtype=np.int64).reshape(len(args), n + 1)
    flats = np.concatenate([np.empty(0, np.int64), *(values.flat for values in args)])
    return strides, ptrs, flats, offsets([len(values.flat) for values in args])


def full_table(instance: Instance, variable: Map) -> I64 | None:
    """The map on the product of its arguments' domains: int64, (n, points), or (1, points) where the position is not
    mentioned; ``None`` for a Python function and beyond ``THEOREM.points`` points."""
    sizes = [instance.domains[a] for a in variable.args]
    rows = instance.n if "i" in mentions(variable) else 1
    points = math.prod(sizes)
    rule = rule_of(variable)
    if isinstance(rule, Callback) or points * rows > THEOREM.points:
        return None
    grid = np.indices((rows, *sizes)).reshape(len(sizes) + 1, -1)
    expr = bind(expression(rule), n=instance.n)
    inputs = dict(zip(("i", *variable.args), grid, strict=True))
    inputs = {name: np.ascontiguousarray(inputs[name], dtype=np.int64) for name in expr.names}
    return evaluate(expr, inputs, rows * points).reshape(rows, points)


def attended_activation(
    instance: Instance, source: Attended, base: Mapping[str, Activation], deadline: Deadline = NEVER
) -> Activation:
    """V and D of a collapsed head, by rule 4 of docs/kernel.md on its candidate lists, which must reach their floors
    (``ResourceLimit``); ``base`` has its query, key and value. Cost: the inputs of the lists' pairs, and n^2 / 64;
    ``OutOfTime`` at the deadline."""
    n, head, lists = instance.n, source.head, source.lists
    domain, value = instance.domains[head.name], base[head.value]
    assert lists is not None
    if not lists.complete.all():
        raise ResourceLimit(f"head {head.name!r}: a truncated list cannot be collapsed")
    several = np.zeros(lists.rows, np.int64)
    by_key, by_query = int(head.value == source.key), int(head.value == source.query)
    rules = by_key, by_query, collapse.SetArrays(value.values.ptr, value.values.flat), head.default, domain

    def values_into(counts: I64, flat: I64, fill: int) -> None:
        collapse.head_values(lists.arrays, *rules, counts, several, flat, fill)

    values, counts = _counted(n, domain, values_into)
    reads = input_sets.Reads(
        base[source.query].depends.arrays if source.query else NO_SETS,
        base[source.key].depends.arrays if source.key else NO_SETS,
        NO_SETS if head.value == source.key else value.depends.arrays,
    )
    shared = 8 * len(lists.start) <= n
    cache = np.zeros((len(lists.start) if shared else 0, 1 + words_of(n)), np.int64)

    def depends_into(*room: Any) -> int:
        deadline.check()
        return int(input_sets.head_depends(lists.arrays, several, counts, reads, cache, *room))

    return Activation(head.name, source, values, InputSets.collected(n, depends_into))
