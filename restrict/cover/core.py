"""What is left of a covering problem once the prior assignment is substituted: the arrays that the solvers work on."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restrict.base.arrays import I64, distinct, offsets
from restrict.kernels import cover_core
from restrict.kernels.cover_state import Cubes, Literals


@dataclass(frozen=True, eq=False)
class Core:
    """The pairs not captured beforehand, without contradicted cubes and satisfied literals, and without repeats.
    Literal ``l = input * symbols + symbol``. ``pairs`` are the problem's pair numbers; a pair may be left with no cube
    at all: then nothing captures it. ``single``: every cube is one literal. ``scope``: the distinct inputs of each
    pair. The other arrays: :mod:`restrict.kernels.cover_state`."""

    inputs: int
    symbols: int
    single: bool
    pairs: I64
    pair_ptr: I64
    cube_ptr: I64
    cube_lit: I64
    cube_pair: I64
    lit_ptr: I64
    lit_cube: I64

    @property
    def dead(self) -> I64:
        """Pairs (numbers of the problem) that nothing can capture."""
        found: I64 = self.pairs[np.diff(self.pair_ptr) == 0]
        return found

    @cached_property
    def scope(self) -> tuple[I64, I64]:
        """(pointers, inputs): the distinct inputs of each pair, sorted."""
        pair_of = np.repeat(self.cube_pair, np.diff(self.cube_ptr))
        key = distinct(pair_of * max(self.inputs, 1) + self.cube_lit // self.symbols)
        width = max(self.inputs, 1)
        members: I64 = key % width
        return offsets(np.bincount(key // width, minlength=len(self.pairs))), members

    @cached_property
    def literals(self) -> Literals:
        """The arrays of the one-literal kernels."""
        return Literals(self.symbols, self.pair_ptr, self.cube_lit, self.lit_ptr, self.cube_pair[self.lit_cube])

    @cached_property
    def cubes(self) -> Cubes:
        """The arrays of the kernels for cubes of any size."""
        return Cubes(
            self.symbols, self.pair_ptr, self.cube_ptr, self.cube_lit, self.cube_pair, self.lit_ptr, self.lit_cube
        )


def core_of(inputs: int, s: int, arrays: tuple[I64, I64, I64, I64, I64], pairs: I64) -> Core:
    """A problem after the prior assignment is substituted; ``pairs`` are those that this does not capture. ``s``:
    symbols; ``arrays``: the five of :class:`restrict.cover.problem.CoverProblem`. Cost linear in the literals."""
    pair_ptr, all_ptr, cube_input, cube_symbol, fixed = arrays
    cubes, prior = len(all_ptr) - 1, fixed[cube_input]
    cube_of = np.repeat(np.arange(cubes), np.diff(all_ptr))
    pair_of = np.repeat(np.arange(len(pair_ptr) - 1), np.diff(pair_ptr))
    dead = np.bincount(cube_of[(prior >= 0) & (prior != cube_symbol)], minlength=cubes) > 0
    rank = np.full(len(pair_ptr) - 1, -1)
    rank[pairs] = np.arange(len(pairs))
    alive = ~dead & (rank[pair_of] >= 0)
    entries = np.flatnonzero(alive[cube_of] & (prior < 0))
    literal = cube_input[entries] * s + cube_symbol[entries]
    owner = cube_of[entries]
    if len(cube_input) > cubes:  # the literals of a cube in order, whatever order they came in
        order = np.lexsort((literal, owner))
        literal, owner = literal[order], owner[order]
    kept = np.flatnonzero(alive)
    cube_ptr = offsets(np.bincount(owner, minlength=cubes)[kept])
    chosen = _distinct(rank[pair_of[kept]], cube_ptr, literal, inputs * s)
    cube_pair = rank[pair_of[kept]][chosen]
    mask = np.zeros(len(kept), bool)
    mask[chosen] = True
    sizes = np.diff(cube_ptr)
    cube_lit, sizes = literal[np.repeat(mask, sizes)], sizes[mask]
    cube_ptr = offsets(sizes)
    lit_ptr, order = offsets(np.bincount(cube_lit, minlength=inputs * s)), np.empty(len(cube_lit), np.int64)
    cover_core.by_literal(cube_lit, lit_ptr.copy(), order)
    return Core(
        inputs, s, bool(np.all(sizes == 1)), pairs,
        offsets(np.bincount(cube_pair, minlength=len(pairs))), cube_ptr, cube_lit, cube_pair,
        lit_ptr, np.repeat(np.arange(len(sizes)), sizes)[order],
    )  # fmt: skip


def _distinct(pair_of: I64, cube_ptr: I64, literal: I64, literals: int) -> I64:
    """The first cube of each kind within its pair, ascending."""
    if len(literal) == len(pair_of):
        first = np.empty(len(literal), np.int64)
        return first[: cover_core.first_in_pair(pair_of, literal, np.full(literals, -1, np.int64), first)]
    seen = {(int(p), literal[a:b].tobytes()): q for q, (p, a, b) in
            reversed(list(enumerate(zip(pair_of, cube_ptr[:-1], cube_ptr[1:], strict=True))))}  # fmt: skip
    return np.sort(np.fromiter(seen.values(), np.int64, len(seen)))
