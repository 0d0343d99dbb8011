"""Blocks of one large certificate: whoever does them, the certificate is the same, byte for byte."""

import importlib.util
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import restrict
from restrict.base import blocks
from restrict.base.errors import InternalError, ResourceLimit, RestrictError, UsageError
from restrict.model.fileformat import loads
from restrict.model.shipped import Shipped
from restrict.sweep.workers import workers
from tests import documents
from tests.commands import failed, succeeded
from tests.sweep_work import added, fail, kill_first

CASES: list[tuple[str, int, dict[str, Any]]] = [
    ("random:layers=2,heads=1,states=2,seed=4,every=1", 24, {}),
    ("random:layers=1,heads=2,states=2,seed=2,every=1", 40, {"c": 8}),
    ("random:layers=1,heads=2,states=2,seed=1,every=1", 60, {"method": "lemma"}),
    ("random:layers=2,heads=1,states=2,seed=1,every=1", 48, {"method": "lemma", "free": 0.5}),
]
SOME = [*CASES[:2], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[2:])]


class Others:
    """Workers that get pickles, do the blocks in the wrong order, and count them."""

    width = 3

    def __init__(self) -> None:
        self.done = 0

    def each(self, work: blocks.Work, shared: Any, parts: Sequence[Any]) -> Generator[Any, None, None]:
        found = {}
        for number in reversed(range(len(parts))):
            given = pickle.loads(pickle.dumps((work, shared, parts[number])))
            found[number] = pickle.loads(pickle.dumps(given[0](*given[1:])))
            self.done += 1
        yield from (found[number] for number in range(len(parts)))


