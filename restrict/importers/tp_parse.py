"""Reading a generated Transformer Program (Friedman, Wettig & Chen 2023) as a syntax tree, never running it.

The decompiler of that paper writes one Python file a model: helper functions, a ``run`` with one block per head and
MLP, and examples. Every statement is compared with the few forms that it writes (:mod:`restrict.importers.tp_forms`);
anything else is refused with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from restrict.errors import ModelError, quote
from restrict.importers.common import OUTSIDE, source_text
from restrict.importers.tp_forms import (
    CALL,
    COUNTING,
    ENDING,
    HELPERS,
    IMPORTS,
    NUM_SCORES,
    ONE_SCORES,
    ONES,
    OUTPUTS,
    PATTERN,
    POSITIONS,
    READ,
    RESERVED,
    SCORES,
    SHOW,
    match,
    pattern_of,
)

Value = str | int
"""A value of a categorical variable of the program."""

Example = tuple[tuple[str, ...], tuple[str, ...] | None]


@dataclass(frozen=True)
class Attention:
    """A categorical head: at ``i`` it reads ``value`` at the position of the closest ``key`` equal to
    ``wanted[query_i]``."""

    name: str
    line: int
    query: str
    key: str
    value: str
    wanted: dict[Value, Value]


@dataclass(frozen=True)
class Mlp:
    """A function of variables at one position: ``table`` by tuples of values, else ``default``."""

    name: str
    line: int
    args: tuple[str, ...]
    table: dict[tuple[Value, ...], Value]
    default: Value


@dataclass(frozen=True)
class Program:
    """A parsed Transformer Program. ``features`` are the variables that the read-out adds, with repetitions;
    ``examples`` are the (tokens, expected output) that the file lists; the latter is ``None`` for a bare call."""

    path: Path
    causal: bool
    csv: str
    steps: tuple[Attention | Mlp, ...]
    features: tuple[str, ...]
    examples: tuple[Example, ...]


# ---------------------------------------------------------------- the reader


@dataclass
class _Reader:
    """What has been read of ``run`` so far."""

    path: Path
    causal: bool | None = None
    csv: str | None = None
    known: set[str] = field(default_factory=lambda: {"tokens"})
    assigned: set[str] = field(default_factory=lambda: set(RESERVED))
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    patterns: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    scores: dict[str, str] = field(default_factory=dict)
    steps: list[Attention | Mlp] = field(default_factory=list)

    def fail(self, node: ast.AST, reason: str) -> NoReturn:
        """Refuse, naming the file and the line."""
        raise ModelError(f"{self.path}:{getattr(node, 'lineno', 0)}: {reason}")

    def variable(self, node: ast.AST, name: object) -> str:
        """A categorical variable that has been defined."""
        if not isinstance(name, str) or name not in self.known:
            self.fail(node, f"{quote(name)} is not a categorical variable defined before this line")
        return name

    def assign(self, node: ast.AST, name: str) -> str:
        """A name that gets its only value here; a second one would change what earlier lines mean."""
        if name in self.assigned:
            self.fail(node, f"{quote(name)} already has a meaning; a generated program assigns every name once")
        self.assigned.add(name)
        return name

    def define(self, node: ast.AST, name: str) -> str:
        """A new categorical variable."""
        self.known.add(self.assign(node, name))
        return name


def parse_program(path: Path) -> Program:
    """Read a Transformer Program.

    Raises:
        ModelError: the message names the file and line of anything the decompiler does not write, and of any counting
            head (which is outside Theorem 1).
    """
    text = source_text(path)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ModelError(
            f"{path}:{getattr(error, 'lineno', None) or 0}: not Python: {getattr(error, 'msg', error)}"
        ) from None
    except (RecursionError, MemoryError):
        raise ModelError(f"{path}: nested too deeply to be a generated program") from None
    reader = _Reader(path)
    _other_variants(reader, tree)
    run: ast.FunctionDef | None = None
    examples: list[Example] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "run":
            if run is not None:
                reader.fail(node, "a second function run")
            run = node
        elif isinstance(node, ast.FunctionDef):
            _helper(reader, node)
        elif isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["examples"]:
            examples += _examples(reader, node)
        elif isinstance(node, ast.Expr) and match(CALL, node, {}):
            examples.append((_call(reader, node), None))
        elif not any(match(form, node, {}) for form in (*IMPORTS, SHOW)):
            reader.fail(node, f"{_kind(node)} is not part of a generated Transformer Program")
    if run is None:
        raise ModelError(f"{path}: there is no function run, so this is not a generated Transformer Program")
    features = _run(reader, run)
    if reader.causal is None:
        reader.fail(run, "there is no select_closest, so this is not a generated Transformer Program")
    if reader.csv is None:
        reader.fail(run, "the output weights are not read with pd.read_csv")
    return Program(path, reader.causal, reader.csv, tuple(reader.steps), features, tuple(examples))


def _other_variants(reader: _Reader, tree: ast.Module) -> None:
    """Decline, for what it is, the decompiler's variant for natural language: pooled logits, embedding modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mean":
            reader.fail(node, f"the logits of all positions are averaged (pooled): {OUTSIDE}")
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and any(name.name.startswith("Emb") for name in statement.names):
            reader.fail(
                statement,
                f"the words are read through an embedding module ({statement.module}), a variant of the decompiler "
                "that is not imported; its heads compare classes of words, which this importer does not know",
            )


