"""An imported model with the names that verdicts read: GPT-2's. What is written is a rearrangement of the model's
numbers: matrices turned, heads side by side, zeros where the model has no bias, no network, or no row. Nothing is
rounded, so the file is the same function. One number is computed: where an acceptor has two logits, the row of the end
token is their difference; where that is no float64, and where the greatest of other labels is read, the file has the
labels as rows of their own. What verdicts do not cover is refused with its name."""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from restrict.base.errors import ModelError, UsageError, quote
from restrict.base.files import write_bytes
from restrict.soft.importers.fitted import fitted
from restrict.soft.importers.read import Imported
from restrict.soft.models.config import SUFFIX
from restrict.soft.models.model import Floats, LayerNorm, SoftFeedForward, SoftHead, SoftLayer, SoftModel
from restrict.soft.models.terms import Term

END = "<eos>"
"""The name of an acceptor's answer, where the model has no end token."""
IDLE = 2
"""Tokens in no input that a configuration can name beside the end token: PAD and SEP."""
LARGEST_FACTOR = 2**40
"""A power of two by which scores may be multiplied, or divided."""
LARGEST_EPS = 10**16 - 1
"""The largest N of a constant 1/N of LayerNorm that certificates have."""
KINDS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new"}


class Written(NamedTuple):
    """A file of weights with its configuration; ``notes`` say what a reader has to know, ``read_out`` is the one that
    ``soft verify`` is to have."""

    content: bytes
    config: dict[str, Any]
    notes: tuple[str, ...]
    read_out: str

    def lines(self, place: Path) -> list[str]:
        """What was written to a file, in words."""
        what = f"the same numbers with GPT-2's names in {place}, which restrict soft verify reads"
        return [*(f"note: {note}" for note in self.notes), what]


class Answers(NamedTuple):
    """The read-out: the names of the tokens, the end token, the row and the bias of each token, or of each of
    ``labels``; ``kind`` is the read-out of verdicts."""

    names: tuple[str, ...]
    end: str | None
    rows: Floats
    shifts: Floats
    kind: str = "next-set"
    note: str | None = None
    labels: tuple[str, ...] = ()


def gpt2_names(found: Imported) -> Written:
    """The file and the configuration of a model, for ``restrict soft verify`` and the trusted checker.

    Args:
        found: an import: causal layers with LayerNorm first, or behind each half and none at the end, or nowhere, and
            one constant, as many heads in each, and one activation; one layer without a mask, read at the last
            position, counts as causal, as it reads a prefix alone. One layer may be read at its start marker, without
            a mask, or at an end marker.

    Returns:
        The safetensors file, float32 where the model's numbers are; the configuration. Linear in the weights.

    Raises:
        ModelError: what the model has that no verdict covers.
    """
    from safetensors.numpy import save

    model, fit = fitted(found.model)
    found = replace(found, model=model)
    notes, answers = _covered(model), _answers(found)
    tokens, d, dk = answers.names, model.width, len(model.layers[0].heads[0].query)
    embed = np.zeros((len(tokens), d))
    embed[[tokens.index(name) for name in model.symbols]] = model.embed
    tensors = {"wte.weight": embed}
    if model.positions.table is not None:
        tensors["wpe.weight"] = model.positions.table
    width = max([len(layer.ffn.inner) for layer in model.layers if layer.ffn], default=1)
    for number, layer in enumerate(model.layers):
        tensors |= {f"h.{number}.{name}": a for name, a in _block(layer, d, width).items()}
    if model.final_norm is not None:
        tensors |= _norm("ln_f", model.final_norm)
    tensors = {f"transformer.{name}": a for name, a in tensors.items()} | {"lm_head.weight": answers.rows}
    if answers.shifts.any():
        tensors["lm_head.bias"] = answers.shifts
    kinds, first = {layer.ffn.activation for layer in model.layers if layer.ffn} or {"relu"}, model.layers[0].norm1
    config: dict[str, Any] = {
        "model_type": "gpt2", "n_layer": len(model.layers), "n_head": d // dk, "n_embd": d, "n_inner": width,
        "vocab_size": len(tokens), "activation_function": KINDS[kinds.pop()],
        **({"layer_norm": False} if first is None else {"layer_norm_epsilon": _decimal(first.eps)}),
        "tie_word_embeddings": False,
        "position_embeddings": "none" if model.positions.table is None else "learned",
        "vocab": list(tokens), **_special(found, answers),
    }  # fmt: skip
    if model.positions.table is not None:
        config["n_positions"] = len(model.positions.table)
    if model.final_norm is None and first is not None:
        config["norm_first" if model.layers[0].norm == "post" else "final_norm"] = False
    if answers.labels:
        config["labels"] = list(answers.labels)
    task = dict(found.task or {})
    if answers.kind == "membership":
        task.setdefault("kind", "membership")  # no other read-out has rows of its own there
    if task:
        config["task"] = task
    config["imported"] = [f"{s.name}: {s.value} ({s.text()})" for s in found.settings]
    content = save({name: _stored(a) for name, a in sorted(tensors.items())})
    said = tuple(note for note in (*notes, fit, answers.note) if note is not None)
    return Written(content, config, said, answers.kind)


