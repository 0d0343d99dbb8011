"""Train the small models of two papers, which answer behind a whole word, and write them as people store them.

    python scripts/train_answers.py max -o FOLDER [--symbols 8] [--length 4] [--width 32] [--steps 4000]
    python scripts/train_answers.py add -o FOLDER [--symbols 13] [--width 32] [--neurons 64] [--steps 2000]

``max``: the greatest of ``length`` numbers, by one head of attention alone, without LayerNorm and biases, as in Gross
et al., Compact Proofs of Model Performance via Mechanistic Interpretability (2024, arXiv 2406.11779). ``add``: behind
``a b =`` the sum modulo ``symbols``, by a block of four heads and ReLU without LayerNorm and biases, as in Nanda et
al., Progress Measures for Grokking via Mechanistic Interpretability (2023, arXiv 2301.05217), but trained on all pairs.
Both are read at the last position, by the greatest logit, and trained by cross-entropy with AdamW. Needs torch;
seeded; a minute on one core.

Each model is four files: NAME.safetensors with TransformerLens' names, NAME.config.json, NAME.record.json (some words
with the logits that torch gives, for `restrict soft import --compare`), and NAME.txt, the answers behind all words, for
`restrict soft verify --answers`, up to a million of them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn import functional

BATCH, RECORDED, LISTED = 256, 4, 10**6
Parameters = dict[str, torch.Tensor]


def parameters(tokens: int, labels: int, places: int, width: int, heads: int, neurons: int) -> Parameters:
    """Random weights with TransformerLens' names."""
    dk, spread = width // heads, 0.8 / math.sqrt(width)
    shapes: dict[str, tuple[int, ...]] = {"embed.W_E": (tokens, width), "pos_embed.W_pos": (places, width)}
    shapes |= {f"blocks.0.attn.W_{part}": (heads, width, dk) for part in "QKV"}
    shapes |= {"blocks.0.attn.W_O": (heads, dk, width), "unembed.W_U": (width, labels)}
    if neurons:
        shapes |= {"blocks.0.mlp.W_in": (width, neurons), "blocks.0.mlp.W_out": (neurons, width)}
    return {name: torch.nn.Parameter(torch.randn(shape) * spread) for name, shape in shapes.items()}


def logits(p: Parameters, words: torch.Tensor) -> torch.Tensor:
    """The logits at every position, ``(words, positions, labels)``."""
    n = words.shape[1]
    x = p["embed.W_E"][words] + p["pos_embed.W_pos"][:n]
    q, k, v = (torch.einsum("bnd,hde->bhne", x, p[f"blocks.0.attn.W_{part}"]) for part in "QKV")
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    unseen = torch.triu(torch.full((n, n), -math.inf), 1)
    x = x + torch.einsum("bhne,hed->bnd", torch.softmax(scores + unseen, -1) @ v, p["blocks.0.attn.W_O"])
    if "blocks.0.mlp.W_in" in p:
        x = x + torch.relu(x @ p["blocks.0.mlp.W_in"]) @ p["blocks.0.mlp.W_out"]
    return x @ p["unembed.W_U"]


def trained(o: argparse.Namespace) -> tuple[Parameters, float]:
    """The weights, and the last loss."""
    torch.manual_seed(o.seed)
    added, places = o.task == "add", 3 if o.task == "add" else o.length
    p = parameters(o.symbols + added, o.symbols, places, o.width, 4 if added else 1, o.neurons if added else 0)
    pairs = torch.tensor([(a, b, o.symbols) for a in range(o.symbols) for b in range(o.symbols)])
    adam = torch.optim.AdamW(
        p.values(), lr=1e-3, betas=(0.9, 0.98 if added else 0.999), weight_decay=1.0 if added else 1e-2
    )
    loss = torch.tensor(math.inf)
    for _ in range(o.steps):
        words = pairs if added else torch.randint(o.symbols, (BATCH, o.length))
        right = (words[:, 0] + words[:, 1]) % o.symbols if added else words.amax(1)
        loss = functional.cross_entropy(logits(p, words)[:, -1], right)
        adam.zero_grad()
        loss.backward()
        adam.step()
        if added and loss < 3e-7:  # later it may get worse again for a while
            break
    return p, loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("max", "add"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--symbols", type=int)
    parser.add_argument("--length", type=int, default=4)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--neurons", type=int, default=64)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=0)
    o = parser.parse_args()
    o.symbols, o.steps = o.symbols or (13 if o.task == "add" else 8), o.steps or (2000 if o.task == "add" else 4000)
    torch.set_num_threads(1)
    p, loss = trained(o)
    names, count = list(map(str, range(o.symbols))), o.symbols**2 if o.task == "add" else o.symbols**o.length
    tokens = [*names, "="] if o.task == "add" else names
    path = o.output / (f"add{o.symbols}" if o.task == "add" else f"max{o.length}-of-{o.symbols}")
    o.output.mkdir(parents=True, exist_ok=True)
    save_file({name: a.detach().contiguous() for name, a in p.items()}, path.with_name(f"{path.name}.safetensors"))
    config = {"normalization_type": None, "act_fn": "relu", "vocab": tokens, "place": "last"}
    config |= {"labels": names} if o.task == "add" else {}
    path.with_name(f"{path.name}.config.json").write_text(json.dumps(config) + "\n")
    front = itertools.product(range(o.symbols), repeat=2 if o.task == "add" else o.length)
    words = ((*word, o.symbols) for word in front) if o.task == "add" else front
    wrong, lines, recorded = 0, list[str](), list[tuple[int, ...]]()
    while part := list(itertools.islice(words, 1 << 14)):
        recorded = recorded or part[:: max(1, len(part) // RECORDED)][:RECORDED]
        right = [sum(word[:2]) % o.symbols if o.task == "add" else max(word) for word in part]
        with torch.no_grad():
            said = logits(p, torch.tensor(part))[:, -1].argmax(1).tolist()
        wrong += sum(a != b for a, b in zip(said, right, strict=True))
        if count <= LISTED:
            lines += [f"{' '.join(tokens[t] for t in w)} -> {a}\n" for w, a in zip(part, right, strict=True)]
    if lines:
        path.with_name(f"{path.name}.txt").write_text("".join(lines))
    with torch.no_grad():
        record = {"tokens": recorded, "logits": logits(p, torch.tensor(recorded)).tolist()}
    path.with_name(f"{path.name}.record.json").write_text(json.dumps(record) + "\n")
    print(f"{path.name}: loss {loss:.2g}, wrong behind {wrong} of {count} words")


if __name__ == "__main__":
    main()
