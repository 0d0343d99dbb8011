"""Verdicts at every length: bounds, claims and mutants against all words, and plain forward passes."""

import json
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from restrict.base.errors import RestrictError, UsageError
from restrict.checker.account import Meter, Place
from restrict.checker.main import verify
from restrict.checker.verdict import Check
from restrict.checker.verdict_every import Everywhere, closed
from restrict.checker.verdict_paths import Language
from restrict.soft.trained.cycles import ALL, EverySearch, cases
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.every_length import EveryLength, verify_every_length
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from tests import verdict_cases
from tests.commands import failed, succeeded, typed
from tests.fuzzing import every_length
from tests.marks import heavy_after, rows_after
from tests.naive_gpt2 import Naive, prefixes
from tests.verdict_cases import in_bases, refusal

ROOT = Path(__file__).resolve().parent.parent
BROKEN, LOOPS = "dyck1-depth2-1l1h16d-nope", "ax-or-ay-1l1h16d-nope"
PROVED = "tomita1-1l1h16d-nope"


@cache
def without_positions(seed: int) -> tuple[Trained, Naive, Graph]:
    """A random model without positions, with a random language."""
    rng = np.random.default_rng(seed)
    cases = iter(lambda: verdict_cases.random_case(rng), None)
    return next(case for case in cases if case[0].positions is None)


@cache
def answered(seed: int) -> EveryLength:
    """The verdict on a random model, at every length."""
    model, _, graph = without_positions(seed)
    return verdict_cases.at_every_length(model, graph, 16)


def test_a_verdict_on_no_word_of_any_length_is_none() -> None:
    """A language without a word is refused by the engine, and by the checker where a certificate names one."""
    model, _, graph = without_positions(3)
    empty = Graph(graph.delta, frozenset(), graph.labels, graph.want, graph.of)
    with pytest.raises(UsageError, match="no word"):
        verify_every_length(model, empty)
    found = next(f for f in map(answered, range(100)) if f.status == "right")
    document = found.document()
    assert verify(found.model.content, json.dumps(document).encode())
    document["language"]["accept"] = []
    document |= {"cases": [], "phi": []}
    assert "nothing is claimed" in refusal(found.model.content, document)[1]


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize("seed", heavy_after(range(40), 4))
def test_bounds_of_a_block_equal_the_greatest_value_over_all_its_words(seed: int) -> None:
    model, naive, graph = without_positions(seed)
    search, first, last = EverySearch(model, graph), 1 + seed % 3, 4
    words = prefixes((graph.delta, graph.accept), last + len(graph.delta), last)
    for key in cases(graph, 1, first, last):
        ends = [w for w, q in words if first <= len(w) and w[-1] == key[1] and q == key[2]]
        outs = [naive.attention(tuple(model.tokens[s] for s in w))[1] for w in ends]
        search.block = (first, last)
        high, low = search.box(key)
        search.block = (1, ALL)
        above, below = search.box(key)
        points = np.array([in_bases(search.atoms.bases, out) for out in outs])
        assert np.allclose(points.max(0), high, atol=1e-9)
        assert np.allclose(points.min(0), low, atol=1e-9)
        assert (points.max(0) <= above + 1e-9).all()
        assert (points.min(0) >= below - 1e-9).all()


@pytest.mark.parametrize(("seed", "longest"), rows_after([(0, 800), *((seed, 3000) for seed in range(6))], 1))
def test_bounds_of_every_length_are_those_of_long_words(seed: int, longest: int) -> None:
    """The greatest value over long words comes near the bound, where no weight is too small for it."""
    model, _, graph = without_positions(seed)
    search, near = EverySearch(model, graph), 0
    for key in cases(graph, 1, 1, longest):
        search.block = (1, longest)
        high, low = search.box(key)
        search.block = (1, ALL)
        above, below = search.box(key)
        assert (above >= high - 1e-9).all()
        assert (below <= low + 1e-9).all()
        if min(float(e[1].min()) for e in search.weights) > 0.03:
            size = 1 + np.abs(above) + np.abs(below)
            assert (above - high <= 0.05 * size).all()
            assert (low - below <= 0.05 * size).all()
            near += 1
    assert near or seed


