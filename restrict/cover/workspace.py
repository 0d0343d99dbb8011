"""The mutable state of the covering kernels (:mod:`restrict.kernels.cover`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from restrict.arrays import I64
from restrict.cover.core import Core
from restrict.kernels import cover as kernels


@dataclass
class Workspace:
    """The mutable state of the kernels (:mod:`restrict.kernels.cover`), loaded with an assignment."""

    core: Core
    missing: I64
    lits: I64
    pairs: I64
    state: I64

    @classmethod
    def of(cls, core: Core, symbols: I64, fast: bool = False) -> Workspace:
        """Start from the assignment ``symbols`` (m,), -1 = free; ``fast`` for the kernels of one-literal cubes."""
        lits = np.zeros((kernels.LIT_ROWS, core.inputs * core.symbols), np.int64)
        lits[kernels.WHERE] = lits[kernels.STAMP] = -1
        pairs = np.zeros((kernels.PAIR_ROWS, len(core.pairs)), np.int64)
        pairs[kernels.OPEN_LIST] = pairs[kernels.OPEN_WHERE] = np.arange(len(core.pairs))
        pairs[kernels.WEIGHT] = 1
        lits[kernels.SCORE] = np.diff(core.lit_ptr)
        state = np.zeros(kernels.STATE_SIZE, np.int64)
        state[kernels.OPEN] = len(core.pairs)
        space = cls(core, np.diff(core.cube_ptr), lits, pairs, state)
        for j in np.flatnonzero(symbols >= 0):
            l = int(j * core.symbols + symbols[j])
            if fast:
                kernels.put(l, *core.literals, lits, pairs, state)
            else:
                kernels.place(l, core.lit_ptr, core.lit_cube, core.cube_pair, space.missing, lits, pairs, state)
        return space

    def symbols(self) -> I64:
        """The present assignment (m,)."""
        held = self.lits[kernels.LIST, : self.state[kernels.COUNT]]
        out = np.full(self.core.inputs, -1, np.int64)
        out[held // self.core.symbols] = held % self.core.symbols
        return out

    def cubes(self) -> tuple[I64, I64, I64, I64, I64, I64]:
        """The arrays of the kernels for cubes of any size."""
        core = self.core
        return core.lit_ptr, core.lit_cube, core.cube_pair, self.missing, self.lits, self.pairs

    def prune(self, rng: np.random.Generator) -> None:
        """Unset, in random order, what no pair needs (not for a ``fast`` workspace)."""
        order = rng.permutation(self.core.inputs * self.core.symbols)
        kernels.prune(order, *self.cubes(), self.state)
