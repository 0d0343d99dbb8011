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
    model,
    refused,
    refutation,
    verified,
)

PAGE = Path(__file__).parent.parent / "docs" / "how-it-could-be-wrong.md"
ODD = "n % 2 == 1"
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
    assert verified(LAST, certificate(3, claim=claim, **fixed))
    assert refused(LAST, certificate(3, claim={**claim, "values": [0]}, **fixed))
    assert refused(LAST, certificate(3, claim={**claim, "free": 1}, **fixed))


def test_a_certificate_of_markers_only() -> None:
    marked = model(**MARKED)
    claim = {"free": 0, "c": 0, "dependencies": [], "values": [3]}  # the end marker's token
    assert verified(marked, certificate(2, claim=claim))
    assert refused(marked, certificate(2, claim={**claim, "values": [1]}))
    assert refused(marked, certificate(2, claim={**claim, "free": 2}))
    assert refused(marked, certificate(1, claim=claim), 4)


def test_a_certificate_at_length_one_where_nothing_is_visible() -> None:
    strict = model(mask="strict_past", default=1)
    claim = {"c": 0, "dependencies": [], "values": [1]}
    assert verified(strict, certificate(1, claim=claim))
    assert refused(strict, certificate(1, claim={**claim, "values": [0]}))


def test_a_certificate_over_an_alphabet_of_one_letter() -> None:
    one = model(alphabet=["a"], output={"accept": []})
    claim = {"free": 3, "c": 0, "dependencies": [], "values": [0]}
    assert verified(one, certificate(3, claim=claim))
    assert refused(one, certificate(3, claim={**claim, "free": 0}))


def test_a_certificate_at_a_length_at_which_the_model_overflows() -> None:
    wide = model("j * 4611686018427387904")
    assert verified(wide, certificate(2))
    assert refused(wide, certificate(3), 4)


def test_a_certificate_at_a_length_that_when_excludes() -> None:
    odd = model(when=ODD)
    assert verified(odd, certificate(3))
    assert refused(odd, certificate(4), 4)


def test_a_certificate_for_values_with_one_label() -> None:
    """The label is what depends; several values may have one, and then nothing depends on anything."""
    claim = {"c": 0, "dependencies": [], "values": [0, 1]}
    assert verified(model(output={"accept": []}), certificate(3, claim=claim))
    assert refused(LAST, certificate(3, claim=claim))
    assert refused(bare(LAST), certificate(3, claim=claim))
    assert verified(bare(LAST, labels=["x", "x"]), certificate(3, claim=claim))


def test_a_certificate_with_an_empty_cone() -> None:
    """Nothing examined: every value, every dependency."""
    claim = {"c": 3, "dependencies": [[0, 3]], "values": [0, 1]}
    assert verified(LAST, certificate(3, cone={}, claim=claim))
    assert refused(LAST, certificate(3, cone={}))


def test_a_certificate_for_every_position_counts_the_worst_one() -> None:
    everything = {"target": "all", "claim": {}}
    for c, right in ((0, False), (1, True)):
        proof = certificate(3, **everything)
        proof["claim"] = {"free": 3, "c": c}
        assert verified(EVERY, proof) == right
    marked = {**EVERY, **MARKED}
    proof = certificate(2, target="all")
    proof["claim"] = {"free": 0, "c": 0}
    assert verified(marked, proof)


def test_a_certificate_for_every_position_of_a_model_with_one_output() -> None:
    proof = certificate(3, target="all")
    proof["claim"] = {"free": 3, "c": 3}
    assert refused(LAST, proof, 4)
    assert verified(EVERY, proof)


def test_a_split_over_what_is_not_free() -> None:
    for split, fixed, right in (([2], [], True), ([1], [[1, 1, "a"]], False), ([3], [], False)):
        proof = certificate(3, split=split, fixed=fixed)
        proof["claim"]["free"] -= len(fixed)
        assert code(LAST, proof) == (0 if right else 4)
    marked = model(**MARKED)
    claim = {"free": 2, "c": 0, "dependencies": [], "values": [3]}
    assert verified(marked, certificate(4, split=[1], claim=claim))
    assert refused(marked, certificate(4, split=[3], claim=claim), 4)


def test_a_split_does_not_hide_a_dependency() -> None:
    """Each branch has one label; that they differ is a dependency of the whole."""
    assert verified(LAST, certificate(3, split=[2]))
    assert refused(LAST, certificate(3, split=[2], claim={"c": 0, "dependencies": []}))