def bare(rng: np.random.Generator) -> Any:
    """A checker with an automaton over two symbols, and with weights and values of a few units for a case of it."""
    check: Any = Everywhere.__new__(Everywhere)
    delta = [[int(rng.integers(-1, 3)) for _ in range(2)] for _ in range(3)]
    accept = [q for q in range(3) if rng.random() < 0.6]
    claim = {"delta": delta, "accept": accept, "labels": [0], "want": [[]] * 3}
    check.language, check.meter, check.count = Language(claim, None, Place("c"), 2, 1), Meter(10**9), 0
    check.phi, check.phi_place = [[]] * 99, Place("c")
    check.model, check.empty, check.edges = SimpleNamespace(ends=range(2), rows=range(2), first=0, pinned=0), True, 1
    check.before = [[p for p, _ in step] for step in check.language.entering]
    check.far, check.reached = check.language.distances(), closed({0}, delta)
    check.living = {q for q in check.reached if check.far[q] < 9}
    check.weights = [[[(e, e + int(rng.integers(0, 3))) for e in rng.integers(1, 5, k).tolist()] for k in (1, 2)]]
    return check


def runs(delta: list[list[int]], most: int) -> list[tuple[tuple[int, ...], list[int]]]:
    """All words of up to so many symbols with their states."""
    found = [((), [0])]
    for word, states in found:
        found += [((*word, s), [*states, t]) for s, t in enumerate(delta[states[-1]]) if t >= 0 and len(word) < most]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_blocks_and_potentials_are_those_of_all_short_words(seed: int) -> None:
    """Cases, what leads to them, longest paths of a block, and potentials that hold or nearly do, in coarse units."""
    rng, taken, tight = np.random.default_rng(seed), 0, 0
    for _ in range(200):
        check, ends = bare(rng), [rng.integers(-9, 10, k).tolist() for k in (1, 2)]
        words, first = runs(check.language.delta, 6), int(rng.integers(1, 4))
        last = int(rng.integers(first, 6))
        check.blocks = [(0, 0), (1, first), (first + 1, 6), (7, ALL)]
        keys = {(1 + (len(word) > first), word[-1], states[-1])
                for word, states in words if word and states[-1] in check.living}  # fmt: skip
        found = [key for key in check.blocked() if key[0]]
        assert [key for key in found if key[0] < 3] == sorted(keys)
        assert {key[1:] for key in keys} <= {key[1:] for key in found if key[0] == 3}
        for a, q in {key[1:] for key in keys}:
            case = [(word, states) for word, states in words if word and (word[-1], states[-1]) == (a, q)]
            check.blocks = [(0, 0), (7, 7), (first, last), (1, ALL)]
            with patch.object(Check, "case", lambda *_: None):
                check.case((2, a, q), [], Place("c"))
            ways, block = check.ways, check.span
            assert set(ways.states) == {p for _, states in case for p in states[:-1]}
            used = {step for word, states in case for step in zip(states, word, states[1:-1], strict=False)}
            assert (set(ways.edges), set(ways.ends)) == (used, {states[-2] for _, states in case})
            for limit in range(-10, 11):
                each = check.lengths(0, ends, limit)
                far = {word: each[0][0] + sum(each[1][s] for s in word) for word, _ in case}
                check.span = block
                some = [x for word, x in far.items() if first <= len(word) <= last]
                assert check.bounded(0, (1, a, q), ends, limit) == (max(some, default=-1) <= 0)
                check.span, check.shift = (1, ALL), int(rng.integers(0, 4))
                start, *steps = [-(-u >> check.shift) - int(rng.random() < 0.05) for u in (each[0][0], *each[1])]
                phi = dict.fromkeys(ways.states, -99)
                phi[0] = start
                for _ in range(4):
                    for p, s, t in ways.edges:
                        phi[t] = max(phi[t], phi[p] + steps[s] - int(rng.random() < 0.05))
                check.given = iter([list(phi.values())])
                found = check.bounded(0, (1, a, q), ends, limit)
                assert not found or max(far.values()) <= 0
                taken, tight = taken + found, tight + (found and max(far.values()) > -4)
    assert taken > 500
    assert tight > 30


# ---------------------------------------------------------------- claims


def test_a_model_is_right_at_every_length() -> None:
    """(ax)* and (ay)*: behind `a` the model must know which of the two it is, however long the word."""
    model, graph = verdict_cases.loaded(LOOPS)
    found = verify_every_length(model, graph)
    assert (found.status, found.upto, found.blocks) == ("right", None, [(1, ALL)])
    assert verify(model.content, found.to_bytes()).startswith("s VERIFIED right n>=0 cases=6 ")
    assert len(found.to_bytes()) < 5000
    naive = verdict_cases.kept(LOOPS)[1]
    for letter in (1, 2):
        word = [0, letter] * 150
        for n in (0, 1, 2, 3, 4, 5, 40, 41, 299, 300):
            state = 0
            for s in word[:n]:
                state = graph.delta[state][s]
            said = naive.logits(tuple(model.tokens[s] for s in word[:n]))
            assert all((said[k] > 0) == (k in graph.want[state]) for k in graph.labels)


