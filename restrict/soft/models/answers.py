"""A model's answers to words, as the command line shows them: in words, and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from restrict.soft.models import evaluate
from restrict.soft.models.model import Floats, SoftModel


@dataclass(frozen=True)
class WordAnswers:
    """``rows``: for each word the labels, probabilities and logits, and up to which length the model is certified if
    the word is beyond it. ``lengths``: of the words, markers counted; ``kind``: ``float32`` or ``float64``."""

    model: SoftModel
    rows: Sequence[dict[str, Any]]
    lengths: Sequence[int]
    kind: str

    def document(self) -> dict[str, Any]:
        """The rows, as JSON."""
        return {"model": self.model.name, "rows": self.rows}

    def text(self) -> str:
        """One line for each word: its label with all probabilities, or the labels of every position."""
        told = []
        for row in self.rows:
            shown = f"{row['word']}: {' '.join(row['labels'])}"
            if len(row["labels"]) == 1:
                shares = zip(self.model.output.labels, row["probabilities"][0], strict=True)
                shown += f" ({', '.join(f'{name} {p:.6g}' for name, p in shares)})"
            told.append(shown)
        return "\n".join(told)


def answers(model: SoftModel, words: Sequence[str], *, float32: bool = False) -> WordAnswers:
    """Evaluate a model on words: letters side by side, or symbols separated by spaces. ``float32``: in single
    precision. ``UsageError``: a symbol or a length that the model does not have."""
    kind, rows, lengths = "float32" if float32 else "float64", [], []
    for word in words:
        symbols = word.split() if " " in word.strip() or any(len(s) > 1 for s in model.alphabet) else list(word)
        batch = model.encode([symbols])
        logits = evaluate.logits(model, batch, dtype=np.float32 if float32 else np.float64)[0]
        row = {"word": word, "labels": _labels(model, logits)}
        row |= {"probabilities": evaluate.probabilities(model, logits).tolist(), "logits": logits.tolist()}
        rows.append(row | {"beyond_certified": model.beyond(batch.shape[1], kind)})
        lengths.append(batch.shape[1])
    return WordAnswers(model, rows, lengths, kind)


def _labels(model: SoftModel, logits: Floats) -> list[str]:
    """At each position read, the label, or the set of labels."""
    names = model.output.labels
    if model.output.kind != "signs":
        return [names[int(k)] for k in evaluate.labels(model, logits)]
    rows = evaluate.label_sets(model, logits)
    return ["{" + ",".join(name for name, on in zip(names, row, strict=True) if on) + "}" for row in rows]
