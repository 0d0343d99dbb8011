"""The model of a verdict: blocks of GPT-2, the weights from a safetensors file, and what is exact per symbol.

``Model`` reads the file and what the certificate says of the architecture, which is a part of the claim. ``Atoms``
holds, for the first block, a query for each symbol and position, and for each head the keys and values (Lemmas V1 and
V2): none of them depends on the rest of the word.
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any, NamedTuple

from .account import Meter, Place, Task, require
from .read import JSON_BYTES, Maybe, digest, integer, integers, listing, matching, plain, record, string
from .tensors import located, opened
from .verdict_forms import Sign
from .verdict_numbers import BITS, ONE, Ball, Linear, Matrix, Network, Norm, Vector, dot, image, linear, networked

from .verdict_numbers import normed, total, transposed, turned  # isort: skip

SIZE = 4096
"""The largest width, vocabulary and number of positions."""
FLOATS = {"F32": "f", "F64": "d", "F16": "e"}
HUGE = 1 << 40
"""Weights are smaller than this."""
MODEL = {
    "name": plain,
    "sha256": digest,
    "heads": integer(1, SIZE),
    "epsilon": matching("1/[1-9][0-9]{0,15}", "1/N with at most 16 digits"),
    "activation": ("gelu_new", "gelu", "relu"),
    "positions": ("learned", "none"),
    "offset": integer(0, SIZE),
    "tied": ("yes", "no"),
    "alphabet": listing,
    "rows": integers(0, SIZE),
    "start": Maybe(integer(0, SIZE)),
    "norm": Maybe(("post", "no-last", "none")),
    "reads": Maybe(("first", "last")),
}
START = -1
"""The index of the start token, where symbols have theirs from 0."""


def units(x: float) -> int:
    """A float in units, rounded down: scaling by a power of two is exact."""
    return math.floor(math.ldexp(x, BITS))


class Head(NamedTuple):
    """The maps of one head; the query's has the scale in it only later."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear


class Block(NamedTuple):
    """A block: attention behind ``first`` and the network behind ``second``, where there are LayerNorms."""

    first: Norm | None
    attention: list[Head]
    bias: Vector
    second: Norm | None
    network: Network


class Tensors:
    """The tensors of the file, each of which must be read."""

    def __init__(self, task: Task, expected: str) -> None:
        self.place, self.meter = task.model_place, task.meter
        require(len(task.model) <= JSON_BYTES, self.place, "larger than 64 MiB")
        same = hashlib.sha256(task.model).hexdigest() == expected
        require(same, self.place, "its SHA-256 is not the one in the certificate")
        self.header, self.data = opened(task.model, self.place, task.meter)
        self.header.pop("__metadata__", None)
        self.left = set(self.header)

    def take(self, name: str, *shape: int) -> list[list[int]]:
        """A tensor of this shape as rows in units; a vector is one row."""
        place = self.place.key(name)
        require(name in self.header, place, "the tensor is missing")
        code, found, stored = located(self.header[name], FLOATS, self.data, place)
        require(tuple(found) == shape, place, f"expected the shape {list(shape)}", list(found))
        self.left.discard(name)
        count = math.prod(shape)
        self.meter.charge(4 * count)
        self.meter.hold(64 * count)
        require(all(-HUGE < x < HUGE for x in self.floats(code, stored)), place, "a weight is NaN or beyond 2^40")
        flat = [units(x) for x in self.floats(code, stored)]
        return [flat[at : at + shape[-1]] for at in range(0, count, shape[-1])]

    def length(self, name: str, otherwise: int, most: int) -> int:
        """The first size of a tensor, by the header alone; ``take`` checks it."""
        entry = self.header.get(name)
        shape = entry.get("shape") if isinstance(entry, dict) else None
        found = shape[0] if isinstance(shape, list) and shape else otherwise
        return int(integer(1, most)(found, self.place.key(name)))

    def floats(self, code: str, stored: memoryview) -> Any:
        """The entries of a tensor, little-endian whatever the machine."""
        return (x for (x,) in struct.iter_unpack("<" + code, stored))


