"""Theorem 1 for every position: certificates against the trusted checker, hard families, and the command line."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.base.arrays import offsets
from restrict.base.errors import NotEstablished, ResourceLimit, RestrictError, UsageError
from restrict.certificate.certificate import Certificate
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.lemma.stage1 import stage1
from restrict.depth_reduction.lemma.stage3 import stage3
from restrict.depth_reduction.ours.capture import LayerObjective, capture
from restrict.depth_reduction.ours.exchange import ExchangeSearch, LiteralLists, walled
from restrict.depth_reduction.theorem1 import certify_all
from restrict.kernels import exchange as kernels
from restrict.model.examples.hard import HARD
from restrict.model.fileformat import dumps, loads
from restrict.model.task import Task
from scripts.make_instances import INSTANCES
from tests import naive
from tests.commands import succeeded
from tests.generator import random_length, random_program, shortest
from tests.marks import LONG_TO_COMPILE, heavy_after

pytestmark = LONG_TO_COMPILE


def lowered(certificate: Certificate) -> Certificate:
    """The same with a smaller c."""
    return replace(certificate, claim=replace(certificate.claim, c=certificate.c - 1))


@pytest.mark.heavy
@pytest.mark.parametrize("block", heavy_after(range(3), 1))
def test_certificates_pass_the_checker_and_are_tight(block: int) -> None:
    """On random programs of every feature: verified as written, refused with one dependency less."""
    count = 0
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(seed)
        document = random_program(rng)
        document["output"]["position"] = "every"
        n = int(rng.integers(shortest(document), 20)) if seed % 2 else random_length(rng, document)
        model = loads(dumps(document), "x")
        try:
            model.at(n)
        except RestrictError:
            continue
        found = certify_all(model, n, free=float(rng.random()), seed=seed)
        certificate = found.certificate
        assert restrict.check(model, certificate).startswith(f"s VERIFIED n={n} target=all")
        assert restrict.check(model, certificate, fast=True)
        assert found.dependencies.max() == certificate.c
        if certificate.c:
            with pytest.raises(NotEstablished):
                restrict.check(model, lowered(certificate))
        count += 1
    assert count > 20


def test_the_claim_is_true_on_all_inputs() -> None:
    """By brute force: every label is a function of few inputs."""
    for seed in range(6):
        document = restrict.load(f"random:layers=2,heads=1,states=2,every=1,seed={seed}")
        certificate = certify_all(document, 9, free=0.6, seed=seed).certificate
        plain = json.loads(document.content or b"")
        depends = naive.true_dependencies(plain, 9, dict(certificate.restriction.fixed))
        assert max(len(depends.get(("label", i), depends["y2", i])) for i in range(9)) <= certificate.c


@pytest.mark.parametrize("name", HARD)
def test_hard_families_on_disk_and_evaluated(name: str) -> None:
    document = HARD[name]()
    assert (INSTANCES / f"{name}.json").read_bytes() == dumps(document)
    model = loads(dumps(document), name)
    for word in ("0110100", "1111111", "0000000", "1010011"):
        assert model.run(word).output == [str(label) for label in naive.output(document, word)]


def test_shared_hubs_give_stage_1_work() -> None:
    t = CTransformer.of_model(restrict.load("shared-hubs"), 300).collapse()
    _, record = stage1(t, eta=0.1, C=1)
    assert record.degree_before > record.degree_bound >= record.degree_after
    assert 0 < len(record.fixed) <= record.fixed_bound


@pytest.mark.heavy
def test_the_fallback_solves_what_resampling_does_not() -> None:
    """Tribes: no redraw forces eight inputs at once; the covering solver does it, or proves that it cannot be done."""
    t = CTransformer.of_model(restrict.load("tribes-trap"), 256).collapse()
    common: dict[str, Any] = {"q": 0.6, "delta": 0.2, "eta": 0.1, "C": 1, "C_next": 0.2}
    _, record = stage3(t, k=8, method="resample", **common)
    assert record.status == "partial"
    assert record.lemma is not None
    assert not record.lemma.holds
    rho, record = stage3(t, k=8, method="auto", **common)
    assert (record.status, record.method) == ("captured", "local")
    assert t.restrict(rho).collapse().c < 256
    _, record = stage3(t, k=4, method="auto", **common)
    assert record.status == "impossible"
    record.solution.verify(record.budget)


def test_a_random_transformer_at_the_targets_scale() -> None:
    """n = 1000: the share that a random restriction of 10 % would need is far from what the search finds."""
    found = certify_all(restrict.load("random:layers=1,heads=2,states=2,every=1,seed=1"), 1000, free=0.9)
    assert found.certificate.free >= 900
    assert found.certificate.c <= 105
    assert found.trace[0].most == found.certificate.c
    assert found.method == "exchange"


def test_same_seed_same_bytes() -> None:
    model = restrict.load("random:layers=1,heads=2,states=2,every=1,seed=1")
    first, second = (certify_all(model, 120, free=0.8, seed=4).certificate.to_bytes() for _ in range(2))
    assert first == second


# --- the exchange ---


def brute_totals(rows: LiteralLists, symbols: np.ndarray[Any, Any]) -> list[int]:
    """By definition: per group the open literals before the first hit, over the rows whose guard holds."""
    totals: dict[int, int] = {int(g): 0 for g in range(rows.inputs)}
    for r in range(rows.count):
        guard = int(rows.guard[r])
        if guard >= 0 and symbols[guard // rows.symbols] not in (-1, guard % rows.symbols):
            continue
        for l in rows.row_lit[rows.row_ptr[r] : rows.row_ptr[r + 1]]:
            value = symbols[l // rows.symbols]
            if value == l % rows.symbols:
                break
            totals[int(rows.group[r])] += int(value == -1)
    return [totals[g] for g in range(rows.inputs)]


def random_rows(
    rng: np.random.Generator, n: int, s: int, sizes: Any, each: int = 1, among: int = 0, guarded: float = 0.0
) -> LiteralLists:
    """Rows of these sizes, ``each`` of them for a group, in each of which one of ``among`` of n inputs stands at most
    once."""
    flat = np.concatenate([rng.choice(among or n, k, False) * s + rng.integers(0, s, k) for k in sizes])
    group, guard = np.repeat(np.arange(len(sizes) // each), each), np.full(len(sizes), -1)
    if guarded:
        guard = np.where(rng.random(len(sizes)) < guarded, group * s + rng.integers(0, s, len(sizes)), -1)
    longest = int(np.reshape(sizes, (-1, each)).sum(axis=1).max())
    return LiteralLists(n, s, offsets(sizes), flat.astype(np.int32), group, guard, longest)


def test_the_exchange_keeps_exact_sums() -> None:
    """After hundreds of steps the state is that of a fresh start, and the budget is kept."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = random_rows(rng, 12, 2 + seed % 2, rng.integers(1, 9, 36), 3, guarded=0.5)
        search, start = ExchangeSearch(rows, 4, rng), rows.start(4, 3, rng)
        search.load(start)
        phi = walled(int(rng.integers(2, 12)), 200)
        best, now = search.run(phi), search.search
        assert np.count_nonzero(best >= 0) <= 4
        parts = now.total, now.cuts, now.kills, now.rows[:, :2], now.rows[:, 3]
        kept = [part.copy() for part in parts]
        assert now.total[:12].tolist() == brute_totals(rows, search.symbols)
        assert now.state[kernels.VALUE] == phi[now.total].sum()
        kernels.begin(search.arrays, now, phi, search.touched)
        assert all(map(np.array_equal, kept, parts))
        assert phi[brute_totals(rows, best)].sum() <= phi[brute_totals(rows, start)].sum()


