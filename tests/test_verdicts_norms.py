"""Models with LayerNorm behind each half of a block, without one at the end, or without any: the same verdicts."""

import json
from pathlib import Path

import numpy as np
import pytest

from restrict.base.errors import ModelError
from restrict.checker import verdict_forms
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.main import verify
from restrict.checker.verdict import FREE
from restrict.checker.verdict_model import Model
from restrict.checker.verdict_numbers import BITS
from restrict.report.source import page_of
from restrict.soft.trained.attack import Attack
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.forms import Form, Tail
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained, forward, trained
from restrict.soft.trained.verdict import Search
from tests import verdict_cases
from tests.commands import typed
from tests.fuzzing import every_length as judged
from tests.fuzzing.verdicts import changed_is_refused
from tests.marks import heavy_after
from tests.naive_gpt2 import Naive

UNIT = 1 << BITS
NORMS = ("post", "no-last", "none")
EACH = (9, 16, 2, 12, 13, 8, 7, 11, 21, 23, 24, 34)
"""Seeds of models that have every answer."""
SHIPPED = Path(__file__).parent.parent / "instances" / "trained" / "no-equal-neighbours-1l1h16d-relu-post.safetensors"


def case(seed: int) -> tuple[Trained, Naive, Graph, int]:
    """A random model of one or two layers, a graph that asks for signs or compares, and a length."""
    rng = np.random.default_rng([seed, 16])
    layers = 2 if rng.random() < 0.3 else 1
    model, naive = verdict_cases.random_checkpoint(rng, layers, rng.random() < 0.7, NORMS[seed % 3])
    graph = verdict_cases.graph_of_words(rng, model, naive, seed % 4 == 0)
    return model, naive, graph, int(rng.integers(1, 6 - layers))


@pytest.mark.parametrize("seed", heavy_after([*EACH, *(seed for seed in range(200) if seed not in EACH)], 6))
def test_answers_about_random_models_are_those_of_all_words(seed: int) -> None:
    model, naive, graph, n = case(seed)
    words = np.random.default_rng(seed).integers(0, len(model.symbols), (3, 4))
    for word in (tuple(word[: int(word[0]) + 1].tolist()) for word in words):
        said = forward(model, model.rows([model.symbols[s] for s in word]))[-1]
        assert np.allclose(said, naive.logits(tuple(model.tokens[s] for s in word)), atol=1e-8)
    verdict_cases.agrees(verify_trained(model, graph, n, seconds=60, float32=True))


def test_all_answers_occur_among_random_models() -> None:
    made = map(case, EACH)
    answers = ((verify_trained(m, g, n, seconds=60).status, len(m.layers), m.norm) for m, _, g, n in made)
    wanted = {(status, layers, norm) for status in ("right", "wrong") for layers in (1, 2) for norm in NORMS}
    assert verdict_cases.occur(answers, wanted)


@pytest.mark.parametrize("seed", heavy_after([0, *range(2, 120), 1], 1))
def test_a_changed_certificate_is_refused_or_true(seed: int) -> None:
    changed_is_refused(seed, *case(seed))


@pytest.mark.parametrize("seed", heavy_after(range(60), 4))
def test_answers_at_every_length_are_true(seed: int) -> None:
    rng, norm = np.random.default_rng([seed, 4]), NORMS[seed % 3]
    model, naive = next(made for made in iter(lambda: verdict_cases.random_checkpoint(rng, norm=norm), None)
                        if made[0].positions is None)  # fmt: skip
    found = verdict_cases.at_every_length(model, verdict_cases.graph_of_words(rng, model, naive, seed % 4 == 0), 8)
    if found.proves:
        verify(model.content, found.to_bytes())
        assert judged.true_of(model.content, found.document())


def units(a: np.ndarray) -> list[int]:
    """Numbers in units, rounded to the nearest."""
    return [round(v * UNIT) for v in a.tolist()]


