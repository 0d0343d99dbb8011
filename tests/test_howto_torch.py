"""The PyTorch blocks of docs/howto.md, run where PyTorch is installed (CI installs it for a step of its own)."""

import re
import shlex
from pathlib import Path

import pytest

from tests.commands import typed

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
        done = typed(*shlex.split(line[1]))
        assert done.exit_code == 0, done.output
        assert "s VERIFIED right n=0..50" in done.output
