"""The example models compute what they say: every input up to some length, against plain definitions in Python."""

import itertools
import json
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest

from restrict.model.examples.builtin import BUILTINS
from restrict.model.examples.hard import HARD
from restrict.model.examples.known import known_optimum
from restrict.model.fileformat import dumps, loads
from restrict.model.source import load
from scripts.make_imports import BRASP, PROGRAMS, WEIGHTS
from scripts.make_instances import INSTANCES
from tests import naive
from tests.marks import heavy_after, rows_after
from tests.naive import Label, Model

Answer = Label | list[Label]
Definition = Callable[[Sequence[str]], Answer]


def evaluate(model: Model, n: int, words: Iterable[Sequence[str]]) -> list[Answer]:
    """The model's outputs on words of one length. (The one place that knows which evaluator is used.)"""
    instance = naive.at(model, n)
    labels = [naive.labels_of(model, naive.run_at(instance, word)) for word in words]
    return [row[-1] for row in labels] if model["output"]["position"] == "last" else list(labels)


def words_of(model: Model, n: int) -> list[tuple[str, ...]]:
    """All words for inputs of length `n`."""
    return list(itertools.product(model["alphabet"], repeat=len(naive.letters(model, n))))


def accepts(predicate: Callable[[str], bool]) -> Definition:
    """A recogniser's definition from a predicate on strings."""
    return lambda word: "accept" if predicate("".join(word)) else "reject"


def blocks(word: str, size: int) -> list[str]:
    """The word cut into blocks."""
    return [word[start : start + size] for start in range(0, len(word), size)]


def side(word: str) -> int:
    """`m` where the word has length `m * m`."""
    return next(m for m in itertools.count() if m * m == len(word))


def is_dyck(word: str, depth: int) -> bool:
    """Balanced, and never deeper than `depth`."""
    heights = list(itertools.accumulate(1 if bracket == "(" else -1 for bracket in word))
    return heights[-1] == 0 and min(heights) >= 0 and max(heights) <= depth


def is_tree(word: str, bottom: int, middle: int) -> bool:
    """The AND of ORs of ANDs."""
    return all(any("0" not in low for low in blocks(part, bottom)) for part in blocks(word, bottom * middle))


def is_tribes(word: str, width: int) -> bool:
    """Some tribe of ones."""
    return "1" * width in blocks(word, width)


def last_write(word: Sequence[str]) -> str:
    """The flip-flop's bit."""
    bit = "0"
    for instruction in word:
        bit = instruction[1] if instruction in ("w0", "w1") else bit
    return bit


def follower(word: Sequence[str]) -> str:
    """What came after the most recent earlier occurrence of the last symbol."""
    answer = "none"
    for before, after in itertools.pairwise(word):
        if before == word[-1]:
            answer = after
    return answer


def tags(word: Sequence[str]) -> list[Label]:
    """The tagger's answer."""
    found: list[Label] = []
    for i, letter in enumerate(word):
        if letter not in word[:i]:
            found.append("first")
        else:
            found.append("double" if word[i - 1] == letter else "again")
    return found


def odd(word: str) -> bool:
    """PARITY."""
    return word.count("1") % 2 == 1


