"""Forgeries about trained models: all of a certificate that is false, but for the rule that it breaks, is in order."""

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.verdict import Check
from restrict.checker.verdict_every import Everywhere, Ways
from restrict.checker.verdict_model import Atoms, Model
from restrict.checker.verdict_numbers import Vector
from restrict.checker.verdict_paths import NEVER, Language, restriction

Document = dict[str, Any]


class Blind(Everywhere):
    """The checker that takes every bound, and writes down longest paths of a few steps as its potentials."""

    rounds, written = 0, list[list[list[int]]]()

    def case(self, key: tuple[int, int, int], hints: list[Any], place: Place) -> None:
        """One case, whatever potentials there are."""
        self.phi = [[]] * (self.count + 1)
        self.written.append([])
        super().case(key, hints, place)

    def read_blocks(self, value: list[Any], place: Place) -> None:
        """Blocks of any lengths."""
        self.blocks += [(first, last) for first, last in value]

    def longest(self, weights: Sequence[Vector], a: int, q: int) -> int:
        """Never positive."""
        super().longest(weights, a, q)
        return 0

    def potentials(self, ways: Ways, start: int, steps: Vector) -> Sequence[int]:
        """The longest paths of so many steps, none beyond what the certificate may say."""
        phi = dict.fromkeys(ways.states, -(1 << 61)) | {0: start}
        for _ in range(self.rounds):
            for p, s, t in ways.edges:
                phi[t] = max(phi[t], min(phi[p] + steps[s], 1 << 61))
        found = [phi[p] for p in ways.states]
        self.written[-1].append(found)
        return found


def shrunk(rng: np.random.Generator, document: Document, share: float) -> Document:
    """The certificate with each bound's interval smaller, somewhere inside."""
    made = copy.deepcopy(document)
    for case in made["cases"]:
        if len(case) > 4:
            for m, width in enumerate(case[4]):
                cut = int(share * width)
                case[3][m] -= int(cut * rng.choice([0.0, 0.5, 1.0]))
                case[4][m] = width - cut
    return made


def blindly(content: bytes, document: Document, rounds: int = 8) -> Document | None:
    """The certificate with potentials that need not hold, and the cases of its blocks with the hints that are there for
    their symbols and states; ``None`` where more than bounds is refused."""
    task = Task(document, Place("c"), content, Place("m"), Path(), Meter(10**8))
    try:
        model = Model(task, document["model"], task.top)
        language = Language(document["language"], document.get("memory"), task.top, len(model.rows), model.labels)
        check = Blind(task, model, language, Atoms(model, 1, task.meter), document["scale"])
        check.rounds, check.written = rounds, []
        check.empty = document.get("wrong", {}).get("word") != []
        check.read_basis(document["basis"], task.top)
        check.read_turned(document.get("turned", []), task.top)
        check.read_blocks(document["blocks"], task.top)
        hints = {(a, q): hints for _, a, q, *hints in document["cases"] if hints}
        keys = list(check.blocked())
        cases = [[*key, *hints.get(key[1:], next(iter(hints.values())))] for key in keys if hints]
        check.every(cases, keys, task.top)
    except Reject:
        return None
    return document | {"cases": cases, "phi": check.written}


def elsewhere(document: Document) -> Iterator[Document]:
    """The claim with other blocks of lengths, of which some leave lengths out."""
    last = document["blocks"][-1][1] if document["blocks"] else 0
    for blocks in (
        [[1, -1]], [[2, -1]], [[3, -1]], [[1, 1], [3, -1]], [[1, 2], [2, -1]], [[1, last + 1]], [[1, last + 3]],
        [[1, 1], [2, last + 2]], [[-1, -1]], [[2, 1]], [[1, 0]],
    ):  # fmt: skip
        made = {key: part for key, part in document.items() if key != "wrong"}
        yield made | {"blocks": blocks}


def without(document: Document) -> Iterator[Document]:
    """The certificate without some of its cases: one, or all with a symbol, or all in a state, or all in a block."""
    numbers = range(len(document["cases"]))
    parts = [[k] for k in numbers]
    for at in range(3):
        values = {case[at] for case in document["cases"]}
        parts += [[k for k in numbers if document["cases"][k][at] == value] for value in values]
    for part in parts:
        left = [k for k in numbers if k not in part]
        yield document | {name: [document[name][k] for k in left] for name in ("cases", "phi")}


def narrowed(rng: np.random.Generator, content: bytes, document: Document) -> Iterator[Document]:
    """Certificates with smaller boxes, which may show what is false."""
    yield from without(document)
    for share in (0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0):
        for rounds in (0, 1, 8):
            made = blindly(content, shrunk(rng, document, share), rounds)
            if made is not None:
                yield made
    for made in elsewhere(document):
        if (some := blindly(content, made)) is not None:
            yield some


