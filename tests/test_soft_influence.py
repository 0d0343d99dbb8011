"""Lemma 5 and Theorem 6 in numbers: the bounds hold, in their order, and every inequality of the proof is tried."""

import itertools
import math
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from restrict.base.errors import UsageError
from restrict.soft.bounds.enclosure import Enclosure, Linear, linear, spectral
from restrict.soft.bounds.exchange import run_exchange, run_values
from restrict.soft.bounds.lemma5 import closed_form, recursion, weight_bound
from restrict.soft.bounds.parts import prepare
from restrict.soft.bounds.scores import weight_range
from restrict.soft.bounds.values import allowed_tokens
from restrict.soft.influence.influence import exchangeable, fit_decay, influence, influence_matrix
from restrict.soft.influence.sources import BRACKETS, Dyck2, Parity, entropy
from restrict.soft.influence.theorem6 import binary_floor, cross_entropy
from restrict.soft.models import evaluate
from restrict.soft.models.known import parity, random
from restrict.soft.models.model import SoftModel
from restrict.soft.models.source import load
from tests.marks import heavy_after
from tests.soft_words import all_words, masked

Words = npt.NDArray[np.int64]
ROUNDING = 1e-12
"""What the evaluator's own rounding may amount to in these small models."""
SPECS = (
    "random:layers=1,width=8,percent=40", "random:layers=2,width=6,hidden=7,percent=60,symbols=3",
    "random:layers=3,heads=1,width=5,hidden=4,percent=100", "random:layers=2,width=6,hidden=6,causal=1,percent=80",
    "random:layers=2,width=6,hidden=6,norm=1,percent=30", "random:layers=2,width=6,hidden=6,norm=2,gelu=1,percent=30",
    "random:layers=1,width=6,hidden=6,additive=1,percent=100",
    "random:layers=1,width=4,hidden=4,symbols=8,percent=40", "parity", "first:log=1",
)  # fmt: skip


MODELS = [
    *(load(spec) for spec in SPECS),
    *(masked(load(SPECS[1]), mask) for mask in ("strict_past", "future", "strict_future")),
    replace(load("random:layers=2,width=5,percent=70"), end_marker=None, start_marker="<",
            embed=np.vstack([load("random:layers=2,width=5,percent=70").embed, np.ones((1, 5))])),
]  # fmt: skip


CAUSAL_TOO = [MODELS[0], MODELS[3], *MODELS[1:3], *MODELS[4:]]
"""The same, one of one layer and one of two causal layers first."""


def some_words(model: SoftModel, n: int, count: int, rng: np.random.Generator) -> Words:
    slots = n - len(model.pinned(n))
    if len(model.alphabet) ** slots <= count:
        return all_words(model, n)
    return model.encode(rng.integers(0, len(model.alphabet), (count, slots)))


@pytest.mark.parametrize("model", heavy_after(MODELS, 6), ids=lambda m: m.name[:48])
def test_every_activation_lies_in_its_set(model: SoftModel) -> None:
    rng = np.random.default_rng(1)
    for n, fixed in ((2, {}), (5, {}), (5, {1: 0, 2: 1}), (11, {3: 1})):
        parts = prepare(model, n)
        tokens = allowed_tokens(parts, fixed)
        sets = run_values(parts, tokens)
        words = some_words(model, n, 256, rng)
        for position, symbol in fixed.items():
            words[:, position] = symbol
        assert sets.holds(evaluate.activations(model, words), ROUNDING).all()


@pytest.mark.parametrize("model", heavy_after(CAUSAL_TOO, 2), ids=lambda m: m.name[:48])
def test_every_difference_lies_in_its_set(model: SoftModel) -> None:
    """At least 10^4 triples (model, input, exchange) over this file; all of them at n = 3."""
    rng = np.random.default_rng(2)
    tried = 0
    for n in (2, 3, 5):
        parts = prepare(model, n)
        free = np.array([i for i in range(n) if i not in model.pinned(n)])
        pairs = [(a, b) for a in range(len(model.alphabet)) for b in range(a)]
        symbols = tuple(pairs[k] for k in rng.choice(len(pairs), min(3, len(pairs)), replace=False))
        _, at_once = run_exchange(parts, allowed_tokens(parts), free, symbols=symbols)
        bound = recursion(parts, allowed_tokens(parts))
        for i in free:
            _, alone = run_exchange(parts, allowed_tokens(parts), np.array([i]), symbols=symbols)
            words = some_words(model, n, 64, rng)
            others = np.arange(n) != i
            for pairs in zip(alone, at_once, strict=True):
                first, second = words.copy(), words.copy()
                first[:, i], second[:, i] = pairs[0].symbols
                change = evaluate.activations(model, first) - evaluate.activations(model, second)
                tried += len(words)
                for pair in pairs:
                    assert pair.other[others].holds(change[:, others], ROUNDING).all()
                    assert pair.own[[i]].holds(change[:, [i]], ROUNDING).all()
                if model.final_norm is None:
                    sizes = np.linalg.norm(change, axis=2)
                    assert (sizes[:, others] <= bound.other[-1][others] + ROUNDING).all()
                    assert (sizes[:, i] <= bound.own[-1] + ROUNDING).all()
    assert tried >= 60


