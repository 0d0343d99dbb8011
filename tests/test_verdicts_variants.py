"""Verdicts on models that are not GPT-2's block with a start token: read at a token of their own, in front of the word,
without a mask, or behind it (Lemma V17); without a start token; with LayerNorm elsewhere.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from restrict.base.errors import ModelError, NotEstablished, UsageError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.report.source import page_of
from restrict.soft.importers import Options, import_weights
from restrict.soft.importers.gpt2_names import gpt2_names, save_gpt2_names
from restrict.soft.restriction.forced import Decision, force_decision
from restrict.soft.trained.atoms import Atoms
from restrict.soft.trained.attack import Attack
from restrict.soft.trained.confirm import confirmed
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.every_length import verify_every_length
from restrict.soft.trained.forms import Form, Tail
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained, forward, load, trained
from restrict.soft.trained.wrong import logits
from tests import verdict_cases
from tests.commands import succeeded, typed
from tests.layouts import by_hand, encoder
from tests.marks import heavy_after
from tests.naive_gpt2 import Naive, prefixes
from tests.test_verdict_float32 import Run
from tests.verdict_cases import FOLDER, SHIPPED, SMALL, bare, made_of, refusal, verified, weights

WHERE = ("first", "last")


@pytest.mark.parametrize("seed", range(12))
def test_logits_are_those_of_the_tokens_as_they_stand(seed: int) -> None:
    """Each prefix is a word of its own: a plain pass over it and its reader, nothing masked."""
    model, naive, _, _ = verdict_cases.case("reader", seed)
    for word in itertools.product(range(len(model.symbols)), repeat=3):
        every = logits(model, np.array([word]))[0]
        for j in range(4):
            assert model.reader is not None
            plain = naive.logits((*(model.tokens[s] for s in word[:j]), model.reader))
            assert np.allclose(plain, every[j], atol=1e-9)


def test_every_word_that_goes_on_is_in_the_claim() -> None:
    """Two brackets deep: a case for each depth that a length allows, though words of the greatest length go on."""
    delta = ((1, -1), (2, 0), (-1, 1))
    closed = Graph(delta, frozenset({0}), (0,), (frozenset(),) * 3).closed()
    assert closed.cases(6) == [(1, 2, 3), (2, 2, 4), (3, 2, 3), (3, 2, 5), (4, 2, 4), (5, 2, 3), (5, 2, 5), (6, 2, 4)]


@pytest.mark.parametrize("seed", heavy_after([38, *range(38), 39], 6))  # 38 fixes symbol 2 of a word of one symbol
def test_forced_decisions_hold_behind_every_completion(seed: int) -> None:
    model, naive, _, n = verdict_cases.case("reader", seed)
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
    model = verdict_cases.first("reader", 0, placed=False)[0]
    with pytest.raises(UsageError, match="-n must be at most 4095, not 4096"):
        force_decision(model, 4096, Decision((0,), False))


# ---------------------------------------------------------------- what is refused


def proved(reads: str) -> tuple[Trained, dict[str, Any]]:
    """A certificate without a wrong word."""
    for seed in range(WHERE.index(reads), 60, 2):
        model, _, graph, _ = verdict_cases.first("reader", seed, placed=True)
        found = verify_trained(model, graph, 2, seconds=60)
        if found.status == "right" and found.memory == () and len(model.symbols) > 1:
            return model, found.document()
    raise AssertionError


@pytest.mark.parametrize("reads", WHERE)
def test_the_checker_refuses_what_is_no_such_claim(reads: str) -> None:
    model, claim = proved(reads)
    last = len(model.symbols)
    delta = [list(row) for row in claim["language"]["delta"]]
    delta[delta[0][last]][0] = 0  # a word goes on behind the reader
    twice = [list(row) for row in claim["language"]["delta"]]
    twice[twice[0][last]][last] = twice[0][last]  # the reader stands twice
    for changed in (delta, twice):
        said = refusal(model.content, claim, language={"delta": changed})[1]
        assert "expected nothing behind the token at which the answer is read" in said
    wrong = claim | {"wrong": {"word": [0], "label": claim["language"]["labels"][0]}, "upto": -1, "cases": []}
    assert "expected the token at which the answer is read at its end" in refusal(model.content, wrong)[1]
    fixed = claim | {"fixed": [[claim["n"], last]]}
    assert "expected" in refusal(model.content, fixed)[1]
    if reads == "first":
        assert "start: expected none" in refusal(model.content, claim, model={"start": last + 1})[1]
        assert "no such embedding" in refusal(model.content, claim, model={"offset": 12})[1]
    assert "reads" in refusal(model.content, claim, model={"reads": "middle"})[1]
    layers = claim | {"format": "restrict-soft-verdict/2", "model": claim["model"] | {"layers": 2}, "second": []}
    assert "reads: expected one layer" in refusal(model.content, layers)[1]


@pytest.mark.parametrize(
    ("start", "reads", "most"),
    [(True, "", 11), (False, "", 12), (True, "first", 11), (False, "last", 11), (True, "last", 10)],
)
def test_of_twelve_embeddings_the_start_token_has_one_and_a_reader_another(start: bool, reads: str, most: int) -> None:
    rng = np.random.default_rng(0)
    made = (verdict_cases.random_checkpoint(rng, start=start, reads=reads)[0] for _ in range(20))
    model = next(model for model in made if model.positions is not None)
    assert model.longest == most
    nothing = Graph(((0,) * len(model.symbols),), frozenset({0}), (0,), (frozenset(),), empty=start or reads != "")
    told = "embeddings for words" if reads else f"at most {most} symbols, not {most + 1}"
    with pytest.raises(UsageError, match=told):
        verify_trained(model, nothing, most + 1)
    found = verify_trained(model, nothing, most, seconds=60)
    line = verify(model.content, found.to_bytes())
    assert line.startswith(f"s VERIFIED {'wrong' if found.wrong else 'right'} n=0..{most} ")


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


# ---------------------------------------------------------------- LayerNorm elsewhere


NORMS = ("post", "no-last", "none")


def scaled(naive: Naive, y: np.ndarray) -> np.ndarray:
    """The logits behind a stream, times the last deviation where there is a last LayerNorm, by the plain block."""
    last, naive.tensors = naive.tensors, dict(naive.tensors)
    z = np.array(naive.network(list(y), 0))
    said = np.array(naive.unembedded(list(z)))
    if naive.post:
        one, none = [1.0] * naive.d, [0.0] * naive.d
        naive.tensors |= {"h.0.ln_2.weight": one, "h.0.ln_2.bias": none}
        root = np.sqrt(1 - np.square(naive.network(list(y), 0)).mean())  # of epsilon by the variance
        said = said * np.sqrt(1e-5) / root
    naive.tensors = last
    return said


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", heavy_after(range(60), 4))
def test_bounds_on_a_cell_hold_at_its_points(norm: str, seed: int) -> None:
    """Cells of the stream behind attention, by the plain block at their points: the bounds of the search are below what
    is asked there, by the chord and by pieces; those of the checker: tests/test_verdicts_to_the_unit.py."""
    rng = np.random.default_rng([seed, 5])
    model, naive = verdict_cases.random_checkpoint(rng, norm=norm)
    graph = verdict_cases.graph_of_words(rng, model, naive)
    labels, asked, tail = list(graph.labels), graph.asked[0], Tail(model, graph.labels)
    held = np.array([[-np.inf], [np.inf]]) + np.zeros(len(tail.tables.inner))
    for size in (0.02, 0.3):
        y = Form(
            rng.normal(size=model.d), rng.normal(size=(model.d, 3)) * size, np.abs(rng.normal(size=model.d)) * size
        )
        eps = rng.uniform(-1, 1, size=(40, 3))
        points = y.c + eps @ y.g.T + rng.uniform(-1, 1, size=(40, model.d)) * y.r
        exact = np.array([scaled(naive, point) for point in points])[:, labels]
        near = tail.near(y)
        for bounds in ([tail.signs(near, asked)], next(tail.pieces(near, asked, [2], held))):
            below = np.array([least + eps @ lines.T for least, lines in bounds]).min(0)
            assert (below <= asked.signs * exact + 1e-9).all()


@pytest.mark.parametrize("norm", ["", *NORMS])
@pytest.mark.parametrize("seed", range(6))
def test_gradients_are_differences_and_attacks_find_words_of_the_case(norm: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 6])
    model, naive, graph = verdict_cases.random_case(rng, norm=norm)
    attack, y = Attack(model, graph, Atoms(model, 6)), rng.normal(size=model.d)
    for label in graph.labels:
        value, gradient = attack.label(y, label)
        assert not norm or np.isclose(value, scaled(naive, y)[label], rtol=1e-6, atol=1e-9)
        ends = [[attack.label(y + step * e, label)[0] for step in (1e-6, -1e-6)] for e in np.eye(model.d)]
        assert np.allclose(gradient, [(up - down) / 2e-6 for up, down in ends], rtol=1e-4, atol=1e-5)
    for key in graph.cases(6)[1:]:
        for value, word in attack.words(key, graph.labels[0]):
            ways = [q for w, q in prefixes((graph.delta, graph.accept), 6) if w == word]
            assert (len(word), word[-1], ways) == (*key[:2], [key[2]])
            logit = naive.logits(tuple(model.tokens[s] for s in word))[graph.labels[0]]
            wanted = graph.labels[0] in graph.want[key[2]]
            assert (value > 0) == ((logit > 0) == wanted) or abs(logit) < 1e-9


def said(model: Trained, **changed: object) -> Trained:
    """The model read again with a changed configuration."""
    config = {
        "n_layer": len(model.layers), "n_head": model.heads, "n_embd": model.d, "vocab_size": len(model.vocab),
        "activation_function": model.activation, "layer_norm_epsilon": "1e-05", "vocab": list(model.vocab),
        "tie_word_embeddings": model.tied, "position_embeddings": "none" if model.positions is None else "learned",
        "n_positions": 12, "norm_first": not model.post, "final_norm": model.norm == "",
        "layer_norm": model.norm != "none",
    }  # fmt: skip
    return trained("other", model.content, config | changed, "m.safetensors")


def test_what_a_configuration_says_must_fit_the_weights() -> None:
    """A file has the same tensors with LayerNorm behind each half and without a last one: neither is guessed."""
    rng, made = np.random.default_rng(3), list[Trained]()
    for norm in (*NORMS, ""):
        random = (verdict_cases.random_checkpoint(rng, norm=norm)[0] for _ in range(50))
        made.append(next(model for model in random if model.labels == model.vocab))
        assert said(made[-1]).norm == norm
    post, bare, none, usual = made
    for model, changed, message in (
        (bare, {"final_norm": True}, r"m.safetensors: the tensor 'transformer.ln_f.weight' is missing"),
        (post, {"final_norm": True}, r"config final_norm: LayerNorm stands behind each half \(norm_first\)"),
        (usual, {"final_norm": False}, r"tensor '?transformer.ln_f.bias'? is not part of GPT-2's block"),
        (none, {"layer_norm": True}, r"the tensor 'transformer.h.0.ln_1.weight' is missing"),
        (none, {"norm_first": False}, r"config layer_norm: there is none, but norm_first says"),
        (none, {"layer_norm": 0}, r"config layer_norm: expected true or false, not '?0"),
        (usual, {"layer_norm": False, "final_norm": False}, r"h.0.ln_1.bias'? is not part of GPT-2's block"),
        (post, {"norm_first": "no"}, r"config norm_first: expected true or false, not 'no'"),
    ):
        with pytest.raises(ModelError, match=message):
            said(model, **changed)


def test_another_norm_in_the_certificate_is_another_claim() -> None:
    """The wording is a part of the claim: with the other one the checker reads another model, or refuses the file."""
    seen = set[str]()
    for seed in range(12):
        model, _, graph, _ = verdict_cases.case("norms", seed)
        found = verify_trained(model, graph, 1, seconds=60)
        for other in (*NORMS, None, "pre"):
            document = json.loads(found.to_bytes())
            if document["model"].pop("norm") == other:
                continue
            document["model"] |= {} if other is None else {"norm": other}
            try:
                verify(model.content, json.dumps(document).encode())
                assert verdict_cases.true_of(model.content, document) is not False
                seen.add("true as well")
            except Reject as reason:
                seen.add("missing" if "the tensor is missing" in str(reason) else "refused")
    assert "missing" in seen


def test_the_empty_prefix_is_no_case_and_no_wrong_word() -> None:
    model, _, graph, _ = verdict_cases.case("no start", 1)
    told = "no start token, and so no answer behind the empty word: -n must be at least 1"
    with pytest.raises(UsageError, match=told):
        verify_trained(model, graph, 0)
    with pytest.raises(UsageError, match=told):  # it was "reads 1 .. inf tokens, not 0"
        force_decision(verdict_cases.first("no start", 1)[0], 0, Decision((0,), False))
    cases = (verdict_cases.case("no start", seed) for seed in range(40))
    answers = (verify_trained(model, graph, 2) for model, _, graph, _ in cases)
    found = next(found for found in answers if found.wrong is not None)
    claim = found.document() | {"wrong": {"word": [], "label": found.graph.labels[0]}}
    assert "expected a symbol: there is no start token" in refusal(found.model.content, claim)[1]


# ---------------------------------------------------------------- the command, on models that torch trained

COMMANDS = {
    SHIPPED / "no-equal-neighbours-1l1h16d-relu-post": (None, "at most 3", "Attention of the hardest word", "abc"),
    SHIPPED / "first-is-last-1l1h16d-bare": ("start=none", "1 to 3", "Attention of the hardest word", "ab"),
    verdict_cases.FOLDER / "first-is-last-1l1h16d-last": ("read=last", "at most 3", "counts this token, too", "ab"),
    verdict_cases.FOLDER / "dyck1-depth2-1l1h16d-first": ("read=first", "at most 3", "counts this token, too", ""),
}


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
def test_the_command(path: Path, tmp_path: Path) -> None:
    """From a checkpoint to its verdict, its check, its report, an import and a restriction; then to a wrong word."""
    (mark, prefixes, shown, symbols), model, proof = COMMANDS[path], f"{path}.safetensors", tmp_path / "c.json"
    said = succeeded("soft", "verify", model, "-n", 3, "-o", proof)
    assert "n = 0 .. 3: right" in said.output
    assert "right as run in float32: every prefix; every margin is at least " in said.output
    assert ("no start token: nothing is asked behind the empty word" in said.output) == (mark == "start=none")
    assert json.loads(proof.read_text())["model"].get("norm") == (None if mark else "post")
    line = said.output.splitlines()[-2]
    assert line.startswith(f"s VERIFIED right n=0..3 {f'{mark} cases=' if mark else 'cases='}")
    assert typed("check", model, proof).output.strip() == line
    page = str(page_of(proof, model))
    assert shown in page
    assert f"behind every prefix of {prefixes} symbols" in page
    weights, record = tmp_path / "again.safetensors", f"{path}.record.json"
    made = succeeded("soft", "import", model, "--compare", record, "--weights", weights)
    assert ("LayerNorm last" in made.output) == (mark is None)
    same = typed("soft", "verify", weights, "-n", 3)
    assert same.output.splitlines()[-1].rsplit(" ", 1)[0] == line.rsplit(" ", 1)[0]
    s = load(model).symbols[-1]
    said = typed("soft", "certify", model, "-n", 2, "--fix", f"1:{s},2:{s}")
    assert f"fixed: 1: {s}, 2: {s}\nforced behind every completion: " in said.output
    if symbols:
        said = typed("soft", "verify", model, "-n", 4, "-L", f"regex:({'|'.join(symbols)})*", "-o", proof)
        assert said.exit_code == 3, said.output
        assert "The wrong word, step by step" in str(page_of(proof, model))


# ----------------------------------------------------------------
# Verdicts on weights that nobody trains: huge, tiny or infinite. There is an answer or one line, never a crash.


STAR = ((0, 0),)
"""All words over two symbols."""
ONLY_A = ((0, -1),)


def parts(seed: int, times: dict[str, float], layers: int = 1, kind: type = np.float32) -> tuple[Any, dict[str, Any]]:
    """Random tensors and the configuration of :data:`.SMALL`; those whose names end so are multiplied."""
    config = SMALL | {"n_layer": layers}
    made = weights(np.random.default_rng(seed), config, 0.5)
    for name in made:
        factor = np.prod([factor for end, factor in times.items() if name.endswith(end)])
        with np.errstate(over="ignore"):
            made[name] = (made[name].astype(np.float64) * factor).astype(kind)
    return made, config


def checkpoint(seed: int, times: dict[str, float], *, layers: int = 1, kind: type = np.float32) -> Trained:
    """A model of them."""
    return made_of(*parts(seed, times, layers, kind))


def wanting(model: Trained, delta: tuple[tuple[int, ...], ...], labels: tuple[int, ...] = (0, 1, 2, 3)) -> Graph:
    """Wanted is what the model says behind the empty word."""
    logits = forward(model, model.rows([]))[-1]
    want = frozenset(k for k in labels if logits[k] > 0)
    return Graph(delta, frozenset(range(len(delta))), labels, (want,) * len(delta), tuple(range(len(delta))))


@pytest.mark.parametrize("delta", [STAR, ONLY_A])
@pytest.mark.parametrize("n", [5, None])
def test_a_logit_of_0_is_open_and_not_wrong(delta: tuple[tuple[int, ...], ...], n: int | None) -> None:
    """A label that is exactly 0 behind every word, and not wanted: the claim is true, and nothing shows it."""
    for times in ({"lm_head.weight": 0.0}, {"lm_head.weight": 0.0, "attn.c_proj.weight": 0.0}):
        model = checkpoint(1, times)
        graph = wanting(model, delta)
        assert graph.want[0] == frozenset()
        found, line = confirmed(verified(model, graph, n), "c")
        assert (found.status, found.wrong, line) == ("open", None, None)
        assert found.open[0].least == 0


def test_a_logit_that_is_as_good_as_0_is_not_called_wrong() -> None:
    """Behind `b` the sign is wrong by 1e-33, which no enclosure of the checker shows."""
    model = checkpoint(2, {"lm_head.weight": 1e-33})
    graph = wanting(model, STAR)
    graph = Graph(((0, 1), (0, 1)), frozenset({0, 1}), graph.labels, (graph.want[0], graph.want[0] ^ {0}), (0, 1))
    assert confirmed(verify_trained(model, graph, 3), "c")[0].status == "open"
    found, line = confirmed(verify_every_length(model, graph), "c")
    assert line is None
    assert not found.proves


def test_the_first_symbol_may_be_as_good_as_right_where_there_is_no_start_token() -> None:
    """Nothing comes before it, so nothing is left to certify."""
    sizes = {"attn.c_attn": (2, 6), "attn.c_proj": (2, 2), "mlp.c_fc": (2, 1), "mlp.c_proj": (1, 2)}
    model = bare({"wte.weight": np.eye(2)}, sizes, [1e-33, 0], 0)
    graph = Graph(((0, -1),), frozenset({0}), (0,), (frozenset(),), (0,), empty=False)
    found, line = confirmed(verify_every_length(model, graph), "c")
    assert (found.status, found.wrong, found.proves, line) == ("open", None, False, None)
    assert confirmed(verify_trained(model, graph, 3), "c")[0].status == "open"


def test_words_that_are_light_beside_other_symbols_have_a_box() -> None:
    """The score of `b`, which no word has, is above those of all others by more than exp can hold."""
    for seed in range(5):
        model = checkpoint(seed, {"attn.c_attn.weight": 2e3, "attn.c_proj.weight": 1e-3})
        found, line = confirmed(verify_trained(model, wanting(model, ONLY_A), 3, float32=True), "c")
        assert found.status in ("right", "open", "wrong")
        assert (line is None) == (not found.proves)


def test_the_checker_says_of_a_light_word_that_it_does_not_know() -> None:
    """In some of these models the weights of the word vanish beside those of `b`: that is no fault of the file."""
    said_no = set()
    for seed in range(40):
        model = checkpoint(seed, {"attn.c_attn.weight": 2e3, "attn.c_proj.weight": 1e-3})
        document = verify_trained(model, wanting(model, ONLY_A), 0).document()
        document |= {"n": 2, "upto": -1, "basis": [], "cases": [], "wrong": {"word": [0, 0], "label": 0}}
        code, reason = refusal(model.content, document)
        said_no.add((code, "vanish" in reason))
        if seed > 12 and len(said_no) > 2:
            break
    assert said_no == {(0, False), (3, False), (3, True)}


def test_numbers_that_no_certificate_holds_are_refused_in_one_line() -> None:
    model = checkpoint(1, {"attn.c_attn.weight": 1e6, "ln_1.weight": 1e10})
    for n in (3, None):
        with pytest.raises(ModelError, match="attention reads goes beyond 2"):
            verified(model, wanting(model, STAR), n)
    for layer in ("h.1.attn.c_attn.weight", "h.1.attn.c_proj.weight"):
        model = checkpoint(1, {"h.1.attn.c_attn.weight": 1e8, layer: 1e8}, layers=2)
        assert confirmed(verify_trained(model, wanting(model, STAR), 2), "c")[0].status in ("open", "wrong")


def test_names_that_the_checker_does_not_read_are_refused_before_the_search() -> None:
    """The body of a model alone, the masks of older files, a tied read-out once more, other libraries' names."""
    made, config = parts(1, {})
    body = {name.removeprefix("transformer."): tensor for name, tensor in made.items()}
    masked = made | {"transformer.h.0.attn.bias": np.tril(np.ones((1, 1, 8, 8), dtype=bool))}
    twice = made | {"lm_head.weight": made["transformer.wte.weight"]}
    for tensors, says in ((body, "'h.0.attn.c_attn.bias'"), (masked, "attn.bias'"), (twice, "'lm_head.weight'")):
        config["tie_word_embeddings"] = tensors is twice
        model = made_of(tensors, config)
        graph = wanting(model, ONLY_A)
        for n in (1, None):
            with pytest.raises(ModelError, match=f"the checker does not read the tensor .*{says}"):
                verified(model, graph, n)
    with pytest.raises(ModelError, match="GPT-2's names"):
        made_of({"blocks.0.attn.W_Q": made["transformer.wte.weight"]}, config)


