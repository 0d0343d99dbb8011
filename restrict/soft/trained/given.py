"""A certificate that somebody gives, against the claim that a person has in mind. The trusted checker verifies what a
certificate says of the weights under the architecture, the words and the labels that it lists itself; whether these are
the configuration beside the weights and the language that is asked for, it cannot know. Here the claim is made anew
from model and language, and every word of it must be one of the certificate's, with the same labels wanted behind it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from restrict.base.errors import ModelError, NotEstablished, UsageError, quote
from restrict.elaboration.trusted import trusted_check
from restrict.soft.trained import claim, decide, every_length
from restrict.soft.trained.cycles import ALL
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained, forward
from restrict.soft.trained.reader import as_read
from restrict.soft.trained.wrong import Wrong

Word = tuple[int, ...]
Live = Callable[[int], set[int]]
"""The states behind the prefixes of each length."""


@dataclass(frozen=True)
class Proved:
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
    shortest: bool
    line: str


def proved(
    content: bytes, model: Trained, graph: Graph, n: int | None, *, language: str = "", name: str = "certificate"
) -> Proved:
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
    mine, theirs = claim.model_document(model), found["model"]
    for key in sorted(({*mine} | {*theirs}) - {"name"}):
        if (said := theirs.get(key)) != (value := mine.get(key)):  # "none" is a value
            raise ModelError(f"{name}: about a model with {key} {quote(said)}, where {model.name} has {quote(value)}")
    read, closed, more = as_read(model, graph, 0)
    most = math.inf if n is None else n + more
    both = _Both(read, closed, most, _graph_of(found["language"]), math.inf if every else found["n"], name)
    wrong, upto = found.get("wrong", {}), found["upto"] if not every else _last(found)
    both.agree(min(upto, most))
    word: Word | None = tuple(wrong["word"]) if wrong and upto < most and len(wrong["word"]) <= most else None
    if word is not None:
        both.behind(word)
    return Proved(
        model=model, graph=graph, language=language, n=n,
        status="right" if upto >= most else "open" if word is None else "wrong",
        upto=None if upto == math.inf else max(int(min(upto, most)) - more, -1),
        wrong=None if word is None else _run(model, word[: len(word) - more], wrong["label"]),
        shortest=word is not None and upto == len(word) - 1, line=line,
    )  # fmt: skip


def _last(found: dict[str, Any]) -> float:
    """The length up to which a certificate of every length shows each prefix to be right."""
    if not found["blocks"]:
        return -1 if "wrong" in found and not found["wrong"]["word"] else 0
    last = found["blocks"][-1][1]
    return math.inf if last == ALL else float(last)


def _run(model: Trained, word: Word, label: int) -> Wrong:
    """A wrong word with the logit of a forward pass."""
    logits = forward(model, model.rows([model.symbols[s] for s in word]))[-1]
    return Wrong(word, label, float(logits[label]))


def _graph_of(language: dict[str, Any]) -> Graph:
    """The graph of a certificate, without its memory."""
    return Graph(
        tuple(map(tuple, language["delta"])), frozenset(language["accept"]), tuple(language["labels"]),
        tuple(map(frozenset, language["want"])), greatest="read_out" in language,
    )  # fmt: skip


class _Both:
    """The graph of a claim (``mine``) and that of a certificate, with the greatest lengths of their words."""

    def __init__(
        self, model: Trained, mine: Graph, longest: float, theirs: Graph, their_longest: float, name: str
    ) -> None:
        self.model, self.mine, self.theirs, self.name = model, mine, theirs, name
        self.live, self.their_live = _live(mine, longest), _live(theirs, their_longest)
        if set(mine.labels) != set(theirs.labels) or mine.greatest != theirs.greatest:
            raise ModelError(f"{name}: about another read-out than the one that is asked for")

    def agree(self, last: float) -> None:
        """Every prefix of the claim with at most so many symbols is one of the certificate's, with the same wanted
        behind it."""
        layer: dict[tuple[int, int], Word] = {(0, 0): ()}
        seen, length = set[tuple[int, int]](), 0
        while layer and length <= last:
            for pair, word in layer.items():
                self.compared(*pair, word)
            seen |= layer.keys()
            length, before, layer = length + 1, layer, {}
            live = self.live(length) if length <= last else set()
            for (p, q), word in before.items():
                for s, to in enumerate(self.mine.delta[p]):
                    pair = to, self.theirs.delta[q][s] if q >= 0 else -1
                    if to in live and not (last == math.inf and pair in seen):
                        layer.setdefault(pair, (*word, s))

    def behind(self, word: Word) -> None:
        """A word of the certificate is one of the claim, with the same wanted behind it."""
        p = q = 0
        for length, s in enumerate(word, 1):
            p, q = self.mine.delta[p][s], self.theirs.delta[q][s]
            if p not in self.live(length):
                raise ModelError(f"{self.name}: its wrong word is not among the words that are asked about")
        self.compared(p, q, word)

    def compared(self, p: int, q: int, word: Word) -> None:
        """Whether a prefix and what is wanted behind it are those of the certificate; ``ModelError`` if not."""
        if q not in self.their_live(len(word)):
            raise ModelError(f"{self.name}: it says nothing of words that begin with {self.shown(word)}")
        asked = word[-1] in self.mine.ends if word else self.mine.empty and not self.mine.closing
        if asked and self.mine.want[p] != self.theirs.want[q]:
            mine, theirs = (self.named(want) for want in (self.mine.want[p], self.theirs.want[q]))
            raise ModelError(f"{self.name}: behind {self.shown(word)} it wants {theirs}, and what is asked is {mine}")

    def shown(self, word: Word) -> str:
        """A word in a message."""
        return quote(" ".join(self.model.symbols[s] for s in word)) if word else "the empty word"

    def named(self, want: frozenset[int]) -> str:
        """Labels in a message."""
        return " ".join(self.model.labels[k] for k in sorted(want)) or "nothing"


def _live(graph: Graph, longest: float) -> Live:
    """The states behind prefixes of words of at most ``longest`` symbols, for each length of the prefix."""
    if longest < math.inf:
        return graph.prefixes(int(longest)).__getitem__
    return lambda _: graph.living
