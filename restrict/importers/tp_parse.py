"""Reading a generated Transformer Program (Friedman, Wettig & Chen 2023) as a syntax tree, never running it. The
decompiler of that paper writes one Python file per model: helper functions, a ``run`` with one block per head and MLP,
and examples. Every statement is compared with the few forms that it writes (:mod:`restrict.importers.tp_forms`);
anything else is refused with its line.

The functions inside ``run`` of a Transformer Program: predicates of heads, and the tables of MLPs. Both are chains
of ``if`` over sets of constants; anything else is refused with its line.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError, quote
from restrict.importers.common import OUTSIDE, source_text
from restrict.importers.tp_forms import EQUAL, HELPERS, MEMBER, Line, function_of, match
from restrict.importers.tp_tree import Attention, Embeddings, Example, Mlp, Reader, TransformerProgram, Value, kind_of


def parse_program(path: Path) -> TransformerProgram:
    """Read a Transformer Program as a syntax tree, never run; heads and functions in the order of the file."""
    text = source_text(path)
    try:
        tree = ast.parse(text.encode())  # as bytes, so that a comment names the encoding as it does for Python
    except (SyntaxError, ValueError) as error:
        raise ModelError(
            f"{path}:{getattr(error, 'lineno', None) or 0}: not Python: {getattr(error, 'msg', error)}"
        ) from None
    except (RecursionError, MemoryError):
        raise ModelError(f"{path}: nested too deeply to be a generated program") from None
    reader = Reader(path)
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
        elif isinstance(node, ast.Expr) and match(Line.CALL, node, {}):
            examples.append((_call(reader, node), None))
        elif not (any(match(form, node, {}) for form in Line.FIXED) or _enumerations(reader, node)):
            reader.fail(node, f"{kind_of(node)} is not part of a generated Transformer Program")
    if run is None:
        raise ModelError(f"{path}: there is no function run, so this is not a generated Transformer Program")
    features = _run(reader, run)
    if reader.causal is None:
        reader.fail(run, "there is no select_closest, so this is not a generated Transformer Program")
    if "aggregate" not in reader.helpers:
        reader.fail(run, "there is no aggregate, so this is not a generated Transformer Program")
    if reader.csv is None:
        reader.fail(run, "the output weights are not read with pd.read_csv")
    embeddings = None
    if reader.embedded:
        if reader.words_csv is None:
            reader.fail(run, "words are embedded, but no table of embeddings is read with pd.read_csv")
        embeddings = Embeddings(reader.words_csv, reader.embedded)
    return TransformerProgram(
        path, reader.causal, reader.csv, tuple(reader.steps), features, tuple(examples), embeddings
    )


def _other_variants(reader: Reader, tree: ast.Module) -> None:
    """Decline by name the decompiler's variant for whole sentences, which pools the logits."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mean":
            reader.fail(node, f"the logits of all positions are averaged (pooled): {OUTSIDE}")


def _enumerations(reader: Reader, node: ast.stmt) -> bool:
    """``from MODULE import Emb0, Emb1``: the classes of words. The module is not read: a member is known by its name. A
    program that gives such a name another meaning is refused."""
    if not isinstance(node, ast.ImportFrom) or node.level:
        return False
    names = [alias.name for alias in node.names]
    if not all(re.fullmatch(r"Emb\d+", name) for name in names) or any(alias.asname for alias in node.names):
        return False
    for name in names:
        reader.enums.add(reader.assign(node, name))
    return True


def _helper(reader: Reader, node: ast.FunctionDef) -> None:
    kind = HELPERS.get(ast.dump(node))
    if kind is None:
        reader.fail(node, f"the function {node.name} is not one that a generated Transformer Program has")
    reader.helpers.add(node.name)
    if kind != "other":
        reader.causal = kind == "causal"


def _call(reader: Reader, node: ast.Expr) -> tuple[str, ...]:
    """The tokens of ``print(run([...]))``."""
    found: dict[str, Any] = {}
    match(Line.CALL, node, found)
    with suppress(ValueError, TypeError, RecursionError):
        tokens = ast.literal_eval(found["XX"])
        if isinstance(tokens, list) and all(isinstance(t, str) for t in tokens):
            return tuple(tokens)
    reader.fail(node, "run is not called with a list of strings")


def _examples(reader: Reader, node: ast.stmt) -> list[Example]:
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


def _run(reader: Reader, run: ast.FunctionDef) -> tuple[str, ...]:
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
            reader.fail(node, f"{kind_of(node)} is not part of a generated Transformer Program")
    reader.fail(run, "run does not end with feature_logits and the argmax over the classes")