def test_cases_of_one_letter_and_of_one_leaf() -> None:
    one = model(alphabet=["a"], output={"accept": []})
    claim = {"c": 0, "dependencies": [], "values": [0]}
    assert verified(one, certificate(3, cases={"position": 2, "children": [{}]}, claim=claim))
    assert refused(one, certificate(3, cases={"position": 2, "children": []}, claim=claim), 4)
    assert verified(LAST, certificate(3, cases={}))
    assert refused(LAST, certificate(3, cases={}, claim={"c": 0, "dependencies": []}))


def test_cases_with_a_leaf_that_examines_nothing() -> None:
    tree: Document = {"position": 0, "children": [{}, {"cone": {}}]}
    assert refused(LAST, certificate(3, cases=tree))
    claim = {"c": 3, "dependencies": [[0, 3]]}
    assert verified(LAST, certificate(3, cases=tree, claim=claim))
    # The question is where the labels part: of the positions 1 and 2 alone the label is no function by this proof.
    assert refused(LAST, certificate(3, cases=tree, claim={"c": 2, "dependencies": [[1, 2]]}))


# ---------------------------------------------------------------- refutations

FIRST = {"fixed": [], "claim": {"c": 1, "dependencies": [[2, 1]], "values": [0, 1]}}


def test_a_refutation_by_words_that_differ_on_a_dependency() -> None:
    inner = certificate(3, **FIRST)
    assert verified(LAST, refutation(inner, "aab", "abb", PARITY))
    assert refused(LAST, refutation(inner, "aab", "aaa", PARITY))


def test_a_refutation_by_words_of_markers_only() -> None:
    """There is one such word: it cannot be both a member and none."""
    marked = model(**MARKED)
    inner = certificate(2, claim={"free": 0, "c": 0, "dependencies": [], "values": [3]})
    for language in (
        PARITY,
        {"name": "majority", "alphabet": ["a", "b"]},
        {"name": "palindromes", "alphabet": list("ab")},
    ):
        assert refused(marked, refutation(inner, "", "", language))


def test_a_refutation_over_an_alphabet_of_one_letter() -> None:
    one = model(alphabet=["a"], output={"accept": []})
    inner = certificate(2, claim={"c": 0, "dependencies": [], "values": [0]})
    assert refused(one, refutation(inner, "aa", "aa", automaton([[1], [0]], [0], "a")))


def test_a_refutation_with_the_symbols_of_the_language_in_another_order() -> None:
    """Parity counts the second symbol of its own alphabet."""
    inner, turned = certificate(3, **FIRST), {"name": "parity", "alphabet": ["b", "a"]}
    assert verified(LAST, refutation(inner, "aab", "abb", PARITY))
    assert refused(LAST, refutation(inner, "aab", "abb", turned))
    assert verified(LAST, refutation(inner, "abb", "aab", turned))


def test_a_refutation_by_a_word_that_the_restriction_excludes() -> None:
    inner = certificate(3, fixed=[[1, 1, "a"]], claim={"free": 2})
    assert verified(LAST, refutation(inner, "aab", "bab", PARITY))
    assert refused(LAST, refutation(inner, "aab", "abb", PARITY))


def test_errors_are_as_many_as_can_be_shown() -> None:
    """One label, and `accept`: the members (or the others) among the inputs, exactly."""
    inner = certificate(3, fixed=[[2, 1, "b"]], claim={"free": 2, "c": 0, "dependencies": [], "values": [1]})
    for errors, right in (("1", True), ("2", True), ("3", False)):
        assert verified(LAST, refutation(inner, "aab", "abb", PARITY, errors=errors)) == right


def test_errors_of_a_model_without_accept_hold_for_every_reading() -> None:
    """Of four inputs with one label three are members: by the other reading one is wrong."""
    inner = certificate(3, fixed=[[2, 1, "b"]], claim={"free": 2, "c": 0, "dependencies": [], "values": [1]})
    not_bb = automaton([[2, 1], [2, 3], [2, 2], [3, 3]], [0, 1, 2])
    unsaid = bare(LAST)
    words = refutation(inner, "aab", "bbb", not_bb)
    assert verified(unsaid, {**words, "errors": "1"})
    assert refused(unsaid, {**words, "errors": "2"})


def test_errors_are_counted_for_automata_alone() -> None:
    inner = certificate(3, **FIRST)
    majority = {"name": "majority", "alphabet": ["a", "b"]}
    assert verified(LAST, refutation(inner, "abb", "aab", majority))
    assert refused(LAST, refutation(inner, "abb", "aab", majority, errors="1"), 4)


# ---------------------------------------------------------------- lower bounds

CONE = {"h": [[2, 1]]}
A, B = {"only": [[2, 1, ["a"]]], "cone": CONE}, {"only": [[2, 1, ["b"]]], "cone": CONE}


