"""Symbols that a program cannot tell apart, and the program over one symbol of each kind.

A *carrier* is a variable that holds token values: ``token``, and every head that copies a carrier. Two token values are
*alike* where every rule that reads a carrier treats them alike: the largest parts of its expression that read the
carrier and nothing else have equal values, the rows of its tables are equal. Then every score and every map is the same
function of the kinds alone, so runs on two words with the same kinds differ in the carriers only, and there only by
alike values.

So the program over the least symbol of each kind (:attr:`Kinds.model`) has the same facts: what a restriction forces
there it forces in the program itself, with the same cone, floors and dependencies, since a position that may hold every
symbol may hold every kind. A score that hashes the token itself tells all symbols apart; then there is nothing to
group.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from restrict.base.arrays import I64
from restrict.model.expr import Expr, Payload, fold_gather, fold_hashes, name, substitute
from restrict.model.program import Model
from restrict.model.rules import Callback, Dot, Formula, Rule, Table, evaluate
from restrict.model.variables import Head, Map, Variable, rule_of

LARGE, MOST_SEEN = 64, 2**26
"""An alphabet of at least so many symbols is looked at. It is grouped where that leaves at most half of them, and where
what the rules see of the symbols has at most so many entries."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of token values: ``kind`` (T,) of every value, markers included, and the least value of each kind,
    ascending; ``carriers`` are the variables that hold token values; ``model`` is the program over the least ones."""

    kind: I64
    least: I64
    carriers: frozenset[str]
    model: Model


_KNOWN: WeakKeyDictionary[Model, Kinds | None] = WeakKeyDictionary()


def kinds_of(model: Model) -> Kinds | None:
    """The kinds of a model's symbols, the same object each time; ``None`` where the alphabet is small, over half of it
    would be left, or the output is a token value. Linear in the alphabet and the tables that read it."""
    if len(model.alphabet) < LARGE:
        return None
    if model not in _KNOWN:
        _KNOWN[model] = _kinds(model)
    return _KNOWN[model]


def carriers_of(model: Model) -> frozenset[str]:
    """The variables that hold token values."""
    carriers = {"token"}
    for variable in model.variables:
        if isinstance(variable, Head) and variable.value in carriers:
            carriers.add(variable.name)
    return frozenset(carriers)


def _kinds(model: Model) -> Kinds | None:
    carriers, symbols = carriers_of(model), len(model.alphabet)
    total = symbols + len(model.markers)
    if model.output.variable in carriers:
        return None
    views: list[I64] = [np.maximum(np.arange(total) - symbols + 1, 0)[:, None]]  # markers are like nothing else
    for variable in model.variables:
        copies = isinstance(variable, Head) and variable.name in carriers
        if copies and (variable.domain is not None or not 0 <= variable.default < total):
            return None
        for letter in _letters(variable, carriers):
            seen = _views(rule_of(variable), letter, total)
            if seen is None:
                return None
            views += seen
    if sum(view.size for view in views) > MOST_SEEN:
        return None
    rows = np.concatenate(views, axis=1)
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    least, place = np.sort(first), np.argsort(np.argsort(first))
    if 2 * int((least < symbols).sum()) > symbols:
        return None
    kinds = place[kind.reshape(-1)]
    return Kinds(kinds, least, carriers, _quotient(model, carriers, least, kinds))


def _letters(variable: Variable, carriers: frozenset[str]) -> list[str]:
    """The names by which the rule of a variable reads carriers."""
    if isinstance(variable, Map):
        read = [(a, a) for a in variable.args]
    else:
        read = [("q", variable.query or ""), ("k", variable.key or "")]
    return [letter for letter, of in read if of in carriers and letter in rule_of(variable).mentions]


def _views(rule: Rule, letter: str, total: int) -> list[I64] | None:
    """What a rule sees of a token value, one array (total, any) for each place where it reads it; ``None``: all."""
    if isinstance(rule, Callback):
        return None
    if isinstance(rule, Formula):
        parts = list(_parts(rule.expr, letter))
        if any(part.op == "name" for part in parts):
            return None
        return [evaluate(part, {letter: np.arange(total)}, total)[:, None] for part in parts]
    tables = [rule] if isinstance(rule, Table) else [rule.query, rule.key]
    seen = [np.moveaxis(t.values, t.axes.index(letter), 0) for t in tables if letter in t.axes]
    return [v.reshape(total, -1) for v in seen] if all(len(v) == total for v in seen) else None


def _parts(expr: Expr, letter: str) -> Iterator[Expr]:
    """The largest parts of an expression that read this name and nothing else."""
    if expr.names == {letter}:
        yield expr
    elif letter in expr.names:
        for arg in expr.args:
            yield from _parts(arg, letter)


def _quotient(model: Model, carriers: frozenset[str], least: I64, kinds: I64) -> Model:
    """The program over the least symbol of each kind."""
    alphabet = tuple(model.alphabet[v] for v in least.tolist() if v < len(model.alphabet))
    variables: list[Variable] = []
    for v in model.variables:
        rule = rule_of(v)
        for letter in _letters(v, carriers):
            rule = _over(rule, letter, least)
        if isinstance(v, Map):
            variables.append(replace(v, map=rule))
        else:
            default = int(kinds[v.default]) if v.name in carriers else v.default
            variables.append(replace(v, score=rule, default=default))
    markers = model.start_marker, model.end_marker
    return Model(model.name, alphabet, tuple(variables), model.output, *markers, model.when)


def _over(rule: Rule, letter: str, least: I64) -> Rule:
    """A rule that reads the number of a kind where it read a token value."""
    if isinstance(rule, Formula):
        expr = substitute(rule.expr, {letter: fold_gather(Payload(least), name(letter))})
        return Formula(rule.text, expr, fold_hashes(expr))
    if isinstance(rule, Dot):
        return Dot(_taken(rule.query, letter, least), _taken(rule.key, letter, least))
    assert isinstance(rule, Table)
    return _taken(rule, letter, least)


def _taken(table: Table, letter: str, least: I64) -> Table:
    """A table without the rows of the symbols that are not the least of their kind."""
    if letter not in table.axes:
        return table
    return Table(table.axes, np.ascontiguousarray(np.take(table.values, least, axis=table.axes.index(letter))))
