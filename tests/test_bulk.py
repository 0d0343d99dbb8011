"""The abstract run at all positions at once says of every node what the run node by node says."""

import numpy as np
import pytest

import restrict
from restrict.abstract import all_positions as bulk
from restrict.abstract.all_positions import AllPositions, supported
from restrict.abstract.run import abstract_run, positions_of
from restrict.certificate.certificate import certificate_of, claim_of
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Head, Instance, Map, Model, Output
from restrict.model.restriction import Restriction
from tests.generator import random_program, random_tokens
from tests.marks import heavy_after


def assert_same(at: Instance, rho: Restriction) -> None:
    """V and D of every node, and D of every label, by both runs."""
    slow, fast = abstract_run(at, rho, "all"), AllPositions(at, rho)
    labels = fast.label_sets()
    for i in range(at.n):
        for v in at.model.variables:
            mask = int(fast.facts[v.name].values[i])
            assert tuple(slow.values(v.name, i)) == tuple(w for w in range(62) if mask >> w & 1), (v.name, i)
            assert positions_of(slow.depends(v.name, i)) == fast.positions(fast.facts[v.name].sets, i), (v.name, i)
        assert positions_of(slow.label_depends(i)) == fast.positions(labels, i)
    assert labels.sizes().max() == max(slow.label_depends(i).bit_count() for i in range(at.n))


def random_restriction(rng: np.random.Generator, at: Instance) -> Restriction:
    return Restriction.of(at, random_tokens(rng, at, rng.choice([0.1, 0.4, 0.8])))


@pytest.mark.nojit
@pytest.mark.parametrize("programs", heavy_after((20, 400), 1))
def test_random_programs_get_the_same_from_both_runs(programs: int) -> None:
    rng = np.random.default_rng(11)
    done = heads = 0
    while done < programs:
        n = int(rng.integers(2, 10))
        at = loads(dumps(random_program(rng, n))).at(n)
        if supported(at):
            assert_same(at, random_restriction(rng, at))
            done += 1
            heads += sum(isinstance(v, Head) for v in at.model.variables)
    assert heads > programs // 2


@pytest.mark.nojit
@pytest.mark.parametrize("ties", ["left", "right"])
@pytest.mark.parametrize("mask", ["none", "past", "strict_past", "future", "strict_future"])
@pytest.mark.parametrize("some", heavy_after((slice(1, 2), slice(None)), 1))
def test_longer_words_get_the_same_in_small_blocks_with_little_room(
    mask: str, ties: str, some: slice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sweeps that stop for lack of levels, runs or room, and at every block, give the same answer."""
    monkeypatch.setattr("restrict.abstract.options.RUN.block", 16)
    make = bulk._Work.__init__
    monkeypatch.setattr(bulk._Work, "__init__", lambda self, n, domain: make(self, n, domain, slots=2, capacity=1))
    rng = np.random.default_rng(5)
    for scores in ("hash(j, k) // 4", "hash(j, k) % 5", "k", "hash(j, k) % 40 - j % 3")[some]:
        first = Head("h", "token", scores, key="token", mask=mask, ties=ties)
        second = Head("g", "m", scores + " + 2 * q", key="m", query="h", mask=mask, ties=ties)
        variables = (first, Map("m", ("token", "h"), 3, "(token + 2 * h) % 3"), second)
        at = Model("two heads", ("a", "b", "c"), variables, Output("g", "every")).at(48)
        for _ in range(2):
            assert_same(at, random_restriction(rng, at))


@pytest.mark.parametrize("ties", ["left", "right"])
@pytest.mark.parametrize("mask", ["none", "past", "strict_past", "future", "strict_future"])
def test_scores_at_both_ends_of_64_bits_get_the_same(mask: str, ties: str) -> None:
    """No score has a neighbour outside 64 bits that is computed."""
    rng = np.random.default_rng(7)
    for scores in ("9223372036854775807 - k % 2", "-9223372036854775807 - k % 2", "9223372036854775807 * (2 * k - 1)"):
        head = Head("h", "token", scores, key="token", mask=mask, ties=ties)
        own = Head("g", "token", scores, key="token", query="h", mask=mask, ties=ties)
        at = Model("ends", ("a", "b"), (head, own), Output("g", "every")).at(9)
        for _ in range(3):
            assert_same(at, random_restriction(rng, at))


def test_what_it_cannot_do_is_said() -> None:
    wide = Head("h", "token", "k + i", key="token")
    assert not supported(Model("i", ("a", "b"), (wide,), Output("h", "every")).at(4))
    assert not supported(Model("p", ("a", "b"), (Head("h", "position", "k", key="token"),), Output("h", "every")).at(4))
    assert supported(Model("k", ("a", "b"), (Head("h", "token", "k", key="token"),), Output("h", "every")).at(4))


@pytest.mark.parametrize("lengths", heavy_after(((200, 10_000), (200, 2000, 1_000_000)), 1))
def test_a_claim_for_a_million_positions(lengths: tuple[int, ...]) -> None:
    """Every 50th symbol fixed: `since` then looks back at most 49 free positions, wherever it stands."""
    since = Head("since", "a", "k", key="stop", mask="past", ties="right")
    variables = (Map("a", ("token",), 2, "token == 1"), Map("stop", ("token",), 2, "token > 0"), since)
    model = Model("since", ("x", "a", "b"), variables, Output("since", "every"))
    for n in lengths:
        at = model.at(n)
        rho = Restriction.of(at, dict.fromkeys(range(0, n, 50), 1))
        certificate = certificate_of(at, rho, "all", "all")
        assert (certificate.c, certificate.free) == (49, n - n // 50)
        if n <= 2000:  # a proof has n rows; at a million they do not fit into 2 GiB
            assert restrict.check(model, certificate).startswith(
                f"s VERIFIED n={n} target=all free={n - n // 50} c=49 "
            )
        if n == 200:
            assert certificate.claim == claim_of(abstract_run(at, rho, "all"), "all")
    assert certificate_of(at, rho, "all", n - 1).claim.dependencies == tuple(range(n - 49, n))
