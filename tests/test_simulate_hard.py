"""Hard-attention programs as softmax transformers: every variable at every position, bit by bit."""

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from restrict.base.arrays import all_words
from restrict.base.errors import ModelError, NotEstablished, ResourceLimit, RestrictError, UsageError
from restrict.importers.brasp import import_brasp
from restrict.model.expr import bind
from restrict.model.expr_parser import parse
from restrict.model.fileformat import loads
from restrict.model.program import Model
from restrict.model.source import load
from restrict.model.trace import Batch, run_batch
from restrict.model.variables import Head, Map, Output
from restrict.simulate.floating import average_error, blown, deviation, share
from restrict.simulate.lemmas_6_to_9 import tied_error, tied_rate
from restrict.simulate.ours.atoms import reach, term_text
from restrict.simulate.ours.hard import CompiledProgram, compile_program
from restrict.simulate.ours.measure import affordable, measure, words_of
from restrict.simulate.ours.rounding import UNITS, head_error, logit_error, program_error, safe_length
from restrict.soft.models.evaluate import activations, logits
from restrict.soft.models.format import loads as loads_soft
from restrict.soft.models.known import first, parity, random
from restrict.soft.models.model import dumps
from restrict.soft.models.terms import Term
from scripts.bench_simulate import sharpened, smallest_factor
from tests.commands import succeeded, typed
from tests.generator import random_length, random_order_only, random_program
from tests.marks import heavy_after
from tests.random_brasp import random_brasp
from tests.test_simulate_laws import off_winner

INSTANCES = Path(__file__).parent.parent / "instances"


def exact_run(compiled: CompiledProgram, n: int, words: np.ndarray, kind: str = "float64") -> tuple[Batch, np.ndarray]:
    """Both runs; every block is the one-hot vector of its variable, exactly."""
    hard = run_batch(compiled.program.at(n), words)
    x = activations(compiled.soft, hard.values["token"], dtype=np.dtype(kind).type)
    for name, block in compiled.blocks.items():
        here = x[..., block.start : block.start + block.size]
        assert np.array_equal(here, np.arange(block.size) == hard.values[name][..., None]), name
    return hard, x


def agree(compiled: CompiledProgram, n: int, words: np.ndarray) -> None:
    """Every block is exact, and every read is within its certified bound."""
    hard, x = exact_run(compiled, n, words)
    for head in compiled.heads:
        raw = x[..., head.raw.start : head.raw.start + head.raw.size]
        exact = np.arange(head.raw.size) == hard.values[head.variable][..., None]
        seen = (hard.attended[head.variable] >= 0)[..., None]
        assert np.abs(raw - exact * seen).max() <= head.error(n) + 1e-12
        assert head.error(n) <= compiled.epsilon


def some_words(model: Model, n: int, rng: np.random.Generator, most: int = 40) -> np.ndarray:
    symbols, length = len(model.alphabet), len(model.at(n).unpinned)
    return all_words(symbols, length) if symbols**length <= most else rng.integers(0, symbols, (most, length))


def defined(model: Model, lengths: range) -> list[int]:
    found = []
    for n in lengths:
        try:
            model.at(n)
        except RestrictError:
            continue
        found.append(n)
    return found


def check_everywhere(compiled: CompiledProgram, rng: np.random.Generator, most: int = 10) -> None:
    """At the length asked for, and where every length is claimed at all others, too."""
    agree(compiled, compiled.n, some_words(compiled.program, compiled.n, rng))
    if compiled.every_length:
        for n in defined(compiled.program, range(1, most)):
            agree(compiled, n, some_words(compiled.program, n, rng, 30))


