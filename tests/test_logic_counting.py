"""Temporal logic that counts: parsed, printed, evaluated, sorted into the logics of sections 4.1 to 4.5."""

import numpy as np
import pytest

from restrict.base.arrays import all_words
from restrict.base.errors import ResourceLimit, UsageError
from restrict.logic import compile_formula, evaluate, parse
from restrict.logic.counting import Inequality, Predicate, truths
from restrict.logic.fragments import NAMES, fragment
from restrict.logic.operators import MIRROR
from restrict.logic.semantics import evaluate_tokens
from tests import naive_logic
from tests.random_counting import random_in

AB = ["0", "1"]


def random_formulas(seed: int, count: int) -> list[tuple[str, bool, object]]:
    rng = np.random.default_rng(seed)
    return [
        (name, past, random_in(rng, AB, int(rng.integers(1, 7)), name, past=past))
        for _ in range(count)
        for name in NAMES
        for past in (False, True)
    ]


def test_the_evaluator_agrees_with_counting_by_hand() -> None:
    for _, _, formula in random_formulas(1, 12):
        tree = naive_logic.tree(formula.nodes)
        for n in (1, 2, 3, 5):
            words = all_words(2, n)[:: max(1, 2**n // 8)]
            found = evaluate_tokens(formula, words, AB)
            for word, row in zip(words, found, strict=True):
                spelled = [AB[token] for token in word]
                assert row.tolist() == [naive_logic.holds(tree, spelled, i) for i in range(n)], (formula, spelled)


def test_what_is_printed_is_read_back() -> None:
    for _, _, formula in random_formulas(2, 40):
        assert parse(str(formula), AB) == formula
        assert formula.mirror().mirror().symbols == formula.symbols
    assert {MIRROR[MIRROR[op]] == op for op in MIRROR} == {True}


def test_the_mirror_image_reads_the_word_backwards() -> None:
    words = all_words(2, 5)
    for _, _, formula in random_formulas(3, 30):
        assert np.array_equal(
            evaluate_tokens(formula.mirror(), words[:, ::-1], AB)[:, ::-1], evaluate_tokens(formula, words, AB)
        )


def test_random_formulas_stay_in_their_fragment() -> None:
    for name, past, formula in random_formulas(4, 60):
        found = fragment(formula)
        assert NAMES.index(found.name) <= NAMES.index(name)
        assert found.name != "temporal" or name in ("temporal", "temporal-counting")
        assert found.past or not past


@pytest.mark.parametrize(
    ("text", "name", "future"),
    [
        ("previous 1 and not next 0", "previous-next", "next"),
        ("1 since 0", "since-until", ""),
        ("1 strict since 0", "temporal", ""),
        ("eventually previous 1", "temporal", "eventually"),
        ("#past 1 > #all 0", "counting", "#all"),
        ("{x % 2 == 1}(position)", "counting", ""),
        ("once #past 1 > 2", "temporal-counting", ""),
        ("odd(#future 1) since last", "temporal-counting", "#future"),
    ],
)
def test_each_formula_has_its_least_fragment(text: str, name: str, future: str) -> None:
    found = fragment(parse(text, AB))
    assert (found.name, found.future) == (name, future)


@pytest.mark.parametrize(
    ("text", "word", "truth"),
    [
        ("odd(#past 1)", "1101", [1, 0, 0, 1]),
        ("#past 1 mod 3 = 0", "1110", [0, 0, 1, 1]),
        ("#past 1 mod 3 != 0", "1110", [1, 1, 0, 0]),
        ("2 * #past 1 > position + 1", "0111", [0, 0, 1, 1]),
        ("2*#all 1 > length", "0110", [0, 0, 0, 0]),
        ("position = 2", "0000", [0, 0, 1, 0]),
        ("(position) mod 2 = 1", "0000", [0, 1, 0, 1]),
        ("length mod 2 = 0", "000", [0, 0, 0]),
        ("# 1 + 1 <= #future (1 or 0) - #future 0", "0011", [1, 1, 1, 0]),
        ("{x * x <= n}(#past 1)", "1111", [1, 1, 0, 0]),
        ("{(x if x < 2 else n) == 4}(position)", "1111", [0, 0, 1, 1]),
        ("-#past 1 < -1", "111", [0, 1, 1]),
        ("not #past 1 ≥ 2", "111", [1, 0, 0]),
        ("1 > 2", "00", [0, 0]),
        ("even(#all ('0' and previous 1))", "1010", [1, 1, 1, 1]),
    ],
)
def test_examples_have_the_truth_counted_by_hand(text: str, word: str, truth: list[int]) -> None:
    assert evaluate(text, word, AB).astype(int).tolist() == truth


def test_barcelos_parity_without_numerical_predicates() -> None:
    """Section 4.5: no position has as many 1s strictly to its left as at it or to its right."""
    text = "not once #past (previous 1) = #future 1"
    for word in all_words(2, 7):
        assert evaluate(text, [AB[token] for token in word], AB)[-1] == word.sum() % 2


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("#past not 1 > 2", 7, "must be in parentheses"),
        ("#past 1", 1, "a number is no formula"),
        ("1 and #past 1", 3, "a number is no formula"),
        ("#past 1 > 2 > 3", 13, "need parentheses"),
        ("#past 1 * #past 0 > 2", 9, "not linear"),
        ("#past 1 mod 0 = 1", 9, "positive number"),
        ("#past 1 mod 3 = 5", 15, "below 3"),
        ("#foo 1 > 2", 1, "no operator '#foo'"),
        ("{x**2}(#past 1)", 1, "does not parse"),
        ("{isqrt(x) == 1}(position)", 1, "may not use hash or isqrt"),
        ("odd(#past 1 + #past 0)", 1, "one count or the position"),
        ("#past 1 mod 2 + 1 = 1", 15, "a remainder is compared"),
        ("(1 and 0) > 2", 11, "a formula; count it"),
        ("#past 1 >", 10, "a formula is expected after '>'"),
        ("99999999999 > #past 1", 1, "a number larger"),
        ("1000000000 * #past 1 * 10 > 0", 22, "a number larger"),
        ("{x % 2(position)", 1, "no operator"),
        ("#past 1 = ", 11, "the formula ends there"),
        ("3 + 1", 1, "a number is no formula"),
    ],
)
def test_faults_point_at_the_column(text: str, column: int, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text, AB)
    assert f"column {column}:" in str(error.value)
    assert reason in str(error.value)


