"""An oracle for claims about every length, from docs/soft-verdicts.md alone; shares nothing with the package.

Without position embeddings the answer of one layer behind a word depends on its last symbol and on how often each
symbol occurs. So all words of up to dozens of symbols are tried by their counts, and with them words of any length:
short ones in which cycles of the automaton are repeated up to ``10^9`` times."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from safetensors.numpy import load

from tests.naive_gpt2 import completes

Array = np.ndarray[Any, np.dtype[Any]]
ROOT = math.sqrt(2 / math.pi)
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * np.vectorize(math.erfc, otypes=[float])(-x / math.sqrt(2)),
    "gelu_new": lambda x: x / 2 * (1 + np.tanh(ROOT * (x + 0.044715 * x**3))),
}


class Counted:
    """The model of a certificate: ``said`` is its ``model``."""

    def __init__(self, content: bytes, said: dict[str, Any]) -> None:
        self.t = {k.removeprefix("transformer."): v.astype(np.float64) for k, v in load(content).items()}
        self.said, self.epsilon, self.norm = said, 1 / int(said["epsilon"][2:]), said.get("norm", "")
        rows = said["rows"] if said.get("start") is None else [*said["rows"], said["start"]]
        self.x = self.t["wte.weight"][rows]
        self.d = self.x.shape[1]

    def heads(self) -> Iterator[tuple[Array, Array]]:
        """Of each head the scores of all symbols for each last one, and what it makes of their values."""
        read = self.x if self.norm in ("post", "none") else self.normed(self.x, "h.0.ln_1")
        q, k, v = np.split(self.linear(read, "h.0.attn.c_attn"), 3, axis=1)
        for p in np.split(np.arange(self.d), self.said["heads"]):
            yield q[:, p] @ k[:, p].T / math.sqrt(len(p)), v[:, p] @ self.t["h.0.attn.c_proj.weight"][p]

    def normed(self, x: Array, name: str) -> Array:
        gap = x - x.mean(-1, keepdims=True)
        unit: Array = gap / np.sqrt((gap**2).mean(-1, keepdims=True) + self.epsilon)
        return unit * self.t[f"{name}.weight"] + self.t[f"{name}.bias"]

    def linear(self, x: Array, name: str) -> Array:
        return x @ self.t[f"{name}.weight"] + self.t[f"{name}.bias"]

    def logits(self, counts: Array, last: Array) -> Array:
        """The logits behind words with these counts of the symbols (the last one is counted) and these last symbols."""
        if self.said.get("start") is not None:
            counts, last = np.hstack([counts, np.ones((len(counts), 1))]), np.where(last < 0, counts.shape[1], last)
        y = self.x[last] + self.t["h.0.attn.c_proj.bias"]
        with np.errstate(divide="ignore"):
            many = np.log(counts)
        for s, v in self.heads():
            e = many + s[last]
            e = np.exp(e - e.max(1, keepdims=True))
            y = y + e / e.sum(1, keepdims=True) @ v
        return self.behind(y)

    def behind(self, y: Array) -> Array:
        """The logits from the stream behind attention."""
        post, bare = self.norm == "post", self.norm == "none"
        u = y if bare else self.normed(y, "h.0.ln_1" if post else "h.0.ln_2")
        act = ACTIVATIONS[self.said["activation"]](self.linear(u, "h.0.mlp.c_fc"))
        z = (u if post else y) + self.linear(act, "h.0.mlp.c_proj")
        z = self.normed(z, "h.0.ln_2") if post else z if self.norm else self.normed(z, "ln_f")
        rows = self.t["wte.weight" if self.said["tied"] == "yes" else "lm_head.weight"]
        found: Array = z @ rows.T + self.t.get("lm_head.bias", 0.0)
        return found


@dataclass
class Words:
    """Prefixes by their counts, last symbols (-1: none), states and lengths."""

    counts: Array
    last: Array
    state: Array
    length: Array


def living(delta: Sequence[Sequence[int]], accept: Sequence[int]) -> set[int]:
    """The states from which some word is accepted."""
    return {q for q in range(len(delta)) if completes(delta, accept, q, len(delta))}


def short(language: dict[str, Any], most: int, empty: bool, limit: int = 20_000) -> tuple[Words, int]:
    """All prefixes of up to ``most`` symbols, or as far as there are at most ``limit`` of them; and how far."""
    delta, live, symbols = language["delta"], living(language["delta"], language["accept"]), len(language["delta"][0])
    level, found = {(0, (0,) * symbols)}, [((0,) * symbols, -1, 0, 0)] * (empty and 0 in live)
    for n in range(1, most + 1):
        ends = {
            (tuple(c + (k == s) for k, c in enumerate(counts)), s, t)
            for q, counts in level for s, t in enumerate(delta[q]) if t in live
        }  # fmt: skip
        if len(found) + len(ends) > limit:
            return table(found, symbols), n - 1
        found += [(*end, n) for end in sorted(ends)]
        level = {(t, counts) for counts, _, t in ends}
    return table(found, symbols), most


def table(found: list[tuple[Any, ...]], symbols: int) -> Words:
    """The words of some rows."""
    counts, *ends, length = zip(*found, strict=True) if found else ((), (), (), ())
    last, state = (np.array(end, int) for end in ends)
    return Words(np.array(counts, float).reshape(-1, symbols), last, state, np.array(length, float))


def cycles(delta: Sequence[Sequence[int]], live: set[int]) -> list[tuple[frozenset[int], tuple[int, ...]]]:
    """The simple cycles of the automaton: their states, and the counts of their symbols."""
    found, symbols = set(), len(delta[0])

    def on(start: int, at: int, seen: tuple[int, ...], counts: tuple[int, ...]) -> None:
        for s, t in enumerate(delta[at]):
            more = tuple(c + (k == s) for k, c in enumerate(counts))
            if t == start:
                found.add((frozenset(seen), more))
            elif t in live and t > start and t not in seen:
                on(start, t, (*seen, t), more)

    for q in sorted(live):
        on(q, q, (q,), (0,) * symbols)
    return sorted(found, key=lambda c: (sorted(c[0]), c[1]))


def long(rng: np.random.Generator, language: dict[str, Any], count: int, most: float = 9.0) -> Words:
    """Words in which cycles are repeated up to ``10^most`` times: a short one, whose states each cycle has to meet."""
    delta, live, symbols = language["delta"], living(language["delta"], language["accept"]), len(language["delta"][0])
    loops, found = cycles(delta, live), []
    for _ in range(count if 0 in live else 0):
        q, seen, counts, last, n = 0, set[int](), np.zeros(symbols), -1, 0.0
        stop = int(rng.integers(1, 2 * len(delta) + 2))
        while n < stop and (after := [(s, t) for s, t in enumerate(delta[q]) if t in live]):
            seen.add(q)  # what is repeated stands in front of the last symbol
            last, q = after[int(rng.integers(len(after)))]
            counts[last] += 1
            n += 1
        for k in rng.permutation(len(loops)):
            states, turn = loops[k]
            if states & seen and rng.random() < 0.6:
                times = math.floor(10 ** (rng.random() * most * rng.random()))
                counts += times * np.array(turn)
                n += times * sum(turn)
                seen |= states
        if last >= 0:
            found.append((tuple(counts), last, q, n))
    return table(found, symbols)


def margins(said: Array, language: dict[str, Any], state: Array) -> Array:
    """How far behind each prefix the worst label is on the right side; negative where it is wrong."""
    want = np.array([[k in row for k in range(said.shape[1])] for row in language["want"]], bool)[state]
    labels = language["labels"]
    if "read_out" in language:
        best, others = np.where(want, said, -np.inf), np.where(want, -np.inf, said)[:, labels]
        return np.asarray(best.max(1) - others.max(1))
    return np.asarray(np.where(want, said, -said)[:, labels].min(1))


def ends_well(document: dict[str, Any], words: Words) -> Words:
    """The words that a certificate is about: those with the reader behind them, where there is one."""
    if "reads" not in document["model"]:
        return words
    own = words.last == len(document["model"]["rows"]) - 1
    return Words(words.counts[own], words.last[own], words.state[own], words.length[own])


def faults(
    content: bytes, document: dict[str, Any], rng: np.random.Generator, most: int = 24, far: int = 300
) -> Iterator[str]:
    """What of the claim of a certificate about every length is false, as far as all words of up to ``most`` symbols
    and ``far`` long ones show."""
    language, blocks, said = document["language"], document["blocks"], document["model"]
    model, wrong, upto = Counted(content, said), document.get("wrong"), blocks[-1][1] if blocks else 0
    empty = said.get("start") is not None and "reads" not in said
    if wrong is not None:
        q, counts = 0, [0.0] * len(language["delta"][0])
        for s in wrong["word"]:
            q, counts[s] = language["delta"][q][s], counts[s] + 1
            if q < 0:
                yield "the wrong word is none of the language"
                return
        if q not in living(language["delta"], language["accept"]):
            yield "the wrong word is no prefix"
        last = np.array(wrong["word"][-1:] or [-1])
        logits = model.logits(np.array([counts]), last)
        only = {**language, "labels": [wrong["label"]]} if "read_out" not in language else {
            **language, "labels": [*set(language["want"][q]), wrong["label"]]}  # fmt: skip
        if margins(logits, only, np.array([q]))[0] > tolerance(logits)[0]:
            yield f"the word {wrong['word']} is right"
    every, _ = short(language, most, empty)
    for words in (every, long(rng, language, far)):
        words = ends_well(document, words)
        inside = (words.length <= upto) | (upto < 0)
        if wrong is not None and not wrong["word"]:
            inside &= words.length > 0
        if not inside.any():
            continue
        logits = model.logits(words.counts[inside], words.last[inside])
        gap = margins(logits, language, words.state[inside]) + tolerance(logits)
        if (gap < 0).any():
            at = int(gap.argmin())
            yield f"wrong by {-gap[at]:.3g}: counts {words.counts[inside][at]}, last {words.last[inside][at]}"


def tolerance(logits: Array) -> Array:
    """What logits may be off by: rounding of this oracle."""
    return np.asarray(1e-10 * (1 + np.abs(logits).max(1)))


def line_of(document: dict[str, Any]) -> str:
    """The success line of a certificate, as the page says."""
    said, wrong, blocks = document["model"], document.get("wrong"), document["blocks"]
    reader, upto = int("reads" in said), blocks[-1][1] if blocks else 0
    told = " greatest" * ("read_out" in document["language"])
    told += f" read={said['reads']}" if reader else " start=none" * (said.get("start") is None)
    if wrong is None:
        length = "" if upto < 0 else f" prefixes=0..{upto - reader}"
        return f"s VERIFIED right n>=0{length}{told} cases={len(document['cases'])} {said['sha256']}"
    at = len(wrong["word"])
    shortest = " shortest" * (upto == max(at - 1, 0))
    return f"s VERIFIED wrong n>=0{told} at={at - reader} label={wrong['label']}{shortest} {said['sha256']}"