@pytest.mark.parametrize("path", sorted(INSTANCES.glob("*.json")), ids=lambda p: p.stem)
@pytest.mark.parametrize("longest", heavy_after((6, 9), 1))
def test_every_instance_is_simulated_exactly(path: Path, longest: int) -> None:
    rng, model = np.random.default_rng(1), load(path)
    if "when" not in json.loads(path.read_text()) or model.name in ("tp-same-as-first", "parity8"):
        lengths = defined(model, range(1, 10))[:1] + defined(model, range(5, longest + 1))[-1:]
    else:
        lengths = defined(model, range(4, 65))[:1]
    assert lengths
    for n in lengths:
        check_everywhere(compile_program(model, n), rng, 7)


ORDER_ONLY = ("all-ones", "contains-one", "dyck1-depth2", "dyck1-depth3", "first-symbol", "flip-flop", "induction-head",
              "parity-attempt", "parity8", "q-then-u", "tagger", "brasp-ab-star", "brasp-dyck1-depth2",
              "brasp-flip-flop", "weights-a-before-b")  # fmt: skip


@pytest.mark.heavy
def test_order_only_instances_are_one_file_for_every_length() -> None:
    for name in ORDER_ONLY:
        nine, more = (compile_program(load(INSTANCES / f"{name}.json"), n) for n in (9, 14))
        assert nine.every_length, name
        assert nine.soft.digest == more.soft.digest, name


def random_models(kind: str, count: int, folder: Path) -> list[tuple[Model, int]]:
    rng, found = np.random.default_rng([14, len(kind)]), []
    while len(found) < count:
        try:
            if kind == "brasp":
                (folder / "p.txt").write_text(random_brasp(rng), encoding="utf-8")
                model, n = import_brasp(folder / "p.txt").model, int(rng.integers(1, 8))
            else:
                document = random_order_only(rng) if kind == "order" else random_program(rng)
                model = loads(json.dumps(document).encode(), "random")
                n = int(rng.integers(2, 8)) if kind == "order" else random_length(rng, document)
            model.at(n)
        except RestrictError:
            continue
        found.append((model, n))
    return found


@pytest.mark.parametrize(
    ("kind", "count"),
    [("order", 5), ("any", 5), ("brasp", 2)]
    + [pytest.param(k, c, marks=pytest.mark.slow) for k, c in (("order", 300), ("any", 100), ("brasp", 100))],
)
def test_random_programs_are_simulated_exactly(kind: str, count: int, tmp_path: Path) -> None:
    rng, done = np.random.default_rng(3), 0
    for model, n in random_models(kind, count, tmp_path):
        try:
            compiled = compile_program(model, n)
        except ResourceLimit:
            continue
        check_everywhere(compiled, rng)
        done += 1
    assert done >= 0.8 * count


def test_smaller_errors_and_the_file() -> None:
    model = load("induction-head")
    for epsilon in (Fraction(1, 4), Fraction(1, 100), Fraction(1, 10**9)):
        compiled = compile_program(model, 7, epsilon)
        assert 0.1 * epsilon <= compiled.error <= epsilon
        agree(compiled, 7, some_words(model, 7, np.random.default_rng(0)))
    assert loads_soft(dumps(compiled.soft), "file").digest == compiled.soft.digest


def test_a_model_for_one_length_refuses_others() -> None:
    compiled = compile_program(load("tribes"), 8)
    assert not compiled.every_length
    with pytest.raises(ModelError, match=r"0/\(n == 8\)"):
        activations(compiled.soft, np.zeros((1, 16), dtype=np.int64))


def test_what_does_not_compile_is_named() -> None:
    def of(*variables: Head | Map) -> Model:
        return Model("c", ("0", "1"), variables, Output(variables[-1].name))

    scored = of(Head("h", "token", lambda n, i, q, j, k: k, key="token"))
    wide = [Map(f"m{x}", ("token",), 30, f"token + {x}") for x in range(3)]
    for model, n, epsilon, kind, message in (
        (scored, 3, 0.2, NotEstablished, "'h': its score is a Python callable"),
        (of(Map("m", ("token",), 2, lambda n, i, t: t)), 3, 0.2, NotEstablished, "'m': it is a Python callable"),
        (
            of(*wide, Map("sum", ("m0", "m1", "m2"), 90, "m0 + m1 + m2")),
            3,
            0.2,
            ResourceLimit,
            "'sum': its map has 27000",
        ),
        (load("tribes-trap"), 3000, 0.2, ResourceLimit, "classes of positions"),
        (load("flip-flop"), 3, 0, UsageError, "must be positive"),
        (load("flip-flop"), 3, 0.26, UsageError, "at most 1/4"),
        (load("parity8"), 3, 0.2, ModelError, "not defined"),
    ):
        with pytest.raises(kind, match=message):
            compile_program(model, n, Fraction(epsilon))