DEFINITIONS: dict[str, tuple[Definition, Sequence[int]]] = {
    "contains-one": (accepts(lambda w: "1" in w), range(1, 11)),
    "all-ones": (accepts(lambda w: "0" not in w), range(1, 11)),
    "first-symbol": (accepts(lambda w: w[0] == "1"), range(1, 10)),
    "anbn": (accepts(lambda w: w == "a" * (len(w) // 2) + "b" * (len(w) // 2)), range(1, 11)),
    "q-then-u": (accepts(lambda w: w.count("q") == w.count("qu")), range(1, 4)),
    "and-of-ors": (accepts(lambda w: all("1" in part for part in blocks(w, side(w)))), (1, 4, 9)),
    "or-of-ands": (accepts(lambda w: any("0" not in part for part in blocks(w, side(w)))), (1, 4, 9)),
    "flip-flop": (last_write, range(1, 7)),
    "induction-head": (follower, range(1, 6)),
    "tagger": (tags, range(1, 7)),
    "dyck1-depth2": (accepts(lambda w: is_dyck(w, 2)), range(1, 11)),
    "dyck1-depth3": (accepts(lambda w: is_dyck(w, 3)), range(1, 11)),
    "parity8": (accepts(lambda w: odd(w[:8])), (8, 9, 10)),
    "parity-attempt": (accepts(lambda w: odd(w[-4:])), range(3, 10)),
}

OPTIMA: dict[str, dict[int, int]] = {
    "contains-one": dict.fromkeys(range(1, 8), 1), "all-ones": dict.fromkeys(range(1, 8), 1),
    "first-symbol": dict.fromkeys(range(1, 8), 1), "anbn": {n: 1 - n % 2 for n in range(1, 9)},
    "q-then-u": {1: 1, 2: 1}, "and-of-ors": {1: 1, 4: 2, 9: 3}, "or-of-ands": {1: 1, 4: 2, 9: 3},
    "flip-flop": dict.fromkeys(range(1, 5), 1), "induction-head": {1: 0, 2: 2, 3: 2, 4: 2, 5: 2},
    "tagger": {1: 0, 2: 2, 3: 2, 4: 2, 5: 2}, "dyck1-depth2": {n: 1 - n % 2 for n in range(1, 9)},
    "dyck1-depth3": {n: 1 - n % 2 for n in range(1, 9)}, "parity8": {8: 8, 9: 8},
    "parity-attempt": {n: min(4, n - 2) for n in range(2, 9)},
}  # fmt: skip
IMPORTED: dict[str, dict[int, int]] = {
    "brasp-ab-star": {n: 1 - n % 2 for n in range(1, 7)}, "brasp-dyck1-depth2": {n: 1 - n % 2 for n in range(1, 7)},
    "brasp-flip-flop": dict.fromkeys(range(1, 5), 1), "tp-same-as-first": {1: 0, 2: 0, 3: 2, 4: 2, 5: 2, 8: 2},
    "weights-a-before-b": {1: 0, 2: 1, 3: 1, 4: 1},
}  # fmt: skip
"""What instances/README.md says of them."""


def on_disk(name: str) -> Model:
    """The model of an instance file."""
    return naive.load(INSTANCES / f"{name}.json")


def check(model: Model, definition: Definition, n: int, words: Sequence[Sequence[str]]) -> None:
    """The model agrees with the definition on the words."""
    assert naive.defined(model, n)
    for word, answer in zip(words, evaluate(model, n, words), strict=True):
        assert answer == definition(word), (n, word)


def test_every_builder_has_a_file_and_every_file_a_builder() -> None:
    imported = {*BRASP, *PROGRAMS, *WEIGHTS}
    assert {path.stem for path in INSTANCES.glob("*.json")} == set(BUILTINS) | imported | set(HARD)


@pytest.mark.parametrize("name", BUILTINS)
def test_the_file_is_what_the_builder_makes(name: str) -> None:
    path = INSTANCES / f"{name}.json"
    assert path.read_bytes() == dumps(BUILTINS[name]())
    assert on_disk(name) == BUILTINS[name]()


def test_every_instance_is_verified_here() -> None:
    assert set(DEFINITIONS) | {"alternating-tree", "tribes"} == set(BUILTINS)
    assert set(OPTIMA) == set(DEFINITIONS)


@pytest.mark.parametrize("most", heavy_after((300, 100_000), 1))
@pytest.mark.parametrize("name", DEFINITIONS)
def test_instances_are_right_on_all_short_inputs(name: str, most: int) -> None:
    """On all words of a length, where these are at most so many."""
    definition, lengths = DEFINITIONS[name]
    model = on_disk(name)
    for n in (n for n in lengths if len(model["alphabet"]) ** len(naive.letters(model, n)) <= most):
        check(model, definition, n, words_of(model, n))


def check_small(name: str, options: dict[str, int], right: Callable[[str], bool], n: int, optimum: int) -> None:
    """On all inputs of a length, with the fewest symbols that force the output."""
    model = BUILTINS[name](**options)
    check(model, accepts(right), n, words_of(model, n))
    assert naive.minimum_forcing(model, n)[0] == optimum


@pytest.mark.parametrize(("bottom", "middle", "n"), rows_after(
    [(2, 2, 4), (2, 2, 8), (1, 3, 6), (3, 1, 6), (3, 2, 6), (2, 3, 6), (1, 3, 9), (3, 1, 9)], 6)
)  # fmt: skip
def test_small_trees_on_all_inputs(bottom: int, middle: int, n: int) -> None:
    optimum = min(middle, n // (bottom * middle) * bottom)
    options = {"bottom": bottom, "middle": middle}
    check_small("alternating-tree", options, lambda w: is_tree(w, bottom, middle), n, optimum)


@pytest.mark.parametrize(("width", "n"), [(1, 4), (2, 8), (3, 6), (3, 9), (4, 8), (5, 5)])
def test_small_tribes_on_all_inputs(width: int, n: int) -> None:
    check_small("tribes", {"width": width}, lambda w: is_tribes(w, width), n, min(width, n // width))


def near_trees(n: int) -> np.ndarray:
    """Inputs near the threshold: single zeros in all ANDs but one of every OR, and sometimes there as well."""
    rng, bits = np.random.default_rng(1), np.ones((n // 8, n // 64, 8, 8), dtype=int)
    for word, group, row in np.ndindex(bits.shape[:3]):
        bits[word, group, row, rng.integers(8)] = int(row == group % 8 and rng.random() < 0.8)
    return bits.reshape(n // 8, n)


@pytest.mark.parametrize(
    ("name", "n"),
    rows_after([("alternating-tree", 64), *(("tribes", n) for n in (8, 16, 32)), ("alternating-tree", 128)], 4),
)
def test_the_files_on_random_inputs(name: str, n: int) -> None:
    tree = name == "alternating-tree"
    bits = near_trees(n) if tree else (np.random.default_rng(2).random((40, n)) < 0.9).astype(int)
    words = [list(map(str, row)) for row in bits.tolist()]
    definition = accepts(lambda w: is_tree(w, 8, 8) if tree else is_tribes(w, 8))
    assert {definition(word) for word in words} == {"accept", "reject"}
    check(on_disk(name), definition, n, words)


@pytest.mark.parametrize("layers", [0, 1, 2, 3, 4, 5])
def test_parity_attempt_is_exact_up_to_its_layers_and_no_further(layers: int) -> None:
    model = BUILTINS["parity-attempt"](layers=layers)
    for n in range(2, layers + 3):
        check(model, accepts(odd), n, words_of(model, n))
    beyond = words_of(model, layers + 3)
    expected = [accepts(odd)(word) for word in beyond]
    assert evaluate(model, layers + 3, beyond) != expected
    assert naive.minimum_forcing(model, layers + 2)[0] == naive.minimum_forcing(model, layers + 3)[0] == layers


@pytest.mark.parametrize("width", [1, 2, 4])
def test_parity8_is_the_parity_of_its_prefix(width: int) -> None:
    assert not naive.defined(BUILTINS["parity8"](width=width), width - 1)
    check_small("parity8", {"width": width}, lambda w: odd(w[:width]), width + 2, width)


@pytest.mark.parametrize("most", heavy_after((5, 9), 1))
@pytest.mark.parametrize("name", OPTIMA | IMPORTED)
def test_the_stated_optimum_is_that_of_brute_force(name: str, most: int) -> None:
    model, stated = on_disk(name), (OPTIMA | IMPORTED)[name]
    for n in (n for n in stated if n <= max(most, min(stated)) or name in IMPORTED):
        assert name in IMPORTED or known_optimum(load(INSTANCES / f"{name}.json"), n) == stated[n]
        size, witness = naive.minimum_forcing(model, n)
        assert size == len(witness) == stated[n], n
        assert len(naive.true_values(model, n, witness)["label", n - 1]) == 1


def test_known_optima_of_trees_with_options() -> None:
    """Brute force at the smallest sizes; a model that only has the name has no known optimum."""
    trees = [("tribes:width=2", 6), ("tribes:width=3", 6), ("alternating-tree:bottom=2,middle=2", 8)]
    letters = [(f"{name}:letters={k}", 4) for name in ("induction-head", "tagger") for k in (1, 2)]
    for text, n in (*trees, *letters):
        made = load(text)
        assert known_optimum(made, n) == naive.minimum_forcing(json.loads(made.content or b""), n)[0]
    other = {**json.loads(load("tribes").content or b""), "description": "another"}
    assert known_optimum(loads(json.dumps(other).encode()), 8) is None
    assert known_optimum(load("random:seed=1"), 8) is None


def test_instances_are_defined_at_their_lengths_only() -> None:
    lengths = {name: [n for n in range(1, 17) if naive.defined(on_disk(name), n)] for name in BUILTINS}
    assert lengths["and-of-ors"] == lengths["or-of-ands"] == [1, 4, 9, 16]
    assert lengths["tribes"] == [8, 16]
    assert lengths["parity8"] == list(range(8, 17))
    assert lengths["parity-attempt"] == list(range(2, 17))
    assert lengths["alternating-tree"] == []
    assert naive.defined(on_disk("alternating-tree"), 512)
