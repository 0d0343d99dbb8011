"""Which few symbols force the decision of trained models: the table of docs/soft-verdicts.md.

    python scripts/bench_forced.py FOLDER -n 149 --time 60

For every one-layer checkpoint of a folder: the fewest symbols found that force all labels whatever the others are, and
the fewest that force the end token's. Every restriction is checked by the trusted checker. Processor seconds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from restrict.base.errors import RestrictError
from restrict.soft.restriction.forced import decision_of, force_decision
from restrict.soft.trained.model import Trained, load


def cells(model: Trained, n: int, seconds: float, label: str | None) -> tuple[str, str]:
    """How many symbols are fixed, and the processor time."""
    begin = time.process_time()
    try:
        found = force_decision(model, n, decision_of(model, label), seconds=seconds)
        told = f"{len(found.fixed)}" + (" (time)" if found.stopped else "")
    except RestrictError:
        told = "none found"
    return told, f"{time.process_time() - begin:.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", type=int, default=149)
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| model | n | all labels: fixed | s | end token: fixed | s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for path in sorted(options.folder.glob("*.safetensors")):
        model = load(path)
        if len(model.layers) != 1 or options.only not in model.name:
            continue
        n = options.n if model.longest is None else min(options.n, model.longest)
        row = [*cells(model, n, options.time, "all"), *cells(model, n, options.time, None)]
        print(f"| {model.name} | {n} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
