"""Checkpoints as strangers leave them: what stands beside the weights is read, or refused in one line."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from restrict.base.errors import ModelError, NotEstablished
from restrict.soft.importers import Options, Record, compare, import_weights, save_gpt2_names
from restrict.soft.importers.gpt2_names import gpt2_names
from restrict.soft.models import evaluate
from restrict.soft.trained.claim import model_document
from restrict.soft.trained.model import load
from tests.commands import failed
from tests.layouts import by_hand, encoder, gpt2_arrays, lens
from tests.test_soft_import import CONFIG, LETTERS, Attributes, gpt2_file, module_of

Arrays = dict[str, Any]
N = 12
WINDOW = np.tri(N) - np.tri(N, k=-3)


# ---------------------------------------------------------------- masks beside weights


def stored(folder: Path, arrays: Arrays) -> Path:
    """A file of weights, without a configuration."""
    save_file(arrays, folder / "w.safetensors")
    return folder / "w.safetensors"


@pytest.mark.parametrize("kind", ["bool", "uint8", "float32", "int64"])
def test_a_causal_mask_beside_the_weights_is_what_is_meant(kind: str, tmp_path: Path) -> None:
    arrays = gpt2_arrays(np.random.default_rng(8))
    arrays |= {f"transformer.h.{at}.attn.bias": np.tri(N, dtype=kind)[None, None] for at in (0, 1)}
    arrays |= {"transformer.h.0.attn.masked_bias": np.array(-1e4, dtype=np.float32)}
    found = import_weights(stored(tmp_path, arrays), config=CONFIG)
    assert {head.mask for layer in found.model.layers for head in layer.heads} == {"past"}


@pytest.mark.parametrize("prefix", ["", "transformer.", "module.transformer."])
@pytest.mark.parametrize("mask", [WINDOW, np.tri(N, k=1), np.random.default_rng(0).normal(size=(N, N)), np.ones(N)])
def test_a_window_or_a_learned_bias_is_no_causal_mask(mask: Any, prefix: str, tmp_path: Path) -> None:
    arrays = gpt2_arrays(np.random.default_rng(8), prefix) | {f"{prefix}h.1.attn.bias": mask.astype(np.float32)}
    for source in (stored(tmp_path, arrays), arrays):
        with pytest.raises(ModelError, match=r"h.1.attn.bias' is no causal mask: windows and learned biases"):
            import_weights(source, config=CONFIG)


def test_no_mask_at_all_beside_gpt2s_weights_contradicts_its_layers(tmp_path: Path) -> None:
    none = np.ones((N, N), dtype=bool)
    for masks, says in (
        ({"bias": none}, "no mask is stored beside the weights, and a causal mask given or assumed"),
        ({"bias": none, "h.1.attn.bias": np.tri(N)}, r"h.1.attn.bias' and .*h.0.attn.bias' differ"),
        ({"masked_bias": np.array(0.5)}, "masked_bias' is no large negative number"),
    ):
        path = gpt2_file(tmp_path, **{name if "." in name else f"h.0.attn.{name}": a for name, a in masks.items()})
        with pytest.raises(ModelError, match=says):
            import_weights(path)


@pytest.mark.parametrize("stem", ["", "model."])
def test_masks_of_transformer_lens(stem: str, tmp_path: Path) -> None:
    arrays, config = lens(np.random.default_rng(1), 1)
    arrays = {stem + name: a for name, a in arrays.items()} | {f"{stem}blocks.0.attn.IGNORE": np.array(-np.inf)}
    causal, whole = (arrays | {f"{stem}blocks.0.attn.mask": a} for a in (np.tri(9, dtype=bool), np.ones((9, 9), bool)))
    for source in (causal, stored(tmp_path, causal)):
        assert import_weights(source, config=config).model.layers[0].heads[0].mask == "past"
    for source in (causal, whole):  # the library stores a causal one whatever the direction
        found = import_weights(source, config=config | {"attention_dir": "bidirectional"})
        assert found.model.layers[0].heads[0].mask == "none"
    with pytest.raises(ModelError, match="is no causal mask"):
        import_weights(arrays | {f"{stem}blocks.0.attn.mask": WINDOW}, config=config)


# ---------------------------------------------------------------- names, heads and constants of transformers


def logits_of(found: Any, word: list[int]) -> Any:
    model = found.model
    return evaluate.logits(model, np.array([model.symbols.index(found.tokens[t]) for t in word])[None])[0]


@pytest.mark.parametrize("outer", ["module.", "_orig_mod.", "model.", "_orig_mod.module."])
@pytest.mark.parametrize("tied", [False, True])
def test_a_model_that_was_wrapped_is_the_same_function(outer: str, tied: bool) -> None:
    rng = np.random.default_rng(8)
    plain = gpt2_arrays(rng) | ({} if tied else {"lm_head.weight": rng.normal(size=(5, 8))})
    wrapped = {outer + name: a for name, a in plain.items()}
    one, other = (import_weights(arrays, config=CONFIG) for arrays in (plain, wrapped))
    np.testing.assert_array_equal(logits_of(one, [2, 0, 1]), logits_of(other, [2, 0, 1]))
    apart = {outer + name if "lm_head" not in name else name: a for name, a in plain.items()}
    np.testing.assert_array_equal(logits_of(import_weights(apart, config=CONFIG), [2, 0]), logits_of(one, [2, 0]))
    if not tied:
        with pytest.raises(ModelError, match=r"^state dict: lm_head.weight and .*lm_head.weight: which one"):
            import_weights(wrapped | {"lm_head.weight": plain["lm_head.weight"]}, config=CONFIG)


def test_a_classifier_with_one_label_answers_by_its_sign(tmp_path: Path) -> None:
    """`num_labels=1`: transformers names the one row LABEL_0, which is the name of no answer."""
    arrays = gpt2_arrays(np.random.default_rng(8)) | {"score.weight": np.ones((1, 8), dtype=np.float32)}
    for named in ({}, {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "problem_type": "regression"}):
        found = import_weights(arrays, config=CONFIG | named)
        output = found.model.output
        assert (output.kind, output.labels, output.place) == ("sign", ("0", "1"), "last")
        assert gpt2_names(found).read_out == "membership"


def test_a_backbone_without_a_read_out_is_no_language_model() -> None:
    arrays = gpt2_arrays(np.random.default_rng(8), "")
    assert import_weights(arrays, config=CONFIG | {"architectures": ["GPT2LMHeadModel"]}).model.output.unembed.any()
    with pytest.raises(ModelError, match="GPT2Model has no read-out, and neither has the file"):
        import_weights(arrays, config=CONFIG | {"architectures": ["GPT2Model"]})


@pytest.mark.parametrize("eps", ["3e-7", "1e-16", "0"])
def test_a_constant_that_no_verdict_covers_is_not_written(eps: str, tmp_path: Path) -> None:
    found = import_weights(gpt2_arrays(np.random.default_rng(8)), config=CONFIG | {"layer_norm_epsilon": eps})
    with pytest.raises(ModelError, match=rf"no verdict covers the constant {eps} of LayerNorm, but 1/N"):
        save_gpt2_names(found, tmp_path / "n.safetensors")
    assert not list(tmp_path.iterdir())


def test_the_constant_of_bert_is_covered(tmp_path: Path) -> None:
    config = CONFIG | {"layer_norm_epsilon": "1e-12"}
    save_gpt2_names(import_weights(gpt2_arrays(np.random.default_rng(8)), config=config), tmp_path / "n.safetensors")
    model = load(tmp_path / "n.safetensors")
    assert model_document(model)["epsilon"] == "1/1000000000000"


def test_a_pickle_is_called_one_by_verify(tmp_path: Path) -> None:
    for name, content in (("pytorch_model.bin", b"PK\x03\x04" + bytes(64)), ("m.pt", b"\x80\x02" + bytes(64))):
        (tmp_path / name).write_bytes(content)
        (tmp_path / "config.json").write_text("{}")
        told = failed(ModelError, "soft", "verify", tmp_path / name, "-n", 3)
        assert f"{name}: a pickle file, and loading it would run code" in told


def test_another_activation_is_proposed_for_transformer_lens(tmp_path: Path) -> None:
    arrays, config = lens(np.random.default_rng(1), 1)
    config |= {"act_fn": "gelu_new"}
    record = Record(((2, 0, 1, 1),), (by_hand(arrays, config, [2, 0, 1, 1]),))
    given = {name: value for name, value in config.items() if name != "act_fn"}
    with pytest.raises(NotEstablished, match=r"these agree: --activation gelu_tanh$"):
        compare(import_weights(arrays, config=given), record, source=arrays, config=given)
    told = compare(import_weights(arrays, config=config), record, source=arrays, config=config)
    assert not [words for words in told.untold if "activation" in words]


def turned(arrays: Arrays) -> Arrays:
    """The same function as nanoGPT stores it: matrices of layers are those of nn.Linear."""
    of = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
    return {name: np.ascontiguousarray(a.T) if name.endswith(of) else a for name, a in arrays.items()}


def test_matrices_stored_output_by_input_are_the_same_function(tmp_path: Path) -> None:
    arrays = gpt2_arrays(np.random.default_rng(8))
    one, other = (import_weights(a, config=CONFIG) for a in (arrays, turned(arrays)))
    np.testing.assert_array_equal(logits_of(one, [2, 0, 1]), logits_of(other, [2, 0, 1]))
    assert "matrices" in {s.name for s in other.settings} - {s.name for s in one.settings}
    path = gpt2_file(tmp_path, **{name.removeprefix("transformer."): a for name, a in turned(arrays).items()})
    told = failed(ModelError, "soft", "verify", path, "-n", 2)
    assert "stored output by input, as nanoGPT has them; `restrict soft import" in told
    mixed = arrays | {name: a for name, a in turned(arrays).items() if name.endswith("h.0.mlp.c_fc.weight")}
    with pytest.raises(ModelError, match=r"c_fc.weight' has shape"):
        import_weights(mixed, config=CONFIG)


# ---------------------------------------------------------------- modules and state dicts of torch


class RMSNorm:
    """A norm whose weights look like a LayerNorm's."""


