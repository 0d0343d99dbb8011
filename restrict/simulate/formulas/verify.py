"""A compiled model against the evaluator: its answers, the truth of every subformula, and the deviations measured."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restrict.base.arrays import F64, I64, Bools
from restrict.logic.semantics import evaluate_tokens
from restrict.logic.verify import first_wrong
from restrict.simulate.formulas.compiler import Compiled
from restrict.simulate.formulas.network import Value
from restrict.soft.models import evaluate

DTYPES: dict[str, type] = {"float64": np.float64, "float32": np.float32}


@dataclass(frozen=True)
class MeasuredFormula:
    """On some words of one length: how many of them have a wrong answer, and the largest deviation of a Boolean."""

    wrong: Bools
    deviation: float


def measure(compiled: Compiled, words: I64, kind: str = "float64") -> MeasuredFormula:
    """Run the model. ``words``: int64, shape (count, n): symbol indices. ``kind``: ``"float64"`` or ``"float32"``.
    Result: which words have a wrong value of the formula at some position (shape (count,)), and the largest distance of
    any head's Boolean from 0 or 1 before it is rounded (measured)."""
    model = compiled.model
    x = evaluate.activations(model, words, dtype=DTYPES[kind])
    truth = evaluate_tokens(compiled.formula, words, model.alphabet)
    wrong = (read(compiled.values[-1], x) != truth).any(axis=1)
    deviation = 0.0
    for record in compiled.budget.heads:
        if record.bound is not None and not record.bound.of_number:
            raw = x[..., record.coordinate].astype(np.float64)
            deviation = max(deviation, float(np.minimum(np.abs(raw), np.abs(1 - raw)).max()))
    return MeasuredFormula(np.asarray(wrong), deviation)


def read(value: Value, x: npt.NDArray[np.floating]) -> F64:
    """A value of the network, float64 (count, n), from activations after the last layer, (count, n, d)."""
    found = np.full(x.shape[:2], value.constant)
    for at, weight in value.weights:
        found = found + weight * x[..., at]
    return np.asarray(found, dtype=np.float64)


def counterexample(compiled: Compiled, length: int) -> tuple[list[str] | None, int]:
    """A shortest word of 1 to ``length`` symbols on which a compiled model and its formula differ at some position in
    float64 or float32, or ``None``, and how many words were compared: all of lengths that are certified for the type.
    Two runs each."""
    safe = {kind: compiled.budget.safe_length(kind) for kind in DTYPES}

    def wrong(words: I64) -> Bools:
        kinds = [kind for kind in DTYPES if words.shape[1] <= safe[kind]]
        found = [np.zeros(len(words), dtype=np.bool_), *(measure(compiled, words, kind).wrong for kind in kinds)]
        return np.asarray(np.stack(found).any(axis=0))

    return first_wrong(compiled.model.alphabet, length, wrong)
