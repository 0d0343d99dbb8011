"""The parts of a program: maps, heads and the output, as data (docs/format.md defines every rule).

A unique-hard-attention transformer is a straight-line program over categorical variables (Hahn 2020, section 3, with
the residual stream kept as separate variables). At length ``n`` a variable has one value in ``0 .. d-1`` at each
position:

- ``token`` and ``position`` are given;
- :class:`Map` applies any function to variables at the same position;
- :class:`Head` copies ``value`` from the visible position whose score is greatest.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from restrict.base.errors import ModelError
from restrict.model.expr import Expr, bind
from restrict.model.interval import interval
from restrict.model.rules import Formula, Rule

Mask = Literal["none", "past", "strict_past", "future", "strict_future"]
MASKS: tuple[Mask, ...] = ("none", "past", "strict_past", "future", "strict_future")
BUILT_IN = ("token", "position")
"""The variables that every program has without listing them."""
MAX_N = 100_000_000
"""The greatest length of an instance."""
Size = int | Formula


@dataclass(frozen=True, eq=False)
class Map:
    """``name_i = map(n, i, args_i)``, with values in ``0 .. domain-1``.

    ``map`` is an expression, a :class:`Table` with axes among the arguments and ``i``, or a callable ``f(n, i,
    *args)``: the field of the same name in a model file.
    """

    name: str
    args: tuple[str, ...]
    domain: Size | str
    map: Rule | str | Callable[..., int]


@dataclass(frozen=True, eq=False)
class Head:
    """``name_i = value_j`` for the visible ``j`` of greatest ``score``; ``default`` where nothing is visible. ``score``
    is an expression over ``n i j q k``, a :class:`Table`, a :class:`Dot`, or a callable ``f(n, i, q, j, k)``."""

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
        """The label of a value of the output variable.

        Args:
            value: 0 .. domain-1.

        Returns:
            ``accept`` or ``reject``, the listed label, or the number as text.
        """
        if self.accept is not None:
            return "accept" if value in self.accept else "reject"
        return self.labels[value] if self.labels is not None else str(value)


@dataclass(frozen=True, eq=False)
class Listing:
    """What a program says, and what its rules are read from: a :class:`~restrict.model.program.Model` without methods.

    It stands below evaluation and validation, and the model above them, since a model makes instances and runs them.
    """

    name: str
    alphabet: tuple[str, ...]
    variables: tuple[Variable, ...]
    output: Output
    start_marker: str | None = None
    end_marker: str | None = None
    when: Formula | str | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """The start and end markers that the model has, in this order."""
        return tuple(m for m in (self.start_marker, self.end_marker) if m is not None)


def rule_of(variable: Variable) -> Rule:
    """The rule of a model's variable: a map's map, a head's score."""
    rule = variable.score if isinstance(variable, Head) else variable.map
    assert isinstance(rule, Rule)
    return rule


def mentions(variable: Variable) -> frozenset[str]:
    """What the rule of a variable reads: among ``n i j q k`` for a head; ``n``, ``i`` and arguments for a map."""
    return rule_of(variable).mentions


def references(variable: Variable) -> list[tuple[str, str]]:
    """The variables that a variable reads, with the role: ``argument``, ``value``, ``query`` or ``key``."""
    if isinstance(variable, Map):
        return [("argument", a) for a in variable.args]
    roles = [("value", variable.value), ("query", variable.query), ("key", variable.key)]
    return [(role, name) for role, name in roles if name is not None]


def depths(variables: Iterable[Variable], given: Iterable[str] = BUILT_IN) -> dict[str, int]:
    """The depth of variables in program order: the most heads on a path that ends at each, itself included, and 0 for
    what is ``given``. Linear."""
    depth = dict.fromkeys(given, 0)
    for v in variables:
        depth[v.name] = isinstance(v, Head) + max((depth[name] for _, name in references(v)), default=0)
    return depth


def at_length(expr: Expr, n: int) -> int:
    """The value of an expression over ``n`` alone. ``ModelError``: it may leave 64 bits, divide by 0 or take the root
    of a negative number, which is checked first."""
    interval(expr, {"n": (n, n)})
    value = bind(expr, n=n)
    assert value.op == "const"
    return value.value


def holds(when: object, n: int) -> bool:
    """Whether a condition holds at a length; not where it overflows or divides by 0 itself. Linear."""
    if not isinstance(when, Formula):
        return True
    try:
        return at_length(when.expr, n) != 0
    except ModelError:
        return False
