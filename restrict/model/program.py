"""Models: hard-attention programs as families over the length ``n``.

A model, a model at one length and one run give each other back, so they stand in one file, and what they do is below
it. docs/format.md defines every rule, :mod:`restrict.model.validate` enforces them when a model is made and when it is
put at a length, :mod:`restrict.model.instance` reads them at one length, and :mod:`restrict.model.trace` evaluates
them. The parts of a program are in :mod:`restrict.model.variables`; they are offered here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import indices_of
from restrict.base.files import naming
from restrict.base.htmltable import Shown, ShownTable
from restrict.base.wording import columns, counted, symbols_of
from restrict.model.graph import program_graph
from restrict.model.instance import AtLength
from restrict.model.rules import SCORE_NAMES, Callback, Formula, Rule, formula
from restrict.model.trace import run_batch
from restrict.model.validate import STAR, validate_instance, validate_model
from restrict.model.variables import (
    BUILT_IN,
    MASKS,
    MAX_N,
    Head,
    Listing,
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
    "Trace",
    "Variable",
    "at_length",
    "mentions",
    "references",
    "rule_of",
]


@dataclass(frozen=True, eq=False)
class Model(Listing, Shown):
    """A program for every length ``n``. ``content`` and ``digest`` are the bytes it was read from and their SHA-256,
    or ``None``.

    Raises:
        ModelError: the program breaks a rule of docs/format.md.
    """

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
        instance = self.at(len(symbols) + len(self.markers))
        batch = run_batch(instance, np.asarray([symbols], dtype=np.int64).reshape(1, -1))
        return Trace(instance, *({k: v[0] for k, v in part.items()} for part in (batch.values, batch.attended)))

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

    def facts(self) -> ShownTable:
        """What a notebook shows: the variables."""
        rows = []
        for v in self.variables:
            read = ", ".join(f"{role} {name}" for role, name in references(v))
            rows.append(
                (v.name, "head", read, v.mask, v.ties) if isinstance(v, Head) else (v.name, "map", read, "", "")
            )
        symbols = counted(len(self.alphabet), "symbol")
        title = f"{self.name}: {symbols}, output {self.output.variable} ({self.output.position})"
        return ShownTable(title, rows, ("variable", "kind", "reads", "mask", "ties"))

    def __repr__(self) -> str:
        symbols, variables = counted(len(self.alphabet), "symbol"), counted(len(self.variables), "variable")
        return f"Model({self.name!r}, {symbols}, {variables})"


@dataclass(eq=False)
class Instance(AtLength):
    """A model at one length, made by ``model.at(n)``."""

    model: Model

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_instance(self)


@dataclass(frozen=True, eq=False)
class Trace:
    """One run: ``values[name][i]``, ``attended[head][i]`` (-1: nothing visible), and the labels of the output."""

    instance: Instance
    values: dict[str, I64]
    attended: dict[str, I64]

    def label(self, i: int = -1) -> str:
        """The output's label at a position.

        Args:
            i: 0 .. n-1, or -1 for the last.

        Returns:
            The label, as :meth:`restrict.model.variables.Output.label` gives it.
        """
        return self.instance.label(int(self.values[self.instance.model.output.variable][i]))

    @property
    def output(self) -> str | list[str]:
        """The model's answer: a label, or one per position."""
        if self.instance.model.output.position == "last":
            return self.label()
        return [self.label(i) for i in range(self.instance.n)]

    def document(self) -> dict[str, Any]:
        """The run as JSON.

        Returns:
            An object: ``values`` and ``attended`` by name, and the ``output``.
        """
        rows = {"values": self.values, "attended": self.attended}
        found = {what: {name: row.tolist() for name, row in of.items()} for what, of in rows.items()}
        return found | {"output": self.output}

    def text(self) -> str:
        """The run as a table.

        Returns:
            Lines: every variable, and where heads attend to.
        """
        return str(self)

    def __str__(self) -> str:
        model = self.instance.model
        symbols = [*model.alphabet, *model.markers]
        rows = [["position", *(str(i) for i in range(self.instance.n))]]
        rows.append(["token", *(symbols[t] for t in self.values["token"])])
        for variable in model.variables:
            rows.append([variable.name, *(str(v) for v in self.values[variable.name])])
            if isinstance(variable, Head):
                rows.append(["  attends to", *("-" if j < 0 else str(j) for j in self.attended[variable.name])])
        if model.output.position == "every":
            rows.append(["output", *(self.label(i) for i in range(self.instance.n))])
        width = max(len(row[0]) for row in rows)
        table = columns([(row[0].ljust(width), *row[1:]) for row in rows], right=True)
        return table + f"\noutput: {self.label()}".rstrip() * (model.output.position == "last")


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
