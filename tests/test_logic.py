"""Temporal logic: the evaluator against the textbook, the compiler against the evaluator, and the text forms."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from restrict import Head, ModelError, ResourceLimit, UsageError, certify, check, compile_formula
from restrict.base.arrays import all_words
from restrict.logic import OPERATORS, apply, atom, evaluate, evaluate_tokens, parse, random_formula, satisfies
from restrict.logic.counting import Inequality, NumericalPredicate, truths
from restrict.logic.formula import Formula
from restrict.logic.fragments import NAMES, fragment
from restrict.logic.operators import ALIASES, ARITY, MIRROR
from restrict.logic.verify import counterexample
from restrict.model.rules import Formula as Text
from restrict.model.trace import run_batch
from tests import naive_logic
from tests.marks import heavy_after, rows_after
from tests.page_examples import run_examples
from tests.random_counting import random_in

BITS = ["0", "1"]
AT = ("last", "first", "every")
LETTERS = ["n", "f", "s", "b"]
"""Where neither, phi, psi or both hold."""
PHI, PSI = atom("f") | atom("b"), atom("s") | atom("b")


# ---------------------------------------------------------------- semantics


@pytest.mark.parametrize("op", OPERATORS)
def test_every_operator_against_the_textbook(op: str) -> None:
    """On atoms whose truth values are independent: all words over the four truth assignments to phi and psi."""
    formula = apply(op, *(PHI, PSI)[: ARITY[op]])
    for n in range(1, 5):
        as_by_hand(formula, LETTERS, all_words(4, n))


def as_by_hand(formula: Formula, alphabet: list[str], words: np.ndarray) -> None:
    """The evaluator agrees with the definitions, at every position of these words of one length."""
    tree = naive_logic.tree(formula.nodes)
    for word, row in zip(words, evaluate_tokens(formula, words, alphabet).tolist(), strict=True):
        spelled = [alphabet[token] for token in word]
        assert row == [naive_logic.holds(tree, spelled, i) for i in range(len(word))], (str(formula), spelled)


def test_words_are_read_and_checked_and_satisfies_looks_at_one_end() -> None:
    assert satisfies("1", "01")
    assert not satisfies("1", "01", at="first")
    assert satisfies("always 1", "111", at="first")
    assert evaluate("once w0", "w0 i r", ["w0", "w1", "i", "r"]).tolist() == [True, True, True]
    assert evaluate("'w0'", ["w0"]).tolist() == [True]


# ---------------------------------------------------------------- compilation


@pytest.mark.parametrize(
    ("seeds", "most"), rows_after([(range(16), 14), (range(16, 40), 14), (range(10_000), 14), (range(1000), 60)], 1)
)
def test_random_formulas_compile_exactly(seeds: range, most: int) -> None:
    """On all short words, read at every place."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        alphabet, longest = (BITS, 8) if seed % 2 else (["a", "b", "c"], 5)
        formula = random_formula(rng, alphabet, int(rng.integers(0, most)))
        at = AT[seed % 3]
        model = compile_formula(formula, alphabet, at=at)
        heads = sum(isinstance(v, Head) for v in model.variables)
        assert heads <= sum(v.op in MIRROR for v in formula.nodes) + (at == "first")
        assert counterexample(model, formula, longest, at=at)[0] is None, (seed, str(formula))


def test_a_shortest_word_on_which_model_and_formula_differ_is_found() -> None:
    for at, word, compared in (("last", ["1", "0"], 5), ("first", ["0", "1"], 4), ("every", ["1", "0"], 5)):
        wrong = parse("eventually 1" if at == "first" else "once 1", BITS)
        assert counterexample(compile_formula("1", BITS, at=at), wrong, 3, at=at) == (word, compared)


@pytest.mark.heavy
def test_every_operator_compiles_exactly_on_independent_operands() -> None:
    operands = [PHI, PSI, ~PHI, ~PSI, apply("true"), apply("false"), apply("first"), PHI ^ PSI]
    for op in OPERATORS:
        for args in itertools.product(operands, repeat=ARITY[op]):
            formula = apply(op, *args)
            model = compile_formula(formula, LETTERS, at="every")
            assert counterexample(model, formula, 3, at="every") == (None, 4 + 16 + 64), str(formula)


