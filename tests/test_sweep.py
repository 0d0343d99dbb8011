"""Sweeps: what a spec means, rows that survive kills, results that are re-checked, and what is refused in one line."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import restrict
from restrict.base import groups
from restrict.base.errors import ModelError, NotEstablished, RestrictError, UsageError
from restrict.sweep import local
from restrict.sweep.cluster import spread
from restrict.sweep.items import Item, Outcome, work
from restrict.sweep.local import Lost
from restrict.sweep.run import Engine, run_items
from restrict.sweep.spec import read_spec
from restrict.sweep.store import opened, read_rows
from tests.commands import failed, succeeded, typed
from tests.sweep_work import kill_on_three, square

ROOT = Path(__file__).resolve().parent.parent
HERE = Engine(0)
GRID = """
name = "small"
[[grid]]
model = "random:layers={layers},heads=1,states=2,seed={seed}"
layers = [1, 2]
seed = {from = 0, to = 1}
n = {from = 4, to = 16, factor = 2}
"""


def spec(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def wait_for(what: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


# ---------------------------------------------------------------- the spec


def test_a_grid_is_the_product_of_its_axes(tmp_path: Path) -> None:
    items = read_spec(spec(tmp_path, GRID)).items
    assert [(dict(i.parameters)["layers"], i.seed, i.n) for i in items] == [
        (layers, seed, n) for layers in (1, 2) for seed in (0, 1) for n in (4, 8, 16)
    ]
    assert items[0].model == "random:layers=1,heads=1,states=2,seed=0"
    assert len({i.identity for i in items}) == len(items)


def test_files_are_found_from_the_specs_folder_and_repeats_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes((ROOT / "instances/contains-one.json").read_bytes())
    text = '[[grid]]\nmodel = ["m.json", "and-of-ors"]\nn = [5, 5, {n}]\ntarget = "last"\n'
    items = read_spec(spec(tmp_path, text.replace("{n}", "7") * 2)).items
    assert [(i.model, i.n) for i in items] == [("m.json", 5), ("m.json", 7), ("and-of-ors", 5), ("and-of-ors", 7)]
    assert items[0].path == str(tmp_path / "m.json")
    assert items[2].path is None
    moved = replace(items[0], path="/elsewhere/m.json")
    assert moved.identity == items[0].identity, "where the file lies is not what the row is about"


BAD = [
    ("x = 1", "'x' is not known"),
    ("grid = 3", "no table [[grid]]"),
    ("[[grid", "this is no TOML"),
    ('[[grid]]\nmodel = "a"', "grid 1: n: is missing"),
    ("[[grid]]\nn = 4", "grid 1: model: is missing"),
    ('[[grid]]\nmodel = "a"\nn = 0', "grid 1: n: 0 is not allowed here"),
    ('[[grid]]\nmodel = "a"\nn = true', "n: True is not allowed"),
    ('[[grid]]\nmodel = "a"\nn = []', "n: has no values"),
    ('[[grid]]\nmodel = "a"\nn = 4\nlayer = 2', "layer: is not known"),
    ('[[grid]]\nmodel = "random:seed={s}"\nn = 4', "the field {s} has no axis"),
    ('[[grid]]\nmodel = "random:seed={"\nn = 4', "model:"),
    ('[[grid]]\nmodel = "random:seed={seed!x}"\nseed = 1\nn = 4', "model: 'random:seed={seed!x}': Unknown"),
    ('[[grid]]\nmodel = "random:seed={seed:zz}"\nseed = 1\nn = 4', "model: 'random:seed={seed:zz}': "),
    ("[[grid]]\nmodel = []\nn = 4", "model: has no values"),
    ('[[grid]]\nmodel = [["a"]]\nn = 4', "model: ['a'] is not allowed"),
    ("grid = []", "no table [[grid]]"),
    ('[[grid]]\nmodel = "random:seed={ok}"\nok = 1\nn = 4', "ok: is the name of a column"),
    ('[[grid]]\nmodel = "a"\nn = {from = 1}', "a range is"),
    ('[[grid]]\nmodel = "a"\nn = {from = 1, to = 9, step = 0}', "a range needs a step"),
    ('[[grid]]\nmodel = "a"\nn = {from = 0, to = 9, factor = 2}', "a range with a factor"),
    ('[[grid]]\nmodel = "a"\nn = 4\nc = 1\nfree = 0.5', "give c or free"),
    ('[[grid]]\nmodel = "a"\nn = 4\nfree = 1.5', "free: 1.5 is not allowed"),
    ('[[grid]]\nmodel = "a"\nn = 4\ntask = "refute"', "language: is for the tasks refute and verify"),
    ('[[grid]]\nmodel = "a"\nn = 4\nlanguage = "parity"\nfree = 0.5', "free: is not for the task refute"),
    ('[[grid]]\nmodel = "a"\nn = 4\nmethod = "magic"', "method: 'magic' is not allowed"),
    ('[[grid]]\nmodel = "a"\nn = 4\ntarget = "first"', "target: 'first' is not allowed"),
    ('[[grid]]\nmodel = "a"\nn = 4\ntime = -1', "time: -1 is not allowed"),
    ('[[grid]]\ntask = "verify"\nmodel = "a"\nn = "all"\nfree = 0.5', "free: is not for the task verify"),
    ('[[grid]]\nmodel = "a"\nn = "all"', "n: 'all' is not allowed here"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_spec_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        read_spec(spec(tmp_path, text))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "sweep.toml"))
    assert "\n" not in str(caught.value)


def test_too_many_items_are_refused(tmp_path: Path) -> None:
    many = "{from = 0, to = 9999}"
    with pytest.raises(RestrictError, match="more than 1000000 items"):
        read_spec(spec(tmp_path, f'[[grid]]\nmodel = "random:seed={{s}}"\ns = {many}\nseed = {many}\nn = 4'))


# ---------------------------------------------------------------- rows


MIXED = """
[[grid]]
model = ["contains-one.json", "no-such-model"]
n = [3, 6]