def test_a_lower_bound_is_exact_at_one() -> None:
    assert verified(LAST, bound(3, [A, B], accept=1, reject=1))
    assert refused(LAST, bound(3, [A, B], accept=2))
    assert refused(LAST, bound(3, [A], reject=1))


def test_a_lower_bound_for_a_label_that_never_occurs() -> None:
    """It cannot be forced: more than all positions. But only where the box shows that it does not occur."""
    never = model(domain=3, output={"accept": [2]})
    nothing = {"only": [], "cone": CONE}
    assert verified(never, bound(3, [nothing], accept=4))
    assert refused(never, bound(3, [nothing], accept=5), 4)
    assert refused(never, bound(3, [{"only": [], "cone": {}}], accept=1))
    assert refused(never, bound(3, [nothing], reject=1))


def test_a_lower_bound_for_a_label_that_no_value_has() -> None:
    none = model(output={"accept": []})
    assert refused(none, bound(3, [A, B], accept=1), 4)
    assert refused(none, bound(3, [A, B], reject=1))


def test_a_lower_bound_where_all_is_markers() -> None:
    """Nothing fixed forces the one label that there is."""
    marked = model(**MARKED)
    cone = {"h": [[1, 1]]}
    assert refused(marked, bound(2, [{"only": [], "cone": cone}], reject=1))
    assert verified(marked, bound(2, [{"only": [], "cone": cone}], accept=3))
    assert refused(marked, bound(2, [{"only": [[1, 1, ["a"]]], "cone": cone}], reject=1), 4)


def test_a_lower_bound_over_an_alphabet_of_one_letter() -> None:
    one = model(alphabet=["a"], output={"accept": []})
    assert refused(one, bound(3, [{"only": [], "cone": CONE}], reject=1))
    assert refused(one, bound(3, [{"only": [[2, 1, ["a"]]], "cone": CONE}], reject=1), 4)


def test_a_lower_bound_for_the_labels_that_are_not_named() -> None:
    """`others` is for every label that is not named, those that occur in no box among them."""
    assert verified(LAST, bound(3, [A, B], others=1))
    assert verified(LAST, bound(3, [A, B], others=1, accept=1))
    assert refused(LAST, bound(3, [A, B], others=2, accept=1))
    assert refused(bare(LAST), bound(3, [A], others=1))


def test_a_lower_bound_at_length_one() -> None:
    boxes = [{"only": [[0, 1, [symbol]]], "cone": {"h": [[0, 1]]}} for symbol in "ab"]
    assert verified(LAST, bound(1, boxes, accept=1, reject=1))
    assert refused(LAST, bound(1, boxes, accept=2))


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
        for first in (0, 1, wrong):
            assert refused(*everywhere(odd, recognises(ALL_B, first))), (wrong, first)
        assert verified(*everywhere(odd, recognises(ALL_B, wrong + 1))), wrong


def test_recognition_says_nothing_of_the_empty_run() -> None:
    """Lengths begin at 1; with two markers the empty word has length 2, and counts."""
    no_empty = automaton([[1, 1], [1, 1]], [1])
    accepts = {**model(output={"accept": [0, 1]})}
    assert verified(*everywhere(accepts, recognises(no_empty)))
    marked = {**model(output={"accept": [0, 1, 2, 3]}), **MARKED}
    assert refused(*everywhere(marked, recognises(no_empty)))
    assert refused(*everywhere(marked, recognises(no_empty, 2)))
    assert verified(*everywhere(marked, recognises(no_empty, 3)))


def test_recognition_where_the_model_is_not_defined() -> None:
    """At lengths that `when` excludes nothing is claimed; where it excludes all of them, nothing is verified."""
    odd = model(when=ODD)
    ends_and_odd = automaton([[2, 3], [2, 3], [0, 1], [0, 1]], [3], "ab")
    assert verified(*everywhere(odd, recognises(ENDS_WITH_B)))
    assert verified(*everywhere(odd, recognises(ends_and_odd)))
    assert refused(*everywhere(LAST, recognises(ends_and_odd)))
    few = model(when="n < 5")
    assert verified(*everywhere(few, recognises(ENDS_WITH_B, 4)))
    assert refused(*everywhere(few, recognises(ENDS_WITH_B, 5)))


def test_recognition_beyond_an_overflow() -> None:
    """A model that overflows from length 3 on is said nothing of from there on."""
    wide = model("j * 4611686018427387904", ties="left")
    assert verified(*everywhere(wide, recognises(ENDS_WITH_B)))
    assert verified(*everywhere(wide, recognises(ENDS_WITH_B, 2)))
    assert refused(*everywhere(wide, recognises(ENDS_WITH_B, 3)))


