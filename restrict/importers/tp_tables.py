"""The functions inside ``run`` of a Transformer Program: predicates of heads, and the tables of MLPs. Both are chains
of ``if`` over sets of constants; anything else is refused with its line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from restrict.base.errors import quote
from restrict.importers.tp_forms import EQUAL, MEMBER, match
from restrict.importers.tp_tree import Reader, Value, kind_of


def arguments_of(reader: Reader, function: ast.FunctionDef) -> list[str]:
    """The names, at least one, of a function's arguments in order, which must be plain and distinct."""
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
    if isinstance(node, ast.Constant) and type(node.value) in (str, int):
        if isinstance(node.value, str) and node.value.partition(".")[0] in reader.enums:
            reader.fail(node, f"the string {quote(node.value)} is no member of an enumeration")
        return node.value  # type: ignore[return-value]
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
            member = tuple(constant_of(reader, e) for e in (one.elts if isinstance(one, ast.Tuple) else [one]))
            if len(member) != len(names):
                reader.fail(answer, f"{function.name}: a case has {len(member)} values for {len(names)} arguments")
            table.setdefault(member, value)
    assert isinstance(body[-1], ast.Return)
    if body[-1].value is None:
        reader.fail(body[-1], f"{function.name} returns nothing")
    return table, constant_of(reader, body[-1].value)
