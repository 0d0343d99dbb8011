"""Random models of every family that verdicts cover, with random claims: answers, certificates, what is changed in them
and bounds of the first layer, against all words and plain forward passes."""

from collections.abc import Callable

import numpy as np
import pytest

from restrict.checker.main import verify
from restrict.checker.verdict_model import START
from restrict.checker.verdict_numbers import BITS
from restrict.soft.trained.decide import Verdict, verify_trained
from restrict.soft.trained.graph import Graph, task_graph
from restrict.soft.trained.model import Trained, forward_all
from restrict.soft.trained.reader import as_read
from restrict.soft.trained.verdict import Search
from tests import verdict_cases
from tests.fuzzing import every_length
from tests.fuzzing.verdicts import altered
from tests.marks import rows_after
from tests.naive_gpt2 import Naive, prefixes


def seeds(full: int, few: Callable[[verdict_cases.Family], int], but: tuple[str, ...] = ()) -> list[object]:
    """Parameters of a test: the families and their seeds, of which few run always."""
    names = [name for name in verdict_cases.FAMILIES if name not in but]
    return [
        row for name in names for row in rows_after(((name, k) for k in range(full)), few(verdict_cases.FAMILIES[name]))
    ]


Words = list[tuple[tuple[int, ...], int]]


def words(model: Trained, graph: Graph, n: int) -> Words:
    """Every word that the claim is about, with its state: a prefix of a word of at most ``n`` symbols; where a reader
    comes behind it, every word of at most ``n`` symbols that goes on to one of any length."""
    automaton = graph.delta, graph.accept
    if model.reader is None:
        return [(word, q) for word, q in prefixes(automaton, n) if word or graph.empty]
    return prefixes(automaton, n + len(graph.delta), n)


def wrong(model: Trained, naive: Naive, graph: Graph, words: Words) -> list[tuple[int, ...]]:
    """Those of some words behind which the model does not say what is wanted."""
    language = {"labels": graph.labels, "want": graph.want} | ({"read_out": "greatest"} if graph.greatest else {})
    reader, bad = () if model.reader is None else (model.reader,), []
    for word, q in words:
        said = naive.logits((*(model.tokens[s] for s in word), *reader))
        if any(far > 1e-9 for far in verdict_cases.beyond(said, language, q).values()):
            bad.append(word)
    return bad


def agrees(found: Verdict, naive: Naive, graph: Graph, n: int) -> str:
    """An answer is that of all words, and its certificate says what it is about."""
    model, line = found.model, verdict_cases.agrees(found)
    read = None if model.reader is None else "first" if model.ahead else "last"
    for told, holds in ((" greatest ", graph.greatest), (f" read={read} ", read), (" start=none ", not graph.empty)):
        assert (told in line) == bool(found.proves and holds and (read is None or told != " start=none "))
    assert found.status != "right" or not wrong(model, naive, graph, words(model, graph, n))
    return line


@pytest.mark.parametrize(("name", "seed"), seeds(300, lambda family: family.few))
def test_answers_about_random_models_are_those_of_all_words(name: str, seed: int) -> None:
    model, naive, graph, n = verdict_cases.case(name, seed)
    agrees(verify_trained(model, graph, n, seconds=60, float32=True), naive, graph, n)


@pytest.mark.parametrize("name", verdict_cases.FAMILIES)
def test_all_answers_occur_among_random_models(name: str) -> None:
    seen = set[tuple[object, ...]]()
    for seed in range(60):
        model, _, graph, n = verdict_cases.case(name, seed)
        found = verify_trained(model, graph, n if len(model.layers) == 1 else min(n, 1), seconds=60)
        if found.status != "open":
            seen.add((found.status, len(model.layers), model.norm, model.reader is None or model.ahead))
        if len(seen) == verdict_cases.FAMILIES[name].shows:
            return
    raise AssertionError(seen)


@pytest.mark.parametrize("name", [name for name in verdict_cases.FAMILIES if name != "reader"])
def test_the_forward_pass_is_the_plain_one(name: str) -> None:
    for seed in range(8):
        model, naive, graph, _ = verdict_cases.case(name, seed)
        word = tuple(np.random.default_rng(seed).integers(0, len(model.symbols), 5).tolist())
        tokens = model.rows([model.symbols[s] for s in word])
        whole, last = (forward_all(model, np.array([tokens, tokens[::-1]]), last=alone) for alone in (False, True))
        assert last.shape[1] == 1
        assert np.allclose(whole[:, -1:], last, atol=1e-9)
        for k in range(0 if graph.empty else 1, 6):
            plain = naive.logits(tuple(model.tokens[s] for s in word[:k]))
            assert np.allclose(whole[0][len(tokens) - 6 + k], plain, atol=1e-8)


