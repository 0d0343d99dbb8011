"""Heads of any width, and any rational factor of their scores, written as GPT-2's blocks have them: the same function,
by passes written out by hand, with verdicts that brute force confirms."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from restrict.base.errors import ModelError
from restrict.soft.importers import Imported, import_weights, save_gpt2_names
from restrict.soft.importers.fitted import fitted, power, square
from restrict.soft.importers.gpt2_names import gpt2_names
from restrict.soft.models import evaluate
from restrict.soft.models.terms import Term
from restrict.soft.trained.model import forward
from tests.layouts import HEADS, Arrays, D, by_hand, encoder, lens
from tests.marks import rows_after
from tests.test_soft_gpt2_names import random_verdict, words, written

KINDS: dict[str, tuple[int, str | None, Arrays]] = {
    "narrow": (1, "LN", {}), "wide": (4, "LN", {}), "odd": (3, "LN", {}), "odd, folded": (3, "LNPre", {}),
    "odd, plain": (3, None, {}), "wide, plain": (5, None, {}), "unscaled": (2, "LN", {"use_attn_scale": False}),
    "unscaled, plain": (3, None, {"use_attn_scale": False}),
    "by layer": (2, "LN", {"scale_attn_by_inverse_layer_idx": True}),
}  # fmt: skip
"""The width of a head, LayerNorm, and what the configuration says of scores."""


def source(kind: str, rng: np.random.Generator, layers: int) -> tuple[Arrays, Arrays, Imported]:
    dk, norm, said = KINDS[kind]
    arrays, config = lens(rng, layers, norm, bool(rng.random() < 0.7), dk)
    config |= said
    return arrays, config, import_weights(arrays, config=config)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "seed"), rows_after([(layers, k) for k in range(8) for layers in (1, 2, 3)], 2))
def test_it_is_the_same_function_with_true_verdicts(kind: str, layers: int, seed: int) -> None:
    rng = np.random.default_rng([seed, layers, list(KINDS).index(kind)])
    layers = min(layers, 2) if kind == "by layer" else layers  # a third and one have no width in common
    arrays, config, found = source(kind, rng, layers)
    model, naive = written(found)
    assert model.d % model.heads == 0
    other = fitted(found.model)[0]
    for word in words(4):
        tokens = model.rows([model.symbols[s] for s in word])
        hand = by_hand(arrays, config, tokens)
        np.testing.assert_allclose(forward(model, tokens), hand, atol=1e-9)
        np.testing.assert_allclose(naive.logits(word), hand[-1], atol=1e-9)
        inner = found.model.encode([[model.symbols[s] for s in word]])
        for made in (found.model, other):
            np.testing.assert_allclose(evaluate.logits(made, inner)[0], hand, atol=1e-9)
    if layers < 3:
        assert random_verdict(model, naive, seed, 4 if layers == 1 else 1) in ("right", "wrong", "open")


def test_numbers_are_those_of_the_model_or_powers_of_two_times_these() -> None:
    for kind in KINDS:
        arrays, _, found = source(kind, np.random.default_rng(1), 1)
        tensors = fitted(found.model)[0]
        theirs = {abs(x) for a in arrays.values() for x in a.astype(float).ravel().tolist()} | {0.0, 1.0}
        heads = [a for h in tensors.layers[0].heads for a in (h.query, h.key, h.value, h.output)]
        assert {abs(x) for a in (*heads, tensors.embed) for x in a.ravel().tolist()} <= theirs


def test_what_fits_stays_as_it_is() -> None:
    for arrays, config in (lens(np.random.default_rng(1), 2), encoder(np.random.default_rng(1), 1)):
        model = import_weights(arrays, config=config).model
        assert fitted(model) == (model, None)


def test_what_was_added_is_said(tmp_path: Path) -> None:
    for kind, said in (
        ("narrow", "note: heads are written 1 wide, 4 in a layer"),
        ("wide", "4 wide, 2 in a layer, and the stream of 4 2 times side by side: the same function"),
        ("odd, plain", "3 wide, 2 in a layer, and 2 zeros more side by side: the same function"),
    ):
        made = save_gpt2_names(source(kind, np.random.default_rng(2), 1)[2], tmp_path / "w.safetensors")
        assert said in "\n".join(made.lines(tmp_path / "w.safetensors"))


def test_a_factor_that_no_width_makes_a_power_of_two_is_refused() -> None:
    _, _, found = source("narrow", np.random.default_rng(2), 1)
    for scale in ("1/n", "sqrt(2)", "3/7", "0", "1.00000000000000000001"):
        layer = found.model.layers[0]
        heads = tuple(replace(head, scale=Term(scale)) for head in layer.heads)
        model = replace(found.model, layers=(replace(layer, heads=heads),))
        assert fitted(model)[1] is None
        with pytest.raises(ModelError, match="or that by a power of two"):
            gpt2_names(replace(found, model=model))


def test_a_stream_beyond_the_checkers_is_refused() -> None:
    arrays, config = lens(np.random.default_rng(2), 1, dk=1031)  # a prime: 4 * 1031 is beyond 4096
    with pytest.raises(ModelError, match="heads whose widths do not add up to 4"):
        gpt2_names(import_weights(arrays, config=config))


def test_squares_and_powers() -> None:
    for text, found in (
        ("1/sqrt(8)", Fraction(1, 8)), ("1/sqrt(8)/3*2", Fraction(4, 72)), ("0.25", Fraction(1, 16)),
        ("1", Fraction(1)),        ("n", None), ("1/sqrt(0)", None), ("0", None), ("0-1", None), ("exp(1)", None),
    ):  # fmt: skip
        assert square(Term(text)) == found
    powers = [Fraction(4) ** e for e in range(-5, 6)]
    every = {Fraction(p, q) for p in range(1, 1030) for q in (1, 2, 3, 4, 16, 64)}
    assert {x for x in every if power(x)} == every & set(powers)
    assert HEADS * 2 == D