def _kind(node: ast.AST) -> str:
    shown = ast.unparse(node).partition("\n")[0]
    return quote(shown)


def _helper(reader: _Reader, node: ast.FunctionDef) -> None:
    kind = HELPERS.get(ast.dump(node))
    if kind is None:
        reader.fail(node, f"the function {node.name} is not one that a generated Transformer Program has")
    if kind != "other":
        reader.causal = kind == "causal"


def _call(reader: _Reader, node: ast.Expr) -> tuple[str, ...]:
    """The tokens of ``print(run([...]))``."""
    found: dict[str, object] = {}
    match(CALL, node, found)
    try:
        tokens = ast.literal_eval(found["XX"])  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError):
        tokens = None
    if not isinstance(tokens, list) or not all(isinstance(t, str) for t in tokens):
        reader.fail(node, "run is not called with a list of strings")
    return tuple(tokens)


def _examples(reader: _Reader, node: ast.stmt) -> list[Example]:
    assert isinstance(node, ast.Assign)
    try:
        found = ast.literal_eval(node.value)
        pairs = [(tuple(x), tuple(y)) for x, y in found]
    except (ValueError, TypeError, RecursionError):
        reader.fail(node, "examples is not a list of pairs of lists of strings")
    for x, y in pairs:
        if len(x) != len(y) or not all(isinstance(s, str) for s in (*x, *y)):
            reader.fail(node, "examples is not a list of pairs of lists of strings of equal length")
    return [*pairs]


def _run(reader: _Reader, run: ast.FunctionDef) -> tuple[str, ...]:
    """The body of ``run``: definitions, then the read-out."""
    if ast.unparse(run.args) != "tokens" or run.decorator_list:
        reader.fail(run, "run must take one argument, tokens")
    body = iter(run.body)
    for node in body:
        if isinstance(node, ast.FunctionDef):
            reader.functions[reader.assign(node, node.name)] = node
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id == "feature_logits":
                return _ending(reader, node, body)
            _assign(reader, node)
        else:
            reader.fail(node, f"{_kind(node)} is not part of a generated Transformer Program")
    reader.fail(run, "run does not end with feature_logits and the argmax over the classes")


