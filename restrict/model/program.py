"""Hard-attention programs: variables, models (families over n) and instances (one model at one n).

A unique-hard-attention transformer is a straight-line program over categorical variables (Hahn 2020, section 3, with
the
residual stream kept as separate variables). At length ``n`` a variable has one value in ``0 .. d-1`` at each position:

- ``token`` and ``position`` are given;
- :class:`Map` applies any function to variables at the same position;
- :class:`Head` copies ``value`` from the visible position whose score is greatest.

docs/format.md defines every rule; :mod:`restrict.model.validate` enforces them when a model is made and when it is
put at an ``n``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from restrict.arrays import I64
from restrict.errors import ModelError, UsageError, quote
from restrict.model.expr import Code, Expr, bind, compile_expr, interval
from restrict.model.rules import (
    SCORE_NAMES,
    Callback,
    Formula,
    Rule,
    Table,
    bind_row,
    expression,
    formula,
    int64,
    run_points,
    tabulate,
)

if TYPE_CHECKING:
    from restrict.model.trace import Trace

T = TypeVar("T")
Mask = Literal["none", "past", "strict_past", "future", "strict_future"]
MASKS: tuple[Mask, ...] = ("none", "past", "strict_past", "future", "strict_future")
MAX_N = 100_000_000
Size = int | Formula


@dataclass(frozen=True, eq=False)
class Map:
    """``name_i = rule(n, i, args_i)``, with values in ``0 .. domain-1``.

    ``rule`` is an expression, a :class:`Table` with axes among the arguments and ``i``, or a callable ``f(n, i,
    *args)``.
    """

    name: str
    args: tuple[str, ...]
    domain: Size | str
    rule: Rule | str | Callable[..., int]


@dataclass(frozen=True, eq=False)
class Head:
    """``name_i = value_j`` for the visible ``j`` of greatest ``score``; ``default`` where nothing is visible.

    ``score`` is an expression over ``n i j q k``, a :class:`Table`, a :class:`Dot`, or a callable ``f(n, i, q, j, k)``.
    """

    name: str
    value: str
    score: Rule | str | Callable[..., int]
    query: str | None = None
    key: str | None = None
    mask: Mask = "none"
    ties: Literal["left", "right"] = "left"
    default: int = 0
    domain: Size | str | None = None


Variable = Map | Head


@dataclass(frozen=True)
class Output:
    """The output variable, at the last position or at every one; ``accept`` or ``labels`` name its values."""

    variable: str
    position: Literal["last", "every"] = "last"
    accept: frozenset[int] | None = None
    labels: tuple[str, ...] | None = None

    def label(self, value: int) -> str:
        """The label of a value of the output variable."""
        if self.accept is not None:
            return "accept" if value in self.accept else "reject"
        return self.labels[value] if self.labels is not None else str(value)


@dataclass(frozen=True, eq=False)
class Model:
    """A program for every length ``n``. ``content`` and ``digest`` are the bytes it was read from and their SHA-256,
    or ``None``.

    Raises :class:`ModelError` when the program breaks a rule of docs/format.md.
    """

    name: str
    alphabet: tuple[str, ...]
    variables: tuple[Variable, ...]
    output: Output
    start_marker: str | None = None
    end_marker: str | None = None
    when: Formula | str | None = None
    description: str = ""
    digest: str | None = None
    source: Path | None = None
    content: bytes | None = field(default=None, repr=False)
    _instances: dict[int, Instance] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        from restrict.model.validate import validate_model

        object.__setattr__(self, "alphabet", tuple(self.alphabet))
        object.__setattr__(self, "variables", tuple(_with_rules(v, at) for at, v in enumerate(self.variables)))
        if isinstance(self.when, str):
            object.__setattr__(self, "when", _located("when", formula, self.when, frozenset("n")))
        validate_model(self)

    @cached_property
    def by_name(self) -> dict[str, Variable]:
        """The listed variables by name, in program order."""
        return {v.name: v for v in self.variables}

    @property
    def markers(self) -> tuple[str, ...]:
        """The start and end markers that the model has, in this order."""
        return tuple(m for m in (self.start_marker, self.end_marker) if m is not None)

    def at(self, n: int) -> Instance:
        """The model at length ``n`` (markers included). Raises :class:`ModelError` where it is not defined there."""
        if n not in self._instances:
            self._instances[n] = Instance(self, n)
        return self._instances[n]

    def run(self, word: str | Sequence[str]) -> Trace:
        """Every variable at every position on one input, with the attended positions. Cost O(n^2) per head."""
        from restrict.model.trace import run

        symbols = self.symbols(word)
        return run(self.at(len(symbols) + len(self.markers)), symbols)

    def symbols(self, word: str | Sequence[str]) -> list[int]:
        """The indices of a word's symbols; a string is split at white space, or into characters where it has none."""
        if isinstance(word, str):
            word = (
                word.split() if any(c.isspace() for c in word.strip()) or word in self.alphabet else list(word.strip())
            )
        index = {symbol: at for at, symbol in enumerate(self.alphabet)}
        for at, symbol in enumerate(word):
            if symbol not in index:
                raise UsageError(
                    f"symbol {quote(symbol)} at index {at} of the input is not in the alphabet: "
                    + " ".join(self.alphabet)[:80]
                )
        return [index[symbol] for symbol in word]

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {len(self.alphabet)} symbols, {len(self.variables)} variables)"


