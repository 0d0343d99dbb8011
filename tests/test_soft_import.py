"""`soft import`: nothing is guessed silently, recorded logits exclude wrong guesses, malformed weights are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from restrict.base.errors import ModelError, NotEstablished, RestrictError, UsageError
from restrict.soft.importers import Options, compare, import_weights, read_record
from restrict.soft.models import evaluate
from restrict.soft.models.format import load
from restrict.soft.restriction.restriction import certify_soft
from tests.commands import failed, succeeded, typed
from tests.layouts import drawn, encoder_layers, gpt2_arrays, gpt2_by_hand, lens
from tests.naive_soft import run as naive

Arrays = dict[str, Any]
TOKENS = ["a", "b", "<bos>", "<eos>", "<pad>"]
CONFIG = {
    "n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 12, "vocab_size": 5, "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5, "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 4, "vocab": TOKENS,
}  # fmt: skip


def gpt2_file(folder: Path, config: Any = CONFIG, **changed: Any) -> Path:
    """Random weights with GPT-2's names and a configuration beside them."""
    arrays = gpt2_arrays(np.random.default_rng(8)) | {f"transformer.{k}": v for k, v in changed.items()}
    save_file({k: v for k, v in arrays.items() if v is not None}, folder / "g.safetensors")
    if config is not None:
        (folder / "g.config.json").write_text(json.dumps(config))
    return folder / "g.safetensors"


def encoder_arrays(rows: int = 3, layers: int = 2, d: int = 8) -> Arrays:
    """Random weights of an nn.TransformerEncoder without positions and a last LayerNorm."""
    shapes = {"embed.weight": (4, d), "head.weight": (rows, d), "head.bias": (rows,)}
    return drawn(np.random.default_rng(5), shapes | encoder_layers(layers, d, 12))


def hand(*word: int, **changed: Any) -> Any:
    """The logits of the weights of :func:`gpt2_file` at every position, by hand; ``wpe``: a factor of the positions."""
    arrays = gpt2_arrays(np.random.default_rng(8))
    arrays["transformer.wpe.weight"] *= changed.get("wpe", 1)
    return gpt2_by_hand(arrays, list(word), 2)


def write_record(path: Path, tokens: Any, logits: Any) -> Path:
    path.write_text(json.dumps({"tokens": tokens, "logits": [np.asarray(rows).tolist() for rows in logits]}))
    return path


# ---------------------------------------------------------------- what was accepted without a word


def test_a_wrong_guess_about_an_encoder_is_said_and_excluded(tmp_path: Path) -> None:
    save_file(encoder_arrays(), tmp_path / "e.safetensors")
    start = "soft", "import", tmp_path / "e.safetensors", "--alphabet", "abcd", "-o", tmp_path / "m.safetensors"
    usual, right = ("--heads", 4), ("--norm-first", "--activation", "gelu")
    settings = Options(heads=4, alphabet=tuple("abcd"), norm_first=True, activation="gelu", place="every")
    true = import_weights(tmp_path / "e.safetensors", settings).model
    words = [[0, 1, 2], [3, 3, 1, 0], [2]]
    logits = [naive(true, word)[-1] for word in words]
    recorded = "--compare", write_record(tmp_path / "r.json", words, logits)
    plain = succeeded(*start, *usual)
    lines = [line.split() for line in plain.output.splitlines()]
    for said in (["LayerNorm", "first", "False"], ["activation", "relu"], ["causal", "mask", "False"]):
        assert any(line[: len(said)] == said and "assumed:" in line for line in lines)
    assert plain.output.count("assumed: PyTorch's default") == 2
    before = (tmp_path / "m.safetensors").read_bytes()
    wrong = failed(NotEstablished, *start, *usual, *recorded)
    assert "--heads 4 --activation gelu --norm-first --not-causal" in wrong
    assert (tmp_path / "m.safetensors").read_bytes() == before
    found = succeeded(*start, *usual, *recorded, *right)
    assert "compared: 9 logits of 3 words differ by at most" in found.output
    assert "--heads 4 " in failed(NotEstablished, *start, "--heads", 2, *recorded, *right)


