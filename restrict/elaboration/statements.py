"""What is stated about a node, with the hints that the kernel needs."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

NODE = 200
"""Steps of the account for a node: a tenth of a millisecond."""
COMBINATIONS = 1 << 24
"""Of a map's arguments at a node; the present checker does not take more, either."""
LARGE = 1 << 20
"""A set of more values is not written down: nothing is stated about the node."""

Depends = int | None
"""Positions as bits; ``None``: all positions."""


class Group(NamedTuple):
    """For one value of the query: the witness, its least score, and the one value that is shown, or -1."""

    u: int
    witness: int
    least: int
    only: int


class Statement(NamedTuple):
    """A fact: the values of a node and the positions that it depends on; a head has groups, a map ``None``."""

    name: str
    i: int
    values: tuple[int, ...]
    depends: Depends
    groups: tuple[Group, ...] | None = None


def joined(parts: Sequence[Depends]) -> Depends:
    """The union of positions as bits; ``None``, which stands for all of them, where one part is that."""
    return None if None in parts else reduce(or_, (part for part in parts if part is not None), 0)
