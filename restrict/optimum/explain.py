"""Explanations: few positions of an input whose symbols alone force the model's label on it.

An explanation of ``x`` is a restriction that agrees with ``x`` under which the label is the one on ``x`` (an abductive
explanation; Ignatiev, Narodytska and Marques-Silva, AAAI 2019). "``S`` explains" is monotone in ``S``, by SAT on the
exact cone as by the abstract run: value sets and candidate lists only shrink when more is fixed.

- **Minimal** (default): the abstract run on ``x`` itself reads few tokens, at any length; these suffice. Deletion
  and QuickXplain on the whole input give parts that are subset-minimal for the abstract run, in several orders, so
  every such explanation has a certificate. Then :mod:`restrict.optimum.minimum` looks for a lighter one, and often
  proves that there is none; it needs a tree of cases where the plain run sees too little. Where its effort ends before,
  and on very long inputs, the goal-directed search restricted to the symbols of ``x`` is tried, too.
- **Minimum** (``exact``): an explanation must fix a position of every sensitive block of ``x``; a minimum-weight
  hitting set of the blocks found (RC2) is an explanation or misses another block (implicit hitting sets). Blocks come
  from words at first; where that leaves it open, from SAT on the whole cone.
- **Enumeration** (``all``): the same in order of weight when exact; else MARCO (Liffiton et al., Constraints 2016).
  It keeps sets of positions that every explanation must hit, and takes a part of ``x`` that hits them all and includes
  no explanation found before. Either this part does not explain, which gives another such set, or it shrinks to a new
  explanation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np
from pysat import solvers

from restrict.base.deadline import NEVER, Progress
from restrict.base.errors import ResourceLimit, UsageError
from restrict.base.options import Fact
from restrict.base.wording import parts
from restrict.certificate.certificate import Certificate
from restrict.force.cases import confirm_by_tree
from restrict.force.looking import Looking
from restrict.force.minimise import shrink
from restrict.model.arguments import the_integer, the_model
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.model.task import Target, Task
from restrict.optimum.minimum import Blocks, Minimum, minimum
from restrict.optimum.options import OPTIONS
from restrict.optimum.oracle import Cube, Oracle
from restrict.optimum.quickxplain import quickxplain
from restrict.optimum.sensitivity import force, input_of, output_goal, sensitive_block
from restrict.sat.hitting_sets import Priced, unmissed
from restrict.trial.certificate import try_forced

MOST: Fact[int] = 1_000_001
"""The number of explanations that are asked for must be below this."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """``restriction`` (the positions chosen and those given) forces ``label``; ``weight`` counts the chosen ones.
    ``certificate``: the abstract run confirms it; without one, only SAT does (``exact``). ``minimal``: whether, by SAT,
    no chosen position can be left out (``None``: not decided). ``lower``: no explanation weighs less. ``interrupted``:
    Ctrl-C ended the search; this is the best until then. ``shrunk``: no part of it explains for the abstract run;
    ``False``: the search ended before that was tried. ``more``: the time ended the search for ``all``, so there may be
    others."""

    label: str
    positions: tuple[int, ...]
    weight: int
    restriction: Restriction
    certificate: Certificate | None = field(repr=False)
    minimal: bool | None
    lower: int
    interrupted: bool = False
    shrunk: bool = True
    more: bool = False

    @property
    def minimum(self) -> bool:
        """Whether the weight is proved to be the least."""
        return self.weight == self.lower

    def text(self) -> str:
        """The explanation in words.

        Returns:
            Two lines.
        """
        rho = self.restriction
        given = len(rho.fixed) - len(self.positions)
        pinned = f" with {given} pinned" if given else ""
        chosen = " ".join(f"{i}:{rho.fixed[i]}" for i in self.positions) or f"(none: the output never changes{pinned})"
        if self.minimum:
            kind = "minimum (exact)"
        else:
            early = "not shown to be minimal, as the search ended before"
            ended = "minimal for the abstract run" if self.shrunk else early
            kind = {True: "minimal (exact)", False: "not minimal by SAT", None: ended}[self.minimal]
            kind += f" (every explanation weighs at least {self.lower})" if self.lower else ""
        checked = "" if self.certificate else "; confirmed by SAT only"
        force = "forces" if len(self.positions) == 1 else "force"
        count = f"{len(self.positions)} of {rho.n} positions {force} it{pinned}"
        return f"{self.label}: {count}, {kind}{checked}\n  {chosen}"

    def document(self) -> dict[str, Any]:
        """The explanation as JSON.

        Returns:
            An object.
        """
        certificate = None if self.certificate is None else self.certificate.document()
        return {**parts(self, "label positions weight lower minimal more"), "certificate": certificate}


@dataclass(eq=False)
class _Question:
    """One input to explain: its symbols by position, and what may be chosen at which price."""

    task: Task
    word: Cube
    given: Cube
    weights: Mapping[int, int]
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.instance, self.deadline = self.task.instance, self.task.deadline
        self.position = self.task.one_position("an explanation")
        self.runs = Looking(self.instance, self.position)
        (self.label,) = self.runs.labels(self.word)
        self.read = {i: self.word[i] for i in sorted(self.runs.tokens_read()) if i not in self.given}
        self.blocks = Blocks(self.task, self.word, self.given, self.label, self.rng, self.runs)
        self.abstractly = self.blocks.abstractly
        self.part, self.shrunk = self._part(), False
        if self.instance.n > OPTIONS.quick_length:
            self.blocks.among = self.part

    def _part(self) -> Cube:
        """An explanation: all that the output reads on the input. With weights, on the input without the heavy
        positions that can be left out, so that lighter ones take their place."""
        heavy = [i for i in self.order(self.weights) if self.weights[i] > 1 and i not in self.given]
        if not heavy:
            return self.read
        part = dict(self.blocks.among)
        for i in heavy:
            if self.deadline.passed:
                break
            symbol = part.pop(i)
            if not self.blocks.explains(part):
                part[i] = symbol
        self.blocks.explains(part)
        read = self.runs.tokens_read()
        return {i: a for i, a in part.items() if i in read}

    def weight(self, cube: Collection[int]) -> int:
        return sum(self.weights.get(i, 1) for i in cube)

    def order(self, cube: Collection[int]) -> list[int]:
        """Positions of a cube, heaviest first, at random among equals."""
        shuffled = [int(i) for i in self.rng.permutation(sorted(cube))]
        return sorted(shuffled, key=lambda i: -self.weights.get(i, 1))

    def certificate(self, fixed: Cube) -> Certificate | None:
        """The abstract run's confirmation, where necessary by cases: at once or not at all, so whatever the time."""
        return confirm_by_tree(self.task.until(NEVER), fixed, looks=0, shared=self.runs)

    def result(
        self,
        cube: Cube,
        oracle: Oracle | None,
        lower: int,
        certificate: Certificate | None = None,
        level: int | None = None,
    ) -> Explanation:
        """The explanation, with its certificate. ``level``: none that includes no lighter one of a list weighs less. At
        Ctrl-C it is made again, without what takes time."""
        with self.deadline.ends():
            return self._result(cube, oracle, lower, certificate, level)
        return self._result(cube, oracle, lower, certificate, level)

    def _result(
        self, cube: Cube, oracle: Oracle | None, lower: int, certificate: Certificate | None, level: int | None
    ) -> Explanation:
        fixed = self.given | cube
        minimal = True if self.weight(cube) == (lower if level is None else level) else None
        if minimal is None and oracle is not None:
            shorter = ({j: a for j, a in fixed.items() if j != i} for i in cube)
            with self.deadline.ends():
                minimal = all(oracle.find(rest, oracle.other[self.label]) is not None for rest in shorter)
        certificate = certificate or self.certificate(fixed)
        rho = Restriction.of(self.instance, dict(fixed))
        try_forced(self.instance, fixed, self.position, self.label, [self.word[i] for i in self.instance.unpinned])
        stopped, shrunk = self.deadline.interrupted, self.shrunk or cube != self.part
        return Explanation(
            self.label, tuple(sorted(cube)), self.weight(cube), rho, certificate, minimal, lower, stopped, shrunk
        )


