"""Random c-transformers: layer-0 activations that are random functions of up to c inputs, some inputs shared by many.

For tests and demonstrations of the Depth Reduction Lemma; the layers above are those of
:func:`restrict.model.examples.random.random_model`, with coarse scores where ties are wanted.
"""

from typing import Any

import numpy as np

from restrict.base.errors import UsageError
from restrict.depth_reduction.c_transformer.activations import Truth
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.model.examples.random import random_model
from restrict.model.fileformat import dumps, loads
from restrict.model.restriction import Restriction


def random_layers(
    rng: np.random.Generator, layers: int, heads: int, states: int, coarse: int | None = None
) -> dict[str, Any]:
    """The document of the layers above: a random model with output at every position whose alphabet is the values of
    the layer-0 activations; with ``coarse`` all scores are taken modulo it."""
    document = random_model(layers=layers, heads=heads, states=states, seed=int(rng.integers(1 << 30)), symbols=states)
    document["output"]["position"] = "every"
    for variable in document["variables"]:
        if variable["kind"] == "head":
            variable["score"] += "" if coarse is None else f" % {coarse}"
            variable["ties"] = ("left", "right")[int(rng.integers(2))]
            variable["mask"] = ("none", "none", "past", "strict_past", "future")[int(rng.integers(5))]
    return document


def random_truth(rng: np.random.Generator, n: int, c: int, symbols: int, states: int, shared: float) -> Truth:
    """Random tables over up to ``c`` of n inputs; the share ``shared`` of all wires comes from few popular inputs."""
    popular = rng.permutation(n)[: max(1, n // 8)]
    functions = []
    for _ in range(n):
        count = min(n, int(rng.integers(1, c + 1)))
        wires: list[int] = []
        while len(wires) < count:
            x = int(rng.choice(popular)) if rng.random() < shared else int(rng.integers(n))
            if x not in wires:
                wires.append(x)
            elif len(set(popular) - set(wires)) == 0:
                shared = 0.0
        functions.append((wires, rng.integers(0, states, symbols**count).tolist()))
    return Truth.make(functions)


def random_ctransformer(
    rng: np.random.Generator, n: int, c: int, *, layers: int = 1, heads: int = 1, states: int = 2, symbols: int = 2,
    shared: float = 0.3, fixed: float = 0.0, coarse: int | None = None,
) -> CTransformer:  # fmt: skip
    """A random c-transformer at length n under a random restriction.

    Args:
        rng: the source of randomness.
        n: the length.
        c: the most inputs of an activation.
        layers: layers above.
        heads: heads of each layer.
        states: values per activation.
        symbols: size of the input alphabet.
        shared: the share of wires from popular inputs, in [0, 1]; with it Stage 1 has work to do.
        fixed: the share of inputs fixed beforehand, in [0, 1].
        coarse: scores are taken modulo this number, which makes ties; ``None`` for none.

    Raises:
        UsageError: a size is below 1, or ``shared`` or ``fixed`` is outside [0, 1].
    """
    if min(n, c, layers, heads, states, symbols) < 1 or not 0 <= shared <= 1 or not 0 <= fixed <= 1:
        raise UsageError("sizes must be at least 1, shared and fixed between 0 and 1")
    document = random_layers(rng, layers, heads, states, coarse)
    instance = loads(dumps(document), "random c-transformer").at(n)
    letters = (
        tuple(chr(ord("a") + a) for a in range(symbols)) if symbols <= 26 else tuple(f"s{a}" for a in range(symbols))
    )
    rho = {i: letters[int(rng.integers(symbols))] for i in range(n) if rng.random() < fixed}
    return CTransformer.of_truth(
        instance, letters, random_truth(rng, n, c, symbols, states, shared), Restriction(n, rho)
    )
