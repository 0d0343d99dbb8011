"""Random claims about every length, and whether a claim is true: the oracle of the mutants of proofs.

Nothing here is shared with the checker. The model is given by its automaton (or bimachine), which other tests compare
with the model itself on all short words; truth is decided by walking words, pairs of states or sets of states, up to
lengths at which the small automata of the tests have repeated.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from numpy.random import Generator

from restrict.all_lengths import labels
from restrict.all_lengths.bimachine import Limits
from restrict.all_lengths.compare import difference
from restrict.all_lengths.forcing import costs
from restrict.all_lengths.moore import Moore, moore
from restrict.all_lengths.patterns import cheapest_pattern
from restrict.all_lengths.recognise import NotOrderOnly, recognise
from restrict.all_lengths.stages import Built, build
from restrict.all_lengths.wrong import equations_of, possible_lengths, settled_pair
from restrict.base.errors import ResourceLimit
from restrict.languages.dfa import minimal
from restrict.languages.regular import Regular
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Model
from tests import naive
from tests.fuzzing.at_all_lengths import claimed_cost, has, other_label
from tests.fuzzing.at_one_length import member
from tests.generator import random_order_only, random_transformer

Document = dict[str, Any]
LONG = 40
"""Lengths up to here are tried, with sets of states."""
FAR = 9
"""Up to so many symbols a set of lengths is tried, word by word."""
EVERY = 5
"""Words up to here are tried, position by position."""


class Subject:
    """A model with its automata."""

    def __init__(self, document: Document, content: bytes) -> None:
        self.document, self.content = document, content
        self.model: Model = loads(content)
        self.built: Built = build(recognise(self.model), Limits(400), keep=True)
        self.moore: Moore = moore(self.built)
        self.every, self.markers = self.built.program.every, len(self.model.markers)
        self.names = [name for name in self.built.program.labels if name]

    def everywhere(self, word: Sequence[int]) -> list[str]:
        """The label at every position: the left and the right automaton, letter by letter."""
        program, machine = self.built.program, self.built.machine
        text = [*[len(program.alphabet)] * program.start, *word, *[program.letters - 1] * program.end]
        left, right = [0], [0]
        for x in text:
            left.append(int(machine.left[left[-1], x]))
        for x in reversed(text):
            right.append(int(machine.right[right[-1], x]))
        number = machine.column("@label")
        states = zip(left[:-1], text, right[-2::-1], strict=True)
        return [program.labels[int(number[machine.lab[l, x, r]])] for l, x, r in states]


def random_model(rng: Generator) -> Document:
    """A random order-only program: all masks, ties, orders by j, windows, predicates, ``when``, labels, markers."""
    if rng.random() < 0.15:
        return random_transformer(rng, 2, 2, 3)
    program = accepted_model(rng, placed=0.35, near=0.3)
    if rng.random() < 0.2:
        program["when"] = str(rng.choice(["n % 2 == 0", "n > 3", "n % 3 != 1", "n < 9"]))
    if rng.random() < 0.3:
        accept = program["output"].pop("accept")
        if rng.random() < 0.5:
            size = naive.at(program, 3).domain[program["output"]["variable"]]
            program["output"]["labels"] = [["x", "y", "undefined"][(v in accept) + (v == 2)] for v in range(size)]
    return program


def accepted_model(rng: Generator, most: int = 4, placed: float = 0.25, near: float = 0.1) -> Document:
    """A random program of two letters that is order-only; another one is drawn where it is not."""
    while True:
        program = random_order_only(rng, 2, most, placed=placed, near=near)
        try:
            recognise(loads(dumps(program)))
        except (NotOrderOnly, ResourceLimit):
            continue
        return program


# ---------------------------------------------------------------- claims


def dfa_document(language: Regular) -> Document:
    """An automaton as a language of a claim."""
    dfa = language.dfa
    out = {"format": "restrict-dfa/1", "alphabet": list(dfa.alphabet), "start": 0, "accept": sorted(dfa.accept)}
    return out | {"transitions": [list(row) for row in dfa.delta]}


def random_language(rng: Generator, alphabet: tuple[str, ...]) -> Regular:
    """A random small automaton."""
    size = int(rng.integers(1, 5))
    delta = rng.integers(size, size=(size, len(alphabet))).tolist()
    return Regular("random", "dfa:random", minimal(alphabet, delta, 0, [q for q in range(size) if rng.random() < 0.5]))


def true_claim(rng: Generator, subject: Subject) -> Document:
    """A claim of a random kind that is true of the model."""
    one, first = subject.moore, int(rng.integers(4))
    makers: list[Any] = [forcing_claim, cost_claim, computes_claim, deviates_claim]
    if one.accepts and not subject.every:
        makers += [recognises_claim, differs_claim, lengths_claim]
        makers += [other_language_claim] if len(subject.model.alphabet) == 2 else []
    for _ in range(20):
        claim: Document | None = makers[int(rng.integers(len(makers)))](rng, subject, first)
        if claim is not None:
            return claim
    return computes_claim(rng, subject, first)


def recognises_claim(rng: Generator, subject: Subject, first: int) -> Document | None:
    if subject.model.when is not None:
        return None
    language = Regular("own", "dfa:own", subject.moore.language())
    return {"kind": "recognises", "language": dfa_document(language), "from": first}


def differs_claim(rng: Generator, subject: Subject, first: int) -> Document | None:
    language = random_language(rng, subject.model.alphabet)
    wrong = difference(subject.moore, language, subject.markers, first)
    if wrong is None:
        return None
    claim = {"kind": "differs", "language": dfa_document(language), "word": list(wrong.word), "from": first}
    return claim | {"shortest": 1}


OTHERS = ("majority", "anbn", "palindromes", "dyck", "shuffle-dyck")


def other_language(rng: Generator, subject: Subject, bounded: float) -> Document:
    """A language with a stack or counters; with this probability brackets have a depth."""
    name, alphabet = OTHERS[int(rng.integers(len(OTHERS)))], list(subject.model.alphabet)
    language: Document = {"name": name, "alphabet": alphabet if rng.random() < 0.5 else alphabet[::-1]}
    if name == "dyck" and rng.random() < bounded:
        language["depth"] = int(rng.integers(1, 3))
    return language


def words_of(subject: Subject, first: int, stop: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """All words of the lengths from ``first`` on below ``stop``, markers counted, each with its length."""
    for n in range(max(1, subject.markers, first), stop):
        yield from ((n, word) for word in product(subject.model.alphabet, repeat=n - subject.markers))


def other_language_claim(rng: Generator, subject: Subject, first: int) -> Document | None:
    """A shortest difference from a language with a stack or counters."""
    language = other_language(rng, subject, 0.5)
    for _, word in words_of(subject, first, EVERY + 4):
        said = subject.moore.run(word)
        if said and (said == "accept") != member(language, list(word)):
            return {"kind": "differs", "language": language, "word": list(word), "from": first, "shortest": 1}
    return None


def lengths_claim(rng: Generator, subject: Subject, first: int) -> Document | None:
    """The set of lengths at which the model is wrong about a language."""
    if rng.random() < 0.3 or len(subject.model.alphabet) != 2:
        document = dfa_document(random_language(rng, subject.model.alphabet))
    else:
        document = other_language(rng, subject, 0.3)
    wrong = equations_of(moore(subject.built, merging=False), document)
    settled, turn = settled_pair(wrong)
    least, most = (possible_lengths(wrong, settled, turn, subject.markers, side).document() for side in (0, 1))
    claim: Document = {"kind": "lengths", "language": document, "settled": settled, "turn": turn}
    return claim | {"least": least, "most": most}


def forcing_claim(rng: Generator, subject: Subject, first: int) -> Document | None:
    name = subject.names[int(rng.integers(len(subject.names)))]
    pattern = cheapest_pattern(subject.moore, name, subject.markers)
    return None if pattern is None else pattern.claim()


def cost_claim(rng: Generator, subject: Subject, first: int) -> Document | None:
    name = subject.names[int(rng.integers(len(subject.names)))]
    return costs(moore(subject.built, merging=False), name, subject.markers).claim()


def machine_of(subject: Subject) -> Document:
    """The model's own labels as a machine."""
    if subject.every:
        return labels.bimachine_document(subject.built)
    return subject.moore.document(labels.named_labels(subject.moore.labels, subject.built.program.labels))


