"""Formulas as softmax transformers: exact at every position, every Boolean within its certified bound."""

import itertools
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from restrict.base.arrays import all_words
from restrict.base.errors import ResourceLimit, UsageError
from restrict.logic.counting import truths
from restrict.logic.formula import Builder
from restrict.logic.fragments import NAMES, fragment
from restrict.logic.semantics import evaluate_tokens
from restrict.simulate.floating import SAFE, UNITS
from restrict.simulate.formulas import Compiled, compile_soft
from restrict.simulate.formulas.bounds import Exists, Lookup, Nearest, Neighbour, Threshold
from restrict.simulate.formulas.terms import predicate_term
from restrict.simulate.formulas.verify import DTYPES, counterexample, measure, read
from restrict.soft.models import evaluate
from restrict.soft.models.format import loads
from restrict.soft.models.model import dumps
from restrict.soft.models.terms import Term
from tests.commands import Shell
from tests.page_examples import run_examples
from tests.random_counting import random_in

AB = ["0", "1"]
DECODERS = ("Theorem 13", "Theorem 16", "Theorem 21", "Corollary 18", "Corollary 23")
WAYS = [("temperature", False), ("positions", False), ("temperature", True), ("positions", True)]


def every_subformula(compiled: Compiled, words: np.ndarray, kind: str) -> bool:
    """Whether the residual stream holds the exact truth of each subformula at each position."""
    x = evaluate.activations(compiled.model, words, dtype=DTYPES[kind])
    for at, value in enumerate(compiled.values):
        builder = Builder()
        builder.nodes = list(compiled.formula.nodes)
        truth = evaluate_tokens(builder.formula(at), words, compiled.model.alphabet)
        if not np.array_equal(read(value, x), truth.astype(float)):
            return False
    return True


def within_its_bounds(compiled: Compiled, n: int, words: np.ndarray, kind: str) -> bool:
    x = evaluate.activations(compiled.model, words, dtype=DTYPES[kind])
    for record in compiled.budget.heads:
        if record.bound is not None and not record.bound.of_number:
            raw = x[..., record.coordinate].astype(float)
            bound = record.bound.deviation(n, UNITS[kind])
            if not np.minimum(abs(raw), abs(1 - raw)).max() <= bound < SAFE:
                return False
            if not record.bound.deviation(n) <= record.bound.everywhere() * (1 + 1e-9) < SAFE:
                return False
    return True


def compiled_at_random(seed: int, count: int) -> list[Compiled]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        for name in NAMES:
            for how, decoder in WAYS:
                formula = random_in(rng, AB, int(rng.integers(1, 6)), name, past=decoder)
                if decoder and how == "positions" and formula.counting:
                    continue
                found.append(compile_soft(formula, AB, how=how, decoder=decoder, at="every"))
    return found


