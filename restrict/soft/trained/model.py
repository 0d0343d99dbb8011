"""A trained checkpoint with GPT-2's names: the record of its weights, the reader, and one forward pass in float64. The
block is GPT-2's: ``y = x + attention(LN1(x))``, ``z = y + network(LN2(y))``, causal softmax with the scale
``1/sqrt(dk)``, a final LayerNorm, then the unembedding, with ``lm_head.bias`` where the file has it. Where the
configuration says ``norm_first`` false, it is that of the first GPT and of PyTorch: ``y = LN1(x + attention(x))``,
``z = LN2(y + network(y))``, no final one; ``final_norm`` false leaves out GPT-2's, ``layer_norm`` false all. Assumed,
as no file says it: matrices are stored input by output (``x @ W``, as GPT-2's Conv1D), ``c_attn`` holds query, key and
value side by side, each with the heads side by side; the start token stands once, at position 0, and the token at place
``j`` has the position embedding ``offset + j``. What the configuration says otherwise is refused; nothing is
guessed."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.files import read_bytes
from restrict.base.tensorfile import is_safetensors
from restrict.soft.models.config import (
    SAME,
    SUFFIX,
    beside,
    first_of,
    names_of_rows,
    position_kind,
    read_config,
    token_names,
)
from restrict.soft.models.evaluate import activated
from restrict.soft.models.others import another
from restrict.soft.trained.stored import CONVERT, Array, Norm, Reader, StoredLayer, read_place, tensors_of

ACTIVATIONS = ("gelu_new", "gelu", "relu")
"""By their numbers in :mod:`restrict.soft.trained.cells`."""
DECIMAL = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?")
FIXED = {
    "attention": "softmax",
    "model_type": "gpt2",
    "scale_attn_weights": True,
    "add_cross_attention": False,
    "reorder_and_upcast_attn": False,
}
"""Keys of a configuration that may have this one value only."""
BY_LAYER = {"scale_attn_by_inverse_layer_idx": False}
"""So may this one, but of the first layer it divides the scores by one."""


SHIFTS = "lm_head.bias"
"""GPT-2 has none; read-outs of other libraries do."""
OTHERS = b".attn.W_Q", b".self_attn.in_proj_weight"
"""Parts of the names that other libraries give."""
FIRST = re.compile(r"(transformer\.)?h\.0\.attn\.c_attn\.weight")
"""A tensor that every file has."""


@dataclass(frozen=True)
class Trained:
    """A checkpoint in real arithmetic: every weight is the number that the file's float denotes. ``tokens``: the rows
    of ``symbols``, the free ones, in ``embed``; ``labels``: the rows of ``unembed``, to whose logits ``shifts`` is
    added (zero without a bias). ``epsilon``: the configuration's decimal, exactly."""

    name: str
    sha256: str
    content: bytes = field(repr=False)
    layers: tuple[StoredLayer, ...] = field(repr=False)
    heads: int
    epsilon: Fraction
    activation: str
    embed: Array = field(repr=False)
    positions: Array | None = field(repr=False)
    final: Norm | None = field(repr=False)
    unembed: Array = field(repr=False)
    shifts: Array = field(repr=False)
    tied: bool
    vocab: tuple[str, ...]
    labels: tuple[str, ...]
    """The vocabulary again, unless the configuration names labels of the read-out's own."""
    symbols: tuple[str, ...]
    bos: int | None
    eos: int | None
    pad: int | None
    sep: int | None
    offset: int = 0
    task: Mapping[str, Any] | None = field(default=None, repr=False)
    post: bool = False
    """Whether LayerNorm stands behind each half of a block, so that what it makes is the stream. The last one of a
    block is then the next one's ``norm1``, or ``final``."""
    reader: int | None = None
    """The row of the token at which the answer is read, if that is one of its own: it stands behind the word or, if
    ``ahead``, in front of it, with no causal mask. ``closing``: it is the last of ``symbols``, and words end with it
    (:mod:`restrict.soft.trained.reader`)."""
    ahead: bool = False
    closing: bool = False
    unread: str | None = None
    """A tensor of the file that the trusted checker does not read, if there is one: another name for the same, a mask,
    a tied read-out once more."""

    @property
    def d(self) -> int:
        """The width."""
        return int(self.embed.shape[1])

    @property
    def dk(self) -> int:
        """The width of a head."""
        return self.d // self.heads

    @property
    def kind(self) -> str:
        """The activation as :func:`restrict.soft.models.evaluate.activated` names it."""
        return "gelu_tanh" if self.activation == "gelu_new" else self.activation

    @property
    def beta(self) -> Array:
        """What each label has of the last deviation, by the last LayerNorm's bias and the read-out's, shape
        ``(labels,)`` (Lemma 4); nothing without a last LayerNorm."""
        found: Array = 0 * self.shifts if self.final is None else self.unembed @ self.final.bias + self.shifts
        return found

    @property
    def reading(self) -> Array:
        """How each label reads the last stream before it is divided by its deviation, if it is, ``(labels, d)``."""
        if self.final is None:
            return self.unembed
        found = self.unembed * self.final.weight
        made: Array = found - found.mean(1, keepdims=True)
        return made

    @property
    def constants(self) -> Array:
        """What each label has whatever the last deviation, shape ``(labels,)``: nothing with a last LayerNorm."""
        return self.shifts if self.final is None else 0 * self.shifts

    @property
    def norm(self) -> str:
        """Where LayerNorm stands, as certificates say it; nothing where it stands as in GPT-2."""
        if self.layers[0].norm2 is None:
            return "none"
        return "post" if self.post else "no-last" if self.final is None else ""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The row of each symbol."""
        return tuple(self.vocab.index(symbol) for symbol in self.symbols)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The labels that a read-out may be about: those of symbols and of the end token, or all of its own."""
        if self.labels != self.vocab:
            return tuple(range(len(self.labels)))
        return (*self.tokens, *(() if self.eos is None else (self.eos,)))

    @property
    def first(self) -> int:
        """The position of the first token, where the first symbol stands at 1: 0 with a start token, else 1."""
        return int(self.bos is None and (self.reader is None or self.closing))

    @property
    def longest(self) -> int | None:
        """The most symbols of a word that have position embeddings; ``None`` for any number."""
        if self.positions is None:
            return None
        pinned = (self.bos is not None) + (self.reader is not None and not self.closing)
        return len(self.positions) - self.offset - pinned

    def placed(self, t: int) -> I64:
        """The rows of the position embeddings that ``t`` tokens of a word have; a reader comes last."""
        at = self.offset + np.arange(t)
        return np.roll(at, -1) if self.ahead else at

    def table(self, n: int) -> I64:
        """The row that each symbol has at each place up to ``n``, ``(n + 1, symbols)``; one that there is, where no
        word is so long."""
        at = self.offset + np.maximum(np.arange(n + 1), self.first) - (0 if self.ahead else self.first)
        found = np.repeat(at[:, None], len(self.tokens), axis=1)
        if self.ahead:
            found[:, -1] = self.offset
        return found if self.positions is None else np.minimum(found, len(self.positions) - 1)

    def demand_names(self) -> None:
        """Refuse a file with a tensor that the checker does not read."""
        if self.unread is not None:
            raise ModelError(
                f"{self.name}: the checker does not read the tensor {quote(self.unread)}: names begin with "
                f"transformer., without masks and a second copy of a tied read-out; {CONVERT} writes such a file"
            )

    def rows(self, word: Sequence[str]) -> list[int]:
        """The rows of the embedding that a word is read as, the start token first where there is one; a reader last."""
        for symbol in word:
            if symbol not in self.symbols:
                raise UsageError(f"{quote(symbol)} is not a symbol of {self.name}: {' '.join(self.symbols)}")
        read = () if self.reader is None or self.closing else (self.reader,)
        start = () if self.bos is None else (self.bos,)
        return [*start, *(self.vocab.index(symbol) for symbol in word), *read]