def test_recognition_over_an_alphabet_of_one_letter() -> None:
    one = model(alphabet=["a"], output={"accept": [0]})
    assert verified(*everywhere(one, recognises(ALL_A)))
    assert refused(*everywhere(one, recognises(automaton([[1], [1]], [0], "a"))))
    even = automaton([[1], [0]], [0], "a")
    assert refused(*everywhere(one, recognises(even)))
    assert verified(*everywhere({**one, "when": "n % 2 == 0"}, recognises(even)))


def test_recognition_by_residues_of_the_length() -> None:
    """A period of the classes that does not divide that of the rule tells nothing."""
    out = {"name": "o", "kind": "map", "args": [], "domain": 2, "map": "n % 3 == 0"}
    third = {**LAST, "variables": [out], "output": {"variable": "o", "position": "last", "accept": [1]}}
    language = automaton([[1, 1], [2, 2], [0, 0]], [0])
    assert verified(*everywhere(third, recognises(language)))
    document, proof = everywhere(third, recognises(language))
    for period in (1, 2, 4):
        assert code(document, {**proof, "period": period}) in (3, 4)


def test_recognition_needs_accept_at_the_last_position() -> None:
    assert refused(*everywhere(EVERY, recognises(ENDS_WITH_B)))
    assert refused(*everywhere(bare(LAST, labels=["accept", "reject"]), recognises(ENDS_WITH_B)))


# ---------------------------------------------------------------- differs


def differs(language: Document, word: str, first: int = 0, shortest: int = 0) -> Document:
    return {"kind": "differs", "language": language, "word": list(word), "from": first, "shortest": shortest}


def test_a_difference_on_a_word_that_is_too_short() -> None:
    assert verified(*everywhere(LAST, differs(HAS_B, "ba", 2)))
    assert refused(*everywhere(LAST, differs(HAS_B, "ba", 3)))
    assert refused(*everywhere(LAST, differs(ALL_B, "")))


def test_a_difference_on_the_empty_word_between_markers() -> None:
    marked = {**model(), **MARKED}  # sees the end marker: rejects all
    assert verified(*everywhere(marked, differs(ALL_B, "", 0, 1)))
    assert verified(*everywhere(marked, differs(ALL_B, "", 2, 1)))
    assert refused(*everywhere(marked, differs(ALL_B, "", 3)))


def test_a_difference_at_a_length_at_which_the_model_is_not_defined() -> None:
    assert refused(*everywhere(model(when=ODD), differs(HAS_B, "ba")))
    assert verified(*everywhere(model(when=ODD), differs(HAS_B, "baa")))
    wide = model("j * 4611686018427387904", ties="left")
    assert verified(*everywhere(wide, differs(HAS_B, "ba")))
    assert refused(*everywhere(wide, differs(HAS_B, "baa")))


def test_a_shortest_difference_has_none_shorter_that_counts() -> None:
    """A shorter one below `from`, or at a length that `when` excludes, does not count."""
    assert refused(*everywhere(LAST, differs(HAS_B, "aba", 0, 1)))
    assert verified(*everywhere(LAST, differs(HAS_B, "aba", 3, 1)))
    assert verified(*everywhere(model(when=ODD), differs(HAS_B, "aba", 0, 1)))
    assert verified(*everywhere(LAST, differs(HAS_B, "ba", 0, 1)))


def said(document: Document, proof: Document) -> str:
    """The line of success without its end, the number of states and the digest."""
    trial = sealed(document, proof)
    return verify(trial.model, trial.proof, limit=10_000_000).split(" states=")[0].removeprefix("s VERIFIED ")


def test_the_line_of_a_shortest_difference_says_among_which_lengths() -> None:
    """A shorter one below `from` does not count, and whoever reads the line alone has to know it."""
    line = "all-lengths differs-from=dfa-of-2-states n=3"
    assert said(*everywhere(LAST, differs(HAS_B, "aba", 3, 1))) == f"{line} shortest n>=3"
    assert said(*everywhere(LAST, differs(HAS_B, "aba", 3))) == line
    assert said(*everywhere(model(when=ODD), differs(HAS_B, "aba", 1, 1))) == f"{line} shortest"
    found = everywhere(LAST, deviates(WRONG, "ab", first=2, shortest=1))
    assert said(*found) == "all-lengths deviates-from=automaton-of-2-states n=2 shortest n>=2"