[[grid]]
model = "tagger"
n = 6
target = ["all", 2]

[[grid]]
model = "parity-attempt.json"
language = ["parity", "no-such-language"]
n = 8
"""


def test_rows_errors_and_the_recheck(tmp_path: Path) -> None:
    for name in ("contains-one.json", "parity-attempt.json"):
        (tmp_path / name).write_bytes((ROOT / "instances" / name).read_bytes())
    path, out = spec(tmp_path, MIXED), tmp_path / "sweep.jsonl"
    text = typed("sweep", path, "--jobs", "0")
    assert text.output.startswith(f"{out}: 8 items, 8 new, 3 with an error\n")
    rows = lines(out)
    assert [row["ok"] for row in rows] == [True, True, False, False, True, True, True, False]
    assert "neither a file, from the spec's folder, nor a built-in" in rows[2]["error"]
    assert rows[2]["exit_code"] == 2
    assert rows[6]["outcome"] == "refuted"
    for row in (row for row in rows if row["ok"]):
        assert row["verified"].startswith("s VERIFIED")
        model, certificate = tmp_path / row["model_file"], tmp_path / row["certificate"]
        # What the row says is what the files say, and the commands of the command line take them.
        result = typed("check", model, certificate)
        assert result.output.startswith("s VERIFIED"), result.output
        if row["task"] == "certify":
            read = restrict.load_certificate(certificate)
            assert (len(read.restriction.fixed), read.free, read.c) == (
                row["fixed_count"], row["free_count"], row["depends"],
            )  # fmt: skip
    assert typed("sweep", path, "--jobs", "0").output.splitlines()[0] == f"{out}: 8 items, 0 new, 3 with an error"
    assert lines(out) == rows
    assert (
        typed("sweep", path, "--recheck", "--jobs", "0").output
        == f"{out}: 5 certificates verified, 3 rows without one\n"
    )
    for task, name, value in (
        ("certify", "depends", 5), ("certify", "free_fraction", 0.123), ("certify", "n", 7),
        ("certify", "cone_size", 99), ("refute", "label", "accept"), ("refute", "optimum", 1),
        ("refute", "outcome", "immune"),
    ):  # fmt: skip
        number = next(k for k, row in enumerate(rows) if row["ok"] and row["task"] == task)
        told = [row | {name: value} if k == number else row for k, row in enumerate(rows)]
        out.write_text("".join(json.dumps(row) + "\n" for row in told))
        found = failed(NotEstablished, "sweep", path, "--recheck", "--jobs", "0")
        assert f"1 of 5 fail; first: row {rows[number]['id']}: its {name} is {value!r}, its certificate's" in found
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    bad = tmp_path / rows[0]["certificate"]
    bad.write_bytes(bad.read_bytes().replace(b'"values": [1]', b'"values": [0]'))
    found = failed(NotEstablished, "sweep", path, "--recheck", "--jobs", "0")
    assert f"1 of 5 fail; first: row {rows[0]['id']}" in found


def test_a_sweep_from_python_and_its_table(tmp_path: Path) -> None:
    text = GRID.replace("to = 16", "to = 4") + '[[grid]]\nmodel = "no-such<model>"\nn = 4\n'
    result = restrict.run_sweep(spec(tmp_path, text), jobs=0)
    assert (result.path, len(result.rows), result.new, result.failed) == (tmp_path / "sweep.jsonl", 5, 5, 1)
    assert list(result.rows) == lines(result.path)
    assert result.column("fixed_count") == [row.get("fixed_count") for row in lines(result.path)]
    with pytest.raises(UsageError, match="no row has a column 'x'"):
        result.column("x")
    assert restrict.run_sweep(tmp_path / "sweep.toml", jobs=0).new == 0
    again = restrict.load_sweep(result.path)
    assert again.axes == ("seed", "layers"), "the model follows from these"
    html = again._repr_html_()
    assert "sweep: sweep.jsonl: 5 rows, 1 with an error" in html
    assert html.count("<tr>") == 6
    assert "&lt;model&gt;" in html
    assert "<model>" not in html
    assert result.recheck(jobs=0).wrong == ()
    with pytest.raises(UsageError, match="there is no such file of rows"):
        restrict.load_sweep(tmp_path / "none.jsonl")


def test_retry_runs_only_what_has_an_error(tmp_path: Path) -> None:
    items = read_spec(spec(tmp_path, GRID)).items[:4]
    out, done = tmp_path / "rows.jsonl", []

    def half(item: Item) -> Outcome:
        done.append(item.n)
        good = item.n != 8 or len(done) > 4
        return Outcome(item.row | ({"ok": True} if good else {"ok": False, "error": "no", "exit_code": 3}))

    assert run_items(items, out, HERE, function=half).failed == 1
    assert run_items(items, out, HERE, function=half).new == 0
    summary = run_items(items, out, HERE, function=half, retry=True)
    assert (summary.new, summary.failed) == (1, 0)
    assert done == [4, 8, 16, 4, 8]
    assert len(lines(out)) == 5, "rows are only ever added"
    assert all(row["ok"] for row in read_rows(out)[0].values())


def test_half_a_last_line_is_dropped_and_other_files_are_left_alone(tmp_path: Path) -> None:
    items = read_spec(spec(tmp_path, GRID)).items[:3]
    out = tmp_path / "rows.jsonl"

    run_items(items, out, HERE, function=at_once)
    whole = out.read_bytes()
    ends = [k + 1 for k, byte in enumerate(whole) if byte == 10]
    for cut in (0, 1, ends[0] - 1, ends[0], ends[1] + 7, len(whole) - 1):
        out.write_bytes(whole[:cut])
        summary = run_items(items, out, HERE, function=at_once)
        assert summary.new == 3 - sum(end <= cut for end in ends)
        assert out.read_bytes() == whole
    for content in (b"not json\n", b'{"ok": true}\n', b"[1]\n"):
        out.write_bytes(content)
        with pytest.raises(UsageError, match="line 1 is no row of a sweep"):
            run_items(items, out, HERE, function=at_once)
        assert out.read_bytes() == content


def test_a_model_file_that_was_changed_is_done_again(tmp_path: Path) -> None:
    """Its old row would name a certificate of another model; nothing else is done again."""
    model = tmp_path / "m.json"
    model.write_bytes((ROOT / "instances/contains-one.json").read_bytes())
    path = spec(tmp_path, '[[grid]]\nmodel = ["m.json", "and-of-ors"]\nn = [4, 9]\n')
    out = tmp_path / "sweep.jsonl"
    assert restrict.run_sweep(path, jobs=0).new == 4
    model.write_bytes((ROOT / "instances/all-ones.json").read_bytes())
    result = restrict.run_sweep(path, jobs=0)
    assert (result.new, len(lines(out)), len(result.rows)) == (2, 6, 4)
    assert result.recheck(jobs=0).wrong == ()
    assert restrict.run_sweep(path, jobs=0).new == 0
    model.unlink()
    assert restrict.run_sweep(path, jobs=0).new == 0, "its rows are kept"


def at_once(item: Item) -> Outcome:
    """A row and its file without work."""
    name = f"{item.identity}.cert"
    return Outcome(item.row | {"ok": True, "provenance": "x" * 400, "certificate": name}, {name: b"x"})


def test_a_full_disk_is_one_line_and_the_sweep_goes_on_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items, out = read_spec(spec(tmp_path, GRID)).items[:4], tmp_path / "rows.jsonl"
    right, room = os.write, [2000]

    def write(descriptor: int, line: bytes) -> int:
        done = right(descriptor, line[: room[0]])
        room[0] -= done
        return done

    monkeypatch.setattr("restrict.sweep.store.os.write", write)
    with pytest.raises(UsageError, match=r"rows.jsonl: no space left for a row"):
        run_items(items, out, HERE, function=at_once)
    assert 0 < len(read_rows(out)[0]) < 4
    monkeypatch.undo()
    assert run_items(items, out, HERE, function=at_once).failed == 0
    assert sorted(row["id"] for row in lines(out)) == sorted(item.identity for item in items), "each once"

    monkeypatch.setattr(Path, "write_bytes", Mock(side_effect=OSError(28, "No space left on device", "x")))
    with pytest.raises(UsageError, match="No space left on device"):
        run_items(items, tmp_path / "others.jsonl", HERE, function=at_once)
    assert not list(tmp_path.glob("others.jsonl.certificates/*"))


def test_rows_of_another_spec_are_kept_apart(tmp_path: Path) -> None:
    """A spec that was changed: what is still in it keeps its rows; rows of other items stay and are not counted."""
    out = tmp_path / "rows.jsonl"

    def new(text: str) -> int:
        return run_items(read_spec(spec(tmp_path, text)).items, out, HERE, function=at_once).new

    assert new(GRID) == 12
    assert new(GRID.replace("[1, 2]", "[2, 1]").replace("to = 16", "to = 4")) == 0
    assert len(lines(out)) == 12
    with out.open("ab") as file:
        file.write(b"\0" * 100)  # what a crash of the machine may leave
    assert new(GRID.replace("seed}", "seed},classes=3")) == 12
    assert len(lines(out)) == 24


def test_one_sweep_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    out = tmp_path / "rows.jsonl"
    with opened(out), pytest.raises(UsageError, match="another sweep is at work"), opened(out):
        pass


def test_an_engines_bug_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.certification.certify", Mock(side_effect=ZeroDivisionError("a bug")))
    row = work(read_spec(spec(tmp_path, GRID)).items[0]).row
    assert (row["ok"], row["exit_code"], row["error"]) == (False, 1, "internal: ZeroDivisionError: a bug")


# ---------------------------------------------------------------- the pool


def all_but_three(*cluster: str) -> str:
    """Every item has a result but the one that kills its workers; what is said of that."""
    found = dict(spread(kill_on_three, list(range(12)), 2, *cluster))
    lost = found.pop(3)
    assert isinstance(lost, Lost)
    assert found == {k: k * k for k in range(12) if k != 3}
    return str(lost)


@pytest.mark.heavy
def test_every_item_comes_once_and_a_killed_worker_costs_one_item(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(spread(square, [1, 2, 3], 0)) == [(0, 1), (1, 4), (2, 9)]
    before = {name: os.environ.get(name) for name in local.THREADS}
    assert "killed 2 times" in all_but_three()
    assert {name: os.environ.get(name) for name in local.THREADS} == before


def test_a_pool_gives_what_the_loop_gives() -> None:
    assert dict(spread(square, list(range(30)), 2)) == {k: k * k for k in range(30)}


def start(path: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "restrict.cli", "sweep", str(path), "--jobs", "2", *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    )


def children(pid: int) -> list[int]:
    """The processes whose parent is ``pid``, from /proc."""
    every = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    return [other for other in every if stat(other)[1] == str(pid)]


def stat(pid: int) -> list[str]:
    """The state and the parent of a process; of one that has ended, that of a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["Z", ""]


