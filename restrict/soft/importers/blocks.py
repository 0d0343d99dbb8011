"""Parts that all layouts share: heads from stacked projections, norms, position tables, read-outs.

What the rows of an embedding stand for: free symbols, markers that are pinned, and tokens that no input has. A start
token is no free symbol: it is pinned at position 0. PAD, SEP and EOS are none either: a restriction that fixes inputs
to PAD would say nothing about words. So they are left out of the alphabet, and stay labels where the read-out has a row
for them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from restrict.base.errors import ModelError, UsageError, quote
from restrict.soft.importers.named import Named
from restrict.soft.importers.settings import Choices, Origin
from restrict.soft.models.config import POSITION_KEYS, names_of_rows, position_kind, token_names
from restrict.soft.models.model import (
    Activation,
    Floats,
    LayerNorm,
    Mask,
    Norm,
    Place,
    Positions,
    SoftFeedForward,
    SoftHead,
    SoftLayer,
    SoftModel,
    SoftOutput,
)
from restrict.soft.models.terms import Term

Kind = Literal["softmax", "sign", "signs"]
TASKS = ("next-set", "next", "membership", "tags")
"""What a configuration may say of its task: a set of next symbols; the others read one label."""
PLACES: tuple[Place, ...] = ("last", "first", "every")
STARTS = {"bos", "sos", "cls", "startoftext", "start"}
OTHERS = {"eos", "pad", "sep", "unk", "mask", "endoftext", "end"}
NEVER = ("eos_token_id", "pad_token_id", "sep_token_id", "unk_token_id", "mask_token_id", "cls_token_id")


def heads_of(qkv: Floats, bias: Floats, out: Floats, heads: int, mask: Mask, scale: Term) -> tuple[SoftHead, ...]:
    """Heads from stacked projections. ``qkv``: query, key and value one below the other, (3m, d), the heads of each one
    below the other. ``bias``: (3m,). ``out``: (d, m)."""
    d, made = qkv.shape[1], []
    stacked, biases, outs = qkv.reshape(3, heads, -1, d), bias.reshape(3, heads, -1), out.reshape(len(out), heads, -1)
    for h in range(heads):
        q, k, v, o = (np.ascontiguousarray(a) for a in (*stacked[:, h], outs[:, h]))
        bq, bk, bv = biases[:, h]
        made.append(SoftHead(q, k, v, o, bq, bk, bv, mask, scale))
    return tuple(made)


class LayerSettings(NamedTuple):
    """What the layers of a model have in common: width, heads, mask, activation, where LayerNorm stands, and its
    constant."""

    d: int
    heads: int
    mask: Mask
    activation: Activation
    norm: Norm
    eps: str

    def layer(
        self, tensors: Named, stem: str, maps: tuple[str, str, str, str], norm: str, scale: Term, turned: bool = False
    ) -> SoftLayer:
        """A layer with stacked projections. ``maps``: the names of these, of the output and of the network's two maps,
        up to ``weight`` or ``bias``. ``norm``: of the norms, up to their number. ``turned``: matrices are (inputs,
        outputs), else (outputs, inputs)."""
        d, (stacked, out, *network) = self.d, [f"{stem}.{name}" for name in maps]
        qkv = tensors.take(f"{stacked}weight", (d, 3 * d) if turned else (3 * d, d))
        output = tensors.take(f"{out}weight", (d, d))
        qkv, output = (qkv.T, output.T) if turned else (qkv, output)
        inner, outer = ((f"{name}weight", f"{name}bias") for name in network)
        return SoftLayer(
            heads_of(qkv, tensors.bias(f"{stacked}bias", 3 * d), output, self.heads, self.mask, scale),
            tensors.bias(f"{out}bias", d),
            mlp(tensors, inner, outer, d, self.activation, turned),
            self.norm,
            *(None if self.norm == "none" else norm_of(tensors, f"{stem}.{norm}{k}", d, self.eps) for k in (1, 2)),
        )


def mlp(
    tensors: Named, inner: tuple[str, str], outer: tuple[str, str], d: int, kind: Activation, turned: bool = False
) -> SoftFeedForward:  # fmt: skip
    """The network of a layer, from the names of the matrix and the bias of its two maps."""
    first = tensors.take(inner[0], (d, None) if turned else (None, d))
    width = first.shape[1 if turned else 0]
    second = tensors.take(outer[0], (width, d) if turned else (d, width))
    biases = tensors.bias(inner[1], width), tensors.bias(outer[1], d)
    inside, outside = (np.ascontiguousarray(a.T if turned else a) for a in (first, second))
    return SoftFeedForward(inside, biases[0], outside, biases[1], kind)


def layers_named(tensors: Named, name: re.Pattern[str], missing: str) -> tuple[re.Match[str], int]:
    """Which layers there are. ``name``: the name of one tensor of every layer, with a group ``layer``."""
    matches = [m for m in map(name.fullmatch, sorted(tensors.arrays)) if m]
    if not matches:
        raise ModelError(f"{tensors.source}: {missing}")
    return matches[0], 1 + max(int(m["layer"]) for m in matches)


def norm_of(tensors: Named, name: str, d: int, eps: str) -> LayerNorm:
    """The LayerNorm of this name. ``name``: without ``.weight``."""
    return LayerNorm(tensors.take(f"{name}.weight", (d,)), tensors.bias(f"{name}.bias", d), Term(eps))


def final_norm(tensors: Named, choices: Choices, name: str, d: int, eps: str) -> LayerNorm | None:
    """The LayerNorm before the read-out, where there is one. Result: the norm, or ``None``."""
    there = f"{name}.weight" in tensors.arrays
    choices.note("final LayerNorm", name if there else "none", "weights")
    return norm_of(tensors, name, d, eps) if there else None


def learned(tensors: Named, choices: Choices, name: str, d: int) -> Floats | None:
    """The position table (positions, d) of a layout that has one; ``None`` where the model is said to have none."""
    position_kind(choices.config, choices.source)  # another kind has no table either
    if name in tensors.arrays:
        return tensors.take(name, (None, d))
    if "none" not in (choices.options.positions, choices.config.get("position_embeddings")):
        raise ModelError(f"{tensors.source}: the tensor {name!r} is missing; give --positions none for a model without")
    return None


def position_table(choices: Choices, table: Floats | None) -> Positions:
    """Learned positions, or none; noted, and compared with the configuration. ``table``: (positions, d), or nothing."""
    key, there = position_kind(choices.config, choices.source)
    choices.used |= set(POSITION_KEYS)
    if key and there != (table is not None):
        have = "a table of positions" if table is not None else "none"
        raise ModelError(f"{choices.source}: config {key} is {choices.config[key]!r}; the weights have {have}")
    count, size = choices.key("n_positions", "n_ctx", "max_position_embeddings")
    offset = choices.options.offset or 0
    if table is not None and choices.options.positions == "none":
        raise UsageError(f"{choices.source}: the weights have a table of positions")
    if table is None:
        if offset:
            raise UsageError(f"{choices.source}: an offset of {offset} without position embeddings")
        if choices.options.positions == "none":
            choices.note("positions", "none", "given")
        else:
            why = key or "no tensor of positions; what the code adds is not seen"
            choices.note("positions", "none", "config" if key else "assumed", why)
        return Positions()
    if count and (type(size) is not int or size != len(table)):
        raise ModelError(f"{choices.source}: config {count} is {quote(str(size))}; the table has {len(table)} rows")
    choices.note("positions", f"a table of {len(table)}", "weights")
    choices.note("offset", offset, "assumed" if choices.options.offset is None else "given")
    if offset >= len(table):
        raise UsageError(f"{choices.source}: an offset of {offset} is beyond the {len(table)} positions")
    return Positions("table", "add", (), np.ascontiguousarray(table[offset:]))


class LayoutParts(NamedTuple):
    """What a layout has found: the matrices, the layers, where the output is read by default, and the names of the
    read-out's rows where these are no tokens."""

    embed: Floats
    table: Floats | None
    layers: tuple[SoftLayer, ...]
    final: LayerNorm | None
    unembed: Floats
    bias: Floats
    place: Place
    classes: tuple[str, ...] | None = None