def test_a_difference_needs_a_word_on_which_they_differ() -> None:
    assert refused(*everywhere(LAST, differs(HAS_B, "ab")))
    palindromes = {"name": "palindromes", "alphabet": ["a", "b"]}
    assert verified(*everywhere(LAST, differs(palindromes, "a", 0, 1)))
    assert refused(*everywhere(LAST, differs(palindromes, "b")))


def test_a_difference_from_a_language_with_its_symbols_in_another_order() -> None:
    majority = {"name": "majority", "alphabet": ["a", "b"]}
    turned = {"name": "majority", "alphabet": ["b", "a"]}
    assert refused(*everywhere(LAST, differs(majority, "b")))
    assert verified(*everywhere(LAST, differs(turned, "b")))
    assert refused(*everywhere(LAST, differs({**majority, "alphabet": ["a", "c"]}, "b")), 4)


# ---------------------------------------------------------------- forces


def forces(start: str = "", middle: str = "*", end: str = "", first: int = 0, label: str = "accept") -> Document:
    return {
        "kind": "forces", "label": label, "start": list(start), "middle": list(middle), "end": list(end),
        "from": first,
    }  # fmt: skip


def test_a_pattern_begins_where_its_ends_fit() -> None:
    """The start and the end may not overlap, and markers count."""
    assert verified(*everywhere(LAST, forces(end="b", first=1)))
    assert verified(*everywhere(LAST, forces(start="a", end="b", first=2)))
    assert refused(*everywhere(LAST, forces(start="a", end="b", first=1)))
    seen = {**model("k == 1"), **MARKED}
    assert verified(*everywhere(seen, forces(start="b", first=3)))
    assert refused(*everywhere(seen, forces(start="b", first=2)))


def test_a_label_that_looks_like_other_parts_of_the_line() -> None:
    """Such a name is encoded: here the line would say that "yes" is forced by none."""
    name = "yes fixed=0 period=1 n>=1 states=2"
    sly, written = bare(LAST, labels=["no", name]), "yes%20fixed%3D0%20period%3D1%20n%3E%3D1%20states%3D2"
    found = said(*everywhere(sly, forces(end="b", first=1, label=name)))
    assert found == f"all-lengths forces={written} fixed=1 period=1 n>=1"
    found = said(*everywhere(sly, cost([1], [0], 1, label=name)))
    assert found == f"all-lengths cost-of={written} at-most=1 period=1 from=0"


def test_a_pattern_at_length_one() -> None:
    assert verified(*everywhere(LAST, forces(middle="b", first=1)))
    assert refused(*everywhere(LAST, forces(middle="b*", first=1)))
    assert refused(*everywhere(LAST, forces(first=1)))


def test_a_pattern_that_fails_at_one_residue() -> None:
    """The middle is cut off where the length says, so its last cell is each of its cells in turn."""
    for middle, right in (("b", True), ("bb", True), ("ab", False), ("bbba", False)):
        assert verified(*everywhere(LAST, forces(middle=middle, first=1))) == right, middle
    assert verified(*everywhere(CONTAINS, forces(middle="ba", first=1)))
    assert refused(*everywhere(CONTAINS, forces(middle="ab", first=1)))
    assert verified(*everywhere(CONTAINS, forces(middle="ab", first=2)))


def test_a_pattern_for_a_label_that_no_value_has() -> None:
    assert refused(*everywhere(LAST, forces(end="b", first=1, label="maybe")))
    none = model(output={"accept": []})
    assert refused(*everywhere(none, forces(first=1)))
    assert verified(*everywhere(none, forces(first=1, label="reject")))


def test_a_pattern_at_lengths_at_which_the_model_is_not_defined() -> None:
    """Vacuous claims are refused: `when`, an overflow."""
    assert verified(*everywhere(model(when="n < 5"), forces(end="b", first=4)))
    assert refused(*everywhere(model(when="n < 5"), forces(end="b", first=5)))
    wide = model("j * 4611686018427387904", ties="left")
    assert verified(*everywhere(wide, forces(end="b", first=2)))
    for first in (3, 5, 1_000_000):
        assert refused(*everywhere(wide, forces(end="b", first=first)))


def test_a_pattern_where_only_one_length_has_the_other_label() -> None:
    for wrong in (1, 4, 9):
        odd = at_length(wrong)
        assert refused(*everywhere(odd, forces(first=wrong))), wrong
        assert verified(*everywhere(odd, forces(first=wrong + 1))), wrong
        assert verified(*everywhere({**odd, "when": f"n != {wrong}"}, forces(first=1))), wrong


def test_a_pattern_over_an_alphabet_of_one_letter() -> None:
    one = model(alphabet=["a"], output={"accept": [0]})
    assert verified(*everywhere(one, forces(first=1)))
    assert refused(*everywhere(one, forces(first=1, label="reject")))


