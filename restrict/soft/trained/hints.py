"""Hints as a certificate of a verdict holds them: bases, and cases with their bounds, trees and bases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from restrict.soft.trained.atoms import Basis
from restrict.soft.trained.axes import turn_document
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import Case, Layered


def basis_document(bases: list[Basis]) -> list[dict[str, Any]]:
    """A basis as a certificate holds it: an object for each head."""
    return [{"centre": basis.centre, "rows": basis.rows} for basis in bases]


def bases_document(turns: list[list[Basis]], cases: list[Case]) -> tuple[dict[str, Any], dict[int, int]]:
    """The bases that cases are in, as a certificate holds them, and the place of each there."""
    used = sorted({case.basis for case in cases} or {0})
    made = [basis_document(turns[number]) for number in used]
    found: dict[str, Any] = {"basis": made[0]} | ({"turned": made[1:]} if len(used) > 1 else {})
    return found, {number: place for place, number in enumerate(used)}


def cases_document(cases: Iterable[Case], numbers: dict[int, int]) -> list[list[Any]]:
    """Decided cases as a certificate holds them. ``numbers``: as :func:`bases_document` gives them. A case with the
    hints of the last one of its symbol and state has none of its own."""
    made, said = list[list[Any]](), dict[tuple[int, int], list[Any]]()
    for case in cases:
        entry, group = case_document(case, numbers[case.basis]), case.key[1:]
        made.append(entry[:3] if said.get(group) == entry[3:] else entry)
        said[group] = entry[3:]
    return made


def case_document(case: Case, basis: int) -> list[Any]:
    """A decided case as a certificate holds it: ``[i, a, q, upper, width]``, then the tree of cells, the number of its
    basis in the certificate, and bounds on what neurons read, without what is 0 or empty at the end."""
    last = [case.tree, basis, case.held]
    while last and last[-1] in (0, []):
        last.pop()
    return [*case.key, case.upper, case.width, *last]


def layered_document(
    cases: Iterable[Case], numbers: dict[int, int], turns: list[tuple[Array, Array]], frames: list[list[Basis]]
) -> dict[str, Any]:
    """What a certificate says of decided cases of two layers: ``turn``, the directions of keys and values; ``second``,
    those of the second layer's bases (``frames``) that are used; and ``cases``: ``[i, a, q, upper, width, tree, basis,
    second, leaves]``. ``numbers``: as :func:`bases_document` gives them."""
    layered = [case for case in cases if isinstance(case, Layered)]
    if not layered:
        return {"second": [], "cases": []}
    used = sorted({case.second for case in layered})
    place = {number: at for at, number in enumerate(used)}
    lines = [[*case.key, case.upper, case.width, case.tree, numbers[case.basis], place[case.second], case.leaves]
             for case in layered]  # fmt: skip
    second = [basis_document(frames[number]) for number in used]
    return {"turn": turn_document(turns), "second": second, "cases": lines}
