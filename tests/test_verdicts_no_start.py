"""Models without a start token: the same verdicts, but of the empty prefix, which such a model does not read."""

import json
from pathlib import Path

import numpy as np
import pytest

from restrict.base.errors import UsageError
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.main import verify
from restrict.checker.verdict import Check
from restrict.checker.verdict_model import START, Atoms, Model
from restrict.checker.verdict_numbers import BITS
from restrict.checker.verdict_paths import Language
from restrict.soft.trained.decide import verify_trained
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.verdict import Search
from tests import verdict_cases
from tests.commands import typed
from tests.fuzzing import every_length as judged
from tests.fuzzing.verdicts import changed_is_refused
from tests.marks import heavy_after
from tests.naive_gpt2 import Naive, prefixes


def case(seed: int) -> tuple[Trained, Naive, Graph, int]:
    """A random model of one or two layers, a graph that asks for signs or compares, and a length."""
    rng = np.random.default_rng([seed, 7])
    layers = 2 if rng.random() < 0.3 else 1
    model, naive = verdict_cases.random_checkpoint(rng, layers, start=False)
    graph = verdict_cases.graph_of_words(rng, model, naive, seed % 3 == 0)
    return model, naive, graph, int(rng.integers(1, 6 - layers))


@pytest.mark.parametrize("seed", heavy_after(range(200), 10))
def test_answers_about_random_models_are_those_of_all_words(seed: int) -> None:
    model, _, graph, n = case(seed)
    found = verify_trained(model, graph, n, seconds=60, float32=True)
    line = verdict_cases.agrees(found)
    assert (" start=none " in line) == found.proves


def test_all_answers_occur_among_random_models() -> None:
    made = (case(seed) for seed in range(60))
    answers = ((verify_trained(m, g, n, seconds=60).status, len(m.layers)) for m, _, g, n in made)
    assert verdict_cases.occur(answers, {("right", 1), ("wrong", 1), ("right", 2), ("wrong", 2)})


@pytest.mark.parametrize("seed", heavy_after(range(120), 1))
def test_a_changed_certificate_is_refused_or_true(seed: int) -> None:
    changed_is_refused(seed, *case(seed))


