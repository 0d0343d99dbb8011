"""Random formulas of the logics of sections 4.1 to 4.5, which may count."""

from collections.abc import Sequence

import numpy as np

from restrict.logic.counting import DIRECTIONS, RELATIONS, Sum, compared, predicated
from restrict.logic.formula import Builder, Formula
from restrict.logic.operators import ARITY, BOOLEAN, COMPARE, MIRROR, PAST, PREDICATE, SYMBOL

_NEIGHBOURS = ("previous", "weak previous", "next", "weak next")
_SINCES = tuple(op for op in MIRROR if ARITY[op] and not op.startswith("strict ") and op not in _NEIGHBOURS)
_STRICT = tuple(op for op in MIRROR if op.startswith("strict "))
_CHOICES = {
    "previous-next": _NEIGHBOURS, "since-until": _SINCES, "temporal": (*_NEIGHBOURS * 2, *_SINCES, *_STRICT),
    "counting": (COMPARE, PREDICATE), "temporal-counting": (*_NEIGHBOURS, *_SINCES, *(COMPARE, PREDICATE) * 6),
}  # fmt: skip
_TEXTS = ("x % 2 == 1", "x % 3 == 0", "x == 2", "x >= 3", "x * x == 4 or x == 0", "x % 2 == n % 2", "2 * x > n")


def random_in(
    rng: np.random.Generator, alphabet: Sequence[str], operators: int, fragment: str, *, past: bool = False
) -> Formula:
    """A random formula of one of the logics of sections 4.1 to 4.5 (:mod:`restrict.logic.fragments`). ``alphabet``: the
    symbols, at least one. ``operators``: how many operators, at least 0."""
    special = [op for op in _CHOICES[fragment] if not past or op in PAST or op in (COMPARE, PREDICATE)]
    builder = Builder()

    def pick(values: Sequence[str]) -> str:
        return values[int(rng.integers(len(values)))]

    def leaf() -> int:
        return builder.add(SYMBOL, (), pick(alphabet)) if rng.random() < 0.95 else builder.add(pick(("true", "false")))

    def counting(op: str) -> int:
        def count() -> Sum:
            direction = "past" if past else pick(DIRECTIONS)
            return Sum((((pool.pop(int(rng.integers(len(pool)))) if pool else leaf(), direction), 1),))

        if op == COMPARE:
            total = Sum((), int(rng.integers(-2, 3)))
            for _ in range(int(rng.integers(1, 3))):
                total = total.plus(count(), int(rng.choice([-2, -1, 1, 1, 2])))
            detail, counted = compared(total, pick(tuple(RELATIONS)), Sum())
            return builder.add(COMPARE, counted, detail=detail)
        true = builder.add("true")
        argument = Sum((((true, "past"), 1),), -1) if rng.random() < 0.3 else count()
        asked, counted = predicated(pick(_TEXTS[:5] if past else _TEXTS), argument, true)
        return builder.add(PREDICATE, counted, detail=asked)

    pool = [leaf()]
    for _ in range(operators):
        op = pick(special) if rng.random() < 0.6 else pick(("not", *BOOLEAN))
        if op in (COMPARE, PREDICATE):
            pool.append(counting(op))
            continue
        while len(pool) < ARITY[op]:
            pool.append(leaf())
        pool.append(builder.add(op, [pool.pop(int(rng.integers(len(pool)))) for _ in range(ARITY[op])]))
    return builder.formula(pool[-1])
