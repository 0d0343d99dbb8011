"""A model with as many heads, and as wide ones, as GPT-2's blocks have: together as wide as the stream, and their
scores divided by the root of a head's width, up to a power of two. It is the same function of real numbers, and each
number of it is one of the model's, or zero.

- A head gets dimensions of zeros, which add nothing to products, until the factor of its scores is such a one.
- Heads of zeros are added, which add nothing to the stream.
- The stream stands some times side by side where a LayerNorm reads it: ``k`` copies have the mean and the variance of
  one. All maps read the first copy and add the same to each. Where none does, zeros are added instead.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from restrict.base.options import Fact
from restrict.soft.models.model import Floats, LayerNorm, SoftFeedForward, SoftHead, SoftLayer, SoftModel
from restrict.soft.models.terms import Term

WIDEST: Fact[int] = 4096
"""Of the stream, in the checker."""
USUAL = re.compile(r"1/sqrt\((\d+)\)((?:[*/]\d+)*)")


def fitted(model: SoftModel) -> tuple[SoftModel, str | None]:
    """The model whose heads fit, and a note on what was added; itself, without one, where they do, or where no width up
    to 4096 will do. Linear in the weights of the result."""
    heads = [head for layer in model.layers for head in layer.heads]
    squares = [square(head.scale) for head in heads if head.score == "dot"]
    if not heads or len(squares) < len(heads) or model.positions.combine != "add":
        return model, None
    most, least = max(len(layer.heads) for layer in model.layers), max(max(len(h.query), len(h.value)) for h in heads)
    dk = next((w for w in range(least, WIDEST + 1) if all(s is not None and power(s * w) for s in squares)), 0)
    if not dk:
        return model, None
    normal = model.final_norm is not None or any(layer.norm != "none" for layer in model.layers)
    widths = range(model.width, WIDEST + 1, model.width if normal else 1)
    wide = next((d for d in widths if d % dk == 0 and d >= most * dk), 0)
    alike = all(len(layer.heads) * dk == wide for layer in model.layers) and wide == model.width
    if not wide or (alike and all(len(h.query) == len(h.value) == dk for h in heads)):
        return model, None
    note = f"heads are written {dk} wide, {wide // dk} in a layer"
    if wide > model.width:
        how = (
            f"the stream of {model.width} {wide // model.width} times" if normal else f"{wide - model.width} zeros more"
        )
        note += f", and {how} side by side: the same function"
    return _Wider(model.width, wide, dk, normal).model(model), note


def square(scale: Term) -> Fraction | None:
    """The square of a factor of scores that is rational, or ``1/sqrt`` of a whole number times a rational one."""
    if scale.names:  # it depends on the length
        return None
    if (usual := USUAL.fullmatch(scale.text)) is not None:
        rest = Term(f"1{usual[2]}").exact(0, 1)
        return None if rest is None or usual[1] == "0" else rest**2 / int(usual[1])
    found = scale.exact(0, 1)
    return None if found is None or found <= 0 else found**2


def power(x: Fraction) -> bool:
    """Whether a positive number is a power of four."""
    top, low = x.numerator, x.denominator
    return min(top, low) == 1 and all(v & (v - 1) == 0 and v.bit_length() % 2 for v in (top, low))


class _Wider:
    """From a width to another one, copies or zeros, with heads of ``dk``."""

    def __init__(self, d: int, wide: int, dk: int, copies: bool) -> None:
        self.d, self.wide, self.dk, self.copies = d, wide, dk, copies

    def spread(self, a: Floats) -> Floats:
        """What is on the stream, the last axis."""
        if self.copies:
            return np.tile(a, (1,) * (a.ndim - 1) + (self.wide // self.d,))
        return self.padded(a)

    def padded(self, a: Floats) -> Floats:
        """What reads the stream, the last axis: its first copy."""
        return np.concatenate([a, np.zeros((*a.shape[:-1], self.wide - self.d))], axis=-1)

    def norm(self, norm: LayerNorm | None) -> LayerNorm | None:
        return norm and replace(norm, weight=self.spread(norm.weight), bias=self.spread(norm.bias))

    def longer(self, a: Floats) -> Floats:
        """Dimensions of a head, the first axis."""
        return np.concatenate([a, np.zeros((self.dk - len(a), *a.shape[1:]))])

    def heads(self, heads: tuple[SoftHead, ...]) -> Iterator[SoftHead]:
        """The heads, and those of zeros."""
        for head in heads:
            found = square(head.scale)
            assert found is not None
            by = found * self.dk
            up, down = (1 << (v.bit_length() - 1) // 2 for v in (by.numerator, by.denominator))  # roots of powers of 4
            yield replace(
                head,
                query=self.longer(self.padded(head.query)), query_bias=self.longer(head.query_bias),
                key=self.longer(self.padded(head.key)), key_bias=self.longer(head.key_bias),
                value=self.longer(self.padded(head.value)), value_bias=self.longer(head.value_bias),
                output=self.longer(self.spread(head.output.T)).T,
                scale=Term(f"1/sqrt({self.dk})" + (f"*{up}" if up > 1 else f"/{down}" if down > 1 else "")),
            )  # fmt: skip
        nothing, none = np.zeros((self.dk, self.wide)), np.zeros(self.dk)
        for _ in range(self.wide // self.dk - len(heads)):
            scale, mask = Term(f"1/sqrt({self.dk})"), heads[0].mask
            yield SoftHead(nothing, nothing, nothing, nothing.T, none, none, none, mask, scale)

    def layer(self, layer: SoftLayer) -> SoftLayer:
        ffn = layer.ffn and SoftFeedForward(
            self.padded(layer.ffn.inner), layer.ffn.inner_bias, self.spread(layer.ffn.outer.T).T,
            self.spread(layer.ffn.outer_bias), layer.ffn.activation,
        )  # fmt: skip
        return replace(
            layer, heads=tuple(self.heads(layer.heads)), attention_bias=self.spread(layer.attention_bias), ffn=ffn,
            norm1=self.norm(layer.norm1), norm2=self.norm(layer.norm2),
        )  # fmt: skip

    def model(self, model: SoftModel) -> SoftModel:
        table = model.positions.table
        return replace(
            model, embed=self.spread(model.embed), layers=tuple(map(self.layer, model.layers)),
            positions=model.positions if table is None else replace(model.positions, table=self.spread(table)),
            final_norm=self.norm(model.final_norm),
            output=replace(model.output, unembed=self.padded(model.output.unembed)),
        )  # fmt: skip
