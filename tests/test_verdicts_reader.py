"""Verdicts on models whose answer is read at a token of its own: in front of the word, without a mask, or behind it
(Lemma V17)."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from restrict.base.errors import ModelError, NotEstablished, UsageError
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.main import verify
from restrict.checker.verdict import Check
from restrict.checker.verdict_model import Atoms, Model
from restrict.checker.verdict_numbers import BITS
from restrict.checker.verdict_paths import Language
from restrict.report.source import page_of
from restrict.soft.importers import Options, import_weights
from restrict.soft.importers.gpt2_names import gpt2_names, save_gpt2_names
from restrict.soft.restriction.forced import Decision, force_decision
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained, load, trained
from restrict.soft.trained.reader import as_read
from restrict.soft.trained.verdict import Search
from restrict.soft.trained.wrong import logits
from tests import verdict_cases
from tests.commands import typed
from tests.fuzzing import every_length as judged
from tests.fuzzing.verdicts import changed_is_refused
from tests.layouts import by_hand, encoder
from tests.marks import heavy_after
from tests.naive_gpt2 import Naive, completes

WHERE = ("first", "last")


def case(seed: int, positions: bool | None = None) -> tuple[Trained, Naive, Graph, int]:
    """A random model of one layer that is read at a token of its own, a claim and a length."""
    rng, reads = np.random.default_rng([seed, 17]), WHERE[seed % 2]
    while True:
        start, norm = reads == "first" or bool(rng.random() < 0.5), str(rng.choice(["", "post", "no-last", "none"]))
        model, naive = verdict_cases.random_checkpoint(rng, 1, start, norm, reads)
        if positions is None or positions == (model.positions is not None):
            break
    return model, naive, verdict_cases.graph_of_words(rng, model, naive, seed % 3 == 0), int(rng.integers(0, 5))


def words(model: Trained, graph: Graph, n: int) -> list[tuple[int, ...]]:
    """All words of at most ``n`` symbols from which some word of the language goes on."""
    live = {q for q in range(len(graph.delta)) if completes([list(row) for row in graph.delta], [*graph.accept], q, 99)}
    found = [w for k in range(n + 1) for w in itertools.product(range(len(model.symbols)), repeat=k)]
    states = ((w, (0, *itertools.accumulate(w, lambda q, s: graph.delta[q][s] if q >= 0 else -1, initial=0))[-1])
              for w in found)  # fmt: skip
    return [w for w, q in states if q in live]


def unmasked(model: Trained, word: tuple[int, ...]) -> np.ndarray:
    """The logits at the reader by a plain pass over the tokens as they stand, nothing masked."""
    order = [model.reader, *(model.tokens[s] for s in word)] if model.ahead else [
        *(() if model.bos is None else (model.bos,)), *(model.tokens[s] for s in word), model.reader]  # fmt: skip
    (layer,), at, d = model.layers, 0 if model.ahead else -1, model.d

    def norm(x: np.ndarray, by: Any) -> np.ndarray:
        if by is None:
            return x
        c = x - x.mean(-1, keepdims=True)
        return c / np.sqrt((c**2).mean(-1, keepdims=True) + float(model.epsilon)) * by.weight + by.bias

    x = model.embed[order]
    if model.positions is not None:
        x = x + model.positions[: len(order)]
    q, k, v = np.split(
        (x if model.post else norm(x, layer.norm1)) @ layer.attention.weight + layer.attention.bias, 3, 1
    )
    outs = []
    for part in np.split(np.arange(d), model.heads):
        e = np.exp(k[:, part] @ q[at, part] / np.sqrt(len(part)))
        outs.append(e @ v[:, part] / e.sum())
    y = x[at] + np.concatenate(outs) @ layer.projection.weight + layer.projection.bias
    read = norm(y, layer.norm2)
    hidden = read @ layer.inner.weight + layer.inner.bias
    act = np.array([Naive.act(_Kind(model.activation), float(h)) for h in hidden])  # type: ignore[arg-type]
    z = (read if model.post else y) + act @ layer.outer.weight + layer.outer.bias
    z = z if model.final is None else norm(z, model.final)
    found: np.ndarray = z @ model.unembed.T + model.shifts
    return found


class _Kind:
    """What the naive activation asks of its model."""

    def __init__(self, activation: str) -> None:
        self.config = {"activation_function": activation}


@pytest.mark.parametrize("seed", range(12))
def test_logits_are_those_of_the_tokens_as_they_stand(seed: int) -> None:
    model, naive, _, _ = case(seed)
    for word in itertools.product(range(len(model.symbols)), repeat=3):
        every = logits(model, np.array([word]))[0]
        for j in range(4):
            plain = unmasked(model, word[:j])
            assert np.allclose(plain, every[j], atol=1e-9)
            assert model.reader is not None
            assert np.allclose(plain, naive.logits((*(model.tokens[s] for s in word[:j]), model.reader)), atol=1e-9)


@pytest.mark.parametrize("seed", heavy_after(range(200), 8))
def test_answers_about_random_models_are_those_of_all_words(seed: int) -> None:
    model, _, graph, n = case(seed)
    found = verify_trained(model, graph, n, seconds=60, float32=True)
    line = verdict_cases.agrees(found)
    assert (f" read={WHERE[seed % 2]} " in line) == found.proves
    if found.status == "right":
        labels = list(graph.labels)
        for word in words(model, graph, n):
            said, want = unmasked(model, word)[labels], graph.want[graph.state(word)]
            good = [x for x, k in zip(said, labels, strict=True) if k in want]
            bad = [x for x, k in zip(said, labels, strict=True) if k not in want]
            assert max(good) > max(bad, default=-np.inf) if graph.greatest else min(good, default=1) > 0 > max(
                bad, default=-1)  # fmt: skip


def test_every_word_that_goes_on_is_in_the_claim() -> None:
    """Two brackets deep: a case for each depth that a length allows, though words of the greatest length go on."""
    delta = ((1, -1), (2, 0), (-1, 1))
    closed = Graph(delta, frozenset({0}), (0,), (frozenset(),) * 3).closed()
    assert closed.cases(6) == [(1, 2, 3), (2, 2, 4), (3, 2, 3), (3, 2, 5), (4, 2, 4), (5, 2, 3), (5, 2, 5), (6, 2, 4)]


def test_all_answers_occur_among_random_models() -> None:
    made = ((seed, case(seed)) for seed in (2, 4, 11, 33))
    answers = ((WHERE[s % 2], verify_trained(m, g, n, seconds=60).status) for s, (m, _, g, n) in made)
    assert verdict_cases.occur(answers, {(where, status) for where in WHERE for status in ("right", "wrong")})


@pytest.mark.parametrize("seed", heavy_after(range(120), 2))
def test_a_changed_certificate_is_refused_or_true(seed: int) -> None:
    changed_is_refused(seed, *case(seed))


@pytest.mark.parametrize("seed", heavy_after(range(60), 4))
def test_answers_at_every_length_are_true(seed: int) -> None:
    model, _, graph, _ = case(seed, positions=False)
    found = verdict_cases.at_every_length(model, graph, 8)
    if found.proves:
        assert f" read={WHERE[seed % 2]} " in verify(model.content, found.to_bytes())
        assert judged.true_of(model.content, found.document())
    if found.wrong is not None and not found.wrong.word:
        assert found.shortest


@pytest.mark.parametrize("seed", heavy_after(range(24), 6))
def test_the_box_of_a_case_is_that_of_its_words(seed: int) -> None:
    """By all words: the search's ends are the greatest and least coordinates, the checker takes a bound just above the
    greatest and none below it, and its run of a word contains the word's stream."""
    (model, naive, graph, _), n, unit = case(seed), 4, 1 << BITS
    search, found = Search(*as_read(model, graph, n)), verify_trained(model, graph, n, seconds=60).document()
    task = Task(found, Place("c"), model.content, Place("m"), Path(), Meter(10**9))
    made = Model(task, found["model"], Place("c"))
    language = Language(found["language"], None, Place("c"), len(made.rows), made.labels)
    check = Check(task, made, language, Atoms(made, n + 1, task.meter))
    inner, last = search.graph, len(model.symbols)
    keys = inner.cases(n + 1)
    assert keys == list(check.keys(n + 1, 0, n + 1))
    assert all(a == last for _, a, _ in keys)
    for key in keys:
        ends = [w for w in words(model, graph, n) if len(w) + 1 == key[0] and inner.state((*w, last)) == key[2]]
        outs = [naive.attention((*(model.tokens[s] for s in w), made.rows[-1])) for w in ends]
        high, low = search.box(key)
        at = 0
        check.weigh(key[0], key[1])
        for h, basis in enumerate(search.atoms.bases):
            rows, centre = np.array(basis.rows).reshape(-1, model.d) / 2**24, np.array(basis.centre) / 2**24
            points = (np.array([out[h] for _, out in outs]) - centre) @ rows.T
            assert np.allclose(points.max(0), high[at : at + len(rows)], atol=1e-9)
            assert np.allclose(points.min(0), low[at : at + len(rows)], atol=1e-9)
            at += len(rows)
            for k, x in enumerate(points.max(0)):
                values = [[int(v * unit) + 1 for v in row[: 1 if not j else None]] for j, row in enumerate(basis.at[k])]
                assert check.bounded(h, key, values[: key[0] + 1], int((x + 1e-6) * unit))
                assert not check.bounded(h, key, values[: key[0] + 1], int((x - 1e-6) * unit))
        for word, (x, heads) in zip(ends, outs, strict=True):
            y, bias = check.point([-1, *word, last]), naive.tensors["h.0.attn.c_proj.bias"]
            exact = [sum(parts) for parts in zip(x, bias, *heads, strict=True)]
            assert all(abs(a - c / unit) <= r / unit + 1e-9 for a, c, r in zip(exact, y.centre, y.rest, strict=True))


