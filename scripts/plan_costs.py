"""What a node costs, layer by layer, in the planner's own samples: why deep programs take so many positions.

    python scripts/plan_costs.py [MODEL ...] [-n 100000] [--seeds 10]

A row is a map of the model: the mean number of tokens of the cheapest *tree* of goals (nothing is shared) that keeps a
node of it to one value, over the sampled nodes and the values, and how many times the layer below that is. Every sample
is the best over all boxes and over the first pairs of each row as anchors, and so are those that it is drawn from: this
is what planning without any limit would find on average.
"""

from __future__ import annotations

import argparse
from statistics import mean

import numpy as np

import restrict
from restrict.force.plan import Planner
from restrict.force.state import ForcingState
from restrict.model.program import Map

MODELS = ("random:layers=5,heads=2,states=4", "random:layers=6,heads=2,states=2")


def costs(source: str, n: int, seeds: int) -> dict[str, float]:
    """The mean cost of one value by variable, over model seeds."""
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        instance = restrict.load(f"{source},seed={seed}").at(n)
        plans = Planner(ForcingState(instance), np.random.default_rng(seed), 10**6, lambda: False)
        for variable in instance.model.variables:
            if isinstance(variable, Map):
                every = plans.mean(variable.name)
                ones = [float(every[1 << value]) for value in range(instance.domains[variable.name])]
                found.setdefault(variable.name, []).append(mean(ones))
    return {name: mean(values) for name, values in found.items()}


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("-n", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    for source in args.models:
        print(f"{source}, n = {args.n}, {args.seeds} seeds")
        below = 1.0
        for name, cost in costs(source, args.n, args.seeds).items():
            print(f"  {name:4} {cost:7.1f} tokens for one value, {cost / below:4.2f} times the layer below")
            below = cost


if __name__ == "__main__":
    main()
