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

from restrict.base.options import Fact
from restrict.soft.bounds import rounding
from restrict.soft.bounds.rounding import TINY, Ball, Pass, Spread, U
from restrict.soft.trained.directions import Key
from restrict.soft.trained.firm import NONE, Margin, firm, nearest
from restrict.soft.trained.forms import Form, Part, Stages, Tail
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.stored import Array, Norm
from restrict.soft.trained.verdict import SAFE, Case, Search

ULPS: Fact[int] = 4
"""Units in the last place that ``exp``, ``tanh`` and the reciprocal square root may be off."""
ROWS: Fact[int] = 1500
"""The most symbols at positions; a table of scores has this many squared entries."""
HEAVY: Fact[float] = 1e-200
"""Words as heavy as that beside other symbols have the box that the search finds; it takes no weight below 1e-290."""
SLACK: Fact[float] = 1 + 1e-6
"""For the engine's own rounding: of ranges that are found in float64, and of the sums of the bound."""


class Float32(NamedTuple):
    """Every prefix of at most ``upto`` symbols is right in every execution that Theorem F covers; ``closest``: the
    margin nearest to its rounding, if anything is asked of them."""

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
        with np.errstate(all="ignore"):  # where a number may overflow the bound is infinite, or NaN, which counts so
            self.streams = rounding.twice(self._streams, ulps)[1]

    def _read_out(self, final: Norm) -> None:
        """What the rows behind the last LayerNorm make of errors."""
        model, at = self.model, list(self.tail.labels)
        labels, shifts = model.unembed[at], np.abs(model.shifts[at])
        self.rows, self.biases = labels * final.weight, np.abs(labels) @ np.abs(final.bias) + shifts
        self.beta, self.terms = model.beta[at], model.d + 6 + int(shifts.any())
        sizes, weight, bias = np.abs(labels), np.abs(final.weight), np.abs(final.bias)
        self.lost = rounding.vanishing(sizes) * weight + sizes * rounding.vanishing(weight)
        self.tiny = rounding.vanishing(sizes) @ bias + (4 * model.d + 2 * (sizes.sum(axis=1) + sizes @ weight)) * TINY
        self.tiny += rounding.vanishing(shifts) + 2 * TINY * (shifts > 0)

    def _streams(self, run: Pass) -> Array:
        """The generators of the residual stream behind attention, for each symbol at each position as the last one."""
        model, layer = self.model, self.model.layers[0]
        d, dk = model.d, model.d // model.heads
        x = rounding.known(self.x, self.size, run)
        u = x if layer.norm1 is None else rounding.normalised(*layer.norm1, float(model.epsilon), x, run)
        mixed = rounding.linear(layer.attention.weight.T, layer.attention.bias, u, run)
        parts = []
        for h in range(model.heads):
            q, k, v = (_columns(mixed, slice(p * d + h * dk, p * d + (h + 1) * dk)) for p in range(3))
            parts.append(self._read(q, k, v, run))
        reach, own = (np.concatenate([part[k] for part in parts], axis=1) for k in (0, 1))
        joined = Ball(np.zeros_like(reach), reach, own[:, :, None] * np.eye(d))
        matrix, bias = layer.projection.weight.T, layer.projection.bias
        out = rounding.linear(matrix, bias, joined, run, (np.tile(bias, (len(reach), 1)), reach @ np.abs(matrix).T))
        return rounding.added(x, out, run, d + 1, (x.centre, x.radius)).gens

    def _read(self, q: Ball, k: Ball, v: Ball, run: Pass) -> tuple[Array, Array]:
        """The size of what a head reads, and its error, for every last symbol: at most those of the symbols."""
        at = self.places[:, 0]
        seen = (at[None] < at[:, None]) | np.eye(len(at), dtype=bool)
        _, loose, off = rounding.scored(q, k, 1 / math.sqrt(q.centre.shape[1]), seen, run)
        lift, worst = (1 + loose) * np.expm1(off), np.exp(off.max(axis=1, keepdims=True))
        found = []
        for row, mask in zip(lift, seen, strict=True):
            values, most = v.centre[mask], v.exact[mask].max(axis=0)
            far = np.maximum(values - values.min(axis=0), values.max(axis=0) - values)
            far += v.radius[mask] + v.radius[mask].max(axis=0)
            found.append((most, (row[mask, None] * far).max(axis=0), v.error[mask].max(axis=0)))
        size, turn, slip = (np.array(part) for part in zip(*found, strict=True))
        grown = (1 + loose) * worst**2
        own = rounding.averaged(turn * worst, grown * size, grown * slip, at[:, None] + 1, run)
        return size * SLACK, own + 2 * (at[:, None] + 1) * TINY * v.computed.max()

    def together(self, keys: Sequence[Key], y: Form) -> Array:
        """:meth:`all_errors` of any number of cells."""
        parts = (slice(at, at + OPTIONS.together) for at in range(0, len(keys), OPTIONS.together))
        return np.concatenate([self.all_errors(keys[part], Form(*(x[part] for x in y))) for part in parts])

    def all_errors(self, keys: Sequence[Key], y: Form) -> Array:
        """Theorem F on cells ``y`` (the streams behind attention, with an axis in front), each of its case: for each
        label a bound on how far its computed logit over the computed inverse deviation is from the exact logit times
        the exact deviation; without a last LayerNorm, how far the logit is. Shape ``(cells, labels)``."""
        model, layer, run, d = self.model, self.model.layers[0], Pass(U, self.ulps), self.model.d
        stage = Stages._make(map(_loose, self.tail.stages(y)))
        with np.errstate(all="ignore"):
            gens = self.streams[[self.number[i, max(a, 0)] for i, a, _ in keys]]
            x = Ball(stage.stream[0], stage.stream[1], gens)
            u = x
            if layer.norm2 is not None:
                u = rounding.normalised(*layer.norm2, self.eps, x, run, Spread(*stage.first), stage.normal)
            h = rounding.linear(layer.inner.weight.T, layer.inner.bias, u, run, stage.hidden)
            values = rounding.neurons(model.kind, h, run, stage.neurons)
            network = rounding.linear(layer.outer.weight.T, layer.outer.bias, values, run, stage.network)
            z = rounding.added(u if model.post else x, network, run, len(layer.inner.bias) + 1, stage.out)
            if model.final is None:
                at, none = list(self.tail.labels), np.zeros((len(keys), len(self.tail.labels)))
                found = rounding.linear(model.unembed[at], model.shifts[at], z, run, (none, none)).error
                return np.where(np.isnan(found), np.inf, found * SLACK)
            c, reach, _, high = stage.last
            mean = run.gamma(d) * z.computed.mean(axis=1, keepdims=True) + TINY
            spans = z.gens - z.gens.mean(axis=2, keepdims=True)
            off = np.abs(spans).sum(axis=1) + mean
            off += U * (np.abs(c) + reach + off) + TINY
            top, rms = np.abs(c) + reach + off, np.sqrt((off**2).mean(axis=1, keepdims=True))
            deviation, root = np.sqrt(high), run.gamma(d + 3) + 8 * self.ulps * U
            found = np.abs(spans @ self.rows.T).sum(axis=1) + np.abs(self.rows.sum(axis=1)) * mean
            found += (U * top + TINY + run.gamma(self.terms) * top) @ np.abs(self.rows).T
            found += np.abs(self.beta) * (rms + root * (deviation + rms))
            found += rounding.beyond((top**2).sum(axis=1, keepdims=True))
            found += top @ self.lost.T
            off = run.gamma(self.terms) * self.biases + self.tiny
            found += off * (deviation + rms) * (1 + root)
        return np.where(np.isnan(found), np.inf, found * SLACK)


