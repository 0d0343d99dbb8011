"""The soundness suite of tests/soundness/: claims true and false, and attacks, for any checker of these formats.

    python scripts/make_soundness_suite.py tests/soundness     # write its cases again

For each kind of proof that scripts/fuzz_checker.py knows: pairs that are proved, and mutants of them of which brute
force says that they are false. To these come the false claims that earlier versions verified and the attacks on time
and memory (tests/corpus). The same bytes each time. `tests/soundness/run.py` runs a checker on them.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import ROOT

from restrict.base.errors import RestrictError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.elaboration.trusted import proof_in_memory
from tests.fuzzing.kinds import Kind, Trial, kinds, write

SEED, TRUE, FALSE, TRIES, LIMIT = 28, 2, 6, 600, 400_000
"""Of each kind: pairs that are proved, false mutants, and mutants that are tried for these."""
LEFT_OUT = ("soft", "verdict")
"""Kinds whose names begin so: their originals take minutes each; `scripts/fuzz_checker.py --kind` makes them."""
CORPUS = ROOT / "tests" / "corpus"
Case = dict[str, Any]


def refused(trial: Trial, folder: Path) -> str | None:
    """Why the checker refuses a pair; None where it verifies it."""
    try:
        verify(trial.model, trial.proof, folder=folder, limit=LIMIT, proof=proof_in_memory(LIMIT))
    except (Reject, RestrictError) as error:
        return str(error)
    return None


def cases_of(kind: Kind, folder: Path) -> Iterator[Case]:
    """The cases of a kind; their files are written."""
    rng = np.random.default_rng([SEED, *kind.name.encode()])
    pool = [kind.original(rng) for _ in range(TRUE)]
    for at, trial in enumerate(pool):
        yield _written(kind, trial, folder / "true" / f"{kind.name.replace(' ', '-')}-{at}", "true", None)
    seen, found = set[bytes](), 0
    for _ in range(TRIES):
        trial = kind.mutant(rng, pool)
        if trial.proof in seen:
            continue
        seen.add(trial.proof)
        try:
            false = kind.judge(trial) == "false"
        except Exception:  # not a pair of files that has a meaning
            continue
        why = refused(trial, folder) if false else None
        if why is not None:
            yield _written(kind, trial, folder / "false" / f"{kind.name.replace(' ', '-')}-{found}", "false", why)
            found += 1
        if found == FALSE:
            return


def _written(kind: Kind, trial: Trial, where: Path, truth: str, why: str | None) -> Case:
    write(trial, where, kind.suffix)
    folder = where.relative_to(where.parents[1])
    paths = {"model": str(folder / f"m{kind.suffix}"), "claim": str(folder / "c.json")}
    return {"kind": kind.name, "truth": truth, "refused by restrict": why} | paths


def corpus() -> Iterator[Case]:
    """The false claims of earlier versions, and the attacks."""
    for name, truth in (("false", "false"), ("attacks", "unknown")):
        there = CORPUS / name
        for claim in sorted(there.glob("*.c.json")):
            stem = claim.name.split(".")[0]
            models = [there / f"{stem}{ending}" for ending in (".m.json", ".m.safetensors", ".safetensors")]
            model = next((path for path in models if path.exists()), None)
            if model is not None:
                paths = [f"../{path.relative_to(CORPUS.parent)}" for path in (model, claim)]
                case = {"kind": "corpus", "truth": truth, "refused by restrict": None}
                yield case | dict(zip(("model", "claim"), paths, strict=True))


def main(words: list[str]) -> int:
    """Write all cases and their list."""
    folder = Path(words[0] if words else "tests/soundness")
    for part in ("true", "false"):
        shutil.rmtree(folder / part, ignore_errors=True)
    cases = list(corpus())
    for name, kind in kinds().items():
        if name.startswith(LEFT_OUT):
            continue
        cases += cases_of(kind, folder)
        print(name, len(cases), flush=True)
    (folder / "cases.json").write_text(json.dumps(cases, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
