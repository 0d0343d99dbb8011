"""How far the output can move while some tokens are fixed: the certified bound behind soft restrictions. The output's
set from :mod:`.values` holds every completion at once; its extent bounds how far apart any two of them are, in each
label's probability or in the differences of logits."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from restrict.base.errors import UsageError, quote
from restrict.soft.bounds.enclosure import Enclosure, above, gamma, linear, norms
from restrict.soft.bounds.parts import Parts
from restrict.soft.bounds.values import allowed_tokens, run_values
from restrict.soft.models.model import SoftModel
from restrict.soft.restriction.claim import Quantity


def movement(parts: Parts, y: Enclosure, quantity: Quantity) -> float:
    """How far apart the outputs of two vectors of a set (d,) can be, rounded up."""
    if parts.model.output.kind == "signs":
        raise UsageError(
            f"{parts.model.name} answers with a set of labels; a restriction is about one label's probability"
        )
    rows = parts.unembed.matrix
    bias = parts.unembed.bias
    if parts.model.output.kind == "sign":
        rows, bias = np.vstack([np.zeros_like(rows), rows]), np.concatenate([np.zeros(1), bias])
    count, d = rows.shape
    if count == 1:
        return 0.0
    first, second = (a.reshape(-1) for a in np.meshgrid(range(count), range(count), indexing="ij"))
    gaps = linear(rows[first] - rows[second], norm=0.0)
    slack = 4 * 2.0**-53 * (np.abs(rows[first]) + np.abs(rows[second])) @ y.largest()
    spread = np.minimum(gaps.absolute @ y.box, gaps.rows * y.ball) + slack
    shift = bias[first] - bias[second]
    error = gamma(d) * (gaps.rows * norms(y.centre) + np.abs(bias[first]) + np.abs(bias[second]))
    spread = above(spread + error, d)
    if quantity == "margin":
        return float(2 * spread.max() * (1 + 1e-15))
    centre = gaps.matrix @ y.centre + shift
    low, high = (centre - spread).reshape(count, count), (centre + spread).reshape(count, count)
    # Row y, column k: logit y less logit k. p_y = 1 / sum over k of exp(-(z_y - z_k)).
    with np.errstate(over="ignore"):
        most, least = 1 / np.exp(-high).sum(axis=1), 1 / np.exp(-low).sum(axis=1)
    return float(min((most - least).max() + 1e-13, 1.0))


def bounded_movement(parts: Parts, fixed: dict[int, int], quantity: Quantity, position: int) -> float:
    """A certified bound, rounded up, on how far the free tokens together can move the output at a position, where these
    are fixed (symbols as indices): a label's probability, or (``margin``) a difference of logits."""
    found = run_values(parts, allowed_tokens(parts, fixed), at=[position])
    return movement(parts, found[0], quantity)


def symbol_indices(model: SoftModel, fixed: dict[int, str]) -> dict[int, int]:
    """Symbols as indices into the alphabet."""
    unknown = next((s for s in fixed.values() if s not in model.alphabet), None)
    if unknown is not None:
        raise UsageError(f"{quote(unknown)} is not in the alphabet ({' '.join(model.alphabet)})")
    return {i: model.alphabet.index(s) for i, s in fixed.items()}


def read_position(model: SoftModel, n: int, position: int | None) -> int:
    """The position that the output is read at: the one given, or the model's own."""
    if position is None:
        return model.output_position(n)
    if model.output.place != "every" and position != model.output_position(n):
        raise UsageError(f"the model's output is at its {model.output.place} position only")
    if not 0 <= position < n:
        raise UsageError(f"position {position} is not in 0 .. {n - 1}")
    return position


def norm_hints(parts: Parts) -> dict[str, str]:
    """Bounds on the 2-norms of all matrices, as decimal text, for the re-check to verify."""
    found: dict[str, float] = {}
    for at, layer in enumerate(parts.layers):
        for h, head in enumerate(layer.heads):
            for name in ("query", "key", "value", "output"):
                found[f"layers.{at}.heads.{h}.{name}"] = getattr(head, name).norm
        if layer.ffn is not None:
            found |= {f"layers.{at}.ffn.in": layer.ffn.inner.norm, f"layers.{at}.ffn.out": layer.ffn.outer.norm}
    return {name: f"{Decimal(norm * (1 + 1e-12)):.15e}" for name, norm in found.items() if norm > 1e-200}
