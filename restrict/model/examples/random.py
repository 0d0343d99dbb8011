"""Random transformers of Hahn's form: one activation per position and layer, independent random scores and
position-wise maps.

Every score and every map value is a ``hash`` of its arguments, so the file of a model is short whatever the length.
"""

from collections.abc import Iterator
from typing import Any

from restrict.base.errors import UsageError
from restrict.model.brackets import bracket_alphabet
from restrict.model.document import head, mapped, model

MOST_VARIABLES, MOST_SYMBOLS = 4_096, 65_536
"""Limits of the format."""


def random_model(
    layers: int = 2,
    heads: int = 2,
    states: int = 4,
    seed: int = 0,
    symbols: int = 2,
    classes: int = 2,
    every: int = 0,
    brackets: int = 0,
) -> dict[str, Any]:
    """The document of a random model.

    Layer ``l``: head ``h`` at ``i`` attends by ``hash(seed, 2l, h, i, q, j, k)`` from and to the activations of layer
    ``l-1`` (layer 0 is the token), and the new activation is ``hash(seed, 2l+1, i, old, head values...) mod states``;
    in the last layer mod ``classes``, which is the output. ``layers``: at least 1; ``layers * (heads + 1)`` may be at
    most 4096; ``heads``: heads per layer; ``states``: values per activation, at least 1; ``seed``: of the hashed
    constants, at least 0; ``symbols``: the size of the alphabet, 1 .. 65536; not read where there are ``brackets``;
    ``every``: 1: an output at every position; 0: at the last one; ``brackets``: types of bracket, 1 .. 64: the alphabet
    of a Dyck language; 0: digits or other symbols.
    """
    size = layers * (heads + 1)
    if size > MOST_VARIABLES or max(symbols, brackets) > MOST_SYMBOLS:
        raise UsageError(
            f"random: layers * (heads + 1) = {size} may be at most {MOST_VARIABLES}, symbols at most {MOST_SYMBOLS}"
        )
    variables = list(_layers(layers, heads, states, seed, classes))
    alphabet = [str(a) for a in range(symbols)] if symbols <= 10 else [f"s{a}" for a in range(symbols)]
    kind = f"symbols={symbols},classes={classes}"
    if brackets:
        alphabet, kind = list(bracket_alphabet(brackets)), f"classes={classes},brackets={brackets}"
    name = f"random:layers={layers},heads={heads},states={states},seed={seed},{kind}{',every=1' * bool(every)}"
    output = {"variable": variables[-1]["name"], "position": "every" if every else "last"}
    output |= {"accept": [1]} if classes == 2 else {}
    about = "a random hard-attention transformer with independent hashed scores"
    return model(name, about, alphabet, variables, output)


def _layers(layers: int, heads: int, states: int, seed: int, classes: int) -> Iterator[dict[str, Any]]:
    """The variables of all layers, heads before the map that reads them."""
    below = "token"
    for layer in range(1, layers + 1):
        names = [f"a{layer}_{h}" for h in range(heads)]
        for h, name in enumerate(names):
            score = f"hash({seed}, {2 * layer}, {h}, i, q, j, k)"
            yield head(name, query=below, key=below, value=below, score=score)
        size = classes if layer == layers else states
        args = [below, *names]
        rule = f"hash({seed}, {2 * layer + 1}, i, {', '.join(args)}) % {size}"
        below = f"y{layer}"
        yield mapped(below, args, size, rule)
