"""``restrict check --fast``: the trusted checker with its long row scans on numba kernels.

Reading, limits, cases and the comparison with the claim are the trusted checker's own, and so are the verdict and the
exit code. From :mod:`restrict.abstract` come only the pairs at or above the floor of a long row and, for a cone of all
nodes, the run at all positions at once. It is not part of the trusted base: its kernels are compiled, and only tested
against it. Where the package cannot read a model that the checker reads, the rows are scanned in Python.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

import numpy as np

from restrict.abstract.all_positions import AllPositions, supported
from restrict.abstract.rows import CONSTANT
from restrict.abstract.rows import Values as Keys
from restrict.abstract.run import mask_of
from restrict.abstract.winners import winners
from restrict.arrays import I64
from restrict.checker.account import MEMORY
from restrict.checker.formats import Cone, Fixed, Map, Model, Values
from restrict.checker.kernel import Candidates, Node, Positions, Row, Run, State, at_least
from restrict.checker.read import Bounds, runs_of
from restrict.errors import ResourceLimit, RestrictError
from restrict.model.fileformat import loads
from restrict.model.program import Instance
from restrict.model.program import Map as PackageMap
from restrict.restriction import Restriction

FAST_LIMIT = 10**12
"""Steps; here a hundred of them take about a microsecond."""
LONG = 4_000
"""Steps from which a row is scanned by a kernel."""
MANY = 500
"""Positions from which a run of all nodes is made at all positions at once."""
POINTS = 1 << 22
"""A map's arguments are evaluated at once where they have at most this many combinations."""
EXCEPTIONS = 1 << 26
PIECE = 48
"""Bytes that a visible position may take in the checker's own scan."""


class FastRun(Run):
    """The abstract run of the trusted checker, its long rows scanned by kernels."""

    def __init__(self, model: Model, fixed: Fixed, free: int, cone: Cone) -> None:
        self.keys: dict[str, Keys | None] = {}
        self.found: I64 | None = None
        self.instance = instance_of(model, at_least(model, cone))
        everything = all(tuple(cone.get(v.name, ())[:3]) == (0, model.n) for v in model.variables)
        # Its work is not that of the checker's run and is not charged, so it is used only where no limit matters.
        unlimited = model.meter.limit >= FAST_LIMIT and model.n >= MANY
        if self.instance and unlimited and everything and supported(self.instance):
            self.states = {model.output: Everywhere(model, self.instance, fixed)}
            return
        super().__init__(model, fixed, free, cone)

    def examine_map(self, variable: Map, i: int) -> Node:
        """A map node; many combinations of its arguments are evaluated at once, at the same charge.

        Args:
            variable: the map, as the trusted checker has it.
            i: the position, 0..n - 1.

        Returns:
            V and D of the node.
        """
        sets = [self.states[arg].values(i) for arg in variable.args]
        count = math.prod(map(len, sets))
        if self.instance is None or not LONG < count <= POINTS:
            return super().examine_map(variable, i)
        self.meter.charge(count * (1 + variable.price) + len(sets))
        self.meter.fits(100 * (min(count, variable.domain) + sum(map(len, sets))))
        values = [sorted(values) for values in sets]
        found, dependencies = self.instance.map_values(self.map_of(variable), i, values), 0
        image = frozenset(np.unique(found).tolist())
        for arg in variable.args if len(image) > 1 else ():
            dependencies = self.joined(dependencies, self.states[arg].depends((i, i + 1)))
        return image, dependencies

    def map_of(self, variable: Map) -> PackageMap:
        """The package's reading of a map.

        Args:
            variable: the map, as the trusted checker has it.

        Returns:
            The variable of that name.
        """
        assert self.instance is not None
        found = self.instance.model.by_name[variable.name]
        assert isinstance(found, PackageMap)
        return found

    def candidates(self, row: Row) -> Candidates:
        """The candidates of a row, by a kernel where it is long.

        Args:
            row: one row of a head, as the trusted checker has it.

        Returns:
            The positions at or above the floor, as runs.
        """
        (steps, _), self.found = row.steps(row.low, row.high), None
        # Where the checker's own scan might not fit into its memory, it decides.
        fits = row.keys.meter.held + PIECE * (row.high - row.low) <= MEMORY
        keys = self.keys_of(row) if steps > LONG and self.instance and fits else None
        if keys is None or self.instance is None:
            return super().candidates(row)
        head = self.instance.model.by_name[row.head.name]
        try:
            positions, self.found = winners(self.instance, head, row.known["i"], row.known["q"], keys)  # type: ignore[arg-type]
        except ResourceLimit:  # such as keys of an enormous domain, all of them known: the checker decides
            return super().candidates(row)
        breaks = np.flatnonzero(np.diff(positions) > 1)
        starts, stops = positions[np.r_[0, breaks + 1]], positions[np.r_[breaks, len(positions) - 1]] + 1
        bounds = array("q", np.column_stack((starts, stops)).astype(np.int64).tobytes())
        return Candidates(bounds, lambda score, at: False)

    def winners(self, row: Row, found: Candidates) -> Values:
        """The keys of the candidates.

        Args:
            row: the row of the last call of :meth:`candidates`.
            found: what that call gave.

        Returns:
            The possible key values.
        """
        if self.found is None:
            return super().winners(row, found)
        return frozenset(self.found.tolist())

    def keys_of(self, row: Row) -> Keys | None:
        """V of a row's key, as the kernels take it; None where that is too much.

        Args:
            row: one row of a head.

        Returns:
            V of the key at all positions, or ``None`` where the checker's own code must scan the row.
        """
        if row.head.key is None:
            return CONSTANT
        if row.head.key not in self.keys:
            self.keys[row.head.key] = exceptions(row.keys)
        return self.keys[row.head.key]