@pytest.mark.parametrize("seed", heavy_after([38, *range(38), 39], 6))  # 38 fixes symbol 2 of a word of one symbol
def test_forced_decisions_hold_behind_every_completion(seed: int) -> None:
    model, naive, _, n = case(seed)
    decision = Decision(tuple(range(1 + seed % len(model.labels))), seed % 5 == 0)
    try:
        found = force_decision(model, n, decision, seconds=2)
    except NotEstablished:
        return
    assert found.verified is not None
    assert f" n={n} " in found.verified
    assert f" read={WHERE[seed % 2]} fixed={len(found.fixed)} " in found.verified
    for beyond in ([n + 1, 0], [1, len(model.symbols)]):
        with pytest.raises(Reject):
            verify(model.content, json.dumps(found.document() | {"fixed": [beyond]}).encode())
    want = found.graph.want[0]
    for word in itertools.product(range(len(model.symbols)), repeat=n):
        if all(word[i - 1] == s for i, s in found.fixed.items()):
            assert model.reader is not None
            assert decision.answer(np.array(naive.logits((*(model.tokens[s] for s in word), model.reader)))) == want


def test_a_reader_takes_one_of_the_lengths_that_a_certificate_holds() -> None:
    model = next(model for model, *_ in map(case, range(0, 60)) if model.positions is None)
    with pytest.raises(UsageError, match="-n must be at most 4095, not 4096"):
        force_decision(model, 4096, Decision((0,), False))


