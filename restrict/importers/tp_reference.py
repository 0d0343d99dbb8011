"""What a Transformer Program answers, straight from its parsed form: slow, exact and independent of the model code.
``select_closest`` and ``aggregate`` are written here as the printed functions read, and the read-out adds fractions.
With ``rule="trained"`` a matching self ranks behind every other match, as in the network that the program was
decompiled from."""

from collections.abc import Sequence
from fractions import Fraction

from restrict.importers.tp_tree import Attention, TransformerProgram, Value
from restrict.importers.tp_weights import OutputWeights


def closest(causal: bool, rule: str, i: int, keys: Sequence[Value], wanted: Value | None) -> int:
    """Where position ``i`` attends: the match (key value ``wanted``, if any) that ranks first, leftmost of equals; 0
    without one. ``causal``: only positions up to ``i``. ``rule``: ``"printed"`` (a matching self is as far as there are
    matches) or ``"trained"`` (it ranks last)."""
    seen = keys[: i + 1] if causal else keys
    matches = [j for j, key in enumerate(seen) if wanted is not None and key == wanted]
    if not any(matches):
        return 0
    own = len(matches) if rule == "printed" else len(keys)
    return min(matches, key=lambda j: own if j == i else abs(i - j))


def predict(program: TransformerProgram, weights: OutputWeights, tokens: Sequence[str], rule: str) -> list[str]:
    """The answer of ``run(tokens)`` in exact fractions, slow, for comparison (Friedman, Wettig & Chen 2023): one class
    for each position, the first of greatest weight; at a marker at either end the marker. ``tokens``: with markers, at
    least one. ``rule``: ``"printed"`` or ``"trained"``, as for :func:`closest`."""
    values: dict[str, list[Value]] = {"tokens": list(tokens), "positions": list(range(len(tokens)))}
    for step in program.steps:
        if isinstance(step, Attention):
            keys, source = values[step.key], values[step.value]
            wanted = [step.wanted.get(q) for q in values[step.query]]
            values[step.name] = [source[closest(program.causal, rule, i, keys, w)] for i, w in enumerate(wanted)]
        else:
            rows = zip(*(values[a] for a in step.args), strict=True)
            values[step.name] = [step.table.get(row, step.default) for row in rows]
    answer = []
    for i in range(len(tokens)):
        rows_i = [weights.row(f, "_" if f == "ones" else values[f][i]) for f in program.features]
        sums = [sum(column, Fraction(0)) for column in zip(*rows_i, strict=True)]
        answer.append(weights.classes[sums.index(max(sums))])
    if tokens[0] == "<s>":
        answer[0] = "<s>"
    if tokens[-1] == "</s>":
        answer[-1] = "</s>"
    return answer
