"""Checks of arguments that all public functions share: one check for each kind of argument, with one message. A refused
argument is a :class:`restrict.base.errors.UsageError` (exit 2) that says what was given and what is possible."""

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from restrict.base.deadline import seconds
from restrict.base.errors import UsageError, quote
from restrict.model.program import Instance, Model

SEEDS = 2**63
"""Seeds are below this."""


def the_model(given: Any) -> Model:
    """The model of a call; anything else is refused."""
    if isinstance(given, Model):
        return given
    advice = f"; use restrict.load({quote(given)})" if isinstance(given, str) else ""
    raise UsageError(f"expected a Model first, not {quote(given)}{advice}")


def the_instance(given: Any) -> Instance:
    """The instance of a call; anything else is refused."""
    if isinstance(given, Instance):
        return given
    raise UsageError(f"expected an Instance first, such as model.at(n), not {quote(given)}")


def the_integer(name: str, given: Any, least: int = 0, below: int | None = None) -> int:
    """An integer in a range. ``given``: anything; integers of numpy are taken, Booleans are not. ``below``: all values
    allowed are below it; ``None``: no upper limit. Gives a Python integer, ``least <= given < below``."""
    try:
        number = None if isinstance(given, bool) else given.__index__()
    except AttributeError:
        number = None
    if number is None or number < least or (below is not None and number >= below):
        limit = "" if below is None else f" and below {'2^63' if below == SEEDS else below}"
        raise UsageError(f"{name} = {quote(given)} must be an integer of at least {least}{limit}")
    return int(number)


def the_seed(given: Any) -> int:
    """The seed of a call, 0 .. 2^63 - 1; anything else is refused."""
    return the_integer("seed", given, 0, SEEDS)


def the_time(given: Any) -> float | None:
    """A time limit. ``given``: a number of seconds, or ``None``. Gives seconds, 0 .. 10^9, or ``None`` for no limit."""
    return None if given is None else seconds(given)


def as_written(given: float | str | Fraction) -> Fraction:
    """A fraction as it was written: ``0.9`` is nine tenths, not the nearest binary number. ``given``: a fraction, or a
    decimal number or its text: at most 1000 digits, with an exponent in -1000 .. 1000. Gives the fraction (exact)."""
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
    """A share of a whole, exactly as written. Gives a fraction in ``[0, 1]`` (exact)."""
    share = as_written(given)
    if not 0 <= share <= 1:
        raise UsageError(f"{name} = {quote(given)} must be between 0 and 1")
    return share


def least_free(positions: int, share: float | str | Fraction) -> int:
    """The free positions that a fraction of ``positions`` (without markers) asks for: ``ceil(share * positions)``,
    exact."""
    return math.ceil(as_written(share) * positions)


def check_wish(c: int | None, free: float | Fraction | None) -> None:
    """Refuse (``UsageError``) a bad bound on the dependencies, a bad free fraction, and both together."""
    if c is not None:
        the_integer("c", c)
    if free is not None:
        the_share("free", free)
    if c is not None and free is not None:
        raise UsageError("give c or free, not both: c bounds the dependencies, free the free positions")
