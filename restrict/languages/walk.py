"""Walks through automata: what a start reaches, breadth first, and a shortest word that leads there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from restrict.base.errors import ResourceLimit

T = TypeVar("T")
Steps = dict[T, tuple[T, int] | None]
"""What was met, in order: from where it was met first, and by which letter."""


def breadth_first(start: T, after: Callable[[T], Iterable[T | None]], limit: int | None = None) -> Steps[T]:
    """All that a start reaches; ``after``: what follows each letter, or ``None``; refused beyond ``limit`` places."""
    found: Steps[T] = {start: None}
    order = [start]
    for here in order:
        for x, to in enumerate(after(here)):
            if to is not None and to not in found:
                found[to] = (here, x)
                order.append(to)
        if limit is not None and len(order) > limit:
            raise ResourceLimit(f"two automata have more than {limit} pairs of states")
    return found


def letters_to(found: Steps[T], place: T) -> list[int]:
    """The letters that lead to a place."""
    out: list[int] = []
    while (step := found[place]) is not None:
        place, x = step
        out.append(x)
    return out[::-1]
