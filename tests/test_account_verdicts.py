"""The account of work in verdicts on trained models, at one length and at every length: as tests/test_account.py."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from restrict.checker import main as checker
from restrict.checker.account import MEMORY
from tests.clock import within
from tests.fuzzing.kinds import Trial, sealed
from tests.fuzzing.operators import listed_in
from tests.marks import heavy_after
from tests.test_account import by_limit, keeps_the_contract, spent
from tests.verdict_cases import weights

Document = dict[str, Any]
SHAPES: dict[str, Callable[[], Trial]] = {}
shape = listed_in(SHAPES)


def verdict(
    symbols: int = 1, heads: int = 1, width: int = 2, inner: int = 0, post: bool = False, **more: Any
) -> tuple[bytes, Document]:  # fmt: skip
    """A model whose logits are positive whatever it reads, and what a certificate says of it."""
    config = {
        "n_embd": width, "vocab_size": symbols + 1, "position_embeddings": "none", "tie_word_embeddings": False,
        "n_layer": 1,
    }  # fmt: skip
    tensors = weights(np.random.default_rng(7), config, 0.01)
    tensors["transformer.wte.weight"] = np.random.default_rng(8).normal(size=(symbols + 1, width)).astype(np.float32)
    if inner:
        for name in ("c_fc.weight", "c_fc.bias", "c_proj.weight"):
            key = f"transformer.h.0.mlp.{name}"
            found = tensors[key]
            tensors[key] = found[:inner] if name == "c_proj.weight" or found.ndim == 1 else found[:, :inner].copy()
    last = "transformer.h.0.ln_2" if post else "transformer.ln_f"
    tensors[f"{last}.weight"] *= np.float32(1e-4)
    tensors[f"{last}.bias"][:] = tensors["lm_head.weight"][:] = 1
    document: Document = {
        "format": "restrict-soft-verdict/1", "n": 1, "upto": 0,
        "model": {
            "name": "steady", "heads": heads, "epsilon": "1/100000", "activation": "relu", "positions": "none",
            "offset": 0, "tied": "no", "alphabet": [f"s{s}" for s in range(symbols)], "rows": list(range(symbols)),
            "start": symbols,
        },
        "language": {"delta": [[0] * symbols], "accept": [0], "labels": [0], "want": [[0]]},
        "basis": [directions(width, 0)] * heads, "cases": [case(0, -1, 0, 0)],
    }  # fmt: skip
    if post:
        document["model"]["norm"] = "post"
        tensors = {name: a for name, a in tensors.items() if "ln_f" not in name}
    return save(tensors), document | more


def directions(width: int, count: int) -> Document:
    """Directions of one head that say nothing."""
    return {"centre": [0] * width, "rows": [[0] * width] * count}


def case(i: int, a: int, q: int, bounds: int, *more: Any) -> list[Any]:
    """A case with loose bounds."""
    return [i, a, q, [10] * bounds, [20] * bounds, *more]


def halved(times: int) -> Any:
    """Cells of the first coordinate, halved so often."""
    tree: Any = 0
    for _ in range(times):
        tree = [0, tree, tree]
    return tree


def test_the_shapes_begin_as_a_proof() -> None:
    content, document = verdict()
    trial = sealed(content, document)
    assert checker.verify(trial.model, trial.proof).startswith("s VERIFIED right n=0..1 prefixes=0..0 cases=1 ")


def from_beyond(states: int, symbols: int) -> Document:
    """Words go from 0 to 1 and stay there by their first symbol; from all other states, which no word reaches, every
    symbol leads to 1, too."""
    delta = [[1] * symbols for _ in range(states)]
    delta[0] = delta[1] = [1] + [-1] * (symbols - 1)
    return {"delta": delta, "accept": [0, 1], "labels": [0], "want": [[0]] * states}


def many_transitions(states: int, symbols: int) -> Document:
    """All states are reached, and each has three ways on."""
    delta = [[-1] * symbols for _ in range(states)]
    for q, row in enumerate(delta):
        row[:3] = [(q + 1) % states, 0, (7 * q + 3) % states]
    return {"delta": delta, "accept": [0], "labels": [0], "want": [[]] * states}


def unreached(states: int, accept: int = 1) -> Document:
    """One state that all words stay in, named more than once among those that accept, and so many others."""
    language = {"delta": [[0], *[[-1]] * states], "accept": [0] * accept, "labels": [0]}
    return language | {"want": [[0], *[[]] * states]}


def post_norm(width: int, **more: Any) -> Trial:
    """With layer norm behind each half."""
    return sealed(*verdict(width=width, inner=1, post=True, **more))


SHAPES |= {
    "states that no word reaches": lambda: sealed(*verdict(
        n=40, upto=40, basis=[directions(2, 2)], language=unreached(4000),
        cases=[case(i, 0 if i else -1, 0, 2) for i in range(41)],
    )),
    "transitions from states that no word reaches": lambda: sealed(*verdict(
        100, heads=16, width=16, n=1, upto=1, language=from_beyond(4000, 100), basis=[directions(16, 16)] * 16,
        cases=[case(0, -1, 0, 256), case(1, 0, 1, 256)],
    )),
    "prefixes of a language with many transitions": lambda: sealed(*verdict(
        700, n=4000, upto=-1, wrong={"word": [0], "label": 0}, language=many_transitions(700, 700), cases=[], basis=[]
    )),
    "cases of a language with many transitions": lambda: sealed(*verdict(
        500, n=30, upto=30, language=many_transitions(500, 500)
    )),
    "a wide block with layer norm behind each half": lambda: post_norm(400),
    "cells of a block with layer norm behind each half": lambda: post_norm(
        96, basis=[directions(96, 90)], cases=[case(0, -1, 0, 90, halved(4), 0)]
    ),
    "cells in the basis before an empty one": lambda: sealed(*verdict(
        width=24, basis=[directions(24, 24)], turned=[[directions(24, 0)]], cases=[case(0, -1, 0, 24, halved(5), 0)]
    )),
    "cells of many heads before a narrow network": lambda: sealed(*verdict(
        heads=48, width=48, inner=1, basis=[directions(48, 48)] * 48, cases=[case(0, -1, 0, 48 * 48, halved(5))]
    )),
    "many further bases": lambda: sealed(*verdict(width=16, turned=[[directions(16, 16)]] * 200)),
    "many labels": lambda: sealed(*verdict(
        1000, language={"delta": [[0] * 1000], "accept": [0], "labels": [*range(1000)], "want": [[*range(1000)]]}
    )),
    "a large checkpoint": lambda: sealed(*verdict(400, width=400)),
    "a large checkpoint of many heads": lambda: sealed(*verdict(width=256, heads=256, inner=1)),
    "many accepting states named again": lambda: sealed(*verdict(language=unreached(100, 1_500_000))),
}  # fmt: skip


# ---------------------------------------------------------------- two layers


def layered(symbols: int = 1, width: int = 2, inner: tuple[int, int] = (8, 8), **more: Any) -> tuple[bytes, Document]:
    """The same with two layers, whose networks have so many neurons."""
    config = {
        "n_embd": width, "vocab_size": symbols + 1, "position_embeddings": "none", "tie_word_embeddings": False,
        "n_layer": 2,
    }  # fmt: skip
    rng = np.random.default_rng(7)
    tensors = weights(rng, config, 0.01)
    tensors["transformer.wte.weight"] = rng.normal(size=(symbols + 1, width)).astype(np.float32)
    for layer, count in enumerate(inner):
        for name, size in (("c_fc.weight", (width, count)), ("c_fc.bias", (count,)), ("c_proj.weight", (count, width))):
            tensors[f"transformer.h.{layer}.mlp.{name}"] = (rng.normal(size=size) * 0.01).astype(np.float32)
    tensors["transformer.ln_f.weight"] *= np.float32(1e-4)
    tensors["transformer.ln_f.bias"][:] = tensors["lm_head.weight"][:] = 1
    _, document = verdict(symbols, width=width)
    document |= {"format": "restrict-soft-verdict/2", "second": [[directions(width, 0)]]}
    document["model"]["layers"], document["cases"] = 2, [[0, -1, 0, [], [], 0, 0, 0, [[[], []]]]]
    return save(tensors), document | more


def a_wrong_word(width: int, inner: int) -> Trial:
    """A word of two symbols, and nothing else."""
    content, document = layered(
        width=width, inner=(inner, 1), n=2, upto=-1, cases=[], wrong={"word": [0, 0], "label": 0}
    )
    document["language"]["want"] = [[]]
    return sealed(content, document)


def test_the_shapes_of_two_layers_begin_as_proofs() -> None:
    trial = sealed(*layered())
    assert checker.verify(trial.model, trial.proof).startswith("s VERIFIED right n=0..1 prefixes=0..0 cases=1 ")
    trial = a_wrong_word(4, 4)
    assert checker.verify(trial.model, trial.proof).startswith("s VERIFIED wrong n=0..2 at=2 label=0 ")


LOOSE = [[1 << 30, 1 << 30], [1 << 31, 1 << 31]]
SHAPES |= {
    "a wrong word of a wide first network": lambda: a_wrong_word(16, 1500),
    "a wrong word of a network that fills memory": lambda: a_wrong_word(2, 7000),
    "a wrong word of a wide stream": lambda: a_wrong_word(128, 1),
    "a node of a wide first network": lambda: sealed(*layered(width=2, inner=(7000, 1))),
    "nodes of many symbols": lambda: sealed(*layered(
        400, n=2, upto=2, second=[[directions(2, 2)]],
        cases=[
            [i, a, 0, [], [], 0, 0, 0, [LOOSE]] for i, a in [(0, -1), *itertools.product((1, 2), range(400))]
        ],
    )),
    "transitions from states that no word of two layers reaches": lambda: sealed(*layered(
        20, width=24, inner=(1, 1), n=8, upto=8, language=from_beyond(4000, 20), second=[[directions(24, 24)]],
        cases=[
            [i, 0 if i else -1, min(i, 1), [], [], 0, 0, 0, [[[1 << 30] * 24, [1 << 31] * 24]]] for i in range(9)
        ],
    )),
}  # fmt: skip


@shape
def cells_of_a_node_without_an_entry() -> Trial:
    """A few bytes of the tree ask for a form of many numbers."""
    rows = np.random.default_rng(1).integers(-(1 << 20), 1 << 20, size=(64, 64)).tolist()
    cases = [[0, -1, 0, [1 << 24] * 64, [1 << 25] * 64, halved(11), 0, 0, []]]
    basis = [{"centre": [0] * 64, "rows": rows}]
    return sealed(*layered(width=64, inner=(1, 1), n=0, upto=0, basis=basis, cases=cases))


def at_every_length(blocks: list[list[int]], cases: list[list[Any]], **more: Any) -> Trial:
    """The same model, at every length."""
    content, document = verdict(basis=[directions(2, 1)])
    document |= {"format": "restrict-soft-every-length/1", "scale": 0, "blocks": blocks, "cases": cases}
    document["phi"] = [[] for _ in cases]
    del document["n"], document["upto"]
    return sealed(content, document | more)


@shape
def neurons_with_the_error_function() -> Trial:
    """Each over a range of sixteen pieces, where its series is the longest."""
    content, document = verdict()
    tensors, neurons = load(content), 2000
    tensors["transformer.h.0.mlp.c_fc.weight"] = np.full((2, neurons), [[0.5], [-0.5]], dtype=np.float32)
    tensors["transformer.h.0.ln_2.weight"] *= np.float32(2.5e-4)
    tensors["transformer.h.0.ln_2.bias"][:] = 0
    tensors["transformer.h.0.mlp.c_fc.bias"] = np.full(neurons, 9, dtype=np.float32)
    tensors["transformer.h.0.mlp.c_proj.weight"] = np.zeros((neurons, 2), dtype=np.float32)
    document["model"]["activation"] = "gelu"
    document["basis"] = [{"centre": [0, 0], "rows": [[1 << 24, 0]]}]
    document["cases"] = [[0, -1, 0, [10 << 16], [20 << 16]]]
    return sealed(save(tensors), document)


@shape
def cells_that_are_known() -> Trial:
    """Of the first position, with many labels at both ends of many pieces."""
    content, document = verdict(n=30, upto=30)
    tensors, labels = load(content), list(range(200))
    tensors["lm_head.weight"] = np.ones((200, 2), dtype=np.float32)
    document["language"] |= {"labels": labels, "want": [labels]}
    document["cases"] = [[0, -1, 0, [], [], 64], *([i, 0, 0, [], [], 64] for i in range(1, 31))]
    return sealed(save(tensors), document)


FIRST = case(0, -1, 0, 1)
SHAPES |= {
    "a long wrong word": lambda: at_every_length(
        [], [FIRST], wrong={"word": [0] * 300_000, "label": 0},
        language={"delta": [[1], [1]], "accept": [1], "labels": [0], "want": [[0], []]},
    ),
    "a long block": lambda: at_every_length([[1, 65536]], [FIRST, case(1, 0, 0, 1)]),
    "many blocks": lambda: at_every_length(
        [[n, n] for n in range(1, 400)], [FIRST, *(case(n, 0, 0, 1) for n in range(1, 400))]
    ),
    "many states at every length": lambda: at_every_length(
        [[1, 65536]], [FIRST, *(case(1, 0, q, 1) for q in range(4001))],
        language={"delta": [[(7 * q + 3) % 4001] for q in range(4001)], "accept": [0], "labels": [0],
                  "want": [[0]] * 4001},
    ),
}  # fmt: skip


# ---------------------------------------------------------------- the account


SECONDS = {
    "transitions from states that no word reaches", "a long wrong word", "prefixes of a language with many transitions",
}  # fmt: skip


@pytest.mark.parametrize(("name", "limit"), by_limit(SHAPES, {"states that no word reaches"}, SECONDS))
def test_a_step_of_a_verdict_takes_no_longer_than_the_contract_says(name: str, limit: int) -> None:
    keeps_the_contract(SHAPES[name](), limit)


def test_multipliers_at_a_cell_of_a_node_are_charged() -> None:
    """They are of no use there, but read: behind 20 cases with the hints of the first."""
    rows, cases = 3000, 20
    content, document = layered(n=cases, upto=cases)
    given = [0, -1, 0, [], [], [0, [[1]] * rows], 0, 0, [[[], []]]]
    document["cases"] = [given, [1, 0, *given[2:]], *([i, 0, 0] for i in range(2, cases + 1))]
    found = spent(sealed(content, document), 10**9)
    assert found.code == 0, found
    document["cases"][0][5] = document["cases"][1][5] = 0
    assert found.steps - spent(sealed(content, document), 10**9).steps >= rows * cases


def test_what_is_wanted_is_read_once_for_each_state() -> None:
    """Each of 400 states that words of two symbols reach is entered by all symbols, and so in as many cases."""
    symbols = 400
    delta = [[*range(1, symbols + 1)], *([q] * symbols for q in range(1, symbols + 1))]
    taken = list[float]()
    for count in (1, symbols):
        labels = list(range(count))
        language = {"delta": delta, "accept": [*range(symbols + 1)], "labels": labels, "want": [labels] * len(delta)}
        found = spent(sealed(*verdict(symbols, n=2, upto=2, fixed=[], cases=[], language=language)), 10**9)
        assert found.code == 4, found
        taken.append(found.seconds)
    within(taken[1], 0.2 + 2 * taken[0])


@pytest.mark.parametrize(("times", "code"), [(1, 0), (2, 4), (200_000, 4)])
def test_a_cell_without_words_names_a_coordinate_once(times: int, code: int) -> None:
    """Later cases have the hints of the first, so a long list would be read again and again."""
    content, document = verdict(n=60, upto=60, basis=[directions(2, 1)])
    tree = [0, [0, [[0, -1] * times], 0], 0]
    document["cases"] = [case(0, -1, 0, 1, tree), case(1, 0, 0, 1, tree), *([i, 0, 0] for i in range(2, 61))]
    found = spent(sealed(content, document), 10**9)
    assert found.code == code, found


def chained(symbols: int, length: int, whole: bool) -> Trial:
    """Two layers. Behind the first symbol a state for each, behind the second another one for each, entered from one
    state or from all (``whole``), then one for all words: so many more symbols, with a case behind each."""
    last = 2 * symbols + 1
    second = [[symbols + 1 + s if whole or s == q else -1 for s in range(symbols)] for q in range(symbols)]
    delta = [[*range(1, symbols + 1)], *second, *([last, *[-1] * (symbols - 1)] for _ in range(symbols + 1))]
    language = {"delta": delta, "accept": [*range(last + 1)], "labels": [0], "want": [[0]] * (last + 1)}
    keys = [(0, -1, 0), *((i, s, (i - 1) * symbols + 1 + s) for i in (1, 2) for s in range(symbols))]
    keys += [(i, 0, last) for i in range(3, length + 3)]
    cases = [[*key, [], [], 0, 0, 0, [[[], []]]] for key in keys]
    return sealed(*layered(symbols, n=length + 2, upto=length + 2, language=language, cases=cases))


def test_transitions_that_lead_to_a_case_of_two_layers_are_charged() -> None:
    """However few nodes they enter."""
    symbols, more = 40, 8
    tails = list[int]()
    for whole in (False, True):
        short, long = (spent(chained(symbols, length, whole), 10**9) for length in (2, 2 + more))
        assert short.code == long.code == 0, (short, long)
        tails.append(long.steps - short.steps)
    assert tails[1] - tails[0] >= more * symbols * (symbols - 1), tails


@pytest.mark.parametrize("quarters", heavy_after((1, 4, 40), 1))
def test_the_memory_of_a_verdict_is_bounded(quarters: int) -> None:
    """Whatever the limit on steps is, what is charged stays below 2 GiB."""
    trial = SHAPES["a long wrong word"]()
    document = json.loads(trial.proof)
    word = document["wrong"]["word"]
    document["wrong"]["word"] = (word * 10)[: len(word) * quarters // 4]
    found = spent(sealed(trial.model, document), 10**12)
    assert found.held <= MEMORY
    assert found.taken < (256 << 20) + 1.5 * found.held, found
