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
    found = []
    for word in o.words:
        symbols = word.split() if " " in word.strip() or any(len(s) > 1 for s in loaded.alphabet) else list(word)
        batch = loaded.encode([symbols])
        logits = evaluate.logits(loaded, batch, dtype=np.float32 if o.float32 else np.float64)[0]
        chances = evaluate.probabilities(loaded, logits)
        chosen = _answers(loaded, logits)
        found.append((word, chosen, chances, logits, loaded.beyond(batch.shape[1], kind)))
        warn(loaded, batch.shape[1], kind)
    put(lambda: _words(loaded, found), lambda: {"model": loaded.name, "rows": _rows(found)}, o.as_json)


def _rows(found: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [
        {"word": w, "labels": c, "probabilities": p.tolist(), "logits": z.tolist(), "beyond_certified": beyond}
        for w, c, p, z, beyond in found
    ]


def _words(model: SoftModel, found: list[tuple[Any, ...]]) -> str:
    """One line for each word: its label with all probabilities, or the labels of every position."""
    told = []
    for word, chosen, chances, *_ in found:
        shown = " ".join(chosen)
        if len(chosen) == 1:
            shares = ", ".join(f"{n} {p:.6g}" for n, p in zip(model.output.labels, chances[0], strict=True))
            shown += f" ({shares})"
        told.append(f"{word}: {shown}")
    return "\n".join(told)


def _answers(model: SoftModel, logits: Any) -> list[str]:
    """At each position read, the label, or the set of labels."""
    from restrict.soft.models import evaluate

    names = model.output.labels
    if model.output.kind != "signs":
        return [names[int(k)] for k in evaluate.labels(model, logits)]
    rows = evaluate.label_sets(model, logits)
    return ["{" + ",".join(name for name, on in zip(names, row, strict=True) if on) + "}" for row in rows]
