"""The first calls of a kernel run as plain Python, and compiled kernels are kept in the user's folder, never beside the
source."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from numba.core import config, event

from restrict.cli.entry import MATRIX_THREADS
from restrict.kernels import cache, home, linked, machine, plain
from restrict.kernels.cache import Kept
from restrict.kernels.jit import kernel, sized_kernel
from restrict.kernels.shield import uninterrupted
from tests.commands import typed
from tests.marks import heavy_after

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


def _add(into: Any, amount: Any) -> Any:
    for t in range(into.shape[0]):
        into[t] += amount
    return into[0], into[0] > 3


def _again(into: Any, times: Any) -> Any:
    for _ in range(times):
        step(into)
    return into[0]


def _by(into: Any, amount: Any) -> Any:
    into[0] += amount
    return into[0]


def _by_several(into: Any) -> Any:
    return by(into, 1) + by(into, 2) + by(into, into.shape[0])


def _step(into: Any) -> Any:
    into[0] += 1


step, by = kernel(_step), kernel(_by)


def is_compiled(made: object) -> bool:
    return type(made) is plain.Kernel


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache on disk that has nothing and keeps nothing: a second run of these tests finds what the first found."""
    monkeypatch.setattr(cache, "folder", lambda: None)
    monkeypatch.setattr(cache, "_names", frozenset)


@pytest.mark.usefixtures("nothing_kept")
def test_a_small_call_is_not_compiled_and_gives_python_numbers() -> None:
    made = kernel(_add)
    array = np.zeros(4, dtype=np.int64)
    answer = made(array, 5)
    assert not is_compiled(made)
    assert answer == (5, True)
    assert [type(part) for part in answer] == [int, bool]
    assert array.tolist() == [5] * 4


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("before", [False, True])
def test_integers_in_a_call_have_no_forms_of_their_own(before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = kernel(_by)
    monkeypatch.setitem(globals(), "by", made)
    if before:
        with plain.always_compiled():
            made(np.zeros(1, dtype=np.int64), 1)
    with plain.always_compiled():
        assert kernel(_by_several)(np.zeros(3, dtype=np.int64)) == 1 + 3 + 6
    assert len(made.linked.forms) == 1
    assert len(made.signatures) == before


@pytest.mark.usefixtures("nothing_kept")
def test_a_large_call_is_compiled_at_once_unless_it_reads_little() -> None:
    large = np.zeros(plain.LARGE + 1, dtype=np.int64)
    made, sized = kernel(_add), sized_kernel(lambda into, amount: 1)(_by)
    assert made(large, 2) == (2, False)
    assert is_compiled(made)
    assert sized(large, 2) == 4
    assert not is_compiled(sized)


@pytest.mark.usefixtures("nothing_kept")
def test_what_lasts_too_long_is_done_anew_by_the_compiled_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "RENT", 1e-6)
    made = kernel(_again)
    array = np.zeros(1, dtype=np.int64)
    assert made(array, 50_000) == 50_000  # half a run is not counted
    assert is_compiled(made)
    assert array[0] == 50_000


@pytest.mark.usefixtures("nothing_kept")
def test_threads_compile_since_others_may_write_the_same_arrays() -> None:
    made = kernel(_add)
    thread = threading.Thread(target=made, args=(np.zeros(1, dtype=np.int64), 1))
    thread.start()
    thread.join()
    assert is_compiled(made)


@pytest.mark.usefixtures("nothing_kept")
def test_an_error_within_a_plain_run_leaves_no_run_under_way() -> None:
    def _wrong(into: Any) -> Any:
        return into[7]

    with pytest.raises(IndexError):
        kernel(_wrong)(np.zeros(1, dtype=np.int64))
    assert plain._Renting.until == 0


@pytest.mark.parametrize("op", range(17))
def test_blocks_with_numpy_are_those_of_the_kernel(op: int) -> None:
    random = np.random.default_rng(op)
    values = random.integers(-(2**62), 2**62, (4, 300))
    if op in (3, 4):
        values[1] = np.where(values[1] == 0, 1, values[1])
    if op in (8, 16):
        values[0] = np.abs(values[0]) % (2**63 - 1 if op == 8 else 40)
        values[0, :4] = [0, 1, 2, 3]
    if op == 8:  # on both sides of squares, where the floating-point root errs
        roots = random.integers(2**31, 3_037_000_499, 100)
        values[0, 4:304] = np.concatenate([roots**2 - 1, roots**2, roots**2 + 1])[:296]
    code = np.array([(op, 3, 0, 7 if op == 16 else 1, 2)])
    tables, ours, theirs = np.arange(50) ** 2, values.copy(), values.copy()
    with np.errstate(over="ignore"):
        machine.run_block_with_numpy(code, tables, ours, 299)
        with plain.always_compiled():
            machine.run_block(code, tables, theirs, 299)
    assert ours.tolist() == theirs.tolist()