def alive(pid: int) -> bool:
    return stat(pid)[0] != "Z"


def test_what_a_killed_worker_left_half_written_goes(tmp_path: Path) -> None:
    """A kill between the writing of a file and its renaming leaves a part; the next run of the sweep takes it away."""
    out = tmp_path / "rows.jsonl"
    folder = tmp_path / "rows.jsonl.certificates"
    with opened(out) as store:
        store.keep(Outcome({"id": "a", "ok": True}, {"model-1.json": b"{}"}))
    part = folder / "model-2.json.123.part"
    part.write_bytes(b"{")
    with opened(out):
        assert [path.name for path in folder.iterdir()] == ["model-1.json"]


MANY = """
[[grid]]
model = "random:layers=1,heads=1,states=2,seed={seed}"
seed = {from = 0, to = 11}
n = [20, 40]
"""


@pytest.mark.heavy
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_a_killed_sweep_resumes_with_the_same_rows(tmp_path: Path) -> None:
    """SIGKILL in the middle: the workers end, every row is there once, the same rows as without a kill."""
    path, out = spec(tmp_path, MANY), tmp_path / "sweep.jsonl"
    for at in (1, 6):
        process = start(path)
        wait_for(lambda at=at: len(out.read_bytes().splitlines()) >= at if out.exists() else False)
        workers = children(process.pid)
        process.kill()
        process.wait()
        wait_for(lambda workers=workers: not any(map(alive, workers)))
    before = read_rows(out)[0]
    assert 0 < len(before) < 24
    done = start(path)
    text, error = done.communicate(timeout=200)
    assert (done.returncode, error) == (0, "")
    assert text.splitlines()[0] == f"{out}: 24 items, {24 - len(before)} new, 0 with an error"
    rows = lines(out)
    assert len(rows) == 24
    items = {item.identity: item for item in read_spec(path).items}
    assert {row["id"] for row in rows} == set(items)
    for row in rows[:3]:
        again = work(items[row["id"]]).row
        assert (again["fixed_count"], again["verified"]) == (row["fixed_count"], row["verified"])
    assert not list((tmp_path / "sweep.jsonl.certificates").glob("*.part"))