def test_a_pattern_of_markers_only() -> None:
    """At length 2 between two markers there is the empty word."""
    marked = {**model("k == 1", output={"accept": [2]}), **MARKED}  # no b: the last position, which is the end marker
    assert refused(*everywhere(marked, forces(first=2)))
    ends = {**model(output={"accept": [3]}), **MARKED}
    assert verified(*everywhere(ends, forces(first=2)))
    assert refused(*everywhere(ends, forces(first=1)))


# ---------------------------------------------------------------- cost


def cost(costs: list[int], growth: list[int], settled: int, turn: int = 1, label: str = "accept") -> Document:
    return {"kind": "cost", "label": label, "costs": costs, "growth": growth, "settled": settled, "turn": turn}


def test_the_cost_of_words_of_no_symbols() -> None:
    """Without markers there is no such length; with two there is, and its cost is 0 or infinite."""
    for early in (-1, 0, 1, 5):
        assert verified(*everywhere(LAST, cost([early, 1], [0], 1))), early
    ends = {**model(output={"accept": [3]}), **MARKED}
    assert verified(*everywhere(ends, cost([0], [0], 0)))
    assert refused(*everywhere(ends, cost([-1, 0], [0], 1)))
    assert verified(*everywhere(ends, cost([-1], [0], 0, label="reject")))
    assert refused(*everywhere(ends, cost([0, -1], [0], 1, label="reject")))


def test_an_infinite_cost() -> None:
    none = model(output={"accept": []})
    assert verified(*everywhere(none, cost([-1], [0], 1)))
    assert refused(*everywhere(none, cost([-1, 0], [0], 1)))
    assert refused(*everywhere(none, cost([-1, 1_000_000_000], [0], 1)))
    assert refused(*everywhere(LAST, cost([-1], [0], 1)))
    assert refused(*everywhere(LAST, cost([1, -1], [1], 1)), 4)


def test_a_cost_that_is_finite_on_some_residues_only() -> None:
    out = {"name": "o", "kind": "map", "args": ["token"], "domain": 2, "map": "token and n % 2 == 0"}
    even = {**LAST, "variables": [out], "output": {"variable": "o", "position": "last", "accept": [1]}}
    found = everywhere(even, cost([-1, -1, 1], [0, 0], 2, 2))
    assert said(*found) == "all-lengths cost-of=accept at-most=1 impossible=1/2 period=2 from=1"
    assert refused(*everywhere(even, cost([-1, -1, 1, 1], [0, 0], 2, 2)))
    assert refused(*everywhere(even, cost([-1, 1], [0], 2)))


def test_a_cost_that_grows() -> None:
    assert verified(*everywhere(CONTAINS, cost([0], [1], 1, label="reject")))
    assert refused(*everywhere(CONTAINS, cost([0, 1, 2, 3, 3], [0], 4, label="reject")))
    assert refused(*everywhere(CONTAINS, cost([0], [2], 1, label="reject")))
    assert refused(*everywhere(CONTAINS, cost([0, 1, 2, 2], [1], 3, label="reject")))


def test_a_cost_over_an_alphabet_of_one_letter() -> None:
    one = model(alphabet=["a"], output={"accept": [0]})
    assert verified(*everywhere(one, cost([0], [0], 1)))
    assert refused(*everywhere(one, cost([0, 1], [0], 1)))
    assert verified(*everywhere(one, cost([-1], [0], 1, label="reject")))


def test_a_cost_for_a_label_that_no_value_has() -> None:
    assert refused(*everywhere(LAST, cost([-1], [0], 1, label="maybe")))


def test_a_cost_where_one_length_is_different() -> None:
    odd = at_length(4)
    assert verified(*everywhere(odd, cost([0, 0, 0, 0, -1, 0], [0], 6)))
    assert refused(*everywhere(odd, cost([0], [0], 6)))
    assert refused(*everywhere(odd, cost([0, 0, 0, 0, 1, 0], [0], 6)))


def test_a_cost_at_lengths_at_which_the_model_is_not_defined() -> None:
    """Nothing is claimed there; but everywhere else the costs are exact."""
    odd = model(when=ODD)
    assert verified(*everywhere(odd, cost([-1, 1, 0], [0, 0], 2, 2)))
    assert refused(*everywhere(odd, cost([-1, 0, 0], [0, 0], 2, 2)))
    assert refused(*everywhere(odd, cost([-1, 2, 0], [0, 0], 2, 2)))


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
    assert verified(*everywhere(LAST, lengths(ALL_B, wrong, wrong)))
    assert refused(*everywhere(LAST, lengths(ALL_B, [[], [1]], [[], [1]])))
    assert verified(*everywhere(LAST, lengths(ALL_B, wrong, [[], [1]])))
    marked = {**model(), **MARKED}
    assert verified(*everywhere(marked, lengths(ALL_B, [[0, 0], [1]], [[0, 0], [1]])))
    assert refused(*everywhere(marked, lengths(ALL_B, [[0, 1], [1]], [[0, 1], [1]])))


