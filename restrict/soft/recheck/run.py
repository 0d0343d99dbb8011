"""The model at a length, and the set of its output over all admitted inputs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from restrict.soft.recheck.files import read_tensors
from restrict.soft.recheck.fixed import (
    BITS,
    ONE,
    Linear,
    Reject,
    Set,
    add,
    dot,
    hull,
    image,
    linear,
    malformed,
    root_up,
    size,
    tight,
    units,
    up,
)  # fmt: skip
from restrict.soft.recheck.layers import averaged, coupled, network, scaled, score, visible
from restrict.soft.recheck.terms import term

CASES = 6
"""Tokens that a position is split by; with a larger alphabet, their hull is taken."""


class Model:
    """The model's description and tensors at a length."""

    def __init__(self, content: bytes, n: int, hints: dict[str, str]) -> None:
        self.document, self.tensors = read_tensors(content)
        if self.document.get("format") != "restrict-soft/1":
            malformed("model: this is not restrict-soft/1")
        self.n, self.hints = n, hints
        markers = [self.document.get("start_marker"), self.document.get("end_marker")]
        self.alphabet: list[str] = self.document["alphabet"]
        self.pinned: dict[int, int] = {}
        if markers[0] is not None:
            self.pinned[0] = len(self.alphabet)
        if markers[1] is not None:
            self.pinned[n - 1] = len(self.alphabet) + (markers[0] is not None)
        if n < sum(m is not None for m in markers):
            malformed("n leaves no room for the markers")

    def tensor(self, name: str) -> Any:
        """A tensor that must be there."""
        if name not in self.tensors:
            malformed(f"model: the tensor {name!r} is missing")
        return self.tensors[name]

    def linear(self, name: str, bias: str | None = None) -> Linear:
        """A matrix with its bias and the verified hint for its norm."""
        return linear(self.tensor(name), self.tensors.get(bias) if bias else None, self.hints.get(name))

    def embedded(self, allowed: list[list[int]]) -> list[list[Set]]:
        """The sets of every position, by its token; with many tokens, their hull."""
        position = self.document["position"]
        spread = [self.position(position, i) for i in range(self.n)] if position["kind"] != "none" else None
        found = []
        for i, tokens in enumerate(allowed):
            sets = []
            for token in tokens:
                x = Set(
                    list(self.tensor("embed")[token]),
                    [1] * len(self.tensor("embed")[token]),
                    len(self.tensor("embed")[token]),
                )
                if spread is not None and position.get("combine", "add") == "add":
                    x = add(x, spread[i])
                elif spread is not None:
                    x = Set(x.centre + spread[i].centre, x.box + spread[i].box, x.ball + spread[i].ball)
                sets.append(x)
            found.append([hull(sets)] if len(self.alphabet) > CASES else sets)
        return found

    def position(self, position: dict[str, Any], i: int) -> Set:
        """The embedding of a position with its error."""
        table = self.tensor("position")
        if position["kind"] == "table":
            if self.n > len(table):
                malformed(f"n = {self.n} is beyond the position table")
            return Set(list(table[i]), [1] * len(table[i]), len(table[i]))
        ranges = [term(t, i, self.n) for t in position["terms"]]
        low = [units(a) for a, _ in ranges]
        high = [units(b) + 1 for _, b in ranges]
        middle = [(a + b) >> 1 for a, b in zip(low, high, strict=True)]
        reach = [b - m + 1 for b, m in zip(high, middle, strict=True)]
        columns = list(zip(*table, strict=True))
        slip = 3 + up(sum(map(abs, middle)) + sum(reach))
        centre = [dot(middle, c) >> BITS for c in columns]
        box = [up(dot(reach, list(map(abs, c)))) + slip for c in columns]
        return Set(centre, box, size(box))

    def run(self, allowed: list[list[int]], at: int) -> Set:
        """The output position's activation, over all inputs with these tokens."""
        x = self.embedded(allowed)
        layers = self.document["layers"]
        for number, layer in enumerate(layers):
            rows = [at] if number == len(layers) - 1 else list(range(self.n))
            x = self.layer(layer, f"layers.{number}", x, rows)
        sets = x[0] if layers else x[at]
        if "final_norm" in self.document:
            sets = [self.norm("final_norm", self.document["final_norm"]["eps"], s) for s in sets]
        return hull(sets)

    def layer(self, layer: dict[str, Any], place: str, x: list[list[Set]], rows: list[int]) -> list[list[Set]]:
        """One layer at some positions."""
        kind, eps = layer.get("norm", "none"), layer.get("eps", "0")
        read = [[self.norm(f"{place}.norm1", eps, s) for s in sets] for sets in x] if kind == "pre" else x
        here = [list(x[i]) for i in rows]
        if f"{place}.attention_bias" in self.tensors:
            bias = self.tensors[f"{place}.attention_bias"]
            here = [[add(s, Set(bias, [1] * len(bias), len(bias))) for s in sets] for sets in here]
        for h, head in enumerate(layer["heads"]):
            moved = self.head(head, f"{place}.heads.{h}", read, rows)
            here = [[add(s, m) for s, m in zip(a, b, strict=True)] for a, b in zip(here, moved, strict=True)]
        return [[self.rest(layer, place, kind, eps, s) for s in sets] for sets in here]

    def rest(self, layer: dict[str, Any], place: str, kind: str, eps: str, y: Set) -> Set:
        """LayerNorm and network after the heads."""
        if kind == "post":
            y = self.norm(f"{place}.norm1", eps, y)
        if f"{place}.ffn.in" not in self.tensors:
            return y
        if layer.get("activation", "relu") != "relu":
            raise Reject(5, "networks other than ReLU are outside this check")
        inner, outer = self.cached(f"{place}.ffn.in"), self.cached(f"{place}.ffn.out")
        if kind == "pre":
            return add(y, network(inner, outer, self.norm(f"{place}.norm2", eps, y), False))
        y = network(inner, outer, y, True)
        return self.norm(f"{place}.norm2", eps, y) if kind == "post" else y

    def cached(self, name: str) -> Linear:
        """A network's matrix, prepared once."""
        key = f"linear {name}"
        if key not in self.tensors:
            self.tensors[key] = self.linear(name, f"{name}_bias")
        found: Linear = self.tensors[key]
        return found

    def norm(self, place: str, eps: str, x: Set) -> Set:
        """LayerNorm: the centred vector ``u`` over ``s``, ``s`` from the norm of ``u``; at most ``sqrt(d)`` long."""
        weight, bias = self.tensor(f"{place}.weight"), self.tensor(f"{place}.bias")
        d = len(weight)
        mean = sum(x.centre) // d
        c = [v - mean for v in x.centre]
        total = sum(x.box)
        box = [(r * (d - 1) + total - r) // d + 3 for r in x.box]
        u = tight(c, box, x.ball + 2 * d)
        low, high = term(eps, 0, 1)
        length = size(c)
        least, most = max(length - 1 - u.ball, 0), length + u.ball
        square = least * least // d + (units(max(low, Fraction(0))) << BITS)
        if square <= 0:
            raise Reject(3, "a LayerNorm may divide by zero")
        steep = (ONE * ONE) // math.isqrt(square) + 1
        flat = (ONE * ONE) // (root_up(most * most // d + 1 + ((units(high) + 1) << BITS)) + 1)
        middle, reach = (steep + flat) >> 1, (steep - flat + 3) >> 1
        centre = [v * middle >> BITS for v in c]
        box = [up(r * steep) + up(abs(v) * reach) + 2 for r, v in zip(u.box, c, strict=True)]
        ball = up(u.ball * steep) + up(length * reach) + 2 * d
        root = root_up(d << (2 * BITS)) + 1
        if ball > root:
            centre, box, ball = [0] * d, [root] * d, root
        slip = [3 + up(abs(v) + r) for v, r in zip(centre, box, strict=True)]
        moved = [(v * w >> BITS) + b for v, w, b in zip(centre, weight, bias, strict=True)]
        box = [up(r * abs(w)) + s for r, w, s in zip(box, weight, slip, strict=True)]
        return tight(moved, box, up(ball * max(map(abs, weight))) + size(slip))

    def head(self, head: dict[str, Any], place: str, x: list[list[Set]], rows: list[int]) -> list[list[Set]]:
        """What a head adds at some positions."""
        if head.get("score", "dot") != "dot" or head.get("attention", "softmax") != "softmax":
            raise Reject(5, "additive scores are outside this check")
        q, k, v, o = (
            self.linear(f"{place}.{name}", f"{place}.{name}_bias") for name in ("query", "key", "value", "output")
        )
        low, high = (units(e) + s for e, s in zip(term(head.get("scale", "1"), 0, self.n), (0, 1), strict=True))
        keys = [[image(k, s) for s in sets] for sets in x]
        values = [[image(v, s) for s in sets] for sets in x]
        merged = [hull(sets) for sets in values]
        everything = hull(merged)
        sizes = [[size(s.centre) for s in sets] for sets in keys]
        found = []
        for i in rows:
            seen = [j for j in range(self.n) if visible(head.get("mask", "none"), i, j)]
            row = []
            for s in x[i]:
                if not seen:
                    d = len(v.rows)
                    row.append(image(o, Set([0] * d, [0] * d, 0)))
                    continue
                query = image(q, s)
                scores = [
                    [scaled(score(query, key, m), low, high) for key, m in zip(keys[j], sizes[j], strict=True)]
                    for j in seen
                ]
                average = averaged(scores, [merged[j] for j in seen], everything)
                row.append(image(o, coupled(scores, [values[j] for j in seen], average)))
            found.append(row)
        return found
