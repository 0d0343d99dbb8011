"""The exact optimum: fewest fixed positions that force the label at a target, by implicit hitting sets.

A *cube* is a partial input. Fix a label ``L``. A restriction ``rho`` forces ``L`` iff it conflicts with every cube
that forces "not ``L``" (fixes some position of it to another symbol): if it conflicts with none of those of one input
``x`` of another label, take the full cube ``x``; conversely an input that agrees with both would have two labels. So

    the least size of rho  =  a minimum hitting set over elements (position, symbol), at most one symbol per position,
                              of the clauses { (p, b) : p in C, b != C_p },  C a cube that forces "not L".

The clauses are found one at a time (Reiter 1987; Chandrasekaran et al., SODA 2011; Ignatiev et al., JELIA 2016): a
set ``h`` that hits the known ones and has at most ``lower`` elements; a counterexample ``x |= h`` of another label; a
subset-minimal part of ``x`` that already forces "not ``L``" (assumption cores, then deletion). Each round goes on
with ``h`` made to conflict with that cube, until it forces ``L``: so a round yields cubes with disjoint new positions
and, by deletion, an upper bound. Where no ``h`` exists, ``lower`` grows by one. A hitting set *within the bound*
is asked of an incremental SAT solver with a totalizer, not a minimum of RC2: a round need not prove optimality again
(:func:`recheck` does, once, with RC2).

The optimum over labels is the least of theirs, so the label of least ``lower`` is always worked on.
"""

from __future__ import annotations

import itertools
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pysat.card import ITotalizer
from pysat.examples.rc2 import RC2
from pysat.formula import WCNF
from pysat.solvers import Solver as Sat

from restrict.certificate.certificate import Certificate, certificate_of
from restrict.errors import ResourceLimit
from restrict.force.cases import confirm_by_cases
from restrict.force.minimise import needed_cone
from restrict.force.on_demand import OnDemandState
from restrict.model.program import Instance, Model
from restrict.model.trace import run_batch
from restrict.optimum.cnf import Encoding, encode
from restrict.restriction import Restriction
from restrict.task import Target, position_of

Cube = dict[int, int]
"""Positions with symbol indices."""
CONFLICTS = 20_000
"""Conflicts of a SAT search between two looks at the clock."""
TABLE = 2**16
"""Inputs of the truth table for ``c > 0``."""
SPLITS = 2**31
"""Table entries visited for ``c > 0``, at most."""
CONFIRM_TRIES, CASES_TRIES = 200, 16
"""Optimal restrictions tried until the abstract run confirms one."""


class OutOfTime(Exception):
    """The deadline has passed."""


# ---------------------------------------------------------------- the SAT oracle


def ask(solver: Any, assumptions: list[int], deadline: float | None) -> bool:
    """Solve; raises :class:`OutOfTime` past the deadline (checked every ``CONFLICTS`` conflicts)."""
    while True:
        if deadline is not None and clock.monotonic() > deadline:
            raise OutOfTime
        solver.conf_budget(CONFLICTS)
        answer = solver.solve_limited(assumptions=assumptions)
        if answer is not None:
            return bool(answer)


