"""S-RASP: interpreter, uniform-tieless transformer and its softmax, against each other and against definitions."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from restrict.base.arrays import all_words
from restrict.base.errors import ModelError, NotEstablished, UsageError
from restrict.languages.dyck import Dyck
from restrict.simulate import laws, theorem26
from restrict.simulate.floating import UNITS
from restrict.simulate.lemma27 import rounding_width
from restrict.simulate.srasp.compiler import compile_program, compile_with_budget, gap_of
from restrict.simulate.srasp.interpreter import run
from restrict.simulate.srasp.measure import deviation
from restrict.simulate.srasp.parser import parse
from restrict.simulate.srasp.programs import dyck, flip_flop, induction
from restrict.simulate.srasp.source import load
from restrict.simulate.srasp.syntax import SRaspProgram
from restrict.soft.models.evaluate import logits
from restrict.soft.models.known import first
from restrict.soft.models.model import SoftModel
from tests.commands import succeeded, typed
from tests.marks import heavy_after

QUARTER = Fraction(1, 4)


def accepts(program: SRaspProgram, word: Sequence[str]) -> bool:
    return bool(len(word)) and bool(run(program, word)[program.output][-1])


def hop(word: tuple[str, ...], at: int) -> int | None:
    """The nearest position up to ``at`` that follows an earlier occurrence of the symbol there."""
    return next((j for j in range(at, 0, -1) if word[j - 1] == word[at]), None)


def expected(program: SRaspProgram, words: np.ndarray) -> np.ndarray:
    rows = [run(program, [program.alphabet[a] for a in word])[program.output] for word in words]
    return np.array(rows).reshape(words.shape)


def softmax_agrees(program: SRaspProgram, words: np.ndarray) -> None:
    """The softmax transformer at the computed temperature has the program's label at every position of the word."""
    n = words.shape[1] + 1
    model, budget = compile_with_budget(program)
    sharp = budget.sharpness(n, QUARTER)
    assert sharp.error <= QUARTER
    soft = budget.soften(model, sharp)
    for part in np.array_split(words, max(1, len(words) * n * model.width // 2**22)):
        for kind, unit in UNITS.items():
            if soft.beyond(n, kind) is None:
                off, found = deviation(soft, budget.raw, part, dtype=np.dtype(kind).type)
                assert off <= budget.deviation(n, sharp.scale, unit)
                assert np.array_equal(found, expected(program, part) - 0.5)  # truth values are exact


def every_word(program: SRaspProgram, length: int) -> np.ndarray:
    return all_words(len(program.alphabet), length)


def hard_agrees(program: SRaspProgram, words: np.ndarray) -> None:
    model = compile_program(program)
    x = laws.run(model, model.encode(words), "average")
    found = laws.times(x, model.output.unembed)[:, 1:, 0] + Fraction(float(model.output.bias[0]))
    assert np.array_equal(found * 2 + 1, 2 * expected(program, words))


MORE = [pytest.param(k, most, marks=pytest.mark.slow) for k, most in ((1, 10), (2, 6), (3, 5))]


@pytest.mark.parametrize(("k", "most"), [(1, 8), (2, 4), (3, 3), *MORE])
def test_dyck_in_s_rasp_and_by_softmax_is_dyck(k: int, most: int) -> None:
    """By softmax every position is read, so a word of the greatest length stands for all its prefixes, too."""
    program = parse(dyck(k))
    for length in range(1, most + 1):
        for word in itertools.product(program.alphabet, repeat=length):
            assert accepts(program, word) == Dyck(k).contains(word)
    softmax_agrees(program, every_word(program, most))
    assert not accepts(program, [])
    with pytest.raises(UsageError):
        dyck(5)


def near_dyck(rng: np.random.Generator, k: int, length: int) -> list[int]:
    """The symbols' numbers of a balanced word with sometimes one symbol changed."""
    word = [Dyck(k).alphabet.index(symbol) for symbol in Dyck(k).sample(length, rng)]
    if rng.random() < 0.5:
        word[int(rng.integers(length))] = int(rng.integers(2 * k))
    return word


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("length", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_dyck_by_softmax_on_long_words(k: int, length: int) -> None:
    rng = np.random.default_rng(k)
    words = np.array([near_dyck(rng, k, length) for _ in range(12)])
    softmax_agrees(parse(dyck(k)), words)


@pytest.mark.parametrize("hops", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_induction_heads_follow_their_definition(hops: int) -> None:
    program = parse(induction(hops, "abc", "b"))
    for word in itertools.product("abc", repeat=5):
        at: int | None = len(word) - 1
        for _ in range(hops):
            at = None if at is None else hop(word, at)
        assert accepts(program, word) == (at is not None and word[at] == "b")
    rng = np.random.default_rng(hops)
    softmax_agrees(program, rng.integers(0, 3, (20, 12)))
    hard_agrees(program, rng.integers(0, 3, (3, 5)))


def test_the_flip_flop_follows_its_definition() -> None:
    program = parse(flip_flop())
    for word in itertools.product(program.alphabet, repeat=4):
        writes = [s for s in word if s != "x"]
        assert accepts(program, word) == (bool(writes) and writes[-1] == "w1")
    softmax_agrees(program, every_word(program, 5))
    hard_agrees(program, every_word(program, 3))


PROGRAMS = {
    "majority": "one(i) = psum [j <= i] Q_1(j)\nout(i) = one(i) * 2 > pos(i)",
    "parity-like": "one(i) = psum [j <= i] Q_1(j)\nhalf(i) = rightmost [j <= i, one(i) == min(pos(j) * 2, pos(j))] "
    "Q_0(j) : 1\nout(i) = half(i) or one(i) != 2",
    "leftmost": "out(i) = leftmost [j <= i, Q_1(j) and not Q_0(i) or Q_0(j) and Q_0(i)] Q_1(j) : Q_0(i)",
    "everywhere": "out(i) = leftmost [1, Q_1(j)] 1 : 0",
    "strict": "out(i) = rightmost [j < i, not Q_1(j)] Q_0(j) : Q_1(i)",
    "integers": "p(i) = rightmost [j < i, Q_1(j)] pos(j) : 2\nout(i) = p(i) <= 2 and max(p(i), 1) != 1",
    "arithmetic": "a(i) = psum [j <= i] Q_0(j)\nb(i) = psum [j <= i] Q_1(j)\nd(i) = min(a(i), b(i))\n"
    "s(i) = rightmost [j < i, d(i) == d(j) and Q_1(j)] 1 : 0\nout(i) = s(i) and a(i) - b(i) >= 0 - 1 or d(i) == 0",
    "local": "out(i) = Q_1(i) and not Q_0(i) or pos(i) == 2",
}


CHEAP = ("majority", "leftmost", "strict")
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in PROGRAMS if name not in CHEAP]


def agree_three_ways(program: SRaspProgram, length: int) -> None:
    """The program, its hard transformer on all words of a length, and its softmax; and the gap."""
    hard_agrees(program, every_word(program, length))
    softmax_agrees(program, every_word(program, 5))
    for n in (2, length):
        gap = theorem26.gap_function(compile_program(program), n)
        assert gap is None or gap >= gap_of(n)


@pytest.mark.parametrize("name", [*CHEAP, *OTHERS])
def test_programs_agree_three_ways(name: str) -> None:
    program = parse(f"alphabet: 0 1\n{PROGRAMS[name]}\noutput: out")
    agree_three_ways(program, 4)
    softmax_agrees(program, every_word(program, 1))


def test_the_temperature_is_confirmed_sharp_and_can_fail() -> None:
    for text, length in ((dyck(1), 7), (flip_flop(), 5), (induction(2), 6)):
        program = parse(text)
        words, (model, budget) = every_word(program, length), compile_with_budget(program)
        sharp = budget.sharpness(length + 1, QUARTER)
        assert budget.deviation(length + 1, sharp.scale * 0.8) > QUARTER
        assert budget.deviation(length + 1, sharp.scale * 2) < sharp.error
        scales = (sharp.scale, sharp.scale / 2, 3.0)
        right, half, dull = (
            deviation(theorem26.by_softmax(model, replace(sharp, scale=s)), budget.raw, words) for s in scales
        )
        assert half[0] > QUARTER >= sharp.error >= right[0]  # within twice the smallest that works
        assert not np.array_equal(dull[1], expected(program, words) - 0.5)
        with pytest.raises(UsageError):
            budget.sharpness(8, Fraction(0))


def test_theorem_26_for_any_uniform_tieless_model() -> None:
    """The recursion along the layers, without what the compiler knows of its programs."""
    program = parse("alphabet: 0 1\nbefore(i) = rightmost [j < i, 1] Q_1(j) : 0\noutput: before")
    model, budget = compile_with_budget(program)
    words, gap = every_word(program, 6), gap_of(7)
    assert theorem26.gap_function(model, 4) == gap_of(4)
    assert sum(h.uniform for layer in compile_program(parse(dyck(1))).layers for h in layer.heads) == 2
    sharp = theorem26.temperature(model, 7, gap, QUARTER)
    assert budget.sharpness(7, QUARTER).scale < sharp.scale
    assert theorem26.softmax_error(model, 7, gap, sharp.scale * 0.9) > QUARTER
    assert theorem26.softmax_error(model, 7, gap, sharp.scale * 2) < sharp.error <= QUARTER
    for kind, unit in UNITS.items():
        soft = theorem26.by_softmax(model, sharp)
        found = logits(soft, soft.encode(words), dtype=np.dtype(kind).type)[:, 1:, 0].astype(np.float64)
        off = np.abs(found - (expected(program, words) - 0.5)).max()
        assert off <= theorem26.softmax_error(model, 7, gap, sharp.scale, unit)
        safe = theorem26.safe_length(model, sharp, unit)
        assert 0 < safe <= 7
        assert theorem26.softmax_error(model, safe, gap, sharp.scale, unit) < 0.5
    with pytest.raises(UsageError):
        theorem26.temperature(model, 8, Fraction(0), QUARTER)


@pytest.mark.parametrize("kind", UNITS)
def test_rounding_is_within_its_bound(kind: str) -> None:
    for text, n in ((dyck(1), 20), (flip_flop(), 200), (dyck(2), 20), (induction(2), 40)):
        program = parse(text)
        model, budget = compile_with_budget(program)
        sharp = budget.sharpness(n, Fraction(1, 5))
        words = np.random.default_rng(n).integers(0, len(program.alphabet), (12, n - 1))
        soft = budget.soften(model, sharp)
        assert soft.certified[kind] == n
        off, found = deviation(soft, budget.raw, words, dtype=np.dtype(kind).type)
        assert off <= budget.deviation(n, sharp.scale, UNITS[kind]) < 0.25
        assert np.array_equal(found, expected(program, words) - 0.5)
    sharp = budget.sharpness(10_000, Fraction(1, 5))
    safe = budget.safe_length(sharp, UNITS["float32"])
    assert 10 < safe < 10_000
    assert budget.deviation(safe, sharp.scale, UNITS["float32"]) < 0.25
    assert budget.deviation(safe + 1, sharp.scale, UNITS["float32"]) >= 0.25


def test_the_command_simulates_a_program(tmp_path: Path) -> None:
    file = tmp_path / "p.srasp"
    file.write_text(dyck(1), encoding="utf-8")
    found = succeeded("simulate", file, "-n", "6", "-o", tmp_path / "m.safetensors")
    assert "no wrong label" in found.output
    assert "every length up to 6" in found.output
    found = typed("simulate", "srasp:induction-1", "-n", "6", "--json")
    document = json.loads(found.output)
    assert document["wrong"] == 0
    assert document["measured_error"] <= document["certified_error"] <= 0.2
    file.write_text("alphabet: 0 1\nx(i) = leftmost [1, Q_1(j)] 1 : 0\noutput: x\n", encoding="utf-8")
    made = typed("simulate", file, "-n", "6", "-o", tmp_path / "m.safetensors")
    assert "right at n = 6" in made.output
    assert typed("soft", "run", tmp_path / "m.safetensors", "01010").exit_code == 0
    assert typed("soft", "run", tmp_path / "m.safetensors", "0101").exit_code != 0
    with pytest.raises(UsageError):
        load("srasp:nothing")


def test_the_temperature_grows_as_n() -> None:
    for text in (flip_flop(), dyck(2), induction(1)):
        budget = compile_with_budget(parse(text))[1]
        scales = [budget.sharpness(n, QUARTER).scale / n for n in (16, 64, 256, 4096)]
        assert max(scales) < 1.5 * min(scales)


def test_a_tie_is_found() -> None:
    with pytest.raises(NotEstablished, match="tie"):
        theorem26.gap_function(first(), 4)


def test_the_same_weights_at_every_length() -> None:
    model = compile_program(parse(dyck(2)))
    assert isinstance(model, SoftModel)
    assert all(head.scale.text == "1" for layer in model.layers for head in layer.heads)


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        ("x(i) = Q_2(i)", 8, "not in the alphabet"), ("x(i) = y(i)", 8, "expected a number"),
        ("x(i) = 1 +", 11, "the end of the line"), ("x(i) = Q_1(j)", 8, "of i only"),
        ("x(i) = psum [j < i] Q_1(j)", 13, r"over \[j <= i\]"), ("x(i) = psum [j <= i] pos(j)", 22, "truth value"),
        ("x(i) = rightmost [j >= i, 1] Q_1(j) : 0", 18, "masks"), ("x(i) = not pos(i)", 12, "truth value"),
        ("x(i) = pos(i) * pos(i)", 17, "must be a number"), ("x(i) = Q_1(i) $", 15, "no part of a program"),
        ("and(i) = 1", 1, "name of a new vector"), ("x(i) = (" * 1 + "(" * 99, 68, "nested"),
        ("x(i) = 1 1", 10, "end of the statement"),
    ],
)  # fmt: skip
def test_errors_point_at_the_column(line: str, column: int, reason: str) -> None:
    with pytest.raises(ModelError, match=reason) as caught:
        parse(f"alphabet: 0 1\n{line}\noutput: x")
    assert f":2:{column}:" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "needs 'alphabet"), ("x(i) = 1", "first line"), ("alphabet: a a\noutput: x", "different symbols"),
        ("alphabet: a\nx(i) = pos(i)\noutput: x", "no vector of truth values"),
        ("alphabet: a\nx(i) = Q_a(i)\nx(i) = Q_a(i)\noutput: x", "defined already"),
    ],
)  # fmt: skip
def test_malformed_programs_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        parse(text)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("x(i) = rightmost [j < i, pos(i) + 1 == pos(j)] Q_1(j) : 0", "must lie in 0 .. i"),
        ("x(i) = rightmost [j < i, pos(i) == pos(j) and pos(j) == pos(i)] Q_1(j) : 0", "one integer equality"),
        ("x(i) = rightmost [j < i, pos(i) < pos(j)] Q_1(j) : 0", "compared by one =="),
        ("y(i) = rightmost [j < i, 1] pos(j) - 5 : 0\nx(i) = y(i) > 0", "at least 0"),
        ("y(i) = rightmost [j < i, 1] pos(j) : pos(i)\nx(i) = y(i) > 0", "must be a number"),
    ],
)
def test_what_does_not_compile_is_named(body: str, reason: str) -> None:
    with pytest.raises(NotEstablished, match=reason):
        compile_program(parse(f"alphabet: 0 1\n{body}\noutput: x"))


