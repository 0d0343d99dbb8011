"""Refutations: witnesses, exact optima against enumeration, immunity, files, and the trusted checker on forgeries."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.base.errors import ModelError, NotEstablished, UsageError
from restrict.certificate.refutation import Refutation
from restrict.corollary2.openness import Openness
from restrict.corollary2.refute import count_errors, refute
from restrict.corollary2.verdict import Immune, NoRefutation
from restrict.elaboration.trusted import trusted_check
from restrict.languages.predicate import Predicate
from restrict.languages.source import language
from restrict.model.fileformat import loads
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.model.task import Task
from tests import documents, generator, mutations, naive
from tests import trusted as check
from tests.commands import Shell
from tests.fuzzing.at_one_length import member
from tests.marks import heavy_after, rows_after

OVER_BITS = ["parity", "majority", "1*", "first", "palindromes:01", "regex[01]:(01)*", "regex[01]:0*1(0|1)*"]


# ---------------------------------------------------------------- the slow, obvious versions


PATTERNS = {"1*": "1*", "first": "1.*", "regex[01]:(01)*": "(01)*", "regex[01]:0*1(0|1)*": "0*1[01]*"}


def in_language(spec: str, word: tuple[str, ...]) -> bool:
    """Membership, by Python's expressions and the definitions of the fuzzer."""
    if spec in PATTERNS:
        return re.fullmatch(PATTERNS[spec], "".join(word)) is not None
    name, _, depth = spec.partition(":")[0], *spec.partition("depth=")[1:]
    document = {"name": name, "alphabet": list({"dyck": "()", "anbn": "ab"}.get(name, "01"))}
    return member(document | ({"depth": int(depth)} if depth else {}), list(word))


def last_label(model: Model, word: tuple[str, ...]) -> str:
    output = model.run(word).output
    return output if isinstance(output, str) else output[-1]


def strongest(model: dict[str, Any], spec: str, n: int) -> int | None:
    """The most free positions under which the label is constant and membership is not; every restriction is tried."""
    at = naive.at(model, n)
    markers = [m for m in ("start_marker", "end_marker") if m in model]
    m = n - len(markers)
    words = list(itertools.product(model["alphabet"], repeat=m))
    compiled = loads(mutations.encode(model))
    labels = {word: last_label(compiled, word) if m else "" for word in words}
    assert at is not None
    best = None
    for cells in itertools.product([None, *model["alphabet"]], repeat=m):
        under = [w for w in words if all(c is None or c == s for c, s in zip(cells, w, strict=True))]
        if len({labels[w] for w in under}) == 1 and len({in_language(spec, w) for w in under}) == 2:
            best = max(best or 0, cells.count(None))
    return best


def examine(found: Refutation, model: Model, spec: str) -> None:
    """What every refutation must satisfy, by means of its own."""
    rho = found.certificate.restriction
    assert rho.admits(found.member)
    assert rho.admits(found.nonmember)
    assert in_language(spec, found.member)
    assert not in_language(spec, found.nonmember)
    where = [i for i in range(found.n) if i not in model.at(found.n).pinned]
    depends = found.certificate.claim.dependencies or ()
    assert all(a == b for i, a, b in zip(where, found.member, found.nonmember, strict=True) if i in depends)
    if found.n <= 200:
        assert {last_label(model, w) for w in (found.member, found.nonmember)} == {found.label}
    assert model.content is not None
    line = trusted_check(model.content, found.to_bytes(), None, "refutation", None)
    assert line.startswith(f"s VERIFIED n={found.n} ")
    assert " refutes=" in line


# ---------------------------------------------------------------- small n: as strong as possible


@pytest.mark.parametrize(
    ("spec", "many"),
    [*((x, 2) for x in OVER_BITS[:2]), *(pytest.param(x, 60, marks=pytest.mark.slow) for x in OVER_BITS)],
)
def test_exact_is_the_best_of_all_restrictions(spec: str, many: int) -> None:
    """Random programs over bits, with and without markers, at n <= 6: the optimum, or the proof that there is none."""
    rng = np.random.default_rng(sum(map(ord, spec)))
    counts = {"refuted": 0, "immune": 0, "unconfirmed": 0}
    while sum(counts.values()) < many:
        document = generator.random_program(rng, None, 6)
        if len(document["alphabet"]) != 2 or document["output"]["position"] != "last":
            continue
        document["alphabet"] = ["0", "1"]
        n = generator.random_length(rng, document)
        if n - sum(m in document for m in ("start_marker", "end_marker")) > 5:
            continue
        if {"0", "1"} & {document.get("start_marker"), document.get("end_marker")}:
            continue
        model = loads(mutations.encode(document))
        expected = strongest(document, spec, n)
        try:
            found = refute(model, spec, n, exact=True)
        except NotEstablished:
            counts["unconfirmed"] += 1
            assert expected is not None
            continue
        if isinstance(found, Immune):
            assert found.proved
            assert expected is None
            counts["immune"] += 1
            continue
        examine(found, model, spec)
        assert found.optimum == expected
        assert found.free <= expected
        counts["refuted"] += 1
    assert counts["refuted"] >= many // 12, counts
    assert counts["unconfirmed"] <= many // 10, counts