class Model:
    """The blocks as the certificate describes them."""

    def __init__(self, task: Task, value: Any, place: Place, said: dict[str, Any] = MODEL) -> None:
        fields = record(value, said, place)
        self.sha256, self.activation, self.heads = fields["sha256"], fields["activation"], fields["heads"]
        self.alphabet = [string(name, place.key("alphabet")) for name in fields["alphabet"]]
        self.rows, self.start = list(fields["rows"]), fields.get("start")
        self.first, self.told = (1, " start=none") if self.start is None else (0, "")
        self.ends, self.reader = range(len(self.rows)), len(self.rows)
        if "reads" in fields:  # the last row is the token at which the answer is read: a word's last (Lemma V17)
            self.ends, self.told, self.reader = self.ends[-1:], f" read={fields['reads']}", len(self.rows) - 1
            require(fields.get("layers", 1) == 1, place.key("reads"), "expected one layer")
        self.pinned = len(self.rows) - self.reader
        file = Tensors(task, fields["sha256"])
        shape = located(file.header.get("transformer.wte.weight"), FLOATS, file.data, task.model_place)[1]
        require(len(shape) == 2 and 2 <= min(shape) <= max(shape) <= SIZE, task.model_place, "wte has a wrong shape")
        self.labels, self.d = shape
        used = self.rows if self.start is None else [*self.rows, self.start]
        distinct = len(set(used)) == len(used) and max(used, default=0) < self.labels
        require(distinct and self.rows != [], place.key("rows"), "expected different rows of the embedding")
        named = len(set(self.alphabet)) == len(self.alphabet) == len(self.rows)
        require(named, place.key("alphabet"), "expected a name of its own for each of the rows")
        require(self.d % self.heads == 0, place.key("heads"), "the heads do not divide the width", self.heads)
        self.epsilon = (1 << 2 * BITS) // int(fields["epsilon"][2:])
        self.read(file, fields)
        require(not file.left, task.model_place, "a tensor is no part of the blocks", sorted(file.left)[:1])

    def read(self, file: Tensors, fields: dict[str, Any]) -> None:
        """All tensors of the file."""
        d = self.d
        self.embed, self.offset = file.take("transformer.wte.weight", self.labels, d), fields["offset"]
        self.positions: Matrix | None = None
        if fields["positions"] == "learned":
            count = file.length("transformer.wpe.weight", 1, 1 << 20)
            self.positions = file.take("transformer.wpe.weight", count, d)
        self.ahead = fields.get("reads") == "first"
        if self.ahead:
            require(self.start is None, Place("model").key("start"), "expected none: the answer is read there")
            if self.positions is not None:  # the reader's embedding comes last, so that the first symbol's is the first
                require(self.offset < len(self.positions), Place("model").key("offset"), "no such embedding")
                self.positions = [*self.positions[self.offset + 1 :], self.positions[self.offset]]
                self.offset = 0
        self.last: Norm | None = None
        self.adds, self.bare = int(fields.get("norm") != "post"), fields.get("norm") == "none"
        self.blocks = [self.block(file, f"transformer.h.{number}.") for number in range(fields.get("layers", 1))]
        if self.adds:
            self.last = None if "norm" in fields else self.norm(file, "transformer.ln_f")
        self.unembed = self.embed
        if fields["tied"] == "no":
            self.labels = file.length("lm_head.weight", self.labels, SIZE)
            self.unembed = file.take("lm_head.weight", self.labels, d)
        self.shifts = file.take("lm_head.bias", self.labels)[0] if "lm_head.bias" in file.left else [0] * self.labels

    def block(self, file: Tensors, h: str) -> Block:
        """One block."""
        d, dk = self.d, self.d // self.heads
        mixed, bias = file.take(h + "attn.c_attn.weight", d, 3 * d), file.take(h + "attn.c_attn.bias", 3 * d)[0]
        columns, out = transposed(mixed), transposed(file.take(h + "attn.c_proj.weight", d, d))
        attention = []
        for at in range(0, d, dk):
            query, key, value = (linear(columns[t : t + dk], bias[t : t + dk]) for t in (at, d + at, 2 * d + at))
            attention.append(Head(query, key, value, linear([row[at : at + dk] for row in out], [0] * d)))
        one, two = (None if self.bare else self.norm(file, h + f"ln_{k}") for k in (1, 2))
        bias = file.take(h + "attn.c_proj.bias", d)[0]
        first, second = (one, two) if self.adds else (self.last, one)
        self.last = two  # of a block behind whose halves they stand it is the next one's first
        width = file.length(h + "mlp.c_fc.bias", 4 * d, 4 * SIZE)
        file.meter.charge(16 * d * (width + d))
        file.meter.hold(80 * d * (width + d))
        inner, outer = (self.stored(file, h + "mlp." + name, *shape)
                        for name, *shape in (("c_fc", d, width), ("c_proj", width, d)))  # fmt: skip
        network = networked(second, self.activation, self.adds, inner, outer)
        return Block(first, attention, bias, second, network)

    def stored(self, file: Tensors, name: str, inputs: int, outputs: int) -> tuple[Matrix, Vector]:
        """A matrix as it is stored, input by output, and its bias."""
        return file.take(name + ".weight", inputs, outputs), file.take(name + ".bias", outputs)[0]

    def norm(self, file: Tensors, name: str) -> Norm:
        """A LayerNorm."""
        return Norm(file.take(name + ".weight", self.d)[0], file.take(name + ".bias", self.d)[0], self.epsilon)

    def token(self, symbol: int, j: int) -> Ball:
        """The embedding of a symbol (or of the start token) at position ``j``, from ``first`` on."""
        row = self.embed[self.rows[symbol] if symbol != START or self.start is None else self.start]
        if self.positions is None:
            return Ball(row, 1)
        at = -1 if self.ahead and symbol == self.reader else self.offset + j - self.first
        return Ball([a + b for a, b in zip(row, self.positions[at], strict=True)], 2)

    def sign(self, label: int) -> Sign:
        """A label behind the last LayerNorm (Lemma 4), or without one."""
        if self.last is None:
            return Sign(self.unembed[label], 0, 1, self.shifts[label])
        row, off = turned(self.unembed[label], self.last.weight)
        slack = (total(self.unembed[label]) + total(self.last.bias) >> BITS) + self.d + 3
        beta = (dot(self.unembed[label], self.last.bias) >> BITS) + self.shifts[label]
        return Sign(row, beta, max(off, slack))


