"""Softmax models: the format says what it reads, the evaluator computes what the format says, nothing else gets in."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import restrict
from restrict.base.errors import ModelError, NotEstablished, UsageError
from restrict.cli.main import cli
from restrict.soft.models import evaluate
from restrict.soft.models.format import document_of, dumps, loads, tensors_of
from restrict.soft.models.known import parity, random
from restrict.soft.models.model import Positions, SoftModel
from restrict.soft.models.source import load
from tests.commands import typed
from tests.naive_soft import run
from tests.prefixes import Decoder
from tests.soft_words import masked

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "docs/schema/restrict-soft-1.schema.json").read_text(encoding="utf-8"))
VARIANTS = [
    random(layers=2, heads=2, width=6, hidden=5, seed=1),
    random(layers=2, heads=3, width=7, hidden=4, symbols=3, seed=2, causal=1),
    random(layers=1, heads=1, width=4, hidden=3, seed=3, norm=1, percent=150),
    random(layers=2, heads=2, width=5, hidden=3, seed=4, norm=2, gelu=1, labels=3),
    random(layers=1, heads=2, width=4, hidden=3, seed=5, additive=1, percent=300),
    load("parity"),
    load("first:log=1"),
]


def concatenated() -> SoftModel:
    model = random(layers=1, heads=1, width=6, hidden=3, seed=8)
    positions = Positions("table", "concat", (), np.arange(20.0).reshape(10, 2) / 7)
    return replace(model, embed=model.embed[:, :4], positions=positions)


@pytest.mark.parametrize("model", [*VARIANTS, masked(VARIANTS[0], "strict_past"), masked(VARIANTS[1], "future"),
                                   masked(VARIANTS[4], "strict_future"), concatenated()])  # fmt: skip
def test_evaluator_is_the_formula(model: SoftModel) -> None:
    rng = np.random.default_rng(0)
    for length in (1, 4):
        words = model.encode(rng.integers(0, len(model.alphabet), (2, length)))
        found = evaluate.logits(model, words, at=np.arange(words.shape[1]))
        single = evaluate.logits(model, words, at=np.arange(words.shape[1]), dtype=np.float32)
        for word, rows, small in zip(words, found, single, strict=True):
            slow = run(model, [int(t) for t in word])
            np.testing.assert_allclose(rows, slow, atol=1e-12, rtol=1e-12)
            np.testing.assert_allclose(small, slow, atol=1e-4)
    assert evaluate.logits(model, words).shape[1] == 1  # the read position alone
    read = found[:, [model.output_position(words.shape[1])]]
    np.testing.assert_allclose(evaluate.logits(model, words), read, atol=1e-13)


@pytest.mark.parametrize("model", [*VARIANTS, concatenated()])
def test_a_model_is_read_back_from_its_file(model: SoftModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert dumps(again) == dumps(model) == (tmp_path / "m.safetensors").read_bytes()
    assert again.digest == model.digest
    jsonschema.validate(document_of(model), SCHEMA)


@pytest.mark.parametrize("word", ["1", "0110", "1" * 9])
def test_first_has_the_scores_of_the_published_code(word: str) -> None:
    """Its query and key are one number of a width of 6, and PyTorch divides their product by the root of the width."""
    torch = pytest.importorskip("torch")
    n, bit = len(word) + 1, int(word[0])
    query, key, value = (torch.zeros((1, n, 6), dtype=torch.float64) for _ in range(3))
    query[0, 0, 0], key[0, 1, 0], value[0, 1, 5] = 1.0, 1.0, bit - 0.5
    read = torch.nn.functional.scaled_dot_product_attention(query, key, value)[0, 0, 5]
    model = load("first")
    assert evaluate.logits(model, model.encode([word]))[0, 0] == pytest.approx(float(read), abs=1e-12)


def test_documented_example_is_a_model() -> None:
    text = (ROOT / "docs/soft-format.md").read_text(encoding="utf-8")
    (example,) = (json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    jsonschema.validate(example, SCHEMA)
    document = document_of(load("first:log=1"))
    del document["description"]
    assert example == document | {"name": "first"}


# ---------------------------------------------------------------- what is refused, but for malformed files


def test_a_term_without_a_value_is_refused_when_it_is_used() -> None:
    from safetensors.numpy import save

    model = VARIANTS[3]
    for which in ("terms", "scale"):
        document = document_of(model)
        document["position"]["terms"][0] = "i/0" if which == "terms" else "i"
        document["layers"][0]["heads"][0]["scale"] = "1/(n-n)" if which == "scale" else "1"
        read = loads(save(tensors_of(model), {"restrict": json.dumps(document)}), "m.safetensors")
        with pytest.raises(ModelError, match=r"\A[^\n]*divides by zero[^\n]*\Z"):
            evaluate.logits(read, read.encode([["0", "1", "0"]]))


def test_a_length_beyond_the_table_is_refused() -> None:
    model = concatenated()
    with pytest.raises(ModelError, match="n = 11 is beyond the position table, which has 10 rows"):
        evaluate.logits(model, model.encode(np.zeros((1, 11), dtype=np.int64)))


def test_wrong_words_are_refused() -> None:
    with pytest.raises(UsageError, match="one length"):
        parity().encode([["1"], ["1", "0"]])
    with pytest.raises(UsageError, match=r"0 \.\. 2"):
        evaluate.logits(parity(), np.array([[2, 7]]))


# ---------------------------------------------------------------- not for Theorem 1


def test_a_soft_model_is_refused_by_the_functions_of_theorem_1() -> None:
    model: Any = parity()
    for call in (
        lambda: restrict.refute(model, "parity", 20),
        lambda: restrict.certify(model, 20),
        lambda: restrict.exact(model, 8),
    ):
        with pytest.raises(UsageError, match=r"softmax model: Theorem 1|expected a Model"):
            call()


COMMANDS = sorted(name for name, command in cli.commands.items() if name not in ("soft", "language", "import", "new"))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_outside_soft_takes_a_softmax_model(command: str, tmp_path: Path) -> None:
    """Whatever the command's other arguments are: no output, and no success."""
    path = tmp_path / "model.json"
    parity().save(path)
    for more in ([], ["-n", "9"], ["parity", "-n", "9"], ["--language", "parity", "-n", "9"], ["0101"], [str(path)]):
        result = typed(command, path, *more)
        assert result.exit_code != 0, (command, more, result.output)
        assert not any(word in result.output for word in ("VERIFIED", "refuted", "certificate in")), result.output


