"""The oracle of tests/naive.py for many words of one length: the same definitions, fast enough for a sweep.

Expressions become Python functions once, and scores and maps are kept by their arguments. Nothing is shared with the
package. That this says the same as tests/naive.py is a test.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from tests import naive
from tests.naive import Label, Model

FULL = 300
"""All words of a length are taken where there are at most so many."""


def both(*parts: int) -> int:
    """``and``: 1 or 0, where Python has one of the operands."""
    return int(all(parts))


def either(*parts: int) -> int:
    """``or``."""
    return int(any(parts))


KNOWN = {"min": min, "max": max, "abs": abs, "isqrt": math.isqrt, "hash": naive.mix, "both": both, "either": either}


class Truths(ast.NodeTransformer):
    """``and`` and ``or`` as calls; everything else of the format means the same in Python."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """One chain of ``and`` or of ``or``."""
        name = "both" if isinstance(node.op, ast.And) else "either"
        parts: list[ast.expr] = [self.visit(part) for part in node.values]
        return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=parts, keywords=[])


@functools.lru_cache(maxsize=10_000)
def compiled(text: str, names: tuple[str, ...]) -> Callable[..., int]:
    """An expression as a function of its names, in this order."""
    tree = Truths().visit(ast.parse(f"({text})", mode="eval").body)
    source = f"lambda {', '.join(names)}: int({ast.unparse(tree)})"
    found: Callable[..., int] = eval(source, dict(KNOWN))  # the text is of this project's own generator
    return found


class Words:
    """A model at one length, for running many words."""

    def __init__(self, model: Model, n: int) -> None:
        self.model, self.n = model, n
        self.rules = [self._map(v) if v["kind"] == "map" else self._score(v) for v in model["variables"]]

    def _map(self, variable: dict[str, Any]) -> Callable[..., int]:
        if not isinstance(variable["map"], str):
            return naive.map_function(variable, self.n)
        function = compiled(variable["map"], ("n", "i", *variable["args"]))
        return functools.cache(functools.partial(function, self.n))

    def _score(self, head: dict[str, Any]) -> Callable[..., int]:
        if not isinstance(head["score"], str):
            return naive.score_function(head["score"], self.n)
        return functools.cache(functools.partial(compiled(head["score"], ("n", "i", "q", "j", "k")), self.n))

    def values(self, word: Sequence[int]) -> dict[str, list[int]]:
        """The value of every variable at every position; the word has token values and no markers."""
        values = {"token": naive.tokens(self.model, word, self.n), "position": list(range(self.n))}
        for variable, rule in zip(self.model["variables"], self.rules, strict=True):
            if variable["kind"] == "map":
                columns = [values[a] for a in variable["args"]]
                values[variable["name"]] = [rule(i, *(c[i] for c in columns)) for i in range(self.n)]
            else:
                values[variable["name"]] = self._copied(variable, rule, values)
        return values

    def _copied(self, head: dict[str, Any], score: Callable[..., int], values: dict[str, list[int]]) -> list[int]:
        """The values that a head copies."""
        query, key, n = naive.query_of(head), naive.key_of(head), self.n
        queries = [0] * n if query is None else values[query]
        keys = [0] * n if key is None else values[key]
        source, right, out = values[head["value"]], head.get("ties", "left") == "right", []
        for i in range(n):
            best, value = None, head.get("default", 0)
            for j in naive.visible(head.get("mask", "none"), i, n):
                found = score(i, queries[i], j, keys[j])
                if best is None or found > best or (right and found == best):
                    best, value = found, source[j]
            out.append(value)
        return out

    def labels(self, word: Sequence[int]) -> list[Label]:
        """The label at every position."""
        return [naive.label(self.model, value) for value in self.values(word)[self.model["output"]["variable"]]]


def defined(model: Model, n: int) -> bool:
    """Whether the model is defined at a length: markers, ``when``, and tables over positions that are long enough.

    (That no expression overflows or leaves its domain, the generator sees to.)
    """
    if not naive.defined(model, n):
        return False
    tensors = [t for v in model["variables"] for t in tensors_of(v)]
    return all(size >= n for t in tensors for axis, size in sizes_of(t) if axis in ("i", "j"))


def tensors_of(variable: dict[str, Any]) -> list[dict[str, Any]]:
    """The tensors of a variable."""
    rule = variable.get("map", variable.get("score"))
    if not isinstance(rule, dict):
        return []
    return [rule["table"]] if "table" in rule else [rule["dot"]["query"], rule["dot"]["key"]]


def sizes_of(tensor: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """The axes of a tensor with their sizes."""
    values = tensor["values"]
    for axis in tensor["axes"]:
        yield axis, len(values)
        values = values[0]


def short_words(symbols: int, count: int) -> list[tuple[int, ...]] | None:
    """All words of ``count`` symbols, where they are few."""
    return list(product(range(symbols), repeat=count)) if symbols**count <= FULL else None
