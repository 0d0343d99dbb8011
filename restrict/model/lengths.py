"""At which lengths a model is defined: ``when`` holds, and no rule overflows, divides by 0 or leaves a domain. The
condition ``when`` is looked at first, since that is cheap; an instance is made only where it holds."""

from restrict.base.errors import ModelError
from restrict.model.program import Model
from restrict.model.rules import Formula
from restrict.model.variables import holds

SEARCHED = 4096
"""How many lengths are tried: rules of the all-lengths part tell at most so many classes of n apart, so one that is
defined at none of so many lengths in a row is defined at no later one, either."""


def least_length(model: Model, first: int, most: int = SEARCHED) -> int | None:
    """The least length from ``first`` on at which a model is defined: ``when``, overflow, divisors, domains. ``most``:
    how many lengths are tried, at least 1. Gives the length, in ``first .. first + most - 1``; ``None`` where it is
    defined at none of these. Cost: one look at ``when`` for each length, and an instance for each at which it holds."""
    for n in range(max(first, 1, len(model.markers)), first + most):
        if holds(model.when, n):
            try:
                model.at(n)
            except ModelError:
                continue
            return n
    return None


def why_not(model: Model, first: int) -> str:
    """What a message adds where a model is defined at no length from ``first`` on: what is wrong at one at which its
    condition holds, or that condition, if it holds at none."""
    for n in range(max(first, 1, len(model.markers)), first + SEARCHED):
        if holds(model.when, n):
            try:
                model.at(n)
            except ModelError as error:
                return f"; {error}"
    return f"; its condition is {model.when.text!r}" if isinstance(model.when, Formula) else ""
