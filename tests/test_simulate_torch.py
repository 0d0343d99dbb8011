"""The nn.Module export: equal to the numpy evaluator with the real library, its file, and the blocks of the page."""

import re
import shlex
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from restrict.base.errors import ModelError, NotEstablished, UsageError
from restrict.model.source import load
from restrict.model.trace import run_batch
from restrict.simulate.formulas import compile_soft
from restrict.simulate.ours.hard import compile_program
from restrict.simulate.srasp.compiler import compile_with_budget
from restrict.simulate.srasp.parser import parse
from restrict.simulate.srasp.programs import dyck
from restrict.simulate.torch_export import load_module, save, state_of, structure_of, to_module
from restrict.soft.models.evaluate import logits
from restrict.soft.models.known import first, parity, random
from restrict.soft.models.model import SoftModel
from tests.commands import succeeded, typed


def models(n: int) -> list[SoftModel]:
    """Hand-written, random, compiled from a program (with strict masks and defaults) and from S-RASP."""
    hard, budget = compile_with_budget(parse(dyck(2)))
    formulas = ("odd(#past 1)", "#past 1 > #all 0", "previous 1 since 0")
    return [
        parity(), first(1), random(percent=30), random(causal=1, layers=3),
        compile_program(load("induction-head"), n).soft, compile_program(load("q-then-u"), n).soft,
        compile_program(load("dyck1-depth2"), n).soft, budget.soften(hard, budget.sharpness(n, Fraction(1, 5))),
        *(compile_soft(text, ["0", "1"]).model for text in formulas),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_torch_equals_the_numpy_evaluator(kind: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    rng, n = np.random.default_rng(0), 9
    for model in models(n):
        words = model.encode(rng.integers(0, len(model.alphabet), (7, n - len(model.pinned(n)))))
        save(model, n, tmp_path / "m.safetensors", kind)
        expected = logits(model, words, at=np.arange(n), dtype=np.dtype(kind).type)
        for module in (to_module(model, n, kind), load_module(tmp_path / "m.safetensors")):
            with torch.no_grad():
                found = module(torch.from_numpy(words)).numpy()
            assert found.dtype == np.dtype(kind)
            assert found == pytest.approx(expected, rel=1e-4, abs=1e-4 if kind == "float32" else 1e-9), model.name


def test_torch_runs_a_compiled_program_in_float32() -> None:
    torch = pytest.importorskip("torch")
    compiled = compile_program(load("flip-flop"), 60)
    words = np.random.default_rng(1).integers(0, 4, (30, 60))
    hard = run_batch(compiled.program.at(60), words)
    with torch.no_grad():
        found = to_module(compiled.soft, 60)(torch.from_numpy(hard.values["token"])).numpy()
    assert np.array_equal(found[:, -1].argmax(axis=1), hard.values["bit"][:, -1])


def test_torch_counts_exactly_in_float32() -> None:
    """The division comes after the sum, so labels are right up to the certified length."""
    torch = pytest.importorskip("torch")
    model, n = compile_soft("2 * #all 1 > length", ["0", "1"]).model, 2001
    assert model.beyond(n, "float32") is None
    words = np.zeros((4, n), dtype=np.int64)
    for row, ones in enumerate((999, 1000, 1001, 2001)):
        words[row, np.random.default_rng(row).permutation(n)[:ones]] = 1
    with torch.no_grad():
        found = to_module(model, n)(torch.from_numpy(words)).numpy()[:, -1, 0]
    assert (found > 0).tolist() == [False, False, True, True]


def test_the_state_without_the_library(tmp_path: Path) -> None:
    model = compile_program(load("flip-flop"), 6).soft
    state, structure = state_of(model, 6), structure_of(model, 6)
    assert {a.dtype for a in state.values()} == {np.dtype("float32")}
    assert state["position"].shape == (6, model.width)
    assert state["layers.0.heads.0.scale"] == np.float32(model.layers[0].heads[0].scale.value(0, 6))
    assert structure["layers"][0]["masks"] == ["past"]
    for option in ("norm", "gelu", "additive"):
        with pytest.raises(NotEstablished):
            state_of(random(**{option: 1}), 4)
    with pytest.raises(UsageError):
        state_of(model, 6, "float16")
    with pytest.raises(ModelError):
        state_of(compile_program(load("tribes"), 8).soft, 9)
    (tmp_path / "x").write_bytes(b"no safetensors")
    model.save(tmp_path / "soft")
    for name in ("x", "soft"):
        with pytest.raises(ModelError, match="restrict-torch/1"):
            load_module(tmp_path / name)


def test_the_command_exports_any_model(tmp_path: Path) -> None:
    compile_soft("odd(#past 1)", ["0", "1"]).model.save(tmp_path / "parity.safetensors")
    for n, flags, warned in ((9, [], False), (500, [], True), (500, ["--float64"], False)):
        found = typed("soft", "export", tmp_path / "parity.safetensors", "-n", n, "-o", tmp_path / "t", *flags)
        assert (found.exit_code, "warning" in found.stderr) == (0, warned)
        with safe_open(str(tmp_path / "t"), "numpy") as opened:
            assert opened.get_tensor("position").dtype == (np.float64 if flags else np.float32)


def test_the_simulate_command_writes_the_module(tmp_path: Path) -> None:
    for model in ("flip-flop", "srasp:flip-flop"):
        file = tmp_path / "t.safetensors"
        assert typed("simulate", model, "-n", "5", "--torch", file).exit_code == 0
        assert file.stat().st_size > 500
        file.unlink()


# ----------------------------------------------------------------
# The PyTorch blocks of docs/howto.md, run where PyTorch is installed (CI installs it for a step of its own).


PAGE = (Path(__file__).parent.parent / "docs" / "howto.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "torch" in block]


def test_the_page_has_a_hard_a_soft_and_a_trained_model() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("block", BLOCKS, ids=("hard", "soft", "trained"))
def test_the_torch_blocks_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    if "torch.optim" in block:
        pytest.importorskip("sympy", reason="PyTorch's optimisers import it")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/howto.md", "exec"), {})
    if "save_gpt2_names" in block:
        line = re.search(r"`restrict (soft verify .*)` proves", PAGE)
        assert line
        assert "s VERIFIED right n=0..50" in succeeded(*shlex.split(line[1])).output
