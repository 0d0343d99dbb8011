"""Answers that a function gives (`soft verify --answers`): one label behind each of some words, nothing elsewhere.
Judged by a plain forward pass on all words."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from restrict.base.errors import ModelError, ResourceLimit, UsageError
from restrict.base.options import changed
from restrict.checker.main import verify
from restrict.soft.importers import Options, compare, import_weights, read_record, save_gpt2_names
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.graph import tagged_graph
from restrict.soft.trained.labelled import answered, folded, read_answers
from restrict.soft.trained.model import Trained, forward_all, load
from restrict.soft.trained.options import OPTIONS
from tests import verdict_cases
from tests.commands import failed, raising, succeeded
from tests.layouts import by_hand
from tests.naive_gpt2 import Naive

Table = dict[tuple[str, ...], str]


def greatest_of(k: int, count: int, sharp: float = 20.0) -> dict[str, Any]:
    """Weights with TransformerLens' names of a head that reads the greatest of ``k`` numbers below ``count``: its
    score is ``sharp`` times the number, and its value says which number it is."""
    made: dict[str, Any] = {
        "embed.W_E": np.eye(count, count + 2), "pos_embed.W_pos": np.zeros((k, count + 2)),
        "unembed.W_U": np.eye(count + 2, count), "unembed.b_U": np.zeros(count),
    }  # fmt: skip
    made["embed.W_E"][:, count], made["pos_embed.W_pos"][:, count + 1] = np.arange(count), 1
    d = count + 2
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        made[f"blocks.0.attn.{name}"] = np.zeros((1, d, d))
    made["blocks.0.attn.W_Q"][0, count + 1, 0] = sharp * d**0.5
    made["blocks.0.attn.W_K"][0, count, 0] = 1
    made["blocks.0.attn.W_V"][0, :count, :count] = 9 * np.eye(count)
    made["blocks.0.attn.W_O"][0, :count, :count] = np.eye(count)
    made |= {f"blocks.0.attn.b_{p}": np.zeros((1, d)) for p in "QKV"} | {"blocks.0.attn.b_O": np.zeros(d)}
    return {name: np.asarray(a, dtype=np.float32) for name, a in made.items()}


def saved(into: Path, arrays: dict[str, Any], symbols: list[str]) -> Trained:
    """The checkpoint that an import writes for verdicts."""
    options = Options(alphabet=tuple(symbols), start_marker="", never=())
    found = import_weights(arrays, options, config={"normalization_type": None})
    save_gpt2_names(found, into / "m.safetensors")
    return load(into / "m.safetensors")


def numbers(count: int) -> list[str]:
    return [str(k) for k in range(count)]


def table_of_greatest(k: int, count: int) -> Table:
    return {word: max(word, key=int) for word in itertools.product(numbers(count), repeat=k)}


def test_the_greatest_of_some_numbers(tmp_path: Path) -> None:
    """An attention-only model without LayerNorm, proved on all words; the same as a fold, by the same states."""
    model, table = saved(tmp_path, greatest_of(3, 5), numbers(5)), table_of_greatest(3, 5)
    graph = answered(model, table)
    other = folded(model, 3, "0", lambda m, s: max(m, s, key=int), str)
    assert len(graph.delta) == len(other.delta) == 1 + 5 + 5 + 5
    for word in table:
        ours = tuple(int(s) for s in word)
        assert graph.want[graph.state(ours)] == other.want[other.state(ours)] == {max(ours)}
        assert all(graph.want[graph.state(ours[:k])] == set(range(5)) for k in range(3))
    found = verify_trained(model, graph, 3)
    line = verify(model.content, found.to_bytes())
    assert line.startswith("s VERIFIED right n=0..3 greatest start=none cases=35 ")
    assert verify(model.content, verify_trained(model, other, 3).to_bytes()) == line


def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
    arrays, table = greatest_of(3, 5), table_of_greatest(3, 5)
    arrays["unembed.b_U"][1] = 100
    model = saved(tmp_path, arrays, numbers(5))
    found = verify_trained(model, answered(model, table), 3)
    assert found.wrong is not None
    word = tuple(model.symbols[s] for s in found.wrong.word)
    assert table[word] != "1" == model.labels[found.wrong.label]
    assert by_hand(arrays, {"normalization_type": None}, list(found.wrong.word))[-1].argmax() == 1
    assert verify(model.content, found.to_bytes()).endswith(f" shortest {model.sha256}")


def random_table(rng: np.random.Generator, model: Trained, naive: Naive, n: int) -> Table:
    """What a model says behind some words of up to ``n`` symbols, sometimes a lie."""
    words = [w for k in range(model.first, n + 1) for w in itertools.product(range(len(model.symbols)), repeat=k)]
    made = Table()
    for at in rng.permutation(len(words))[: int(rng.integers(1, 9))]:
        said = naive.logits(tuple(model.tokens[s] for s in words[at]))
        best = max(model.outputs, key=lambda k: said[k])
        label = best if rng.random() < 0.9 else int(rng.choice(model.outputs))
        made[tuple(model.symbols[s] for s in words[at])] = model.labels[label]
    return made


@pytest.mark.parametrize("seed", range(12))
def test_answers_about_random_models_are_those_of_their_words(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = set[str]()
    for _ in range(4):
        model, naive = verdict_cases.random_checkpoint(rng, start=bool(seed % 2), norm=str(rng.choice(["", "none"])))
        table = random_table(rng, model, naive, 3)
        found = verify_trained(model, answered(model, table), 3, seconds=60)
        verdict_cases.agrees(found)
        bad = set[tuple[str, ...]]()
        for word, answer in table.items():
            said = naive.logits(tuple(model.tokens[model.symbols.index(s)] for s in word))
            if any(said[k] >= said[model.labels.index(answer)] for k in model.outputs if model.labels[k] != answer):
                bad.add(word)
        assert (found.status == "right") <= (not bad)
        assert found.wrong is None or tuple(model.symbols[s] for s in found.wrong.word) in bad
        seen.add(found.status)
    assert "right" in seen or "wrong" in seen


def test_tags_that_are_null_ask_nothing(tmp_path: Path) -> None:
    model = saved(tmp_path, greatest_of(2, 3), numbers(3))
    config = json.loads((tmp_path / "m.config.json").read_text())
    # behind one symbol the state is 1 + that; behind two it is 4 + the greater
    delta = [[1, 2, 3], [4, 5, 6], [5, 5, 6], [6, 6, 6], *[[None] * 3] * 3]
    config["task"] = {"kind": "tags", "dfa": {"delta": delta, "tags": [None] * 4 + numbers(3)}}
    (tmp_path / "m.config.json").write_text(json.dumps(config))
    model = load(tmp_path / "m.safetensors")
    found = verify_trained(model, tagged_graph(model), 2)
    assert found.status == "right"
    other = answered(model, table_of_greatest(2, 3))
    for word in itertools.chain.from_iterable(itertools.product(range(3), repeat=k) for k in range(3)):
        assert found.graph.want[found.graph.state(word)] == other.want[other.state(word)]
    config["task"]["dfa"]["tags"][0] = 0
    (tmp_path / "m.config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match="a label of the model, or null, for each state"):
        tagged_graph(load(tmp_path / "m.safetensors"))


# ---------------------------------------------------------------- sums modulo p: each word is a case of its own


def sum_modulo(p: int, d: int = 64) -> Trained:
    """A random block whose read-out is fitted to the sum modulo ``p`` behind ``a b =``."""
    config: dict[str, Any] = {
        "activation_function": "relu", "layer_norm": False, "n_layer": 1, "n_head": 1, "n_embd": d, "n_positions": 3,
        "vocab_size": p + 1, "vocab": [*numbers(p), "="], "labels": numbers(d), "tie_word_embeddings": False,
        "position_embeddings": "learned",
    }  # fmt: skip
    made = verdict_cases.weights(np.random.default_rng(0), config, 0.2)
    made = {name: a for name, a in made.items() if ".ln_" not in name} | {"lm_head.weight": np.eye(d, dtype=np.float32)}
    words = [[a, b, p] for a in range(p) for b in range(p)]
    streams = forward_all(verdict_cases.made_of(made, config), np.array(words), last=True)[:, 0]
    sums = np.eye(p)[[(a + b) % p for a, b, _ in words]]
    fitted = np.linalg.lstsq(streams, sums, rcond=None)[0].T * 9
    made["lm_head.weight"] = np.ascontiguousarray(fitted, dtype=np.float32)
    return verdict_cases.made_of(made, config | {"labels": numbers(p)})


def test_few_words_are_cases_of_their_own_where_one_is_open() -> None:
    """What one sum's words make of the neurons is no cell, so each of them is a case."""
    model = sum_modulo(5)
    table = {(str(a), str(b), "="): str((a + b) % 5) for a in range(5) for b in range(5)}
    graph = answered(model, table)
    assert verify_trained(model, graph, 3).memory == ("the first 3 symbols",)
    with changed(OPTIONS, single=1):
        found = verify_trained(model, graph, 3)
    assert found.memory == ("all symbols",)
    assert verify(model.content, found.to_bytes()).startswith("s VERIFIED right n=0..3 greatest start=none cases=55 ")
    with changed(OPTIONS, whole_room=0, single=1):
        assert verify_trained(model, graph, 3).memory != ("all symbols",)


