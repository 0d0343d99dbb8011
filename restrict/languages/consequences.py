"""The facts about a language, and what they imply for transformers, each statement with the theorem behind it.

The theorems speak about different machines; the statements say which:

- Hahn (2020), Theorem 1: unique hard attention, a fixed number of layers and heads, arbitrary activation functions
  and position embeddings, lengths beyond some (enormous) ``n0``. For every ``C < 1`` a restriction with ``C n`` free
  positions leaves an output that depends on at most ``c`` inputs; fixing those too decides the output with at most
  ``(1 - C) n + c`` symbols. So a language that such a model recognises has, at all large ``n``, forcing cost below
  any ``rate * n``.
- Yang, Chiang and Angluin (2024): unique hard attention with strict masking and *no* position embeddings recognises
  exactly the star-free languages; with sinusoidal position embeddings, exactly the regular languages in AC0.
- Hao, Angluin and Frank (2022): unique hard attention, with any position embeddings, is within AC0.

Averaging, counting and soft attention are outside all of these.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from restrict.base.errors import ResourceLimit
from restrict.base.wording import counted, fixed_spans, parts
from restrict.languages.dyck import Dyck
from restrict.languages.growth import Growth
from restrict.languages.monoid import Aperiodicity
from restrict.languages.protocol import Forcing, Language
from restrict.languages.regular import Regular
from restrict.languages.shuffle import ShuffleDyck
from restrict.languages.varieties import Varieties
from restrict.model.restriction import Restriction

T = TypeVar("T")
HAHN = "Hahn 2020, Theorem 1"
COROLLARY = "Hahn 2020, Theorem 1 and Corollary 2"
YANG = "Yang, Chiang & Angluin 2024 (star-free)"
HAO = "Hao, Angluin & Frank 2022 (AC0)"
POSITIONS = "Yang, Chiang & Angluin 2024 (position embeddings)"
ANY = "unique hard attention, any position embeddings"
MASKED = "masked unique hard attention without position embeddings"
SINUSOIDAL = "masked unique hard attention with sinusoidal position embeddings"
MACHINE = (
    "hard-attention transformer with fixed layers and heads, whatever its position embeddings, right at all lengths"
)


UNDECIDED = "unknown: decided for regular languages and the built-in ones only"


@dataclass(frozen=True)
class Unknown:
    """No answer, and why."""

    reason: str

    def text(self) -> str:
        """That it is not known, in words."""
        return f"unknown: {self.reason}"

    def document(self) -> dict[str, str]:
        """That it is not known, as JSON."""
        return {"unknown": self.reason}


def tried(question: Callable[..., T], *about: Any) -> T | Unknown:
    """The answer to a question; :class:`Unknown` where it is out of reach."""
    try:
        return question(*about)
    except ResourceLimit as error:
        return Unknown(str(error))


@dataclass(frozen=True)
class Facts:
    """A language at length ``n``. ``into`` and ``out`` are the forcing costs of membership and non-membership, under
    ``pre`` if given (``None``: no such word exists); the growth is without a pre-restriction. ``star_free``, ``ac0``
    and ``classes`` are ``None`` where the question does not arise: the language is not known to be regular."""

    language: Language
    n: int
    pre: Restriction | None
    into: Forcing | Unknown | None
    out: Forcing | Unknown | None
    growth_in: Growth | Unknown
    growth_out: Growth | Unknown
    star_free: Aperiodicity | Unknown | None
    ac0: Aperiodicity | Unknown | None
    sensitivity: int | Unknown
    classes: Varieties | None

    def text(self) -> str:
        """The facts and what follows from them, in words.

        Returns:
            Lines.
        """
        language, n, most = self.language, self.n, self.sensitivity
        words = counted(n, "symbol")
        lines = [
            f"{language.name} ({language.spec}) over {' '.join(language.alphabet)[:60]}, words of {words}"
            + ("" if self.pre is None else f", {len(self.pre.fixed)} of them fixed beforehand")
            + ("" if language.exact else "; answers by search where there is no dynamic programming"),
            *self._forcing("into L", self.into),
            *self._forcing("out of L", self.out),
            *self._growth("into L", self.growth_in),
            *self._growth("out of L", self.growth_out),
            f"  star-free          {UNDECIDED if self.star_free is None else self.star_free.text()}",
            *([] if self.ac0 is None else [f"  in AC0             {self.ac0.text()}"]),
            *([] if self.classes is None else self.classes.lines()),
            "  sensitivity        "
            + (
                most.text() if isinstance(most, Unknown)
                else f"{most} (exact: the most pivotal positions of a word of {words})"
            ),
            "  what follows",
        ]  # fmt: skip
        return "\n".join([*lines, *(f"    [{c.theorem}] {c.text}" for c in consequences(self))])

    def document(self) -> dict[str, Any]:
        """The facts and what follows from them, as JSON.

        Returns:
            An object.
        """
        costs, most = {"in": self.into, "out": self.out}, self.sensitivity
        return {
            "language": parts(self.language, "name spec alphabet exact"),
            "n": self.n,
            "pre": None if self.pre is None else self.pre.to_json(),
            "forcing": {at: {"possible": False} if x is None else x.document() for at, x in costs.items()},
            "growth": {"in": self.growth_in.document(), "out": self.growth_out.document()},
            "star_free": self.star_free and self.star_free.document(),
            "ac0": self.ac0 and self.ac0.document(),
            "classes": self.classes and self.classes.document(),
            "sensitivity": most.document() if isinstance(most, Unknown) else int(most),
            "consequences": [vars(c) for c in consequences(self)],
        }

    def _growth(self, title: str, answer: Growth | Unknown) -> list[str]:
        """What holds at all lengths is about the language itself, and not about what is fixed beforehand."""
        head = f"  growth {title:<12}{'' if self.pre is None else 'without the pre-restriction: '}"
        if isinstance(answer, Unknown):
            return [f"{head}{answer.text()}"]
        return [f"{head}{what} (exact, {where}; {answer.proof})" for where, what in answer.lines()]

    def _forcing(self, title: str, answer: Forcing | Unknown | None) -> list[str]:
        head = f"  force {title:<13}"
        if answer is None:
            under = " with this pre-restriction" if self.pre else ""
            return [f"{head}impossible (exact: there is no such word{under})"]
        if isinstance(answer, Unknown):
            return [f"{head}{answer.text()}"]
        beyond = " beyond the pre-restriction" if self.pre is not None else ""
        lines = [f"{head}{counted(answer.cost, 'fixed symbol')}{beyond} (exact minimum; {answer.method})"]
        if answer.cost:
            fresh = answer.restriction.release(self.pre.fixed if self.pre is not None else {})
            lines.append(f"                     {fixed_spans(fresh.to_json())}")
        return lines

    def __repr__(self) -> str:
        return f"Facts({self.language.spec!r}, n={self.n})"


@dataclass(frozen=True)
class Consequence:
    """``verdict`` about the transformers of ``scope``: ``excluded`` (none recognises the language), ``possible`` (one
    does), or ``open`` (nothing follows)."""

    theorem: str
    scope: str
    verdict: str
    text: str


def consequences(facts: Facts) -> list[Consequence]:
    """What follows, theorem by theorem.

    Source: Hahn 2020; Hao, Angluin & Frank 2022; Yang, Chiang & Angluin 2024 (see the module). Result: the statements,
    each with its theorem and scope, in the order forcing cost, star-freeness, AC0."""
    return [*_by_forcing(facts), *_by_star_freeness(facts), *_by_circuits(facts)]


def linear_residue(into: Growth, out: Growth) -> tuple[int, int, Fraction | None] | None:
    """The least residue, and its modulus (the product of both periods), at which the costs of forcing membership
    (``into``) and non-membership (``out``) are linear, with the smaller rate in symbols per position (``None``: not
    computed)."""
    period = into.period * out.period
    for r in range(period):
        one, two = into.cases[r % into.period], out.cases[r % out.period]
        if one.kind == two.kind == "linear":
            rate = None if one.rate is None or two.rate is None else min(one.rate, two.rate)
            return r, period, rate
    return None


def _by_forcing(facts: Facts) -> list[Consequence]:
    language = facts.language
    if isinstance(language, Dyck | ShuffleDyck):
        return [_dyck(language)]
    if not isinstance(facts.growth_in, Growth) or not isinstance(facts.growth_out, Growth):
        return [Consequence(HAHN, ANY, "open", "the growth of the forcing cost is not known, so nothing follows")]
    found = linear_residue(facts.growth_in, facts.growth_out)
    if found is None:
        text = (
            "excludes nothing: at every large length a constant number of symbols forces membership or non-membership"
        )
        if not any(isinstance(f, Aperiodicity) and f.aperiodic for f in (facts.star_free, facts.ac0)):
            text += ". (A pre-restriction may change that, as it does for Dyck.)"
        return [Consequence(HAHN, ANY, "open", text)]
    residue, period, rate = found
    where = "all large n" if period == 1 else f"large n = {residue} mod {period}"
    symbols = "n symbols" if rate == 1 else f"{rate} n symbols"
    least = "a fixed share of the positions" if rate is None else f"{symbols}, up to a constant"
    text = f"no {MACHINE}: deciding membership takes {least}, at {where}, and such a model's output takes fewer"
    return [Consequence(HAHN, ANY, "excluded", text)]


def _dyck(language: Dyck | ShuffleDyck) -> Consequence:
    text = (
        f"no {MACHINE}: with the first 20 % openers and the last 20 % closers, deciding membership still takes "
        "over n/5 symbols (exact: floor(n/5) + 1, even n >= 2)"
    )
    if language.k > 1:
        text += (
            ". This is said of the words over one type of bracket, which are Dyck-1: with all types allowed, one or "
            "two brackets that clash force non-membership even after the pre-restriction"
        )
    return Consequence(COROLLARY, ANY, "excluded", text)


def _by_star_freeness(facts: Facts) -> list[Consequence]:
    found = facts.star_free
    if found is None or not isinstance(found, Aperiodicity):
        return [Consequence(YANG, MASKED, "open", "star-freeness is not known, so nothing follows")]
    if found.aperiodic:
        text = (
            "star-free: a masked hard-attention transformer without position embeddings recognises it at every length "
            "(so no restriction can refute every model)"
        )
        return [Consequence(YANG, MASKED, "possible", text)]
    text = (
        "not star-free: no masked hard-attention transformer without position embeddings recognises it. With position "
        "embeddings, which the models here may use, this alone excludes nothing"
    )
    return [Consequence(YANG, MASKED, "excluded", text)]


def _by_circuits(facts: Facts) -> list[Consequence]:
    if not isinstance(facts.language, Regular) or not isinstance(facts.ac0, Aperiodicity):
        return []
    if facts.ac0.aperiodic:
        if isinstance(facts.star_free, Aperiodicity) and facts.star_free.aperiodic:
            return []
        text = "a regular language in AC0: masked hard attention with sinusoidal position embeddings recognises it"
        return [Consequence(POSITIONS, SINUSOIDAL, "possible", text)]
    text = "not in AC0 (its stable semigroup contains a group): no unique-hard-attention transformer recognises it"
    return [Consequence(HAO, ANY, "excluded", text)]