def _assign(reader: Reader, node: ast.Assign) -> None:
    found: dict[str, object] = {}

    def is_(pattern: ast.stmt) -> bool:
        found.clear()
        return match(pattern, node, found)

    if is_(Line.READ):
        reader.assign(node, "classifier_weights")
        reader.csv = str(found["$csv"])
    elif is_(Line.WORDS):
        reader.assign(node, "embed_df")
        reader.words_csv = str(found["$csv"])
    elif is_(Line.LOOKED_UP):
        if reader.words_csv is None:
            reader.fail(node, "the table of embeddings is used before it is read")
        reader.assign(node, "embeddings")
    elif is_(Line.EMBEDDED):
        reader.steps.append(_embedded(reader, node, found))
    elif is_(Line.POSITIONS):
        reader.known.add(reader.assign(node, "positions"))
    elif is_(Line.ONES):
        reader.assign(node, "ones")  # not a categorical variable: a head that reads it counts
    elif is_(Line.ONE_SCORES):
        if "ones" not in reader.assigned:
            reader.fail(node, "the ones are used before they are defined")
        reader.scores[reader.assign(node, str(found["Xscores"]))] = "ones"
    elif is_(Line.SCORES):
        values = reader.variable(node, found["Xvalues"])
        if found["$feature"] != values:
            reader.fail(node, f"the weights of {quote(found['$feature'])} are applied to {values}")
        reader.scores[reader.assign(node, str(found["Xscores"]))] = values
    elif is_(Line.NUM_SCORES) or any(is_(form) for form in Line.COUNTING):
        name = ast.unparse(node.targets[0])
        reader.fail(node, f"{name} counts (a numerical attention head reads a sum over positions): {OUTSIDE}")
    elif is_(Line.PATTERN):
        reader.patterns[reader.assign(node, str(found["Xpattern"]))] = (
            reader.variable(node, found["Xkey"]),
            reader.variable(node, found["Xquery"]),
            str(found["Xpredicate"]),
        )
    elif is_(Line.OUTPUTS):
        reader.steps.append(_attention(reader, node, found))
    else:
        if not _is_function(node, found):
            reader.fail(node, f"{kind_of(node)} is not part of a generated Transformer Program")
        reader.steps.append(_mlp(reader, node, found))


def _embedded(reader: Reader, node: ast.Assign, found: dict[str, object]) -> Mlp:
    """A variable that is read from the table of embeddings; its values are filled in with the table."""
    name, enum = str(found["Xname"]), str(found["Xenum"])
    if "embeddings" not in reader.assigned:
        reader.fail(node, "the embeddings of the tokens are not looked up before this line")
    if enum not in reader.enums:
        reader.fail(node, f"{quote(enum)} is not imported as an enumeration of embeddings")
    reader.embedded[reader.define(node, name)] = (enum, str(found["$column"]))
    return Mlp(name, node.lineno, ("tokens",), {}, f"{enum}.V00")


def _attention(reader: Reader, node: ast.Assign, found: dict[str, object]) -> Attention:
    name, pattern = str(found["Xname"]), str(found["Xpattern"])
    if pattern not in reader.patterns:
        reader.fail(node, f"{quote(pattern)} is not the result of a select_closest before this line")
    key, query, predicate = reader.patterns[pattern]
    value = reader.variable(node, found["Xvalue"])
    if predicate not in reader.functions:
        reader.fail(node, f"the predicate {quote(predicate)} is not defined before this line")
    reader.define(node, name)
    return Attention(name, node.lineno, query, key, value, wanted_of(reader, reader.functions[predicate]))


def _mlp(reader: Reader, node: ast.Assign, found: dict[str, object]) -> Mlp:
    """A function of variables at the same position."""
    count = sum(hole.startswith("Xk") for hole in found)
    function = reader.functions.get(str(found["Xf"]))
    if function is None:
        reader.fail(node, f"the function {quote(found['Xf'])} is not defined before this line")
    sources = [found[f"XX{at}"] for at in range(count)]
    args = tuple(reader.variable(s, ast.unparse(s)) for s in sources if isinstance(s, ast.AST))
    table, default = table_of(reader, function, count)
    return Mlp(reader.define(node, str(found["Xname"])), node.lineno, args, table, default)


def _is_function(node: ast.Assign, found: dict[str, object]) -> bool:
    """Whether a line is a function of variables; the loop's names are different, and none hides the function."""
    call = getattr(node.value, "elt", None)
    if not isinstance(call, ast.Call) or not call.args:
        return False
    for zipped in (True, False) if len(call.args) == 1 else (True,):
        found.clear()
        if match(function_of(len(call.args), zipped), node, found):
            names = {found[f"Xk{at}"] for at in range(len(call.args))}
            return len(names) == len(call.args) and found["Xf"] not in names
    return False


def _ending(reader: Reader, node: ast.Assign, rest: Iterator[ast.stmt]) -> tuple[str, ...]:
    """``feature_logits``: which scores are added, and the fixed lines that follow."""
    found: dict[str, object] = {}
    if not match(Line.FRAMES, node, found) or not isinstance(found["XX"], ast.List):
        reader.fail(node, "feature_logits is not pd.concat over a list of scores")
    features = []
    for element in found["XX"].elts:
        if not isinstance(element, ast.Name) or element.id not in reader.scores:
            reader.fail(element, f"{kind_of(element)} is not the scores of a variable defined before this line")
        features.append(reader.scores[element.id])
    lines = list(rest)
    for line, expected in zip(lines, Line.ENDING, strict=False):
        if not match(expected, line, {}):
            reader.fail(line, f"expected `{kind_of(expected)}` here, not {kind_of(line)}")
    if len(lines) != len(Line.ENDING):
        reader.fail(lines[-1] if lines else node, "run does not end with the argmax over the classes")
    return tuple(features)


