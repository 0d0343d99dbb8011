"""Temporal logic with past and future: parse, evaluate, and compile to hard-attention programs (docs/logic.md).

>>> from restrict.logic import compile_formula, evaluate
>>> evaluate("1 since 0", "1011").tolist()
[False, True, True, True]
>>> compile_formula("1 since 0", ["0", "1"]).run("1011").output
'accept'
"""

from restrict.logic.compiler import compile_formula
from restrict.logic.formula import Formula, apply, atom
from restrict.logic.operators import OPERATORS
from restrict.logic.parser import parse
from restrict.logic.printer import to_text
from restrict.logic.sample import random_formula
from restrict.logic.semantics import evaluate, evaluate_tokens, satisfies

__all__ = [
    "OPERATORS", "Formula", "apply", "atom", "compile_formula", "evaluate", "evaluate_tokens", "parse",
    "random_formula", "satisfies", "to_text",
]  # fmt: skip
