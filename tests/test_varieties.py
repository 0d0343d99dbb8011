"""The finer classes of regular languages against their definitions, and automata as other tools read them."""

import itertools
import random
import re
from collections import Counter
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from restrict.base.errors import NotEstablished, RestrictError, UsageError
from restrict.languages.dfa import Dfa, minimal
from restrict.languages.export import exported, to_dot, to_hoa, to_smv
from restrict.languages.monoid import star_free
from restrict.languages.source import language
from restrict.languages.varieties import CLASSES, Monoid, Varieties, spelt, varieties
from restrict.logic import parse
from restrict.logic.ltlf import atoms, to_ltlf2dfa
from restrict.logic.semantics import evaluate_tokens
from tests.commands import failed, succeeded, typed
from tests.marks import heavy_after


def of(found: Varieties) -> dict[str, bool | None]:
    """The classes of a language, by name."""
    return {each.name: each.holds for each in found.classes}


@pytest.mark.parametrize(
    ("spec", "least_class", "dot_depth"),
    [
        ("regex[ab]:ab|ba", "finite or cofinite", (0, 0)),
        ("regex[ab]:(a|b)(a|b)(a|b)(a|b)*", "finite or cofinite", (0, 0)),
        ("regex[ab]:(a|b)*a(a|b)*b(a|b)*", "J-trivial", (1, 1)), ("regex[ab]:a(a|b)*", "R-trivial", (1, 1)),
        ("regex[abc]:a*b(a|b|c)*", "R-trivial", (2, 2)), ("regex[ab]:(a|b)*a", "DA", (1, 1)),
        ("regex[abc]:(a|b|c)*a(a|b)*", "DA", (2, 2)), ("regex[ab]:(ab)*", "dot-depth at most 1", (1, 1)),
        ("dyck:1,depth=1", "dot-depth at most 1", (1, 1)), ("dyck:1,depth=2", "star-free", (2, None)),
        ("dyck:1,depth=3", "star-free", (2, None)), ("parity", None, (None, None)),
    ],
)  # fmt: skip
def test_known_languages_are_in_their_least_class(
    spec: str, least_class: str | None, dot_depth: tuple[int | None, int | None]
) -> None:
    """Dyck words of depth d have dot-depth d (Brzozowski and Knast 1978); the others are textbook examples."""
    dfa = language(spec).dfa
    classes = varieties(dfa, star_free(dfa))
    found = of(classes)
    assert next((name for name in CLASSES if found[name]), None) == least_class
    assert (classes.least, classes.most) == dot_depth
    order = ["J-trivial", "R-trivial", "DA", "star-free"]
    assert all(not found[a] or found[b] for a, b in itertools.pairwise(order))


def random_dfa(seed: int) -> Dfa:
    """A small minimal automaton; half of them with moves to larger states only, mostly."""
    draw = random.Random(seed)
    states, letters = draw.randint(1, 5), draw.randint(1, 3)
    onward = draw.random() < 0.6
    rows = [
        [draw.randrange(q if onward and draw.random() < 0.9 else 0, states) for _ in range(letters)]
        for q in range(states)
    ]
    return minimal("abc"[:letters], rows, 0, [q for q in range(states) if draw.random() < 0.5])


def by_definition(dfa: Dfa) -> dict[str, bool]:
    """The classes by their equations over all elements of the monoid."""
    monoid = Monoid.of(dfa)
    assert monoid is not None
    times = [[monoid.product(x, y) for y in range(len(monoid.maps))] for x in range(len(monoid.maps))]
    every = range(len(times))
    omega = [monoid.power(m) for m in every]
    semigroup = sorted({times[x][y] for x in every for y in monoid.right[0]})

    def product(*parts: int) -> int:
        return reduce(lambda x, y: times[x][y], parts)

    def da(x: int, y: int, z: int) -> bool:
        e = omega[product(x, y, z)]
        return product(e, y, e) == e

    def knast(e: int, f: int, p: int, q: int, r: int, s: int) -> bool:
        left, right = omega[product(e, p, f, q, e)], omega[product(e, r, f, s, e)]
        return product(left, e, p, f, s, e, right) == product(left, right)

    idempotents = [e for e in semigroup if times[e][e] == e]
    words = {q for q, row in enumerate(dfa.delta) if set(row) != {q}}
    reach = {q: set(row) for q, row in enumerate(dfa.delta)}
    for _ in range(dfa.states):
        reach = {q: seen.union(*(reach[p] for p in seen)) for q, seen in reach.items()}
    return {
        "finite or cofinite": all(q not in reach[q] for q in words) and dfa.states - len(words) == 1,
        "R-trivial": len({frozenset(times[m]) for m in every}) == len(times),
        "J-trivial": len({frozenset(times[x][k] for x in every for k in times[m]) for m in every}) == len(times),
        "DA": all(da(*xyz) for xyz in itertools.product(every, repeat=3)),
        "dot-depth at most 1": all(
            knast(*efpqrs) for efpqrs in itertools.product(idempotents, idempotents, *[semigroup] * 4)
        ),
        "star-free": all(times[omega[m]][m] == omega[m] for m in every),
    }


