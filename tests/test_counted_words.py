"""Claims about every length against all words by their counts, and against words whose cycles are repeated up to 10^9
times: what is verified is true of them, and a claim that is false by little is not verified, whatever its hints."""

import numpy as np
import pytest

from restrict.soft.trained.confirm import confirmed
from restrict.soft.trained.graph import Graph
from tests import counts, forged, near_claims, verdict_cases
from tests.marks import heavy_after
from tests.near_claims import Near, asked


def drawn(seed: int) -> tuple[np.random.Generator, Near]:
    """A claim that is nearly false; the first draw that gives one."""
    rng = np.random.default_rng([20261127, seed])
    found = iter(lambda: near_claims.near(rng, near_claims.wild(rng)), 0)
    return rng, next(near for near in found if near is not None)


@pytest.mark.parametrize("seed", heavy_after(range(60), 6))
def test_logits_by_counts_are_those_of_forward_passes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    norm = ("", "post", "no-last", "none")[seed % 4]
    model, naive = verdict_cases.random_checkpoint(rng, start=bool(seed % 3), norm=norm)
    if model.positions is not None:
        return
    one = Graph(((0,) * len(model.symbols),), frozenset({0}), (0,), (frozenset(),))
    read = counts.Counted(model.content, asked(one, model)["model"])
    for n in (0, 1, 2, 9) if not model.first else (1, 2, 9):
        word = rng.integers(len(model.symbols), size=n)
        row = np.bincount(word, minlength=len(model.symbols))[None]
        said = read.logits(row.astype(float), word[-1:] if n else np.array([-1]))
        assert np.allclose(said[0], naive.logits(tuple(model.tokens[s] for s in word)), atol=1e-9)


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
    rng, near = drawn(seed)
    for model in (near.right, near.wrong):
        found, line = confirmed(verdict_cases.at_every_length(model, near.graph, 16), "c")
        if line is not None:
            assert list(counts.faults(model.content, found.document(), rng)) == []


@pytest.mark.parametrize("seed", heavy_after(range(400), 4))
def test_hints_of_a_true_claim_do_not_prove_one_that_is_false_by_little(seed: int) -> None:
    """Those of the twin, with narrower boxes and potentials that nearly hold; and other claims with these hints."""
    rng, near = drawn(seed)
    found, line = confirmed(verdict_cases.at_every_length(near.right, near.graph, 16), "c")
    if line is None:
        return
    document, content = found.document(), near.wrong.content
    sealed = document | {"model": document["model"] | {"sha256": near.wrong.sha256}}
    for made in (sealed, *forged.narrowed(rng, content, sealed)):
        if verdict_cases.accepted(near.wrong, made):
            assert list(counts.faults(content, made, rng)) == []
    for made in forged.claims(rng, document):
        if verdict_cases.accepted(near.right, made):
            assert list(counts.faults(near.right.content, made, rng)) == []