def scaled(naive: Naive, y: np.ndarray) -> np.ndarray:
    """The logits behind a stream, times the last deviation where there is a last LayerNorm, by the plain block."""
    last, naive.tensors = naive.tensors, dict(naive.tensors)
    z = np.array(naive.network(list(y), 0))
    said = np.array(naive.unembedded(list(z)))
    if naive.post:
        one, none = [1.0] * naive.d, [0.0] * naive.d
        naive.tensors |= {"h.0.ln_2.weight": one, "h.0.ln_2.bias": none}
        root = np.sqrt(1 - np.square(naive.network(list(y), 0)).mean())  # of epsilon by the variance
        said = said * np.sqrt(1e-5) / root
    naive.tensors = last
    return said


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", heavy_after(range(60), 4))
def test_bounds_on_a_cell_hold_at_its_points(norm: str, seed: int) -> None:
    """Cells of the stream behind attention, by the plain block at their points: the bounds of search and checker are
    below what is asked there, by the chord and by pieces."""
    rng = np.random.default_rng([seed, 5])
    model, naive = verdict_cases.random_checkpoint(rng, norm=norm)
    graph = verdict_cases.graph_of_words(rng, model, naive)
    document = verify_trained(model, graph, 1, seconds=60).document()
    made = Model(Task({}, Place("c"), model.content, Place("m"), Path(), Meter(10**9)), document["model"], Place("c"))
    (block,), labels, asked, tail = made.blocks, list(graph.labels), graph.asked[0], Tail(model, graph.labels)
    free, held = (
        [FREE] * len(block.network.inner.bias),
        np.array([[-np.inf], [np.inf]]) + np.zeros(len(tail.tables.inner)),
    )
    for size in (0.02, 0.3):
        y = Form(
            rng.normal(size=model.d), rng.normal(size=(model.d, 3)) * size, np.abs(rng.normal(size=model.d)) * size
        )
        eps = rng.uniform(-1, 1, size=(40, 3))
        points = y.c + eps @ y.g.T + rng.uniform(-1, 1, size=(40, model.d)) * y.r
        exact = np.array([scaled(naive, point) for point in points])[:, labels]
        near = tail.near(y)
        for bounds in ([tail.signs(near, asked)], next(tail.pieces(near, asked, [2], held))):
            below = np.array([least + eps @ lines.T for least, lines in bounds]).min(0)
            assert (below <= asked.signs * exact + 1e-9).all()
        stream = verdict_forms.Form(units(y.c), [units(g) for g in y.g.T], units(y.r))
        image = verdict_forms.moved(block.network.normal, stream)
        for cells in (
            [verdict_forms.network(made.epsilon, block.network, stream, *image)],
            list(verdict_forms.between(made.epsilon, block.network, stream, *image, 2, free)),
        ):
            for place, label in enumerate(labels):
                sign = made.sign(label)
                for way, one in ((1, sign), (-1, verdict_forms.Sign([0] * model.d, 0, 0).less(sign))):
                    ends = [end for z in cells for end in verdict_forms.signed(one, z, block.network, made.epsilon)]
                    least = np.array([(k - sum(map(abs, lines[3:]))) / UNIT for k, lines in ends])
                    below = (
                        least[:, None] + np.array([lines[:3] for _, lines in ends]).astype(float) / UNIT @ eps.T
                    ).min(0)
                    assert (below <= way * exact[:, place] + 1e-9).all()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(6))
def test_an_attack_follows_the_gradient(norm: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 6])
    model, naive = verdict_cases.random_checkpoint(rng, norm=norm)
    graph = verdict_cases.graph_of_words(rng, model, naive, bool(seed % 2))
    attack, y, label = Attack(model, graph, Search(model, graph, 2).atoms), rng.normal(size=model.d), graph.labels[0]
    value, gradient = attack.label(y, label)
    assert np.isclose(value, scaled(naive, y)[label], rtol=1e-6, atol=1e-9)
    ends = [[attack.label(y + step * e, label)[0] for step in (1e-6, -1e-6)] for e in np.eye(model.d)]
    assert np.allclose(gradient, [(up - down) / 2e-6 for up, down in ends], rtol=1e-4, atol=1e-5)