def test_every_single_wrong_setting_is_excluded_by_a_record(tmp_path: Path) -> None:
    path = gpt2_file(tmp_path)
    words = [[2, 0, 1, 1], [2, 1, 0, 0, 1, 0]]
    record = read_record(write_record(tmp_path / "r.json", words, [hand(*word) for word in words]))
    right = compare(import_weights(path), record, source=path, tolerance=1e-9)
    assert right.difference < 1e-12
    assert right.untold == ()
    for options in (
        Options(heads=1), Options(heads=4), Options(activation="relu"), Options(activation="gelu"),
        Options(eps="0.0001"), Options(offset=1), Options(offset=2),
    ):  # fmt: skip
        with pytest.raises(NotEstablished, match="something given or assumed is wrong"):
            compare(import_weights(path, options), record, tolerance=1e-9)


def test_an_epsilon_that_the_record_cannot_tell_is_named(tmp_path: Path) -> None:
    path = gpt2_file(tmp_path)
    record = write_record(tmp_path / "r.json", [[2, 0]], [hand(2, 0)])
    to = tmp_path / "m.safetensors"
    found = succeeded("soft", "import", path, "-o", to, "--compare", record, "--tolerance", "0.01")
    assert "does not tell these apart from what was taken: --eps 0.000001" in found.output


def test_the_place_is_heeded(tmp_path: Path) -> None:
    path = gpt2_file(tmp_path)
    succeeded("soft", "import", path, "--place", "last", "-o", tmp_path / "m.safetensors")
    model = load(tmp_path / "m.safetensors")
    assert model.output.place == "last"
    assert evaluate.logits(model, model.encode([["a", "b"]])).shape == (1, 1, 5)


@pytest.mark.parametrize(
    "line", ["certify FILE -n 5", "refute FILE -L parity -n 10", "run FILE 01", "import weights FILE"]
)
def test_commands_for_other_models_name_the_import(line: str, tmp_path: Path) -> None:
    gpt2 = gpt2_file(tmp_path)
    save_file(encoder_arrays(), tmp_path / "e.safetensors")
    for path in (gpt2, tmp_path / "e.safetensors"):
        done = failed(ModelError, *line.replace("FILE", str(path)).split())
        assert "`restrict soft import`" in done
        assert "`restrict soft verify`" in done
        assert "import weights" not in done


# ---------------------------------------------------------------- tokens


def test_special_tokens_are_no_free_symbols(tmp_path: Path) -> None:
    found = import_weights(gpt2_file(tmp_path))
    model = found.model
    assert (model.alphabet, model.start_marker, model.pinned(4)) == (("a", "b"), "<bos>", {0: 2})
    assert model.output.labels == tuple(TOKENS)
    said = {s.name: (s.value, s.origin) for s in found.settings}
    assert said["start marker"] == ("<bos>", "config")
    assert said["in no input"] == ("<eos> <pad>", "config")
    logits = evaluate.logits(model, model.encode([["b", "a", "b"]]))[0]
    np.testing.assert_allclose(logits, hand(2, 1, 0, 1), atol=1e-10)


def test_no_restriction_fixes_a_token_to_pad(tmp_path: Path) -> None:
    arrays = {k: v * np.float32(0.2) for k, v in encoder_arrays(2, 1).items()}
    found = import_weights(arrays, Options(heads=2, alphabet=("[PAD]", "0", "1", "[CLS]"), place="first"))
    assert (found.model.alphabet, found.model.start_marker) == (("0", "1"), "[CLS]")
    assert {s.name: s.text() for s in found.settings}["in no input"] == "assumed: by their names"
    fixed = certify_soft(found.model, 6, "1/1000", seconds=2, check=False).fixed
    assert 0 < len(fixed) <= 5
    assert set(fixed.values()) <= {"0", "1"}


