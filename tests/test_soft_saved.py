"""Checkpoints as ``save_pretrained`` of transformers writes them, and words as a training script records them: names of
tokens in vocab.json, scores divided by the number of the layer, identifiers beyond the vocabulary, EOS and PAD."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from restrict.base.errors import ModelError, UsageError
from restrict.soft.importers import Imported, Options, compare, gpt2_names, import_weights, read_record
from restrict.soft.models import evaluate
from restrict.soft.models.terms import Term
from restrict.soft.trained.graph import dfa_of
from restrict.soft.trained.model import forward, load
from tests import verdict_cases
from tests.commands import typed
from tests.layouts import gpt2_arrays, gpt2_by_hand, lens
from tests.test_soft_gpt2_names import written
from tests.test_soft_import import CONFIG
from tests.test_soft_import import TOKENS as NAMES

SAVED: dict[str, Any] = CONFIG | {
    "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_inner": None, "tie_word_embeddings": True,
    "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "reorder_and_upcast_attn": False,
    "add_cross_attention": False, "use_cache": True, "dtype": "float32", "transformers_version": "5.24.0",
}  # fmt: skip
del SAVED["vocab"]


def saved(folder: Path, seed: int = 8, names: Any = NAMES, **changed: Any) -> Path:
    """What ``save_pretrained`` writes: model.safetensors, config.json, and vocab.json of a tokenizer."""
    arrays = gpt2_arrays(np.random.default_rng(seed))
    rows = np.random.default_rng(seed).normal(size=(len(names or NAMES), 8)).astype(np.float32)
    save_file(arrays | {"transformer.wte.weight": rows}, folder / "model.safetensors")
    config = SAVED | {"vocab_size": len(rows)} | changed
    (folder / "config.json").write_text(json.dumps(config))
    if names is not None:
        (folder / "vocab.json").write_text(json.dumps({name: row for row, name in enumerate(names)}))
    return folder / "model.safetensors"


def same(found: Imported, word: str = "abba") -> None:
    """The import and what is written of it give the same logits, label by label, at every prefix."""
    model, (made, _) = found.model, written(found)
    ours = evaluate.logits(model, model.encode([list(word)]), at=np.arange(len(word) + 1))[0]
    theirs = forward(made, made.rows(list(word)))
    for k, label in enumerate(model.output.labels):
        if label in made.labels:
            np.testing.assert_allclose(ours[:, k], theirs[:, made.labels.index(label)], rtol=1e-9, atol=1e-9)


def test_the_names_of_tokens_may_stand_in_vocab_json(tmp_path: Path) -> None:
    path = saved(tmp_path)
    assert load(path).symbols == ("a", "b")
    assert load(path).vocab == tuple(NAMES)
    verdict = typed("soft", "verify", path, "-n", 2, "-L", "regex:a*b*")
    assert "s VERIFIED wrong" in verdict.output


def test_without_names_a_verdict_says_what_gives_them(tmp_path: Path) -> None:
    path = saved(tmp_path, names=None)
    with pytest.raises(ModelError, match=r"config vocab: nothing names the tokens.*--alphabet TOKENS --weights"):
        load(path)
    path = saved(tmp_path, names=["a", "b", "<bos>", "<eos>", "<pad>", "<sep>"])
    language = type("L", (), {"name": "L", "dfa": verdict_cases.loaded(verdict_cases.NAMES[0])})
    language.dfa = type("D", (), {"alphabet": ("a", "b")})
    with pytest.raises(UsageError, match=r"a token that no word has is a \.\.\._token_id in the configuration"):
        dfa_of(language, load(path))


def test_scores_by_the_number_of_the_layer_are_folded_into_the_query(tmp_path: Path) -> None:
    """One half is a power of two, so that each number of the file is exact; the third layer's factor is not."""
    path = saved(tmp_path, scale_attn_by_inverse_layer_idx=True)
    found = import_weights(path)
    assert found.model.layers[1].heads[0].scale.text == "1/sqrt(4)/2"
    same(found)
    with pytest.raises(ModelError, match=r"only False is read, not True; where it is the same function, `restrict"):
        load(path)
    for plain in (True, False):  # without the root: scores times 1 are twice those times 1/sqrt(4)
        same(import_weights(saved(tmp_path, scale_attn_weights=plain)))
    same(import_weights(saved(tmp_path, scale_attn_weights=False, n_head=4)))  # heads of 2 are written as heads of 4


@pytest.mark.parametrize(
    "scale", ["1.00000000000000000001", "1/sqrt(4)/3", "1/sqrt(4)/2000000000000", "1/sqrt(4)/n", "1/sqrt(4)+1"]
)
def test_a_factor_of_scores_that_no_float_multiplies_by_exactly_is_refused(tmp_path: Path, scale: str) -> None:
    """The first one rounds to a power of two: what is written would be another model."""
    found = import_weights(saved(tmp_path))
    for head in found.model.layers[1].heads:
        object.__setattr__(head, "scale", Term(scale))
    with pytest.raises(ModelError, match="or that by a power of two"):
        gpt2_names(found)


