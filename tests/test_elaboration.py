"""The elaborator: bounded before each step, small files, trees that close, and verdicts as those of the checker."""

import json
import struct
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.base.arrays import I64
from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.certificate.hitting_tree import Uncovered, named
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.main import verify
from restrict.checker.proof import check
from restrict.elaboration.bound import BOX_WORDS, least_tree, renumbered, small_tree
from restrict.elaboration.make import Elaborated, Elaboration, least_steps, written
from restrict.elaboration.rows import Rows
from restrict.elaboration.tokens import Tokens
from restrict.model.fileformat import loads
from restrict.model.program import Head
from restrict.rows.values import Values
from tests import documents, trusted, wrong_ways
from tests.clock import quicker_than
from tests.fuzzing.kinds import Trial, kinds, sealed
from tests.kernel_cases import LARGE_KINDS, large_trial, pair_mutants
from tests.kernel_judges import LIMIT, Verified, accepted, by_kernel, elaborated, executable
from tests.marks import heavy_after
from tests.random_ctransformer import random_layers

ATTACKS = Path(__file__).resolve().parent / "corpus" / "attacks"
NARROW = "random:layers=2,heads=2,states=4,seed=1"


def document(**changes: object) -> dict[str, object]:
    """A model with one head, which shows where the first 1 is."""
    head = documents.head("h", "k", query="token", key="token")
    return {**documents.model(head, position="last"), **changes}


def certified(
    model: dict[str, object], n: int, free: int, c: int = 0, values: tuple[int, ...] = (1,), **fields: Any
) -> Trial:
    """A certificate for the last position; by default all is in its cone, and the label depends on nothing."""
    claim = {"free": free, "c": c, "dependencies": fields.pop("dependencies", []), "values": values}
    return sealed(model, wrong_ways.certificate(n) | {"claim": claim} | fields)


def made_of(trial: Trial) -> Elaborated:
    """What is elaborated of a certificate that is right."""
    found, made = elaborated(trial, Path())
    assert accepted(found)
    return made


# ---------------------------------------------------------------- steps of the kernel, before it starts


SMALL_ROWS, LARGE_ROWS = "random:layers=1,heads=1,symbols=3,every=1", "random:layers=1,every=1"