def test_a_set_of_next_symbols_has_one_sign_per_label(tmp_path: Path) -> None:
    config = CONFIG | {"task": {"kind": "next-set"}}
    path = gpt2_file(tmp_path, config)
    succeeded("soft", "import", path, "-o", tmp_path / "m.safetensors")
    model = load(tmp_path / "m.safetensors")
    assert (model.output.kind, model.output.labels) == ("signs", ("a", "b", "<eos>"))
    logits = evaluate.logits(model, model.encode([["b", "a"]]))[0]
    np.testing.assert_allclose(logits, hand(2, 1, 0)[:, [0, 1, 3]], atol=1e-10)
    ran = typed("soft", "run", tmp_path / "m.safetensors", "ba").output
    sets = ["{" + ",".join(n for n, z in zip(("a", "b", "<eos>"), row, strict=True) if z > 0) + "}" for row in logits]
    assert ran == f"ba: {' '.join(sets)}\n"
    for words in ("soft certify FILE -n 3 --epsilon 0.5 --no-recheck", "soft cross-entropy FILE -L parity -n 4"):
        failed(UsageError, *words.replace("FILE", str(tmp_path / "m.safetensors")).split())


# ---------------------------------------------------------------- other layouts


@pytest.mark.parametrize("kind", ["LNPre", None])
def test_without_its_norms_transformer_lens_needs_a_configuration(kind: str | None) -> None:
    with pytest.raises(ModelError, match="LayerNorm is folded or absent"):
        import_weights(lens(np.random.default_rng(3), 2, kind)[0])


@pytest.mark.parametrize("key", ["attn_scores_soft_cap", "output_logits_soft_cap"])
def test_caps_that_no_weight_shows_are_refused(key: str, tmp_path: Path) -> None:
    save_file(lens(np.random.default_rng(3), 2)[0], tmp_path / "t.safetensors")
    for cap, taken in ((-1.0, True), (None, True), (0, True), (50.0, False), ("30", False)):
        (tmp_path / "t.config.json").write_text(json.dumps({key: cap}))
        if taken:
            assert import_weights(tmp_path / "t.safetensors").model.layers
        else:
            refused(tmp_path / "t.safetensors", tmp_path, ModelError)


def test_what_is_given_against_the_configuration_says_so(tmp_path: Path) -> None:
    said = {s.name: s.text() for s in import_weights(gpt2_file(tmp_path), Options(heads=4, eps="1e-05")).settings}
    assert (said["heads"], said["eps"]) == ("given (config n_head: 2)", "given")


def test_weights_without_positions(tmp_path: Path) -> None:
    path = gpt2_file(tmp_path, CONFIG | {"n_positions": None, "position_embeddings": "none"}, **{"wpe.weight": None})
    model = import_weights(path).model
    logits = evaluate.logits(model, model.encode([["b", "a", "b"]]))[0]
    np.testing.assert_allclose(logits, hand(2, 1, 0, 1, wpe=0), atol=1e-10)
    path = gpt2_file(tmp_path, {"n_head": 2}, **{"wpe.weight": None})
    with pytest.raises(ModelError, match="give --positions none"):
        import_weights(path)
    assert import_weights(path, Options(positions="none")).model.positions.table is None


class Attributes:
    """An object with these attributes, as a module of torch has them."""

    def __init__(self, **found: Any) -> None:
        self.__dict__.update(found)


def module_of(*parts: Any) -> Any:
    """A module around an encoder that has these parts."""
    return Attributes(state_dict=encoder_arrays, modules=lambda: parts)


LETTERS = Options(alphabet=tuple("abcd"))


