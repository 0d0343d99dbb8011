"""Proofs for all lengths: what the construction writes is verified, and no mutant with a false claim is."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths.proof import document, to_bytes
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.costs import Costs as CheckedCosts
from restrict.checker.main import verify
from restrict.languages.quasilinear import QuasiLinear, least_costs
from restrict.model.fileformat import dumps
from tests import documents
from tests.fuzzing.kinds import sealed
from tests.length_claims import Subject, true_claim, truth
from tests.marks import heavy_after


def proof_of(model: dict[str, Any], claim: dict[str, Any] | None = None) -> tuple[bytes, dict[str, Any]]:
    """The model's bytes and a proof with a claim, by default one that is true."""
    subject = Subject(model, content := dumps(model))
    claim = claim or true_claim(np.random.default_rng(0), subject)
    return content, document(subject.model, subject.built, claim)


def assert_proved(model: dict[str, Any]) -> None:
    """A true claim about a model is verified."""
    content, proof = proof_of(model)
    assert verify(content, to_bytes(proof)).startswith("s VERIFIED all-lengths ")


def refused(model: dict[str, Any], proof: dict[str, Any], match: str = ".") -> Reject:
    """The refusal of a proof that is given for this model."""
    trial = sealed(model, proof)
    with pytest.raises(Reject, match=match) as caught:
        verify(trial.model, trial.proof)
    return caught.value


@pytest.mark.parametrize("score", ["k", "k if 1 else q", "(i if 0 else k) + 0 * j", "j if 0 else k"])
@pytest.mark.parametrize("rule", ["token if 0 else h", "i if 0 else h", "h + 0 * (n if 0 else 1)", "(h if 1 else 2)"])
def test_names_in_dead_branches_leave_a_proof(rule: str, score: str) -> None:
    """Found by the sweep over all lengths: the engine folds them, the checker looks them up."""
    roles = {"query": "token", "key": "token"}
    head = documents.head("h", score, **roles, mask="past", ties="right", default=0)
    last = documents.map_("m", ["h", "token"], 2, rule)
    assert_proved(documents.model(head, last, alphabet="ab", position="last", accept=[1]))


@pytest.mark.parametrize("mask", ["none", "past", "strict_past", "future", "strict_future"])
@pytest.mark.parametrize("name", ["left", "far_right", "copyleft1"])
def test_a_head_that_looks_at_distances_may_have_any_name(name: str, mask: str) -> None:
    """Found by reading: the checker looked for the side in the whole name, `left@right1`, and refused the proof."""
    near = documents.head(name, "(j == i + 1) + (j == i - 1)", mask=mask, domain=3, default=2)
    seen = documents.map_("seen", [name], 2, f"{name} == 1")
    last = documents.head("h", "k", "seen", key="seen")
    assert_proved(documents.model(near, seen, last, position="last", accept=[1]))


HEAD = documents.head("h", "k", key="token", mask="past")
CONTAINS_B = documents.model(HEAD, alphabet="ab", position="last", accept=[1], name="contains-b")


def test_a_claim_from_length_0_is_checked_at_length_1() -> None:
    """The pair of states after the first letter may be the one at the start, of which nothing is claimed."""
    false = {"format": "restrict-dfa/1", "alphabet": ["a", "b"], "start": 0, "accept": [0], "transitions": [[0, 0]]}
    _, proof = proof_of(CONTAINS_B, {"kind": "recognises", "language": false, "from": 0})
    refused(CONTAINS_B, proof, "differ on a word of 1 positions")


def test_domains_that_grow_with_n_do_not_mix_up_pairs() -> None:
    """At n = 2 the domain of v has 2 values; if 5 were packed with 2, it would be read as another key and value."""

    def model(domain: int | str, rule: str) -> dict[str, Any]:
        value = documents.map_("v", ["token"], domain, rule)
        return documents.model(value, {**HEAD, "value": "v"}, alphabet="ab", position="last", accept=[5])

    language = {"format": "restrict-dfa/1", "alphabet": ["a", "b"], "start": 0, "accept": [1]}
    language["transitions"] = [[0, 1], [1, 1]]
    content, proof = proof_of(model(6, "5 * token"), {"kind": "recognises", "language": language, "from": 0})
    assert verify(content, to_bytes(proof)).startswith("s VERIFIED")
    refused(model("n", "5 if n >= 10 and token == 1 else token"), proof)