class Oracle:
    """Which labels are possible at one position under partial inputs, decided by SAT on the cone's CNF.

    A *selector* (``self.same[L]``, ``self.other[L]``) is a literal that demands the label ``L``, or another one.
    """

    def __init__(self, code: Encoding, position: int, deadline: float | None = None, name: str = "glucose4") -> None:
        self.code, self.inputs, self.deadline = code, code.inputs, deadline
        self.solver = Sat(name, bootstrap_with=code.clauses)
        self.same: dict[str, int] = {}
        self.other: dict[str, int] = {}
        self.label_lits = code.labels(position)
        for t, (label, literals) in enumerate(self.label_lits.items()):
            self.same[label], self.other[label] = code.top + 2 * t + 1, code.top + 2 * t + 2
            self.solver.add_clause([-self.same[label], *literals])
            rest = [y for other, ys in self.label_lits.items() if other != label for y in ys]
            self.solver.add_clause([-self.other[label], *rest])
        self.place = {abs(y): i for i in self.inputs for y in code.values["token", i].values()}

    @property
    def top(self) -> int:
        """The largest variable in use."""
        return self.code.top + 2 * len(self.same)

    def find(self, cube: Mapping[int, int], selector: int, more: Iterable[int] = ()) -> Cube | None:
        """An input (symbols at ``inputs``) that agrees with the cube and is selected, or ``None``. Positions outside
        ``inputs`` have no influence and are ignored; ``more`` are literals to assume besides."""
        assumed = [self.code.token_lit(i, a) for i, a in cube.items() if ("token", i) in self.code.values]
        if not ask(self.solver, [selector, *assumed, *more], self.deadline):
            return None
        true = set(self.solver.get_model())
        return {i: self.code.symbol(i, true) for i in self.inputs}

    def core(self, cube: Cube) -> Cube:
        """The part of the cube that the last negative answer of :meth:`find` used."""
        used = {self.place[abs(y)] for y in self.solver.get_core() or () if abs(y) in self.place}
        return {i: a for i, a in cube.items() if i in used}

    def shrink(self, cube: Cube, selector: int, order: Iterable[int]) -> Cube:
        """A subset-minimal part of the cube under which nothing is selected (none must be under the cube); positions
        are given up in ``order``. Cost: one SAT call a position of the first core."""
        if self.find(cube, selector) is not None:
            raise ValueError("the cube does not exclude the selector")
        cube = self.core(cube)
        for i in order:
            rest = {j: a for j, a in cube.items() if j != i}
            if i in cube and self.find(rest, selector) is None:
                cube = self.core(rest)
        return cube


def confirm(instance: Instance, fixed: Cube, target: Target, provenance: Mapping[str, Any]) -> Certificate | None:
    """The certificate that this restriction forces the label at the target, if the abstract run establishes it."""
    position = position_of(instance, target)
    assert position is not None
    state, node = OnDemandState.of(instance, fixed), (instance.model.output.variable, position)
    if len({instance.label(v) for v in state.values(*node)}) != 1:
        return None
    found = certificate_of(instance, Restriction.of(instance, fixed), needed_cone(state, node), target, provenance)
    return found if found.c == 0 else None


# ---------------------------------------------------------------- results


