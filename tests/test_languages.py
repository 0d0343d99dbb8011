"""Languages against enumeration: completions, counts, samples and forcing costs, on every kind of pattern."""

import itertools
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from restrict.base.errors import ModelError, ResourceLimit, UsageError
from restrict.languages import dyck, dyck_matching, monoid, subset
from restrict.languages.builtin import Palindromes, bounded_dyck, parity
from restrict.languages.dfa import Dfa, minimal
from restrict.languages.dyck import Dyck
from restrict.languages.grammar import read_grammar
from restrict.languages.pre import corollary2
from restrict.languages.predicate import Predicate
from restrict.languages.protocol import Language, check_alphabet, pattern_of, restriction_of, word_positions
from restrict.languages.regular import Regular, dfa_document
from restrict.languages.shuffle import ShuffleDyck, _splits
from restrict.languages.source import language, listing
from restrict.model.brackets import bracket_alphabet
from restrict.model.restriction import Restriction
from tests.marks import heavy_after, rows_after

Cells = tuple[str | None, ...]


# ------------------------------------------------------------ the oracle


def words(alphabet: Sequence[str], cells: Cells) -> Iterator[tuple[str, ...]]:
    """Every completion."""
    return itertools.product(*[alphabet if c is None else (c,) for c in cells])


def naive_cost(found: Language, member: bool, cells: Cells) -> int | None:
    """The forcing cost by trying every restriction that refines the cells."""
    inside = {w: found.contains(w) for w in words(found.alphabet, cells)}
    best = None
    for finer in itertools.product(*[(None, *found.alphabet) if c is None else (c,) for c in cells]):
        cost = sum(c is not None for c in finer) - sum(c is not None for c in cells)
        if (best is None or cost < best) and all(inside[w] == member for w in words(found.alphabet, finer)):
            best = cost
    return best


def agree(found: Language, cells: Cells, force: bool) -> None:
    """Everything that the language says about one pattern, against enumeration."""
    rho = restriction_of(cells)
    inside = {w: found.contains(w) for w in words(found.alphabet, cells)}
    assert found.count(rho) == sum(inside.values())
    for member in (True, False):
        word = found.complete(rho, {}, member)
        assert (word is None) == (member not in inside.values()), (cells, member)
        assert word is None or inside[word] == member
        if force:
            cost = found.forcing_cost(len(cells), member, rho)
            assert (None if cost is None else cost.cost) == naive_cost(found, member, cells), (cells, member)
            if cost is not None:
                assert cost.restriction.refines(rho)
                assert len(cost.restriction.fixed) == len(rho.fixed) + cost.cost
                assert all(inside[w] == member for w in inside if cost.restriction.admits(w))


def some_cells(rng: random.Random, alphabet: Sequence[str], n: int, most: int) -> Cells:
    """A random pattern with at most so many completions."""
    while True:
        share = rng.random()
        cells = tuple(rng.choice(alphabet) if rng.random() < share else None for _ in range(n))
        if len(alphabet) ** cells.count(None) <= most:
            return cells


LANGUAGES = [
    "parity", "majority", "1*", "(aa)*", "anbn", "first", "flip-flop", "palindromes:ab", "palindromes:abc",
    "palindromes:a", "dyck:1", "dyck:2", "dyck:3", "dyck:1,depth=2", "dyck:2,depth=2", "shuffle-dyck:1",
    "shuffle-dyck:2", "shuffle-dyck:3",
]  # fmt: skip


@pytest.mark.parametrize("spec", LANGUAGES)
def test_every_answer_equals_enumeration(spec: str) -> None:
    found, rng = language(spec), random.Random(spec)
    assert language(found.spec) == found
    assert isinstance(found, Language)
    for _ in range(30):
        cells = some_cells(rng, found.alphabet, rng.randint(0, 10), 300)
        agree(found, cells, (len(found.alphabet) + 1) ** cells.count(None) <= 700)


@pytest.mark.parametrize("spec", LANGUAGES)
def test_samples_are_members_at_exact_length(spec: str) -> None:
    found, rng = language(spec), np.random.default_rng(1)
    for n in range(7):
        inside = {found.contains(w) for w in words(found.alphabet, (None,) * n)} if n <= 5 else None
        for member in (True, False):
            word = found.sample(n, rng, member)
            assert inside is None or (word is None) == (member not in inside)
            assert word is None or (len(word) == n and found.contains(word) == member)


