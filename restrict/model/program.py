"""Models: hard-attention programs as families over the length ``n``.

docs/format.md defines every rule; :mod:`restrict.model.validate` enforces them when a model is made and when it is put
at a length. The parts of a program are in :mod:`restrict.model.variables`, a model at one length in
:mod:`restrict.model.instance`; both are offered here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from restrict.base.errors import indices_of
from restrict.base.files import naming
from restrict.base.htmltable import Shown, Table
from restrict.base.wording import counted, symbols_of
from restrict.model.graph import program_graph
from restrict.model.instance import Instance
from restrict.model.rules import SCORE_NAMES, Callback, Formula, Rule, formula
from restrict.model.trace import Trace, run
from restrict.model.validate import STAR, validate_model
from restrict.model.variables import (
    BUILT_IN,
    MASKS,
    MAX_N,
    Head,
    Map,
    Mask,
    Output,
    Size,
    Variable,
    at_length,
    depths,
    mentions,
    references,
    rule_of,
)

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "BUILT_IN",
    "MASKS",
    "MAX_N",
    "Head",
    "Instance",
    "Map",
    "Mask",
    "Model",
    "Output",
    "Size",
    "Variable",
    "at_length",
    "mentions",
    "references",
    "rule_of",
]


@dataclass(frozen=True, eq=False)
class Model(Shown):
    """A program for every length ``n``. ``content`` and ``digest`` are the bytes it was read from and their SHA-256,
    or ``None``.

    Raises:
        ModelError: the program breaks a rule of docs/format.md.
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
        object.__setattr__(self, "alphabet", tuple(self.alphabet))
        object.__setattr__(self, "variables", tuple(_with_rules(v, at) for at, v in enumerate(self.variables)))
        if isinstance(self.when, str):
            object.__setattr__(self, "when", _parsed("when", self.when, frozenset("n")))
        validate_model(self)

    @cached_property
    def by_name(self) -> dict[str, Variable]:
        """The listed variables by name, in program order."""
        return {v.name: v for v in self.variables}

    @property
    def markers(self) -> tuple[str, ...]:
        """The start and end markers that the model has, in this order."""
        return tuple(m for m in (self.start_marker, self.end_marker) if m is not None)

    def graph(self) -> nx.DiGraph[str]:
        """Which variable reads which.

        Returns:
            A new directed graph: an edge ``a -> b``, with its ``roles``, where ``b`` reads ``a``; each node has a
            ``kind`` (:mod:`restrict.model.graph`). Linear.
        """
        return program_graph(self.variables)

    @property
    def depth(self) -> int:
        """The most heads on a path to the output: the number of layers L."""
        return self.depths[self.output.variable]

    @cached_property
    def depths(self) -> dict[str, int]:
        """The most heads on a path to each variable, itself included."""
        return depths(self.variables)

    def at(self, n: int) -> Instance:
        """The model at one length.

        Args:
            n: the number of positions, markers included.

        Returns:
            The instance; the same one each time.

        Raises:
            UsageError: ``n`` is out of range.
            ModelError: the model is not defined at ``n``.
            ResourceLimit: a map's range cannot be checked.
        """
        if n not in self._instances:
            self._instances[n] = Instance(self, n)
        return self._instances[n]

    def run(self, word: str | Sequence[str]) -> Trace:
        """Every variable at every position on one input, with the attended positions.

        Args:
            word: the symbols, without markers; a string is split as by :meth:`symbols`.

        Returns:
            The trace. Cost O(n^2) per head.

        Raises:
            UsageError: a symbol that is not in the alphabet.
            ModelError: the model is not defined at this length.
            ResourceLimit: a map's range cannot be checked.
        """
        symbols = self.symbols(word)
        return run(self.at(len(symbols) + len(self.markers)), symbols)

    def symbols(self, word: str | Sequence[str]) -> list[int]:
        """The indices of a word's symbols.

        Args:
            word: symbols, or a string, which is split at white space, or into characters where it has none. ``*`` is
                the symbol ``\\*`` of imported data, if there is one: no position of a word is free.

        Returns:
            Indices into the alphabet.

        Raises:
            UsageError: a symbol that is not in the alphabet.
        """
        if isinstance(word, str):
            word = symbols_of(word, self.alphabet)
        if STAR in self.alphabet:
            word = [STAR if symbol == "*" else symbol for symbol in word]
        return indices_of(word, self.alphabet, " of the input")

    def facts(self) -> Table:
        """What a notebook shows: the variables."""
        rows = []
        for v in self.variables:
            read = ", ".join(f"{role} {name}" for role, name in references(v))
            rows.append(
                (v.name, "head", read, v.mask, v.ties) if isinstance(v, Head) else (v.name, "map", read, "", "")
            )
        symbols = counted(len(self.alphabet), "symbol")
        title = f"{self.name}: {symbols}, output {self.output.variable} ({self.output.position})"
        return Table(title, rows, ("variable", "kind", "reads", "mask", "ties"))

    def __repr__(self) -> str:
        symbols, variables = counted(len(self.alphabet), "symbol"), counted(len(self.variables), "variable")
        return f"Model({self.name!r}, {symbols}, {variables})"


def _parsed(place: str, text: str, names: frozenset[str]) -> Formula:
    with naming(place):
        return formula(text, names)


def _with_rules(variable: Variable, at: int) -> Variable:
    """Parse the texts of a variable and wrap its callables."""
    place, size = f"variables[{at}]", variable.domain
    if isinstance(variable, Head):
        key, rule, names = "score", variable.score, SCORE_NAMES
        read = names - ({"q"} if not variable.query else set()) - ({"k"} if not variable.key else set())
    else:
        key, rule, names = "map", variable.map, frozenset({"n", "i", *variable.args})
        read = names
    if isinstance(rule, str):
        rule = _parsed(f"{place}.{key}", rule, names)
    elif not isinstance(rule, Rule):
        rule = Callback(rule, read)
    size = _parsed(f"{place}.domain", size, frozenset("n")) if isinstance(size, str) else size
    if isinstance(variable, Head):
        return replace(variable, score=rule, domain=size)
    assert size is not None
    return replace(variable, args=tuple(variable.args), domain=size, map=rule)
