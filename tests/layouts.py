"""Random weights with the names of TransformerLens, PyTorch and GPT-2, and their forward passes, by hand."""

import math
from functools import partial
from typing import Any

import numpy as np
from safetensors.numpy import save

from tests import verdict_cases
from tests.naive_gpt2 import Naive, activated

Arrays = dict[str, Any]
HEADS, DK = 2, 2
D = HEADS * DK
TOKENS = ["a", "b", "<bos>", "<eos>"]
SAID: Arrays = {"vocab": TOKENS, "bos_token_id": 2, "eos_token_id": 3}


def drawn(rng: np.random.Generator, shapes: dict[str, tuple[int, ...]]) -> Arrays:
    """Random float32 weights."""
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def lens(
    rng: np.random.Generator, layers: int, kind: str | None = "LN", network: bool = True, dk: int = DK
) -> tuple[Arrays, Arrays]:
    """A state dict of TransformerLens with its configuration."""
    shapes: dict[str, tuple[int, ...]] = {"embed.W_E": (4, D), "pos_embed.W_pos": (9, D), "unembed.W_U": (D, 4)}
    shapes |= {"unembed.b_U": (4,)} | ({"ln_final.w": (D,), "ln_final.b": (D,)} if kind == "LN" else {})
    for at in range(layers):
        part: dict[str, tuple[int, ...]] = {f"attn.W_{p}": (HEADS, D, dk) for p in "QKV"}
        part |= {f"attn.b_{p}": (HEADS, dk) for p in "QKV"} | {"attn.W_O": (HEADS, dk, D), "attn.b_O": (D,)}
        part |= {"mlp.W_in": (D, 7), "mlp.b_in": (7,), "mlp.W_out": (7, D), "mlp.b_out": (D,)} if network else {}
        if kind == "LN":
            part |= {f"ln{k}.{p}": (D,) for k in ((1, 2) if network else (1,)) for p in "wb"}
        shapes |= {f"blocks.{at}.{name}": shape for name, shape in part.items()}
    act = str(rng.choice(["relu", "gelu", "gelu_new"]))
    return drawn(rng, shapes), SAID | {"act_fn": act, "normalization_type": kind}


def encoder_layers(layers: int, d: int, width: int, stem: str = "encoder.") -> dict[str, tuple[int, ...]]:
    """The shapes of the layers of an nn.TransformerEncoder."""
    part = {"self_attn.in_proj_weight": (3 * d, d), "self_attn.in_proj_bias": (3 * d,)}
    part |= {"self_attn.out_proj.weight": (d, d), "self_attn.out_proj.bias": (d,), "linear1.weight": (width, d)}
    part |= {"linear1.bias": (width,), "linear2.weight": (d, width), "linear2.bias": (d,)}
    part |= {f"norm{k}.{name}": (d,) for k in (1, 2) for name in ("weight", "bias")}
    return {f"{stem}layers.{at}.{name}": shape for at in range(layers) for name, shape in part.items()}


def encoder(rng: np.random.Generator, layers: int, rows: int = 4) -> tuple[Arrays, Arrays]:
    """The state dict of a pre-norm nn.TransformerEncoder with a final LayerNorm, a bias in its read-out."""
    shapes: dict[str, tuple[int, ...]] = {"embed.weight": (4, D), "pos": (9, D), "head.weight": (rows, D)}
    shapes |= {"head.bias": (rows,), "encoder.norm.weight": (D,), "encoder.norm.bias": (D,)}
    act = str(rng.choice(["relu", "gelu", "gelu_tanh"]))
    said = SAID | {"nhead": HEADS, "norm_first": True, "causal": True, "activation": act}
    return drawn(rng, shapes | encoder_layers(layers, D, 6)), said


