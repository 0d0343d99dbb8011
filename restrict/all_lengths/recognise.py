"""Is a model order-only? Its program, or a refusal that names the sub-expression. Maps may read ``i`` and ``n`` through
expressions that depend on position classes only (:mod:`restrict.all_lengths.forms`); a score is a function of ``q``,
``k`` and such classes of ``i`` and of ``j``, or orders by ``j`` itself (a tie rule), or looks at ``j - i`` cut off at a
constant (:mod:`restrict.all_lengths.window`)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import lcm, prod
from typing import NoReturn, TypeVar

import numpy as np

from restrict.all_lengths.forms import (
    DIFFERENCE,
    P2,
    S2,
    Declined,
    P,
    S,
    analyse,
    grid,
    points,
    show,
    tree_of,
    truth,
    values_at,
)
from restrict.all_lengths.program import AFTER, BEFORE, TOKEN, WHEN, Look, OrderOnly, Step, needed
from restrict.all_lengths.window import windowed
from restrict.all_lengths.within import within
from restrict.base.arrays import I32, I64, Bools
from restrict.base.errors import ModelError, NotEstablished, ResourceLimit
from restrict.checker.positions import Form, number
from restrict.checker.program import BEYOND, by_position
from restrict.model.expr import Expr, bind, name, substitute
from restrict.model.program import Head, Map, Model, Size, references, rule_of
from restrict.model.rules import Callback, Dot, Formula, Rule, Table, evaluate, expression

MAX_COMBINATIONS = 1 << 16
MAX_ROWS = 4096
MAX_CELLS = 1 << 22
"""Entries of the table of a score, over values, position classes and distances; known before it is made."""
POSITIONS = frozenset(("i", "j", "n"))
R = TypeVar("R")


class NotOrderOnly(NotEstablished):
    """The model is not order-only: which variable, which sub-expression, and why."""


@dataclass
class _Scores:
    """A score on query rows and key columns: ``rows`` (U, ...) of (q, p, s) in use, ``columns`` likewise, ``value``
    (U, K) or, with differences, (2*reach+1, U, K); ``tie`` (U, K): 0 by the head's rule, +1 later wins, -1 earlier."""

    q: bool
    i: bool
    k: bool
    j: bool
    reach: int
    rank: I64
    tie: I64


@dataclass
class _Reader:
    model: Model
    threshold: int = 1
    period: int = 1
    steps: list[Step | Look] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)

    def widen(self, forms: Iterable[Form]) -> None:
        """Take the classes of these forms into the common ones."""
        for form in forms:
            self.threshold, self.period = max(self.threshold, form.threshold), lcm(self.period, form.period)
        if self.threshold + self.period > MAX_ROWS:
            raise Declined(f"positions would have to be told apart up to {self.threshold} and modulo {self.period}")


def recognise(model: Model) -> OrderOnly:
    """The program of an order-only model."""
    wanted = _ancestors(model)
    reader = _Reader(model)
    reader.sizes[TOKEN] = len(model.alphabet) + len(model.markers)
    read = [variable for variable in model.variables if variable.name in wanted]
    forms = {variable.name: _guard(variable.name, _scan, reader, variable) for variable in read}
    when = _guard("when", _when, reader)
    _defined_somewhere(model, reader, when)
    for variable in read:
        if isinstance(variable, Map):
            _guard(variable.name, _add_map, reader, variable)
        else:
            _guard(variable.name, _add_head, reader, variable, forms[variable.name])
    return _finish(reader, when)


def _guard(variable: str, function: Callable[..., R], *args: object) -> R:
    try:
        return function(*args)
    except Declined as reason:
        place = variable if variable == "when" else f"variable {variable!r}"
        raise NotOrderOnly(f"{place} is not order-only: {reason}") from None


def _ancestors(model: Model) -> set[str]:
    wanted = {model.output.variable}
    for variable in reversed(model.variables):
        if variable.name in wanted:
            wanted.update(n for role, n in references(variable) if _read(variable, role))
    if model.output.variable == "position":
        raise NotOrderOnly("the output is 'position', whose domain grows with n")
    return wanted


def _read(variable: Head | Map, role: str) -> bool:
    """Whether the reference matters: a query or key that the score does not mention does not."""
    if isinstance(variable, Map) or role == "value":
        return True
    assert isinstance(variable.score, Rule)
    return ("q" if role == "query" else "k") in variable.score.mentions