@pytest.mark.parametrize("seeds", heavy_after((range(160), range(1000, 6000)), 1))
def test_random_automata_are_in_the_classes_of_the_definitions(seeds: range) -> None:
    """Those whose monoid is small."""
    counts = Counter[str]()
    for seed in seeds:
        dfa = random_dfa(seed)
        monoid = Monoid.of(dfa)
        if monoid is None or len(monoid.maps) > 9:
            continue
        found = of(varieties(dfa, star_free(dfa)))
        assert found == by_definition(dfa), seed
        counts.update(["all", *(name for name in CLASSES if found[name])])
    assert counts["all"] > 0.3 * len(seeds)
    assert all(0 < counts[name] < counts["all"] for name in CLASSES), counts


def test_a_witness_against_a_partial_order_goes_round() -> None:
    for seed in range(60):
        dfa = random_dfa(seed)
        found = varieties(dfa, star_free(dfa)).classes[2]
        if found.holds is False:
            word, states = re.match(r"the word (\S+) goes round the states ([\d, ]+?),? ", found.reason).groups()
            first = int(states.split(",")[0])
            assert dfa.run(word, first) == first
            assert len({dfa.run(word[:k], first) for k in range(len(word))}) > 1


def test_a_large_monoid_is_unknown_and_a_partial_order_is_known_all_the_same() -> None:
    rng = np.random.default_rng(0)
    dfa = minimal("abc", rng.integers(0, 40, (40, 3)).tolist(), 0, range(7))
    found = of(varieties(dfa, None))
    assert found["DA"] is found["dot-depth at most 1"] is None
    assert found["R-trivial"] is False
    assert spelt(("ab", "c")) == "ab c"


# ------------------------------------------------------------ other tools


def hoa_accepts(text: str, word: list[str]) -> bool:
    """A word followed by silence for ever, on the text of a HOA file: a small reader of what is used of the format."""
    names = [str(part) for part in re.findall(r'"([^"]*)"', re.search(r"^AP: .*$", text, re.M).group())]
    moves: dict[int, list[tuple[list[str], int]]] = {}
    accepting = set()
    for line in text.partition("--BODY--")[2].splitlines():
        if head := re.fullmatch(r"State: (\d+)( \{0\})?", line):
            state = int(head[1])
            moves[state] = []
            accepting |= {state} if head[2] else set()
        elif move := re.fullmatch(r"\[(.*)\] (\d+)", line):
            moves[state].append((move[1].split("&"), int(move[2])))
    at = 0
    for letter in [*word, None, None]:
        true = set() if letter is None else {"alive", letter}
        fits = [to for signs, to in moves[at] if all((names[int(p.strip("!"))] in true) != ("!" in p) for p in signs)]
        if not fits:
            return False
        (at,) = fits
    return at in accepting


def smv_accepts(text: str, word: list[int]) -> bool:
    """A word of symbol numbers on the text of an SMV module."""
    at, moves = "0", re.findall(r"state = (\d+) & letter in \{([^}]*)\} : (\d+);", text)
    for a in word:
        at = next((to for q, letters, to in moves if q == at and f"s{a}" in letters.split(", ")), at)
    final = re.search(r"state in \{([\d, ]*)\}", text)
    return final is not None and at in final[1].split(", ")


def test_exported_automata_accept_the_same_words() -> None:
    for seed in range(40):
        dfa = random_dfa(seed)
        hoa, smv = to_hoa(dfa, "one"), to_smv(dfa, 'a "name"')
        for length in range(5):
            for word in itertools.product(range(len(dfa.alphabet)), repeat=length):
                letters = [dfa.alphabet[a] for a in word]
                right = dfa.run(letters) in dfa.accept
                assert hoa_accepts(hoa, letters) == right
                assert smv_accepts(smv, list(word)) == right


