"""Claims about more than a language: a program that decides the same, and a certificate that somebody gives."""

import json
import math
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from restrict.all_lengths.decisions import decides_empty, decisions_of, program_of
from restrict.base.errors import ModelError, ResourceLimit, RestrictError, UsageError
from restrict.checker.main import verify
from restrict.soft.trained.claim import claim_document
from restrict.soft.trained.confirm import confirmed
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.given import _Both, proved
from restrict.soft.trained.graph import Graph, all_words, dfa_of, empty_left_out, graph_of, task_language
from restrict.soft.trained.model import Trained, load
from tests import verdict_cases
from tests.commands import Shell, failed, succeeded, typed
from tests.marks import heavy_after
from tests.naive_gpt2 import prefixes
from tests.verdict_cases import FOLDER

RIGHT = FOLDER / "tomita2-1l1h16d.safetensors"
EVERY = Path(__file__).parent.parent / "instances" / "trained" / "tomita1-1l1h16d-nope.safetensors"
MODEL = load(RIGHT)
SHORT = "regex:10|1010|()"
"""A language at whose last word the model goes on."""


def drawn(rng: np.random.Generator, states: int) -> Graph:
    """A partial automaton of two symbols, with a live start and one label wanted or not."""
    delta = rng.integers(-1, states, size=(states, 2))
    accept = frozenset({0, *(q for q in range(states) if rng.random() < 0.3)})
    want = tuple(frozenset(k for k in (0,) if rng.random() < 0.5) for _ in range(states))
    return Graph(tuple(map(tuple, delta.tolist())), accept, (0,), want, empty=bool(rng.random() < 0.5))


def changed(rng: np.random.Generator, graph: Graph) -> Graph:
    """The graph with its states in another order and, mostly, one thing that is different."""
    count = len(graph.delta)
    order = [0, *(1 + rng.permutation(count - 1)).tolist()]
    place = {q: i for i, q in enumerate(order)} | {-1: -1}
    delta = [[place[t] for t in graph.delta[q]] for q in order]
    accept, want = {place[q] for q in graph.accept}, [graph.want[q] for q in order]
    kind, q = int(rng.integers(4)), int(rng.integers(count))
    if kind == 1:
        accept ^= {q}
    elif kind == 2:
        delta[q][int(rng.integers(len(delta[q])))] = int(rng.integers(-1, count))
    elif kind == 3:
        want[q] ^= {graph.labels[0]}
    return replace(
        graph, delta=tuple(map(tuple, delta)), accept=frozenset(accept), want=tuple(want), of=tuple(range(count))
    )


def wanted(graph: Graph, longest: float, last: float) -> dict[tuple[int, ...], frozenset[int]]:
    """What is wanted behind each prefix of at most ``last`` symbols, all words of it written out."""
    longest = min(longest, last + len(graph.delta))
    words = prefixes((graph.delta, graph.accept), int(longest), int(last))
    return {word: graph.want[q] for word, q in words if word or graph.empty}


@pytest.mark.parametrize("seed", heavy_after(range(20), 2))
def test_words_and_wants_are_compared_as_all_words_say(seed: int) -> None:
    rng, seen = np.random.default_rng(seed), Counter[bool]()
    for _ in range(60):
        mine = drawn(rng, int(rng.integers(1, 5)))
        theirs = changed(rng, mine) if rng.random() < 0.8 else replace(drawn(rng, 2), empty=mine.empty)
        longest, their_longest = (math.inf if rng.random() < 0.4 else int(rng.integers(0, 5)) for _ in range(2))
        last = min(longest, their_longest, math.inf if rng.random() < 0.5 else int(rng.integers(0, 5)))
        one, other = (wanted(g, k, min(last, 9)) for g, k in ((mine, longest), (theirs, their_longest)))
        same = all(other.get(word) == want for word, want in one.items())
        try:
            if one:  # else nothing is claimed, which is refused before
                _Both(MODEL, mine, longest, theirs, their_longest, "given").agree(last)
                assert same
        except ModelError:
            assert not same
        seen[same] += 1
    assert min(seen[True], seen[False]) > 5