@pytest.mark.parametrize("model", heavy_after(CAUSAL_TOO, 2), ids=lambda m: m.name[:48])
def test_measured_at_most_sharp_at_most_layerwise_at_most_closed(model: SoftModel) -> None:
    lengths = [n for n in (4, 7) if len(exchangeable(model, n))]
    assert lengths
    for n in lengths:
        row = influence(model, n, samples=60)
        for k in range(2):
            assert row.measured[k] <= row.sharp[k] + ROUNDING
            assert row.sharp[k] <= row.layerwise[k]
            if row.closed is not None:
                assert row.layerwise[k] <= row.closed[k]


@pytest.mark.parametrize("spec", ["random:layers=2,width=6,percent=30", "random:layers=3,width=5,heads=1,percent=50"])
@pytest.mark.parametrize("seed", range(3))
def test_every_inequality_of_the_proof(spec: str, seed: int) -> None:
    """The steps of docs/soft.md on all exchanges at n = 4, layer by layer and head by head."""
    model = load(f"{spec},seed={seed}")
    n = 4
    parts = prepare(model, n)
    bound = recursion(parts, allowed_tokens(parts))
    words = all_words(model, n)
    for i in range(n):
        other = words.copy()
        other[:, i] ^= 1
        x, y = evaluate.embedded(model, words), evaluate.embedded(model, other)
        for k, layer in enumerate(model.layers):
            sizes = np.linalg.norm(x - y, axis=2)
            made = bound.layers[k]
            assert np.linalg.norm(x, axis=2).max() <= made.before
            rest = np.arange(n) != i
            assert (sizes[:, rest] <= bound.other[k][rest] + ROUNDING).all()
            assert (sizes[:, i] <= bound.own[k] + ROUNDING).all()
            for h, head in enumerate(layer.heads):
                check_head(model, head_run(head, x, n), head_run(head, y, n), i, made.heads[h], sizes, n)
            x = evaluate.run_layer(layer, x, np.arange(n), n)
            y = evaluate.run_layer(layer, y, np.arange(n), n)


def head_run(head, x, n):
    """Scores, weights, values (through the output matrix) and averages of a head."""
    q, k = x @ head.query.T + head.query_bias, x @ head.key.T + head.key_bias
    scores = q @ k.swapaxes(1, 2) * head.scale.value(0, n)
    weights = evaluate.softmax(scores)
    values = (x @ head.value.T + head.value_bias) @ head.output.T
    return scores, weights, values, weights @ values


def check_head(model, one, two, i, bounds, sizes, n):
    (s, a, v, b), (s2, a2, v2, b2) = one, two
    assert np.abs(s).max() <= bounds.scores + ROUNDING
    assert a.max() <= weight_bound(bounds.scores, np.array([float(n)]))[0] + ROUNDING
    assert np.linalg.norm(v, axis=2).max() <= bounds.value + ROUNDING
    p, p2 = a[:, :, i], a2[:, :, i]
    rest = [w for w in range(n) if w != i]
    alpha, alpha2 = a[:, :, rest] / (1 - p)[..., None], a2[:, :, rest] / (1 - p2)[..., None]
    m, m2 = alpha @ v[:, rest], alpha2 @ v2[:, rest]
    vi, vi2 = v[:, [i]], v2[:, [i]]
    # The decomposition is an identity.
    total = p[..., None] * (vi - vi2) + (p - p2)[..., None] * (vi2 - m) + (1 - p2)[..., None] * (m - m2)
    np.testing.assert_allclose(total, b - b2, atol=1e-12)
    moved = alpha @ (v - v2)[:, rest] + (alpha - alpha2) @ v2[:, rest]
    np.testing.assert_allclose(moved, m - m2, atol=1e-12)
    ds = np.abs(s - s2)
    lip = bounds.query_part * sizes[:, None, :] + bounds.key_part * sizes[:, :, None]
    assert (ds <= lip + ROUNDING).all()
    # Weights among the others move by at most twice the tanh of half the largest change of a score.
    largest = ds[:, :, rest].max(axis=2)
    assert (np.abs(alpha - alpha2).sum(axis=2) <= 2 * np.tanh(largest / 2) + ROUNDING).all()
    # p (1 - p) is at most p's largest value on the way.
    assert (np.abs(p - p2) <= np.maximum(p, p2) * (ds[:, :, i] + largest) + ROUNDING).all()
    values = np.linalg.norm(v2, axis=2).max()
    assert (
        np.linalg.norm((alpha - alpha2) @ v2[:, rest], axis=2) <= 2 * np.tanh(largest / 2) * values + ROUNDING
    ).all()


