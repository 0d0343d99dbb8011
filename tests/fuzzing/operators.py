"""Operators that change files, listed by name, and what they choose by."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from numpy.random import Generator

Function = TypeVar("Function", bound=Callable[..., Any])


def pick(rng: Generator, choices: Iterable[Any]) -> Any:
    """One of the choices."""
    listed = list(choices)
    return listed[int(rng.integers(len(listed)))]


def listed_in(operators: dict[str, Any]) -> Callable[[Function], Function]:
    """A decorator that lists an operator under its name, spaces in place of underscores."""

    def operator(function: Function) -> Function:
        operators[function.__name__.replace("_", " ")] = function
        return function

    return operator
