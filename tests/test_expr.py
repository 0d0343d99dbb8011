"""Expressions: the grammar of docs/format.md and nothing beyond it, honest intervals, a register machine that agrees.

The oracles are `tests/naive.py` for values and `restrict/checker` for what is refused.
"""

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from restrict.base.arrays import MAX64, MIN64
from restrict.base.errors import ModelError
from restrict.model import code as E
from restrict.model.expr import SCALAR, Expr, bind, const, name, signed, substitute, table
from restrict.model.expr_parser import parse
from restrict.model.interval import interval
from restrict.model.program import at_length
from restrict.model.rules import evaluate
from tests import naive
from tests import trusted as check
from tests.expression_values import ENV, REFUSED, VALUES, random_text
from tests.marks import heavy_after

NAMES = ("n", "i", "j", "q", "k")
ALLOWED = frozenset(NAMES)
PLACE = check.Place("test")


def value(text: str) -> int:
    """The value at `ENV`: folded to a constant, by the register machine, and by the checker, whichever names are bound
    before; all of them agree."""
    tree, theirs = parse(text, ALLOWED), check.parse(text, PLACE, ENV)
    points = {letter: np.array([number], dtype=np.int64) for letter, number in ENV.items()}
    results = evaluate(tree, points, 1).tolist() + evaluate(bind(tree, **ENV), {}, 1).tolist()
    for kept in ([], ["j", "k"], ["n", "i", "j", "q", "k"]):
        bound = check.bind(theirs, {name: at for name, at in ENV.items() if name not in kept}, kept)
        results.append(bound(tuple(ENV[name] for name in kept)))
    assert {*map(type, results)} == {int}
    (result,) = set(results)
    return int(result)


def refusal(text: str) -> str:
    with pytest.raises(ModelError) as caught:
        parse(text, ALLOWED)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---------------------------------------------------------------- the grammar


