"""Case trees (theory: Theorem A' of docs/trusted-base.md): a decision tree over free positions, a proof in each leaf.

A tree is kept as it stands in the file: a leaf is ``{}`` or ``{"cone": {...}}`` with run lists, an inner node
``{"position": i, "children": [one tree for each symbol]}``. Nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from restrict.errors import ModelError, quote
from restrict.restriction import read_spans
from restrict.strictjson import Node

Leaf = tuple[dict[int, int], Any]
"""Symbols by position on the path, and the cone of the leaf in JSON form, or None for the certificate's."""


def leaves(tree: Mapping[str, Any]) -> Iterator[Leaf]:
    """The leaves of a tree, left to right.

    Args:
        tree: a well-formed case tree.

    Cost: linear in the tree and the depth of its leaves.
    """
    todo: list[tuple[Mapping[str, Any], dict[int, int]]] = [(tree, {})]
    while todo:
        node, path = todo.pop()
        if "position" not in node:
            yield path, node.get("cone")
            continue
        children = list(enumerate(node["children"]))
        todo.extend((child, {**path, node["position"]: symbol}) for symbol, child in reversed(children))


def read_cases(root: Node, n: int) -> Mapping[str, Any]:
    """A case tree from its JSON form; what depends on the model is left to the check.

    Raises:
        ModelError: it is malformed, or a path asks a position twice.
    """
    todo: list[tuple[Node, frozenset[int]]] = [(root, frozenset())]
    while todo:
        node, asked = todo.pop()
        value = node.expect(dict, "an object")
        if "position" not in value:
            fields = node.fields((), ("cone",))
            if "cone" in fields and fields["cone"].value != "all":
                names = fields["cone"].expect(dict, '"all" or an object')
                for spans in fields["cone"].fields(names).values():
                    read_spans(spans, n)
            continue
        fields = node.fields(("position", "children"))
        at = fields["position"].integer(0, n - 1)
        if at in asked:
            raise ModelError(f"{fields['position'].place}: position {quote(at)} is asked twice")
        todo += [(child, asked | {at}) for child in fields["children"].items()]
    found: Mapping[str, Any] = root.value
    return found
