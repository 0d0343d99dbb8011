"""The slow, obvious oracle: `restrict-model/1` and the abstract run, written from docs/ alone.

Nothing here is shared with the package. Models are the JSON objects of docs/format.md, assumed to be well-formed and
defined at the given length; positions count from 0 and include the markers. Everything is brute force over the inputs
that agree with a restriction, so it is meant for a few hundred inputs, except `abstract_run`, which follows
docs/kernel.md rule by rule and costs a scan of all pairs per examined head node and query value.
"""

import ast
import functools
import itertools
import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Model = dict[str, Any]
Node = tuple[str, int]
Label = str | int
Fixed = Mapping[int, str]
Cone = str | Mapping[str, Sequence[Sequence[int]]]
Word = tuple[int, ...]

# --- files ---


def load(source: str | Path | Model) -> Model:
    """The model of a file (or an object already read), with the tensors of its files put in place."""
    folder = Path(".") if isinstance(source, dict) else Path(source).parent
    text = source if isinstance(source, dict) else json.loads(Path(source).read_text(encoding="utf-8"))
    model: Model = inline(text, folder)
    return model


def inline(thing: Any, folder: Path) -> Any:
    """A copy of a JSON value in which every `{"axes", "file", "tensor"}` has become `{"axes", "values"}`."""
    if isinstance(thing, list):
        return [inline(part, folder) for part in thing]
    if isinstance(thing, dict) and "axes" in thing and "file" in thing:
        return {"axes": thing["axes"], "values": safetensor(folder / thing["file"], thing["tensor"])}
    if isinstance(thing, dict):
        return {key: inline(part, folder) for key, part in thing.items()}
    return thing


def safetensor(path: Path, name: str) -> Any:
    """Tensor `name` of a safetensors file as nested lists of integers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    entry = json.loads(data[8:start])[name]
    begin, end = entry["data_offsets"]
    kind, bits = entry["dtype"][0].lower(), int(entry["dtype"][1:])
    numbers = np.frombuffer(data[start + begin : start + end], f"<{kind}{bits // 8}")
    return numbers.reshape(entry["shape"]).tolist()


# --- expressions ---

MASK64 = 2**64 - 1


def mix(*numbers: int) -> int:
    """The format's `hash`."""
    m = 0xD6E8FEB86659FD93
    h = 0x9E3779B97F4A7C15
    for number in numbers:
        h = ((h ^ (number & MASK64)) * m) & MASK64
        h ^= h >> 32
    h = (h * m) & MASK64
    h ^= h >> 32
    return h >> 1


BINARY: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
UNARY: dict[type, Callable[[int], int]] = {ast.USub: operator.neg, ast.Not: lambda a: int(a == 0)}
COMPARE: dict[type, Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max, "abs": abs, "hash": mix, "isqrt": math.isqrt}


@functools.cache
def parse(text: str) -> ast.expr:
    """The syntax tree of an expression (Python's precedences are the format's)."""
    return ast.parse(f"({text})", mode="eval").body


def evaluate(expression: str | int, env: Mapping[str, int]) -> int:
    """The value of an expression, or of an integer where the format allows one instead."""
    return expression if isinstance(expression, int) else value_of(parse(expression), env)


def value_of(tree: ast.expr, env: Mapping[str, int]) -> int:
    """The value of a syntax tree. Every sub-expression is evaluated: nothing is lazy."""
    match tree:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return env[name]
        case ast.UnaryOp(op=op, operand=a):
            return UNARY[type(op)](value_of(a, env))
        case ast.BinOp(left=a, op=op, right=b):
            return BINARY[type(op)](value_of(a, env), value_of(b, env))
        case ast.BoolOp(op=op, values=trees):
            truths = [value_of(a, env) != 0 for a in trees]
            return int(all(truths) if isinstance(op, ast.And) else any(truths))
        case ast.Compare(left=first, ops=ops, comparators=rest):
            numbers = [value_of(a, env) for a in (first, *rest)]
            return int(all(COMPARE[type(op)](a, b) for op, a, b in zip(ops, numbers[:-1], numbers[1:], strict=True)))
        case ast.IfExp(test=c, body=x, orelse=y):
            condition, then, other = (value_of(a, env) for a in (c, x, y))
            return then if condition != 0 else other
        case ast.Call(func=ast.Name(id=name), args=trees):
            return FUNCTIONS[name](*[value_of(a, env) for a in trees])
    raise ValueError(f"not an expression of the format: {ast.dump(tree)}")


