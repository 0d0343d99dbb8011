"""A terminal is told that kernels are compiled, once, and nothing is told where the cache has them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def on_a_terminal(arguments: list[str], cache: Path) -> tuple[str, str]:
    """Standard output of a command, and what its terminal shows on standard error."""
    import pty

    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "restrict", *arguments], stdout=subprocess.PIPE, stderr=theirs, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "RESTRICT_COMPILE": "always"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return done.stdout, shown.decode()


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_a_terminal_is_told_when_the_cache_is_empty(tmp_path: Path) -> None:
    command = ["explain", "instances/induction-head.json", "--input", "abcdabca"]
    first, shown = on_a_terminal(command, tmp_path)
    assert shown.count("compiling kernels for this machine (once") == 1
    again, shown = on_a_terminal(command, tmp_path)
    assert "compiling" not in shown
    assert again == first
