"""The command `soft run`. Imported with the command line, so it stays light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from restrict.cli.common import JSON, Given, command, flag
from restrict.cli.printer import put
from restrict.cli.soft_common import MODEL, warn

if TYPE_CHECKING:
    from restrict.soft.models.model import SoftModel


@command("run")
@MODEL
@click.argument("words", nargs=-1, required=True)
@flag("--float32", "Evaluate in single precision.")
@JSON
def run_command(o: Given) -> None:
    """Evaluate MODEL on words: letters side by side, or symbols separated by spaces.

    A compiled model's file says up to which length it is certified; beyond it a line on standard error warns.
    """
    import numpy as np

    from restrict.soft.importers.opened import opened
    from restrict.soft.models import evaluate

    loaded, kind = opened(o.model), "float32" if o.float32 else "float64"
    rows = []
    for word in o.words:
        symbols = word.split() if " " in word.strip() or any(len(s) > 1 for s in loaded.alphabet) else list(word)
        batch = loaded.encode([symbols])
        logits = evaluate.logits(loaded, batch, dtype=np.float32 if o.float32 else np.float64)[0]
        row = {"word": word, "labels": _answers(loaded, logits)}
        row |= {"probabilities": evaluate.probabilities(loaded, logits).tolist(), "logits": logits.tolist()}
        rows.append(row | {"beyond_certified": loaded.beyond(batch.shape[1], kind)})
        warn(loaded, batch.shape[1], kind)
    put(lambda: _words(loaded, rows), {"model": loaded.name, "rows": rows}, o.as_json)


def _words(model: SoftModel, rows: list[dict[str, Any]]) -> str:
    """One line for each word: its label with all probabilities, or the labels of every position."""
    told = []
    for row in rows:
        shown = f"{row['word']}: {' '.join(row['labels'])}"
        if len(row["labels"]) == 1:
            shares = zip(model.output.labels, row["probabilities"][0], strict=True)
            shown += f" ({', '.join(f'{name} {p:.6g}' for name, p in shares)})"
        told.append(shown)
    return "\n".join(told)


def _answers(model: SoftModel, logits: Any) -> list[str]:
    """At each position read, the label, or the set of labels."""
    from restrict.soft.models import evaluate

    names = model.output.labels
    if model.output.kind != "signs":
        return [names[int(k)] for k in evaluate.labels(model, logits)]
    rows = evaluate.label_sets(model, logits)
    return ["{" + ",".join(name for name, on in zip(names, row, strict=True) if on) + "}" for row in rows]