@pytest.mark.parametrize("many", heavy_after((20, 60), 1))
def test_formulas_over_one_letter_compile_exactly(many: int) -> None:
    for seed in range(many):
        formula = random_formula(np.random.default_rng(seed), ["a"], 6, constants=0.4)
        assert counterexample(compile_formula(formula, ["a"]), formula, 9) == (None, 9)


def test_large_alphabets_use_small_maps() -> None:
    alphabet = [f"s{index}" for index in range(300)]
    some = " or ".join(f"s{index}" for index in range(0, 300, 2))
    formula = parse(f"once (({some}) and previous s7) xor s9 since (s1 or s2 and next s3)", alphabet)
    model = compile_formula(formula, alphabet, at="every")
    rng = np.random.default_rng(0)
    tokens = np.where(rng.random((200, 12)) < 0.7, rng.integers(0, 12, (200, 12)), rng.integers(0, 300, (200, 12)))
    assert (run_accept(model, tokens) == evaluate_tokens(formula, tokens, alphabet)).all()
    assert all(len(getattr(v, "args", ())) < 2 or "token" not in v.args for v in model.variables)


def run_accept(model, tokens):
    values = run_batch(model.at(tokens.shape[1]), tokens).values[model.output.variable]
    return np.isin(values, sorted(model.output.accept or ()))


def test_scores_and_maps_do_not_mention_positions() -> None:
    """Only masks know about order: so every row of a head is the same function of the keys."""
    for seed in range(40):
        model = compile_formula(
            random_formula(np.random.default_rng(seed), BITS, 12, constants=0.2), BITS, at=AT[seed % 3]
        )
        for variable in model.variables:
            if isinstance(variable, Head):
                assert isinstance(variable.score, Text)
                assert variable.score.mentions <= {"k"}
                assert variable.query is None
            else:
                assert variable.map.mentions <= set(variable.args)
                assert "position" not in variable.args


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("once 1 and once 1", 1), ("once 1 and not historically not 1", 1), ("eventually 1 or not always 0", 1),
        ("(true since 1) iff once 1", 0), ("previous 1 or (false strict since 1)", 1),
        ("(0 since 1) and not ((not 0) trigger (not 1))", 1),
        ("once (1 and previous 0) and previous once (previous 0 and not 0)", 3), ("once (0 or 1)", 0),
        ("first or previous true", 0), ("strict once true xor first", 0), ("0 since (1 since 0)", 2),
    ],
)  # fmt: skip
def test_equal_subformulas_share_a_head(text: str, heads: int) -> None:
    formula = parse(text, BITS)
    model = compile_formula(formula, BITS)
    assert sum(isinstance(v, Head) for v in model.variables) == heads
    assert compile_formula(formula, BITS).content == model.content
    assert counterexample(model, formula, 7)[0] is None


def test_certificates_of_compiled_formulas_are_verified() -> None:
    model = compile_formula("once (1 and previous 0)", BITS, name="contains 01")
    found = certify(model, 2000)
    assert (found.c, len(found.restriction.fixed)) == (0, 2)
    assert check(model, found).startswith("s VERIFIED n=2000")


# ---------------------------------------------------------------- size


def test_five_hundred_operators_compile_exactly() -> None:
    formula = random_formula(np.random.default_rng(1), BITS, 500)
    model = compile_formula(formula, BITS, at="every")
    tokens = np.random.default_rng(2).integers(0, 2, (10, 12))
    assert (run_accept(model, tokens) == evaluate_tokens(formula, tokens, BITS)).all()
    assert parse(str(formula), BITS) == formula


@pytest.mark.heavy
def test_five_hundred_nested_heads_compile_exactly() -> None:
    formula = atom("1")
    for level in range(500):
        formula = apply("strict since", atom("01"[level % 2]), formula) if level % 3 else apply("previous", formula)
    model = compile_formula(formula, BITS, at="every")
    tokens = np.random.default_rng(2).integers(0, 2, (20, 30))
    assert (run_accept(model, tokens) == evaluate_tokens(formula, tokens, BITS)).all()
    assert (formula.temporal, formula.depth) == (500, 500)


