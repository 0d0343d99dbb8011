"""A certificate that somebody gives, against the claim that a person has in mind. The trusted checker verifies what a
certificate says of the weights under the architecture, the words and the labels that it lists itself; whether these are
the configuration beside the weights and the language that is asked for, it cannot know. Here the claim is made anew
from model and language, and every word of it must be one of the certificate's, with the same labels wanted behind it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from restrict.base.errors import ModelError, NotEstablished, ResourceLimit, UsageError, quote
from restrict.base.options import Fact
from restrict.elaboration.trusted import trusted_check
from restrict.soft.trained import claim, decide, every_length
from restrict.soft.trained.answer import Answer
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.reader import as_read
from restrict.soft.trained.wrong import Wrong, logits

Word = tuple[int, ...]
Trail = tuple["Trail", int] | None
"""A word: what is before its last symbol, and that; ``None``: the empty one."""
PAIRS: Fact[int] = 2_000_000
"""Pairs of states of two graphs, a pair once for each length, that are compared."""


@dataclass(frozen=True)
class ProvedClaim(Answer):
    """What a certificate proves of a claim about words of at most ``n`` symbols (``None``: of any length). ``status``:
    ``right``, ``wrong`` or ``open``; every prefix of at most ``upto`` symbols is right (``None``: every prefix).
    ``line``: the checker's."""

    model: Trained = field(repr=False)
    graph: Graph = field(repr=False)
    language: str
    n: int | None
    status: str
    upto: int | None
    wrong: Wrong | None
    line: str

    def summary(self) -> dict[str, Any]:
        """The answer for machines."""
        return {
            "model": self.model.name, "sha256": self.model.sha256, "language": self.language, "n": self.n,
            "status": self.status, "upto": self.upto, "wrong": self.wrong_summary(), "checked": self.line,
        }  # fmt: skip

    def text(self) -> str:
        """The answer in words."""
        told = f"{self.model.name} on {self.language}, {self.lengths()}: {self.status}, by the given certificate"
        return "\n".join([told, *self.right_lines(), *self.wrong_lines(), self.line])


def proved(
    content: bytes, model: Trained, graph: Graph, n: int | None, *, language: str = "", name: str = "certificate"
) -> ProvedClaim:
    """What the trusted checker takes of a certificate, as an answer about ``graph`` up to ``n`` symbols, or of every
    length. ``name``: of the certificate in messages. ``ModelError``: it does not hold, or is about another
    architecture, or lacks a word or what is wanted behind it; ``UsageError``: it is of another kind. Cost: that of the
    check, and ``n`` times the pairs of states that one word reaches."""
    decide.demand_claim(model, graph, n)
    try:
        line = trusted_check(model.content, content, None, name, None)
    except NotEstablished as error:
        raise ModelError(f"{error}; it proves nothing") from None
    found: dict[str, Any] = json.loads(content)
    every = found["format"] == every_length.FORMAT
    if (not every and (n is None or found["format"] not in (decide.FORMAT, decide.LAYERED))) or "fixed" in found:
        what = "every length" if n is None else "all words up to a length"
        raise UsageError(f"{name}: a verdict on {what} is asked for, and this is none")
    demand_same(model, found["model"], name)
    read, closed, more = as_read(model, graph, 0)
    most = math.inf if n is None else n + more
    theirs = claim.graph_of_document(found | {"memory": None})
    both = _Both(read, closed, most, theirs, math.inf if every else found["n"], name)
    wrong, upto = found.get("wrong", {}), every_length.last_of(found) if every else found["upto"]
    both.agree(min(upto, most))
    word: Word | None = tuple(wrong["word"]) if wrong and upto < most and len(wrong["word"]) <= most else None
    if word is not None:
        both.behind(word)
    return ProvedClaim(
        model=model, graph=graph, language=language, n=n,
        status="right" if upto >= most else "open" if word is None else "wrong",
        upto=None if upto == math.inf else max(int(min(upto, most)) - more, -1),
        wrong=None if word is None else _run(model, word[: len(word) - more], wrong["label"]),
        line=line,
    )  # fmt: skip


