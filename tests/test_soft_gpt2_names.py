"""`soft import --weights`: an imported model with GPT-2's names is the same function, number for number, and has
verdicts that brute force confirms; what no verdict covers is refused."""

import itertools
import json
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save, save_file

from restrict.base.errors import ModelError, NotEstablished, RestrictError, UsageError
from restrict.soft.importers import Imported, Options, gpt2_names, import_weights, save_gpt2_names
from restrict.soft.models import evaluate
from restrict.soft.models.config import read_object
from restrict.soft.models.format import load as load_soft
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.graph import Graph, all_words, dfa_of, graph_of
from restrict.soft.trained.model import Trained, forward, trained
from tests import verdict_cases
from tests.commands import failed, succeeded, typed
from tests.layouts import HEADS, TOKENS, Arrays, D, by_hand, encoder, lens
from tests.marks import heavy_after, rows_after
from tests.naive_gpt2 import Naive


def written(found: Imported) -> tuple[Trained, Naive]:
    """The file, read by the engine and by hand."""
    made = gpt2_names(found)
    config = read_object(json.dumps(made.config).encode(), "c", decimals=True)
    return trained("m", made.content, config, "m"), Naive(made.content, made.config)


def words(longest: int) -> list[tuple[int, ...]]:
    """All words over two symbols, shortest first."""
    return [word for n in range(longest + 1) for word in itertools.product((0, 1), repeat=n)]


def random_verdict(model: Trained, naive: Naive, seed: int, n: int) -> str:
    """A verdict on a random automaton whose wishes are the model's answers or lies."""
    return verdict_is_true(model, verdict_cases.random_graph(np.random.default_rng(seed), model, naive), n)


def verdict_is_true(model: Trained, graph: Graph, n: int) -> str:
    """A verdict that is true by all words, and that the checker takes if it says anything."""
    found = verify_trained(model, graph, n, seconds=60)
    assert found.proves or found.status == "open"
    if found.proves:
        assert verdict_cases.accepted(model, found.document())
        assert verdict_cases.true_of(model.content, found.document())
    return found.status


LAYOUTS = ("lens", "folded", "attention", "torch", "nope", "last", "bare", "plain", "plain attention")


def source(layout: str, rng: np.random.Generator, layers: int) -> tuple[Arrays, Arrays, Imported]:
    """A random model of one layout, and its import."""
    if layout in ("torch", "nope", "last", "bare"):
        arrays, config = encoder(rng, layers)
        if layout in ("last", "bare"):
            arrays = {name: a for name, a in arrays.items() if not name.startswith("encoder.norm")}
            config["norm_first"] = layout == "bare"
        if layout == "nope":
            arrays["pos"] *= np.float32(0)
        kept = {name: a for name, a in arrays.items() if layout != "nope" or name != "pos"}
        return arrays, config, import_weights(kept, config=config)
    kind = None if "plain" in layout else "LNPre" if layout == "folded" else "LN"
    arrays, config = lens(rng, layers, kind, "attention" not in layout)
    return arrays, config, import_weights(arrays, config=config)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("layers", "seed"), rows_after([(layers, k) for k in range(12) for layers in (2, 1)], 1))
