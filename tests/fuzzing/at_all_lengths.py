"""Whether a claim about every length is true: on all short words, on some long ones, and on every word it names.

A claim is **false** where a word says so at a length at which the model is defined, or where the model is defined at no
length that it is about. It is **true** here if all words to some length agree; an error at greater lengths alone, which
none of the tried long words shows, would be missed. It is **undecided** where no word could be tried.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from zlib import crc32

from tests.fuzzing.at_one_length import least_costs, member
from tests.fuzzing.kinds import Document, Trial, Verdict
from tests.fuzzing.meaning import Meaning, Word, meaning

FILLED = 40
"""All ways to fill a pattern are tried where they are at most so many, else a few."""
TRIED = 14
"""So many lengths of a pattern from its first one on."""
FARTHEST = 60
"""Words beyond are not evaluated."""
CELLS = 1_000
"""All restrictions of words are tried where they are at most so many."""


def judge(trial: Trial) -> Verdict:
    """The verdict on a trial that was accepted."""
    import json

    found, document = meaning(trial.model), json.loads(trial.proof)
    claim = document["claim"]
    if found.defined(document["n"]) is False or not found.somewhere(max(1, claim.get("from", 1))):
        return "false"
    tried = [agreed for agreed in TRUTHS[claim["kind"]](found, claim) if agreed is not None]
    return "undecided" if not tried else "true" if all(tried) else "false"


Tries = Iterator[bool | None]


def scope(found: Meaning, first: int, most: int = FARTHEST) -> Iterator[tuple[int, list[Word]]]:
    """The lengths that are tried, from `first` to `most`, at which the model is defined, with their words."""
    for t in found.lengths:
        n = t + found.markers
        if max(first, 1) <= n <= most and found.defined(n):
            yield n, found.sampled(t)


def everything(found: Meaning, claim: Document, most: int = FARTHEST) -> Iterable[tuple[Word, int]]:
    """All words and positions that an agreement is about."""
    for n, words in scope(found, claim["from"], most):
        for word in words:
            for position in range(n) if found.every else (n - 1,):
                yield word, position


def other_label(model: Document, claim: Document, symbols: Sequence[str], position: int) -> str:
    """What the language or the machine of a claim says of a word."""
    if "language" in claim:
        return "accept" if member(claim["language"], list(symbols)) else "reject"
    machine = claim["machine"]
    if "left" in machine:
        return bimachine_label(model, machine, symbols, position)
    state = 0
    for a in symbols:
        state = machine["transitions"][state][machine["alphabet"].index(a)]
    return str(machine["labels"][machine["output"][state]])


def bimachine_label(model: Document, machine: Document, symbols: Sequence[str], position: int) -> str:
    """What a bimachine says at a position; markers are the letters after the symbols."""
    size = len(model["alphabet"])
    run = [size] * ("start_marker" in model) + [machine["alphabet"].index(a) for a in symbols]
    run += [size + ("start_marker" in model)] * ("end_marker" in model)
    l = r = 0
    for x in run[:position]:
        l = machine["left"][l][x] if l >= 0 else -1
    for x in reversed(run[position + 1 :]):
        r = machine["right"][r][x] if r >= 0 else -1
    number = machine["table"][l][run[position]][r] if l >= 0 and r >= 0 else -1
    return str(machine["labels"][number]) if number >= 0 else "no label at all"


def agrees(found: Meaning, claim: Document, word: Word, position: int) -> bool:
    """Whether the model says the same as the language or the machine of a claim."""
    symbols = [found.alphabet[a] for a in word]
    return found.labels(word)[position] == other_label(found.model, claim, symbols, position)


def agreement(found: Meaning, claim: Document) -> Tries:
    """`recognises` and `computes`."""
    for word, position in everything(found, claim):
        yield agrees(found, claim, word, position)


def difference(found: Meaning, claim: Document) -> Tries:
    """`differs` and `deviates`; with `shortest` all shorter words agree."""
    word = tuple(found.alphabet.index(a) for a in claim["word"])
    n = len(word) + found.markers
    position = claim.get("position", n - 1)
    if n > FARTHEST:
        return
    yield n >= max(claim["from"], 1) and found.defined(n) is not False and position < n
    if position < n:
        yield not agrees(found, claim, word, position)
    if claim["shortest"]:
        for other, at in everything(found, claim, n - 1):
            yield agrees(found, claim, other, at)


def forcing(found: Meaning, claim: Document) -> Tries:
    """Every way to fill the pattern, or some, at the first lengths."""
    first, ends = max(1, claim["from"]), len(claim["start"]) + len(claim["end"]) + found.markers
    yield first >= ends
    for n in range(first, min(first + TRIED, FARTHEST)):
        if n >= ends and found.defined(n):
            words = list(fillings(found, pattern(claim, n - found.markers)))
            found.learn(words)
            for word in words:
                yield found.last(word) == claim["label"]


def pattern(claim: Document, t: int) -> list[str]:
    """The cells of a pattern for `t` symbols."""
    start, middle, end = claim["start"], claim["middle"], claim["end"]
    return [*start, *(middle[at % len(middle)] for at in range(t - len(start) - len(end))), *end]


def fillings(found: Meaning, cells: list[str]) -> Iterator[Word]:
    """Words that follow a pattern."""
    size = len(found.alphabet)
    choices = [range(size) if cell == "*" else [found.alphabet.index(cell)] for cell in cells]
    free = cells.count("*")
    if free <= 6 and size**free <= FILLED:
        yield from product(*choices)
        return
    rng = random.Random(crc32("".join(cells).encode()))
    for a in range(size):
        yield tuple(choice[a % len(choice)] for choice in choices)
    for _ in range(6):
        yield tuple(rng.choice(choice) for choice in choices)


def cost(found: Meaning, claim: Document) -> Tries:
    """The least number of fixed symbols, by all restrictions of short words."""
    size = len(found.alphabet)
    for t in found.lengths:
        n = t + found.markers
        if n < 1 or t > 9 or (size + 1) ** t > CELLS or not found.defined(n):
            continue
        if (n, n - 1) not in found.costs:
            table = {word: found.last(word) for word in product(range(size), repeat=t)}
            found.costs[n, n - 1] = least_costs(table, size, t)
        yield claimed_cost(claim, t) == found.costs[n, n - 1].get(claim["label"], -1)


def claimed_cost(claim: Document, t: int) -> int:
    """What a claim says of words of `t` symbols; -1: no restriction forces the label."""
    listed, growth = claim["costs"], claim["growth"]
    turns = 0
    if t >= len(listed) and not growth:
        raise ValueError("no growth")
    while t >= len(listed):
        t, turns = t - len(growth), turns + 1
    return int(listed[t] + turns * growth[t - len(listed)] if turns and listed[t] >= 0 else listed[t])


def lengths(found: Meaning, claim: Document) -> Tries:
    """The lengths with a wrong word, where all words are tried."""
    for t in found.lengths:
        n = t + found.markers
        if n >= 1 and found.words(t) is not None and found.defined(n):
            wrong = not all(agrees(found, claim, word, n - 1) for word in found.sampled(t))
            yield wrong if has(claim["least"], n) else True
            yield has(claim["most"], n) if wrong else True


def has(part: Document, n: int) -> bool:
    """Whether a set of lengths has `n`."""
    early, cycle = part["early"], part["cycle"]
    return bool(early[n] if n < len(early) else cycle[(n - len(early)) % len(cycle)])


TRUTHS: dict[str, Callable[[Meaning, Document], Tries]] = {
    "recognises": agreement, "computes": agreement, "differs": difference, "deviates": difference, "forces": forcing,
    "cost": cost, "lengths": lengths,
}  # fmt: skip
