"""What elaboration may cost, from the numbers in a claim alone: it is refused before it starts."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from restrict.checker.formats import Certificate, Cone, Head, Map, Model
from restrict.checker.kernel import visible
from restrict.checker.kernel1.claims import Claim
from restrict.checker.lower_bound import Bound
from restrict.checker.read import runs_of
from restrict.checker.refutation import Refutation
from restrict.errors import ResourceLimit

LENGTH = 1 << 24
"""Longer words are not elaborated: the arrays of all positions are too large."""
PAIRS = 50
"""Pairs that the compiled scans score in the time of one step of the checker."""
NODE = 4000
"""A node, in pairs: what is done in Python for each."""
CELL = 100
"""A position with a symbol of its own, for each case or box, in pairs."""


def affordable(claim: Claim, limit: int) -> None:
    """Refuse what might take longer than the checker's own limit allows; reads every case.

    Args:
        claim: the user's file, read.
        limit: steps of the checker, each about half a microsecond.

    Raises:
        ResourceLimit: words, rows, cases or boxes are too long or too many.
    """
    certified = claim.certificate if isinstance(claim, Refutation) else claim
    if certified.n > LENGTH:
        raise ResourceLimit(f"elaboration is for at most {LENGTH} positions")
    cones, cells = (_boxes if isinstance(certified, Bound) else _cases)(certified)  # type: ignore[operator]
    left, seen = PAIRS * limit, dict[int, int]()
    for cone in cones:
        if id(cone) not in seen:
            seen[id(cone)] = cost_of(certified.model, cone)
        left -= NODE + seen[id(cone)] + CELL * cells + certified.n // 8
        if left < 0:
            raise ResourceLimit(f"elaboration might take more than {PAIRS} pairs for each of {limit} steps")


def _boxes(bound: Bound) -> tuple[Iterator[Cone], int]:
    return (box.cone for box in bound.boxes), max((len(box.symbols) for box in bound.boxes), default=0)


def _cases(certificate: Certificate) -> tuple[Iterator[Cone], int]:
    fixed = sum(stop - start for start, stop in runs_of(certificate.fixed.bounds))
    return (cone for _, cone in certificate.leaves()), fixed


def cost_of(model: Model, cone: Cone) -> int:
    """What the nodes of a cone may cost, in pairs.

    Args:
        model: the model as the checker has it.
        cone: the nodes, as runs of positions by variable.

    Returns:
        An upper bound for what is done once for a node, with whole domains in place of what will be known.
    """
    found = 0
    for variable in model.variables:
        for start, stop in runs_of(cone.get(variable.name, ())):
            found += (stop - start) * NODE
            if isinstance(variable, Map):
                found += (stop - start) * prod(_values(model, arg) for arg in variable.args)
            else:
                found += _rows(model, variable, start, stop)
    return found


def _rows(model: Model, head: Head, start: int, stop: int) -> int:
    """The pairs of a head's rows at some positions; what is shown is looked up position by position."""
    seen = sum(max(0, high - low) for low, high in (visible(head.mask, i, model.n) for i in (start, stop - 1)))
    each = _values(model, head.key) + (0 if head.value == head.key else CELL)
    return seen * (stop - start) // 2 * _values(model, head.query) * each


def _values(model: Model, name: str | None) -> int:
    """How many values a variable may have at one position."""
    return 1 if name in (None, "position") else model.domains[str(name)]