def computes_claim(rng: Generator, subject: Subject, first: int) -> Document:
    return {"kind": "computes", "machine": machine_of(subject), "from": 0 if subject.every else first}


def deviates_claim(rng: Generator, subject: Subject, first: int) -> Document | None:
    """Against the model's own machine with some labels changed."""
    machine = machine_of(subject)
    line = machine["table"][0] if subject.every else [machine["output"]]
    for row in line:
        for at, label in enumerate(row):
            if label >= 0 and rng.random() < 0.5:
                row[at] = int(rng.integers(len(machine["labels"])))
    low = 0 if subject.every else first
    for n, word in words_of(subject, low, EVERY + 2):
        for position in range(n) if subject.every else (None,):
            claim: Document = {"kind": "deviates", "machine": machine, "word": list(word), "from": low, "shortest": 1}
            claim |= {} if position is None else {"position": position}
            if truth(subject, claim):
                return claim
    return None


# ---------------------------------------------------------------- truth


PARITY: Document = {"format": "restrict-dfa/1", "start": 0, "accept": [1], "transitions": [[0, 1], [1, 0]]}
"""An odd number of the second symbol."""


def truth(subject: Subject, claim: Document) -> bool:
    """Whether a well-formed claim is true of the model."""
    language = claim.get("language", {})
    if language.get("name") == "parity" and "transitions" not in language:
        claim = claim | {"language": PARITY | {"alphabet": language["alphabet"]}}
    return {
        "recognises": true_agreement, "computes": true_agreement, "differs": true_difference,
        "deviates": true_difference, "forces": true_forcing, "cost": true_cost, "lengths": true_lengths,
    }[claim["kind"]](subject, claim)  # fmt: skip