def by_hand(a: Arrays, config: Arrays, tokens: list[int], causal: bool = True) -> Any:
    """The logits at every position, written out from the two libraries' descriptions."""
    a, n = {name: x.astype(np.float64) for name, x in a.items()}, len(tokens)
    ours = "embed.W_E" in a
    act = np.vectorize(partial(activated, config.get("act_fn", config.get("activation"))))

    def norm(x: Any, name: str) -> Any:
        if config.get("normalization_type", "LN") is None:
            return x
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        ends = ("w", "b") if ours else ("weight", "bias")
        return x * a.get(f"{name}.{ends[0]}", 1) + a.get(f"{name}.{ends[1]}", 0)

    x = a["embed.W_E" if ours else "embed.weight"][tokens] + a["pos_embed.W_pos" if ours else "pos"][:n]
    for at in range(sum(name.endswith(("attn.W_Q", "in_proj_weight")) for name in a)):
        stem = f"blocks.{at}." if ours else f"encoder.layers.{at}."
        b = {name.removeprefix(stem): value for name, value in a.items() if name.startswith(stem)}
        last = not config.get("norm_first", True)
        u = x if last else norm(x, stem + ("ln1" if ours else "norm1"))
        if ours:
            q, k, v = (np.einsum("nd,hde->hne", u, b[f"attn.W_{p}"]) + b[f"attn.b_{p}"][:, None] for p in "QKV")
        else:
            mixed = u @ b["self_attn.in_proj_weight"].T + b["self_attn.in_proj_bias"]
            q, k, v = (part.reshape(n, HEADS, DK).swapaxes(0, 1) for part in np.split(mixed, 3, axis=1))
        root = math.sqrt(q.shape[-1]) if config.get("use_attn_scale", True) else 1
        root *= at + 1 if config.get("scale_attn_by_inverse_layer_idx") else 1
        scores = np.einsum("hqe,hke->hqk", q, k) / root
        scores[:, np.triu(np.ones((n, n), dtype=bool), 1) & causal] = -np.inf
        e = np.exp(scores - scores.max(-1, keepdims=True))
        read = (e / e.sum(-1, keepdims=True)) @ v
        if ours:
            x = x + np.einsum("hqe,hed->qd", read, b["attn.W_O"]) + b["attn.b_O"]
        else:
            joined = read.swapaxes(0, 1).reshape(n, D)
            x = x + joined @ b["self_attn.out_proj.weight"].T + b["self_attn.out_proj.bias"]
        x = norm(x, stem + "norm1") if last else x
        u = x if last else norm(x, stem + ("ln2" if ours else "norm2"))
        if "mlp.W_in" in b:
            x = x + act(u @ b["mlp.W_in"] + b["mlp.b_in"]) @ b["mlp.W_out"] + b["mlp.b_out"]
        elif not ours:
            x = x + act(u @ b["linear1.weight"].T + b["linear1.bias"]) @ b["linear2.weight"].T + b["linear2.bias"]
        x = norm(x, stem + "norm2") if last else x
    if ours:
        return norm(x, "ln_final") @ a["unembed.W_U"] + a["unembed.b_U"]
    return (norm(x, "encoder.norm") if "encoder.norm.weight" in a else x) @ a["head.weight"].T + a["head.bias"]


def gpt2_arrays(rng: np.random.Generator, prefix: str = "transformer.") -> Arrays:
    """Random weights with GPT-2's names, two layers of width 8."""
    config = {"n_embd": 8, "vocab_size": 5, "n_layer": 2, "n_positions": 12, "tie_word_embeddings": True}
    made = verdict_cases.weights(rng, config | {"position_embeddings": "learned"}, 1.0)
    return {prefix + name.removeprefix("transformer."): array for name, array in made.items()}


def gpt2_by_hand(arrays: dict[str, Any], tokens: list[int], heads: int) -> Any:
    """The logits at every position, from GPT-2's description."""
    config = {"n_head": heads, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "bos_token_id": tokens[0]}
    slow = Naive(save(arrays), config)
    return np.array([slow.logits(tuple(tokens[1:end])) for end in range(1, len(tokens) + 1)])