def explain(
    model: Model,
    x: str | Sequence[str],
    *,
    target: Target = "last",
    exact: bool = False,
    all: int | None = None,
    given: Iterable[int] = (),
    weights: Mapping[int, int] | None = None,
    time: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Explanation]:
    """Explanations of the model's label on ``x``, lightest first.

    Cost: an abstract run on demand, or a SAT call, per position read; more for ``exact`` and ``all``.

    Args:
        model: the program.
        target: ``"last"``, or a position of a model with output at every position.
        x: a word without markers; positions count markers.
        exact: a minimum-weight one, by SAT; it may lack a certificate where only SAT sees that it suffices.
        all: so many distinct subset-minimal ones (fewer where there are no more).
        given: positions that are fixed in any case and cost nothing.
        weights: positive integer price of a position, 1 by default.
        time: seconds; what is known by then is returned (with ``exact``, ``lower`` below ``weight``).
        seed: the same seed gives the same answer (without ``time``).
        progress: called with what is being done and the weight of the lightest explanation so far.

    Returns:
        The explanations, each with its certificate where the abstract run confirms it.

    Raises:
        UsageError: bad arguments.
        ModelError: the model is not defined at the length of ``x``.
        ResourceLimit: ``exact`` with ``all`` cannot encode the cone.
        Disagreement: a run of the model contradicts an explanation, which is a bug.
    """
    n = len(the_model(model).symbols(x)) + len(model.markers)
    task = Task.of(model, n, target=target, seed=seed, time=time, progress=progress).noting(engine="explain")
    question = _question_of(task, x, given, weights or {})
    count = 1 if all is None else the_integer("all", all, 1, MOST)
    if all is None:
        return [_one(question, exact)]
    oracle = _oracle(question, exact)
    if oracle is not None and len(oracle.other) == 1:
        return [question.result({}, None, 0)]
    found: list[tuple[Cube, int | None]]
    lower = 0
    if exact:
        assert oracle is not None
        proved = list(islice(_minimum(question, oracle), count))
        found, lower = list(proved), proved[0][1] if proved else 0
    else:
        found = [(cube, None) for cube in sorted(islice(_marco(question), count), key=question.weight)]
    more = len(found) < count and (question.deadline.passed or question.deadline.interrupted)
    return [replace(question.result(cube, oracle, lower, level=level), more=more) for cube, level in found]


