"""Exact transformers: the imported model equals rational arithmetic, and bad files are refused in one line."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save, save_file

from restrict.base.errors import ModelError, ResourceLimit, UsageError
from restrict.importers import import_weights
from restrict.importers import weights as importer
from restrict.model.program import Head
from restrict.model.rules import Dot
from scripts.make_imports import INSTANCES
from tests.marks import heavy_after
from tests.random_weights import Reference, random_weights

EXAMPLE = INSTANCES / "weights-a-before-b.safetensors"


def agree(path: Path, longest: int) -> None:
    """Compare with the reference on all words up to a length."""
    model, reference = import_weights(path).model, Reference(path)
    markers = len(model.markers)
    for n in range(max(1, markers), longest + 1):
        for word in itertools.product(model.alphabet, repeat=n - markers):
            expected = reference.run(word)
            assert model.run(word).output == (expected if model.output.position == "every" else expected[-1]), word


PARTS = [*heavy_after(range(16), 1), pytest.param(50, marks=pytest.mark.slow)]
"""Ten transformers each; the last part is of five hundred, of one position more."""


@pytest.mark.parametrize("part", PARTS)
def test_random_transformers_equal_exact_arithmetic(part: int, tmp_path: Path) -> None:
    path, limited = tmp_path / "w.safetensors", 0
    count, most = (500, 5) if part == 50 else (10, 4)
    for seed in range(10 * part, 10 * part + count):
        random_weights(path, np.random.default_rng(seed))
        try:
            import_weights(path, limit=2**11)
        except ResourceLimit:
            limited += 1
            continue
        agree(path, most)
    assert limited < max(5, count // 10)


@pytest.mark.heavy
def test_dot_products_score_as_tables_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, dots = tmp_path / "w.safetensors", 0
    monkeypatch.setattr(importer, "TABLE_SCORES", 0)
    for seed in range(30):
        random_weights(path, np.random.default_rng(seed), layers=1, dtype="float32")
        agree(path, 4)
        dots += sum(isinstance(v.score, Dot) for v in import_weights(path).model.variables if isinstance(v, Head))
    assert dots > 10


def changed(tmp_path: Path, tensors: dict[str, Any] | None = None, **config: Any) -> Path:
    """The example with other tensors (`None` drops one) or another configuration."""
    with EXAMPLE.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    settings = json.loads(header["__metadata__"]["restrict"]) | config
    merged = {**load_file(EXAMPLE), **(tensors or {})}
    path = tmp_path / "changed.safetensors"
    kept = {name: np.ascontiguousarray(array) for name, array in merged.items() if array is not None}
    settings = {key: value for key, value in settings.items() if value is not None}
    save_file(kept, path, metadata={"restrict": json.dumps(settings)})
    return path


def test_the_example_accepts_a_last_b_after_an_a() -> None:
    model = import_weights(EXAMPLE).model
    for n in range(1, 6):
        for word in itertools.product("abc", repeat=n):
            assert model.run(word).output == ("accept" if word[-1] == "b" and "a" in word else "reject")


def test_huge_scores_are_ranked_in_tables(tmp_path: Path) -> None:
    """2^80 does not fit 64 bits; the order of the scores is what counts."""
    big = np.array([[2.0**40, 2.0**40, 0, 0], [0, 2.0**40, 0, 0]])
    tensors = {f"layers.0.heads.0.{r}": load_file(EXAMPLE)[f"layers.0.heads.0.{r}"] * 2.0**40 for r in ("query", "key")}
    assert tensors["layers.0.heads.0.query"].tolist() == big.tolist()
    found = import_weights(changed(tmp_path, tensors))
    assert found.notes[1] == "layers.0.heads.0: scores beyond 64 bits, replaced by their ranks (the same order)"
    agree(changed(tmp_path, tensors, output={"position": "last", "labels": ["no", "yes"]}), 4)


def test_huge_dot_products_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "TABLE_SCORES", 0)
    rng = np.random.default_rng(0)
    tensors = {f"layers.0.heads.0.{r}": rng.integers(1, 2**40, size=(2, 4)) for r in ("query", "key")}
    with pytest.raises(ModelError, match=r"layers.0.heads.0: 64-bit overflow: scores can reach \d{20,}"):
        import_weights(changed(tmp_path, tensors))


def test_the_limit_names_the_layer(tmp_path: Path) -> None:
    with pytest.raises(
        ResourceLimit, match=r"layer 0, head 0: 6 combinations of residual vectors can occur; the limit is 5"
    ):
        import_weights(EXAMPLE, limit=5)
    path = changed(tmp_path, {"position": np.zeros((9, 4), dtype=np.int8)})
    with pytest.raises(ResourceLimit, match="the embeddings: 27 combinations"):
        import_weights(path, limit=26)
    with pytest.raises(UsageError, match="the limit 0 must be at least 1"):
        import_weights(EXAMPLE, limit=0)


def test_position_embeddings_bound_the_length(tmp_path: Path) -> None:
    model = import_weights(changed(tmp_path, {"position": np.zeros((3, 4), dtype=np.int8)})).model
    assert model.run("aab").output == "accept"
    with pytest.raises(ModelError, match="not defined at n = 4"):
        model.at(4)


def test_halves_as_floats_and_as_denominators_are_the_same(tmp_path: Path) -> None:
    one = import_weights(changed(tmp_path, {"unembed_bias": np.array([0.0, -0.5])}, denominators={})).model
    two = import_weights(EXAMPLE).model
    assert one.content == two.content.replace(b"from weights-a-before-b.", b"from changed.")


HEADS = [{"mask": "strict_past"}]
BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"format": "other"}, "format: this is 'other', not 'restrict-weights/1'"),
    ({}, {"alphabet": None}, "the key 'alphabet' is missing"),
    ({}, {"extra": 1}, "unknown key 'extra'"),
    ({}, {"alphabet": ["a"]}, "tensor 'embed' has 3 rows; the alphabet with its markers has 1"),
    ({}, {"end_marker": "$"}, "tensor 'embed' has 3 rows; the alphabet with its markers has 4"),
    ({}, {"layers": []}, "tensor 'layers.0.ffn.in' is not part of the layout (docs/importers.md), or its layer"),
    ({}, {"layers": [{"heads": HEADS * 2}]}, "the tensor 'layers.0.heads.1.query' is missing"),
    ({}, {"layers": [{"heads": [], "norm": 1}]}, "unknown key 'norm'"),
    ({}, {"layers": [{"heads": [{"attention": "softmax"}]}]}, "layers.0.heads.0: attention 'softmax' is not 'hard'"),
    ({}, {"layers": [{"heads": [{"attention": "average"}]}]}, "(one position): outside Theorem 1"),
    ({}, {"layers": [{"heads": [{"mask": "causal"}]}]}, "heads[0].mask: expected none or past"),
    ({}, {"layers": [{"heads": [{"ties": "middle"}]}]}, "heads[0].ties: expected left or right"),
    ({}, {"denominators": {"unembed": 0}}, "denominators.unembed: 0 is not in 1 .."),
    ({}, {"denominators": {"nothing": 2}}, "denominators: there is no tensor 'nothing'"),
    ({}, {"denominators": {"unembed": 0.5}}, "only integers are allowed: 0.5"),
    ({}, {"output": {"position": "first"}}, 'output.position: expected last or every, not "first"'),
    ({}, {"output": {"position": "last", "labels": ["x"]}}, "output.labels: 1 labels for 2 rows of 'unembed'"),
    ({}, {"output": {"position": "last", "accept": [2]}}, "output.accept[0]: 2 is not in 0 .. 1"),
    ({"embed": None}, {}, "the tensor 'embed' is missing"),
    ({"embed": np.zeros(3)}, {}, "tensor 'embed' has shape (3,), not (any, any)"),
    ({"embed": np.full((3, 4), np.nan)}, {}, "tensor 'embed' has an entry that is infinite or not a number"),
    ({"embed": np.zeros((3, 4), dtype=bool)}, {}, "tensor 'embed' has type BOOL; known are I64"),
    ({"layernorm": np.zeros(4)}, {}, "tensor 'layernorm' is not part of the layout"),
    ({"layers.0.heads.0.key": np.zeros((3, 4))}, {}, "tensor 'layers.0.heads.0.key' has shape (3, 4), not (2, 4)"),
    ({"layers.0.ffn.out": np.zeros((4, 2))}, {}, "tensor 'layers.0.ffn.out' has shape (4, 2), not (4, 1)"),
    ({"unembed_bias": np.zeros(3)}, {}, "tensor 'unembed_bias' has shape (3,), not (2)"),
]


@pytest.mark.parametrize(("tensors", "config", "message"), BAD)
def test_bad_files_are_refused_in_one_line(
    tensors: dict[str, Any], config: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = changed(tmp_path, tensors, **config)
    with pytest.raises(ModelError) as error:
        import_weights(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a safetensors file"),
        (b"x" * 100, "not a safetensors file"),
        (save({"embed": np.zeros((1, 1))}), "the metadata has no entry 'restrict'"),
        (save({"embed": np.zeros((1, 1))}, metadata={"restrict": "{"}), "metadata 'restrict': top level: not JSON"),
        (save({"embed": np.zeros((1, 1))}, metadata={"restrict": '{"a": 1, "a": 2}'}), "occurs twice"),
    ],
)
def test_files_of_another_kind_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "f.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message):
        import_weights(path)
    with pytest.raises(UsageError, match="cannot read"):
        import_weights(tmp_path / "nothing")