@pytest.mark.parametrize(("name", "seed"), seeds(120, lambda family: family.changed))
def test_a_changed_certificate_is_refused_or_true(name: str, seed: int) -> None:
    """Changed in a hundred ways, at full size."""
    (model, _, graph, n), rng = verdict_cases.case(name, seed), np.random.default_rng(seed)
    found = verify_trained(model, graph, min(n, 3), seconds=60)
    if not found.proves:
        pytest.skip("nothing is proved")
    mutants = (altered(rng, found.to_bytes()) for _ in range(100 if seed > 1 else 30))
    verdict_cases.taken(model, mutants, limit=10**7 if len(model.layers) == 1 else 10**8)


@pytest.mark.parametrize(("name", "seed"), seeds(60, lambda family: 3, ("several layers",)))
def test_answers_at_every_length_are_true(name: str, seed: int) -> None:
    model, naive, graph, _ = verdict_cases.first(name, seed, placed=False)
    found = verdict_cases.at_every_length(model, graph, 8)
    every = prefixes((graph.delta, graph.accept), 5 + len(graph.delta), 5)
    short = [(word, q) for word, q in every if word or graph.empty]
    bad, line = wrong(model, naive, graph, short), verify(model.content, found.to_bytes()) if found.proves else ""
    assert (" greatest " in line) == (found.proves and graph.greatest)
    assert not found.proves or every_length.true_of(model.content, found.document())
    if found.status == "right":
        assert line.startswith("s VERIFIED right n>=0 ")
        assert not bad
    if found.upto is not None:
        assert not bad or len(bad[0]) > found.upto
    if found.wrong is not None:
        far, shortest = len(found.wrong.word), found.shortest
        assert far > 5 or found.wrong.word in bad
        assert not shortest or not bad or len(bad[0]) == far
        assert shortest or far > (not graph.empty)
        if found.proves:
            assert line.startswith("s VERIFIED wrong n>=0 ")
            assert f" at={far} " in line
            assert (" shortest" in line) == shortest


def trained(name: str, seed: int) -> verdict_cases.Case:
    """A case of one layer, or a checkpoint of the corpus."""
    if name != "corpus":
        return verdict_cases.first(name, seed)
    model, naive = verdict_cases.kept(verdict_cases.NAMES[seed])
    return model, naive, task_graph(model), 4


BOXED = seeds(24, lambda _: 2, ("several layers",))


@pytest.mark.parametrize(("name", "seed"), [*BOXED, *rows_after((("corpus", k) for k in (2, 1, 0)), 1)])
def test_the_box_of_a_case_is_that_of_its_words(name: str, seed: int) -> None:
    """By all words of the first layer: the search's ends are the greatest and least coordinates, the checker takes a
    bound just above the greatest and none below it, and its run of a word contains the word's stream."""
    (model, naive, graph, _), n, unit = trained(name, seed), 4, 1 << BITS
    view, inner, longest = as_read(model, graph, n)
    search, check = Search(view, inner, longest), verdict_cases.checked(model, graph, n)
    keys, tokens = inner.cases(longest), (*model.tokens, *(() if model.reader is None else (model.reader,)))
    assert keys == list(check.keys(longest, 0, longest))
    ends = dict[verdict_cases.Key, list[tuple[int, ...]]]()
    for word, q in words(model, graph, n):
        if model.reader is not None:
            word, q = (*word, len(model.symbols)), inner.state((*word, len(model.symbols)))
        ends.setdefault((len(word), word[-1] if word else START, q), []).append(word)
    assert set(ends) == set(keys)
    for key in keys:
        outs = [naive.attention(tuple(tokens[s] for s in word)) for word in ends[key]]
        high, low = search.box(key)
        check.weigh(key[0], key[1])
        points = np.array([verdict_cases.in_bases(search.atoms.bases, out) for _, out in outs])
        assert np.allclose(points.max(0), high, atol=1e-9)
        assert np.allclose(points.min(0), low, atol=1e-9)
        most = iter(points.max(0))
        for h, basis in enumerate(search.atoms.bases):
            for k, x in zip(range(len(basis.rows)), most, strict=False):
                values = [[int(v * unit) + 1 for v in row[: 1 if not j else None]] for j, row in enumerate(basis.at[k])]
                assert check.bounded(h, key, values[: key[0] + 1], int((x + 1e-6) * unit))
                assert not check.bounded(h, key, values[: key[0] + 1], int((x - 1e-6) * unit))
        for word, (x, heads) in zip(ends[key], outs, strict=True):
            y, bias = check.point([START, *word]), naive.tensors["h.0.attn.c_proj.bias"]
            exact = [sum(parts) for parts in zip(x, bias, *heads, strict=True)]
            assert all(abs(a - c / unit) <= r / unit + 1e-9 for a, c, r in zip(exact, y.centre, y.rest, strict=True))
            assert max(y.rest) / unit < 1e-6
