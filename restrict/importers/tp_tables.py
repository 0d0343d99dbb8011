"""The functions inside ``run`` of a Transformer Program: predicates of heads, and the tables of MLPs.

Both are chains of ``if`` over sets of constants; anything else is refused with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from restrict.errors import quote
from restrict.importers.tp_tree import Reader, Value, kind_of


def arguments_of(reader: Reader, function: ast.FunctionDef) -> list[str]:
    """The names of a function's arguments, which must be plain and distinct.

    Result: the names in order, at least one.
    """
    a = function.args
    names = [x.arg for x in a.args]
    plain = not (a.posonlyargs or a.vararg or a.kwonlyargs or a.kwarg or a.defaults or function.decorator_list)
    if not plain or len(set(names)) != len(names) or not names:
        reader.fail(function, f"{function.name} must take plain, distinct arguments")
    return names


def wanted_of(reader: Reader, function: ast.FunctionDef) -> dict[Value, Value]:
    """``if q in {...}: return k == c elif ...``: which key value each query value asks for."""
    names = arguments_of(reader, function)
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
            reader.fail(
                answer, f"{function.name}: a branch must return `{names[1]} == constant`, not {kind_of(answer)}"
            )
        assert isinstance(answer, ast.Compare)
        target = constant_of(reader, answer.comparators[0])
        for value in values:
            wanted.setdefault(value, target)
    return wanted


def _branches(
    reader: Reader, function: ast.FunctionDef, node: ast.stmt, name: str
) -> Iterator[tuple[list[Value], ast.expr]]:
    """The branches of an if/elif chain on ``name in {constants}`` or ``name == constant``, each with what it
    returns."""
    while True:
        if not (isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Return)):
            reader.fail(node, f"{function.name}: expected `if {name} in {{...}}: return ...`, not {kind_of(node)}")
        test, answer = node.test, node.body[0].value
        if not (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id == name
            and len(test.ops) == 1
        ):
            reader.fail(test, f"{function.name}: expected `{name} in {{...}}`, not {kind_of(test)}")
        assert isinstance(test, ast.Compare)
        right = test.comparators[0]
        if isinstance(test.ops[0], ast.In) and isinstance(right, ast.Set | ast.List | ast.Tuple):
            members: list[ast.expr] = right.elts
        elif isinstance(test.ops[0], ast.Eq):
            members = [right]
        else:
            reader.fail(test, f"{function.name}: expected `{name} in {{...}}`, not {kind_of(test)}")
        if answer is None:
            reader.fail(node, f"{function.name}: a branch returns nothing")
        yield [constant_of(reader, m) for m in members], answer
        if not node.orelse:
            return
        if len(node.orelse) != 1:
            reader.fail(node.orelse[0], f"{function.name}: more than one statement in an else")
        node = node.orelse[0]


def constant_of(reader: Reader, node: ast.expr) -> Value:
    """The value of a constant.

    Result: a string or an integer, no Boolean; a member of an enumeration of embeddings as ``Emb0.V07``.
    """
    if isinstance(node, ast.Constant) and type(node.value) in (str, int):
        if isinstance(node.value, str) and node.value.partition(".")[0] in reader.enums:
            reader.fail(node, f"the string {quote(node.value)} is no member of an enumeration")
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in reader.enums:
        return f"{node.value.id}.{node.attr}"
    reader.fail(node, f"expected a string or an integer, not {kind_of(node)}")


def table_of(reader: Reader, function: ast.FunctionDef, count: int) -> tuple[dict[tuple[Value, ...], Value], Value]:
    """``key = (a, b)``, an if/elif chain on ``key in {...}``, and a last ``return constant``.

    ``count``: how many arguments it must take.
    """
    names = arguments_of(reader, function)
    key = "(" + ", ".join(names) + ")" if len(names) > 1 else names[0]
    body = function.body
    if len(names) != count:
        reader.fail(function, f"{function.name} takes {len(names)} arguments and is called with {count}")
    if not (2 <= len(body) <= 3 and ast.unparse(body[0]) == f"key = {key}" and isinstance(body[-1], ast.Return)):
        reader.fail(function, f"{function.name} is not `key = {key}`, a chain of `if key in {{...}}` and a last return")
    table: dict[tuple[Value, ...], Value] = {}
    for members, answer in _cases(reader, function, body[1]) if len(body) == 3 else ():
        value = constant_of(reader, answer)
        for member in members:
            if len(member) != len(names):
                reader.fail(answer, f"{function.name}: a case has {len(member)} values for {len(names)} arguments")
            table.setdefault(member, value)
    assert isinstance(body[-1], ast.Return)
    if body[-1].value is None:
        reader.fail(body[-1], f"{function.name} returns nothing")
    return table, constant_of(reader, body[-1].value)


def _cases(
    reader: Reader, function: ast.FunctionDef, node: ast.stmt
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
            reader.fail(node, f"{function.name}: expected `if key in {{...}}: return constant`, not {kind_of(node)}")
        assert isinstance(node, ast.If)
        assert isinstance(test, ast.Compare)
        assert isinstance(test.comparators[0], ast.Set)
        assert isinstance(node.body[0], ast.Return)
        assert node.body[0].value is not None
        members = [
            tuple(constant_of(reader, e) for e in m.elts) if isinstance(m, ast.Tuple) else (constant_of(reader, m),)
            for m in test.comparators[0].elts
        ]
        yield members, node.body[0].value
        if not node.orelse:
            return
        if len(node.orelse) != 1:
            reader.fail(node.orelse[0], f"{function.name}: more than one statement in an else")
        node = node.orelse[0]