class LayerNorm:
    """A LayerNorm without weights, which nothing in a state dict shows."""

    normalized_shape, elementwise_affine, eps = (8,), False, 1e-5


def module_with(activation: Any, *more: Any) -> Any:
    """A module around an encoder with such networks."""
    return module_of(Attributes(self_attn=Attributes(num_heads=4), norm_first=True, activation=activation), *more)


def torch_relu(x: Any) -> Any:
    return x


torch_relu.__module__, torch_relu.__name__ = "torch.nn.functional", "relu"


@pytest.mark.parametrize("norm", [RMSNorm(), LayerNorm()])
def test_a_module_with_a_norm_that_no_weight_shows_is_refused(norm: Any) -> None:
    with pytest.raises(ModelError, match=r"the module has a (RMS|Layer)Norm"):
        import_weights(module_with(torch_relu, norm), LETTERS)


def test_a_function_that_is_only_called_relu_is_not_taken_for_it() -> None:
    def relu(x: Any) -> Any:
        return x * abs(x)

    assert import_weights(module_with(torch_relu), LETTERS).model
    with pytest.raises(ModelError, match=r"activation 'tests.test_soft_files.relu' is not one of"):
        import_weights(module_with(relu), LETTERS)
    found = import_weights(module_with(relu), replace(LETTERS, activation="gelu"))
    said = {s.name: f"{s.value} {s.text()}" for s in found.settings}
    assert said["activation"] == "gelu given (config activation: tests.test_soft_files.relu)"


