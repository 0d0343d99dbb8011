"""Verdicts on weights that nobody trains: huge, tiny or infinite. There is an answer or one line, never a crash."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from restrict.base.errors import ModelError
from restrict.soft.restriction.forced import Decision, force_decision
from restrict.soft.trained.confirm import confirmed
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.every_length import verify_every_length
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained, forward
from tests.commands import typed
from tests.test_verdict_float32 import Run
from tests.verdict_cases import FOLDER, SMALL, bare, made_of, refusal, weights

STAR = ((0, 0),)
"""All words over two symbols."""
ONLY_A = ((0, -1),)


def parts(seed: int, times: dict[str, float], layers: int = 1, kind: type = np.float32) -> tuple[Any, dict[str, Any]]:
    """Random tensors and the configuration of :data:`.SMALL`; those whose names end so are multiplied."""
    config = SMALL | {"n_layer": layers}
    made = weights(np.random.default_rng(seed), config, 0.5)
    for name in made:
        factor = np.prod([factor for end, factor in times.items() if name.endswith(end)])
        with np.errstate(over="ignore"):
            made[name] = (made[name].astype(np.float64) * factor).astype(kind)
    return made, config


def checkpoint(seed: int, times: dict[str, float], *, layers: int = 1, kind: type = np.float32) -> Trained:
    """A model of them."""
    return made_of(*parts(seed, times, layers, kind))


def said(model: Trained, delta: tuple[tuple[int, ...], ...], labels: tuple[int, ...] = (0, 1, 2, 3)) -> Graph:
    """Wanted is what the model says behind the empty word."""
    logits = forward(model, model.rows([]))[-1]
    want = frozenset(k for k in labels if logits[k] > 0)
    return Graph(delta, frozenset(range(len(delta))), labels, (want,) * len(delta), tuple(range(len(delta))))


@pytest.mark.parametrize("delta", [STAR, ONLY_A])
@pytest.mark.parametrize("every", [False, True])
def test_a_logit_of_0_is_open_and_not_wrong(delta: tuple[tuple[int, ...], ...], every: bool) -> None:
    """A label that is exactly 0 behind every word, and not wanted: the claim is true, and nothing shows it."""
    for times in ({"lm_head.weight": 0.0}, {"lm_head.weight": 0.0, "attn.c_proj.weight": 0.0}):
        model = checkpoint(1, times)
        graph = said(model, delta)
        assert graph.want[0] == frozenset()
        found, line = confirmed(verify_every_length(model, graph) if every else verify_trained(model, graph, 5), "c")
        assert (found.status, found.wrong, line) == ("open", None, None)
        assert found.open[0].least == 0


def test_a_logit_that_is_as_good_as_0_is_not_called_wrong() -> None:
    """Behind `b` the sign is wrong by 1e-33, which no enclosure of the checker shows."""
    model = checkpoint(2, {"lm_head.weight": 1e-33})
    graph = said(model, STAR)
    graph = Graph(((0, 1), (0, 1)), frozenset({0, 1}), graph.labels, (graph.want[0], graph.want[0] ^ {0}), (0, 1))
    assert confirmed(verify_trained(model, graph, 3), "c")[0].status == "open"
    found, line = confirmed(verify_every_length(model, graph), "c")
    assert line is None
    assert not found.proves


def test_the_first_symbol_may_be_as_good_as_right_where_there_is_no_start_token() -> None:
    """Nothing comes before it, so nothing is left to certify."""
    sizes = {"attn.c_attn": (2, 6), "attn.c_proj": (2, 2), "mlp.c_fc": (2, 1), "mlp.c_proj": (1, 2)}
    model = bare({"wte.weight": np.eye(2)}, sizes, [1e-33, 0], 0)
    graph = Graph(((0, -1),), frozenset({0}), (0,), (frozenset(),), (0,), empty=False)
    found, line = confirmed(verify_every_length(model, graph), "c")
    assert (found.status, found.wrong, found.proves, line) == ("open", None, False, None)
    assert confirmed(verify_trained(model, graph, 3), "c")[0].status == "open"


def test_words_that_are_light_beside_other_symbols_have_a_box() -> None:
    """The score of `b`, which no word has, is above those of all others by more than exp can hold."""
    for seed in range(5):
        model = checkpoint(seed, {"attn.c_attn.weight": 2e3, "attn.c_proj.weight": 1e-3})
        found, line = confirmed(verify_trained(model, said(model, ONLY_A), 3, float32=True), "c")
        assert found.status in ("right", "open", "wrong")
        assert (line is None) == (not found.proves)


def test_the_checker_says_of_a_light_word_that_it_does_not_know() -> None:
    """In some of these models the weights of the word vanish beside those of `b`: that is no fault of the file."""
    said_no = set()
    for seed in range(40):
        model = checkpoint(seed, {"attn.c_attn.weight": 2e3, "attn.c_proj.weight": 1e-3})
        document = verify_trained(model, said(model, ONLY_A), 0).document()
        document |= {"n": 2, "upto": -1, "basis": [], "cases": [], "wrong": {"word": [0, 0], "label": 0}}
        code, reason = refusal(model.content, document)
        said_no.add((code, "vanish" in reason))
        if seed > 12 and len(said_no) > 2:
            break
    assert said_no == {(0, False), (3, False), (3, True)}


def test_numbers_that_no_certificate_holds_are_refused_in_one_line() -> None:
    model = checkpoint(1, {"attn.c_attn.weight": 1e6, "ln_1.weight": 1e10})
    for every in (False, True):
        with pytest.raises(ModelError, match="attention reads goes beyond 2"):
            _ = verify_every_length(model, said(model, STAR)) if every else verify_trained(model, said(model, STAR), 3)
    for layer in ("h.1.attn.c_attn.weight", "h.1.attn.c_proj.weight"):
        model = checkpoint(1, {"h.1.attn.c_attn.weight": 1e8, layer: 1e8}, layers=2)
        assert confirmed(verify_trained(model, said(model, STAR), 2), "c")[0].status in ("open", "wrong")


def test_names_that_the_checker_does_not_read_are_refused_before_the_search() -> None:
    """The body of a model alone, the masks of older files, a tied read-out once more, other libraries' names."""
    made, config = parts(1, {})
    body = {name.removeprefix("transformer."): tensor for name, tensor in made.items()}
    masked = made | {"transformer.h.0.attn.bias": np.tril(np.ones((1, 1, 8, 8), dtype=bool))}
    twice = made | {"lm_head.weight": made["transformer.wte.weight"]}
    for tensors, says in ((body, "'h.0.attn.c_attn.bias'"), (masked, "attn.bias'"), (twice, "'lm_head.weight'")):
        config["tie_word_embeddings"] = tensors is twice
        model = made_of(tensors, config)
        graph = said(model, ONLY_A)
        for every in (False, True):
            with pytest.raises(ModelError, match=f"the checker does not read the tensor .*{says}"):
                _ = verify_every_length(model, graph) if every else verify_trained(model, graph, 1)
    with pytest.raises(ModelError, match="GPT-2's names"):
        made_of({"blocks.0.attn.W_Q": made["transformer.wte.weight"]}, config)


