"""Claims that are nearly false: a model and its twin, whose read-out has another bias, on the two sides of a claim.

Of the logits behind many words the least (or greatest) in a state is taken, and the bias is moved so that the model is
right there by little, and its twin wrong there by little. Hints for the one are the best forgery about the other."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load, save

from restrict.base.errors import NotEstablished
from restrict.languages.dfa import Dfa
from restrict.soft.restriction.forced import Decision, force_decision, words_of
from restrict.soft.trained.claim import head
from restrict.soft.trained.confirm import confirmed
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.reader import as_read
from tests import completions, counts, forged, verdict_cases
from tests.counts import Array, Counted


def biased(model: Trained, label: int, by: float) -> Trained:
    """The model with something added to a label's logit, its bias in float64."""
    shifts = model.shifts.astype(np.float64)
    shifts[label] += by
    content = save(load(model.content) | {"lm_head.bias": shifts})
    return replace(model, content=content, sha256=hashlib.sha256(content).hexdigest(), shifts=shifts)


def wild(rng: np.random.Generator, positions: int = 0) -> Trained:
    """A random model of one layer whose tensors have sizes of their own, from tiny to huge; with so many positions."""
    vocab, heads = list("abc"[: int(rng.integers(1, 4))]), int(rng.integers(1, 4))
    reads, norm = str(rng.choice(["", "", "", "first", "last"])), str(rng.choice(["", "", "post", "no-last", "none"]))
    config: dict[str, Any] = {
        "activation_function": str(rng.choice(["gelu_new", "gelu", "relu"])), "n_layer": 1, "n_head": heads,
        "layer_norm_epsilon": float(rng.choice([1e-05, 1e-11, 0.1])), "vocab": vocab, "n_positions": positions,
        "n_embd": max(2, heads * int(rng.integers(1, 4))), "tie_word_embeddings": bool(rng.random() < 0.3),
        "position_embeddings": "learned" if positions else "none", "eos_token_id": len(vocab),
    }  # fmt: skip
    vocab.append("<eos>")
    if reads == "first" or rng.random() < 0.7:
        config["bos_token_id"] = len(vocab)
        vocab.append("<bos>")
    if reads == "first":
        config |= {"place": "first", "causal": False}
    elif reads:
        config |= {"place": "last", "end_marker_token_id": len(vocab)}
        vocab.append("<sep>")
    if norm:
        config[{"post": "norm_first", "no-last": "final_norm", "none": "layer_norm"}[norm]] = False
    config["vocab_size"] = len(vocab)
    made = verdict_cases.weights(rng, config, float(rng.choice([0.3, 1.0])))
    made = {key: a for key, a in made.items() if not norm or ("ln_" if norm == "none" else "ln_f") not in key}
    for key in made:
        if (kind := rng.random()) < 0.15:
            made[key] *= np.float32(10 ** rng.uniform(-4, 1 if norm == "none" else 2))
        elif kind < 0.25:
            made[key] = made[key].round()
    return verdict_cases.made_of(made, config)


class Near(NamedTuple):
    """A model that is right by ``slack``, as far as words show, its twin that is not, and what is claimed."""

    right: Trained
    wrong: Trained
    graph: Graph
    slack: float


def automaton(rng: np.random.Generator, symbols: int) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
    """A random partial automaton with an accepting state."""
    states = int(rng.integers(1, 5))
    delta = rng.integers(0, states, size=(states, symbols))
    delta[rng.random(delta.shape) < rng.choice([0.0, 0.3, 0.6])] = -1
    accept = frozenset(q for q in range(states) if rng.random() < 0.7)
    return tuple(map(tuple, delta.tolist())), accept or frozenset({0})


def asked(graph: Graph, model: Trained) -> dict[str, Any]:
    """What a certificate says of the model and of the claim."""
    return head("", *as_read(model, graph, 1)[:2])