def test_symbols_that_look_like_syntax_are_themselves() -> None:
    dfa = minimal(("alive", "é", '"'), [[1, 0, 0], [1, 0, 0]], 0, [1])
    names = re.search(r"^AP: 4 (.*)$", to_hoa(dfa, "one"), re.M)
    assert names is not None
    assert names[1] == r'"alive_" "alive" "é" "\""'
    assert r'[label="é \""]' in to_dot(dfa, "one")


def test_another_suffix_is_refused() -> None:
    dfa = random_dfa(1)
    assert exported(dfa, "x", ".DOT").startswith('digraph "x"')
    with pytest.raises(UsageError, match=r"\.dot, \.hoa, \.json, \.smv, not as '\.png'"):
        exported(dfa, "x", ".png")


FORMULAS = (
    "b and previous a", "historically (a implies weak previous b)", "a strict since b",
    "strict once (a and strict historically b)", "a weak since b", "a trigger (b or c)", "a strong trigger b",
    "a strict trigger b", "a strict weak since b", "a strict strong trigger b", "first xor once c",
    "eventually (a and next b)", "a until (b and weak next c)", "a strict release b", "a strong release b",
    "a strict weak until (b iff last)", "always (a implies strict eventually b)",
)  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_text_for_ltlf2dfa_means_the_same(text: str) -> None:
    """The text is read back by our own parser, which has ltlf2dfa's signs; and by ltlf2dfa where it is installed."""
    alphabet = ("a", "b", "c")
    formula = parse(text, alphabet)
    written = to_ltlf2dfa(formula, alphabet)
    again = parse(written, alphabet)
    where = 0 if re.search(r"\b[FGUX]\b", written) else -1
    for length in range(1, 6):
        words = [list(word) for word in itertools.product(range(3), repeat=length)]
        right = evaluate_tokens(formula, np.array(words), alphabet)[:, where]
        assert np.array_equal(evaluate_tokens(again, np.array(words), alphabet)[:, where], right)
    reader = pytest.importorskip("ltlf2dfa.parser.ltlf" if where == 0 else "ltlf2dfa.parser.ppltl")
    (reader.LTLfParser if where == 0 else reader.PPLTLParser)()(written)


def test_symbols_that_ltlf2dfa_cannot_read_get_names_and_both_directions_are_refused() -> None:
    assert atoms(("a", "(", "last", "s1")) == {"a": "a", "s1": "s1", "(": "s1_", "last": "s2"}
    with pytest.raises(NotEstablished, match="looks left and right"):
        to_ltlf2dfa(parse("once a and eventually b", "ab"), ("a", "b"))
    with pytest.raises(NotEstablished, match="count"):
        to_ltlf2dfa(parse("#past a > #past b", "ab"), ("a", "b"))


# ------------------------------------------------------------ the command line


def test_a_table_of_expected_classes_is_compared(tmp_path: Path) -> None:
    table = tmp_path / "classes.csv"
    table.write_text("language,star-free,R-trivial\nregex[ab]:(ab)*,yes,no\nparity,no,\n", encoding="utf-8")
    good = succeeded("language", "--table", table)
    assert good.output.count("as expected") == 2
    table.write_text("language,star-free\nparity,yes\n", encoding="utf-8")
    bad = typed("language", "--table", table)
    assert isinstance(bad.exception, NotEstablished)
    assert "1 of 1 languages are not as expected, first parity" in str(bad.exception)
    assert "permutes" in bad.output or "witness" in bad.output
    for text, message in (
        ("name,star-free\n", "the first line names `language`"),
        ("language,starfree\n", "'starfree'"),
        ("language,star-free\nparity,maybe\n", "line 2: 'maybe' is not yes, no or empty"),
        ("language,star-free\nnothing,yes\n", "line 2: 'nothing' is not a language"),
        ("language,star-free,star-free\nparity,yes,no\n", "names a column twice"),
        ("language,star-free\nparity,no,yes\n", "line 2: more cells than the first line names"),
        ("language,star-free\n", "no language below the first line"),
    ):
        table.write_text(text, encoding="utf-8")
        assert message in failed(UsageError, "language", "--table", table)


def test_classes_and_automata_of_a_language_need_no_length(tmp_path: Path) -> None:
    target = tmp_path / "one.smv"
    found = succeeded("language", "regex:(ab)*", "--classes", "--export", target)
    assert "dot-depth          1 (exact)" in found.output
    assert smv_accepts(target.read_text(), [0, 1])
    assert "is not regular" in failed(RestrictError, "language", "majority", "--classes")
