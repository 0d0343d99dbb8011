"""c > 0 and --free: dependence on demand is the abstract run's, and the search is never worse than what it replaces."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest

import restrict
from restrict.base.deadline import OutOfTime
from restrict.base.options import changed
from restrict.certificate.cases import leaves
from restrict.certificate.certificate import Certificate, certificate_of
from restrict.certification import force_output
from restrict.force.cases import confirm_by_table
from restrict.force.dependence import DependenceState
from restrict.force.neighbourhood import some_tokens, tokens_alone, tokens_below
from restrict.force.options import OPTIONS
from restrict.force.release import Release, relax, releases
from restrict.force.state import Node
from restrict.model.fileformat import loads
from restrict.model.restriction import Restriction
from restrict.model.task import Task
from restrict.optimum.enumeration import all_labels, by_size, cube_of, essential_counts, fewest_fixed
from tests import generator
from tests.clock import looks
from tests.commands import raising
from tests.marks import heavy_after, rows_after


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A tenth of the usual effort is enough at these lengths."""
    monkeypatch.setattr("restrict.force.options.RELEASES.work", 30_000)
    with changed(OPTIONS, more_work=20_000, work_per_token=2_000):
        yield


NAMES = [
    f"random:layers={1 + s % 2},heads={1 + s // 2 % 2},states=3,symbols={2 + s % 2},seed={s}" for s in (0, 2, 3, 5)
]


@pytest.mark.parametrize("seeds", heavy_after((range(20), range(240)), 1))
def test_dependence_on_demand_is_that_of_the_run_over_all_nodes(seeds: range) -> None:
    """On random programs with all kinds of variables: the same D, by the cone that it gives, and no more than a bound
    exactly where D is larger."""
    rng, looked, refused = np.random.default_rng(0), 0, 0
    for seed in seeds:
        document, n = generator.random_case(np.random.default_rng(seed))
        model = loads(json.dumps(document).encode())
        instance = model.at(n)
        state = DependenceState(instance, n - 1)
        for _ in range(4):
            fixed = {i: int(rng.integers(len(model.alphabet))) for i in instance.unpinned if rng.random() < 0.5}
            rho = Restriction.of(instance, dict(fixed))
            whole = certificate_of(instance, rho, "all").claim.dependencies
            found = state.look(fixed, n)
            assert found is not None
            assert tuple(sorted(found)) == whole
            assert certificate_of(instance, rho, state.cone()).claim.dependencies == whole
            looked += 1
            for most in range(len(found)):
                assert state.look(fixed, most) is None
                refused += 1
    assert looked == 4 * len(seeds)
    assert refused > 0.1 * len(seeds), refused


def greedy(task: Task, start: Certificate, c: int) -> Certificate:
    """What the search replaces: full abstract runs, always the release that leaves the fewest dependencies."""
    best = start
    for found in releases(task, start):
        if found.c > c:
            break
        best = found
    return best


@pytest.mark.parametrize("name", heavy_after(NAMES, 2))
def test_the_search_is_never_worse_than_greedy_release(name: str) -> None:
    model = restrict.load(name)
    task = Task.of(model, 10)
    start = force_output(task)
    for c in (1, 4):
        found = relax(task, start, c, None)
        assert found.c <= c
        assert found.free >= greedy(task, start, c).free >= start.free
        assert restrict.check(model, found).startswith("s VERIFIED n=10")


def test_essential_counts_are_those_of_the_definition() -> None:
    model = restrict.load("random:layers=2,heads=1,states=3,seed=4")
    instance = model.at(6)
    labels, names = all_labels(instance, 5)
    counts = essential_counts(labels)
    rng = np.random.default_rng(0)
    for _ in range(10):
        rho = {i: int(rng.integers(2)) for i in range(6) if rng.random() < 0.5}
        free = [i for i in range(6) if i not in rho]
        words = [{**rho, **dict(zip(free, x, strict=True))} for x in itertools.product((0, 1), repeat=len(free))]
        label = {tuple(w[i] for i in range(6)): model.run([str(w[i]) for i in range(6)]).label(5) for w in words}
        essential = {p for w in label for p in free if label[w] != label[(*w[:p], 1 - w[p], *w[p + 1 :])]}
        assert counts[tuple(rho.get(i, 2) for i in range(6))] == len(essential)
    assert len(names) == 2


@pytest.mark.slow
def test_at_short_lengths_the_answer_is_close_to_the_exact_front() -> None:
    """Fixed positions for each c, summed over models: the exact optimum by enumeration, within a twentieth."""
    ours = exact = 0
    for seed in range(2):
        model = restrict.load(f"random:layers=2,heads=2,states=3,seed={seed}")
        counts = essential_counts(all_labels(model.at(9), 8)[0])
        task = Task.of(model, 9)
        start = force_output(task)
        for c in (2, 4):
            found = relax(task, start, c, None)
            found = fewest_fixed(task, c, len(found.restriction.fixed))[0] or found
            assert found.c <= c
            assert restrict.check(model, found).startswith("s VERIFIED n=9")
            best = int(by_size(counts <= c)[0][0])
            assert len(found.restriction.fixed) >= best
            ours, exact = ours + len(found.restriction.fixed), exact + best
    assert ours <= 1.05 * exact


