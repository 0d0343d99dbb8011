"""The batch script: rows, certificates, resuming after a kill, Ctrl-C, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import restrict

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "random_transformers.py"
GRID = ["--layers", "1", "--states", "2", "-n", "5", "7", "-C", "0.6", "--seeds", "2", "--target", "last", "all"]
MANY = ["--layers", "1", "--states", "2", "-n", *map(str, range(4, 10)), "--seeds", "3", "--target", "last"]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("random_transformers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["random_transformers"] = module
    spec.loader.exec_module(module)
    return module


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def timeless(path: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in ("seconds", "check_seconds")} for row in rows(path)]


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def start(path: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), *MANY, "-o", str(path), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def children(pid: int) -> list[int]:
    """The processes whose parent is ``pid``, from /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.heavy
def test_rows_and_certificates(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.jsonl"
    assert script.main([*GRID, "-o", str(out), "--jobs", "1"]) == 0
    found = rows(out)
    assert [(r["n"], r["seed"], r["target"]) for r in found] == [
        (n, seed, target) for n in (5, 7) for seed in (0, 1) for target in ("last", "all")
    ]
    printed = capsys.readouterr()
    assert printed.err == ""
    refused = sum(not r["ok"] for r in found)
    assert printed.out == f"{out}: 8 rows of this grid, 8 of them new, {refused} refused\n"
    folder = tmp_path / "rows.jsonl.certificates"
    for row in found:
        if not row["ok"]:
            assert row["target"] == "all"
            assert row["exit_code"] in (2, 3, 5)
            assert row["error"]
            continue
        assert row["free"] >= 0.6 * row["n"]
        assert row["free"] + row["fixed"] == row["n"]
        assert row["c"] <= row["free"]
        name = row["model"]
        model = restrict.load(name if name.startswith("random:") else folder / name)
        certificate = restrict.load_certificate(folder / row["certificate"])
        assert restrict.check(model, certificate).startswith(f"s VERIFIED n={row['n']} target={row['target']} ")
        assert certificate.c == row["c"]
    before = out.read_bytes()
    assert script.main([*GRID, "-o", str(out), "--jobs", "1"]) == 0
    assert "8 rows of this grid, 0 of them new" in capsys.readouterr().out
    assert out.read_bytes() == before


def test_retry_runs_only_what_was_refused(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.jsonl"
    command = [*GRID, "--target", "last", "-o", str(out), "--jobs", "1"]
    right = script._certified

    def wrong(cell: Any, folder: Path) -> Any:
        if cell.n == 7 and cell.seed == 0:
            raise restrict.NotEstablished("nothing found")
        if cell.n == 7:
            raise ZeroDivisionError("a bug")
        return right(cell, folder)

    monkeypatch.setattr(script, "_certified", wrong)
    assert script.main(command) == 0
    assert [row.get("error") for row in rows(out)] == [
        None,
        None,
        "nothing found",
        "internal: ZeroDivisionError: a bug",
    ]
    assert [row.get("exit_code") for row in rows(out)] == [None, None, 3, 1]
    first = rows(out)[:2]
    monkeypatch.setattr(script, "_certified", right)
    assert script.main(command) == 0
    assert "0 of them new, 2 refused" in capsys.readouterr().out
    assert script.main([*command, "--retry"]) == 0
    assert "2 of them new, 0 refused" in capsys.readouterr().out
    assert rows(out)[:2] == first


@pytest.mark.heavy
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_kill_and_resume(script: ModuleType, tmp_path: Path) -> None:
    out, whole = tmp_path / "rows.jsonl", tmp_path / "whole.jsonl"
    process = start(out, "--jobs", "2")
    wait_for(lambda: lines(out) >= 3)
    workers = children(process.pid)
    assert workers
    process.kill()
    process.communicate()
    wait_for(lambda: not any(alive(pid) for pid in workers))
    there = lines(out)
    assert 3 <= there < 18
    kept = set(out.read_bytes().splitlines()[:there])
    with out.open("ab") as file:
        file.write(b'{"layers": 1, "heads": 2, "sta')
    assert script.main([*MANY, "-o", str(out), "--jobs", "1"]) == 0
    assert kept <= set(out.read_bytes().splitlines()), "rows that were there are not computed again"
    assert script.main([*MANY, "-o", str(whole), "--jobs", "1"]) == 0
    assert timeless(out) == timeless(whole)
    certificates = [{p.name: p.read_bytes() for p in Path(f"{f}.certificates").glob("*.json")} for f in (out, whole)]
    assert certificates[0] == certificates[1]


@pytest.mark.heavy
def test_interrupt(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    process = start(out, "--jobs", "2")
    wait_for(lambda: lines(out) >= 2)
    process.send_signal(signal.SIGINT)
    printed, error = process.communicate(timeout=30)
    assert (process.returncode, printed) == (130, "")
    assert error == f"random_transformers: interrupted; the rows so far are in {out}\n"
    assert 2 <= len(rows(out)) < 18
    assert all(row["ok"] for row in rows(out))


def test_one_run_at_a_time(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fcntl")
    out = tmp_path / "rows.jsonl"
    folder = tmp_path / "rows.jsonl.certificates"
    folder.mkdir()
    with script.locked(folder):
        assert script.main([*GRID, "-o", str(out)]) == 2
    assert "another run is at work here; wait for it or choose another -o" in capsys.readouterr().err


def test_a_file_of_something_else(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.jsonl"
    for content in ("hello\n", '{"a": 1}\n', "[]\n"):
        out.write_text(content)
        assert script.main([*GRID, "-o", str(out)]) == 2
        assert capsys.readouterr().err.endswith("line 1 is no row of this script; choose another -o\n")
        assert out.read_text() == content
    assert script.main([*GRID, "-o", str(tmp_path / "no" / "where" / "x"), "--certificates", str(tmp_path)]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-C", "1.5"], "'1.5' must be a share between 0 and 1, such as 0.9"),
        (["-C", "nan"], "'nan' must be a share"),
        (["-n", "0"], "'0' must be an integer of at least 1"),
        (["--target", "first"], "invalid choice"),
    ],
)
def test_bad_options(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        script.main([*words, "-o", str(tmp_path / "x")])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
