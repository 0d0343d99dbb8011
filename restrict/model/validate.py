"""The rules of docs/format.md: what makes a program a model, and what makes a model defined at a length ``n``."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping

import numpy as np

from restrict.base.arrays import I64, MAX64
from restrict.base.errors import ModelError, ResourceLimit, UsageError, quote
from restrict.base.files import naming
from restrict.checker.rules import RESERVED
from restrict.model.expr import Interval, bind
from restrict.model.graph import cycle, program_graph
from restrict.model.instance import AtLength
from restrict.model.interval import interval
from restrict.model.rules import Dot, Formula, Rule, Table, evaluate, expression
from restrict.model.variables import (
    BUILT_IN,
    MASKS,
    MAX_N,
    Head,
    Listing,
    Map,
    Size,
    at_length,
    holds,
    mentions,
    references,
)

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_DOMAIN_CHECK_LIMIT = 2**24
_CHUNK = 2**16


def place_of(model: Listing, name: str) -> str:
    """The place of a variable in the file, for messages. Gives for example ``variables[3] 'out'``."""
    at = [v.name for v in model.variables].index(name)
    return f"variables[{at}] {name!r}"


# ---------------------------------------------------------------- the program


def validate_model(model: Listing) -> None:
    """Check everything that does not depend on ``n``."""
    _check_symbols(model)
    known = {v.name: at for at, v in enumerate(model.variables)}
    _check_names(model, known)
    _check_cycles(model, known)
    for at, variable in enumerate(model.variables):
        place = f"variables[{at}] {variable.name!r}"
        for role, name in references(variable):
            if name not in BUILT_IN and known[name] >= at:
                raise ModelError(
                    f"{place}: {role} {name!r} is defined later in the list; move it before {variable.name!r}"
                )
        if isinstance(variable, Head):
            _check_head(variable, place)
        else:
            _check_map(variable, place)
    _check_output(model, known)


def has_control(text: str) -> bool:
    """Whether a text has a control character (Unicode category Cc)."""
    return any(unicodedata.category(c) == "Cc" for c in text)


STAR = "\\*"
"""How the symbol ``*`` of imported data is written, since ``*`` means a free position."""


def escaped(symbol: str) -> str:
    r"""A symbol of imported data as a symbol of a model: ``*`` becomes ``\*``, and ``\*`` becomes ``\\*``. What is no
    asterisk behind any number of backslashes is unchanged, so different symbols stay different."""
    return "\\" + symbol if symbol.endswith("*") and not symbol[:-1].strip("\\") else symbol


def check_symbol(symbol: object, place: str) -> None:
    """A symbol is a short string without white space and is not ``*``. ``symbol``: what to check: a text of 1 to 64
    characters, no control characters among them; ``place``: where it stands, for the message."""
    if (
        not isinstance(symbol, str)
        or not 1 <= len(symbol) <= 64
        or any(c.isspace() for c in symbol)
        or has_control(symbol)
    ):
        raise ModelError(f"{place}: {quote(symbol)} is not a symbol: a string of 1 to 64 characters without spaces")
    if symbol == "*":
        raise ModelError(f"{place}: the symbol '*' means a free position; write the symbol itself as {STAR}")


def _check_symbols(model: Listing) -> None:
    if not 1 <= len(model.name) <= 200 or has_control(model.name):
        raise ModelError(f"name: {quote(model.name)} is not a name of 1 to 200 characters without control characters")
    if not 1 <= len(model.alphabet) <= 65536:
        raise ModelError(f"alphabet: {len(model.alphabet)} symbols; between 1 and 65536 are allowed")
    seen: set[str] = set()
    places = [f"alphabet[{at}]" for at in range(len(model.alphabet))] + ["a marker"] * len(model.markers)
    for place, symbol in zip(places, (*model.alphabet, *model.markers), strict=True):
        check_symbol(symbol, place)
        if symbol in seen:
            raise ModelError(f"{place}: the symbol {symbol!r} occurs twice")
        seen.add(symbol)


def _check_names(model: Listing, known: Mapping[str, int]) -> None:
    first: dict[str, int] = {}
    for at, variable in enumerate(model.variables):
        place = f"variables[{at}]"
        if not NAME.fullmatch(variable.name) or variable.name in RESERVED or variable.name in BUILT_IN:
            raise ModelError(
                f"{place}.name: {quote(variable.name)} is not a free variable name "
                "(letters, digits, _; not a reserved word)"
            )
        if first.setdefault(variable.name, at) != at:
            raise ModelError(
                f"{place}.name: {variable.name!r} is already the name of variables[{first[variable.name]}]"
            )
        for role, name in references(variable):
            if name not in known and name not in BUILT_IN:
                raise ModelError(
                    f"{place} {variable.name!r}: unknown variable {quote(name)} as {role}; "
                    f"known before it: {_known(model, at)}"
                )


def _known(model: Listing, at: int) -> str:
    names = [*BUILT_IN, *(v.name for v in model.variables[:at])]
    return ", ".join(names) if len(names) <= 8 else ", ".join(names[:8]) + ", ..."


def _check_cycles(model: Listing, known: Mapping[str, int]) -> None:
    """Name a cycle, if there is one; a reference that is merely out of order is reported later."""
    if all(known[name] < at for at, v in enumerate(model.variables) for _, name in references(v) if name in known):
        return
    names = cycle(program_graph(model.variables))
    if not names:
        return
    first = min(names, key=lambda name: known[name])
    turn = names.index(first)
    path = " -> ".join([*names[turn:], *names[:turn], first])
    raise ModelError(f"{place_of(model, first)}: cyclic definition: {path}; a variable may read only earlier ones")


def _check_head(head: Head, place: str) -> None:
    if head.mask not in MASKS:
        raise ModelError(f"{place}.mask: {quote(head.mask)} is not one of {', '.join(MASKS)}")
    if head.ties not in ("left", "right"):
        raise ModelError(f"{place}.ties: {quote(head.ties)} is neither 'left' nor 'right'")
    for role, letter, name in (("query", "q", head.query), ("key", "k", head.key)):
        if letter in mentions(head) and name is None:
            raise ModelError(f'{place}.score: it mentions {letter}, but the head has no {role}; add "{role}"')
    rule = head.score
    if isinstance(rule, Table):
        _check_axes(rule, frozenset("qkij"), f"{place}.score")
    if isinstance(rule, Dot):
        _check_dot(rule, f"{place}.score.dot")


def _check_dot(rule: Dot, place: str) -> None:
    for role, tensor, allowed in (("query", rule.query, "qi"), ("key", rule.key, "kj")):
        if tensor.axes[-1:] != ("dim",):
            raise ModelError(f"{place}.{role}.axes: the last axis must be 'dim', not {quote(tensor.axes)}")
        _check_axes(tensor, frozenset(allowed) | {"dim"}, f"{place}.{role}")
    if rule.query.values.shape[-1] != rule.key.values.shape[-1]:
        raise ModelError(
            f"{place}: dim is {rule.query.values.shape[-1]} in the query and {rule.key.values.shape[-1]} in the key"
        )
    if rule.bound() > MAX64:
        raise ModelError(f"{place}: 64-bit overflow: the product can reach {rule.bound()}; use smaller integers")


def _check_axes(tensor: Table, allowed: frozenset[str], place: str) -> None:
    if len(set(tensor.axes)) != len(tensor.axes) or not set(tensor.axes) <= allowed:
        raise ModelError(
            f"{place}.axes: {quote(list(tensor.axes))} must be distinct and among {', '.join(sorted(allowed))}"
        )
    if tensor.values.ndim != len(tensor.axes):
        raise ModelError(f"{place}: a table of {tensor.values.ndim} dimensions for {len(tensor.axes)} axes")
    if tensor.values.size == 0:
        raise ModelError(f"{place}: an empty table")


def _check_map(variable: Map, place: str) -> None:
    if len(set(variable.args)) != len(variable.args):
        raise ModelError(f"{place}.args: an argument occurs twice")
    if isinstance(variable.map, Dot):
        raise ModelError(f"{place}.map: a map is an expression or a table, not a dot product")
    if isinstance(variable.map, Table):
        _check_axes(variable.map, frozenset({"i", *variable.args}), f"{place}.map")


def _check_output(model: Listing, known: Mapping[str, int]) -> None:
    output = model.output
    if output.variable not in known and output.variable not in BUILT_IN:
        raise ModelError(f"output.variable: unknown variable {quote(output.variable)}")
    if output.position not in ("last", "every"):
        raise ModelError(f"output.position: {quote(output.position)} is neither 'last' nor 'every'")
    if output.accept is not None and output.labels is not None:
        raise ModelError("output: give accept or labels, not both")


# ---------------------------------------------------------------- at a length

NEAR = 3000
"""Where a model is not defined at a length, lengths at which it is are looked for up to this far away."""


def _near_lengths(when: Formula, n: int, least: int) -> str:
    """The nearest lengths at which a condition holds, for a message; nothing where none is near."""
    below = next((m for m in range(n - 1, max(least, n - NEAR) - 1, -1) if holds(when, m)), None)
    above = next((m for m in range(max(n + 1, least), min(MAX_N, n + NEAR) + 1) if holds(when, m)), None)
    near = " and ".join(str(length) for length in (below, above) if length is not None)
    return f"; it is at n = {near}" if near else ""


def validate_instance(instance: AtLength) -> None:
    """Check everything that depends on ``n``, and fill ``instance.domains``. Cost linear in the program, plus the
    enumeration of maps whose interval is not enough."""
    model, n = instance.model, instance.n
    if isinstance(n, bool) or not isinstance(n, int) or not max(1, len(model.markers)) <= n <= MAX_N:
        raise UsageError(
            f"n = {quote(n)} is out of range: {model.name!r} needs {max(1, len(model.markers))} <= n <= {MAX_N}"
        )
    with naming("when"):
        defined = not isinstance(model.when, Formula) or at_length(model.when.expr, n) != 0
    if isinstance(model.when, Formula) and not defined:
        raise ModelError(
            f"model {model.name!r} is not defined at n = {n}: its condition is {model.when.text!r}"
            f"{_near_lengths(model.when, n, max(1, len(model.markers)))}"
        )
    instance.domains.update(token=len(model.alphabet) + len(model.markers), position=n)
    for variable in model.variables:
        place = f"{place_of(model, variable.name)} at n = {n}"
        if isinstance(variable, Head):
            instance.domains[variable.name] = _head_domain(instance, variable, place)
            _check_score(instance, variable, place)
        else:
            instance.domains[variable.name] = _size(variable.domain, n, f"{place}: domain")
            _check_map_values(instance, variable, place)
    _check_labels(instance)


def _size(size: Size | str | None, n: int, place: str) -> int:
    assert not isinstance(size, str)
    assert size is not None
    with naming(place):
        value = at_length(size.expr, n) if isinstance(size, Formula) else size
    if value < 1:
        raise ModelError(f"{place} has size {value}; it must be at least 1")
    return value


def _head_domain(instance: AtLength, head: Head, place: str) -> int:
    least = instance.domains[head.value]
    size = least if head.domain is None else _size(head.domain, instance.n, f"{place}: domain")
    if size < least:
        raise ModelError(f"{place}: domain {size} is smaller than that of its value {head.value!r}, {least}")
    if not 0 <= head.default < size:
        raise ModelError(f"{place}: default {head.default} is outside its domain 0..{size - 1}")
    return size


def _ranges(instance: AtLength, named: Mapping[str, str | None]) -> dict[str, Interval]:
    ranges = {"n": (instance.n, instance.n), "i": (0, instance.n - 1), "j": (0, instance.n - 1)}
    return ranges | {letter: (0, instance.domains[name] - 1) for letter, name in named.items() if name is not None}


def _check_shape(instance: AtLength, tensor: Table, named: Mapping[str, str | None], place: str) -> None:
    for axis, size in zip(tensor.axes, tensor.values.shape, strict=True):
        if axis in ("i", "j") and size < instance.n:
            raise ModelError(
                f"{place}: axis {axis!r} of the table has {size} entries, fewer than the {instance.n} positions"
            )
        name = named.get(axis)
        if name is not None and size != instance.domains[name]:
            raise ModelError(
                f"{place}: table of the wrong shape: axis {axis!r} has {size} entries, "
                f"but {name!r} has {instance.domains[name]} values"
            )


def _check_score(instance: AtLength, head: Head, place: str) -> None:
    rule = head.score
    named = {"q": head.query, "k": head.key}
    if isinstance(rule, Formula):
        _interval(rule, _ranges(instance, named), f"{place}: score")
    for tensor in [rule] if isinstance(rule, Table) else [rule.query, rule.key] if isinstance(rule, Dot) else []:
        _check_shape(instance, tensor, named, f"{place}: score")


def _interval(rule: Formula, ranges: Mapping[str, Interval], place: str) -> Interval:
    with naming(f"{place} {quote(rule.text)}"):
        return interval(rule.expr, ranges)


def _check_map_values(instance: AtLength, variable: Map, place: str) -> None:
    rule, size = variable.map, instance.domains[variable.name]
    named = {a: a for a in variable.args}
    if isinstance(rule, Table):
        _check_shape(instance, rule, named, f"{place}: map")
        low, high = _table_bounds(rule, instance.n)
    elif isinstance(rule, Formula):
        low, high = _interval(rule, _ranges(instance, named), f"{place}: map")
    else:
        return
    if low < 0 or high >= size:
        _enumerate(instance, variable, place)


def _table_bounds(rule: Table, n: int) -> Interval:
    used = rule.values[tuple(slice(n) if a == "i" else slice(None) for a in rule.axes)]
    return int(used.min()), int(used.max())


def _enumerate(instance: AtLength, variable: Map, place: str) -> None:
    """Try every combination of a map whose interval does not fit its domain."""
    rule, size, args = variable.map, instance.domains[variable.name], list(variable.args)
    assert isinstance(rule, Rule)
    if "i" in rule.mentions:
        args.append("i")
    shape = [instance.n if a == "i" else instance.domains[a] for a in args]
    total = math.prod(shape)
    if total > _DOMAIN_CHECK_LIMIT:
        raise ResourceLimit(
            f"{place}: cannot check that the map stays in 0..{size - 1}: {total} combinations; "
            "clamp it with % or min and max"
        )
    for start in range(0, total, _CHUNK):
        points = np.unravel_index(np.arange(start, min(start + _CHUNK, total)), shape) if shape else ()
        values = _map_at(rule, instance.n, dict(zip(args, points, strict=True)), min(_CHUNK, total - start))
        wrong = np.flatnonzero((values < 0) | (values >= size))
        if len(wrong):
            where = (
                ", ".join(f"{a} = {int(p[wrong[0]])}" for a, p in zip(args, points, strict=True)) or "every position"
            )
            raise ModelError(
                f"{place}: map value {int(values[wrong[0]])} at {where} is outside its domain 0..{size - 1}"
            )


def _map_at(rule: Rule, n: int, points: Mapping[str, I64], total: int) -> I64:
    expr = bind(expression(rule), n=n)
    return evaluate(expr, {a: np.ascontiguousarray(p, dtype=np.int64) for a, p in points.items()}, total)


def _check_labels(instance: AtLength) -> None:
    output, size = instance.model.output, instance.domains[instance.model.output.variable]
    for value in sorted(output.accept or ()):
        if not 0 <= value < size:
            raise ModelError(f"output.accept: {value} is outside the domain 0..{size - 1} of {output.variable!r}")
    if output.labels is not None and len(output.labels) != size:
        raise ModelError(
            f"output.labels: {len(output.labels)} labels for the {size} values of {output.variable!r} "
            f"at n = {instance.n}"
        )