def test_the_file_is_the_same_function_with_true_verdicts(layout: str, layers: int, seed: int) -> None:
    rng = np.random.default_rng([seed, layers, LAYOUTS.index(layout)])
    arrays, config, found = source(layout, rng, layers)
    model, naive = written(found)
    stored = load(gpt2_names(found).content)
    assert {a.dtype for a in stored.values()} == {np.dtype(np.float32)}
    numbers, theirs = (Counter(x for a in kept.values() for x in a.ravel().tolist() if x not in (0, 1))
                       for kept in (stored, arrays))  # fmt: skip
    assert not numbers - theirs
    assert (theirs - numbers).total() == D  # what no word reads: the embedding of the end token
    assert len(model.layers) == layers
    for word in words(4)[:: 1 if seed else 5]:
        tokens = model.rows([model.symbols[s] for s in word])
        hand, inner = by_hand(arrays, config, tokens), found.model.encode([[model.symbols[s] for s in word]])
        np.testing.assert_allclose(forward(model, tokens), hand, atol=1e-9)
        made = evaluate.logits(found.model, inner)[0]
        np.testing.assert_allclose(made, hand[-len(made) :], atol=1e-9)
        np.testing.assert_allclose(naive.logits(word), hand[-1], atol=1e-9)
    longest = (5 if layers == 1 else 3) if seed else 1
    assert random_verdict(model, naive, seed, longest) in ("right", "wrong", "open")


def test_most_of_these_verdicts_decide() -> None:
    statuses = []
    for seed in range(12):
        rng = np.random.default_rng([7, seed])
        statuses.append(random_verdict(*written(source(LAYOUTS[seed % 5], rng, 1)[2]), seed, 4))
    assert statuses.count("open") <= 2
    assert {"right", "wrong"} <= set(statuses)


def test_one_layer_without_a_mask_reads_a_prefix_alone() -> None:
    arrays, config = encoder(np.random.default_rng(3), 1)
    found = import_weights(arrays, config=config | {"causal": False})
    model, _ = written(found)
    assert "no mask" in gpt2_names(found).notes[0]
    for word in words(4):
        tokens = model.rows([model.symbols[s] for s in word])
        np.testing.assert_allclose(forward(model, tokens)[-1], by_hand(arrays, config, tokens, False)[-1], atol=1e-9)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("seed", heavy_after(range(10), 2))
def test_an_acceptor_answers_by_the_end_token(rows: int, seed: int) -> None:
    """One logit, or the greater of two: on every word, the end token's logit has the sign of the model's answer."""
    rng = np.random.default_rng([rows, seed])
    arrays, config = encoder(rng, 1, rows)
    given = {"embed.weight": arrays["embed.weight"][:3]} if seed % 2 else {}  # without a row for the end token
    said = config | ({"vocab": TOKENS[:3], "eos_token_id": None} if seed % 2 else {})
    found = import_weights(arrays | given, config=said)
    made, (model, naive) = gpt2_names(found), written(found)
    assert (made.read_out, model.labels[model.eos or 0]) == ("membership", "<eos>")
    assert any("--read-out membership" in note for note in made.notes)
    for word in words(5):
        logits = by_hand(arrays, config, model.rows([model.symbols[s] for s in word]))[-1]
        margin = logits[-1] - (logits[0] if rows == 2 else 0)
        assert naive.logits(word)[3] == pytest.approx(margin, abs=1e-9)
    language = dfa_of(verdict_cases_language(naive, 3), model)
    right = verify_trained(model, graph_of(model, language, all_words(model), "membership"), 3, seconds=60)
    assert right.status == "right"
    assert verdict_cases.accepted(model, right.document())


def verdict_cases_language(naive: Naive, n: int) -> Any:
    """The words of at most ``n`` symbols that the model accepts, as a regular language; others as its last symbol."""
    from restrict.languages.dfa import minimal

    names = words(n)
    number = {word: k for k, word in enumerate(names)}
    delta = [[number.get((*word, s), len(names)) for s in (0, 1)] for word in names] + [[len(names)] * 2]
    accept = [number[word] for word in names if naive.logits(word)[3] > 0]

    class Language:
        name, dfa = "what the model accepts", minimal(("a", "b"), delta, 0, accept)

    return Language()