def _assign(reader: _Reader, node: ast.Assign) -> None:
    found: dict[str, object] = {}

    def is_(pattern: ast.stmt) -> bool:
        found.clear()
        return match(pattern, node, found)

    if is_(READ):
        reader.assign(node, "classifier_weights")
        reader.csv = str(found["$csv"])
    elif is_(POSITIONS):
        reader.define(node, "positions")
    elif is_(ONES):
        reader.assign(node, "ones")  # no categorical variable: a head that reads it counts
    elif is_(ONE_SCORES):
        reader.scores[reader.assign(node, str(found["Xscores"]))] = "ones"
    elif is_(SCORES):
        values = reader.variable(node, found["Xvalues"])
        if found["$feature"] != values:
            reader.fail(node, f"the weights of {quote(found['$feature'])} are applied to {values}")
        reader.scores[reader.assign(node, str(found["Xscores"]))] = values
    elif is_(NUM_SCORES) or any(is_(form) for form in COUNTING):
        name = ast.unparse(node.targets[0])
        reader.fail(node, f"{name} counts (a numerical attention head reads a sum over positions): {OUTSIDE}")
    elif is_(PATTERN):
        reader.patterns[reader.assign(node, str(found["Xpattern"]))] = (
            reader.variable(node, found["Xkey"]),
            reader.variable(node, found["Xquery"]),
            str(found["Xpredicate"]),
        )
    elif is_(OUTPUTS):
        reader.steps.append(_attention(reader, node, found))
    else:
        mlp = _mlp(reader, node)
        if mlp is None:
            reader.fail(node, f"{_kind(node)} is not part of a generated Transformer Program")
        reader.steps.append(mlp)


def _attention(reader: _Reader, node: ast.Assign, found: dict[str, object]) -> Attention:
    name, pattern = str(found["Xname"]), str(found["Xpattern"])
    if pattern not in reader.patterns:
        reader.fail(node, f"{quote(pattern)} is not the result of a select_closest before this line")
    key, query, predicate = reader.patterns[pattern]
    value = reader.variable(node, found["Xvalue"])
    if predicate not in reader.functions:
        reader.fail(node, f"the predicate {quote(predicate)} is not defined before this line")
    reader.define(node, name)
    return Attention(name, node.lineno, query, key, value, _wanted(reader, reader.functions[predicate]))


def _arguments(reader: _Reader, function: ast.FunctionDef) -> list[str]:
    a = function.args
    names = [x.arg for x in a.args]
    plain = not (a.posonlyargs or a.vararg or a.kwonlyargs or a.kwarg or a.defaults or function.decorator_list)
    if not plain or len(set(names)) != len(names) or not names:
        reader.fail(function, f"{function.name} must take plain, distinct arguments")
    return names


def _wanted(reader: _Reader, function: ast.FunctionDef) -> dict[Value, Value]:
    """``if q in {...}: return k == c elif ...``: which key value each query value asks for."""
    names = _arguments(reader, function)
    if len(names) != 2 or len(function.body) != 1:
        reader.fail(function, f"{function.name} is not a chain of `if query in {{...}}: return key == constant`")
    wanted: dict[Value, Value] = {}
    for values, answer in _branches(reader, function, function.body[0], names[0]):
        form = ast.parse(f"{names[1]} == 0", mode="eval").body
        assert isinstance(form, ast.Compare)
        ok = (
            isinstance(answer, ast.Compare)
            and isinstance(answer.left, ast.Name)
            and answer.left.id == names[1]
            and len(answer.ops) == 1
            and isinstance(answer.ops[0], ast.Eq)
        )
        if not ok:
            reader.fail(answer, f"{function.name}: a branch must return `{names[1]} == constant`, not {_kind(answer)}")
        assert isinstance(answer, ast.Compare)
        target = _constant(reader, answer.comparators[0])
        for value in values:
            wanted.setdefault(value, target)
    return wanted


