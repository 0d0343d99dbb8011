"""Random exact transformers as safetensors files, and a slow exact evaluator of the layout of docs/importers.md.

This is another input language than ``restrict-model/1``: tensors of numbers and no expressions, so ``tests/generator``
has no part in it. The evaluator keeps one list of fractions a position and knows nothing of the importer or of models.
"""

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from safetensors.numpy import save_file

from tests.naive_soft import affine, plus, sees

Vector = list[Fraction]
MASKS = ("none", "past", "strict_past", "future", "strict_future")


def random_weights(
    path: Path, rng: Generator, *, layers: int | None = None, dtype: str | None = None
) -> dict[str, Any]:
    """Write a random transformer; returns its configuration."""

    def below(m: int) -> int:
        return int(rng.integers(m))

    d, letters, classes = 1 + below(3), 1 + below(3), 1 + below(3)
    dtype = dtype or ["int64", "int8", "float32", "float16"][below(4)]

    def tensor(*shape: int) -> Any:
        array = rng.integers(-2, 3, size=shape)
        return (array / 2 if dtype.startswith("float") else array).astype(dtype)

    config: dict[str, Any] = {"format": "restrict-weights/1", "alphabet": list("abc"[:letters]), "layers": []}
    if below(3) == 0:
        config["start_marker"] = "<"
    if below(3) == 0:
        config["end_marker"] = ">"
    symbols = letters + ("start_marker" in config) + ("end_marker" in config)
    tensors = {"embed": tensor(symbols, d), "unembed": tensor(classes, d)}
    if below(2):
        tensors["position"] = tensor(5, d)
    if below(2):
        tensors["unembed_bias"] = tensor(classes)
    for at in range(below(3) if layers is None else layers):
        heads = []
        for h in range(below(3)):
            heads.append({"mask": MASKS[below(5)], "ties": ["left", "right"][below(2)]})
            dk, dv = 1 + below(2), 1 + below(2)
            for name, shape in (("query", (dk, d)), ("key", (dk, d)), ("value", (dv, d)), ("output", (d, dv))):
                tensors[f"layers.{at}.heads.{h}.{name}"] = tensor(*shape)
        config["layers"].append({"heads": heads})
        if below(2):
            width = 1 + below(3)
            tensors |= {f"layers.{at}.ffn.in": tensor(width, d), f"layers.{at}.ffn.out": tensor(d, width)}
            if below(2):
                tensors |= {f"layers.{at}.ffn.in_bias": tensor(width), f"layers.{at}.ffn.out_bias": tensor(d)}
    config["output"] = {"position": ["last", "every"][below(2)], "labels": ["no", "yes", "maybe"][:classes]}
    config["denominators"] = {name: 1 + below(3) for name in tensors if below(4) == 0}
    save_file(tensors, path, metadata={"restrict": json.dumps(config)})
    return config


class Reference:
    """The transformer of a file, evaluated with fractions."""

    def __init__(self, path: Path) -> None:
        from safetensors import safe_open
        from safetensors.numpy import load_file

        with safe_open(path, framework="np") as file:
            self.config = json.loads(file.metadata()["restrict"])
        below = self.config.get("denominators", {})
        self.tensors = {name: exact(array, below.get(name, 1)) for name, array in load_file(path).items()}
        self.symbols = [*self.config["alphabet"]]
        self.symbols += [self.config[m] for m in ("start_marker", "end_marker") if m in self.config]

    def run(self, word: Sequence[str]) -> list[str]:
        """The label at every position of a word without its markers."""
        c, t = self.config, self.tensors
        text = [c[m] for m in ["start_marker"] if m in c] + [*word] + [c[m] for m in ["end_marker"] if m in c]
        stream = [list(t["embed"][self.symbols.index(s)]) for s in text]
        if "position" in t:
            stream = [plus(x, t["position"][i]) for i, x in enumerate(stream)]
        for at, layer in enumerate(c["layers"]):
            new = [list(x) for x in stream]
            for h, head in enumerate(layer["heads"]):
                w = {r: t[f"layers.{at}.heads.{h}.{r}"] for r in ("query", "key", "value", "output")}
                for i in range(len(stream)):
                    seen = [j for j in range(len(stream)) if sees(head["mask"], i, j)]
                    if not seen:
                        continue
                    query = affine(w["query"], stream[i])
                    scores = affine([affine(w["key"], stream[j]) for j in seen], query)
                    best = [j for j, s in zip(seen, scores, strict=True) if s == max(scores)]
                    j = best[0] if head["ties"] == "left" else best[-1]
                    new[i] = plus(new[i], affine(w["output"], affine(w["value"], stream[j])))
            stream = new
            if f"layers.{at}.ffn.in" in t:
                stream = [plus(x, self.ffn(f"layers.{at}.ffn", x)) for x in stream]
        logits = [affine(t["unembed"], x, t.get("unembed_bias")) for x in stream]
        return [c["output"]["labels"][row.index(max(row))] for row in logits]

    def ffn(self, place: str, x: Vector) -> Vector:
        """The feed-forward network."""
        t = self.tensors
        inner = affine(t[f"{place}.in"], x, t.get(f"{place}.in_bias"))
        return affine(t[f"{place}.out"], [max(v, Fraction(0)) for v in inner], t.get(f"{place}.out_bias"))


def exact(array: Any, denominator: int) -> Any:
    """Nested lists of fractions."""
    if array.ndim == 0:
        return Fraction(array.item()) / denominator
    return [exact(np.asarray(part), denominator) for part in array]
