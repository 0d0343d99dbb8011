"""Random lengths, restrictions and cones for a model."""

from typing import Any

from numpy.random import Generator

from restrict.model.program import Instance
from tests import naive
from tests.generator.draft import LONGEST


def shortest(model: dict[str, Any]) -> int:
    """The least length that the markers allow."""
    return 2 if "start_marker" in model and "end_marker" in model else 1


def lengths(model: dict[str, Any], most: int = LONGEST) -> list[int]:
    """The lengths up to ``most`` at which the model is defined."""
    return [n for n in range(shortest(model), most + 1) if naive.defined(model, n)]


def random_length(rng: Generator, model: dict[str, Any], most: int = LONGEST) -> int:
    """A length of at most ``most`` at which the model (made without ``n``) is defined."""
    known = lengths(model, most)
    return known[int(rng.integers(len(known)))]


def random_restriction(rng: Generator, model: dict[str, Any], n: int, most_inputs: int = 300) -> dict[int, str]:
    """A random restriction with at most ``most_inputs`` consistent inputs."""
    alphabet = model["alphabet"]
    free = naive.letters(model, n)
    share = rng.random()
    fixed = [i for i in free if rng.random() < share]
    left = [i for i in free if i not in fixed]
    while len(alphabet) ** len(left) > most_inputs:
        fixed.append(left.pop(int(rng.integers(len(left)))))
    return {i: str(alphabet[int(rng.integers(len(alphabet)))]) for i in sorted(fixed)}


def random_tokens(rng: Generator, at: Instance, share: float) -> dict[int, int]:
    """About this share of the positions without a marker, with the numbers of random symbols."""
    return {i: int(rng.integers(len(at.model.alphabet))) for i in at.unpinned if rng.random() < share}


def random_cone(rng: Generator, model: dict[str, Any], n: int) -> str | dict[str, list[list[int]]]:
    """``"all"``, or run lists for some of the variables; neighbouring runs are not always joined."""
    if rng.random() < 0.4:
        return "all"
    share = rng.random() ** 0.3
    cone = {}
    for variable in model["variables"]:
        runs: list[list[int]] = []
        for i in range(n):
            if rng.random() < share:
                if runs and sum(runs[-1]) == i and rng.random() < 0.7:
                    runs[-1][1] += 1
                else:
                    runs.append([i, 1])
        if runs:
            cone[variable["name"]] = runs
    return cone
