"""What a sample of programs covers: which operator meets which operand where, and which features occur.

Read from the finished models with the oracle's own parser, so that nothing counts that is not in the text. A cell is
``(place, operator, operand, ...)`` with operands that stand directly under the operator; ``guarded`` cells are divisors
that are kept away from 0 by another operator.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from typing import Any

from tests import naive

NAMES = {
    "map": ("i", "n", "value", "position", "const"),
    "score": ("i", "q", "j", "k", "n", "const"),
    "when": ("n", "const"),
    "domain": ("n", "const"),
}
"""The operands of each place. In a score ``i`` and ``q`` are the query's side, ``j`` and ``k`` the key's."""
PAIRED = ("+", "-", "*", "min", "max", "==", "!=", "<", "<=", ">", ">=", "and", "or", "chain", "hash")
SINGLE = ("neg", "abs", "isqrt", "not", "hash", "if: then", "if: test", "if: else")
DIVIDES = ("//", "%")
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.USub: "neg", ast.Not: "not"}
SIGNS |= {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
SIGNS |= {ast.And: "and", ast.Or: "or"}
Cell = tuple[str, ...]


def cells() -> list[Cell]:
    """Every cell of the table."""
    out: list[Cell] = []
    for place, names in NAMES.items():
        out += [(place, *cell) for cell in product(PAIRED, names, names)]
        out += [(place, *cell) for cell in product(SINGLE, names)]
        out += [(place, *cell) for cell in product(DIVIDES, names, ("n", "const"))]
        out += [(place, f"{operator} guarded", name) for operator, name in product(DIVIDES, names) if name != "const"]
    return out


def covered(models: Iterable[dict[str, Any]]) -> Counter[Cell]:
    """How often each cell occurs."""
    count: Counter[Cell] = Counter()
    for model in models:
        for place, text in expressions(model):
            for node in ast.walk(naive.parse(text)):
                count.update((place, *cell) for cell in cells_of(node, place))
    return count


def expressions(model: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every expression of a model, with its place."""
    if "when" in model:
        yield "when", model["when"]
    for variable in model["variables"]:
        if isinstance(variable.get("domain"), str):
            yield "domain", variable["domain"]
        for place in ("map", "score"):
            if isinstance(variable.get(place), str):
                yield place, variable[place]


