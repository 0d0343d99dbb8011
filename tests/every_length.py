"""One random program at every length: its automaton and a proof about it, against evaluation of the words.

The automaton is made as ``restrict automaton`` makes it. The words are run by tests/fuzzing/meaning.py, which knows
nothing of the package: all of up to :data:`LONGEST` positions where they are few, some where they are not, and random
longer ones at lengths around the program's threshold and period, and at :data:`FAR`.
"""

import re
import traceback
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from restrict.all_lengths.program import UNDEFINED, OrderOnly
from restrict.all_lengths.proof import document, to_bytes
from restrict.all_lengths.recognise import NotOrderOnly
from restrict.base.errors import ModelError, ResourceLimit, RestrictError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.model.fileformat import dumps
from tests import generator, naive
from tests.fuzzing.at_all_lengths import judge
from tests.fuzzing.kinds import Trial
from tests.fuzzing.meaning import Meaning
from tests.generator import coverage
from tests.length_claims import Subject, true_claim

LONGEST, LONG, FULL, SOME, FEW, FAR = 7, 40, 300, 60, 3, 200
"""All words up to LONGEST where they are at most FULL, or SOME random ones of a length; FEW random ones of some lengths
up to LONG; one of FAR."""
STATES = 400
STEPS = 50_000_000
Word = tuple[int, ...]
Document = dict[str, Any]
Table = dict[int, dict[Word, list[str]]]
"""By length and word the label at every position; an empty dict where the model is not defined."""


@dataclass
class Result:
    """What became of one program, or of many."""

    counts: Counter[str] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, Document]] = field(default_factory=list)

    def add(self, other: "Result") -> None:
        """Add the counts of another."""
        for name in ("counts", "declined", "claims", "shown"):
            getattr(self, name).update(getattr(other, name))
        self.wrong += other.wrong


def examined(rng: Generator, model: Document, proofs: float) -> Result:
    """Compare a program with its automaton on words; with the probability ``proofs`` prove a claim, and compare it."""
    result = Result(Counter({"programs": 1}))
    content = dumps(model)
    try:
        subject = Subject(model, content)
    except (NotOrderOnly, ResourceLimit, ModelError) as error:
        if not isinstance(error, NotOrderOnly):
            result.counts["too large" if isinstance(error, ResourceLimit) else "malformed"] += 1
        result.declined[reason(error)] += 1
        return result
    result.counts["accepted"] += 1
    result.shown.update(coverage.steps_show(model, subject.built.program.steps))
    result.shown.update(f"{name} over positions" for name in coverage.functions_of_positions(model))
    table = run(rng, model, subject.built.program, result.counts)
    for n, row in table.items():
        for word, labels in row.items():
            if (found := disagreement(subject, n, word, labels)) is not None:
                result.wrong.append((found, model))
                return result
    if rng.random() < proofs:
        prove(rng, subject, table, result)
    return result


def reason(error: RestrictError) -> str:
    """The message without names and numbers, to count by."""
    text = re.sub(r"(\"[^\"]*\"|'[^']*')", "...", str(error)).partition(": ")
    return re.sub(r"[0-9]+", "N", text[2] or text[0])[:100]


# ---------------------------------------------------------------- words


def run(rng: Generator, model: Document, program: OrderOnly, counts: Counter[str]) -> Table:
    """The labels of words of many lengths."""
    symbols, least, found = len(model["alphabet"]), generator.shortest(model), Meaning(model)
    table: Table = {}
    for n in [*range(least, LONGEST + 1), *later(rng, program), FAR]:
        if n < least or found.defined(n) is False:
            table.setdefault(n, {})
            continue
        t, drawn = n - found.markers, np.random.default_rng(n) if n == FAR else rng
        full = n <= LONGEST and symbols**t <= FULL
        count = SOME if n <= LONGEST else FEW if n <= LONG else 1
        words = (list(product(range(symbols), repeat=t)) if full
                 else [tuple(drawn.integers(symbols, size=t).tolist()) for _ in range(count)])  # fmt: skip
        found.learn(words)
        table[n] = {word: found.labels(word) for word in words}
        counts[f"{'short' if n <= LONGEST else 'long' if n <= LONG else 'far'} words"] += len(table[n])
    return table


