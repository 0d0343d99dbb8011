"""Is a model right at every length? Against a language, and against another model."""

from __future__ import annotations

from typing import Any

from restrict.all_lengths import labels
from restrict.all_lengths.automaton import Progress, automaton
from restrict.all_lengths.bimachine import DEFAULT_STATES
from restrict.all_lengths.compare import difference
from restrict.all_lengths.evidence import Counterexample, Proved, proved, spelled
from restrict.arguments import the_model
from restrict.errors import UsageError
from restrict.languages.protocol import Language
from restrict.languages.regular import Regular
from restrict.languages.source import language as language_of
from restrict.model.program import Model


def verify(
    model: Model,
    language: Language | str | None = None,
    *,
    equals: Model | None = None,
    first: int = 0,
    states: int = DEFAULT_STATES,
    progress: Progress | None = None,
) -> Proved | Counterexample:
    """Does the model recognise a language at every length?

    Args:
        model: an order-only model with ``accept`` at the last position.
        language: a language or its specification; ``model:FILE`` is that of another model.
        equals: instead of a language, another model.
        first: the claim is about lengths from here on, markers counted.
        states: the state limit.
        progress: called with a line after each stage.

    Returns:
        A proof, or a shortest counterexample.

    Raises:
        UsageError: neither or both of language and equals; other symbols; no ``accept``.
        NotEstablished: a model is not order-only.
        ModelError: a model is not defined at any length, or the file in ``model:FILE`` is malformed.
        ResourceLimit: too large; or the comparison was not decided within its limit.
    """
    if (language is None) == (equals is None):
        raise UsageError("give a language or a model to compare with, one of the two")
    if first < 0:
        raise UsageError(f"the first length {first} is negative")
    if equals is not None and not (recogniser(the_model(model)) and recogniser(the_model(equals))):
        return _same_labels(model, equals, first, states, progress)
    the_model(model)
    read = named(language) if language is not None else None  # before the long work, as it may be malformed
    found = automaton(model, states=states, progress=progress, keep=True)
    other = read or language_of_model(equals, states=states)  # type: ignore[arg-type]
    what = f"language of {equals.name}" if equals is not None else other.spec
    one = found.acceptor()
    wrong = difference(one, other, len(model.markers), first)
    claim: dict[str, Any] = {"kind": "recognises", "language": spelled(other), "from": first}
    if wrong is not None:
        claim |= {"kind": "differs", "word": list(wrong.word)}
        # The checker goes through all shorter configurations; of palindromes that is all words.
        claim["shortest"] = int(wrong.n <= 16 or not other.spec.startswith("palindromes"))
        return Counterexample(what, wrong, found, proved(model, found, claim))
    second = None
    if equals is not None:
        mirror = automaton(equals, states=states, keep=True)
        second = Proved(what, first, mirror, proved(equals, mirror, claim))
    return Proved(what, first, found, proved(model, found, claim), second)


def recogniser(model: Model) -> bool:
    """Whether a model's output says which words it accepts."""
    return model.output.accept is not None and model.output.position == "last"


def _same_labels(one: Model, two: Model, first: int, states: int, progress: Progress | None) -> Proved | Counterexample:
    """Two models that do not both recognise a language: whether they have the same labels."""
    found = [automaton(model, states=states, progress=progress, keep=True) for model in (one, two)]
    built = [a.built for a in found]
    labels.comparable(built[0].program, built[1].program)
    what = f"labels of {two.name}"
    every = found[0].every
    if every and first > 1:
        raise UsageError("with output at every position --from is not available")
    if every:
        wrong, machine = labels.difference_anywhere(built[0], built[1]), labels.bimachine_document(built[1])
    else:
        ends = (len(one.markers), len(two.markers))
        if ends[0] != ends[1] and (one.when is not None or two.when is not None):
            raise UsageError("models with different markers and `when` have no common lengths to compare")
        wrong = labels.difference_at_the_end(found[0].moore, found[1].moore, ends, first)
        machine = labels.automaton_document(built[1].program, found[1].moore)
    claim: dict[str, Any] = {"kind": "computes", "machine": machine, "from": first}
    if wrong is not None:
        claim |= {"kind": "deviates", "word": list(wrong.word), "shortest": 1}
        claim |= {"position": wrong.position} if every else {}
        return Counterexample(what, wrong, found[0], proved(one, found[0], claim))
    second = Proved(what, first, found[1], proved(two, found[1], claim))
    return Proved(what, first, found[0], proved(one, found[0], claim), second)


def named(language: Language | str) -> Language:
    """A language from its specification, ``model:FILE`` included.

    Raises:
        UsageError: the specification is wrong, or a file cannot be read, or the model in it has no ``accept``.
        ModelError: a file is malformed, or the model in it is not defined at any length.
        NotEstablished: the model in the file is not order-only.
        ResourceLimit: the language, or the automaton of the model, is too large.
    """
    if isinstance(language, str) and language.startswith("model:"):
        from restrict.model.source import load

        return language_of_model(load(language.removeprefix("model:")))
    return language_of(language)


def language_of_model(model: Model, *, states: int = DEFAULT_STATES) -> Regular:
    """What an order-only model recognises, as a language.

    Raises:
        NotEstablished: the model is not order-only.
        UsageError: it has no ``accept`` at the last position.
        ModelError: it is not defined at any length.
        ResourceLimit: its automaton is too large.
    """
    found = automaton(model, states=states)
    return Regular(f"the language of {model.name}", f"model:{model.source or model.name}", found.dfa())