@pytest.mark.parametrize("many", heavy_after((2, 6), 1))
def test_sat_agrees_with_the_table(many: int) -> None:
    from restrict.corollary2.exact import by_sat, by_table

    def outcome(run: Any, *more: Any) -> Any:
        """The optimum, as far as it is confirmed, or that there is none."""
        try:
            found = run(*more)
        except NotEstablished as error:
            return int(str(error).partition(" with ")[2].split()[0])
        return "immune" if isinstance(found, Immune) else found[1]

    kinds = []
    for seed, spec in itertools.product(range(many), ["parity", "majority", "1*", "palindromes:01"]):
        at = restrict.load(f"random:layers=2,heads=1,states=3,seed={seed}").at(8)
        table = outcome(by_table, Task(at), language(spec))
        assert outcome(by_sat, Task(at), language(spec)) == table
        kinds.append(table)
    assert len(set(kinds)) > 1


@pytest.mark.parametrize(
    ("model", "spec", "n"), [("all-ones", "1*", 40), ("anbn", "anbn", 30), ("first-symbol", "first", 30)]
)
def test_sat_proves_immunity_beyond_enumeration(model: str, spec: str, n: int) -> None:
    found = refute(restrict.load(model), spec, n, exact=True)
    assert isinstance(found, Immune)
    assert found.proved
    assert "SAT" in found.reason


def test_dyck_2_at_14_by_sat() -> None:
    model = restrict.load("random:layers=2,heads=1,states=3,seed=5,brackets=2")
    found = refute(model, "dyck:2", 14, exact=True)
    assert isinstance(found, Refutation)
    assert (found.optimum or 0) >= found.free
    assert trusted_check(model.content or b"", found.to_bytes(), None, "r", None)


# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize(("layers", "n"), [(1, 3), (2, 4), (4, 5), (4, 6), (9, 11)])
def test_the_parity_attempt_is_never_refuted_where_it_is_exact(layers: int, n: int) -> None:
    found = refute(restrict.load(f"parity-attempt:layers={layers}"), "parity", n)
    assert isinstance(found, Immune)
    assert found.proved
    assert found.exact


@pytest.mark.parametrize(
    ("layers", "n"),
    [(1, 4), (2, 5), (4, 7), (4, 40), (4, 1000), (4, 20_000), pytest.param(4, 100_000, marks=pytest.mark.slow)],
)
def test_the_parity_attempt_is_refuted_beyond(layers: int, n: int) -> None:
    model = restrict.load(f"parity-attempt:layers={layers}")
    found = refute(model, "parity", n)
    assert isinstance(found, Refutation)
    examine(found, model, "parity")
    assert len(found.certificate.restriction.fixed) <= layers
    assert found.errors is not None
    assert found.errors.wrong == 2 ** (found.free - 1)
    assert found.errors.exact
    assert "exactly half" in found.errors.text()
    assert found.rechecked == ("full" if n <= 1000 else "output")


@pytest.mark.parametrize("n", heavy_after([8, 1000, 10_000], 1))
@pytest.mark.parametrize("model", ["dyck1-depth2", "dyck1-depth3", "random:seed=2,brackets=1"])
def test_dyck_1_is_refuted(model: str, n: int) -> None:
    program = restrict.load(model)
    found = refute(program, "dyck:1", n)
    assert isinstance(found, Refutation)
    examine(found, program, "dyck:1")


@pytest.mark.heavy
@pytest.mark.parametrize("n", [1000, 10_000])
def test_dyck_2_is_refuted_for_random_models(n: int) -> None:
    program, dyck = restrict.load("random:layers=2,heads=2,states=4,seed=3,brackets=2"), language("dyck:2")
    found = refute(program, dyck, n)
    assert isinstance(found, Refutation)
    assert dyck.contains(found.member)
    assert not dyck.contains(found.nonmember)
    assert trusted_check(program.content or b"", found.to_bytes(), None, "r", None).split()[7] == "refutes=dyck-2"


