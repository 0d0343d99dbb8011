"""Formulas as text for ltlf2dfa (Fuggitti 2019), which turns them into automata by MONA. A formula that looks left only
becomes one of its past language (PPLTL), true of a word where it is true at the last position; one that looks right
only becomes LTLf, true of a word where it is true at position 0. There a position may have any set of atoms, so the
text ends with a conjunct: exactly one symbol at each position."""

import re

from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.logic.formula import Formula
from restrict.logic.fragments import fragment
from restrict.logic.operators import MAX_TEXT, MIRROR, SYMBOL, Node

RESERVED = ("true", "false", "last", "start")
"""Words that ltlf2dfa reads as constants, and any word that begins so."""
BOOLEAN = {
    "true": "true",
    "false": "false",
    "not": "!({0})",
    "and": "({0}) & ({1})",
    "or": "({0}) | ({1})",
    "xor": "!(({0}) <-> ({1}))",
    "iff": "({0}) <-> ({1})",
    "implies": "({0}) -> ({1})",
}
LEFT = {
    "first": "!(Y(true))",
    "previous": "Y({0})",
    "weak previous": "!(Y(!({0})))",
    "once": "O({0})",
    "historically": "H({0})",
    "since": "({0}) S ({1})",
    "weak since": "(({0}) S ({1})) | (H({0}))",
    "trigger": "!((!({0})) S (!({1})))",
    "strong trigger": "!(((!({0})) S (!({1}))) | (H(!({0}))))",
}
RIGHT = {MIRROR[op]: text.translate(str.maketrans("YOHS", "XFGU")) for op, text in LEFT.items()}
FORALL = frozenset(f for op in ("historically", "weak since", "trigger") for f in (op, MIRROR[op]))
"""Operators that hold where there is no position to look at; strict ones begin one position further on."""


def atoms(alphabet: tuple[str, ...]) -> dict[str, str]:
    """The atom of each symbol: the symbol where ltlf2dfa can read it, else a new name of its number."""
    fits = re.compile(r"(?!" + "|".join(RESERVED) + r")[a-z][a-z0-9_]*")
    named = {s: s for s in alphabet if fits.fullmatch(s)}
    for a, symbol in enumerate(alphabet):
        name = f"s{a}"
        while symbol not in named and name in named.values():
            name += "_"
        named.setdefault(symbol, name)
    return named


def to_ltlf2dfa(formula: Formula, alphabet: tuple[str, ...]) -> str:
    """The formula as ltlf2dfa reads it, with exactly one symbol at each position. ``formula``: one that looks left
    only, or right only, and does not count. ``alphabet``: the symbols, each once; more than the formula names. Gives
    the text. Words satisfy it as they satisfy the formula at the last position, or, if it looks right, at 0."""
    if formula.counting:
        raise NotEstablished("ltlf2dfa has no formulas that count")
    past, future = fragment(formula).past, fragment(formula.mirror()).past
    if not past and not future:
        raise NotEstablished(
            f"the formula looks left and right ({fragment(formula).future}); ltlf2dfa reads one way only"
        )
    named = atoms(alphabet)
    texts: list[str] = []
    for node in formula.nodes:
        texts.append(_written(node, [texts[a] for a in node.args], named))
        if len(texts[-1]) > MAX_TEXT:
            raise ResourceLimit(f"the formula has more than {MAX_TEXT} characters as text")
    one = " | ".join(
        "(" + " & ".join(name if name == other else f"!({other})" for other in named.values()) + ")"
        for name in named.values()
    )
    return f"({texts[-1]}) & ({'H' if past else 'G'}({one}))"


def _written(node: Node, operands: list[str], named: dict[str, str]) -> str:
    if node.op == SYMBOL:
        return named.get(node.symbol, "false")
    strict, op = node.op.startswith("strict "), node.op.removeprefix("strict ")
    text = (BOOLEAN | LEFT | RIGHT)[op].format(*operands)
    if not strict:
        return text
    step = "Y" if op in LEFT else "X"
    return f"!({step}(!({text})))" if op in FORALL else f"{step}({text})"