def entry(tensor: Mapping[str, Any], index: Mapping[str, int]) -> Any:
    """The entry of a tensor at the given indices of its axes; a list over `dim`, the last axis, in a dot product."""
    values = tensor["values"]
    for axis in tensor["axes"]:
        if axis in index:
            values = values[index[axis]]
    return values


# --- a model at one length ---


@dataclass(frozen=True)
class Instance:
    """A model at length `n`: domain sizes, scores `(i, q, j, k)` and map functions `(i, *arguments)`, by variable."""

    model: Model
    n: int
    domain: dict[str, int]
    score: dict[str, Callable[[int, int, int, int], int]]
    function: dict[str, Callable[..., int]]


def at(model: Model, n: int) -> Instance:
    """The model at length `n`."""
    markers = ("start_marker" in model) + ("end_marker" in model)
    instance = Instance(model, n, {"token": len(model["alphabet"]) + markers, "position": n}, {}, {})
    for variable in model["variables"]:
        name = variable["name"]
        if variable["kind"] == "map":
            instance.domain[name] = evaluate(variable["domain"], {"n": n})
            instance.function[name] = map_function(variable, n)
        else:
            default_size = instance.domain[variable["value"]]
            instance.domain[name] = evaluate(variable.get("domain", default_size), {"n": n})
            instance.score[name] = score_function(variable["score"], n)
    return instance


def defined(model: Model, n: int) -> bool:
    """Whether `when` and the markers admit length `n` (the rest of well-formedness is assumed)."""
    return n >= max(1, length(model, ())) and evaluate(model.get("when", 1), {"n": n}) != 0


def map_function(variable: Mapping[str, Any], n: int) -> Callable[..., int]:
    """A map as a function of `i` and its arguments."""
    rule = variable["map"]

    @functools.cache
    def function(i: int, *arguments: int) -> int:
        env = {"n": n, "i": i, **dict(zip(variable["args"], arguments, strict=True))}
        return int(entry(rule["table"], env)) if isinstance(rule, dict) else evaluate(rule, env)

    return function


def score_function(score: Any, n: int) -> Callable[[int, int, int, int], int]:
    """A score as a function of `i`, `q`, `j`, `k`."""

    @functools.cache
    def function(i: int, q: int, j: int, k: int) -> int:
        env = {"n": n, "i": i, "q": q, "j": j, "k": k}
        if isinstance(score, str):
            return evaluate(score, env)
        if "table" in score:
            return int(entry(score["table"], env))
        left, right = entry(score["dot"]["query"], env), entry(score["dot"]["key"], env)
        return sum(a * b for a, b in zip(left, right, strict=True))

    return function


@functools.cache
def names_of(text: str) -> frozenset[str]:
    """The names in an expression."""
    return frozenset(part.id for part in ast.walk(parse(text)) if isinstance(part, ast.Name))


def mentions(score: Any, name: str) -> bool:
    """Whether a score mentions `q`, `k`, `i` or `j`."""
    if isinstance(score, str):
        return name in names_of(score)
    if "table" in score:
        return name in score["table"]["axes"]
    return name in score["dot"]["query"]["axes"] or name in score["dot"]["key"]["axes"]


def query_of(head: Mapping[str, Any]) -> str | None:
    """The variable that the head's score reads as `q`, if it mentions `q`."""
    return str(head["query"]) if mentions(head["score"], "q") else None


def key_of(head: Mapping[str, Any]) -> str | None:
    """The variable that the head's score reads as `k`, if it mentions `k`."""
    return str(head["key"]) if mentions(head["score"], "k") else None


def visible(mask: str, i: int, n: int) -> list[int]:
    """The positions that position `i` sees."""
    first = {"future": i, "strict_future": i + 1}.get(mask, 0)
    last = {"past": i, "strict_past": i - 1}.get(mask, n - 1)
    return [j for j in range(n) if first <= j <= last]


