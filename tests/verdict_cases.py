"""Checkpoints and claims for the tests of verdicts: those of the corpus, and random ones of a few dozen weights."""

import copy
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import numpy as np

from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.main import verify
from restrict.checker.verdict import Check
from restrict.checker.verdict_model import MODEL, Atoms, Model
from restrict.checker.verdict_paths import Language
from restrict.checker.verdict_second import LAYERS, Second
from restrict.soft.models.config import read_object
from restrict.soft.restriction.forced import Forced
from restrict.soft.trained.atoms import Basis
from restrict.soft.trained.decide import Verdict, verify_trained
from restrict.soft.trained.every_length import EveryLength, verify_every_length
from restrict.soft.trained.graph import Graph, task_graph
from restrict.soft.trained.model import Trained, load, trained
from restrict.soft.trained.reader import inside
from restrict.soft.trained.second import At
from restrict.soft.trained.stored import Array
from restrict.soft.trained.verdict import Search
from tests.clock import looks
from tests.naive_gpt2 import Naive, prefixes
from tests.schemas import of_its_schema

Found = TypeVar("Found", Verdict, Forced)
FOLDER = Path(__file__).parent / "corpus" / "trained"
SHIPPED = Path(__file__).parent.parent / "instances" / "trained"
NAMES = ("tomita2-1l1h16d", "dyck1-depth2-1l1h16d-nope", "contains-aba-1l1h16d-nope")


def kept(name: str) -> tuple[Trained, Naive]:
    """A checkpoint of the corpus, twice."""
    config = json.loads((FOLDER / f"{name}.config.json").read_text())
    return load(FOLDER / f"{name}.safetensors"), Naive((FOLDER / f"{name}.safetensors").read_bytes(), config)


def loaded(name: str, folder: Path = FOLDER) -> tuple[Trained, Graph]:
    """A checkpoint with what its own task wants."""
    model = load(folder / f"{name}.safetensors")
    return model, task_graph(model)


def changed(into: Path, name: str = NAMES[0], /, **config: Any) -> Path:
    """A checkpoint of the corpus beside another configuration."""
    said = json.loads((FOLDER / f"{name}.config.json").read_text()) | config
    (into / "m.safetensors").write_bytes((FOLDER / f"{name}.safetensors").read_bytes())
    (into / "m.config.json").write_text(json.dumps(said))
    return into / "m.safetensors"


def made_of(tensors: dict[str, Any], config: dict[str, Any]) -> Trained:
    """The model of some tensors and a configuration, read as from files."""
    from safetensors.numpy import save

    return trained("made", save(tensors), read_object(json.dumps(config).encode(), "c", decimals=True), "m.safetensors")


SMALL: dict[str, Any] = {
    "activation_function": "relu", "layer_norm_epsilon": 1e-05, "n_layer": 1, "n_head": 1, "n_embd": 4,
    "vocab_size": 4, "bos_token_id": 2, "eos_token_id": 3, "tie_word_embeddings": False,
    "vocab": ["a", "b", "<bos>", "<eos>"], "position_embeddings": "none",
}  # fmt: skip
"""A model of width 4 over `a b`, without positions."""


def bare(tensors: dict[str, Any], sizes: dict[str, tuple[int, int]], head: list[float], bias: float) -> Trained:
    """A block over `a b` without LayerNorm, start token and positions that answers with one label: zero but for some
    tensors, `sizes` of its maps, a row of the read-out and its bias."""
    made = dict[str, Any]()
    for name, shape in sizes.items():
        made |= {f"h.0.{name}.weight": np.zeros(shape), f"h.0.{name}.bias": np.zeros(shape[1])}
    made = {f"transformer.{name}": array for name, array in (made | tensors).items()}
    made |= {"lm_head.weight": np.array([head]), "lm_head.bias": np.array([bias])}
    inner, d = sizes["mlp.c_proj"]
    config = SMALL | {"n_embd": d, "n_inner": inner, "vocab_size": 2, "vocab": ["a", "b"], "labels": ["yes"]}
    config |= {"bos_token_id": None, "eos_token_id": None, "layer_norm": False}
    return made_of({name: array.astype(np.float32) for name, array in made.items()}, config)


def walk(rng: np.random.Generator, graph: Graph, n: int) -> tuple[list[int], list[int]]:
    """A random word of at most ``n`` symbols on which the automaton goes on, and the states on the way."""
    word, states = list[int](), [0]
    while len(word) < n and (after := [s for s, t in enumerate(graph.delta[states[-1]]) if t >= 0]):
        word.append(int(rng.choice(after)))
        states.append(graph.delta[states[-1]][word[-1]])
    return word, states