def _branches(
    reader: _Reader, function: ast.FunctionDef, node: ast.stmt, name: str
) -> Iterator[tuple[list[Value], ast.expr]]:
    """The branches of an if/elif chain on ``name in {constants}`` or ``name == constant``, each with what it
    returns."""
    while True:
        if not (isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Return)):
            reader.fail(node, f"{function.name}: expected `if {name} in {{...}}: return ...`, not {_kind(node)}")
        test, answer = node.test, node.body[0].value
        if not (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id == name
            and len(test.ops) == 1
        ):
            reader.fail(test, f"{function.name}: expected `{name} in {{...}}`, not {_kind(test)}")
        assert isinstance(test, ast.Compare)
        right = test.comparators[0]
        if isinstance(test.ops[0], ast.In) and isinstance(right, ast.Set | ast.List | ast.Tuple):
            members: list[ast.expr] = right.elts
        elif isinstance(test.ops[0], ast.Eq):
            members = [right]
        else:
            reader.fail(test, f"{function.name}: expected `{name} in {{...}}`, not {_kind(test)}")
        if answer is None:
            reader.fail(node, f"{function.name}: a branch returns nothing")
        yield [_constant(reader, m) for m in members], answer
        if not node.orelse:
            return
        if len(node.orelse) != 1:
            reader.fail(node.orelse[0], f"{function.name}: more than one statement in an else")
        node = node.orelse[0]


def _constant(reader: _Reader, node: ast.expr) -> Value:
    if isinstance(node, ast.Constant) and type(node.value) in (str, int):
        return node.value  # type: ignore[return-value]
    reader.fail(node, f"expected a string or an integer, not {_kind(node)}")


def _mlp(reader: _Reader, node: ast.Assign) -> Mlp | None:
    """``Y = [f(k0, k1) for k0, k1 in zip(a, b)]`` or ``Y = [f(k0) for k0 in a]``."""
    value = node.value
    if not (isinstance(value, ast.ListComp) and len(value.generators) == 1 and isinstance(value.elt, ast.Call)):
        return None
    call, loop = value.elt, value.generators[0]
    if loop.ifs or loop.is_async or call.keywords or not isinstance(call.func, ast.Name) or len(node.targets) != 1:
        return None
    if isinstance(loop.target, ast.Tuple):
        zipped = loop.iter
        if not (
            isinstance(zipped, ast.Call)
            and isinstance(zipped.func, ast.Name)
            and zipped.func.id == "zip"
            and not zipped.keywords
        ):
            return None
        names, sources = loop.target.elts, zipped.args
    else:
        names, sources = [loop.target], [loop.iter]
    called = [a.id for a in call.args if isinstance(a, ast.Name)]
    if (
        called != [x.id for x in names if isinstance(x, ast.Name)]
        or len(set(called)) != len(names)
        or len(sources) != len(names)
        or len(call.args) != len(names)
        or call.func.id in called  # the loop would hide the function
    ):
        return None
    function = reader.functions.get(call.func.id)
    if function is None:
        reader.fail(node, f"the function {quote(call.func.id)} is not defined before this line")
    args = tuple(reader.variable(s, s.id if isinstance(s, ast.Name) else ast.unparse(s)) for s in sources)
    table, default = _table(reader, function, len(args))
    name = ast.unparse(node.targets[0])
    reader.define(node, name)
    return Mlp(name, node.lineno, args, table, default)


