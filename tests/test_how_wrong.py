"""How each kind of claim could be wrong at its edges: a test for each row of docs/how-it-could-be-wrong.md.

Each test has claims on both sides of an edge, so that it fails if the checker is too credulous or too strict there.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from restrict.checker.account import Reject
from restrict.checker.claims import CLAIMS
from tests import soft_mutations
from tests.fuzzing.kinds import sealed
from tests.trusted import verify
from tests.wrong_ways import (
    CONTAINS,
    ENDS_WITH_B,
    EVERY,
    HAS_B,
    LAST,
    MARKED,
    PARITY,
    Document,
    automaton,
    bare,
    bound,
    certificate,
    code,
    everywhere,
    fails,
    holds,
    malformed,
    model,
    refutation,
)  # fmt: skip

PAGE = Path(__file__).parent.parent / "docs" / "how-it-could-be-wrong.md"
AT_ODD, NONE = model(when="n % 2 == 1"), model(output={"accept": []})
"""Not defined at even lengths; accepts nothing."""
WIDE = model("j * 4611686018427387904", ties="left")
"""Overflows from length 3 on."""
ONE_NO, ONE_YES = (model(alphabet=["a"], output={"accept": accept}) for accept in ([], [0]))
"""Over one letter: accepts nothing, and everything."""
MAJORITY, PALINDROMES = {**PARITY, "name": "majority"}, {**PARITY, "name": "palindromes"}
ALL_A, ALL_B = automaton([[0]], [0], "a"), automaton([[0, 0]], [0])
"""Every word, over one letter and over two."""

# ---------------------------------------------------------------- the page


def rows() -> list[tuple[str, str, str]]:
    """Section, risk and test of each row of the page."""
    found, section = [], ""
    for line in PAGE.read_text().splitlines():
        section = line[3:] if line.startswith("## ") else section
        if line.startswith("| ") and (match := re.search(r"`(test_\w+)`", line)) is not None:
            found.append((section, line.split("|")[1].strip(), match[1]))
    return found


def known_tests() -> set[str]:
    """The names of all tests of the project."""
    files = Path(__file__).parent.glob("test_*.py")
    return {name for path in files for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)}


def test_every_row_of_the_page_names_a_test_that_exists() -> None:
    listed, known = rows(), known_tests()
    assert [row for row in listed if row[2] not in known] == []
    assert len({name for _, _, name in listed}) == len(listed), "a test for each row"


def test_every_test_here_is_on_the_page_and_every_claim_has_a_section() -> None:
    here = {name for name, value in globals().items() if name.startswith("test_") and callable(value)}
    on_page = {name for _, _, name in rows()}
    assert {name for name in here - on_page if "page" not in name} == set()
    text = PAGE.read_text()
    for kind in (*CLAIMS, "certificate", "split", "cases", "errors", "lower bound", "soft", "verdict"):
        assert re.search(rf"^## .*{kind}", text, re.MULTILINE | re.IGNORECASE), kind


# ---------------------------------------------------------------- certificates


def test_a_certificate_without_a_free_position() -> None:
    fixed = {"fixed": [[0, 3, "b"]]}
    claim = {"free": 0, "c": 0, "dependencies": [], "values": [1]}
    holds(LAST, certificate(3, claim=claim, **fixed))
    fails(
        LAST,
        certificate(3, claim={**claim, "values": [0]}, **fixed),
        certificate(3, claim={**claim, "free": 1}, **fixed),
    )


def test_a_certificate_of_markers_only() -> None:
    marked = model(**MARKED)
    claim = {"free": 0, "c": 0, "dependencies": [], "values": [3]}  # the end marker's token
    holds(marked, certificate(2, claim=claim))
    fails(marked, certificate(2, claim={**claim, "values": [1]}), certificate(2, claim={**claim, "free": 2}))
    malformed(marked, certificate(1, claim=claim))


def test_a_certificate_at_length_one_where_nothing_is_visible() -> None:
    strict = model(mask="strict_past", default=1)
    claim = {"c": 0, "dependencies": [], "values": [1]}
    holds(strict, certificate(1, claim=claim))
    fails(strict, certificate(1, claim={**claim, "values": [0]}))


def test_a_certificate_over_an_alphabet_of_one_letter() -> None:
    claim = {"free": 3, "c": 0, "dependencies": [], "values": [0]}
    holds(ONE_NO, certificate(3, claim=claim))
    fails(ONE_NO, certificate(3, claim={**claim, "free": 0}))


def test_a_certificate_at_a_length_at_which_the_model_overflows() -> None:
    holds(WIDE, certificate(2))
    malformed(WIDE, certificate(3))


def test_a_certificate_at_a_length_that_when_excludes() -> None:
    holds(AT_ODD, certificate(3))
    malformed(AT_ODD, certificate(4))


def test_a_certificate_for_values_with_one_label() -> None:
    """The label is what depends; several values may have one, and then nothing depends on anything."""
    claim = {"c": 0, "dependencies": [], "values": [0, 1]}
    holds(model(output={"accept": []}), certificate(3, claim=claim))
    fails(LAST, certificate(3, claim=claim))
    fails(bare(LAST), certificate(3, claim=claim))
    holds(bare(LAST, labels=["x", "x"]), certificate(3, claim=claim))


def test_a_certificate_with_an_empty_cone() -> None:
    """Nothing examined: every value, every dependency."""
    claim = {"c": 3, "dependencies": [[0, 3]], "values": [0, 1]}
    holds(LAST, certificate(3, cone={}, claim=claim))
    fails(LAST, certificate(3, cone={}))


def test_a_certificate_for_every_position_counts_the_worst_one() -> None:
    holds(EVERY, certificate(3, target="all"))
    fails(EVERY, certificate(3, target="all", claim={"c": 0}))
    holds({**EVERY, **MARKED}, certificate(2, target="all", claim={"free": 0, "c": 0}))


def test_a_certificate_for_every_position_of_a_model_with_one_output() -> None:
    proof = certificate(3, target="all", claim={"c": 3})
    malformed(LAST, proof)
    holds(EVERY, proof)


def test_a_split_over_what_is_not_free() -> None:
    fixed = certificate(3, split=[1], fixed=[[1, 1, "a"]], claim={"free": 2})
    malformed(LAST, fixed, certificate(3, split=[3]))
    marked = model(**MARKED)
    claim = {"free": 2, "c": 0, "dependencies": [], "values": [3]}
    holds(marked, certificate(4, split=[1], claim=claim))
    malformed(marked, certificate(4, split=[3], claim=claim))


def test_a_split_does_not_hide_a_dependency() -> None:
    """Each branch has one label; that they differ is a dependency of the whole."""
    holds(LAST, certificate(3, split=[2]))
    fails(LAST, certificate(3, split=[2], claim={"c": 0, "dependencies": []}))


def test_cases_of_one_letter_and_of_one_leaf() -> None:
    claim = {"c": 0, "dependencies": [], "values": [0]}
    holds(ONE_NO, certificate(3, cases={"position": 2, "children": [{}]}, claim=claim))
    malformed(ONE_NO, certificate(3, cases={"position": 2, "children": []}, claim=claim))
    holds(LAST, certificate(3, cases={}))
    fails(LAST, certificate(3, cases={}, claim={"c": 0, "dependencies": []}))


def test_cases_with_a_leaf_that_examines_nothing() -> None:
    tree: Document = {"position": 0, "children": [{}, {"cone": {}}]}
    fails(LAST, certificate(3, cases=tree))
    claim = {"c": 3, "dependencies": [[0, 3]]}
    holds(LAST, certificate(3, cases=tree, claim=claim))
    # The question is where the labels part: of the positions 1 and 2 alone the label is no function by this proof.
    fails(LAST, certificate(3, cases=tree, claim={"c": 2, "dependencies": [[1, 2]]}))


# ---------------------------------------------------------------- refutations

FIRST = {"fixed": [], "claim": {"c": 1, "dependencies": [[2, 1]], "values": [0, 1]}}


def test_a_refutation_by_words_that_differ_on_a_dependency() -> None:
    inner = certificate(3, **FIRST)
    holds(LAST, refutation(inner, "aab", "abb", PARITY))
    fails(LAST, refutation(inner, "aab", "aaa", PARITY))


def test_a_refutation_by_words_of_markers_only() -> None:
    """There is one such word: it cannot be both a member and none."""
    marked = model(**MARKED)
    inner = certificate(2, claim={"free": 0, "c": 0, "dependencies": [], "values": [3]})
    fails(marked, *(refutation(inner, "", "", language) for language in (PARITY, MAJORITY, PALINDROMES)))


def test_a_refutation_over_an_alphabet_of_one_letter() -> None:
    inner = certificate(2, claim={"c": 0, "dependencies": [], "values": [0]})
    fails(ONE_NO, refutation(inner, "aa", "aa", automaton([[1], [0]], [0], "a")))


def test_a_refutation_with_the_symbols_of_the_language_in_another_order() -> None:
    """Parity counts the second symbol of its own alphabet."""
    inner, turned = certificate(3, **FIRST), {"name": "parity", "alphabet": ["b", "a"]}
    holds(LAST, refutation(inner, "aab", "abb", PARITY), refutation(inner, "abb", "aab", turned))
    fails(LAST, refutation(inner, "aab", "abb", turned))


def test_a_refutation_by_a_word_that_the_restriction_excludes() -> None:
    inner = certificate(3, fixed=[[1, 1, "a"]], claim={"free": 2})
    holds(LAST, refutation(inner, "aab", "bab", PARITY))
    fails(LAST, refutation(inner, "aab", "abb", PARITY))


def test_errors_are_as_many_as_can_be_shown() -> None:
    """One label, and `accept`: the members (or the others) among the inputs, exactly."""
    inner = certificate(3, fixed=[[2, 1, "b"]], claim={"free": 2, "c": 0, "dependencies": [], "values": [1]})
    words = refutation(inner, "aab", "abb", PARITY)
    holds(LAST, {**words, "errors": "1"}, {**words, "errors": "2"})
    fails(LAST, {**words, "errors": "3"})


def test_errors_of_a_model_without_accept_hold_for_every_reading() -> None:
    """Of four inputs with one label three are members: by the other reading one is wrong."""
    inner = certificate(3, fixed=[[2, 1, "b"]], claim={"free": 2, "c": 0, "dependencies": [], "values": [1]})
    not_bb = automaton([[2, 1], [2, 3], [2, 2], [3, 3]], [0, 1, 2])
    unsaid = bare(LAST)
    words = refutation(inner, "aab", "bbb", not_bb)
    holds(unsaid, {**words, "errors": "1"})
    fails(unsaid, {**words, "errors": "2"})


def test_errors_are_counted_for_automata_alone() -> None:
    inner = certificate(3, **FIRST)
    holds(LAST, refutation(inner, "abb", "aab", MAJORITY))
    malformed(LAST, refutation(inner, "abb", "aab", MAJORITY, errors="1"))


# ---------------------------------------------------------------- lower bounds

CONE = {"h": [[2, 1]]}
A, B = {"only": [[2, 1, ["a"]]], "cone": CONE}, {"only": [[2, 1, ["b"]]], "cone": CONE}


def test_a_lower_bound_is_exact_at_one() -> None:
    holds(LAST, bound(3, [A, B], accept=1, reject=1))
    fails(LAST, bound(3, [A, B], accept=2), bound(3, [A], reject=1))


def test_a_lower_bound_for_a_label_that_never_occurs() -> None:
    """It cannot be forced: more than all positions. But only where the box shows that it does not occur."""
    never = model(domain=3, output={"accept": [2]})
    nothing = {"only": [], "cone": CONE}
    holds(never, bound(3, [nothing], accept=4))
    malformed(never, bound(3, [nothing], accept=5))
    fails(never, bound(3, [{"only": [], "cone": {}}], accept=1), bound(3, [nothing], reject=1))


def test_a_lower_bound_for_a_label_that_no_value_has() -> None:
    malformed(NONE, bound(3, [A, B], accept=1))
    fails(NONE, bound(3, [A, B], reject=1))


def test_a_lower_bound_where_all_is_markers() -> None:
    """Nothing fixed forces the one label that there is."""
    marked = model(**MARKED)
    cone = {"h": [[1, 1]]}
    fails(marked, bound(2, [{"only": [], "cone": cone}], reject=1))
    holds(marked, bound(2, [{"only": [], "cone": cone}], accept=3))
    malformed(marked, bound(2, [{"only": [[1, 1, ["a"]]], "cone": cone}], reject=1))


def test_a_lower_bound_over_an_alphabet_of_one_letter() -> None:
    fails(ONE_NO, bound(3, [{"only": [], "cone": CONE}], reject=1))
    malformed(ONE_NO, bound(3, [{"only": [[2, 1, ["a"]]], "cone": CONE}], reject=1))


def test_a_lower_bound_for_the_labels_that_are_not_named() -> None:
    """`others` is for every label that is not named, those that occur in no box among them."""
    holds(LAST, bound(3, [A, B], others=1), bound(3, [A, B], others=1, accept=1))
    fails(LAST, bound(3, [A, B], others=2, accept=1))
    fails(bare(LAST), bound(3, [A], others=1))


def test_a_lower_bound_at_length_one() -> None:
    boxes = [{"only": [[0, 1, [symbol]]], "cone": {"h": [[0, 1]]}} for symbol in "ab"]
    holds(LAST, bound(1, boxes, accept=1, reject=1))
    fails(LAST, bound(1, boxes, accept=2))


# ---------------------------------------------------------------- recognises


def recognises(language: Document, first: int = 0) -> Document:
    return {"kind": "recognises", "language": language, "from": first}


def at_length(n: int, label: str = "accept") -> Document:
    """Accepts every word, or (`reject`) none, but at one length it is the other way round."""
    rule = f"(n == {n}) * 1" if label == "reject" else f"(n != {n}) * 1"
    out = {"name": "o", "kind": "map", "args": [], "domain": 2, "map": rule}
    found = model()
    return {**found, "variables": [out], "output": {"variable": "o", "position": "last", "accept": [1]}}


def test_recognition_with_one_wrong_length() -> None:
    """Below, at and beyond the threshold of the classes."""
    for wrong in (1, 2, 7):
        odd = at_length(wrong)
        fails(odd, *(recognises(ALL_B, first) for first in (0, 1, wrong)))
        holds(odd, recognises(ALL_B, wrong + 1))


def test_recognition_says_nothing_of_the_empty_run() -> None:
    """Lengths begin at 1; with two markers the empty word has length 2, and counts."""
    no_empty = automaton([[1, 1], [1, 1]], [1])
    accepts = {**model(output={"accept": [0, 1]})}
    holds(accepts, recognises(no_empty))
    marked = {**model(output={"accept": [0, 1, 2, 3]}), **MARKED}
    fails(marked, recognises(no_empty), recognises(no_empty, 2))
    holds(marked, recognises(no_empty, 3))


def test_recognition_where_the_model_is_not_defined() -> None:
    """At lengths that `when` excludes nothing is claimed; where it excludes all of them, nothing is verified."""
    ends_and_odd = automaton([[2, 3], [2, 3], [0, 1], [0, 1]], [3], "ab")
    holds(AT_ODD, recognises(ENDS_WITH_B), recognises(ends_and_odd))
    fails(LAST, recognises(ends_and_odd))
    few = model(when="n < 5")
    holds(few, recognises(ENDS_WITH_B, 4))
    fails(few, recognises(ENDS_WITH_B, 5))


def test_recognition_beyond_an_overflow() -> None:
    """A model that overflows from length 3 on is said nothing of from there on."""
    holds(WIDE, recognises(ENDS_WITH_B), recognises(ENDS_WITH_B, 2))
    fails(WIDE, recognises(ENDS_WITH_B, 3))


def test_recognition_over_an_alphabet_of_one_letter() -> None:
    holds(ONE_YES, recognises(ALL_A))
    fails(ONE_YES, recognises(automaton([[1], [1]], [0], "a")))
    even = automaton([[1], [0]], [0], "a")
    fails(ONE_YES, recognises(even))
    holds({**ONE_YES, "when": "n % 2 == 0"}, recognises(even))


def test_recognition_by_residues_of_the_length() -> None:
    """A period of the classes that does not divide that of the rule tells nothing."""
    out = {"name": "o", "kind": "map", "args": [], "domain": 2, "map": "n % 3 == 0"}
    third = {**LAST, "variables": [out], "output": {"variable": "o", "position": "last", "accept": [1]}}
    language = automaton([[1, 1], [2, 2], [0, 0]], [0])
    holds(third, recognises(language))
    document, proof = everywhere(third, recognises(language))
    for period in (1, 2, 4):
        assert code(document, {**proof, "period": period}) in (3, 4)


def test_recognition_needs_accept_at_the_last_position() -> None:
    fails(EVERY, recognises(ENDS_WITH_B))
    fails(bare(LAST, labels=["accept", "reject"]), recognises(ENDS_WITH_B))


# ---------------------------------------------------------------- differs


def differs(language: Document, word: str, first: int = 0, shortest: int = 0) -> Document:
    return {"kind": "differs", "language": language, "word": list(word), "from": first, "shortest": shortest}


def test_a_difference_on_a_word_that_is_too_short() -> None:
    holds(LAST, differs(HAS_B, "ba", 2))
    fails(LAST, differs(HAS_B, "ba", 3), differs(ALL_B, ""))


def test_a_difference_on_the_empty_word_between_markers() -> None:
    marked = {**model(), **MARKED}  # sees the end marker: rejects all
    holds(marked, differs(ALL_B, "", 0, 1), differs(ALL_B, "", 2, 1))
    fails(marked, differs(ALL_B, "", 3))


def test_a_difference_at_a_length_at_which_the_model_is_not_defined() -> None:
    fails(AT_ODD, differs(HAS_B, "ba"))
    holds(AT_ODD, differs(HAS_B, "baa"))
    holds(WIDE, differs(HAS_B, "ba"))
    fails(WIDE, differs(HAS_B, "baa"))


def test_a_shortest_difference_has_none_shorter_that_counts() -> None:
    """A shorter one below `from`, or at a length that `when` excludes, does not count."""
    fails(LAST, differs(HAS_B, "aba", 0, 1))
    holds(LAST, differs(HAS_B, "aba", 3, 1), differs(HAS_B, "ba", 0, 1))
    holds(AT_ODD, differs(HAS_B, "aba", 0, 1))


def said(document: Document, proof: Document) -> str:
    """The line of success without its end, the number of states and the digest."""
    trial = sealed(document, proof)
    return verify(trial.model, trial.proof, limit=10_000_000).split(" states=")[0].removeprefix("s VERIFIED ")


def test_the_line_of_a_shortest_difference_says_among_which_lengths() -> None:
    """A shorter one below `from` does not count, and whoever reads the line alone has to know it."""
    line = "all-lengths differs-from=dfa-of-2-states n=3"
    assert said(*everywhere(LAST, differs(HAS_B, "aba", 3, 1))) == f"{line} shortest n>=3"
    assert said(*everywhere(LAST, differs(HAS_B, "aba", 3))) == line
    assert said(*everywhere(AT_ODD, differs(HAS_B, "aba", 1, 1))) == f"{line} shortest"
    found = everywhere(LAST, deviates(WRONG, "ab", first=2, shortest=1))
    assert said(*found) == "all-lengths deviates-from=automaton-of-2-states n=2 shortest n>=2"


def test_a_difference_needs_a_word_on_which_they_differ() -> None:
    fails(LAST, differs(HAS_B, "ab"))
    holds(LAST, differs(PALINDROMES, "a", 0, 1))
    fails(LAST, differs(PALINDROMES, "b"))


def test_a_difference_from_a_language_with_its_symbols_in_another_order() -> None:
    turned = {"name": "majority", "alphabet": ["b", "a"]}
    fails(LAST, differs(MAJORITY, "b"))
    holds(LAST, differs(turned, "b"))
    malformed(LAST, differs({**MAJORITY, "alphabet": ["a", "c"]}, "b"))


# ---------------------------------------------------------------- forces


def forces(start: str = "", middle: str = "*", end: str = "", first: int = 0, label: str = "accept") -> Document:
    return {
        "kind": "forces", "label": label, "start": list(start), "middle": list(middle), "end": list(end),
        "from": first,
    }  # fmt: skip


def test_a_pattern_begins_where_its_ends_fit() -> None:
    """The start and the end may not overlap, and markers count."""
    holds(LAST, forces(end="b", first=1), forces(start="a", end="b", first=2))
    fails(LAST, forces(start="a", end="b", first=1))
    seen = {**model("k == 1"), **MARKED}
    holds(seen, forces(start="b", first=3))
    fails(seen, forces(start="b", first=2))


def test_a_label_that_looks_like_other_parts_of_the_line() -> None:
    """Such a name is encoded: here the line would say that "yes" is forced by none."""
    name = "yes fixed=0 period=1 n>=1 states=2"
    sly, written = bare(LAST, labels=["no", name]), "yes%20fixed%3D0%20period%3D1%20n%3E%3D1%20states%3D2"
    found = said(*everywhere(sly, forces(end="b", first=1, label=name)))
    assert found == f"all-lengths forces={written} fixed=1 period=1 n>=1"
    found = said(*everywhere(sly, cost([1], [0], 1, label=name)))
    assert found == f"all-lengths cost-of={written} at-most=1 period=1 from=0"


def test_a_pattern_at_length_one() -> None:
    holds(LAST, forces(middle="b", first=1))
    fails(LAST, forces(middle="b*", first=1), forces(first=1))


def test_a_pattern_that_fails_at_one_residue() -> None:
    """The middle is cut off where the length says, so its last cell is each of its cells in turn."""
    holds(LAST, forces(middle="b", first=1), forces(middle="bb", first=1))
    fails(LAST, forces(middle="ab", first=1), forces(middle="bbba", first=1))
    holds(CONTAINS, forces(middle="ba", first=1), forces(middle="ab", first=2))
    fails(CONTAINS, forces(middle="ab", first=1))


def test_a_pattern_for_a_label_that_no_value_has() -> None:
    fails(LAST, forces(end="b", first=1, label="maybe"))
    fails(NONE, forces(first=1))
    holds(NONE, forces(first=1, label="reject"))


def test_a_pattern_at_lengths_at_which_the_model_is_not_defined() -> None:
    """Vacuous claims are refused: `when`, an overflow."""
    holds(model(when="n < 5"), forces(end="b", first=4))
    fails(model(when="n < 5"), forces(end="b", first=5))
    holds(WIDE, forces(end="b", first=2))
    fails(WIDE, *(forces(end="b", first=first) for first in (3, 5, 1_000_000)))


def test_a_pattern_where_only_one_length_has_the_other_label() -> None:
    for wrong in (1, 4, 9):
        odd = at_length(wrong)
        fails(odd, forces(first=wrong))
        holds(odd, forces(first=wrong + 1))
        holds({**odd, "when": f"n != {wrong}"}, forces(first=1))


def test_a_pattern_over_an_alphabet_of_one_letter() -> None:
    holds(ONE_YES, forces(first=1))
    fails(ONE_YES, forces(first=1, label="reject"))


def test_a_pattern_of_markers_only() -> None:
    """At length 2 between two markers there is the empty word."""
    marked = {**model("k == 1", output={"accept": [2]}), **MARKED}  # no b: the last position, which is the end marker
    fails(marked, forces(first=2))
    ends = {**model(output={"accept": [3]}), **MARKED}
    holds(ends, forces(first=2))
    fails(ends, forces(first=1))


# ---------------------------------------------------------------- cost


def cost(costs: list[int], growth: list[int], settled: int, turn: int = 1, label: str = "accept") -> Document:
    return {"kind": "cost", "label": label, "costs": costs, "growth": growth, "settled": settled, "turn": turn}


def test_the_cost_of_words_of_no_symbols() -> None:
    """Without markers there is no such length; with two there is, and its cost is 0 or infinite."""
    holds(LAST, *(cost([early, 1], [0], 1) for early in (-1, 0, 1, 5)))
    ends = {**model(output={"accept": [3]}), **MARKED}
    holds(ends, cost([0], [0], 0), cost([-1], [0], 0, label="reject"))
    fails(ends, cost([-1, 0], [0], 1), cost([0, -1], [0], 1, label="reject"))


def test_an_infinite_cost() -> None:
    holds(NONE, cost([-1], [0], 1))
    fails(NONE, cost([-1, 0], [0], 1), cost([-1, 1_000_000_000], [0], 1))
    fails(LAST, cost([-1], [0], 1))
    malformed(LAST, cost([1, -1], [1], 1))


def test_a_cost_that_is_finite_on_some_residues_only() -> None:
    out = {"name": "o", "kind": "map", "args": ["token"], "domain": 2, "map": "token and n % 2 == 0"}
    even = {**LAST, "variables": [out], "output": {"variable": "o", "position": "last", "accept": [1]}}
    found = everywhere(even, cost([-1, -1, 1], [0, 0], 2, 2))
    assert said(*found) == "all-lengths cost-of=accept at-most=1 impossible=1/2 period=2 from=1"
    fails(even, cost([-1, -1, 1, 1], [0, 0], 2, 2), cost([-1, 1], [0], 2))


def test_a_cost_that_grows() -> None:
    holds(CONTAINS, cost([0], [1], 1, label="reject"))
    fails(
        CONTAINS,
        cost([0, 1, 2, 3, 3], [0], 4, label="reject"),
        cost([0], [2], 1, label="reject"),
        cost([0, 1, 2, 2], [1], 3, label="reject"),
    )


def test_a_cost_over_an_alphabet_of_one_letter() -> None:
    holds(ONE_YES, cost([0], [0], 1), cost([-1], [0], 1, label="reject"))
    fails(ONE_YES, cost([0, 1], [0], 1))


def test_a_cost_for_a_label_that_no_value_has() -> None:
    fails(LAST, cost([-1], [0], 1, label="maybe"))


def test_a_cost_where_one_length_is_different() -> None:
    odd = at_length(4)
    holds(odd, cost([0, 0, 0, 0, -1, 0], [0], 6))
    fails(odd, cost([0], [0], 6), cost([0, 0, 0, 0, 1, 0], [0], 6))


def test_a_cost_at_lengths_at_which_the_model_is_not_defined() -> None:
    """Nothing is claimed there; but everywhere else the costs are exact."""
    holds(AT_ODD, cost([-1, 1, 0], [0, 0], 2, 2))
    fails(AT_ODD, cost([-1, 0, 0], [0, 0], 2, 2), cost([-1, 2, 0], [0, 0], 2, 2))


# ---------------------------------------------------------------- lengths


def lengths(
    language: Document, least: list[list[int]], most: list[list[int]], settled: int = 6, turn: int = 2
) -> Document:
    sides = [{"early": early, "cycle": cycle} for early, cycle in (least, most)]
    return {
        "kind": "lengths", "language": language, "settled": settled, "turn": turn, "least": sides[0],
        "most": sides[1],
    }  # fmt: skip


def test_the_lengths_do_not_count_the_empty_run() -> None:
    """The model ends with b, the language has every word: wrong at each length from 1 on, and 0 is none."""
    wrong = [[0], [1]]
    holds(LAST, lengths(ALL_B, wrong, wrong), lengths(ALL_B, wrong, [[], [1]]))
    fails(LAST, lengths(ALL_B, [[], [1]], [[], [1]]))
    marked = {**model(), **MARKED}
    holds(marked, lengths(ALL_B, [[0, 0], [1]], [[0, 0], [1]]))
    fails(marked, lengths(ALL_B, [[0, 1], [1]], [[0, 1], [1]]))


def test_the_lengths_with_one_length_left_out() -> None:
    odd = at_length(4)
    only = [[0, 0, 0, 0, 1], [0]]
    holds(odd, lengths(ALL_B, only, only), lengths(ALL_B, [[], [0]], only))
    fails(odd, lengths(ALL_B, [[], [0]], [[], [0]]), lengths(ALL_B, [[0, 0, 0, 1, 1], [0]], only))


def test_the_lengths_with_a_period() -> None:
    """Well-nested words have even lengths: a model that rejects all is wrong at these alone."""
    dyck = {"name": "dyck", "alphabet": ["a", "b"]}
    even = [[0, 0], [1, 0]]
    holds(NONE, lengths(dyck, even, even))
    fails(
        NONE,
        lengths(dyck, [[0, 0], [0, 1]], even),
        lengths(dyck, [[0, 0], [1]], [[0, 0], [1]]),
        lengths(dyck, even, even, turn=1),
        lengths(dyck, even, even, turn=3),
    )


def test_the_lengths_at_which_the_model_is_not_defined() -> None:
    """They are not wrong lengths; and `least` needs one at which the model is defined."""
    wrong = [[0], [1, 0]]
    holds(AT_ODD, lengths(ALL_B, wrong, wrong))
    fails(AT_ODD, lengths(ALL_B, [[0], [1]], [[0], [1]]))
    fails(WIDE, lengths(ALL_B, [[0, 0, 0, 0, 0, 1], [0]], [[0], [1]]))


def test_the_lengths_over_an_alphabet_of_one_letter() -> None:
    even, odd = automaton([[1], [0]], [0], "a"), [[], [0, 1]]
    holds(ONE_YES, lengths(even, odd, odd))
    fails(ONE_YES, lengths(even, [[], [1, 0]], [[], [1]]))


# ---------------------------------------------------------------- computes and deviates


def machine(labels: list[str], moves: list[list[int]], output: list[int], alphabet: str = "ab") -> Document:
    return {"alphabet": list(alphabet), "labels": labels, "transitions": moves, "output": output}


def computes(found: Document, first: int = 0) -> Document:
    return {"kind": "computes", "machine": found, "from": first}


def deviates(found: Document, word: str, position: int | None = None, first: int = 0, shortest: int = 0) -> Document:
    place = {} if position is None else {"position": position}
    return {"kind": "deviates", "machine": found, "word": list(word), "from": first, "shortest": shortest, **place}


ENDS = machine(["reject", "accept"], [[0, 1], [0, 1]], [0, 1])
TURNED = machine(["accept", "reject"], [[0, 1], [0, 1]], [1, 0])
WRONG = machine(["reject", "accept"], [[0, 1], [0, 1]], [0, 0])
COPIES = {
    "alphabet": ["a", "b"], "labels": ["reject", "accept"], "left": [[0, 0]], "right": [[0, 0]],
    "table": [[[0], [1]]],
}  # fmt: skip


def test_labels_are_compared_by_name() -> None:
    holds(LAST, computes(ENDS), computes(TURNED))
    fails(LAST, computes({**ENDS, "labels": ["accept", "reject"]}), computes({**ENDS, "labels": ["0", "1"]}))
    holds(bare(LAST), computes({**ENDS, "labels": ["0", "1"]}))


def test_a_labelling_with_one_wrong_length() -> None:
    yes = machine(["accept"], [[0, 0]], [0])
    for wrong in (1, 5):
        odd = at_length(wrong)
        fails(odd, computes(yes, wrong))
        holds(odd, computes(yes, wrong + 1))


def test_a_labelling_where_the_model_is_not_defined() -> None:
    holds(AT_ODD, computes(ENDS))
    fails(model(when="n < 3"), computes(ENDS, 3))
    holds(model(when="n < 3"), computes(ENDS, 2))
    undefined = machine(["reject", "accept", "undefined"], [[0, 1], [0, 1]], [0, 2])
    fails(AT_ODD, computes(undefined))


def test_a_labelling_of_every_position() -> None:
    holds(EVERY, computes(COPIES))
    fails(
        EVERY,
        computes({**COPIES, "table": [[[0], [0]]]}),
        computes(COPIES, 2),
        computes({**COPIES, "left": [[-1, -1]]}),
    )


def test_a_labelling_of_markers() -> None:
    """With output everywhere a marker's position has a label, too."""
    marked = {**EVERY, **MARKED}
    right = {**COPIES, "left": [[0] * 4], "right": [[0] * 4], "table": [[[0], [1], [0], [0]]]}
    holds(marked, computes(right))
    fails(
        marked,
        computes({**right, "table": [[[0], [1], [1], [0]]]}),
        computes({**right, "table": [[[0], [1], [0], [1]]]}),
    )


