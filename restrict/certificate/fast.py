"""``restrict check --fast``: the trusted checker with its long row scans on numba kernels.

Reading, limits, cases and the comparison with the claim are the trusted checker's own, so that the verdict and the exit
code are; only the pairs at or above the floor of a long row come from :mod:`restrict.abstract`, and for a cone of all
nodes the run at all positions at once. Not the trusted base: its kernels are compiled, and tested against it. Where the
package cannot read a model that the checker reads, the rows are scanned in Python.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from restrict.abstract.all_positions import AllPositions, supported
from restrict.abstract.rows import CONSTANT
from restrict.abstract.rows import Row as Stream
from restrict.abstract.rows import Values as Keys
from restrict.abstract.run import mask_of
from restrict.arrays import I64
from restrict.checker.formats import Cone, Fixed, Model, Values
from restrict.checker.kernel import Candidates, Nodes, Row, Run, State, Tokens, at_least
from restrict.checker.read import Bounds, runs_of
from restrict.errors import RestrictError
from restrict.model.fileformat import loads
from restrict.model.program import Instance
from restrict.restriction import Restriction

FAST_LIMIT = 10**12
"""Steps; here a hundred of them take about a microsecond."""
LONG = 30_000
"""Steps from which a row is scanned by a kernel."""
MANY = 500
"""Positions from which a run of all nodes is made at all positions at once."""
EXCEPTIONS = 1 << 26


class FastRun(Run):
    """The abstract run of the trusted checker, its long rows scanned by kernels."""

    def __init__(self, model: Model, fixed: Fixed, free: int, cone: Cone) -> None:
        self.keys: dict[str, Keys | None] = {}
        self.found: I64 | None = None
        self.instance = instance_of(model, at_least(model, cone))
        everything = all(tuple(cone.get(v.name, ())[:3]) == (0, model.n) for v in model.variables)
        if self.instance and model.n >= MANY and everything and supported(self.instance):
            self.states = {model.output: Everywhere(model, self.instance, fixed)}
            return
        super().__init__(model, fixed, free, cone)

    def candidates(self, row: Row) -> Candidates:
        """The candidates of a row, by a kernel where it is long."""
        steps, self.found = row.steps(row.low, row.high), None
        keys = self.keys_of(row) if steps > LONG and self.instance else None
        if keys is None or self.instance is None:
            return super().candidates(row)
        self.meter.charge(steps)
        head = self.instance.model.by_name[row.head.name]
        at, self.found = Stream(self.instance, head, row.i, row.u).candidates(keys)  # type: ignore[arg-type]
        positions = np.unique(at)
        breaks = np.flatnonzero(np.diff(positions) > 1)
        starts, stops = positions[np.r_[0, breaks + 1]], positions[np.r_[breaks, len(positions) - 1]] + 1
        bounds = array("q", np.column_stack((starts, stops)).astype(np.int64).tobytes())
        return Candidates(bounds, lambda score, at: False)

    def winners(self, row: Row, found: Candidates) -> Values:
        """The keys of the candidates."""
        if self.found is None:
            return super().winners(row, found)
        return frozenset(np.unique(self.found).tolist())

    def keys_of(self, row: Row) -> Keys | None:
        """What a kernel wants to know of the key; None where that is too much."""
        if row.head.key is None:
            return CONSTANT
        if row.head.key not in self.keys:
            self.keys[row.head.key] = exceptions(self.states[row.head.key])
        return self.keys[row.head.key]


def exceptions(state: State) -> Keys | None:
    """The possible values of a variable, by a default domain and exceptions."""
    if isinstance(state, Tokens):
        count = max(len(values) for values in state.known)
        runs = [(s, e, next(iter(v))) for s, e, v in state.segments(0, state.n) if isinstance(v, frozenset)]
        if sum(stop - start for start, stop, _ in runs) > EXCEPTIONS or (
            count == 1 and not any(isinstance(values, range) for values in state.known)
        ):
            return None
        parts = [np.arange(start, stop, dtype=np.int64) for start, stop, _ in runs]
        positions = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        values = np.repeat(np.array([v for _, _, v in runs], dtype=np.int64), [stop - start for start, stop, _ in runs])
        return Keys(count, positions, np.arange(len(positions) + 1, dtype=np.int64), values)
    if not isinstance(state, Nodes) or state.sums[-1] > EXCEPTIONS:
        return None
    return Keys.make(state.full.stop, {at: tuple(sorted(values)) for at, (values, _) in state.examined.items()})


def instance_of(model: Model, steps: int) -> Instance | None:
    """The package's reading of a model, where there is work for kernels; None where it cannot read it."""
    if steps < LONG:
        return None
    if not hasattr(model, "instance"):
        try:
            model.instance = loads(model.task.model, folder=model.task.folder).at(model.n)  # type: ignore[attr-defined]
        except (RestrictError, RecursionError):
            model.instance = None  # type: ignore[attr-defined]
    found: Instance | None = model.instance  # type: ignore[attr-defined]
    return found


class Everywhere:
    """The output at all positions, from the run at all positions at once; ``depends`` is that of the label."""

    def __init__(self, model: Model, instance: Instance, fixed: Fixed) -> None:
        symbols = instance.model.alphabet
        runs = zip(runs_of(fixed.bounds), fixed.symbols, strict=True)
        named = {at: symbols[symbol] for (start, stop), symbol in runs for at in range(start, stop)}
        self.run = AllPositions(instance, Restriction.of(instance, named))
        self.labels = self.run.label_sets()
        self.bits = self.run.facts[model.output].values

    def values(self, at: int) -> Values:
        """V of the output."""
        bits = int(self.bits[at])
        return frozenset(value for value in range(62) if bits >> value & 1)

    def depends(self, bounds: Bounds) -> int:
        """D of the output's label."""
        return mask_of(self.run.positions(self.labels, bounds[0]))

    def count(self, low: int, high: int) -> tuple[int, int]:
        """One segment a position."""
        return high - low, high - low

    def segments(self, low: int, high: int) -> Iterator[tuple[int, int, Values]]:
        """Every position by itself."""
        return ((at, at + 1, self.values(at)) for at in range(low, high))

    def sets(self, low: int, high: int) -> Iterator[Values]:
        """V of every position."""
        return (self.values(at) for at in range(low, high))
