"""The score of an attention statement, taken apart: one integer equality, and what it reads at either side."""

from restrict.base.errors import NotEstablished
from restrict.simulate.srasp.syntax import Node


def split(score: Node) -> tuple[Node | None, Node | None]:
    """The integer equality between ``i`` and ``j`` of a conjunction, and the rest. Result: the equality or ``None``,
    and the other conjuncts or ``None`` where there are none."""
    parts = list(score.args) if score.op == "and" else [score]
    equalities = [p for p in parts if _is_equality(p)]
    rest = [p for p in parts if not _is_equality(p)]
    if len(equalities) > 1:
        raise NotEstablished("a score may have one integer equality between i and j")
    for part in rest:
        _no_comparison(part)
    whole = None if not rest else rest[0] if len(rest) == 1 else Node("and", tuple(rest), boolean=True)
    if whole is not None and whole.op == "const" and whole.value == 1:
        whole = None
    return (equalities[0] if equalities else None), whole


def _is_equality(node: Node) -> bool:
    return node.op == "==" and len(node.sides) == 2 and all(len(a.sides) == 1 for a in node.args)


def _no_comparison(node: Node) -> None:
    """Refuse a comparison of ``i`` with ``j`` inside a Boolean combination."""
    if len(node.sides) < 2:
        return
    if node.op not in ("and", "or", "not"):
        raise NotEstablished(
            "integers at i and j are compared by one == that is joined by 'and' to the rest of the score only"
        )
    for arg in node.args:
        _no_comparison(arg)


def leaves(node: Node, side: str) -> list[Node]:
    """The greatest parts of a score that read one side only, each once. ``side``: ``i`` or ``j``."""
    if len(node.sides) <= 1:
        return [node] if side in node.sides else []
    return list(dict.fromkeys(leaf for arg in node.args for leaf in leaves(arg, side)))


def holds(node: Node, known: dict[Node, bool]) -> bool:
    """The value of a Boolean combination."""
    if node in known:
        return known[node]
    if node.op == "const":
        return bool(node.value)
    args = [holds(a, known) for a in node.args]
    return {"not": lambda: not args[0], "and": lambda: all(args), "or": lambda: any(args)}[node.op]()