@pytest.mark.parametrize(
    ("model", "spec", "n"),
    [
        ("all-ones", "1*", 12), ("all-ones", "1*", 1000), ("anbn", "anbn", 12), ("anbn", "anbn", 300),
        ("dyck1-depth2", "dyck:1,depth=2", 20),
        *rows_after([("dyck1-depth2", "dyck:1,depth=2", n) for n in (12, 30, 60)], 0),
        ("dyck1-depth3", "dyck:1,depth=3", 12), ("dyck1-depth2", "dyck:1", 4), ("first-symbol", "first", 1000),
        ("flip-flop", "flip-flop", 6),
    ],
)  # fmt: skip
def test_recognisers_are_immune_against_their_own_language(model: str, spec: str, n: int) -> None:
    found = refute(restrict.load(model), spec, n)
    assert isinstance(found, NoRefutation if (spec, n) == ("anbn", 300) else Immune)
    assert found.proved == isinstance(found, Immune)
    if not found.proved:
        assert "Not a proof" in found.reason
    elif n > 12:
        assert found.exact
        assert "at every length (proved" in found.reason


def test_a_language_over_another_alphabet_is_refused() -> None:
    with pytest.raises(UsageError, match="is in only one of them"):
        refute(restrict.load("contains-one"), "(aa)*", 5)


def test_a_length_without_members_is_immune() -> None:
    found = refute(restrict.load("dyck1-depth2"), "dyck:1", 1001)
    assert isinstance(found, Immune)
    assert found.proved
    assert "no word of 1001 symbols" in found.reason


def test_the_pre_restriction_of_corollary_2_is_freed_again() -> None:
    """Where only the pre-restricted search is allowed to run, its answer still frees what it can."""
    from restrict.corollary2 import refute as module

    model = restrict.load("random:seed=4,brackets=1")
    bases = module._bases
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_bases", lambda *given: itertools.islice(bases(*given), 1, None))
        found = refute(model, "dyck:1", 100)
    assert isinstance(found, Refutation)
    examine(found, model, "dyck:1")
    assert "openers first" in found.certificate.provenance["strategy"]
    assert found.free >= 85


def test_c_above_zero_frees_more() -> None:
    model = restrict.load("parity-attempt")
    tight, loose = (refute(model, "parity", 40, c=c) for c in (0, 6))
    assert isinstance(tight, Refutation)
    assert isinstance(loose, Refutation)
    assert loose.free > tight.free
    assert 0 < loose.certificate.c <= 6
    examine(loose, model, "parity")
    assert loose.errors is not None
    assert 2 * loose.errors.wrong == 2**loose.free


@pytest.mark.parametrize("many", heavy_after((8, 24), 1))
def test_the_count_of_errors_is_that_of_enumeration(many: int) -> None:
    """The count is exact for one label and never more than the truth otherwise, whatever reading of the labels."""
    rng, compared = np.random.default_rng(8), 0
    for seed in range(many):
        model = restrict.load(f"random:layers=1,heads=1,states=3,seed={seed},classes={2 + seed % 2}")
        at, spec = model.at(7), ["parity", "majority", "palindromes:01"][seed % 3]
        fixed = {int(i): int(rng.integers(2)) for i in rng.permutation(7)[: int(rng.integers(1, 6))]}
        certificate = restrict.certificate_of(at, Restriction.of(at, dict(fixed)), "all")
        errors = count_errors(at, language(spec), certificate)
        assert errors is not None
        words = [w for w in itertools.product("01", repeat=7) if certificate.restriction.admits(w)]
        labels = {w: str(model.run(w).output) for w in words}
        names = sorted(set(labels.values()))
        readings = [set(r) for size in range(len(names) + 1) for r in itertools.combinations(names, size)]
        if errors.exact:
            readings = [{"accept"}]
        wrong = [sum((labels[w] in reading) != in_language(spec, w) for w in words) for reading in readings]
        assert errors.wrong == wrong[0] if errors.exact else errors.wrong <= min(wrong)
        assert errors.inputs == len(words)
        compared += len(names) > 1
    assert compared > many // 5


# ---------------------------------------------------------------- openness


