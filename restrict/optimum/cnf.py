"""The cone of a target as CNF, exactly: what SAT is asked about.

The literal ``[v_i = a]`` stands for "node ``(v, i)`` has value ``a``". There are literals only for nodes that the
target can read and values that they can take: value sets ``V`` come from an abstract run under the restriction
(docs/kernel.md, rules 1-4), made on demand from the target, so candidate lists are cut at the floor.

- A node has exactly one value of its ``V``.
- Map: for every point of the product of the arguments' ``V``, a clause from the arguments' literals to the value's.
- Head, for every query value ``u``: the winner is the first candidate pair ``(j_t, w_t)``, best first, whose key value
  holds. ``s_1`` is true and ``s_{t+1} <-> s_t and not [key_{j_t} = w_t]``; from ``[q = u]``, ``s_t`` and
  ``[key_{j_t} = w_t]`` follows that the head has the value of ``j_t``. The floor is the last pair, and some pair at or
  above it always holds.

**Wide maps.** A map whose arguments have more than ``points`` combinations is left open: it has exactly one value of
its domain, whichever. The formula then has more models than inputs, so "unsatisfiable" still holds; a model that is
wrong is refuted by :meth:`Encoding.refuting`, which gives the clauses of the points that it breaks, as wide as they
hold.

**Exactness.** Without wide maps every ``x |= rho`` extends to exactly one model, and that model shows the true
value of every encoded node. *Proof*: by induction over the program. By Theorem A (soundness) the true values lie in
``V``; the clauses of a node force its value to the true one once its sources have theirs, and are satisfied by it; the
``s_t`` are defined. In the own pair of a head whose query and key are one variable, the key's literal is the query's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from restrict.base.errors import ResourceLimit
from restrict.base.options import Fact
from restrict.force.on_demand import OnDemandState
from restrict.force.state import Node
from restrict.model.program import Head, Instance, Map
from restrict.model.restriction import Restriction
from restrict.optimum.options import OPTIONS

MAX_CLAUSES: Fact[int] = 2_000_000
"""A larger encoding is refused."""
TRUE: Fact[int] = 1
"""A literal that always holds: variable 1, with a unit clause."""

Clause = list[int]


@dataclass(frozen=True, eq=False)
class WideMap:
    """A map at a position that is left open: the literals of its arguments' values, in order, and of its own."""

    variable: Map
    i: int
    args: tuple[dict[int, int], ...]
    out: dict[int, int]

    def moved(self, moved: Callable[[int], int]) -> WideMap:
        """The same map on other literals."""
        args = tuple({a: moved(y) for a, y in row.items()} for row in self.args)
        return WideMap(self.variable, self.i, args, {a: moved(y) for a, y in self.out.items()})

    def refuting(self, instance: Instance, true: Collection[int]) -> Clause | None:
        """A clause, without arguments that do not matter, that holds of the map and fails under an assignment; ``None``
        where the map has its true value. Cost: at most ``points`` combinations an argument."""
        point = [next((a for a, literal in row.items() if literal in true), next(iter(row))) for row in self.args]
        sets: list[list[int]] = [[a] for a in point]
        value = int(instance.map_values(self.variable, self.i, sets).item())
        if self.out[value] in true:
            return None
        for t, row in enumerate(self.args):
            wider = [*sets[:t], list(row), *sets[t + 1 :]]
            size = np.prod([len(s) for s in wider], dtype=object)
            if size <= OPTIONS.points and bool((instance.map_values(self.variable, self.i, wider) == value).all()):
                sets = wider
        sides = zip(self.args, point, sets, strict=True)
        return [*(-row[a] for row, a, s in sides if len(s) < len(row)), self.out[value]]