def test_the_papers_step_without_moving_weights_fails() -> None:
    """Hahn bounds a head's change by the weighted changes of the values; that alone is wrong."""
    model = load("random:layers=1,heads=1,width=6,percent=200,seed=3")
    words = all_words(model, 4)
    other = words.copy()
    other[:, 0] ^= 1
    x, y = evaluate.embedded(model, words), evaluate.embedded(model, other)
    _s, a, v, b = head_run(model.layers[0].heads[0], x, 4)
    _s, _a, v2, b2 = head_run(model.layers[0].heads[0], y, 4)
    claimed = (a * np.linalg.norm(v - v2, axis=2)[:, None, :]).sum(axis=2)
    assert (np.linalg.norm(b - b2, axis=2) > claimed * 1.05).any()


# ---------------------------------------------------------------- the pieces


def test_spectral_norms_are_above_and_close() -> None:
    rng = np.random.default_rng(3)
    for shape in ((1, 1), (3, 7), (20, 20), (40, 5)):
        for scale in (1e-6, 1.0, 1e5):
            matrix = rng.normal(size=shape) * scale
            true = float(np.linalg.svd(matrix, compute_uv=False)[0])
            assert true * (1 - 1e-14) <= spectral(matrix) <= true * (1 + 1e-11)
    assert spectral(np.zeros((2, 2))) < 1e-200
    assert spectral(np.ones((3, 3))) == pytest.approx(3)


def test_linear_images_hold_exactly() -> None:
    """Rounding: the image's centre is compared with exact rational arithmetic."""
    rng = np.random.default_rng(4)
    f: Linear = linear(rng.normal(size=(4, 9)) * 1e8, rng.normal(size=4))
    x = Enclosure(rng.normal(size=(1, 9)) * 1e-8, np.zeros((1, 9)), np.zeros(1))
    found = f.image(x)
    for row, bias, centre, box in zip(f.matrix, f.bias, found.centre[0], found.box[0], strict=True):
        exact = sum(Fraction(float(w)) * Fraction(float(v)) for w, v in zip(row, x.centre[0], strict=True))
        assert abs(exact + Fraction(float(bias)) - Fraction(float(centre))) <= Fraction(float(box))


def test_weights_lie_in_their_range() -> None:
    rng = np.random.default_rng(5)
    for spread, size in ((1e-9, 1.0), (0.3, 3.0), (2.0, 800.0)):
        middle = rng.normal(size=(20, 6)) * size
        least, most = weight_range(middle - spread, middle + spread)
        for _ in range(20):
            scores = middle + spread * rng.choice([-1, 1, 0.3], middle.shape)
            weights = evaluate.softmax(scores)
            assert (least <= weights + 1e-300).all()
            assert (weights <= most * (1 + 1e-12) + 1e-300).all()


def test_the_matrix_bounds_every_pair_of_positions() -> None:
    model = load("random:layers=2,width=6,percent=50,causal=1")
    found = influence_matrix(model, 5)
    assert np.tril(found, -1).max() < 1e-200  # the past does not see the future
    words = all_words(model, 5)
    for i in range(5):
        other = words.copy()
        other[:, i] ^= 1
        change = np.linalg.norm(evaluate.activations(model, words) - evaluate.activations(model, other), axis=2)
        assert (change.max(axis=0) <= found[i] + ROUNDING).all()


# ---------------------------------------------------------------- what is claimed of known models


