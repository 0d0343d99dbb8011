"""Which labels are possible at one position under a partial input, decided by SAT on the cone's CNF. Maps that are too
wide to be written out (:class:`restrict.optimum.cnf.WideMap`) are left open at first: an answer that the model does not
confirm adds the clauses that it breaks, and SAT is asked again (counterexample-guided abstraction refinement; Clarke et
al., CAV 2000). "No input" is right at any moment, since an open map only admits more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import count

from pysat import solvers

from restrict.base.deadline import NEVER, Deadline
from restrict.base.errors import InternalError
from restrict.force.looking import Looking
from restrict.force.minimise import shrink
from restrict.model.on_demand import OnDemandRun
from restrict.model.program import Instance
from restrict.model.restriction import Restriction
from restrict.optimum.cnf import Encoding, encode
from restrict.sat.limit import Budget, ask

Cube = dict[int, int]
"""Positions with symbol indices."""


class Oracle:
    """Which labels are possible at one position under partial inputs, decided by SAT on the cone's CNF. A *selector*
    (``self.same[L]``, ``self.other[L]``) is a literal that demands the label ``L``, or another one."""

    def __init__(self, code: Encoding, position: int, deadline: Deadline = NEVER) -> None:
        self.code, self.inputs, self.deadline = code, code.inputs, deadline
        self.solver = solvers.Solver("glucose4", bootstrap_with=code.clauses)
        self.same, self.other = dict[str, int](), dict[str, int]()
        self.demands: dict[int, tuple[str, bool]] = {}
        shown = code.labels(position)
        for same, (label, literals) in zip(count(code.top + 1, 2), shown.items(), strict=False):
            self.same[label], self.other[label] = same, same + 1
            self.demands |= {same: (label, True), same + 1: (label, False)}
            self.solver.add_clause([-same, *literals])
            self.solver.add_clause([-same - 1, *(y for other in shown if other != label for y in shown[other])])
        self.position = position
        self.place = {abs(y): i for i in self.inputs for y in code.values["token", i].values()}

    @classmethod
    def of(
        cls, instance: Instance, position: int, fixed: Mapping[int, int] | None = None, *,
        deadline: Deadline = NEVER, most: int | None = None,
    ) -> Oracle:  # fmt: skip
        """The oracle of the output at a position where some positions are fixed; at most so many clauses."""
        code = encode(instance, Restriction.of(instance, dict(fixed or {})), [position], most)
        return cls(code, position, deadline)

    @cached_property
    def runs(self) -> Looking:
        """Runs of the instance at the position."""
        return Looking(self.code.instance, self.position)

    @property
    def top(self) -> int:
        """The largest variable in use."""
        return self.code.top + 2 * len(self.same)

    def find(
        self, cube: Mapping[int, int], selector: int, more: Iterable[int] = (), budget: Budget | None = None
    ) -> Cube | None:
        """The symbols at ``inputs`` of an input that agrees with the cube and is selected, or ``None`` (exact). Cost: a
        SAT call, and one for each round of refinement of wide maps; ``OutOfTime``: the budget is spent."""
        assumed = [self.code.token_lit(i, a) for i, a in cube.items() if ("token", i) in self.code.values]
        while ask(self.solver, [selector, *assumed, *more], self.deadline, budget):
            true = set(self.solver.get_model())
            x = {i: self.code.symbol(i, true) for i in self.inputs}
            if not self.code.wide or self._selected(x, selector):
                return x
            clauses = self.code.refuting(true)
            if not clauses:
                raise InternalError("internal disagreement: the formula and the model; please report the model")
            for clause in clauses:
                self.solver.add_clause(clause)
        return None

    def _selected(self, x: Cube, selector: int) -> bool:
        """Whether an input has the label that a selector demands, by running the model: the abstract run is exact on a
        word, and orders rows once for all of them."""
        label, same = self.demands[selector]
        code = self.code
        word = dict.fromkeys(code.instance.unpinned, 0) | code.restriction.tokens(code.instance.model) | x
        labels = self.runs.labels(word)
        if len(labels) > 1:  # an image was too large for the abstract run
            labels = {OnDemandRun(code.instance, [word[i] for i in code.instance.unpinned]).label(self.position)}
        return (labels == {label}) == same

    def core(self, cube: Cube) -> Cube:
        """The part of the cube that the last negative answer of :meth:`find` used."""
        used = {self.place[abs(y)] for y in self.solver.get_core() or () if abs(y) in self.place}
        return {i: a for i, a in cube.items() if i in used}

    def shrink(self, cube: Cube, selector: int, order: Iterable[int]) -> Cube:
        """A subset-minimal part of the cube under which nothing is selected. Cost: one SAT call per position of the
        first core. ``order``: the positions, in the order in which they are left out, where that is possible."""
        if self.find(cube, selector) is not None:
            raise ValueError("the cube does not exclude the selector")
        return shrink(
            lambda rest: self.core(rest) if self.find(rest, selector) is None else None, self.core(cube), order
        )