def _located(place: str, function: Callable[..., T], *args: object) -> T:
    try:
        return function(*args)
    except ModelError as error:
        raise ModelError(f"{place}: {error}") from None


def _size(size: Size | str | None, place: str) -> Size | None:
    return _located(place, formula, size, frozenset("n")) if isinstance(size, str) else size


def _with_rules(variable: Variable, at: int) -> Variable:
    """Parse the texts of a variable and wrap its callables."""
    place = f"variables[{at}]"
    if isinstance(variable, Head):
        score = variable.score
        if isinstance(score, str):
            score = _located(f"{place}.score", formula, score, SCORE_NAMES)
        elif not isinstance(score, Rule):
            read = {"n", "i", "j"} | ({"q"} if variable.query else set()) | ({"k"} if variable.key else set())
            score = Callback(score, frozenset(read))
        return Head(
            variable.name,
            variable.value,
            score,
            variable.query,
            variable.key,
            variable.mask,
            variable.ties,
            variable.default,
            _size(variable.domain, f"{place}.domain"),
        )
    rule, args = variable.rule, tuple(variable.args)
    if isinstance(rule, str):
        rule = _located(f"{place}.map", formula, rule, frozenset({"n", "i", *args}))
    elif not isinstance(rule, Rule):
        rule = Callback(rule, frozenset({"n", "i", *args}))
    domain = _size(variable.domain, f"{place}.domain")
    assert domain is not None
    return Map(variable.name, args, domain, rule)