def read_out(choices: Choices, words: "Vocabulary", parts: LayoutParts) -> SoftOutput:
    """The read-out: where it is read, its labels, and what they mean together. A set of next symbols has no row for the
    start marker and for tokens such as PAD."""
    options, unembed, bias = choices.options, parts.unembed, parts.bias
    where = choices.pick("read at", options.place, ("place",), parts.place, "")
    if where not in PLACES:
        raise UsageError(f"the output's place {quote(str(where))} is not one of {', '.join(PLACES)}")
    named = choices.key("labels")[1]
    if named is not None and not (isinstance(named, list) and all(isinstance(name, str) for name in named)):
        raise ModelError(f"{choices.source}: config labels: expected a list of names")
    labels = options.labels or (tuple(named) if named else parts.classes)
    names = parts.classes is None and len(unembed) == len(words.tokens)
    choices.rows = tuple(range(len(unembed)))
    task = choices.key("task")[1]
    configured = task.get("kind") if isinstance(task, dict) else None
    if configured not in (None, *TASKS):
        raise ModelError(f"{choices.source}: config task: {quote(str(configured))} is none of {', '.join(TASKS)}")
    by_set = options.read_out == "set" or (options.read_out is None and configured == "next-set")
    origin: Origin = "given" if options.read_out else "config" if configured else "assumed"
    meant = "set: positive logits" if by_set else "label: greatest logit"
    choices.note("read-out", meant, origin, "task" if origin == "config" else "")
    if named and not options.labels:
        choices.note("labels", short(tuple(named)), "config", "labels")
    elif parts.classes and not options.labels:
        choices.note("labels", short(parts.classes), "config" if choices.config.get("id2label") else "assumed")
    if by_set and labels is None and names:
        kept = [row for row, token in enumerate(words.tokens) if token in words.next]
        choices.rows, labels = tuple(kept), tuple(words.tokens[row] for row in kept)
        choices.note("labels", short(labels), "weights")
        return SoftOutput(unembed[kept], bias[kept], labels, where, "signs", ())
    single = len(unembed) == 1 and not by_set
    if labels is None:
        labels = ("0", "1") if single else words.tokens if names else tuple(f"label{k}" for k in range(len(unembed)))
        choices.note("labels", short(labels), "weights" if names else "assumed")
    if len(labels) != (2 if single else len(unembed)):
        raise UsageError(f"{choices.source}: {len(labels)} labels for {len(unembed)} rows of the read-out")
    accept = (1,) if len(labels) == 2 and not by_set else ()
    kind: Kind = "signs" if by_set else "sign" if single else "softmax"
    return SoftOutput(unembed, bias, tuple(labels), where, kind, accept)


