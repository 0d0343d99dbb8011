"""The CSV files of a Transformer Program: output weights as exact rationals, and the table of embeddings.
``feature,value,class,class,...``, one row per feature and value. A number such as ``-7.80402e-05`` is the rational that
it denotes; nothing passes through floating point."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO
from pathlib import Path

from restrict.base.errors import ModelError, quote
from restrict.importers.common import source_text

NO_VALUE = frozenset((
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null", "",
))  # fmt: skip
"""What ``pandas.read_csv`` takes for a missing value (its documentation, ``na_values``)."""
DECIMAL = re.compile(r"[+-]?(\d{1,60}(\.\d{0,60})?|\.\d{1,60})([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True)
class OutputWeights:
    """``rows[feature][value]`` is one rational per class; a value with several rows has ``None``."""

    path: Path
    classes: tuple[str, ...]
    rows: dict[str, dict[str, tuple[Fraction, ...] | None]]

    def values(self, feature: str) -> list[str]:
        """The values of a feature. The decompiler fills unused places with rows named ``_``, which are left out.
        Result: the values with exactly one row, as texts in the order of the file; none for an unknown feature."""
        return [value for value, row in self.rows.get(feature, {}).items() if row is not None and value != "_"]

    def row(self, feature: str, value: str | int) -> tuple[Fraction, ...]:
        """The weights of one value of a feature, a rational for each class; the program fails at a missing one."""
        found = self.rows.get(feature, {}).get(str(value))
        if found is None:
            several = str(value) in self.rows.get(feature, {})
            what = "are several rows" if several else "is no row"
            raise ModelError(f"{self.path}: there {what} for feature {feature}, value {quote(str(value))}")
        return found


def read_weights(path: Path) -> OutputWeights:
    """Read the CSV. Result: the weights, as exact rationals. Rows of values that pandas reads as missing (``null``) are
    left out: the program fails there."""
    rows: dict[str, dict[str, tuple[Fraction, ...] | None]] = {}
    lines = _lines(path)
    if not lines or lines[0][:2] != ["feature", "value"] or len(lines[0]) < 3:
        raise ModelError(f"{path}:1: expected the header feature,value,CLASS,...")
    classes = tuple(lines[0][2:])
    if len(set(classes)) != len(classes) or not all(classes):
        raise ModelError(f"{path}:1: class names must be distinct and not empty")
    if {"feature", "value"} & {*classes}:  # pandas would rename the second column, and read a feature's as text
        raise ModelError(f"{path}:1: a class cannot be called feature or value")
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(lines[0]):
            raise ModelError(f"{path}:{number}: {len(line)} fields, not {len(lines[0])}")
        feature, value = line[:2]
        exact = tuple(_exact(text, f"{path}:{number}") for text in line[2:])
        if value in NO_VALUE:
            continue
        rows.setdefault(feature, {})[value] = None if value in rows.get(feature, {}) else exact
    return OutputWeights(path, classes, rows)


def read_embeddings(path: Path, columns: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Read the CSV of embeddings: ``word,COLUMN,...``, one row per word, whole numbers in the columns. Result: by
    variable, for each word the member that it has, such as ``Emb0.V07``: the number ``7`` is the member ``V07``. Words
    that pandas reads as a missing value (``NA``, ``null``) are left out: the program fails there."""
    lines = _lines(path)
    header = lines[0] if lines else []
    missing = next(
        (column for column in ("word", *(c for _, c in columns.values())) if header.count(column) != 1), None
    )
    if missing is not None:
        raise ModelError(f"{path}:1: expected one column {quote(missing)} in the header")
    at, places = header.index("word"), {name: header.index(column) for name, (_, column) in columns.items()}
    found: dict[str, dict[str, str]] = {name: {} for name in columns}
    seen: set[str] = set()
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(header):
            raise ModelError(f"{path}:{number}: {len(line)} fields, not {len(header)}")
        word = line[at]
        if word in seen:
            raise ModelError(f"{path}:{number}: the word {quote(word)} has two rows")
        seen.add(word)
        if word in NO_VALUE:
            continue
        for name, place in places.items():
            if not re.fullmatch(r"[0-9]{1,6}", line[place]):
                raise ModelError(f"{path}:{number}: {quote(line[place])} is not the number of an embedding")
            found[name][word] = f"{columns[name][0]}.V{int(line[place]):02}"
    return found


def _lines(path: Path) -> list[list[str]]:
    try:
        return list(csv.reader(StringIO(source_text(path), newline=""), strict=True))
    except csv.Error as error:
        raise ModelError(f"{path}: not CSV: {error}") from None


def _exact(text: str, place: str) -> Fraction:
    if not DECIMAL.fullmatch(text.strip()):
        raise ModelError(f"{place}: {quote(text)} is not a decimal number")
    return Fraction(text.strip())
