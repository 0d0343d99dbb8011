"""Random formulas of a given size, for tests and experiments."""

from collections.abc import Sequence

import numpy as np

from restrict.base.errors import UsageError
from restrict.logic.formula import Builder, Formula
from restrict.logic.operators import ARITY, NULLARY, OPERATORS, SYMBOL

DEFAULT = tuple(op for op in OPERATORS if op not in NULLARY)


def random_formula(
    rng: np.random.Generator,
    alphabet: Sequence[str],
    operators: int,
    choose: Sequence[str] = DEFAULT,
    constants: float = 0.05,
) -> Formula:
    """A formula with exactly ``operators`` operators.

    Operators are put one after the other on top of random parts of what is there, so deep and broad formulas both
    occur. ``alphabet``: the symbols, at least one. ``operators``: how many operators, at least 0. ``constants``: 0 ..
    1, the probability that a leaf is one of true, false, first and last, and no symbol. Result: the formula. Equal
    subformulas share nodes, so it may have fewer nodes than operators."""
    if not alphabet or operators < 0 or any(ARITY.get(op, 0) == 0 for op in choose) or not (choose or operators == 0):
        raise UsageError("random_formula needs symbols, operators >= 0 and the names of unary or binary operators")
    ops = [choose[int(rng.integers(len(choose)))] for _ in range(operators)]
    builder = Builder()

    def leaf() -> int:
        if rng.random() < constants:
            return builder.add(NULLARY[int(rng.integers(len(NULLARY)))])
        return builder.add(SYMBOL, (), alphabet[int(rng.integers(len(alphabet)))])

    pool = [leaf() for _ in range(1 + sum(ARITY[op] == 2 for op in ops))]
    for op in ops:
        args = [pool.pop(int(rng.integers(len(pool)))) for _ in range(ARITY[op])]
        pool.append(builder.add(op, args))
    return builder.formula(pool[0])