@pytest.mark.heavy
def test_the_exact_length_at_which_a_model_breaks() -> None:
    """All prefixes of up to 517 symbols are right; one of 518 is wrong, by a forward pass that shares nothing."""
    model, graph = verdict_cases.loaded(BROKEN)
    found = verify_every_length(model, graph, seconds=300)
    assert found.wrong is not None
    assert (found.status, len(found.wrong.word), found.shortest) == ("wrong", 518, True)
    said = verdict_cases.kept(BROKEN)[1].logits(tuple(model.tokens[s] for s in found.wrong.word))
    assert said[found.wrong.label] == pytest.approx(found.wrong.logit, abs=1e-6)
    assert verify(model.content, found.to_bytes()).startswith("s VERIFIED wrong n>=0 at=518 label=3 shortest ")


def test_a_search_that_is_out_of_time_keeps_what_it_has() -> None:
    model, graph = verdict_cases.loaded(BROKEN)
    found = verify_every_length(model, graph, seconds=0.0)
    assert (found.status, found.stopped) == ("open", "time")
    assert found.upto is not None
    assert found.upto <= 0


def test_an_interrupt_keeps_what_is_decided() -> None:
    """The wrong word is known when lengths below it are decided; it is proved without them."""
    model, graph = verdict_cases.loaded("contains-aba-1l1h16d-nope")

    def tell(what: str) -> None:
        if what.startswith("lengths"):
            raise KeyboardInterrupt

    found = verify_every_length(model, graph, tell=tell)
    assert (found.status, found.stopped, found.shortest) == ("wrong", "interrupted", False)
    line = verify(model.content, found.to_bytes())
    assert " wrong n>=0 at=3 " in line
    assert "shortest" not in line


# ---------------------------------------------------------------- certificates that are changed


@pytest.mark.parametrize("seed", heavy_after(range(3, 800, 10), 2))
def test_a_mutant_at_every_length_is_refused_or_true(seed: int) -> None:
    model, found = proof_of(seed, "right" if seed % 20 == 3 else "wrong")
    rng, document = np.random.default_rng(seed), found.document()
    mutants = (verdict_cases.mutated(rng, document) for _ in range(65))
    assert verdict_cases.taken(model, mutants, every_length.true_of) < 65


def proof_of(seed: int, status: str) -> tuple[Trained, EveryLength]:
    """A random model of which something is proved: with potentials, or with a wrong word."""
    while True:
        found, at = answered(seed), seed
        seed += 1
        proof = found.proof if found.status == status else None
        if proof is not None and (status == "wrong" or any(map(any, proof.phi))):
            return without_positions(at)[0], found


@pytest.mark.parametrize("seed", heavy_after(range(3, 200, 20), 1))
def test_potentials_are_tested_at_every_transition(seed: int) -> None:
    """Longest paths are the least potentials: one that is smaller by the least amount is refused."""
    model, found = proof_of(seed, "right")
    document = found.document()
    tried = 0
    for lists in document["phi"]:
        for phi in lists[:2]:
            for p in range(len(phi)):
                phi[p] -= 1
                assert not verdict_cases.accepted(model, document)
                phi[p] += 1
                tried += 1
    assert tried
    assert verdict_cases.accepted(model, document)
    document["phi"][-1] = [*document["phi"][-1], document["phi"][-1][0] if document["phi"][-1] else [0]]
    assert not verdict_cases.accepted(model, document)


@pytest.mark.parametrize(
    ("blocks", "says"),
    [([[2, 3]], "that follow"), ([[1, -1], [1, 3]], "that follow"), ([[1, 3], [3, 4]], "that follow"),
     ([[1, 0]], "that follow"), ([[1, 1 << 20]], "integer"), ([[1]], "that follow"), ([], "expected 1 cases")],
)  # fmt: skip
def test_blocks_follow_each_other(blocks: list[list[int]], says: str) -> None:
    model, graph = verdict_cases.loaded(PROVED, verdict_cases.SHIPPED)
    document = verify_every_length(model, graph).document()
    document["blocks"] = blocks
    assert says in refusal(model.content, document)[1]