def claims(rng: np.random.Generator, document: Document) -> Iterator[Document]:
    """Other claims with the same hints: one thing that a claim is made of is changed."""
    language, blocks = document["language"], document["blocks"]
    labels, states = language["labels"], range(len(language["delta"]))

    def other(**parts: Any) -> Document:
        return copy.deepcopy(document | parts)

    for q in states:
        for k in labels:
            want = [sorted(set(row) ^ {k}) if p == q else row for p, row in enumerate(language["want"])]
            yield other(language=language | {"want": want})
        yield other(language=language | {"accept": sorted({*language["accept"], q})})
        for s in range(len(language["delta"][0])):
            delta = copy.deepcopy(language["delta"])
            delta[q][s] = int(rng.integers(-1, len(states)))
            yield other(language=language | {"delta": delta})
    for more in (1, 2, 5, 100):
        if blocks and blocks[-1][1] > 0:
            last = [blocks[-1][0], blocks[-1][1] + more]
            yield other(blocks=[*blocks[:-1], last])
            yield {k: v for k, v in other(blocks=[*blocks[:-1], last]).items() if k != "wrong"}
    yield {k: v for k, v in other().items() if k != "wrong"}
    if "wrong" in document:
        word = document["wrong"]["word"]
        some = rng.integers(len(language["delta"][0]), size=len(word)).tolist()
        for made in (word[:-1], word[1:], word + word[-1:], some):
            for k in labels:
                yield other(wrong={"word": made, "label": k})
                yield other(wrong={"word": made, "label": k}, blocks=[[1, len(made) - 1]] if len(made) > 1 else [])
    else:
        for word in ([], [0], [0, 0]):
            yield other(wrong={"word": word, "label": labels[0]})


# ---------------------------------------------------------------- forced decisions


class Trusting(Check):
    """The checker of a verdict that takes every bound."""

    def longest(self, weights: Sequence[Vector], a: int, q: int) -> int:
        """Never positive."""
        return NEVER


def trustingly(content: bytes, document: Document) -> Document | None:
    """The certificate with ``fixed`` and with its cases, whose bounds need not hold, and the hints that are there for
    their symbols and states; ``None`` where more than bounds is refused."""
    task, last = Task(document, Place("c"), content, Place("m"), Path(), Meter(10**8)), document["n"]
    try:
        model = Model(task, document["model"], task.top)
        language = Language(document["language"], document.get("memory"), task.top, len(model.rows), model.labels)
        check = Trusting(task, model, language, Atoms(model, last, task.meter))
        language.fixed = restriction(document["fixed"], last - model.pinned, model.reader, task.top)
        check.read_basis(document["basis"], task.top)
        check.read_turned(document.get("turned", []), task.top)
        hints = {(a, q): hints for _, a, q, *hints in document["cases"] if hints}
        keys = list(check.keys(last, last, last))
        cases = [[*key, *hints.get(key[1:], next(iter(hints.values())))] for key in keys]
        check.every(cases, keys, task.top)
    except Reject:
        return None
    return document | {"cases": cases}


def fewer(rng: np.random.Generator, content: bytes, document: Document) -> Iterator[Document]:
    """Certificates with smaller boxes, or without some cases."""
    for made in without(document | {"phi": document["cases"]}):
        yield {key: part for key, part in made.items() if key != "phi"}
    for share in (0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0):
        if (narrow := trustingly(content, shrunk(rng, document, share))) is not None:
            yield narrow


def restrictions(rng: np.random.Generator, document: Document) -> Iterator[Document]:
    """Other claims with the same hints: the symbols that are fixed, the length, the words, what is wanted."""
    fixed, n, rows = document["fixed"], document["n"], len(document["model"]["rows"])
    for k, (j, s) in enumerate(fixed):
        yield document | {"fixed": [*fixed[:k], *fixed[k + 1 :]]}
        yield document | {"fixed": [*fixed[:k], [j, (s + 1) % rows], *fixed[k + 1 :]]}
        yield document | {"fixed": [*fixed[:k], [j + 1, s], *fixed[k + 1 :]]}
        yield document | {"fixed": [*fixed[: k + 1], *fixed[k:]]}
    yield document | {"fixed": [*fixed, [n + 1, 0]]}
    yield document | {"fixed": [[0, 0], *fixed]}
    for more in (-1, 1):
        cases = [[case[0] + more, *case[1:]] for case in document["cases"]]
        yield document | {"n": n + more, "upto": n + more, "cases": cases}
        yield document | {"upto": n + more, "cases": cases}
        yield document | {"n": n + more, "cases": cases}
    blocks = {"blocks": [], "phi": document["cases"]}
    for made in claims(rng, document | blocks):
        if "wrong" not in made:
            yield {key: part for key, part in made.items() if key not in blocks}