def test_the_influence_of_light_words_has_a_bound(tmp_path: Path) -> None:
    for seed in range(6):
        made, config = parts(seed, {"attn.c_attn.weight": 2e3, "attn.c_proj.weight": 1e-3})
        (tmp_path / "m.safetensors").write_bytes(save(made))
        (tmp_path / "m.config.json").write_text(json.dumps(config))
        words = ["soft", "influence", str(tmp_path / "m.safetensors"), "-n", "3", "--pairs", "--logit", "--time", "1"]
        with np.errstate(all="ignore"):
            assert typed(*words).exit_code == 0


def test_the_influence_on_the_shortest_words_has_a_bound() -> None:
    """No free place, one, or two: with and without positions."""
    for name in ("tomita2-1l1h16d", "contains-aba-1l1h16d-nope"):
        for n in (1, 2, 3, 4):
            path = str(FOLDER / f"{name}.safetensors")
            found = typed("soft", "influence", path, "-n", n, "--pairs", "--logit")
            assert found.exit_code == 0, (name, n, found.output)


@pytest.mark.parametrize(("factor", "kind"), [(1e13, np.float32), (1e13, np.float64), (1e9, np.float16)])
def test_weights_beyond_those_of_the_checker_are_refused_when_they_are_read(factor: float, kind: type) -> None:
    with pytest.raises(ModelError, match="NaN, infinite or beyond 2"):
        checkpoint(1, {"mlp.c_fc.weight": factor}, kind=kind)


