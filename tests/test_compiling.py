"""A terminal is told that kernels are compiled, once, and nothing is told where the cache has them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_terminal import on_terminal

SCRIPT = """
import numpy as np
from restrict.kernels import notice
from restrict.kernels.jit import caller_kernel
told = []
notice.on_first_compilation(lambda: told.append(1))
assert caller_kernel(lambda x: x + 1)(1) == 2
assert caller_kernel(lambda x: x + 2)(1) == 3
print(len(told))
"""


def test_it_is_told_once() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_a_terminal_is_told_when_the_cache_is_empty(tmp_path: Path) -> None:
    command = ["explain", "instances/induction-head.json", "--input", "abcdabca"]
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "RESTRICT_COMPILE": "always"}
    code, first, shown = on_terminal(200, *command, **environment)
    assert code == 0
    assert shown.count("compiling kernels for this machine (once") == 1
    _, again, shown = on_terminal(200, *command, **environment)
    assert "compiling" not in shown
    assert again == first