def test_gains_and_losses_are_those_of_the_definition() -> None:
    """Where the objective is a straight line and no row is guarded, rows do not interact."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, s = 10, 2 + seed % 3
        rows = random_rows(rng, n, s, rng.integers(1, 9, 3 * n), 3)
        symbols = np.where(rng.random(n) < 0.4, rng.integers(0, s, n), -1)
        search = ExchangeSearch(rows, n, rng)
        search.load(symbols)
        before = sum(brute_totals(rows, symbols))
        for l in range(n * s):
            other = symbols.copy()
            other[l // s] = l % s if symbols[l // s] < 0 else -1
            rise = sum(brute_totals(rows, other)) - before
            if symbols[l // s] < 0:
                assert search.search.cuts[l] + search.search.kills[l // s] == -rise
            else:
                assert search.search.loss[l // s] == rise


def test_the_exchange_leaves_markers_and_fixed_inputs_alone() -> None:
    """Inputs that no row reads are no way to spend the budget where they cannot be set."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        search = ExchangeSearch(random_rows(rng, 9, 2, [4] * 9, among=6), 7, rng)
        search.load(np.full(9, -1), [6, 8])
        best = search.run(None)
        assert best[[6, 8]].tolist() == [-1, -1]
        assert np.count_nonzero(best >= 0) == 7


