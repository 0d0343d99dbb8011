"""At which lengths a model is defined, by docs/format.md alone: markers, `when`, domains, and interval analysis."""

import ast
import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from tests import naive

Span = tuple[int, int]
Model = dict[str, Any]
LEAST, LARGEST = -(2**63), 2**63 - 1
LONGEST_INPUT = 100_000_000
MOST_COMBINATIONS = 50_000


class Undefined(Exception):
    """The model is not defined at this length; the text says why."""


class TooMany(Exception):
    """Whether it is would take too long to try."""


def need(holds: bool, why: str) -> None:
    """A rule of the format."""
    if not holds:
        raise Undefined(why)


# ---------------------------------------------------------------- intervals


def span_of(tree: ast.expr, spans: Mapping[str, Span]) -> Span:
    """The interval of an expression, bottom up; refuses what may overflow, divide by 0 or have no root."""
    low, high = raw_span(tree, spans)
    need(low >= LEAST and high <= LARGEST, f"{ast.unparse(tree)} overflows")
    return low, high


def raw_span(tree: ast.expr, spans: Mapping[str, Span]) -> Span:
    """The same before it is known that it fits into 64 bits."""
    match tree:
        case ast.Constant(value=int(number)):
            return number, number
        case ast.Name(id=name):
            return spans[name]
        case ast.UnaryOp(op=ast.USub(), operand=a):
            low, high = span_of(a, spans)
            return -high, -low
        case ast.BinOp(left=a, op=op, right=b):
            return binary_span(op, span_of(a, spans), span_of(b, spans))
        case ast.IfExp(test=c, body=x, orelse=y):
            _, one, two = (span_of(part, spans) for part in (c, x, y))
            return min(one[0], two[0]), max(one[1], two[1])
        case ast.Call(func=ast.Name(id=name), args=trees):
            return call_span(name, [span_of(part, spans) for part in trees])
        case ast.UnaryOp(operand=a):
            span_of(a, spans)
        case ast.BoolOp(values=trees):
            for part in trees:
                span_of(part, spans)
        case ast.Compare(left=first, comparators=rest):
            for part in (first, *rest):
                span_of(part, spans)
        case _:
            raise Undefined("no expression of the format")
    return 0, 1


def binary_span(op: ast.operator, a: Span, b: Span) -> Span:
    """`+ - *` and `//` over the end points; `%` by the sign of its divisor."""
    if isinstance(op, ast.FloorDiv | ast.Mod):
        need(not b[0] <= 0 <= b[1], "the divisor may be 0")
    if isinstance(op, ast.Mod):
        if b[1] < 0:
            return b[0] + 1, 0
        return a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)
    ends = [naive.BINARY[type(op)](x, y) for x in a for y in b]
    return min(ends), max(ends)


def call_span(name: str, args: list[Span]) -> Span:
    """Functions."""
    low, high = args[0]
    if name in ("min", "max"):
        best = naive.FUNCTIONS[name]
        return best(a for a, _ in args), best(b for _, b in args)
    if name == "abs":
        return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    if name == "isqrt":
        need(low >= 0, "a root of a negative number")
        return math.isqrt(low), math.isqrt(high)
    return 0, LARGEST


# ---------------------------------------------------------------- tensors


def shape_of(values: Any) -> list[int]:
    """The sizes of nested lists."""
    return [len(values), *shape_of(values[0])] if isinstance(values, list) else []


def entries(values: Any) -> list[int]:
    """All numbers of nested lists."""
    return [number for part in values for number in entries(part)] if isinstance(values, list) else [values]


def fitting(tensor: Model, sizes: Mapping[str, int]) -> None:
    """The axes have the sizes of their variables; those of positions may be longer."""
    for axis, size in zip(tensor["axes"], shape_of(tensor["values"]), strict=True):
        if axis in ("i", "j"):
            need(size >= sizes["n"], f"the axis {axis} is too short")
        elif axis in sizes:
            need(size == sizes[axis], f"the axis {axis} has another size")