def test_the_parity_transformer_is_right_and_moves_as_computed() -> None:
    model, rng = parity(), np.random.default_rng(6)
    for n in (2, 3, 17, 100, 257):
        words = rng.integers(0, 2, (100, n - 1))
        found = evaluate.logits(model, model.encode(words))
        assert (evaluate.labels(model, found)[:, 0] == words.sum(axis=1) % 2).all()
        flipped = words.copy()
        flipped[np.arange(100), rng.integers(0, n - 1, 100)] ^= 1
        change = np.abs(found - evaluate.logits(model, model.encode(flipped)))
        if n % 2 == 0:
            assert change.max() * n * n == pytest.approx(4 * math.tanh(1 / math.sqrt(5)), rel=1e-6)
        assert change.max() * n * n < 1.75


def test_decay_and_closeness_on_small_weights() -> None:
    """Within a factor 10 of what is found, and strictly below the closed form (scripts/bench_soft.py has the table)."""
    model = load("random:layers=2,width=16,percent=10,seed=4")
    rows = [influence(model, n, samples=100) for n in (8, 16, 32, 64)]
    for row in rows:
        assert row.sharp[0] <= 10 * row.measured[0]
        assert row.closed is not None
        assert row.sharp[0] < row.closed[0]
    fit = fit_decay(rows)
    assert fit is not None
    assert -1.1 < fit.exponent < -0.8


def test_causal_masks_have_no_plain_closed_form_elsewhere() -> None:
    model = load("random:layers=2,width=6,causal=1,percent=20")
    parts = prepare(model, 8)
    form = closed_form(parts, allowed_tokens(parts))
    assert form is not None
    assert form.power == 1
    mixed = masked(model, "strict_future")
    assert closed_form(prepare(mixed, 8), allowed_tokens(prepare(mixed, 8))) is None


# ----------------------------------------------------------------
# Theorem 6: the sources are what they say, the floor is below every measured value, P0 is exact.


PS = (Fraction(1, 10), Fraction(1, 3), Fraction(9, 20))


def language_model(symbols: tuple[str, ...], seed: int, percent: int = 10, causal: int = 0) -> SoftModel:
    labels = len(symbols) + 1
    model = random(
        layers=2, width=8, hidden=8, symbols=len(symbols), labels=labels, seed=seed, percent=percent, causal=causal
    )
    return replace(model, alphabet=symbols)


@pytest.mark.parametrize("p", PS)
@pytest.mark.parametrize("source", [Parity, Dyck2])
def test_prefix_probabilities_are_the_chain_of_next_symbols(source: type[Parity | Dyck2], p: Fraction) -> None:
    made = source(p)
    for m in range(6):
        products = {}
        for word in itertools.product(range(len(made.symbols)), repeat=m):
            with suppress(UsageError):  # no prefix of a string
                products[word] = math.prod(made.next(word[:t])[symbol] for t, symbol in enumerate(word))
                assert sum(made.next(word)) == 1
        total = sum(products.values())
        assert dict(made.prefixes(m)) == {word: x / total for word, x in products.items() if x}


def entropy_behind(made: Parity | Dyck2, words: list[tuple[tuple[int, ...], Fraction]]) -> float:
    """Of the next symbol behind one of these words, which have these probabilities, up to a factor."""
    shares = [sum(q * made.next(word)[s] for word, q in words) for s in range(len(made.symbols) + 1)]
    return entropy(tuple(share / sum(q for _, q in words) for share in shares))


@pytest.mark.parametrize("p", PS)
@pytest.mark.parametrize("source", [Parity, Dyck2])
def test_what_is_said_of_a_source_against_enumeration(source: type[Parity | Dyck2], p: Fraction) -> None:
    made = source(p)
    for m in range(1, 8):
        words = list(made.prefixes(m))
        best = sum(float(share) * entropy(made.next(word)) for word, share in words)
        assert made.optimum(m) == pytest.approx(best, abs=1e-12)
        assert made.chance(m) == pytest.approx(entropy_behind(made, words), abs=1e-12)
        if isinstance(made, Parity):
            assert sum(share for word, share in words if sum(word) % 2) == Fraction(1, 2)
            by_last = [[row for row in words if row[0][-1] == last] for last in (0, 1)]
            given = sum(float(sum(q for _, q in rows)) * entropy_behind(made, rows) for rows in by_last)
            assert m == 1 or made.chance_given_last(m) == pytest.approx(given, abs=1e-12)
        else:
            high = [(word, share) for word, share in words if made.pending(word)]
            assert made.p0(m) == sum(share for word, share in high if word[-1] % 2)
            assert made.unbalanced(m) == sum(share for _, share in high)


