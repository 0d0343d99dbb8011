"""Blocks of GPT-2 on one word, from the definition: nested lists, one number at a time; shares nothing with the
package. Reads a safetensors file by hand."""

import json
import math
import struct
from collections.abc import Collection, Sequence
from functools import cache
from operator import mul
from typing import Any

Rows = list[list[float]]


def activated(kind: str, x: float) -> float:
    """ReLU, or one of the two GELUs."""
    if kind == "relu":
        return max(x, 0.0)
    if kind == "gelu":
        return x / 2 * math.erfc(-x / math.sqrt(2))
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


CODES = {"F64": "d", "F32": "f", "F16": "e", "BF16": "H"}


def tensors_of(content: bytes, number: Any = float) -> dict[str, Any]:
    """The tensors of a safetensors file, as lists of rows or of numbers."""
    end = 8 + struct.unpack("<Q", content[:8])[0]
    found: dict[str, Any] = {}
    for name, entry in json.loads(content[8:end]).items():
        if name == "__metadata__":
            continue
        a, b = (end + at for at in entry["data_offsets"])
        values = [v for (v,) in struct.iter_unpack("<" + CODES[entry["dtype"]], content[a:b])]
        if entry["dtype"] == "BF16":
            values = [struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in values]
        flat, width = list(map(number, values)), entry["shape"][-1]
        found[name] = [flat[r : r + width] for r in range(0, len(flat), width)] if len(entry["shape"]) == 2 else flat
    return found