def test_the_rounding_width_is_the_least_of_lemma_27() -> None:
    for bits, layers in itertools.product((1, 4, 10), (1, 2, 5)):
        width = rounding_width(bits, layers)
        assert (2 * width) ** layers >= 2**bits
        assert width == 1 or (2 * (width - 1)) ** layers < 2**bits
    assert rounding_width(20, 2) == 512
    with pytest.raises(UsageError):
        rounding_width(0, 1)


def truth(rng: np.random.Generator, side: str, names: list[str], depth: int) -> str:
    """A random truth value at one side."""
    kind = int(rng.integers(6)) if depth else 0
    if kind <= 1:
        return str(rng.choice([f"Q_0({side})", f"Q_1({side})", *(f"{v}({side})" for v in names)]))
    if kind == 2:
        return f"not ({truth(rng, side, names, depth - 1)})"
    return f"({truth(rng, side, names, depth - 1)} {rng.choice(['and', 'or'])} {truth(rng, side, names, depth - 1)})"


def random_program(rng: np.random.Generator) -> SRaspProgram:
    """Prefix sums, comparisons and attention with every mask, with and without an equality of integers."""
    truths, counts, lines = list[str](), list[str](), ["alphabet: 0 1"]
    for at in range(int(rng.integers(2, 5))):
        name, kind = f"v{at}", int(rng.integers(4))
        if kind == 0:
            lines.append(f"{name}(i) = psum [j <= i] {truth(rng, 'j', truths, 2)}")
            counts.append(name)
            continue
        if kind == 1 and counts:
            left, right, sign = rng.choice(counts), rng.choice(counts), rng.choice(["<", "<=", "==", "!=", ">", ">="])
            lines.append(f"{name}(i) = {left}(i) {sign} {right}(i) - 1 or {truth(rng, 'i', truths, 1)}")
        else:
            score = f"({truth(rng, 'i', truths, 1)} {rng.choice(['and', 'or'])} {truth(rng, 'j', truths, 1)})"
            if counts and rng.random() < 0.5:
                score = f"{rng.choice(counts)}(i) == {rng.choice([*counts, 'pos'])}(j) and {score}"
            law, mask = rng.choice(["leftmost", "rightmost"]), rng.choice(["j <= i", "j < i", "1"])
            value, default = truth(rng, "j", truths, 1), truth(rng, "i", truths, 1)
            lines.append(f"{name}(i) = {law} [{mask}, {score}] {value} : {default}")
        truths.append(name)
    return parse("\n".join([*lines, f"last(i) = {truth(rng, 'i', truths, 1)}", "output: last"]))


@pytest.mark.parametrize("count", heavy_after((2, 20), 1))
def test_random_programs_agree_three_ways(count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(count):
        agree_three_ways(random_program(rng), 3)