# --- running on one input ---


@dataclass(frozen=True)
class Run:
    """All values of one run, and for every head the attended position (None where nothing is visible)."""

    values: dict[str, list[int]]
    trace: dict[str, list[int | None]]


def marked(model: Model, n: int) -> dict[int, int]:
    """The token values that markers pin, by position."""
    size = len(model["alphabet"])
    pinned = {}
    if "start_marker" in model:
        pinned[0] = size
    if "end_marker" in model:
        pinned[n - 1] = size + ("start_marker" in model)
    return pinned


def letters(model: Model, n: int) -> list[int]:
    """The positions that hold input symbols: all but the markers'."""
    return [i for i in range(n) if i not in marked(model, n)]


def tokens(model: Model, x: Sequence[int | str], n: int) -> list[int]:
    """The token values of the full input; `x` has symbols or token values and no markers."""
    known = [model["alphabet"].index(a) if isinstance(a, str) else a for a in x]
    full = dict(zip(letters(model, n), known, strict=True)) | marked(model, n)
    return [full[i] for i in range(n)]


def length(model: Model, x: Sequence[int | str]) -> int:
    """The length of the full input, markers included."""
    return len(x) + ("start_marker" in model) + ("end_marker" in model)


def run(model: Model, x: Sequence[int | str], n: int | None = None) -> Run:
    """The run on the input `x` (symbols or token values, without the markers); `n`, if given, is its full length."""
    return run_at(at(model, length(model, x) if n is None else n), x)


def run_at(instance: Instance, x: Sequence[int | str]) -> Run:
    """The run of an instance on the input `x`."""
    n = instance.n
    values = {"token": tokens(instance.model, x, n), "position": list(range(n))}
    trace: dict[str, list[int | None]] = {}
    for variable in instance.model["variables"]:
        name = variable["name"]
        if variable["kind"] == "map":
            function = instance.function[name]
            values[name] = [function(i, *[values[a][i] for a in variable["args"]]) for i in range(n)]
        else:
            trace[name] = [attended(instance, variable, i, values) for i in range(n)]
            source, default = values[variable["value"]], variable.get("default", 0)
            values[name] = [default if j is None else source[j] for j in trace[name]]
    return Run(values, trace)


def attended(instance: Instance, head: Mapping[str, Any], i: int, values: Mapping[str, list[int]]) -> int | None:
    """The position that a head attends to at `i`, or None where nothing is visible."""
    seen = visible(head.get("mask", "none"), i, instance.n)
    if not seen:
        return None
    query, key = query_of(head), key_of(head)
    q = 0 if query is None else values[query][i]
    score = instance.score[head["name"]]
    scores = {j: score(i, q, j, 0 if key is None else values[key][j]) for j in seen}
    greatest = max(scores.values())
    best = [j for j in seen if scores[j] == greatest]
    return min(best) if head.get("ties", "left") == "left" else max(best)


def label(model: Model, value: int) -> Label:
    """The label of a value of the output variable."""
    if "accept" in model["output"]:
        return "accept" if value in model["output"]["accept"] else "reject"
    if "labels" in model["output"]:
        return str(model["output"]["labels"][value])
    return value


def labels_of(model: Model, result: Run) -> list[Label]:
    """The label at every position (also where the model's output is only the last one)."""
    return [label(model, value) for value in result.values[model["output"]["variable"]]]


def output(model: Model, x: Sequence[int | str]) -> Label | list[Label]:
    """The model's output on `x`: the label at the last position, or the labels at every position."""
    labels = labels_of(model, run(model, x))
    return labels[-1] if model["output"]["position"] == "last" else labels


# --- exhaustive truth under a restriction ---


def free_positions(model: Model, n: int, fixed: Fixed) -> list[int]:
    """The positions that are neither fixed nor pinned."""
    return [i for i in letters(model, n) if i not in fixed]