def test_the_lengths_with_one_length_left_out() -> None:
    odd = at_length(4)
    only = [[0, 0, 0, 0, 1], [0]]
    assert verified(*everywhere(odd, lengths(ALL_B, only, only)))
    assert refused(*everywhere(odd, lengths(ALL_B, [[], [0]], [[], [0]])))
    assert refused(*everywhere(odd, lengths(ALL_B, [[0, 0, 0, 1, 1], [0]], only)))
    assert verified(*everywhere(odd, lengths(ALL_B, [[], [0]], only)))


def test_the_lengths_with_a_period() -> None:
    """Well-nested words have even lengths: a model that rejects all is wrong at these alone."""
    none, dyck = model(output={"accept": []}), {"name": "dyck", "alphabet": ["a", "b"]}
    even = [[0, 0], [1, 0]]
    assert verified(*everywhere(none, lengths(dyck, even, even)))
    assert refused(*everywhere(none, lengths(dyck, [[0, 0], [0, 1]], even)))
    assert refused(*everywhere(none, lengths(dyck, [[0, 0], [1]], [[0, 0], [1]])))
    assert refused(*everywhere(none, lengths(dyck, even, even, turn=1)))
    assert refused(*everywhere(none, lengths(dyck, even, even, turn=3)))


def test_the_lengths_at_which_the_model_is_not_defined() -> None:
    """They are not wrong lengths; and `least` needs one at which the model is defined."""
    odd = model(when=ODD)
    wrong = [[0], [1, 0]]
    assert verified(*everywhere(odd, lengths(ALL_B, wrong, wrong)))
    assert refused(*everywhere(odd, lengths(ALL_B, [[0], [1]], [[0], [1]])))
    wide = model("j * 4611686018427387904", ties="left")
    assert refused(*everywhere(wide, lengths(ALL_B, [[0, 0, 0, 0, 0, 1], [0]], [[0], [1]])))


def test_the_lengths_over_an_alphabet_of_one_letter() -> None:
    one = model(alphabet=["a"], output={"accept": [0]})
    even, odd = automaton([[1], [0]], [0], "a"), [[], [0, 1]]
    assert verified(*everywhere(one, lengths(even, odd, odd)))
    assert refused(*everywhere(one, lengths(even, [[], [1, 0]], [[], [1]])))


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
    assert verified(*everywhere(LAST, computes(ENDS)))
    assert verified(*everywhere(LAST, computes(TURNED)))
    assert refused(*everywhere(LAST, computes({**ENDS, "labels": ["accept", "reject"]})))
    assert refused(*everywhere(LAST, computes({**ENDS, "labels": ["0", "1"]})))
    assert verified(*everywhere(bare(LAST), computes({**ENDS, "labels": ["0", "1"]})))


def test_a_labelling_with_one_wrong_length() -> None:
    yes = machine(["accept"], [[0, 0]], [0])
    for wrong in (1, 5):
        odd = at_length(wrong)
        assert refused(*everywhere(odd, computes(yes, wrong))), wrong
        assert verified(*everywhere(odd, computes(yes, wrong + 1))), wrong


def test_a_labelling_where_the_model_is_not_defined() -> None:
    odd = model(when=ODD)
    assert verified(*everywhere(odd, computes(ENDS)))
    assert refused(*everywhere(model(when="n < 3"), computes(ENDS, 3)))
    assert verified(*everywhere(model(when="n < 3"), computes(ENDS, 2)))
    undefined = machine(["reject", "accept", "undefined"], [[0, 1], [0, 1]], [0, 2])
    assert refused(*everywhere(odd, computes(undefined)))


def test_a_labelling_of_every_position() -> None:
    assert verified(*everywhere(EVERY, computes(COPIES)))
    assert refused(*everywhere(EVERY, computes({**COPIES, "table": [[[0], [0]]]})))
    assert refused(*everywhere(EVERY, computes(COPIES, 2)))
    assert refused(*everywhere(EVERY, computes({**COPIES, "left": [[-1, -1]]})))