def test_the_scores_of_the_first_layer_are_divided_by_one(tmp_path: Path) -> None:
    path = verdict_cases.changed(tmp_path, scale_attn_by_inverse_layer_idx=True)
    model, plain = load(path), verdict_cases.loaded(verdict_cases.NAMES[0])[0]
    word = list(plain.symbols) * 2
    np.testing.assert_array_equal(forward(model, model.rows(word)), forward(plain, plain.rows(word)))
    assert gpt2_names(import_weights(path)).config["n_layer"] == 1


def test_identifiers_beyond_the_vocabulary_are_refused_until_said(tmp_path: Path) -> None:
    """The library's default is 50256, whatever the size of the vocabulary."""
    path = saved(tmp_path, bos_token_id=50256, eos_token_id=50256, pad_token_id=None)
    with pytest.raises(ModelError, match=r"'50256' is not a row of the embedding \(0 \.\. 4\); --start-marker says"):
        import_weights(path)
    with pytest.raises(ModelError, match="--never says"):
        import_weights(path, Options(start_marker="<bos>"))
    found = import_weights(path, Options(start_marker="<bos>", never=("<eos>", "<pad>")))
    assert (found.model.alphabet, found.stop) == (("a", "b"), "<eos>")
    same(found)
    with pytest.raises(
        ModelError, match=r"50256 is not a row of the embedding \(0 \.\. 4\): give the token's, or null"
    ):
        load(path)


def test_one_token_may_begin_and_end_a_word(tmp_path: Path) -> None:
    """As GPT-2's <|endoftext|> does."""
    path = saved(tmp_path, eos_token_id=2, task={"kind": "next-set"})
    found = import_weights(path)
    assert (found.model.start_marker, found.stop) == ("<bos>", "<bos>")
    made = gpt2_names(found)
    assert (made.config["bos_token_id"], made.config["eos_token_id"], made.read_out) == (2, 2, "next-set")
    same(found)


def test_more_special_tokens_than_a_configuration_names(tmp_path: Path) -> None:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
    path = saved(tmp_path, names=names, bos_token_id=2, eos_token_id=None, pad_token_id=0)
    found = import_weights(path)
    assert found.model.alphabet == ("a", "b")
    made, _ = written(found)
    assert made.symbols == ("a", "b")
    assert len(made.vocab) == 5
    same(found)


@pytest.mark.parametrize("ends", [(3,), (3, 4, 4), (4,)])
def test_recorded_words_may_end_with_eos_and_pad(ends: tuple[int, ...], tmp_path: Path) -> None:
    path = saved(tmp_path)
    word = [2, 0, 1, 1]
    logits = gpt2_by_hand(gpt2_arrays(np.random.default_rng(8)) | _rows(), [*word, *ends], 2)
    (tmp_path / "r.json").write_text(json.dumps({"tokens": [[*word, *ends], word],
                                                 "logits": [logits.tolist(), logits[:4].tolist()]}))  # fmt: skip
    found = compare(import_weights(path), read_record(tmp_path / "r.json"))
    assert (found.words, found.cut, found.numbers) == (2, 1, 2 * 4 * 5)
    told = typed("soft", "import", path, "--compare", tmp_path / "r.json", "-o", tmp_path / "m.json").output
    assert "compared without tokens at the end that no word has, such as EOS: 1 of these words" in told


def _rows() -> dict[str, Any]:
    return {"transformer.wte.weight": np.random.default_rng(8).normal(size=(5, 8)).astype(np.float32)}


@pytest.mark.parametrize("head", ["score", "classifier"])
def test_a_classifier_has_names_both_ways_and_may_be_said_to_be_tied(head: str, tmp_path: Path) -> None:
    """``tie_word_embeddings`` is true by default, also where no read-out could be tied."""
    path = saved(tmp_path, id2label={"0": "no", "1": "yes"}, label2id={"no": 0, "yes": 1})
    arrays = gpt2_arrays(np.random.default_rng(8)) | _rows()
    save_file(arrays | {f"{head}.weight": np.eye(2, 8, dtype=np.float32)}, path)
    found = import_weights(path)
    assert found.model.output.labels == ("no", "yes")
    assert typed("soft", "import", path, "--weights", tmp_path / "new.safetensors").exit_code == 0
    assert json.loads((tmp_path / "new.config.json").read_text())["task"] == {"kind": "membership"}
    verdict = typed("soft", "verify", tmp_path / "new.safetensors", "-n", 1, "-L", "regex:a*b*")
    assert "logit of <eos>" in verdict.output or "s VERIFIED right" in verdict.output


def test_a_file_of_transformer_lens_is_sent_to_the_import_whatever_its_masks(tmp_path: Path) -> None:
    """As ``HookedTransformer.state_dict`` has them: a mask of booleans, and minus infinity."""
    arrays, config = lens(np.random.default_rng(3), 1)
    masks = {"blocks.0.attn.mask": np.tri(9, dtype=bool), "blocks.0.attn.IGNORE": np.array(-np.inf, dtype=np.float32)}
    path = tmp_path / "m.safetensors"
    save_file(arrays | masks, path)
    (tmp_path / "m.config.json").write_text(json.dumps(config | {"n_heads": 2, "n_ctx": 9}))
    with pytest.raises(ModelError, match=r"`restrict soft import .*m\.safetensors --weights .*-gpt2\.safetensors`"):
        load(path)
    same(import_weights(path))