def weights(rng: np.random.Generator, config: dict[str, Any], size: float) -> dict[str, np.ndarray]:
    """Random weights of the shapes that a configuration says."""
    d, rows = config["n_embd"], config["vocab_size"]
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (rows, d)}
    maps = {"attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d), "mlp.c_fc": (d, 4 * d), "mlp.c_proj": (4 * d, d)}
    for layer in range(config["n_layer"]):
        for name, shape in maps.items():
            shapes |= {f"h.{layer}.{name}.weight": shape, f"h.{layer}.{name}.bias": shape[1:]}
    if config["position_embeddings"] == "learned":
        shapes["wpe.weight"] = (config["n_positions"], d)
    found = {f"transformer.{key}": rng.normal(size=shape) * size for key, shape in shapes.items()}
    for name in (*(f"h.{layer}.ln_{k}" for layer in range(config["n_layer"]) for k in (1, 2)), "ln_f"):
        found[f"transformer.{name}.weight"] = 1 + 0.3 * rng.normal(size=d)
        found[f"transformer.{name}.bias"] = 0.5 * rng.normal(size=d)
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = rng.normal(size=(rows, d))
    return {key: value.astype(np.float32) for key, value in found.items()}


def random_checkpoint(
    rng: np.random.Generator, layers: int = 1, start: bool = True, norm: str = "", reads: str = "",
    epsilon: float = 1e-05,
) -> tuple[Trained, Naive]:  # fmt: skip
    """A random model: width 2 to 6, one or two heads, either GELU or ReLU, with or without positions, with or without
    a ``start`` token, tied or not, its read-out with a bias or without, of the vocabulary or of labels of its own.
    ``norm``: LayerNorm behind each half of a block (``post``), none at the end (``no-last``), or nowhere (``none``).
    ``reads``: the answer is read at the start token, without a mask (``first``), or at a token behind the word
    (``last``). ``epsilon``: of LayerNorm; a smaller one counts beside the variance of the embedding."""
    symbols, heads = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    config: dict[str, Any] = {
        "activation_function": str(rng.choice(["gelu_new", "relu"])), "layer_norm_epsilon": epsilon, "n_layer": layers,
        "n_head": heads, "n_embd": heads * int(rng.integers(1, 4)) + heads, "n_positions": 12,
        "vocab_size": symbols + 2, "bos_token_id": symbols, "eos_token_id": symbols + 1,
        "tie_word_embeddings": bool(rng.random() < 0.3), "vocab": [*"abc"[:symbols], "<bos>", "<eos>"],
        "position_embeddings": str(rng.choice(["learned", "none"])),
    }  # fmt: skip
    if not start:
        del config["bos_token_id"], config["vocab"][symbols]
        config |= {"vocab_size": symbols + 1, "eos_token_id": symbols}
    if reads == "first":
        config |= {"place": "first", "causal": False}
    elif reads:
        config["vocab"].append("<sep>")
        config |= {"vocab_size": len(config["vocab"]), "end_marker_token_id": len(config["vocab"]) - 1}
        config["place"] = "last"
    made, other = weights(rng, config, float(rng.choice([0.3, 1.0]))), rng.spawn(1)[0]
    if other.random() < 0.5:
        made["lm_head.bias"] = other.normal(size=config["vocab_size"]).astype(np.float32)
    if config["activation_function"] == "gelu_new" and other.random() < 0.5:
        config["activation_function"] = "gelu"
    if not config["tie_word_embeddings"] and other.random() < 0.3:
        count = int(other.integers(1, 6))
        config["labels"] = ["yes", "no", "both", "none", "odd"][:count]
        made["lm_head.weight"] = other.normal(size=(count, made["lm_head.weight"].shape[1])).astype(np.float32)
        if "lm_head.bias" in made:
            made["lm_head.bias"] = other.normal(size=count).astype(np.float32)
    for name in made if epsilon < 1e-05 else ():
        if "wte" in name or "wpe" in name:  # bounds are multiples of 2^-16, so the stream is as large as ever
            made[name] = made[name] * np.float32(epsilon**0.5)
    if norm:
        config[{"post": "norm_first", "no-last": "final_norm", "none": "layer_norm"}[norm]] = False
        made = {key: a for key, a in made.items() if ("ln_" if norm == "none" else "ln_f") not in key}
    model = made_of(made, config)
    if reads == "first":
        config = config | {"bos_token_id": None, "reads": reads}
    return model, Naive(model.content, config)


def random_graph(rng: np.random.Generator, model: Trained, naive: Naive, greatest: bool = False) -> Graph:
    """A random partial automaton; wanted is what the model says behind one word of each state, sometimes a lie; or, if
    ``greatest``, the greatest logit there, sometimes with others, sometimes others alone."""
    states, symbols = int(rng.integers(1, 4)), len(model.symbols)
    delta = rng.integers(0, states, size=(states, symbols))
    delta[rng.random(delta.shape) < 0.2] = -1
    accept = frozenset(q for q in range(states) if q == 0 or rng.random() < 0.6)
    words: dict[int, tuple[int, ...]] = {0: ()}
    empty, reader = not model.first, () if model.reader is None else (model.reader,)
    for q in range(states):
        for s, t in enumerate(delta[q].tolist() if q in words else []):
            words.setdefault(t, (*words[q], s))
    labels = tuple(range(model.unembed.shape[0]))
    want, shown = [], {q: words.get(q, ()) or (() if empty else (0,)) for q in range(states)}
    for q in range(states):
        said = naive.logits((*(model.tokens[s] for s in shown[q]), *reader))
        want.append(frozenset(k for k in labels if (said[k] > 0) != (rng.random() < 0.02)))
    some = labels[: int(rng.integers(1, len(labels) + 1))]
    rows = tuple(tuple(row) for row in delta.tolist())
    if greatest:
        for q in range(states):
            said = naive.logits((*(model.tokens[s] for s in shown[q]), *reader))
            more = {k for k in some if rng.random() < 0.25}
            want[q] = frozenset({max(some, key=lambda k: said[k])} | more if rng.random() > 0.1 else more or {some[0]})
        return Graph(rows, accept, some, tuple(want), tuple(range(states)), greatest=True, empty=empty)
    return Graph(rows, accept, some, tuple(w & set(some) for w in want), tuple(range(states)), empty=empty)


def random_case(
    rng: np.random.Generator, layers: int = 1, greatest: bool = False, **kind: Any
) -> tuple[Trained, Naive, Graph]:
    """A random model and a random claim about it."""
    model, naive = random_checkpoint(rng, layers, **kind)
    return model, naive, random_graph(rng, model, naive, greatest)


def graph_of_words(rng: np.random.Generator, model: Trained, naive: Naive, greatest: bool = False) -> Graph:
    """A random automaton with a word that the model reads: one of a symbol, where there is no start token."""
    return next(g for g in iter(lambda: random_graph(rng, model, naive, greatest), None) if g.cases(1))


Case = tuple[Trained, Naive, Graph, int]
NORMS = ("", "", "", "post", "no-last", "none")


def drawn(
    rng: np.random.Generator, greatest: bool, layers: int = 1, start: bool = True, norm: str = "", reads: str = "",
    epsilon: float = 1e-05,
) -> Case:  # fmt: skip
    """A random model, a claim and a length; with layers of 0 there is one, or two."""
    layers = layers or (2 if rng.random() < 0.3 else 1)
    model, naive = random_checkpoint(rng, layers, start, norm, reads, epsilon)
    graph = graph_of_words(rng, model, naive, greatest)
    return model, naive, graph, int(rng.integers(0 if graph.empty else 1, 7 - layers))


def read_at(rng: np.random.Generator, seed: int) -> Case:
    """A model that is read at a token of its own."""
    reads = ("first", "last")[seed % 2]
    start = reads == "first" or bool(rng.random() < 0.5)
    return drawn(rng, seed % 3 == 0, start=start, norm=str(rng.choice(NORMS[2:])), reads=reads)


class Family(NamedTuple):
    """``made``: a random case. Among the first cases are so many pairs of an answer and a kind of model as ``shows``
    says. ``few`` of them, and changes of the certificates of ``changed``, are tried always, the others at full size."""

    made: Callable[[np.random.Generator, int], Case]
    shows: int
    few: int
    changed: int


FAMILIES = {
    "plain": Family(lambda rng, _: drawn(rng, False), 2, 6, 2),
    "several layers": Family(lambda rng, seed: drawn(rng, False, 3 if seed % 4 == 3 else 2), 3, 4, 1),
    "greatest": Family(lambda rng, _: drawn(rng, True, 0), 4, 8, 2),
    "no start": Family(lambda rng, seed: drawn(rng, seed % 3 == 0, 0, start=False), 4, 10, 1),
    "norms": Family(
        lambda rng, seed: drawn(rng, seed % 4 == 0, 0, bool(rng.random() < 0.7), NORMS[3 + seed % 3]), 12, 6, 1
    ),
    "reader": Family(read_at, 13, 8, 2),
    "constant": Family(
        lambda rng, seed: drawn(rng, seed % 2 == 0, 0, norm=NORMS[2 + seed % 3], epsilon=1e-12), 9, 6, 1
    ),
}


def case(name: str, seed: int) -> Case:
    """The random case of a seed."""
    return FAMILIES[name].made(np.random.default_rng([seed, list(FAMILIES).index(name)]), seed)


def first(name: str, seed: int, *, placed: bool | None = None) -> Case:
    """A case of one layer, with position embeddings or without, where that is said."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(name), 1])
    made = iter(lambda: FAMILIES[name].made(rng, seed), None)
    return next(c for c in made if len(c[0].layers) == 1 and placed in (None, c[0].positions is not None))


def at_every_length(model: Trained, graph: Graph, longest: int) -> EveryLength:
    """The verdict at every length; a search that does not end is over after twelve looks at the clock."""
    with looks("restrict.soft.trained.every_length"):
        return verify_every_length(model, graph, longest=longest, seconds=12)


def verified(model: Trained, graph: Graph, n: int | None) -> Verdict | EveryLength:
    """The verdict up to a length, or at every length."""
    return verify_every_length(model, graph) if n is None else verify_trained(model, graph, n)


Key = tuple[int, int, int]


def by_case(graph: Graph, n: int) -> dict[Key, list[tuple[int, ...]]]:
    """The prefixes of all words of at most ``n`` symbols, by case: position, symbol there, and state behind it."""
    found = dict[Key, list[tuple[int, ...]]]()
    for word, q in prefixes((graph.delta, graph.accept), n):
        found.setdefault((len(word), word[-1] if word else -1, q), []).append(word)
    return found


def in_bases(bases: Sequence[Basis], outs: Any) -> Array:
    """The coordinates of what the heads add, in their bases."""
    return np.concatenate([basis.near @ (out - basis.middle) for basis, out in zip(bases, np.array(outs), strict=True)])


def checked(model: Trained, graph: Graph, n: int = 0) -> Check:
    """The checker's own record of a model, at a length."""
    document = verify_trained(model, graph, min(n, 3), seconds=60).document()
    return read(model.content, document, n + (model.reader is not None))


def read(content: bytes, document: dict[str, Any], n: int) -> Check:
    """The same of a file and what a certificate says of it."""
    task = Task(document, Place("c"), content, Place("m"), Path(), Meter(10**10))
    layers, kind = (LAYERS, Second) if "layers" in document["model"] else (MODEL, Check)
    made = Model(task, document["model"], Place("c"), layers)
    language = Language(document["language"], None, Place("c"), len(made.rows), made.labels)
    return kind(task, made, language, Atoms(made, n, task.meter))


def searched(found: Verdict | Forced) -> Search:
    """The search of a verdict, whose words have a reader behind them, where there is one."""
    return Search(inside(found.model), found.graph, found.n + (found.model.reader is not None))


def with_quotients(found: Found) -> Found:
    """The verdict, where every case of several heads has bounds on the quotients of the heads' denominators."""
    search, cases = searched(found), []
    for case in found.cases:
        search.weigh(*case.key[:2])
        search.quotients = None  # those of the case before
        search.quotient(case.key)
        known = search.quotients
        rows = sum(len(basis.rows) for basis in found.bases[case.basis])
        if known is not None and len(case.upper) == rows:
            case = replace(case, upper=[*case.upper, *known[1]], width=[*case.width, *known[2]])
        cases.append(case)
    return replace(found, cases=cases)


@contextmanager
def steep(rng: np.random.Generator) -> Iterator[None]:
    """Two layers: every cell with coordinates has slopes (Lemma V12), which are any numbers half of the time."""
    whole, made = At.decided, At.sloped

    def forced(at: At, number: int, slopes: Sequence[list[int]] = ()) -> list[Any] | None:
        at.used, at.worst = 0, (0.0, 0)
        return None if not slopes and len(at.part.low) else whole(at, number, slopes)

    def sloped(at: At, number: int) -> list[list[int]]:
        m = sum(len(basis.rows) for basis in at.search.frames[number])
        any_ = (rng.normal(size=(2, m)) * rng.choice([1e3, 1e5])).astype(int).tolist()
        return made(at, number) or [[], []] if rng.random() < 0.5 else any_

    with patch.object(At, "decided", forced), patch.object(At, "sloped", sloped):
        yield


def leaved(tree: Any, leaf: Callable[..., Any], *given: Any) -> Any:
    """A tree with other leaves."""
    if isinstance(tree, list) and len(tree) == 3:
        return [tree[0], leaved(tree[1], leaf, *given), leaved(tree[2], leaf, *given)]
    return leaf(tree, *given)


def with_pieces(found: Verdict) -> Verdict:
    """The verdict, where every cell is decided by two pieces of the inverse deviation's range, and bounds on what
    neurons read are given in every case; as it was, where that is not proved."""
    search, cases = searched(found), []
    search.turns = found.bases
    for case in found.cases:
        search.use(case.basis)
        search.weigh(*case.key[:2])
        m = len(search.rows)
        held = search.narrowed(case.key, case.upper[:m], case.width[:m], 1 << 16)
        cases.append(replace(case, tree=leaved(case.tree, lambda _: 2), held=held))
    made = replace(found, cases=cases)
    return made if accepted(found.model, json.loads(made.to_bytes())) else found


def fitting(rng: np.random.Generator, fits: Callable[[Verdict], bool]) -> Verdict:
    """The first verdict on a random model, up to 3 symbols, that fits."""
    while True:
        model, _, graph = random_case(rng)
        if fits(found := verify_trained(model, graph, 3)):
            return found


def with_multipliers(rng: np.random.Generator, found: Verdict) -> Verdict:
    """The verdict, where every cell has a row of multipliers of its sides (Lemma V20), used from the first bound on, as
    large as is still proved."""
    for size in (1e6, 1e5, 1e4, 1e2, 1.0):
        cases = []
        for case in found.cases:
            m = sum(len(basis.rows) for basis in found.bases[case.basis])
            row = [0, *np.round(rng.normal(size=m) * size).astype(int).tolist()]
            tree = leaved(case.tree, lambda leaf, row: [leaf if isinstance(leaf, int) else leaf[0], [row]], row)
            cases.append(replace(case, tree=tree))
        made = replace(found, cases=cases)
        if accepted(found.model, json.loads(made.to_bytes())):
            return made
    return found


# ---------------------------------------------------------------- claims of certificates, and changes of them


def accepted(model: Trained, document: Any, limit: int = 10**7) -> bool:
    """Whether the checker takes a certificate; a refusal is one line with a code of the contract."""
    try:
        verify(model.content, json.dumps(document).encode(), limit=limit)
    except Reject as reject:
        code, text = reject.code, str(reject)
    else:
        return True
    assert code in (3, 4, 5)
    assert "\n" not in text
    return False


def refusal(content: bytes, document: dict[str, Any], **parts: dict[str, Any]) -> tuple[int, str]:
    """The checker's exit code and reason for a certificate that is about this file, with other entries in some of its
    ``parts``; 0 and its line where it holds."""
    parts["model"] = parts.get("model", {}) | {"sha256": hashlib.sha256(content).hexdigest()}
    changed = document | {name: document[name] | part for name, part in parts.items()}
    try:
        return 0, verify(content, json.dumps(changed).encode())
    except Reject as reject:
        return reject.code, str(reject)


def written_out(document: dict[str, Any]) -> dict[str, Any]:
    """The certificate in which every case has hints of its own."""
    said: dict[tuple[int, int], list[Any]] = {}
    cases = []
    for i, a, q, *hints in document["cases"]:
        said[a, q] = hints or said[a, q]
        cases.append([i, a, q, *said[a, q]])
    return document | {"cases": cases}


def as_said(content: bytes, document: dict[str, Any]) -> Naive:
    """The model as a certificate reads its weights."""
    said = document["model"]
    config = {
        "n_head": said["heads"], "layer_norm_epsilon": 1 / int(said["epsilon"][2:]), "offset": said["offset"],
        "activation_function": said["activation"], "bos_token_id": said.get("start"),
        "norm_first": said.get("norm") != "post", "layer_norm": said.get("norm") != "none",
        "reads": said.get("reads"),
    }  # fmt: skip
    return Naive(content, config)


def wrong_words(naive: Naive, document: dict[str, Any], upto: int) -> Iterator[tuple[int, ...]]:
    """Every prefix with at most ``upto`` symbols on which a sign is not the one that a certificate's claim wants,
    shortest first. A logit that is nearly 0 has either sign."""
    language, rows = document["language"], document["model"]["rows"]
    for word, q in prefixes((language["delta"], language["accept"]), document["n"], upto):
        if not word and "start" not in document["model"]:
            continue
        if "reads" in document["model"] and word[-1:] != (len(rows) - 1,):
            continue
        said = naive.logits(tuple(rows[s] for s in word))
        if any(far > 1e-9 for far in beyond(said, language, q).values()):
            yield word


def beyond(said: Sequence[float], language: dict[str, Any], q: int) -> dict[int, float]:
    """How far the labels' logits are on the wrong side behind a prefix that leads to state ``q``."""
    labels, want = language["labels"], language["want"][q]
    if "read_out" in language:
        best = max(said[k] for k in want)
        return {k: said[k] - best for k in labels if k not in want}
    return {k: -said[k] if k in want else said[k] for k in labels}


def true_of(content: bytes, document: dict[str, Any], most: int = 3000) -> bool | None:
    """Whether the claim of a certificate holds, by all words; ``None`` where they are more than ``most``."""
    wrong, upto = document.get("wrong"), document["upto"]
    longest = max(upto, len(wrong["word"]) if wrong else 0)
    if (len(document["model"]["rows"]) + 1) ** min(document["n"], longest) > most:
        return None
    naive = as_said(content, document)
    if wrong is None:
        return next(wrong_words(naive, document, upto), None) is None
    bad, language, q = list(wrong_words(naive, document, longest)), document["language"], 0
    if tuple(wrong["word"]) not in bad:
        return False
    for s in wrong["word"]:
        q = language["delta"][q][s]
    said = naive.logits(tuple(document["model"]["rows"][s] for s in wrong["word"]))
    there = beyond(said, language, q).get(wrong["label"], 0) > 1e-9
    return there and all(len(word) > upto for word in bad)


def agrees(found: Verdict) -> str:
    """An answer, its certificate and all words say the same; what the checker says of it."""
    document, line = found.document(), ""
    assert of_its_schema(document)
    bad = list(wrong_words(as_said(found.model.content, document), document, document["n"]))
    assert found.status != ("right" if bad else "wrong")
    if found.wrong is not None:
        word = tuple(document["wrong"]["word"])
        assert found.wrong.word == (word if found.model.reader is None else word[:-1])
        assert word in bad
        assert not found.shortest or len(word) == len(bad[0])
    if found.proves:
        line = verify(found.model.content, found.to_bytes())
        assert line.split()[2] == ("wrong" if found.wrong else "right")
        assert true_of(found.model.content, document) is not False
    return line


def occur(answers: Iterable[Any], wanted: set[Any]) -> bool:
    """Whether all of the wanted answers are among these; no more of them are made than that takes."""
    left = set(wanted)
    for answer in answers:
        left.discard(answer)
        if not left:
            return True
    return False


def taken(
    model: Trained, mutants: Iterable[Any], true: Callable[[bytes, Any], bool | None] = true_of, limit: int = 10**7
) -> int:
    """How many of the mutants of a certificate the checker takes. What each of these claims is true; those that claim
    something new are of the format's JSON Schema."""
    known, count = dict[str, bool](), 0
    for made in mutants:
        if accepted(model, made, limit):
            key = json.dumps({part: made.get(part) for part in ("n", "upto", "blocks", "language", "wrong", "model")})
            if key not in known:
                known[key] = of_its_schema(made) and true(model.content, made) is not False
            assert known[key], made
            count += 1
    return count


def mutated(rng: np.random.Generator, document: Any) -> Any:
    """The document with one number, list or key changed somewhere."""
    made = copy.deepcopy(document)
    made.pop("provenance", None)
    node: Any = made
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return made
        key = keys[int(rng.integers(len(keys)))]
        child = node[key]
        if isinstance(child, dict | list) and len(child) and rng.random() < 0.93:
            node = child
            continue
        if isinstance(node, dict) and rng.random() < 0.1:
            del node[key]
        elif type(child) is int:
            node[key] = child + int(rng.choice([-(2**20), -100, -1, 1, 100, 2**20]))
        elif isinstance(node, list) and rng.random() < 0.5:
            del node[key]
        else:
            node[key] = rng.choice([0, 1, 2]).item() if rng.random() < 0.5 else []
        return made
