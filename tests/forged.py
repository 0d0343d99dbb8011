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


BREAKS = ("edges", "start", "end")
"""What of a bound's potentials may break: a few transitions, that of the start, or what is asked of the ends."""
SHARES = (1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0)
"""By what part of their width bounds are narrower."""
LEAVES = ("", "first", "last")
"""Cases that are left out: none, those without words of a block's first length, or of its last."""


class Loose(Language):
    """The words of a claim with any memory."""

    def refine(self, fields: Document, place: Place, symbols: int) -> None:
        """Whether its runs are those of the language is not asked."""
        self.delta, self.of = fields["delta"], fields["of"]


class Blind(Everywhere):
    """The checker that takes every bound, and writes down potentials: longest paths, or where these do not show the
    bound, some that break one rule; and that leaves out some cases."""

    breaks, leaves = "", ""
    written: list[list[list[int]]]
    rng: np.random.Generator
    symbol = 0

    def case(self, key: tuple[int, int, int], hints: list[Any], place: Place) -> None:
        """One case, whatever potentials there are."""
        self.phi = [[]] * (self.count + 1)
        self.written.append([])
        super().case(key, hints, place)

    def read_blocks(self, value: list[Any], place: Place) -> None:
        """Blocks of any lengths."""
        self.blocks += [(first, last) for first, last in value]

    def standing(self, first: int, last: int) -> set[int]:
        """The states in front of the last symbol, of some lengths of the block."""
        if last < 0 or not self.leaves:
            return super().standing(first, last)
        return super().standing(first, first) if self.leaves == "last" else super().standing(last, last)

    def longest(self, weights: Sequence[Vector], a: int, q: int) -> int:
        """Never positive."""
        self.symbol = a
        super().longest(weights, a, q)
        return 0

    def potentials(self, ways: Ways, start: int, steps: Vector) -> Sequence[int]:
        """Those of all transitions, or of as many as possible with which they show the bound."""

        def paths(edges: list[tuple[int, int, int]], least: int = 0) -> tuple[dict[int, int], int]:
            phi = dict.fromkeys(ways.states, -(1 << 61)) | {0: start - least}
            for _ in ways.states:
                phi |= {t: max(phi[t], min(phi[p] + steps[s], 1 << 61)) for p, s, t in edges}
            over = any(phi[t] < phi[p] + steps[s] for p, s, t in edges if phi[p] > -(1 << 60))
            return phi, 1 << 61 if over else max(phi[p] + steps[self.symbol] for p in ways.ends)

        phi, most = paths(ways.edges)
        if most > 0 and self.breaks == "start":
            phi, most = paths(ways.edges, most)
        elif most > 0 and self.breaks == "edges":
            kept = list[tuple[int, int, int]]()
            for k in self.rng.permutation(len(ways.edges)):
                if paths([*kept, ways.edges[k]])[1] <= 0:
                    kept.append(ways.edges[k])
            phi, _ = paths(kept)
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


def blindly(rng: np.random.Generator, content: bytes, document: Document, breaks: str, leaves: str) -> Document | None:
    """The certificate with potentials that need not hold, and the cases of its blocks with the hints that are there for
    their symbols and states; ``None`` where more than bounds is refused."""
    task = Task(document, Place("c"), content, Place("m"), Path(), Meter(10**8))
    try:
        model = Model(task, document["model"], task.top)
        language = Loose(document["language"], document.get("memory"), task.top, len(model.rows), model.labels)
        check = Blind(task, model, language, Atoms(model, 1, task.meter), document["scale"])
        check.breaks, check.leaves, check.rng, check.written = breaks, leaves, rng, []
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


def elsewhere(rng: np.random.Generator, document: Document) -> Iterator[Document]:
    """The claim with other blocks of lengths, of which some leave lengths out."""
    last, k = document["blocks"][-1][1] if document["blocks"] else 0, int(rng.integers(1, 5))
    made = {key: part for key, part in document.items() if key != "wrong"}
    for blocks in (
        [[1, -1]], [[2, -1]], [[1, 1], [2, -1]], [[1, k], [k + 2, k + 4]], [[k + 1, k + 3]], [[1, 1], [1, -1]],
        [[1, last + 1]], [[1, last + 4]], [[1, 1], [2, last + 2]], [[1, k]], [[2, 1]], [[1, 0]], [[1, k], [k, k + 1]],
    ):  # fmt: skip
        yield made | {"blocks": blocks}


