"""Soft certificates: what is certified holds on every completion, and the re-check agrees and cannot be fooled."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

import restrict
from restrict.base.errors import ModelError, NotEstablished, ResourceLimit, UsageError
from restrict.checker import main as checker
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.main import verify
from restrict.checker.soft_sets import FAR, ONE, checked_norm, exp_down, exp_up, linear, units
from restrict.checker.soft_terms import Evaluation, Range, parse
from restrict.soft.bounds.enclosure import Enclosure
from restrict.soft.bounds.parts import prepare
from restrict.soft.models import evaluate
from restrict.soft.models.format import document_of, dumps, loads, tensors_of
from restrict.soft.models.known import first, parity, random
from restrict.soft.models.model import Positions, SoftHead, SoftLayer, SoftModel, SoftOutput, zeros
from restrict.soft.models.terms import Term
from restrict.soft.restriction import restriction
from restrict.soft.restriction.claim import SoftCertificate
from restrict.soft.restriction.restriction import bounded_movement, certify_soft, movement, symbol_indices
from tests import naive_soft, soft_mutations
from tests.clock import looks
from tests.commands import typed
from tests.marks import heavy_after, rows_after

CORPUS = Path(__file__).parent / "corpus"


# ---------------------------------------------------------------- what is verified is true


@pytest.mark.parametrize("seed", heavy_after(range(8), 1))
def test_a_verified_claim_is_true_of_every_input(seed: int) -> None:
    """The least epsilon that the checker verifies, against all inputs (or 48 of them) in decimals of 60 digits."""
    rng = np.random.default_rng([3, seed])
    for _ in range(60 if seed else 30):
        model, certificate = soft_mutations.original(rng)
        assert soft_mutations.accepted(model, certificate)
        assert soft_mutations.is_true(model, certificate) is not False, certificate


def test_the_random_models_have_every_feature_of_the_format() -> None:
    rng, seen = np.random.default_rng(12), set[str]()
    values = {
        "mask": soft_mutations.MASKS, "terms": soft_mutations.TERMS, "scale": soft_mutations.SCALES,
        "eps": soft_mutations.EPS, "norm": ("pre", "post"), "kind": ("none", "table", "terms", "softmax", "sign"),
        "position": ("first", "last", "every"), "quantity": ("probability", "margin"), "n": range(1, 6),
    }  # fmt: skip
    counts = {"alphabet": (1, 2, 3, 8), "layers": range(3), "heads": range(3), "labels": (1, 2, 3), "fixed": (0, 1),
              "norms": (0, 1)}  # fmt: skip
    wanted = {f"{key} {value}" for key, some in values.items() for value in some}
    wanted |= {f"{count} {key}" for key, some in counts.items() for count in some}
    wanted |= {f"{kind} {how}" for kind in ("none", "table", "terms") for how in ("add", "concat")}
    wanted |= {"final_norm", "start_marker", "end_marker", "F64", "F32", "F16", "BF16", "no norm", "no network"}
    wanted |= {f"{name}_bias" for name in ("query", "key", "value", "attention", "in", "out", "unembed")}
    for _ in range(400):
        model, certificate = soft_mutations.original(rng)
        made = soft_mutations.opened(model)
        seen |= {*said(made.document), *said(json.loads(certificate)), *made.types.values()}
        seen |= {name.rsplit(".", 1)[-1] for name in made.tensors}
        seen.add(f"{made.document['position']['kind']} {made.document['position'].get('combine', 'add')}")
        for at, layer in enumerate(made.document["layers"]):
            parts = {"norm": "norm" in layer, "network": f"layers.{at}.ffn.in" in made.tensors}
            seen |= {f"no {part}" for part, there in parts.items() if not there}
        if wanted <= seen:
            return
    raise AssertionError(wanted - seen)


def said(value: Any, key: str = "") -> Iterator[str]:
    """What a document says: each key, its value, and how many there are in a list or an object."""
    if isinstance(value, dict | list):
        yield from (key, f"{len(value)} {key}")
        for inner, one in value.items() if isinstance(value, dict) else ((key, one) for one in value):
            yield from said(one, inner)
    else:
        yield from (key, f"{key} {value}")


def test_the_oracle_knows_a_false_claim() -> None:
    """Epsilon a little below the true spread is false, and the checker refuses it."""
    rng, found = np.random.default_rng(5), 0
    while found < 8:
        model, certificate = soft_mutations.original(rng)
        claim = json.loads(certificate)
        true, every = soft_mutations.spread(model, claim)
        if true > Decimal("1e-15") and every:
            claim["epsilon"] = str(Fraction(true * (1 - Decimal("1e-12"))).limit_denominator(10**50))
            changed = json.dumps(claim).encode()
            assert soft_mutations.is_true(model, changed) is False
            assert not soft_mutations.accepted(model, changed)
            found += 1


# ---------------------------------------------------------------- both readers


def test_the_package_reads_what_the_checker_reads() -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        made = soft_mutations.random_model(rng)
        assert loads(made.to_bytes()).alphabet == tuple(made.document["alphabet"])


LITERALS = [
    ("1.00000000000000000001 - 1", Fraction(1, 10**20)), ("9007199254740993.0 - 9007199254740992", Fraction(1)),
    ("1e-400 * 10**60", Fraction(1, 10**340)), ("0.1", Fraction(1, 10)), ("1E+2", Fraction(100)),
    ("-2**2", Fraction(-4)), ("2**3**2", Fraction(512)), ("2**-1", Fraction(1, 2)), ("-i % 3", Fraction(1)),
    ("7 // 2 * 2.50", Fraction(15, 2)), ("3 if i == 2 else 1/0", Fraction(3)), ("(i < n) + (i >= n)", Fraction(1)),
    ("sqrt(9/4)", Fraction(3, 2)), ("cospi(2/3)", Fraction(-1, 2)), ("(-1)**1000003", Fraction(-1)),
]  # fmt: skip


def bounds(text: str, i: int = 2, n: int = 5) -> Range:
    """The checker's bounds on a term."""
    place, meter = Place("model", "term"), Meter(10**7)
    return Evaluation({"i": i, "n": n}, place, meter).value(parse(text, place, ("i", "n"), meter))