def consistent_inputs(model: Model, n: int, fixed: Fixed) -> Iterator[Word]:
    """All inputs (token values, without the markers) that agree with `fixed`."""
    alphabet = model["alphabet"]
    choices = [[alphabet.index(fixed[i])] if i in fixed else range(len(alphabet)) for i in letters(model, n)]
    return itertools.product(*choices)


def all_runs(model: Model, n: int, fixed: Fixed) -> dict[Word, dict[Node, Label]]:
    """For every input that agrees with `fixed`, the value of every node, with the pseudo nodes `("label", i)`."""
    instance = at(model, n)
    return {x: nodes_of(model, run_at(instance, x)) for x in consistent_inputs(model, n, fixed)}


def nodes_of(model: Model, result: Run) -> dict[Node, Label]:
    """The value of every node of a run, with the pseudo nodes `("label", i)`."""
    found: dict[Node, Label] = {(v, i): a for v, row in result.values.items() for i, a in enumerate(row)}
    return found | {("label", i): a for i, a in enumerate(labels_of(model, result))}


def true_values(model: Model, n: int, fixed: Fixed) -> dict[Node, set[Label]]:
    """For every node the exact set of its values over all inputs that agree with `fixed`."""
    runs = list(all_runs(model, n, fixed).values())
    return {node: {nodes[node] for nodes in runs} for node in runs[0]}


def true_dependencies(model: Model, n: int, fixed: Fixed) -> dict[Node, set[int]]:
    """For every node the free positions `p` such that two consistent inputs that differ only at `p` give two values."""
    runs = all_runs(model, n, fixed)
    where = {p: index for index, p in enumerate(letters(model, n))}
    exact: dict[Node, set[int]] = {node: set() for node in next(iter(runs.values()))}
    for p in free_positions(model, n, fixed):
        representative: dict[Word, dict[Node, Label]] = {}
        for x, nodes in runs.items():
            other = representative.setdefault(x[: where[p]] + x[where[p] + 1 :], nodes)
            for node, value in nodes.items():
                if value != other[node]:
                    exact[node].add(p)
    return exact


def truth_table(model: Model, n: int, position: int | None = None) -> dict[Word, Label]:
    """The label at `position` (the last one by default) on every input of length `n`."""
    instance = at(model, n)
    place = n - 1 if position is None else position
    return {x: labels_of(model, run_at(instance, x))[place] for x in consistent_inputs(model, n, {})}


def minimum_forcing(model: Model, n: int, position: int | None = None) -> tuple[int, dict[int, str]]:
    """The least number of fixed positions that makes the label at `position` constant, and such a restriction.

    For every set of positions, by size, the truth table is split by what the inputs have there: a part in which only
    one label occurs is a forcing subcube. Cost: 2^positions times the number of inputs.
    """
    table = truth_table(model, n, position)
    places = letters(model, n)
    for size in range(len(places) + 1):
        for chosen in itertools.combinations(range(len(places)), size):
            parts: dict[Word, set[Label]] = {}
            for x, result in table.items():
                parts.setdefault(tuple(x[index] for index in chosen), set()).add(result)
            for symbols, results in parts.items():
                if len(results) == 1:
                    named = zip(chosen, symbols, strict=True)
                    return size, {places[index]: model["alphabet"][symbol] for index, symbol in named}
    raise AssertionError("a single input has a single label")


# --- the abstract run of docs/kernel.md ---


@dataclass(frozen=True)
class Abstract:
    """`V` and `D` of every node, and `D` of the pseudo nodes `("label", i)` after rule 6."""

    values: dict[Node, set[int]]
    dependencies: dict[Node, set[int]]


@dataclass(frozen=True)
class Pair:
    """A position `j` and a value `w` of its key, with its rank: better pairs have greater ranks."""

    rank: tuple[int, int]
    j: int
    w: int


def in_cone(cone: Cone, name: str, i: int) -> bool:
    """Whether a map or head node is to be examined."""
    if isinstance(cone, str):
        return True
    return any(start <= i < start + count for start, count in cone.get(name, []))