def bare(document: Document) -> Document:
    """The certificate without any direction: all of attention's output is what bases leave out."""
    basis = [{**head, "rows": []} for head in document["basis"]]
    cases = [[*case[:3], [], []] for case in document["cases"]]
    return {key: part for key, part in document.items() if key != "turned"} | {"basis": basis, "cases": cases}


def forgetting(rng: np.random.Generator, document: Document) -> Document:
    """The claim with a memory that has one transition less, or another one: some words are left out."""
    memory = copy.deepcopy(document.get("memory") or {"delta": document["language"]["delta"]})
    states, symbols = len(memory["delta"]), len(memory["delta"][0])
    memory["delta"][int(rng.integers(states))][int(rng.integers(symbols))] = int(rng.integers(-1, states))
    return document | {"memory": {"of": list(range(states)), **memory}}


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
    for made in (bare(document), *(forgetting(rng, document) for _ in range(4))):
        if (some := blindly(rng, content, made, "edges", "")) is not None:
            yield some
    for share, scale in ((0.0, document["scale"]), (0.0, 0), (float(rng.choice(SHARES)), document["scale"])):
        for breaks in BREAKS:
            small = shrunk(rng, document | {"scale": scale}, share)
            for made in (small, *(elsewhere(rng, small) if breaks == "edges" else ())):
                if (some := blindly(rng, content, made, breaks, str(rng.choice(LEAVES)))) is not None:
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
        language = Loose(document["language"], document.get("memory"), task.top, len(model.rows), model.labels)
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
    for one in (bare(document), *(forgetting(rng, document) for _ in range(4))):
        if (some := trustingly(content, one)) is not None:
            yield some
    for share in (0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0):
        if (narrow := trustingly(content, shrunk(rng, document, share))) is not None:
            yield narrow


def multiplied(rng: np.random.Generator, document: Document) -> Iterator[Document]:
    """Certificates with multipliers of the sides of every cell (Lemma V20), of all sizes, and of its quotients where
    the certificate has them; some with cells halved, or said to have no word (Lemma V21); the engine's own multipliers
    of another size."""
    for size in 10.0 ** rng.uniform(0, 15, size=6):
        made = copy.deepcopy(document)
        for case in made["cases"]:
            if len(case) > 3:
                case[5:6] = [tree_of(rng, case[5] if len(case) > 5 else 0, len(case[3]), size)]
        yield made


def tree_of(rng: np.random.Generator, tree: Any, m: int, size: float) -> Any:
    """A tree with rows of multipliers on its leaves, some of which are halved."""
    if isinstance(tree, list) and len(tree) == 3:
        return [tree[0], tree_of(rng, tree[1], m, size), tree_of(rng, tree[2], m, size)]
    if m and (rng.random() < 0.1 or (isinstance(tree, list) and len(tree) == 1)):
        cut = rng.choice(m, size=min(m, int(rng.integers(1, 4))), replace=False)
        return [[int(v) for k in cut for v in (k, rng.normal() * size)]]
    parts, rows = (tree, []) if isinstance(tree, int) else tree
    if m and rng.random() < 0.3:
        return [int(rng.integers(m)), *(tree_of(rng, [parts, rows], m, size) for _ in range(2))]
    if rows and rng.random() < 0.5:
        by = float(rng.choice([-1.0, 0.5, 0.9, 1.1, 2.0]))
        return [parts, [[row[0], *(round(v * by) for v in row[1:])] for row in rows]]
    some = rng.normal(size=(int(rng.integers(1, 3)), m)) * size * (rng.random(m) < 0.6)
    return [parts, [[3 * k, *np.round(row).astype(int).tolist()] for k, row in enumerate(some)]]


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