@pytest.mark.heavy
def test_deep_nesting_is_read_and_written() -> None:
    deep = 10_000
    assert parse("(" * deep + "a" + ")" * deep) == atom("a")
    formula = parse("previous (0 and " * deep + "a" + ")" * deep)
    assert parse(str(formula)) == formula
    assert len(repr(formula)) < 120
    with pytest.raises(UsageError, match=r"column 10000: this '\(' is never closed"):
        parse("(" * deep + "a")
    with pytest.raises(UsageError, match=r"column 2: this '\)' closes nothing"):
        parse("a" + ")" * deep)


def test_what_is_beyond_a_limit_is_refused() -> None:
    with pytest.raises(ResourceLimit, match="the formula has 4000001 characters; the limit is 4000000"):
        parse(" " * 4_000_001)
    formula = atom("a")
    for _ in range(40):
        formula = apply("since", formula, formula)
    with pytest.raises(ResourceLimit, match="more than 4000000 characters written out"):
        str(formula)
    assert "too long to write" in compile_formula(formula, ["a", "b"]).description
    with pytest.raises(ResourceLimit, match="more than 4096 variables"):
        compile_formula("previous " * 4097 + "1", BITS)
    with pytest.raises(ResourceLimit, match="more than 1048576 words of 21 symbols"):
        counterexample(compile_formula("1", BITS), parse("1"), 21)


# ---------------------------------------------------------------- text


@pytest.mark.parametrize("many", heavy_after((300, 1000), 1))
def test_printing_and_parsing_are_inverse(many: int) -> None:
    alphabet = ["a", "b", "since", "(", "'", '"', "\\", "X", "first", "é", "0", "symbol", "a-b"]
    plain = 0
    for seed in range(many):
        rng = np.random.default_rng(seed)
        formula = random_formula(rng, alphabet, int(rng.integers(0, 12)), [op for op in OPERATORS if ARITY[op]], 0.2)
        assert parse(str(formula)) == formula
        if not {"true", "false", "first", "last"} & {v.op for v in formula.nodes}:
            assert parse(str(formula), alphabet) == formula
            plain += 1
    assert plain >= 0.3 * many


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a|b&c", "a or b and c"), ("(a|b)&c", "(a or b) and c"), ("!a S b", "not a since b"),
        ("!(a S b)", "not (a since b)"), ("a U (b R c)", "a until (b release c)"),
        ("G (a -> F b)", "always (a implies eventually b)"), ("a -> b -> c", "a implies b implies c"),
        ("(a -> b) -> c", "(a implies b) implies c"), ("a <-> b ^ c", "a iff b xor c"),
        ("a && b && c || d", "a and b and c or d"), ("a strict S b", "a strict since b"),
        ("a strict   W\n b", "a strict weak until b"), ("a M b and c B d", "a strong release b and c weak since d"),
        ("¬a ∧ ⊤ ∨ ⊥ → b ↔ c", "not a and true or false implies b iff c"),
        ("Y Z X N O H F G a", "previous weak previous next weak next once historically eventually always a"),
        ("'since' since \"since\"", "'since' since 'since'"), (r"'\'' or '\\' or '('", r"'\'' or '\\' or '('"),
        ("((a))", "a"),
    ],
)  # fmt: skip
def test_formulas_are_printed_in_one_form(text: str, printed: str) -> None:
    assert str(parse(text)) == printed
    assert parse(printed) == parse(text)


