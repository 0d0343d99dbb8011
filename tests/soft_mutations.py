"""Random small softmax models with certificates, mutants of both, and whether what a certificate claims is true.

A mutant may well be wrong. The trusted checker has to refuse it, or its claim has to be true: no two of the inputs that
agree with ``fixed`` may differ by more than epsilon, evaluated by :mod:`tests.naive_soft`.
"""

import copy
import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from restrict.base.tensorfile import FLOATS, arrays_of
from restrict.checker import soft
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.main import verify
from restrict.checker.soft import movement, tokens
from restrict.checker.soft_model import Model
from restrict.checker.soft_run import Run
from restrict.checker.soft_sets import ONE
from tests import naive_soft
from tests.documents import tensor_file
from tests.fuzzing import by_shape
from tests.fuzzing.operators import listed_in, pick

Document = dict[str, Any]
STEPS = 3_000_000
WORDS = 48
"""Inputs that are evaluated for one claim; where there are more, a claim that holds on these is undecided."""
TOLERANCE = Decimal(10) ** -30
MASKS = ("none", "past", "strict_past", "future", "strict_future")
TERMS = (
    *("i/n", "1/(i+1)", "(-1)**i", "cospi(2*i/7)", "sinpi(i/3)", "i == 1", "i % 3 if i < 2 else -0.25", "i // 2"),
    *(
        "0.1", "sqrt(i)", "log(i+1)", "exp(-i)", "1e-3*i", "(n - i)/n", "1.5", "i*i/(n*n)", "2**-i", "i >= n - 1",
        "-(i != 0)/2",
    ),
    *("(1.00000000000000000001-1)*10**20", "9007199254740993.0 - 9007199254740992", "i**2 - 1/3", "exp(sqrt(i)/2)/9"),
)  # fmt: skip
SCALES = ("1", "log(n)", "1/sqrt(3)", "n", "2*log(n+1)", "0.5", "-1", "n*log(n)", "1/n", "0", "sqrt(n)", "cospi(1/n)")
EPS = ("0.00001", "1e-3", "1", "1/7", "sqrt(2)/10", "0.1")