def assembled(tensors: Named, choices: Choices, name: str, parts: LayoutParts) -> SoftModel:
    """The model of all its parts; every tensor has been taken by now."""
    words = vocabulary(choices, len(parts.embed))
    tensors.finish()
    return SoftModel(
        name=name,
        alphabet=words.free,
        embed=parts.embed[words.rows],
        positions=position_table(choices, parts.table),
        layers=parts.layers,
        output=read_out(choices, words, parts),
        start_marker=words.start,
        end_marker=words.end,
        final_norm=parts.final,
    )


def short(names: Sequence[str]) -> str:
    """The first few of many names."""
    return " ".join(names[:8]) + (" ..." if len(names) > 8 else "")


@dataclass(frozen=True)
class Vocabulary:
    """The names of the embedding's rows: ``start``, ``end`` are pinned, ``never`` is in no input, ``stop`` is EOS."""

    tokens: tuple[str, ...]
    start: str | None
    end: str | None
    never: tuple[str, ...]
    stop: str | None = None

    @property
    def free(self) -> tuple[str, ...]:
        """The alphabet: the tokens that a word may have."""
        return tuple(t for t in self.tokens if t not in (self.start, self.end, *self.never))

    @property
    def rows(self) -> list[int]:
        """The rows of the embedding that the model keeps: the alphabet, then the markers."""
        at = {token: row for row, token in enumerate(self.tokens)}
        return [at[t] for t in (*self.free, *(m for m in (self.start, self.end) if m is not None))]

    @property
    def next(self) -> tuple[str, ...]:
        """The labels of a set of next symbols: the alphabet, the end marker, EOS; neither BOS nor PAD."""
        return (*self.free, *(t for t in (self.end, self.stop) if t is not None))


def bare(token: str) -> str:
    """The word in a token's name that looks like a special one's, such as ``pad`` in ``[PAD]`` or ``<|pad|>``."""
    if token in ("<s>", "</s>"):
        return "bos" if token == "<s>" else "eos"
    inner = token.strip("<>[]|")
    special = token != inner or (token.isupper() and len(token) >= 3)
    return inner.lower() if special and inner.isalpha() else ""


