"""What every public function asks of its arguments: one check each, with one message.

A refused argument is a :class:`restrict.errors.UsageError` (exit 2) that says what was given and what is possible.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from restrict.errors import UsageError, quote
from restrict.model.program import Model

SEEDS = 2**63
"""Seeds are below this."""


def the_model(given: Any) -> Model:
    """The model of a call.

    Raises:
        UsageError: something else, such as a file name, was given.
    """
    if isinstance(given, Model):
        return given
    advice = f"; use restrict.load({quote(given)})" if isinstance(given, str) else ""
    raise UsageError(f"expected a Model first, not {quote(given)}{advice}")


def the_integer(name: str, given: Any, least: int = 0, below: int | None = None) -> int:
    """An integer ``least <= given < below``.

    Raises:
        UsageError: another type, or out of range.
    """
    try:
        number = None if isinstance(given, bool) else given.__index__()
    except AttributeError:
        number = None
    if number is None or number < least or (below is not None and number >= below):
        limit = "" if below is None else f" and below {'2^63' if below == SEEDS else below}"
        raise UsageError(f"{name} = {quote(given)} must be an integer of at least {least}{limit}")
    return int(number)


def the_seed(given: Any) -> int:
    """A seed, ``0 .. 2^63 - 1``.

    Raises:
        UsageError: it is none.
    """
    return the_integer("seed", given, 0, SEEDS)


def seconds(given: Any) -> float:
    """A number of seconds, at least 0; at most thirty years, since the clock's arithmetic does not take infinity.

    Raises:
        UsageError: it is none.
    """
    try:
        found = float(given)
    except (TypeError, ValueError, OverflowError):
        found = -1.0
    if not found >= 0:
        raise UsageError(f"time = {quote(given)} must be a number of seconds, at least 0")
    return min(found, 1e9)


def the_time(given: Any) -> float | None:
    """Seconds, at least 0, or ``None`` for no limit.

    Raises:
        UsageError: it is neither.
    """
    return None if given is None else seconds(given)


def as_written(given: float | str | Fraction) -> Fraction:
    """A fraction as it was written: ``0.9`` is nine tenths, not the nearest binary number.

    Raises:
        UsageError: it is no finite number, or one beyond 10^1000.
    """
    if isinstance(given, Fraction):
        return given
    try:
        number = Decimal(str(given))
        if number.is_finite() and abs(number.adjusted()) <= 1000 and len(number.as_tuple().digits) <= 1000:
            return Fraction(number)
    except InvalidOperation:
        pass
    raise UsageError(f"{quote(given)} is not a number")


def the_share(name: str, given: Any) -> Fraction:
    """A fraction in ``[0, 1]``, exactly as written.

    Raises:
        UsageError: it is none.
    """
    share = as_written(given)
    if not 0 <= share <= 1:
        raise UsageError(f"{name} = {quote(given)} must be between 0 and 1")
    return share


def least_free(positions: int, share: float | str | Fraction) -> int:
    """How many of so many positions without a marker a free fraction asks for: rounded up, exactly."""
    return math.ceil(as_written(share) * positions)