@dataclass
class Soft:
    """A model as its description and its arrays by name."""

    document: Document
    tensors: dict[str, Any]
    types: dict[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The safetensors file."""
        header: Document = {"__metadata__": {"restrict": json.dumps(self.document)}}
        data = b""
        for name, array in self.tensors.items():
            kind = self.types.get(name, "F64")
            piece = encoded(array, kind)
            offsets = [len(data), len(data) + len(piece)]
            header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
            data += piece
        return tensor_file(header, data)


def encoded(array: Any, kind: str) -> bytes:
    """Entries as bytes of a type of tensors."""
    if kind == "BF16":
        return (np.asarray(array, "<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return np.asarray(array, {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[kind]).tobytes()


def opened(content: bytes) -> Soft:
    """The parts of a file that :meth:`Soft.to_bytes` wrote."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    document = json.loads(header.pop("__metadata__")["restrict"])
    arrays = {name: array.astype(np.float64) for name, array in arrays_of(content, FLOATS)}
    types = {name: entry["dtype"] for name, entry in header.items()}
    return Soft(document, {name: arrays[name] for name in header}, types)


# ---------------------------------------------------------------- random models


def chance(rng: Generator, share: float) -> bool:
    return bool(rng.random() < share)


def random_model(rng: Generator) -> Soft:
    """A model with at most two layers and width five that may have every feature of the format that is checked."""
    made = Soft({"format": "restrict-soft/1", "name": "random"}, {})
    alphabet = ["a", "b", "\N{SNOWMAN} c"][: int(rng.integers(1, 4))] if chance(rng, 0.95) else list("abcdefgh")
    made.document["alphabet"] = alphabet
    markers = [key for key in ("start_marker", "end_marker") if chance(rng, 0.3)]
    made.document |= {key: f"<{key[0]}>" for key in markers}
    size, d = float(pick(rng, (0.2, 0.5, 1.0, 2.0))), int(rng.integers(1, 5))

    def tensor(name: str, *shape: int) -> None:
        array = rng.normal(size=shape) * size
        if chance(rng, 0.15):
            array = np.round(array)
        made.types[name] = kind = pick(rng, ("F64", "F64", "F32", "F16", "BF16"))
        made.tensors[name] = array
        made.tensors[name] = opened(Soft(made.document, {name: array}, {name: kind}).to_bytes()).tensors[name]

    tensor("embed", len(alphabet) + len(markers), d)
    d += random_positions(rng, made, tensor, d)
    layers = [random_layer(rng, f"layers.{at}", tensor, d) for at in range(int(pick(rng, (0, 1, 1, 1, 2, 2))))]
    made.document["layers"] = layers
    if chance(rng, 0.2):
        made.document["final_norm"] = {"eps": pick(rng, EPS)}
        norm(rng, "final_norm", tensor, d)
    random_output(rng, made, tensor, d)
    return made


def random_positions(rng: Generator, made: Soft, tensor: Callable[..., None], d: int) -> int:
    """Positions of any kind; how much wider the model becomes."""
    kind = pick(rng, ("none", "table", "terms", "terms"))
    position: Document = {"kind": kind}
    combine = pick(rng, ("add", "concat"))
    if chance(rng, 0.7) or combine == "concat":
        position["combine"] = combine
    if kind == "terms":
        position["terms"] = [pick(rng, TERMS) for _ in range(int(rng.integers(1, 4)))]
    made.document["position"] = position
    if kind == "none":
        return 0
    more = int(rng.integers(1, 3)) if combine == "concat" else 0
    tensor("position", len(position["terms"]) if kind == "terms" else 8, more or d)
    return more


def norm(rng: Generator, name: str, tensor: Callable[..., None], d: int) -> None:
    tensor(f"{name}.weight", d)
    tensor(f"{name}.bias", d)


def random_layer(rng: Generator, name: str, tensor: Callable[..., None], d: int) -> Document:
    """A layer of up to two heads."""
    heads, network = [], chance(rng, 0.6)
    for at in range(int(pick(rng, (0, 1, 1, 2)))):
        place, dk, dv = f"{name}.heads.{at}", int(rng.integers(1, 4)), int(rng.integers(1, 4))
        head = {"mask": pick(rng, MASKS), "scale": pick(rng, SCALES), "score": "dot", "attention": "softmax"}
        heads.append({key: value for key, value in head.items() if chance(rng, 0.7)})
        for key, shape in (("query", (dk, d)), ("key", (dk, d)), ("value", (dv, d)), ("output", (d, dv))):
            tensor(f"{place}.{key}", *shape)
        for key, width in (("query_bias", dk), ("key_bias", dk), ("value_bias", dv)):
            if chance(rng, 0.3):
                tensor(f"{place}.{key}", width)
    layer: Document = {"heads": heads}
    if chance(rng, 0.3):
        tensor(f"{name}.attention_bias", d)
    if chance(rng, 0.4):
        layer |= {"norm": pick(rng, ("pre", "post")), "eps": pick(rng, EPS)}
        norm(rng, f"{name}.norm1", tensor, d)
    if network:
        width = int(rng.integers(1, 5))
        tensor(f"{name}.ffn.in", width, d)
        tensor(f"{name}.ffn.out", d, width)
        for key, size in (("in_bias", width), ("out_bias", d)):
            if chance(rng, 0.4):
                tensor(f"{name}.ffn.{key}", size)
        if "norm" in layer:
            norm(rng, f"{name}.norm2", tensor, d)
        if chance(rng, 0.3):
            layer["activation"] = "relu"
    return layer


def random_output(rng: Generator, made: Soft, tensor: Callable[..., None], d: int) -> None:
    """A read-out of any kind."""
    sign = chance(rng, 0.3)
    rows = 1 if sign else int(rng.integers(1, 4))
    labels = ["x", "y", "z"][: 2 if sign else rows]
    output: Document = {"position": pick(rng, ("last", "first", "every")), "labels": labels}
    if sign or chance(rng, 0.5):
        output["kind"] = "sign" if sign else "softmax"
    if chance(rng, 0.3):
        output["accept"] = [0]
    made.document["output"] = output
    tensor("unembed", rows, d)
    if chance(rng, 0.4):
        tensor("unembed_bias", rows)


# ---------------------------------------------------------------- certificates


def random_certificate(rng: Generator, content: bytes, document: Document) -> Document:
    """A claim about the model, its epsilon still to be found."""
    markers = sum(key in document for key in ("start_marker", "end_marker"))
    n = int(rng.integers(max(1, markers), 6))
    inside = range("start_marker" in document, n - ("end_marker" in document))
    fixed = [[at, pick(rng, document["alphabet"])] for at in inside if chance(rng, 0.5)]
    place = {"first": 0, "last": n - 1}.get(document["output"]["position"], int(rng.integers(n)))
    found = {"format": "restrict-soft-certificate/1", "model": {"name": document["name"], "sha256": digest(content)}}
    quantity = pick(rng, ("probability", "margin"))
    return {**found, "n": n, "fixed": fixed, "position": place, "quantity": quantity, "epsilon": "1", "norms": {}}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def certified(model: bytes, claim: Document, limit: int = STEPS) -> Fraction:
    """The least epsilon that the checker verifies. Raises ``Reject`` where it finds none."""
    place = Place("certificate")
    read = Model(Task(claim, place, model, Place("model"), Path(), Meter(limit)), claim["n"])
    hints = {name: Fraction(text) for name, text in claim["norms"].items()}
    cases = tokens(read, claim["fixed"], place)
    return Fraction(movement(read, Run(read, hints, cases).output(claim["position"]), claim["quantity"]), ONE)


def random_hints(rng: Generator, made: Soft) -> dict[str, str]:
    """Norms of some matrices of heads and networks: a little too large, right, or too small."""
    names = [name for name in made.tensors if (".heads." in name or ".ffn." in name) and made.tensors[name].ndim == 2]
    factors = (1 + 1e-12, 1 + 1e-12, 1, 0.5, 1.5)
    norms = {name: float(np.linalg.norm(made.tensors[name], 2)) for name in names if chance(rng, 0.6)}
    return {name: f"{value * pick(rng, factors):.15e}" for name, value in norms.items()}


def original(rng: Generator) -> tuple[bytes, bytes]:
    """A random model with a claim that the checker verifies, most often with the least epsilon that it does."""
    while True:
        made = random_model(rng)
        model = made.to_bytes()
        claim = random_certificate(rng, model, made.document)
        claim["norms"] = random_hints(rng, made)
        try:
            least = certified(model, claim)
        except Reject as reject:
            if reject.code == 4:
                raise AssertionError(f"{reject}: {made.document}") from None
            continue
        epsilon = least if chance(rng, 0.7) else Fraction(str(float(least) * 1.001 + 1e-20))
        if epsilon > 0 and epsilon.numerator.bit_length() <= 200:
            claim["epsilon"] = str(epsilon)
            return model, json.dumps(claim).encode()


# ---------------------------------------------------------------- operators

Operator = Callable[[Generator, Soft, Document], bool]
"""Changes the model and the claim in place; False where it does not apply."""
OPERATORS: dict[str, Operator] = {}


operator = listed_in(OPERATORS)


@operator
def shrink_epsilon(rng: Generator, made: Soft, claim: Document) -> bool:
    factor = pick(rng, (Fraction(1, 2), Fraction(99, 100), 1 - Fraction(1, 10**9), Fraction(1, 10**6)))
    claim["epsilon"] = str((Fraction(claim["epsilon"]) * factor).limit_denominator(2**190))
    return True


SPELT = ("1\n", " 1", "0.9", "1e-9", "1e0", "\u0663", "1_0", "0x1", "+1", "1/2/1", "inf")
"""Numbers and what is none, in place of epsilon."""


@operator
def change_a_text(rng: Generator, made: Soft, claim: Document) -> bool:
    """Epsilon, a scale, a constant of LayerNorm or a term becomes another one, or one with a character wrong."""
    layers, terms = made.document["layers"], made.document["position"].get("terms", [])
    scales = (*SCALES, "i", "9**64**64", "1/(n-3)", "(1.00000000000000000001-1)*10**22")
    held: list[list[tuple[Any, Any, tuple[str, ...]]]] = [
        [(claim, "epsilon", SPELT)],
        [(head, "scale", scales) for layer in layers for head in layer["heads"]],
        [(holder, "eps", ("0", "-0.5", "-1e-400", "1e-30", "n", "10", "1/0"))
         for holder in (*layers, made.document.get("final_norm", {})) if "eps" in holder],
        [(terms, at, TERMS) for at in range(len(terms))],
    ]  # fmt: skip
    holder, key, choices = pick(rng, pick(rng, [listed for listed in held if listed]))
    text = pick(rng, choices)
    spot = int(rng.integers(len(text) + 1))
    edits = (text[:spot] + pick(rng, "0123456789.e+-*/%()in= ") + text[spot:], text[: max(spot - 1, 0)] + text[spot:])
    holder[key] = pick(rng, (text, text, text, *edits))
    return True


@operator
def fix_a_token(rng: Generator, made: Soft, claim: Document) -> bool:
    """One more, or one elsewhere."""
    at = int(rng.integers(claim["n"] + 1))
    if claim["fixed"] and chance(rng, 0.5):
        pick(rng, claim["fixed"])[0] = at
    else:
        claim["fixed"].append([at, pick(rng, made.document["alphabet"])])
    return True


@operator
def change_n(rng: Generator, made: Soft, claim: Document) -> bool:
    claim["n"] += int(pick(rng, (-1, 1, 2)))
    claim["position"] = {"last": claim["n"] - 1}.get(made.document["output"]["position"], claim["position"])
    return True


@operator
def claim_a_smaller_norm(rng: Generator, made: Soft, claim: Document) -> bool:
    if not claim["norms"]:
        return False
    name = pick(rng, claim["norms"])
    factor = pick(rng, (0.0, 0.5, 0.9, 1 - 1e-9, -1.0, 1e-30))
    claim["norms"][name] = f"{float(claim['norms'][name]) * factor:.15e}"
    return True


@operator
def exchange_two(rng: Generator, made: Soft, claim: Document) -> bool:
    """Norms or tensors."""
    of = made.tensors if len(claim["norms"]) < 2 or chance(rng, 0.5) else claim["norms"]
    a, b = pick(rng, of), pick(rng, of)
    of[a], of[b] = of[b], of[a]
    return True


@operator
def change_an_entry(rng: Generator, made: Soft, claim: Document) -> bool:
    name = pick(rng, made.tensors)
    array = made.tensors[name].copy()
    array.flat[int(rng.integers(array.size))] += float(pick(rng, (1e-12, 0.1, -1.0, 5.0, 1e30, np.inf, np.nan)))
    made.tensors[name] = array
    return True


@operator
def scale_a_tensor(rng: Generator, made: Soft, claim: Document) -> bool:
    name = pick(rng, made.tensors)
    made.tensors[name] = made.tensors[name] * float(pick(rng, (-1.0, 0.0, 1.01, 2.0, 1e-9)))
    return True


@operator
def reshape_a_tensor(rng: Generator, made: Soft, claim: Document) -> bool:
    """A column or a row more or less, or transposed."""
    name = pick(rng, made.tensors)
    array, axis = made.tensors[name], int(rng.integers(made.tensors[name].ndim))
    how = int(rng.integers(3))
    if how == 0:
        made.tensors[name] = np.concatenate([array, array.take([0], axis)], axis)
    elif how == 1:
        made.tensors[name] = array.take(range(1, array.shape[axis]), axis)
    else:
        made.tensors[name] = array.T.copy() if array.ndim == 2 else array[None]
    return True


@operator
def drop_a_tensor(rng: Generator, made: Soft, claim: Document) -> bool:
    del made.tensors[pick(rng, made.tensors)]
    return True


@operator
def add_a_tensor(rng: Generator, made: Soft, claim: Document) -> bool:
    places = ("attention_bias", "heads.0.query_bias", "heads.0.output_bias", "ffn.in", "norm1.weight")
    names = (*(f"layers.0.{at}" for at in places), "layers.9.attention_bias", "final_norm.weight", "position",
             "unembed_bias", "x")  # fmt: skip
    name = pick(rng, names)
    like = pick(rng, made.tensors)
    new = name not in made.tensors
    made.tensors[name] = made.tensors[like] + 1
    return new


@operator
def change_a_type(rng: Generator, made: Soft, claim: Document) -> bool:
    made.types[pick(rng, made.tensors)] = pick(rng, ("F32", "F16", "BF16", "F64"))
    return True


def by_shape_in(*parts: str) -> Operator:
    """An operator that knows of some parts of the model or of the claim no more than the shape of the format."""

    def change(rng: Generator, made: Soft, claim: Document) -> bool:
        document = claim if set(parts) <= soft.CERTIFICATE.keys() else made.document
        return by_shape.changed(rng, by_shape.any_one(rng), document, copy.deepcopy(document), parts)

    return change


BY_SHAPE = {
    "change the layers": ("layers",),
    "change the embedding": ("alphabet", "start_marker", "end_marker", "position"),
    "change the read-out": ("output", "final_norm"),
    "change what is fixed": ("n", "fixed", "position"),
    "change the claim": ("epsilon", "norms", "quantity", "model"),
}
OPERATORS |= {name: by_shape_in(*parts) for name, parts in BY_SHAPE.items()}
FLIPS = ("flip a bit of the model", "flip a bit of the certificate")
TURNS = [*OPERATORS, *["change a text"] * 3, *BY_SHAPE, *BY_SHAPE, *FLIPS]


def mutate(rng: Generator, model: bytes, certificate: bytes) -> tuple[str, bytes, bytes] | None:
    """A changed pair with the operator's name, the digest put right; None where the operator does not apply."""
    name = pick(rng, TURNS)
    if name not in OPERATORS:
        return name, *flipped(rng, model, certificate, name.endswith("model"))
    made, claim = opened(model), json.loads(certificate)
    if not OPERATORS[name](rng, made, claim):
        return None
    with np.errstate(all="ignore"):
        changed = made.to_bytes()
    if isinstance(claim.get("model"), dict):
        claim["model"]["sha256"] = digest(changed)
    found = json.dumps(claim).encode()
    return None if (changed, found) == (model, certificate) else (name, changed, found)


def flipped(rng: Generator, model: bytes, certificate: bytes, of_model: bool) -> tuple[bytes, bytes]:
    """A bit changed in one of the two files; the digest is put right where it is the model."""
    changed = bytearray(model if of_model else certificate)
    changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    if not of_model:
        return model, bytes(changed)
    return bytes(changed), certificate.replace(digest(model).encode(), digest(bytes(changed)).encode())


# ---------------------------------------------------------------- the truth


def accepted(model: bytes, certificate: bytes, limit: int = STEPS) -> bool:
    """Whether the trusted checker verifies the pair; nothing but ``Reject`` may be raised."""
    try:
        line = verify(model, certificate, limit=limit)
    except Reject:
        return False
    assert line.isascii(), line
    assert line.isprintable(), line
    assert line.startswith("s VERIFIED n="), line
    return True


def inputs(document: Document, claim: Document, most: int, seed: int) -> tuple[list[list[int]], bool]:
    """The inputs that agree with ``fixed``, as rows of ``embed``, and whether these are all; at most so many."""
    alphabet, n = document["alphabet"], claim["n"]
    cells: list[list[int]] = [list(range(len(alphabet))) for _ in range(n)]
    for at, symbol in claim["fixed"]:
        cells[at] = [alphabet.index(symbol)]
    row = len(alphabet)
    for key, at in (("start_marker", 0), ("end_marker", n - 1)):
        if key in document:
            cells[at] = [row]
            row += 1
    count = int(np.prod([len(cell) for cell in cells], dtype=object))
    if count <= most:
        return [list(word) for word in itertools.product(*cells)], True
    rng = np.random.default_rng(seed)
    return [[int(pick(rng, cell)) for cell in cells] for _ in range(most)], False


def spread(model: bytes, claim: Document, most: int = WORDS) -> tuple[Decimal, bool]:
    """The largest difference between two outputs for inputs that agree with ``fixed``, and whether all were tried."""
    file = naive_soft.read(model)
    words, every = inputs(file.document, claim, most, len(model))
    found = [naive_soft.everywhere(file, word)[claim["position"]] for word in words]
    rows = [naive_soft.quantities(file, row, claim["quantity"]) for row in found]
    with localcontext() as context:
        context.prec = naive_soft.DIGITS
        return max(max(column) - min(column) for column in zip(*rows, strict=True)), every


def is_true(model: bytes, certificate: bytes) -> bool | None:
    """Whether the claim of a certificate that the checker accepts is true; None where not every input was tried.

    ``False`` is always a proof: two inputs that differ by more than epsilon.
    """
    claim = json.loads(certificate)
    found, every = spread(model, claim)
    epsilon = Fraction(claim["epsilon"])
    if Fraction(found) > epsilon + Fraction(TOLERANCE):
        return False
    return True if every else None
