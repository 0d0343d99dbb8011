"""The usual alphabet of brackets, for models and for the Dyck languages."""

from __future__ import annotations

from restrict.errors import UsageError

PLAIN = ("()", "[]", "{}", "<>")
MAX_TYPES = 64


def brackets(k: int) -> tuple[str, ...]:
    """The alphabet of ``k`` types of bracket: ``( ) [ ] { } < >``, then ``(5 )5`` and so on.

    Args:
        k: 1 to 64.

    Returns:
        2k symbols: each opener, then its closer.

    Raises:
        UsageError: another ``k``.
    """
    if not 1 <= k <= MAX_TYPES:
        raise UsageError(f"the number of bracket types must be 1 to 64, not {k}")
    pairs = [tuple(PLAIN[t]) if t < len(PLAIN) else (f"({t + 1}", f"){t + 1}") for t in range(k)]
    return tuple(s for pair in pairs for s in pair)
