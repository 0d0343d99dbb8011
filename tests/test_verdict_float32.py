"""Right as run: float32 passes in many orders, in numpy and in torch, stay inside the bounds of a verdict's cells."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from restrict.base.errors import ModelError
from restrict.soft.importers import import_weights
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.directions import Key
from restrict.soft.trained.firm import firm
from restrict.soft.trained.float32 import Rounding, as_run, plainly
from restrict.soft.trained.forms import Form
from restrict.soft.trained.graph import Graph, graph_of, task_language
from restrict.soft.trained.model import Trained, forward, load
from restrict.soft.trained.read_out import Asked, margin
from restrict.soft.trained.verdict import SAFE, Search
from tests import verdict_cases
from tests.commands import failed, typed
from tests.marks import heavy_after
from tests.test_soft_rounding import F, Shuffled, by_torch

KINDS = {"gelu_new": "gelu_tanh"}


class Run(Shuffled):
    """A checkpoint in float32: the logits behind every prefix, and the last deviation as it is computed."""

    def __init__(self, trained: Trained, rng: np.random.Generator) -> None:
        self.trained, self.rng = trained, rng

    def norm(self, norm: Any, x: Any) -> Any:
        return x if norm is None else self.scaled(norm, x, float(self.trained.epsilon))[0]

    def logits(self, tokens: list[int]) -> tuple[Any, Any]:
        model, (layer,) = self.trained, self.trained.layers
        x, t, dk = model.embed[tokens].astype(F), len(tokens), model.d // model.heads
        if model.positions is not None:
            x = x + model.positions[model.offset : model.offset + t].astype(F)
        mixed = self.linear(layer.attention.weight.T, layer.attention.bias, self.norm(layer.norm1, x))
        read, seen = [], np.tri(t, dtype=bool)
        for h in range(model.heads):
            q, k, v = (mixed[:, p * model.d + h * dk : p * model.d + (h + 1) * dk] for p in range(3))
            read.append(self.averaged(self.total(q[:, None] * k[None]) * F(1 / math.sqrt(dk)), seen, v))
        x = x + self.linear(layer.projection.weight.T, layer.projection.bias, np.concatenate(read, axis=1))
        normal = self.norm(layer.norm2, x)
        hidden = self.linear(layer.inner.weight.T, layer.inner.bias, normal)
        hidden = self.activated(KINDS.get(model.activation, model.activation), hidden)
        x = (normal if model.post else x) + self.linear(layer.outer.weight.T, layer.outer.bias, hidden)
        out, root = (x, np.ones(t, F)) if model.final is None else self.scaled(model.final, x, float(model.epsilon))
        return self.linear(model.unembed, model.shifts, out), root


def deviations(model: Trained, tokens: list[int]) -> tuple[Any, Any]:
    """The logits in float64, and the last deviation, which a unit vector as the read-out shows."""
    import dataclasses

    logits, d = forward(model, tokens), model.d
    if model.final is None:
        return logits, np.ones(len(logits))
    bare = dataclasses.replace(model, final=None, unembed=np.eye(d), shifts=np.zeros(d))
    z = forward(bare, tokens)
    return logits, np.sqrt(z.var(axis=1) + float(model.epsilon))


def of_one(rounding: Rounding, key: Key, cell: Form) -> Any:
    """The bound on one cell of a case."""
    return rounding.all_errors([key], Form.side_by_side([cell]))[0]


def quotients(model: Trained, graph: Graph, n: int, rng: np.random.Generator, words: int, times: int) -> list[float]:
    """For random words, the largest quotient of an error and the bound of the case's whole box, at every prefix."""
    search = Search(model, graph, n)
    rounding, bounds, found = Rounding(model, search.tail, n), dict[Any, Any](), []
    for _ in range(words):
        word, states = verdict_cases.walk(rng, graph, n)
        tokens = model.rows([model.symbols[s] for s in word])
        if not tokens:
            continue
        exact, sd = deviations(model, tokens)
        for _ in range(times):
            logits, roots = Run(model, rng).logits(tokens)
            assert logits.dtype == F
            for row, (i, q) in enumerate(list(enumerate(states))[model.first :]):
                key = (i, word[i - 1] if i else -1, q)
                if key not in bounds:
                    high, low = search.box(key)
                    bounds[key] = of_one(rounding, key, search.kept(key, low, high)[0].form())
                labels = list(graph.labels)
                off = np.abs(
                    logits[row, labels].astype(float) * roots[row].astype(float) - exact[row, labels] * sd[row]
                )
                found.append(float((off / bounds[key]).max()))
    return found


