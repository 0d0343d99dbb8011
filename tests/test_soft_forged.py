"""Claims about trained models that are just false, with the hints of the true claim beside them: none is accepted. And
what programs and given certificates say, against all short words."""

import copy
import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths.decisions import decides_empty, decisions_of
from restrict.base.errors import NotEstablished, RestrictError
from restrict.model.fileformat import dumps, loads
from restrict.soft.restriction.forced import Decision, force_decision
from restrict.soft.trained.graph import all_words, dfa_of, empty_left_out, graph_of
from restrict.soft.trained.model import shifted
from tests import generator, verdict_cases
from tests.fuzzing.meaning import Meaning
from tests.marks import heavy_after
from tests.near_claims import biased
from tests.verdict_cases import by_pieces

KINDS: tuple[dict[str, Any], ...] = (
    {}, {"reads": "first"}, {"reads": "last"}, {"start": False}, {"norm": "post"}, {"norm": "none"},
    {"reads": "last", "start": False}, {"norm": "no-last"},
)  # fmt: skip


def hints(document: Any, rng: np.random.Generator) -> Iterator[Any]:
    """The certificate, with narrower boxes, and with its cells in pieces."""
    yield document
    for share in (1e-4, 0.3, 1.0):
        made = copy.deepcopy(document)
        for case in made["cases"]:
            cut = [int(share * w * rng.random()) for w in case[4]]
            case[3:5] = [u - int(c * rng.random()) for u, c in zip(case[3], cut, strict=True)], \
                [w - c for w, c in zip(case[4], cut, strict=True)]  # fmt: skip
        yield made
    made = copy.deepcopy(document)
    for case in made["cases"]:
        case[5:6] = [by_pieces(case[5] if len(case) > 5 else 0)]
    yield made


@pytest.mark.parametrize("seed", heavy_after(range(48), 4))
def test_a_decision_that_one_completion_does_not_share_is_not_forced(seed: int) -> None:
    """The bias is put where the worst completion is on the right side by 0.01, then on the wrong one by 1e-9."""
    rng = np.random.default_rng(seed)
    model, naive = verdict_cases.random_checkpoint(rng, **KINDS[seed % len(KINDS)])
    n, symbols, labels = 3, range(len(model.symbols)), rng.permutation(len(model.labels))[:2].tolist()
    if model.positions is not None and seed % 2:
        model, naive.config["offset"] = shifted(model, 2), 2
    fixed = {int(j) + 1: int(rng.integers(len(symbols))) for j in rng.permutation(n)[: rng.integers(0, n + 1)]}
    reader = () if model.reader is None else (model.reader,)
    words = itertools.product(*([fixed[j]] if j in fixed else symbols for j in range(1, n + 1)))
    said = [naive.logits((*(model.tokens[s] for s in word), *reader)) for word in words]
    first, greatest = labels[0], len(labels) == 2 and seed % 3 == 0
    worst = min(row[first] - (row[labels[1]] if greatest else 0.0) for row in said)
    decision = Decision(tuple(labels if greatest else labels[:1]), greatest)
    try:
        found = force_decision(biased(model, first, 0.01 - worst), n, decision, fixed=fixed)
    except NotEstablished:
        return
    assert found.graph.want[0] == {first}
    false = biased(model, first, -1e-9 - worst)
    document = json.loads(found.to_bytes())
    assert verdict_cases.accepted(found.model, document)
    document["model"]["sha256"] = false.sha256
    for made in hints(document, rng):
        assert not verdict_cases.accepted(false, made)


@pytest.mark.parametrize("seed", heavy_after(range(40), 2))
def test_the_graph_of_a_program_is_its_decisions_on_all_short_words(seed: int) -> None:
    """Random programs, with markers or without, whose alphabet has the model's symbols in another order."""
    rng, most = np.random.default_rng(seed), 4
    model, naive = verdict_cases.random_checkpoint(rng, **KINDS[seed % 4])
    while model.labels != model.vocab:
        model, naive = verdict_cases.random_checkpoint(rng, **KINDS[seed % 4])
    end, reader = model.outputs[-1], () if model.reader is None else (model.reader,)
    for _ in range(4):
        program = generator.random_order_only(rng, letters=len(model.symbols))
        program["alphabet"] = [model.symbols[k] for k in rng.permutation(len(model.symbols))]
        read = loads(dumps(program))
        try:
            decided = dfa_of(decisions_of(read, model.symbols), model)
        except RestrictError:  # not order-only, or without an answer
            continue
        graph = graph_of(model, decided, all_words(model), "membership")
        graph, runs = graph if decides_empty(read) else empty_left_out(model, graph), Meaning(program)
        for word in (w for n in range(most + 1) for w in itertools.product(range(len(model.symbols)), repeat=n)):
            defined = len(word) + runs.markers > 0 and runs.defined(len(word) + runs.markers)
            given = tuple(program["alphabet"].index(model.symbols[s]) for s in word)
            runs.learn([given] if defined else [])
            says = bool(defined) and runs.labels(given)[-1] == "accept"
            if not word and not defined:  # nothing is asked: what the model says, or anything where it has no answer
                says = naive.logits(reader)[end] > 0 if graph.empty else end in graph.want[0]
            assert (end in graph.want[graph.state(word)]) == says
