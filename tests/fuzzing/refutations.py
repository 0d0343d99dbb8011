"""Refutations: a certificate with two words of one label, of which one is in a language; with counted errors, too."""

from functools import partial
from typing import Any

from numpy.random import Generator

from tests import naive
from tests.fuzzing import certificates
from tests.fuzzing.at_one_length import consistent, errors, judged, member, singles, subject, true_refutation
from tests.fuzzing.changes import mutant
from tests.fuzzing.kinds import Changed, Document, Kind, Operator, Trial, sealed
from tests.fuzzing.meaning import Meaning, Word
from tests.fuzzing.operators import pick

NAMES = ("parity", "majority", "anbn", "palindromes", "dyck", "shuffle-dyck")


def random_language(rng: Generator, alphabet: list[str], counted: bool) -> Document:
    """A random language over the symbols, in any order; an automaton, or a built-in one that fits."""
    order = [alphabet[int(at)] for at in rng.permutation(len(alphabet))]
    fitting = [name for name in NAMES if fits(name, len(order)) and (not counted or name == "parity")]
    if not fitting or rng.random() < 0.5:
        size = 1 + int(rng.integers(4))
        moves = rng.integers(size, size=(size, len(order))).tolist()
        accept = [q for q in range(size) if rng.random() < 0.5]
        found: Document = {"format": "restrict-dfa/1", "alphabet": order, "start": int(rng.integers(size))}
        return found | {"accept": accept, "transitions": moves}
    language: Document = {"name": pick(rng, fitting), "alphabet": order}
    if language["name"] == "dyck" and rng.random() < 0.4:
        language["depth"] = 1 + int(rng.integers(2))
    return language


def fits(name: str, symbols: int) -> bool:
    """Whether a built-in language can be over so many symbols."""
    return symbols == 2 or name == "palindromes" or (name in ("dyck", "shuffle-dyck") and symbols % 2 == 0)


def original(rng: Generator, counted: bool) -> Trial:
    """A certificate, and two words of one label under it."""
    while True:
        trial = certificates.original(rng, pick(rng, ("certificate", "certificate", "split", "cases")))
        model, certificate = trial.documents()
        language = random_language(rng, model["alphabet"], counted)
        found = subject(trial)
        words = two_words(rng, found, certificate, language)
        if words is None:
            continue
        document: Document = {"format": "restrict-refutation/1", "certificate": certificate, "language": language}
        document |= dict(zip(("member", "nonmember"), words, strict=True))
        if counted and not (more := certain(found, certificate, language)):
            continue
        return sealed(trial.model, document | ({"errors": f"{more:x}"} if counted else {}), trial.files)


def two_words(rng: Generator, found: Meaning, certificate: Document, language: Document) -> list[Any] | None:
    """A member and a non-member that agree on the dependencies, as runs."""
    n, fixed = certificate["n"], singles(certificate["fixed"])
    places, depends = naive.letters(found.model, n), singles(certificate["claim"]["dependencies"])
    groups: dict[Word, dict[bool, list[Word]]] = {}
    for x in consistent(found, n, fixed) or []:
        key = tuple(a for p, a in zip(places, x, strict=True) if p in depends)
        inside = member(language, [found.alphabet[a] for a in x])
        groups.setdefault(key, {}).setdefault(inside, []).append(x)
    both = [group for group in groups.values() if len(group) == 2]
    if not both:
        return None
    group = pick(rng, both)
    words = [pick(rng, group[inside]) for inside in (True, False)]
    return [[[p, 1, found.alphabet[a]] for p, a in zip(places, word, strict=True)] for word in words]


def certain(found: Meaning, certificate: Document, language: Document) -> int:
    """The errors that are certain: for each value of the dependencies the smaller part, where they say the label."""
    n, claim = certificate["n"], certificate["claim"]
    inputs = consistent(found, n, singles(certificate["fixed"])) or []
    where = n - 1 if certificate["target"] == "last" else certificate["target"]
    if not claim["dependencies"]:
        return errors(found, inputs, where, language, certificate)
    places, depends = naive.letters(found.model, n), singles(claim["dependencies"])
    parts: dict[Word, list[int]] = {}
    for x in inputs:
        key = tuple(a for p, a in zip(places, x, strict=True) if p in depends)
        parts.setdefault(key, [0, 0])[member(language, [found.alphabet[a] for a in x])] += 1
    return sum(map(min, parts.values()))


# ---------------------------------------------------------------- operators


def of_the_certificate(operator: Operator) -> Operator:
    """An operator on the certificate inside."""

    def change(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
        theirs = other.documents()
        found = operator(rng, model, proof["certificate"], sealed(theirs[0], theirs[1]["certificate"]))
        return None if found is None else (found[0], {**proof, "certificate": found[1]})

    return change


def change_a_letter(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """Another symbol at a position of one word, or of both."""
    keys = ("member", "nonmember") if rng.random() < 0.3 else (pick(rng, ("member", "nonmember")),)
    at, symbol = int(rng.integers(1 << 30)), pick(rng, model["alphabet"])
    for key in keys:
        if not proof[key]:
            return None
        proof[key][at % len(proof[key])][2] = symbol
    return model, proof


def exchange_the_words(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """The member as the non-member, or one word twice."""
    words = [proof["member"], proof["nonmember"]]
    proof["member"], proof["nonmember"] = pick(rng, ((words[1], words[0]), (words[0], words[0]), (words[1], words[1])))
    return model, proof


def change_the_language(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """Another language, other states, another order of its symbols, another depth."""
    language, how = proof["language"], int(rng.integers(4))
    if how == 0:
        proof["language"] = random_language(rng, model["alphabet"], "errors" in proof)
    elif how == 1:
        language["alphabet"].reverse()
    elif "transitions" in language:
        row = pick(rng, language["transitions"])
        row[int(rng.integers(len(row)))] = int(rng.integers(len(language["transitions"])))
        language["accept"] = [q for q in range(len(language["transitions"])) if (q in language["accept"]) ^ (how == 3)]
    elif language["name"] == "dyck":
        language["depth"] = 1 + int(rng.integers(3))
    return model, proof


def change_the_errors(rng: Generator, model: Document, proof: Document, other: Trial) -> Changed:
    """A few more or fewer, or all."""
    number = int(proof.get("errors", "1"), 16)
    found = pick(rng, (number + 1, number + 1, number - 1, number + 2, 2 * number, len(model["alphabet"]) ** 3))
    proof["errors"] = f"{max(found, 1):x}"
    return model, proof


INNER = [of_the_certificate(operator) for operator in certificates.OPERATORS]
OWN: list[Operator] = [change_a_letter, exchange_the_words, change_the_language]


def of_kind(name: str, counted: bool) -> Kind:
    """The kind of proof."""
    own = [*OWN, *([change_the_errors] * 2 if counted else [])]
    return Kind(
        name=name,
        original=partial(original, counted=counted),
        mutant=partial(mutant, operators=[*INNER, *own * (len(INNER) // len(own))]),
        judge=partial(judged, truth=true_refutation),
        elaborated=True,
    )


KINDS = [of_kind("refutation", False), of_kind("errors", True)]
