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
and, by deletion, an upper bound. Where no ``h`` exists, ``lower`` grows by one. An incremental SAT solver with a
totalizer is asked for a hitting set *within the bound*; RC2 is not asked for a minimum one, since a round need not
prove optimality again.

The optimum over labels is the least of theirs, so the label of least ``lower`` is always worked on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from restrict.base.deadline import OutOfTime, Progress
from restrict.base.errors import ResourceLimit
from restrict.base.wording import counted, parts
from restrict.certificate.certificate import Certificate, certified
from restrict.force.cases import confirm
from restrict.model.arguments import the_integer
from restrict.model.program import Instance, Model
from restrict.model.restriction import Restriction
from restrict.model.task import Target, Task
from restrict.optimum.enumeration import (
    all_labels,
    by_size,
    confirm_one,
    cube_of,
    essential_counts,
    fewest,
    restrictions_fit,
    words_fit,
)
from restrict.optimum.hitting import Problem
from restrict.optimum.options import ENUMERATION
from restrict.optimum.oracle import Cube, Oracle
from restrict.sat.hitting_sets import unmissed
from restrict.trial.certificate import try_certificate, try_forced

# ---------------------------------------------------------------- results


@dataclass(frozen=True)
class Witness:
    """Every cube forces a label other than ``label``, and no restriction that fixes fewer than ``bound`` positions
    conflicts with all of them. So forcing ``label`` takes ``bound`` positions. (An empty cube: it cannot be forced.)"""

    label: str
    bound: int
    cubes: tuple[Mapping[int, str], ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Exact:
    """``lower <=`` fewest fixed positions ``<= upper``, the size of ``restriction``. ``witnesses`` (one for each label
    that the output may have) prove ``lower``; ``certificate`` is there when the abstract run, hence the trusted
    checker, confirms ``restriction``; where it is ``None``, only SAT does. For ``c > 0``, and for wide models with few
    words, the proof is the truth table, and ``witnesses`` is empty."""

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

    def text(self, printed: Certificate) -> str:
        """The bounds in words.

        Args:
            printed: the certificate that is printed with them.

        Returns:
            Lines.
        """
        upper = counted(self.upper, "fixed position")
        if self.optimal:
            less = f"leaves at most {counted(self.c, 'input')} that it depends on" if self.c else "forces the output"
            lines = [f"  optimum {upper} (exact: no restriction with fewer {less})"]
        else:
            lines = [f"  optimum between {self.lower} and {upper} (certified bounds; stopped early)"]
        if cubes := sum(len(w.cubes) for w in self.witnesses):
            each = "each forces another label, and no fewer positions contradict them all"
            lines.append(f"  proof   {cubes} witness cubes, {each}")
        reached = printed.c <= self.c and len(printed.restriction.fixed) == self.upper
        if not self.confirmed and not reached:
            text = " ".join(f"{i}:{s}" for i, s in self.restriction.fixed.items())
            how = "SAT confirms it" if self.witnesses else "running every word confirms it"
            lines.append(f"          {self.upper} is reached by {text}: {how}, but not the abstract run")
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """The bounds as JSON.

        Returns:
            An object.
        """
        cubes = [{"cubes": [sorted(c.items()) for c in w.cubes]} for w in self.witnesses]
        return {
            **parts(self, "lower upper"),
            "restriction": self.restriction.to_json(),
            "confirmed": self.confirmed,
            "witnesses": [parts(w, "label bound") | more for w, more in zip(self.witnesses, cubes, strict=True)],
        }


# ---------------------------------------------------------------- the search


class _Approaching:
    """A lower and an upper bound that approach each other; both are valid at any moment."""

    def __init__(self, oracle: Oracle, rng: np.random.Generator, best: Cube | None) -> None:
        self.oracle, self.rng, self.best = oracle, rng, best
        self.problems = {label: Problem(oracle, label) for label in oracle.same}

    @property
    def lower(self) -> int:
        """A lower bound for the best label."""
        return min(p.lower for p in self.problems.values())

    @property
    def upper(self) -> int:
        return len(self.oracle.inputs) if self.best is None else len(self.best)

    def run(self, task: Task) -> None:
        """Improve the bounds until they meet, or :class:`OutOfTime` is raised."""
        while self.best is None or self.lower < self.upper:
            problem = min(self.problems.values(), key=lambda p: p.lower)
            h = problem.hit()
            if h is None:
                problem.lower += 1
            elif (rho := problem.dive(h, self.rng)) is not None:
                self.offer(problem, rho)
            task.tell(f"exact: at least {min(self.lower, self.upper)}", self.upper)

    def offer(self, problem: Problem, rho: Cube) -> None:
        """Take a restriction that forces a label: an upper bound, and a cube for all other labels."""
        if self.best is None or len(rho) < len(self.best):
            self.best = rho
        for other in self.problems.values():
            if other is not problem:
                other.add(rho)

    def optima(self) -> Iterator[Cube]:
        """Further restrictions of the optimal size, for the labels whose bound it is."""
        for problem in [p for p in self.problems.values() if p.lower == self.upper]:

            def learn(h: Cube, problem: Problem = problem) -> bool:
                return problem.missed(h, self.rng) is not None

            for h in unmissed(problem.hit, learn):
                problem.block(h)
                yield h


def exact(
    model: Model, n: int, *, target: Target = "last", c: int = 0, time: float | None = None, seed: int = 0,
    start: Certificate | None = None, progress: Progress | None = None,
) -> Exact:  # fmt: skip
    """The fewest fixed positions under which the label at one position depends on at most ``c`` inputs.

    Where the optimum found is not confirmed by the abstract run, other optimal restrictions are tried for one that is.
    Cost: SAT calls, which grow steeply with the optimum and mildly with ``n``.

    Args:
        model: the program.
        n: its length, markers included.
        target: ``"last"`` or a position.
        c: 0 by implicit hitting sets; more only where all restrictions can be enumerated
            (:func:`restrict.optimum.enumeration.restrictions_fit`).
        time: seconds after which the bounds so far are returned; without it the bounds meet.
        seed: the same seed gives the same answer (without ``time``).
        start: a certificate with ``c = 0`` to start from as upper bound.
        progress: called with (what is being done, best number of fixed positions so far).

    Returns:
        The bounds, what proves them, and a certificate where the abstract run confirms the best restriction.

    Raises:
        UsageError: a bad argument, or the target ``all``.
        ModelError: the model is not defined at this length.
        ResourceLimit: the cone does not fit; or ``c > 0`` and the time is over.
        Disagreement: a run of the model contradicts the answer, which is a bug.
    """
    task = Task.of(model, n, target=target, seed=seed, time=time, progress=progress).noting(engine="exact")
    position = task.one_position("the exact optimum")
    found = _exact(task, position, the_integer("c", c), start)
    if found.certificate is not None:
        try_certificate(task.instance, found.certificate)
    elif found.c == 0:
        try_forced(task.instance, found.restriction.tokens(model), position, None)
    return found


def _exact(task: Task, position: int, c: int, start: Certificate | None) -> Exact:
    """The optimum or its bounds; :func:`exact` tries the restriction then."""
    if c > 0:
        try:
            return _by_table(task, c)
        except OutOfTime:
            raise ResourceLimit(f"the time is over before the optimum for c = {c} is known; give more `time`") from None
    instance = task.instance
    oracle = Oracle.of(instance, position, deadline=task.deadline)
    if oracle.code.wide and words_fit(instance, ENUMERATION.wide_words):
        found = _by_words(task)
        if found is not None:
            return found
    first = None if start is None or start.c else start.restriction.tokens(instance.model)
    search = _Approaching(oracle, np.random.default_rng(task.seed), first)
    if len(oracle.same) == 1:
        search.best = {}
    certificate = start if first is not None else None
    try:
        search.run(task)
        if certificate is None or len(certificate.restriction.fixed) > search.upper:
            assert search.best is not None
            optima = itertools.chain([search.best], search.optima())
            certificate = confirm_one(task, itertools.islice(optima, ENUMERATION.exact_tries))
    except OutOfTime:
        pass
    if search.best is None:
        search.best = dict.fromkeys(oracle.inputs, 0)
    if certificate is None or len(certificate.restriction.fixed) > search.upper:
        certificate = confirm(task, search.best)
    rho = Restriction.of(instance, dict(search.best)) if certificate is None else certificate.restriction
    lower = min(search.lower, search.upper)
    witnesses = _witnesses(instance, search)
    return Exact(instance.n, task.target, 0, lower, search.upper, rho, witnesses, certificate)


def _witnesses(instance: Instance, search: _Approaching) -> tuple[Witness, ...]:
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


# ---------------------------------------------------------------- by enumeration


def _by_words(task: Task) -> Exact | None:
    """The optimum for ``c = 0`` by running every word, which for wide maps is quicker than refining them; ``None``
    where the time is over or there are too many labels."""
    try:
        faces = fewest(task)
    except OutOfTime:
        return None
    if faces is None:
        return None
    cubes = faces.cubes(task.instance.unpinned)
    return _enumerated(task, 0, cubes[0], confirm_one(task, cubes))


def _by_table(task: Task, c: int) -> Exact:
    """The fewest fixed positions under which the label depends on at most ``c`` free ones, over all restrictions. Of
    the optimal restrictions the first ``table_tries`` are tried for one that the abstract run confirms."""
    instance, position = task.instance, task.one_position("the exact optimum")
    symbols, m = len(instance.model.alphabet), len(instance.unpinned)
    if not restrictions_fit(instance):
        raise ResourceLimit(
            f"c = {c}: the optimum for c > 0 is by enumeration, and {symbols + 1}^{m} restrictions are too many"
        )
    labels, _ = all_labels(instance, position, task.deadline)
    sizes, order = by_size(essential_counts(labels) <= c)
    best = order[sizes == sizes[0]][: ENUMERATION.table_tries].tolist()
    cubes = [cube_of(index, symbols, instance.unpinned) for index in best]
    tried = (certified(task, cube, "all") for cube in cubes)
    return _enumerated(task, c, cubes[0], next((found for found in tried if found.c <= c), None))


def _enumerated(task: Task, c: int, cube: Cube, found: Certificate | None) -> Exact:
    """The answer where all restrictions were gone through; ``cube`` is an optimal one."""
    rho = Restriction.of(task.instance, dict(cube)) if found is None else found.restriction
    return Exact(task.instance.n, task.target, c, len(cube), len(cube), rho, (), found)
