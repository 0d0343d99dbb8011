"""The bound on float32 holds for many orders of summation, in numpy and in torch, and the bound on float64 for both."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from restrict.base.errors import ResourceLimit, UsageError
from restrict.soft.bounds.rounding import Ball, Pass, U, added, as_executed, averaged, linear, normalised, scored
from restrict.soft.importers import Options, import_weights
from restrict.soft.models import evaluate
from restrict.soft.models.known import first, parity, random
from restrict.soft.models.model import SoftModel
from restrict.soft.models.terms import Term
from tests.marks import heavy_after
from tests.naive_soft import run as naive
from tests.test_soft_import import encoder_arrays
from tests.test_soft_trained import FOLDER, NAMES

F = np.float32


class Shuffled:
    """A forward pass in float32; every sum has its own order and way of adding."""

    def __init__(self, model: SoftModel, rng: np.random.Generator) -> None:
        self.model, self.rng = model, rng

    def total(self, x: Any) -> Any:
        """The sum over the last axis: permuted, then from left to right, by halves, or by numpy."""
        x = x[..., self.rng.permutation(x.shape[-1])]
        kind = self.rng.integers(3)
        if kind == 0:
            return np.add.accumulate(x, axis=-1, dtype=F)[..., -1]
        while kind == 1 and x.shape[-1] > 1:
            half = x.shape[-1] // 2
            x = np.concatenate([x[..., :half] + x[..., half : 2 * half], x[..., 2 * half :]], axis=-1)
        return x[..., 0] if kind == 1 else x.sum(axis=-1, dtype=F)

    def linear(self, matrix: Any, bias: Any, x: Any) -> Any:
        terms = x[:, None, :] * matrix.astype(F)[None]
        bias = np.broadcast_to(bias.astype(F)[None, :, None], (*terms.shape[:2], 1))
        return self.total(np.concatenate([terms, bias], axis=2))

    def scaled(self, norm: Any, x: Any, epsilon: float) -> tuple[Any, Any]:
        """LayerNorm, and the deviation."""
        d = F(x.shape[1])
        centred = x - (self.total(x) / d)[:, None]
        root = np.sqrt(self.total(centred * centred) / d + F(epsilon))[:, None]
        scaled = centred / root if self.rng.integers(2) else centred * (F(1) / root)
        return scaled * norm.weight.astype(F) + norm.bias.astype(F), root[:, 0]

    def norm(self, norm: Any, x: Any) -> Any:
        return x if norm is None else self.scaled(norm, x, norm.eps.value(0, 1))[0]

    def averaged(self, scores: Any, seen: Any, v: Any) -> Any:
        """What a head reads: weights are divided by their sum before or after they are applied."""
        top = scores.max(axis=1, where=seen, initial=-np.inf)[:, None]
        weights = np.where(seen, np.exp(np.where(seen, scores - top, F(0))), F(0))
        sums = self.total(weights)[:, None]
        if self.rng.integers(2):
            return self.total((weights / sums)[:, None, :] * v.T[None])
        return self.total(weights[:, None, :] * v.T[None]) / sums

    def head(self, head: Any, x: Any) -> Any:
        n, scale = len(x), F(head.scale.value(0, len(x)))
        q, k, v = (self.linear(getattr(head, p), getattr(head, f"{p}_bias"), x) for p in ("query", "key", "value"))
        if self.rng.integers(2):
            q, scale = q * scale, F(1)
        scores = self.total(q[:, None] * k[None]) * scale
        return self.averaged(scores, np.array([[head.mask == "none" or j <= i for j in range(n)] for i in range(n)]), v)

    def activated(self, kind: str, x: Any) -> Any:
        if kind == "relu":
            return np.maximum(x, F(0))
        if kind == "gelu":
            return x * F(0.5) * (F(1) + np.vectorize(math.erf, otypes=[F])(x * F(0.5**0.5)))
        return F(0.5) * x * (F(1) + np.tanh(F(math.sqrt(2 / math.pi)) * (x + F(0.044715) * (x * x * x))))

    def run(self, word: Any) -> Any:
        x = evaluate.embedded(self.model, word[None])[0].astype(F)
        for layer in self.model.layers:
            u = self.norm(layer.front[0], x)
            nothing = np.zeros((len(x), 1), dtype=F)  # a layer may have no heads
            read = np.concatenate([nothing, *(self.head(head, u) for head in layer.heads)], axis=1)
            outputs = np.concatenate([np.zeros((x.shape[1], 1)), *(h.output for h in layer.heads)], axis=1)
            x = self.norm(layer.behind[0], x + self.linear(outputs, layer.attention_bias, read))
            if layer.ffn is None:
                continue
            u = self.norm(layer.front[1], x)
            hidden = self.activated(layer.ffn.activation, self.linear(layer.ffn.inner, layer.ffn.inner_bias, u))
            x = self.norm(layer.behind[1], x + self.linear(layer.ffn.outer, layer.ffn.outer_bias, hidden))
        return self.linear(self.model.output.unembed, self.model.output.bias, self.norm(self.model.final_norm, x))


def models() -> dict[str, SoftModel]:
    found = {name: import_weights(FOLDER / f"{name}.safetensors").model for name in NAMES}
    arrays = {k: v * F(0.5) for k, v in encoder_arrays().items()}
    for kind in ("relu", "gelu"):
        for first_ in (False, True):
            options = Options(heads=2, alphabet=tuple("abcd"), activation=kind, norm_first=first_, place="every")
            found[f"encoder-{kind}-{first_}"] = import_weights(arrays, options).model
    return found | {"parity": parity(), "first": first(), "random": random(layers=2, width=16, percent=30)}


def inside(model: SoftModel, word: Any, rng: np.random.Generator, times: int) -> float:
    """The largest quotient of an error that occurs and its bound, at least 0."""
    bound = as_executed(model, word)
    assert np.isfinite(bound.error).all()
    true = np.array(naive(model, [int(t) for t in word]))
    assert (np.abs(bound.logits - true) <= bound.radius + 1e-9).all()
    assert (bound.radius <= bound.error).all()
    worst = 0.0
    for _ in range(times):
        found = Shuffled(model, rng).run(word)
        assert found.dtype == F
        worst = max(worst, float((np.abs(found - true) / bound.error).max()))
    return worst


@pytest.mark.parametrize("name", ["dyck2-depth2-1l1h16d", "tomita4-2l1h16d", "encoder-relu-False", "encoder-gelu-True",
                                  "parity", "random"])  # fmt: skip
def test_no_order_of_summation_leaves_the_bound(name: str) -> None:
    model, rng = models()[name], np.random.default_rng(4)
    word = model.encode(rng.integers(0, len(model.alphabet), (1, 7)))[0]
    assert 0 < inside(model, word, rng, 2) < 1


@pytest.mark.heavy
@pytest.mark.parametrize("orders", heavy_after((6, 20), 1))
@pytest.mark.parametrize("name", models())
def test_no_order_of_summation_leaves_the_bound_anywhere(name: str, orders: int) -> None:
    model, rng = models()[name], np.random.default_rng(5)
    for n in (1, 2, 5, 12, 30):
        for _ in range(3):
            word = model.encode(rng.integers(0, len(model.alphabet), (1, n)))[0]
            assert inside(model, word, rng, orders) < 1


def test_the_arithmetic_of_the_bound_is_that_of_the_paper() -> None:
    """gamma_m covers any order: the worst sum of ten numbers over all orders, against exact fractions."""
    rng = np.random.default_rng(6)
    for _ in range(300):
        x = (rng.normal(size=10) * 10.0 ** rng.integers(-3, 4, 10)).astype(F)
        exact = sum(map(Fraction, map(float, x)))
        size = sum(abs(Fraction(float(v))) for v in x)
        total = F(0)
        for v in x[rng.permutation(10)]:
            total = F(total + v)
        assert abs(Fraction(float(total)) - exact) <= Fraction(Pass(U, 4).gamma(10)) * size


def flushed(x: Any) -> Any:
    """Numbers below the least normal one are zero: operands and results of a machine that flushes."""
    return np.where(np.abs(x) < F(2.0**-126), F(0), x).astype(F)


def total(terms: Any) -> Any:
    """A sum over the last axis, flushed at each step."""
    found = flushed(terms[..., 0])
    for term in np.moveaxis(terms[..., 1:], -1, 0):
        found = flushed(found + flushed(term))
    return found


def extreme(rng: np.random.Generator, *shape: int) -> Any:
    """Numbers of float32 of all sizes, many of them below the least normal one."""
    sizes = rng.choice([1e-44, 1e-40, 3e-39, 2e-38, 1e-30, 1e-10, 1.0, 1e10, 1e30], shape)
    return (rng.normal(size=shape) * sizes).astype(F)


@pytest.mark.parametrize("seed", heavy_after(range(4), 1))
def test_numbers_that_are_flushed_to_zero_stay_inside(seed: int) -> None:
    """Each rule, where what is tiny is multiplied with what is large, or divided by a tiny deviation."""
    rng, d, counted = np.random.default_rng(seed), 4, 0

    def within(off: Any, error: Any) -> bool:
        """Nothing is said where the bound is infinite."""
        return bool((~np.isfinite(error) | (np.abs(off) <= error)).all())

    def point(x: Any) -> Ball:
        return Ball(x.astype(float), np.zeros(x.shape), np.zeros((len(x), 0, x.shape[1])))

    with np.errstate(all="ignore"):
        for _ in range(300):
            matrix, bias, x, y = extreme(rng, 3, d), extreme(rng, 3), flushed(extreme(rng, 1, d)), extreme(rng, 1, d)
            terms = np.concatenate([flushed(flushed(matrix) * x), flushed(bias)[:, None]], axis=1)
            error = linear(matrix.astype(float), bias.astype(float), point(x), Pass(U, 4)).error[0]
            exact = matrix.astype(float) @ x[0].astype(float) + bias
            assert within(total(terms) - exact, error)
            close = flushed(x * F(1 + rng.choice([0.5, 2.0**-20, 0.0])))
            error = added(point(x), point(-close), Pass(U, 4)).error
            assert within(flushed(x - close) - (x.astype(float) - close), error)
            eps, weight, small = F(1e-12), extreme(rng, d), flushed(y * F(1e-7))
            c = flushed(small[0] - flushed(total(small[0]) / F(d)))
            variance = flushed(flushed(total(flushed(c * c)) / F(d)) + eps)
            made = flushed(flushed(flushed(weight) * flushed(c / np.sqrt(variance))) + flushed(bias[:1]))
            v = small[0].astype(float) - small[0].astype(float).mean()
            exact = weight * (v / np.sqrt((v * v).mean() + float(eps))) + bias[0]
            shift = np.full(d, bias[0], float)
            error = normalised(weight.astype(float), shift, float(eps), point(small), Pass(U, 4)).error[0]
            assert within(made - exact, error)
            counted += np.isfinite(error).all()
    assert counted > 100


def test_a_weight_that_is_flushed_to_zero_is_not_certain() -> None:
    """The read-out is `1e-39 x - 0.05` with an `x` of 1e38: without the weight the sign is another one."""
    model = models()["tomita2-1l1h16d"]
    rows = np.full_like(model.output.unembed, 1e-39)
    output = replace(model.output, unembed=rows, bias=np.full(len(rows), -0.05))
    large = replace(model, embed=np.full_like(model.embed, 1e36), layers=(), final_norm=None, output=output)
    found = as_executed(large, model.encode([["1", "0"]])[0])
    assert (found.error >= 1e-3 * 0.9).all()


def test_nothing_is_said_where_a_number_on_the_way_may_overflow() -> None:
    """Behind LayerNorm, in the sum of weighted values, and in a scaled query: later weights make all of them small."""
    run, wide = Pass(U, 4), np.zeros((1, 16))
    wide[0, 0] = 1

    def points(x: Any) -> Ball:
        return Ball(x, np.zeros(x.shape), np.zeros((len(x), 0, x.shape[1])))

    for power, finite in ((126, False), (100, True)):
        weight = np.full(16, 2.0**power)
        with np.errstate(all="ignore"):
            overflows = np.float32(3.87) * np.float32(4 * 2.0**power)
            assert np.isfinite(overflows) == finite
            assert np.isfinite(normalised(weight, np.zeros(16), 1e-5, points(wide), run).error[0, 0]) == finite
            size = np.full((1, 1), 2.0 ** (power - 1))
            assert np.isfinite(averaged(0 * size, size, 0 * size, np.array([[16.0]]), run)).all() == finite
            q, k = points(np.full((1, 2), 2.0 ** (power - 1))), points(np.full((3, 2), 2.0**-80))
            assert np.isfinite(scored(q, k, 8.0, np.ones((1, 3), bool), run)[2]).all() == finite


def test_what_is_certain_is_decided_by_the_margin() -> None:
    model = models()["tomita2-1l1h16d"]
    found = as_executed(model, model.encode([["1", "0"] * 10])[0])
    assert found.certain.all()
    assert float(found.error.max()) < 0.01 < 1 < float(np.abs(found.logits).min())
    vague = as_executed(model, model.encode([["1", "0"] * 10])[0], ulps=1024)
    assert (vague.error > found.error).all()
    close = models()["encoder-relu-False"]
    row = as_executed(close, close.encode([["a", "b"]])[0])
    assert row.certain.tolist() == [bool(np.diff(np.sort(z))[-1] > 2 * (e + s).max()) or bool(c) for z, e, s, c in zip(
        row.logits, row.error, row.radius, row.certain, strict=True)]  # fmt: skip


def test_an_almost_constant_vector_has_no_bound() -> None:
    """Centred entries of the size of a rounding, and no epsilon: the variance that is computed may be 0."""
    model = models()["encoder-relu-True"]
    norm = replace(model.layers[0].norm1, eps=Term("0"))
    layer = replace(model.layers[0], norm1=norm)
    flat = replace(model, embed=np.full_like(model.embed, 1.0) + 1e-9 * model.embed, layers=(layer,))
    assert np.isinf(as_executed(flat, [0, 1]).error).any()
    assert not as_executed(flat, [0, 1]).certain.all()


def test_what_cannot_be_bounded_is_refused() -> None:
    model = models()["tomita2-1l1h16d"]
    for word in ([], [[0, 1]], [0.5], [7], [-1]):
        with pytest.raises(UsageError):
            as_executed(model, word)
    for ulps in (0, 2000):
        with pytest.raises(UsageError):
            as_executed(model, [2, 0], ulps=ulps)
    with pytest.raises(ResourceLimit):
        as_executed(random(layers=1, width=64), np.zeros(100_000, dtype=np.int64))


def by_torch(model: SoftModel, words: Any) -> Any:
    """The logits of words of tokens at every position by torch in float32, of a causal model with one head a layer: its
    own LayerNorm, activations, softmax and matrix products."""
    torch = pytest.importorskip("torch")
    nn = torch.nn.functional

    def linear(x: Any, matrix: Any, bias: Any) -> Any:
        return x @ torch.tensor(matrix.T.astype(F)) + torch.tensor(bias.astype(F))

    def norm(x: Any, n: Any) -> Any:
        if n is None:
            return x
        weight, bias = (torch.tensor(a.astype(F)) for a in (n.weight, n.bias))
        return nn.layer_norm(x, (x.shape[-1],), weight, bias, n.eps.value(0, 1))

    x = torch.tensor(evaluate.embedded(model, words).astype(F))
    later = torch.ones(x.shape[1], x.shape[1]).triu(1) > 0
    for layer in model.layers:
        (head,) = layer.heads
        u = norm(x, layer.front[0])
        q, k, v = (linear(u, getattr(head, p), getattr(head, f"{p}_bias")) for p in ("query", "key", "value"))
        scores = (q @ k.mT * head.scale.value(0, 1)).masked_fill(later, -math.inf)
        x = norm(x + linear(torch.softmax(scores, -1) @ v, head.output, layer.attention_bias), layer.behind[0])
        hidden = linear(norm(x, layer.front[1]), layer.ffn.inner, layer.ffn.inner_bias)
        hidden = torch.relu(hidden) if layer.ffn.activation == "relu" else nn.gelu(hidden, approximate="tanh")
        x = norm(x + linear(hidden, layer.ffn.outer, layer.ffn.outer_bias), layer.behind[1])
    return linear(norm(x, model.final_norm), model.output.unembed, model.output.bias).numpy()


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_torch_stays_inside(name: str) -> None:
    model, rng = models()[name], np.random.default_rng(7)
    for n in (3, 20, 60):
        word = model.encode(rng.integers(0, len(model.alphabet), (1, n)))[0]
        found = as_executed(model, word)
        assert (np.abs(by_torch(model, word[None])[0] - found.logits) <= found.radius + found.error).all()