def test_a_module_says_itself_what_weights_do_not() -> None:
    def relu(x: Any) -> Any:
        return x

    relu.__module__ = "torch.nn.functional"
    layer = Attributes(self_attn=Attributes(num_heads=4), norm_first=True, norm1=Attributes(eps=1e-4), activation=relu)
    found = import_weights(module_of(layer, layer), LETTERS)
    said = {s.name: s.text() for s in found.settings}
    assert (said["heads"], said["LayerNorm first"]) == ("config nhead", "config norm_first")
    assert len(found.model.layers[0].heads) == 4
    assert (found.model.layers[0].norm, found.model.layers[0].norm1.eps.text) == ("pre", "0.0001")
    other = Attributes(**vars(layer) | {"norm_first": False})
    with pytest.raises(ModelError, match="the layers of the module differ"):
        import_weights(module_of(layer, other), LETTERS)


def test_what_a_module_says_is_not_overruled_without_a_word(tmp_path: Path) -> None:
    layer = {"norm_first": True, "norm1": Attributes(eps=1e-4)}
    norms = [Attributes(normalized_shape=(8,), eps=eps) for eps in (1e-4, 1e-12)]

    def module(*more: Any, **attention: Any) -> Any:
        return module_of(Attributes(self_attn=Attributes(num_heads=4, **attention), **layer), *more)

    path = tmp_path / "c.json"
    path.write_text('{"layer_norm_eps": 1.0e-4}')
    for config in (None, {"nhead": 4}, path):  # a file does not replace what the module says
        found = import_weights(module(norms[0], add_zero_attn=False), LETTERS, config=config)
        assert found.model.layers[0].norm == "pre"
    for config in ({"nhead": 2}, {"norm_first": False}, {"layer_norm_eps": "1e-5"}):
        with pytest.raises(ModelError, match=r"the configuration has .*, the module"):
            import_weights(module(), LETTERS, config=config)
    with pytest.raises(ModelError, match="LayerNorms of the module differ in eps"):
        import_weights(module(*norms), LETTERS)
    with pytest.raises(ModelError, match="add_zero_attn"):
        import_weights(module(add_zero_attn=True), LETTERS)


# ---------------------------------------------------------------- malformed files

