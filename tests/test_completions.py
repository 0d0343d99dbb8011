"""Forced decisions of nearly false claims, against all completions: what is verified is true, whatever the hints."""

import numpy as np
import pytest

from tests import completions, counts, near_claims, verdict_cases
from tests.marks import heavy_after


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
    """Of a restriction that nearly decides and one that nearly does not, of those that are found, and of forgeries."""
    rng = np.random.default_rng([20261127, seed])
    said = near_claims.attack_forced(rng, near_claims.drawn_held(rng))
    assert said.total() >= 4