def test_a_labelling_over_an_alphabet_of_one_letter() -> None:
    yes = machine(["accept"], [[0]], [0], "a")
    holds(ONE_YES, computes(yes))
    fails(ONE_YES, computes({**yes, "labels": ["reject"]}))


def test_a_deviation_needs_another_label() -> None:
    holds(LAST, deviates(WRONG, "b"))
    fails(LAST, deviates(WRONG, "a"), deviates(ENDS, "b"), deviates(WRONG, ""))


def test_a_deviation_at_a_position_that_is_not_there() -> None:
    wrong = {**COPIES, "table": [[[0], [0]]]}
    holds(EVERY, deviates(wrong, "ab", 1))
    fails(EVERY, deviates(wrong, "ab", 0))
    for position in (2, 5, 1_000_000, None):
        assert code(EVERY, deviates(wrong, "ab", position)) in (3, 4)
    malformed(EVERY, deviates(wrong, "ab", -1))
    assert code(LAST, deviates(WRONG, "b", 0)) in (3, 4)


def test_a_deviation_at_a_length_at_which_the_model_is_not_defined() -> None:
    fails(AT_ODD, deviates(WRONG, "ab"))
    holds(AT_ODD, deviates(WRONG, "aab"))
    holds(WIDE, deviates(WRONG, "ab"))
    fails(WIDE, deviates(WRONG, "aab"))