class Atoms:
    """Queries, keys and values of every symbol at every position up to ``n``; the start token stands at 0. Where there
    is none, the first symbol stands there as it would at position 1: its weight is 0 (Lemma V14)."""

    def __init__(self, model: Model, n: int, meter: Meter) -> None:
        d, symbols = model.d, len(model.rows)
        meter.charge((n * symbols + 1) * (10 * d * d + 100 * d))
        meter.fits((n * symbols + 1) * 400 * d)
        meter.hold((n * symbols + 1) * 300 * d)
        self.n = n
        places = [[0 if model.first else START], *([list(range(symbols))] * n)]
        tokens = [[model.token(s, max(j, model.first)) for s in row] for j, row in enumerate(places)]
        inputs = [[normed(model.blocks[0].first, x) for x in row] for row in tokens]
        root = math.isqrt(ONE * ONE // (d // model.heads))
        self.reach: Vector = []
        self.queries: list[list[list[Ball]]] = []
        self.keys: list[list[list[Ball]]] = []
        self.values: list[list[list[Ball]]] = []
        for head in model.blocks[0].attention:
            self.queries.append([[shrunk(image(head.query, x), root) for x in row] for row in inputs])
            self.keys.append([[image(head.key, x) for x in row] for row in inputs])
            self.reach.append(max(total(k.centre) for row in self.keys[-1] for k in row))
            self.values.append([[image(head.output, image(head.value, x)) for x in row] for row in inputs])

    def scores(self, head: int, i: int, a: int) -> tuple[Matrix, int]:
        """The scores of every symbol at positions ``0 .. i`` for the last symbol ``a``, and how far off they are."""
        q, keys = self.queries[head][i][max(a, 0)], self.keys[head][: i + 1]
        radius = max(k.radius for row in keys for k in row)
        off = total(q.centre) * radius + (self.reach[head] + len(q.centre) * radius) * q.radius
        return [[dot(q.centre, k.centre) >> BITS for k in row] for row in keys], (off >> BITS) + 2


def shrunk(q: Ball, root: int) -> Ball:
    """A query times ``1/sqrt(dk)``, given in units, rounded down."""
    largest = max(map(abs, q.centre)) + q.radius
    return Ball([v * root >> BITS for v in q.centre], ((q.radius * (root + 2) + 2 * largest) >> BITS) + 2)