@pytest.mark.parametrize(("count", "lengths"), [(1, (1, 2, 4)), pytest.param(12, (4, 7, 60), marks=pytest.mark.slow)])
def test_random_formulas_of_each_logic_are_exact_in_all_ways(count: int, lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(70)
    for compiled in compiled_at_random(7, count):
        for n in lengths:
            words = all_words(2, n) if n < 10 else rng.integers(0, 2, (6, n))
            for kind in DTYPES:
                if n <= compiled.budget.safe_length(kind):
                    assert every_subformula(compiled, words, kind), (compiled.formula, n, kind)
                    assert within_its_bounds(compiled, n, words, kind), (compiled.formula, n, kind)


@pytest.mark.parametrize("how", ["temperature", "positions"])
def test_formulas_such_as_parity_and_majority_are_exact_at_length_300(how: str) -> None:
    words = np.random.default_rng(3).integers(0, 2, (4, 300))
    for text in ("odd(#past 1)", "2 * #all 1 > length", "previous 1", "1 since 0"):
        compiled = compile_soft(text, AB, how=how, at="every")
        for kind in DTYPES:
            assert compiled.budget.safe_length(kind) >= 300
            assert not measure(compiled, words, kind).wrong.any()


def test_float32_is_exact_at_lengths_beyond_a_thousand() -> None:
    """Ties broken by ``1/(j+1)`` at scales of a million, and counts compared, in float32."""
    n = 1200
    words = np.random.default_rng(4).integers(0, 2, (2, n))
    words[1] = np.arange(n) == 3  # one key far away
    for text, decoder in (("1 since 0", True), ("0 since 1", True), ("previous 1", True), ("#past 1 > #past 0", False)):
        compiled = compile_soft(text, AB, decoder=decoder, at="every")
        assert compiled.budget.safe_length("float32") > 10_000
        found = measure(compiled, words, "float32")
        assert not found.wrong.any()
        assert found.deviation <= compiled.budget.deviation(n, "float32") < SAFE


def test_a_model_that_is_not_sharp_enough_is_wrong() -> None:
    """The tests above can fail: with a tenth of the inverse temperature they do."""
    from dataclasses import replace

    for text in ("1 since 0", "previous 1", "odd(#past 1)", "#past 1 > #past 0", "once 1"):
        compiled = compile_soft(text, AB, at="every")
        layers = tuple(
            replace(layer, heads=tuple(replace(head, scale=Term(f"({head.scale.text})/10")) for head in layer.heads))
            for layer in compiled.model.layers
        )
        dull = replace(compiled, model=replace(compiled.model, layers=layers))
        assert measure(dull, all_words(2, 6)).wrong.any(), text


def test_parameters_do_not_depend_on_the_length_and_decoders_not_on_n() -> None:
    for compiled in compiled_at_random(9, 4):
        used = {term.text for term in compiled.model.positions.terms}
        masks = {head.mask for layer in compiled.model.layers for head in layer.heads}
        scales = {head.scale.text for layer in compiled.model.layers for head in layer.heads}
        if compiled.budget.theorem.split(" (")[0] in DECODERS:
            assert masks <= {"past"}
            assert not any("n" in text for text in used)
        if compiled.budget.theorem.endswith(("(b)", "(d)")):
            assert scales <= {"1"}
        else:
            assert all(max(abs(Term(text).column(n)).max() for text in used) <= 1.0 for n in (1, 5, 40) if used)


@pytest.mark.parametrize(
    ("text", "how", "decoder", "name"),
    [
        ("previous 1 and next 0", "temperature", False, "Theorem 12 (a)"),
        ("previous 1", "positions", False, "Theorem 12 (b)"),
        ("previous 1", "temperature", True, "Theorem 13 (c)"),
        ("previous 1", "positions", True, "Theorem 13 (d)"),
        ("1 since 0", "temperature", False, "Theorem 15 (a)"),
        ("1 until 0", "positions", False, "Theorem 15 (b)"),
        ("1 since 0", "temperature", True, "Theorem 16 (a)"),
        ("once 0", "positions", True, "Theorem 16 (b)"),
        ("once previous 0", "temperature", False, "Corollary 17 (a)"),
        ("1 strict since 0", "positions", True, "Corollary 18 (b)"),
        ("odd(#past 1)", "temperature", False, "Theorem 20 (a)"),
        ("odd(#all 1)", "positions", False, "Theorem 20 (b)"),
        ("odd(#past 1)", "temperature", True, "Theorem 21"),
        ("once odd(#past 1)", "positions", False, "Corollary 22 (b)"),
        ("once odd(#past 1)", "temperature", True, "Corollary 23"),
    ],
)
def test_each_way_follows_the_theorem_that_it_names(text: str, how: str, decoder: bool, name: str) -> None:
    compiled = compile_soft(text, AB, how=how, decoder=decoder, at="every")
    assert compiled.budget.theorem == name
    assert name in compiled.model.description
    assert counterexample(compiled, 5) == (None, 62)


@pytest.mark.parametrize(
    ("text", "how", "reason"),
    [
        ("next 1", "temperature", r"'next' looks at later positions.*Theorem 13.*Theorem 12"),
        ("1 until 0", "positions", "Theorem 16"),
        ("1 since #all 1 > 3", "temperature", "'#all'.*Corollary 23"),
        ("odd(#past 1)", "positions", 'Theorem 21 needs `how="temperature"`'),
        ("once odd(#past 1)", "positions", "Corollary 23 needs"),
        ("{x < n // 2}(position)", "temperature", "mentions the length"),
    ],
)
def test_what_a_decoder_cannot_do_names_the_theorem(text: str, how: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        compile_soft(text, AB, how=how, decoder=True)


def test_bad_arguments_are_refused() -> None:
    for arguments, reason in (
        ({"formula": "1", "alphabet": "01"}, "is one string"),
        ({"formula": "1", "alphabet": ["1", "1"]}, "each only once"),
        ({"formula": "1", "alphabet": AB, "at": "middle"}, "not one of"),
        ({"formula": "1", "alphabet": AB, "how": "magic"}, "neither"),
    ):
        with pytest.raises(UsageError, match=reason):
            compile_soft(**arguments)
    with pytest.raises(ResourceLimit, match="256 layers"):
        compile_soft("previous " * 300 + "1", AB)


def test_the_truth_is_read_where_it_was_asked_for() -> None:
    words = all_words(2, 5)
    for text, at in (("eventually (1 and next 1)", "first"), ("once (1 and previous 1)", "last")):
        model = compile_soft(text, AB, at=at).model
        truth = evaluate_tokens(compile_soft(text, AB).formula, words, AB)
        found = evaluate.labels(model, evaluate.logits(model, words))[:, 0]
        assert np.array_equal(found == 1, truth[:, 0 if at == "first" else -1])
    for text in ("true", "false", "1", "#past true > 3", "1 and not 1", "once true", "#past (1 and 0) = 0"):
        assert counterexample(compile_soft(text, AB, at="every"), 5)[0] is None


def test_predicates_written_as_terms_keep_their_truth() -> None:
    for text in ("x % 3 == 1", "min(x, 4) * 2 > n // 2", "abs(x - 3) < 2 and not x == 3", "x - n", "1 if x > 2 else n"):
        for n in (1, 6):
            term = Term(predicate_term(text, "(i+1)"))
            assert [term.value(i, n) for i in range(n)] == truths(text, n)[1:].astype(float).tolist()
    with pytest.raises(UsageError, match="characters long as a term"):
        predicate_term(" or ".join(f"x == {k}" for k in range(30)), "i")


def test_bounds_hold_against_direct_sums() -> None:
    """Each pattern's worst rows, summed in plain numbers."""
    for n in range(2, 60):
        d = np.arange(1, n)
        assert np.exp(-2.0 * d).sum() <= Nearest(1, 0.0, "share").odds(n, 0.0)
        assert 2 * np.exp(-2.125 * d**2).sum() <= Lookup(2.125).odds(n, 0.0)
        assert (n - 1) / (6 * n - 5) <= Exists().odds(n, 0.0)
        assert (n - 1) * np.exp(-np.log(6 * n - 5)) <= Threshold(1.0).odds(n, 0.0)
        # previous: every query position, both parities.
        for decoder in (False, True):
            scale, j = (1.0 if n < 4 else (n - 1.0) * (n - 3)) if decoder else n - 1.0, np.arange(n)
            tie = -1 / (j + 1) if decoder else j / n
            for i in range(1, n):
                s = scale * (-0.875 * (-1.0) ** (i + j[: i + 1]) + tie[: i + 1])
                assert np.exp(s - s[i - 1]).sum() - 1 <= Neighbour(decoder).odds(n, 0.0), (n, i, decoder)
        # The decoder's look-up, every count against every position.
        u = np.arange(1, n + 1)
        count = u[:, None]
        gaps = 2.125 * n**3 * (n - 1) * (u - count) ** 2 / (n * count * u**2.0)
        assert (np.exp(-gaps).sum(axis=1) - 1).max() <= Lookup(2.125).odds(n, 0.0)
    nearest = Nearest(2, 0.03, "harmonic"), Nearest(1, 0.01, "share"), Nearest(1, 0.01, "integer")
    others = Exists(), Threshold(5.0), Threshold(5.0, 4 / 3, 4), Lookup(2.125), Lookup(4.0, 3.0)
    for bound, unit in itertools.product((*nearest, *map(Neighbour, (True, False)), *others), UNITS.values()):
        row = [bound.deviation(n, unit) for n in (64, 65, 100, 400, 1000, 10**5)]
        assert row == sorted(row)


def test_the_command_compiles_verifies_and_runs(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "parity.safetensors"
    usual = "--alphabet", "0,1", "--to", "soft", "-o", file
    out = shell.good("compile", "odd(#past 1)", *usual, "--verify", 6, "-n", 40)
    for said in ("3 heads in 3 layers", "(Theorem 20 (a))", "1/tau = 17/8*n**3", "float32: right up to n = ",
                 "equal to the evaluator on all 126 words of up to 6 symbols"):  # fmt: skip
        assert said in out
    assert "0110: reject" in shell.good("soft", "run", file, "0110", "--float32")
    assert "0100: accept" in shell.good("soft", "run", file, "0100", "--float32")
    found = json.loads(shell.good("compile", "1 since 0", *usual, "--decoder", "--json"))
    assert found["theorem"] == "Theorem 16 (a)"
    assert found["heads"][0]["serves"] == ["1 since 0"]
    assert found["deviation_at_every_n"] < 0.25
    shell.bad(2, "compile", "next 1", *usual, "--decoder")
    shell.bad(2, "compile", "1", "--alphabet", "0,1", "--to", "soft")
    shell.bad(2, "compile", "1", "--alphabet", "0,1", "--decoder", "-o", file)
    shell.bad(2, "compile", "odd(#past 1)", "--alphabet", "0,1")
    assert "Theorems 20 to 23" in shell.bad(3, "compile", "--language", "parity", "--to", "soft", "-o", file)
    assert "Theorem 26" in shell.bad(2, "compile", "--language", "dyck:1", "--to", "soft", "-o", file)


def test_a_run_beyond_what_is_certified_is_not_silent(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "parity.safetensors"
    shell.good("compile", "odd(#past 1)", "--alphabet", "0,1", "--to", "soft", "-o", file)
    model = loads(file.read_bytes(), "x")
    limit = model.certified["float32"]
    assert 300 < limit < model.certified["float64"]
    compiled = compile_soft("odd(#past 1)", AB).model
    assert model.certified == compiled.certified
    assert dumps(model) == dumps(compiled) == file.read_bytes()
    words = all_words(2, 5)
    assert np.array_equal(evaluate.logits(model, words), evaluate.logits(compiled, words))
    for length, flags, warned in ((limit, ["--float32"], 0), (limit + 1, ["--float32"], 1), (limit + 1, [], 0)):
        found = shell("soft", "run", file, "1" * length, *flags)
        assert (found.code, found.err.count("warning")) == (0, warned)
        assert "accept" in found.out or "reject" in found.out
        rows = json.loads(shell("soft", "run", file, "1" * length, *flags, "--json").out)["rows"]
        assert rows[0]["beyond_certified"] == (limit if warned else None)
    found = shell("soft", "run", file, "1" * 900, "--float32")
    assert f"n = 900 is beyond {limit}, up to which it is certified in float32" in found.err


@pytest.mark.heavy
def test_the_road_from_a_language_to_float32(shell: Shell, tmp_path: Path) -> None:
    """A star-free language, a hard-attention model proved at every length, its formula, a softmax model, float32."""
    hard, formula, soft = tmp_path / "hard.json", tmp_path / "formula.txt", tmp_path / "soft.safetensors"
    assert "at every length (proved)" in shell.good("compile", "--language", "regex:(ab)*", "-o", hard)
    assert "certified" in shell.good("simulate", hard, "-n", 12, "-o", soft)
    assert f"{'ab' * 6}: accept" in shell.good("soft", "run", soft, "ab" * 6, "--float32")
    assert "ababababbaab: reject" in shell.good("soft", "run", soft, "ababababbaab", "--float32")
    assert "at every length (proved)" in shell.good("compile", "--to", "ltl", hard, "-o", formula)
    text = formula.read_text().strip()
    out = shell.good("compile", text, "--alphabet", "a,b", "--to", "soft", "-o", soft, "--verify", 6)
    assert "Corollary 17 (a)" in out
    assert "abab: accept" in shell.good("soft", "run", soft, "abab", "--float32")
    assert "abba: reject" in shell.good("soft", "run", soft, "abba", "--float32")
    assert "certified" in shell.good("compile", "--language", "regex:(ab)*", "--to", "soft", "-o", soft)
    assert "abab: accept" in shell.good("soft", "run", soft, "abab", "--float32")


def test_a_symbol_alone_is_in_the_first_fragment() -> None:
    assert fragment(compile_soft("1", AB).formula).name == "previous-next"


def test_the_examples_of_the_page_run() -> None:
    run_examples("compile-soft.md", 8)


def test_the_lines_of_the_page_of_commands_run(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parent.parent
    text = (root / "docs" / "command-line.md").read_text(encoding="utf-8")
    listed = [line for line in text.splitlines() if "--to soft" in line or line.startswith("restrict simulate")]
    lines = [shlex.split(line, comments=True) for line in listed]
    formulas = ["odd(#past 1)", "2 * #all 1 > length", "previous 1", "1 since 0"]
    assert [words[2] for words in lines] == [*formulas, "instances/induction-head.json"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "instances").symlink_to(root / "instances")
    for words in lines[:4]:
        assert "equal to the evaluator on all 30 words" in shell.good(*words[1:], "--verify", 4)
    assert "on all 4096 words, no wrong label" in shell.good(*lines[4][1:])