@pytest.mark.parametrize("name", verdict_cases.NAMES)
@pytest.mark.parametrize(("n", "words", "seed"), [(12, 4, 3), pytest.param(40, 400, 4, marks=pytest.mark.slow)])
def test_no_execution_leaves_the_bound_of_a_case(name: str, n: int, words: int, seed: int) -> None:
    model, graph = verdict_cases.loaded(name)
    found = quotients(model, graph, n, np.random.default_rng(seed), words, 2)
    assert 1e-4 < max(found) < 1


@pytest.mark.parametrize("seed", heavy_after(range(60), 6))
def test_no_execution_leaves_the_bound_of_random_models(seed: int) -> None:
    """One or two heads, ReLU or GELU, positions or none, a start token or none, LayerNorm first, last or nowhere,
    graphs that branch."""
    rng = np.random.default_rng(seed)
    norm = ("", "post", "no-last", "none")[seed // 6 % 4]
    model, naive = verdict_cases.random_checkpoint(rng, start=seed % 3 > 0, norm=norm)
    graph = verdict_cases.graph_of_words(rng, model, naive)
    found = quotients(model, graph, 5, rng, 6, 2)
    assert max(found) < 1


@pytest.mark.parametrize(
    ("folder", "name", "n"),
    [
        (verdict_cases.FOLDER, "dyck1-depth2-1l1h16d-nope", 14),
        (verdict_cases.SHIPPED, "first-is-last-1l1h16d-next", 8),
        (verdict_cases.SHIPPED, "dyck1-depth2-1l1h16d-tags", 8),
    ],
)
def test_what_is_right_as_run_is_right_in_every_float32_pass(folder: Path, name: str, n: int) -> None:
    """By signs, and, of a language model and a tagger, by a wanted logit that is the greatest."""
    model, graph = verdict_cases.loaded(name, folder)
    found, rng = verify_trained(model, graph, n, float32=True), np.random.default_rng(3)
    assert found.float32 is not None
    assert found.float32.closest is not None
    assert found.float32.upto == n
    if not graph.greatest:
        assert found.float32.closest.ratio == found.float32.closest.least / found.float32.closest.error > 10
    for _ in range(6):
        word, states = verdict_cases.walk(rng, graph, n)
        logits, _ = Run(model, rng).logits(model.rows([model.symbols[s] for s in word]))
        for row, state in zip(logits, states, strict=True):
            asked = graph.asked[state]
            assert margin(row[list(graph.labels)], asked.signs, asked.greatest) > 0


def test_the_bound_of_a_comparison_covers_both_logits() -> None:
    """Whichever wanted label is compared: it and the other one may both be off, in the worst direction."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        labels = int(rng.integers(2, 6))
        said, off, signs = rng.normal(size=labels), rng.random(labels), rng.choice([-1.0, 1.0], labels)
        signs[:2] = 1, -1
        for greatest in (False, True):
            asked = Asked(signs, greatest)
            worst = np.abs(asked.rows(said)) @ off
            assert (asked.errors(off) >= worst - 1e-12).all()


def test_a_margin_that_is_smaller_than_the_rounding_is_not_right_as_run() -> None:
    """Library functions that are off by many units: the bound grows, cells are halved, then nothing is said."""
    model, _ = verdict_cases.kept("dyck1-depth2-1l1h16d-nope")
    found = verify_trained(model, graph_of(model, task_language(model)), 8)
    search = Search(model, found.graph, 8)
    search.turns = found.bases
    answers = [
        as_run(model, search, found.cases, 8, ulps=ulps, tell=lambda _: None) for ulps in (1, 4, 1 << 8, 1 << 20)
    ]
    ratios = [a.closest.ratio for a in answers if a is not None and a.closest is not None]
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert answers[-1] is not None
    assert answers[-1].upto == -1


def test_nothing_is_right_as_run_of_words_that_vanish_beside_other_symbols() -> None:
    """Behind `b`, which reads `a` by `exp(1000)`, label 0 is `1 + t + u - 1 - (what is read)`: exactly that is -1e-8,
    in float32 it is above 0 in some order. The search reads part of `a`, though no word has it, and sees 0.25."""
    t, u, rng = 3 * 2.0**-25, -1e-7, np.random.default_rng(1)
    mixed, out = np.zeros((4, 12)), np.zeros((4, 4))
    mixed[1, 0], mixed[0, 4], mixed[0, 8], out[0, 0] = 1000, 2, 1, 1
    tensors = {"wte.weight": np.array([[1, 0, 0, 0], [0, 1, t, u]]), "h.0.attn.c_attn.weight": mixed}
    sizes = {"attn.c_attn": (4, 12), "attn.c_proj": (4, 4), "mlp.c_fc": (4, 1), "mlp.c_proj": (1, 4)}
    model = verdict_cases.bare(tensors | {"h.0.attn.c_proj.weight": out}, sizes, [-1, 1, 1, 1], -1)
    graph = Graph(((-1, 0),), frozenset({0}), (0,), (frozenset(),), (0,), empty=False)
    found = verify_trained(model, graph, 2, float32=True)
    assert found.float32 is not None
    assert found.float32.upto == 0
    assert forward(model, [1, 1])[-1, 0] < 0 < max(Run(model, rng).logits([1, 1])[0][-1, 0] for _ in range(20))


def test_what_a_block_adds_to_the_stream_may_be_added_one_by_one() -> None:
    """Sixty-four neurons of nearly half a unit in the last place of the stream: added to it one after the other, all of
    them are lost, and the logit is negative; together they are 63 times as much, and it is positive."""
    unit, sizes = F(2.0**-4), {"attn.c_attn": (2, 6), "attn.c_proj": (2, 2), "mlp.c_fc": (2, 64), "mlp.c_proj": (64, 2)}
    first, bias, outer = F(2.0**20), np.full(64, F(0.99) * unit), np.zeros((64, 2))
    outer[:, 0], last = 1, -first - 16 * unit
    tensors = {"wte.weight": np.array([[first, 0], [0, 0]]), "h.0.mlp.c_fc.bias": bias, "h.0.mlp.c_proj.weight": outer}
    model = verdict_cases.bare(tensors, sizes, [1, 0], last)
    graph = Graph(((0, -1),), frozenset({0}), (0,), (frozenset({0}),), (0,), empty=False)
    stream = first
    for neuron in bias:
        stream = F(stream + neuron)
    assert F(stream + last) < 0 < forward(model, [0])[-1, 0]
    found = verify_trained(model, graph, 1, float32=True)
    assert found.float32 is not None
    assert (found.status, found.float32.upto) == ("right", 0)


@pytest.mark.parametrize("name", ["tomita2-1l1h16d", "dyck1-depth2-1l1h16d-nope"])
def test_cases_together_have_the_rounding_that_they_have_one_by_one(name: str) -> None:
    """What is beyond the rounding of all cases at once is so cell by cell, and of no case more is said."""
    model, _ = verdict_cases.kept(name)
    found = verify_trained(model, graph_of(model, task_language(model)), 8)
    search = Search(model, found.graph, 8)
    search.turns = found.bases
    for ulps in (4, 1 << 16):
        rounding = Rounding(model, search.tail, 8, ulps)
        quick = plainly(search, rounding, found.cases)
        assert len(quick) == len(found.cases) or ulps > 4
        for case in found.cases:
            search.use(case.basis)
            form = search.kept(case.key, *search.span(*search.alone(case)))[0].form()
            asked, off = found.graph.asked[case.key[2]], of_one(rounding, case.key, form)
            assert ((case.margins > SAFE + asked.errors(off)).all()) == (case.key in quick)
            if case.key in quick:
                alone = firm(search, rounding.together, case)
                assert alone is not None
                assert quick[case.key].ratio <= alone[1].ratio * (1 + 1e-9)


def test_a_file_that_soft_import_wrote_names_the_one_to_give(tmp_path: Path) -> None:
    source, made = verdict_cases.FOLDER / "tomita2-1l1h16d.safetensors", tmp_path / "made.safetensors"
    assert typed("soft", "import", source, "-o", made).exit_code == 0
    found = failed(ModelError, "soft", "verify", made, "-n", "4")
    assert "made.safetensors: a restrict-soft/1 file, where a verdict is about a checkpoint: " in found
    with pytest.raises(ModelError, match=r"JSON, where a verdict is about a checkpoint: .* imported from"):
        load(Path(__file__).parents[1] / "instances" / "parity8.json")


@pytest.mark.heavy
@pytest.mark.parametrize("name", verdict_cases.NAMES)
def test_torch_has_the_signs_of_what_is_right_as_run(name: str) -> None:
    """3 400 words of each model in torch, float32: its own LayerNorm, GELU, softmax and matrix products."""
    (model, graph), imported = verdict_cases.loaded(name), import_weights(verdict_cases.FOLDER / f"{name}.safetensors")
    assert imported.rows == graph.labels
    found = verify_trained(model, graph, 60, float32=True)
    assert found.float32 is not None
    rng, n = np.random.default_rng(2), found.float32.upto
    walks = [walk for walk in (verdict_cases.walk(rng, graph, n) for _ in range(3400)) if len(walk[0]) == n]
    tokens = np.array([model.rows([model.symbols[s] for s in word]) for word, _ in walks])
    wanted = np.array([[k in want for k in graph.labels] for want in graph.want])
    logits = by_torch(imported.model, tokens)
    assert len(walks) > 3000
    assert ((logits > 0) == wanted[np.array([states for _, states in walks])]).all()
