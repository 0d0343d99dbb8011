"""Proofs for all lengths, a kind for each claim. Operators: those of tests/length_mutations.py, and on the model."""

import json
from functools import partial
from typing import Any

from numpy.random import Generator

from restrict.all_lengths.proof import document
from restrict.base.errors import RestrictError
from restrict.checker.account import Reject
from restrict.checker.main import verify
from restrict.model.fileformat import dumps
from tests import generator, length_claims, length_mutations
from tests.fuzzing.at_all_lengths import judge as by_words
from tests.fuzzing.certificates import MODEL_OPERATORS
from tests.fuzzing.changes import mutant
from tests.fuzzing.kinds import Changed, Document, Kind, Operator, Trial, Verdict, sealed
from tests.fuzzing.operators import pick
from tests.length_claims import Subject, truth

LARGEST = 6_000
"""Bytes of an original."""
STEPS = 100_000
MAKERS: dict[str, list[Any]] = {
    "recognises": [length_claims.recognises_claim],
    "differs": [length_claims.differs_claim, length_claims.other_language_claim],
    "forces": [length_claims.forcing_claim], "cost": [length_claims.cost_claim],
    "computes": [length_claims.computes_claim], "deviates": [length_claims.deviates_claim],
    "lengths": [length_claims.lengths_claim],
}  # fmt: skip


def subject_of(rng: Generator, kind: str) -> Subject | None:
    """A random model with its automata; None where they are too large."""
    two = 2 if kind in ("differs", "lengths") else None  # the other languages of these are over two symbols
    if rng.random() < 0.1:
        model = generator.random_transformer(rng, 2, 2, 3)
    else:
        labels = kind not in ("recognises", "differs", "lengths")
        model = generator.random_order_only(rng, two, 4, placed=0.35, near=0.12, wild=0.15, labels=labels)
        if kind in ("recognises", "differs", "lengths"):
            model["output"]["position"] = "last"
    try:
        return Subject(model, dumps(model))
    except RestrictError:
        return None


def original(rng: Generator, kind: str) -> Trial:
    """A random program, and a claim of the kind that the engine has a proof of."""
    while True:
        subject = subject_of(rng, kind)
        if subject is None or not (subject.names and fits(subject, kind)):
            continue
        claim = pick(rng, MAKERS[kind])(rng, subject, int(rng.integers(4)))
        if claim is None:
            continue
        trial = sealed(subject.content, document(subject.model, subject.built, claim))
        if len(trial.proof) <= LARGEST and cheap(trial):
            return trial


def fits(subject: Subject, kind: str) -> bool:
    """Whether the kind of claim can be about the model: to recognise a language its output needs `accept`."""
    return kind not in ("recognises", "differs", "lengths") or (subject.moore.accepts and not subject.every)


def cheap(trial: Trial) -> bool:
    """Whether the proof is short to check. One that is refused is an original, too: the fuzzer counts it."""
    try:
        verify(trial.model, trial.proof, limit=STEPS)
    except Reject as reject:
        return reject.code != 5
    return True


def operate(name: str, rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """An operator on the claim, the layers or the model."""
    return (model, proof) if length_mutations.OPERATORS[name](rng, model, proof) else None


def splice(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """Another proof's claim, or another model."""
    theirs = other.documents()
    if rng.random() < 0.7:
        return model, {**proof, "claim": theirs[1]["claim"]}
    return theirs[0], proof


def grow(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """A score or a map times a large number: at some lengths the model is no longer defined."""
    rules = [v for v in model["variables"] if isinstance(v.get("score", v.get("map")), str)]
    if not rules:
        return None
    variable = pick(rng, rules)
    key = "score" if "score" in variable else "map"
    factor = pick(rng, ("3", "2305843009213693952", "4611686018427387904", "9223372036854775807"))
    wide = f"({variable[key]}) * {factor}" if key == "score" else f"({variable[key]}) * {factor} // {factor}"
    variable[key] = pick(rng, (wide, f"({variable[key]}) // (n - {int(rng.integers(9))})", f"{variable[key]} + i * 0"))
    return model, proof


def grow_from(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """The claim begins later."""
    if "from" not in proof["claim"]:
        return None
    proof["claim"]["from"] += int(rng.integers(1, 6))
    return model, proof


OWN: list[Operator] = [*(partial(operate, name) for name in length_mutations.TURNS), splice, grow, grow_from]


def judge(trial: Trial) -> Verdict:
    """By words, without code of the package; what is true of these, by the model's automaton at every length, too."""
    found = by_words(trial)
    try:
        known = None if found == "false" else Subject(json.loads(trial.model), trial.model)
    except RestrictError:
        known = None
    return found if known is None or truth(known, json.loads(trial.proof)["claim"]) else "false"


def of_kind(kind: str) -> Kind:
    """The kind of proof."""
    return Kind(
        name=kind,
        original=partial(original, kind=kind),
        mutant=partial(mutant, operators=[*OWN, *MODEL_OPERATORS[::3]]),
        judge=judge,
    )


KINDS = [of_kind(kind) for kind in MAKERS]