def arguments_of(reader: Reader, function: ast.FunctionDef) -> list[str]:
    """The names, at least one, of a function's arguments in order, which must be plain and distinct."""
    a = function.args
    names = [x.arg for x in a.args]
    plain = not (a.posonlyargs or a.vararg or a.kwonlyargs or a.kwarg or a.defaults or function.decorator_list)
    if not plain or len(set(names)) != len(names) or not names or reader.enums & {*names}:
        reader.fail(function, f"{function.name} must take plain, distinct arguments")
    return names


def wanted_of(reader: Reader, function: ast.FunctionDef) -> dict[Value, Value]:
    """``if q in {...}: return k == c elif ...``: which key value each query value asks for."""
    names = arguments_of(reader, function)
    if len(names) != 2 or len(function.body) != 1:
        reader.fail(function, f"{function.name} is not a chain of `if query in {{...}}: return key == constant`")
    wanted: dict[Value, Value] = {}
    for members, answer in _branches(reader, function, function.body[0], names[0]):
        found: dict[str, Any] = {}
        if not match(EQUAL, answer, found) or found["Xname"] != names[1]:
            reader.fail(
                answer, f"{function.name}: a branch must return `{names[1]} == constant`, not {kind_of(answer)}"
            )
        target = constant_of(reader, found["XX"])
        for member in members:
            wanted.setdefault(constant_of(reader, member), target)
    return wanted


def _branches(
    reader: Reader, function: ast.FunctionDef, node: ast.stmt, name: str
) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    """The branches of an if/elif chain on ``name in {constants}`` or ``name == constant``: the constants, and what it
    returns."""
    form = f"expected `if {name} in {{...}}: return ...`, not"
    while True:
        if not (isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Return)):
            reader.fail(node, f"{function.name}: {form} {kind_of(node)}")
        if node.body[0].value is None:
            reader.fail(node, f"{function.name}: a branch returns nothing")
        found: dict[str, Any] = {}
        equal = match(EQUAL, node.test, found) and found["Xname"] == name
        if not equal:
            found.clear()
        some = ast.Set([found["XX"]]) if equal else found["XX"] if match(MEMBER, node.test, found) else None
        if found.get("Xname") != name or not isinstance(some, ast.Set | ast.List | ast.Tuple):
            reader.fail(node.test, f"{function.name}: {form} {kind_of(node.test)}")
        yield some.elts, node.body[0].value
        if not node.orelse:
            return
        if len(node.orelse) != 1:
            reader.fail(node.orelse[0], f"{function.name}: more than one statement in an else")
        node = node.orelse[0]


def constant_of(reader: Reader, node: object) -> Value:
    """The value of a constant: a string, an integer (no Boolean), or ``Emb0.V07`` of an enumeration of embeddings."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int) and not isinstance(node.value, bool):
        if isinstance(node.value, str) and node.value.partition(".")[0] in reader.enums:
            reader.fail(node, f"the string {quote(node.value)} is no member of an enumeration")
        return node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in reader.enums:
        return f"{node.value.id}.{node.attr}"
    assert isinstance(node, ast.AST)
    reader.fail(node, f"expected a string or an integer, not {kind_of(node)}")


def table_of(reader: Reader, function: ast.FunctionDef, count: int) -> tuple[dict[tuple[Value, ...], Value], Value]:
    """``key = (a, b)``, an if/elif chain on ``key in {...}``, a last ``return constant``; of ``count`` arguments."""
    names = arguments_of(reader, function)
    key = "(" + ", ".join(names) + ")" if len(names) > 1 else names[0]
    body = function.body
    if len(names) != count:
        reader.fail(function, f"{function.name} takes {len(names)} arguments and is called with {count}")
    if not (2 <= len(body) <= 3 and ast.unparse(body[0]) == f"key = {key}" and isinstance(body[-1], ast.Return)):
        reader.fail(function, f"{function.name} is not `key = {key}`, a chain of `if key in {{...}}` and a last return")
    table: dict[tuple[Value, ...], Value] = {}
    for members, answer in _branches(reader, function, body[1], "key") if len(body) == 3 else ():
        value = constant_of(reader, answer)
        for one in members:
            if isinstance(one, ast.Tuple) and len(names) == 1:
                reader.fail(one, f"{function.name}: a case is a tuple, but the key is the argument itself")
            member = tuple(constant_of(reader, e) for e in (one.elts if isinstance(one, ast.Tuple) else [one]))
            if len(member) != len(names):
                reader.fail(answer, f"{function.name}: a case has {len(member)} values for {len(names)} arguments")
            table.setdefault(member, value)
    assert isinstance(body[-1], ast.Return)
    if body[-1].value is None:
        reader.fail(body[-1], f"{function.name} returns nothing")
    return table, constant_of(reader, body[-1].value)
