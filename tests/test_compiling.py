"""A terminal is told that kernels are compiled, once, and nothing is told where the cache has them."""

import dis
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError

from restrict.base.arrays import I64
from restrict.kernels import cache, jit
from restrict.kernels.plain import always_compiled
from tests.test_printer import on_terminal

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


def test_only_a_making_kernel_gets_arrays_from_kernels() -> None:
    """Other kernels count no references, so an array that one of them got would never be freed."""
    kernels = {}
    for path in sorted(Path(jit.__file__).parent.glob("*.py")):
        module = importlib.import_module(f"restrict.kernels.{path.stem}")
        kernels |= {id(found): found for found in vars(module).values() if hasattr(found, "linked")}
    makes = {key: found.targetoptions["_nrt"] for key, found in kernels.items()}
    assert 20 < sum(makes.values()) < len(kernels) - 20
    for key, found in kernels.items():
        names = {step.argval for step in dis.get_instructions(found.py_func) if step.opname == "LOAD_GLOBAL"}
        called = [found.py_func.__globals__.get(name) for name in names]
        assert makes[key] or not any(makes.get(id(other)) for other in called), found


def test_numba_refuses_a_kernel_that_makes_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    # A form on the disk is known by its function: an earlier run's would be loaded, and nothing refused.
    monkeypatch.setattr(cache, "folder", lambda: None)

    def half(a: I64) -> I64:
        return a[:1]

    def sum_of_a_copy(a: I64) -> int:
        return int(a.copy()[0])

    for function in (half, sum_of_a_copy):
        with always_compiled(), pytest.raises(NumbaError):
            jit.kernel(function)(np.arange(3))
        with always_compiled():
            assert jit.making_kernel(function)(np.arange(3)) == 0