@pytest.mark.parametrize(
    ("spec", "n"),
    rows_after([
        ("dyck:1", 6), ("dyck:2", 4), ("shuffle-dyck:2", 2), ("dyck:1,depth=2", 6), ("flip-flop", 2), ("majority", 4),
        ("dyck:1", 8), ("shuffle-dyck:2", 4), ("dyck:1,depth=2", 8),
    ], 6),
)  # fmt: skip
def test_samples_are_uniform(spec: str, n: int) -> None:
    found, rng = language(spec), np.random.default_rng(2)
    members = [w for w in words(found.alphabet, (None,) * n) if found.contains(w)]
    drawn = Counter(found.sample(n, rng) for _ in range(200 * len(members)))
    assert set(drawn) == set(members)
    # Standard deviation of each count is below 14.2; five of them for all.
    assert all(abs(c - 200) < 71 for c in drawn.values())


# ------------------------------------------------------------ regular languages


def some_dfa(rng: random.Random, states: int) -> Dfa:
    """A random automaton over a, b, minimal."""
    delta = [[rng.randrange(states) for _ in "ab"] for _ in range(states)]
    return minimal("ab", delta, 0, [q for q in range(states) if rng.random() < 0.5])


def test_forcing_cost_of_random_automata_by_every_method() -> None:
    rng = random.Random(5)
    for _ in range(120):
        dfa = some_dfa(rng, rng.randint(1, 4))
        found = Regular("DFA", "python:dfa", dfa)
        pattern = some_cells(rng, "ab", rng.randint(0, 6), 64)
        agree(found, pattern, True)
        cells = [None if s is None else "ab".index(s) for s in pattern]
        for member in (True, False):
            answers = [subset.antichains(dfa, member, cells)]
            for backward, prune in ((False, False), (True, False), (False, True)):
                graph = subset.explore(dfa, member, backward, 1000, prune)
                assert graph is not None
                answers.append(subset.shortest(graph, cells))
            expected = naive_cost(found, member, pattern)
            for answer in answers:
                assert (None if answer is None else cells.count(None) - answer.count(None)) == expected
                if answer is not None:
                    finer = tuple(None if a is None else "ab"[a] for a in answer)
                    assert all(found.contains(w) == member for w in words("ab", finer))


def costs(found: Language, n: int, pre: Restriction | None = None) -> tuple[int | None, int | None]:
    """What forcing membership and non-membership cost."""
    into, out = (found.forcing_cost(n, member, pre) for member in (True, False))
    return into and into.cost, out and out.cost


def test_forcing_costs_of_known_languages_are_exact() -> None:
    for n in (1, 7, 10_000):
        for spec, both in (("parity", (n, n)), ("1*", (n, 1)), ("first", (1, 1))):
            assert costs(language(spec), n) == both
    assert costs(language("dyck:1"), 1000) == (1000, 1)
    assert costs(language("majority"), 9) == (5, 5)
    assert costs(language("palindromes:ab"), 10_001)[1] == 2
    assert costs(language("(aa)*"), 3)[0] is None


def test_corollary_2_is_for_brackets_of_any_name() -> None:
    assert corollary2(language("dyck[aA]:1,depth=2"), 10).fixed == {0: "a", 1: "a", 8: "A", 9: "A"}


