"""Which few symbols force the decision of trained models: the table of docs/soft-verdicts.md.

    python scripts/bench_forced.py FOLDER -n 149 --time 60

For every one-layer checkpoint of a folder: the fewest symbols found that force all labels whatever the others are, and
the fewest that force the end token's. Every restriction is checked by the trusted checker. Processor seconds.
"""

from __future__ import annotations

import time

from harness import checkpoints, head, of_checkpoints, show, written

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
    options, rows = of_checkpoints(__doc__, "149", 60.0).parse_args(), []
    print(head(HEAD))
    for model in (model for model in map(load, checkpoints(options)) if len(model.layers) == 1):
        for n in (n if model.longest is None else min(n, model.longest) for n in options.n):
            rows.append([model.name, n, *cells(model, n, options.time, "all"), *cells(model, n, options.time, None)])
            show(rows[-1])
    written(options.output, rows)


if __name__ == "__main__":
    main()
