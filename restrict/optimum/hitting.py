"""Forcing one label as a hitting set problem: the cubes known so far, and the restrictions that conflict with them all.
A restriction is proposed by an incremental SAT solver with a totalizer, within a bound on its size; what it misses is a
cube that it does not conflict with (:mod:`restrict.optimum.exact` has the theorem)."""

from __future__ import annotations

import itertools

import numpy as np
from pysat import solvers
from pysat.card import ITotalizer

from restrict.optimum.oracle import Cube, Oracle
from restrict.sat.limit import Budget, ask


class Problem:
    """Forcing one label: the cubes so far, the hitting sets that they leave, and the lower bound."""

    def __init__(self, oracle: Oracle, label: str) -> None:
        self.oracle, self.label, self.lower, self.cubes = oracle, label, 0, list[Cube]()
        self.same, self.other = oracle.same[label], oracle.other[label]
        self.inputs, self.deadline = oracle.inputs, oracle.deadline
        self.symbols = {i: list(oracle.code.values["token", i]) for i in self.inputs}
        self.element = {pair: t for t, pair in enumerate(((i, a) for i in self.inputs for a in self.symbols[i]), 1)}
        fixed = {i: len(self.element) + t for t, i in enumerate(self.inputs, 1)}
        self.count = ITotalizer(list(fixed.values()), ubound=len(fixed), top_id=len(self.element) + len(fixed))
        self.solver = solvers.Solver("glucose4", bootstrap_with=self.count.cnf.clauses)
        for (i, _), z in self.element.items():
            self.solver.add_clause([-z, fixed[i]])
        for i, symbols in self.symbols.items():
            for a, b in itertools.combinations(symbols, 2):
                self.solver.add_clause([-self.element[i, a], -self.element[i, b]])

    def opposing(self, i: int, symbol: int) -> list[int]:
        """The other symbols at a position."""
        return [a for a in self.symbols[i] if a != symbol]

    def add(self, cube: Cube) -> None:
        """Demand that the restriction conflicts with a cube."""
        self.cubes.append(cube)
        self.solver.add_clause([self.element[i, b] for i, a in cube.items() for b in self.opposing(i, a)])
        if not cube:
            self.lower = len(self.inputs) + 1

    def block(self, h: Cube) -> None:
        """Rule out every hitting set that contains ``h``."""
        self.solver.add_clause([-self.element[i, a] for i, a in h.items()])

    def hit(self, most: int | None = None, budget: Budget | None = None) -> Cube | None:
        """A hitting set of few elements. ``most``: how many elements, at most; ``None``: ``lower``; ``budget``: of
        conflicts; ``None``: without limit. Gives the set, or ``None`` where there is none."""
        most = self.lower if most is None else most
        bound = [-self.count.rhs[most]] if most < len(self.inputs) else []
        if most > len(self.inputs) or not ask(self.solver, bound, self.deadline, budget):
            return None
        true = set(self.solver.get_model())
        return {i: a for (i, a), z in self.element.items() if z in true}

    def missed(self, h: Cube, rng: np.random.Generator) -> Cube | None:
        """A subset-minimal cube that a restriction does not meet, now added; ``None``: it forces the label (exact)."""
        x = self.oracle.find(h, self.other)
        if x is None:
            return None
        self.add(cube := self.oracle.shrink(x, self.same, _order(x, rng)))
        return cube

    def dive(self, h: Cube, rng: np.random.Generator, most: int | None = None) -> Cube | None:
        """Let a restriction conflict with the cubes that it misses, one after another, until it forces the label. Gives
        a subset-minimal part that forces the label; ``None`` where ``h`` forces another one, or has grown too far."""
        while (cube := self.missed(h, rng)) is not None:
            new = [i for i in cube if i not in h]
            if not new or (most is not None and len(h) >= most):
                return None
            for i in new if most is None else [new[int(rng.integers(len(new)))]]:
                choices = self.opposing(i, cube[i])
                h[i] = choices[int(rng.integers(len(choices)))]
        return self.oracle.shrink(h, self.other, _order(h, rng))


def _order(cube: Cube, rng: np.random.Generator) -> list[int]:
    """The cube's positions in random order."""
    return [int(i) for i in rng.permutation(sorted(cube))]
