"""From the layers of a construction to a ``restrict-automaton/1`` proof (docs/format.md, docs/all-lengths.md). A class
of summaries becomes a **box**: for each query value the entries that its members have there. Since a summary is
extended and read separately for each query value, a box extended by a pair lies in the box of the class that follows,
and all entries of a box that are read give one value: the equations of Theorem B."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from restrict.all_lengths.bimachine import Classes, Entries
from restrict.all_lengths.program import UNDEFINED, Look, OrderOnly
from restrict.all_lengths.stages import Built, Stage
from restrict.base.arrays import I64
from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.base.strictjson import one_line_lists
from restrict.model.lengths import SEARCHED, least_length, why_not
from restrict.model.program import Model

FORMAT = "restrict-automaton/1"
MOST_BYTES = 64 << 20
"""The checker reads no larger file."""


def document(model: Model, built: Built, claim: dict[str, Any]) -> dict[str, Any]:
    """The proof of a claim. ``built`` keeps its layers."""
    if model.digest is None:
        raise NotEstablished("the model has no file, so a proof cannot name it; save it first")
    return {
        "format": FORMAT,
        "model": {"name": model.name, "sha256": model.digest},
        "n": first_length(model, spoken_of(model, claim)),
        "threshold": built.program.threshold,
        "period": built.program.period,
        "layers": [layer_document(layer, built.program) for layer in built.layers],
        "claim": claim,
    }


def spoken_of(model: Model, claim: dict[str, Any]) -> int:
    """The least length at which the checker may read the model: one about which the claim says something. For a word
    that is its own length, and for other claims their ``from``."""
    if "word" in claim:
        return max(2, len(claim["word"]) + len(model.markers))
    return max(2, int(claim.get("from", 0)))


def first_length(model: Model, least: int) -> int:
    """The first length from ``least`` on at which the model is defined."""
    n = least_length(model, least)
    if n is None:
        raise NotEstablished(
            f"a proof reads the model at a length of at least {least}, and it is defined at none of "
            f"{least} .. {least + SEARCHED - 1}{why_not(model, least)}"
        )
    return n


def to_bytes(content: dict[str, Any]) -> bytes:
    """The bytes of a proof file: the same for the same content."""
    if len(content["layers"]) and sum(len(h["boxes"]) for x in content["layers"] for h in x["heads"]) > 20_000:
        return (json.dumps(content, separators=(",", ":")) + "\n").encode()
    return (one_line_lists(content, 4) + "\n").encode()


def layer_document(layer: Stage, program: OrderOnly) -> dict[str, Any]:
    """One layer as the proof file has it."""
    after = layer.after
    out: dict[str, Any] = {"heads": _heads(layer)}
    sides = [("left", layer.sides[0], layer.merge_l, after.left)]
    if not layer.last:
        sides.append(("right", layer.sides[1], layer.merge_r, after.right))
    for name, side, merge, merged in sides:
        out[name] = {"base": side[0].tolist(), "delta": side[1].tolist()}
        out[name] |= {"merge": merge.tolist(), "next": merged.tolist()}
    out["keep"] = list(after.names)
    columns = [after.values[:, at] for at in range(len(after.names))]
    if "@label" in after.names:
        at = after.names.index("@label")
        columns[at] = np.array(label_numbers(program), dtype=np.int64)[columns[at]]
    values = np.stack(columns, axis=1).tolist() if columns else [[] for _ in after.values]
    return out | {"labels": values, "table": after.lab.tolist()}


def label_numbers(program: OrderOnly) -> list[int]:
    """The checker's number of each label: 0 and 1 for reject and accept, else in order of the output's values."""
    names = [name for name in program.labels if name != UNDEFINED]
    if set(names) <= {"accept", "reject"} and program.accepts:
        names = ["reject", "accept"]
    return [names.index(name) if name in names else len(names) for name in program.labels]


def _heads(layer: Stage) -> list[dict[str, Any]]:
    width = (layer.before.lab.shape[2], layer.before.lab.shape[0])
    shift, column, room = [0, 0], [0, 0], MOST_BYTES
    out = []
    for look, table, *both in layer.heads:
        queries = np.unique(layer.before.column(look.query))
        pairs = np.unique(layer.before.column(look.pair))
        content: dict[str, Any] = {"name": look.name, "queries": queries.tolist(), "pairs": pairs.tolist()}
        boxes: dict[str, int] = {}
        boxes_of = _boxes(layer, look, table, (queries, pairs))
        tables = {}
        for side, classes in enumerate(both):
            if classes is None:
                continue
            number = []
            for box in boxes_of(classes):
                text = json.dumps(box, separators=(",", ":"))
                if text not in boxes and (room := room - len(text)) < 0:
                    raise ResourceLimit(f"a proof would be larger than {MOST_BYTES >> 20} MiB")
                number.append(boxes.setdefault(text, len(boxes)))
            vectors = layer.sides[side][2][:, column[side] : column[side] + width[side]]
            own = np.where(vectors >= 0, vectors - shift[side], len(number))  # the classes' numbers of this head
            tables[("left", "right")[side]] = np.array([*number, -1], dtype=np.int64)[own].tolist()
            column[side] += width[side]
            shift[side] += classes.count
        content["boxes"] = [json.loads(b) for b in boxes]
        out.append(content | tables)
    return out


def _boxes(layer: Stage, look: Look, table: Entries, values: tuple[I64, I64]) -> Callable[[Classes], Iterator[Any]]:
    """A function that gives for each class in order, for each query value: the pairs, sorted; one class is held at a
    time. ``values``: the query values and the pairs in use. From the construction's entries: for each query value and
    entry, a pair that makes it (-1: nothing)."""
    (queries, pairs), before = values, layer.before
    rows, column = np.empty(len(queries), dtype=np.int64), np.empty(len(pairs), dtype=np.int64)
    rows[np.searchsorted(queries, before.column(look.query))] = table.query
    column[np.searchsorted(pairs, before.column(look.pair))] = table.pair
    pair_of = np.full((len(queries), table.rank.shape[1]), -1, dtype=np.int64)
    for u, row in enumerate(rows):
        pair_of[u, table.code[row][column][::-1]] = np.arange(len(pairs))[::-1]

    def boxes(classes: Classes) -> Iterator[list[list[int]]]:
        seen = np.unique(np.stack([classes.member_of, classes.members], axis=1), axis=0)
        for start, stop in pairwise(np.searchsorted(seen[:, 0], np.arange(classes.count + 1)).tolist()):
            summaries = classes.summaries[seen[start:stop, 1]]
            yield [sorted(set(pair_of[u, summaries[:, row]].tolist())) for u, row in enumerate(rows.tolist())]

    return boxes