def test_logarithm_where_ties_are_harmless_linear_where_they_are_not() -> None:
    assert "log(n)" in compile_program(load("contains-one"), 9).heads[0].scale.text
    assert "*n" in compile_program(load("flip-flop"), 9).heads[0].scale.text
    for name in ("contains-one", "flip-flop", "tagger"):
        found = [compile_program(load(name), n).scale for n in (8, 80)]
        assert found[1] / found[0] == pytest.approx(10 if name != "contains-one" else 1.664, rel=0.02)


def test_ties_of_different_keys_at_two_positions_are_not_harmless() -> None:
    """Position 1 wins with either key, position 2 with one of them only: what is read depends on the tie."""
    rule = "1 if j == 1 or j == 2 and k == 0 else 0"
    model = Model("t", ("0", "1"), (Head("h", "token", rule, key="token"),), Output("h"))
    compiled = compile_program(model, 3)
    assert compiled.heads[0].ties == "broken"
    check_everywhere(compiled, np.random.default_rng(0))


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("dyck1-depth2", "induction-head")]


@pytest.mark.parametrize("name", ["contains-one", "flip-flop", *SLOW])
def test_the_temperature_is_within_a_factor_of_two(name: str) -> None:
    n = {"flip-flop": 6, "induction-head": 6}.get(name, 9)
    compiled = compile_program(load(name), n)
    words, everything = words_of(compiled)
    assert everything
    assert smallest_factor(compiled, words, everything, 8) > 0.5


def test_a_model_that_is_not_sharp_enough_is_measured_as_wrong() -> None:
    """A model that is not sharp enough is seen to be wrong."""
    compiled = compile_program(load("flip-flop"), 6)
    words, everything = words_of(compiled)
    assert measure(compiled, words, everything).wrong == 0
    dull = measure(compiled, words, everything, soft=sharpened(compiled.soft, 0.1))
    assert dull.wrong > 0 < dull.error - 0.25


def test_samples_where_there_are_too_many_words() -> None:
    compiled = compile_program(load("flip-flop"), 40)
    words, everything = words_of(compiled, samples=30, seed=5)
    assert not everything
    assert words.shape == (30, 40)
    found = measure(compiled, words, everything)
    assert found.wrong == 0
    assert found.error <= compiled.error


@pytest.mark.heavy
def test_costly_lengths_are_measured_on_fewer_words() -> None:
    compiled = compile_program(load("contains-one"), 20_000)
    words, everything = words_of(compiled, samples=50)
    assert len(words) == 1
    assert affordable(10, 100, 3) == 10
    assert affordable(10, 10**6, 1) == 0
    found = measure(compiled, words[:0], everything)
    assert (found.words, found.wrong, found.error) == (0, 0, 0.0)


def test_the_bound_after_tie_breaking() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        n, scale = int(rng.integers(1, 9)), float(rng.random() * 60)
        scores = [Fraction(int(s)) for s in rng.integers(-1, 2, n)]
        winner = max(range(n), key=lambda j: (scores[j], j))
        moved = [s + Fraction(j, 2 * n) for j, s in enumerate(scores)]
        assert off_winner(moved, winner, scale) <= tied_error(n, 1, scale)
    for error in (0.25, 1e-3, 1e-9):
        rate = tied_rate(error)
        worst = max(tied_error(n, 1, 2 * n * rate) for n in (*range(1, 40), 1000, 10**6))
        assert 0.9 * error <= worst <= error
    with pytest.raises(UsageError):
        tied_rate(0.5)