@pytest.mark.parametrize(("text", "value"), LITERALS)
def test_a_number_is_what_its_text_denotes(text: str, value: Fraction) -> None:
    assert bounds(text) == (value, value)
    assert Term(text).exact(2, 5) == value


TEXTS = (
    "i/n", "(-1)**i", "cospi(2*i/7)", "sinpi(i/5)", "log(n+1)/3", "log(i+1)*n", "sqrt(n)", "sqrt(i)/3", "exp(-i/n)",
    "exp(0-i)", "1/sqrt(5)", "i % 3 if i < 4 else -0.25", "1 if i >= n//2 else -0.1", "(i == 1)*2", "i // 2",
    "(i*7 % 5 - 2)**3 / (n+1)",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_both_readers_enclose_what_a_term_denotes(text: str) -> None:
    """Against 60 digits; the evaluator's number lies in the package's enclosure, which is some roundings wide."""
    term, slip = Term(text), Fraction(1, 10**50)
    for i, n in ((0, 1), (1, 5), (3, 9), (8, 9), (0, 12), (5, 12), (11, 13)):
        with localcontext() as context:
            context.prec = naive_soft.DIGITS
            true = Fraction(naive_soft.term(text, i, n))
        (low, high), span, value = bounds(text, i, n), term.enclose(i, n), term.value(i, n)
        assert low - slip <= true <= high + slip
        assert high - low <= Fraction(1, 10**30)
        assert Fraction(span.low) - slip <= true <= Fraction(span.high) + slip
        assert span.low <= value <= span.high
        assert span.high - span.low <= 1e-14 * max(1, abs(value))


@pytest.mark.parametrize(
    "text", ["1_0", "0x1", "1.", ".5", "01", "1e", "\u0661", "1e1000", "i and n", "i < 2 < n", "j", "1j"]
)
def test_what_is_no_term_is_refused_by_both(text: str) -> None:
    with pytest.raises(Reject) as caught:
        bounds(text)
    assert caught.value.code == 4
    with pytest.raises(ModelError):
        Term(text).check()


# ---------------------------------------------------------------- lemmas


def test_exponentials_are_between_their_bounds() -> None:
    """Lemma S2, at the ends too."""
    rng = np.random.default_rng(8)
    points = [0, 1, -1, FAR, FAR - 1, -FAR, -FAR - 1, -FAR + 1, *(int(v * ONE) for v in rng.uniform(-210, 200, 400))]
    with localcontext() as context:
        context.prec = 150
        for x in points:
            exact = (Decimal(x) / ONE).exp() * ONE
            assert exp_down(x) <= exact <= exp_up(x)
            assert exp_up(x) - exp_down(x) <= 4 + exact * Decimal("1e-40")
        assert exp_down(FAR + ONE) <= (Decimal(FAR + ONE) / ONE).exp() * ONE


def test_terms_are_between_their_bounds() -> None:
    """Lemma S1, against 100 digits."""
    rng = np.random.default_rng(9)
    with localcontext() as context:
        context.prec = 120
        for _ in range(100):
            x = Fraction(int(rng.integers(1, 10**6)), int(rng.integers(1, 10**4)))
            value = Decimal(x.numerator) / Decimal(x.denominator)
            text = f"({x.numerator}/{x.denominator})"
            for name, exact in (("sqrt", value.sqrt()), ("log", value.ln()), ("exp", (-value).exp())):
                low, high = bounds(f"{name}({'-' * (name == 'exp')}{text})")
                assert low <= Fraction(exact) <= high
                assert high - low <= Fraction(1, 10**40)
            low, high = bounds(f"cospi{text}")
            assert low <= naive_soft.cospi(x) <= high
    assert bounds("exp(-800)") == (0, bounds("exp(-800)")[1])
    assert 0 < bounds("exp(-800)")[1] < Fraction(1, 10**300)


# ---------------------------------------------------------------- the command line


def test_all_names_of_the_check_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    good = [str(CORPUS / "malformed" / f"good-soft.{kind}") for kind in ("model.safetensors", "cert.json")]
    assert checker.main(good) == 0
    line = capsys.readouterr().out
    assert line.startswith("s VERIFIED n=4 fixed=1 free=2 probability<=1/2 ")
    for command in (["check"], ["soft", "check"], ["check", "--fast"]):
        result = typed(*command, *good)
        assert (result.exit_code, result.output) == (0, line)
    shown = json.loads(typed("soft", "check", *good, "--json").output)
    assert shown["line"] == line.strip()


@pytest.mark.parametrize("case", ["soft-cert-epsilon-newline", "soft-cert-digest"])
def test_all_names_of_the_check_refuse_the_same(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(CORPUS / "malformed" / name) for name in ("good-soft.model.safetensors", f"{case}.cert.json")]
    assert checker.main(files) == 4
    line = capsys.readouterr().err
    for command in (["check"], ["soft", "check"]):
        result = typed(*command, *files)
        assert (result.exit_code, result.stdout, result.stderr) == (4, "", line)


def test_a_false_claim_about_a_decimal_literal_is_not_established() -> None:
    """The scale denotes 100. Read through a double it was 0, and the claim was verified."""
    files = [CORPUS / "false" / f"F2_decimal_literal.{kind}" for kind in ("safetensors", "c.json")]
    with pytest.raises(Reject, match="the margin is bounded by") as caught:
        checker.verify(*(path.read_bytes() for path in files))
    assert caught.value.code == 3
    assert bounds("(1.00000000000000000001-1)*10**22") == (100, 100)


def test_a_hint_with_a_control_character_in_its_name_is_refused_in_one_line() -> None:
    """Found by the fuzzer: the place of the hint was named before the name was known."""
    model, certificate = soft_mutations.original(np.random.default_rng(3))
    document = json.loads(certificate)
    document["norms"] = {"layers.0.ff\n.in": "1"}
    with pytest.raises(Reject) as caught:
        checker.verify(model, json.dumps(document).encode())
    assert caught.value.code == 4
    assert "\n" not in str(caught.value)
    assert "no such matrix" in str(caught.value)


# ----------------------------------------------------------------
# Soft restrictions: what is certified holds on every completion, and the re-check agrees and cannot be fooled.


ROOT = Path(__file__).resolve().parent.parent


def spread(model: SoftModel, n: int, fixed: dict[int, str], quantity: str, at: int) -> float:
    """The largest change over all completions, by brute force."""
    claim = {"n": n, "fixed": list(fixed.items())}
    words = np.array(soft_mutations.inputs(document_of(model), claim, 10**6, 0)[0], dtype=np.int64)
    logits = evaluate.logits(model, words, at=np.array([at]))[:, 0]
    if quantity == "probability":
        chances = evaluate.probabilities(model, logits)
        return float((chances.max(axis=0) - chances.min(axis=0)).max())
    if model.output.kind == "sign":
        return float(np.ptp(logits))
    gaps = logits[:, :, None] - logits[:, None, :]
    return float((gaps.max(axis=0) - gaps.min(axis=0)).max())


def contains_one(sharpness: int) -> SoftModel:
    """A softmax model of "some symbol is 1" at inverse temperature ``sharpness * log(n)``: one head that wants a 1."""
    one, always = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    scale = Term(f"{sharpness}*log(n+1)")
    head = SoftHead(always, one, one, one.T, zeros(1), zeros(1), zeros(1), "none", scale)
    output = SoftOutput(np.array([[8.0, -4.0]]), zeros(1), ("no", "yes"), "last", "sign")
    embed = np.array([[0.0, 1.0], [1.0, 1.0]])
    return SoftModel("contains-one", ("0", "1"), embed, Positions(), (SoftLayer((head,), zeros(2)),), output)


MODELS = [
    random(layers=1, width=6, hidden=5, heads=1, percent=100, seed=1),
    random(layers=2, width=5, hidden=5, heads=2, percent=40, seed=2, symbols=3, labels=3),
    random(layers=1, width=6, hidden=5, norm=1, percent=20, seed=3),
    random(layers=2, width=6, hidden=5, norm=2, percent=20, causal=1, seed=4), contains_one(4), parity(),
]  # fmt: skip


CERTIFIED = [(model, quantity) for quantity in ("margin", "probability") for model in MODELS]
USUAL = [CERTIFIED[at] for at in (0, 2, 6, 7)]


@pytest.mark.parametrize(
    ("model", "quantity"), rows_after([*USUAL, *(row for row in CERTIFIED if row not in USUAL)], len(USUAL))
)
def test_certified_restrictions_hold_on_every_completion(model: SoftModel, quantity: Any) -> None:
    n, epsilon = 6, Fraction(1, 10)
    with looks("restrict.soft.restriction.restriction"):
        found = certify_soft(model, n, epsilon, quantity=quantity, seconds=20, tries=2)
    true = spread(model, n, found.fixed, quantity, found.position)
    assert true <= found.bound + 1e-12
    assert found.bound <= 0.1
    assert found.verified == verify(dumps(model), found.to_bytes())
    assert found.verified.startswith(f"s VERIFIED n=6 fixed={len(found.fixed)} free={found.free} {quantity}<=1/10")
    # The bound for any restriction, not only for those that the search likes.
    rng = np.random.default_rng(5)
    for _ in range(5):
        free = [i for i in range(n) if i not in model.pinned(n)]
        chosen = rng.choice(free, 3, replace=False)
        fixed = {int(i): str(rng.choice(model.alphabet)) for i in chosen}
        at = model.output_position(n)
        bound = bounded_movement(prepare(model, n), symbol_indices(model, fixed), quantity, at)
        assert spread(model, n, fixed, quantity, at) <= bound + 1e-12


@pytest.mark.parametrize("sharpness", heavy_after([4, 8], 1))
def test_at_low_temperature_the_hard_engines_answer_is_found(sharpness: int) -> None:
    hard = restrict.certify(restrict.load(ROOT / "instances/contains-one.json"), 40)
    soft = certify_soft(contains_one(sharpness), 40, "0.02", seconds=60)
    assert len(soft.fixed) == len(hard.restriction.fixed) == 1
    assert set(soft.fixed.values()) == {"1"}
    assert (soft.verified or "").startswith("s VERIFIED n=40 fixed=1")


def test_first_needs_its_first_symbol() -> None:
    found = certify_soft(first(log=1), 60, "1/1000", seconds=60)
    assert list(found.fixed) == [1]


@pytest.mark.parametrize("n", heavy_after((12, 20, 60), 1))
def test_the_parity_model_is_certified_to_move_little(n: int) -> None:
    """PARITY itself depends on every symbol; the output of its softmax model hardly changes with any."""
    assert certify_soft(parity(), n, "0.5", seconds=60).fixed == {}
    found = certify_soft(parity(), n, "0.05" if n >= 20 else "0.2", seconds=60, tries=1)
    assert 0 < found.free == n - 1 - len(found.fixed)


def test_given_restrictions_are_certified_or_refused() -> None:
    with pytest.raises(NotEstablished, match="certified to move by at most"):
        certify_soft(first(log=1), 20, "0.01", fixed={2: "1"})
    assert certify_soft(first(log=1), 20, "0.01", fixed={1: "1"}).free == 18
    for fixed, message in (({0: "1"}, "marker"), ({25: "1"}, "not in 0"), ({1: "2"}, "not in the alphabet")):
        with pytest.raises(UsageError, match=message):
            certify_soft(first(log=1), 20, "0.01", fixed=fixed)
    for text in ("0", "-1", "x", "1/0", "nan"):
        with pytest.raises(UsageError, match="epsilon"):
            certify_soft(first(log=1), 20, text)


def test_nothing_is_called_certified_before_the_recheck(monkeypatch: pytest.MonkeyPatch) -> None:
    found = certify_soft(first(log=1), 12, "0.01", seconds=60)
    assert found.verified is not None
    assert found.verified.startswith("s VERIFIED n=12 fixed=1 free=10 probability<=1/100 ")
    assert certify_soft(first(log=1), 12, "0.01", seconds=60, check=False).verified is None

    def refuse(model: bytes, certificate: bytes, *_: Any) -> str:
        asked.append(json.loads(certificate)["fixed"])
        raise NotEstablished("certificate: epsilon: too wide")

    asked: list[Any] = []
    monkeypatch.setattr(restriction, "trusted_check", refuse)
    with pytest.raises(NotEstablished, match=r"re-check does not confirm .* too wide"):
        certify_soft(first(log=1), 12, "0.01", seconds=60)
    assert len(asked) == 3, "the search is repeated with more room below epsilon"
    with pytest.raises(NotEstablished, match="too wide"):
        certify_soft(first(log=1), 12, "0.01", fixed={1: "1"})


def test_a_model_outside_the_recheck_is_only_bounded() -> None:
    for options, message in (({"additive": 1}, "layer 0: additive scores"), ({"gelu": 1}, "layer 0: networks other")):
        model = random(layers=1, width=4, hidden=3, heads=1, percent=20, **options)
        with pytest.raises(ResourceLimit, match=message):
            certify_soft(model, 5, "0.5")
        assert certify_soft(model, 5, "0.5", check=False).verified is None


def test_the_certificate_file_is_read_back_and_rechecked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, path = first(log=1), tmp_path / "c.json"
    found = certify_soft(model, 20, "0.01", seconds=60)
    found.save(path)
    again = SoftCertificate.load(path)
    assert (again.fixed, again.epsilon, again.norms) == (found.fixed, found.epsilon, found.norms)
    assert found.to_bytes() == certify_soft(model, 20, "0.01", seconds=60).to_bytes()
    model.save(tmp_path / "m.safetensors")
    file, command = str(tmp_path / "m.safetensors"), [sys.executable, "-m", "restrict.checker"]
    done = subprocess.run([*command, file, str(path)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("s VERIFIED n=20 fixed=1 free=18 probability<=1/100 ")
    for arguments, code in (([file], 2), ([file, str(tmp_path / "none")], 2), ([str(path), str(path)], 4)):
        assert checker.main(arguments) == code
        out, err = capsys.readouterr()
        assert (out, len(err.splitlines())) == ("", 1)


# ---------------------------------------------------------------- the re-check


def certificate(model: SoftModel, n: int, fixed: dict[int, str], epsilon: str = "1/100") -> dict[str, Any]:
    made = SoftCertificate(
        model.name, model.digest, n, fixed, model.output_position(n), "probability", Fraction(epsilon)
    )
    return dict(json.loads(made.to_bytes()))


@pytest.mark.parametrize("change", [{"fixed": []}, {"fixed": [[2, "1"]]}, {"epsilon": f"1/{10**39}"}])
def test_a_claim_that_is_not_shown_is_refused(change: dict[str, Any]) -> None:
    """Malformed ones are in tests/test_malformed.py."""
    model = first(log=1)
    document = certificate(model, 20, {1: "1"}) | change
    with pytest.raises(Reject, match="epsilon: the probability is bounded by") as caught:
        verify(dumps(model), json.dumps(document).encode())
    assert caught.value.code == 3


def test_the_claim_at_another_length_is_another_claim_and_here_a_true_one() -> None:
    model = first(log=1)
    document = certificate(model, 20, {1: "1"}) | {"n": 19}
    assert verify(dumps(model), json.dumps(document).encode()).startswith("s VERIFIED n=19")


def test_a_norm_that_is_too_small_is_not_believed() -> None:
    rng = np.random.default_rng(6)
    for shape in ((3, 3), (5, 2), (2, 6)):
        matrix = rng.normal(size=shape)
        rows = [[units(Fraction(float(v))) for v in row] for row in matrix]
        true = float(np.linalg.svd(matrix, compute_uv=False)[0])
        for factor in (0.5, 0.999999, 1 - 1e-12):
            assert checked_norm(rows, units(Fraction(true * factor)), -1) == -1
        found = checked_norm(rows, units(Fraction(true * (1 + 1e-9))), -1)
        assert true <= found / ONE <= true * (1 + 2e-9)
        assert linear(rows, hint=Fraction(1, 1000)).norm >= true * ONE


def test_movement_of_a_point_is_nothing_and_of_a_box_is_its_width() -> None:
    parts = prepare(contains_one(4), 3)
    point = Enclosure(np.array([0.3, 0.2]), np.zeros(2), np.zeros(()))
    assert movement(parts, point, "margin") < 1e-13
    box = Enclosure(np.array([0.3, 0.2]), np.array([0.25, 0.0]), np.array(0.25))
    assert movement(parts, box, "margin") == pytest.approx(4.0)


def test_a_model_that_the_recheck_does_not_know_is_exit_5() -> None:
    model = random(layers=1, width=4, hidden=3, heads=1, gelu=1)
    with pytest.raises(Reject, match="outside this check") as caught:
        verify(dumps(model), json.dumps(certificate(model, 4, {})).encode())
    assert caught.value.code == 5


def test_the_digest_is_the_files(tmp_path: Path) -> None:
    from restrict.soft.models.source import load

    model = first(log=1)
    arrays = {k: np.ascontiguousarray(v, dtype=np.float32) for k, v in tensors_of(model).items()}
    (tmp_path / "m.safetensors").write_bytes(save(arrays, {"restrict": json.dumps(document_of(model), indent=1)}))
    loaded = load(tmp_path / "m.safetensors")
    found = certify_soft(loaded, 10, "0.01", seconds=60)
    assert verify((tmp_path / "m.safetensors").read_bytes(), found.to_bytes())
    with pytest.raises(Reject, match="not the SHA-256"):
        verify(dumps(replace(loaded, name="other")), found.to_bytes())
    with pytest.raises(ModelError, match=r"m\.safetensors: top level"):
        SoftCertificate.load(tmp_path / "m.safetensors")