def test_p0_tends_to_its_limit_and_doubles_agree_with_fractions() -> None:
    for p in (*PS[:2], Fraction(2, 5)):  # nearer to 1/2 it takes longer words
        made = Dyck2(p)
        for even in (True, False):
            near = float(made.p0(60 + (not even)))
            far = float(made.p0(240 + (not even)))
            limit = float(made.p0_limit(even))
            assert abs(far - limit) < abs(near - limit) / 3 < 0.03
    from restrict.soft.influence import sources

    exact = sources._heights(Fraction(1, 3), 20)
    doubles = sources._heights(1 / 3, 20)
    for a, b in zip(exact, doubles, strict=True):
        np.testing.assert_allclose([float(v) for v in a], b[: len(a)], atol=1e-13)
    with pytest.raises(UsageError, match="below 1/2"):
        Dyck2(Fraction(1, 2)).p0_limit(True)


@pytest.mark.parametrize("source", [Parity, Dyck2])
def test_samplers_draw_what_the_source_says(source: type[Parity | Dyck2]) -> None:
    made, count = source(Fraction(1, 3)), 20_000
    words = made.sample(5, count, np.random.default_rng(7))
    seen = Counter(map(tuple, words.tolist()))
    expected = dict(made.prefixes(5))
    assert set(seen) <= set(expected)
    for word, share in expected.items():
        q = float(share)
        assert abs(seen[word] / count - q) <= 5 * math.sqrt(q * (1 - q) / count)
    if isinstance(made, Dyck2):
        closing = np.array([word[-1] % 2 and len(made.pending(tuple(word))) > 0 for word in words.tolist()])
        q = float(made.p0(5))
        assert abs(closing.mean() - q) <= 2.576 * math.sqrt(q * (1 - q) / count)


@pytest.mark.parametrize("percent", heavy_after([40, 5], 1))
@pytest.mark.parametrize(("name", "symbols"), [("parity", ("0", "1")), ("2dyck", BRACKETS)])
@pytest.mark.parametrize("seed", heavy_after(range(2), 1))
def test_the_floor_is_below_the_measured_value(name: str, symbols: tuple[str, ...], percent: int, seed: int) -> None:
    for causal in range(2):
        model = language_model(symbols, seed, percent, causal)
        for n in (1, 4 if name == "2dyck" else 6):
            row = cross_entropy(model, n, name, p=Fraction(1, 5))
            assert row.exhaustive
            assert row.optimum * (1 - 1e-9) <= row.floor <= row.measured + 1e-12


def test_the_floor_tends_to_chance() -> None:
    model = language_model(("0", "1"), 1, 5)
    rows = [cross_entropy(model, n, "parity", p=Fraction(1, 10), samples=10) for n in (8, 16, 32)]
    limit = Parity(Fraction(1, 10)).chance_given_last(9)
    gaps = [limit - row.floor for row in rows]
    assert gaps[0] > gaps[1] > gaps[2] > 0
    assert gaps[2] < 1e-3
    assert rows[-1].floor > rows[-1].optimum
    brackets = language_model(BRACKETS, 1, 5)
    row = cross_entropy(brackets, 65, "2dyck", p=Fraction(1, 10), samples=10)
    extra = float(Dyck2(Fraction(1, 10)).p0(65)) * 0.9
    assert row.floor == pytest.approx(row.optimum + extra, abs=1e-3)


def test_the_floor_for_membership_in_parity_is_below_the_measured_value() -> None:
    rows = [cross_entropy(parity(), n, "parity", samples=100) for n in (3, 9, 101)]
    for row in rows:
        assert row.floor <= row.measured <= 1
    assert rows[0].measured < rows[1].measured < rows[2].measured
    assert rows[2].floor > 0.98
    assert binary_floor(0.0) == pytest.approx(1.0)
    assert binary_floor(1e9) == 0.0


def test_the_trained_models_confidence_decays() -> None:
    model = load("instances/soft-parity-trained.safetensors")
    short, long = (cross_entropy(model, n, "parity", samples=200) for n in (5, 30))
    assert short.measured < 0.3
    assert long.measured > 0.9
    assert short.floor <= short.measured
