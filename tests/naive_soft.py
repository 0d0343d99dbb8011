"""A softmax model's outputs from the bytes of its file alone, in decimals of 60 digits: no code of the package.

It reads what docs/soft-format.md says, obvious and slow, and refuses nothing. GELU and ``tanh``, which no certificate
is about, are those of doubles.
"""

import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from restrict.soft.models.format import dumps
from restrict.soft.models.model import SoftModel
from tests.naive_gpt2 import activated, tensors_of

Vector = list[Decimal]
DIGITS = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
LITERAL = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class File:
    """The description and the tensors, as vectors or lists of rows, every entry exact."""

    document: dict[str, Any]
    tensors: dict[str, Any]


def read(content: bytes) -> File:
    """The parts of a safetensors file."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return File(json.loads(header["__metadata__"]["restrict"]), tensors_of(content, Decimal))


# ---------------------------------------------------------------- terms


def term(text: str, i: int, n: int) -> Decimal:
    """A term's value: Python's own grammar on exact fractions, each literal taken from its text."""
    scope: dict[str, Any] = {"N": Fraction, "i": Fraction(i), "n": Fraction(n), "__builtins__": {}}
    scope |= {"sqrt": sqrt, "cospi": cospi, "sinpi": lambda x: cospi(Fraction(1, 2) - x)}
    scope |= {"log": lambda x: Fraction(decimal(x).ln()), "exp": lambda x: Fraction(decimal(x).exp())}
    spelt = LITERAL.sub(lambda found: f'N("{found[0]}")', text.strip())
    return decimal(Fraction(eval(spelt, scope)))


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def sqrt(x: Fraction) -> Fraction:
    root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
    return root if root * root == x else Fraction(decimal(x).sqrt())


def cospi(x: Fraction) -> Fraction:
    """The power series of the cosine."""
    angle = PI * decimal(x % 2)
    total, piece, k = Decimal(0), Decimal(1), 0
    while abs(piece) > Decimal(10) ** -70:
        total, k = total + piece, k + 2
        piece = -piece * angle * angle / (k * (k - 1))
    near = Fraction(round(2 * total), 2)
    return near if abs(near - Fraction(total)) < Fraction(1, 10**50) else Fraction(total)


# ---------------------------------------------------------------- the model


def sees(mask: str, i: int, j: int) -> bool:
    return {"none": True, "past": j <= i, "strict_past": j < i, "future": j >= i, "strict_future": j > i}[mask]


def affine(matrix: list[Vector], x: Vector, bias: Vector | None = None) -> Vector:
    rows: Vector = [sum((w * v for w, v in zip(row, x, strict=True)), 0 * x[0]) for row in matrix]
    return rows if bias is None else plus(rows, bias)


def plus(a: Vector, b: Vector) -> Vector:
    return [x + y for x, y in zip(a, b, strict=True)]


def normed(file: File, name: str, eps: str, x: Vector) -> Vector:
    weight, bias = file.tensors[f"{name}.weight"], file.tensors[f"{name}.bias"]
    mean = sum(x, Decimal(0)) / len(x)
    variance = sum(((v - mean) ** 2 for v in x), Decimal(0)) / len(x)
    size = (variance + term(eps, 0, 1)).sqrt()
    return [w * (v - mean) / size + b for v, w, b in zip(x, weight, bias, strict=True)]


def attend(file: File, name: str, head: dict[str, Any], x: list[Vector], i: int) -> Vector:
    parts, n = file.tensors, len(x)
    q = affine(parts[f"{name}.query"], x[i], parts.get(f"{name}.query_bias"))
    scale = term(head.get("scale", "1"), 0, n)
    scores = {}
    for j in range(n):
        if sees(head.get("mask", "none"), i, j):
            k = affine(parts[f"{name}.key"], x[j], parts.get(f"{name}.key_bias"))
            pairs = list(zip(q, k, strict=True))
            terms = [a * b for a, b in pairs]
            if head.get("score") == "additive":
                sums = zip(parts[f"{name}.additive"], pairs, strict=True)
                terms = [w * Decimal(math.tanh(a + b)) for w, (a, b) in sums]
            scores[j] = scale * sum(terms, Decimal(0))
    read = [Decimal(0)] * len(parts[f"{name}.value"])
    weights = {j: (s - max(scores.values())).exp() for j, s in scores.items()}
    for j, weight in weights.items():
        v = affine(parts[f"{name}.value"], x[j], parts.get(f"{name}.value_bias"))
        read = [r + weight / sum(weights.values()) * c for r, c in zip(read, v, strict=True)]
    return affine(parts[f"{name}.output"], read)


def run_layer(file: File, number: int, layer: dict[str, Any], x: list[Vector]) -> list[Vector]:
    name, parts = f"layers.{number}", file.tensors
    kind, eps, smooth = layer.get("norm", "none"), layer.get("eps", "0"), "gelu" in layer.get("activation", "")
    u = [normed(file, f"{name}.norm1", eps, v) for v in x] if kind == "pre" else x
    found = []
    for i, old in enumerate(x):
        y = plus(old, parts.get(f"{name}.attention_bias", [Decimal(0)] * len(old)))
        for h, head in enumerate(layer["heads"]):
            y = plus(y, attend(file, f"{name}.heads.{h}", head, u, i))
        if kind == "post":
            y = normed(file, f"{name}.norm1", eps, y)
        if f"{name}.ffn.in" in parts:
            z = normed(file, f"{name}.norm2", eps, y) if kind == "pre" else y
            sums = affine(parts[f"{name}.ffn.in"], z, parts.get(f"{name}.ffn.in_bias"))
            inner = [Decimal(activated(layer["activation"], float(v))) if smooth else max(v, Decimal(0)) for v in sums]
            y = plus(y, affine(parts[f"{name}.ffn.out"], inner, parts.get(f"{name}.ffn.out_bias")))
            if kind == "post":
                y = normed(file, f"{name}.norm2", eps, y)
        found.append(y)
    return found


def embedding(file: File, row: int, i: int, n: int) -> Vector:
    x, position = file.tensors["embed"][row], file.document["position"]
    if position["kind"] == "none":
        return list(x)
    table = file.tensors["position"]
    if position["kind"] == "table":
        p = table[i]
    else:
        values = [term(text, i, n) for text in position["terms"]]
        p = [
            sum((v * t for v, t in zip(values, column, strict=True)), Decimal(0)) for column in zip(*table, strict=True)
        ]
    return x + p if position.get("combine") == "concat" else plus(x, p)


def run(model: SoftModel, word: list[int]) -> list[list[float]]:
    """The logits at every position, of the file that the model is written to."""
    return [[float(v) for v in row] for row in everywhere(read(dumps(model)), word)]


def everywhere(file: File, word: list[int]) -> list[Vector]:
    """The logits at every position; ``word`` holds rows of ``embed``, markers included."""
    with localcontext() as context:
        context.prec = DIGITS
        x = [embedding(file, row, i, len(word)) for i, row in enumerate(word)]
        for number, layer in enumerate(file.document["layers"]):
            x = run_layer(file, number, layer, x)
        if "final_norm" in file.document:
            x = [normed(file, "final_norm", file.document["final_norm"]["eps"], y) for y in x]
        return [affine(file.tensors["unembed"], y, file.tensors.get("unembed_bias")) for y in x]


def quantities(file: File, found: Vector, quantity: str) -> Vector:
    """What a certificate speaks about: the probability of every label, or every difference of two logits."""
    if file.document["output"].get("kind") == "sign":
        found = [Decimal(0), found[0]]
    with localcontext() as context:
        context.prec = DIGITS
        if quantity == "margin":
            return [a - b for a in found for b in found]
        powers = [(v - max(found)).exp() for v in found]
        return [p / sum(powers) for p in powers]
