"""A covering problem as CNF. A variable for each literal (input, symbol) that occurs, at most one per input; a variable
for each larger cube, which implies its literals; a clause per pair. As an input has at most one literal, "at most B
inputs set" is a cardinality constraint on the literals, encoded by PySAT."""

from collections.abc import Iterable

import numpy as np

from restrict.base.arrays import I64, symbols_set
from restrict.cover.problem import CoverProblem


def encode(problem: CoverProblem, budget: int | None) -> tuple[list[list[int]], I64]:
    """Clauses, and the ascending literals ``input * symbols + symbol`` that occur: variable ``t + 1`` is
    ``literals[t]``; then come the cubes' variables, then the counter's, where a ``budget`` of inputs beyond the prior
    ones is given."""
    from pysat.card import CardEnc, EncType

    core = problem.core
    literals, index = np.unique(core.cube_lit, return_inverse=True)
    variable = (index + 1).tolist()
    clauses = _at_most_one(literals, core.symbols)
    top, name = len(literals), []
    for q in range(len(core.cube_pair)):
        part = variable[core.cube_ptr[q] : core.cube_ptr[q + 1]]
        if len(part) > 1:
            top += 1
            clauses += [[-top, l] for l in part]
            part = [top]
        name += part
    clauses += [name[a:b] for a, b in zip(core.pair_ptr[:-1], core.pair_ptr[1:], strict=True)]
    if budget == 0:
        clauses += [[-v] for v in range(1, len(literals) + 1)]
    elif budget is not None and budget < len(literals):
        every = list(range(1, len(literals) + 1))
        clauses += CardEnc.atmost(every, budget, top_id=top, encoding=EncType.seqcounter).clauses
    return clauses, literals


def _at_most_one(literals: I64, symbols: int) -> list[list[int]]:
    """No two of the (ascending) literals of one input, pair by pair."""
    from pysat.card import CardEnc, EncType

    _, first = np.unique(literals // symbols, return_index=True)
    groups = np.split(np.arange(1, len(literals) + 1), first[1:])
    several = (group.tolist() for group in groups if len(group) > 1)
    return [pair for group in several for pair in CardEnc.atmost(group, encoding=EncType.pairwise).clauses]


def assignment_of(problem: CoverProblem, literals: I64, model: Iterable[int]) -> I64:
    """The assignment (m,), -1 = free, that a model of the CNF shows; ``literals`` as :func:`encode` gives them. Gives
    int64, shape (m,): the symbol of each input, -1 where it is free; inputs set beforehand are -1, too."""
    held = literals[[v - 1 for v in model if 0 < v <= len(literals)]]
    return symbols_set(held, problem.inputs, problem.symbols)