FAULTS = [
    ("", "the formula is empty; write for example 'historically 1' or 'true'"),
    (" \n", "the formula is empty"),
    ("(", "formula, column 2: a formula is expected after '(', but the formula ends there: (>>><<<"),
    ("(a", "formula, column 1: this '(' is never closed: >>>(<<<a"),
    ("a)", "formula, column 2: this ')' closes nothing: a>>>)<<<"),
    ("a b", "formula, column 3: an operator or the end is expected before 'b': a >>>b<<<"),
    ("a not b", "formula, column 3: an operator or the end is expected before 'not'"),
    ("a (b)", "formula, column 3: an operator or the end is expected before '('"),
    ("and a", "formula, column 1: a formula is expected at the start, but 'and' stands there: >>>and<<< a"),
    ("a and", "formula, column 6: a formula is expected after 'and', but the formula ends there"),
    ("not", "formula, column 4: a formula is expected after 'not', but the formula ends there"),
    ("()", "formula, column 2: a formula is expected after '(', but ')' stands there"),
    ("a since b since c", "column 11: 'since' and 'since' need parentheses to say which goes first"),
    ("a until b S c", "column 11: 'until' and 'S' need parentheses"),
    ("a or b xor c", "column 8: 'or' and 'xor' need parentheses"),
    ("weak once a", "column 1: there is no operator 'weak once': >>>weak once<<< a"),
    ("strict previous a", "column 1: there is no operator 'strict previous'"),
    ("strict", "column 1: there is no operator 'strict'"),
    ("strict  a", "column 1: there is no operator 'strict a'"),
    ("a $ b", "column 3: '$' is no operator; quote it as a symbol"),
    ("'a", "column 1: this quote is never closed: >>>'<<<a"),
    ("a or ''", "column 6: an empty symbol"),
    ("a or d", "column 6: unknown symbol 'd'; the alphabet is a b c F true since: a or >>>d<<<"),
    ("true", "column 1: 'true' is a constant and a symbol of the alphabet; write 'true' with its quotes"),
    ("F and a", "but 'and' stands there (for the symbol write 'F', with the quotes): F >>>and<<< a"),
    ("a and since", "but 'since' stands there (for the symbol write 'since', with the quotes)"),
    ("a F", "expected before 'F' (for the symbol write 'F', with the quotes): a >>>F<<<"),
    ("a\x00b", "column 2: '\\x00' is no operator"),
    ("a and a and a and a and a and ) and a and a and a and a", ">>>)<<< and a and a and a"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_malformed_formulas_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text, ["a", "b", "c", "F", "true", "since"])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_random_texts_never_crash() -> None:
    pieces = [
        "a", "b", "(", ")", " ", "not ", "since ", "strict ", "weak ", "true", "'", "\\", '"', "&", "->", "<", "é", "X",
    ]  # fmt: skip
    read, refusals = 0, []
    for seed in range(4000):
        rng = np.random.default_rng(seed)
        text = "".join(rng.choice(pieces, size=int(rng.integers(1, 12))))
        try:
            formula = parse(text)
        except UsageError as error:
            refusals.append(str(error))
        else:
            assert parse(str(formula)) == formula
            read += 1
    assert read > 100
    assert "\n" not in "".join(refusals)


HUGE = " * ".join(["(x + 1000000)"] * 4)
CALLS: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "the word is empty": (UsageError, lambda: evaluate("1", "")),
    "symbol '2' at index 1 of the word is not in the alphabet": (UsageError, lambda: evaluate("1", "12", BITS)),
    "names '2', which is not in the alphabet": (UsageError, lambda: evaluate_tokens(atom("2"), all_words(1, 1), BITS)),
    "neither 'last' nor 'first'": (UsageError, lambda: satisfies("1", "1", at="end")),
    "'sinec' is not an operator; operators are true, false": (UsageError, lambda: apply("sinec", atom("a"))),
    "'since' takes 2 operands, not 1": (UsageError, lambda: apply("since", atom("a"))),
    "'' is not a symbol": (UsageError, lambda: atom("")),
    "a formula is a text, not 3": (UsageError, lambda: parse(3)),
    "the alphabet '01' is one string": (UsageError, lambda: compile_formula("1", "01")),
    "each only once": (UsageError, lambda: compile_formula("1", ["1", "1"])),
    "alphabet[0]: the symbol '*' means a free": (ModelError, lambda: compile_formula("'*'", ["*", "1"])),
    "names '2', which is not in the alphabet 0 1": (UsageError, lambda: compile_formula(atom("2"), BITS)),
    "at='end' is not one of": (UsageError, lambda: compile_formula("1", BITS, at="end")),
    "expected a string of 1 to 200 characters": (ModelError, lambda: compile_formula("1", BITS, name="")),
    "random_formula needs": (UsageError, lambda: random_formula(np.random.default_rng(0), [], 3)),
    "the formula counts, and attention to one": (UsageError, lambda: compile_formula("odd(#past 1)", BITS)),
    "divides by zero": (UsageError, lambda: evaluate("{1 // x == 1}(position)", "00", BITS)),
    "62 bits": (ResourceLimit, lambda: evaluate(f"{{{HUGE} > 3}}(position)", "00", BITS)),
}


@pytest.mark.parametrize("message", CALLS)
def test_malformed_calls_are_refused(message: str) -> None:
    kind, call = CALLS[message]
    with pytest.raises(kind, match=re.escape(message)):
        call()


