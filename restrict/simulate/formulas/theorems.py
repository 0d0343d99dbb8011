"""Which theorem of Yang, Strobl, Chiang & Angluin (2024) a compilation follows, and where there is no theorem."""

from restrict.base.errors import UsageError, quote
from restrict.logic.counting import NumericalPredicate, parsed
from restrict.logic.formula import Formula
from restrict.logic.fragments import Fragment, fragment
from restrict.simulate.formulas.patterns import HOWS, How

ENCODER = {
    "previous-next": "Theorem 12",
    "since-until": "Theorem 15",
    "temporal": "Corollary 17",
    "counting": "Theorem 20",
    "temporal-counting": "Corollary 22",
}
"""By fragment; case (a) is temperature scaling, (b) unbounded position embeddings."""
DECODER = {
    "previous-next": "Theorem 13",
    "since-until": "Theorem 16",
    "temporal": "Corollary 18",
    "counting": "Theorem 21",
    "temporal-counting": "Corollary 23",
}
"""By fragment, for the formulas that look left only. Those that count need temperature scaling."""
_CASES = {"temperature": "(a)", "positions": "(b)"}


def theorem(formula: Formula, how: How, decoder: bool) -> str:
    """The theorem, such as ``"Corollary 17 (a)"``, by which a formula is compiled with ``"temperature"`` or
    ``"positions"``; a decoder looks left only, and uses ``n`` in its temperature only."""
    if how not in HOWS:
        raise UsageError(f"how={quote(how)} is neither 'temperature' nor 'positions'")
    found = fragment(formula)
    if not decoder:
        return f"{ENCODER[found.name]} {_CASES[how]}"
    name = DECODER[found.name]
    _check_decoder(formula, found, name)
    if not formula.counting:
        letters = {"temperature": "(c)", "positions": "(d)"} if name == "Theorem 13" else _CASES
        return f"{name} {letters[how]}"
    if how == "positions":
        raise UsageError(
            f"the formula counts, and a decoder without temperature scaling has no theorem for that: {name} needs "
            '`how="temperature"`, Theorem 20 (b) needs an encoder'
        )
    return name


def _check_decoder(formula: Formula, found: Fragment, name: str) -> None:
    if not found.past:
        raise UsageError(
            f"{quote(found.future)} looks at later positions, which a future-masked decoder does not see ({name} is "
            f"about the past operators); compile without `decoder` ({ENCODER[found.name]})"
        )
    for node in formula.nodes:
        if isinstance(node.detail, NumericalPredicate) and "n" in parsed(node.detail.text).names:
            raise UsageError(
                f"the predicate {quote(node.detail.text)} mentions the length, which a decoder's position embeddings "
                f"may not depend on; compile without `decoder` ({ENCODER[found.name]})"
            )