def test_tensors_of_bfloat16_are_read() -> None:
    """As torch has them: numpy has no such type, so they are converted by torch, exactly."""

    class Half:
        def __init__(self, array: Any) -> None:
            self.array = array

        def double(self) -> Any:
            return self.array.astype(np.float64)

    arrays = gpt2_arrays(np.random.default_rng(8))
    found = import_weights({name: Half(a) for name, a in arrays.items()}, config=CONFIG)
    np.testing.assert_array_equal(logits_of(found, [2, 0]), logits_of(import_weights(arrays, config=CONFIG), [2, 0]))


def test_an_embedding_that_the_code_multiplies_is_named() -> None:
    """PyTorch's tutorial: the embedding times the root of the width, which no weight says."""
    arrays, config = encoder(np.random.default_rng(7), 1)
    scaled = arrays | {"embed.weight": arrays["embed.weight"] * 2}
    record = Record(((2, 0, 1, 1),), (by_hand(scaled, config, [2, 0, 1, 1]),))
    for said, words in ((config, "the"), (config | {"causal": False}, "--heads 2 .* --causal, the")):
        found = import_weights(arrays, Options(place="every"), config=said)
        with pytest.raises(NotEstablished, match=rf"agree: {words} embedding times sqrt\(4\)"):
            compare(found, record, source=arrays, options=Options(place="every"), config=said)