@pytest.fixture(autouse=True)
def every_row_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small lengths are shared out, too."""
    monkeypatch.setattr("restrict.rows.options.ROWS.spread", 1)
    monkeypatch.setattr("restrict.rows.options.ROWS.least_rows", 4)


def shared_out(model: restrict.Model, n: int, **wish: Any) -> int:
    """How many blocks other workers do for a certificate, which is the same without them."""
    others, alone = Others(), restrict.certify(model, n, target="all", **wish)
    with blocks.lent(others):
        assert restrict.certify(model, n, target="all", **wish).to_bytes() == alone.to_bytes()
    assert blocks.width() == 1, "the workers are given back"
    return others.done


@pytest.mark.heavy
@pytest.mark.parametrize(("spec", "n", "wish"), SOME)
def test_blocks_give_what_one_process_gives(spec: str, n: int, wish: dict[str, Any]) -> None:
    model = restrict.load(spec)
    found = restrict.certify(model, n, target="all", **wish)
    assert shared_out(model, n, **wish) > 2
    assert shared_out(model, n, restriction=found.restriction) > 2


@pytest.mark.heavy
def test_scores_that_are_no_hash_go_to_workers_too() -> None:
    document = documents.model(documents.head("h", "10 * k - abs(i - j)", key="token"), accept=[1])
    assert shared_out(loads(json.dumps(document).encode()), 50, free=0.8) > 2


@pytest.mark.heavy
def test_a_model_of_python_functions_stays_here() -> None:
    def score(n: Any, i: Any, q: Any, j: Any, k: Any) -> Any:
        return 10 * k - abs(i - j)

    head = restrict.Head("h", value="token", key="token", score=score)
    model = restrict.Model("near", ("0", "1"), (head,), restrict.Output("h", "every", accept=frozenset({1})))
    assert not Shipped(model.at(20)).portable
    assert shared_out(model, 20, free=0.8) == 0


def test_cuts_are_a_partition() -> None:
    assert blocks.cuts(1000) == [slice(0, 1000)]
    with blocks.lent(Others()):
        for count in (1, 5, 12, 1000):
            for least in (1, 4, 2000):
                parts = blocks.cuts(count, least)
                assert [x for part in parts for x in range(count)[part]] == list(range(count))
                assert len(parts) <= blocks.BLOCKS_EACH * 3
                assert all(part.stop - part.start >= min(least, count) for part in parts)


# ---------------------------------------------------------------- processes and clusters


@pytest.fixture(params=["pool", pytest.param("dask", marks=pytest.mark.heavy)])
def crew(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "dask":
        pytest.importorskip("distributed")
    with workers(2, "local" if request.param == "dask" else None):
        yield


def each(work: Callable[[Any, Any], Any], shared: Any, parts: Sequence[Any]) -> list[Any]:
    return list(blocks.each(work, shared, parts))


@pytest.mark.heavy
def test_blocks_on_workers_with_errors_and_kills(crew: None, tmp_path: Path) -> None:
    """A killed worker costs nothing; what the work raises comes back; then the same workers go on."""
    assert each(added, 100, range(20)) == list(range(100, 120))
    assert next(iter(blocks.each(added, 1, range(50)))) == 1, "what is not asked for is given up"
    with pytest.raises(RestrictError, match="no 3"):
        each(fail, UsageError, range(6))
    with pytest.raises(InternalError, match="ZeroDivisionError"):
        each(fail, ZeroDivisionError, range(6))
    with pytest.raises(ResourceLimit, match="out of memory"):
        each(fail, MemoryError, range(6))
    assert each(kill_first, str(tmp_path / "mark"), range(10)) == list(range(10))
    with pytest.raises(ResourceLimit, match="killed"):
        each(kill_first, "", range(4))
    assert each(added, 0, range(5)) == list(range(5))


@pytest.mark.heavy
def test_certificates_of_workers_are_the_same(crew: None) -> None:
    for spec, n, wish in CASES:
        model = restrict.load(spec)
        found = restrict.certify(model, n, target="all", **wish).to_bytes()
        with without_workers():
            assert restrict.certify(model, n, target="all", **wish).to_bytes() == found


@contextmanager
def without_workers() -> Iterator[None]:
    token = blocks._LENT.set(None)
    yield
    blocks._LENT.reset(token)


@pytest.mark.heavy
def test_a_dask_worker_killed_in_the_middle_changes_nothing() -> None:
    distributed = pytest.importorskip("distributed")
    model, n = restrict.load("random:layers=2,heads=1,states=3,seed=4,every=1"), 100
    alone = restrict.certify(model, n, target="all", free=0.8)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        killed = []

        def kill() -> None:
            end = time.monotonic() + 60
            while len(killed) < 2 and time.monotonic() < end:
                busy = [w for w in cluster.scheduler.workers.values() if w.processing and w.pid not in killed]
                if busy and len(killed) < 2:
                    os.kill(busy[0].pid, signal.SIGKILL)
                    killed.append(busy[0].pid)
                time.sleep(0.3)

        with workers(dask=cluster.scheduler_address):
            thread = threading.Thread(target=kill)
            thread.start()
            found = restrict.certify(model, n, target="all", free=0.8)
            thread.join()
    assert killed
    assert found.to_bytes() == alone.to_bytes()


# ---------------------------------------------------------------- the command


CERTIFY = "certify", "random:layers=1,heads=1,states=2,seed=1,every=1", "-n", "30"


def test_the_options_are_for_all_positions() -> None:
    for words in (("--jobs", "2"), ("--dask", "local")):
        assert "--jobs and --dask are for --target all" in failed(UsageError, *CERTIFY, *words)


def test_without_dask_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert failed(UsageError, *CERTIFY, "--target", "all", "--dask", "local") == (
        '--dask needs Dask: pip install -e ".[sweep]" in a clone, or pip install "restrict-attention[sweep]"'
    )


@pytest.mark.heavy
def test_no_dask_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("restrict.sweep.cluster.CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:1", "nowhere", "tcp://[", ""):
        assert "no scheduler answers" in failed(UsageError, *CERTIFY, "--target", "all", "--dask", address)


@pytest.mark.heavy
def test_the_command_writes_the_same_certificate(tmp_path: Path) -> None:
    ways: dict[str, list[str]] = {"alone": [], "pool": ["--jobs", "2"]}
    if importlib.util.find_spec("distributed") is not None:
        ways["dask"] = ["--jobs", "2", "--dask", "local"]
    for name, words in ways.items():
        succeeded(*CERTIFY, "--target", "all", *words, "-o", tmp_path / name)
    assert len({(tmp_path / name).read_bytes() for name in ways}) == 1


# ----------------------------------------------------------------
# The SLURM recipe of docs/scale.md, with a stand-in for the scheduler: an ``sbatch`` that runs the tasks here.


ROOT = Path(__file__).resolve().parent.parent
SBATCH = """#!/bin/bash
# As SLURM does: the options are read from the script, and each task of the array is a process with its number.
range=$(sed -n 's/^#SBATCH --array=//p' "$1")
for task in $(seq "${range%-*}" "${range#*-}"); do
  SLURM_ARRAY_TASK_ID=$task timeout 200 bash "$1" > "task-$task.log" 2>&1 &
done
echo "Submitted batch job 1"
"""
SPEC = """[[grid]]
model = "random:layers=1,heads=1,states=2,seed={seed}"
seed = {from = 0, to = 3}
n = 20
"""


def recipe() -> str:
    """The commands of the page."""
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    found = re.search(r"```bash\n(cat > workers\.sh.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_recipe_is_a_job_array_of_workers() -> None:
    text = recipe()
    assert "#SBATCH --array=0-1" in text
    assert "sbatch workers.sh" in text
    assert 'restrict sweep sweep.toml --dask "$address"' in text


@pytest.mark.heavy
def test_a_sweep_runs_on_a_job_array(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    tools = tmp_path / "tools"
    tools.mkdir()
    here = {"sbatch": SBATCH, "restrict": f'#!/bin/bash\nexec "{sys.executable}" -m restrict "$@"\n',
            "dask": f'#!/bin/bash\nexec "{sys.executable}" -m dask "$@"\n',
            "python": f'#!/bin/bash\nexec "{sys.executable}" "$@"\n'}  # fmt: skip
    for name, text in here.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    (tmp_path / "sweep.toml").write_text(SPEC)
    environment = {**os.environ, "PATH": f"{tools}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", f"set -m\n{recipe()}"], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=280, check=False,
    )  # fmt: skip
    assert "4 items, 4 new, 0 with an error" in done.stdout, done.stderr[-2000:]
    assert "Submitted batch job 1" in done.stdout