def test_the_difference_of_two_logits_is_exact_or_they_are_labels() -> None:
    arrays, config = encoder(np.random.default_rng(1), 1, 2)
    stored = load(gpt2_names(import_weights(arrays, config=config)).content)
    assert stored["lm_head.weight"].dtype == np.float64
    exact = [float(b) - float(a) for a, b in zip(*arrays["head.weight"], strict=True)]
    assert stored["lm_head.weight"][3].tolist() == exact
    arrays["head.weight"][:, 0] = 1e-20, 1
    made = gpt2_names(import_weights(arrays, config=config))
    assert (made.read_out, made.config["labels"]) == ("greatest", ["label0", "label1"])
    assert np.array_equal(load(made.content)["lm_head.weight"], arrays["head.weight"])


@pytest.mark.parametrize("rows", [3, 5, 7])
def test_labels_of_its_own_keep_their_logits(rows: int) -> None:
    """A classifier or tagger: every label is a row, and verdicts compare them."""
    rng = np.random.default_rng(rows)
    arrays, config = encoder(rng, 1, rows)
    found = import_weights(arrays, config=config)
    model, naive = written(found)
    assert model.labels == tuple(f"label{k}" for k in range(rows))
    for word in words(4):
        logits = by_hand(arrays, config, model.rows([model.symbols[s] for s in word]))[-1]
        assert naive.logits(word) == pytest.approx(logits, abs=1e-9)
    graph = verdict_cases.random_graph(rng, model, naive, True)
    assert verdict_is_true(model, graph, 3) != "open"


@pytest.mark.parametrize("layers", [1, 2])
def test_a_model_without_a_start_token_keeps_its_logits(layers: int) -> None:
    rng = np.random.default_rng(layers)
    arrays, config = encoder(rng, layers)
    config |= {"vocab": ["a", "b", "<pad>", "<eos>"], "bos_token_id": None}
    model, naive = written(import_weights(arrays, config=config))
    assert (model.bos, model.symbols, model.first) == (None, ("a", "b"), 1)
    for word in words(4)[1:]:
        logits = by_hand(arrays, config, list(word))[-1]
        assert naive.logits(word)[:2] == pytest.approx(logits[:2], abs=1e-9)
    graph = verdict_cases.graph_of_words(rng, model, naive)
    assert verdict_is_true(model, graph, 3) != "open"


@pytest.mark.parametrize("layout", ["last", "bare", "plain"])
def test_the_file_is_imported_again_as_it_was(layout: str, tmp_path: Path) -> None:
    arrays, config, found = source(layout, np.random.default_rng(5), 2)
    save_gpt2_names(found, tmp_path / "w.safetensors")
    succeeded("soft", "import", tmp_path / "w.safetensors", "-o", tmp_path / "m.json", "--json")
    again = load_soft(tmp_path / "m.json")
    for word in words(4):
        hand = by_hand(arrays, config, [2, *word])[-1]
        made = evaluate.logits(again, again.encode([[again.symbols[s] for s in word]]))[0][-1]
        np.testing.assert_allclose(made, hand[: len(made)], atol=1e-9)
    said = json.loads((tmp_path / "w.config.json").read_text())
    for changed, says in (
        ({"norm_first": "no"}, "config norm_first: 'no' is neither true nor false"),
        ({"final_norm": True}, "config final_norm is 'True'; the weights have False"),
        ({"layer_norm": "no"}, "config layer_norm: 'no' is neither true nor false"),
        ({"layer_norm": False, "norm_first": False}, "none, or behind each half of a block?"),
    ):
        (tmp_path / "w.config.json").write_text(json.dumps(said | changed))
        assert says in failed(ModelError, "soft", "import", tmp_path / "w.safetensors", "-o", tmp_path / "n.json")


# ---------------------------------------------------------------- what is refused

