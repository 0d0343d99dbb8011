"""Images of maps that are too wide to tabulate: points instead of tables, and when to abstain. A map with many
arguments has more combinations than can be looked at. The rules of the abstract run need only the image of the product
of the arguments' current values, and that product is small once the arguments are forced. Where it is not, the run
*abstains*: V is the whole domain, which is what an unexamined node has, so a node that was abstained on is simply left
out of a certificate's cone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

import numpy as np

from restrict.base.arrays import I64
from restrict.force.options import OPTIONS
from restrict.model.program import Instance, Map


def whole(domain: int) -> Sequence[int]:
    """All values of a domain. A large one is a range: it may have 10^12 values, which no memory holds."""
    return tuple(range(domain)) if domain <= OPTIONS.spelt else range(domain)


def covers(allowed: frozenset[int], values: Collection[int]) -> bool:
    """Whether all values are allowed (both distinct, 0..domain - 1); mostly the sizes of the two sets decide."""
    return len(values) <= len(allowed) and allowed.issuperset(values)


def meet(allowed: frozenset[int], values: Collection[int]) -> frozenset[int]:
    """The allowed values among some. A range is asked, never gone through."""
    if isinstance(values, range):
        return frozenset(v for v in allowed if v in values)
    return allowed.intersection(values)


def apart(allowed: frozenset[int], values: Collection[int]) -> bool:
    """Whether none of the values is allowed; a range is asked, never gone through."""
    if isinstance(values, range):
        return not any(v in values for v in allowed)
    return allowed.isdisjoint(values)


def rest_of(values: Collection[int], bad: Collection[int]) -> frozenset[int]:
    """The values that are not bad; none where there are too many to be listed, so that nothing is asked of them."""
    return frozenset(values).difference(bad) if len(values) <= OPTIONS.rest else frozenset()


def mask_of(values: Collection[int]) -> int:
    """A set of distinct values as a mask."""
    return sum(1 << v for v in values)


def combinations(sets: Sequence[Sequence[int]]) -> int:
    """The size of a product of value sets."""
    return prod(map(len, sets))


def is_wide(instance: Instance) -> bool:
    """Whether some map has more combinations of argument values than ``image``."""
    maps = (v for v in instance.model.variables if isinstance(v, Map))
    return any(prod(instance.domains[a] for a in v.args) > OPTIONS.image for v in maps)


def box_points(sets: Sequence[Sequence[int] | I64]) -> I64:
    """All points of a box, shape (points, axes), the last axis fastest."""
    if not sets:
        return np.zeros((1, 0), dtype=np.int64)
    grids = np.meshgrid(*(np.asarray(s, dtype=np.int64) for s in sets), indexing="ij")
    return np.stack([g.reshape(-1) for g in grids], axis=-1)