def test_a_last_block_that_is_finite_is_told() -> None:
    model, graph = verdict_cases.loaded(PROVED, verdict_cases.SHIPPED)
    document = verify_every_length(model, graph).document()
    document |= {"blocks": [[1, 4]], "phi": [[] for _ in document["phi"]]}
    assert " right n>=0 prefixes=0..4 " in verify(model.content, json.dumps(document).encode())


def test_a_word_from_which_none_of_the_language_goes_on_is_not_wrong() -> None:
    """Whatever is wanted behind it: no sign, or all."""
    model, graph = verdict_cases.loaded(LOOPS)
    document = verify_every_length(model, graph).document()
    language, dead = document["language"], len(graph.delta)
    delta = [[t if t >= 0 else dead for t in row] for row in (*language["delta"], [-1] * len(model.symbols))]
    empty = {"blocks": [], "cases": document["cases"][:1], "phi": document["phi"][:1]}
    symbol = language["delta"][0].index(-1)
    for want, label in product(([], language["labels"]), language["labels"]):
        changed = {"delta": delta, "want": [*language["want"], want]}
        claim = document | empty | {"wrong": {"word": [symbol], "label": label}}
        assert "begins so" in refusal(model.content, claim, language=changed)[1]


def test_positions_are_refused() -> None:
    model, graph = verdict_cases.loaded("tomita2-1l1h16d")
    with pytest.raises(UsageError, match="position embeddings"):
        verify_every_length(model, graph)
    near = verify_trained(model, graph, 0).document()
    near = {name: near[name] for name in ("model", "language", "basis", "cases")}
    near |= {"format": "restrict-soft-every-length/1", "scale": 0, "blocks": [], "phi": [[]]}
    assert "without position embeddings" in refusal(model.content, near)[1]
    other, good = verdict_cases.loaded(PROVED, verdict_cases.SHIPPED)
    document = verify_every_length(other, good).document()
    assert refusal(other.content, document, model={"positions": "learned"})[0] != 0


# ---------------------------------------------------------------- the command


def test_the_command_proves_every_length(tmp_path: Path) -> None:
    path, out = verdict_cases.SHIPPED / f"{PROVED}.safetensors", tmp_path / "v.json"
    found = succeeded("soft", "verify", path, "--all-lengths", "-o", out)
    assert "whatever its length" in found.output
    line = found.output.splitlines()[2]
    assert line.startswith("s VERIFIED right n>=0")
    assert typed("check", path, out).output.strip() == line


def test_the_command_says_where_a_model_breaks() -> None:
    path = verdict_cases.FOLDER / "contains-aba-1l1h16d-nope.safetensors"
    found = typed("soft", "verify", path, "--all-lengths", "--json")
    assert found.exit_code == 3
    document = json.loads(found.stdout)
    assert (document["wrong"]["word"], document["wrong"]["shortest"], document["upto"]) == (["a", "b", "a"], True, 2)
    assert "shortest" in document["checked"]
    found = typed("soft", "verify", path, "--all-lengths")
    assert "no shorter prefix is wrong" in found.output


def test_the_command_wants_a_length_or_all() -> None:
    path = verdict_cases.SHIPPED / f"{PROVED}.safetensors"
    assert typed("soft", "verify", path).exit_code == 2
    done = failed(RestrictError, "soft", "verify", path, "--all-lengths", "-n", 0)
    assert "-n must be in 1 .. 4096 with --all-lengths, not 0" in done
    found = typed("soft", "verify", verdict_cases.FOLDER / f"{BROKEN}.safetensors", "--all-lengths", "--time", "1e-6")
    assert found.exit_code == 5
    assert "stopped: time" in found.output


def test_an_interrupt_during_the_check_keeps_what_the_search_decided(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The certificate is written, the words say that nothing has checked it, and the code is 130."""
    from restrict.soft.trained import confirm

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(confirm, "trusted_check", interrupted)
    path = verdict_cases.FOLDER / f"{LOOPS}.safetensors"
    out = tmp_path / "every.json"
    done = typed("soft", "verify", path, "--all-lengths", "-o", out)
    assert done.exit_code == 130, done.output
    assert "not checked" in done.output
    monkeypatch.undo()
    assert verify(path.read_bytes(), out.read_bytes()).startswith("s VERIFIED right ")