def load(path: str | Path) -> Trained:
    """The checkpoint of a file ``NAME.safetensors`` with ``NAME.config.json`` (or ``config.json``) beside it. Gives the
    record; float32 (or float64) weights are converted exactly. Linear in the size of the file."""
    path = Path(path)
    content = read_bytes(path, regular=True)
    text = content.lstrip()[:1] == b"{" and not is_safetensors(content)
    imported = b'"restrict-soft/1' in content[: 1 << 16].replace(b"\\", b"")
    if text or imported:
        what = "a restrict-soft/1 file" if imported else "JSON"
        raise ModelError(
            f"{path}: {what}, where a verdict is about a checkpoint: give the weights with GPT-2's names that the "
            f"model was imported from, or what {CONVERT} writes"
        )
    found, name = beside(path), path.name.removesuffix(SUFFIX)
    if found is None and not any(key in content[: 1 << 24] for key in OTHERS):
        raise UsageError(
            f"{path}: neither {name}.config.json nor config.json stands beside it; it says what the weights mean"
        )
    config = {} if found is None else read_config(found)
    names, _ = token_names(path, config)
    return trained(name, content, config if names is None else config | {"vocab": names}, str(path))


def shifted(model: Trained, offset: int) -> Trained:
    """The model with its words at other positions, as where training shifts them at random. ``offset``: the row of the
    position embeddings that the start token has. Gives the record; that of offset 0 is the model itself."""
    if offset and (model.positions is None or offset >= len(model.positions)):
        count = 0 if model.positions is None else len(model.positions)
        raise UsageError(f"{model.name} has {count} position embeddings, so none at the offset {offset}")
    return replace(model, offset=offset)