def test_the_influence_of_light_words_has_a_bound(tmp_path: Path) -> None:
    for seed in range(6):
        made, config = parts(seed, {"attn.c_attn.weight": 2e3, "attn.c_proj.weight": 1e-3})
        (tmp_path / "m.safetensors").write_bytes(save(made))
        (tmp_path / "m.config.json").write_text(json.dumps(config))
        words = ["soft", "influence", str(tmp_path / "m.safetensors"), "-n", "3", "--pairs", "--logit", "--time", "1"]
        with np.errstate(all="ignore"):
            assert typed(*words).exit_code == 0


def test_the_influence_on_the_shortest_words_has_a_bound() -> None:
    """No free place, one, or two: with and without positions."""
    for name in ("tomita2-1l1h16d", "contains-aba-1l1h16d-nope"):
        for n in (1, 2, 3, 4):
            path = str(FOLDER / f"{name}.safetensors")
            found = typed("soft", "influence", path, "-n", n, "--pairs", "--logit")
            assert found.exit_code == 0, (name, n, found.output)


@pytest.mark.parametrize(("factor", "kind"), [(1e13, np.float32), (1e13, np.float64), (1e9, np.float16)])
def test_weights_beyond_those_of_the_checker_are_refused_when_they_are_read(factor: float, kind: type) -> None:
    with pytest.raises(ModelError, match="NaN, infinite or beyond 2"):
        checkpoint(1, {"mlp.c_fc.weight": factor}, kind=kind)


@pytest.mark.parametrize("times", [{}, {"ln_2.weight": 1e11}, {"mlp.c_proj.bias": 1e11}])
def test_what_overflows_in_float32_is_not_right_as_run(times: dict[str, float]) -> None:
    """Squares in the last LayerNorm leave the range of float32, so the computed logits are those of the bias."""
    differ = 0
    for seed in range(3):
        model = checkpoint(seed, {"mlp.c_fc.weight": 1e10, "mlp.c_proj.weight": 1e11, **times})
        found = verify_trained(model, graph := said(model, STAR), 1, float32=True)
        assert found.float32 is not None
        assert found.float32.upto == -1
        with np.errstate(all="ignore"):
            logits, _ = Run(model, np.random.default_rng(1)).logits([2])
        differ += {k for k in graph.labels if logits[0, k] > 0} != graph.want[0]
    assert differ


# ---------------------------------------------------------------- what no verdict covers is said before the search


def test_one_token_in_front_of_the_word_and_behind_it_is_refused_before_the_search() -> None:
    """The checker wants different rows for both, so no certificate would hold."""
    made, config = parts(1, {})
    model = made_of(made, config | {"end_marker_token_id": 2, "place": "last"})
    nothing = Graph(((0, 0),), frozenset({0}), (0,), (frozenset(),))
    for every in (False, True):
        with pytest.raises(ModelError, match="'<bos>' stands in front of the word and behind it, too"):
            _ = verify_every_length(model, nothing) if every else verify_trained(model, nothing, 2)
    with pytest.raises(ModelError, match="stands in front of the word and behind it, too"):
        force_decision(model, 2, Decision((0,), False))


def test_a_vocabulary_of_one_token_is_refused_before_the_search() -> None:
    made, config = parts(1, {})
    config |= {"vocab": ["a"], "vocab_size": 1, "labels": ["yes"], "bos_token_id": None, "eos_token_id": None}
    made |= dict.fromkeys(("transformer.wte.weight", "lm_head.weight"), np.ones((1, 4), np.float32))
    nothing = Graph(((0,),), frozenset({0}), (0,), (frozenset(),), empty=False)
    with pytest.raises(ModelError, match="has 1 tokens and width 4; verdicts are about 2 to 4096 of both"):
        verify_trained(made_of(made, config), nothing, 2)
