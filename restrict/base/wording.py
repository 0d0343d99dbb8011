"""Words that depend on a number ("1 node", "2 nodes") and tables. Every line that counts something is worded here.
Imports nothing of the package, so that any module can use it."""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

SIBILANTS = ("s", "x", "ch", "sh")
"""Endings that take ``es`` in the plural."""


DISTRIBUTION = "restrict-attention"
"""The name in the package index, where ``restrict`` is another project; package and command are ``restrict``."""


def install(extra: str) -> str:
    """The commands that install an extra. Cost: O(1). ``extra``: its name in pyproject.toml, such as ``sweep``. Gives
    the command for a clone, and the one for what was installed from the package index."""
    return f'pip install -e ".[{extra}]" in a clone, or pip install "{DISTRIBUTION}[{extra}]"'


def several(noun: str) -> str:
    """The plural of a noun, or of words that end in one: "free positions", "boxes", "entries". Cost: O(1). ``noun``:
    the singular; its last word is the one that changes."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(SIBILANTS) else "s")


def counted(count: int, noun: str) -> str:
    """A number with what it counts: "1 node", "0 nodes", "2 nodes". Cost: O(1). ``count``: the number, at least 0."""
    return f"{count} {noun if count == 1 else several(noun)}"


def doing(count: int, noun: str, verb: str) -> str:
    """A number with what it counts and a verb: "1 position forces", "2 positions force"."""
    return f"{counted(count, noun)} {several(verb) if count == 1 else verb}"


def percent(part: int, whole: int) -> str:
    """A share in percent, without the sign: four digits, more where these say 100 of less than all. Cost: O(1).
    ``part``, ``whole``: of what, ``whole`` positive. Gives the number; ``0`` and ``100`` mean none and all."""
    texts = (f"{100 * part / whole:.{digits}g}" for digits in range(4, 17))
    return next(text for text in texts if text != "100" or part == whole)


def at_most(x: float, digits: int = 4) -> str:
    """An upper bound with few digits, not below it. Cost: O(1). ``x``: the bound; infinity and NaN keep their names."""
    return _rounded(x, digits, "ROUND_CEILING")


def at_least(x: float, digits: int = 4) -> str:
    """A lower bound with few digits, not above it. Cost: O(1). ``x``: the bound; infinity and NaN keep their names."""
    return _rounded(x, digits, "ROUND_FLOOR")


def _rounded(x: float, digits: int, way: str) -> str:
    from decimal import Context, Decimal  # the command line starts without it

    if not math.isfinite(x):
        return f"{x:g}"
    return f"{float(Context(prec=digits, rounding=way).plus(Decimal(repr(float(x))))):.{digits}g}"


def fixed_spans(spans: Sequence[Sequence[Any]], most: int = 12) -> str:
    """Fixed positions in words: ``3-5:0 9:1``, the first ``most`` of the runs (start, count, symbol). ``spans``: the
    runs, in order; ``none`` is said where there is none."""
    parts = [
        f"{start}:{symbol}" if count == 1 else f"{start}-{start + count - 1}:{symbol}"
        for start, count, symbol in spans[:most]
    ]
    more = f" ... ({len(spans) - most} more)" if len(spans) > most else ""
    return " ".join(parts) + more if parts else "none"


def joiner(word: Iterable[str]) -> str:
    """What stands between the symbols of a word: a space where one has several characters. Cost: linear in the word."""
    return "" if all(len(symbol) == 1 for symbol in word) else " "


def joined(word: Collection[str]) -> str:
    """A word as text. Cost: linear in the word."""
    return joiner(word).join(word)


def spoken(word: Collection[str]) -> str:
    """A word as text; the empty word is named. Cost: linear in the word."""
    return joined(word) or "the empty word"


def checked_line(line: str | None, why: str, checker: str = "the trusted checker") -> str:
    """What is printed below a result: a checker's line, or why it has not been asked. Cost: O(1)."""
    return f"  {'not yet ' if line is None else ''}checked by {checker}: {why if line is None else line}"


def columns(rows: Sequence[Sequence[str]], *, right: bool = False, indent: str = "") -> str:
    """A table, columns two spaces apart; the first row may be the head. O(cells)."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    align = str.rjust if right else str.ljust
    return "\n".join((indent + "  ".join(map(align, row, widths))).rstrip() for row in rows)


def symbols_of(text: str, alphabet: Collection[str] = ()) -> list[str]:
    """A text in symbols: cut at white space, or into characters where it has none and is not itself a symbol."""
    return text.split() if text in alphabet or any(c.isspace() for c in text.strip()) else list(text.strip())


def parts(thing: object, names: str) -> dict[str, Any]:
    """Some attributes by their names, which spaces separate, for JSON; tuples as lists."""
    found = {name: getattr(thing, name) for name in names.split()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}