# ---------------------------------------------------------------- what is refused


def proved(reads: str) -> tuple[Trained, dict[str, Any]]:
    """A certificate without a wrong word."""
    for seed in range(WHERE.index(reads), 60, 2):
        model, _, graph, _ = case(seed, positions=True)
        found = verify_trained(model, graph, 2, seconds=60)
        if found.status == "right" and len(model.symbols) > 1:
            return model, found.document()
    raise AssertionError


def refusal(model: Trained, document: dict[str, Any]) -> str:
    with pytest.raises(Reject) as reject:
        verify(model.content, json.dumps(document).encode())
    return str(reject.value)


@pytest.mark.parametrize("reads", WHERE)
def test_the_checker_refuses_what_is_no_such_claim(reads: str) -> None:
    model, claim = proved(reads)
    last = len(model.symbols)
    delta = [list(row) for row in claim["language"]["delta"]]
    delta[delta[0][last]][0] = 0  # a word goes on behind the reader
    over = claim | {"language": claim["language"] | {"delta": delta}}
    assert "expected nothing behind the token at which the answer is read" in refusal(model, over)
    delta = [list(row) for row in claim["language"]["delta"]]
    delta[delta[0][last]][last] = delta[0][last]  # the reader stands twice
    twice = claim | {"language": claim["language"] | {"delta": delta}}
    assert "expected nothing behind the token at which the answer is read" in refusal(model, twice)
    wrong = claim | {"wrong": {"word": [0], "label": claim["language"]["labels"][0]}, "upto": -1, "cases": []}
    assert "expected the token at which the answer is read at its end" in refusal(model, wrong)
    fixed = claim | {"fixed": [[claim["n"], last]]}
    assert "expected" in refusal(model, fixed)
    if reads == "first":
        assert "start: expected none" in refusal(model, claim | {"model": claim["model"] | {"start": last + 1}})
        assert "no such embedding" in refusal(model, claim | {"model": claim["model"] | {"offset": 12}})
    assert "reads" in refusal(model, claim | {"model": claim["model"] | {"reads": "middle"}})
    layers = claim | {"format": "restrict-soft-verdict/2", "model": claim["model"] | {"layers": 2}, "second": []}
    assert "reads: expected one layer" in refusal(model, layers)