def test_what_is_wanted_in_the_first_state_is_compared_where_nothing_is_asked_of_the_empty_word() -> None:
    mine = Graph(((0, 0),), frozenset({0}), (0,), (frozenset(),), empty=False)
    theirs = replace(mine, want=(frozenset({0}),))
    with pytest.raises(ModelError, match="it wants 0, and what is asked is nothing"):
        _Both(MODEL, mine, math.inf, theirs, math.inf, "given").agree(math.inf)


def ring(states: int) -> Graph:
    """Every word, in states by its length and its symbols."""
    rows = tuple(((q + 1) % states, (q + 2) % states) for q in range(states))
    return Graph(rows, frozenset(range(states)), (0,), (frozenset(),) * states)


def test_many_states_of_a_certificate_take_no_time_and_many_pairs_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    both = _Both(MODEL, ring(1), 4096, ring(4096), 4096, "given")  # states behind each length: gigabytes
    both.agree(3)
    both.behind((0,) * 4096)
    monkeypatch.setattr("restrict.soft.trained.given.PAIRS", 50)
    for longest in (100, math.inf):
        with pytest.raises(ResourceLimit, match="given: its words and those that are asked about are too many"):
            _Both(MODEL, ring(7), longest, ring(8), longest, "given").agree(longest)


KINDS: tuple[dict[str, Any], ...] = (
    {"reads": "first"}, {"reads": "last"}, {}, {"start": False}, {"layers": 2}, {"norm": "none"},
)  # fmt: skip


@cache
def certified(seed: int) -> tuple[Trained, Graph, int, bytes]:
    """A random model with a certificate that the checker takes."""
    rng = np.random.default_rng(seed)
    while True:
        model, naive = verdict_cases.random_checkpoint(rng, **KINDS[seed % len(KINDS)])
        graph = verdict_cases.graph_of_words(rng, model, naive, greatest=seed % 4 == 3)
        n = int(rng.integers(1, 5))
        if model.longest is not None and model.longest < n:
            continue
        found, line = confirmed(verify_trained(model, graph, n, seconds=5), "given")
        if line is not None:
            return model, graph, n, found.to_bytes()


@pytest.mark.parametrize("seed", heavy_after(range(60), 3))
def test_what_a_certificate_proves_of_a_claim_is_true(seed: int) -> None:
    model, graph, n, content = certified(seed)
    naive, rng = verdict_cases.as_said(model.content, json.loads(content)), np.random.default_rng(seed)
    for round_ in range(12):
        claim, most = (graph, n) if round_ == 0 else (changed(rng, graph), int(rng.integers(1, n + 2)))
        if not claim.cases(most) or (model.longest is not None and most > model.longest):
            continue
        try:
            found = proved(content, model, claim, most)
        except ModelError:
            assert round_, "its own claim is proved"
            continue
        assert round_ or found.upto is None or found.upto >= json.loads(content)["upto"] - (model.reader is not None)
        document = json.loads(content) | claim_document(claim.closed() if model.reader is not None else claim)
        document["n"] = most + (model.reader is not None)
        reached = document["n"] if found.upto is None else found.upto + (model.reader is not None)
        wrong = list(verdict_cases.wrong_words(naive, document, reached))
        assert not wrong
        assert found.status != "right" or reached == document["n"]
        if found.wrong is not None:
            word = found.wrong.word if model.reader is None else (*found.wrong.word, len(model.symbols))
            assert word in list(verdict_cases.wrong_words(naive, document, len(word)))


