"""Walks through automata: what a start reaches, breadth first or cheapest first, and a shortest word to a place."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from restrict.base.errors import ResourceLimit

T = TypeVar("T")
Letter = TypeVar("Letter")
Steps = dict[T, tuple[T, int] | None]
"""What was met, in order: from where it was met first, and by which letter."""


def breadth_first(
    start: T, after: Callable[[T], Iterable[T | None]], limit: int | None = None, refusal: str = ""
) -> Steps[T]:
    """All that a start reaches; ``after``: what follows each letter, or ``None``; refused beyond ``limit`` places."""
    found: Steps[T] = {start: None}
    order = [start]
    for here in order:
        for x, to in enumerate(after(here)):
            if to is not None and to not in found:
                found[to] = (here, x)
                order.append(to)
        if limit is not None and len(order) > limit:
            raise ResourceLimit(refusal)
    return found


def letters_to(found: Steps[T], place: T) -> list[int]:
    """The letters that lead to a place."""
    out: list[int] = []
    while (step := found[place]) is not None:
        place, x = step
        out.append(x)
    return out[::-1]


def cheapest_first(
    start: T, moves: Callable[[T], Iterable[tuple[T, int, Letter]]], came: dict[T, tuple[T, Letter]] | None = None
) -> Iterator[tuple[T, int]]:
    """The places that a start reaches with their least costs, cheapest first. ``moves``: where a place leads, at the
    cost 0 or 1, by which letter; ``came`` gets the last step of a cheapest way to each."""
    cost, queue, done = {start: 0}, deque([start]), set[T]()
    while queue:
        here = queue.popleft()
        if here in done:
            continue
        done.add(here)
        yield here, cost[here]
        for to, price, letter in moves(here):
            if to not in cost or cost[here] + price < cost[to]:
                cost[to] = cost[here] + price
                if came is not None:
                    came[to] = (here, letter)
                (queue.append if price else queue.appendleft)(to)


def least_period(cycle: list[Any]) -> int:
    """The least divisor of the length of a list that is a period of it."""
    size = len(cycle)
    return next(p for p in range(1, size + 1) if size % p == 0 and cycle == cycle[:p] * (size // p))


def until_repeat(start: T, after: Callable[[T], T], limit: int, refusal: str) -> tuple[list[T], int]:
    """The places that follow each other until one comes again, and the number of that one; refused beyond ``limit``."""
    seen: dict[T, int] = {}
    while start not in seen:
        if len(seen) > limit:
            raise ResourceLimit(refusal)
        seen[start] = len(seen)
        start = after(start)
    return list(seen), seen[start]
