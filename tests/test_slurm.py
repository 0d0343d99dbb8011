"""The SLURM recipe of docs/scale.md, with a stand-in for the scheduler: an ``sbatch`` that runs the tasks here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