@pytest.mark.parametrize("case", heavy_after([(SMALL_ROWS, 30), (SMALL_ROWS, 200), (LARGE_ROWS, 200)], 1))
def test_what_rows_and_facts_cost_is_known_before_the_kernel_starts(
    case: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no more than what the kernel charges, and most of that; beyond the limit the kernel is not asked."""
    model, n = case
    program = restrict.load(model)
    rho = restrict.Restriction.of(program.at(n), {at: at // 3 % 2 for at in range(0, n, 3)})
    found = restrict.certify(program, n, target="all", restriction=rho)
    made = Elaboration(program.content, found.to_bytes())
    writer = written(made.claim, made.made.program, made.instance, LIMIT)
    meter = Meter(LIMIT)
    kernel = check(made.made.program, made.made.proof, (Place("program"), Place("proof")), meter).kernel
    least, spent = least_steps(kernel.program, writer), LIMIT - meter.left
    assert 0.85 * spent < least < spent
    asked: list[int] = []
    monkeypatch.setattr("restrict.checker.one_length.check", lambda *_: asked.append(1))
    monkeypatch.setattr("restrict.elaboration.make.MOST_STEPS", 10**9)
    with pytest.raises(ResourceLimit, match=f"needs at least .* steps, beyond the limit of {least - 1}"):
        restrict.check(program, found, limit=least - 1)
    assert not asked


# ---------------------------------------------------------------- the same verdicts


def by_proof(trial: Trial, folder: Path, made: Elaborated | None) -> str | int:
    """The checker's verdict on the user's file and the bytes of its proof."""
    if made is None:
        return verdict_of(trial, folder)
    try:
        return verify(trial.model, trial.proof, folder=folder, proof=lambda *_: made.proof)
    except Reject as reject:
        return reject.code


def verdict_of(trial: Trial, folder: Path) -> str | int:
    """The verdict of the command line's way, where there is no proof to be given."""
    try:
        return trusted.verify(trial.model, trial.proof, folder=folder, limit=LIMIT)
    except Reject as reject:
        return reject.code


@pytest.mark.parametrize("programs", heavy_after((1, 4), 1))
@pytest.mark.parametrize("kind", LARGE_KINDS)
def test_larger_programs_have_one_verdict(kind: str, programs: int) -> None:
    rng = np.random.default_rng(31 if programs > 1 else 6)
    for _ in range(programs):
        trial = large_trial(rng, kind)
        found, made = elaborated(trial, Path())
        assert found == by_proof(trial, Path(), made)
        assert made is None or accepted(found) == accepted(by_kernel(*made))


@pytest.mark.parametrize("mutants", heavy_after((6, 60), 1))
@pytest.mark.parametrize("kind", ["certificate", "all", "split", "cases", "refutation", "errors", "lower-bound"])
def test_mutants_of_users_files_have_one_verdict(kind: str, mutants: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(32)
    pool = [kinds()[kind].original(rng) for _ in range(1 + mutants // 30)]
    for _ in range(mutants):
        trial = kinds()[kind].mutant(rng, pool)
        if trial.files not in [one.files for one in pool]:
            continue  # of tensor files that are not quite in order the engine's reader takes fewer than the checker's
        for name, content in trial.files:
            (tmp_path / name).write_bytes(content)
        found, made = elaborated(trial, tmp_path)
        assert found == by_proof(trial, tmp_path, made)


@pytest.mark.heavy
def test_mutants_of_both_files_are_accepted_by_both_kernels_or_by_none() -> None:
    program = executable()
    if program is None:
        pytest.skip("restrict-verified is not built")
    verified, rng = Verified(program), np.random.default_rng(33)
    made = elaborated(kinds()["cases"].original(rng), Path())[1]
    tried = []
    for files in pair_mutants(rng, *made, 150):
        one, other = by_kernel(*files), verified.verdict(*files)
        assert accepted(one) == accepted(other)
        tried.append(accepted(one))
    assert any(tried)
    assert not all(tried)
    verified.close()


def test_what_is_claimed_of_all_positions_may_exceed_the_length() -> None:
    model = document(output={"variable": "h", "position": "every"})
    trial = sealed(model, wrong_ways.certificate(1, target="all") | {"claim": {"free": 1, "c": 7}})
    assert made_of(trial).proof.endswith(b"all 0 1 1\n")


def test_a_format_that_is_a_list_is_malformed() -> None:
    assert elaborated(sealed(document(), {"format": ["restrict-certificate/1"]}), Path())[0] == 4


def test_a_number_in_a_tensor_file_has_no_axes(tmp_path: Path) -> None:
    header = {"t": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}}
    content = documents.tensor_file(header, struct.pack("<q", 3))
    (tmp_path / "t.safetensors").write_bytes(content)
    score = {"table": {"axes": [], "file": "t.safetensors", "tensor": "t"}}
    files = {"t.safetensors": sha256(content).hexdigest()}
    trial = certified(document(variables=[documents.head("h", score)], files=files), 2, 1, fixed=[[0, 1, "1"]])
    assert accepted(elaborated(trial, tmp_path)[0])


# ---------------------------------------------------------------- bounded


@pytest.mark.heavy
def test_a_restriction_of_all_positions_is_compared_run_by_run() -> None:
    """100 000 000 fixed positions in one run."""
    trial = Trial((ATTACKS / "BR8.m.json").read_bytes(), (ATTACKS / "BR8.c.json").read_bytes())
    with quicker_than(20):
        assert str(elaborated(trial, ATTACKS, 2_000_000_000)[0]).startswith("s VERIFIED n=100000000 ")


def test_leaves_are_counted_before_one_is_examined() -> None:
    trial = sealed(document(), wrong_ways.certificate(30, cone={}, split=list(range(12))))
    with quicker_than(2):
        assert elaborated(trial, Path(), 10_000_000)[0] == 5


def test_a_row_is_charged_before_it_is_scanned() -> None:
    trial = certified(document(), 1_000_000, 999_999, fixed=[[0, 1, "1"]], cone={"h": [[999_999, 1]]})
    with pytest.raises(ResourceLimit, match="beyond the limit of 200000"):
        Elaboration(trial.model, trial.proof, limit=200_000)
    assert accepted(elaborated(trial, Path())[0])


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize("sure", [True, False])
@pytest.mark.parametrize("seeds", heavy_after((24, 60), 1))
def test_a_row_that_is_scanned_once_gives_what_two_scans_give(
    monkeypatch: pytest.MonkeyPatch, seeds: int, sure: bool
) -> None:
    """What may win under random keys, and what has to be listed; where ``sure``, however many pairs reach the floor of
    the known positions. Hashed scores, and scores of random formulas with many ties."""
    monkeypatch.setattr("restrict.elaboration.rows.LONG", 0)
    monkeypatch.setattr("restrict.elaboration.rows.FEW", 1 << 30 if sure else 1000)
    once, rng = 0, np.random.default_rng(5)
    for seed in range(seeds):
        model = loads(json.dumps(random_layers(rng, 1, 2, 3, None if seed % 2 else 6)).encode())
        for n in (4, 30):
            instance = model.at(n)
            for head in (v for v in model.variables if isinstance(v, Head)):
                rows, other = (Rows(instance, Meter(10**7)) for _ in range(2))
                i, key = int(rng.integers(n)), instance.key(head)
                u = int(rng.integers(instance.domains[query])) if (query := instance.query(head)) else 0
                if len(range(*instance.visible(head, i))) == 0 or key in (None, "position"):
                    continue
                domain = instance.domains[key]
                for _ in range(4):  # later ones look at what is remembered of the first
                    few = {j: tuple(np.flatnonzero(rng.random(domain) < 0.6)) or (0,) for j in range(n)}
                    keys = Values.make(domain, {j: found for j, found in few.items() if rng.random() < 0.5})
                    found, expected = rows.scan_once(head, i, u, keys), other.scan(head, i, u, keys)
                    assert np.array_equal(found, expected)
                for place, (floor, pairs) in rows._pairs.items():
                    once += 1
                    other.floors[place] = floor
                    assert np.array_equal(pairs, other.pairs(head, i, u))
    assert once > (seeds if sure else seeds // 12)


def test_the_boxes_of_a_bound_share_the_scans_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many boxes as there are, a row is scanned a few times, and the proof is the same."""
    monkeypatch.setattr("restrict.elaboration.rows.LONG", 0)
    monkeypatch.setattr("restrict.elaboration.rows.FEW", 1 << 30)
    model, scans = restrict.load(NARROW), list[tuple[str, int, int]]()
    bound = restrict.lower_bound(model, 300, k=2).bound
    scan = Rows.scan

    def counted(rows: Rows, head: Head, i: int, u: int, keys: Values, least: int | None = None) -> I64:
        scans.append((head.name, i, u))
        return scan(rows, head, i, u, keys, least)

    monkeypatch.setattr(Rows, "scan", counted)
    shared, number = restrict.elaborate(model, bound), len(scans)
    monkeypatch.setattr(Rows, "_down_to", lambda rows, head, i, u, least: counted(
        rows, head, i, u, rows.free(head), least
    ))  # fmt: skip
    scans.clear()
    assert restrict.elaborate(model, bound).proof == shared.proof
    assert number < len(scans) / 2


def test_facts_that_hold_in_all_cases_are_stated_once() -> None:
    model = restrict.load(NARROW)
    found = restrict.certify(model, 300)
    plain = restrict.elaborate(model, found)
    free = sorted(set(range(300)) - found.restriction.fixed.keys())[:3]

    def tree(positions: list[int]) -> dict[str, object]:
        if not positions:
            return {}
        return {"position": positions[0], "children": [tree(positions[1:]) for _ in model.alphabet]}

    made = made_of(sealed(model.content, json.loads(found.to_bytes()) | {"cases": tree(free)}))
    for line in (b"\nhead ", b"\nrow "):
        assert made.proof.count(line) == plain.proof.count(line)


def test_what_the_target_cannot_read_is_not_examined() -> None:
    """A cone of everything: one fact for the head, and one for the label."""
    assert made_of(certified(document(), 400, 399, fixed=[[0, 1, "1"]])).proof.count(b"\nhead ") == 1


@pytest.mark.heavy
def test_a_bound_of_half_a_hundred_boxes_stays_small() -> None:
    model = restrict.load(NARROW)
    bound = restrict.lower_bound(model, 10_000, k=3).bound
    made = restrict.elaborate(model, bound)
    assert len(made.proof) < 50_000
    assert check(*made, (Place("program"), Place("proof")), Meter(10**10)).found is not None


# ---------------------------------------------------------------- parts


def test_trees_are_closed_as_far_as_they_can_be() -> None:
    """Three boxes that share no position: two positions do not conflict with all, three may."""
    boxes = [{0: 1, 1: 1}, {2: 1}, {4: 2, 5: 1}]
    assert small_tree(boxes, 2, 2, Meter(10**6)).run() == [3, 1, 0, 2]
    with pytest.raises(Uncovered):
        small_tree(boxes, 2, 3, Meter(10**6)).run()
    with pytest.raises(NotEstablished, match="every box has the label"):
        least_tree([], 2, 0, Meter(10))
    with pytest.raises(Reject):
        small_tree(boxes, 2, 2, Meter(1)).run()


def test_boxes_that_a_tree_does_not_need_are_left_out() -> None:
    boxes = [{0: 1}, {0: 2}, *({at: 1, at + 1: 1} for at in range(1, 20))]
    part, words = least_tree(boxes, 2, 1, Meter(10**7))
    assert len(part) < len(boxes)
    assert {*named(words)} <= {*range(len(part))}
    assert renumbered([-1, 0, 2, 0, 1], {0: 5, 1: 7}) == [-1, 5, 2, 5, 7]


def test_boxes_are_left_out_as_long_as_the_proof_gets_smaller() -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        boxes = [{int(at): 1 << int(rng.integers(2)) for at in rng.permutation(7)[:4]} for _ in range(40)]
        plain = small_tree(boxes, 2, 2, Meter(10**8)).run()
        part, words = least_tree(boxes, 2, 2, Meter(10**8))
        taken = len({*named(plain)})
        assert len(part) < taken
        assert BOX_WORDS * len(part) + len(words) < BOX_WORDS * taken + len(plain)


def test_tokens_of_a_case_have_one_symbol_there() -> None:
    base = Tokens.make(6, 2, [(1, 3, (1,))], {5: 2})
    case = base.answered({0: 1, 4: 0})
    assert [tuple(case.at(j)) for j in range(6)] == [(1,), (1,), (1,), (0, 1), (0,), (2,)]
    assert case.free(np.arange(6)).tolist() == [3]
    assert base.free(np.arange(6)).tolist() == [0, 3, 4]
    values = case.values()
    assert values.positions.tolist() == [0, 1, 2, 4, 5]
    assert values.flat.tolist() == [1, 1, 1, 0, 2]


def behind_many_values(args: list[str], rule: str) -> dict[str, object]:
    """A model whose output is a map of `w`, which has 2^62 values."""
    head = documents.head("h", "j", key="token", mask="past")
    wide, out = documents.map_("w", ["h"], 1 << 62, "h"), documents.map_("o", args, 2, rule)
    return documents.model(head, wide, out, position="last")


def test_a_fact_that_is_out_of_reach_above_is_stated_in_the_cases() -> None:
    """Above the cases nothing is known of `w`, which has 2^62 values: `o` is examined where `w` was, and not there."""
    trial = certified(behind_many_values(["w", "token"], "w == w"), 4, 3, fixed=[[1, 1, "1"]], split=[0, 3])
    assert accepted(verdict_of(trial, Path()))


def test_a_claim_that_says_nothing_needs_no_facts() -> None:
    """Any value, as a function of all that is free. The restriction and the number of free positions are compared."""
    model = behind_many_values(["w"], "w % 2")
    empty = {"free": 3, "c": 3, "dependencies": [[0, 1], [2, 2]], "values": [0, 1], "fixed": [[1, 1, "1"]], "cone": {}}
    assert accepted(verdict_of(certified(model, 4, **empty), Path()))
    for more, code in (({"values": [1]}, 5), ({"c": 2, "dependencies": [[2, 2]]}, 5), ({"free": 2}, 3)):
        assert verdict_of(certified(model, 4, **empty | more), Path()) in (code, 3), more
