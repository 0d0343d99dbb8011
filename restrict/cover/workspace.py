"""The mutable state of the covering kernels (:mod:`restrict.kernels.cover_state`)."""

from dataclasses import dataclass

import numpy as np

from restrict.base.arrays import I64, symbols_set
from restrict.cover.core import Core
from restrict.kernels import cover_cubes, cover_literals, cover_state


@dataclass(frozen=True, eq=False)
class Workspace:
    """The mutable state of the kernels (:mod:`restrict.kernels.cover_state`), loaded with an assignment."""

    core: Core
    arrays: cover_state.State

    @classmethod
    def of(cls, core: Core, symbols: I64, fast: bool = False) -> "Workspace":
        """Start from the symbol of each input, -1 = free, (m,). Cost: the occurrences of the literals that hold."""
        lits = np.zeros((cover_state.LIT_ROWS, core.inputs * core.symbols), np.int64)
        lits[cover_state.WHERE] = lits[cover_state.STAMP] = -1
        pairs = np.zeros((cover_state.PAIR_ROWS, len(core.pairs)), np.int64)
        pairs[cover_state.OPEN_LIST] = pairs[cover_state.OPEN_WHERE] = np.arange(len(core.pairs))
        pairs[cover_state.WEIGHT] = 1
        lits[cover_state.SCORE] = np.diff(core.lit_ptr)
        state = np.zeros(cover_state.STATE_SIZE, np.int64)
        state[cover_state.OPEN] = len(core.pairs)
        arrays = cover_state.State(np.diff(core.cube_ptr), lits, pairs, state)
        for j in np.flatnonzero(symbols >= 0):
            l = int(j * core.symbols + symbols[j])
            if fast:
                cover_literals.put(l, core.literals, arrays)
            else:
                cover_cubes.place(l, core.cubes, arrays)
        return cls(core, arrays)

    @property
    def state(self) -> I64:
        """The scalars of the kernels."""
        return self.arrays.state

    def symbols(self) -> I64:
        """The present assignment (m,)."""
        held = self.arrays.lits[cover_state.LIST, : self.state[cover_state.COUNT]]
        return symbols_set(held, self.core.inputs, self.core.symbols)

    def prune(self, rng: np.random.Generator) -> None:
        """Unset, in random order, what no pair needs (not for a ``fast`` workspace)."""
        order = rng.permutation(self.core.inputs * self.core.symbols)
        cover_cubes.prune(order, self.core.cubes, self.arrays)