REFUSED = {
    "LayerNorm behind each half of a block, and one more": {"norm_first": False},
    "attention that is not causal": {"causal": False},
    "an answer that is read at the first position": {"place": "first"},
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_no_verdict_covers_is_refused(says: str, tmp_path: Path) -> None:
    arrays, config = encoder(np.random.default_rng(2), 2)
    found = import_weights(arrays, config=config | REFUSED[says])
    with pytest.raises(ModelError, match=f"no verdict covers {says}.*docs/soft-import.md"):
        save_gpt2_names(found, tmp_path / "w.safetensors")
    assert not list(tmp_path.iterdir())


def test_other_models_that_no_verdict_covers() -> None:
    rng = np.random.default_rng(4)
    arrays, config = encoder(rng, 1)
    lensed, said = lens(rng, 1)
    many = {"alphabet": ("a", "b", "<bos>", "<eos>"), "labels": ("x", "y", "z", "w"), "read_out": "set"}
    for found, says in (
        (import_weights(arrays, Options(end_marker="<eos>", place="every"), config=config), "an end marker"),
        (import_weights(arrays, Options(**many), config=config), r"signs of labels that are not .*\"?x y z w"),
        (import_weights(lensed, config=said | {"attn_scale": "3.1234"}), r"scores times 1/3.1234, not 1/sqrt\(2\)"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=f"no verdict covers .*{says}"):
            gpt2_names(found)


# ---------------------------------------------------------------- the command


def test_from_a_trained_encoder_to_a_checked_verdict(tmp_path: Path) -> None:
    arrays, config = encoder(np.random.default_rng(12), 1)
    start = tmp_path / "t.safetensors"
    save_file(arrays, start)
    plain = failed(ModelError, "soft", "verify", start, "-L", "regex:a*b", "-n", 4)
    told = re.search(r"`restrict (soft import .*t.safetensors) --weights .*t-gpt2.safetensors`", plain)
    assert told
    (tmp_path / "t.config.json").write_text(json.dumps(config))
    record = {"tokens": [[2, 0, 1, 1]], "logits": [by_hand(arrays, config, [2, 0, 1, 1])[-1].tolist()]}
    (tmp_path / "r.json").write_text(json.dumps(record))
    weights, usual = tmp_path / "w.safetensors", (*told[1].split(), "--compare", tmp_path / "r.json")
    failed(NotEstablished, *usual, "--weights", weights, "--norm-last")
    assert not weights.exists()
    assert not weights.with_name("w.config.json").exists()
    made = succeeded(*usual, "--weights", weights, "-o", tmp_path / "m.json", "--json")
    assert {"weights", "file", "read_out", "notes"} <= set(json.loads(made.output))
    assert f"names in {weights}" in " ".join(typed(*usual, "--weights", weights).output.split())
    found = typed("soft", "verify", weights, "-L", "regex:a*b", "-n", 4, "-o", tmp_path / "c.json")
    assert found.exit_code == 3
    line = typed("check", weights, tmp_path / "c.json").output
    assert line.startswith("s VERIFIED wrong n=0..4")
    done = failed(RestrictError, "soft", "verify", tmp_path / "m.json", "-L", "regex:a*b", "-n", 4)
    assert "--weights NEW.safetensors" in done


def test_what_is_written_replaces_nothing_that_is_read(tmp_path: Path) -> None:
    arrays, config = encoder(np.random.default_rng(12), 1)
    path, beside = tmp_path / "t.safetensors", tmp_path / "t.config.json"
    save_file(arrays, path)
    beside.write_text(json.dumps(config))
    before = path.read_bytes(), beside.read_text()
    for words, says in (
        (("--weights", path), ""),
        ((), "give -o for a restrict-soft/1 file"),
        (("--weights", tmp_path / "w.json"), "are written to NAME.safetensors"),
    ):
        assert says in failed(UsageError, "soft", "import", path, *words)
    assert (path.read_bytes(), beside.read_text()) == before
    assert sorted(tmp_path.iterdir()) == sorted((path, beside))


def test_the_automaton_of_the_configuration_goes_along(tmp_path: Path) -> None:
    arrays, config = encoder(np.random.default_rng(12), 1)
    task = {"kind": "next-set", "dfa": {"delta": [[0, 1], [None, 1]], "accepting": [True, True]}}
    save_gpt2_names(import_weights(arrays, config=config | {"task": task}), tmp_path / "w.safetensors")
    assert typed("soft", "verify", tmp_path / "w.safetensors", "-n", 3).exit_code == 3


def test_older_files_with_gpt2s_names_are_written_again(tmp_path: Path) -> None:
    """Masks, no `transformer.` in front, a tied read-out once more: refused, and written anew with the same numbers."""
    path = verdict_cases.changed(tmp_path)
    old = {key.removeprefix("transformer."): a for key, a in load(path.read_bytes()).items()}
    path.write_bytes(save(old | {"h.0.attn.bias": np.tril(np.ones((1, 1, 8, 8), np.uint8))}))
    refused = failed(ModelError, "soft", "verify", path, "-n", 4)
    assert re.search("does not read the tensor .*soft import FILE --weights", refused)
    succeeded("soft", "import", path, "--weights", tmp_path / "w.safetensors")
    assert typed("soft", "verify", tmp_path / "w.safetensors", "-n", 4).exit_code == 0


# ---------------------------------------------------------------- PyTorch


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("double", [False, True])
def test_a_module_of_torch_is_the_same_function(activation: str, double: bool) -> None:
    torch = pytest.importorskip("torch")
    nn: Any = torch.nn
    torch.manual_seed(5)
    act = "relu" if activation == "relu" else nn.GELU(approximate="tanh")
    layer = nn.TransformerEncoderLayer(D, HEADS, 6, 0.0, act, batch_first=True, norm_first=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = {"embed": nn.Embedding(4, D), "pos": nn.Embedding(9, D), "head": nn.Linear(D, 4)}
        module = nn.ModuleDict(parts | {"encoder": nn.TransformerEncoder(layer, 1, nn.LayerNorm(D))})
    module = (module.double() if double else module).eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn_like(weight))
    names = {"position": "pos", "embedding": "embed"}
    found = import_weights(module, Options(alphabet=tuple(TOKENS), causal=True, names=names))
    stored, (model, naive) = load(gpt2_names(found).content), written(found)
    assert {a.dtype for a in stored.values()} == {np.dtype(np.float64 if double else np.float32)}
    whole = module.double()
    for word in words(4):
        tokens = torch.tensor([model.rows([model.symbols[s] for s in word])])
        n = tokens.shape[1]
        mask = torch.ones(n, n, dtype=torch.bool).triu(1)
        x = whole["embed"](tokens) + whole["pos"](torch.arange(n))
        logits = whole["head"](whole["encoder"](x, mask=mask))[0].detach().numpy()  # no_grad would take GELU by erf
        np.testing.assert_allclose(forward(model, tokens[0].tolist()), logits, atol=1e-9)
    assert random_verdict(model, naive, 3, 4) in ("right", "wrong", "open")


@pytest.mark.parametrize("first", heavy_after([0x80, 0x50, 0x7B, 0x20, 0x0A], 3))
def test_the_size_of_a_header_may_begin_as_another_file_does(first: int, tmp_path: Path) -> None:
    """The first byte of safetensors is the low byte of a number, which may be that of a pickle, an archive or JSON."""
    path = verdict_cases.changed(tmp_path)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    padded = size + (first - size) % 256 + (0x4B00 if first == 0x50 else 0x0300)
    padded += (0x4B - padded // 256) % 256 * 256 if first == 0x50 else 0
    path.write_bytes(padded.to_bytes(8, "little") + content[8 : 8 + size].ljust(padded) + content[8 + size :])
    assert path.read_bytes()[0] == first
    assert import_weights(path).model.alphabet == ("0", "1")
    succeeded("soft", "verify", path, "-n", 5)
    for words in (("soft", "run", path, "0 1"), ("certify", path, "-n", 5)):
        said = str(typed(*words).exception)
        assert re.search("pickle|JSON", said) is None, said
