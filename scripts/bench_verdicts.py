"""Verdicts on a folder of trained checkpoints: tested share beside what is proved, with sizes and times.

    python scripts/bench_verdicts.py tests/corpus/trained -n 100 --time 60

One row a checkpoint of one layer (``--layers 2``: of two): its architecture, the share of prefixes that its
configuration says was right on samples, the verdict (right, a wrong word, or open), seconds of search, bytes of the
certificate, seconds of the trusted check (both of processor time). Every certificate is checked. ``--float32`` prints
instead up to where the model is right as run, with the margin that is nearest to its rounding. ``--command`` runs the
command ``restrict soft verify`` instead, and prints the time of all of it, from its start to the checker's line: that
of all its processes, and that on the clock. ``--jobs N``: that many processes at once; ``-o FILE`` writes the rows.
``--processor``: the search's own clock, of ``--time`` and of its shares, counts seconds of its processor, as on a
machine that has nothing else to do.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import harness
from harness import checkpoints, ended, head, of_checkpoints, shared_out, show, written

from restrict.base.errors import RestrictError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.soft.models.config import read_config
from restrict.soft.trained.decide import Verdict, verify_trained
from restrict.soft.trained.graph import task_graph
from restrict.soft.trained.model import Trained, load

HEAD = ("model", "sampled", "verdict", "cases", "cells", "search s", "bytes", "check s")

AS_RUN = ("model", "verdict", "as run to", "quotient", "margin", "rounding", "position", "search s", "float32 s")

COMMAND = ("model", "exit code", "processor s", "wall s", "line")


def said(found: Verdict) -> str:
    """The verdict in a few words."""
    if found.wrong is not None:
        return f"wrong at {len(found.wrong.word)}" + (" (shortest)" if found.shortest else f", right to {found.upto}")
    return f"right to {found.upto}" + ("" if found.status == "right" else f", open: {len(found.open)}")


def row(path: Path, n: int, seconds: float, sampled: Any) -> dict[str, Any]:
    """One checkpoint: the search, and the check of what it found."""
    model: Trained = load(path)
    graph = task_graph(model)
    with suppress(RestrictError):
        verify_trained(model, graph, min(n, 3))  # compiles the kernels
    start = time.process_time()
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


def as_run(path: Path, n: int, seconds: float) -> dict[str, Any]:
    """One checkpoint: what is right as run in float32."""
    model, marks = load(path), dict[str, float]()
    graph, start = task_graph(model), time.process_time()

    def tell(what: str) -> None:
        marks.setdefault(what, time.process_time())

    found = verify_trained(model, graph, n, seconds=seconds, float32=True, tell=tell)
    end, said_ = time.process_time(), found.float32
    begin, near = marks.get("float32", end), None if said_ is None else said_.closest
    return {
        "model": model.name, "verdict": said(found), "status": found.status, "checked": "",
        "as run to": -1 if said_ is None else said_.upto,
        **({} if near is None else {
            "quotient": f"{near.ratio:.3g}", "margin": f"{near.least:.3g}", "rounding": f"{near.error:.2g}",
            "position": near.key[0]}),
        "search s": round(begin - start, 1), "float32 s": round(end - begin, 1),
    }  # fmt: skip


def command(path: Path, n: int, seconds: float) -> dict[str, Any]:
    """One checkpoint: the command as people give it."""
    done = ended(harness.command("soft", "verify", str(path), "-n", str(n), "--time", str(seconds)))
    said = [text for text in done.out.splitlines() if text.startswith("s ")]
    return {
        "model": path.stem, "status": {0: "right", 3: "wrong"}.get(done.code, "open"), "checked": "",
        "exit code": done.code, "processor s": round(done.cpu, 1), "wall s": round(done.seconds, 1),
        "line": (said or [""])[-1][:40],
    }  # fmt: skip


def told(work: tuple[Path, int, float, Any], kind: str, processor: bool = False) -> dict[str, Any]:
    """A row of a kind of table, or why there is none."""
    if processor:
        with mock.patch("time.monotonic", time.process_time):
            return told(work, kind)
    try:
        return command(*work[:3]) if kind == "command" else as_run(*work[:3]) if kind == "float32" else row(*work)
    except RestrictError as error:
        return {"model": work[0].stem, "status": "refused", "checked": "", "verdict": str(error)}


def main() -> int:
    """The table."""
    parser = of_checkpoints(__doc__, "100", 60.0)
    parser.add_argument("--layers", type=int, default=1)
    kinds = parser.add_mutually_exclusive_group()
    for flag, what in (("float32", "what is right as run, without the check"), ("command", "the whole command")):
        kinds.add_argument(f"--{flag}", dest="kind", action="store_const", const=flag, default="", help=what)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--processor", action="store_true", help="the search's clock counts processor seconds")
    chosen, work, rows = parser.parse_args(), [], []
    for path in checkpoints(chosen):
        config = read_config(path.with_name(path.stem + ".config.json"))
        if config.get("n_layer") == chosen.layers:
            sampled = config.get("sampled", {}).get("prefixes_right", "-")
            work += [(path, n, chosen.time, sampled) for n in chosen.n]
    columns = {"float32": AS_RUN, "command": COMMAND, "": HEAD}[chosen.kind]
    print(head(columns), flush=True)
    for found in shared_out(partial(told, kind=chosen.kind, processor=chosen.processor), work, chosen.jobs):
        rows.append(found)
        show(str(found.get(key, "-"))[:40] for key in columns)
        if found["checked"].startswith("refused"):
            print(found["checked"], file=sys.stderr, flush=True)
    written(chosen.output, rows)
    decided = sum(found["status"] in ("right", "wrong") for found in rows)
    refused = sum(found["checked"].startswith("refused") for found in rows)
    print(f"{decided} of {len(rows)} decided at n = {', '.join(map(str, chosen.n))}; {refused} certificates refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
