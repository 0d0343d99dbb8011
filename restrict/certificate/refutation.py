"""Refutations: a certificate, two words that it makes equal for the model, and a language that tells them apart (Hahn
2020, Corollary 2); types and file format ``restrict-refutation/1`` (docs/format.md). By Theorem A the label at the
target is a function of the inputs at the certificate's dependencies. The two words agree with the restriction and on
the dependencies, so they have one label; exactly one of them is in the language. So no set of labels, read as
acceptance, makes the model recognise the language at this length."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from restrict.base.htmltable import ShownTable, shortened
from restrict.base.strictjson import Node, Record, one_line_lists
from restrict.certificate.certificate import Certificate
from restrict.checker import refutation
from restrict.model.restriction import Restriction

if TYPE_CHECKING:
    from restrict.languages.protocol import Language

FORMAT = "restrict-refutation/1"
BUILT_IN = ("parity", *refutation.BUILT_IN)
"""Languages that the trusted checker knows by name; in their specifications the name stands before a colon."""
COUNTABLE = ("parity",)
"""Built-in languages, besides automata, whose errors the trusted checker counts."""


@dataclass(frozen=True)
class Errors:
    """A certified lower bound on the inputs under the restriction that get a wrong label, of ``inputs`` in all.
    ``exact``: the bound is the exact number, because there is one label only and the model says what it accepts.
    Otherwise it holds for every reading of the labels as acceptance."""

    wrong: int
    inputs: int
    exact: bool

    def text(self) -> str:
        """One phrase, with powers of two for numbers of more than six digits."""
        if 2 * self.wrong == self.inputs:
            return f"right on exactly half of the {power(self.inputs)} inputs under the restriction (exact)"
        kind = "exact" if self.exact else "certified lower bound"
        return f"wrong on {power(self.wrong)} of the {power(self.inputs)} inputs under the restriction ({kind})"


def power(number: int) -> str:
    """Decimal digits of a number below 10^6; above, the largest ``2^k`` not above it, with "more than" where
    inexact."""
    if number < 10**6:
        return str(number)
    exact = number & (number - 1) == 0
    return f"{'' if exact else 'more than '}2^{number.bit_length() - 1}"


@dataclass(frozen=True, eq=False)
class Refutation(Record):
    """``member`` is in the language, ``nonmember`` is not, and the model gives both the same ``label``.
    ``language_said`` is the language as the file has it; ``errors`` is ``None`` where the members could not be counted.
    ``rechecked`` says how the witnesses were run: ``full`` (every variable), ``output`` (all that the output reads), or
    ``certificate`` (not at all: only the certificate says that the labels are equal). ``optimum`` is the most positions
    that a restriction which refutes the model can leave free, where that is known (exact; an upper bound where
    ``provenance["exact"]`` says that the time was over). ``start`` is the position of a word's first symbol: 1 where
    the model has a start marker."""

    certificate: Certificate
    language: str
    language_said: Mapping[str, Any] = field(repr=False)
    member: tuple[str, ...] = field(repr=False)
    nonmember: tuple[str, ...] = field(repr=False)
    label: str
    errors: Errors | None
    rechecked: str
    optimum: int | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)
    start: int = 0

    @property
    def n(self) -> int:
        """The length, markers included."""
        return self.certificate.n

    @property
    def free(self) -> int:
        """The number of free positions."""
        return self.certificate.free

    @property
    def named(self) -> str:
        """The language as the file's field ``language`` has it, which a checker reads; ``language`` is a note."""
        document = self.language_said
        if "unchecked" in document:
            return str(document["unchecked"])
        if "transitions" in document:
            return f"{document.get('name', 'the language')} (an automaton of {len(document['transitions'])} states)"
        kinds = f":{len(document['alphabet']) // 2}" if "dyck" in str(document["name"]) else ""
        return f"{document['name']}{kinds}" + (f",depth={document['depth']}" if "depth" in document else "")

    @property
    def checkable(self) -> bool:
        """Whether the trusted checker has a membership test for the language."""
        return "unchecked" not in self.language_said

    @property
    def countable(self) -> bool:
        """Whether the trusted checker counts the errors."""
        return "transitions" in self.language_said or self.language_said.get("name") in COUNTABLE

    def to_bytes(self) -> bytes:
        """The bytes of the file; the same for the same refutation."""
        document: dict[str, Any] = {
            "format": FORMAT,
            "certificate": self.certificate.document(),
            "language": dict(self.language_said),
            "member": self._runs(self.member),
            "nonmember": self._runs(self.nonmember),
        }
        if self.errors is not None and self.countable:
            document["errors"] = f"{self.errors.wrong:x}"
        found: dict[str, Any] = {"language": self.language, "label": self.label, "rechecked": self.rechecked}
        if self.optimum is not None:
            found["optimum"] = self.optimum
        if self.errors is not None:
            found["errors"] = {"wrong": f"{self.errors.wrong:x}", "exact": self.errors.exact}
        document["provenance"] = {**self.provenance, **found}
        return (one_line_lists(document, 1) + "\n").encode()

    def _runs(self, word: Sequence[str]) -> list[list[Any]]:
        return Restriction(self.n, dict(enumerate(word, self.start))).to_json()

    @classmethod
    def from_json(cls, root: Node) -> Refutation:
        """A refutation from its JSON form; see :class:`restrict.base.strictjson.Record`."""
        keys = ("certificate", "language", "member", "nonmember")
        fields = root.document(FORMAT, keys, ("errors", "provenance"))
        certificate = Certificate.from_json(fields["certificate"])
        language = fields["language"].expect(dict, "an object")
        (start, member), (other, nonmember) = (_word(fields[key], certificate.n) for key in ("member", "nonmember"))
        if (start, len(member)) != (other, len(nonmember)):
            fields["nonmember"].fail("the words stand at different positions")
        provenance = dict(fields["provenance"].expect(dict, "an object")) if "provenance" in fields else {}
        errors = _errors(
            fields, provenance.pop("errors", None), language, len(member) - len(certificate.restriction.fixed)
        )
        name = str(provenance.pop("language", language.get("name", "a language")))
        label, how = str(provenance.pop("label", "")), str(provenance.pop("rechecked", "certificate"))
        optimum = provenance.pop("optimum", None)
        return Refutation(
            certificate, name, language, member, nonmember, label, errors, how, optimum, provenance, start
        )  # fmt: skip

    def facts(self) -> ShownTable:
        """What a notebook shows."""
        rows: list[tuple[str, object]] = [("label of both words", self.label)]
        rows += [("in the language", shortened(self.member)), ("not in it", shortened(self.nonmember))]
        rows += [("fixed", len(self.certificate.restriction.fixed)), ("free", self.free), ("c", self.certificate.c)]
        if self.errors is not None:
            rows.append(("errors", self.errors.text()))
        return ShownTable(f"{self.certificate.model_name} does not recognise {self.language} at n = {self.n}", rows)

    def __repr__(self) -> str:
        c = self.certificate
        return f"Refutation({c.model_name!r} is not {self.language!r}, n={c.n}, free={c.free}, c={c.c})"


