"""The PyTorch blocks of docs/howto.md, run where PyTorch is installed (CI installs it for a step of its own)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent / "docs" / "howto.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "torch" in block]


def test_the_page_has_a_hard_and_a_soft_model() -> None:
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("block", BLOCKS, ids=("hard", "soft"))
def test_the_torch_blocks_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/howto.md", "exec"), {})
