"""Which nodes are worth examining, and which statements a conclusion needs. A cone may be far larger than what a claim
rests on. Before anything is examined, what the target cannot read is left out (:func:`reachable`). Afterwards,
statements are gone through backwards: one is kept if a later one that is kept reads it, and would not hold without it
(:func:`needed`)."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

import numpy as np

from restrict.base.arrays import I64, Bools
from restrict.checker.account import Meter
from restrict.checker.read import runs_of
from restrict.elaboration.context import Known
from restrict.elaboration.hints import Cone
from restrict.elaboration.rows import reaching
from restrict.elaboration.statements import NODE, Group, Statement
from restrict.model.program import Head, Instance

Node = tuple[str, int]
MOST_ALLOWED = 1 << 24


def reachable(instance: Instance, cone: Cone, target: int | None, meter: Meter) -> Iterator[Node]:
    """The nodes of a cone that the output at a target (``None``: at all) may read, variable by variable, in the order
    of examination: a head may read key and value anywhere, a map its own position. Too many are refused before any is
    examined."""
    wanted: dict[str, set[int] | None] = {instance.model.output.variable: None if target is None else {target}}

    def want(name: str | None, places: set[int] | None) -> None:
        if name is not None:
            old = wanted.get(name, set())
            wanted[name] = None if old is None or places is None else old | places

    for variable in reversed(instance.model.variables):
        if variable.name not in wanted:
            continue
        places = wanted[variable.name]
        if isinstance(variable, Head):
            want(instance.query(variable), places)
            want(instance.key(variable), None)
            want(variable.value, None)
        else:
            for arg in variable.args:
                want(arg, places)
    found: list[tuple[str, Iterable[int]]] = []
    for variable in instance.model.variables:
        places, bounds = wanted.get(variable.name, set()), cone.get(variable.name, ())
        if places is None:
            meter.expect(NODE * (sum(bounds[1::2]) - sum(bounds[::2])))
            found.append((variable.name, chain.from_iterable(range(*run) for run in runs_of(bounds))))
        else:
            found.append((variable.name, [i for i in sorted(places) if bisect_right(bounds, i) % 2]))
    return ((name, i) for name, positions in found for i in positions)


def needed(known: Known, goals: Iterable[Node]) -> tuple[list[Statement], set[Node]]:
    """The statements of a context, in order, on which the facts of ``goals``, to be kept here or above, rest; and the
    nodes of which something not stated here has to be known from above."""
    wanted, kept = set(goals), list[Statement]()
    for said in reversed(known.statements):
        node = said.name, said.i
        if node in wanted:
            wanted.remove(node)
            kept.append(said)
            wanted |= reads(known, said)
    return kept[::-1], wanted


def reads(known: Known, said: Statement) -> set[Node]:
    """The nodes that a statement rests on."""
    variable = known.instance.model.by_name.get(said.name)
    if variable is None:
        return {(known.instance.model.output.variable, said.i)}
    if not isinstance(variable, Head):
        return {(arg, said.i) for arg in variable.args}
    query = known.instance.query(variable)
    found = {(query, said.i)} if query is not None else set()
    for group in said.groups or ():
        found |= set(_of_group(known, variable, said, group))
    return found


def _of_group(known: Known, head: Head, said: Statement, group: Group) -> Iterator[Node]:
    """The key at the witness; keys that rule pairs out; and keys and values of pairs that may win."""
    key, floor = known.instance.key(head), (group.least, group.witness)
    facts = {name: known.facts.get(name, {}) for name in (key, head.value) if name is not None}
    if not any(facts.values()):
        return
    if key is not None:
        yield key, group.witness
    own = said.i if key is not None and key == known.instance.query(head) else -1
    if known.rows.wide(head, said.i):  # everything is listed, and may be looked at
        yield from ((name, j) for name, stated in facts.items() for j in stated)
        return
    pairs = known.rows.pairs(head, said.i, group.u)
    known.meter.charge(pairs.shape[1] * 2)
    pairs = pairs[:, reaching(head, pairs, floor)]
    everything = not known.blind and len(said.values) > 1 and group.only == -1
    possible = _possible(known, key, pairs, own, group.u)
    ruled_out, may_win = np.unique(pairs[0, ~possible]).tolist(), np.unique(pairs[0, possible]).tolist()
    if key is not None:
        yield from ((key, j) for j in ruled_out if j != own and j in facts[key])
        yield from ((key, j) for j in may_win if everything and j in facts[key])
    if head.value != key:
        yield from ((head.value, j) for j in may_win if j in facts[head.value])


def _possible(known: Known, key: str | None, pairs: I64, own: int, u: int) -> Bools:
    """Which pairs have a key value that is known to be possible; of tokens of many kinds it is not asked."""
    j, w, _ = pairs
    found = np.ones(len(j), dtype=bool)
    if key == "token":
        sets = known.tokens.sets
        allowed = np.zeros((len(sets), known.instance.domains["token"]), dtype=bool)
        if allowed.size <= MOST_ALLOWED:
            for number, symbols in enumerate(sets):
                allowed[number, np.asarray(symbols)] = True
            found = allowed[known.tokens.numbers(j), w]
    elif key is not None:
        facts = known.facts.get(key, {})
        for at in _among(j, facts):
            found[at] = int(w[at]) in known.values(key, int(j[at]))
    return np.where(j == own, w == u, found)


def _among(j: I64, facts: Collection[int]) -> Iterable[int]:
    """Where a pair's position has a fact; few pairs are gone through by pairs, else by facts."""
    if len(facts) > len(j):
        return (at for at, place in enumerate(j.tolist()) if place in facts)
    found: list[int] = np.flatnonzero(np.isin(j, np.fromiter(facts, dtype=np.int64))).tolist()
    return found