@pytest.mark.parametrize("seeds", heavy_after((1, 3), 1))
def test_cases_show_that_the_label_depends_on_what_it_does_depend_on(seeds: int) -> None:
    """Under restrictions whose dependencies the plain run does not see, a tree does, and the checker agrees."""
    confirmed = fewer = 0
    for seed in range(seeds):
        model = restrict.load(f"random:layers=2,heads=2,states=4,seed={seed}")
        task = Task.of(model, 9)
        labels, _ = all_labels(task.instance, 8)
        counts = essential_counts(labels)
        _, order = by_size((counts >= 1) & (counts <= 3))
        for index in order[: 7 if seeds > 1 else 2].tolist():
            cube = cube_of(index, 2, task.instance.unpinned)
            if certificate_of(task.instance, Restriction.of(task.instance, dict(cube)), "all").c <= 3:
                continue
            part = labels[tuple(cube.get(i, slice(None)) for i in range(9))]
            free = [i for i in range(9) if i not in cube]
            essential = [i for p, i in enumerate(free) if (part != part.take([0], axis=p)).any()]
            found = confirm_by_table(task, cube, part)
            assert found is not None
            assert list(found.claim.dependencies or ()) == essential
            assert restrict.check(model, found).startswith("s VERIFIED")
            assert restrict.check(model, found, fast=True).startswith("s VERIFIED")
            asked = {i for path, _ in leaves(found.cases) for i in path} if found.cases is not None else set()
            confirmed, fewer = confirmed + 1, fewer + bool(asked - set(essential))
    assert confirmed >= (6 if seeds > 1 else 2) * seeds
    assert fewer >= 2 * seeds - 1, "no tree asks what the label does not depend on"