@pytest.mark.parametrize("most", heavy_after((60, 400, 1500), 1))
def test_forcing_costs_of_random_automata_are_exact(most: int) -> None:
    """Random automata, with groups: the least costs at every length up to 7 by all restrictions one by one, further by
    sets of states; and the checker accepts what is computed, and no other function that differs at a short length."""
    rng = np.random.default_rng(most)
    growing = refused = 0
    for _ in range(most):
        letters, states = int(rng.integers(1, 4)), int(rng.integers(1, 6))
        delta = rng.integers(states, size=(states, letters))
        if rng.random() < 0.5:  # letters that permute the states
            for a in range(letters):
                delta[:, a] = rng.permutation(states) if rng.random() < 0.7 else delta[:, a]
        good = frozenset(np.flatnonzero(rng.random(states) < 0.5).tolist())
        edges, goals = naive_sets(delta.tolist(), good)
        found, settled = least_costs(edges, goals)
        short = 7 if letters < 3 else 5
        truth = [naive_cost(delta.tolist(), good, t) for t in range(short)]
        assert [found(t) for t in range(short)] == truth
        far = len(found.values) + 3 * found.period + 20
        assert [found(t) for t in range(far)] == naive_walks(edges, goals, far)
        growing += not found.bounded
        fields = {"costs": list(found.values), "growth": list(found.growth)}
        fields |= {"settled": max(settled.first, found.start), "turn": settled.turn}
        check_costs(fields, edges, goals)
        which = str(rng.choice(["costs", "growth"]))
        at = int(rng.integers(len(fields[which])))
        fields[which][at] = max(0, fields[which][at] + int(rng.choice([-1, 1])))
        wrong = QuasiLinear(tuple(fields["costs"]), tuple(fields["growth"]))
        if any(wrong(t) != found(t) for t in range(far)):
            with pytest.raises(Reject):
                check_costs(fields, edges, goals)
            refused += 1
    assert growing >= most // 10
    assert refused >= most // 3


def check_costs(fields: dict[str, Any], edges: list[list[int]], goals: list[int]) -> None:
    """The trusted checker's own test of a graph's least costs."""
    place = Place("proof", "claim")
    CheckedCosts(dict(fields), place, Meter(10**9)).check(edges, goals, 0)


def naive_sets(delta: list[list[int]], good: frozenset[int]) -> tuple[list[list[int]], list[int]]:
    """The graph of sets of states; which of them force."""
    known = {frozenset([0]): 0}
    order, edges = list(known), []
    for states in order:
        parts = [frozenset(delta[q][a] for q in states) for a in range(len(delta[0]))]
        for part in (frozenset().union(*parts), *parts):
            if part not in known:
                known[part] = len(order)
                order.append(part)
        edges.append([known[part] for part in (frozenset().union(*parts), *parts)])
    return edges, [v for v, states in enumerate(order) if states <= good]


def naive_cost(delta: list[list[int]], good: frozenset[int], t: int) -> int:
    """All restrictions of ``t`` positions, and all completions of each."""
    letters = range(len(delta[0]))
    costs = []
    for cells in product((-1, *letters), repeat=t):
        states = {0}
        for cell in cells:
            states = {delta[q][a] for q in states for a in (letters if cell < 0 else (cell,))}
        if states <= good:
            costs.append(sum(cell >= 0 for cell in cells))
    return min(costs, default=-1)


def naive_walks(edges: list[list[int]], goals: list[int], most: int) -> list[int]:
    """The least costs of walks, length by length."""
    here, out = {0: 0}, []
    for _ in range(most):
        out.append(min((c for v, c in here.items() if v in goals), default=-1))
        after: dict[int, int] = {}
        for v, c in here.items():
            for k, to in enumerate(edges[v]):
                after[to] = min(after.get(to, c + 1), c + (k > 0))
        here = after
    return out


def test_a_rule_that_divides_by_0_at_a_longer_length_ends_in_a_rejection() -> None:
    """At the proof's own length, 2, the divisor is 3 or 2; at position 3 it is 0. The other model agrees until then."""
    one, other = (
        documents.model(documents.map_("a", ["token"], 6, rule), alphabet="ab", position="last", accept=[1])
        for rule in ("5 // max(3 - i % 7, 1)", "5 // (3 - i % 7)")
    )
    claim = {"kind": "forces", "label": "accept", "start": [], "middle": ["*"], "end": [], "from": 1}
    _, proof = proof_of(one, claim)
    assert proof["n"] == 2
    assert refused(other, proof, "at some length a rule divides by 0").code == 3


def test_the_judge_of_mutants_knows_parity_by_its_name() -> None:
    """A mutant may name it; its judge took it for brackets, and a true claim for a false one."""
    subject = Subject(CONTAINS_B, dumps(CONTAINS_B))
    claim = {"kind": "differs", "word": ["b", "b"], "from": 1, "shortest": 1}
    assert truth(subject, claim | {"language": {"name": "parity", "alphabet": ["a", "b"]}})
    assert not truth(subject, claim | {"language": {"name": "parity", "alphabet": ["b", "a"]}})