def thresholds(values: Array, states: Array) -> list[tuple[float, bool, int]]:
    """The ends of the ranges of values in each state that lie in no other range: the end, whether it is the lower one,
    and the state."""
    ranges = {int(q): (values[states == q].min(), values[states == q].max()) for q in set(states.tolist())}
    ends = [(ends[k], k == 0, q) for q, ends in ranges.items() for k in (0, 1)]
    return [(x, low, q) for x, low, q in ends if not any(a <= x <= b for p, (a, b) in ranges.items() if p != q)]


def sides(rng: np.random.Generator, values: Array, end: float, low: bool) -> tuple[float, list[float]]:
    """How far from an end of the values the bias is moved, and where it is then: right, and wrong."""
    slack = (float(np.ptp(values)) + 1e-3 * (1 + float(np.abs(values).max()))) * 10 ** -rng.uniform(0, 5)
    return slack, [end - slack, end + slack] if low else [end + slack, end - slack]


def near(rng: np.random.Generator, model: Trained, most: int = 16, far: int = 200) -> Near | None:
    """A claim about every length that is nearly false; ``None`` where the draw gives none."""
    delta, accept = automaton(rng, len(model.symbols))
    labels = rng.permutation(len(model.labels))[:2].tolist()
    greatest = len(labels) == 2 and bool(rng.random() < 0.3)
    labels = labels if greatest else labels[:1]
    no = (frozenset[int](),) * len(delta)
    graph = Graph(delta, accept, tuple(labels), no, tuple(range(len(delta))), greatest=greatest, empty=not model.first)
    document = asked(graph, model)
    language, read = document["language"], Counted(model.content, document["model"])
    every, _ = counts.short(language, most, graph.empty and model.reader is None)
    values, states = np.zeros(0), np.zeros(0, int)
    for words in (counts.ends_well(document, w) for w in (every, counts.long(rng, language, far))):
        said = read.logits(words.counts, words.last)
        values = np.append(values, said[:, labels[0]] - (said[:, labels[1]] if greatest else 0))
        states = np.append(states, words.state % len(delta))
    if not (ends := thresholds(values, states) if len(values) else []):
        return None
    end, low, state = ends[int(rng.integers(len(ends)))]
    slack, cut = sides(rng, values, end, low)
    above = {int(q): bool(values[states == q].mean() > end) for q in set(states.tolist())} | {state: low}
    yes, other = frozenset(labels[:1]), frozenset(labels[1:])
    want = tuple(yes if above.get(q, True) else other for q in range(len(delta)))
    graph = replace(graph, want=want)
    return Near(biased(model, labels[0], -cut[0]), biased(model, labels[0], -cut[1]), graph, slack)


class Held(NamedTuple):
    """The same of a restriction: what decides, at ``n`` symbols, with these ``fixed``, on these ``inputs``."""

    right: Trained
    wrong: Trained
    decision: Decision
    n: int
    fixed: dict[int, int]
    inputs: Dfa | None
    slack: float


def inputs_of(rng: np.random.Generator, symbols: tuple[str, ...]) -> Dfa:
    """A random language in which every state accepts, but for one from which there is no way back."""
    delta, _ = automaton(rng, len(symbols))
    rows = [tuple(t if t >= 0 else len(delta) for t in row) for row in (*delta, (-1,) * len(symbols))]
    return Dfa(symbols, tuple(rows), frozenset(range(len(delta))))


def held(rng: np.random.Generator, model: Trained, n: int) -> Held | None:
    """A restriction whose decision is nearly another one behind some completion; ``None`` where the draw gives none."""
    inputs = inputs_of(rng, model.symbols) if rng.random() < 0.4 else None
    fixed = {j: int(rng.integers(len(model.symbols))) for j in range(1, n + 1) if rng.random() < 0.4}
    labels = rng.permutation(len(model.labels))[:2].tolist()
    greatest = len(labels) == 2 and bool(rng.random() < 0.3)
    decision = Decision(tuple(labels if greatest else labels[:1]), greatest)
    graph = decision.wanting(words_of(model, inputs), frozenset(labels[:1]))
    last = n + (model.reader is not None)
    document = head("", *as_read(model, graph, n)[:2], n=last, upto=last) | {"fixed": [list(p) for p in fixed.items()]}
    words = completions.every(document)
    if words is None or not len(words) or not last + (not model.first):
        return None
    said = completions.Placed(model.content, document["model"]).words(words)
    values = said[:, labels[0]] - (said[:, labels[1]] if greatest else 0)
    low = bool(rng.random() < 0.5)
    end = float(values.min() if low else values.max())
    slack, cut = sides(rng, values, end, low)
    right, wrong = (biased(model, labels[0], -x) for x in cut)
    return Held(right, wrong, decision, n, fixed, inputs, slack)