def _table(reader: _Reader, function: ast.FunctionDef, count: int) -> tuple[dict[tuple[Value, ...], Value], Value]:
    """``key = (a, b)``, an if/elif chain on ``key in {...}``, and a last ``return constant``."""
    names = _arguments(reader, function)
    key = "(" + ", ".join(names) + ")" if len(names) > 1 else names[0]
    body = function.body
    if len(names) != count:
        reader.fail(function, f"{function.name} takes {len(names)} arguments and is called with {count}")
    if not (2 <= len(body) <= 3 and ast.unparse(body[0]) == f"key = {key}" and isinstance(body[-1], ast.Return)):
        reader.fail(function, f"{function.name} is not `key = {key}`, a chain of `if key in {{...}}` and a last return")
    table: dict[tuple[Value, ...], Value] = {}
    for members, answer in _cases(reader, function, body[1]) if len(body) == 3 else ():
        value = _constant(reader, answer)
        for member in members:
            if len(member) != len(names):
                reader.fail(answer, f"{function.name}: a case has {len(member)} values for {len(names)} arguments")
            table.setdefault(member, value)
    assert isinstance(body[-1], ast.Return)
    if body[-1].value is None:
        reader.fail(body[-1], f"{function.name} returns nothing")
    return table, _constant(reader, body[-1].value)


def _cases(
    reader: _Reader, function: ast.FunctionDef, node: ast.stmt
) -> Iterator[tuple[list[tuple[Value, ...]], ast.expr]]:
    while True:
        test = node.test if isinstance(node, ast.If) else None
        ok = (
            isinstance(node, ast.If)
            and isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id == "key"
            and len(test.ops) == 1
            and isinstance(test.ops[0], ast.In)
            and isinstance(test.comparators[0], ast.Set)
            and len(node.body) == 1
            and isinstance(node.body[0], ast.Return)
            and node.body[0].value is not None
        )
        if not ok:
            reader.fail(node, f"{function.name}: expected `if key in {{...}}: return constant`, not {_kind(node)}")
        assert isinstance(node, ast.If)
        assert isinstance(test, ast.Compare)
        assert isinstance(test.comparators[0], ast.Set)
        assert isinstance(node.body[0], ast.Return)
        assert node.body[0].value is not None
        members = [
            tuple(_constant(reader, e) for e in m.elts) if isinstance(m, ast.Tuple) else (_constant(reader, m),)
            for m in test.comparators[0].elts
        ]
        yield members, node.body[0].value
        if not node.orelse:
            return
        if len(node.orelse) != 1:
            reader.fail(node.orelse[0], f"{function.name}: more than one statement in an else")
        node = node.orelse[0]


def _ending(reader: _Reader, node: ast.Assign, rest: Iterator[ast.stmt]) -> tuple[str, ...]:
    """``feature_logits``: which scores are added, and the fixed lines that follow."""
    form = pattern_of("feature_logits = pd.concat([df.reset_index() for df in 0])")
    assert isinstance(form, ast.Assign)
    frames = _frames(form, node)
    if frames is None:
        reader.fail(node, "feature_logits is not pd.concat over a list of scores")
    features = []
    for element in frames:
        if not isinstance(element, ast.Name) or element.id not in reader.scores:
            reader.fail(element, f"{_kind(element)} is not the scores of a variable defined before this line")
        features.append(reader.scores[element.id])
    lines = list(rest)
    for line, expected in zip(lines, ENDING, strict=False):
        if not match(expected, line, {}):
            reader.fail(line, f"expected `{_kind(expected)}` here, not {_kind(line)}")
    if len(lines) != len(ENDING):
        reader.fail(lines[-1] if lines else node, "run does not end with the argmax over the classes")
    return tuple(features)


def _frames(form: ast.Assign, node: ast.Assign) -> list[ast.expr] | None:
    """The list inside ``pd.concat([df.reset_index() for df in [...]])``."""
    copy = form.value
    assert isinstance(copy, ast.Call)
    inner = copy.args[0]
    assert isinstance(inner, ast.ListComp)
    value = node.value
    if not (isinstance(value, ast.Call) and len(value.args) == 1 and isinstance(value.args[0], ast.ListComp)):
        return None
    found = value.args[0]
    if len(found.generators) != 1 or not isinstance(found.generators[0].iter, ast.List):
        return None
    frames = found.generators[0].iter.elts
    inner.generators[0].iter = found.generators[0].iter  # the rest must be equal
    return frames if match(form, node, {}) else None