# ---------------------------------------------------------------- languages in the file


def language_document(language: Language) -> dict[str, Any]:
    """The field ``language`` (docs/format.md); ``{"unchecked": ...}`` where the trusted checker has no membership test
    for it. Regular languages are written out, except PARITY and others that it knows by name."""
    from restrict.languages.regular import Regular, dfa_document

    alphabet, spec = list(language.alphabet), language.spec
    name, _, rest = spec.partition("[" if spec.startswith(("dyck[", "shuffle-dyck[")) else ":")
    _, deep, depth = rest.rpartition("]:" if "[" in spec[:13] else ":")[2].partition(",depth=")
    if name in BUILT_IN:
        return {"name": name, "alphabet": alphabet} | ({"depth": int(depth)} if deep else {})
    if isinstance(language, Regular):
        return dfa_document(language.dfa, language.name)
    return {"unchecked": spec}


# ---------------------------------------------------------------- reading


def _errors(fields: Mapping[str, Node], noted: Any, language: Mapping[str, Any], free: int) -> Errors | None:
    """The bound that the checker can count, or else the one that was noted when the refutation was made."""
    noted = noted if isinstance(noted, dict) else {}
    text = fields["errors"].text() if "errors" in fields else str(noted.get("wrong", "0"))
    if not re.fullmatch("0|[1-9a-f][0-9a-f]*", text) or (text == "0" and "errors" in fields):
        fields["errors" if "errors" in fields else "provenance"].fail("errors: expected hex digits, no leading zeros")
    symbols = language.get("alphabet")
    if text == "0" or not isinstance(symbols, list):
        return None
    return Errors(int(text, 16), len(symbols) ** max(0, free), noted.get("exact") is True)


def _word(node: Node, n: int) -> tuple[int, tuple[str, ...]]:
    cells = Restriction.from_json(node, n).fixed
    if not cells or len(cells) != max(cells) - min(cells) + 1:
        node.fail("a word has a symbol at every position without marker")
    return min(cells), tuple(cells.values())