def test_one_embedding_less_fits_the_symbols() -> None:
    """Of twelve embeddings the reader has one, and a start token in front of the word has another."""
    rng = np.random.default_rng(0)
    for start, reads, most in ((True, "first", 11), (False, "last", 11), (True, "last", 10)):
        made = [verdict_cases.random_checkpoint(rng, start=start, reads=reads)[0] for _ in range(20)]
        model = next(model for model in made if model.positions is not None)
        assert model.longest == most
        nothing = Graph((tuple(0 for _ in model.symbols),), frozenset({0}), (0,), (frozenset(),))
        with pytest.raises(UsageError, match="embeddings for words"):
            verify_trained(model, nothing, most + 1)
        found = verify_trained(model, nothing, most, seconds=60)
        line = verify(model.content, found.to_bytes())
        assert line.startswith(f"s VERIFIED {'wrong' if found.wrong else 'right'} n=0..{most} ")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"place": "first"}, "unless causal is false"),
        ({"place": "first", "causal": False, "bos_token_id": None}, "no start token"),
        ({"place": "first", "causal": False, "end_marker_token_id": 2}, "no verdict covers both"),
        ({"place": "every", "end_marker_token_id": 2}, "pinned behind the word .* only last is covered"),
        ({"end_marker_token_id": 2}, "pinned behind the word .* only last is covered"),
        ({"causal": False}, "that is covered in one layer, read at the first place or the last"),
        ({"causal": "no"}, "expected true or false"),
        ({"place": "middle"}, "not first, last or every"),
    ],
)
def test_a_configuration_that_is_not_covered_is_refused(said: dict[str, Any], told: str) -> None:
    name = verdict_cases.FOLDER / "tomita2-1l1h16d"
    config = json.loads(Path(f"{name}.config.json").read_text()) | said
    with pytest.raises(ModelError, match=told):
        trained("m", Path(f"{name}.safetensors").read_bytes(), config, "m")


def test_two_layers_are_refused() -> None:
    model, _ = verdict_cases.random_checkpoint(np.random.default_rng(1), 2, reads="last")
    nothing = Graph((tuple(0 for _ in model.symbols),), frozenset({0}), (0,), (frozenset(),))
    with pytest.raises(ModelError, match="2 layers and is read at '<sep>': that is covered in one layer"):
        verify_trained(model, nothing, 3)