def _one(question: _Question, exact: bool) -> Explanation:
    """One explanation: minimal, then lighter by hitting sets of blocks from words; if that leaves it open, by SAT."""
    best = _minimal(question)
    if question.instance.n > OPTIONS.length:
        best = _by_goals(question, best)
    found = Minimum(best, 0)
    if exact or question.instance.n <= OPTIONS.length:
        effort = OPTIONS.short_effort if question.instance.n <= OPTIONS.short else OPTIONS.effort
        limit = None if exact or question.deadline.moment is not None else effort
        rounds = OPTIONS.rounds * (10 if exact else 1)
        found = minimum(question.blocks, best, question.read, question.weights, rounds, limit)
        if found.cube is best and not found.complete and found.lower < question.weight(best):
            found = replace(found, cube=_by_goals(question, best))
    plain = question.result(found.cube, None, found.lower, found.certificate)
    if plain.minimum or question.deadline.passed or not (exact or question.instance.n <= OPTIONS.minimal_length):
        return plain
    with suppress(ResourceLimit), question.deadline.ends():
        return _by_sat(question, replace(found, certificate=plain.certificate), exact)
    return replace(plain, interrupted=question.deadline.interrupted)


def _by_sat(question: _Question, found: Minimum, exact: bool) -> Explanation:
    """The explanation that SAT makes of what the runs found: minimum, or one from which it can leave nothing out."""
    if exact and found.by_sat:
        return question.result(found.by_sat[0], None, found.lower)
    oracle = _oracle(question, exact)
    if exact and oracle is not None:
        if len(oracle.other) == 1:
            return question.result({}, None, 0)
        cube, lower = _confirmed_minimum(question, oracle)
        return question.result(cube, oracle, max(lower, found.lower))
    smaller = _smaller_by_sat(question, oracle, found.cube)
    certificate = found.certificate if smaller is found.cube else None
    return question.result(smaller, oracle, found.lower, certificate)


def _oracle(question: _Question, exact: bool) -> Oracle | None:
    """SAT on the cone under the given positions; where it is not ``exact`` that is asked for, only if it is cheap."""
    if not exact and question.instance.n > OPTIONS.minimal_length:
        return None
    try:
        return Oracle.of(question.instance, question.position, question.given, deadline=question.deadline)
    except ResourceLimit:
        if exact:
            raise
        return None


def _question_of(task: Task, x: str | Sequence[str], given: Iterable[int], weights: Mapping[int, int]) -> _Question:
    """Check what is particular to explanations."""
    at, word = input_of(task.instance.model, x)
    held = {}
    for i in given:
        if i not in word:
            raise UsageError(f"given position {i} is no position of the input (0..{at.n - 1} without the markers)")
        held[i] = word[i]
    for i, price in weights.items():
        if i not in word or price < 1:
            raise UsageError(f"weight {price} of position {i}: weights are positive, for positions of the input")
    return _Question(task, word, held, weights, np.random.default_rng(task.seed))


# ---------------------------------------------------------------- minimal


def _minimal(question: _Question) -> Cube:
    """The lightest of several subset-minimal explanations: by QuickXplain from left to right and back, from all of a
    short input, then by deletion at random from the part that the output reads. Any time: this part explains."""
    best, among, weights = question.part, question.blocks.among, question.weights
    with question.deadline.ends():
        for sign in (1, -1):
            question.task.tell("the first explanation", question.weight(best))
            order = sorted(among, key=lambda i: (weights.get(i, 1), sign * i))
            best = min(best, quickxplain(question.abstractly, among, order), key=question.weight)
        for _ in range(OPTIONS.long_orders if question.instance.n > OPTIONS.length else OPTIONS.orders):
            question.task.tell("orders of deletion", question.weight(best))
            found = shrink(question.abstractly, question.part, question.order(question.part))
            question.shrunk = True
            best = min(best, found, key=question.weight)
    return best