def exceptions(state: State) -> Keys | None:
    """The possible values of a variable, by a default domain and exceptions.

    Args:
        state: V of a variable in the trusted checker's run.

    Returns:
        The values, or ``None`` where there are more than 2^26 exceptions or the state is of another kind.
    """
    lengths = np.array(state.stops, dtype=np.int64) - np.array(state.starts, dtype=np.int64)
    sizes = np.array([len(values) for values, _ in state.nodes], dtype=np.int64)
    if isinstance(state, Positions) or int(lengths @ sizes) > EXCEPTIONS:
        return None
    if len(sizes) and sizes.max() > 1:
        # Nodes of a head or map: every stretch is one position.
        nodes = zip(state.starts, state.nodes, strict=True)
        return Keys.make(state.full.stop, {at: tuple(sorted(values)) for at, (values, _) in nodes})
    positions = np.repeat(np.array(state.stops, dtype=np.int64) - np.cumsum(lengths), lengths)
    positions += np.arange(len(positions), dtype=np.int64)
    values = np.repeat(np.array([next(iter(values)) for values, _ in state.nodes], dtype=np.int64), lengths)
    return Keys(state.full.stop, positions, np.arange(len(positions) + 1, dtype=np.int64), values)


def instance_of(model: Model, steps: int) -> Instance | None:
    """The package's reading of a model, where there is work for kernels; None where it cannot read it.

    Args:
        model: the trusted checker's reading of the model; the instance is kept on it.
        steps: the least steps that the check will take, at least 0.

    Returns:
        The instance, or ``None`` where the check is short or the package refuses the model.
    """
    if steps < LONG:
        return None
    if not hasattr(model, "instance"):
        try:
            model.instance = loads(model.task.model, folder=model.task.folder).at(model.n)  # type: ignore[attr-defined]
        except (RestrictError, RecursionError):
            model.instance = None  # type: ignore[attr-defined]
    found: Instance | None = model.instance  # type: ignore[attr-defined]
    return found


class Everywhere(State):
    """The output at all positions, from the run at all positions at once; ``depends`` is that of the label."""

    def __init__(self, model: Model, instance: Instance, fixed: Fixed) -> None:
        super().__init__(model.domains[model.output], 0, model.meter)
        symbols = instance.model.alphabet
        runs = zip(runs_of(fixed.bounds), fixed.symbols, strict=True)
        named = {at: symbols[symbol] for (start, stop), symbol in runs for at in range(start, stop)}
        self.run = AllPositions(instance, Restriction.of(instance, named))
        self.labels = self.run.label_sets()
        self.bits = self.run.facts[model.output].values

    def values(self, at: int) -> Values:
        """V of the output.

        Args:
            at: the position, 0..n - 1.

        Returns:
            The possible values.
        """
        bits = int(self.bits[at])
        return frozenset(value for value in range(62) if bits >> value & 1)

    def depends(self, bounds: Bounds) -> int:
        """D of the output's label.

        Args:
            bounds: one run (start, stop) of one position.

        Returns:
            The free positions on which the label may depend, as a bit mask.
        """
        return mask_of(self.run.positions(self.labels, bounds[0]))

    def count(self, low: int, high: int) -> tuple[int, int]:
        """How many segments and values there are: one segment for each position.

        Args:
            low: the first position.
            high: the position after the last one, above ``low``.

        Returns:
            The segments, and the values, counted as one for each position: what the checker charges for.
        """
        return high - low, high - low

    def segments(self, low: int, high: int) -> Iterator[tuple[int, int, Values]]:
        """Every position by itself.

        Args:
            low: the first position.
            high: the position after the last one.

        Returns:
            (start, stop, V) of each segment, in order.
        """
        return ((at, at + 1, self.values(at)) for at in range(low, high))

    def sets(self, low: int, high: int) -> Iterator[Values]:
        """V of every position.

        Args:
            low: the first position.
            high: the position after the last one.

        Returns:
            V of each position, in order.
        """
        return (self.values(at) for at in range(low, high))
