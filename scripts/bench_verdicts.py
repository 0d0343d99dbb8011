"""Verdicts on a folder of trained checkpoints: tested share beside what is proved, with sizes and times.

    python scripts/bench_verdicts.py tests/corpus/trained -n 100 --time 60

One row a checkpoint of one layer (``--layers 2``: of two): its architecture, the share of prefixes that its
configuration says was right on samples, the verdict (right, a wrong word, or open), seconds of search, bytes of the
certificate, seconds of the trusted check (both of processor time). Every certificate is checked. ``--json FILE``
writes the rows, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from harness import head, line, written

from restrict.base.errors import RestrictError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.soft.trained.decide import Verdict, verify_trained
from restrict.soft.trained.graph import graph_of, task_language
from restrict.soft.trained.model import Trained, configuration, load

HEAD = ("model", "sampled", "verdict", "cases", "cells", "search s", "bytes", "check s")


def said(found: Verdict) -> str:
    """The verdict in a few words."""
    if found.wrong is not None:
        return f"wrong at {len(found.wrong.word)}" + (" (shortest)" if found.shortest else f", right to {found.upto}")
    return f"right to {found.upto}" + ("" if found.status == "right" else f", open: {len(found.open)}")


def row(path: Path, n: int, seconds: float, sampled: Any) -> dict[str, Any]:
    """One checkpoint: the search, and the check of what it found."""
    model: Trained = load(path)
    graph, start = graph_of(model, task_language(model)), time.process_time()
    found = verify_trained(model, graph, n, seconds=seconds)
    content, begin = found.to_bytes(), time.process_time()
    try:
        checked = verify(model.content, content, limit=10**12) if found.proves else ""
    except Reject as reject:
        checked = f"refused: {reject}"
    word = None if found.wrong is None else " ".join(model.symbols[s] for s in found.wrong.word)
    return {
        "model": model.name, "sampled": sampled, "verdict": said(found), "status": found.status, "upto": found.upto,
        "shortest": found.shortest, "word": word, "n": n, "cases": len(found.cases),
        "cells": sum(case.cells for case in found.cases), "search s": round(begin - start, 1), "bytes": len(content),
        "check s": round(time.process_time() - begin, 1), "checked": checked,
        "open": [[*case.key, case.label, case.least] for case in found.open], "memory": list(found.memory),
    }  # fmt: skip


def main() -> int:
    """The table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", type=int, default=100)
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the names")
    chosen = parser.parse_args()
    rows, refused = [], 0
    print(head(HEAD), flush=True)
    for path in sorted(p for p in chosen.folder.glob("*.safetensors") if chosen.only in p.name):
        config = configuration(path.with_name(path.stem + ".config.json").read_bytes(), path.name)
        if config.get("n_layer") != chosen.layers:
            continue
        try:
            found = row(path, chosen.n, chosen.time, config.get("sampled", {}).get("prefixes_right", "-"))
        except RestrictError as error:
            print(f"| {path.stem} | {error} |", flush=True)
            continue
        rows.append(found)
        refused += found["checked"].startswith("refused")
        print(line(str(found[key])[:40] for key in HEAD), flush=True)
        if found["checked"].startswith("refused"):
            print(found["checked"], file=sys.stderr, flush=True)
    written(chosen.json, rows)
    decided = sum(found["status"] != "open" for found in rows)
    print(f"{decided} of {len(rows)} decided at n = {chosen.n}; {refused} certificates refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
