"""Star-free languages as formulas: equal to a regular expression on all short words."""

import itertools
import re

import numpy as np
import pytest

from restrict import compile_formula
from restrict.base.arrays import all_words
from restrict.logic import evaluate_tokens, parse
from restrict.model.trace import run_batch

ODD = "0*1(?:0*10*1)*0*"
ODD_OF_FIVE = f"(?=.{{0,4}}$){ODD}|.*(?=.{{5}}$){ODD}"

# name: alphabet, formula, where it is read, regular expression of the non-empty words
LANGUAGES = {
    "1*": ("01", "historically 1", "last", "1*"),
    "1*, from the front": ("01", "always 1", "first", "1*"),
    "contains 11": ("01", "once (1 and previous 1)", "last", ".*11.*"),
    "contains 11, from the front": ("01", "F (1 & X 1)", "first", ".*11.*"),
    "no two consecutive ones": ("01", "historically (1 implies weak previous 0)", "last", "(0|10)*1?"),
    "(ab)*": ("ab", "b & H((a -> Z b) & (b -> Y a))", "last", "(ab)*"),
    "(ab)*, from the front": ("ab", "a & G((a -> X b) & (b -> N a))", "first", "(ab)*"),
    "a*b*": ("ab", "historically (a implies historically a)", "last", "a*b*"),
    "a*b*, by weak until": ("ab", "a weak until always b", "first", "a*b*"),
    "ends with a": ("ab", "a", "last", ".*a"),
    "starts with a": ("ab", "a", "first", "a.*"),
    "starts with a, read at the end": ("ab", "once (a and first)", "last", "a.*"),
    "first = last": ("ab", "a iff once (first and a)", "last", "a|b|a.*a|b.*b"),
    "a then never b": ("ab", "once (a and always a)", "last", ".*a"),
    "b since a": ("ab", "b since a", "last", ".*ab*"),
    "second to last is a": ("ab", "previous a", "last", ".*a."),
    "aab somewhere": ("ab", "eventually (a and next (a and next b))", "first", ".*aab.*"),
    "exactly one 1": ("01", "once 1 and historically (1 implies strict historically 0)", "last", "0*10*"),
    "at least two ones": ("01", "strict once 1 and 1 or once (1 and strict once 1)", "last", ".*1.*1.*"),
    "even positions free, short": ("01", "previous previous previous first", "last", "...."),
    "flip-flop": ("wsr", "(not s) since w", "last", "[wsr]*w[wr]*"),
    "a before b before c": ("abc", "once (c and once (b and once a))", "last", ".*a.*b.*c.*"),
    "a*b*c*": ("abc", "H((a -> H a) & (b -> H !c))", "last", "a*b*c*"),
    "(abc)*": ("abc", "c & H((a -> Z c) & (b -> Y a) & (c -> Y b))", "last", "(abc)*"),
    "balanced, depth 1": ("()", "')' & H(('(' -> Z ')') & (')' -> Y '('))", "last", r"(\(\))*"),
    "odd among the last five": (
        "01",
        f"1 xor ({' xor '.join('Y ' * p + '1' for p in range(1, 5))})",
        "last",
        ODD_OF_FIVE,
    ),
    "everything": ("01", "true", "last", ".*"),
    "nothing": ("01", "false", "last", "(?!)"),
}


def words(alphabet: str, n: int) -> list[str]:
    return ["".join(w) for w in itertools.product(alphabet, repeat=n)]


@pytest.mark.parametrize("name", LANGUAGES)
def test_formula_is_the_regular_expression(name: str) -> None:
    alphabet, formula, at, pattern = LANGUAGES[name]
    symbols = list(alphabet)
    model = compile_formula(formula, symbols, at=at)
    parsed = parse(formula, symbols)
    language = re.compile(pattern)
    for n in range(1, 9 if len(alphabet) == 2 else 7):
        member = [bool(language.fullmatch(word)) for word in words(alphabet, n)]
        tokens = all_words(len(alphabet), n)
        assert evaluate_tokens(parsed, tokens, symbols)[:, -1 if at == "last" else 0].tolist() == member
        values = run_batch(model.at(n), tokens).values[model.output.variable][:, -1]
        assert np.isin(values, sorted(model.output.accept or ())).tolist() == member
