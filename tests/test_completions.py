"""Nearly false claims against all completions, and against words with cycles that are repeated up to 10^9 times."""

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
    for n in (0, 1, 2, 5, 9) if not model.first else (1, 2, 5, 9):
        words = rng.integers(len(model.symbols), size=(3, n))
        ended = np.hstack([words, np.full((3, 1), len(model.symbols))]) if reader else words
        if model.longest is None or n <= model.longest:
            for word, row in zip(words.tolist(), read.words(ended), strict=True):
                assert np.allclose(row, naive.logits((*(model.tokens[s] for s in word), *reader)), atol=1e-9)
        if model.positions is None:
            rows = np.array([np.bincount(word, minlength=len(said["rows"])) for word in ended])
            last = ended[:, -1] if ended.size else np.full(3, -1)
            by_counts = counts.Counted(model.content, said).logits(rows.astype(float), last)
            assert np.allclose(read.words(ended), by_counts, atol=1e-9)


@pytest.mark.parametrize("seed", heavy_after(range(400), 6))
def test_what_is_verified_as_forced_is_so_behind_all_completions(seed: int) -> None:
    """Of a restriction that nearly decides and one that nearly does not, of those that are found, and of forgeries."""
    rng = np.random.default_rng([20261127, seed])
    said = near_claims.attack_forced(rng, near_claims.drawn_held(rng))
    assert said.total() >= 4


# ----------------------------------------------------------------
# Claims about every length against all words by their counts, and against words whose cycles are repeated up to 10^9
# times: what is verified is true of them, and a claim that is false by little is not verified, whatever its hints.


def test_long_words_are_words_of_the_automaton() -> None:
    """Counts with repeated cycles, against all words of up to eight symbols."""
    rng = np.random.default_rng(5)
    language = {"delta": [[1, 2], [0, -1], [2, 1]], "accept": [0]}
    every, _ = counts.short(language, 8, True)
    some = counts.long(rng, language, 400, most=1.0)
    known, few = (set(zip(map(tuple, w.counts.tolist()), w.last, w.state, strict=True)) for w in (every, some))
    few = {word for word in few if sum(word[0]) <= 8}
    assert len(few) > 20
    assert known >= few


@pytest.mark.parametrize("seed", heavy_after(range(400), 4))
def test_what_is_verified_of_every_length_is_true_of_short_and_of_long_words(seed: int) -> None:
    """Of a claim that is true by little, of its twin that is false by little, and of forgeries."""
    rng = np.random.default_rng([20261127, seed])
    said = near_claims.attack_every_length(rng, near_claims.drawn_near(rng))
    assert said.total() >= 2