@dataclass(frozen=True, eq=False)
class Encoding:
    """``clauses`` over variables ``1 .. top``; ``values[node][a]`` is the literal of ``node = a``. ``inputs``: free
    positions that the targets can read, the only ones with variables; ``wide``: maps left open."""

    instance: Instance
    restriction: Restriction
    top: int
    clauses: list[Clause] = field(repr=False)
    values: dict[Node, dict[int, int]] = field(repr=False)
    wide: tuple[WideMap, ...] = field(default=(), repr=False)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The free positions that have variables, in order."""
        fixed = {**self.restriction.fixed, **self.instance.pinned}
        return tuple(sorted(i for name, i in self.values if name == "token" and i not in fixed))

    def token_lit(self, i: int, symbol: int) -> int:
        """The literal of ``x_i = symbol`` (an index) for ``i`` in ``inputs``; ``-TRUE`` where it cannot be."""
        return self.values["token", i].get(symbol, -TRUE)

    def labels(self, i: int) -> dict[str, list[int]]:
        """The literals of the output's values at a target, by label."""
        found: dict[str, list[int]] = {}
        for value, literal in self.values[self.instance.model.output.variable, i].items():
            found.setdefault(self.instance.label(value), []).append(literal)
        return found

    def symbol(self, i: int, true: Collection[int]) -> int:
        """The symbol's index of an input in a model, given as its literals; any one where the model has none."""
        row = self.values["token", i]
        return next((a for a, literal in row.items() if literal in true), next(iter(row)))

    def decode(self, model: Iterable[int]) -> list[str]:
        """The word, without markers, that a model shows; the first symbol where the model says nothing."""
        true, alphabet = set(model), self.instance.model.alphabet
        word = dict.fromkeys(self.instance.unpinned, alphabet[0]) | dict(self.restriction.fixed)
        word |= {i: alphabet[self.symbol(i, true)] for i in self.inputs}
        return [word[i] for i in sorted(word)]

    def copy(self, shared: Collection[int]) -> Encoding:
        """A second copy on the variables above ``top`` with the same tokens at ``shared``."""
        shift = self.top
        kept = {TRUE} | {abs(y) for i in shared for y in self.values.get(("token", i), {}).values()}

        def moved(literal: int) -> int:
            return literal if abs(literal) in kept else literal + shift if literal > 0 else literal - shift

        values = {node: {a: moved(y) for a, y in row.items()} for node, row in self.values.items()}
        clauses = [[moved(y) for y in clause] for clause in self.clauses]
        wide = tuple(w.moved(moved) for w in self.wide)
        return Encoding(self.instance, self.restriction, self.top + shift, clauses, values, wide)

    def refuting(self, true: Collection[int]) -> list[Clause]:
        """Clauses of wide maps that hold and that a model, given as its literals, breaks. Gives one clause for each
        wide map that has a wrong value; none where the model is an input with its true values."""
        held = {TRUE, *true}
        return [clause for w in self.wide if (clause := w.refuting(self.instance, held)) is not None]


def encode(instance: Instance, restriction: Restriction, targets: Iterable[int], most: int | None = None) -> Encoding:
    """The cone of the output at ``targets`` under ``restriction``, as at most ``most`` (``MAX_CLAUSES``) clauses: one
    per point of a map's box and per candidate, query value and value of a head."""
    encoder = _Encoder(instance, OnDemandState.of(instance, restriction.tokens(instance.model)), most or MAX_CLAUSES)
    try:
        for i in targets:
            encoder.node(instance.model.output.variable, i)
        encoder.finish()
    except RecursionError:
        raise ResourceLimit(
            f"{instance.model.name!r} at n = {instance.n}: the program is too deep to encode as CNF"
        ) from None
    return Encoding(instance, restriction, encoder.top, encoder.clauses, encoder.literals, tuple(encoder.wide))


