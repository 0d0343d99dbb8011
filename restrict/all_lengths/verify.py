"""The entry points: the automaton of a model, and what is proved of it at every length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from restrict.all_lengths import labels
from restrict.all_lengths.bimachine import DEFAULT_STATES, Limits
from restrict.all_lengths.compare import Difference, difference, needs_accept
from restrict.all_lengths.forcing import Costs, cheapest_restriction, costs
from restrict.all_lengths.moore import Moore, moore
from restrict.all_lengths.patterns import Pattern, cheapest_pattern
from restrict.all_lengths.program import UNDEFINED
from restrict.all_lengths.proof import document, to_bytes
from restrict.all_lengths.recognise import recognise
from restrict.all_lengths.stages import Built, Record, build
from restrict.checker.main import verify as check_proof
from restrict.errors import NotEstablished, ResourceLimit, UsageError
from restrict.htmltable import facts_table, grid_table
from restrict.languages.dfa import Dfa
from restrict.languages.protocol import Language
from restrict.languages.regular import Regular
from restrict.languages.source import language as language_of
from restrict.model.program import Model

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Automaton:
    """What a model computes at every length.

    ``moore``: the minimal automaton of the label at the last position. With output at every position ``built.machine``
    is the bimachine of all labels. ``account``: states on both sides after each stage.
    """

    model: Model
    built: Built
    moore: Moore

    @property
    def account(self) -> tuple[Record, ...]:
        """One record for each stage."""
        return self.built.account

    def dfa(self) -> Dfa:
        """The minimal automaton of the accepted words.

        Raises:
            UsageError: the output is at every position, or has no ``accept``.
        """
        return self.acceptor().language()

    @property
    def every(self) -> bool:
        """Whether the output is at every position."""
        return self.built.program.every

    def acceptor(self) -> Moore:
        """The automaton, of a model that recognises a language.

        Raises:
            UsageError: the output is at every position, or has no ``accept``.
        """
        if self.every:
            raise UsageError("the model has output at every position, so it recognises no language")
        needs_accept(self.moore)
        return self.moore

    def pattern(self, label: str) -> Pattern | None:
        """The cheapest pattern that forces a label of the last position at every length from some on, or ``None``.

        Raises:
            ResourceLimit: too many sets of states.
        """
        return cheapest_pattern(self.moore, label, len(self.model.markers))

    def costs(self, label: str) -> Costs:
        """The exact cost of forcing a label of the last position, at every length.

        Raises:
            ResourceLimit: too many sets of states, or no period up to a length.
        """
        return costs(self.moore, label, len(self.model.markers))

    def cheapest(self, label: str, n: int) -> tuple[str, ...] | None:
        """A restriction with the fewest fixed symbols that forces a label of the last position at length ``n``.

        Args:
            label: the label.
            n: the length, markers counted.

        Returns:
            A symbol or ``*`` (free) for each position without a marker; ``None`` where no restriction forces it.

        Raises:
            ResourceLimit: too many sets of states.
            UsageError: the markers alone are longer.
        """
        if n < max(1, len(self.model.markers)):
            raise UsageError(f"there are no inputs of length {n}")
        return cheapest_restriction(self.moore, label, n - len(self.model.markers))

    def _repr_html_(self) -> str:
        if self.moore is None:
            return facts_table(f"automaton of {self.model.name}", [("labels", "at every position, by a bimachine")])
        one = self.moore
        rows = [(q, one.labels[int(one.label[q])], *map(int, one.delta[q])) for q in range(one.states)]
        title = f"automaton of {self.model.name} at every length: {one.states} states, 0 is the start"
        return grid_table(title, ("state", "label", *one.alphabet), rows)

    def __repr__(self) -> str:
        return f"Automaton({self.model.name!r}, {self.built.machine if self.every else self.moore})"


def automaton(
    model: Model, *, states: int = DEFAULT_STATES, progress: Progress | None = None, keep: bool = False
) -> Automaton:
    """The automaton of an order-only model.

    Args:
        model: the model.
        states: the most states on either side, at any moment.
        progress: called with a line after each stage.
        keep: keep the layers, which a proof needs.

    Returns:
        The automaton, exact at every length at which the model is defined.

    Raises:
        NotEstablished: the model is not order-only; the message names the variable and the sub-expression.
        ResourceLimit: too large, with the variable.
    """
    built = build(recognise(model), Limits(states), progress, keep)
    return Automaton(model, built, moore(built))


@dataclass(frozen=True, eq=False)
class Proved:
    """The claim holds at every length ``n >= first`` at which the model is defined.

    ``proof``: the bytes of a ``restrict-automaton/1`` file, verified by the trusted checker, whose line is ``line``;
    ``None`` where the proof format does not cover the program, with the ``reason``. ``other``: where two models were
    compared, the same claim about the second one, and the same automaton.
    """

    what: str
    first: int
    automaton: Automaton
    proof: bytes | None = field(default=None, repr=False)
    line: str | None = None
    reason: str = ""
    other: Proved | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A shortest word on which the model is wrong: ``said`` by the model, ``member`` of the language."""

    what: str
    difference: Difference
    automaton: Automaton
    proof: bytes | None = field(default=None, repr=False)
    line: str | None = None
    reason: str = ""

    def __bool__(self) -> bool:
        return False


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
        ResourceLimit: too large; or a language that is not regular did not differ within the limit.
    """
    if (language is None) == (equals is None):
        raise UsageError("give a language or a model to compare with, one of the two")
    if first < 0:
        raise UsageError(f"the first length {first} is negative")
    if equals is not None and not (recogniser(model) and recogniser(equals)):
        return _same_labels(model, equals, first, states, progress)
    found = automaton(model, states=states, progress=progress, keep=True)
    other = named(language) if language is not None else language_of_model(equals, states=states)  # type: ignore[arg-type]
    what = f"language of {equals.name}" if equals is not None else other.spec
    one = found.acceptor()
    wrong = difference(one, other, len(model.markers), first)
    claim: dict[str, Any] = {"kind": "recognises", "language": spelled(other), "from": first}
    if wrong is not None:
        claim |= {"kind": "differs", "word": list(wrong.word)}
        # The checker goes through all shorter configurations; of palindromes that is all words.
        claim["shortest"] = int(wrong.n <= 16 or not other.spec.startswith("palindromes"))
        return Counterexample(what, wrong, found, *proved(model, found, claim))
    second = None
    if equals is not None:
        mirror = automaton(equals, states=states, keep=True)
        second = Proved(what, first, mirror, *proved(equals, mirror, claim))
    return Proved(what, first, found, *proved(model, found, claim), second)


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
        return Counterexample(what, wrong, found[0], *proved(one, found[0], claim))
    second = Proved(what, first, found[1], *proved(two, found[1], claim))
    return Proved(what, first, found[0], *proved(one, found[0], claim), second)


def named(language: Language | str) -> Language:
    """A language from its specification, ``model:FILE`` included."""
    if isinstance(language, str) and language.startswith("model:"):
        from restrict.model.source import load

        return language_of_model(load(language.removeprefix("model:")))
    return language_of(language)


def language_of_model(model: Model, *, states: int = DEFAULT_STATES) -> Regular:
    """What an order-only model recognises, as a language.

    Raises:
        NotEstablished: the model is not order-only.
        UsageError: it has no ``accept`` at the last position.
    """
    found = automaton(model, states=states)
    return Regular(f"the language of {model.name}", f"model:{model.source or model.name}", found.dfa())


def spelled(language: Language) -> dict[str, Any]:
    """A language as the checker reads it."""
    if isinstance(language, Regular):
        dfa = language.dfa
        content = {"format": "restrict-dfa/1", "name": language.spec, "alphabet": list(dfa.alphabet), "start": 0}
        return content | {"accept": sorted(dfa.accept), "transitions": [list(row) for row in dfa.delta]}
    name = language.spec.partition(":")[0]
    if name in ("majority", "anbn", "palindromes", "dyck", "shuffle-dyck"):
        return {"name": name, "alphabet": list(language.alphabet)}
    return {"unchecked": language.spec}


def proved(model: Model, found: Automaton, claim: dict[str, Any]) -> tuple[bytes | None, str | None, str]:
    """A proof of a claim, and the trusted checker's line; or neither, and why.

    Raises:
        NotEstablished: the checker refuses the proof, which is a bug.
    """
    if "unchecked" in claim.get("language", ()):
        return None, None, "the checker does not have this language"
    try:
        content = to_bytes(document(model, found.built, claim))
    except NotEstablished as error:
        return None, None, str(error)
    if model.content is None or len(content) > 64 << 20:
        return None, None, "the proof would be larger than 64 MiB" if model.content else "the model has no file"
    return content, run_checker(model, content), ""


def run_checker(model: Model, content: bytes) -> str | None:
    """The trusted checker's line; ``None`` where that takes too many steps.

    Raises:
        NotEstablished: the checker refuses the proof, which is a bug.
    """
    from restrict.checker.account import Reject

    assert model.content is not None
    folder = model.source.parent if model.source is not None else "."
    try:
        return check_proof(model.content, content, folder=folder, model_name=model.name, certificate_name="the proof")
    except Reject as reject:
        if reject.code == 5:
            return None
        raise NotEstablished(f"the trusted checker refuses the proof, which is a bug: {reject}") from None


def certify_all_lengths(
    model: Model, *, label: str | None = None, states: int = DEFAULT_STATES, progress: Progress | None = None
) -> tuple[Pattern, Proved]:
    """The cheapest pattern of fixed symbols that forces a label of the last position at every length, with its proof.

    Args:
        model: an order-only model.
        label: the label; the cheapest one where not given.
        states: the state limit.
        progress: called with a line after each stage.

    Returns:
        The pattern and the proof.

    Raises:
        UsageError: no value of the output has this label.
        NotEstablished: not order-only, or no pattern of the form ``start * ... * end`` forces a label.
        ResourceLimit: too large.
    """
    found = automaton(model, states=states, progress=progress, keep=True)
    wanted = [label] if label is not None else labels_of(found)
    patterns = [p for name in wanted if (p := found.pattern(known_label(found, name))) is not None]
    if not patterns:
        which = "a label" if label is None else f"the label {label!r}"
        raise NotEstablished(
            f"no pattern `start middle middle ... end` with a middle of up to four cells forces {which} at every length"
        )
    best = min(patterns, key=lambda p: (p.share, p.cost))
    return best, Proved(f"{best.text()} forces {best.label}", best.first, found, *proved(model, found, best.claim()))


def certify_costs(
    model: Model,
    label: str,
    *,
    states: int = DEFAULT_STATES,
    progress: Progress | None = None,
) -> tuple[Costs, Proved]:
    """The exact cost of forcing a label of the last position at every length, with its proof.

    Args:
        model: an order-only model.
        label: the label.
        states: the state limit.
        progress: called with a line after each stage.

    Returns:
        The costs and the proof: the least costs of all sets of states that fixed and free positions reach, length by
        length until they are settled, are both the upper and the lower bound.

    Raises:
        UsageError: no value of the output has this label.
        NotEstablished: not order-only.
        ResourceLimit: too large.
    """
    found = automaton(model, states=states, progress=progress, keep=True)
    values = found.costs(known_label(found, label))
    try:  # of the states that the checker walks, which need not be the fewest
        claim = costs(moore(found.built, merging=False), label, len(model.markers)).claim()
    except ResourceLimit as error:
        return values, Proved(f"cost of {label}", 1, found, None, None, str(error))
    return values, Proved(f"cost of {label}", 1, found, *proved(model, found, claim))


def labels_of(found: Automaton) -> list[str]:
    """The labels that values of the output have."""
    return [name for name in found.built.program.labels if name != UNDEFINED]


def known_label(found: Automaton, label: str) -> str:
    """A label, if the model has it.

    Raises:
        UsageError: it does not.
    """
    if label not in labels_of(found):
        some = ", ".join(repr(name) for name in labels_of(found)[:20])
        raise UsageError(f"no value of the output has the label {label!r}; the labels are {some}")
    return label


__all__ = [
    "Automaton",
    "Counterexample",
    "Proved",
    "ResourceLimit",
    "automaton",
    "certify_all_lengths",
    "certify_costs",
    "verify",
]