def test_what_a_module_has_in_memory_is_what_files_say() -> None:
    """Numbers of classes are integers there, not texts; decimals may be numpy's; no architecture is named."""
    arrays = gpt2_arrays(np.random.default_rng(8)) | {"score.weight": np.ones((2, 8))}
    memory = CONFIG | {"id2label": {0: "no", 1: "yes"}, "architectures": None}
    module = Attributes(state_dict=lambda: arrays, config=memory)
    assert import_weights(module).model.output.labels == ("no", "yes")

    class GPT2Model(Attributes):
        """A backbone of transformers."""

    with pytest.raises(ModelError, match="GPT2Model has no read-out"):
        import_weights(GPT2Model(state_dict=lambda: gpt2_arrays(np.random.default_rng(8)), config=memory))
    weights, config = lens(np.random.default_rng(1), 1)
    module = Attributes(state_dict=lambda: weights, cfg=config | {"attn_scale": np.float64(3.0)})
    assert import_weights(module).model.layers[0].heads[0].scale.text == "1/3.0"


# ---------------------------------------------------------------- other architectures


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("model.layers.0.mlp.gate_proj.weight", "Llama's names .* RMSNorm, rotary positions and gated"),
        ("gpt_neox.layers.0.attention.query_key_value.weight", "rotary positions are not read; train on GPT-2's block"),
        ("blocks.0.attn.rotary_sin", "rotary positions are not read"),
        ("bert.encoder.layer.0.attention.self.query.weight", "BERT's names .* LayerNorm behind the embedding"),
        ("distilbert.transformer.layer.1.attention.q_lin.weight", "BERT's names"),
        ("transformer.h.0.attn.q_proj.weight", "GPT-J's names"),
        ("transformer.h.0.attn.attention.q_proj.weight", "GPT-Neo's names: windows of attention"),
        ("model.decoder.layers.0.self_attn.q_proj.weight", "OPT's names .* are not read; a small model can"),
        ("transformer.h.0.self_attention.query_key_value.weight", "BLOOM's names .*: ALiBi and rotary"),
        ("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "T5's names"),
        ("transformer.tokens_embed.weight", "the first GPT's names are not read"),
        ("blocks.0.attn.k_norm.w", "norms of queries and keys"),
        ("blocks.0.attn._W_K", "keys that several heads share"),
    ],
)  # fmt: skip
def test_another_architecture_is_named_in_one_line(name: str, says: str, tmp_path: Path) -> None:
    path = stored(tmp_path, {name: np.ones((4, 4), dtype=np.float32)})
    (tmp_path / "w.config.json").write_text("{}")
    for command in (("import", path, "-o", tmp_path / "n.json"), ("verify", path, "-n", 3, "-L", "parity")):
        told = failed(ModelError, "soft", *command)
        assert re.search(says, told)
        assert "docs/soft-import.md#other-architectures" in told


def test_what_a_configuration_says_of_another_architecture_is_refused() -> None:
    arrays, config = lens(np.random.default_rng(1), 1)
    del arrays["pos_embed.W_pos"]
    with pytest.raises(ModelError, match=r"'rotary' is not one of .* a learned table of positions or none is read"):
        import_weights(arrays, config=config | {"positional_embedding_type": "rotary"})
    for kind in ("RMS", "RMSPre"):
        with pytest.raises(ModelError, match=rf"'{kind}' is not read, only LayerNorm \(LN, LNPre\) and null for none"):
            import_weights(arrays, config=config | {"normalization_type": kind})
    with pytest.raises(ModelError, match=r"the names of the tensors \('x.y', ...\) show none of the known layouts"):
        import_weights({"x.y": np.ones((2, 2))})
