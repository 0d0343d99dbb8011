"""The CSV of output weights of a Transformer Program: exact rationals from decimal text.

``feature,value,class,class,...``, one row per feature and value. A number such as ``-7.80402e-05`` is the rational
that it denotes; nothing passes through floating point.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from restrict.errors import ModelError, quote
from restrict.importers.common import source_text

DECIMAL = re.compile(r"[+-]?(\d{1,60}(\.\d{0,60})?|\.\d{1,60})([eE][+-]?\d{1,3})?")


@dataclass(frozen=True)
class OutputWeights:
    """``rows[feature][value]`` is one rational per class; a value with several rows has ``None``."""

    path: Path
    classes: tuple[str, ...]
    rows: dict[str, dict[str, tuple[Fraction, ...] | None]]

    def values(self, feature: str) -> list[str]:
        """The values of a feature. The decompiler fills unused places with rows named ``_``, which are left out."""
        return [
            value for value, row in self.rows.get(feature, {}).items() if row is not None and value not in ("", "_")
        ]

    def row(self, feature: str, value: str | int) -> tuple[Fraction, ...]:
        """The weights of one value of a feature; a missing one means that the program fails there.

        Raises:
            ModelError: the file has no row, or two rows, for this feature and value.
        """
        found = self.rows.get(feature, {}).get(str(value))
        if found is None:
            several = str(value) in self.rows.get(feature, {})
            what = "are several rows" if several else "is no row"
            raise ModelError(f"{self.path}: there {what} for feature {feature}, value {quote(str(value))}")
        return found


def read_weights(path: Path) -> OutputWeights:
    """Read the CSV.

    Raises:
        ModelError: malformed; the message names the file and the line.
    """
    rows: dict[str, dict[str, tuple[Fraction, ...] | None]] = {}
    try:
        lines = list(csv.reader(source_text(path).splitlines(), strict=True))
    except csv.Error as error:
        raise ModelError(f"{path}: not CSV: {error}") from None
    if not lines or lines[0][:2] != ["feature", "value"] or len(lines[0]) < 3:
        raise ModelError(f"{path}:1: expected the header feature,value,CLASS,...")
    classes = tuple(lines[0][2:])
    if len(set(classes)) != len(classes) or not all(classes):
        raise ModelError(f"{path}:1: class names must be distinct and not empty")
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(lines[0]):
            raise ModelError(f"{path}:{number}: {len(line)} fields, not {len(lines[0])}")
        feature, value = line[:2]
        exact = tuple(_exact(text, f"{path}:{number}") for text in line[2:])
        rows.setdefault(feature, {})[value] = None if value in rows.get(feature, {}) else exact
    return OutputWeights(path, classes, rows)


def _exact(text: str, place: str) -> Fraction:
    if not DECIMAL.fullmatch(text.strip()):
        raise ModelError(f"{place}: {quote(text)} is not a decimal number")
    return Fraction(text.strip())