def test_words_beside_numbers_stay_symbols_elsewhere() -> None:
    assert parse("position and length", ["position", "length"]).symbols == ("length", "position")
    assert parse("odd or mod or even").symbols == ("even", "mod", "odd")
    assert evaluate("#past 1 > #past 0", "110").tolist() == [True, True, True]


def test_predicates_that_divide_by_zero_or_are_huge_are_refused() -> None:
    with pytest.raises(UsageError, match="divides by zero"):
        evaluate("{1 // x == 1}(position)", "00", AB)
    text = " * ".join(["(x + 1000000)"] * 4)
    with pytest.raises(ResourceLimit, match="62 bits"):
        evaluate(f"{{{text} > 3}}(position)", "00", AB)
    assert truths("min(x, 2) == max(x - 1, 0) or abs(x - 5) == 0", 5).tolist() == [
        True, False, False, True, False, True,
    ]  # fmt: skip


def test_a_hard_attention_program_cannot_count() -> None:
    with pytest.raises(UsageError, match="cannot"):
        compile_formula("odd(#past 1)", AB)


def test_like_terms_are_collected() -> None:
    formula = parse("#past 1 + #past 1 > #past 1 + 3 - #past 0", AB)
    (detail,) = [node.detail for node in formula.nodes if node.detail is not None]
    assert detail == Inequality(">", (1, 1), ("past", "past"), -3)
    (detail,) = [node.detail for node in parse("odd(2 * #past 1 + 1)", AB).nodes if node.detail is not None]
    assert detail == Predicate("(2 * x + 1) % 2 == 1", "past")
