"""Whether a certificate, a refutation or a lower bound is true, by evaluation on every input."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from tests import naive
from tests.fuzzing.kinds import Document, Trial, Verdict
from tests.fuzzing.meaning import Meaning, Word, meaning

INPUTS = 300
"""With more consistent inputs a claim is not judged."""
RESTRICTIONS = 3_000
"""With more restrictions a lower bound is not judged."""


def subject(trial: Trial) -> Meaning:
    """The model's meaning, its tensor files read."""
    return with_files(trial.model, trial.files) if trial.files else meaning(trial.model)


@lru_cache(256)
def with_files(model: bytes, files: tuple[tuple[str, bytes], ...]) -> Meaning:
    """The meaning of a model with tensor files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files:
            (Path(folder) / name).write_bytes(content)
        return Meaning(naive.inline(json.loads(model), Path(folder)))


def judged(trial: Trial, truth: Callable[[Meaning, Document], bool | None]) -> Verdict:
    """The truth in a word; a model that is not one at this length is a false acceptance, too."""
    document, found = json.loads(trial.proof), subject(trial)
    n = document["n"] if "n" in document else document["certificate"]["n"]
    if n > 64:
        return "undecided"
    if found.defined(n) is False:
        return "false"
    answer = truth(found, document)
    return "undecided" if answer is None else "true" if answer else "false"


def singles(runs: list[list[Any]]) -> dict[int, Any]:
    """What stands at the positions of runs."""
    return {p: rest[0] if rest else None for start, count, *rest in runs for p in range(start, start + count)}


def consistent(found: Meaning, n: int, fixed: dict[int, str], most: int = INPUTS) -> list[Word] | None:
    """All inputs that agree with a restriction, or None where they are too many."""
    size, free = len(found.alphabet), naive.free_positions(found.model, n, fixed)
    if len(free) > 60 or size ** len(free) > most:
        return None
    return list(naive.consistent_inputs(found.model, n, fixed))


def true_certificate(found: Meaning, document: Document, most: int = INPUTS) -> bool | None:
    """The number of free positions, and what is said of one position, or of each."""
    n, claim, fixed = document["n"], document["claim"], singles(document["fixed"])
    if claim["free"] != len(naive.free_positions(found.model, n, fixed)):
        return False
    inputs = consistent(found, n, fixed, most)
    if inputs is None:
        return None
    found.learn(inputs)
    if document["target"] == "all":
        return all(len(essential(found, inputs, n, i)) <= claim["c"] for i in range(n))
    where = n - 1 if document["target"] == "last" else document["target"]
    depends = list(singles(claim["dependencies"]))
    return (
        {found.values(x)[where] for x in inputs} <= set(claim["values"])
        and essential(found, inputs, n, where) <= set(depends)
        and claim["c"] == len(depends)
    )


def essential(found: Meaning, inputs: list[Word], n: int, where: int) -> set[int]:
    """The positions at which two of these inputs differ alone, and have two labels. The inputs are a cube, so the
    label is a function of a set of positions exactly if this lies in it."""
    out = set()
    for index, position in enumerate(naive.letters(found.model, n)):
        seen: dict[Word, str] = {}
        for x in inputs:
            label = found.labels(x)[where]
            if seen.setdefault(x[:index] + x[index + 1 :], label) != label:
                out.add(position)
                break
    return out


# ---------------------------------------------------------------- refutations


def true_refutation(found: Meaning, document: Document) -> bool | None:
    """The certificate's claim; two words with one label, one of them in the language; and the errors."""
    inner = document["certificate"]
    known = true_certificate(found, inner)
    if known is False:
        return False
    n, fixed, places = inner["n"], singles(inner["fixed"]), naive.letters(found.model, inner["n"])
    where = n - 1 if inner["target"] == "last" else inner["target"]
    labels = []
    for key in ("member", "nonmember"):
        symbols = singles(document[key])
        if sorted(symbols) != places or any(symbols[p] != a for p, a in fixed.items()):
            return False
        word = [symbols[p] for p in places]
        if member(document["language"], word) != (key == "member"):
            return False
        labels.append(found.labels(tuple(found.alphabet.index(a) for a in word))[where])
    if labels[0] != labels[1]:
        return False
    if "errors" in document and (inputs := consistent(found, n, fixed)) is not None:
        return int(document["errors"], 16) <= errors(found, inputs, where, document["language"], inner)
    return known