def _smaller_by_sat(question: _Question, oracle: Oracle | None, best: Cube) -> Cube:
    """Minimal for the model, not only for the abstract run: the lightest with a certificate, from ``best`` and all of
    ``x``."""
    if oracle is None or not best:
        return best
    other, cubes = oracle.other[question.label], [best]
    with question.deadline.ends():
        for turn in range(1 + OPTIONS.sat_orders):
            question.task.tell("deletion by SAT", question.weight(best))
            start = question.blocks.among if turn else best
            cubes.append(oracle.shrink(start, other, question.order(start)))
    lighter = sorted((c for c in cubes if question.weight(c) < question.weight(best)), key=question.weight)[:2]
    return next((c for c in lighter if question.certificate(question.given | c) is not None), best)


def _by_goals(question: _Question, best: Cube) -> Cube:
    """The lighter of an explanation and what the goal-directed search fixes, restricted to the input's symbols."""
    goal = output_goal(question.instance, question.position, lambda label: label == question.label)
    with question.deadline.ends():
        found = force(question.instance, goal, question.given, len(best) - 1, question.rng, symbols=question.word)
        goals = None if found is None else question.abstractly(found)
        if goals is not None:
            return min(best, shrink(question.abstractly, goals, question.order(goals)), key=question.weight)
    return best


def _marco(question: _Question) -> Iterator[Cube]:
    """Distinct subset-minimal explanations for the abstract run, until all are found or time is up. Only positions of
    explanations found get a variable, so the length does not matter: all others are always taken. A refused part is
    made maximal by taking back what it left out; what is left out then must be hit."""
    variables: dict[int, int] = {}
    with solvers.Solver("minisat22") as solver, question.deadline.ends():
        start = _minimal(question)
        while True:
            yield start
            question.task.tell("another explanation", question.weight(start))
            for i in start:
                variables.setdefault(i, len(variables) + 1)
            solver.add_clause([-variables[i] for i in start])
            solver.set_phases(list(variables.values()))
            found = _next_seed(question, solver, variables)
            if found is None:
                return
            start = shrink(question.abstractly, found, question.order(found))


def _next_seed(question: _Question, solver: solvers.Solver, variables: dict[int, int]) -> Cube | None:
    """A part of the input that explains and includes no explanation blocked before."""
    free = {i: a for i, a in question.word.items() if i not in question.given}
    while solver.solve():
        true = set(solver.get_model())
        out = [i for i, v in variables.items() if v not in true]
        found = question.abstractly({i: a for i, a in free.items() if i not in out})
        if found is not None:
            return found
        for i in question.order(out):
            if question.abstractly({j: a for j, a in free.items() if j == i or j not in out}) is None:
                out.remove(i)
        solver.add_clause([variables[i] for i in out])
    return None


# ---------------------------------------------------------------- minimum


def _minimum(question: _Question, oracle: Oracle) -> Iterator[tuple[Cube, int]]:
    """Explanations with the weight below which there is none, lightest first; in time, else a minimal one with the
    bound."""
    known, lower, found, hitter = _minimal(question), 0, False, Priced(question.weights, question.deadline)

    def propose() -> Cube | None:
        nonlocal lower
        question.task.tell(f"SAT, at least {lower}", question.weight(known))
        hit = hitter.get()
        if hit is None:
            return None
        lower = question.weight(hit)
        return {i: question.word[i] for i in hit}

    with question.deadline.ends():
        for cube in unmissed(propose, lambda cube: _add_blocks(question, oracle, cube, hitter)):
            found = True
            yield cube, lower
            if not cube:
                return
            hitter.block(cube)
        return
    if not found:
        yield known, min(lower, question.weight(known))


def _confirmed_minimum(question: _Question, oracle: Oracle) -> tuple[Cube, int]:
    """A minimum explanation, one that the abstract run confirms if there is one among the first."""
    answers = islice(_minimum(question, oracle), OPTIONS.confirm_tries)
    first, lower = next(answers)
    with question.deadline.ends():
        for cube, _ in chain([(first, lower)], answers):
            if question.weight(cube) > question.weight(first):
                break
            if question.abstractly(cube) is not None:
                return cube, lower
    return first, lower


def _add_blocks(question: _Question, oracle: Oracle, cube: Cube, hitter: Priced) -> bool:
    """Disjoint sensitive blocks that the cube does not hit; whether there are any."""
    agreed, other = set(cube), oracle.other[question.label]
    while (block := sensitive_block(oracle, question.word, agreed, other)) is not None:
        hitter.add(block)
        agreed.update(block)
    return len(agreed) > len(cube)
