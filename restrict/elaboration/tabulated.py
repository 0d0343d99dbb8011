"""A model without a file at one length, with tables in place of its Python callables: so it can be a file."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ResourceLimit
from restrict.model.fileformat import dumps, loads, to_document
from restrict.model.program import Head, Instance, Map, Model, Variable, rule_of
from restrict.model.rules import Callback, Dot, Rule, Table, formula, int64

ENTRIES = 1 << 22
"""The most values of a callable that are tabulated."""


def tabulated(model: Model, n: int) -> Model:
    """A model with the same values, defined at this length alone; ``content`` has the bytes of its file. Cost: one call
    of each callable for every combination of what it may read."""
    instance = model.at(n)
    variables = tuple(_written(instance, variable) for variable in model.variables)
    return loads(dumps(to_document(replace(model, variables=variables, when=f"n == {n}"))))


def _written(instance: Instance, variable: Variable) -> Variable:
    """The variable with a rule that a file can hold."""
    rule = _rule(instance, variable)
    return replace(variable, score=rule) if isinstance(variable, Head) else replace(variable, map=rule)


def _rule(instance: Instance, variable: Variable) -> Rule:
    rule = rule_of(variable)
    if isinstance(rule, Table):
        return replace(rule, source=None)
    if isinstance(rule, Dot):
        return Dot(replace(rule.query, source=None), replace(rule.key, source=None))
    return _table(instance, variable, rule) if isinstance(rule, Callback) else rule


def _table(instance: Instance, variable: Variable, rule: Callback) -> Rule:
    """A callable's values at all that it may read; axes along which nothing changes are left out."""
    n, sizes = instance.n, instance.domains
    if isinstance(variable, Map):
        names, shape = ("i", *variable.args), [n, *(sizes[arg] for arg in variable.args)]
    else:
        names = ("i", "q", "j", "k")
        query, key = (1 if role is None else sizes[role] for role in (variable.query, variable.key))
        shape = [n, query, n, key]
    if (count := prod(shape)) > ENTRIES:
        raise ResourceLimit(
            f"variable {variable.name!r}: a Python callable with {count} values at n = {n}; at most 2^22 can be "
            "tabulated for a check; write it as an expression or a table"
        )
    what = "map" if isinstance(variable, Map) else "score"
    found = (int64(rule.function(n, *point), what) for point in product(*map(range, shape)))
    return _without_constant_axes(names, np.fromiter(found, dtype=np.int64, count=count).reshape(shape))


def _without_constant_axes(names: tuple[str, ...], values: I64) -> Rule:
    for axis in reversed(range(values.ndim)):
        if values.shape[axis] and (values == values.take([0], axis)).all():
            values, names = np.asarray(values.take(0, axis)), names[:axis] + names[axis + 1 :]
    return Table(names, values) if names else formula(str(int(values)), frozenset())