# ---------------------------------------------------------------- files, and what is refused


def test_a_file_of_answers(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a b -> c\n\n  b\ta->a \n -> b\n-> -> -> ->\n")
    assert read_answers(path) == {("a", "b"): "c", ("b", "a"): "a", (): "b", ("->", "->"): "->"}
    path.write_text("a -> b->c\na->b -> ->b\n->a -> c\n-> -> a\n")
    assert read_answers(path) == {("a",): "b->c", ("a->b",): "->b", ("->a",): "c", ("->",): "a"}
    for text, reason in (
        ("a b c\n", r"line 1: expected WORD -> ANSWER"), ("a -> b\na -> b c\n", "line 2: expected WORD -> ANSWER"),
        ("a -> b\n\na -> c\n", "line 3: another answer was given behind 'a' before"), ("\n", "no line WORD -> ANSWER"),
        ("a ->\n", "line 1: expected"),
    ):  # fmt: skip
        path.write_text(text)
        with pytest.raises(UsageError, match=reason):
            read_answers(path)
    path.write_bytes(b"a -> \xff\n")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_answers(path)


def test_answers_that_are_none_of_the_models(tmp_path: Path) -> None:
    model = saved(tmp_path, greatest_of(2, 3), numbers(3))
    for table, reason in (
        ({("7",): "0"}, "'7' is not a symbol of m: 0 1 2"),
        ({("1",): "7"}, "the answer '7' is not a label of m: '0 1 2'"),
        ({(): "0"}, "no start token, and so no answer behind the empty word"), ({}, "no word may come"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=reason):
            answered(model, table)
    with pytest.raises(UsageError, match="no word may come"):
        folded(model, 2, 0, lambda _, s: None, str)
    with pytest.raises(ModelError, match="more than 4096 states"):
        folded(model, 9, "", lambda w, s: w + s, lambda w: w[-1])


def test_the_command_takes_answers_alone(tmp_path: Path) -> None:
    model = saved(tmp_path, greatest_of(2, 3), numbers(3))
    path = tmp_path / "max.txt"
    path.write_text("".join(f"{' '.join(word)} -> {answer}\n" for word, answer in table_of_greatest(2, 3).items()))
    said = succeeded("soft", "verify", tmp_path / "m.safetensors", "--answers", path, "-n", 2).stdout
    assert "m on 9 answers of max.txt, n = 0 .. 2: right" in said
    assert said.splitlines()[-1].endswith(model.sha256)
    path.write_text(path.read_text() + "1 -> 1\n")
    said = succeeded("soft", "verify", tmp_path / "m.safetensors", "--answers", path, "-n", 1).stdout
    assert "m on 1 of 10 answers of max.txt, n = 0 .. 1: right" in said
    for more in (
        ("-L", "regex:a"),
        ("--equals", "x"),
        ("--inputs", "regex:a"),
        ("--read-out", "next"),
        ("--label", "0"),
    ):
        told = failed(UsageError, "soft", "verify", tmp_path / "m.safetensors", "--answers", path, "-n", 2, *more)
        assert "--answers says all of the claim" in told


def test_a_given_certificate_is_about_these_answers(tmp_path: Path) -> None:
    """All of them, or some; not about another one."""
    saved(tmp_path, greatest_of(2, 3), numbers(3))
    path, kept = tmp_path / "max.txt", tmp_path / "c.json"
    lines = [f"{' '.join(word)} -> {answer}\n" for word, answer in table_of_greatest(2, 3).items()]
    start = "soft", "verify", tmp_path / "m.safetensors", "--answers", path, "-n", 2
    path.write_text("".join(lines))
    succeeded(*start, "-o", kept)
    for some in (lines, lines[2:5]):
        path.write_text("".join(some))
        assert "right, by the given certificate" in succeeded(*start, "--certificate", kept).stdout
    path.write_text("".join(lines[:-1]) + "2 2 -> 1\n")
    told = failed(ModelError, *start, "--certificate", kept)
    assert "behind '2 2' it wants 2, and what is asked is 1" in told


def test_a_check_beyond_its_limit_leaves_the_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saved(tmp_path, greatest_of(2, 3), numbers(3))
    path, kept = tmp_path / "max.txt", tmp_path / "c.json"
    path.write_text("0 1 -> 1\n")
    monkeypatch.setattr("restrict.soft.trained.confirm.trusted_check", raising(ResourceLimit("too many steps")))
    monkeypatch.setattr("restrict.soft.trained.parts.Processes.line", lambda self, content: None)
    start = "soft", "verify", tmp_path / "m.safetensors", "--answers", path, "-n", 2
    told = failed(ResourceLimit, *start)
    assert "not checked: too many steps; -o CERTIFICATE keeps what was found; then `restrict check " in told
    assert f"the certificate is in {kept}: `restrict check " in failed(ResourceLimit, *start, "-o", kept)
    assert verify(model.content, kept.read_bytes()).startswith("s VERIFIED right n=0..2 greatest ")


# ---------------------------------------------------------------- the models that come with the repository


@pytest.mark.parametrize(("name", "n", "cases"), [("max4-of-8", 4, 116), ("add13", 3, 351)])
def test_models_of_two_papers_are_right_on_all_words(name: str, n: int, cases: int, tmp_path: Path) -> None:
    """By the trusted checker, and by plain passes: the greatest of four numbers, a sum modulo 13."""
    folder = Path(__file__).parent.parent / "instances" / "answers"
    found = import_weights(folder / f"{name}.safetensors")
    assert compare(found, read_record(folder / f"{name}.record.json", found.tokens)).difference < 1e-4
    made = save_gpt2_names(found, tmp_path / "m.safetensors")
    model, table = load(tmp_path / "m.safetensors"), read_answers(folder / f"{name}.txt")
    right = {word: str(sum(map(int, word[:2])) % 13) if "=" in word else max(word, key=int) for word in table}
    assert table == right
    assert len(table) == (8**4 if name == "max4-of-8" else 13**2)
    verdict = verify_trained(model, answered(model, table), n)
    assert verify(model.content, verdict.to_bytes()) == (
        f"s VERIFIED right n=0..{n} greatest start=none cases={cases} {model.sha256}"
    )
    words = np.array([[model.vocab.index(s) for s in word] for word in table])
    said = forward_all(model, words, last=True)[:, 0].argmax(1)
    assert [model.labels[k] for k in said] == list(table.values())
    naive = Naive(made.content, made.config)
    for word in list(table)[::97]:
        logits = naive.logits(tuple(model.vocab.index(s) for s in word))
        assert model.labels[int(np.argmax(logits))] == table[word]
