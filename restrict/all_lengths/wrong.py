"""The set of all lengths at which a model is wrong about a language on some word. For regular languages: the sets of
pairs of states that words of one length reach, until one repeats. For Dyck, MAJORITY, ``a^n b^n`` and palindromes the
words on which both differ are context-free, so their lengths are ultimately periodic, too. They solve a system of
equations between sets of lengths (:mod:`restrict.checker.lengths`), which is solved number by number until a period
passes the test of Theorem E (:mod:`restrict.checker.equations`); the checker repeats this test. For shuffles of
brackets the lengths lie between two such sets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from restrict.all_lengths.automaton import Automaton
from restrict.all_lengths.bimachine import DEFAULT_STATES
from restrict.all_lengths.compare import needs_accept, spelled
from restrict.all_lengths.evidence import Counterexample, Evidence, Evidenced, Proved, proved
from restrict.all_lengths.lengths import Lengths, shortest_lengths
from restrict.all_lengths.moore import Moore, moore
from restrict.all_lengths.program import UNDEFINED
from restrict.all_lengths.tried import try_language, try_wrong_word
from restrict.all_lengths.verify import named, verify
from restrict.all_lengths.witness import wrong_word
from restrict.base.errors import ResourceLimit, UsageError
from restrict.base.wording import spoken
from restrict.checker import refutation
from restrict.checker.account import Meter, Place, Reject
from restrict.checker.equations import System
from restrict.checker.lengths import Walked, Wrong, errors_of
from restrict.languages.dfa import Dfa
from restrict.languages.protocol import Language
from restrict.languages.regular import Regular
from restrict.languages.walk import until_repeat
from restrict.model.program import Model
from restrict.trial.run import defined_at

MAX_SETS = 100_000
MAX_STEPS = 100_000_000
"""The most work, in the checker's steps, that goes into a system of equations."""
MAX_LENGTH = 2_000
TRIED = (*range(1, 9), 13, 22, 37)
"""At these lengths, where they are in the set, a word is made and run."""