@pytest.mark.parametrize("n", heavy_after([10, 20, 36, 1000, 100_000], 4))
def test_dyck_is_linear_after_the_pre_restriction_of_corollary_2(n: int) -> None:
    assert costs(Dyck(1), n, corollary2(Dyck(1), n)) == (n - 2 * (n // 5), n // 5 + 1)
    assert costs(Dyck(2), n, corollary2(Dyck(2), n))[1] == 1


def test_large_automata_answer_or_say_why() -> None:
    counter = minimal("01", [[q, (q + 1) % 1000] for q in range(1000)], 0, [0])
    found = Regular("DFA", "python:dfa", counter).forcing_cost(5000, True)
    assert found is not None
    assert found.cost == 5000
    rng = random.Random(3)
    wild = minimal("ab", [[rng.randrange(60) for _ in "ab"] for _ in range(60)], 0, [0])
    with pytest.raises(ResourceLimit, match=r"subset construction explodes: .* at least \d+ \(certified bound\)"):
        subset.antichains(wild, True, [None] * 300, limit=2000)


def test_long_counts_equal_short_arithmetic() -> None:
    rho = Restriction(3000, {5: "1", 2000: "0"})
    assert parity().count(rho) == 2**2997
    found = language("dyck:1,depth=3")
    assert found.count(Restriction(600)) == found.count(Restriction(600, {0: "("}))
    chain = [1, 1]  # Dyck paths of height at most 3 (de Bruijn, Knuth and Rice 1972): every other Fibonacci number
    while len(chain) <= 300:
        chain.append(3 * chain[-1] - chain[-2])
    assert found.count(Restriction(600)) == chain[300]
    assert language("majority").count(Restriction(2001)) == 2**2000


def test_minimal_automata_are_canonical() -> None:
    rng = random.Random(9)
    for _ in range(200):
        dfa = some_dfa(rng, 5)
        order = rng.sample(range(dfa.states), dfa.states)
        where = {q: at for at, q in enumerate(order)}
        delta, accept = [[where[p] for p in dfa.delta[q]] for q in order], [where[q] for q in dfa.accept]
        assert minimal("ab", delta, where[0], accept) == dfa
        accepts = {
            tuple(dfa.run(w, q) in dfa.accept for n in range(5) for w in itertools.product("ab", repeat=n))
            for q in range(dfa.states)
        }
        assert len(accepts) == dfa.states


# ------------------------------------------------------------ brackets


@pytest.mark.parametrize("many", heavy_after((1_500, 4_000), 1))
def test_matching_by_chart_kernel_and_greedy(many: int) -> None:
    rng = random.Random(11)
    met = [0, 0, 0]
    for _ in range(many):
        share, kinds, size = rng.random(), rng.randint(2, 3), 2 * rng.randint(1, 9)
        codes = [rng.choice((1, -1)) * rng.randint(1, kinds) * (rng.random() < share) for _ in range(size)]
        if rng.random() < 0.5:
            at = rng.randrange(len(codes))
            codes[at:at] = [0] * (2 * rng.randint(1, 15))
        whole, quick, any_way = dyck_matching.chart(codes), dyck_matching.greedy(codes), dyck_matching.match(codes)
        kernel = dyck_matching._kernel(codes)
        inner = None if kernel is None else dyck_matching.chart([codes[p] for p in kernel[0]])
        assert (whole is None) == (any_way is None) == (inner is None)
        if kernel is not None and inner is not None:
            inner = kernel[1] + [(kernel[0][i], kernel[0][j]) for i, j in inner]
        for pairs in (whole, quick, any_way, inner):
            if pairs is not None:
                word = dyck_matching.typed(codes, pairs)
                assert all(c in (0, w) for c, w in zip(codes, word, strict=True))
                assert Dyck(kinds).contains(dyck.symbols(bracket_alphabet(kinds), word))
        met[0] += whole is None
        met[1] += whole is not None and quick is None
        met[2] += kernel is not None and len(kernel[0]) < len(codes)
    assert min(met) > many // 400, met


def test_dyck_counts_over_all_words() -> None:
    assert [Dyck(2).count(Restriction(n)) for n in range(0, 9, 2)] == [1, 2, 8, 40, 224]
    assert [ShuffleDyck(2).count(Restriction(n)) for n in range(0, 9, 2)] == [1, 2, 10, 70, 588]
    catalan = [math.comb(2 * m, m) // (m + 1) for m in range(42)]
    # The known product of two Catalan numbers (Cori, Dulucq and Viennot 1986).
    assert _splits(2, 40) == [[1] + [0] * 40, catalan[:41], [catalan[m] * catalan[m + 1] for m in range(41)]]


def test_completions_of_long_patterns_agree_with_them() -> None:
    rng = random.Random(4)
    for spec in ("dyck:1", "dyck:2", "shuffle-dyck:2"):
        found = language(spec)
        n = 10_000
        fixed = {**dict.fromkeys(range(2000), "("), **dict.fromkeys(range(8000, n), ")")}
        values = {rng.randrange(2000, 8000): rng.choice(found.alphabet) for _ in range(20)}
        for member in (True, False):
            word = found.complete(Restriction(n, fixed), values, member)
            assert word is not None
            assert found.contains(word) == member
            assert all(word[i] == s for i, s in {**fixed, **values}.items())


# ------------------------------------------------------------ grammars and predicates


def naive_language(rules: Sequence[tuple[str, tuple[str, ...]]], most: int) -> set[tuple[str, ...]]:
    """The members of up to so many symbols, by a fixed point."""
    sets: dict[str, set[tuple[str, ...]]] = {head: set() for head, _ in rules}
    while True:
        before = sum(map(len, sets.values()))
        for head, body in rules:
            found: set[tuple[str, ...]] = {()}
            for s in body:
                found = {x + y for x in found for y in sets.get(s, {(s,)}) if len(x) + len(y) <= most}
            sets[head] |= found
        if sum(map(len, sets.values())) == before:
            return sets[rules[0][0]]


@pytest.mark.parametrize("many", heavy_after((150, 300), 1))
def test_random_grammars_equal_their_fixed_point(many: int) -> None:
    rng = random.Random(8)
    for _ in range(many):
        heads, sizes = "STU"[: rng.randint(1, 3)], rng.choices((0, 1, 1, 2, 2, 3, 4), k=rng.randint(2, 6))
        bodies = [tuple(rng.choices(heads + "ab", k=size)) for size in sizes]
        rules = [(rng.choice(heads) if at else "S", body) for at, body in enumerate(bodies)]
        text = "\n".join(f"{head} -> {' '.join(body)}" for head, body in rules)
        if not {s for _, body in rules for s in body} - {head for head, _ in rules}:
            with pytest.raises(ModelError, match="no terminal symbol"):
                read_grammar(text, "cfg:x")
            continue
        found, members = read_grammar(text, "cfg:x"), naive_language(rules, 5)
        for n in range(6):
            if len(found.alphabet) ** n <= 243:
                assert all(found.contains(w) == (w in members) for w in words(found.alphabet, (None,) * n))
        cells = some_cells(rng, found.alphabet, rng.randint(0, 5), 100)
        agree(found, cells, (len(found.alphabet) + 1) ** cells.count(None) <= 300)
        word = found.sample(4, np.random.default_rng(0))
        assert word is None or word in members


def test_grammar_samples_are_uniform_over_words_not_derivations() -> None:
    found, rng = read_grammar("S -> S S | a | b", "cfg:x"), np.random.default_rng(3)
    drawn = Counter(found.sample(3, rng) for _ in range(1600))
    assert len(drawn) == 8
    assert all(abs(c - 200) < 71 for c in drawn.values())


def test_a_predicate_never_claims_what_it_does_not_know() -> None:
    rare = Predicate("all the same", ("a", "b"), lambda w: len(set(w)) <= 1 and "b" in w)
    assert not rare.exact
    assert rare.complete(Restriction(40), {}, True) == ("b",) * 40
    never = Predicate("never", ("a", "b"), lambda w: False)
    assert never.complete(Restriction(10), {}, True) is None
    with pytest.raises(ResourceLimit, match="none may exist"):
        never.complete(Restriction(40), {}, True)
    with pytest.raises(ResourceLimit, match="none may exist"):
        never.sample(40, np.random.default_rng(0))
    assert never.count(Restriction(40)) is None
    agree(Predicate("two", ("a", "b"), lambda w: w.count("b") == 2), (None, "a", None, None, "b", None), True)


# ------------------------------------------------------------ markers


def test_words_leave_out_the_markers() -> None:
    rho = Restriction(6, {2: "1"}, frozenset({0, 5}))
    assert word_positions(rho) == [1, 2, 3, 4]
    assert pattern_of("01", rho, {4: "0"}) == (None, "1", None, "0")
    word = parity().complete(rho, {4: "0"}, True)
    assert word is not None
    assert rho.admits(word)
    assert parity().count(rho) == 4
    cost = parity().forcing_cost(4, False, rho)
    assert cost is not None
    assert (cost.cost, cost.restriction.pinned) == (3, frozenset({0, 5}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({0: "1"}, "position 0 is out of range or at a marker"), ({2: "0"}, "contradicts the restriction"),
        ({3: "x"}, "not in the language's alphabet"), ({9: "1"}, "out of range"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused(values: dict[int, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parity().complete(Restriction(6, {2: "1"}, frozenset({0})), values, True)


def test_alphabets_and_lengths_must_agree() -> None:
    check_alphabet(parity(), ["1", "0"], "the model")
    for message, call in (
        ("'2' is in only one", lambda: check_alphabet(parity(), ["0", "1", "2"], "the model")),
        ("index 1 is not in the language's alphabet", lambda: parity().contains("0a")),
        ("4 unpinned positions, not 5", lambda: parity().forcing_cost(5, True, Restriction(4))),
        ("negative", lambda: parity().sample(-1, np.random.default_rng(0))),
    ):
        with pytest.raises(UsageError, match=message):
            call()


# ------------------------------------------------------------ specifications


def test_specifications_may_name_files(tmp_path: Path) -> None:
    path = tmp_path / "even.json"
    path.write_text(json.dumps(dfa_document(parity().dfa, "odd")))
    found = language(f"dfa:{path}")
    assert isinstance(found, Regular)
    assert (found.name, found.dfa) == ("odd", parity().dfa)
    grammar = tmp_path / "pal.cfg"
    grammar.write_text("# palindromes\nS -> a S a | b S b | a | b | ε\n")
    pal = language(f"cfg:{grammar}")
    assert all(
        pal.contains(w) == Palindromes().contains(w) for n in range(6) for w in itertools.product("ab", repeat=n)
    )
    assert language(found) is found
    assert [form for form, _ in listing()][:2] == ["parity", "majority"]


def test_regular_expressions_are_read() -> None:
    pytest.importorskip("automata")
    assert language("regex:(0|1)*1(0|1)*").contains("00100")
    assert not language("regex[abc]:a.*").contains("b")
    assert language("regex:(0*10*1)*0*10*").dfa == parity().dfa
    assert language("regex[abc]:a|b").alphabet == ("a", "b", "c")


def test_without_the_extra_only_what_needs_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libsemigroups_pybind11", None)
    for spec in LANGUAGES:
        assert language(spec).spec == spec
    assert language("regex:(ab)*").contains("abab")
    monkeypatch.setattr(monoid, "MAX_ELEMENTS", 10)
    monkeypatch.setattr(monoid, "MIN_ELEMENTS", 10)
    with pytest.raises(ResourceLimit, match=r"over 10 elements; pip install -e \"\.\[languages\]\" in a clone"):
        monoid.star_free(bounded_dyck(2, 2).dfa)


BAD = [
    ("nonsense", UsageError, "is not a language; there are parity, majority"),
    ("words/odd.json", UsageError, "is not a language \\(an automaton in a file is dfa:words/odd.json\\); there are"),
    ("parity:3", UsageError, "parity has no options"),
    ("dyck", UsageError, "write dyck:2 or dyck:2,depth=3"),
    ("dyck:0", UsageError, "'0' must be a positive integer"),
    ("dyck:2,k=3", UsageError, "'k' is not an option"),
    ("dyck:65", UsageError, "must be 1 to 64"),
    ("dyck:2,depth=40", ResourceLimit, "20000 stacks"),
    ("palindromes:aa", UsageError, "must be different"),
    ("dfa:nowhere.json", UsageError, "cannot read"),
    ("cfg:nowhere", UsageError, "cannot read"),
    ("dyck[ab]:2", UsageError, "take 4 different symbols"),
    ("dyck[aa]:1", UsageError, "take 2 different"),
    ("dyck[a*]:1", UsageError, "'\\*' means free"),
    ("regex[ab]:a{1,100000}", ResourceLimit, "with its repetitions written out"),
]
EXPRESSIONS = [
    ("regex:(ab", r"column 1: this '\(' is never closed"),
    ("regex:a.b", "needs its alphabet"),
    ("regex:a**b)", r"column 5: this '\)' closes nothing"),
    ("regex[ab]:c", r"column 1: 'c' is not in the alphabet a b"),
    ("regex:a||b", r"column 3: a symbol, '\.' or '\(' is expected before '\|'"),
    ("regex:*a", r"column 1: '\*' has nothing to repeat"),
    ("regex[ab]:a{3,1}", r"column 2: the repetition \{3,1\} asks for at least 3 and at most 1"),
    ("regex[ab]:a{0,0}", r"column 2: the repetition \{0,0\} asks for none; write \(\)"),
    ("regex[ab]:a{,0}", r"column 2: the repetition \{,0\} asks for none"),
    ("regex[a]:]:a]:a", r"'\]:' occurs twice"),
    ("regex[ab]:a{2}", r"column 2: '\{2\}' is no repetition; write \{2,2\}"),
    ("regex[ab]:a{2", r"column 2: '\{' cannot stand here"),
    ("regex[ab]:[a-b]", r"column 1: '\[' is not in the alphabet a b"),
    ("regex[a*]:a", r"the alphabet of .* has '\*', which is an operator"),
    ("regex[ab]:a b", "column 2: ' ' cannot stand here"),
    ("regex:" + "(" * 60 + "a" + ")" * 60, "nested more than 50 deep"),
]


@pytest.mark.parametrize(("letters", "word"), [("a\\", "a\\a"), ("01-[]", "[0-1]"), ("a\\d", "\\d")])
def test_letters_that_mean_more_elsewhere_are_letters(letters: str, word: str) -> None:
    pytest.importorskip("automata")
    found = language(f"regex[{letters}]:{word}")
    members = [w for n in range(6) for w in itertools.product(letters, repeat=n) if found.contains(w)]
    assert members == [tuple(word)]


@pytest.mark.parametrize(("spec", "kind", "message"), [*BAD, *((s, UsageError, m) for s, m in EXPRESSIONS)])
def test_bad_specifications_are_refused(spec: str, kind: type[Exception], message: str) -> None:
    if spec.startswith("regex"):
        pytest.importorskip("automata")
    with pytest.raises(kind, match=message):
        language(spec)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 2}, r"start: 2 is not in 0 \.\. 1"),
        ({"accept": [0, 7]}, r"accept\[1\]: 7 is not in"),
        ({"alphabet": ["*", "\\*"]}, r"alphabet\[1\]: the symbol '\\\\\*' occurs twice"),
        ({"alphabet": ["0", "0"]}, r"alphabet\[1\]: the symbol '0' occurs twice"),
        ({"alphabet": ["0", "a b"]}, r"alphabet\[1\]: 'a b' is not a symbol"),
        ({"transitions": [[0], [1, 0]]}, r"transitions\[0\]: expected 2 successors"),
        ({"transitions": []}, "at least one state"),
        ({"format": "dfa"}, "this is 'dfa', not 'restrict-dfa/1'"),
        ({"extra": 1}, "unknown key 'extra'"),
    ],
)
def test_bad_automata_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({**dfa_document(parity().dfa, "odd"), **change}))
    with pytest.raises(ModelError, match=message):
        language(f"dfa:{path}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rules"), ("S = a", "line 1: expected NONTERMINAL"), ("\nS T -> a", "line 2"), ("S -> *", "'\\*'"),
        ("S -> S", "no terminal"), ("S -> a | # S", "line 1: a comment has a line of its own"),
        ("S -> a S | b # end", "line 1: a comment has a line of its own"),
        ("S -> a S | '|'", r"line 1: '\|' cannot be a symbol of a grammar, also not in quotes"),
        ('S -> a\nS -> "|" S', r"line 2: '\|' cannot be a symbol of a grammar, also not in quotes"),
    ],
)  # fmt: skip
def test_bad_grammars_are_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read_grammar(text, "cfg:x")


def test_a_quoted_hash_is_a_symbol_of_a_grammar() -> None:
    found = read_grammar("# words with a hash at either end\nS -> '#' T '#'\nT -> a T |", "cfg:x")
    assert found.alphabet == ("#", "a")
    assert found.contains(("#", "a", "#"))
    assert not found.contains(("a",))


def test_bounded_dyck_is_dyck_cut_off() -> None:
    for k, depth in ((1, 1), (1, 3), (2, 2)):
        found, whole = bounded_dyck(k, depth), Dyck(k)
        for n in range(7):
            for w in itertools.product(whole.alphabet, repeat=n):
                heights = itertools.accumulate(1 if s in "([{" else -1 for s in w)
                assert found.contains(w) == (whole.contains(w) and max(heights, default=0) <= depth)


@pytest.mark.parametrize("kind", ["dyck", "shuffle-dyck"])
def test_dyck_languages_over_any_brackets_are_the_usual_ones_renamed(kind: str) -> None:
    for k, letters in ((1, "aA"), (2, "<[ ]> begin end"), (2, "pqrs")):
        found, usual = language(f"{kind}[{letters}]:{k}"), language(f"{kind}:{k}")
        assert language(found.spec).alphabet == found.alphabet
        rename = dict(zip(usual.alphabet, found.alphabet, strict=True))
        for n in range(6 if k == 1 else 5):
            for word in itertools.product(usual.alphabet, repeat=n):
                assert found.contains([rename[s] for s in word]) == usual.contains(word)
            assert found.count(Restriction(n)) == usual.count(Restriction(n))
            assert costs(found, n) == costs(usual, n)
    assert language("dyck[aA]:1,depth=2").contains("aaAA")
    assert not language("dyck[aA]:1,depth=2").contains("aaaAAA")