def _roles(head: Head) -> dict[str, Expr]:
    """What query and key stand for in a head's score: the position itself is ``i`` or ``j``."""
    return {"q": name("i" if head.query == "position" else "q"), "k": name("j" if head.key == "position" else "k")}


def _folded(expr: Expr, known: dict[str, Expr]) -> Expr:
    """The expression with names replaced, without branches behind a constant condition: they may read any name."""
    return substitute(expr, {x: name(x) for x in expr.names} | known)


def _constant(size: Size | str | None) -> int:
    if isinstance(size, int):
        return size
    assert isinstance(size, Formula)
    bound = bind(size.expr)
    if bound.op != "const":
        raise Declined(f"its domain {size.text!r} depends on n")
    return bound.value


# ---------------------------------------------------------------- first pass: which classes are needed


def _scan(reader: _Reader, variable: Head | Map) -> dict[Expr, Form]:
    """Check a variable, note its domain and classes; the form of its rule for each combination of finite values."""
    rule = rule_of(variable)
    assert isinstance(rule, Rule)
    if isinstance(rule, Callback):
        raise Declined("it is a Python callable, which cannot be analysed; write it as an expression or a table")
    if isinstance(variable, Map):
        reader.sizes[variable.name] = _constant(variable.domain)
        known = {a: name("i") if a == "position" else name(a) for a in variable.args}
    else:
        if variable.value == "position":
            raise Declined("it copies 'position', whose domain grows with n")
        inner = reader.sizes[variable.value]
        reader.sizes[variable.name] = inner if variable.domain is None else _constant(variable.domain)
        known = _roles(variable)
    if isinstance(rule, Dot):
        if rule.mentions & POSITIONS:
            raise Declined("its dot product has an axis over positions, which grows with n")
        return {}
    if isinstance(rule, Table) and rule.mentions & {"i", "j"}:
        raise Declined("its table has an axis over positions, which grows with n")
    expr = _folded(expression(rule), known)
    if not expr.names & POSITIONS:
        return {}
    return _forms(reader, variable, expr)


def _forms(reader: _Reader, variable: Head | Map, expr: Expr) -> dict[Expr, Form]:
    roles: dict[str, str | None] = {"q": variable.query, "k": variable.key} if isinstance(variable, Head) else {}
    roles |= {arg: arg for arg in variable.args} if isinstance(variable, Map) else {}
    names = {role: reader.sizes[v] for role, v in roles.items() if role in expr.names and v is not None}
    if prod(names.values()) > MAX_COMBINATIONS:
        raise Declined(f"its rule mixes positions with {prod(names.values())} combinations of values, over the limit")
    out: dict[Expr, Form] = {}
    for values in grid(*names.values()):
        bound = bind(expr, **dict(zip(names, values, strict=True)))
        if bound not in out:
            out[bound] = analyse(within(bound, whole=False))
            if not any(out[bound].slope):
                within(bound)
    for bound, form in out.items():
        if any(form.slope) and (isinstance(variable, Map) or not form.line or not form.line.j):
            raise Declined(f"the sub-expression {show(tree_of(bound))!r} grows with the position or with n")
    reader.widen(form for form in out.values() if not any(form.slope))
    return out


def _when(reader: _Reader) -> Form | None:
    when = reader.model.when
    if when is None:
        return None
    assert isinstance(when, Formula)
    found = truth(within(when.expr))
    reader.widen([found])
    return found


def _defined_somewhere(model: Model, reader: _Reader, when: Form | None) -> None:
    """Make the model's first instance: a value outside a domain is then an error here, not a wrong answer later."""
    for n in range(max(1, len(model.markers)), 2 * (reader.threshold + reader.period) + 3):
        if when is None or values_at(when, points({S: np.array([n - 1])}))[0]:
            model.at(n)
            return
    raise ModelError("when: the model is not defined at any length")


# ---------------------------------------------------------------- second pass: the steps


def _add_map(reader: _Reader, variable: Map) -> None:
    rule = rule_of(variable)
    assert isinstance(rule, Formula | Table)
    expr = _folded(expression(rule), {"position": name("i")})
    # Names in dead branches are arguments, too: the checker, which folds nothing, looks them up.
    args = tuple(a for a in variable.args if a in rule.mentions and a != "position")
    placed = rule.mentions & {*POSITIONS, "position"}

    def values(*columns: I64) -> I64:
        if not placed:
            return _evaluate(expr, args, columns)
        *others, p, s = columns
        return _evaluate(expr, (*args, "i", "n"), (*others, p, p + s + 1))

    read = (*args, BEFORE, AFTER) if placed else args
    reader.steps.append(Step(variable.name, read, values, reader.sizes[variable.name], variable.name))


