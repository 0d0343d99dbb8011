"""Every length at once: trained checkpoints without positions, proved right or broken at an exact length.

    python scripts/bench_every_length.py tests/corpus/trained --time 60

For each NAME.safetensors of the folders without position embeddings: whether the model is right on every prefix of
every word of its language, of whatever length, or the length of a shortest wrong prefix; how many blocks of lengths,
cases and cells; processor seconds of the search and of the trusted checker; bytes of the certificate.
"""

from __future__ import annotations

import time
from pathlib import Path

from harness import checkpoints, head, of_checkpoints, show, written

from restrict.checker.main import verify
from restrict.soft.trained.every_length import EveryLength, verify_every_length
from restrict.soft.trained.graph import task_graph
from restrict.soft.trained.model import load

HEAD = ("model", "verdict", "blocks", "cases", "cells", "search s", "bytes", "check s")


def said(found: EveryLength) -> str:
    """The verdict in a few words."""
    if found.wrong is not None:
        which = "shortest" if found.shortest else f"right to {found.upto}"
        return f"wrong at {len(found.wrong.word)} ({which})"
    return "right at every length" if found.upto is None else f"right to {found.upto}, open"


def row(path: Path, seconds: float) -> tuple[str, ...] | None:
    """The figures of one checkpoint; ``None`` for one with positions."""
    model = load(path)
    if model.positions is not None:
        return None
    graph = task_graph(model)
    start = time.process_time()
    found = verify_every_length(model, graph, seconds=seconds)
    searched, start = time.process_time() - start, time.process_time()
    content = found.to_bytes() if found.proves else b""
    if content:
        verify(model.content, content)
    checked = time.process_time() - start
    numbers = (len(found.blocks), len(found.cases), sum(case.cells for case in found.cases))
    return (model.name, said(found), *map(str, numbers), f"{searched:.1f}", str(len(content)), f"{checked:.2f}")


def main() -> None:
    """Print the table."""
    options, rows = of_checkpoints(__doc__, seconds=60.0).parse_args(), []
    print(head(HEAD), flush=True)
    for path in checkpoints(options):
        if (found := row(path, options.time)) is not None:
            rows.append(found)
            show(found)
    written(options.output, rows)


if __name__ == "__main__":
    main()
