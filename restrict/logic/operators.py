"""The operators of temporal logic: names, numbers of operands, mirror images, how tightly they bind, short forms."""

from dataclasses import dataclass

from restrict.base.scanner import Level
from restrict.logic.counting import RELATIONS, Inequality, NumericalPredicate

NULLARY = ("true", "false", "first", "last")
BOOLEAN = ("and", "or", "implies", "iff", "xor")
_MIRRORED = {
    "previous": "next", "weak previous": "weak next", "once": "eventually", "historically": "always",
    "strict once": "strict eventually", "strict historically": "strict always",
}  # fmt: skip
UNARY_TEMPORAL = (*_MIRRORED, *_MIRRORED.values())
_PAIRS = [
    ("since", "until"), ("weak since", "weak until"), ("trigger", "release"), ("strong trigger", "strong release"),
]  # fmt: skip
_MIRRORED |= {strict + past: strict + future for strict in ("", "strict ") for past, future in _PAIRS}
BINARY_TEMPORAL = tuple(op for pair in _MIRRORED.items() for op in pair if op not in UNARY_TEMPORAL)
MIRROR = _MIRRORED | {future: past for past, future in _MIRRORED.items()} | {"first": "last", "last": "first"}
"""Each operator with its mirror image (the word read backwards); those not listed are their own."""
PAST = frozenset(_MIRRORED)
"""The temporal operators that look left."""
SINCE: dict[str, tuple[bool, str | None, bool]] = {
    "since": (False, None, False),
    "weak since": (False, "or", True),
    "trigger": (True, None, True),
    "strong trigger": (True, "and", False),
}
"""Each as a look at the nearest position with a key, ``phi implies psi`` or (true) the reverse: the value there is psi
(``None``) or this operation on phi and psi; the last is what holds where nothing is in view."""
SYMBOL = "symbol"
COMPARE, PREDICATE = "compare", "predicate"
COUNTING = (COMPARE, PREDICATE)
"""The nodes that count: they take as many operands as they count formulas, and have a ``detail``."""
ARITY = {
    SYMBOL: 0,
    **dict.fromkeys(NULLARY, 0),
    **dict.fromkeys(("not", *UNARY_TEMPORAL), 1),
    **dict.fromkeys((*BOOLEAN, *BINARY_TEMPORAL), 2),
}
OPERATORS = tuple(ARITY)[1:]
"""Every operator by its full name, constants first."""


@dataclass(frozen=True)
class Node:
    """An operator, its operands' indices, an atom's symbol, and for a node that counts what is asked of the counts."""

    op: str
    args: tuple[int, ...] = ()
    symbol: str = ""
    detail: Inequality | NumericalPredicate | None = None


MAX_TEXT = 4_000_000
"""Characters of a formula, read or written."""

ALIASES = {
    **{"!": "not", "~": "not", "¬": "not", "&": "and", "&&": "and", "∧": "and", "|": "or", "||": "or", "∨": "or"},
    **{"^": "xor", "->": "implies", "→": "implies", "<->": "iff", "↔": "iff", "⊤": "true", "⊥": "false"},
    **{"Y": "previous", "Z": "weak previous", "O": "once", "H": "historically", "S": "since", "B": "weak since"},
    **{"X": "next", "N": "weak next", "F": "eventually", "G": "always", "U": "until", "W": "weak until"},
    **{"==": "=", "≤": "<=", "≥": ">=", "≠": "!=", "#": "#past"},
    **{"T": "trigger", "R": "release", "M": "strong release"},
}
"""Short forms; the letters are those of the literature."""
MODIFIERS = ("strict", "weak", "strong")
COUNTS = ("#past", "#future", "#all")
NUMERIC = (*RELATIONS, "+", "-", "*", "mod")
NUMERIC_UNARY = ("negate", *COUNTS, "predicate of")
"""Between and before numbers and counts, all tighter than what stands between formulas; no word here is reserved."""
LEVELS: tuple[Level, ...] = (
    ("left", ("iff",)), ("right", ("implies",)), ("same", ("or", "xor")), ("left", ("and",)),
    ("once", BINARY_TEMPORAL), ("prefix", ("not", *UNARY_TEMPORAL)), ("once", tuple(RELATIONS)), ("left", ("+", "-")),
    ("left", ("*", "mod")), ("prefix", ("negate",)), ("prefix", NUMERIC_UNARY[1:]),
)  # fmt: skip
LEVEL = {op: level for level, (_, ops) in enumerate(LEVELS) for op in ops}
"""How tightly operators bind."""
TIGHTEST = LEVEL["not"]
"""How tightly unary operators of formulas bind."""
_ENDINGS = {op.rpartition(" ")[2] for op in ARITY}
RESERVED = frozenset((*ALIASES, *MODIFIERS, *_ENDINGS)) - {SYMBOL}
"""Words that are operators unless they are quoted."""
