"""Forced decisions of nearly false claims, against all completions: what is verified is true, whatever the hints."""

import numpy as np
import pytest

from restrict.base.errors import NotEstablished
from restrict.soft.restriction.forced import force_decision
from tests import completions, counts, forged, near_claims, verdict_cases
from tests.marks import heavy_after
from tests.near_claims import Held


def drawn(seed: int) -> tuple[np.random.Generator, Held]:
    """A restriction that nearly decides, with positions or without; the first draw that gives one."""
    rng = np.random.default_rng([20261127, seed])
    found = (near_claims.held(rng, near_claims.wild(rng, 12 * (seed % 2)), int(rng.integers(7))) for _ in iter(int, 1))
    return rng, next(held for held in found if held is not None)


@pytest.mark.parametrize("seed", heavy_after(range(60), 12))
def test_logits_of_many_words_at_once_are_those_of_forward_passes(seed: int) -> None:
    rng, reads = np.random.default_rng(seed), ("", "first", "last")[seed % 3]
    start, norm = reads == "first" or seed % 4 > 0, ("", "post", "no-last", "none")[seed % 4]
    model, naive = verdict_cases.random_checkpoint(rng, start=start, norm=norm, reads=reads)
    graph = verdict_cases.graph_of_words(rng, model, naive)
    said = near_claims.asked(graph, model)["model"]
    read, reader = completions.Placed(model.content, said), () if model.reader is None else (model.reader,)
    words = rng.integers(len(model.symbols), size=(3, 5))
    ended = np.hstack([words, np.full((3, 1), len(model.symbols))]) if reader else words
    for word, row in zip(words.tolist(), read.words(ended), strict=True):
        assert np.allclose(row, naive.logits((*(model.tokens[s] for s in word), *reader)), atol=1e-9)
    if model.positions is None:
        rows = np.array([np.bincount(word, minlength=len(said["rows"])) for word in ended])
        by_counts = counts.Counted(model.content, said).logits(rows.astype(float), ended[:, -1])
        assert np.allclose(read.words(ended), by_counts, atol=1e-9)


@pytest.mark.parametrize("seed", heavy_after(range(400), 6))
def test_what_is_verified_as_forced_is_so_behind_all_completions(seed: int) -> None:
    """With the symbols that are drawn, and with those that a search finds; where it is false by little, and where not;
    with the hints of the twin, narrower boxes and fewer cases; and other claims with these hints."""
    rng, held = drawn(seed)
    for model, fixed in ((m, f) for m in (held.right, held.wrong) for f in (held.fixed, None)):
        try:
            found = force_decision(model, held.n, held.decision, inputs=held.inputs, fixed=fixed, seconds=0.5)
        except NotEstablished:
            continue
        document = found.document()
        assert found.verified == completions.line_of(document)
        assert list(completions.faults(model.content, document, rng)) == []
        sealed = document | {"model": document["model"] | {"sha256": held.wrong.sha256}}
        for made in (sealed, *forged.fewer(rng, held.wrong.content, sealed)):
            if verdict_cases.accepted(held.wrong, made):
                assert list(completions.faults(held.wrong.content, made, rng)) == []
        for made in forged.restrictions(rng, document):
            if verdict_cases.accepted(model, made):
                assert list(completions.faults(model.content, made, rng)) == []
