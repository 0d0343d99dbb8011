"""Random programs of every feature of docs/format.md, at sizes that brute force can do.

Many scores have small ranges, so that ties are common. A program is well-formed at each length
``shortest(model) .. LONGEST`` at which its ``when`` holds, or only at the one length that was asked for.
"""

import math

from numpy.random import Generator

from tests import naive
from tests.generator.draft import (
    LONGEST,
    Draft,
    Model,
    Sized,
    finished,
    lively,
    map_table,
    over_n,
    random_output,
    started,
    table_score,
    when_text,
)
from tests.generator.expressions import FAR, Phrase, apply, bounded, constant, grown, named, plain
from tests.generator.inputs import random_length

NAMES = ("k", "k", "qk", "qk", "qk", "jk", "ij", "j", "qn", "iq", "qijkn", "qijkn", "ijn", "jn")
"""The names that a score may mention; few at a time, so that most heads read a few positions only."""
WANTED = {"q": 0.7, "k": 0.9, "i": 0.2, "j": 0.3}
SURE = (2, 3)
"""Lengths at which every ``when`` of a program for many lengths holds, so that small tests have lengths to use."""


def random_program(rng: Generator, n: int | None = None, longest_list: int = 6) -> Model:
    """A random well-formed model of up to ``longest_list`` variables of depth 0 to 3; for length ``n``, if given."""
    letters = 1 if rng.random() < 0.06 else 2 + int(rng.integers(3))
    draft, model = started(rng, n, letters, 0.3)
    if n is not None:
        model["when"] = f"n == {n}"
    elif draft.chance(0.15):
        model |= condition(draft)
    for index in range(draft.below(longest_list + 1)):
        add = add_head if draft.chance(0.65) else add_map
        add(draft, f"v{index}")
    model["variables"] = draft.variables
    model["output"] = random_output(draft, False, 0.5)
    return model


def random_case(
    rng: Generator, most: int = LONGEST, longest_list: int = 6, inputs: float = math.inf
) -> tuple[Model, int]:
    """A random program and a length of at most ``most`` at which it is defined and has at most ``inputs`` inputs."""
    while True:
        model = random_program(rng, None, longest_list)
        n = random_length(rng, model, most)
        if len(model["alphabet"]) ** len(naive.letters(model, n)) <= inputs:
            return model, n


def condition(draft: Draft) -> Model:
    """A ``when`` that holds at small lengths, if one is found in a few draws."""
    for _ in range(10):
        text = when_text(draft).text
        if all(naive.evaluate(text, {"n": n}) for n in SURE):
            return {"when": text}
    return {}


# ---------------------------------------------------------------- maps


def add_map(draft: Draft, name: str) -> None:
    """A map of up to three arguments into a domain of one to four values, sometimes one that grows with ``n``."""
    names = list(draft.domain)
    args = [names[int(index)] for index in draft.rng.permutation(len(names))[: draft.below(4)]]
    if names[-1] not in args and draft.chance(0.5):
        args = [*args[:2], names[-1]]
    if "token" not in args and draft.chance(0.4):
        args = ["token", *args[:2]]
    size = 1 if draft.chance(0.06) else 2 + draft.below(3)
    depth = max([draft.depth[a] for a in args], default=0)
    variable: Model = {"name": name, "kind": "map", "args": args}
    if draft.chance(0.3):
        table = map_table(draft, args, size, 0.3)
        draft.declare(variable | {"domain": size, "map": table}, size, depth)
    elif draft.chance(0.08):
        domain = Sized("n", 1, FAR) if draft.n is None else draft.n
        written = domain.text if isinstance(domain, Sized) else domain
        draft.declare(variable | {"domain": written, "map": growing(draft, args).text}, domain, depth)
    else:
        whole = over_n(draft, size) if draft.chance(0.25) else size
        written = whole.text if isinstance(whole, Sized) else whole
        ranges = draft.ranges([*args, "i", "n"])
        rule = lively(draft, lambda: map_phrase(draft, args, size), ranges, args if draft.chance(0.8) else "in").text
        draft.declare(variable | {"domain": written, "map": rule}, whole, depth)


def map_phrase(draft: Draft, args: list[str], size: int) -> Phrase:
    """An expression over the arguments, ``i`` and ``n`` with values in ``0 .. size-1``."""
    if draft.chance(0.2):
        return bounded(draft.rng, plain(draft.rng, draft.ranges([*args, "i", "n"])), size)
    names = [a for a in args if draft.chance(0.85)] + [a for a in ("i", "n") if draft.chance(0.6)]
    return bounded(draft.rng, grown(draft.rng, draft.ranges(names), 1 + draft.below(3)), size)


def growing(draft: Draft, args: list[str]) -> Phrase:
    """An expression with values in ``0 .. n-1``."""
    rng, ranges = draft.rng, draft.ranges([*args, "i", "n"])
    inner = grown(rng, ranges, 1 + draft.below(2))
    last = apply(rng, "-", named("n", *ranges["n"]), constant(1))
    if draft.chance(0.5):
        return apply(rng, "%", inner, named("n", *ranges["n"]))
    return apply(rng, "min", apply(rng, "max", inner, constant(0)), last)


# ---------------------------------------------------------------- heads


def add_head(draft: Draft, name: str) -> None:
    """A head; query, key and value are often one variable."""
    names = [v for v in draft.domain if draft.depth[v] < 3]
    query, key, value = draft.pick(names), draft.recent(names), draft.recent(names)
    # What reads tokens depends on the word; most of the rest is the same for all words.
    key, value = ("token" if draft.chance(0.25) else name for name in (key, value))
    if draft.chance(0.3):
        value = key
    if draft.chance(0.3):
        query = key
    if draft.chance(0.15):
        query = value
    head: Model = {"name": name, "kind": "head", "value": value}
    if draft.chance(0.6):
        head["score"] = score_phrase(draft, query, key).text
    else:
        head["score"] = table_score(draft, query, key, WANTED)
    for role, letter, variable in (("query", "q", query), ("key", "k", key)):
        if naive.mentions(head["score"], letter) or draft.chance(0.3):
            head[role] = variable
    finished(draft, head)


def score_phrase(draft: Draft, query: str, key: str) -> Phrase:
    """An expression over some of ``q k i j n`` that mostly depends on the attended position."""
    if draft.chance(0.2):
        return plain(draft.rng, draft.ranges(list("ijnqk"), query, key))
    free = "k" if draft.chance(0.6) and draft.most(key) > 1 else "jk"
    return lively(draft, lambda: any_score(draft, query, key), draft.ranges(list("ijnqk"), query, key), free)


def any_score(draft: Draft, query: str, key: str) -> Phrase:
    """An expression over some of ``q k i j n``; half of them are brought into a small range."""
    rng = draft.rng
    if draft.chance(0.3):
        phrase = plain(rng, draft.ranges(list("ijnqk"), query, key))
    else:
        phrase = grown(rng, draft.ranges(list(draft.pick(NAMES)), query, key), draft.below(4))
    return bounded(rng, phrase, 2 + draft.below(2)) if draft.chance(0.5) else phrase


def random_score(rng: Generator, most: int = 4) -> str:
    """A score for a head with a query and a key of at most ``most`` values."""
    draft = Draft(rng)
    draft.domain = {"token": most}
    return score_phrase(draft, "token", "token").text