@pytest.mark.parametrize(("n", "seed"), rows_after(((10, 10), (12, 10), (12, 14), (12, 9), (12, 29)), 1))
def test_the_fewest_fixed_positions_are_those_of_the_exact_front(n: int, seed: int) -> None:
    """They were one more where every question of a tree counted as a dependency, or only some splits were tried."""
    model = restrict.load(f"random:layers=2,heads=2,states=4,seed={seed}")
    labels, _ = all_labels(model.at(n), n - 1)
    best = int(by_size(essential_counts(labels) <= n // 2)[0][0])
    found = restrict.certify(model, n, c=n // 2)
    assert (len(found.restriction.fixed), found.c <= n // 2) == (best, True)
    assert restrict.check(model, found).startswith("s VERIFIED")


@pytest.mark.parametrize(("n", "most"), rows_after(((30, 29), (300, 250)), 1))
def test_free_is_never_worse_than_what_the_run_sees(n: int, most: int) -> None:
    """With nothing fixed c was the whole length, where the run over all nodes proves half of it."""
    model = restrict.load("shared-hubs")
    whole = certificate_of(model.at(n), Restriction.of(model.at(n)), "all").c
    assert whole < most
    assert restrict.certify(model, n, free=1).c <= whole
    some = restrict.certify(model, n, free=0.99)
    assert some.free >= 0.99 * n
    assert some.c <= whole


@pytest.mark.parametrize("n", heavy_after((10**5, 10**6), 1))
def test_a_release_of_a_million_positions_looks_only_at_the_cone(n: int) -> None:
    model = restrict.load("contains-one")
    task = Task.of(model, n)
    search = Release(task, {5: 1})
    assert search.look({5: 1}, 3) == frozenset()
    assert search.look({}, 3) is None
    search.fewest_fixed(3)
    assert list(search.best.values()) == [1]
    assert search.state.scores < 100 * n


@pytest.mark.parametrize("name", heavy_after(["parity-attempt", "random:layers=2,seed=3"], 1))
def test_a_front_goes_from_the_forced_output_to_nothing_fixed_and_no_point_is_dominated(name: str) -> None:
    model = restrict.load(name)
    points = restrict.pareto(model, 12).points
    assert points[0].c == 0
    assert not points[-1].restriction.fixed
    assert all(a.c < b.c and a.free < b.free for a, b in pairwise(points))
    for point in points:
        assert restrict.check(model, point).startswith("s VERIFIED n=12 ")


@pytest.mark.parametrize("wish", [{"c": 2}, {"free": 0.9}])
@pytest.mark.parametrize("ending", [OutOfTime, KeyboardInterrupt])
def test_what_the_search_found_stays_where_the_enumeration_after_it_does_not_end(
    wish: dict[str, Any], ending: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended as an internal error, or lost the certificate."""

    for name in ("fewest_fixed", "least_depends"):
        monkeypatch.setattr(f"restrict.certification.{name}", raising(ending))
    model = restrict.load("tagger" if "c" in wish else "first-symbol")
    found = restrict.certify(model, 6, **wish)
    assert restrict.check(model, found).startswith("s VERIFIED n=6")
    assert (found.provenance["stopped"] == "interrupted") == (ending is KeyboardInterrupt)


def test_a_wish_with_no_time_at_all_has_an_answer() -> None:
    model = restrict.load("tagger")
    assert restrict.certify(model, 6, c=2, time=0).c <= 2


@pytest.mark.parametrize("wish", [{"c": 2}, {"free": 0.9}])
def test_ctrl_c_in_the_search_for_c_0_is_not_followed_by_a_second_search(
    wish: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the fuzzer of the command line: one Ctrl-C has to end all of it. What was wished for still holds."""
    model = restrict.load("parity8")
    best = restrict.certify(model, 8)
    interrupted = replace(best, provenance={**best.provenance, "stopped": "interrupted"})
    monkeypatch.setattr("restrict.certification.force_output", lambda _task: interrupted)
    for search in ("fewest_fixed", "least_depends"):
        monkeypatch.setattr(Release, search, lambda *_: pytest.fail("a second search"))
        monkeypatch.setattr(f"restrict.certification.{search}", lambda *_: pytest.fail("a second search"))
    found = restrict.certify(model, 8, **wish)
    assert found.provenance["stopped"] == "interrupted"
    assert found.c <= 2 if "c" in wish else found.free >= 8 * 0.9
    assert restrict.check(model, found).startswith("s VERIFIED n=8 ")


def test_ctrl_c_in_the_proof_of_the_optimum_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restrict.certification.descend", raising(KeyboardInterrupt))
    model = restrict.load("random:layers=2,heads=2,states=4,seed=1")
    found = restrict.certify(model, 40)
    assert found.provenance["stopped"] == "interrupted"
    assert restrict.check(model, found).startswith("s VERIFIED n=40 ")


def test_each_point_of_a_front_gets_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for the first point took all of it."""
    left: list[float] = []
    relaxed = relax

    def noted(task: Task, *more: Any) -> Certificate:
        assert task.deadline.left is not None
        left.append(task.deadline.left)
        return relaxed(task, *more)

    monkeypatch.setattr("restrict.certification.relax", noted)
    with looks("restrict.base.deadline", 1 / 40):
        points = restrict.pareto(restrict.load("random:layers=1,seed=3"), 24, time=1).points
    assert points[0].c == 0
    assert len(left) >= 4
    assert left[0] <= 0.3, "a quarter of what is left after the first"
    assert left[1] > 0


# ----------------------------------------------------------------
# The parts of an answer that are freed and solved again.


Reads = dict[Node, frozenset[Node]]


def random_cone(rng: np.random.Generator) -> tuple[dict[str, tuple[int, ...]], Reads, dict[int, int]]:
    """Nodes in three layers above eight tokens, each reading some of those below; one node of a layer is left out."""
    cone = {name: tuple(sorted(rng.permutation(4)[:3].tolist())) for name in ("a", "b")} | {"out": (0,)}
    below: list[Node] = [("token", i) for i in range(8)]
    reads: Reads = {}
    for name in cone:
        for i in cone[name]:
            some = rng.permutation(len(below))[: 2 if name == "a" else 3]
            reads[name, i] = frozenset(below[t] for t in some.tolist())
        below = [*below, *((name, i) for i in range(4))]
    return cone, reads, {int(i): 0 for i in rng.permutation(8)[:7]}


def test_what_rests_on_one_node_alone() -> None:
    """Against paths of the graph with and without the node."""
    rng, several = np.random.default_rng(2), 0
    for _ in range(200):
        cone, reads, fixed = random_cone(rng)
        graph = nx.DiGraph()
        graph.add_nodes_from(reads)
        graph.add_edges_from((a, b) for a, to in reads.items() for b in to if b in reads or b[0] == "token")
        expected = []
        for node in (n for n in reads if n != ("out", 0)):
            left = nx.restricted_view(graph, [node], [])
            kept = {i for name, i in nx.descendants(left, ("out", 0)) if name == "token"}
            if len(own := set(fixed) - kept) >= 2:
                expected.append((node, own))
        found = tokens_alone(("out", 0), fixed, cone, reads, 2)
        assert found == expected
        several += len(found) > 1
    assert several > 50


def test_a_part_is_freed_and_the_rest_stays() -> None:
    rng = np.random.default_rng(3)
    cone, reads, fixed = random_cone(rng)
    kept = [some_tokens(fixed, cone, reads, rng) for _ in range(50)]
    assert all(rest.items() <= fixed.items() for rest in kept)
    assert len({tuple(rest) for rest in kept}) > 5
    assert tokens_below(("out", 0), cone, reads, but=None) == tokens_below(("out", 0), cone, reads)
