"""B-RASP text: the imported model equals the definition, and bad text is refused in one line."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from restrict.base.arrays import all_words
from restrict.base.errors import ModelError, ResourceLimit
from restrict.importers import import_brasp
from restrict.importers.brasp_text import parse
from restrict.model.trace import run_batch
from scripts.make_imports import INSTANCES
from tests.marks import heavy_after
from tests.naive_brasp import evaluate
from tests.random_brasp import random_brasp
from tests.test_instances import is_dyck, last_write

HEADER = "alphabet: a b\nP(i) = Q_a(i)\n"


def agree(path: Path, longest: int) -> None:
    """Compare every vector at every position on all words up to a length."""
    model, program = import_brasp(path).model, parse(path)
    names = {v.name.rstrip("_"): v.name for v in model.variables}
    for n in range(1, longest + 1):
        words = all_words(len(model.alphabet), n)
        values = run_batch(model.at(n), words).values
        for at, word in enumerate(words):
            vectors = evaluate(program, [program.alphabet[t] for t in word])
            for d in program.definitions:
                assert values[names[d.name]][at].tolist() == [int(v) for v in vectors[d.name]], (path.read_text(), word)


MORE = pytest.param(range(10_000, 10_600), marks=pytest.mark.slow)


@pytest.mark.parametrize("seeds", [*heavy_after((range(6), range(6, 300)), 1), MORE])
def test_random_programs_equal_the_definition_on_all_words(seeds: range, tmp_path: Path) -> None:
    """Three hundred programs: two letters up to length 8 for one in ten, shorter otherwise. Six hundred more of two
    letters, also deeper ones, all up to length 8."""
    path = tmp_path / "p.txt"
    for seed in seeds:
        letters, count, depth = (2, 2 + seed % 6, 1 + seed % 4) if seed >= 10_000 else (1 + seed % 4, 2 + seed % 5, 2)
        path.write_text(random_brasp(np.random.default_rng(seed), letters, count, depth))
        agree(path, {1: 8, 2: 8 if seed % 10 == 1 or seed >= 10_000 else 6, 3: 4, 4: 3}[letters])


def test_large_formulas_are_cut_into_several_maps(tmp_path: Path) -> None:
    path, most = tmp_path / "p.txt", 0
    for seed in (0, 2):
        path.write_text(random_brasp(np.random.default_rng(1000 + seed), 2, 4, depth=5))
        agree(path, 4)
        most = max(most, len(import_brasp(path).model.variables))
    deep, wide = " -> ".join(["P(i)"] * 101), " & ".join(["P(i)", "Q_a(i)"] * 900)
    nest = "(" * 27 + " ^ ".join(["P(i)"] * 40) + ")".join([" <-> !(P(i) & 1) | 0 -> P(i)"] * 28)
    path.write_text(f"{HEADER}Y(i) = {deep}\nZ(i) = {'!' * 81}P(i)\nX(i) = {wide}\nW(i) = {nest}\n")
    agree(path, 3)
    assert "Y_part" in [v.name for v in import_brasp(path).model.variables]
    assert most > 8


def test_vectors_may_have_the_names_of_helpers(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    lines = ["alphabet: a b", "Y_head(i) = Q_a(i)", "k_(i) = Q_b(i)", "k(i) = !k_(i)", "position(i) = k(i)"]
    lines.append("Y(i) = leftmost_j [j > i, Y_head(i) & k_(j)] k(j) | position(i) : k(i)")
    path.write_text("\n".join(lines))
    model, program = import_brasp(path).model, parse(path)
    assert [v.name for v in model.variables[:4]] == ["Y_head", "k_", "k_2", "position_"]
    for n in range(1, 6):
        for word in itertools.product("ab", repeat=n):
            assert (model.run(word).output == "accept") == evaluate(program, word)["Y"][-1]


@pytest.mark.parametrize(
    ("name", "right"),
    [("brasp-ab-star", lambda w: w == "ab" * (len(w) // 2)), ("brasp-dyck1-depth2", lambda w: is_dyck(w, 2))],
)
def test_examples_recognise_their_languages(name: str, right: Callable[[str], bool]) -> None:
    agree(INSTANCES / f"{name}.txt", 6)
    model = import_brasp(INSTANCES / f"{name}.txt").model
    for n in range(1, 11):
        answers = run_batch(model.at(n), all_words(2, n)).values[model.output.variable][:, -1]
        words = map("".join, itertools.product(model.alphabet, repeat=n))
        assert answers.tolist() == [right(word) for word in words]


def test_the_flip_flop_is_right_at_every_position() -> None:
    model = import_brasp(INSTANCES / "brasp-flip-flop.txt").model
    for n in range(1, 5):
        for word in itertools.product(model.alphabet, repeat=n):
            expected = [{"0": "reject", "1": "accept"}[last_write(word[: i + 1])] for i in range(n)]
            assert model.run(word).output == expected


def test_syntax_variants_mean_the_same(tmp_path: Path) -> None:
    plain = "alphabet: a b\nP(i) = !Q_a(i) & 1 | Q_b(i) -> 0\nY(i) = rightmost_j [j < i, P(j)] Q_a(j) : P(i)\n"
    fancy = 'alphabet: a b\n# remark\nP(i) := ¬Q_"a"(i) ∧ ⊤ ∨ Q_b(i) → ⊥  -- remark\n'
    fancy += "Y(i) = ▶_j [ i>j , P(j)] Q_a(j):P(i) # remark\noutput: Y\n"
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(plain)
    two.write_text(fancy)
    assert parse(one).definitions[0].rule == parse(two).definitions[0].rule
    assert import_brasp(one).model.variables[-1].map.text == import_brasp(two).model.variables[-1].map.text


def test_operators_bind_as_documented(tmp_path: Path) -> None:
    """! binds most, then &, ^, |, -> (to the right), <->: on all values of three vectors."""
    path, word = tmp_path / "p.txt", "01234567"
    bits = "".join(f"{v}(i) = " + " | ".join(f"Q_{k}(i)" for k in word if int(k) & 4 >> at) + "\n"
                   for at, v in enumerate("ABC"))  # fmt: skip
    meanings: dict[str, Callable[[bool, bool, bool], bool]] = {
        "!A(i) | B(i)": lambda a, b, _: not a or b, "A(i) | B(i) & C(i)": lambda a, b, c: a or (b and c),
        "A(i) ^ B(i) & C(i)": lambda a, b, c: a != (b and c), "A(i) & B(i) ^ C(i)": lambda a, b, c: (a and b) != c,
        "A(i) | B(i) ^ C(i)": lambda a, b, c: a or b != c, "A(i) ^ B(i) | C(i)": lambda a, b, c: a != b or c,
        "A(i) | B(i) -> C(i)": lambda a, b, c: not (a or b) or c,
        "A(i) -> B(i) -> C(i)": lambda a, b, c: not a or not b or c,
        "A(i) <-> B(i) -> C(i)": lambda a, b, c: a == (not b or c),
        "A(i) -> B(i) <-> C(i)": lambda a, b, c: (not a or b) == c,
    }  # fmt: skip
    for text, meaning in meanings.items():
        path.write_text(f"alphabet: {' '.join(word)}\n{bits}Y(i) = {text}\n")
        expected = [meaning(bool(k & 4), bool(k & 2), bool(k & 1)) for k in range(8)]
        assert evaluate(parse(path), word)["Y"] == expected, text


BAD = [
    ("P(i) = 1\n", ":1: the first line must be `alphabet: SYMBOL SYMBOL ...`"),
    ("alphabet: a a\n", ":1: an alphabet is one or more distinct symbols"),
    ("alphabet:\n", ":1: an alphabet is one or more distinct symbols"),
    ("alphabet: a *\n", ":1: the symbol '*' means a free position"),
    ("alphabet: a\nalphabet: b\n", ":2: a second alphabet"),
    ("alphabet: a\n", "there is no vector in this file"),
    ("", "there is no alphabet in this file"),
    (HEADER + "P(i) = 0\n", ":3: the vector P is defined twice"),
    (HEADER + "Q_x(i) = 0\n", ":3: 'Q_x' cannot be the name of a vector"),
    (HEADER + "Y(j) = 0\n", ":3: expected `NAME(i) = ...`, not 'Y(j) = 0'"),
    (HEADER + "Y(i) = R(i)\n", ":3: the vector 'R' is not defined above this line"),
    (HEADER + "Y(i) = Y(i)\n", ":3: the vector 'Y' is not defined above this line"),
    (HEADER + "Y(i) = Q_c(i)\n", ":3: 'c' in Q_c is not in the alphabet: a b"),
    (HEADER + "Y(i) = P(j)\n", ":3: P must be read at (i) here, not 'j'"),
    (HEADER + "Y(i) = P(k)\n", ":3: P must be read at (i) here, not 'k'"),
    (HEADER + "Y(i) = (P(i)\n", ":3: expected ')', not the end of the line"),
    (HEADER + "Y(i) = P(i) P(i)\n", ":3: unexpected 'P' after the definition of Y"),
    (HEADER + "Y(i) = P(i) $ 1\n", ":3: cannot read '$ 1'"),
    (HEADER + "Y(i) =\n", ":3: expected a vector such as P(i), not the end of the line"),
    (HEADER + f"Y(i) = {'(' * 70}P(i){')' * 70}\n", ":3: nested more than 30 deep"),
    *(
        (f"{HEADER}Y(i) = {sign.join(['P(i)'] * 102)}\n", ":3: more than 100 operators ^, -> and <->")
        for sign in (" ^ ", " -> ", " <-> ")
    ),
    (HEADER + "Y(i) = leftmost_j [j < i] P(j) : 0\n", ":3: expected ',', not ']'"),
    (HEADER + "Y(i) = leftmost_j [j = i, 1] P(j) : 0\n", ":3: expected a mask: 1, j < i"),
    (HEADER + "Y(i) = leftmost_j [0, 1] P(j) : 0\n", ":3: the mask 0 hides every position"),
    (HEADER + "Y(i) = leftmost_j [1, P(j)] P(j)\n", ":3: expected ':', not the end of the line"),
    (HEADER + "Y(i) = leftmost_j [1, P(j)] P(j) : P(j)\n", ":3: P must be read at (i) here, not 'j'"),
    (HEADER + "Y(i) = #[j <= i] P(j) >= 2\n", ":3: Y attends by '#'"),
    (HEADER + "Y(i) = count_j [1, P(j)] P(j) : 0\n", ":3: Y attends by 'count_j'"),
    (HEADER + "Y(i) = average_j [1, P(j)] P(j) : 0\n", ":3: Y attends by 'average_j'"),
    (HEADER + "Y(i) = softmax_j [1, P(j)] P(j) : 0\n", ":3: Y attends by 'softmax_j'"),
    (HEADER + "output: Z\n", ":3: the vector 'Z' is not defined above this line"),
    (HEADER + "output: P last\n", ":3: write `output: VECTOR` or `output: VECTOR every`"),
    (HEADER + "output: P\noutput: P\n", ":4: a second output"),
    ("alphabet: a\xff\n", "not UTF-8 text: byte 11"),
]


COUNTING = (
    "= # [j < i] Q_a(j)", "= #[j < i] Q_a(j)", "= Q_a(i) & # [j < i] Q_a(j)", "= Q_a(i) and count(j)",
    "= leftmost_j [1, # Q_a(j)] 1 : 0", "= leftmost_j [1, 1] # Q_a(j) : 0", ":= # [ ] Q_a",
)  # fmt: skip
"""Each is declined for what it is."""
BAD += [(f"alphabet: a b\nY(i) {term}\n", ":2: Y attends by '") for term in COUNTING]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_text_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelError) as error:
        import_brasp(path)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    assert "attends by" not in message or "(counting or averaging): outside Theorem 1" in str(error.value)


def test_an_attention_that_reads_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.txt"
    vectors = "".join(f"P{t}(i) = Q_a(i)\n" for t in range(13))
    everything = " & ".join(f"P{t}(j)" for t in range(13))
    path.write_text(f"alphabet: a b\n{vectors}Y(i) = leftmost_j [1, {everything}] 1 : 0\n")
    with pytest.raises(ResourceLimit, match=r":15: Y reads too many vectors at one position: 8192 combinations"):
        import_brasp(path)


def test_a_hash_after_a_whole_formula_is_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text(
        "# first\nalphabet: a # b -- with the symbol hash\n# more\nP(i) = Q_a(i) # a comment = (\noutput: P # end\n"
    )
    program = parse(path)
    assert program.alphabet == ("a", "#", "b")
    assert program.definitions[0].rule == parse(path).definitions[0].rule