def _special(found: Imported, answers: Answers) -> dict[str, Any]:
    """The keys of the tokens that are no symbols, and where the answer is read, if that is at one of them."""
    model, tokens = found.model, answers.names
    special = [t for t in tokens if t not in (*model.symbols, answers.end)]
    named = {"bos": model.start_marker, "eos": answers.end, "end_marker": model.end_marker}
    named |= dict(zip(("pad", "sep"), special, strict=False))
    made: dict[str, Any] = {f"{key}_token_id": tokens.index(t) for key, t in named.items() if t is not None}
    front = model.output.place == "first"
    if front or model.end_marker is not None:
        made["place"] = model.output.place
    return made | ({"causal": False} if front else {})


def save_gpt2_names(found: Imported, path: str | Path) -> Written:
    """Write the file of :func:`gpt2_names`, and ``NAME.config.json`` beside it.

    Args:
        found: the import.
        path: ``NAME.safetensors``.

    Returns:
        What was written.

    Raises:
        ModelError: what the model has that no verdict covers; nothing is written then.
        UsageError: another ending, or a file that cannot be written.
    """
    made = gpt2_names(found)
    write_bytes(config_of(path), (json.dumps(made.config, indent=1) + "\n").encode())
    write_bytes(Path(path), made.content)
    return made