@pytest.mark.parametrize("times", [{}, {"ln_2.weight": 1e11}, {"mlp.c_proj.bias": 1e11}])
def test_what_overflows_in_float32_is_not_right_as_run(times: dict[str, float]) -> None:
    """Squares in the last LayerNorm leave the range of float32, so the computed logits are those of the bias."""
    differ = 0
    for seed in range(3):
        model = checkpoint(seed, {"mlp.c_fc.weight": 1e10, "mlp.c_proj.weight": 1e11, **times})
        found = verify_trained(model, graph := wanting(model, STAR), 1, float32=True)
        assert found.float32 is not None
        assert found.float32.upto == -1
        with np.errstate(all="ignore"):
            logits, _ = Run(model, np.random.default_rng(1)).logits([2])
        differ += {k for k in graph.labels if logits[0, k] > 0} != graph.want[0]
    assert differ


# ---------------------------------------------------------------- what no verdict covers is wanting before the search


def test_one_token_in_front_of_the_word_and_behind_it_is_refused_before_the_search() -> None:
    """The checker wants different rows for both, so no certificate would hold."""
    made, config = parts(1, {})
    model = made_of(made, config | {"end_marker_token_id": 2, "place": "last"})
    nothing = Graph(((0, 0),), frozenset({0}), (0,), (frozenset(),))
    for n in (2, None):
        with pytest.raises(ModelError, match="'<bos>' stands in front of the word and behind it, too"):
            verified(model, nothing, n)
    with pytest.raises(ModelError, match="stands in front of the word and behind it, too"):
        force_decision(model, 2, Decision((0,), False))