def operand(node: ast.expr, place: str) -> str:
    """What an operand is: a name, a constant (also a negative one), or a compound."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return "const"
    if isinstance(node, ast.Constant):
        return "const"
    if isinstance(node, ast.Name):
        return node.id if place != "map" or node.id in ("i", "n", "position") else "value"
    return "compound"


def cells_of(node: ast.AST, place: str) -> Iterator[Cell]:
    """The cells that one node fills."""
    if isinstance(node, ast.BinOp):
        sign = SIGNS[type(node.op)]
        yield sign, operand(node.left, place), operand(node.right, place)
        if sign in DIVIDES and operand(node.right, place) == "compound":
            inner = {operand(part, place) for part in ast.walk(node.right) if isinstance(part, ast.Name)}
            yield from ((f"{sign} guarded", name) for name in sorted(inner))
    elif isinstance(node, ast.UnaryOp):
        yield SIGNS[type(node.op)], operand(node.operand, place)
    elif isinstance(node, ast.BoolOp):
        yield from paired(SIGNS[type(node.op)], node.values, place)
    elif isinstance(node, ast.Compare):
        sign = SIGNS[type(node.ops[0])] if len(node.ops) == 1 else "chain"
        yield from paired(sign, [node.left, *node.comparators], place)
    elif isinstance(node, ast.IfExp):
        parts = {"then": node.body, "test": node.test, "else": node.orelse}
        yield from ((f"if: {role}", operand(part, place)) for role, part in parts.items())
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield from paired(node.func.id, node.args, place)


def paired(operator: str, parts: list[ast.expr], place: str) -> Iterator[Cell]:
    """The operands two by two as they stand beside each other, or the only one."""
    kinds = [operand(part, place) for part in parts]
    if len(kinds) == 1:
        yield operator, kinds[0]
    yield from ((operator, *two) for two in pairwise(kinds))


# ---------------------------------------------------------------- features

FEATURES = (
    *(f"mask {mask}" for mask in ("unsaid", "none", "past", "strict_past", "future", "strict_future")),
    *(f"ties {ties}" for ties in ("unsaid", "left", "right")),
    *("start marker", "end marker", "both markers", "when", "one letter", "two letters", "three letters"),
    *("default", "domain of a head", "domain over n", "domain of one value", "domain that grows with n"),
    *("map expression", "map table", "map table over i", "map without arguments", "map of three arguments"),
    *("score expression", "score table", "score dot", "score table without axes"),
    *(f"axis {axis}" for axis in "qkij"),
    *("query is key", "key is value", "query is value", "all three are one", "three are different"),
    *(f"{role} is position" for role in ("query", "key", "value", "output", "argument")),
    *("accept", "labels", "values as labels", "accepts nothing", "output last", "output every"),
    *("negative constant", "large constant", "five operators deep", "score of one name", "role unmentioned"),
)


def features(model: dict[str, Any]) -> set[str]:
    """The features that a model has."""
    output, letters, sizes = model["output"], len(model["alphabet"]), [v.get("domain") for v in model["variables"]]
    marks = [key.replace("_", " ") for key in ("start_marker", "end_marker") if key in model]
    kind = next((key for key in ("accept", "labels") if key in output), "values as labels")
    number = {1: "one letter", 2: "two letters", 3: "three letters"}.get(letters, "more letters")
    out = {number, *marks, kind, f"output {output['position']}"} | chosen({
        "both markers": len(marks) == 2, "when": "when" in model, "accepts nothing": output.get("accept") == [],
        "output is position": output["variable"] == "position", "domain of one value": 1 in sizes,
        "domain over n": any(isinstance(size, str) for size in sizes),
    })  # fmt: skip
    for variable in model["variables"]:
        out |= map_features(variable) if variable["kind"] == "map" else head_features(variable)
    return out.union(*(text_features(text) for _, text in expressions(model)))


def chosen(has: dict[str, bool]) -> set[str]:
    """The features that are there."""
    return {feature for feature, there in has.items() if there}


def map_features(variable: dict[str, Any]) -> set[str]:
    """The features of a map."""
    rule, args = variable["map"], variable["args"]
    return chosen({
        "map expression": isinstance(rule, str), "map table": isinstance(rule, dict),
        "map table over i": isinstance(rule, dict) and "i" in rule["table"]["axes"],
        "map without arguments": not args, "map of three arguments": len(args) == 3,
        "argument is position": "position" in args, "domain that grows with n": variable["domain"] == "n",
    })  # fmt: skip


def head_features(head: dict[str, Any]) -> set[str]:
    """The features of a head."""
    score, (query, key, value) = head["score"], (naive.query_of(head), naive.key_of(head), head["value"])
    kind = "expression" if isinstance(score, str) else next(iter(score))
    out = {f"mask {head.get('mask', 'unsaid')}", f"ties {head.get('ties', 'unsaid')}", f"score {kind}"}
    out |= {f"{role} is position" for role in ("query", "key", "value") if head.get(role) == "position"}
    out |= {f"axis {axis}" for axis in "qkij" if isinstance(score, dict) and naive.mentions(score, axis)}
    return out | chosen({
        "default": "default" in head, "domain of a head": "domain" in head,
        "score table without axes": kind == "table" and score["table"]["axes"] == [],
        "query is key": query is not None and query == key, "key is value": key == value,
        "query is value": query == value, "all three are one": query == key == value,
        "three are different": bool(query and key) and len({query, key, value}) == 3,
        "role unmentioned": ("query" in head and not query) or ("key" in head and not key),
    })  # fmt: skip


def text_features(text: str) -> set[str]:
    """The features of an expression."""
    tree = naive.parse(text)
    nodes = list(ast.walk(tree))
    numbers = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, int)]
    return chosen({
        "large constant": max(numbers, default=0) >= 2**32, "score of one name": isinstance(tree, ast.Name),
        "negative constant": any(isinstance(node, ast.UnaryOp) and operand(node, "map") == "const" for node in nodes),
        "five operators deep": depth(tree) > 5,
    })  # fmt: skip


def depth(tree: ast.AST) -> int:
    """The height of a syntax tree; a leaf has 1."""
    return 1 + max((depth(part) for part in ast.iter_child_nodes(tree) if isinstance(part, ast.expr)), default=0)


def steps_show(model: dict[str, Any], steps: Iterable[Any]) -> set[str]:
    """What the steps of a program of ``restrict.all_lengths.program`` show: windows, and orders by ``j``."""
    right = {v["name"]: v.get("ties", "left") == "right" for v in model["variables"] if v["kind"] == "head"}
    out = set()
    for step in steps:
        later = getattr(step, "later", None)
        if step.name.endswith(("@far_left", "@far_right")):
            out.add("window")
        elif later is not None and step.name in right and (later != right[step.name]).any():
            out.add("order by j against the ties")
    return out


def reads_positions(node: ast.AST) -> bool:
    """Whether an expression mentions ``i``, ``j`` or ``n``."""
    return any(isinstance(part, ast.Name) and part.id in "ijn" for part in ast.walk(node))


def functions_of_positions(model: dict[str, Any]) -> set[str]:
    """Which of ``min``, ``max`` and ``abs`` a model applies to positions."""
    trees = [naive.parse(text) for place, text in expressions(model) if place in ("map", "score")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and reads_positions(node)]
    return {c.func.id for c in calls if isinstance(c.func, ast.Name) and c.func.id in ("min", "max", "abs")}