def test_a_labelling_of_markers() -> None:
    """With output everywhere a marker's position has a label, too."""
    marked = {**EVERY, **MARKED}
    right = {**COPIES, "left": [[0] * 4], "right": [[0] * 4], "table": [[[0], [1], [0], [0]]]}
    assert verified(*everywhere(marked, computes(right)))
    assert refused(*everywhere(marked, computes({**right, "table": [[[0], [1], [1], [0]]]})))
    assert refused(*everywhere(marked, computes({**right, "table": [[[0], [1], [0], [1]]]})))


def test_a_labelling_over_an_alphabet_of_one_letter() -> None:
    one = model(alphabet=["a"], output={"accept": [0]})
    yes = machine(["accept"], [[0]], [0], "a")
    assert verified(*everywhere(one, computes(yes)))
    assert refused(*everywhere(one, computes({**yes, "labels": ["reject"]})))


def test_a_deviation_needs_another_label() -> None:
    assert verified(*everywhere(LAST, deviates(WRONG, "b")))
    assert refused(*everywhere(LAST, deviates(WRONG, "a")))
    assert refused(*everywhere(LAST, deviates(ENDS, "b")))
    assert refused(*everywhere(LAST, deviates(WRONG, "")))


def test_a_deviation_at_a_position_that_is_not_there() -> None:
    wrong = {**COPIES, "table": [[[0], [0]]]}
    assert verified(*everywhere(EVERY, deviates(wrong, "ab", 1)))
    assert refused(*everywhere(EVERY, deviates(wrong, "ab", 0)))
    for position in (2, 5, 1_000_000):
        assert code(*everywhere(EVERY, deviates(wrong, "ab", position))) in (3, 4)
    assert code(*everywhere(EVERY, deviates(wrong, "ab", -1))) == 4
    assert code(*everywhere(EVERY, deviates(wrong, "ab"))) in (3, 4)
    assert code(*everywhere(LAST, deviates(WRONG, "b", 0))) in (3, 4)


def test_a_deviation_at_a_length_at_which_the_model_is_not_defined() -> None:
    odd = model(when=ODD)
    assert refused(*everywhere(odd, deviates(WRONG, "ab")))
    assert verified(*everywhere(odd, deviates(WRONG, "aab")))
    wide = model("j * 4611686018427387904", ties="left")
    assert verified(*everywhere(wide, deviates(WRONG, "ab")))
    assert refused(*everywhere(wide, deviates(WRONG, "aab")))


def test_a_shortest_deviation_has_none_shorter_that_counts() -> None:
    assert verified(*everywhere(LAST, deviates(WRONG, "b", shortest=1)))
    assert refused(*everywhere(LAST, deviates(WRONG, "ab", shortest=1)))
    assert verified(*everywhere(LAST, deviates(WRONG, "ab", first=2, shortest=1)))
    assert refused(*everywhere(LAST, deviates(WRONG, "ab", first=3)))
    wrong = {**COPIES, "table": [[[0], [0]]]}
    assert refused(*everywhere(EVERY, deviates(wrong, "ab", 1, shortest=1)))
    assert verified(*everywhere(EVERY, deviates(wrong, "b", 0, shortest=1)))


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
    assert soft(3, "1.000001") == 0
    assert soft(3, "0.999999") == 3
    assert soft(3, "2.000001", alphabet="abc") == 0
    assert soft(3, "1", alphabet="abc") == 3
    assert soft(3, "0.5", fixed="**b") == 0


def test_the_line_of_a_soft_claim_says_at_which_of_many_outputs() -> None:
    assert softly(3, "1.000001", "**a", reads="every").startswith("s VERIFIED n=3 position=2 fixed=1 free=2 margin<=")
    assert softly(3, "1.000001", "**a").startswith("s VERIFIED n=3 fixed=1 free=2 margin<=")


def test_a_soft_claim_without_a_free_position() -> None:
    assert soft(3, "1e-30", fixed="abb") == 0
    assert soft(3, "1e-30", fixed="ab*") == 3
    assert soft(3, "0", fixed="abb") in (3, 4)


def test_a_soft_claim_of_markers_only() -> None:
    assert soft(2, "1e-30", **MARKED) == 0
    assert soft(1, "1e-30", **MARKED) == 4
    assert soft(2, "1", fixed="ab", **MARKED) == 4
    assert soft(1, "1e-30", end_marker=">") == 0
    assert soft(1, "1.000001") == 0
    assert soft(1, "0.5") == 3


def test_a_soft_claim_over_an_alphabet_of_one_letter() -> None:
    assert soft(3, "1e-30", alphabet="a") == 0
    assert soft(3, "1e-30", alphabet="ab") == 3