def said(model: Trained, **changed: object) -> Trained:
    """The model read again with a changed configuration."""
    config = {
        "n_layer": len(model.layers), "n_head": model.heads, "n_embd": model.d, "vocab_size": len(model.vocab),
        "activation_function": model.activation, "layer_norm_epsilon": "1e-05", "vocab": list(model.vocab),
        "tie_word_embeddings": model.tied, "position_embeddings": "none" if model.positions is None else "learned",
        "n_positions": 12, "norm_first": not model.post, "final_norm": model.norm == "",
        "layer_norm": model.norm != "none",
    }  # fmt: skip
    return trained("other", model.content, config | changed, "m.safetensors")


def test_what_a_configuration_says_must_fit_the_weights() -> None:
    """A file has the same tensors with LayerNorm behind each half and without a last one: neither is guessed."""
    rng, made = np.random.default_rng(3), list[Trained]()
    for norm in (*NORMS, ""):
        random = (verdict_cases.random_checkpoint(rng, norm=norm)[0] for _ in range(50))
        made.append(next(model for model in random if model.labels == model.vocab))
        assert said(made[-1]).norm == norm
    post, bare, none, usual = made
    for model, changed, message in (
        (bare, {"final_norm": True}, r"m.safetensors: the tensor transformer.ln_f.weight is missing"),
        (post, {"final_norm": True}, r"config final_norm: LayerNorm stands behind each half \(norm_first\)"),
        (usual, {"final_norm": False}, r"the tensor transformer.ln_f.bias is not one of GPT-2's block"),
        (none, {"layer_norm": True}, r"the tensor transformer.h.0.ln_1.weight is missing"),
        (none, {"norm_first": False}, r"config layer_norm: there is none, but norm_first says"),
        (none, {"layer_norm": 0}, r"config layer_norm: expected true or false, not '?0"),
        (usual, {"layer_norm": False, "final_norm": False}, r"h.0.ln_1.bias is not one of GPT-2's block"),
        (post, {"norm_first": "no"}, r"config norm_first: expected true or false, not 'no'"),
    ):
        with pytest.raises(ModelError, match=message):
            said(model, **changed)


def test_another_norm_in_the_certificate_is_another_claim() -> None:
    """The wording is a part of the claim: with the other one the checker reads another model, or refuses the file."""
    seen = set[str]()
    for seed in range(12):
        model, _, graph, _ = case(seed)
        found = verify_trained(model, graph, 1, seconds=60)
        for other in (*NORMS, None, "pre"):
            document = json.loads(found.to_bytes())
            if document["model"].pop("norm") == other:
                continue
            document["model"] |= {} if other is None else {"norm": other}
            try:
                verify(model.content, json.dumps(document).encode())
                assert verdict_cases.true_of(model.content, document) is not False
                seen.add("true as well")
            except Reject as reason:
                seen.add("missing" if "the tensor is missing" in str(reason) else "refused")
    assert "missing" in seen


def test_the_command(tmp_path: Path) -> None:
    """A shipped model with LayerNorm behind each half: verdict, check, report, restriction; then a wrong word."""
    model, proof = str(SHIPPED), tmp_path / "c.json"
    said = typed("soft", "verify", model, "-n", "3", "-o", proof)
    assert said.exit_code == 0, said.output
    assert "n = 0 .. 3: right" in said.output
    assert "right as run in float32: every prefix" in said.output
    assert json.loads(proof.read_text())["model"]["norm"] == "post"
    assert typed("check", model, proof).output.startswith("s VERIFIED right n=0..3")
    assert "Attention of the hardest word" in str(page_of(proof, model))
    forced = typed("soft", "certify", model, "-n", "3")
    assert forced.exit_code == 0, forced.output
    said = typed("soft", "verify", model, "-n", "4", "-L", "regex:(a|b|c)*", "-o", proof)
    assert said.exit_code == 3, said.output
    assert "The wrong word, step by step" in str(page_of(proof, model))
    record, again = model.replace("safetensors", "record.json"), tmp_path / "again.json"
    made = typed("soft", "import", model, "--compare", record, "-o", again)
    assert made.exit_code == 0, made.output
    assert "LayerNorm last" in made.output