def _columns(x: Ball, part: slice) -> Ball:
    """Some coordinates of vectors."""
    return Ball(x.centre[:, part], x.radius[:, part], x.gens[:, :, part])


def _loose(part: Part) -> Part:
    """Centres and what reaches from them, a row for each cell, with slack for the engine's own rounding."""
    centre, reach, *ends = part
    reach = reach * SLACK + 1e-12 * (1 + np.abs(centre).max(axis=1, keepdims=True))
    return centre, reach, *(end[:, None] * factor for end, factor in zip(ends, (2 - SLACK, SLACK), strict=False))


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
    cells, key, closest = 0, (0, -1, 0), NONE
    try:
        tell("float32")
        bounds = Rounding(model, search.tail, upto, ulps)
        beyond = plainly(search, bounds, [case for case in cases if case.key[0] <= upto])
        for case in cases:
            if (key := case.key)[0] > upto:
                break
            if not weighty(search, key):
                upto = key[0] - 1
                break
            found: tuple[int, Margin] | None = None
            if key in beyond:
                found = case.cells, beyond[key]
            elif until is None or time.monotonic() < until:
                tell(f"float32, position {key[0]} of {upto}")
                found = firm(search, bounds.together, case)
            if found is None:
                upto = key[0] - 1
                break
            cells, closest = cells + found[0], min(closest, found[1])
    except KeyboardInterrupt:
        upto = key[0] - 1
    return Float32(upto, cells, closest if upto >= 0 and closest is not NONE else None)


def weighty(search: Search, key: Key) -> bool:
    """Whether no word of a case vanishes beside symbols that it does not have, so that the case's box is that of its
    words: its last symbol or the start token weighs enough."""
    search.weigh(*key[:2])
    return all(max(w[-1, key[1]], 0.0 if search.atoms.first else w[0, 0]) >= HEAVY for w in search.weights)


def plainly(search: Search, bounds: Rounding, cases: Sequence[Case]) -> dict[Key, Margin]:
    """The cases whose margins are beyond their rounding on the whole of their boxes, each with the margin that is
    nearest to it. Most are: all at once, that takes a tenth of the time that they take one by one."""
    found = dict[Key, Margin]()
    for number in {case.basis for case in cases}:
        search.use(number)
        mine = [case for case in cases if case.basis == number]
        for some in (mine[at : at + OPTIONS.together] for at in range(0, len(mine), OPTIONS.together)):
            forms = [search.kept(case.key, *search.span(*search.alone(case)))[0].form() for case in some]
            together = bounds.all_errors([case.key for case in some], Form.side_by_side(forms))
            for case, off in zip(some, together, strict=True):
                errors = search.graph.asked[case.key[2]].errors(off)
                if (case.margins > SAFE + errors).all():
                    found[case.key] = nearest(case.margins.min(0), errors, case.key)
    return found