ALWAYS = {plain.ALWAYS: "always"}


def begun(words: list[str], code: str = "", **environment: str) -> subprocess.Popen[str]:
    """A process of the command line, or of some code."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "RESTRICT_", "XDG_"))}
    return subprocess.Popen(
        [sys.executable, *(["-c", code] if code else ["-m", "restrict"]), *words], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**kept, "PYTHONPATH": str(ROOT), **environment}, cwd=ROOT,
    )  # fmt: skip


def said(process: subprocess.Popen[str]) -> str:
    """What it printed, once it has succeeded."""
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out


def test_the_folder_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "named"))
    assert home.home() == tmp_path / "named"
    monkeypatch.delenv(home.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert home.home() == tmp_path / "restrict"


@pytest.fixture
def looked_up() -> Iterator[None]:
    """The folder is asked for anew, and so is it behind the test."""
    cache.folder.cache_clear()
    cache._names.cache_clear()
    yield
    cache.folder.cache_clear()
    cache._names.cache_clear()


def sum_of(kind: str) -> Any:
    """By a kernel that nothing has compiled yet in this process."""
    made = kernel(_total)
    with plain.always_compiled():
        answer = made(np.array([1, 2, 250], dtype=kind))
    assert is_compiled(made)
    return answer


def _total(x: Any) -> Any:
    s = x.dtype.type(0)
    for t in range(x.shape[0]):
        s += x[t]
    return s


@pytest.mark.usefixtures("looked_up")
def test_nothing_is_written_beside_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (home.VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    assert sum_of("int64") == 253
    written = list(tmp_path.rglob("*.nb?"))
    assert written
    assert {path.relative_to(tmp_path).parts[:2] for path in written} <= {(".cache", "restrict"), ("Library", "Caches")}
    beside = [path for folder in ("restrict", "tests") for path in (ROOT / folder).rglob("*.nb?")]
    assert not [path for path in beside if path.stat().st_mtime >= written[0].stat().st_mtime]


@pytest.mark.usefixtures("looked_up")
def test_a_home_that_cannot_be_written_costs_the_cache_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "file" / "below"))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    assert sum_of("int64") == 253
    assert cache.folder() is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.heavy
def test_four_processes_at_once(tmp_path: Path) -> None:
    code = "import sys; from tests.test_first_use import sum_of; print(repr(sum_of(sys.argv[1])))"
    for _ in range(2):  # at once with nothing there, then with what they left
        kinds = ("uint8", "int64", "float64", "int32")
        processes = [begun([kind], code, RESTRICT_CACHE=str(tmp_path), **ALWAYS) for kind in kinds]
        assert [*map(said, processes)] == ["253\n", "253\n", "253.0\n", "253\n"]
    assert len(list(tmp_path.rglob("*.nbc"))) == 4


def compiled_for(*kinds: str) -> int:
    """How often numba compiles for sums of these types."""
    with event.install_recorder("numba:compile") as recorded:
        assert [float(sum_of(kind)) for kind in kinds] == [253] * len(kinds)
    return len(recorded.buffer)


def test_what_is_compiled_is_loaded_unless_it_is_under_anothers_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that take the same free number leave this: the index names a file that has another signature."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    assert compiled_for("int64", "float64")
    assert not compiled_for("int64", "float64")
    first, second = sorted(tmp_path.rglob("*.nbc"))
    second.write_bytes(first.read_bytes())
    first.write_bytes(first.read_bytes()[:100])  # cut short
    assert compiled_for("int64")
    assert compiled_for("float64")


def test_the_folder_is_named_by_the_kernels() -> None:
    place = cache.folder()
    assert place is not None
    assert place.name == f"kernels-{cache._digest()}"


@pytest.mark.usefixtures("looked_up")
def test_warm_up_says_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    done = typed("warm-up", "--list")
    assert done.stdout == f"0 compiled kernels in {tmp_path / cache.folder().name}\n"


@pytest.mark.heavy
@pytest.mark.parametrize("only", heavy_after(['"every length"', ""], 1))
def test_after_warming_up_nothing_is_compiled(only: str, tmp_path: Path) -> None:
    """By all exercises at full size, else by the one of what is asked afterwards."""
    words = ["verify", "contains-one", "-L", "regex:(0|1)*1(0|1)*"]
    code = f"""
from restrict.cli import entry
from restrict.sweep import exercises
if only := [{only}]:
    exercises.EXERCISES = {{name: exercises.EXERCISES[name] for name in only}}