@pytest.mark.parametrize("seed", heavy_after(range(60), 2))
def test_answers_at_every_length_are_true(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    model, naive = next(made for made in iter(lambda: verdict_cases.random_checkpoint(rng, start=False), None)
                        if made[0].positions is None)  # fmt: skip
    graph = verdict_cases.graph_of_words(rng, model, naive, seed % 3 == 0)
    found = verdict_cases.at_every_length(model, graph, 8)
    if found.proves:
        assert " start=none " in verify(model.content, found.to_bytes())
        assert judged.true_of(model.content, found.document())
    if found.status == "wrong" and len(found.wrong.word if found.wrong else ()) == 1:
        assert found.shortest


@pytest.mark.parametrize("seed", heavy_after(range(12), 4))
def test_the_box_of_a_case_is_that_of_its_words(seed: int) -> None:
    """By all words of the first layer: the search's ends are the greatest and least coordinates, the checker takes a
    bound just above the greatest and none below it, and its run of a word contains the word's stream."""
    model, naive, graph, _ = next(
        made for made in map(case, range(9 * seed, 9 * seed + 99)) if len(made[0].layers) == 1
    )
    n, unit = 4, 1 << BITS
    search, found = Search(model, graph, n), verify_trained(model, graph, n, seconds=60).document()
    task = Task(found, Place("c"), model.content, Place("m"), Path(), Meter(10**9))
    made = Model(task, found["model"], Place("c"))
    language = Language(found["language"], None, Place("c"), len(made.rows), made.labels)
    check = Check(task, made, language, Atoms(made, n, task.meter))
    words = prefixes(([list(row) for row in graph.delta], sorted(graph.accept)), n)
    for key in graph.cases(n):
        ends = [w for w, q in words if len(w) == key[0] and q == key[2] and w[-1:] == (key[1],)]
        outs = [naive.attention(tuple(model.tokens[s] for s in w)) for w in ends]
        high, low = search.box(key)
        at, most = 0, []
        for h, basis in enumerate(search.atoms.bases):
            rows, centre = np.array(basis.rows).reshape(-1, model.d) / 2**24, np.array(basis.centre) / 2**24
            points = (np.array([out[h] for _, out in outs]) - centre) @ rows.T
            assert np.allclose(points.max(0), high[at : at + len(rows)], atol=1e-9)
            assert np.allclose(points.min(0), low[at : at + len(rows)], atol=1e-9)
            at += len(rows)
            most += [(h, basis, k, x) for k, x in enumerate(points.max(0))]
        check.weigh(key[0], key[1])
        for h, basis, k, x in most:
            values = [[int(v * unit) + 1 for v in row[: 1 if not j else None]] for j, row in enumerate(basis.at[k])]
            assert check.bounded(h, key, values[: key[0] + 1], int((x + 1e-6) * unit))
            assert not check.bounded(h, key, values[: key[0] + 1], int((x - 1e-6) * unit))
        for word, (x, heads) in zip(ends, outs, strict=True):
            y, bias = check.point([START, *word]), naive.tensors["h.0.attn.c_proj.bias"]
            exact = [sum(parts) for parts in zip(x, bias, *heads, strict=True)]
            assert all(abs(a - c / unit) <= r / unit + 1e-9 for a, c, r in zip(exact, y.centre, y.rest, strict=True))
            assert max(y.rest) / unit < 1e-6


def test_the_empty_prefix_is_no_case_and_no_wrong_word() -> None:
    model, _, graph, _ = case(1)
    with pytest.raises(
        UsageError, match="no start token, and so no answer behind the empty word: -n must be at least 1"
    ):
        verify_trained(model, graph, 0)
    found = next(f for f in (verify_trained(*case(seed)[::2], 2) for seed in range(40)) if f.status == "wrong")
    claim = found.document() | {"wrong": {"word": [], "label": found.wrong.label if found.wrong else 0}}
    with pytest.raises(Reject, match="expected a symbol: there is no start token"):
        verify(found.model.content, json.dumps(claim).encode())


def test_one_symbol_more_fits_the_position_embeddings() -> None:
    """With twelve embeddings a model with a start token reads eleven symbols, without one twelve."""
    rng = np.random.default_rng(0)
    for start, most in ((True, 11), (False, 12)):
        made = [verdict_cases.random_checkpoint(rng, start=start)[0] for _ in range(20)]
        model = next(model for model in made if model.positions is not None)
        assert model.longest == most
        nothing = Graph((tuple(0 for _ in model.symbols),), frozenset({0}), (0,), (frozenset(),), empty=start)
        with pytest.raises(UsageError, match=f"at most {most} symbols, not {most + 1}"):
            verify_trained(model, nothing, most + 1)
        found = verify_trained(model, nothing, most, seconds=60)
        line = verify(model.content, found.to_bytes())
        assert line.startswith(f"s VERIFIED {'wrong' if found.wrong else 'right'} n=0..{most}")


@pytest.mark.usefixtures("unpainted")
def test_the_command(tmp_path: Path) -> None:
    """From a trained checkpoint to its verdict, its check and its report; then a word that it gets wrong."""
    name = "instances/trained/first-is-last-1l1h16d-bare.safetensors"
    proof, page = str(tmp_path / "c.json"), str(tmp_path / "r.html")
    model = str(Path(__file__).parent.parent / name)
    said = typed("soft", "verify", model, "-n", "4", "-o", proof)
    assert said.exit_code == 0, said.output
    assert "n = 0 .. 4: right" in said.output
    assert "no start token: nothing is asked behind the empty word" in said.output
    assert "right as run in float32: every prefix" in said.output
    again = typed("check", model, proof)
    assert again.exit_code == 0
    assert "start=none" in again.output
    drawn = typed("report", proof, "--model", model, "-o", page)
    assert drawn.exit_code == 0, drawn.output
    assert "Attention of the hardest word" in Path(page).read_text()
    assert "behind every prefix of 1 to 4 symbols" in Path(page).read_text()
    said = typed("soft", "verify", model, "-n", "3", "-L", "regex:(a|b)*", "-o", proof)
    assert said.exit_code == 3, said.output
    drawn = typed("report", proof, "--model", model, "-o", page)
    assert drawn.exit_code == 0, drawn.output
    assert "The wrong word, step by step" in Path(page).read_text()
