"""The run of a softmax model on sets: all inputs that agree with some fixed tokens, at once.

A set for each position and each case of its token; what cannot be told apart is one case. The work and the memory of
every step are charged before it is done: a product of two numbers is a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .account import exhausted, unproved
from .formats import MASKS
from .normal_form import visible
from .soft_layers import averaged, coupled, network, normed, scaled, score
from .soft_model import Head, Layer, Model, Norm
from .soft_sets import Linear, Matrix, Set, Vector, add, dot, exact, hull, image, linear, size, units, up

CASES = 6
"""Tokens that a position is split by; with a larger alphabet, their hull is taken."""
WIDE = 1 << 288
"""Numbers in a layer are below ``2^160``, so that a product is a step."""
EXP, BISECTION = 60, 40
"""Steps of an exponential, and of bisecting both ends of one coordinate by one case."""
BYTES = 240
"""What an entry of a set takes at most, and lists with it."""


class Run:
    """One run: ``cases[i]`` are the tokens that are possible at position ``i``."""

    def __init__(self, model: Model, hints: Mapping[str, Fraction], cases: Sequence[Sequence[int]]) -> None:
        self.model, self.n, self.meter, self.hints, self.cases = model, model.n, model.meter, hints, cases
        self.d = model.sizes["d"]
        self.sets = sum(map(len, cases)) if len(model.alphabet) <= CASES else self.n
        """How many sets there are before a layer."""

    def output(self, at: int) -> Set:
        """The activation that the output reads, over all inputs with these tokens."""
        x, layers = self.embedded(), self.model.layers
        for number, layer in enumerate(layers):
            x = self.layer(layer, x, [at] if number == len(layers) - 1 else range(self.n))
        sets = x[0] if layers else x[at]
        if self.model.final is not None:
            sets = [self.norm("final_norm", self.model.final, s) for s in sets]
        self.meter.charge(6 * self.d * len(sets))
        return hull(sets)

    # ---------------------------------------------------------------- the first layer

    def embedded(self) -> list[list[Set]]:
        """The sets of every position, by its token; with many tokens, their hull."""
        model, tokens = self.model, sum(map(len, self.cases))
        self.meter.charge(10 * self.n + 10 * tokens * (self.d + 4))
        self.meter.fits((self.sets + len(model.alphabet)) * self.d * BYTES + 1000 * self.n)
        spread = None if model.table is None else self.positions(model.table)
        found = []
        for i, cases in enumerate(self.cases):
            sets = [exact(model.embed[token]) for token in cases]
            if spread is not None and model.concat:
                p = spread[i]
                sets = [Set(x.centre + p.centre, x.box + p.box, x.ball + p.ball) for x in sets]
            elif spread is not None:
                sets = [add(x, spread[i]) for x in sets]
            found.append([hull(sets)] if len(model.alphabet) > CASES else sets)
        return found

    def positions(self, table: Matrix) -> list[Set]:
        """The embeddings of all positions with their errors."""
        if not self.model.terms:
            return [exact(table[i]) for i in range(self.n)]
        width, terms = len(table[0]), len(table)
        self.meter.charge(self.n * (4 * width * (terms + 4) + 10 * terms))
        self.meter.fits(self.n * width * BYTES)
        columns = [list(column) for column in zip(*table, strict=True)]
        sizes = [list(map(abs, column)) for column in columns]
        return [self.position(columns, sizes, i) for i in range(self.n)]

    def position(self, columns: Matrix, sizes: Matrix, i: int) -> Set:
        """The embedding of a position from terms (Lemma S4)."""
        ranges = [self.model.value(term, {"i": i, "n": self.n}) for term in self.model.terms]
        low = [units(a) for a, _ in ranges]
        high = [units(b) + 1 for _, b in ranges]
        middle = [(a + b) >> 1 for a, b in zip(low, high, strict=True)]
        reach = [b - m + 1 for b, m in zip(high, middle, strict=True)]
        slip = 3 + up(sum(map(abs, middle)) + sum(reach))
        centre = [up(dot(middle, column)) for column in columns]
        box = [up(dot(reach, column)) + slip for column in sizes]
        return Set(centre, box, size(box))

    # ---------------------------------------------------------------- layers

    def layer(self, layer: Layer, x: list[list[Set]], rows: Sequence[int]) -> list[list[Set]]:
        """One layer at some positions."""
        self.meter.fits(4 * sum(map(len, x)) * self.d * BYTES)
        self.small(x)
        read = x
        if layer.kind == "pre":
            read = [[self.norm(f"{layer.place}.norm1", layer.norms[0], s) for s in sets] for sets in x]
        here = [list(x[i]) for i in rows]
        if layer.attention_bias is not None:
            bias = exact(layer.attention_bias)
            here = [[add(s, bias) for s in sets] for sets in here]
        for head in layer.heads:
            moved = self.head(head, read, rows)
            here = [[add(s, m) for s, m in zip(a, b, strict=True)] for a, b in zip(here, moved, strict=True)]
        inner = self.linear(f"{layer.place}.ffn.in", layer.network, "in") if layer.network else None
        outer = self.linear(f"{layer.place}.ffn.out", layer.network, "out") if layer.network else None
        return [[self.rest(layer, inner, outer, s) for s in sets] for sets in here]

    def small(self, x: list[list[Set]]) -> None:
        """Refuse numbers so large that a product would be more than a step."""
        self.meter.charge(sum(map(len, x)) * (self.d + 6))
        if max(max(*map(abs, s.centre), s.ball) for sets in x for s in sets) >= WIDE:
            exhausted(self.model.place, "an activation of 2^160 or more is outside this check")

    def rest(self, layer: Layer, inner: Linear | None, outer: Linear | None, y: Set) -> Set:
        """LayerNorm and network after the heads."""
        names = [f"{layer.place}.norm1", f"{layer.place}.norm2"]
        if layer.kind == "post":
            y = self.norm(names[0], layer.norms[0], y)
        if inner is None or outer is None:
            return y
        width = len(inner.rows)
        self.meter.charge(width * (self.d * (self.d + 12) + 40) + 20 * self.d * (self.d + 4))
        if layer.kind == "pre":
            return add(y, network(inner, outer, self.norm(names[1], layer.norms[1], y), False))
        y = network(inner, outer, y, True)
        return self.norm(names[1], layer.norms[1], y) if layer.kind == "post" else y

    def norm(self, name: str, norm: Norm, x: Set) -> Set:
        """LayerNorm, where its variance is bounded away from zero."""
        self.meter.charge(30 * self.d + 60)
        found = normed(norm, x)
        if found is None:
            unproved(self.model.place, f"{name} may divide by zero")
        return found

    def linear(self, name: str, tensors: Mapping[str, Any], key: str) -> Linear:
        """A matrix with its bias and the verified hint for its norm."""
        rows: Matrix = tensors[key]
        bias: Vector | None = tensors.get(f"{key}_bias")
        small, large = sorted((len(rows), len(rows[0])))
        self.meter.charge(6 * small * large + (small * small * (large + 2 * small) if name in self.hints else 0))
        self.meter.hold(small * large * 64 + (small * small * 400 if name in self.hints else 0))
        return linear(rows, bias, self.hints.get(name))

    # ---------------------------------------------------------------- heads

    def head(self, head: Head, x: list[list[Set]], rows: Sequence[int]) -> list[list[Set]]:
        """What a head adds at some positions."""
        q, k, v, o = (self.linear(f"{head.place}.{name}", head.tensors, name) for name in
                      ("query", "key", "value", "output"))  # fmt: skip
        self.pay(head, [len(sets) for sets in x], rows)
        low, high = units(head.scale[0]), units(head.scale[1]) + 1
        keys = [[image(k, s) for s in sets] for sets in x]
        values = [[image(v, s) for s in sets] for sets in x]
        sizes = [[size(s.centre) for s in sets] for sets in keys]
        merged = [hull(sets) for sets in values]
        everything = hull(merged)
        found = []
        for i in rows:
            seen = range(*visible(MASKS.index(head.mask), i, self.n))
            row = []
            for query in (image(q, s) for s in x[i]):
                scores = [
                    [scaled(score(query, key, m), low, high) for key, m in zip(keys[j], sizes[j], strict=True)]
                    for j in seen
                ]
                if not scores:  # nothing is visible: the head reads zero
                    row.append(image(o, Set([0] * len(v.rows), [0] * len(v.rows), 0)))
                    continue
                average = averaged(scores, [merged[j] for j in seen], everything)
                row.append(image(o, coupled(scores, [values[j] for j in seen], average)))
            found.append(row)
        return found

    def pay(self, head: Head, counts: list[int], rows: Sequence[int]) -> None:
        """Charge a head: images of all sets, and for each query's case the visible sets."""
        dk, dv = len(head.tensors["query"]), len(head.tensors["value"])
        sets, before = sum(counts), [0]
        for count in counts:
            before.append(before[-1] + count)
        asked = 0
        for i in rows:
            first, after = visible(MASKS.index(head.mask), i, self.n)
            asked += counts[i] * (before[after] - before[first])
        self.meter.fits(sets * ((dk + dv + 4 * self.d) * BYTES + 1500))
        self.meter.charge(sets * ((dk + dv) * (3 * self.d + 20) + 20) + sum(counts[i] for i in rows) * 40 * self.d)
        self.meter.charge(sum(counts[i] for i in rows) * 4 * (dk + dv) * self.d)
        self.meter.charge(asked * (12 * dk + (20 + BISECTION) * dv + 4 * EXP))