def test_a_shortest_deviation_has_none_shorter_that_counts() -> None:
    holds(LAST, deviates(WRONG, "b", shortest=1), deviates(WRONG, "ab", first=2, shortest=1))
    fails(LAST, deviates(WRONG, "ab", shortest=1), deviates(WRONG, "ab", first=3))
    wrong = {**COPIES, "table": [[[0], [0]]]}
    fails(EVERY, deviates(wrong, "ab", 1, shortest=1))
    holds(EVERY, deviates(wrong, "b", 0, shortest=1))


# ---------------------------------------------------------------- soft certificates


def softly(n: int, epsilon: str, fixed: str = "", alphabet: str = "ab", reads: str = "last", **more: Any) -> str:
    """The line for a model whose margin is the number of the token at its output, from 0 on, about the last one."""
    markers = {key: value for key, value in more.items() if key in MARKED}
    fields: Document = {"format": "restrict-soft/1", "name": "m", "alphabet": list(alphabet), **markers}
    fields |= {"position": {"kind": "none"}, "layers": []}
    fields["output"] = {"position": reads, "kind": "sign", "labels": ["x", "y"]}
    rows = np.arange(len(alphabet) + len(markers), dtype=float)[:, None]
    data = soft_mutations.Soft(fields, {"embed": rows, "unembed": np.ones((1, 1))}).to_bytes()
    listed = [[at, symbol] for at, symbol in enumerate(fixed) if symbol != "*"]
    claim = {"format": "restrict-soft-certificate/1", "n": n, "fixed": listed, "position": n - 1}
    claim |= {"quantity": "margin", "epsilon": epsilon, "norms": {}}
    trial = sealed(data, {**claim, "model": {"name": "m", "sha256": ""}})
    return verify(trial.model, trial.proof)