@pytest.mark.heavy
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="signals")
def test_ctrl_c_keeps_the_rows(tmp_path: Path, times: int) -> None:
    path, out = spec(tmp_path, MANY), tmp_path / "sweep.jsonl"
    process = start(path)
    wait_for(lambda: out.exists() and len(out.read_bytes().splitlines()) >= 2)
    workers = children(process.pid)
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.count("\n") == 1
    assert "interrupted; the rows so far are in" in error
    wait_for(lambda: not any(map(alive, workers)))
    assert 2 <= len(lines(out)) < 24


# ---------------------------------------------------------------- Dask, DuckDB


@pytest.mark.parametrize(("option", "library"), [("--dask", "distributed"), ("--parquet", "duckdb")])
def test_a_missing_library_is_said_before_the_work(
    option: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    right = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == library else right(name))
    found = failed(UsageError, "sweep", spec(tmp_path, GRID), option, tmp_path / "x", "-o", tmp_path / "rows.jsonl")
    assert 'pip install -e ".[sweep]" in a clone' in found
    assert not (tmp_path / "rows.jsonl").exists()


def test_heavy_libraries_are_not_imported_without_need(tmp_path: Path) -> None:
    text = (
        "import sys; from restrict.cli.main import cli; "
        "cli(['sweep', sys.argv[1], '--jobs', '0'], standalone_mode=False); "
        "print(sorted(m for m in ('dask', 'distributed', 'duckdb', 'pandas') if m in sys.modules))"
    )
    path = spec(tmp_path, '[[grid]]\nmodel = "no-such"\nn = 3\n')
    done = subprocess.run([sys.executable, "-c", text, str(path)], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_parquet_file_has_the_rows(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    out, table = tmp_path / "rows.jsonl", tmp_path / "it's.parquet"
    result = typed("sweep", spec(tmp_path, GRID), "-o", out, "--jobs", "0", "--parquet", table)
    assert result.output.endswith(f"table in {table}\n")
    made = duckdb.read_parquet(str(table))
    assert len(made) == 12
    pairs = made.project("id, fixed_count, layers").fetchall()
    assert sorted(pairs) == sorted((r["id"], r["fixed_count"], r["layers"]) for r in lines(out))


@pytest.mark.heavy
def test_dask_gives_the_same_rows_and_survives_a_killed_worker(tmp_path: Path) -> None:
    pytest.importorskip("distributed")

    path = spec(tmp_path, GRID)
    assert typed("sweep", path, "-o", tmp_path / "a.jsonl", "--jobs", "0").exit_code == 0
    succeeded("sweep", path, "-o", tmp_path / "b.jsonl", "--jobs", "2", "--dask", "local")
    kept = ("id", "fixed_count", "verified", "provenance")
    a, b = ({r["id"]: [r[k] for k in kept] for r in lines(tmp_path / name)} for name in ("a.jsonl", "b.jsonl"))
    assert a == b
    all_but_three("local")


@pytest.mark.heavy
def test_a_dask_scheduler_that_dies_ends_the_sweep_in_one_line(tmp_path: Path) -> None:
    """No item becomes a row with an error for it; the same command, here without a cluster, does the rest."""
    pytest.importorskip("distributed")
    address = f"tcp://127.0.0.1:{free_port()}"
    here: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    module = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--port"]
    scheduler = subprocess.Popen([*module, address.rpartition(":")[2]], **here)
    module = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--nthreads", "1", address]
    worker = subprocess.Popen(module, **here)
    path, out = spec(tmp_path, MANY.replace("19", "99")), tmp_path / "sweep.jsonl"
    try:
        process = start(path, "--dask", address)
        wait_for(lambda: out.exists() and len(out.read_bytes().splitlines()) >= 5)
        scheduler.kill()
        text, error = process.communicate(timeout=60)
    finally:
        scheduler.kill()
        worker.kill()
    assert (process.returncode, text) == (2, "")
    assert error == "restrict: --dask: the scheduler is gone; run the same command again when it is back\n"
    assert all(row["ok"] for row in lines(out))


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.heavy
def test_no_scheduler_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("restrict.sweep.cluster.CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:1", "nowhere"):
        with pytest.raises(UsageError, match="no scheduler answers"):
            list(spread(square, [1], 1, address))


def test_the_spec_of_the_docs_is_read(tmp_path: Path) -> None:
    text = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    items = read_spec(spec(tmp_path, example)).items
    assert len(items) == 2 * 2 * 10 * 3 * 2 + 2 * 2
    assert {item.task for item in items} == {"certify", "refute"}
    for axis in ("model", "n", "task", "target", "c", "free", "method", "seed", "language", "exact", "time"):
        assert f"`{axis}`" in text


# ---------------------------------------------------------------- groups


def made(seed: int, n: int, fixed: int | None, seconds: float = 1.0, model: str = "m") -> dict[str, object]:
    """A row; without a result where ``fixed`` is None."""
    row = {"id": f"{model}-{n}-{seed}", "ok": fixed is not None, "model": f"{model}:seed={seed}", "n": n, "seed": seed}
    return row | ({"error": "no"} if fixed is None else {"fixed_count": fixed, "depends": 0, "seconds": seconds})


def test_groups_have_thequartiles_of_rows_that_differ_in_their_seed() -> None:
    rows = [made(seed, n, None if seed == 4 else seed * n) for n in (10, 20) for seed in range(5)]
    first, second = groups.grouped(rows)
    assert (first.axes, second.axes) == ({"n": 10}, {"n": 20})
    assert (first.rows, first.failed) == (5, 1)
    assert first.quartiles["fixed_count"] == (7.5, 15.0, 22.5)
    assert second.quartiles == {"fixed_count": (15, 30, 45), "depends": (0, 0, 0), "seconds": (1, 1, 1)}
    head, *body = groups.table([first, second]).splitlines()
    assert re.split(" {2,}", head) == ["n", "rows", "errors", *(f"{name}: quartiles" for name in groups.MEASURED)]
    assert re.split(" {2,}", body[0]) == ["10", "5", "1", "7.5 15 22.5", "0", "1"]


def test_groups_of_rows_without_results_or_with_one_row() -> None:
    (alone,) = groups.grouped([made(0, 5, 2)])
    assert (alone.axes, alone.quartiles["fixed_count"]) == ({}, (2, 2, 2))
    (failed,) = groups.grouped([made(0, 5, None), made(1, 5, None)])
    assert (failed.failed, failed.quartiles) == (2, {})
    (some,) = groups.grouped([made(seed, 5, fixed) for seed, fixed in enumerate((2, 2, 2, 4, 4))])
    assert re.split(" {2,}", groups.table([some]).splitlines()[1])[2] == "2 2 4"  # never two of the three
    assert groups.table([failed]).splitlines()[1].split() == ["2", "2"]
    assert groups.grouped([]) == []


def test_groups_say_what_verdicts_came_to() -> None:
    """Outcomes are counted by group; a length of 0 is every length."""
    outcomes = {0: ["right", "right"], 9: ["open", "wrong", "wrong"]}
    rows = [
        made(seed, n, 1) | {"outcome": said} for n, all_said in outcomes.items() for seed, said in enumerate(all_said)
    ]
    first, second = found = groups.grouped(rows)
    assert (first.outcomes, second.outcomes) == ({"right": 2}, {"wrong": 2, "open": 1})
    head, *body = (re.split(" {2,}", line)[:4] for line in groups.table(found).splitlines())
    assert [head, *body] == [
        ["n", "rows", "errors", "outcome"], ["every", "2", "0", "right"], ["9", "3", "0", "2 wrong, 1 open"],
    ]  # fmt: skip


def test_models_that_no_other_argument_tells_apart_are_groups() -> None:
    rows = [{"id": str(k), "ok": True, "model": name, "n": 4, "fixed_count": k} for k, name in enumerate("ab")]
    assert [group.axes for group in groups.grouped(rows)] == [{"model": "a"}, {"model": "b"}]


def test_a_sweep_ends_with_its_groups_and_counts_rows_of_another_spec(tmp_path: Path) -> None:
    text = '[[grid]]\nmodel = "contains-one"\nn = [{}]\n'
    first = typed("sweep", spec(tmp_path, text.format("4, 5")), "--jobs", "0")
    assert first.output.splitlines()[1].split() == ["n", "rows", "errors", "fixed_count", "depends", "seconds"]
    again = typed("sweep", spec(tmp_path, text.format("5, 6")), "--jobs", "0", "--json")
    found = json.loads(again.stdout)
    assert (found["items"], found["new"], found["older"]) == (2, 1, 1)
    assert [group["axes"] for group in found["groups"]] == [{"n": 5}, {"n": 6}]
    assert (
        "1 row of another spec left alone" in typed("sweep", spec(tmp_path, text.format("5, 6")), "--jobs", "0").output
    )


VERDICTS = """[[grid]]
task = "verify"
model = "{folder}/trained/tomita2-1l1h16d.safetensors"
n = 4

[[grid]]
task = "verify"
model = "{folder}/brasp-dyck1-depth2.json"
language = ["dyck:1,depth=2", "dyck:1,depth=3"]
n = "all"
"""


@pytest.mark.heavy
def test_verdicts_are_rows_like_others(tmp_path: Path) -> None:
    """A trained model up to a length, and a program at every length: proved, or a wrong word; all certificates hold."""
    folder = Path(__file__).parent.parent / "instances"
    (tmp_path / "v.toml").write_text(VERDICTS.replace("{folder}", str(folder)), encoding="utf-8")
    result = restrict.run_sweep(tmp_path / "v.toml", jobs=0)
    assert [row["outcome"] for row in result.rows] == ["right", "right", "wrong"], result.rows
    assert [row["n"] for row in result.rows] == [4, 0, 0]
    assert result.rows[2]["word"] == "( ( ( ) ) )"
    assert all(row["verified"].startswith("s VERIFIED") for row in result.rows)
    assert not result.recheck(jobs=0).wrong
    text = result.path.read_text()
    for old, new in (('"word": "( ( ( ) ) )"', '"word": "( ( ) )"'), ('"outcome": "right"', '"outcome": "wrong"')):
        result.path.write_text(text.replace(old, new))
        assert "its certificate's" in result.recheck(jobs=0).wrong[0][1]
    result.path.write_text(text.replace('"upto": 4', '"upto": 5'))
    assert len(result.recheck(jobs=0).wrong) == 1
    result.path.write_text(text)
    certificate = tmp_path / "v.jsonl.certificates" / Path(result.rows[1]["certificate"]).name
    document = json.loads(certificate.read_text())
    certificate.write_text(json.dumps({**document, "model": {**document["model"], "sha256": "0" * 64}}))
    assert len(result.recheck(jobs=0).wrong) == 1
