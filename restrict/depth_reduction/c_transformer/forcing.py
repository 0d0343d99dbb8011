"""Cheap forcing cubes of the activations of a c-transformer (Hahn 2020, section 5.1, Stages 2 and 3). "Fix the layer-0
activation to the value that attracts most attention" means: set few inputs so that the activation has that value on
every input that agrees. For truth tables the minimal cubes are enumerated; for maps and collapsed heads they are put
together from those of what they read (:mod:`restrict.kernels.forcing`), so they are upper bounds on the cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from restrict.base.arrays import I32, I64
from restrict.depth_reduction.c_transformer.activations import (
    Activation,
    Attended,
    Mapped,
    Truth,
    argument_arrays,
    full_table,
)
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.options import THEOREM
from restrict.kernels import forcing
from restrict.kernels.collapse import SetArrays
from restrict.rows.lists import Lists


@dataclass(frozen=True, eq=False)
class ValueCubes:
    """One cube per position and value: ``literal[i, v, :length[i, v]]``; module :mod:`restrict.kernels.forcing`."""

    literal: I32
    length: I64

    @property
    def arrays(self) -> forcing.CubeArrays:
        """The cubes as the kernels take them."""
        return forcing.CubeArrays(self.literal, self.length)

    def cube(self, i: int, v: int, symbols: int) -> tuple[tuple[int, int], ...] | None:
        """The (input, symbol) pairs that force value ``v`` at position ``i``; ``None`` where no cube is known."""
        if v >= self.length.shape[1] or self.length[i, v] < 0:
            return None
        return tuple((int(l) // symbols, int(l) % symbols) for l in self.literal[i, v, : self.length[i, v]])


def forcing_cubes(t: CTransformer) -> dict[str, ValueCubes]:
    """A cheap cube for every base variable, position and possible value."""
    found: dict[str, ValueCubes] = {}
    for name, activation in t.base.items():
        found[name] = _cubes(t, activation, found)
    return found


def minimal_cubes(t: CTransformer, name: str, i: int, value: int) -> list[tuple[tuple[int, int], ...]]:
    """All minimal cubes of free inputs that force a truth-table activation to a value (its prime implicants). Result:
    cubes of (input, symbol), shorter ones first. Cost: (s+1)^c tests of s^c points."""
    source = t.base[name].source
    if not isinstance(source, Truth):
        raise TypeError(f"{name} is no truth table")
    first, stop = int(source.ptr[i]), int(source.ptr[i + 1])
    if stop - first == 1 and t.fixed[source.inputs[first]] < 0:  # the token, and all there is in a program
        table = source.tables[source.table_ptr[i] : source.table_ptr[i + 1]]
        hits = [symbol for symbol, v in enumerate(table.tolist()) if v == value]
        return [()] if len(hits) == len(table) else [((int(source.inputs[first]), symbol),) for symbol in hits]
    return list(_primes(source, i, value, len(t.symbols), t.fixed))


def value_cubes(
    t: CTransformer, cubes: dict[str, ValueCubes], name: str, i: int, value: int
) -> list[tuple[tuple[int, int], ...]]:
    """Cubes (input, symbol) of free inputs that force a base variable to a value at a position, from ``cubes``, those
    of :func:`forcing_cubes`: all the minimal ones of a truth table, else one; none where none is known."""
    if isinstance(t.base[name].source, Truth):
        return minimal_cubes(t, name, i, value)
    one = cubes[name].cube(i, value, len(t.symbols))
    return [] if one is None else [one]


def _primes(source: Truth, i: int, value: int, symbols: int, fixed: I64) -> Iterator[tuple[tuple[int, int], ...]]:
    inputs = source.inputs[source.ptr[i] : source.ptr[i + 1]].tolist()
    table = source.tables[source.table_ptr[i] : source.table_ptr[i + 1]].reshape((symbols,) * len(inputs))
    table = table[tuple(slice(None) if fixed[x] < 0 else slice(fixed[x], fixed[x] + 1) for x in inputs)]
    free = [x for x in inputs if fixed[x] < 0]
    table = table.reshape((symbols,) * len(free))
    known: list[frozenset[tuple[int, int]]] = []
    for size in range(len(free) + 1):
        for places in combinations(range(len(free)), size):
            for chosen in product(range(symbols), repeat=size):
                index: list[slice | int] = [slice(None)] * len(free)
                for a, symbol in zip(places, chosen, strict=True):
                    index[a] = symbol
                cube = frozenset((free[a], symbol) for a, symbol in zip(places, chosen, strict=True))
                if np.all(table[tuple(index)] == value) and not any(other <= cube for other in known):
                    known.append(cube)
                    yield tuple(sorted(cube))


def _empty(n: int, domain: int) -> ValueCubes:
    """No cubes yet."""
    return ValueCubes(np.zeros((n, domain, THEOREM.cube), np.int32), np.full((n, domain), -1, np.int64))


def _cubes(t: CTransformer, activation: Activation, found: dict[str, ValueCubes]) -> ValueCubes:
    values, source = activation.values, activation.source
    if values.domain > THEOREM.widest:
        return _empty(t.n, 0)  # variables that read it find no cube through it
    cubes = _empty(t.n, values.domain)
    if isinstance(source, Truth):
        _truth(t, activation, source, cubes)
    elif isinstance(source, Mapped):
        _map(t, source, found, cubes)
    elif source.lists is not None and all(found[a].length.shape[1] == t.base[a].values.domain for a in _read(source)):
        _head(t, activation, source, source.lists, found, cubes)
    constant, possible = np.diff(values.ptr) == 1, np.zeros(cubes.length.shape, np.bool_)
    possible[np.repeat(np.arange(t.n), np.diff(values.ptr)), values.flat] = True
    cubes.length[possible & constant[:, None]] = 0
    cubes.length[~possible] = -1
    return cubes


def _read(source: Attended) -> list[str]:
    return [name for name in (source.query, source.key, source.head.value) if name is not None]


def _truth(t: CTransformer, activation: Activation, source: Truth, cubes: ValueCubes) -> None:
    s = len(t.symbols)
    single = (activation.sizes > 1) & (np.diff(source.ptr) == 1)
    for i in np.flatnonzero(single):  # tables over one input, all there is in a program: the first symbol that gives v
        for symbol, v in enumerate(source.tables[source.table_ptr[i] : source.table_ptr[i + 1]].tolist()):
            if cubes.length[i, v] < 0:
                cubes.length[i, v], cubes.literal[i, v, 0] = 1, source.inputs[source.ptr[i]] * s + symbol
    for i in np.flatnonzero((activation.sizes > 1) & ~single):
        for v in activation.possible(int(i)):
            best = min(_primes(source, int(i), v, s, t.fixed), key=len, default=None)
            if best is not None and len(best) <= THEOREM.cube:
                cubes.length[i, v] = len(best)
                cubes.literal[i, v, : len(best)] = [x * s + symbol for x, symbol in best]


def _map(t: CTransformer, source: Mapped, found: dict[str, ValueCubes], cubes: ValueCubes) -> None:
    args, table = source.variable.args, full_table(t.instance, source.variable)
    wide = any(found[a].length.shape[1] != t.base[a].values.domain for a in args)
    if table is None or wide or not 0 < len(args) <= THEOREM.most_args:
        return
    sizes = [t.base[a].values.domain for a in args]
    widest = max(sizes)
    arg_cubes = np.zeros((len(args), t.n, widest, THEOREM.cube), np.int32)
    arg_length = np.full((len(args), t.n, widest), -1, np.int64)
    for p, a in enumerate(args):
        arg_cubes[p, :, : sizes[p]], arg_length[p, :, : sizes[p]] = found[a].literal, found[a].length
    points = argument_arrays(t.n, [t.base[a].values for a in args])
    arrays = forcing.MapArrays(table, *points, len(t.symbols), arg_cubes, arg_length)
    search = forcing.map_cubes if len(args) <= THEOREM.few_args else forcing.wide_map_cubes
    search(arrays, cubes.arrays)


def _head(
    t: CTransformer, activation: Activation, source: Attended, lists: Lists, found: dict[str, ValueCubes],
    cubes: ValueCubes,
) -> None:  # fmt: skip
    key, query = (found[name] if name else _empty(0, 1) for name in (source.key, source.query))
    keys = t.base[source.key].values if source.key else activation.values
    head = forcing.HeadArrays(
        lists.arrays, int(source.head.value == source.key), int(source.head.value == source.query),
        len(t.symbols), SetArrays(keys.ptr, keys.flat), key.arrays, found[source.head.value].arrays, query.arrays,
        THEOREM.excluded,
    )  # fmt: skip
    forcing.head_cubes(head, SetArrays(activation.values.ptr, activation.values.flat), cubes.arrays)