def test_of_all_rounds_the_one_with_the_least_maximum_is_taken() -> None:
    """The rounds are the same either way, so it is never worse; on a model it is better (62 without it)."""
    for seed in range(2):
        found = []
        for maximum in (False, True):
            rng = np.random.default_rng(seed)
            rows = random_rows(rng, 80, 2, [30] * 240, 4)
            search = ExchangeSearch(rows, 20, rng)
            search.load(np.full(80, -1), [])
            total = brute_totals(rows, search.run(None, maximum=maximum))
            found.append((max(total), sum(total)))
        assert found[1] <= found[0]
    model = restrict.load("random:layers=1,heads=4,states=4,every=1")
    assert restrict.certify_all(model, 300, free=0.8).certificate.c <= 59


@pytest.mark.nojit
def test_the_exchange_is_near_the_optimum_on_small_rows() -> None:
    """Against all choices of two inputs and their symbols."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = 8
        rows, phi = random_rows(rng, n, 2, [4] * n), walled(2, 40)
        values = []
        for (a, b), x, y in itertools.product(itertools.combinations(range(n), 2), range(2), range(2)):
            symbols = np.full(n, -1)
            symbols[a], symbols[b] = x, y
            values.append(phi[brute_totals(rows, symbols)].sum())
        search = ExchangeSearch(rows, 2, rng)
        search.load(rows.start(2, 2, rng))
        assert phi[brute_totals(rows, search.run(phi))].sum() <= min(values) * 1.1


def test_lists_that_were_cut_off_are_completed() -> None:
    """A collapse from truncated lists, made before inputs were fixed, is the collapse from scratch."""
    cut = 0
    for name, n in (("random:layers=1,heads=2,states=3,every=1", 40), ("tagger", 30), ("shared-hubs", 60)):
        t = CTransformer.of_model(restrict.load(name), n)
        rng = np.random.default_rng(n)
        symbols = np.where(rng.random(n) < 0.3, rng.integers(0, len(t.symbols), n), -1)
        symbols[list(t.instance.pinned)] = -1
        known = {head.name: t.lists(head, 3) for head in t.heads}
        cut += sum(int((lists.complete == 0).sum()) for lists in known.values())
        fixed = {int(i): t.symbols[symbols[i]] for i in np.flatnonzero(symbols >= 0)}
        t = t.restrict(replace(t.restriction, fixed=fixed))
        from_lists, afresh = t.collapse(known), t.collapse()
        for key, activation in afresh.base.items():
            assert np.array_equal(from_lists.base[key].depends.ptr, activation.depends.ptr)
            assert np.array_equal(from_lists.base[key].depends.items, activation.depends.items)
            assert np.array_equal(from_lists.base[key].values.flat, activation.values.flat)
    assert cut > 50


@pytest.mark.heavy
def test_capturing_keeps_to_its_budget() -> None:
    for name, n in (("shared-hubs", 60), ("dot-sparse", 60), ("tribes-trap:width=3", 60), ("random:every=1", 60)):
        task = Task.of(restrict.load(name), n, target="all")
        t = CTransformer.of_model(task.instance)
        for _ in range(2):
            rho = capture(task, t, 9, LayerObjective()).restriction
            assert rho.refines(t.restriction)
            assert len(rho.fixed) - len(t.restriction.fixed) <= 9
            t = t.restrict(rho)
            if t.layers:
                t = t.collapse()


# --- errors and the command line ---


def test_what_cannot_be_certified_is_refused() -> None:
    with pytest.raises(UsageError, match="its output at the last position only"):
        certify_all(restrict.load("contains-one"), 5)
    with pytest.raises(ResourceLimit, match="take n <= "):
        certify_all(restrict.load("random:layers=1,every=1"), 10**6)
    t = CTransformer.of_model(restrict.load("tagger"), 10)
    fixed = t.restrict(restrict.Restriction(10, {0: "a"}))
    with pytest.raises(UsageError, match="does not refine"):
        fixed.restrict(restrict.Restriction(10))


@pytest.mark.parametrize(
    "words",
    [
        ("certify", "tagger", "-n", "40", "--target", "all", "--free", "0.8", "--trace"),
        ("certify", "random:layers=1,every=1", "-n", "60", "--target", "all", "-c", "9"),
        ("certify", "shared-hubs", "-n", "50", "--target", "all", "--json"),
    ],
)
def test_the_commands_certify_every_position_and_check_it(words: tuple[str, ...], tmp_path: Path) -> None:
    target = tmp_path / "c.json"
    result = succeeded(*words, "-o", target)
    assert "s VERIFIED" in result.output
    assert ("  how     start" in result.output) == ("--trace" in words)
    again = succeeded("check", words[1], target)
    assert again.output.startswith("s VERIFIED n=")
    if "--json" in words:
        assert json.loads(result.output)["trace"][0]["layer"] == 1
