"""The options of the covering problem's solvers: :mod:`restrict.base.options` says what a row is."""

from dataclasses import dataclass

from restrict.base.options import HUGE, option


@dataclass
class CoverOptions:
    """Of the solvers and bounds. What is a function's default is read when it is defined."""

    price: float = option(6.0, 0, HUGE, "decimation: the price of a set input, in nats", 0)
    rounds: int = option(200, 1, HUGE, "its rounds", 1)
    first_sweeps: int = option(20, 0, HUGE, "its sweeps before the first", 0)
    sweeps: int = option(2, 0, HUGE, "and in each round", 0)
    steps: int = option(2048, 1, HUGE, "local search: steps between two looks at the clock")
    sample: int = option(64, 1, HUGE, "held literals of which the cheapest is dropped (best of a selection)", 1)
    readers: int = option(5_000, 0, HUGE, "limit: pairs that read an input of the conflict graph", 0)
    iterations: int = option(200, 0, HUGE, "iterations of its weights", 0)
    dual_steps: int = option(40, 1, HUGE, "primal-dual steps between two looks at the bound", 1)
    dual_looks: int = option(25, 0, HUGE, "looks in all", 0)
    patience: int = option(4, 1, HUGE, "and in a row without a better bound", 1)
    per_pair: int = option(5, 1, HUGE, "redraws per pair, at most by default")
    halvings: int = option(6, 0, HUGE, "bisections of the search for q", 0)
    small: int = option(600, 0, HUGE, "literals of all cubes up to which auto asks MaxSAT for the optimum", 0)
    moderate: int = option(20_000, 0, HUGE, "and up to which it asks SAT whether a budget can be met", 0)


COVER = CoverOptions()