# ---------------------------------------------------------------- attacks

Faults = Callable[[bytes, dict[str, Any], np.random.Generator], Iterable[str]]


def offered(rng: np.random.Generator, faults: Faults, model: Trained, made: Iterable[dict[str, Any]]) -> Counter[str]:
    """What the checker says of forgeries about a model; ``AssertionError`` where it takes one that is false."""
    said = Counter[str]()
    for document in made:
        taken = verdict_cases.accepted(model, document, 10**8)
        said["forged and true" if taken else "forged and refused"] += 1
        assert not taken or not list(faults(model.content, document, rng)), f"verified and false: {document}"
    return said


def sealed(model: Trained, document: dict[str, Any]) -> dict[str, Any]:
    """The certificate under a model's digest."""
    return document | {"model": document["model"] | {"sha256": model.sha256}}


def attack_every_length(rng: np.random.Generator, claim: Near) -> Counter[str]:
    """The engine's answers about a claim and its twin, and forgeries: hints of the one for the other, with narrower
    boxes and potentials that nearly hold, and other claims with these hints. ``AssertionError``: one is verified and
    false."""
    said = Counter[str]()
    for model in claim[:2]:
        found, line = confirmed(verdict_cases.at_every_length(model, claim.graph, 16), "c")
        said[found.status] += 1
        if line is None:
            continue
        document = found.document()
        assert line == counts.line_of(document)
        assert list(counts.faults(model.content, document, rng)) == []
        said += offered(rng, counts.faults, model, forged.claims(rng, document))
        if model is claim.right and found.status == "right":
            other = sealed(claim.wrong, document)
            some = (other, *forged.narrowed(rng, claim.wrong.content, other))
            said += offered(rng, counts.faults, claim.wrong, some)
    return said


def attack_forced(rng: np.random.Generator, claim: Held) -> Counter[str]:
    """The same of a decision: with the symbols that are drawn, and with those that a search finds."""
    said = Counter[str]()
    for model, fixed in ((m, f) for m in claim[:2] for f in (claim.fixed, None)):
        try:
            found = force_decision(model, claim.n, claim.decision, inputs=claim.inputs, fixed=fixed, seconds=0.5)
        except NotEstablished:
            said["not forced"] += 1
            continue
        said["forced"] += 1
        document = found.document()
        assert found.verified == completions.line_of(document)
        assert list(completions.faults(model.content, document, rng)) == []
        said += offered(rng, completions.faults, model, forged.restrictions(rng, document))
        other = sealed(claim.wrong, document)
        some = (other, *forged.fewer(rng, claim.wrong.content, other), *forged.multiplied(rng, other))
        if model.heads > 1:
            apart = sealed(claim.wrong, verdict_cases.with_quotients(found).document())
            some = (*some, apart, *forged.multiplied(rng, apart))
        said += offered(rng, completions.faults, claim.wrong, some)
    return said


def drawn_near(rng: np.random.Generator) -> Near:
    """The first draw that gives a claim about every length."""
    return next(n for n in (near(rng, wild(rng)) for _ in iter(int, 1)) if n is not None)


def drawn_held(rng: np.random.Generator) -> Held:
    """The first draw that gives a restriction, with position embeddings or without."""
    some = (held(rng, wild(rng, int(rng.choice([0, 12]))), int(rng.integers(7))) for _ in iter(int, 1))
    return next(h for h in some if h is not None)