class _Encoder:
    """Nodes are numbered when first asked for; their clauses are written when their turn comes."""

    def __init__(self, instance: Instance, known: OnDemandState, most: int) -> None:
        self.instance, self.known, self.most = instance, known, most
        self.top = TRUE
        self.clauses: list[Clause] = [[TRUE]]
        self.literals: dict[Node, dict[int, int]] = {}
        self.waiting: list[Node] = []
        self.wide: list[WideMap] = []

    def new(self) -> int:
        self.top += 1
        return self.top

    def add(self, *literals: int) -> None:
        """Add a clause, simplified by what is constant."""
        if TRUE in literals:
            return
        clause = sorted({y for y in literals if y != -TRUE}, key=abs)
        if any(a == -b for a, b in itertools.pairwise(clause)):
            return
        self.clauses.append(clause)
        if len(self.clauses) > self.most:
            raise self._too_large()

    def _too_large(self) -> ResourceLimit:
        return ResourceLimit(
            f"{self.instance.model.name!r} at n = {self.instance.n}: the cone needs more than {self.most} "
            "clauses; take a smaller n or fix more positions"
        )

    def node(self, name: str, i: int) -> dict[int, int]:
        """The literals of a node, by value."""
        if (name, i) not in self.literals:
            values = self.known.values(name, i)
            if len(values) > self.most:
                raise self._too_large()
            self.literals[name, i] = self._one_hot([int(v) for v in values])
            if name not in ("token", "position") and len(self.literals[name, i]) > 1:
                self.waiting.append((name, i))
        return self.literals[name, i]

    def _one_hot(self, values: Sequence[int]) -> dict[int, int]:
        if len(values) == 1:
            return {values[0]: TRUE}
        if len(values) == 2:
            literal = self.new()
            return {values[0]: -literal, values[1]: literal}
        literals = [self.new() for _ in values]
        self.add(*literals)
        if len(values) <= OPTIONS.pairwise:
            for a, b in itertools.combinations(literals, 2):
                self.add(-a, -b)
        else:
            # PySAT's counters leave some of their variables open; here every input has exactly one model.
            passed = literals[0]  # passed: one of the literals so far holds
            for a in literals[1:]:
                self.add(-passed, -a)
                before, passed = passed, self.new()
                self.add(-before, passed)
                self.add(-a, passed)
                self.add(-passed, before, a)
        return dict(zip(values, literals, strict=True))

    def finish(self) -> None:
        """Write the clauses of all nodes that were asked for."""
        while self.waiting:
            name, i = self.waiting.pop()
            variable = self.instance.model.by_name[name]
            if isinstance(variable, Head):
                self._head(variable, i)
            else:
                self._map(variable, i)

    def _map(self, variable: Map, i: int) -> None:
        args = [self.node(a, i) for a in variable.args]
        sets = [list(literals) for literals in args]
        out = self.node(variable.name, i)
        if np.prod([len(s) for s in sets], dtype=object) > OPTIONS.points:
            self.wide.append(WideMap(variable, i, tuple(args), out))
            return
        block = self.known.block(variable, i, sets)
        for point in np.ndindex(*block.shape):
            against = [-args[a][sets[a][t]] for a, t in enumerate(point)]
            self.add(*against, out[int(block[point])])

    def _head(self, head: Head, i: int) -> None:
        query = self.instance.query(head)
        for u in self.known.values(query, i) if query else (0,):
            self._row(head, i, u, -self.node(query, i)[u] if query else -TRUE)

    def _row(self, head: Head, i: int, u: int, guard: int) -> None:
        """The decision list over the candidates of one row; ``guard`` is the literal of "another query value"."""
        pairs = list(self.known.walk(head, i, u))
        results = {v for j, w in pairs for v in self._results(head, i, u, j, w)}
        if len(results) == 1:
            self.add(guard, self.node(head.name, i)[results.pop()])
            return
        none_yet = TRUE
        for t, (j, w) in enumerate(pairs):
            shown = self._shown(head, i, j, w)
            self._wins(head, i, u, j, w, (guard, -none_yet, -shown))
            if t + 1 < len(pairs):
                before, none_yet = none_yet, self.new()
                self.add(-before, shown, none_yet)
                self.add(-none_yet, before)
                self.add(-none_yet, -shown)

    def _shown(self, head: Head, i: int, j: int, w: int) -> int:
        """The literal of "position ``j`` shows the pair ``(j, w)``"."""
        key = self.instance.key(head)
        if key is None or (j == i and key == self.instance.query(head)):
            return TRUE
        return self.node(key, j)[w]

    def _results(self, head: Head, i: int, u: int, j: int, w: int) -> Sequence[int]:
        """The values that a win of the pair may give."""
        if head.value == self.instance.key(head):
            return (w,)
        return (u,) if j == i and head.value == self.instance.query(head) else self.known.values(head.value, j)

    def _wins(self, head: Head, i: int, u: int, j: int, w: int, unless: tuple[int, ...]) -> None:
        """Add that the head has the value of ``j`` where the pair wins (``unless`` is false)."""
        out, results = self.node(head.name, i), self._results(head, i, u, j, w)
        if len(results) == 1:
            self.add(*unless, out[results[0]])
            return
        value = self.node(head.value, j)
        for v in results:
            self.add(*unless, -value[v], out[v])