def wrong_about_automaton(automaton: Moore, dfa: Dfa, markers: int) -> Lengths:
    """The lengths ``n``, markers counted, at which some word is labelled wrongly: exactly. ``UsageError``: the model
    has no ``accept``; ``ResourceLimit``: the sets of pairs have too long a period."""
    needs_accept(automaton)
    theirs = dfa.table[[dfa.index[a] for a in automaton.alphabet]]
    step = (automaton.delta.T[:, :, None] * dfa.states + theirs[:, None, :]).reshape(len(theirs), -1)
    names = np.array(automaton.said)
    defined, said = names != UNDEFINED, names == "accept"
    wrong = (defined[:, None] & (said[:, None] != dfa.target(True)[None, :])).reshape(-1)

    def after(states: bytes) -> bytes:
        then = np.zeros_like(wrong)
        for row in step:
            then[row[np.frombuffer(states, dtype=np.bool_)]] = True
        return bytes(then.tobytes())

    most = min(MAX_SETS, (1 << 30) // len(wrong))
    refusal = f"the lengths at which the model is wrong have no period up to {most}"
    sets, start = until_repeat((np.arange(len(wrong)) == 0).tobytes(), after, most, refusal)
    found = [bool((np.frombuffer(states, dtype=np.bool_) & wrong).any()) for states in sets]
    history = [False] * markers + [one and markers + t > 0 for t, one in enumerate(found)]
    return shortest_lengths(history[: start + markers], history[start + markers :])


@dataclass(frozen=True, eq=False)
class WrongLengths(Evidenced):
    """The lengths ``n``, markers counted, at which a model is wrong on some word: all in ``least``, and none outside
    ``most``. For most languages the two sets are equal (``exact``). ``example``: a shortest word on which the model is
    wrong."""

    least: Lengths
    most: Lengths
    example: Counterexample
    evidence: Evidence = field(default=Evidence(), repr=False)
    _words: Callable[[int], list[int] | None] | None = field(default=None, repr=False)
    _language: Language | None = field(default=None, repr=False)

    def word(self, n: int) -> tuple[str, ...]:
        """A word on which the model is wrong, at a length of ``least``.

        Args:
            n: the length, markers counted.

        Returns:
            The word, without markers.

        Raises:
            UsageError: the model is not known to be wrong at this length, or its equations were too many.
            Disagreement: a run of the model contradicts it, which is a bug.
        """
        model = self.automaton.model
        letters = self._words(n - len(model.markers)) if self._words is not None and n in self.least else None
        if letters is None:
            raise UsageError(f"no word of length {n} is known on which {model.name} is wrong")
        word = tuple(self.automaton.moore.alphabet[x] for x in letters)
        if self._language is not None:
            try_wrong_word(model, self._language, word)
        return word

    @property
    def exact(self) -> bool:
        """Whether the set is known exactly."""
        return self.least == self.most

    @property
    def what(self) -> str:  # type: ignore[override] # read-only, as the others are, which are frozen
        """The language."""
        return self.example.what

    @property
    def automaton(self) -> Automaton:  # type: ignore[override]
        """The model's automaton."""
        return self.example.automaton

    def claim(self) -> str:
        """Where the model is wrong, in words."""
        return f"{self.automaton.model.name} about {self.what}: {self.text()}"

    def text(self) -> str:
        """The wrong lengths in words."""
        if self.exact:
            return f"wrong at exactly these lengths: {self.least.text()}"
        return f"wrong at these lengths: {self.least.text()}; and at no others but perhaps {self.most.text()}"


def wrong_lengths(
    model: Model,
    language: Language | str,
    *,
    states: int = DEFAULT_STATES,
    progress: Callable[[str], None] | None = None,
) -> WrongLengths | Proved:
    """The set of all lengths at which a model is wrong about a language.

    Args:
        model: an order-only model with ``accept`` at the last position.
        language: a language or its specification: regular, Dyck, MAJORITY, ``a^n b^n``, palindromes or a shuffle.
        states: the state limit.
        progress: called with a line after each stage.

    Returns:
        The set, with a proof; or a proof that the model is right at every length.

    Raises:
        UsageError: other symbols; no ``accept``.
        NotEstablished: the model is not order-only.
        ModelError: the model is not defined at any length.
        ResourceLimit: too large; or the set is not computed for this language. :func:`verify` then still gives a
            shortest word.
    """
    found = refute_all_lengths(model, language, states=states, progress=progress)
    if isinstance(found, Proved):
        return found
    if found.lengths is None:
        raise ResourceLimit(found.reason)
    return found.lengths


@dataclass(frozen=True, eq=False)
class Refuted:
    """A shortest word on which a model is wrong about a language, and the ``lengths`` at which it is wrong on some
    word; ``None`` where the set is not known, with the ``reason``. ``at``: a length, and such a word of that length."""

    language: str
    example: Counterexample
    lengths: WrongLengths | None
    reason: str = ""
    at: tuple[int, tuple[str, ...]] | None = None

    @property
    def answer(self) -> WrongLengths | Counterexample:
        """What is proved: of the lengths, or else of the word."""
        return self.example if self.lengths is None or self.lengths.proof is None else self.lengths

    def document(self) -> dict[str, Any]:
        """Word, lengths and proof as JSON."""
        wrong, where = self.example.difference, self.lengths
        out = Evidenced.document(self.answer) | {"word": list(wrong.word), "n": wrong.n}
        out["exact"] = where is not None and where.exact
        out["lengths"] = None if where is None else where.least.document()
        out["at_most"] = None if where is None else where.most.document()
        out |= {} if self.at is None else {"word_at": {"n": self.at[0], "word": list(self.at[1])}}
        return out | {"reason": self.reason or None}

    def text(self, path: str | Path | None = None) -> str:
        """A shortest word, the lengths and the proof, which is in the file ``path``, in words."""
        model, wrong = self.example.automaton.model, self.example.difference
        first = f"wrong at n = {wrong.n}, the first such length"
        told = [f"{model.name} does not recognise {self.language}"]
        told.append(f"  {first if self.lengths is None else self.lengths.text()}")
        told += [f"  {self.reason}"] if self.reason else []
        member = "a member" if wrong.member else "not a member"
        told.append(f"  shortest word: {spoken(wrong.word)} (n = {wrong.n}): {member}, the model says {wrong.said!r}")
        told += [] if self.at is None else [f"  at n = {self.at[0]}: {spoken(self.at[1])}"]
        return "\n".join([*told, self.answer.proof_text(path)])


def refute_all_lengths(
    model: Model,
    language: Language | str,
    *,
    n: int | None = None,
    states: int = DEFAULT_STATES,
    progress: Callable[[str], None] | None = None,
) -> Refuted | Proved:
    """Where a model is wrong about a language, or that it is right at every length. ``n``: with a word of this length,
    markers counted. ``ResourceLimit``: too large, or a word of length ``n`` was asked for and the set is not known;
    other errors are those of :func:`wrong_lengths`."""
    read = named(language)
    found = verify(model, read, states=states, progress=progress)
    if isinstance(found, Proved):
        return found
    try:
        where, reason = lengths_of(model, read, found), ""
    except ResourceLimit as error:
        if n is not None:
            raise
        where, reason = None, str(error)
    return Refuted(read.spec, found, where, reason, None if n is None or where is None else (n, where.word(n)))


def lengths_of(model: Model, language: Language, example: Counterexample) -> WrongLengths:
    """The set, from a shortest wrong word. ``ResourceLimit``: too large, or not computed for this language."""
    markers, document = len(model.markers), spelled(language)
    known = None
    if isinstance(language, Regular):
        known = wrong_about_automaton(example.automaton.moore, language.dfa, markers)
    try:
        wrong = equations_of(moore(example.automaton.built, merging=False), document)
        settled = settled_pair(wrong)
    except ResourceLimit as error:
        if known is None:
            raise
        try_language(example.automaton, language, 1, known)
        return WrongLengths(known, known, example, Evidence(reason=str(error)))
    least, most = (possible_lengths(wrong, *settled, markers, side) if known is None else known for side in (0, 1))
    claim: dict[str, Any] = {"kind": "lengths", "language": document, "settled": settled[0]}
    claim |= {"turn": settled[1], "least": least.document(), "most": most.document()}
    try_language(example.automaton, language, 1, most)
    evidence = proved(model, example.automaton, claim)
    found = WrongLengths(least, most, example, evidence, partial(wrong_word, wrong, *settled), language)
    for n in TRIED:
        if n in least and defined_at(model, n) is not None:
            found.word(n)
    return found


def equations_of(automaton: Moore, document: dict[str, Any]) -> Wrong:
    """The equations, not yet solved, of the lengths of words on which an automaton (labels ``accept``, ``reject``, and
    others that are never wrong) and a language, as the checker reads it, differ. ``ResourceLimit``: too many, or not
    made for it."""
    if "unchecked" in document:
        raise ResourceLimit(f"the set of lengths is not computed for {document['unchecked']}; the first one is known")
    said = [0 if name == "reject" else 1 if name == "accept" else 2 for name in automaton.said]
    meter = Meter(MAX_STEPS)
    language = refutation.Language(document, Place("language"), meter)
    order = [language.symbols[a] for a in automaton.alphabet]
    try:
        return errors_of(Walked(automaton.delta.tolist(), said, order), language, meter)
    except Reject:
        raise ResourceLimit(
            f"the set of lengths is not known: too many equations for an automaton of {automaton.states} states"
        ) from None


def settled_pair(wrong: Wrong) -> tuple[int, int]:
    """The length from which on all sets repeat, and their period (Theorem E); the equations are solved on the way.
    ``ResourceLimit``: none was found."""
    system, most = wrong.system, 32
    while most <= MAX_LENGTH:
        try:
            system.extend(most)
        except Reject:
            break
        for turn in range(1, most // 2 - 2):
            first = _repeats(system, turn, most)
            if 2 * first + 2 * turn + 4 <= most:
                return first, turn
        most *= 2
    raise ResourceLimit(f"the set of lengths is not known: {len(system.names)} equations have no period up to {most}")


def _repeats(system: System, turn: int, most: int) -> int:
    """From which number on all sets agree with a period."""
    window = (1 << (most - turn)) - 1
    return max((((m ^ (m >> turn)) & window).bit_length() for m in system.members), default=0)


def possible_lengths(wrong: Wrong, first: int, turn: int, markers: int, side: int) -> Lengths:
    """The lengths, ``markers`` counted, at which the model is certainly (``side`` 0) or possibly (1) wrong, from solved
    equations whose sets repeat from ``first`` on with the period ``turn``."""
    low = max(1, markers)
    found = [n >= low and wrong.at(n - markers, first, turn)[side] for n in range(max(first + markers, 1) + turn)]
    return shortest_lengths(found[:-turn], found[-turn:])