@dataclass(frozen=True)
class Witness:
    """Every cube forces a label other than ``label``, and no restriction that fixes fewer than ``bound`` positions
    conflicts with all of them. So forcing ``label`` takes ``bound`` positions. (An empty cube: it cannot be forced.)
    """

    label: str
    bound: int
    cubes: tuple[Mapping[int, str], ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Exact:
    """``lower <=`` fewest fixed positions ``<= upper``, the size of ``restriction``.

    ``witnesses`` (one for each label that the output may have) prove ``lower``; ``certificate`` is there when the
    abstract run, hence the trusted checker, confirms ``restriction``; where it is ``None``, only SAT does. For
    ``c > 0`` the proof is the truth table, and ``witnesses`` is empty.
    """

    n: int
    target: Target
    c: int
    lower: int
    upper: int
    restriction: Restriction
    witnesses: tuple[Witness, ...]
    certificate: Certificate | None

    @property
    def optimal(self) -> bool:
        """Whether the bounds meet."""
        return self.lower == self.upper

    @property
    def confirmed(self) -> bool:
        """Whether the abstract run confirms ``restriction``."""
        return self.certificate is not None


# ---------------------------------------------------------------- the search


class Problem:
    """Forcing one label: the cubes so far, the hitting sets that they leave, and the lower bound."""

    def __init__(self, oracle: Oracle, label: str) -> None:
        self.label, self.lower, self.cubes = label, 0, list[Cube]()
        symbols = [(i, a) for i in oracle.inputs for a in oracle.code.values["token", i]]
        self.element = {pair: t for t, pair in enumerate(symbols, 1)}
        fixed = {i: len(symbols) + t for t, i in enumerate(oracle.inputs, 1)}
        self.count = ITotalizer(list(fixed.values()), ubound=len(fixed), top_id=len(symbols) + len(fixed))
        self.solver = Sat("glucose4", bootstrap_with=self.count.cnf.clauses)
        for (i, _), z in self.element.items():
            self.solver.add_clause([-z, fixed[i]])
        for i in oracle.inputs:
            row = [self.element[i, a] for a in oracle.code.values["token", i]]
            for a, b in itertools.combinations(row, 2):
                self.solver.add_clause([-a, -b])
        self.inputs, self.deadline = oracle.inputs, oracle.deadline

    def opposing(self, i: int, symbol: int) -> list[int]:
        """The other symbols at a position."""
        return [a for j, a in self.element if j == i and a != symbol]

    def add(self, cube: Cube) -> None:
        """The restriction must conflict with this cube."""
        self.cubes.append(cube)
        self.solver.add_clause([self.element[i, b] for i, a in cube.items() for b in self.opposing(i, a)])
        if not cube:
            self.lower = len(self.inputs) + 1

    def block(self, h: Cube) -> None:
        """No more hitting set that contains this one."""
        self.solver.add_clause([-self.element[i, a] for i, a in h.items()])

    def hit(self) -> Cube | None:
        """A hitting set of at most ``lower`` elements, or ``None``."""
        bound = [-self.count.rhs[self.lower]] if self.lower < len(self.inputs) else []
        if self.lower > len(self.inputs) or not ask(self.solver, bound, self.deadline):
            return None
        true = set(self.solver.get_model())
        return {i: a for (i, a), z in self.element.items() if z in true}


class _Search:
    """Bounds that close in on each other; valid at any moment."""

    def __init__(self, oracle: Oracle, rng: np.random.Generator, best: Cube | None) -> None:
        self.oracle, self.rng, self.best = oracle, rng, best
        self.problems = {label: Problem(oracle, label) for label in oracle.same}

    @property
    def lower(self) -> int:
        """A lower bound for the best label."""
        return min(p.lower for p in self.problems.values())

    @property
    def upper(self) -> int:
        """The size of the best restriction."""
        return len(self.oracle.inputs) if self.best is None else len(self.best)

    def order(self, cube: Cube) -> list[int]:
        """The cube's positions in random order."""
        return [int(i) for i in self.rng.permutation(sorted(cube))]

    def run(self, progress: Callable[[str, int | None], None] | None) -> None:
        """Until the bounds meet. Raises :class:`OutOfTime`."""
        while self.best is None or self.lower < self.upper:
            problem = min(self.problems.values(), key=lambda p: p.lower)
            h = problem.hit()
            if h is None:
                problem.lower += 1
            else:
                self.round(problem, h)
            if progress is not None:
                progress(f"exact: at least {min(self.lower, self.upper)}", self.upper)

    def round(self, problem: Problem, h: Cube) -> None:
        """Cubes that ``h`` does not conflict with, until it forces the label; then minimise and offer it."""
        same, other = self.oracle.same[problem.label], self.oracle.other[problem.label]
        while (x := self.oracle.find(h, other)) is not None:
            cube = self.oracle.shrink(x, same, self.order(x))
            problem.add(cube)
            new = [i for i in cube if i not in h]
            if not new:  # h itself forces another label
                return
            for i in new:
                choices = problem.opposing(i, cube[i])
                h[i] = choices[int(self.rng.integers(len(choices)))]
        self.offer(problem, self.oracle.shrink(h, other, self.order(h)))

    def offer(self, problem: Problem, rho: Cube) -> None:
        """A restriction that forces a label: an upper bound, and a cube for all other labels."""
        if self.best is None or len(rho) < len(self.best):
            self.best = rho
        for other in self.problems.values():
            if other is not problem:
                other.add(rho)

    def optima(self) -> Iterator[Cube]:
        """Further restrictions of the optimal size, for the labels whose bound it is."""
        for problem in [p for p in self.problems.values() if p.lower == self.upper]:
            other = self.oracle.other[problem.label]
            while (h := problem.hit()) is not None:
                x = self.oracle.find(h, other)
                if x is None:
                    problem.block(h)
                    yield h
                else:
                    problem.add(self.oracle.shrink(x, self.oracle.same[problem.label], self.order(x)))


def exact(
    model: Model,
    n: int,
    *,
    target: Target = "last",
    c: int = 0,
    time: float | None = None,
    seed: int = 0,
    start: Certificate | None = None,
    progress: Callable[[str, int | None], None] | None = None,
) -> Exact:
    """The fewest fixed positions under which the label at one position depends on at most ``c`` inputs.

    Arguments:
        model, n, target: as for ``certify``; not the target ``all``.
        c: 0 by implicit hitting sets; more only where the truth table is small (``TABLE`` inputs), by brute force.
        time: seconds after which the bounds so far are returned; without it the bounds meet.
        seed: the same seed gives the same answer (without ``time``).
        start: a certificate with ``c = 0`` to start from as upper bound.

    Where the optimum found is not confirmed by the abstract run, other optimal restrictions are tried for one that is.
    Raises :class:`ResourceLimit` where the cone does not fit, :class:`ValueError` for the target ``all``.
    Cost: SAT calls, which grow steeply with the optimum and mildly with ``n``.
    """
    at = model.at(n)
    where = position_of(at, target)
    if where is None:
        raise ValueError("the exact optimum is for one position, not for the target all")
    provenance = {"engine": "exact", "seed": seed}
    if c > 0:
        return _by_table(at, target, where, c, provenance)
    deadline = None if time is None else clock.monotonic() + time
    oracle = Oracle(encode(at, Restriction.of(at), [where]), where, deadline)
    first = None if start is None or start.c else start.restriction.tokens(model)
    search = _Search(oracle, np.random.default_rng(seed), first)
    if len(oracle.same) == 1:
        search.best = {}
    certificate = start if first is not None else None
    try:
        search.run(progress)
        if certificate is None or len(certificate.restriction.fixed) > search.upper:
            certificate = _confirmed(at, search, target, provenance)
    except OutOfTime:
        pass
    if search.best is None:
        search.best = dict.fromkeys(oracle.inputs, 0)
    if certificate is None or len(certificate.restriction.fixed) > search.upper:
        certificate = confirm(at, search.best, target, provenance)
    rho = Restriction.of(at, dict(search.best)) if certificate is None else certificate.restriction
    lower = min(search.lower, search.upper)
    return Exact(n, target, 0, lower, search.upper, rho, _witnesses(at, search), certificate)


def _confirmed(instance: Instance, search: _Search, target: Target, provenance: dict[str, Any]) -> Certificate | None:
    """A certificate of optimal size, from the optimum found or from others; by cases where it must be."""
    assert search.best is not None
    seen: list[Cube] = []
    for rho in itertools.islice(itertools.chain([search.best], search.optima()), CONFIRM_TRIES):
        if (found := confirm(instance, rho, target, provenance)) is not None:
            return found
        seen.append(rho)
    for rho in seen[:CASES_TRIES]:
        if (found := confirm_by_cases(instance, rho, target, provenance)) is not None:
            return found
    return None


def _witnesses(instance: Instance, search: _Search) -> tuple[Witness, ...]:
    named = instance.model.alphabet
    return tuple(
        Witness(
            p.label,
            min(p.lower, search.upper) if p.lower <= len(p.inputs) else p.lower,
            tuple({i: named[a] for i, a in sorted(cube.items())} for cube in p.cubes),
        )
        for p in search.problems.values()
    )


# ---------------------------------------------------------------- checking a lower bound again


def recheck(model: Model, found: Exact) -> bool:
    """Whether the witnesses prove ``found.lower`` (``c = 0``), with other solvers than those that found it.

    Every label that the output may have needs a witness; every cube is checked to force another label, by SAT on a
    fresh encoding; the least hitting set of its cubes is computed by RC2.
    """
    at = model.at(found.n)
    where = position_of(at, found.target)
    assert where is not None
    oracle = Oracle(encode(at, Restriction.of(at), [where]), where, name="minisat22")
    if len(oracle.same) == 1:
        return found.lower == 0
    index = {symbol: a for a, symbol in enumerate(model.alphabet)}
    witnesses = {w.label: w for w in found.witnesses}
    for label, same in oracle.same.items():
        if label not in witnesses or witnesses[label].bound < found.lower:
            return False
        cubes = [{i: index[s] for i, s in cube.items()} for cube in witnesses[label].cubes]
        if any(oracle.find(cube, same) is not None for cube in cubes):
            return False
        if least_hitting_set(cubes, len(model.alphabet), len(oracle.inputs)) < witnesses[label].bound:
            return False
    return True


def least_hitting_set(cubes: Iterable[Cube], symbols: int, limit: int) -> int:
    """The fewest positions of a restriction that conflicts with every cube (``limit + 1`` if none does), by RC2."""
    cubes = list(cubes)
    places = sorted({i for cube in cubes for i in cube})
    z = {(i, a): t for t, (i, a) in enumerate(itertools.product(places, range(symbols)), 1)}
    formula = WCNF()
    for t, i in enumerate(places, len(z) + 1):
        formula.append([-t], weight=1)
        formula.extend([[-z[i, a], t] for a in range(symbols)])
        formula.extend([[-z[i, a], -z[i, b]] for a in range(symbols) for b in range(a)])
    for cube in cubes:
        if not cube:
            return limit + 1
        formula.append([z[i, b] for i, a in cube.items() for b in range(symbols) if b != a])
    with RC2(formula) as solver:
        return limit + 1 if solver.compute() is None else int(solver.cost)


# ---------------------------------------------------------------- c > 0, by brute force


def _by_table(instance: Instance, target: Target, position: int, c: int, provenance: dict[str, Any]) -> Exact:
    """For every set of fixed positions, by size: how many free positions still matter in each of its cells.

    Cost: 2^m times m times the ``|alphabet|^m`` inputs, for ``m`` positions that are not pinned.
    """
    letters, symbols = instance.unpinned, len(instance.model.alphabet)
    if symbols ** len(letters) > TABLE or len(letters) * (2 * symbols) ** len(letters) > SPLITS:
        raise ResourceLimit(
            f"c = {c}: the optimum for c > 0 is by brute force, and {symbols}^{len(letters)} inputs are too many"
        )
    words = np.array(list(itertools.product(range(symbols), repeat=len(letters))), dtype=np.int64)
    values = run_batch(instance, words.reshape(symbols ** len(letters), len(letters))).values[
        instance.model.output.variable
    ][:, position]
    names = sorted({instance.label(int(v)) for v in np.unique(values)})
    lookup = {int(v): names.index(instance.label(int(v))) for v in np.unique(values)}
    table = np.array([lookup[int(v)] for v in values]).reshape((symbols,) * len(letters))
    matters = [(table != table.take([0], axis=p)).any(axis=p, keepdims=True) for p in range(len(letters))]
    for size in range(len(letters) + 1):
        for chosen in itertools.combinations(range(len(letters)), size):
            rest = [p for p in range(len(letters)) if p not in chosen]
            count = np.zeros((symbols,) * size, dtype=np.int64)
            for p in rest:
                count += matters[p].any(axis=tuple(rest)).reshape(count.shape)
            if count.min() <= c:
                cell = np.unravel_index(int(count.argmin()), count.shape)
                fixed = {letters[p]: int(a) for p, a in zip(chosen, cell, strict=True)}
                rho = Restriction.of(instance, dict(fixed))
                found = certificate_of(instance, rho, "all", target, provenance)
                return Exact(instance.n, target, c, size, size, rho, (), found if found.c <= c else None)
    raise AssertionError("fixing everything leaves nothing that matters")
