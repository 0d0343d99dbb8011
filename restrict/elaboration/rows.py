"""The rows that a proof shares: their bars, and the positions that have to be listed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from restrict.abstract.rows import CONSTANT, Row, Values
from restrict.arrays import I64
from restrict.model.program import Head, Instance


@dataclass
class Rows:
    """Rows by head, position and query value, each with the least floor of the contexts that use it."""

    bars: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)

    def use(self, head: Head, i: int, u: int, least: int, witness: int) -> None:
        """A context has this floor in a row.

        Args:
            head: the head.
            i: its position.
            u: the query's value, 0 where it has none.
            least: the floor's score.
            witness: the floor's position.
        """
        sign = -1 if head.ties == "left" else 1
        old = self.bars.get((head.name, i, u))
        if old is None or (least, sign * witness) < (old[0], sign * old[1]):
            self.bars[head.name, i, u] = least, witness


def listed(instance: Instance, head: Head, i: int, u: int, bar: tuple[int, int]) -> I64:
    """The positions where the key can have a value whose pair is at or above the bar, whatever the word is.

    Cost: one scan of the row. The floor of the row without any restriction is not above the bar, so the scan, which
    may drop what is below its own floor, finds them all.

    Args:
        instance: the model at its length.
        head: the head.
        i: its position.
        u: the query's value, 0 where it has none.
        bar: score and position, a floor of this row under some box.

    Returns:
        The positions, ascending.

    Raises:
        ResourceLimit: the row has too many pairs.
    """
    row, key = Row(instance, head, i, u), instance.key(head)
    row.own = (-1, -1)
    j, _, s = row.scored(_unrestricted(instance, key), bar[0])
    reaches = (s > bar[0]) | (j <= bar[1] if head.ties == "left" else j >= bar[1])
    return np.unique(j[reaches])


def _unrestricted(instance: Instance, key: str | None) -> Values:
    """The values of a key of which nothing is known."""
    if key is None:
        return CONSTANT
    if key == "position":
        order = np.arange(instance.n, dtype=np.int64)
        return Values(1, order, np.arange(instance.n + 1, dtype=np.int64), order)
    if key == "token":
        return Values.make(len(instance.model.alphabet), {i: (value,) for i, value in instance.pinned.items()})
    return Values.make(instance.domains[key], {})