def test_random_formulas_are_reproducible_and_of_the_asked_size() -> None:
    first, again = ([random_formula(np.random.default_rng(seed), BITS, 10) for seed in range(50)] for _ in "12")
    assert first == again
    assert len(set(first)) > 45
    only = random_formula(np.random.default_rng(0), BITS, 30, ["previous", "since"], constants=0.0)
    assert {v.op for v in only.nodes} == {"symbol", "previous", "since"}


# ---------------------------------------------------------------- the page


PAGE = (Path(__file__).parent.parent / "docs" / "logic.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run() -> None:
    run_examples("logic.md", 10)


def test_the_page_lists_every_operator_with_its_letter() -> None:
    table = PAGE.partition("## Semantics")[2].partition("## Counting")[0]
    rows = [[c.strip() for c in line.split("|")[1:5]] for line in table.splitlines() if line.startswith("| `")]
    listed: dict[str, str] = {}
    for row in rows:
        for name, letter in (row[:2], row[2:]):
            words = " ".join(w for w in name.strip("`").split() if w not in "φψ")
            if words in MIRROR:
                listed[words] = letter.strip("`")
    assert set(listed) == {op for op in MIRROR if not op.startswith("strict")}
    assert {(k, v) for v, k in ALIASES.items() if v.isalpha()} == {
        (op, letter) for op, letter in listed.items() if letter
    }


# ----------------------------------------------------------------
# Star-free languages as formulas: equal to a regular expression on all short words.


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
    "odd among the last five": ("01", " xor ".join(f"({'Y ' * p}1)" for p in range(5)), "last", ODD_OF_FIVE),
    "everything": ("01", "true", "last", ".*"),
    "nothing": ("01", "false", "last", "(?!)"),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_formula_is_the_regular_expression(name: str) -> None:
    alphabet, formula, at, pattern = LANGUAGES[name]
    model, parsed = compile_formula(formula, list(alphabet), at=at), parse(formula, list(alphabet))
    for n in range(1, 9 if len(alphabet) == 2 else 7):
        words, tokens = map("".join, itertools.product(alphabet, repeat=n)), all_words(len(alphabet), n)
        member = [bool(re.fullmatch(pattern, word)) for word in words]
        assert evaluate_tokens(parsed, tokens, list(alphabet))[:, -1 if at == "last" else 0].tolist() == member
        assert run_accept(model, tokens)[:, -1].tolist() == member


# ----------------------------------------------------------------
# Temporal logic that counts: parsed, printed, evaluated, sorted into the logics of sections 4.1 to 4.5.


def random_formulas(seed: int, count: int) -> list[tuple[str, bool, Formula]]:
    rng, kinds = np.random.default_rng(seed), list(itertools.product(NAMES, (False, True))) * count
    return [(name, past, random_in(rng, BITS, int(rng.integers(1, 7)), name, past=past)) for name, past in kinds]


def test_the_evaluator_agrees_with_counting_by_hand() -> None:
    for _, _, formula in random_formulas(1, 12):
        for n in (1, 2, 3, 5):
            as_by_hand(formula, BITS, all_words(2, n)[:: max(1, 2**n // 8)])


def test_what_is_printed_is_read_back() -> None:
    for _, _, formula in random_formulas(2, 40):
        assert parse(str(formula), BITS) == formula
        assert formula.mirror().mirror().symbols == formula.symbols
    assert {MIRROR[MIRROR[op]] == op for op in MIRROR} == {True}


def test_the_mirror_image_reads_the_word_backwards() -> None:
    words = all_words(2, 5)
    for _, _, formula in random_formulas(3, 30):
        assert np.array_equal(
            evaluate_tokens(formula.mirror(), words[:, ::-1], BITS)[:, ::-1], evaluate_tokens(formula, words, BITS)
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
        ("previous 1 and not next 0", "previous-next", "next"), ("1 since 0", "since-until", ""),
        ("1 strict since 0", "temporal", ""), ("eventually previous 1", "temporal", "eventually"),
        ("#past 1 > #all 0", "counting", "#all"), ("{x % 2 == 1}(position)", "counting", ""),
        ("once #past 1 > 2", "temporal-counting", ""), ("odd(#future 1) since last", "temporal-counting", "#future"),
    ],
)  # fmt: skip
def test_each_formula_has_its_least_fragment(text: str, name: str, future: str) -> None:
    found = fragment(parse(text, BITS))
    assert (found.name, found.future) == (name, future)


@pytest.mark.parametrize(
    ("text", "word", "truth"),
    [
        ("odd(#past 1)", "1101", "1001"), ("#past 1 mod 3 = 0", "1110", "0011"), ("#past 1 mod 3 != 0", "1110", "1100"),
        ("2 * #past 1 > position + 1", "0111", "0011"), ("2*#all 1 > length", "0110", "0000"),
        ("position = 2", "0000", "0010"), ("(position) mod 2 = 1", "0000", "0101"), ("length mod 2 = 0", "000", "000"),
        ("# 1 + 1 <= #future (1 or 0) - #future 0", "0011", "1110"), ("{x * x <= n}(#past 1)", "1111", "1100"),
        ("{(x if x < 2 else n) == 4}(position)", "1111", "0011"), ("-#past 1 < -1", "111", "011"),
        ("not #past 1 ≥ 2", "111", "100"), ("1 > 2", "00", "00"), ("even(#all ('0' and previous 1))", "1010", "1111"),
    ],
)  # fmt: skip
def test_examples_have_the_truth_counted_by_hand(text: str, word: str, truth: str) -> None:
    assert "".join(map(str, evaluate(text, word, BITS).astype(int))) == truth


def test_barcelos_parity_without_numerical_predicates() -> None:
    """Section 4.5: no position has as many 1s strictly to its left as at it or to its right."""
    text = "not once #past (previous 1) = #future 1"
    for word in all_words(2, 7):
        assert evaluate(text, [BITS[token] for token in word], BITS)[-1] == word.sum() % 2


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("#past not 1 > 2", 7, "must be in parentheses"), ("#past 1", 1, "a number is no formula"),
        ("1 and #past 1", 3, "a number is no formula"), ("#past 1 > 2 > 3", 13, "need parentheses"),
        ("#past 1 * #past 0 > 2", 9, "not linear"), ("#past 1 mod 0 = 1", 9, "positive number"),
        ("#past 1 mod 3 = 5", 15, "below 3"), ("#foo 1 > 2", 1, "no operator '#foo'"),
        ("{x**2}(#past 1)", 1, "does not parse"), ("{isqrt(x) == 1}(position)", 1, "may not use hash or isqrt"),
        ("odd(#past 1 + #past 0)", 1, "one count or the position"), ("(1 and 0) > 2", 11, "a formula; count it"),
        ("#past 1 mod 2 + 1 = 1", 15, "a remainder is compared"), ("#past 1 >", 10, "a formula is expected after '>'"),
        ("99999999999 > #past 1", 1, "a number larger"), ("1000000000 * #past 1 * 10 > 0", 22, "a number larger"),
        ("{x % 2(position)", 1, "no operator"), ("#past 1 = ", 11, "the formula ends there"),
        ("3 + 1", 1, "a number is no formula"),
    ],
)  # fmt: skip
def test_faults_point_at_the_column(text: str, column: int, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text, BITS)
    assert f"column {column}:" in str(error.value)
    assert reason in str(error.value)


def test_words_beside_numbers_stay_symbols_elsewhere() -> None:
    assert parse("position and length", ["position", "length"]).symbols == ("length", "position")
    assert parse("odd or mod or even").symbols == ("even", "mod", "odd")
    assert evaluate("#past 1 > #past 0", "110").tolist() == [True, True, True]


def test_predicates_of_minima_and_absolute_values() -> None:
    found = truths("min(x, 2) == max(x - 1, 0) or abs(x - 5) == 0", 5)
    assert found.tolist() == [True, False, False, True, False, True]


def test_like_terms_are_collected() -> None:
    formula = parse("#past 1 + #past 1 > #past 1 + 3 - #past 0", BITS)
    (detail,) = [node.detail for node in formula.nodes if node.detail is not None]
    assert detail == Inequality(">", (1, 1), ("past", "past"), -3)
    (detail,) = [node.detail for node in parse("odd(2 * #past 1 + 1)", BITS).nodes if node.detail is not None]
    assert detail == NumericalPredicate("(2 * x + 1) % 2 == 1", "past")
