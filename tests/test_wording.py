"""Numbers with what they count: one is singular, in every line that people read."""

import re

import pytest

import restrict
from restrict.base.errors import UsageError
from restrict.base.wording import counted, doing, several
from tests.commands import typed

SINGULAR = re.compile(
    r"(?<![\d.,-])1 (?:\w+ )?(?:positions|inputs|symbols|nodes|heads|layers|maps|rows|states|words)\b"
)


@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("node", "nodes"), ("free input", "free inputs"), ("box", "boxes"), ("dependency", "dependencies"),
        ("day", "days"), ("class", "classes"), ("branch", "branches"),
    ],
)  # fmt: skip
def test_nouns_get_their_regular_plural(noun: str, plural: str) -> None:
    assert several(noun) == plural
    assert [counted(k, noun) for k in (0, 1, 2)] == [f"0 {plural}", f"1 {noun}", f"2 {plural}"]


def test_a_verb_follows_the_number() -> None:
    assert [doing(k, "position", "force") for k in (1, 2)] == ["1 position forces", "2 positions force"]


@pytest.mark.parametrize(
    "line",
    [
        "certify induction-head -n 2", "certify contains-one -n 2", "language parity -n 1", "language 1* -n 3",
        "lower-bound contains-one -n 5", "explain contains-one --input 0100",
    ],
)  # fmt: skip
def test_one_is_singular(line: str) -> None:
    said = typed(*line.split()).output
    assert said
    assert not SINGULAR.search(said), said


@pytest.mark.parametrize(
    ("letters", "language", "hint"),
    [
        ("aAbB", "dyck:2", "'dyck[aAbB]:2', each opener followed by its closer"),
        ("aAbB", "dyck:1,depth=3", "'dyck[aAbB]:2,depth=3', each opener"),
        ("()", "dyck:2", "did you mean 'dyck:1'?"),
        ("()[]", "shuffle-dyck:1", "did you mean 'shuffle-dyck:2'?"),
        ("ab", "regex:a*", "over all of these it is 'regex[ab]:a*'"),
        ("xyz", "palindromes:ab", "over the latter it is 'palindromes:xyz'"),
        ("xyz", "dyck:1", "is in only one of them"),
        ("xyz", "parity", "is in only one of them"),
    ],
)
def test_another_alphabet_is_named(letters: str, language: str, hint: str) -> None:
    made = restrict.compile_formula("true", alphabet=tuple(letters))
    with pytest.raises(UsageError) as caught:
        restrict.refute(made, language, 6)
    assert hint in str(caught.value)
    written = re.search(r"'([^']*)'[^']*$", str(caught.value)) if "it is" in hint or "mean" in hint else None
    if written:
        assert set(restrict.language(written[1]).alphabet) == set(made.alphabet)