def test_terms_of_positions_have_the_values_of_their_expressions() -> None:
    names = frozenset("in")
    for text in ("i % 3 == 1", "min(i, 2)", "max(n - i, 4) // 2", "abs(i - 2)", "i > 1 and n > 3", "not i or n == 2",
                 "3 if i == 1 else i", "isqrt(4) + i", "-3 * i", "(i - 4) % 3"):  # fmt: skip
        expr = parse(text, names)
        written = term_text(expr)
        assert written is not None
        for n in range(1, 6):
            assert [Term(written).value(i, n) == bind(expr, i=i, n=n).value for i in range(n)] == [True] * n
    assert term_text(parse("hash(i, 1) % 2", names)) is None
    assert reach([parse("i % 3 == 1", names)]) is not None
    assert reach([parse("i // 2", names)]) is None


def test_a_long_compilation_says_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`simulate -n 100000000` said nothing for minutes; standard output is as before."""
    arguments = ["simulate", "flip-flop", "-n", "200"]
    before = typed(*arguments)
    monkeypatch.setattr("restrict.cli.simulate.LONG", 200)
    found = typed(*arguments)
    assert found.stdout == before.stdout
    assert not before.stderr
    assert re.fullmatch(r"n = 200: about \d+ s \(estimate from n = 2\)\n", found.stderr)


def test_the_command_simulates_and_measures(tmp_path: Path) -> None:
    found = succeeded("simulate", "flip-flop", "-n", "5", "-o", tmp_path / "m.safetensors")
    assert "no wrong label" in found.output
    assert "every length" in found.output
    needed = re.search(r"needed 1/tau: ([\d.]+);", succeeded("simulate", "induction-head", "-n", "6").output)
    assert needed is not None
    assert float(needed[1]) >= compile_program(load("induction-head"), 6).scale
    found = typed("simulate", "tribes", "-n", "8", "--json", "--epsilon", "1/50")
    document = json.loads(found.output)
    assert document["measured_error"] - 1e-15 <= document["certified_error"] <= 1 / 50
    assert document["exhaustive"] is True
    assert document["every_length"] is False
    for bad in ("0.3", "0", "x", "-1", "1e999"):
        found = typed("simulate", "tribes", "-n", "8", "--epsilon", bad)
        assert found.exit_code == 2 or isinstance(found.exception, UsageError), bad


# ----------------------------------------------------------------
# Floating point: certified bounds against what float32 does, and the length from which on nothing is claimed.


SLOWER = [pytest.param(name, marks=pytest.mark.slow) for name in ("induction-head", "dyck1-depth3", "tribes")]


@pytest.mark.parametrize("name", ["flip-flop", "contains-one", *SLOWER])
@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("n", heavy_after([64, 8, 304], 1))
def test_programs_are_exact_up_to_the_safe_length(name: str, kind: str, n: int) -> None:
    if (name, n) == ("induction-head", 304):
        pytest.skip("too wide")
    compiled = compile_program(load(name), n)
    words, everything = words_of(compiled, samples=12)
    found = measure(compiled, words[:12], everything, dtype=np.dtype(kind).type)
    assert safe_length(compiled, kind) >= n
    assert found.wrong == 0
    assert found.error <= program_error(compiled, UNITS[kind]) <= 0.25
    exact_run(compiled, n, words[:12], kind)


def test_the_bound_grows_and_is_the_exact_one_without_rounding() -> None:
    for name in ("flip-flop", "contains-one"):
        compiled = compile_program(load(name), 9)
        head = compiled.heads[0]
        assert head_error(head, 9, 0.0) == pytest.approx(head.error(9))
        found = [head_error(head, n, 2.0**-24) for n in (64, 65, 100, 1000, 10_000, 100_000, 1_000_000)]
        assert found == sorted(found)
        for n in (1, 2, 5, 64, 700):
            assert head.error(n) <= head_error(head, n, 2.0**-53) <= head_error(head, n, 2.0**-24)


def test_the_safe_length_is_the_last_one() -> None:
    for epsilon in (Fraction(1, 4), Fraction(1, 100)):
        for name in ("flip-flop", "q-then-u"):
            compiled = compile_program(load(name), 9, epsilon)
            safe = safe_length(compiled, "float32")
            assert 60 < safe < 5_000_000
            assert program_error(compiled, 2.0**-24, safe) <= 0.25 < program_error(compiled, 2.0**-24, safe + 1)
            assert safe_length(compiled, "float64") > safe


def test_a_model_for_one_length_is_certified_at_that_length_only() -> None:
    compiled = compile_program(load("tribes"), 16)
    assert safe_length(compiled, "float32") == 16
    with pytest.raises(UsageError):
        safe_length(compiled, "float16")


@pytest.mark.parametrize("seed", range(3))
def test_any_model_stays_within_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for model in (parity(), first(1), random(percent=20, seed=seed), random(layers=3, causal=1, percent=60, seed=seed)):
        for n in (3, 40):
            inner = n - (model.start_marker is not None)
            words = model.encode(rng.integers(0, len(model.alphabet), (20, inner)))
            off = np.abs(logits(model, words, dtype=np.float32).astype(np.float64) - logits(model, words)).max()
            bound = logit_error(model, n, "float32") + logit_error(model, n, "float64")
            assert off <= bound
            assert logit_error(model, n, "float64") < 1e-6 * logit_error(model, n, "float32") or bound > 1


def test_what_is_not_analysed_is_refused() -> None:
    for option in ("norm", "gelu", "additive"):
        with pytest.raises(NotEstablished):
            logit_error(random(**{option: 1}), 4, "float32")
    with pytest.raises(UsageError):
        logit_error(parity(), 4, "half")


@pytest.mark.parametrize("unit", [2.0**-53, 2.0**-24, 2.0**-11])
def test_an_average_errs_by_less_than_its_bound(unit: float) -> None:
    """Both sums off by their bounds in opposite directions; at a million positions the square of ``n u`` counts."""
    u = Fraction(unit)
    for n in (1, 2, 100, 1000, 30_000, 1_000_000, 5_000_000):
        h = (1 + 16 * u) * (1 + n * u) - 1
        found = average_error(n, unit)
        assert found == math.inf if h >= 1 else found >= (1 + h) * (1 + u) / (1 - h) - 1
        assert n > 1000 or unit > 2.0**-20 or found <= (2 * n + 48) * unit
    assert average_error(1000, 0.0) == 0.0


def test_averages_in_float32_stay_within_their_bound() -> None:
    rng = np.random.default_rng(7)
    for n in (2, 50, 400):
        weights, values = (rng.random(n).astype(np.float32) for _ in range(2))
        computed = Fraction(float((weights * values).sum() / weights.sum()))
        w, v = ([Fraction(float(x)) for x in row] for row in (weights, values))
        exact = sum(a * b for a, b in zip(w, v, strict=True)) / sum(w)
        assert abs(computed - exact) <= exact * Fraction(average_error(n, 2.0**-24))


def test_the_budget_of_one_truth_value() -> None:
    assert [share(m) for m in (0.0, 1.0, math.inf, math.nan)] == [0.0, pytest.approx(0.5), 1.0, 1.0]
    assert math.exp(2) <= blown(2.0) < math.exp(2) * (1 + 1e-9)
    assert blown(61.0) == math.inf
    for odds in (0.0, 0.1, 3.0):
        exact = Fraction(odds) / (1 + Fraction(odds))
        assert exact + (2 * 9 + 32) * Fraction(2.0**-24) <= deviation(odds, 9, 2.0**-24) <= 1
        assert exact <= deviation(odds, 9, 0.0) <= exact + Fraction(1, 10**15)