def demand_same(model: Trained, said: dict[str, Any], name: str) -> None:
    """``ModelError`` where a certificate is about another architecture, or calls something by another name. ``said``:
    what it says of the model."""
    mine = claim.model_document(model)
    for key in sorted(({*mine} | {*said}) - {"name"}):
        if (theirs := said.get(key)) != (value := mine.get(key)):  # "none" is a value
            raise ModelError(f"{name}: about a model with {key} {quote(theirs)}, where {model.name} has {quote(value)}")


def _run(model: Trained, word: Word, label: int) -> Wrong:
    """A wrong word with the logit of a forward pass."""
    return Wrong(word, label, float(logits(model, np.array([word], dtype=np.int64), last=True)[0, -1, label]))


class _Both:
    """The graph of a claim (``mine``) and that of a certificate, with the greatest lengths of their words."""

    def __init__(
        self, model: Trained, mine: Graph, longest: float, theirs: Graph, their_longest: float, name: str
    ) -> None:
        self.model, self.mine, self.theirs, self.name = model, mine, theirs, name
        self.longest, self.their_longest = longest, their_longest
        if set(mine.labels) != set(theirs.labels) or mine.greatest != theirs.greatest:
            raise ModelError(f"{name}: about another read-out than the one that is asked for")

    def agree(self, last: float) -> None:
        """Every prefix of the claim with at most so many symbols is one of the certificate's, with the same wanted
        behind it. Cost: the pairs of states that one word reaches, once for each length if ``last`` is finite."""
        layer: dict[tuple[int, int], Trail] = {(0, 0): None}
        seen, length, count = set[tuple[int, int]](), 0, 0
        while layer and length <= last:
            count += len(layer)
            if count > PAIRS:
                raise ResourceLimit(f"{self.name}: its words and those that are asked about are too many to compare")
            for pair, trail in layer.items():
                self.compared(*pair, trail, length)
            seen.update(layer if length else ())  # of the empty word less may be asked than of others there
            length, before, layer = length + 1, layer, {}
            for (p, q), trail in before.items() if length <= last else ():
                for s, to in enumerate(self.mine.delta[p]):
                    pair = to, self.theirs.delta[q][s]
                    if self.asked(to, length) and not (last == math.inf and pair in seen):
                        layer.setdefault(pair, (trail, s))

    def behind(self, word: Word) -> None:
        """A word of the certificate is one of the claim, with the same wanted behind it."""
        p = q = 0
        trail: Trail = None
        for length, s in enumerate(word, 1):
            p, q, trail = self.mine.delta[p][s], self.theirs.delta[q][s], (trail, s)
            if not self.asked(p, length):
                raise ModelError(f"{self.name}: its wrong word is not among the words that are asked about")
        self.compared(p, q, trail, len(word))

    def asked(self, p: int, length: int) -> bool:
        """Whether a word of so many symbols that leads to a state of the claim is a prefix of one of its words."""
        return p >= 0 and _goes_on(self.mine.distances[p], length, self.longest)

    def compared(self, p: int, q: int, trail: Trail, length: int) -> None:
        """Whether a prefix of so many symbols and what is wanted behind it are those of the certificate;
        ``ModelError`` if not."""
        if q < 0 or not _goes_on(self.theirs.distances[q], length, self.their_longest):
            raise ModelError(f"{self.name}: it says nothing of words that begin with {self.shown(trail)}")
        asked = trail[1] in self.mine.ends if trail else self.mine.empty and not self.mine.closing
        if asked and self.mine.want[p] != self.theirs.want[q]:
            mine, theirs = (self.named(want) for want in (self.mine.want[p], self.theirs.want[q]))
            raise ModelError(f"{self.name}: behind {self.shown(trail)} it wants {theirs}, and what is asked is {mine}")

    def shown(self, trail: Trail) -> str:
        """A word as messages show it."""
        word = list[str]()
        while trail:
            trail, s = trail
            word.append(self.model.symbols[s])
        return quote(" ".join(reversed(word))) if word else "the empty word"

    def named(self, want: frozenset[int]) -> str:
        """Labels as messages name them."""
        return " ".join(self.model.labels[k] for k in sorted(want)) or "nothing"


def _goes_on(far: float, length: int, longest: float) -> bool:
    """Whether a word of ``length`` symbols goes on to one of at most ``longest``, from a state so ``far`` from an
    accepting one."""
    return far < math.inf and far <= longest - length
