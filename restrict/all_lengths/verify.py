"""Is a model right at every length? Against a language, and against another model."""

from typing import Any

from restrict.all_lengths.automaton import Progress, automaton
from restrict.all_lengths.bimachine import DEFAULT_STATES
from restrict.all_lengths.compare import difference, spelled
from restrict.all_lengths.equality import equal
from restrict.all_lengths.evidence import Counterexample, Proved, proved
from restrict.all_lengths.tried import try_difference, try_language, try_member
from restrict.base.errors import UsageError
from restrict.languages import source
from restrict.languages.protocol import Language
from restrict.languages.regular import Regular
from restrict.model.arguments import the_model
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
    """Does the model recognise a language at every length at which it is defined?

    With ``equals``: do two models say the same at every length at which both are defined? This does not depend on their
    order; ``defined_once`` of the result has the lengths at which exactly one is defined.

    Args:
        model: an order-only model with ``accept`` at the last position.
        language: a language or its specification; ``model:FILE`` is that of another model.
        equals: instead of a language, another model.
        first: the claim is about lengths from here on, markers counted (of two models: those of either).
        states: the state limit.
        progress: called with a line after each stage.

    Returns:
        A proof, or a shortest counterexample.

    Raises:
        UsageError: neither or both of language and equals; other symbols; no ``accept``.
        NotEstablished: a model is not order-only.
        ModelError: a model is not defined at any length, or the file in ``model:FILE`` is malformed.
        ResourceLimit: too large; or the comparison was not decided within its limit.
        Disagreement: a run of a model contradicts the answer, which is a bug.
    """
    if (language is None) == (equals is None):
        raise UsageError("give a language or a model to compare with, one of the two")
    if first < 0:
        raise UsageError(f"the first length {first} is negative")
    if equals is not None:
        return equal(the_model(model), the_model(equals), first, states, progress)
    the_model(model)
    assert language is not None
    read = named(language)  # before the long work, as it may be malformed
    found = automaton(model, states=states, progress=progress, keep=True)
    wrong = difference(found.acceptor(), read, len(model.markers), first)
    claim: dict[str, Any] = {"kind": "recognises", "language": spelled(read), "from": first}
    if wrong is None:
        try_language(found, read, first)
        return Proved(read.spec, first, found, proved(model, found, claim))
    claim |= {"kind": "differs", "word": list(wrong.word)}
    # The checker goes through all shorter configurations; of palindromes that is all words.
    claim["shortest"] = int(wrong.n <= 16 or not read.spec.startswith("palindromes"))
    try_difference(model, wrong, claim)
    try_member(read, model, wrong.word, wrong.member, claim)
    return Counterexample(read.spec, wrong, found, proved(model, found, claim), first=first)


def named(language: Language | str) -> Language:
    """A language from its specification, ``model:FILE`` included, else ``UsageError``: the file's model must be
    order-only (``NotEstablished``), have ``accept`` (``UsageError``) and be defined at some length (``ModelError``);
    ``ResourceLimit`` where the language, or the model's automaton, is too large."""
    if isinstance(language, str) and language.startswith("model:"):
        from restrict.model.source import load

        return language_of_model(load(language.removeprefix("model:")))
    return source.language(language)


def language_of_model(model: Model) -> Regular:
    """What an order-only model (else ``NotEstablished``) recognises, as a language. ``UsageError``: no ``accept`` at
    the last position; ``ModelError``: defined at no length; ``ResourceLimit``: its automaton is too large."""
    found = automaton(model)
    return Regular(f"the language of {model.name}", f"model:{model.source or model.name}", found.dfa())
