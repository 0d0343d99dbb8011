"""The covering problem of Stage 3 (Hahn 2020, Depth Reduction Lemma): set few inputs so that every pair is captured.

Inputs ``0..m-1``, each may be set to one symbol of ``0..s-1`` or stay free. Each of P *pairs* (head, query value) has
*cubes*, partial assignments of few inputs; it is **captured** when one of its cubes is wholly satisfied. Minimise the
number of set inputs, or stay within a budget. Inputs fixed beforehand cost nothing.

Invariant: every solver works on the :class:`restrict.cover.core.Core`, the problem after the prior fixed inputs are
substituted, and every answer is rebuilt and recounted on the problem itself by
:func:`restrict.cover.solution.solution_of`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from restrict.base.arrays import I64, Bools, offsets
from restrict.base.errors import UsageError
from restrict.cover.core import Core, core_of

Cube = Iterable[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class CoverProblem:
    """Pairs, their cubes and the prior assignment, as flat int64 arrays; build with ``from_pairs`` or ``from_arrays``.
    Pair ``p`` has the cubes ``pair_ptr[p] .. pair_ptr[p+1]``; cube ``q`` asks for ``cube_symbol[t]`` at
    ``cube_input[t]``, ``t`` in ``cube_ptr[q] .. cube_ptr[q+1]``. ``fixed[j]`` is the symbol set beforehand, or -1."""

    inputs: int
    symbols: int
    pair_ptr: I64
    cube_ptr: I64
    cube_input: I64
    cube_symbol: I64
    fixed: I64

    @classmethod
    def from_pairs(
        cls, inputs: int, symbols: int, pairs: Iterable[Iterable[Cube]], fixed: Mapping[int, int] | None = None
    ) -> "CoverProblem":
        """From nested lists: ``pairs[p]`` lists at least one cube, a cube at least one ``(input, symbol)``, inputs
        distinct; ``fixed``: the symbol set beforehand, by input."""
        listed = [[list(cube) for cube in pair] for pair in pairs]
        cubes = [cube for pair in listed for cube in pair]
        literals = [literal for cube in cubes for literal in cube]
        if any(len(literal) != 2 for literal in literals):
            raise UsageError("a cube is a list of (input, symbol)")
        prior = np.full(max(inputs, 0), -1, np.int64)
        for j, symbol in (fixed or {}).items():
            if not (0 <= j < inputs and 0 <= symbol < symbols):
                raise UsageError(f"fixed input {j} = {symbol} is outside 0..{inputs - 1} or 0..{symbols - 1}")
            prior[j] = symbol
        return cls.from_arrays(
            inputs, symbols, offsets([len(pair) for pair in listed]), offsets([len(cube) for cube in cubes]),
            [j for j, _ in literals], [symbol for _, symbol in literals], prior,
        )  # fmt: skip

    @classmethod
    def from_arrays(
        cls, inputs: int, symbols: int, pair_ptr: ArrayLike, cube_ptr: ArrayLike, cube_input: ArrayLike,
        cube_symbol: ArrayLike, fixed: ArrayLike | None = None,
    ) -> "CoverProblem":  # fmt: skip
        """From flat arrays (see the class), converted to int64; O(literals log literals). ``pair_ptr`` (P + 1,),
        ``cube_ptr`` (cubes + 1,): strictly rising from 0; ``cube_input``, ``cube_symbol`` (literals,); ``fixed`` (m,):
        symbols, or -1 where not set beforehand."""
        if inputs < 0 or symbols < 1:
            raise UsageError(f"need inputs >= 0 and symbols >= 1, got {inputs} and {symbols}")
        prior = np.full(inputs, -1, np.int64) if fixed is None else fixed
        arrays = [np.ascontiguousarray(a, dtype=np.int64) for a in (pair_ptr, cube_ptr, cube_input, cube_symbol, prior)]
        problem = cls(inputs, symbols, *arrays)
        _validate(problem)
        return problem

    @property
    def pairs(self) -> int:
        """P, the number of pairs."""
        return len(self.pair_ptr) - 1

    @cached_property
    def core(self) -> Core:
        """The problem that is left once the prior assignment is substituted."""
        arrays = self.pair_ptr, self.cube_ptr, self.cube_input, self.cube_symbol, self.fixed
        return core_of(self.inputs, self.symbols, arrays, np.flatnonzero(~self.captured(self.fixed)))

    def captured(self, assignment: I64) -> Bools:
        """Which pairs the assignment (m,), -1 = free, captures; O(literals). ``assignment``: int64, shape (m,): the
        symbol of each input, -1 = free. Gives bool, shape (P,): whether some cube of the pair holds. The prior
        assignment counts only where it is part of this one."""
        wrong = assignment[self.cube_input] != self.cube_symbol
        cube_of = np.repeat(np.arange(len(self.cube_ptr) - 1), np.diff(self.cube_ptr))
        broken = np.bincount(cube_of[wrong], minlength=len(self.cube_ptr) - 1) > 0
        pair_of = np.repeat(np.arange(self.pairs), np.diff(self.pair_ptr))
        return np.bincount(pair_of[~broken], minlength=self.pairs) > 0


def _validate(problem: CoverProblem) -> None:
    """Raise UsageError at the first thing that is wrong."""
    chain = (("pair_ptr", problem.pair_ptr, len(problem.cube_ptr) - 1, "pair", "cube"),
             ("cube_ptr", problem.cube_ptr, len(problem.cube_input), "cube", "literal"))  # fmt: skip
    for name, pointer, end, owner, part in chain:
        if len(pointer) == 0 or pointer[0] != 0 or pointer[-1] != end or np.any(np.diff(pointer) < 0):
            raise UsageError(f"{name} must rise from 0 to {end}")
        if np.any(np.diff(pointer) == 0):
            raise UsageError(f"{owner} {int(np.argmin(np.diff(pointer)))} has no {part}")
    if len(problem.cube_symbol) != len(problem.cube_input):
        raise UsageError(f"{len(problem.cube_input)} inputs but {len(problem.cube_symbol)} symbols")
    for name, values, low, high in (
        ("input", problem.cube_input, 0, problem.inputs),
        ("symbol", problem.cube_symbol, 0, problem.symbols),
        ("fixed symbol", problem.fixed, -1, problem.symbols),
    ):
        bad = np.flatnonzero((values < low) | (values >= high))
        if len(bad):
            raise UsageError(f"{name} {values[bad[0]]} is outside {low}..{high - 1}")
    if len(problem.fixed) != problem.inputs:
        raise UsageError(f"fixed has {len(problem.fixed)} entries for {problem.inputs} inputs")
    cube_of = np.repeat(np.arange(len(problem.cube_ptr) - 1), np.diff(problem.cube_ptr))
    key = cube_of * max(problem.inputs, 1) + problem.cube_input
    key = key if np.all(key[1:] >= key[:-1]) else np.sort(key)  # most come in order
    twice = np.flatnonzero(key[1:] == key[:-1])
    if len(twice):
        cube, j = divmod(int(key[twice[0]]), problem.inputs)
        raise UsageError(f"cube {cube} names input {j} twice")