def trained(name: str, content: bytes, config: Mapping[str, Any], source: str) -> Trained:
    """The record of a safetensors file and a configuration: GPT-2's keys, with ``vocab``; decimals as texts."""
    tensors = tensors_of(content, source)
    read = Reader(config, tensors, source)
    _demand_known(read)
    d, heads, rows = read.size("n_embd"), read.size("n_head"), read.size("vocab_size")
    if d % heads:
        read.fail(f"config n_head: {heads} heads do not divide the width {d}")
    activation = config.get("activation_function")
    if activation not in ACTIVATIONS:
        others = f"; {CONVERT.replace('FILE', source)} reads other names of these"
        read.fail(f"config activation_function: expected {', '.join(ACTIVATIONS)}, not {quote(activation)}{others}")
    tied = read.flag("tie_word_embeddings", True)
    special: dict[str, Any] = {key: read.token(f"{key}_token_id", rows) for key in ("bos", "eos", "pad", "sep")}
    vocab = _names(read, "vocab", rows)
    reader, ahead = read_place(read, special["bos"], read.token("end_marker_token_id", rows))
    labels = vocab if tied or "labels" not in config else _names(read, "labels", _outputs(read))
    embed = read.tensor("wte.weight", rows, d)
    learned = position_kind(config, source)[1] is not False
    symbols = tuple(name for token, name in enumerate(vocab) if token not in (*special.values(), reader))
    if not symbols:
        read.fail("config vocab: every token is a special one, so there are no words")
    layers, final, post = _blocks(read, d)
    found = Trained(
        name=name,
        sha256=hashlib.sha256(content).hexdigest(),
        content=content,
        layers=layers,
        heads=heads,
        epsilon=_epsilon(read),
        activation=activation,
        embed=embed,
        positions=read.tensor("wpe.weight", read.size("n_positions"), d) if learned else None,
        final=final,
        unembed=_unembed(read, embed, tied, len(labels)),
        shifts=read.maybe(SHIFTS, len(labels)),
        tied=tied,
        vocab=vocab,
        labels=labels,
        symbols=symbols,
        **(special | ({"bos": None} if ahead else {})),
        task=config.get("task"),
        post=post,
        reader=reader,
        ahead=ahead,
        unread=next((key for key in sorted(tensors) if not _checked(read, key, tied)), None),
    )
    read.finish()
    return found