def _evaluate(expr: Expr, names: tuple[str, ...], columns: tuple[I64, ...]) -> I64:
    total = len(columns[0]) if columns else 1
    used = {n: np.ascontiguousarray(c, dtype=np.int64) for n, c in zip(names, columns, strict=True) if n in expr.names}
    return evaluate(expr, used, total)


def _add_head(reader: _Reader, head: Head, forms: dict[Expr, Form]) -> None:
    scores = _scores(reader, head, forms)
    values, classes = reader.sizes[head.value], reader.threshold + reader.period

    def read(role: str | None, placed: bool) -> list[tuple[str, int]]:
        """What a score looks at on one side."""
        own = [(role, reader.sizes[role])] if role else []
        return own + [(BEFORE, classes), (AFTER, classes)] * placed

    _packed(reader, f"{head.name}@query", read(head.query if scores.q else None, scores.i), head.name)
    pair = [*read(head.key if scores.k else None, scores.j), (head.value, values)]
    _packed(reader, f"{head.name}@pair", pair, head.name)
    rank = np.repeat(scores.rank, values, axis=-1).astype(np.int32)
    tie = np.repeat(scores.tie, values, axis=-1)
    later = _later(rank, tie, head.ties == "right")
    copied = np.tile(np.arange(values, dtype=np.int64), rank.shape[-1] // values)
    look = Look(
        head.name, f"{head.name}@query", f"{head.name}@pair", rank, later, copied, head.mask, head.default,
        reader.sizes[head.name], head.name,
    )  # fmt: skip
    reader.steps.extend([look] if scores.reach == 0 else windowed(look, scores.reach))


def _later(rank: I32, tie: I64, right: bool) -> Bools:
    """Whether the later of two pairs of one rank wins, by row and rank."""
    flat, ties = rank.reshape(-1, rank.shape[-1]), tie.reshape(-1, rank.shape[-1])
    out = np.full((len(flat), int(flat.max()) + 1), right)
    for u, (row, how) in enumerate(zip(flat, ties, strict=True)):
        out[u, row[how != 0]] = how[how != 0] > 0
    return out.reshape(*rank.shape[:-1], -1)


def _packed(reader: _Reader, target: str, parts: list[tuple[str, int]], origin: str) -> None:
    """A variable that is the tuple of others, row-major."""
    sizes = [s for _, s in parts]
    if prod(sizes) > 1 << 24:
        raise ResourceLimit(f"variable {origin!r}: {prod(sizes)} combinations of values are over the limit")

    def rule(*columns: I64) -> I64:
        out = np.zeros(len(columns[0]) if columns else 1, dtype=np.int64)
        for column, size in zip(columns, sizes, strict=True):
            out = out * size + column
        return out

    reader.sizes[target] = prod(sizes)
    reader.steps.append(Step(target, tuple(v for v, _ in parts), rule, prod(sizes), origin))


def _scores(reader: _Reader, head: Head, forms: dict[Expr, Form]) -> _Scores:
    """Ranks of the head's score for every query row and key column."""
    rule = head.score
    assert isinstance(rule, Formula | Table | Dot)
    q, k = "q" in rule.mentions and head.query != "position", "k" in rule.mentions and head.key != "position"
    nq = reader.sizes[head.query] if q and head.query else 1
    nk = reader.sizes[head.key] if k and head.key else 1
    if not forms:
        value = _plain(rule, nq, nk)
        return _Scores(q, False, k, False, 0, _dense(value), np.zeros_like(value))
    expr = _folded(expression(rule), _roles(head))
    table = [[forms[bind(expr, **{"q": a, "k": b})] for b in range(nk)] for a in range(nq)]
    uses = frozenset[int]().union(*(f.uses for f in forms.values()))
    i, j = bool(uses & {P, S}), bool(uses & {P2, S2})
    reach = max(f.reach for f in forms.values())
    if not any(any(f.slope) for f in forms.values()):
        value = _tabulate(reader, head.name, table, i, j, reach)
        return _Scores(q, i, k, j, reach, _dense(value), np.zeros_like(value))
    return _by_position(table, q, k)


def _plain(rule: Formula | Table | Dot, nq: int, nk: int) -> I64:
    if isinstance(rule, Dot):
        one = rule.query.values.reshape(-1, rule.query.values.shape[-1])
        two = rule.key.values.reshape(-1, rule.key.values.shape[-1])
        return np.broadcast_to(one @ two.T, (nq, nk)).copy()
    a, b = np.meshgrid(np.arange(nq), np.arange(nk), indexing="ij")
    return _evaluate(_folded(expression(rule), {}), ("q", "k"), (a.reshape(-1), b.reshape(-1))).reshape(nq, nk)


def _dense(value: I64) -> I64:
    """Scores replaced by their rank in their row; with differences, the row is all of ``[:, u, :]``."""
    out = np.empty_like(value)
    rows = value.shape[-2]
    for u in range(rows):
        part = value[..., u, :]
        out[..., u, :] = np.unique(part, return_inverse=True)[1].reshape(part.shape)
    return out


def _tabulate(reader: _Reader, head: str, table: list[list[Form]], i: bool, j: bool, reach: int) -> I64:
    """The scores at all classes: (U, K), or (2*reach+1, U, K) by cut-off difference."""
    classes = reader.threshold + reader.period
    nq, nk = len(table), len(table[0])
    cells = (2 * reach + 1) * nq * nk * classes ** (2 * i + 2 * j)
    if cells > MAX_CELLS:
        raise ResourceLimit(
            f"variable {head!r}: its score has {cells} combinations of values and position classes; "
            f"the limit is {MAX_CELLS}"
        )
    at_i, at_j = (np.array(grid(classes, classes) if told else [(0, 0)]) for told in (i, j))
    offsets = np.arange(-reach, reach + 1)
    out = np.empty((len(offsets), nq, len(at_i), nk, len(at_j)), dtype=np.int64)
    mesh = np.meshgrid(offsets, np.arange(len(at_i)), np.arange(len(at_j)), indexing="ij")
    d, a, b = (m.reshape(-1) for m in mesh)
    where = points({P: at_i[a, 0], S: at_i[a, 1], P2: at_j[b, 0], S2: at_j[b, 1], DIFFERENCE: d})
    distinct = {id(form): form for row in table for form in row}
    kept = {name: values_at(form, where).reshape(mesh[0].shape) for name, form in distinct.items()}
    for u, row in enumerate(table):
        for v, form in enumerate(row):
            out[:, u, :, v, :] = kept[id(form)]
    shaped = out.reshape(len(offsets), nq * len(at_i), nk * len(at_j))
    return shaped if reach else shaped[0]


def _by_position(table: list[list[Form]], q: bool, k: bool) -> _Scores:
    """Scores that order by ``j`` itself, ranked as the checker does: for each query, the pairs that grow (or fall) with
    ``j`` form one rank, above (below) every other score of the row."""
    forms: dict[tuple[int, ...], Form] = {(u, v): form for u, row in enumerate(table) for v, form in enumerate(row)}
    ranked = by_position(_declined, forms, 0)
    rank, tie = np.zeros((2, len(table), len(table[0])), np.int64)
    for u, row in enumerate(table):
        values = [number(ranked[u, v]) or 0 for v in range(len(row))]
        order = {value: at for at, value in enumerate(sorted(set(values)))}
        rank[u] = [order[value] for value in values]
        tie[u] = [0 if abs(value) < BEYOND else 1 if value % 2 else -1 for value in values]
    return _Scores(q, False, k, False, 0, rank, tie)


def _declined(why: str) -> NoReturn:
    raise Declined(why)


# ---------------------------------------------------------------- the whole


def _finish(reader: _Reader, when: Form | None) -> OrderOnly:
    model = reader.model
    output = model.output.variable
    defined = None if when is None else WHEN
    if when is not None:
        first = Step(WHEN, (BEFORE, AFTER), lambda p, s: values_at(when, points({P: p, S: s})), 2, "when")
        reader.steps.insert(0, first)
    size = reader.sizes[output]
    for value in model.output.accept or ():
        if value >= size:
            raise ModelError(f"output.accept: {value} is outside the domain 0..{size - 1} of {output!r}")
    names = [model.output.label(v) for v in range(size)]
    labels = tuple(dict.fromkeys(names))
    steps = needed(tuple(reader.steps), (output,) if defined is None else (output, defined))
    markers, every = (model.start_marker is not None, model.end_marker is not None), model.output.position == "every"
    return OrderOnly(
        model.alphabet, *markers, steps, output, every, labels, tuple(labels.index(n) for n in names), reader.threshold,
        reader.period, defined, dict(reader.sizes), model.output.accept is not None,
    )  # fmt: skip
