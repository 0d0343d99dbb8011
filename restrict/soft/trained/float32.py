"""Right as run: how far a float32 forward pass can be from real arithmetic, on all words of a verdict's cells.

The rules are those of ``restrict.soft.bounds.rounding``: what is computed is ``exact + sum e_g gens[g]``, and a rule
holds for every exact vector within ``radius`` of a centre. Here that is a cell of a case, so one application of the
rules is about all of its words. In the first layer queries, keys and values are points, one for each symbol and
position, and the rules bound the error of each score. The average of any word is an average over these symbols, so its
error is at most the greatest of theirs. Docs: docs/soft-verdicts.md, Theorem F.

The bounds are those of this engine, in float64 with slack for its own rounding; the trusted checker verifies that the
logits are beyond the margin.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from restrict.soft.bounds.rounding import (
    TINY,
    Ball,
    Pass,
    Spread,
    U,
    added,
    averaged,
    beyond,
    known,
    linear,
    neurons,
    normalised,
    scored,
    twice,
    vanishing,
)
from restrict.soft.trained.forms import Form, Part, Stages, Tail
from restrict.soft.trained.model import Trained
from restrict.soft.trained.stored import Array, Norm
from restrict.soft.trained.verdict import Case, Key, Margin, Search

ULPS = 4
"""Units in the last place that ``exp``, ``tanh`` and the reciprocal square root may be off."""
ROWS = 1500
"""The most symbols at positions; a table of scores has this many squared entries."""
SLACK = 1 + 1e-6
"""For the engine's own rounding: of ranges that are found in float64, and of the sums of the bound."""


class Float32(NamedTuple):
    """Every prefix of at most ``upto`` symbols is right in every execution that Theorem F covers; ``closest``: the
    margin nearest to its rounding."""

    upto: int
    cells: int
    closest: Margin | None

    def shorter(self, less: int) -> Float32:
        """What is right as run, where words have so many symbols less."""
        near = self.closest
        moved = None if near is None else near._replace(key=(max(near.key[0] - less, -1), *near.key[1:]))
        return self._replace(upto=self.upto - less, closest=moved)