@pytest.mark.parametrize("spec", [*OVER_BITS, "dyck:1", "dyck:2", "dyck:1,depth=2"])
def test_the_guard_never_refuses_what_is_open(spec: str) -> None:
    """And for regular languages and one type of bracket it decides."""
    from restrict.force.state import ForcingState

    rng, seen = np.random.default_rng(3), {True: 0, False: 0}
    of = language(spec)
    brackets = 2 if spec == "dyck:2" else 1
    model = restrict.load("random:seed=1" + f",brackets={brackets}" * ("dyck" in spec))
    for _ in range(150):
        n = int(rng.integers(2, 9))
        at, symbols = model.at(n), len(model.alphabet)
        base = {int(i): int(rng.integers(symbols)) for i in rng.permutation(n)[: int(rng.integers(0, n // 2 + 1))]}
        guard, state = Openness(of, at, base), ForcingState(at, base)
        if not guard.accepts({}):
            continue
        free = [i for i in range(n) if i not in base]
        for i in rng.permutation(free).tolist():
            symbol = int(rng.integers(symbols))
            said = guard.allows(state, i, symbol)
            state.fix(i, symbol)
            fixed = {j: v[0] for j, v in state.tokens.items()}
            rho = Restriction.of(at, dict(fixed))
            truth = all(of.complete(rho, {}, member) is not None for member in (True, False))
            assert said == truth
            seen[truth] += 1
            if not truth:
                break
    assert min(seen.values()) > 20


# ---------------------------------------------------------------- files and the checker


def test_files_come_back(tmp_path: Path) -> None:
    for model, spec, n in [
        ("parity-attempt", "parity", 30),
        ("dyck1-depth2", "dyck:1", 20),
        ("contains-one", "first", 9),
    ]:
        program = restrict.load(model)
        found = refute(program, spec, n)
        assert isinstance(found, Refutation)
        found.save(tmp_path / "r.json")
        again = Refutation.load(tmp_path / "r.json")
        assert again.to_bytes() == found.to_bytes()
        assert repr(again) == repr(found)
        line = restrict.check(program, again)
        assert line == restrict.check(program, found) == restrict.check(program, again, fast=True)
        assert refute(program, spec, n).to_bytes() == found.to_bytes()


def test_a_predicate_is_refuted_but_not_checkable() -> None:
    program = restrict.load("contains-one")
    odd = Predicate("odd", tuple("01"), lambda w: w.count("1") % 2 == 1)
    found = refute(program, odd, 12)
    assert isinstance(found, Refutation)
    assert not found.checkable
    with pytest.raises(ModelError, match="only the process that has this language"):
        restrict.check(program, found)


@pytest.mark.parametrize("n", heavy_after((17, 30), 1))
def test_a_predicate_without_a_member_in_reach_is_not_called_trivial(n: int) -> None:
    never = Predicate("never", tuple("01"), lambda w: False)
    found = refute(restrict.load("contains-one"), never, n)
    assert isinstance(found, NoRefutation)
    assert not found.proved


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: {"member": d["nonmember"]}, "member: the word is not in the language"),
        (lambda d: {"nonmember": d["member"]}, "nonmember: the word is in the language"),
        (lambda _: {"errors": "9"}, "errors: only 8 errors are certain"),
        (lambda _: {"member": [[0, 4, "0"], [4, 1, "1"]]}, "member: does not agree with the restriction in 0 .. 0"),
        (lambda _: {"certificate.claim.values": [0]}, "certificate.claim.values: out at 4 may take the value 1"),
    ],
)
def test_a_false_refutation_is_not_established(edit: Any, message: str) -> None:
    corpus = Path(__file__).parent / "corpus" / "malformed"
    document = json.loads((corpus / "good-refutation.cert.json").read_text())
    documents.changed(document, edit(document))
    with pytest.raises(check.Reject) as caught:
        check.verify((corpus / "good.model.json").read_bytes(), json.dumps(document).encode())
    assert caught.value.code == 3
    assert message in str(caught.value)


# ---------------------------------------------------------------- the command


def test_the_command_refutes_and_the_checker_verifies(shell: Shell, tmp_path: Path) -> None:
    file, model = str(tmp_path / "r.json"), str(tmp_path / "m.json")
    shell.good("new", "parity-attempt", "-o", model)
    made = shell.good("refute", model, "-L", "parity", "-n", "100", "-o", file)
    assert "does not recognise PARITY at n = 100" in made
    assert "right on exactly half of the 2^94 inputs" in made
    assert "checked by the trusted checker: s VERIFIED n=100 " in made
    for extra in ([], ["--fast"]):
        assert " refutes=parity errors>=2^93 " in shell.good("check", model, file, *extra)
    shown = shell.good("show", file, "--model", model)
    assert shown.startswith("refutation of parity\n  member      ")
    assert "certificate for parity-attempt, n = 100, target last" in shown


def test_the_command_says_immune_with_exit_3(shell: Shell) -> None:
    code, out, err = shell("refute", "all-ones", "--language", "1*", "-n", "8", "--json")
    assert (code, json.loads(out)["proved"], err.count("\n")) == (3, True, 1)
    assert err.startswith("restrict: immune (proved): 1* at n = 8: ")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["anbn", "-L", "parity", "-n", "5"], "is in only one of them"),
        (["anbn", "-L", "nonsense", "-n", "5"], "is not a language"),
        (["anbn", "-L", "anbn", "-n", "5", "--target", "all"], "its output at the last position only"),
        (["anbn", "-L", "anbn", "-n", "5", "--exact", "-c", "1"], "0 with exact"),
        (["anbn", "-L", "anbn", "-n", "5", "--seed", "-1"], "-1 is not between 0 and 9223372036854775807"),
    ],
)
def test_wrong_arguments_are_one_line(argv: list[str], message: str, shell: Shell) -> None:
    assert message in shell.bad(2, "refute", *argv)
