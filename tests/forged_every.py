"""Forgeries about every length: all of a certificate that is false, but for the rule that it breaks, is in order."""

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.verdict_every import Everywhere, Ways
from restrict.checker.verdict_model import Atoms, Model
from restrict.checker.verdict_numbers import Vector
from restrict.checker.verdict_paths import Language

Document = dict[str, Any]


class Blind(Everywhere):
    """The checker that takes every bound, and writes down longest paths of a few steps as its potentials."""

    rounds, written = 0, list[list[list[int]]]()

    def case(self, key: tuple[int, int, int], hints: list[Any], place: Place) -> None:
        """One case, whatever potentials there are."""
        self.phi = [[]] * (self.count + 1)
        self.written.append([])
        super().case(key, hints, place)

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


def blindly(content: bytes, document: Document, rounds: int) -> Document | None:
    """The certificate with potentials that need not hold; ``None`` where more than bounds is refused."""
    task = Task(document, Place("c"), content, Place("m"), Path(), Meter(10**8))
    model = Model(task, document["model"], task.top)
    language = Language(document["language"], document.get("memory"), task.top, len(model.rows), model.labels)
    check = Blind(task, model, language, Atoms(model, 1, task.meter), document["scale"])
    check.rounds, check.written = rounds, []
    try:
        check.read_basis(document["basis"], task.top)
        check.read_turned(document.get("turned", []), task.top)
        check.read_blocks(document["blocks"], task.top)
        check.every(document["cases"], list(check.blocked()), task.top)
    except Reject:
        return None
    return document | {"phi": check.written}


def narrowed(rng: np.random.Generator, content: bytes, document: Document) -> Iterator[Document]:
    """Certificates with smaller boxes, which may show what is false."""
    for share in (0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0):
        for rounds in (0, 1, 8):
            made = blindly(content, shrunk(rng, document, share), rounds)
            if made is not None:
                yield made


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
    for drop in range(len(document["cases"])):
        yield other(cases=[c for k, c in enumerate(document["cases"]) if k != drop],
                    phi=[c for k, c in enumerate(document["phi"]) if k != drop])  # fmt: skip
