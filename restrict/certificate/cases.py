"""Trees of cases: free positions asked one after another, each leaf with the nodes to examine there. Theorem A' of
docs/kernel.md: what holds at every leaf of a tree that has a child for every symbol holds of the whole restriction. A
certificate has the tree in its field ``cases`` (docs/format.md)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from restrict.abstract.run import Cone
from restrict.base.strictjson import Node
from restrict.model.restriction import check_expansion, expanded, read_spans, runs


@dataclass(frozen=True, eq=False)
class Leaf:
    """A case that needs no more questions: its cone shows the claim."""

    cone: Cone


@dataclass(frozen=True, eq=False)
class Question:
    """What stands at ``position``? One child for each symbol, in the order of the alphabet."""

    position: int
    children: "tuple[Case, ...]"


Case = Leaf | Question


def leaves(tree: Case) -> Iterator[tuple[dict[int, int], Cone]]:
    """The cases of a tree."""
    todo: list[tuple[Case, dict[int, int]]] = [(tree, {})]
    while todo:
        case, path = todo.pop()
        if isinstance(case, Leaf):
            yield path, case.cone
        else:
            pairs = list(enumerate(case.children))
            todo.extend((child, {**path, case.position: a}) for a, child in reversed(pairs))


def cases_to_json(tree: Case) -> dict[str, Any]:
    """The tree as a file has it. Result: the JSON value of the field ``cases`` (docs/format.md), positions as runs."""
    if isinstance(tree, Leaf):
        return {"cone": tree.cone if tree.cone == "all" else {name: runs(p) for name, p in tree.cone.items() if p}}
    return {"position": tree.position, "children": [cases_to_json(child) for child in tree.children]}


def read_cases(node: Node, n: int, cone: Cone) -> Case:
    """A tree from its JSON form; whether its positions are free is checked later, with the model. ``cone``: that of the
    leaves that have none of their own."""
    return _Reader(n, cone).case(node)


class _Reader:
    """Reads a tree and counts the positions in its cones."""

    def __init__(self, n: int, cone: Cone) -> None:
        self.n, self.cone, self.positions = n, cone, 0

    def case(self, node: Node) -> Case:
        """A leaf, or a question with its children."""
        members = node.expect(dict, "an object")
        if "position" not in members:
            fields = node.fields((), ("cone",))
            return Leaf(self._cone(fields["cone"]) if "cone" in fields else self.cone)
        fields = node.fields(("position", "children"))
        children = tuple(self.case(child) for child in fields["children"].items())
        return Question(fields["position"].integer(0, self.n - 1), children)

    def _cone(self, node: Node) -> Cone:
        """The nodes to examine at a leaf."""
        if node.value == "all":
            return "all"
        node.expect(dict, '"all" or an object')
        found = {name: read_spans(spans, self.n) for name, spans in node.members()}
        self.positions += sum(count for spans in found.values() for _, count in spans)
        check_expansion(self.positions, node.place)
        return {name: expanded(spans, node.place) for name, spans in found.items()}
