"""A small Boolean table as a readable expression of docs/format.md: a short sum of products (after Minato 1992,
here with one many-valued variable, the token)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.bool_]
Product = dict[int, tuple[int, ...]]
"""Axis to the values that it may take."""
MAX_TERMS, MAX_VALUES = 12, 12


def expression(table: Bits, args: list[str]) -> str | dict[str, Any]:
    """A map that is 1 exactly where a table holds (bool, an axis of size 2 per argument, or of all symbols for
    ``token``): the text of an expression, or a ``table`` of docs/format.md where that would be long."""
    if not args:
        return str(int(table))
    plain, negated = products(table), products(~table)
    chosen = negated if len(negated) < len(plain) else plain
    if len(chosen) > MAX_TERMS:
        return {"table": {"axes": args, "values": table.astype(int).tolist()}}
    parts = [[_literal(args[axis], table.shape[axis], values) for axis, values in sorted(p.items())] for p in chosen]
    if any(literal is None for part in parts for literal in part):
        return {"table": {"axes": args, "values": table.astype(int).tolist()}}
    text = " or ".join(" and ".join(str(literal) for literal in part) for part in parts)
    return f"not ({text})" if chosen is negated else text


def _literal(name: str, size: int, values: tuple[int, ...]) -> str | None:
    """``name`` is one of ``values``; ``None`` where that would be long."""
    if name != "token":
        return name if values == (1,) else f"not {name}"
    few = values if 2 * len(values) <= size else tuple(sorted(set(range(size)) - set(values)))
    if len(few) > MAX_VALUES:
        return None
    sign, joint = ("==", " or ") if few is values else ("!=", " and ")
    tests = joint.join(f"token {sign} {value}" for value in few)
    return f"({tests})" if len(few) > 1 else tests


def products(table: Bits) -> list[Product]:
    """Few products, not always the fewest, whose union is the set ``table``. After Minato (1992)."""
    return _cover(table, table, 0)[0]


def _cover(low: Bits, high: Bits, axis: int) -> tuple[list[Product], Bits]:
    """Products over the axes from ``axis``, the arrays' first, on, their union between ``low`` and ``high``."""
    if not low.any():
        return [], np.zeros_like(low)
    if high.all():
        return [{}], np.ones_like(low)
    groups: dict[bytes, list[int]] = {}
    for value in range(len(low)):
        groups.setdefault(low[value].tobytes() + high[value].tobytes(), []).append(value)
    shared = high.all(axis=0)
    out: list[Product] = []
    union = np.zeros_like(low)
    for values in groups.values():
        part, covered = _cover(np.asarray(low[values[0]] & ~shared), high[values[0]], axis + 1)
        if len(groups) > 1:
            part = [{axis: tuple(values)} | p for p in part]
        out += part
        union[values] = covered
    rest, covered = _cover(np.asarray((low & ~union).any(axis=0)), np.asarray(shared), axis + 1)
    return out + rest, union | covered
