"""Soft certificates: any two inputs that agree with ``fixed`` give outputs that differ by at most ``epsilon``.

The outputs are those of a softmax model in real arithmetic (docs/soft-format.md); what differs by at most epsilon is
each label's probability, or each difference of two logits. Sets of vectors are pushed through the layers
(``soft_run``); a norm in the certificate is a hint, which is verified. Docs: "Soft certificates" in
docs/trusted-base.md.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .account import Place, Task, require, unproved
from .formats import bound_model
from .read import Maybe, anything, digest, integer, listing, record, string, thing
from .soft_model import MAX_N, Model
from .soft_run import EXP, Run
from .soft_sets import FAR, ONE, Set, exp_down, exp_up, image, linear, up
from .soft_terms import bits, quotient

EPSILON = 200
"""Bits of epsilon's numerator and denominator."""
CERTIFICATE = {
    "format": Maybe(anything),
    "model": {"name": string, "sha256": digest},
    "n": integer(1, MAX_N),
    "fixed": listing,
    "position": integer(0, MAX_N),
    "quantity": ("probability", "margin"),
    "epsilon": quotient,
    "norms": thing,
    "provenance": Maybe(thing),
}


def verify(task: Task) -> str:
    """The line ``s VERIFIED ...``, if the certificate proves its claim; raises ``Reject`` in every other case."""
    top, fields = task.top, record(task.document, CERTIFICATE, task.top)
    epsilon, place = fields["epsilon"], top.key("epsilon")
    require(epsilon > 0 and bits(epsilon) <= EPSILON, place, f"expected a positive number of at most {EPSILON} bits")
    model: Model = bound_model(task, fields, top, Model)
    place, at = top.key("position"), fields["position"]
    only = {"first": 0, "last": model.n - 1}.get(model.reads, at)
    require(at == only and at < model.n, place, "the model has no output at this position", at)
    inside = top.key("norms")
    for name in fields["norms"]:
        require(name in model.weights.matrices, inside, "no such matrix in a head or a network", name)
    hints = {name: quotient(value, inside.key(name)) for name, value in fields["norms"].items()}
    cases = tokens(model, fields["fixed"], top.key("fixed"))
    found = movement(model, Run(model, hints, cases).output(at), fields["quantity"])
    if Fraction(found, ONE) > epsilon:
        reached = f"{found / ONE:.6g}" if found < ONE << 100 else "a very large number"
        unproved(top.key("epsilon"), f"the {fields['quantity']} is bounded by {reached} only")
    free = model.n - len(model.pinned) - len(fields["fixed"])
    where = f"n={model.n}" + f" position={at}" * (model.reads == "every")
    claim = f"{where} fixed={len(fields['fixed'])} free={free} {fields['quantity']}<={epsilon}"
    return f"s VERIFIED {claim} {fields['model']['sha256']}"


def tokens(model: Model, fixed: list[Any], place: Place) -> list[list[int]]:
    """The allowed tokens of every position."""
    model.meter.charge(model.n + 8 * len(fixed))
    model.meter.hold(100 * model.n)
    every = list(model.alphabet.values())
    allowed = [every] * model.n
    for at, row in model.pinned.items():
        allowed[at] = [row]
    for index, pair in enumerate(fixed):
        entry = pair if isinstance(pair, list) and len(pair) == 2 else [None, None]
        inside = place.item(index)
        position = integer(0, model.n - 1)(entry[0], inside)
        symbol = string(entry[1], inside)
        require(symbol in model.alphabet, inside, "not a symbol of the alphabet", symbol)
        require(allowed[position] is every, inside, f"position {position} is fixed twice, or has a marker")
        allowed[position] = [model.alphabet[symbol]]
    return allowed


def movement(model: Model, y: Set, quantity: str) -> int:
    """How far apart two outputs of the set can be (Lemma S11)."""
    rows, bias = model.unembed, model.bias
    if model.sign:
        rows, bias = [[0] * len(rows[0]), rows[0]], [0, bias[0]]
    labels = range(len(rows))
    model.meter.charge(len(rows) ** 2 * (12 * len(rows[0]) + 2 * EXP + 20))
    worst = 0
    for a in labels:
        gaps = [gap(rows, bias, a, b, y) for b in labels if b != a]
        if quantity == "margin":
            worst = max([worst, *(high - low for low, high in gaps)])
            continue
        # p_a = 1 / (1 + sum over b of exp(z_b - z_a))
        most = (ONE * ONE) // (ONE + sum(exp_down(low) for low, _ in gaps)) + 1
        beyond = any(high > FAR for _, high in gaps)
        least = 0 if beyond else (ONE * ONE) // (ONE + sum(exp_up(high) for _, high in gaps))
        worst = max(worst, most - least)
    return worst


def gap(rows: list[list[int]], bias: list[int], a: int, b: int, y: Set) -> tuple[int, int]:
    """Bounds on the difference ``z_b - z_a`` of two logits."""
    row = [q - p for p, q in zip(rows[a], rows[b], strict=True)]
    found = image(linear([row], [bias[b] - bias[a]]), y)
    spread = found.box[0] + up(sum(map(abs, y.centre)) + sum(y.box)) + 2
    return found.centre[0] - spread, found.centre[0] + spread
