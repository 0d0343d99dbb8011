"""The rules of a model at one length: markers, and rows and map values on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ModelError
from restrict.model import rules
from restrict.model.code import Code, compile_expr
from restrict.model.expr import Expr, HashPrefix, bind, hash_mix, hash_prefix
from restrict.model.variables import Head, Listing, Map, mentions, rule_of


@dataclass(eq=False)
class AtLength:
    """What evaluation asks of an :class:`~restrict.model.program.Instance`. ``domains`` has the number of values of
    every variable, ``token`` and ``position`` included."""

    model: Listing
    n: int

    def __post_init__(self) -> None:
        self.domains: dict[str, int] = {}
        self._map_tables: dict[tuple[str, int], I64] = {}
        self._map_code: dict[str, Code] = {}
        self._shared: dict[str, Code | None] = {}
        self._hashed: dict[str, HashPrefix | None] = {}

    # ------------------------------------------------------------ positions

    @cached_property
    def pinned(self) -> dict[int, int]:
        """Marker positions and their token values."""
        model, pins, value = self.model, dict[int, int](), len(self.model.alphabet)
        if model.start_marker is not None:
            pins[0] = value
            value += 1
        if model.end_marker is not None:
            pins[self.n - 1] = value
        return pins

    @cached_property
    def unpinned(self) -> range:
        """The positions that hold no marker, in order: the symbols of a word stand there."""
        model = self.model
        return range(int(model.start_marker is not None), self.n - int(model.end_marker is not None))

    def visible(self, head: Head, i: int) -> tuple[int, int]:
        """The positions that a head sees from position ``i``.

        Args:
            head: a head of the model.
            i: 0 .. n-1.

        Returns:
            ``(first, stop)``: the positions ``first .. stop-1``; none where ``first >= stop``.
        """
        return {
            "none": (0, self.n),
            "past": (0, i + 1),
            "strict_past": (0, i),
            "future": (i, self.n),
            "strict_future": (i + 1, self.n),
        }[head.mask]

    # ------------------------------------------------------------ scores

    @cached_property
    def _read(self) -> dict[str, tuple[str | None, str | None]]:
        """For every head, its query and key where the score reads them."""
        heads = [v for v in self.model.variables if isinstance(v, Head)]
        return {h.name: (h.query if "q" in mentions(h) else None, h.key if "k" in mentions(h) else None) for h in heads}

    def query(self, head: Head) -> str | None:
        """The query variable of a head.

        Returns:
            A variable's name, or ``None`` where the score does not read it.
        """
        return self._read[head.name][0]

    def key(self, head: Head) -> str | None:
        """The key variable of a head.

        Returns:
            A variable's name, or ``None`` where the score does not read it.
        """
        return self._read[head.name][1]

    def row(self, head: Head, i: int, u: int) -> Expr:
        """The scores of a head at position ``i`` with query value ``u``.

        Args:
            head: a head of the model.
            i: 0 .. n-1.
            u: a value of the query; any number where the score does not read it.

        Returns:
            An expression over ``j`` and ``k``. A callable's row is tabulated: n times the key's domain calls.

        Raises:
            ResourceLimit: a callable's row of more than 2^26 entries.
            ModelError: a callable gave no 64-bit integer.
        """
        key = self.key(head)
        return rules.bind_row(rule_of(head), {"n": self.n, "i": i, "q": u}, self.n, self.domains[key] if key else 1)

    def shared_code(self, head: Head) -> Code | None:
        """The score of a head as register code for all of its rows.

        Returns:
            Code over ``j k i q``, in this order, compiled once; ``None`` for dot products and callables.
        """
        if head.name not in self._shared:
            rule = head.score
            plain = bind(rules.expression(rule), n=self.n) if isinstance(rule, rules.Formula | rules.Table) else None
            code = None if plain is None else compile_expr(plain, ("j", "k", "i", "q"))
            self._shared[head.name] = code
        return self._shared[head.name]

    def row_seed(self, head: Head, i: int, u: int) -> int | None:
        """The hash state before ``j`` where the score of a row is ``hash(known ..., j, k)``.

        Args:
            head: a head of the model.
            i: 0 .. n-1.
            u: a value of the query; any number where the score does not read it.

        Returns:
            A signed 64-bit integer; ``None`` for any other score. The formula is looked at once for all rows.
        """
        if head.name not in self._hashed:
            rule = head.score
            self._hashed[head.name] = (
                hash_prefix(bind(rule.expr, n=self.n)) if isinstance(rule, rules.Formula) else None
            )
        prefix = self._hashed[head.name]
        if prefix is None:
            return None
        state, known = prefix[0], {"i": i, "q": u}
        for argument in prefix[1]:
            state = hash_mix(state, argument if isinstance(argument, int) else known[argument])
        return state

    # ------------------------------------------------------------ maps

    def map_values(self, variable: Map, i: int, values: Sequence[Sequence[int]]) -> I64:
        """A map at position ``i`` on a product of argument values.

        Args:
            variable: a map of the model.
            i: 0 .. n-1.
            values: for every argument, in order, the values that it may take.

        Returns:
            int64, one axis per argument, of the lengths of ``values``. The map is compiled once for all positions.

        Raises:
            ResourceLimit: more than 2^24 points.
            ModelError: a callable gave a value outside the map's domain, or no 64-bit integer.
        """
        axes = {a: np.asarray(v, dtype=np.int64) for a, v in zip(variable.args, values, strict=True)}
        rule = rule_of(variable)
        if isinstance(rule, rules.Callback):
            out = rules.tabulate_callback(rule, {"n": self.n, "i": i}, axes)
            self._check_callback(variable, i, out)
            return out
        return rules.tabulate(self.map_code(variable), i, axes)

    def map_points(self, variable: Map, i: int, points: I64) -> I64:
        """A map at position ``i`` at some points, however many combinations of argument values there are.

        Args:
            variable: a map of the model.
            i: 0 .. n-1.
            points: int64, shape (m, arguments), each within its argument's domain.

        Returns:
            int64, shape (m,).

        Raises:
            ModelError: a callable gave a value outside the map's domain, or no 64-bit integer.
        """
        rule = rule_of(variable)
        if not isinstance(rule, rules.Callback):
            at = np.full((len(points), 1), i, dtype=np.int64)
            return rules.run_points(self.map_code(variable), np.concatenate([at, points], axis=1))
        values = [rules.int64(rule.function(self.n, i, *point), "map") for point in points.tolist()]
        out = np.array(values, dtype=np.int64)
        if len(out):
            self._check_callback(variable, i, out)
        return out

    def map_code(self, variable: Map) -> Code:
        """The map over ``i`` and its arguments, compiled once."""
        if variable.name not in self._map_code:
            rule = rules.expression(rule_of(variable))
            self._map_code[variable.name] = compile_expr(bind(rule, n=self.n), ("i", *variable.args))
        return self._map_code[variable.name]

    def _check_callback(self, variable: Map, i: int, out: I64) -> None:
        """Refuse a callable's value outside the domain."""
        size = self.domains[variable.name]
        if out.min() < 0 or out.max() >= size:
            raise ModelError(
                f"variable {variable.name!r}: the map callable gives {int(out.min())} .. {int(out.max())} "
                f"at position {i}, outside its domain 0..{size - 1}"
            )

    def map_table(self, variable: Map, i: int) -> I64:
        """The whole map at position ``i``, kept; only for small domains.

        Args:
            variable: a map of the model.
            i: 0 .. n-1.

        Returns:
            int64, one axis per argument, of the sizes of their domains.

        Raises:
            ResourceLimit: more than 2^24 points.
            ModelError: as :meth:`map_values` does.
        """
        slot = (variable.name, i if "i" in mentions(variable) else -1)
        if slot not in self._map_tables:
            full = [range(self.domains[a]) for a in variable.args]
            self._map_tables[slot] = self.map_values(variable, i, full)
        return self._map_tables[slot]

    def label(self, value: int) -> str:
        """The label of a value of the output variable.

        Args:
            value: 0 .. domain-1.

        Returns:
            ``accept`` or ``reject``, the listed label, or the number as text.
        """
        return self.model.output.label(value)
