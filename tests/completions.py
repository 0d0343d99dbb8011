"""An oracle for forced decisions, from docs/soft-verdicts.md alone: all completions of a restriction by one forward
pass over tables of numpy, or many of them and those that a descent finds where they are too many."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.counts import Array, Counted, margins, tolerance


class Placed(Counted):
    """The model of a certificate, with positions or without, on words of one length."""

    def words(self, words: Array) -> Array:
        """The logits behind words, one a row, with the reader at their end if there is one."""
        said, count = self.said, words.shape[1]
        rows = np.array(said["rows"])[words]
        places = np.arange(count) + said["offset"]
        if said.get("start") is not None:
            rows = np.hstack([np.full((len(words), 1), said["start"]), rows])
            places = np.arange(count + 1) + said["offset"]
        elif said.get("reads") == "first":
            places = np.append(places[1:], said["offset"])  # the reader's own place is the first
        x = self.t["wte.weight"][rows]
        if said["positions"] == "learned":
            x = x + self.t["wpe.weight"][places]
        read = x if self.norm in ("post", "none") else self.normed(x, "h.0.ln_1")
        q, k, v = np.split(self.linear(read, "h.0.attn.c_attn"), 3, axis=2)
        y = x[:, -1] + self.t["h.0.attn.c_proj.bias"]
        for part in np.split(np.arange(self.d), said["heads"]):
            e = (k[:, :, part] @ q[:, -1, part][:, :, None])[:, :, 0] / math.sqrt(len(part))
            e = np.exp(e - e.max(1, keepdims=True))
            out = (e[:, :, None] * v[:, :, part]).sum(1) / e.sum(1, keepdims=True)
            y = y + out @ self.t["h.0.attn.c_proj.weight"][part]
        return self.behind(y)


def states(language: dict[str, Any], words: Array) -> Array:
    """The state behind each word, or -1."""
    delta = np.vstack([np.array(language["delta"]), np.full((1, len(language["delta"][0])), -1)])
    found = np.zeros(len(words), int)
    for column in words.T:
        found = delta[found, column]
    return found


def inside(document: dict[str, Any], words: Array) -> Array:
    """Those of some words of ``n`` symbols that the certificate is about."""
    language, reader = document["language"], len(document["model"]["rows"]) - 1
    kept = np.isin(states(language, words), language["accept"])
    for j, s in document["fixed"]:
        kept &= words[:, j - 1] == s
    if "reads" in document["model"]:
        kept &= words[:, -1] == reader
    found: Array = words[kept]
    return found


def every(document: dict[str, Any], most: int = 20_000) -> Array | None:
    """All completions, where no more than ``most`` words have the fixed symbols."""
    n, rows, fixed = document["n"], len(document["model"]["rows"]), dict(map(tuple, document["fixed"]))
    free = [[fixed[j]] if j in fixed else range(rows) for j in range(1, n + 1)]
    if "reads" in document["model"] and n:
        free[-1] = [rows - 1]
    if math.prod(map(len, free)) > most:
        return None
    words = list(itertools.product(*free))
    return inside(document, np.array(words, int).reshape(len(words), n))


def some(rng: np.random.Generator, document: dict[str, Any], count: int) -> Array:
    """Random completions, each symbol as likely as a word's own draw says, by a walk backwards from acceptance."""
    n, rows, fixed = document["n"], len(document["model"]["rows"]), dict(map(tuple, document["fixed"]))
    delta, ahead = document["language"]["delta"], [set(document["language"]["accept"])]
    symbols = [[fixed[j]] if j in fixed else range(rows) for j in range(1, n + 1)]
    for choice in reversed(symbols):
        ahead.append({q for q, row in enumerate(delta) if any(row[s] in ahead[-1] for s in choice if row[s] >= 0)})
    found = []
    for _ in range(count if 0 in ahead[-1] else 0):
        q, word, likely = 0, list[int](), rng.dirichlet(np.full(rows, 0.5)) + 1e-9
        for j, choice in enumerate(symbols):
            after = [s for s in choice if delta[q][s] in ahead[n - 1 - j]]
            part = likely[after] / likely[after].sum()
            word.append(int(rng.choice(after, p=part)))
            q = delta[q][word[-1]]
        found.append(word)
    return inside(document, np.array(found, int).reshape(len(found), n))


def descended(model: Placed, document: dict[str, Any], words: Array, rounds: int = 6) -> Array:
    """The words, and what changing one symbol after the other makes of the worst of them."""
    for _ in range(rounds if len(words) else 0):
        gaps = margins(model.words(words), document["language"], states(document["language"], words))
        worst = words[gaps.argmin()]
        near = np.repeat(worst[None], words.shape[1] * len(document["model"]["rows"]), 0)
        at, s = np.divmod(np.arange(len(near)), len(document["model"]["rows"]))
        near[np.arange(len(near)), at] = s
        words = np.vstack([words, inside(document, near)])
    return words


def faults(content: bytes, document: dict[str, Any], rng: np.random.Generator, count: int = 100) -> Iterator[str]:
    """What of the claim of a certificate with ``fixed`` is false, as far as completions show."""
    model, language, words = Placed(content, document["model"]), document["language"], every(document)
    if words is None:
        words = descended(model, document, some(rng, document, count))
    elif not len(words) or (not document["n"] and document["model"].get("start") is None):
        yield "there is no completion, or no answer"
        return
    if not len(words):
        return
    behind = states(language, words)
    answers = {tuple(sorted(language["want"][q])) for q in behind.tolist()}
    if len(answers) > 1 or ("read_out" in language and any(len(answer) != 1 for answer in answers)):
        yield f"no one answer: {answers}"
    said = model.words(words)
    gaps = margins(said, language, behind) + tolerance(said)
    if (gaps < 0).any():
        yield f"wrong by {-gaps.min():.3g} behind {words[gaps.argmin()].tolist()}"


def line_of(document: dict[str, Any]) -> str:
    """The success line of a certificate with ``fixed``, as the page says."""
    said, fixed, cases = document["model"], len(document["fixed"]), len(document["cases"])
    told = " greatest" * ("read_out" in document["language"])
    told += f" read={said['reads']}" if "reads" in said else " start=none" * (said.get("start") is None)
    n = document["n"] - ("reads" in said)
    return f"s VERIFIED forced n={n}{told} fixed={fixed} cases={cases} {said['sha256']}"