def config_of(path: str | Path) -> Path:
    """``NAME.config.json``, where the configuration of ``NAME.safetensors`` stands; ``UsageError``: another ending."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise UsageError(f"{path}: weights are written to NAME{SUFFIX}, NAME.config.json beside it")
    return path.with_name(path.name.removesuffix(SUFFIX) + ".config.json")


def _refuse(model: SoftModel, what: str) -> NoReturn:
    raise ModelError(f"{model.name}: no verdict covers {what} (docs/soft-import.md)")


def _covered(model: SoftModel) -> list[str]:
    """Refuse what GPT-2's blocks cannot say; else what must be told of the model."""
    front, last, place = model.start_marker, model.end_marker, model.output.place
    if place == "first" and (front is None or last is not None or len(model.layers) > 1):
        what = "without a start token" if front is None else "with a token pinned behind the word, too"
        what = what if len(model.layers) == 1 else "of two layers"
        _refuse(model, f"an answer that is read at the first position {what}")
    if last is not None and (place == "every" or len(model.layers) > 1):
        _refuse(model, f"an end marker, {'read at every position' if place == 'every' else 'in more than one layer'}")
    if not model.layers:
        _refuse(model, "a model without layers")
    if model.positions.combine != "add" or model.positions.kind == "terms":
        _refuse(model, "positions other than a table that is added")
    norms, shapes, masks, kinds, places = set[Term](), set[Any](), set[str](), set[str](), set[str]()
    for layer in model.layers:
        if layer.norm == "post" and layer.ffn is None:
            _refuse(model, "LayerNorm behind each half of a block without a network")
        places.add(layer.norm)
        norms |= {norm.eps for norm in (layer.norm1, layer.norm2, model.final_norm) if norm is not None}
        for head in layer.heads:
            dk = len(head.query)
            if head.score != "dot" or _factor(head) is None:
                _refuse(model, f"scores times {head.scale.text}, not 1/sqrt({dk}) or that by a power of two")
            shapes.add((len(layer.heads), dk, len(head.value)))
            masks.add(head.mask)
        kinds |= {layer.ffn.activation} if layer.ffn else set()
    (heads, dk, dv), *others = shapes or {(0, 0, 0)}
    if others or dk != dv or heads * dk != model.width:
        _refuse(model, f"heads whose widths do not add up to {model.width}")
    if len(places) > 1 or (places != {"pre"} and model.final_norm is not None):
        where = "behind each half of a block, and one more" if places == {"post"} else "at the end alone"
        _refuse(model, "mixed blocks" if len(places) > 1 else f"LayerNorm {where}")
    if len(kinds) > 1:
        _refuse(model, f"layers with different activations ({', '.join(sorted(kinds))})")
    if len(norms) > 1:
        _refuse(model, f"LayerNorms with different constants ({', '.join(sorted(eps.text for eps in norms))})")
    for eps in norms:
        constant = eps.exact(0, 1) or Fraction()
        if constant.numerator != 1 or constant.denominator > LARGEST_EPS:
            _refuse(model, f"the constant {eps.text} of LayerNorm, but 1/N for a whole number N below 10^16")
    if place == "first":
        if masks != {"none"}:
            what = "with a causal mask, where it sees nothing of the word"
            _refuse(model, f"an answer that is read at the first position {what}")
        return [f"the answer is read at {front}, which sees the whole word: each prefix is a word of its own"]
    read = [] if last is None else [f"the answer is read at {last}, behind the word: each prefix is a word of its own"]
    if masks == {"past"}:
        return read
    if masks != {"none"} or len(model.layers) > 1 or place != "last":
        _refuse(model, "attention that is not causal, but in one layer read at the first or the last position")
    if read:
        return read
    return ["no mask: in one layer, the answer behind a prefix is the one for the prefix as a word of its own"]


def _answers(found: Imported) -> Answers:
    """The read-out's rows by the names of tokens; an acceptor answers by the end token, other labels by themselves."""
    model, output, stop = found.model, found.model.output, found.stop
    names, rows, shifts = output.labels, output.unembed, output.bias
    greatest, kind, note = output.kind == "softmax" and len(rows) > 1, "next-set", None
    single = None if len(rows) == 1 else _difference(rows, shifts) if greatest and names != found.tokens else None
    if len(rows) == 1 or single is not None:
        rows, shifts = single or (rows, shifts)
        stop, kind = stop or END, "membership"
        note = f"an acceptor: {stop} is positive where it says {names[-1]!r} (--read-out membership)"
        names = (stop,)
    more = tuple(name for name in names if name not in found.tokens)
    end = stop if stop in names else more[0] if more else None
    proper = kind == "membership" or set(model.alphabet) <= set(names)
    if (
        not proper
        or more not in ((), (end,))
        or (end in model.symbols and end not in (model.end_marker, model.start_marker))
    ):
        told = quote(" ".join(names[:6]))
        if not greatest:
            _refuse(model, f"signs of labels that are not the symbols and an end token ({told})")
        note = f"labels of its own ({told}): give --read-out greatest --label NAME, --read-out tags or --answers FILE"
        return Answers(_kept(found, stop), stop, rows, shifts, "greatest", note, names)
    tokens = (*_kept(found, end), *more)
    placed = np.zeros((len(tokens), model.width)), np.zeros(len(tokens))
    here = [k for k, name in enumerate(names) if name in tokens]
    at = [tokens.index(names[k]) for k in here]
    placed[0][at], placed[1][at] = rows[here], shifts[here]
    return Answers(tokens, end, *placed, kind, note)