# ---------------------------------------------------------------- from a library's file to a verdict


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reads", WHERE)
@pytest.mark.parametrize("labels", [2, 3])
def test_an_imported_encoder_keeps_its_logits(seed: int, reads: str, labels: int, tmp_path: Path) -> None:
    """An nn.TransformerEncoder without a mask that answers at its first token, or at one behind the word."""
    arrays, config = encoder(np.random.default_rng([seed, 5]), 1, labels)
    options = Options(place="first") if reads == "first" else Options(end_marker="<eos>", place="last")
    found = import_weights(arrays, options, config=config | {"causal": False})
    made = save_gpt2_names(found, tmp_path / "m.safetensors")
    assert any("each prefix is a word of its own" in note for note in made.notes)
    model = load(tmp_path / "m.safetensors")
    assert (model.ahead, model.vocab[model.reader or 0]) == (reads == "first", "<bos>" if reads == "first" else "<eos>")
    for word in itertools.product((0, 1), repeat=4):
        tokens = [2, *word] if reads == "first" else [2, *word, 3]
        plain = by_hand(arrays, config, tokens, False)[0 if reads == "first" else -1]
        said = logits(model, np.array([word]), last=True)[0, -1]
        assert np.allclose(said, plain, atol=1e-9) if labels == 3 else np.isclose(
            said[model.vocab.index("<eos>")], plain[1] - plain[0], atol=1e-9)  # fmt: skip
    again = import_weights(tmp_path / "m.safetensors")
    assert (again.model.output.place, again.model.layers[0].heads[0].mask) == (reads, "none" if reads == "first" else
                                                                              "past")  # fmt: skip
    assert again.model.end_marker == (None if reads == "first" else "<eos>")
    assert gpt2_names(again).config["place"] == reads


@pytest.mark.parametrize(
    ("options", "causal", "layers", "told"),
    [
        (Options(place="first"), True, 1, "an answer that is read at the first position with a causal mask"),
        (Options(place="first", start_marker="", never=("<bos>", "<eos>")), False, 1, "without a start token"),
        (Options(place="first", end_marker="<eos>"), False, 1, "with a token pinned behind the word, too"),
        (Options(place="first"), False, 2, "an answer that is read at the first position of two layers"),
        (Options(place="every", end_marker="<eos>"), True, 1, "an end marker, read at every position"),
        (Options(place="last", end_marker="<eos>"), True, 2, "an end marker, in more than one layer"),
    ],
)
def test_an_import_that_is_not_covered_is_refused(options: Options, causal: bool, layers: int, told: str) -> None:
    arrays, config = encoder(np.random.default_rng(1), layers, 3)
    found = import_weights(arrays, options, config=config | {"causal": causal})
    with pytest.raises(ModelError, match=f"no verdict covers .*{told}.*docs/soft-import.md"):
        gpt2_names(found)


# ---------------------------------------------------------------- the command, on models that torch trained


@pytest.mark.parametrize(
    ("name", "reads"), [("dyck1-depth2-1l1h16d-first", "first"), ("first-is-last-1l1h16d-last", "last")]
)
def test_the_command(name: str, reads: str, tmp_path: Path) -> None:
    model, proof = str(verdict_cases.FOLDER / f"{name}.safetensors"), tmp_path / "c.json"
    said = typed("soft", "verify", model, "-n", 3, "-o", proof)
    assert said.exit_code == 0, said.output
    assert "right as run in float32: every prefix" in said.output
    line = said.output.splitlines()[-2]
    assert line.startswith(f"s VERIFIED right n=0..3 read={reads} cases=")
    assert typed("check", model, proof).output.strip() == line
    page = str(page_of(proof, model))
    assert "a position counts this token, too" in page
    assert "behind every prefix of at most 3 symbols" in page
    record, weights = verdict_cases.FOLDER / f"{name}.record.json", tmp_path / "again.safetensors"
    made = typed("soft", "import", model, "--compare", record, "--weights", weights)
    assert made.exit_code == 0, made.output
    same = typed("soft", "verify", weights, "-n", 3)
    assert same.output.splitlines()[-1].rsplit(" ", 1)[0] == line.rsplit(" ", 1)[0]
    s = load(model).symbols[-1]
    said = typed("soft", "certify", model, "-n", 2, "--fix", f"1:{s},2:{s}")
    assert f"fixed: 1: {s}, 2: {s}\nforced behind every completion: " in said.output
    if reads == "first":
        return
    said = typed("soft", "verify", model, "-n", 2, "-L", "regex:(a|b)*", "-o", proof)
    assert said.exit_code == 3, said.output
    assert "The wrong word, step by step" in str(page_of(proof, model))
