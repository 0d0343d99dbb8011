"""The soft commands and the importers, as a user meets them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

import restrict
from restrict.base.errors import ModelError, NotEstablished, RestrictError, UsageError
from restrict.soft.importers import from_torch
from restrict.soft.models import evaluate
from restrict.soft.models.known import first
from restrict.soft.models.model import document_of, tensors_of
from restrict.soft.models.source import load
from tests.commands import failed, succeeded

FAR_APART = "random:layers=1,width=8,percent=9000,symbols=2,seed=1"


def ok(*arguments: object) -> str:
    return str(succeeded("soft", *arguments).output)


def test_influence_prints_bounds_in_their_order() -> None:
    text = ok("influence", "parity", "-n", "4,8", "--samples", "50")
    for said in ("(a) closed", "fit (estimate): sets ~", "against 1/n: n times it is"):
        assert said in text
    rows = json.loads(ok("influence", "first", "-n", "5", "--json", "--logit"))["rows"]
    assert rows[0]["measured"][0] <= rows[0]["sharp"][0] * (1 + 1e-12) <= rows[0]["layerwise"][0]
    assert "row: position changed" in ok("influence", "first", "-n", "4", "--matrix")


def test_cross_entropy_prints_a_floor_below_the_measured_value() -> None:
    text = ok("cross-entropy", "parity", "--language", "parity", "-n", "3,20", "--samples", "20")
    assert "1.000000" in text
    row = json.loads(ok("cross-entropy", "parity", "--language", "parity", "-n", "4", "--json"))["rows"][0]
    assert row["floor"] <= row["measured"]


def test_what_certify_writes_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    text = ok("certify", "first:log=1", "-n", "30", "--epsilon", "0.01", "-o", path)
    assert "fixed 1, free 28" in text
    assert "at most 1/100 (certified)" in text
    text = ok("certify", "first:log=1", "-n", "12", "--epsilon", "0.01", "--no-recheck")
    assert "not re-checked" in text
    assert "certified" not in text
    assert ok("check", "first:log=1", path).startswith("s VERIFIED n=30 fixed=1 free=28 probability<=1/100 ")
    given = "certify", "first:log=1", "-n", "9", "--epsilon", "0.1", "--fix"
    assert json.loads(ok(*given, "1:0", "--json"))["free"] == 7
    failed(NotEstablished, "soft", *given, "2:0")
    failed(ModelError, "soft", "check", "parity", path)


def test_run_and_write_take_built_in_models_and_files(tmp_path: Path) -> None:
    assert ok("run", "parity", "0110", "111").splitlines()[0].startswith("0110: even (even 0.50")
    assert "111: odd" in ok("run", "parity", "111", "--float32")
    path = tmp_path / "m.safetensors"
    ok("write", "random:layers=1,seed=3", "-o", path)
    assert load(path).name == load("random:layers=1,seed=3").name
    words = json.loads(ok("run", path, "0110", "--json"))["rows"]
    assert len(words[0]["probabilities"][0]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("influence", "nothing", "-n", "4"), "neither a file nor a built-in softmax model"),
        (("influence", "parity", "-n", "x"), "-n 'x' must be"),
        (("influence", "parity", "-n", "0"), "-n '0' must be"),
        (("influence", "parity:deep=1", "-n", "4"), "'deep' is not an option of parity"),
        (("influence", "random:layers=0", "-n", "4"), "must be an integer of at least 1"),
        (("influence", "instances/contains-one.json", "-n", "4"), "this is no restrict-soft/1 file"),
        (("influence", "parity", "-n", "2,1"), "no free position"),
        (("influence", "random:symbols=1", "-n", "4"), "one symbol"),
        (("influence", "random", "-n", "5", "--pairs"), "bounds by pairs of words are for one layer"),
        (("influence", "parity", "-n", "5", "--pairs", "--inputs", "regex[ab]:a*"), "no regular language over"),
        (("influence", FAR_APART, "-n", "5", "--pairs"), "more than a factor exp(600) apart"),
        (("influence", FAR_APART, "-n", "5", "--pairs", "--matrix"), "--pairs goes with neither --matrix"),
        (("influence", FAR_APART, "-n", "5", "--inputs", "regex:(10)*"), "--inputs goes with --pairs"),
        (("run", "parity", "012"), "'2' is not in the alphabet"),
        (("run", "random:layers=1,width=8,percent=30,seed=1", ""), "length 0"),
        (("certify", "parity", "-n", "5", "--epsilon", "0.1", "--fix", "1=0"), "not POSITION:SYMBOL"),
        (("cross-entropy", "parity", "-L", "dyck", "-n", "5"), "parity and 2dyck"),
        (("cross-entropy", "parity", "-L", "2dyck", "-n", "5"), "alphabet must be"),
        (("cross-entropy", "random:labels=4", "-L", "parity", "-n", "5"), "needed are 3 for the next symbol"),
        (("cross-entropy", "random:labels=3", "-L", "parity", "-n", "5", "-p", "1"), "above 0 and below 1"),
    ],
)
def test_errors_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in failed(RestrictError, "soft", *arguments)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("embed", np.full((2, 4), np.nan), "tensor 'embed' has an entry that is infinite or not a number"),
        ("layers.0.heads.0.key", np.zeros((3, 4)), "tensor 'layers.0.heads.0.key' has shape (3, 4), not (2, 4)"),
        ("layers.0.heads.1.value", None, "the tensor 'layers.0.heads.1.value' is missing"),
        ("position", np.zeros((3, 4)), "n = 5 is beyond the position table, which has 3 rows"),
    ],
)
def test_bad_weights_are_one_line_in_every_command(name: str, value: Any, message: str, tmp_path: Path) -> None:
    model = load("random:layers=1,width=4,hidden=3,heads=2")
    document = document_of(model) | {"position": {"kind": "table"}}
    arrays = tensors_of(model) | {"position": np.zeros((9, 4))} | {name: value}
    arrays = {k: np.ascontiguousarray(v) for k, v in arrays.items() if v is not None}
    path = tmp_path / "bad.safetensors"
    path.write_bytes(save(arrays, {"restrict": json.dumps(document)}))
    for command in (
        ("influence", path, "-n", "5"),
        ("certify", path, "-n", "5", "--epsilon", "0.1"),
        ("cross-entropy", path, "--language", "parity", "-n", "5"),
        ("run", path, "01011"),
    ):
        assert message in failed(ModelError, "soft", *command)


def test_hard_commands_name_the_soft_ones(tmp_path: Path) -> None:
    first().save(tmp_path / "m.safetensors")
    with pytest.raises(ModelError, match=r"a softmax model .restrict-soft/1.; Theorem 1 and Corollary 2"):
        restrict.load(tmp_path / "m.safetensors")
    for command in (["refute", "--language", "parity"], ["certify"]):
        found = failed(ModelError, command[0], tmp_path / "m.safetensors", *command[1:], "-n", "9")
        assert "use the soft commands" in found


def test_figures_are_written_and_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        ok("influence", "first", "-n", "4,8", "--samples", "20", "--figure", tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    ok("cross-entropy", "parity", "--language", "parity", "-n", "3,6", "--figure", tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 1000


# ---------------------------------------------------------------- importers


def test_weights_of_something_else_are_no_encoder() -> None:
    with pytest.raises(ModelError, match=r"not an nn\.TransformerEncoder"):
        from_torch({"a": np.ones((2, 2))}, heads=1, alphabet="01")


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_torch_encoder_is_the_same_function(norm_first: bool, activation: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(9)
    for causal in (False, True):
        layer = nn.TransformerEncoderLayer(8, 2, 12, 0.0, activation, batch_first=True, norm_first=norm_first)
        last = nn.LayerNorm(8) if norm_first else None
        encoder = nn.TransformerEncoder(layer, 2, norm=last, enable_nested_tensor=False)
        parts = nn.ModuleDict({"embed": nn.Embedding(4, 8), "encoder": encoder, "head": nn.Linear(8, 3)})
        parts = parts.double().eval()
        position = torch.randn(1, 9, 8, dtype=torch.float64)
        state = {**parts.state_dict(), "pos": position}
        model = from_torch(state, heads=2, alphabet="abc", start_marker="<", norm_first=norm_first,
                           activation=activation, causal=causal, place="every")  # fmt: skip
        words = np.random.default_rng(10).integers(0, 3, (6, 7))
        batch = torch.tensor(model.encode(words))
        mask = nn.Transformer.generate_square_subsequent_mask(8, dtype=torch.float64) if causal else None
        with torch.no_grad():
            true = parts["head"](parts["encoder"](parts["embed"](batch) + position[:, :8], mask=mask)).numpy()
        np.testing.assert_allclose(evaluate.logits(model, model.encode(words)), true, atol=1e-12)
    with pytest.raises(UsageError, match="3 heads do not divide"):
        from_torch(state, heads=3, alphabet="abc", start_marker="<")
    with pytest.raises(ModelError, match="is missing"):
        from_torch({k: v for k, v in state.items() if "linear2.bias" not in k and "norm2.weight" not in k}, heads=2,
                   alphabet="abc", start_marker="<")  # fmt: skip
