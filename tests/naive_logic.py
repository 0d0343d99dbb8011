"""The slow, obvious oracle for temporal logic: the textbook definitions, written out, on nested tuples.

A formula is ``("symbol", "a")`` or ``(operator, operand, ...)``; what counts is ``(operator, detail, operand, ...)``.
Nothing here is shared with the package.
"""

from collections.abc import Sequence
from typing import Any

Tree = tuple[Any, ...]


def tree(nodes: Sequence[Any]) -> Tree:
    """The tree of a formula's list of nodes."""
    made: list[Tree] = []
    for node in nodes:
        own = [node.symbol] if node.op == "symbol" else [] if node.detail is None else [node.detail]
        made.append((node.op, *own, *(made[a] for a in node.args)))
    return made[-1]


def holds(formula: Tree, word: Sequence[str], i: int) -> bool:
    """Whether the formula holds at position ``i`` of the word, straight from the semantics in docs/logic.md."""
    op, *args = formula
    n = len(word)
    if op == "symbol":
        return word[i] == args[0]
    if op in ("true", "false", "first", "last"):
        return {"true": True, "false": False, "first": i == 0, "last": i == n - 1}[op]

    if op in ("compare", "predicate"):
        return counts(op, args[0], args[1:], word, i)

    def phi(j: int) -> bool:
        return holds(args[0], word, j)

    def psi(j: int) -> bool:
        return holds(args[1], word, j)

    if op == "not":
        return not phi(i)
    if op in ("and", "or", "implies", "iff", "xor"):
        a, b = phi(i), psi(i)
        return {"and": a and b, "or": a or b, "implies": not a or b, "iff": a == b, "xor": a != b}[op]
    if op in ("previous", "weak previous"):
        return phi(i - 1) if i > 0 else op == "weak previous"
    if op in ("next", "weak next"):
        return phi(i + 1) if i + 1 < n else op == "weak next"
    strict = op.startswith("strict ")
    op = op.removeprefix("strict ")
    past = op in ("once", "historically", "since", "weak since", "trigger", "strong trigger")
    here = [] if strict else [i]
    # The positions that count, nearest first, and those strictly between i and j, with i itself where it counts.
    order = here + (list(range(i - 1, -1, -1)) if past else list(range(i + 1, n)))

    def nearer(j: int) -> list[int]:
        return order[: order.index(j)]

    if op in ("once", "eventually"):
        return any(phi(j) for j in order)
    if op in ("historically", "always"):
        return all(phi(j) for j in order)
    if op in ("since", "until"):
        return any(psi(j) and all(phi(k) for k in nearer(j)) for j in order)
    if op in ("weak since", "weak until"):
        return any(psi(j) and all(phi(k) for k in nearer(j)) for j in order) or all(phi(j) for j in order)
    if op in ("trigger", "release"):
        # psi holds up to and including the nearest position with phi, or everywhere.
        return all(psi(j) or any(phi(k) for k in nearer(j)) for j in order)
    assert op in ("strong trigger", "strong release")
    return any(phi(j) and psi(j) and all(psi(k) for k in nearer(j)) for j in order)


def counts(op: str, detail: Any, operands: Sequence[Tree], word: Sequence[str], i: int) -> bool:
    """An inequality of counts or a numerical predicate, by counting."""
    n = len(word)
    ranges = {"past": range(i + 1), "future": range(i, n), "all": range(n)}

    def count(operand: Tree, direction: str) -> int:
        return sum(holds(operand, word, j) for j in ranges[direction])

    if op == "predicate":
        x = count(operands[0], detail.direction) if detail.direction else i
        return bool(eval(detail.text, {"__builtins__": {"min": min, "max": max, "abs": abs}}, {"x": x, "n": n}))
    terms = zip(operands, detail.weights, detail.directions, strict=True)
    total = detail.constant + sum(weight * count(operand, direction) for operand, weight, direction in terms)
    signs = {"<=": total <= 0, "<": total < 0, ">=": total >= 0, ">": total > 0, "=": total == 0, "!=": total != 0}
    return signs[detail.relation]
