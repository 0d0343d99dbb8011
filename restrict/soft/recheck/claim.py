"""The claim of a certificate: what moves by how much, and the line that says it holds."""

from __future__ import annotations

import hashlib
from decimal import localcontext
from fractions import Fraction
from typing import Any

from restrict.soft.recheck.files import parse
from restrict.soft.recheck.fixed import ONE, PRECISION, Reject, Set, exp_between, image, linear, malformed, up
from restrict.soft.recheck.run import Model


def movement(model: Model, y: Set, quantity: str) -> int:
    """How far apart two outputs of the set can be."""
    rows = model.tensor("unembed")
    bias = model.tensors.get("unembed_bias", [0] * len(rows))
    if model.document["output"].get("kind", "softmax") == "sign":
        rows, bias = [[0] * len(rows[0]), rows[0]], [0, bias[0]]
    ranges = {}
    for a in range(len(rows)):
        for b in range(len(rows)):
            gap = image(linear([[p - q for p, q in zip(rows[a], rows[b], strict=True)]], [bias[a] - bias[b]]), y)
            spread = gap.box[0] + up(sum(map(abs, y.centre)) + sum(y.box)) + 2
            ranges[a, b] = (gap.centre[0] - spread, gap.centre[0] + spread)
    if quantity == "margin":
        return max(high - low for low, high in ranges.values())
    worst = 0
    for a in range(len(rows)):
        # p_a = 1 / sum over b of exp(-(z_a - z_b))
        ends = [exp_between(-ranges[a, b][1], -ranges[a, b][0]) if a != b else (ONE, ONE) for b in range(len(rows))]
        most = (ONE * ONE) // sum(e for e, _ in ends) + 1
        worst = max(worst, most - (ONE * ONE) // sum(e for _, e in ends))
    return worst


def verify(model: bytes, certificate: bytes) -> str:
    """The line ``s VERIFIED ...``. Raises :class:`Reject`."""
    claim = parse(certificate, "certificate")
    keys = {"format", "model", "n", "fixed", "position", "quantity", "epsilon", "norms"}
    if not isinstance(claim, dict) or keys - set(claim) or set(claim) - keys - {"provenance"}:
        malformed("certificate: its keys are " + ", ".join(sorted(keys)))
    if claim["format"] != "restrict-soft-certificate/1":
        malformed("certificate: this is not restrict-soft-certificate/1")
    digest = hashlib.sha256(model).hexdigest()
    if not isinstance(claim["model"], dict) or claim["model"].get("sha256") != digest:
        malformed("certificate: model.sha256: the certificate is for another model file")
    n, position, hints = claim["n"], claim["position"], claim["norms"]
    if type(n) is not int or not 1 <= n <= 10**6 or type(position) is not int or not 0 <= position < n:
        malformed("certificate: n and position must be integers, the position below n")
    if not isinstance(hints, dict) or not all(isinstance(v, str) and len(v) < 60 for v in hints.values()):
        malformed("certificate: norms must map tensors to numbers as text")
    if claim["quantity"] not in ("probability", "margin"):
        malformed("certificate: quantity is neither probability nor margin")
    try:
        epsilon = Fraction(claim["epsilon"]) if isinstance(claim["epsilon"], str) else Fraction(-1)
    except (ValueError, ZeroDivisionError):
        epsilon = Fraction(-1)
    if epsilon <= 0:
        malformed("certificate: epsilon must be a positive number as text")
    with localcontext() as context:
        context.prec = PRECISION
        read = Model(model, n, hints)
        allowed = tokens(read, claim["fixed"])
        place = read.document["output"]["position"]
        if place != "every" and position != (0 if place == "first" else n - 1):
            malformed("certificate: the model's output is not at this position")
        found = movement(read, read.run(allowed, position), claim["quantity"])
    if Fraction(found, ONE) > epsilon:
        raise Reject(
            3, f"not established: the {claim['quantity']} is bounded by {float(Fraction(found, ONE)):.6g} only"
        )
    free = n - len(read.pinned) - len(claim["fixed"])
    return f"s VERIFIED n={n} fixed={len(claim['fixed'])} free={free} {claim['quantity']}<={claim['epsilon']} {digest}"


def tokens(model: Model, fixed: Any) -> list[list[int]]:
    """The allowed tokens of every position."""
    allowed = [list(range(len(model.alphabet))) for _ in range(model.n)]
    if not isinstance(fixed, list):
        malformed("certificate: fixed must be a list")
    done = set()
    for pair in fixed:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int or not 0 <= pair[0] < model.n:
            malformed("certificate: fixed must hold pairs of a position and a symbol")
        if pair[0] in done or pair[0] in model.pinned or pair[1] not in model.alphabet:
            malformed(f"certificate: fixed: {pair!r} is repeated, a marker, or no symbol")
        done.add(pair[0])
        allowed[pair[0]] = [model.alphabet.index(pair[1])] * len(model.alphabet)
    for position, symbol in model.pinned.items():
        allowed[position] = [symbol] * len(model.alphabet)
    return allowed