entry.main()
"""
    place = {"RESTRICT_CACHE": str(tmp_path)}
    count = json.loads(said(begun(["warm-up", "--json"], code, **place)))["kernels"]
    assert count >= (1 if only else 50)  # those that Python calls; one that only kernels call is linked into them
    said(begun(words, **place, **ALWAYS))
    assert json.loads(said(begun(["warm-up", "--list", "--json"], **place)))["kernels"] == count


def test_the_command_line_takes_one_thread_for_matrices_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os
from restrict.cli import entry, main
main.main = lambda: print(*(os.environ[name] for name in entry.MATRIX_THREADS))
entry.main()
"""
    for name in MATRIX_THREADS:
        monkeypatch.delenv(name, raising=False)
    assert said(begun([], code)) == "1 1\n"
    assert said(begun([], code, OPENBLAS_NUM_THREADS="3")) == "3 1\n"


@pytest.mark.parametrize("error", [OSError("no space left"), RuntimeError("no compiled object yet")])
def test_a_form_that_cannot_be_written_is_lost_and_nothing_else(error: Exception) -> None:
    """A full disk, and Ctrl-C within a callback of the compiler, which leaves no object code."""

    kept, full = Kept(lambda: None), Mock(**{"save_overload.side_effect": error})
    kept.opened = full
    kept.save_overload(None, None)
    kept.save_overload(None, None)  # numba's cache that keeps nothing has its place
    assert kept.opened is not full


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel that nothing has compiled, and its folder."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)

    def double(a: np.ndarray) -> int:
        return 2 * int(a[0])

    return kernel(double)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_waits_until_a_kernel_is_compiled_and_written(fresh: Any, tmp_path: Path, times: int) -> None:
    """Python drops what is raised in a callback of the compiler. Whoever asks again is heard at once."""

    class Interrupting(event.Listener):
        left = times

        def on_start(self, event: Any) -> None:
            while self.left:  # numba's own parts of a kernel are compiled in turn
                self.left -= 1
                signal.raise_signal(signal.SIGINT)

        def on_end(self, event: Any) -> None:
            pass

    with (
        event.install_listener("numba:compile", Interrupting()),
        plain.always_compiled(),
        pytest.raises(KeyboardInterrupt),
    ):
        fresh(np.ones(3))
    assert len(fresh.signatures) == len(list(tmp_path.rglob("*.nbc"))) == 2 - times
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert fresh(np.ones(3)) == 2


def test_ctrl_c_waits_until_a_kernel_is_loaded(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []

    def load(self: Kept, signature: object, target: object) -> None:
        signal.raise_signal(signal.SIGINT)
        done.append(signature)

    monkeypatch.setattr(Kept, "load_overload", load)
    with plain.always_compiled(), pytest.raises(KeyboardInterrupt):
        fresh(np.ones(3))
    assert done


def test_a_handler_that_ignores_ctrl_c_stays(fresh: Any) -> None:
    """Workers have one; and signals are handled in the main thread only."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    thread = threading.Thread(target=lambda: fresh(np.ones(3)))
    thread.start()
    thread.join()
    assert fresh.signatures


# ---------------------------------------------------------------- kernels that kernels call


@pytest.mark.usefixtures("nothing_kept")
def test_a_kernel_that_only_kernels_call_is_not_made_into_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    inner: Any = kernel(_by)
    monkeypatch.setitem(globals(), "by", inner)
    outer: Any = kernel(_by_several)
    with plain.always_compiled():
        assert outer(np.zeros(3, dtype=np.int64)) == 1 + 3 + 6
        assert not inner.signatures
        (form,) = inner.linked.forms.values()
        assert form.entry_point is None
        assert inner(np.zeros(1, dtype=np.int64), 2) == 2  # and it can still be called
    assert len(inner.signatures) == len(outer.signatures) == 1


def test_options_are_compared_as_numba_compares_them() -> None:
    flags = linked.customised(linked.NumbaFlags())
    same, other = linked.Flags(flags), linked.Flags(flags)
    other.error_model = "numpy"
    plainly = linked.NumbaFlags(flags)
    assert flags == same == plainly
    assert plainly == flags
    assert hash(flags) == hash(same) == hash(plainly)
    assert flags != other
    assert plainly != other


# ---------------------------------------------------------------- numpy instead of a kernel


def stands_in(made: Any) -> bool:
    with plain.instead_of(made) as may:
        return may


@pytest.mark.usefixtures("nothing_kept")
def test_numpy_may_stand_in_for_a_kernel_until_the_rent_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kernel(_add)
    assert stands_in(made)
    assert not is_compiled(made)
    monkeypatch.setattr(made, "rent", 0.0)
    assert stands_in(made)
    assert not stands_in(made)
    with plain.always_compiled():
        assert not stands_in(kernel(_add))


def test_numpy_does_not_stand_in_for_a_kernel_that_the_disk_has(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kernel(_add)
    monkeypatch.setattr(Kept, "has_any", lambda _: True)
    assert not stands_in(made)
    assert not stands_in(made)
