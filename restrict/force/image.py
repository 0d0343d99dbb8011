"""Images of maps that are too wide to tabulate: points instead of tables, and when to abstain.

A map with many arguments has more combinations than can be looked at. The rules of the abstract run need only the
image of the product of the arguments' current values, and that product is small once the arguments are forced. Where
it is not, the run *abstains*: V is the whole domain, which is what an unexamined node has, so a node that was abstained
on is simply left out of a certificate's cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from restrict.arrays import I64
from restrict.model.program import Instance, Map

MAX_IMAGE = 2**16
"""An image is computed where there are at most this many combinations of argument values."""


def combinations(sets: Sequence[Sequence[int]]) -> int:
    """The size of a product of value sets."""
    return prod(map(len, sets))


def is_wide(instance: Instance) -> bool:
    """Whether some map has more combinations of argument values than ``MAX_IMAGE``."""
    maps = (v for v in instance.model.variables if isinstance(v, Map))
    return any(prod(instance.domains[a] for a in v.args) > MAX_IMAGE for v in maps)


def image(instance: Instance, variable: Map, i: int, sets: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The values of a map on a box, sorted; the whole domain where the box has more than ``MAX_IMAGE`` points."""
    if combinations(sets) > MAX_IMAGE:
        return tuple(range(instance.domains[variable.name]))
    return tuple(np.unique(instance.map_values(variable, i, sets)).tolist())


def box_points(sets: Sequence[Sequence[int] | I64]) -> I64:
    """All points of a box, shape (points, axes), the last axis fastest."""
    if not sets:
        return np.zeros((1, 0), dtype=np.int64)
    grids = np.meshgrid(*(np.asarray(s, dtype=np.int64) for s in sets), indexing="ij")
    return np.stack([g.reshape(-1) for g in grids], axis=-1)