@dataclass(eq=False)
class Instance:
    """A model at one length: domain sizes, pinned positions, and rows and map values on demand."""

    model: Model
    n: int

    def __post_init__(self) -> None:
        from restrict.model.validate import validate_instance

        self.domains: dict[str, int] = {}
        validate_instance(self)
        self._map_tables: dict[tuple[str, int], I64] = {}
        self._shared: dict[str, Code | None] = {}

    @property
    def pinned(self) -> dict[int, int]:
        """Marker positions and their token values."""
        model, pins, value = self.model, {}, len(self.model.alphabet)
        if model.start_marker is not None:
            pins[0] = value
            value += 1
        if model.end_marker is not None:
            pins[self.n - 1] = value
        return pins

    def visible(self, head: Head, i: int) -> tuple[int, int]:
        """The visible positions ``first .. stop-1`` from position ``i``."""
        return {
            "none": (0, self.n),
            "past": (0, i + 1),
            "strict_past": (0, i),
            "future": (i, self.n),
            "strict_future": (i + 1, self.n),
        }[head.mask]

    @cached_property
    def _read(self) -> dict[str, tuple[str | None, str | None]]:
        heads = [v for v in self.model.variables if isinstance(v, Head)]
        return {h.name: (h.query if "q" in mentions(h) else None, h.key if "k" in mentions(h) else None) for h in heads}

    def query(self, head: Head) -> str | None:
        """The query variable, where the score reads it."""
        return self._read[head.name][0]

    def key(self, head: Head) -> str | None:
        """The key variable, where the score reads it."""
        return self._read[head.name][1]

    def row(self, head: Head, i: int, u: int) -> Expr:
        """The score of ``head`` at position ``i`` and query value ``u`` as an expression over ``j`` and ``k``."""
        key = self.key(head)
        assert isinstance(head.score, Rule)
        return bind_row(head.score, {"n": self.n, "i": i, "q": u}, self.n, self.domains[key] if key else 1)

    def shared_code(self, head: Head) -> Code | None:
        """The score as register code over ``j k i q``, in this order; ``None`` for dot products and callables."""
        if head.name not in self._shared:
            rule = head.score
            plain = bind(expression(rule), n=self.n) if isinstance(rule, Formula | Table) else None
            code = None if plain is None else compile_expr(plain, ("j", "k", "i", "q"))
            self._shared[head.name] = code
        return self._shared[head.name]

    def map_values(self, variable: Map, i: int, values: Sequence[Sequence[int]]) -> I64:
        """The map at position ``i`` on the product of the arguments' ``values``; shape = their lengths."""
        assert isinstance(variable.rule, Rule)
        axes = {a: np.asarray(v, dtype=np.int64) for a, v in zip(variable.args, values, strict=True)}
        out = tabulate(variable.rule, {"n": self.n, "i": i}, axes)
        if isinstance(variable.rule, Callback):
            self._check_callback(variable, i, out)
        return out

    def map_points(self, variable: Map, i: int, points: I64) -> I64:
        """The map at position ``i`` at some points: ``points`` has shape (m, arguments), the answer (m,)."""
        rule = variable.rule
        assert isinstance(rule, Rule)
        if isinstance(rule, Callback):
            values = [int64(rule.function(self.n, i, *p), "map") for p in points.tolist()]
            out = np.array(values, dtype=np.int64)
            if len(out):
                self._check_callback(variable, i, out)
            return out
        if variable.name not in self._shared:
            self._shared[variable.name] = compile_expr(bind(expression(rule), n=self.n), ("i", *variable.args))
        code = self._shared[variable.name]
        assert code is not None
        return run_points(code, np.concatenate([np.full((len(points), 1), i), points], axis=1))

    def _check_callback(self, variable: Map, i: int, out: I64) -> None:
        size = self.domains[variable.name]
        if out.min() < 0 or out.max() >= size:
            raise ModelError(
                f"variable {variable.name!r}: the map callable gives {int(out.min())} .. {int(out.max())} "
                f"at position {i}, outside its domain 0..{size - 1}"
            )

    def map_table(self, variable: Map, i: int) -> I64:
        """The whole map at position ``i``, kept; only for small domains."""
        at = i if "i" in mentions(variable) else -1
        if (variable.name, at) not in self._map_tables:
            full = [range(self.domains[a]) for a in variable.args]
            self._map_tables[variable.name, at] = self.map_values(variable, i, full)
        return self._map_tables[variable.name, at]

    def label(self, value: int) -> str:
        """The label of a value of the output variable."""
        return self.model.output.label(value)


def mentions(variable: Variable) -> frozenset[str]:
    """What the variable's rule reads."""
    rule = variable.score if isinstance(variable, Head) else variable.rule
    assert isinstance(rule, Rule)
    return rule.mentions


def at_length(expr: Expr, n: int) -> int:
    """The value of an expression over ``n``, checked for overflow first."""
    interval(expr, {"n": (n, n)})
    value = bind(expr, n=n)
    assert value.op == "const"
    return value.value