def abstract_run(model: Model, n: int, fixed: Fixed, cone: Cone = "all") -> Abstract:
    """The abstract run: rules 1 to 6. The cone is `"all"` or a map from names to run lists, as in a certificate."""
    instance = at(model, n)
    free = set(free_positions(model, n, fixed))
    state = Abstract({}, {})
    for i in range(n):
        set_node(state, ("token", i), token_values(model, n, fixed, i), {i} & free)
        set_node(state, ("position", i), {i}, set())
    for variable in model["variables"]:
        for i in range(n):
            node = (variable["name"], i)
            if not in_cone(cone, *node):
                set_node(state, node, set(range(instance.domain[node[0]])), set(free))
            elif variable["kind"] == "map":
                set_node(state, node, *abstract_map(instance, variable, i, state))
            else:
                set_node(state, node, *abstract_head(instance, variable, i, state))
    for i in range(n):
        node = (model["output"]["variable"], i)
        labels = {label(model, value) for value in state.values[node]}
        state.dependencies["label", i] = set() if len(labels) == 1 else set(state.dependencies[node])
    return state


def set_node(state: Abstract, node: Node, values: set[int], dependencies: set[int]) -> None:
    """Store `V` and `D`; rule 5: a node with one value depends on nothing."""
    state.values[node] = values
    state.dependencies[node] = set() if len(values) == 1 else dependencies


def token_values(model: Model, n: int, fixed: Fixed, i: int) -> set[int]:
    """Rule 1."""
    if i in marked(model, n):
        return {marked(model, n)[i]}
    return {model["alphabet"].index(fixed[i])} if i in fixed else set(range(len(model["alphabet"])))


def abstract_map(instance: Instance, variable: Mapping[str, Any], i: int, state: Abstract) -> tuple[set[int], set[int]]:
    """Rule 3."""
    function = instance.function[variable["name"]]
    arguments = [(name, i) for name in variable["args"]]
    values = {function(i, *choice) for choice in itertools.product(*[state.values[node] for node in arguments])}
    return values, set().union(*[state.dependencies[node] for node in arguments])


def abstract_head(instance: Instance, head: Mapping[str, Any], i: int, state: Abstract) -> tuple[set[int], set[int]]:
    """Rule 4."""
    if not visible(head.get("mask", "none"), i, instance.n):
        return {head.get("default", 0)}, set()
    query, key, value = query_of(head), key_of(head), head["value"]
    queries = {0} if query is None else state.values[query, i]
    values: set[int] = set()
    dependencies: set[int] = set() if query is None else set(state.dependencies[query, i])
    for u in queries:
        kept = candidates(pairs(instance, head, i, u, state))
        results: set[int] = set().union(*[pair_results(head, i, u, pair, state) for pair in kept])
        values |= results
        if len(results) > 1:
            for pair in kept:
                dependencies |= set() if key is None else state.dependencies[key, pair.j]
                dependencies |= state.dependencies[value, pair.j]
    return values, dependencies


def pairs(instance: Instance, head: Mapping[str, Any], i: int, u: int, state: Abstract) -> list[Pair]:
    """All pairs of a head node for the query value `u`."""
    query, key = query_of(head), key_of(head)
    sign = -1 if head.get("ties", "left") == "left" else 1
    found = []
    for j in visible(head.get("mask", "none"), i, instance.n):
        choices = {0} if key is None else state.values[key, j]
        if j == i and key is not None and key == query:
            choices = {u}
        found += [Pair((instance.score[head["name"]](i, u, j, w), sign * j), j, w) for w in choices]
    return found


def candidates(found: list[Pair]) -> list[Pair]:
    """The pairs at or above the floor, the greatest of the positions' worst pairs."""
    worst: dict[int, tuple[int, int]] = {}
    for pair in found:
        worst[pair.j] = min(pair.rank, worst.get(pair.j, pair.rank))
    floor = max(worst.values())
    return [pair for pair in found if pair.rank >= floor]


def pair_results(head: Mapping[str, Any], i: int, u: int, pair: Pair, state: Abstract) -> set[int]:
    """What a candidate pair adds to `R(u)`."""
    query, key, value = query_of(head), key_of(head), head["value"]
    if key == value:
        return {pair.w}
    if pair.j == i and query == value:
        return {u}
    return state.values[value, pair.j]
