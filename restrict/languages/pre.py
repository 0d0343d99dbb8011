"""Pre-restrictions as text: what is fixed before forcing costs are asked for (Hahn 2020, Corollary 2)."""

import re
from collections.abc import Sequence

from restrict.base.errors import UsageError, quote
from restrict.base.wording import symbols_of
from restrict.languages.dyck import Dyck
from restrict.languages.protocol import Language
from restrict.languages.shuffle import ShuffleDyck
from restrict.model.restriction import FREE, Restriction

SHARE = 20
"""Percent at either end that Corollary 2 fixes for Dyck."""


def corollary2(language: Language, n: int) -> Restriction:
    """The pre-restriction of Corollary 2: the first 20 % openers and the last 20 % closers, of the first type.

    Source: Hahn 2020, Corollary 2. Each share is rounded down. ``n``: the length of the words in symbols, without
    markers, at least 0. Result: the restriction of length ``n``, without markers."""
    if not isinstance(language, Dyck | ShuffleDyck) and not language.spec.startswith(("dyck:", "dyck[")):
        raise UsageError(f"the pre-restriction of Corollary 2 is for Dyck languages, not for {language.name}")
    opener, closer, share = language.alphabet[0], language.alphabet[1], n * SHARE // 100
    return Restriction(n, {**dict.fromkeys(range(share), opener), **dict.fromkeys(range(n - share, n), closer)})


def read_pre(language: Language, n: int, items: Sequence[str]) -> Restriction | None:
    """The restriction that ``--pre`` items describe together; ``None`` without any.

    An item is ``corollary2``, ``first=K:SYMBOL`` or ``last=K:SYMBOL`` (``K`` a number or a percentage of ``n``),
    ``I:SYMBOL`` or ``I-J:SYMBOL`` (positions from 0, both included), or a whole pattern such as ``((**))`` (symbols of
    several characters separated by spaces). ``n``: the length of the words in symbols, without markers. Result: the
    restriction of length ``n``, without markers, or ``None``."""
    if not items:
        return None
    whole = Restriction(n)
    for item in items:
        whole = whole | _item(language, n, item)
    return whole


def _item(language: Language, n: int, item: str) -> Restriction:
    if item == "corollary2":
        return corollary2(language, n)
    end = re.fullmatch(r"(first|last)=([0-9]{1,9})(%?):(.+)", item)
    span = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?:(.+)", item)
    if end:
        side, number, percent, symbol = end.groups()
        count = int(number) * n // 100 if percent else int(number)
        if count > n:
            raise UsageError(f"--pre {quote(item)}: {count} positions are more than the length {n}")
        where = range(count) if side == "first" else range(n - count, n)
        return Restriction(n, dict.fromkeys(where, _symbol(language, symbol, item)))
    if span:
        low, high = int(span[1]), int(span[2] or span[1])
        if not low <= high < n:
            raise UsageError(f"--pre {quote(item)}: the positions leave 0..{n - 1}")
        return Restriction(n, dict.fromkeys(range(low, high + 1), _symbol(language, span[3], item)))
    cells = symbols_of(item)
    if len(cells) != n:
        raise UsageError(
            f"--pre {quote(item)} is neither corollary2, first=K:S, last=K:S, I:S, I-J:S nor a pattern of {n} cells "
            f"(it has {len(cells)})"
        )
    return Restriction(n, {i: _symbol(language, s, item) for i, s in enumerate(cells) if s != FREE})


def _symbol(language: Language, symbol: str, item: str) -> str:
    if symbol not in language.alphabet:
        raise UsageError(
            f"--pre {quote(item)}: {quote(symbol)} is not in the alphabet {' '.join(language.alphabet)[:60]}"
        )
    return symbol