def soft(n: int, epsilon: str, **more: Any) -> int:
    """The exit code."""
    try:
        softly(n, epsilon, **more)
    except Reject as reject:
        return reject.code
    return 0


def test_a_soft_claim_is_exact_where_one_token_is_free() -> None:
    assert soft(3, "1.000001") == soft(3, "2.000001", alphabet="abc") == soft(3, "0.5", fixed="**b") == 0
    assert soft(3, "0.999999") == soft(3, "1", alphabet="abc") == 3


def test_the_line_of_a_soft_claim_says_at_which_of_many_outputs() -> None:
    assert softly(3, "1.000001", "**a", reads="every").startswith("s VERIFIED n=3 position=2 fixed=1 free=2 margin<=")
    assert softly(3, "1.000001", "**a").startswith("s VERIFIED n=3 fixed=1 free=2 margin<=")


def test_a_soft_claim_without_a_free_position() -> None:
    assert soft(3, "1e-30", fixed="abb") == 0
    assert soft(3, "1e-30", fixed="ab*") == 3
    assert soft(3, "0", fixed="abb") in (3, 4)


def test_a_soft_claim_of_markers_only() -> None:
    assert soft(2, "1e-30", **MARKED) == soft(1, "1e-30", end_marker=">") == soft(1, "1.000001") == 0
    assert soft(1, "1e-30", **MARKED) == soft(2, "1", fixed="ab", **MARKED) == 4
    assert soft(1, "0.5") == 3


def test_a_soft_claim_over_an_alphabet_of_one_letter() -> None:
    assert soft(3, "1e-30", alphabet="a") == 0
    assert soft(3, "1e-30", alphabet="ab") == 3
