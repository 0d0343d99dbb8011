"""Verdicts at every length: random checkpoints without positions, judged by all words of up to a few symbols."""

import json
from collections.abc import Sequence

from numpy.random import Generator

from tests import verdict_cases
from tests.fuzzing.kinds import Document, Kind, Trial, Verdict, sealed
from tests.fuzzing.verdicts import any_checkpoint
from tests.fuzzing.verdicts import mutant as changed

N = 5


def original(rng: Generator) -> Trial:
    """A random model, three in ten without a start token, one in two with LayerNorm elsewhere, two thirds read at a
    token of its own, with a claim about a random language, of every length or up to a wrong word."""
    while True:
        model, naive = any_checkpoint(rng)
        if model.positions is None:
            graph = verdict_cases.graph_of_words(rng, model, naive, rng.random() < 1 / 3)
            found = verdict_cases.at_every_length(model, graph, 8)
            if found.proves and found.status != "open":
                return Trial(model.content, found.to_bytes())


def mutant(rng: Generator, pool: Sequence[Trial]) -> Trial:
    """As of a verdict up to a length, or another block of lengths."""
    base = pool[int(rng.integers(len(pool)))]
    document = json.loads(base.proof)
    if rng.random() < 0.15 and document["blocks"]:
        block = document["blocks"][int(rng.integers(len(document["blocks"])))]
        block[int(rng.integers(2))] += int(rng.integers(-2, 3))
        return sealed(base.model, document)
    if rng.random() < 0.15:
        document["scale"] += int(rng.integers(-2, 3))
        return sealed(base.model, document)
    return changed(rng, pool)


def true_of(content: bytes, document: Document) -> bool:
    """Whether all words of up to ``N`` symbols agree with a claim."""
    wrong, blocks = document.get("wrong"), document["blocks"]
    upto = blocks[-1][1] if blocks else 0
    long = document | {"n": N + len(document["language"]["delta"])}
    word = None if wrong is None else tuple(wrong["word"])
    most = min(N, N if upto < 0 else upto if word is None else max(upto, len(word)))
    bad = verdict_cases.wrong_words(verdict_cases.as_said(content, document), long, most)
    if word is None:
        return next(bad, None) is None
    found = list(bad)
    return (len(word) > N or word in found) and not (word and [w for w in found if len(w) <= upto])


def judge(trial: Trial) -> Verdict:
    """By all words of up to ``N`` symbols."""
    return "true" if true_of(trial.model, json.loads(trial.proof)) else "false"


KINDS = [Kind("every length", original, mutant, judge, suffix=".safetensors", each=100)]