def test_no_attention_but_to_one_position_gets_into_theorem_1(tmp_path: Path) -> None:
    """Average-hard heads: the exact weights that Theorem 1 would take, with one word changed; and counting programs."""
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file

    source = ROOT / "instances/weights-a-before-b.safetensors"
    with safe_open(source, "numpy") as opened:
        metadata = opened.metadata()
    for kind in ("average", "softmax", "soft", "average-hard", "Hard", ""):
        (key,) = (k for k, v in metadata.items() if v.startswith("{"))
        document = json.loads(metadata[key])
        heads = [head for layer in document["layers"] for head in layer["heads"]]
        assert heads
        heads[-1]["attention"] = kind
        save_file(load_file(source), tmp_path / "w.safetensors", metadata | {key: json.dumps(document)})
        result = typed("import", "weights", tmp_path / "w.safetensors", "-o", tmp_path / "m.json")
        assert isinstance(result.exception, ModelError), (kind, result.output)
        assert "is not 'hard'" in str(result.exception)
        assert not (tmp_path / "m.json").exists()
    for field in ({"attention": "average"}, {"attention": "softmax"}, {"ties": "average"}):
        document = json.loads((ROOT / "instances/contains-one.json").read_text())
        head = next(v for v in document["variables"] if "head" in json.dumps(v) or "score" in v)
        head.update(field)
        (tmp_path / "h.json").write_text(json.dumps(document))
        with pytest.raises(ModelError):
            restrict.load(tmp_path / "h.json")


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_words_run_by_their_prefixes_have_the_same_logits(kind: type) -> None:
    """Every prefix run once gives the logits of whole words at every position."""
    model = random(layers=2, causal=1, symbols=2, seed=3)
    n, words = 4, np.indices((2,) * 4).reshape(4, -1).T
    whole = evaluate.logits(replace(model, output=replace(model.output, place="every")), words, dtype=kind)
    decoder = Decoder(model, n, kind)
    before = decoder.empty()
    for at in range(n):
        found = decoder.extend(before, np.arange(2))
        flat = found.logits.reshape(-1, found.logits.shape[2])[np.arange(16) // 2 ** (n - 1 - at)]
        assert np.allclose(flat, whole[:, at], atol=1e-12 if kind is np.float64 else 1e-5)
        prefix, symbol = (x.reshape(-1) for x in np.indices(found.logits.shape[:2]))
        before = found.chosen(prefix, symbol)
    with pytest.raises(NotEstablished):
        Decoder(random(), n)
