"""Forged proofs for all lengths: the engine itself builds them, of a program that is not the model's.

A mutant of a proof (:mod:`tests.length_mutations`) is nearly always broken in one place and refused there. Here the
**program** is changed before anything is built: fewer classes of positions, another mask, tie rule, default, rank,
copied value, map, label, output, order of symbols, or the lengths at which it is defined. What comes out is a proof
without a crack, with claims that the engine finds true, but of another model: only the equations that tie it to this
one can refuse it. A claim is taken that is false of this model, by its own automata, if there is one. What the checker
accepts is decided by these and, word by word, by :mod:`tests.fuzzing.at_all_lengths`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from restrict.all_lengths.bimachine import Limits
from restrict.all_lengths.moore import moore
from restrict.all_lengths.program import Look, OrderOnly, Step
from restrict.all_lengths.proof import document, to_bytes
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import Built, build
from restrict.base.errors import RestrictError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.model.fileformat import dumps, loads
from tests.fuzzing.at_all_lengths import judge
from tests.fuzzing.kinds import Trial
from tests.fuzzing.operators import pick
from tests.length_claims import Document, Subject, random_model, true_claim, truth

Lie = Callable[[Generator, OrderOnly], OrderOnly]
MASKS = ("none", "past", "strict_past", "future", "strict_future")
STEPS = 30_000_000
LARGE = 20_000
"""Entries of the boxes of a proof that is too large to be tried."""
TRIES = 4
"""So many programs, and so many claims about each, are drawn in search of a false one."""


def entries(built: Built) -> int:
    """About how many entries the boxes of a proof have before equal ones become one."""
    return sum(
        len(classes.members) * head.table.rank.shape[0]
        for layer in built.layers
        for head in layer.heads
        for classes in (head.left, head.right)
        if classes is not None
    )


class Forged(Subject):
    """A model with the automata of another program."""

    def __init__(self, document: dict[str, Any], content: bytes, program: OrderOnly) -> None:
        self.document, self.content, self.model = document, content, loads(content)
        self.built = build(program, Limits(400), keep=True)
        self.moore = moore(self.built)
        self.every, self.markers = self.built.program.every, len(self.model.markers)
        self.names = [name for name in self.built.program.labels if name]


def in_steps(kind: type, change: Callable[[Generator, Any], Any]) -> Lie:
    """Change one step of a kind."""

    def lie(rng: Generator, program: OrderOnly) -> OrderOnly:
        steps = list(program.steps)
        places = [at for at, step in enumerate(steps) if isinstance(step, kind)]
        if not places:
            return program
        at = pick(rng, places)
        steps[at] = change(rng, steps[at])
        return replace(program, steps=tuple(steps))

    return lie


def classes(rng: Generator, program: OrderOnly) -> OrderOnly:
    """Other classes, mostly fewer."""
    threshold = max(1, program.threshold - int(rng.integers(-1, 3)))
    return replace(program, threshold=threshold, period=pick(rng, [1, 2, 3, program.period]))


def ranked(rng: Generator, look: Look) -> Look:
    """One pair has another rank for one query, or all have the ranks of another order."""
    rank = look.rank.copy()
    if rng.random() < 0.5:
        return replace(look, rank=rank.max(axis=-1, keepdims=True) - rank)
    rank.flat[int(rng.integers(rank.size))] = int(rng.integers(look.later.shape[1]))
    return replace(look, rank=rank)


def copied(rng: Generator, look: Look) -> Look:
    """One pair copies another value."""
    value = look.value.copy()
    value.flat[int(rng.integers(value.size))] = int(rng.integers(look.size))
    return replace(look, value=value)


def mapped(rng: Generator, step: Step) -> Step:
    """A map is off by one for one residue of its arguments' sum."""
    if not step.size:
        return step
    at, size = int(rng.integers(3)), step.size

    def rule(*args: Any) -> Any:
        out = np.asarray(step.rule(*args), dtype=np.int64)
        total = sum((np.asarray(a, dtype=np.int64) for a in args), start=np.zeros(1, dtype=np.int64))
        return np.where(total % 3 == at, (out + 1) % size, out)

    return replace(step, rule=rule)


def labelled(rng: Generator, program: OrderOnly) -> OrderOnly:
    """One value of the output has another label."""
    label_of = list(program.label_of)
    label_of[int(rng.integers(len(label_of)))] = pick(rng, list(program.label_of))
    return replace(program, label_of=tuple(label_of))


def outputs(rng: Generator, program: OrderOnly) -> OrderOnly:
    """The output is another variable."""
    names = [step.name for step in program.steps if 0 < step.size <= len(program.label_of)]
    return replace(program, output=pick(rng, names)) if names else program


LIES: dict[str, Lie] = {
    "classes": classes, "mask": in_steps(Look, lambda rng, look: replace(look, mask=pick(rng, MASKS))),
    "ties": in_steps(Look, lambda rng, look: replace(look, later=~look.later)),
    "default": in_steps(Look, lambda rng, look: replace(look, default=int(rng.integers(look.size)))),
    "rank": in_steps(Look, ranked), "value": in_steps(Look, copied), "map": in_steps(Step, mapped), "label": labelled,
    "output": outputs, "symbols": lambda rng, program: replace(program, alphabet=program.alphabet[::-1]),
    "defined": lambda rng, program: replace(program, defined=None),
}  # fmt: skip


def forgeries(rng: Generator, programs: int, each: int) -> dict[str, Counter[str]]:
    """What became of the forgeries, by lie: how many were offered, how many with a claim that is false of the model,
    refused with which code, or accepted and true, undecided or false. ``genuine``: the models' own proofs."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("genuine", *LIES)}
    turn = 0
    for _ in range(programs):
        model = random_model(rng)
        content = dumps(model)
        try:
            own = Subject(model, content)
            program = recognise(own.model)
        except RestrictError:
            continue
        if entries(own.built) > LARGE:
            continue
        counts["genuine"][verdict(own, own, true_claim(rng, own))] += 1
        for _ in range(each):
            name = list(LIES)[turn % len(LIES)]
            turn += 1
            if (offer := forged(rng, LIES[name], own, program)) is None:
                continue
            other, claim, false = offer
            said = verdict(own, other, claim)
            counts[name] += Counter(["offered", said] + ["false claims"] * false)
            if said == "false" or (false and not said.startswith("refused")):
                raise AssertionError(f"accepted and false, by a lie about {name}: {content!r} {claim}")
    return counts


def forged(rng: Generator, lie: Lie, own: Subject, program: OrderOnly) -> tuple[Forged, Document, bool] | None:
    """Automata of a lie with a claim that they prove, and whether it is false of the model: the first such, else the
    last of all; None where none could be built."""
    found = None
    for _ in range(TRIES):
        if (lied := lie(rng, program)) is program:
            continue
        try:
            other = Forged(own.document, own.content, lied)
        except (RestrictError, IndexError):
            continue
        if entries(other.built) > LARGE:
            continue
        for _ in range(TRIES):
            claim = true_claim(rng, other)
            if not truth(own, claim):
                return other, claim, True
        found = other, claim, False
    return found


def verdict(own: Subject, built: Subject, claim: Document) -> str:
    """What the checker and then the judge say of a claim, proved by the automata of ``built``, about a model."""
    proof = to_bytes(document(own.model, built.built, claim))
    try:
        verify(own.content, proof, limit=STEPS)
    except Reject as reject:
        return f"refused {reject.code}"
    return judge(Trial(own.content, proof))
