"""Tables of integers, as proofs for all lengths have them."""

from __future__ import annotations

from typing import Any

from .account import Meter, Place, malformed
from .read import integers, listing


def rows(value: Any, place: Place, count: int, width: int, least: int, most: int, meter: Meter) -> list[list[int]]:
    """``count`` lists of ``width`` integers in ``least .. most - 1``; a short row takes as long as many numbers."""
    if len(listing(value, place)) != count:
        malformed(place, f"expected {count} rows", len(value))
    meter.charge(5 * count)
    read = integers(least, most - 1)
    for index, row in enumerate(value):
        if len(read(row, place.item(index))) != width:
            malformed(place.item(index), f"expected {width} integers", len(row))
    return list(value)


def row(value: Any, place: Place, count: int, most: int) -> list[int]:
    """A list of ``count`` integers in ``0 .. most - 1``."""
    if len(integers(0, most - 1)(value, place)) != count:
        malformed(place, f"expected {count} integers", len(value))
    return list(value)