def test_a_vocabulary_of_one_token_is_refused_before_the_search() -> None:
    made, config = parts(1, {})
    config |= {"vocab": ["a"], "vocab_size": 1, "labels": ["yes"], "bos_token_id": None, "eos_token_id": None}
    made |= dict.fromkeys(("transformer.wte.weight", "lm_head.weight"), np.ones((1, 4), np.float32))
    nothing = Graph(((0,),), frozenset({0}), (0,), (frozenset(),), empty=False)
    with pytest.raises(ModelError, match="has 1 tokens and width 4; verdicts are about 2 to 4096 of both"):
        verify_trained(made_of(made, config), nothing, 2)


# ---------------------------------------------------------------- LayerNorm's constant


def test_the_constant_of_a_certificate_is_one_by_a_number_of_at_most_sixteen_digits() -> None:
    """A larger one is another claim, which the checker decides anew; what is written otherwise is refused."""
    model, graph = verdict_cases.loaded(verdict_cases.NAMES[0])
    document = verify_trained(model, graph, 3).document()
    assert document["model"]["epsilon"] == "1/100000"
    for text in ("1/1000000000000", "1/9999999999999999"):
        code, said = refusal(model.content, document, model={"epsilon": text})
        assert code in (0, 3), said
        changed = json.loads(json.dumps(document))
        changed["model"] |= {"epsilon": text, "sha256": model.sha256}
        assert code == 3 or verdict_cases.true_of(model.content, changed)
    for text in ("1/10000000000000000", "1/0", "1/01", "2/3", "1e-12", "1/-5", "1/1.5", "", "1/\u0661"):
        code, said = refusal(model.content, document, model={"epsilon": text})
        assert (code, "epsilon" in said, "1/N with at most 16 digits" in said) == (4, True, True)