def by_command(model: Path, *words: object) -> tuple[int, Any]:
    answer = typed("soft", "verify", model, *words, "--json")
    return answer.exit_code, json.loads(answer.stdout) if answer.stdout else answer.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates: right to 12, right at every length, and wrong at a word."""
    made = tmp_path_factory.mktemp("given")
    for name, words in {"right": (RIGHT, "-n", 12), "every": (EVERY, "--all-lengths")}.items():
        assert typed("soft", "verify", *words, "-o", made / f"{name}.json").exit_code == 0
    assert typed("soft", "verify", RIGHT, "-n", 8, "-L", SHORT, "-o", made / "wrong.json").exit_code == 3
    return made


@pytest.mark.parametrize(
    ("model", "name", "words", "code", "upto"),
    [
        (RIGHT, "right", ("-n", 12), 0, 12),
        (RIGHT, "right", ("-n", 5), 0, 5),
        (RIGHT, "right", ("-n", 20), 5, 12),
        (RIGHT, "right", ("-n", 12, "-L", "regex:(10)*"), 0, 12),  # Tomita 2, by another name
        (EVERY, "every", ("--all-lengths",), 0, None),
        (EVERY, "every", ("-n", 3000), 0, None),
    ],
)
def test_a_certificate_answers_what_it_proves(
    model: Path, name: str, words: tuple[object, ...], code: int, upto: int | None, folder: Path
) -> None:
    got, said = by_command(model, *words, "--certificate", folder / f"{name}.json")
    assert (got, said["upto"], said["wrong"]) == (code, upto, None)
    assert said["checked"].startswith("s VERIFIED right")


def test_a_wrong_word_is_told_where_it_is_asked_about(folder: Path) -> None:
    given = "-L", SHORT, "--certificate", folder / "wrong.json"
    code, said = by_command(RIGHT, "-n", 8, *given)
    assert (code, said["wrong"]["word"], said["upto"]) == (3, ["1", "0", "1", "0"], 3)
    assert "wrong behind: 1 0 1 0\nlength 4 (no shorter" in typed("soft", "verify", RIGHT, "-n", 8, *given).output
    code, said = by_command(RIGHT, "-n", 3, *given)
    assert (code, said["wrong"], said["upto"]) == (0, None, 3)


@pytest.mark.parametrize(
    ("name", "words", "code", "message"),
    [
        ("right", ("-n", 6, "-L", "regex:(01)*"), 4, "it wants 1 <eos>, and what is asked is 0 <eos>"),
        ("right", ("-n", 6, "--inputs", "regex:(0|1)*"), 4, "it says nothing of words that begin with '0'"),
        ("right", ("-n", 6, "--read-out", "membership"), 4, "about another read-out than the one that is asked for"),
        ("right", ("-n", 6, "--offset", 1), 4, "about a model with offset 0, where tomita2-1l1h16d has 1"),
        ("right", ("--all-lengths",), 2, "a verdict on every length is asked for, and this is none"),
        ("every", ("-n", 6), 4, "its SHA-256 is not the one in the certificate"),
        ("right", ("-n", 6, "--no-recheck"), 2, "--certificate searches for nothing"),
        ("wrong", ("-n", 6, "-L", SHORT, "--inputs", "regex:10"), 4, "its wrong word is not among the words that"),
        ("none", ("-n", 6), 2, "none.json"),
    ],
)  # fmt: skip
def test_what_is_about_something_else_is_refused_in_one_line(
    name: str, words: tuple[object, ...], code: int, message: str, folder: Path,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    shell = Shell(monkeypatch, capfd)
    got = shell("soft", "verify", RIGHT, *words, "--certificate", folder / f"{name}.json")
    assert (got.code, got.out, got.err.count("\n")) == (code, "", 1)
    assert message in got.err


def test_another_configuration_beside_the_same_weights_is_another_model(folder: Path, tmp_path: Path) -> None:
    path = verdict_cases.changed(tmp_path, RIGHT.stem, layer_norm_epsilon="0.001")
    found = failed(RestrictError, "soft", "verify", path, "-n", 6, "--certificate", folder / "right.json")
    assert "about a model with epsilon '1/100000', where m has '1/1000'" in found


def test_what_only_the_certificate_says_of_the_model_is_compared(folder: Path) -> None:
    graph = replace(graph_of(MODEL, task_language(MODEL), None, "next-set", None), empty=False)
    with pytest.raises(ModelError, match="about a model with start 2, where tomita2-1l1h16d has None"):
        proved((folder / "right.json").read_bytes(), replace(MODEL, bos=None), graph, 6)


def test_a_certificate_that_does_not_hold_proves_nothing(folder: Path) -> None:
    document = json.loads((folder / "right.json").read_text())
    document["cases"][1][3] = [value - 100_000 for value in document["cases"][1][3]]
    graph = graph_of(MODEL, task_language(MODEL), None, "next-set", None)
    with pytest.raises(ModelError, match="it proves nothing"):
        proved(json.dumps(document).encode(), MODEL, graph, 6)
    found = proved((folder / "right.json").read_bytes(), MODEL, graph, 6)
    assert found.status == "right"


# ----------------------------------------------------------------
# `soft verify --equals`: the trained model and a program decide the same, against runs of both on all words.


LOOPS = verdict_cases.FOLDER / "ax-or-ay-1l1h16d-nope.safetensors"
FORMULAS = (
    "0", "not 1", "once (1 and previous 0)", "1 since 0", "true", "false", "historically 1", "previous 1",
    "once 0 implies 1", "first and 1 or previous previous 0",
)  # fmt: skip


@pytest.mark.parametrize("formula", heavy_after(FORMULAS, 4))
def test_the_first_difference_is_the_first_among_all_words(formula: str) -> None:
    model, naive = verdict_cases.kept("tomita2-1l1h16d")
    program = program_of(formula, model.symbols)
    decided = dfa_of(decisions_of(program, model.symbols), model)
    graph = graph_of(model, decided, all_words(model), "membership")
    if not decides_empty(program):
        graph = empty_left_out(model, graph)
    n, eos = 4, model.eos
    assert eos is not None
    different = []
    for length in range(1, n + 1):
        for word in product(range(len(model.symbols)), repeat=length):
            trace = program.run([model.symbols[s] for s in word])
            says = naive.logits(tuple(model.tokens[s] for s in word))[eos] > 0
            if (trace.output == "accept") != says:
                different.append(word)
    found = verify_trained(model, graph, n)
    assert found.status == ("wrong" if different else "right")
    if found.wrong is not None:
        assert found.shortest
        assert found.wrong.word in [word for word in different if len(word) == len(different[0])]
    assert verify(model.content, found.to_bytes()).startswith(f"s VERIFIED {found.status} ")


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_asked_behind_the_empty_word(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, naive, graph = verdict_cases.random_case(rng)
    left = empty_left_out(model, graph)
    said = naive.logits(())
    assert left.want[0] == {k for k in graph.labels if said[k] > 0}
    for length in range(4):
        for word in product(range(len(model.symbols)), repeat=length):
            states = [0, 0]
            for s in word:
                states = [g.delta[q][s] if q >= 0 else -1 for g, q in zip((graph, left), states, strict=True)]
            assert (states[0] >= 0) == (states[1] >= 0)
            if word and states[0] >= 0:
                assert graph.want[states[0]] == left.want[states[1]]
            assert (states[0] in graph.accept) == (states[1] in left.accept)


def test_a_trained_model_decides_like_a_compiled_one_at_every_length(tmp_path: Path) -> None:
    program, out, words = tmp_path / "loops.json", tmp_path / "v.json", "regex[axy]:(ax)*|(ay)*"
    assert typed("compile", "-L", words, "-o", program).exit_code == 0
    done = succeeded("soft", "verify", LOOPS, "--all-lengths", "--equals", program, "--inputs", words, "-o", out)
    assert "s VERIFIED right n>=0" in done.output
    assert typed("check", LOOPS, out).exit_code == 0
    found = typed("soft", "verify", LOOPS, "-n", 6, "--equals", program, "--json")
    assert found.exit_code == 3
    document = json.loads(found.stdout)
    assert (document["wrong"]["word"], document["wrong"]["shortest"]) == (["x"], True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--equals", "parity"), "neither a model nor a formula"),
        (("--equals", "nofile.json"), "neither a file nor"),
        (("--equals", "a and ("), "a formula is expected"),
        (("--equals", "induction-head"), "is over"),
        (("--equals", "a", "-L", "parity"), "one of the two"),
    ],
)
def test_what_is_no_program_is_one_line(words: tuple[str, ...], says: str) -> None:
    assert says in failed(UsageError, "soft", "verify", LOOPS, "-n", 3, *words)


def test_a_program_over_other_symbols_is_refused() -> None:
    with pytest.raises(UsageError, match="is over"):
        decisions_of(program_of("parity8", "01"), ("a", "b"))
