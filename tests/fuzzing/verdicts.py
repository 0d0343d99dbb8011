"""Verdicts on trained models: random checkpoints of a few dozen weights, judged by all words of the language."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from restrict.base.options import changed
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from tests import verdict_cases
from tests.fuzzing import by_shape
from tests.fuzzing.changes import bytes_changed, nudge, restructure
from tests.fuzzing.kinds import Document, Kind, Trial, Verdict, sealed
from tests.fuzzing.operators import pick
from tests.naive_gpt2 import Naive

N = 3
READ_AS = (
    ("heads", (1, 2, 3)), ("activation", ("relu", "gelu_new")), ("offset", (0, 1, 2)),
    ("epsilon", ("1/100000", "1/10", "1/1")), ("norm", ("post", "no-last", "none")), ("reads", ("first", "last")),
)  # fmt: skip


def any_checkpoint(rng: Generator, layers: int = 1) -> tuple[Trained, Naive]:
    """A random model: three in ten have no start token, one in two LayerNorm elsewhere, two thirds of one layer are
    read at a token of its own."""
    norm = str(rng.choice(verdict_cases.NORMS))
    reads = str(rng.choice(["", "first", "last"])) if layers == 1 else ""
    return verdict_cases.random_checkpoint(rng, layers, reads == "first" or rng.random() < 0.7, norm, reads)


def original(rng: Generator) -> Trial:
    """A random model with a claim about a random language that the engine proves; three in ten have no start token, one
    in two LayerNorm elsewhere, two thirds of one layer are read at a token of its own, half have axes of their own for
    every case, a third two layers, half of these slopes at every cell, and a third compare logits. One layer of two
    heads has bounds on quotients in every case, and half of one layer have pieces of the inverse deviation, with bounds
    on what neurons read."""
    while True:
        model, naive = any_checkpoint(rng, 2 if rng.random() < 1 / 3 else 1)
        own = {"few": 0, "shortest": 1, "gain": 9.0} if rng.random() < 0.5 else {}
        slopes = verdict_cases.steep(rng) if len(model.layers) == 2 and rng.random() < 0.5 else nullcontext()
        with changed(OPTIONS, **own), slopes:
            graph = verdict_cases.graph_of_words(rng, model, naive, rng.random() < 1 / 3)
            found = verify_trained(model, graph, N, seconds=60)
        found = verdict_cases.with_quotients(found) if len(model.layers) == 1 else found
        found = verdict_cases.with_pieces(found) if len(model.layers) == 1 and rng.random() < 0.5 else found
        found = verdict_cases.with_multipliers(rng, found) if len(model.layers) == 1 and rng.random() < 0.5 else found
        if found.proves:
            return Trial(model.content, found.to_bytes())


def mutant(rng: Generator, pool: Sequence[Trial]) -> Trial:
    """A small change of the certificate's numbers, of its structure, by its shape, of the weights, or of its bytes."""
    base, how = pool[int(rng.integers(len(pool)))], rng.random()
    document = json.loads(base.proof)
    if rng.random() < 0.3:
        by_shape.changed(rng, by_shape.any_one(rng), document, json.loads(pick(rng, pool).proof))
        return sealed(base.model, document)
    if how < 0.3:
        claim_changed(rng, document)
        return sealed(base.model, document)
    if how < 0.7:
        return sealed(base.model, verdict_cases.mutated(rng, document))
    if how < 0.85:
        return sealed(weights_changed(rng, base.model), document)
    if how < 0.95:
        (nudge if how < 0.91 else restructure)(rng, document)
        return replace(base, proof=json.dumps(document).encode())
    return replace(base, proof=bytes_changed(rng, base.proof))


def claim_changed(rng: Generator, document: Document) -> None:
    """Another claim with the same hints, in place: of the language, of what is wanted and how, of how weights are
    read."""
    language, said, kind = document["language"], document["model"], int(rng.integers(9))
    state = int(rng.integers(len(language["want"])))
    if kind <= 1:
        label = pick(rng, language["labels"])
        language["want"][state] = sorted({*language["want"][state]} ^ {label})
    elif kind == 2 and language["delta"][state]:
        row = language["delta"][state]
        row[int(rng.integers(len(row)))] = int(rng.integers(-1, len(language["delta"])))
    elif kind == 3:
        language["accept"] = sorted({*language["accept"]} ^ {state})
    elif kind == 4:
        document |= {key: int(document[key] + rng.integers(-1, 2)) for key in ("n", "upto") if key in document}
    elif kind == 5:
        if language.pop("read_out", None) is None:
            language["read_out"] = "greatest"
    elif kind == 6:
        if said.pop("start", None) is None:
            said["start"] = int(rng.integers(len(said["rows"]) + 2))
    elif kind == 7:
        if said.pop("reads", None) is None:
            said["reads"] = "last"
    else:
        key, values = pick(rng, [*READ_AS, ("rows", (said["rows"][::-1],))])
        said[key] = pick(rng, values)
    if "wrong" in document and rng.random() < 0.3:
        word = document["wrong"]["word"]
        word[-1:] = [] if rng.random() < 0.5 else [int(rng.integers(len(said["rows"])))]


def altered(rng: Generator, proof: bytes) -> Document:
    """A certificate with another claim, or with one thing changed anywhere."""
    document: Document = json.loads(proof)
    if rng.random() < 0.5:
        changed: Document = verdict_cases.mutated(rng, document)
        return changed
    claim_changed(rng, document)
    return document


def weights_changed(rng: Generator, content: bytes) -> bytes:
    """The file with one weight a little or much larger."""
    start = 8 + int.from_bytes(content[:8], "little")
    weights = np.frombuffer(content[start:], np.float32).copy()
    weights[int(rng.integers(len(weights)))] *= np.float32(rng.choice([-1, 0, 0.99, 1.001, 1.3, 5]))
    return content[:start] + weights.tobytes()


def judge(trial: Trial) -> Verdict:
    """Every prefix of every word, by a plain forward pass with the settings that the certificate names."""
    found = verdict_cases.true_of(trial.model, json.loads(trial.proof))
    return "undecided" if found is None else "true" if found else "false"


KINDS = [Kind("verdict", original, mutant, judge, suffix=".safetensors", each=400)]
