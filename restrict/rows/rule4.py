"""Rule 4 of docs/kernel.md for one row whose candidates are known: the values that the head may show there, R(u)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from restrict.base.arrays import I64
from restrict.model.program import MAX_N, Head, Instance


class TooMany(Exception):
    """The head may show more values than are wanted."""


def shown(
    instance: Instance, head: Head, i: int, u: int, places: I64, keys: I64, values: Callable[[str, int], Sequence[int]],
    most: int = MAX_N,
) -> set[int]:  # fmt: skip
    """What the candidates of a row may show: those at ``places`` (each once), with the key values ``keys``. ``values``
    gives V of a node. Positions are gone through until all values of the domain are found. :class:`TooMany` where there
    are more than ``most``, known before they are listed."""
    if head.value == instance.key(head):
        return _listed(np.unique(keys), most)
    found = set[int]()
    if head.value == instance.query(head) and i in places:
        found.add(u)
        places = places[places != i]
    if head.value == "position":
        return found | _listed(places, most)
    everything = instance.domains[head.value]
    for p in places.tolist():
        found.update(values(head.value, p))
        if len(found) == everything:
            break
    return found


def _listed(values: I64, most: int) -> set[int]:
    if len(values) > most:
        raise TooMany
    return set(values.tolist())
