"""Which few symbols force the decision of trained models: the table of docs/soft-verdicts.md.

    python scripts/bench_forced.py FOLDER -n 149 --time 60

For every one-layer checkpoint of a folder: the fewest symbols found that force all labels whatever the others are, and
the fewest that force the end token's. Every restriction is checked by the trusted checker. Processor seconds.
"""

from __future__ import annotations

import time
from pathlib import Path

from harness import arguments, head, line, written

from restrict.base.errors import RestrictError
from restrict.soft.restriction.forced import decision_of, force_decision
from restrict.soft.trained.model import Trained, load

HEAD = ("model", "n", "all labels: fixed", "s", "end token: fixed", "s")


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
    parser = arguments(__doc__, None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", type=int, default=149)
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--only", default="")
    options, rows = parser.parse_args(), []
    print(head(HEAD))
    for path in sorted(options.folder.glob("*.safetensors")):
        model = load(path)
        if len(model.layers) != 1 or options.only not in model.name:
            continue
        n = options.n if model.longest is None else min(options.n, model.longest)
        rows.append([model.name, n, *cells(model, n, options.time, "all"), *cells(model, n, options.time, None)])
        print(line(rows[-1]), flush=True)
    written(options.output, rows)


if __name__ == "__main__":
    main()