@pytest.mark.nojit
@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_an_expression_has_the_value_that_the_grammar_gives_it(text: str, expected: int) -> None:
    assert value(text) == expected == naive.evaluate(text, ENV)


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_grammar_does_not_give_is_refused_here_and_by_the_checker(text: str) -> None:
    message = refusal(text)
    with pytest.raises(check.Reject) as caught:
        check.parse(text, PLACE, ENV)
    assert caught.value.code == 4
    assert text[:20].strip() in message or repr(text)[1:20] in message, message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("k ** 2", "'k ** 2'"), ("k.real", 'found "."'), ("1_000", "'1_000'"),
        ("frog + 1", "unknown name 'frog' in 'frog + 1'; here one may use i, j, k, n, q"),
        ("min(k)", "'min(k)' does not parse: wrong number of arguments of min"),
        ("abs(k, 1)", "wrong number of arguments of abs"), ("9223372036854775808", "9223372036854775808"),
        ("(k", "'(k' does not parse"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_text_and_the_reason(text: str, reason: str) -> None:
    assert reason in refusal(text)


def test_an_expression_has_at_most_10000_characters() -> None:
    longest = "k" + " " * 9_999
    assert value(longest) == 2
    message = refusal(longest + " ")
    assert "10001 characters" in message
    assert "10000" in message


DEEPER = (
    """
-{} | not {} | abs({}) | (1 + {}) | {} + k | {} * 2 | min(k, {}) | (1 if {} else 0) | 1 if 1 else {}
{} and k | {} or 1 | (({}) < 1)
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)


def deep(deepen: str, height: int) -> str:
    """A text whose tree has this height."""
    text = "k"
    for _ in range(height - 1):
        text = deepen.format(text)
    return text


@pytest.mark.parametrize("deepen", DEEPER)
def test_a_syntax_tree_has_height_50_at_most(deepen: str) -> None:
    """Redundant parentheses count as nesting, too."""
    most = 50 if "((" not in deepen else 25
    if most == 50:
        assert check.parse(deep(deepen, 50), PLACE, ENV).height == 50
    assert both_accept(deep(deepen, most - 1))
    assert not both_accept(deep(deepen, 51))
    with pytest.raises(check.Reject, match="50 deep"):
        check.parse(deep(deepen, 51), PLACE, ENV)
    assert "nested at most 50 deep" in refusal(deep(deepen, 51))
    assert len(refusal(deep(deepen, 190))) < 200
    assert refusal(deep(deepen, 900))


LONG_BUT_FLAT = [
    "0" + " < 1" * 60,
    "0 <= " + " <= ".join(["k"] * 1000),
    f"hash({', '.join(['k'] * 60)})",
    f"min({', '.join(['k'] * 60)})",
]


@pytest.mark.parametrize("text", LONG_BUT_FLAT)
def test_a_chain_and_a_call_are_one_node_however_long(text: str) -> None:
    assert both_accept(text)
    assert value(text) == naive.evaluate(text, ENV)


@pytest.mark.parametrize(
    ("text", "good"),
    [("(min)(1, 2)", False), ("(" * 60 + "k" + ")" * 60, False), ("1 if 1else 2", True), ("1or 2", True)],
)
def test_the_parser_and_the_checker_agree_on_texts_at_the_border_of_the_grammar(text: str, good: bool) -> None:
    assert both_accept(text) == good


def both_accept(text: str) -> bool:
    """Whether the parser, and so the checker, accepts a text."""
    parsed = outcome(parse, text, ALLOWED) is not None
    assert parsed == (outcome(check.parse, text, PLACE, ENV) is not None)
    return parsed


def test_hash_keeps_its_values() -> None:
    kept = [4872670651398851701, 7288839793402251092, 5609477494364669749]
    assert [value(text) for text in ("hash(0)", "hash(1, 2)", "hash(-1)")] == kept


# ---------------------------------------------------------------- random expressions


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or None where it is refused."""
    try:
        return function(*arguments)
    except (ModelError, check.Reject):
        return None


@pytest.mark.nojit
@pytest.mark.parametrize("chunk", heavy_after(range(4), 1))
def test_random_expressions_have_the_meaning_of_the_format(chunk: int) -> None:
    """What is refused, intervals, and values within them: by the register machine and by the checker, with some names
    bound before, all are those of Python's grammar with the format's meaning."""
    rng, compared = random.Random(chunk), 0
    many = 3000 if chunk > 1 else 600
    for _ in range(many):
        text = random_text(rng, 4)
        mine, theirs = outcome(parse, text, ALLOWED), outcome(check.parse, text, PLACE, ENV)
        assert (mine is None) == (theirs is None), text
        if theirs is None:
            # The grammar is smaller than Python's: for example "1 + not 2" or "- not 2" is in neither.
            assert "not" in text or "if" in text or "-" in text, text
            continue
        spans = {name: (low, low + rng.randint(0, 3)) for name in NAMES for low in [rng.randint(-2, 6)]}
        span = outcome(interval, mine, spans)
        assert span == outcome(check.interval, theirs, spans, PLACE), text
        if span is None:
            continue
        compared += 1
        points = [{name: rng.randint(*spans[name]) for name in NAMES} for _ in range(3)]
        expected = [naive.evaluate(text, point) for point in points]
        assert span[0] <= min(expected) <= max(expected) <= span[1], text
        columns = {name: np.array([point[name] for point in points], dtype=np.int64) for name in mine.names}
        assert evaluate(mine, columns, 3).tolist() == expected, text
        early = bind(mine, **{name: points[0][name] for name in NAMES[: rng.randint(0, 5)]})
        assert evaluate(bind(early, **points[0]), {}, 1).tolist() == expected[:1], text
        for kept in ([], ["j", "k"], list(NAMES)):
            known = {name: value for name, value in points[0].items() if name not in kept}
            found = check.bind(theirs, known, kept)(tuple(points[0][name] for name in kept))
            assert type(found) is int, (text, kept)
            assert found == expected[0], (text, kept)
    assert compared >= many // 3


def test_an_expression_of_numbers_folds_to_a_number() -> None:
    assert bind(parse("2 + 3", ALLOWED), n=5) == const(5)
    assert at_length(parse("2 + 3", ALLOWED), 5) == 5


def test_a_name_may_be_replaced_by_an_expression() -> None:
    tree = parse("k * k + j", ALLOWED)
    replaced = substitute(tree, {"k": parse("q + 1", ALLOWED)})
    assert replaced.names == {"q", "j"}
    assert bind(replaced, q=2, j=5) == const(14)


def test_a_condition_that_is_known_leaves_one_branch() -> None:
    tree = parse("j if k == 0 else q", ALLOWED)
    assert bind(tree, k=0) == name("j")
    assert bind(tree, k=1) == name("q")


# ---------------------------------------------------------------- hard cases of the machine


def machine(text: str, **columns: list[int]) -> list[int]:
    points = {letter: np.array(column, dtype=np.int64) for letter, column in columns.items()}
    return [int(v) for v in evaluate(parse(text, ALLOWED), points, len(next(iter(points.values()))))]


EDGES = [MIN64, MIN64 + 1, -(2**32), -7, -2, -1, 0, 1, 2, 3, 2**31, 2**32 - 1, 2**62, MAX64 - 1, MAX64]


@pytest.mark.nojit
@pytest.mark.parametrize("text", ["q // k", "q % k"])
def test_division_rounds_down_and_the_remainder_has_the_sign_of_the_divisor(text: str) -> None:
    pairs = [(q, k) for q, k in itertools.product(EDGES, EDGES) if k != 0 and (q, k) != (MIN64, -1)]
    got = machine(text, q=[q for q, _ in pairs], k=[k for _, k in pairs])
    assert got == [naive.evaluate(text, {"q": q, "k": k}) for q, k in pairs]


@pytest.mark.nojit
def test_the_root_is_exact_near_squares_up_to_the_largest_number() -> None:
    roots = [0, 1, 2, 3, 10, 94906265, 94906266, 94906267, 2**26, 2**31 - 1, 2**31, 3037000498, 3037000499]
    numbers = [r * r + d for r in roots for d in (-2, -1, 0, 1, 2)] + list(range(200)) + [MAX64 - 1, MAX64]
    numbers = [a for a in numbers if 0 <= a <= MAX64]
    assert machine("isqrt(k)", k=numbers) == [math.isqrt(a) for a in numbers]


@pytest.mark.nojit
@pytest.mark.parametrize(
    "text", ["hash(k)", "hash(q, k)", "hash(k, q)", "hash(k, q, k)", "hash(7, 1, 0, q, 9223372036854775807, k - 5)"]
)
def test_hash_is_that_of_the_format_for_numbers_of_any_size(text: str) -> None:
    pairs = list(itertools.product(EDGES, EDGES))
    got = machine(text, q=[q for q, _ in pairs], k=[k for _, k in pairs])
    assert got == [naive.evaluate(text, {"q": q, "k": k}) for q, k in pairs]
    assert all(0 <= a <= MAX64 for a in got)


def test_points_may_be_more_than_a_block() -> None:
    columns = {letter: np.arange(20_000, dtype=np.int64) * step for letter, step in (("q", 1), ("k", 7))}
    got = evaluate(parse("(q * k + 5) % 11 if q > 3 else -k", ALLOWED), columns, 20_000)
    q, k = columns["q"], columns["k"]
    assert np.array_equal(got, np.where(q > 3, (q * k + 5) % 11, -k))


def test_a_constant_expression_needs_no_points() -> None:
    assert evaluate(parse("3 * 4", ALLOWED), {}, 3).tolist() == [12, 12, 12]
    assert evaluate(const(5), {}, 2).tolist() == [5, 5]


def test_common_parts_are_computed_once() -> None:
    code = E.compile_expr(parse("hash(j, k) % 2 + hash(j, k) % 3", ALLOWED), ("j", "k"))
    mixes = [row for row in code.instructions.tolist() if row[0] == E.OPCODES["mix"]]
    assert len(mixes) == 2


# ---------------------------------------------------------------- opcodes

SMALL = [-9, -3, -1, 0, 1, 2, 5, 12]


def operands(op: str) -> list[tuple[int, ...]]:
    """Operands on which an operator is defined."""
    if op in ("isqrt", "abs", "not", "fin"):
        return [(a,) for a in (EDGES if op in ("fin", "not") else SMALL) if a >= 0 or op != "isqrt"]
    if op == "select":
        return list(itertools.product([-1, 0, 1, 2], SMALL, SMALL))
    wide = op in ("mix", "min", "max", "eq", "ne", "lt", "le", "gt", "ge", "and", "or")
    pairs = list(itertools.product(EDGES if wide else SMALL, repeat=2))
    return [(a, b) for a, b in pairs if b != 0 or op not in ("div", "mod")]


@pytest.mark.nojit
@pytest.mark.parametrize("op", SCALAR)
def test_the_kernel_computes_what_the_opcode_says(op: str) -> None:
    rows = operands(op)
    letters = NAMES[: len(rows[0])]
    tree = Expr(op, tuple(name(letter) for letter in letters))
    columns = {letter: np.array([row[t] for row in rows], dtype=np.int64) for t, letter in enumerate(letters)}
    assert evaluate(tree, columns, len(rows)).tolist() == [SCALAR[op](*row) for row in rows]


@pytest.mark.nojit
def test_the_kernel_gathers_from_several_tables() -> None:
    first, second = np.arange(12, dtype=np.int64) * 10, np.array([7, 8, 9], dtype=np.int64)
    tree = Expr("add", (table(first, (3, 4), [name("i"), name("j")]), table(second, (3,), [name("i")])))
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(3), np.arange(4)))
    assert evaluate(tree, {"i": i, "j": j}, 12).tolist() == (first.reshape(3, 4)[i, j] + second[i]).tolist()
    assert bind(tree, i=2, j=1) == const(99)
    assert interval(tree, {"i": (0, 2), "j": (0, 3)}) == (7, 119)


@given(st.integers(-(2**70), 2**70))
def test_signed_is_the_residue_that_fits_64_bits(number: int) -> None:
    assert MIN64 <= signed(number) <= MAX64
    assert (signed(number) - number) % 2**64 == 0