class Naive:
    """A checkpoint with its configuration."""

    root: Any = staticmethod(math.sqrt)
    exp: Any = staticmethod(math.exp)

    def __init__(self, content: bytes, config: dict[str, Any]) -> None:
        found = tensors_of(content)
        self.tensors: dict[str, Any] = {name.removeprefix("transformer."): a for name, a in found.items()}
        self.config, self.d = config, len(self.tensors["wte.weight"][0])
        self.epsilon: Any = float(config.get("layer_norm_epsilon", 0))
        # Words have symbols and beginnings in common: what depends on these alone is computed once.
        self.columns, self.mixed, self.stream = cache(self._columns), cache(self._mixed), cache(self._stream)

    def normed(self, x: list[float], name: str) -> list[float]:
        if not self.config.get("layer_norm", True):
            return x
        mean = sum(x) / self.d
        deviation = self.root(sum((v - mean) ** 2 for v in x) / self.d + self.epsilon)
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        return [(v - mean) / deviation * w + b for v, w, b in zip(x, weight, bias, strict=True)]

    def linear(self, x: list[float], name: str) -> list[float]:
        return [sum(map(mul, x, column)) + b for column, b in self.columns(name)]

    def _columns(self, name: str) -> list[tuple[tuple[float, ...], float]]:
        """Each output of a linear map: its weights and its bias."""
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        return list(zip(zip(*weight, strict=True), bias, strict=True))

    def act(self, x: float) -> float:
        return activated(self.config["activation_function"], x)

    @property
    def post(self) -> bool:
        """Whether LayerNorm stands behind each half of a block."""
        return not self.config.get("norm_first", True)

    @property
    def layers(self) -> int:
        return sum(name.endswith(".attn.c_attn.weight") for name in self.tensors)

    def streams(self, word: tuple[int, ...], layer: int) -> Rows:
        """The residual stream at every position in front of a layer. The word's last token stands in front of it where
        the answer is ``reads`` there; it is the last of what is returned, as all that follows looks at the last."""
        start = self.config.get("bos_token_id")
        tokens, first = (list(word), 1) if start is None else ([start, *word], 0)
        if layer:
            return [self.stream(word[: j + first], layer) for j in range(len(tokens))]
        xs = [list(self.tensors["wte.weight"][t]) for t in tokens]
        if "wpe.weight" in self.tensors:
            rows = self.tensors["wpe.weight"][self.config.get("offset", 0) :]
            rows = rows[1 : len(tokens)] + rows[:1] if self.config.get("reads") == "first" else rows
            xs = [[a + b for a, b in zip(x, row, strict=True)] for x, row in zip(xs, rows, strict=False)]
        return xs

    def _stream(self, word: tuple[int, ...], layer: int) -> list[float]:
        """The residual stream at the last position in front of a layer that is not the first."""
        return self.behind(*self.attention(word, layer - 1), layer - 1)

    def _mixed(self, x: tuple[float, ...], layer: int) -> list[float]:
        """Query, key and value of a position."""
        read = list(x) if self.post else self.normed(list(x), f"h.{layer}.ln_1")
        return self.linear(read, f"h.{layer}.attn.c_attn")

    def attention(self, word: tuple[int, ...], layer: int = 0) -> tuple[list[float], list[list[float]]]:
        """The residual stream at the last position before attention, and what each head adds."""
        xs, name = self.streams(word, layer), f"h.{layer}."
        mixed = [self.mixed(tuple(x), layer) for x in xs]
        d, dk, out = self.d, self.d // self.config["n_head"], []
        weight = self.tensors[name + "attn.c_proj.weight"]
        for h in range(self.config["n_head"]):
            part = range(h * dk, h * dk + dk)
            scores = [sum(mixed[-1][t] * row[d + t] for t in part) / self.root(dk) for row in mixed]
            top = max(scores)
            es = [self.exp(s - top) for s in scores]
            read = [sum(e * row[2 * d + t] for e, row in zip(es, mixed, strict=True)) / sum(es) for t in part]
            out.append([sum(map(mul, read, column)) for column in zip(*(weight[t] for t in part), strict=True)])
        return xs[-1], out

    def behind(self, x: list[float], out: list[list[float]], layer: int) -> list[float]:
        """The residual stream behind a layer's network."""
        bias = self.tensors[f"h.{layer}.attn.c_proj.bias"]
        return self.network([sum(v) for v in zip(x, bias, *out, strict=True)], layer)

    def network(self, y: list[float], layer: int) -> list[float]:
        """The same from the stream behind attention."""
        name = f"h.{layer}."
        read = self.normed(y, name + ("ln_1" if self.post else "ln_2"))
        inner = [self.act(v) for v in self.linear(read, name + "mlp.c_fc")]
        z = [a + b for a, b in zip(read if self.post else y, self.linear(inner, name + "mlp.c_proj"), strict=True)]
        return self.normed(z, name + "ln_2") if self.post else z

    def unembedded(self, z: list[float]) -> list[float]:
        """The logits from the residual stream behind the last network."""
        final = self.normed(z, "ln_f") if "ln_f.weight" in self.tensors else z
        rows = self.tensors.get("lm_head.weight", self.tensors["wte.weight"])
        shifts = self.tensors.get("lm_head.bias", [0] * len(rows))
        return [sum(a * b for a, b in zip(final, row, strict=True)) + c for row, c in zip(rows, shifts, strict=True)]

    def rest(self, y: list[float]) -> list[float]:
        """The logits from the residual stream behind the last attention."""
        return self.unembedded(self.network(y, self.layers - 1))

    def logits(self, word: tuple[int, ...]) -> list[float]:
        """The logits behind a word of symbols (rows of the embedding)."""
        return self.unembedded(self.stream(word, self.layers))


Automaton = tuple[Sequence[Sequence[int]], Collection[int]]


def prefixes(automaton: Automaton, n: int, most: int | None = None) -> list[tuple[tuple[int, ...], int]]:
    """Every prefix (of at most ``most`` symbols) of every word of length at most ``n``, with its state, shortest
    first."""
    delta, accept = automaton
    level: list[tuple[tuple[int, ...], int]] = [((), 0)]
    found = []
    for length in range((n if most is None else min(most, n)) + 1):
        found += [(word, q) for word, q in level if completes(delta, accept, q, n - length)]
        level = [((*word, s), t) for word, q in level for s, t in enumerate(delta[q]) if t >= 0]
    return found


def completes(delta: Sequence[Sequence[int]], accept: Collection[int], state: int, most: int) -> bool:
    """Whether at most so many symbols lead from a state to an accepting one."""
    here = {state}
    for _ in range(most + 1):
        if here & set(accept):
            return True
        after = {t for q in here for t in delta[q] if t >= 0}
        if after <= here:
            return False
        here |= after
    return False
