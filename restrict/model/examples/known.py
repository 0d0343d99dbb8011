"""Known optima: for built-in models, the fewest fixed positions that force the label at the last position.

The reasons are in instances/README.md (for AND-OR trees: forcing 1 costs the product of the AND fan-ins, forcing 0 that
of the OR fan-ins). A certificate of these models with c = 0 fixes at least so many positions: a lower bound at any n.
"""

import math
from collections.abc import Callable, Mapping

from restrict.base.errors import UsageError
from restrict.model.program import Model
from restrict.model.source import document_bytes
from restrict.model.task import Target

Options = Mapping[str, int]
Formula = Callable[[int, Options], int]


def _tree(n: int, options: Options) -> int:
    bottom, middle = options.get("bottom", 8), options.get("middle", 8)
    return min(middle, n // (bottom * middle) * bottom)


def _two(n: int, options: Options) -> int:
    """Two equal symbols; with one letter all symbols are equal, and the label is known."""
    return 0 if options.get("letters") == 1 else min(2, 2 * (n - 1))


OPTIMA: dict[str, Formula] = {
    **dict.fromkeys(("contains-one", "all-ones", "first-symbol", "q-then-u", "flip-flop"), lambda n, _: 1),
    **dict.fromkeys(("anbn", "dyck1-depth2", "dyck1-depth3"), lambda n, _: 1 - n % 2),
    **dict.fromkeys(("and-of-ors", "or-of-ands"), lambda n, _: math.isqrt(n)),
    **dict.fromkeys(("induction-head", "tagger"), _two),
    "alternating-tree": _tree,
    "tribes": lambda n, options: min(options.get("width", 8), n // options.get("width", 8)),
    "parity8": lambda n, options: options.get("width", 8),
    "parity-attempt": lambda n, options: min(options.get("layers", 4), n - 2),
}


def known_optimum(model: Model, n: int, target: Target = "last") -> int | None:
    """The fewest fixed positions that force the label at the last position; none is known of another ``target``.

    Gives the optimum (exact) where the model's bytes are those of a built-in one; else ``None``. Source:
    instances/README.md.
    """
    name, _, rest = model.name.partition(":")
    if name not in OPTIMA or model.content is None or target not in ("last", n - 1):
        return None
    try:
        if document_bytes(model.name) != model.content:
            return None
    except UsageError:
        return None
    model.at(n)
    options = dict(part.split("=") for part in rest.split(",")) if rest else {}
    return OPTIMA[name](n, {key: int(value) for key, value in options.items()})