class Rounding:
    """The bounds of one model of one layer, with its path to the logits (``tail``), up to position ``last``; ``ulps``:
    units in the last place that library functions may be off."""

    def __init__(self, model: Trained, tail: Tail, last: int, ulps: int = ULPS) -> None:
        self.model, self.tail, self.ulps, self.eps = model, tail, ulps, float(model.epsilon)
        if model.final is not None:
            self._read_out(model.final)
        symbols = len(model.tokens)
        self.places = np.array([(0, 0), *((j, s) for j in range(1, last + 1) for s in range(symbols))])
        self.number = {(int(j), int(s)): k for k, (j, s) in enumerate(self.places)}
        tokens = np.array([model.tokens[0] if model.bos is None else model.bos, *(list(model.tokens) * last)])
        self.x, self.size = model.embed[tokens], np.abs(model.embed[tokens])
        if model.positions is not None:
            moved = model.positions[model.table(last)[self.places[:, 0], self.places[:, 1]]]
            self.x, self.size = self.x + moved, self.size + np.abs(moved)
        self.streams = twice(self._streams, ulps)[1]

    def _read_out(self, final: Norm) -> None:
        """What the rows behind the last LayerNorm make of errors."""
        model, at = self.model, list(self.tail.labels)
        labels, shifts = model.unembed[at], np.abs(model.shifts[at])
        self.rows, self.biases = labels * final.weight, np.abs(labels) @ np.abs(final.bias) + shifts
        self.beta, self.terms = model.beta[at], model.d + 6 + int(shifts.any())
        sizes, weight, bias = np.abs(labels), np.abs(final.weight), np.abs(final.bias)
        self.lost = vanishing(sizes) * weight + sizes * vanishing(weight)
        self.tiny = vanishing(sizes) @ bias + (4 * model.d + 2 * (sizes.sum(axis=1) + sizes @ weight)) * TINY
        self.tiny += vanishing(shifts) + 2 * TINY * (shifts > 0)

    def _streams(self, run: Pass) -> Array:
        """The generators of the residual stream behind attention, for each symbol at each position as the last one."""
        model, layer = self.model, self.model.layers[0]
        d, dk = model.d, model.d // model.heads
        x = known(self.x, self.size, run)
        u = x if layer.norm1 is None else normalised(*layer.norm1, float(model.epsilon), x, run)
        mixed = linear(layer.attention.weight.T, layer.attention.bias, u, run)
        parts = []
        for h in range(model.heads):
            q, k, v = (_columns(mixed, slice(p * d + h * dk, p * d + (h + 1) * dk)) for p in range(3))
            parts.append(self._read(q, k, v, run))
        reach, own = (np.concatenate([part[k] for part in parts], axis=1) for k in (0, 1))
        joined = Ball(np.zeros_like(reach), reach, own[:, :, None] * np.eye(d))
        matrix, bias = layer.projection.weight.T, layer.projection.bias
        out = linear(matrix, bias, joined, run, (np.tile(bias, (len(reach), 1)), reach @ np.abs(matrix).T))
        return added(x, out, run, model.heads + 1, (x.centre, x.radius)).gens

    def _read(self, q: Ball, k: Ball, v: Ball, run: Pass) -> tuple[Array, Array]:
        """The size of what a head reads, and its error, for every last symbol: at most those of the symbols."""
        at = self.places[:, 0]
        seen = (at[None] < at[:, None]) | np.eye(len(at), dtype=bool)
        _, loose, off = scored(q, k, 1 / math.sqrt(q.centre.shape[1]), seen, run)
        lift, worst = (1 + loose) * np.expm1(off), np.exp(off.max(axis=1, keepdims=True))
        found = []
        for row, mask in zip(lift, seen, strict=True):
            values, most = v.centre[mask], v.exact[mask].max(axis=0)
            far = np.maximum(values - values.min(axis=0), values.max(axis=0) - values) + 2 * v.radius[mask]
            found.append((most, (row[mask, None] * far).max(axis=0), v.error[mask].max(axis=0)))
        size, turn, slip = (np.array(part) for part in zip(*found, strict=True))
        grown = (1 + loose) * worst**2
        own = averaged(turn * worst, grown * size, grown * slip, at[:, None] + 1, run)
        return size * SLACK, own + 2 * (at[:, None] + 1) * TINY * v.computed.max()

    def errors(self, key: Key, y: Form) -> Array:
        """Theorem F on a cell ``y`` (the stream behind attention) of a case: for each label a bound on how far its
        computed logit over the computed inverse deviation is from the exact logit times the exact deviation; without a
        last LayerNorm, how far the logit is."""
        model, layer, run, d = self.model, self.model.layers[0], Pass(U, self.ulps), self.model.d
        stage = Stages._make(map(_loose, self.tail.stages(y)))
        with np.errstate(all="ignore"):
            gens = self.streams[self.number[key[0], max(key[1], 0)]][None]
            x = Ball(stage.stream[0], stage.stream[1], gens)
            u = x
            if layer.norm2 is not None:
                u = normalised(*layer.norm2, self.eps, x, run, Spread(*stage.first), stage.normal)
            h = linear(layer.inner.weight.T, layer.inner.bias, u, run, stage.hidden)
            values = neurons(model.kind, h, run, stage.neurons)
            network = linear(layer.outer.weight.T, layer.outer.bias, values, run, stage.network)
            z = added(u if model.post else x, network, run, 1, stage.out)
            if model.final is None:
                at, none = list(self.tail.labels), np.zeros((1, len(self.tail.labels)))
                found = linear(model.unembed[at], model.shifts[at], z, run, (none, none)).error[0]
                return np.where(np.isnan(found), np.inf, found * SLACK)
            c, reach, _, high = stage.last
            mean = run.gamma(d) * z.computed.mean() + TINY
            spans = z.gens - z.gens.mean(axis=2, keepdims=True)
            off = np.abs(spans).sum(axis=1) + mean
            off += U * (np.abs(c) + reach + off) + TINY
            top, rms, deviation = np.abs(c) + reach + off, np.sqrt((off**2).mean()), np.sqrt(high[0, 0])
            root = run.gamma(d + 3) + 8 * self.ulps * U
            found = np.abs(self.rows @ spans[0].T).sum(axis=1) + np.abs(self.rows.sum(axis=1)) * mean
            found += np.abs(self.rows) @ (U * top[0] + TINY + run.gamma(self.terms) * top[0])
            found += np.abs(self.beta) * (rms + root * (deviation + rms))
            found += beyond((top**2).sum())
            found += self.lost @ top[0]
            off = run.gamma(self.terms) * self.biases + self.tiny
            found += off * (deviation + rms) * (1 + root)
        return np.where(np.isnan(found), np.inf, found * SLACK)


def _columns(x: Ball, part: slice) -> Ball:
    """Some coordinates of vectors."""
    return Ball(x.centre[:, part], x.radius[:, part], x.gens[:, :, part])


def _loose(part: Part) -> Part:
    """A centre and what reaches from it, one row each, with slack for the engine's own rounding."""
    centre, reach, *ends = (p.reshape(1, -1) for p in part)
    reach = reach * SLACK + 1e-12 * (1 + np.abs(centre).max())
    return centre, reach, *(end * factor for end, factor in zip(ends, (2 - SLACK, SLACK), strict=False))


def as_run(
    model: Trained, search: Search, cases: Sequence[Case], upto: int, *, ulps: int = ULPS, until: float | None = None,
    tell: Callable[[str], None],
) -> Float32 | None:  # fmt: skip
    """Up to which length the cases that ``search`` decided, in the order of their positions, are right as run in
    float32; ``None`` where there is no case, or the tables would be too large. For models of one layer. ``upto``: the
    last position asked for. ``ulps``: units in the last place that library functions may be off. ``until``: a time of
    the monotonic clock at which to stop; an interrupt stops it, too."""
    if upto < max(model.first, int(model.closing)) or upto * len(model.tokens) >= ROWS:
        return None
    search.closest, cells = Margin(math.inf, math.inf, 0.0, (-1, -1, -1)), 0
    key: Key = (0, -1, 0)
    try:
        tell("float32")
        rounding = Rounding(model, search.tail, upto, ulps)
        for case in cases:
            if (key := case.key)[0] > upto:
                break
            tell(f"float32, position {key[0]} of {upto}")
            found = search.firm(case, rounding.errors) if until is None or time.monotonic() < until else None
            if not isinstance(found, Case):
                upto = key[0] - 1
                break
            cells += found.cells
    except KeyboardInterrupt:
        upto = key[0] - 1
    return Float32(upto, cells, search.closest if upto >= 0 else None)