def vocabulary(choices: Choices, rows: int) -> Vocabulary:
    """The roles of the rows of an embedding, each decision noted."""
    tokens = choices.tokens = _tokens(choices, rows)
    named = [t for t in tokens if bare(t) in STARTS]
    start = _marker(choices, tokens, "start", choices.options.start_marker, "bos_token_id", named)
    end = _marker(choices, tokens, "end", choices.options.end_marker, "end_marker_token_id")
    choices.used.add("end_marker_token_id")
    never = _never(choices, tokens, start, end)
    row = choices.key("eos_token_id")[1]  # another one is one of `never`, or refused there
    configured = row is not None and 0 <= row < rows
    stops = [tokens[row]] if configured else [t for t in never if bare(t) in ("eos", "end", "endoftext")]
    choices.stop = stops[0] if stops else None
    found = Vocabulary(tokens, start, end, never, choices.stop)
    if not found.free:
        raise ModelError(f"{choices.source}: no token is left that a word may have")
    return found


def _tokens(choices: Choices, rows: int) -> tuple[str, ...]:
    options = choices.options
    if options.alphabet is not None:
        markers = [m for m in (options.start_marker, options.end_marker) if m and m not in options.alphabet]
        found = (*options.alphabet, *markers)
        if len(found) != rows:
            raise UsageError(f"{choices.source}: {len(found)} symbols for {rows} rows of the embedding")
        if len(set(found)) < rows:
            raise UsageError(f"{choices.source}: a symbol occurs twice")
        choices.note("tokens", rows, "given")
        return found
    choices.used |= {"vocab"}
    names, where = token_names(choices.folder, choices.config)
    if names is None:
        choices.note("tokens", f"t0 .. t{rows - 1}", "assumed", "nothing names them; --alphabet does")
        return tuple(f"t{row}" for row in range(rows))
    choices.note("tokens", rows, "config", where)
    return names_of_rows(names, rows, where, choices.source)


def _marker(
    choices: Choices, tokens: tuple[str, ...], which: str, given: str | None, key: str, named: Sequence[str] = ()
) -> str | None:
    """The ``start`` or the ``end`` marker: as given, as configured, by its name (one of ``named``), or none."""
    if given is not None:
        if given and given not in tokens:
            raise UsageError(f"{choices.source}: the {which} marker {quote(given)} is not one of the tokens")
        choices.note(f"{which} marker", given or "none", "given")
        return given or None
    key, row = choices.key(key)
    if key:
        found = tokens[_row(choices, key, row, len(tokens))]
        choices.note(f"{which} marker", found, "config", key)
        return found
    if len(named) > 1:
        raise UsageError(f"{choices.source}: {quote(named[0])} or {quote(named[1])} could be the {which} marker; "
                         f"give --{which}-marker")  # fmt: skip
    choices.note(f"{which} marker", named[0] if named else "none", "assumed", "by its name" if named else "")
    return named[0] if named else None


def _never(choices: Choices, tokens: tuple[str, ...], *markers: str | None) -> tuple[str, ...]:
    """The tokens that no input has, beside the markers."""
    given, configured = choices.options.never, list[str]()
    for key in NEVER:
        there, row = choices.key(key)
        if there and (given is None or type(row) is not int or 0 <= row < len(tokens)):
            configured.append(tokens[_row(choices, key, row, len(tokens))])
    if given is not None:
        strange = [t for t in given if t not in tokens]
        if strange:
            raise UsageError(f"{choices.source}: {quote(strange[0])} is not one of the tokens")
        found = tuple(t for t in given if t not in markers)
        choices.note("in no input", " ".join(found) or "none", "given")
        return found
    ids = tuple(t for t in dict.fromkeys(configured) if t not in markers)
    named = tuple(t for t in tokens if bare(t) in STARTS | OTHERS and t not in (*markers, *ids))
    if ids:
        choices.note("in no input", " ".join(ids), "config", "..._token_id")
    if named or not ids:
        choices.note("in no input", " ".join(named) or "none", "assumed", "by their names" if named else "")
    return (*ids, *named)


def _row(choices: Choices, key: str, row: Any, rows: int) -> int:
    """The row of a special token, refused where the embedding has no such row."""
    if type(row) is not int or not 0 <= row < rows:
        what = {"bos_token_id": "start-marker", "end_marker_token_id": "end-marker"}.get(key, "never")
        raise ModelError(
            f"{choices.source}: config {key}: {quote(str(row))} is not a row of the embedding (0 .. {rows - 1}); "
            f'--{what} says what is meant (--{what} "": none)'
        )
    return row