def _demand_known(read: Reader) -> None:
    """Refuse what is not GPT-2's, before sizes are read."""
    source = read.source
    if not any(FIRST.fullmatch(key) for key in read.arrays):
        if (why := another(read.arrays)) is not None:
            read.fail(why)
        read.fail(
            "no tensor h.0.attn.c_attn.weight: a verdict is about weights with GPT-2's names; from TransformerLens' or "
            f"torch's, `restrict soft import {source} --weights {source.removesuffix(SUFFIX)}-gpt2{SUFFIX}` makes these"
        )
    found, d = next((a.shape for key, a in read.arrays.items() if FIRST.fullmatch(key)), ()), read.config.get("n_embd")
    if type(d) is int and found == (3 * d, d):
        convert = CONVERT.replace("FILE", source)
        read.fail(f"matrices are stored output by input, as nanoGPT has them; {convert} turns them")
    other = next((key for key in ("score.weight", "classifier.weight") if key in read.arrays), None)
    if other is not None:
        read.fail(f"the read-out is {other}; {CONVERT.replace('FILE', source)} writes it under the name that is read")
    convert = CONVERT.replace("FILE", read.source)
    only = FIXED if read.config.get("n_layer") == 1 else FIXED | BY_LAYER
    for key, value in only.items():
        if read.config.get(key, value) != value:
            what = f"config {key}: only {value!r} is read, not {quote(read.config[key])}"
            read.fail(f"{what}; where it is the same function, {convert} writes what is read")
    for keys in SAME:
        first_of(read.config, keys, source)


def _blocks(read: Reader, d: int) -> tuple[tuple[StoredLayer, ...], Norm | None, bool]:
    """The blocks, the LayerNorm behind them, if there is one, and whether it stands behind each half of a block."""
    inner, post = read.size("n_inner", 4 * d), not read.flag("norm_first", True)
    if post and not read.flag("layer_norm", True):
        read.fail("config layer_norm: there is none, but norm_first says that it stands behind each half")
    if read.flag("final_norm", False) and not read.flag("layer_norm", True):
        read.fail("config final_norm: one is to come last, but layer_norm says that there is none")
    if read.flag("final_norm", not post) and post:
        read.fail("config final_norm: LayerNorm stands behind each half (norm_first), so no other one comes last")
    layers = tuple(read.layer(number, d, inner) for number in range(read.size("n_layer")))
    if not post:
        return layers, read.norm("ln_f", d) if read.flag("final_norm", True) else None, post
    firsts: list[Norm | None] = [None, *(layer.norm2 for layer in layers)]
    seconds = [layer.norm1 for layer in layers]
    made = tuple(layer._replace(norm1=a, norm2=b) for layer, a, b in zip(layers, firsts, seconds, strict=False))
    return made, layers[-1].norm2, post


def _checked(read: Reader, key: str, tied: bool) -> bool:
    """Whether the trusted checker reads a tensor."""
    named = not tied if key == "lm_head.weight" else key.startswith("transformer.") or key == SHIFTS
    return named and key not in read.unused


def _names(read: Reader, key: str, rows: int) -> tuple[str, ...]:
    """The names of so many rows."""
    names = read.config.get(key)
    if names is None:
        read.fail(
            f"config {key}: nothing names the tokens: a list here, vocab.json beside the weights, or `restrict soft "
            f"import {read.source} --alphabet TOKENS --weights NEW.safetensors`"
        )
    return names_of_rows(names, rows, f"config {key}", read.source)


def _outputs(read: Reader) -> int:
    """How many rows the read-out has."""
    if "lm_head.weight" not in read.arrays:
        read.fail("the tensor lm_head.weight is missing")
    return len(read.arrays["lm_head.weight"])