CONFIGS: dict[str, Any] = {
    "heads 3 do not divide": {"n_head": 3}, "heads true": {"n_head": True}, "width": {"n_embd": 16},
    "layers": {"n_layer": 3}, "huge n": {"n_positions": 10**12}, "huge number": {"n_positions": 10**300},
    "rows": {"vocab_size": 6}, "inner": {"n_inner": 17}, "activation": {"activation_function": "swish"},
    "epsilon text": {"layer_norm_epsilon": "small"}, "epsilon negative": {"layer_norm_epsilon": -1e-5},
    "bos beyond": {"bos_token_id": 50256}, "bos text": {"bos_token_id": "<bos>"},
    "pad negative": {"pad_token_id": -1}, "vocab short": {"vocab": TOKENS[:4]},
    "vocab twice": {"vocab": ["a", "a", "b", "c", "d"]}, "vocab numbers": {"vocab": [0, 1, 2, 3, 4]},
    "vocab object": {"vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 9}}, "vocab text": {"vocab": "ab"},
    "all special": {"vocab": ["<pad>", "<mask>", "<bos>", "<eos>", "<unk>"], "pad_token_id": None},
    "tied": {"tie_word_embeddings": False}, "tied text": {"tie_word_embeddings": "no"},
    "positions in a list": {"position_embeddings": ["learned"]},
    "activation in a list": {"activation_function": ["relu"]}, "rotary": {"position_embedding_type": "rotary"},
    "no positions": {"position_embeddings": "none"},
    "rotary behind learned": {"position_embeddings": "learned", "position_embedding_type": "rotary"},
    "positions said twice": {"position_embeddings": "learned", "position_embedding_type": "none"},
    "heads said twice": {"num_attention_heads": 4}, "lengths said twice": {"n_ctx": 11},
    "causal 0": {"causal": 0}, "norm_first 0": {"norm_first": 0}, "layer_norm 1": {"layer_norm": 1},
    "sparsemax": {"attention": "sparsemax"}, "bert": {"model_type": "bert"}, "cross": {"add_cross_attention": True},
    "scale": {"scale_attn_weights": "yes"}, "task": {"task": {"kind": "chess"}},
    "dfa of another alphabet": {"task": {"dfa": {"start": 0, "delta": [[0, 0, 0]], "accepting": [True]}}},
    "dfa with one symbol": {"task": {"dfa": {"start": 0, "delta": [[0]], "accepting": [True]}}},
    "dfa to no state": {"task": {"dfa": {"start": 0, "delta": [[0, 1]], "accepting": [True]}}},
    "dfa without states": {"task": {"dfa": {"start": 0, "delta": [], "accepting": []}}},
    "dfa start": {"task": {"dfa": {"start": 1, "delta": [[0, 0]], "accepting": [True]}}},
    "dfa accepting": {"task": {"dfa": {"start": 0, "delta": [[0, 0]], "accepting": [1]}}},
    "dfa text": {"task": {"dfa": "0"}},
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_that_does_not_fit_is_refused(name: str, tmp_path: Path) -> None:
    refused(gpt2_file(tmp_path, CONFIG | CONFIGS[name]), tmp_path, ModelError)


def refused(path: Path, folder: Path, error: type[RestrictError], *words: object) -> str:
    """One line, which is returned, the exit code of the error, nothing written."""
    told = failed(error, "soft", "import", path, "-o", folder / "m.safetensors", *words)
    assert len(told) < 400
    assert not (folder / "m.safetensors").exists()
    return told


def nan(array: Any) -> Any:
    changed = array.copy()
    changed.flat[3] = np.nan
    return changed


TENSORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "NaN in the embedding": ("wte.weight", nan),
    "NaN in a norm": ("h.1.ln_2.bias", nan),
    "infinity": ("h.0.mlp.c_fc.weight", lambda a: a / np.float32(0)),
    "missing matrix": ("h.1.attn.c_proj.weight", lambda a: None),
    "missing bias": ("h.0.attn.c_attn.bias", lambda a: None),
    "missing norm": ("h.0.ln_1.weight", lambda a: None),
    "missing layer": ("h.0.attn.c_attn.weight", lambda a: None),
    "missing embedding": ("wte.weight", lambda a: None),
    "missing positions": ("wpe.weight", lambda a: None),
    "transposed": ("h.0.attn.c_attn.weight", lambda a: a.T.copy()),
    "vector": ("wte.weight", lambda a: a[0].copy()),
    "three axes": ("h.0.mlp.c_fc.weight", lambda a: a[None].copy()),
    "another width": ("wpe.weight", lambda a: a[:, :7].copy()),
    "empty": ("wpe.weight", lambda a: a[:0].copy()),
    "unknown tensor": ("h.0.attn.rotary", lambda a: np.ones(3, dtype=np.float32)),
    "a layer too far": ("h.7.ln_1.weight", lambda a: np.ones(8, dtype=np.float32)),
    "integers": ("wte.weight", lambda a: np.ones(a.shape, dtype=np.int64)),
    "window": ("h.0.attn.bias", lambda a: np.tri(12) - np.tri(12, k=-3)),
}


SAYS = {
    "missing positions": "the tensor 'transformer.wpe.weight' is missing",
    "unknown tensor": "'transformer.h.0.attn.rotary' is not part of this",
    "window": "is no causal mask",
    "another width": "'transformer.wpe.weight' has shape (12, 7), not (any, 8)",
}


@pytest.mark.parametrize("name", TENSORS)
def test_malformed_weights_are_refused(name: str, tmp_path: Path) -> None:
    tensor, change = TENSORS[name]
    arrays = gpt2_arrays(np.random.default_rng(8))
    with np.errstate(divide="ignore"):
        changed = change(arrays.get(f"transformer.{tensor}"))
    assert SAYS.get(name, "") in refused(gpt2_file(tmp_path, **{tensor: changed}), tmp_path, ModelError)


BYTES = [b"", b"[1]", b'{"n_head": "\xff"}', b'{"n_head": 2', b'{"n_head": NaN}', b'{"n_head": 2, "n_head": 1}',
         b"[" * 100_000, b'{"n_head": ' + b"9" * 5000 + b"}"]  # fmt: skip


@pytest.mark.parametrize("content", BYTES, ids=lambda content: content[:20])
def test_a_malformed_configuration_is_refused(content: bytes, tmp_path: Path) -> None:
    path = gpt2_file(tmp_path, None)
    (tmp_path / "config.json").write_bytes(content)
    refused(path, tmp_path, ModelError)


def test_of_a_folder_the_files_that_may_be_meant_are_named(tmp_path: Path) -> None:
    """A downloaded checkpoint is a folder."""
    told = failed(UsageError, "soft", "import", tmp_path, "-o", tmp_path / "m.json")
    assert told == f"{tmp_path}: it is a folder; and no .safetensors file is in it"
    for names, meant in (
        (("config.json", "pytorch_model.bin"), "pytorch_model.bin"),
        (("state.npz",), "pytorch_model.bin, state.npz"),
        (("model.safetensors",), "model.safetensors"),
        (("a.safetensors",), "a.safetensors, model.safetensors"),
    ):
        for name in names:
            (tmp_path / name).touch()
        told = failed(UsageError, "soft", "import", tmp_path, "-o", tmp_path / "m.json")
        files = ", ".join(str(tmp_path / name) for name in meant.split(", "))
        assert told == f"{tmp_path}: it is a folder; give the file in it: {files}"
    with pytest.raises(UsageError, match="give the file in it"):
        import_weights(tmp_path)


def test_files_that_are_no_weights_are_refused(tmp_path: Path) -> None:
    path = gpt2_file(tmp_path)
    whole = path.read_bytes()
    for content in (b"", whole[:7], whole[:200], whole[:-1], b"\xff" * 100, b"PK\x03\x04", b"\x80\x04", b"{}"):
        (tmp_path / "b.safetensors").write_bytes(content)
        told = refused(tmp_path / "b.safetensors", tmp_path, ModelError)
        assert ("a pickle file" in told) == content.startswith((b"PK", b"\x80"))
    save_file({"a": np.ones((2, 2))}, tmp_path / "a.safetensors")
    refused(tmp_path / "a.safetensors", tmp_path, ModelError)
    save_file(gpt2_arrays(np.random.default_rng(8)) | encoder_arrays(), tmp_path / "both.safetensors")
    refused(tmp_path / "both.safetensors", tmp_path, ModelError)
    (tmp_path / "else").mkdir()  # a short message: no file is near
    refused(tmp_path / "else" / "none.safetensors", tmp_path, UsageError)
    refused(path, tmp_path, UsageError, "--config", tmp_path / "none.json")


@pytest.mark.parametrize(
    "words",
    ["--heads 3", "--alphabet abc", "--alphabet aabcd", "--start-marker X", "--end-marker X", "--never X",
     "--labels x", "--offset 12", "--positions none", "--eps x", "--eps -1"],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(words: str, tmp_path: Path) -> None:
    refused(gpt2_file(tmp_path), tmp_path, RestrictError, *words.split())


def test_heads_are_never_assumed(tmp_path: Path) -> None:
    refused(gpt2_file(tmp_path, None), tmp_path, UsageError)
    refused(gpt2_file(tmp_path, {}), tmp_path, UsageError)


RECORDS: dict[str, Any] = {
    "no tokens": {"logits": [[0.0]]},
    "extra": {"tokens": [[2]], "logits": [[[0.0] * 5]], "x": 1},
    "number": {"tokens": 3, "logits": [[[0.0] * 5]]},
    "empty": {"tokens": [], "logits": []},
    "counts": {"tokens": [[2], [2]], "logits": [[[0.0] * 5]]},
    "rows": {"tokens": [[2, 0]], "logits": [[[0.0] * 5]]},
    "labels": {"tokens": [[2]], "logits": [[[0.0] * 4]]},
    "one row": {"tokens": [[2]], "logits": [[0.0] * 5]},
    "text": {"tokens": [[2]], "logits": [[["0"] * 4 + ["x"]]]},
    "ragged": {"tokens": [[2]], "logits": [[[0.0], [1.0, 2]]]},
    "unknown name": {"tokens": [["z"]], "logits": [[[0.0] * 5]]},
    "beyond": {"tokens": [[7]], "logits": [[[0.0] * 5]]},
    "negative": {"tokens": [[-1]], "logits": [[[0.0] * 5]]},
    "no start marker": {"tokens": [[0]], "logits": [[[0.0] * 5]]},
    "start marker inside": {"tokens": [[2, 2]], "logits": [[[0.0] * 5] * 2]},
    "pad inside": {"tokens": [[2, 4, 0]], "logits": [[[0.0] * 5] * 3]},
    "end inside": {"tokens": [[2, 3, 3, 0, 3]], "logits": [[[0.0] * 5] * 5]},
    "too long": {"tokens": [[2] + [0] * 12], "logits": [[[0.0] * 5] * 13]},
}


@pytest.mark.parametrize("name", RECORDS)
def test_malformed_records_are_refused(name: str, tmp_path: Path) -> None:
    path = gpt2_file(tmp_path)
    (tmp_path / "r.json").write_text(json.dumps(RECORDS[name]))
    refused(path, tmp_path, ModelError, "--compare", tmp_path / "r.json")


def test_records_of_numpy(tmp_path: Path) -> None:
    path = gpt2_file(tmp_path)
    words = np.array([[2, 0, 1], [2, 1, 1]])
    logits = np.array([hand(*word) for word in words.tolist()]).astype(np.float32)
    np.savez(tmp_path / "r.npz", tokens=words, logits=logits)
    to = tmp_path / "m.safetensors"
    told = json.loads(succeeded("soft", "import", path, "-o", to, "--compare", tmp_path / "r.npz", "--json").output)
    assert told["compared"]["words"] == 2
    assert told["compared"]["difference"] < 1e-5
    assert {"name": "heads", "value": "2", "origin": "config", "note": "n_head"} in told["settings"]
    to.unlink()
    np.savez(tmp_path / "o.npz", tokens=np.array([[None]]), logits=logits)
    np.savez(tmp_path / "t.npz", tokens=words.astype(float), logits=logits)
    (tmp_path / "c.npz").write_bytes((tmp_path / "r.npz").read_bytes()[:-30])
    for name in "otc":
        refused(path, tmp_path, ModelError, "--compare", tmp_path / f"{name}.npz")


def test_what_is_left_is_taken_for_positions_and_that_is_said() -> None:
    rng, d = np.random.default_rng(0), 4
    layer = {
        "self_attn.in_proj_weight": (12, d), "self_attn.out_proj.weight": (d, d), "linear1.weight": (8, d),
        "linear2.weight": (d, 8), "norm1.weight": (d,), "norm2.weight": (d,),
    }  # fmt: skip
    arrays = {f"layers.0.{name}": rng.normal(size=shape) for name, shape in layer.items()}
    arrays |= {"embed.weight": rng.normal(size=(3, d)), "head.weight": rng.normal(size=(2, d))}
    options = Options(heads=2, alphabet=("a", "b", "c"), layout="torch")
    for shape in ((1, d), (1, 1, d), (5, 1, d), (1, 5, d)):
        found = import_weights(arrays | {"pe": np.ones(shape)}, options)
        told = {s.name: f"{s.value}, {s.text()}" for s in found.settings}
        assert told["position table"] == "pe, assumed: the only tensor left"
        assert found.model.positions.table is not None
        assert found.model.positions.table.shape == (max(shape[:-1]), d)
    for name, left in (("mask", np.tri(d)), ("pe", np.ones(d))):
        with pytest.raises(ModelError, match=f"tensor '{name}'"):
            import_weights(arrays | {name: left}, options)
