"""B-RASP by its definition (Yang, Chiang & Angluin 2024, section 3), slow and obvious: what the importer is compared
with. Of the package it knows the parsed program alone."""

from collections.abc import Callable, Sequence

from restrict.importers.brasp_text import Atom, Attend, Brasp, Constant, Formula

MASKS: dict[str, Callable[[int, int], bool]] = {
    "none": lambda i, j: True,
    "past": lambda i, j: j <= i,
    "strict_past": lambda i, j: j < i,
    "future": lambda i, j: j >= i,
    "strict_future": lambda i, j: j > i,
}
OPERATIONS: dict[str, Callable[[list[bool]], bool]] = {
    "not": lambda values: not values[0],
    "and": all,
    "or": any,
    "xor": lambda values: values[0] != values[1],
    "iff": lambda values: values[0] == values[1],
    "implies": lambda values: not values[0] or values[1],
}


def holds(formula: Formula, vectors: dict[str, list[bool]], word: Sequence[str], i: int, j: int) -> bool:
    """The truth of a formula over vectors and symbols at ``i`` and ``j`` (``i`` again where it reads ``i`` only)."""
    if isinstance(formula, Constant):
        return formula.value
    if isinstance(formula, Atom):
        at = i if formula.index == "i" else j
        return word[at] == formula.name if formula.symbol else vectors[formula.name][at]
    return OPERATIONS[formula.op]([holds(part, vectors, word, i, j) for part in formula.parts])


def evaluate(program: Brasp, word: Sequence[str]) -> dict[str, list[bool]]:
    """All vectors on a word, in the order of definition."""
    vectors: dict[str, list[bool]] = {}
    n = len(word)
    for d in program.definitions:
        rule, row = d.rule, []
        for i in range(n):
            if not isinstance(rule, Attend):
                row.append(holds(rule, vectors, word, i, i))
                continue
            found = [j for j in range(n) if MASKS[rule.mask](i, j) and holds(rule.score, vectors, word, i, j)]
            if found:
                row.append(holds(rule.value, vectors, word, i, found[0] if rule.ties == "left" else found[-1]))
            else:
                row.append(holds(rule.default, vectors, word, i, i))
        vectors[d.name] = row
    return vectors
