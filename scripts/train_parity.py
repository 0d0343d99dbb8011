"""Train a small softmax transformer on PARITY and write it as a restrict-soft/1 file.

    python scripts/train_parity.py -o instances/soft-parity-trained.safetensors [--steps 4000] [--length 8] [--seed 0]

Two layers of ``nn.TransformerEncoder`` (d = 16, two heads, LayerNorm after each half), no position embeddings, read at
a CLS marker in front; trained with Adam on all words of up to ``--length`` bits, uniformly over lengths. Needs torch;
seeded, a minute or two on one core. Prints the accuracy and cross-entropy by length, seen and unseen.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from restrict.soft.importers import from_torch
from restrict.soft.influence.theorem6 import cross_entropy
from restrict.soft.models import evaluate
from restrict.soft.models.model import SoftModel

WIDTH, HEADS, HIDDEN, LAYERS = 16, 2, 64, 2


def train(steps: int, length: int, seed: int) -> SoftModel:
    """The trained model."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    parts = nn.ModuleDict({"embed": nn.Embedding(3, WIDTH), "encoder": encoder, "head": nn.Linear(WIDTH, 2)})
    optimiser = torch.optim.Adam(parts.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        n = int(rng.integers(1, length + 1))
        words = rng.integers(0, 2, (128, n))
        batch = torch.tensor(np.concatenate([np.full((128, 1), 2), words], axis=1))
        logits = parts["head"](parts["encoder"](parts["embed"](batch))[:, 0])
        loss: Any = nn.functional.cross_entropy(logits, torch.tensor(words.sum(axis=1) % 2))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 500 == 0:
            print(f"step {step}: loss {float(loss.detach()):.4f} nats at length {n}", flush=True)
    return from_torch(
        parts.state_dict(),
        heads=HEADS,
        alphabet=("0", "1"),
        start_marker="CLS",
        labels=("even", "odd"),
        place="first",
        name="parity-trained",
    )


def main() -> None:
    """Train, report, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--length", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = train(options.steps, options.length, options.seed)
    model.save(options.output)
    rng = np.random.default_rng(1)
    print("bits  accuracy  cross-entropy (bits)")
    for m in (2, 5, 10, 11, 15, 20, 40, 100, 300):
        words = rng.integers(0, 2, (500, m))
        found = evaluate.labels(model, evaluate.logits(model, model.encode(words)))[:, 0]
        row = cross_entropy(model, m + 1, "parity", samples=500)
        print(f"{m:<5d} {(found == words.sum(axis=1) % 2).mean():<9.3f} {row.measured:.4f} (floor {row.floor:.4f})")


if __name__ == "__main__":
    main()
