"""Restrictions: which positions are fixed, and to what (Hahn 2020, section 5; theory of the project, section 2). A
restriction is a map from positions to symbols or ``*`` (free). Positions that the model pins, the start and end
markers, count neither as free nor as fixed. Positions count from 0 and include the markers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from restrict.base.errors import ModelError, ResourceLimit, UsageError, quote
from restrict.base.strictjson import Node
from restrict.base.wording import joined
from restrict.checker import read
from restrict.model.program import Instance, Model

FREE = "*"
PINNED = "."
EXPANDED = 20_000_000
"""The most positions of a file that are held one by one: about 2 GiB."""
Span = tuple[int, int]
"""The positions ``start .. start + count - 1``."""


def value_runs(values: Iterable[tuple[int, Any]]) -> list[list[Any]]:
    """``[start, count, value]`` runs of pairs by ascending position: equal neighbours share one. Linear."""
    found: list[list[Any]] = []
    for position, value in values:
        if found and found[-1][0] + found[-1][1] == position and found[-1][2] == value:
            found[-1][1] += 1
        else:
            found.append([position, 1, value])
    return found


def runs(positions: Iterable[int]) -> list[list[int]]:
    """Strictly increasing positions as ``[start, count]`` pairs, as few as possible. Linear."""
    return [run[:2] for run in value_runs((p, None) for p in positions)]


def read_spans(node: Node, n: int, width: int = 2) -> tuple[Span, ...]:
    """The ``[start, count, ...]`` runs of docs/format.md below ``n``, lists of ``width``, by the trusted checker's
    reader: in order and disjoint, none expanded (else ``ModelError`` with the place). Linear in the runs, however long
    they are."""
    bounds = node.read(lambda value, place: read.read_runs(value, place, n, width))
    return tuple((start, stop - start) for start, stop in read.runs_of(bounds))


def read_symbol_spans(node: Node, n: int) -> tuple[tuple[int, int, str], ...]:
    """The ``[start, count, symbol]`` runs of docs/format.md, like :func:`read_spans`; no alphabet is asked."""
    spans = read_spans(node, n, 3)
    symbols = [run[2] for run in node.value]
    for at, symbol in enumerate(symbols if set(map(type, symbols)) - {str} else ()):
        Node(symbol, f"{node.place}[{at}][2]").text()
    return tuple((*span, symbol) for span, symbol in zip(spans, symbols, strict=True))


def expanded(spans: Sequence[Span], place: str) -> tuple[int, ...]:
    """Positions of ``(start, count)`` runs one by one. ``ResourceLimit``, with the place: more than ``EXPANDED``."""
    check_expansion(sum(count for _, count in spans), place)
    return tuple(i for start, count in spans for i in range(start, start + count))


def check_expansion(positions: int, place: str) -> None:
    """Refuse (``ResourceLimit``, with the place) to hold more than ``EXPANDED`` positions one by one."""
    if positions > EXPANDED:
        raise ResourceLimit(f"{place}: {positions} positions are more than the {EXPANDED} that are held one by one")


def read_runs(node: Node, n: int) -> tuple[int, ...]:
    """The increasing positions, one by one, of ``[start, count]`` pairs below ``n`` (docs/format.md). ``ModelError``,
    with the place: another form; ``ResourceLimit``: more than ``EXPANDED`` positions."""
    return expanded(read_spans(node, n), node.place)


@dataclass(frozen=True)
class Restriction:
    """``fixed`` maps positions ``0 .. n-1`` to symbols; ``pinned`` are the marker positions; all others are free.

    Raises:
        UsageError: a fixed position is out of range or pinned.
    """

    n: int
    fixed: Mapping[int, str] = field(default_factory=dict)
    pinned: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fixed", dict(sorted(self.fixed.items())))
        for i in self.fixed:
            if not 0 <= i < self.n:
                raise UsageError(f"position {i} of the restriction is out of range 0..{self.n - 1}")
            if i in self.pinned:
                raise UsageError(f"position {i} holds a marker and cannot be fixed")

    @staticmethod
    def of(instance: Instance, fixed: Mapping[int, str | int] | None = None) -> Restriction:
        """A restriction for a model at a length, checked against its alphabet.

        Args:
            instance: the model at a length.
            fixed: position to symbol, or to the symbol's index in the alphabet; by default nothing is fixed.

        Returns:
            The restriction, with the instance's markers pinned.

        Raises:
            UsageError: a symbol outside the alphabet, or a position out of range or pinned.
        """
        alphabet, out = instance.model.alphabet, {}
        for i, symbol in (fixed or {}).items():
            text = alphabet[symbol] if isinstance(symbol, int | np.integer) and 0 <= symbol < len(alphabet) else symbol
            if text not in alphabet:
                raise UsageError(
                    f"symbol {quote(symbol)} at position {i} is not in the alphabet of {instance.model.name!r}"
                )
            out[int(i)] = str(text)
        return Restriction(instance.n, out, frozenset(instance.pinned))

    # ------------------------------------------------------------ counting

    @property
    def free(self) -> int:
        """The number of free positions."""
        return self.n - len(self.fixed) - len(self.pinned)

    def free_positions(self) -> Iterator[int]:
        """The free positions.

        Returns:
            An iterator over them, in order.
        """
        return (i for i in range(self.n) if i not in self.fixed and i not in self.pinned)

    def tokens(self, model: Model) -> dict[int, int]:
        """The fixed positions with their symbols' indices.

        Args:
            model: a model whose alphabet has all fixed symbols.

        Returns:
            Position to index in the alphabet, by position.
        """
        index = {symbol: at for at, symbol in enumerate(model.alphabet)}
        return {i: index[symbol] for i, symbol in self.fixed.items()}

    # ------------------------------------------------------------ order

    def refines(self, other: Restriction) -> bool:
        """Whether this fixes everything that ``other`` fixes, to the same symbols.

        Args:
            other: a restriction.

        Returns:
            The answer; ``False`` for one of another length.
        """
        return self.n == other.n and other.fixed.items() <= self.fixed.items()

    def __or__(self, other: Restriction) -> Restriction:
        """Composition: fix what either fixes; ``UsageError`` if they disagree, or have other lengths or markers."""
        if (self.n, self.pinned) != (other.n, other.pinned):
            raise UsageError(
                f"restrictions of lengths {self.n} and {other.n}, or with other markers, cannot be composed"
            )
        clash = next((i for i, s in other.fixed.items() if self.fixed.get(i, s) != s), None)
        if clash is not None:
            raise UsageError(
                f"the restrictions fix position {clash} to {self.fixed[clash]!r} and to {other.fixed[clash]!r}"
            )
        return Restriction(self.n, {**self.fixed, **other.fixed}, self.pinned)

    def release(self, positions: Iterable[int]) -> Restriction:
        """The restriction with these positions free again.

        Args:
            positions: 0 .. n-1; those that are not fixed are ignored.

        Returns:
            A new restriction.
        """
        drop = set(positions)
        return Restriction(self.n, {i: s for i, s in self.fixed.items() if i not in drop}, self.pinned)

    def admits(self, word: Sequence[str]) -> bool:
        """Whether a word agrees with every fixed position.

        Args:
            word: the symbols, without markers.

        Returns:
            The answer; ``False`` for a word of another length.
        """
        inner = [i for i in range(self.n) if i not in self.pinned]
        return len(word) == len(inner) and all(self.fixed.get(i, s) == s for i, s in zip(inner, word, strict=True))

    # ------------------------------------------------------------ text and JSON

    def text(self) -> str:
        """The text form, one cell for each position.

        Returns:
            For example ``**1*0``, with ``.`` at markers; with symbols of several characters the cells are separated by
            spaces.
        """
        cells = [self.fixed.get(i, PINNED if i in self.pinned else FREE) for i in range(self.n)]
        return joined(cells)

    @staticmethod
    def parse(instance: Instance, text: str) -> Restriction:
        """Read the text form back.

        Args:
            instance: the model at a length.
            text: as :meth:`text` writes it: one cell for each position, ``*`` free, ``.`` at markers. Cells are single
                characters, or are separated by white space.

        Returns:
            The restriction.

        Raises:
            UsageError: another number of positions than the instance has, or a wrong cell; the message says which.
        """
        bare, alphabet = text.strip(), instance.model.alphabet
        spaced = any(c.isspace() for c in bare) or (len(bare) != instance.n and any(len(s) > 1 for s in alphabet))
        cells = bare.split() if spaced else list(bare)
        if len(cells) != instance.n:
            raise UsageError(f"the restriction {quote(text)} has {len(cells)} positions, not {instance.n}")
        pinned = instance.pinned
        for i, cell in enumerate(cells):
            if (cell == PINNED and i not in pinned and PINNED not in alphabet) or (i in pinned and cell != PINNED):
                raise UsageError(f"position {i} of the restriction is {cell!r}: write '.' exactly at the markers")
        return Restriction.of(instance, {i: c for i, c in enumerate(cells) if c != FREE and i not in pinned})

    def to_json(self) -> list[list[Any]]:
        """The JSON form.

        Returns:
            ``[start, count, symbol]`` runs, in order: one for each change of symbol, not one for each position.
        """
        return value_runs(self.fixed.items())

    @staticmethod
    def from_json(node: Node, n: int, pinned: frozenset[int] = frozenset()) -> Restriction:
        """Read the JSON form.

        Args:
            node: ``[start, count, symbol]`` runs, in order and disjoint.
            n: the length.
            pinned: the marker positions.

        Returns:
            The restriction. Its symbols are not compared with an alphabet.

        Raises:
            ModelError: they are not of this form, or fix a marker; the message begins with the place.
            ResourceLimit: more than ``EXPANDED`` fixed positions.
        """
        spans = read_symbol_spans(node, n)
        check_expansion(sum(count for _, count, _ in spans), node.place)
        fixed = {i: symbol for start, count, symbol in spans for i in range(start, start + count)}
        try:
            return Restriction(n, fixed, pinned)
        except UsageError as error:
            raise ModelError(f"{node.place}: {error}") from None

    def __str__(self) -> str:
        return self.text() if self.n <= 120 else f"{len(self.fixed)} of {self.n} positions fixed"
