"""README's sample output is what its command prints, byte for byte, and its commands are one line each."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.readme_commands import commands
from tests.commands import Shell

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.heavy  # by a search as users have it: a short one finds other blocks
def test_the_sample_is_what_the_first_command_prints(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = commands(README)[0].split("restrict ")[-1].split()
    monkeypatch.chdir(ROOT)
    sample = re.search("## What it says\n\n```text\n(.*?)```", README, re.DOTALL)
    assert sample is not None
    assert Shell(monkeypatch, capfd).good(*words) == sample.group(1)


def test_both_commands_begin_with_a_look_at_the_python() -> None:
    for line in commands(README):
        assert line.startswith("python3 scripts/need_python.py && python3 -m venv .venv && ")


def test_the_look_at_the_python_says_nothing_here() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "need_python.py"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(targets) > 10
    for target in targets:
        assert (ROOT / target).exists(), target