def columns(tensor: Model) -> list[int]:
    """The largest absolute entry of each component of `dim`."""
    values = entries(tensor["values"])
    width = shape_of(tensor["values"])[-1]
    return [max(abs(v) for v in values[d::width]) for d in range(width)]


# ---------------------------------------------------------------- a model at one length


def number_at(value: Any, n: int) -> int:
    """An integer, or an expression over `n`."""
    if isinstance(value, int):
        return value
    span_of(naive.parse(value), {"n": (n, n)})
    return naive.evaluate(value, {"n": n})


def check(model: Model, n: int) -> None:
    """Raise `Undefined` where the model is not defined at `n` (its form is assumed)."""
    need(1 <= n <= LONGEST_INPUT, "no such length")
    need(n >= ("start_marker" in model) + ("end_marker" in model), "no room for both markers")
    need("when" not in model or number_at(model["when"], n) != 0, "when")
    tokens = len(model["alphabet"]) + ("start_marker" in model) + ("end_marker" in model)
    sizes = {"token": tokens, "position": n}
    for variable in model["variables"]:
        sizes[variable["name"]] = (check_map if variable["kind"] == "map" else check_head)(variable, n, sizes)
    output, size = model["output"], sizes[model["output"]["variable"]]
    need(all(0 <= value < size for value in output.get("accept", [])), "an accepted value outside the domain")
    need("labels" not in output or len(output["labels"]) == size, "as many labels as values")


def check_map(variable: Model, n: int, sizes: Mapping[str, int]) -> int:
    """A map; its domain size."""
    domain, rule = number_at(variable["domain"], n), variable["map"]
    need(1 <= domain <= LARGEST, "a domain of no size")
    known = {arg: sizes[arg] for arg in variable["args"]} | {"i": n}
    if isinstance(rule, dict):
        fitting(rule["table"], known | {"n": n})
        used, every = [axis for axis in rule["table"]["axes"] if axis in known], entries(rule["table"]["values"])
        low, high = min(every), max(every)
    else:
        tree = naive.parse(rule)
        used = sorted({part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and part.id in known})
        low, high = span_of(tree, {"n": (n, n)} | {name: (0, size - 1) for name, size in known.items()})
    if low < 0 or high >= domain:
        try_all(variable, n, {name: known[name] for name in used}, domain)
    return domain


def try_all(variable: Model, n: int, known: Mapping[str, int], domain: int) -> None:
    """Every value of a map, over all that it mentions."""
    if math.prod(known.values()) > MOST_COMBINATIONS:
        raise TooMany
    function = naive.map_function(variable, n)
    for values in product(*map(range, known.values())):
        given = dict(zip(known, values, strict=True))
        value = function(given.get("i", 0), *(given.get(arg, 0) for arg in variable["args"]))
        need(0 <= value < domain, "a value outside the domain")


def check_head(variable: Model, n: int, sizes: Mapping[str, int]) -> int:
    """A head; its domain size."""
    least, score = sizes[variable["value"]], variable["score"]
    domain = number_at(variable.get("domain", least), n)
    need(least <= domain <= LARGEST, "a domain below that of the value")
    need(0 <= variable.get("default", 0) < domain, "a default outside the domain")
    known = {"n": n, "i": n, "j": n}
    known |= {letter: sizes[variable[role]] for letter, role in (("q", "query"), ("k", "key")) if role in variable}
    if isinstance(score, str):
        spans = {name: (0, size - 1) for name, size in known.items()} | {"n": (n, n)}
        span_of(naive.parse(score), spans)
    elif "table" in score:
        fitting(score["table"], known)
    else:
        for tensor in score["dot"].values():
            fitting(tensor, known)
        query, key = (columns(score["dot"][role]) for role in ("query", "key"))
        need(sum(a * b for a, b in zip(query, key, strict=True)) <= LARGEST, "a dot product overflows")
    return domain


def defined(model: Model, n: int) -> bool | None:
    """Whether the model is defined at `n`; None where that would take too long to try."""
    try:
        check(model, n)
    except Undefined:
        return False
    except TooMany:
        return None
    return True