def _kept(found: Imported, end: str | None) -> tuple[str, ...]:
    """The tokens that are written: not more than two that are in no input, beside the end token; others have no part in
    what is claimed."""
    idle = [t for t in found.tokens if t not in (*found.model.symbols, end)]
    return tuple(t for t in found.tokens if t not in idle[IDLE:])


def _difference(*pairs: Floats) -> tuple[Floats, ...] | None:
    """The second entry of each pair less the first, as one entry; exact, by Knuth's sum of two numbers, or ``None``, as
    of what is no pair."""
    made = []
    for pair in pairs:
        if len(pair) != 2:
            return None
        b, a = pair
        found = a - b
        part = found - a
        if np.any((a - (found - part)) - (b + part)):
            return None
        made.append(np.array([found]))
    return tuple(made)


def _factor(head: SoftHead) -> float | None:
    """What scores are multiplied by beside ``1/sqrt(dk)``, if that is a power of two: the query times that is exact."""
    dk, text = len(head.query), head.scale.text
    root, rest = f"1/sqrt({dk})", None
    if head.scale.names:  # it depends on the length
        return None
    if re.fullmatch(re.escape(root) + r"([*/]\d+)*", text):
        rest = Term(f"1{text.removeprefix(root)}").exact(0, 1)
    elif math.isqrt(dk) ** 2 == dk:
        rest = (head.scale.exact(0, 1) or Fraction()) * math.isqrt(dk)
    if not rest or rest <= 0 or max(top := rest.numerator, low := rest.denominator) > LARGEST_FACTOR:
        return None
    return None if top & (top - 1) or low & (low - 1) else float(rest)


def _block(layer: SoftLayer, d: int, width: int) -> dict[str, Floats]:
    """The tensors of one block, matrices input by output."""
    heads = layer.heads
    by = [_factor(h) or 1.0 for h in heads]
    asks = [(h.query * k, h.query_bias * k) for h, k in zip(heads, by, strict=True)]
    mixed = [*(query for query, _ in asks), *(h.key for h in heads), *(h.value for h in heads)]
    biases = [*(bias for _, bias in asks), *(h.key_bias for h in heads), *(h.value_bias for h in heads)]
    ffn = layer.ffn or SoftFeedForward(np.zeros((width, d)), np.zeros(width), np.zeros((d, width)), np.zeros(d))
    if len(ffn.inner) != width:
        raise ModelError("no verdict covers networks of different widths (docs/soft-import.md)")
    maps: list[tuple[str, Floats, Floats]] = [
        ("attn.c_attn", np.concatenate(mixed).T, np.concatenate(biases)),
        ("attn.c_proj", np.concatenate([h.output for h in heads], axis=1).T, layer.attention_bias),
        ("mlp.c_fc", ffn.inner.T, ffn.inner_bias),
        ("mlp.c_proj", ffn.outer.T, ffn.outer_bias),
    ]  # fmt: skip
    found = {f"{name}.{end}": a for name, *both in maps for end, a in zip(("weight", "bias"), both, strict=True)}
    if layer.norm1 is None:
        return found
    none = LayerNorm(np.zeros(d), np.zeros(d), layer.norm1.eps)  # no network: what it reads is 0, and it adds 0
    return found | _norm("ln_1", layer.norm1) | _norm("ln_2", layer.norm2 or none)


def _norm(name: str, norm: LayerNorm) -> dict[str, Floats]:
    return {f"{name}.weight": norm.weight, f"{name}.bias": norm.bias}


def _stored(a: Floats) -> np.ndarray[Any, Any]:
    """The array as it is stored: float32 if that holds every number."""
    short = a.astype(np.float32)
    return np.ascontiguousarray(short if np.array_equal(short.astype(np.float64), a) else a)


def _decimal(term: Term) -> float | str:
    """A constant as a number of JSON, if that writes the same decimal; else as its text."""
    number = float(term.exact(0, 1) or 0)
    return number if Fraction(repr(number)) == term.exact(0, 1) else term.text