def _epsilon(read: Reader) -> Fraction:
    """LayerNorm's epsilon, the decimal that the configuration writes."""
    if not read.flag("layer_norm", True):
        return Fraction(1, 100000)  # nothing is divided; certificates have one
    text = str(read.config.get("layer_norm_epsilon"))
    if not DECIMAL.fullmatch(text) or Fraction(text) <= 0 or Fraction(text) > 1:
        read.fail(f"config layer_norm_epsilon: expected a decimal in (0, 1], not {quote(text)}")
    return Fraction(text)


def _unembed(read: Reader, embed: Array, tied: bool, labels: int) -> Array:
    """The unembedding; a tied one may stand in the file again, if it is the same."""
    if not tied:
        return read.tensor("lm_head.weight", labels, embed.shape[1])
    if "lm_head.weight" in read.arrays and not np.array_equal(read.tensor("lm_head.weight", *embed.shape), embed):
        read.fail("lm_head.weight differs from wte.weight although config says tie_word_embeddings")
    return embed


def normed(x: Array, norm: Norm, epsilon: float) -> Array:
    """LayerNorm over the last axis. ``x``: shape ``(..., d)``. Gives shape ``(..., d)``."""
    centred = x - x.mean(-1, keepdims=True)
    found: Array = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * norm.weight + norm.bias
    return found


def entered(model: Trained, x: Array, norm: Norm | None) -> tuple[Array, Array]:
    """What half of a block reads of the stream, and what its result is added to."""
    read = x if norm is None else normed(x, norm, float(model.epsilon))
    return read, read if model.post else x


def read_out(model: Trained, z: Array) -> Array:
    """The logits of the stream behind the last block: from ``(..., d)`` to ``(..., labels)``."""
    found: Array = entered(model, z, model.final)[0] @ model.unembed.T + model.shifts
    return found


def forward(model: Trained, tokens: Sequence[int]) -> Array:
    """The logits after every prefix, float64, ``(t, labels)``, of ``t`` rows of the embedding, start token included
    (:meth:`Trained.rows`), at least one. Cost: O(t^2 d) for each layer."""
    t, most = len(tokens), math.inf if model.positions is None else len(model.positions) - model.offset
    if not 1 <= t <= most:
        raise UsageError(f"{model.name} reads 1 .. {most} tokens, not {t}")
    found: Array = forward_all(model, np.array([tokens]))[0]
    return found


def forward_all(model: Trained, tokens: I64, last: bool = False) -> Array:
    """The logits after every prefix of words of one length: from ``(words, t)`` to ``(words, t, labels)``; with
    ``last`` those after whole words, ``(words, 1, labels)``."""
    (b, t), heads, d = tokens.shape, model.heads, model.d
    x = model.embed[tokens]
    if model.positions is not None:
        x = x + model.positions[model.placed(t)]
    for layer in model.layers:
        read, x = entered(model, x, layer.norm1)
        mixed = read @ layer.attention.weight + layer.attention.bias
        q, k, v = (part.reshape(b, t, heads, d // heads).swapaxes(1, 2) for part in np.split(mixed, 3, axis=-1))
        if last and layer is model.layers[-1]:
            x, q = x[:, -1:], q[:, :, -1:]
        unseen = np.triu(np.full((q.shape[2], t), -np.inf), 1 + t - q.shape[2])
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(d // heads) + unseen
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        read = (weights / weights.sum(-1, keepdims=True)) @ v  # of each head
        x = x + read.swapaxes(1, 2).reshape(b, -1, d) @ layer.projection.weight + layer.projection.bias
        x = networked(model, layer, x)
    return read_out(model, x)


def networked(model: Trained, layer: StoredLayer, y: Array) -> Array:
    """The stream behind a block, from that behind its attention: from ``(..., d)`` to ``(..., d)``."""
    read, y = entered(model, y, layer.norm2)
    hidden = read @ layer.inner.weight + layer.inner.bias
    found: Array = y + activated(model.kind, hidden) @ layer.outer.weight + layer.outer.bias
    return found
