"""Soft certificates and the trusted checker: what it verifies is true, and the package reads the same files."""

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from restrict.base.errors import ModelError
from restrict.checker import main as checker
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.soft_sets import FAR, ONE, exp_down, exp_up
from restrict.checker.soft_terms import Evaluation, Range, parse
from restrict.soft.models.format import loads
from restrict.soft.models.terms import Term
from tests import naive_soft, soft_mutations
from tests.commands import typed
from tests.marks import heavy_after

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
    wanted = {f"mask {mask}" for mask in soft_mutations.MASKS} | {f"term {text}" for text in soft_mutations.TERMS}
    wanted |= {f"scale {text}" for text in soft_mutations.SCALES} | {f"eps {text}" for text in soft_mutations.EPS}
    wanted |= {f"{kind} {how}" for kind in ("none", "table", "terms") for how in ("add", "concat")}
    wanted |= {"norm none", "norm pre", "norm post", "final norm", "start_marker", "end_marker", "softmax", "sign"}
    wanted |= {"first", "last", "every", "F64", "F32", "F16", "BF16", "probability", "margin", "norms", "fixed", "free"}
    wanted |= {f"{name}_bias" for name in ("query", "key", "value", "attention", "in", "out", "unembed")}
    wanted |= (
        {f"n = {n}" for n in range(1, 6)} | {f"{k} symbols" for k in (1, 2, 3, 8)} | {f"{k} layers" for k in range(3)}
    )
    wanted |= {f"{k} heads" for k in range(3)} | {f"{k} labels" for k in (1, 2, 3)} | {"network", "no network"}
    for _ in range(400):
        model, certificate = soft_mutations.original(rng)
        seen |= features(soft_mutations.opened(model), json.loads(certificate))
        if wanted <= seen:
            return
    raise AssertionError(wanted - seen)


def features(made: soft_mutations.Soft, claim: soft_mutations.Document) -> set[str]:
    """What occurs in a model and its certificate."""
    document, output, position = made.document, made.document["output"], made.document["position"]
    layers = document["layers"]
    heads = [head for layer in layers for head in layer["heads"]]
    found = {f"mask {head.get('mask', 'none')}" for head in heads} | {
        f"scale {head.get('scale', '1')}" for head in heads
    }
    found |= {f"term {text}" for text in position.get("terms", ())} | set(made.types.values())
    found |= {f"norm {layer.get('norm', 'none')}" for layer in layers} | {
        f"eps {x['eps']}" for x in layers if "eps" in x
    }
    found |= {"network" if f"layers.{at}.ffn.in" in made.tensors else "no network" for at in range(len(layers))}
    found |= {f"{len(layer['heads'])} heads" for layer in layers} | {name.rsplit(".", 1)[-1] for name in made.tensors}
    found |= {"start_marker", "end_marker"} & set(document) | ({"final norm"} if "final_norm" in document else set())
    found |= {f"{position['kind']} {position.get('combine', 'add')}", output.get("kind", "softmax"), output["position"]}
    found |= {claim["quantity"], f"n = {claim['n']}", f"{len(document['alphabet'])} symbols", f"{len(layers)} layers"}
    return (
        found
        | {f"{len(output['labels'])} labels", *(["norms"] if claim["norms"] else [])}
        | {"fixed" if claim["fixed"] else "free"}
    )


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


def test_terms_agree_between_the_two_readers() -> None:
    texts = ("i/n", "(-1)**i", "cospi(2*i/7)", "sinpi(i/5)", "log(n+1)/3", "sqrt(n)", "exp(-i/n)", "1/sqrt(5)",
             "i % 3 if i < 4 else -0.25", "(i == 1)*2", "i // 2")  # fmt: skip
    for text in texts:
        for i, n in ((0, 1), (1, 5), (3, 9), (8, 9)):
            mine, other = Term(text).enclose(i, n), bounds(text, i, n)
            assert Fraction(mine.low) <= other[1]
            assert other[0] <= Fraction(mine.high)
            assert other[1] - other[0] <= Fraction(1, 10**30)


@pytest.mark.parametrize(
    "text", ["1_0", "0x1", "1.", ".5", "01", "1e", "\u0661", "1e1000", "i and n", "i < 2 < n", "j", "1j"]
)
def test_what_is_no_term_is_refused_by_both(text: str) -> None:
    with pytest.raises(Reject) as caught:
        bounds(text)
    assert caught.value.code == 4
    with pytest.raises(ModelError):
        Term(text).check()


def test_the_engine_refuses_a_negative_or_variable_eps() -> None:
    for name in ("soft-eps-negative", "soft-eps-with-n"):
        with pytest.raises(ModelError, match=r"eps|norm1"):
            loads((CORPUS / f"malformed/{name}.model.safetensors").read_bytes())


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