def errors(found: Meaning, inputs: list[Word], where: int, language: Document, inner: Document) -> int:
    """How many inputs have a wrong label: as the output's `accept` says, where one label is claimed, else for the
    reading of labels that makes fewest wrong."""
    counts: Counter[tuple[str, bool]] = Counter()
    for x in inputs:
        counts[found.labels(x)[where], member(language, [found.alphabet[a] for a in x])] += 1
    names = {label for label, _ in counts}
    claimed = {str(naive.label(found.model, value)) for value in inner["claim"]["values"]}
    if "accept" in found.model["output"] and len(claimed) == 1:
        return sum(counts[label, label == "reject"] for label in names)
    return sum(min(counts[label, True], counts[label, False]) for label in names)


def member(language: Document, word: list[str]) -> bool:
    """Whether a word is in a language of docs/format.md, by its definition."""
    numbers: list[int] = [language["alphabet"].index(a) for a in word]
    if "transitions" in language:
        state = language["start"]
        for a in numbers:
            state = language["transitions"][state][a]
        return bool(state in language["accept"])
    name, n, ones = language["name"], len(numbers), sum(a == 1 for a in numbers)
    if name == "parity":
        return ones % 2 == 1
    if name == "majority":
        return 2 * ones > n
    if name == "anbn":
        return numbers == [0] * (n - ones) + [1] * ones and 2 * ones == n
    if name == "palindromes":
        return numbers == numbers[::-1]
    if name == "dyck":
        return nested(numbers, int(language.get("depth", n)))
    kinds = range(len(language["alphabet"]) // 2)
    return all(nested([a for a in numbers if a // 2 == kind], n) for kind in kinds)


def nested(numbers: list[int], depth: int) -> bool:
    """Whether a word of brackets is well-nested and at most so deep."""
    opened: list[int] = []
    for a in numbers:
        if a % 2 == 0:
            opened.append(a)
        elif not opened or opened.pop() != a - 1:
            return False
        if len(opened) > depth:
            return False
    return not opened


# ---------------------------------------------------------------- lower bounds


def true_bound(found: Meaning, document: Document) -> bool | None:
    """Each number is at most what it takes to force the label; a label that no input has cannot be forced."""
    n, target = document["n"], document["target"]
    best = least_forcing(found, n, n - 1 if target == "last" else target)
    if best is None:
        return None
    labels, others = document["claim"]["labels"], document["claim"].get("others", 0)
    return all(labels.get(label, others) <= least for label, least in best.items())


def least_forcing(found: Meaning, n: int, where: int) -> dict[str, int] | None:
    """For each label that occurs, the fewest fixed positions that force it there; None where that is too much."""
    size, t = len(found.alphabet), len(naive.letters(found.model, n))
    if t > 12 or (size + 1) ** t > RESTRICTIONS:
        return None
    if (n, where) not in found.costs:
        words = list(product(range(size), repeat=t))
        found.costs[n, where] = least_costs({x: found.labels(x)[where] for x in words}, size, t)
    return found.costs[n, where]


def least_costs(table: dict[Word, str], size: int, t: int) -> dict[str, int]:
    """The same from a table of all words: every restriction by the labels that it leaves."""
    left = {x: {label} for x, label in table.items()}
    for axis in range(t):
        for cell in [cell for cell in left if cell[axis] == 0]:
            parts = [left[(*cell[:axis], a, *cell[axis + 1 :])] for a in range(size)]
            left[(*cell[:axis], -1, *cell[axis + 1 :])] = set().union(*parts)
    found: dict[str, int] = {}
    for cell, labels in left.items():
        if len(labels) == 1:
            (label,) = labels
            found[label] = min(found.get(label, t), sum(a >= 0 for a in cell))
    return found