def true_agreement(subject: Subject, claim: Document, most: int | None = None) -> bool:
    """All pairs of states, with their lengths up to where lengths no longer matter; or all short words."""
    first = max(claim["from"], 1)
    if subject.every:
        return agree_everywhere(subject, claim, EVERY if most is None else min(most, EVERY))
    todo: list[tuple[int, tuple[str, ...], int]] = [(0, (), subject.markers)]
    document = claim["language"] if "language" in claim else claim["machine"]
    if "transitions" not in document:
        return agree_on_short(subject, claim, most)
    seen = set()
    while todo:
        state, word, n = todo.pop(0)
        at = document.get("start", 0)
        for a in word:
            at = document["transitions"][at][document["alphabet"].index(a)]
        if (here := (state, at, min(n, first))) in seen:
            continue
        seen.add(here)
        if most is not None and n > most:
            return True
        said = subject.moore.labels[int(subject.moore.label[state])]
        if n >= first and said not in ("", other_label(subject.document, claim, word, -1)):
            return False
        for x, symbol in enumerate(subject.moore.alphabet):
            todo.append((int(subject.moore.delta[state, x]), (*word, symbol), n + 1))
    return True


def agree_on_short(subject: Subject, claim: Document, most: int | None) -> bool:
    """All words, one by one; a language that is not regular is never recognised at all lengths."""
    words = words_of(subject, claim["from"], (most if most is not None else EVERY + 4) + 1)
    return most is not None and all(agrees_at_the_end(subject, claim, word) for _, word in words)


def agrees_at_the_end(subject: Subject, claim: Document, word: tuple[str, ...]) -> bool:
    """Whether the model says of a word what the language or machine of a claim does, or nothing."""
    return subject.moore.run(word) in ("", other_label(subject.document, claim, word, -1))


def labels_at(subject: Subject, claim: Document, word: tuple[str, ...]) -> list[tuple[str, str]]:
    """What the model and the bimachine of a claim say at every position."""
    ours = subject.everywhere([subject.model.alphabet.index(a) for a in word])
    return [(said, other_label(subject.document, claim, word, i)) for i, said in enumerate(ours)]


def agree_everywhere(subject: Subject, claim: Document, most: int) -> bool:
    """All words of at most ``most`` positions."""
    pairs = (pair for _, word in words_of(subject, 1, most + 1) for pair in labels_at(subject, claim, word))
    return all(ours in ("", theirs) for ours, theirs in pairs)


def true_difference(subject: Subject, claim: Document) -> bool:
    """The word is one, and with ``shortest`` there is no shorter one."""
    word, n = tuple(claim["word"]), len(claim["word"]) + subject.markers
    if n < max(claim["from"], 1):
        return False
    if subject.every:
        ours, theirs = labels_at(subject, claim, word)[claim["position"]]
    else:
        ours, theirs = subject.moore.run(word), other_label(subject.document, claim, word, -1)
    if ours in ("", theirs):
        return False
    return not claim["shortest"] or true_agreement(subject, claim, n - 1)


def after(subject: Subject, states: frozenset[int], cell: str) -> frozenset[int]:
    """The states after a cell of a pattern."""
    columns = range(len(subject.moore.alphabet)) if cell == "*" else [subject.moore.alphabet.index(cell)]
    return frozenset(int(subject.moore.delta[q, x]) for q in states for x in columns)


def forced(subject: Subject, states: frozenset[int], label: str) -> bool:
    """Whether all states have the label, or are of a length at which the model is not defined."""
    return all(subject.moore.labels[int(subject.moore.label[q])] in (label, "") for q in states)


def true_forcing(subject: Subject, claim: Document) -> bool:
    """Length by length."""
    start, middle, end = claim["start"], claim["middle"], claim["end"]
    first = max(1, claim["from"])
    if len(start) + len(end) + subject.markers > first:
        return False
    spoken = False
    for n in range(first, first + LONG):
        free = n - subject.markers - len(start) - len(end)
        states = frozenset([0])
        for cell in [*start, *(middle[t % len(middle)] for t in range(free)), *end]:
            states = after(subject, states, cell)
        if not forced(subject, states, claim["label"]):
            return False
        spoken = spoken or not forced(subject, states, "")
    return spoken


def true_lengths(subject: Subject, claim: Document) -> bool:
    """Word by word, up to a length."""
    for n in range(FAR + subject.markers):
        wrong = not all(agrees_at_the_end(subject, claim, word) for _, word in words_of(subject, n, n + 1))
        if has(claim["least"], n) > wrong or wrong > has(claim["most"], n):
            return False
    return True


def true_cost(subject: Subject, claim: Document) -> bool:
    """Length by length, with the least cost of every set of states."""
    here: dict[frozenset[int], int] = {frozenset([0]): 0}
    for t in range(len(claim["costs"]) + LONG):
        least = min((c for s, c in here.items() if forced(subject, s, claim["label"])), default=-1)
        if t + subject.markers > 0 and claimed_cost(claim, t) != least:
            return False
        then: dict[frozenset[int], int] = {}
        for states, c in here.items():
            for cell in ("*", *subject.moore.alphabet):
                to = after(subject, states, cell)
                then[to] = min(then.get(to, c + 1), c + (cell != "*"))
        here = then
    return True