def later(rng: Generator, program: OrderOnly) -> list[int]:
    """Lengths around the threshold and the period, and one more; each is above ``LONGEST`` and at most ``LONG``."""
    first, period = program.threshold, program.period
    near = {first + a + b * period for a in (-1, 0, 1, 2) for b in (0, 1, 2)} | {2 * first + 1, 2 * first + 2}
    near = {n for n in near if LONGEST < n <= LONG}
    some = [int(n) for n in rng.permutation(sorted(near))[:4]]
    return sorted({*some, int(rng.integers(LONGEST + 1, LONG + 1))})


def disagreement(subject: Subject, n: int, word: Word, labels: list[str]) -> str | None:
    """What the automaton says otherwise of a word."""
    symbols = tuple(subject.model.alphabet[a] for a in word)
    if not subject.every:
        said = by_automaton(subject, word)
        return None if said == labels[-1] else f"at {n} positions, {' '.join(symbols)}: {said!r}, not {labels[-1]!r}"
    for i, (said, label) in enumerate(zip(subject.everywhere(word), labels, strict=True)):
        if said != label:
            return f"at {n} positions, {' '.join(symbols)}, position {i}: {said!r}, not {label!r}"
    return None


def by_automaton(subject: Subject, word: Word) -> str:
    """The label at the last position: the automaton, letter by letter."""
    state = 0
    for a in word:
        state = int(subject.moore.delta[state, a])
    return subject.moore.labels[int(subject.moore.label[state])]


def undefined_lengths(subject: Subject, table: Table) -> str | None:
    """A length at which ``when`` does not hold and the automaton says a label all the same."""
    for n in table:
        t = n - subject.markers
        if t < 0 or n < 1 or naive.defined(subject.document, n):
            continue
        said = subject.everywhere((0,) * t)[-1] if subject.every else by_automaton(subject, (0,) * t)
        if said != UNDEFINED:
            return f"at {n} positions the model is not defined, and the automaton says {said!r}"
    return None


# ---------------------------------------------------------------- claims


def prove(rng: Generator, subject: Subject, table: Table, result: Result) -> None:
    """Prove a random claim that follows from the automaton, check it, and have it judged by words."""
    if (found := undefined_lengths(subject, table)) is not None:
        result.wrong.append((found, subject.document))
    try:
        claim = true_claim(rng, subject)
        proof = to_bytes(document(subject.model, subject.built, claim))
    except RestrictError as error:
        result.claims[f"no proof: {reason(error)}"] += 1
        return
    try:
        verify(subject.content, proof, limit=STEPS)
    except Reject as reject:
        result.claims["out of steps" if reject.code == 5 else "refused"] += 1
        if reject.code != 5:
            result.wrong.append((f"the engine's own proof is refused: {reject}: {claim}"[:400], subject.document))
        return
    result.claims[claim["kind"]] += 1
    if judge(Trial(subject.content, proof)) == "false":
        result.wrong.append((f"verified and false: {claim}", subject.document))


def swept(seed: int, index: int, proofs: float) -> Result:
    """The program of an index: order-only, or nearly; one in twenty in Hahn's form. An exception is wrong, too."""
    rng = np.random.default_rng([20261122, seed, index])
    if rng.random() < 0.05:
        model = generator.random_transformer(rng, 1 + int(rng.integers(2)), 2, 3)
    else:
        model = generator.random_order_only(rng, labels=bool(rng.random() < 0.3))
    try:
        return examined(rng, model, proofs)
    except Exception as error:
        found = traceback.extract_tb(error.__traceback__)[-1]
        crash = f"{type(error).__name__}: {error} ({Path(found.filename).name}, {found.name})"
        return Result(Counter({"programs": 1, "crashed": 1}), wrong=[(crash, model)])
