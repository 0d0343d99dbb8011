"""What is shown about every length, and the file that proves it to the trusted checker."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from restrict.all_lengths.automaton import Automaton
from restrict.all_lengths.compare import Difference
from restrict.all_lengths.forcing import Costs
from restrict.all_lengths.lengths import Lengths
from restrict.all_lengths.patterns import Pattern
from restrict.all_lengths.proof import MOST_BYTES, document, to_bytes
from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.base.files import write_bytes
from restrict.base.htmltable import ShownTable
from restrict.base.strictjson import Node, Record
from restrict.base.wording import checked_line, counted, spoken
from restrict.checker import main
from restrict.model.program import Model


class Evidence(NamedTuple):
    """``proof``: the bytes of a ``restrict-automaton/1`` file, verified by the trusted checker, whose line is ``line``;
    ``None`` where the proof format does not cover the program, with the ``reason``."""

    proof: bytes | None = None
    line: str | None = None
    reason: str = ""

    def document(self) -> dict[str, Any]:
        """The proof and what the checker said, as JSON."""
        proof = None if self.proof is None else json.loads(self.proof)
        return {"checked": self.line, "proof": proof, "no_proof": self.reason or None}


class Evidenced(Record):
    """A result with its :class:`Evidence`. Its file is the proof, which has a report, but no automaton to load."""

    evidence: Evidence
    automaton: Automaton
    what: str

    @classmethod
    def from_json(cls, root: Node) -> NoReturn:
        """``ModelError``: the file does not hold the result."""
        root.fail("a proof holds no automaton: `restrict check MODEL FILE` checks it, `restrict report FILE` shows it")

    def facts(self) -> ShownTable:
        """What a notebook shows."""
        rows = [("checked", self.line or "not by the trusted checker")]
        return ShownTable(self.claim(), rows + [("no proof", self.reason)] * bool(self.reason))

    def claim(self) -> str:
        """What is shown, in words."""
        raise NotImplementedError

    @property
    def proof(self) -> bytes | None:
        """The bytes of a ``restrict-automaton/1`` file, verified by the trusted checker."""
        return self.evidence.proof

    @property
    def line(self) -> str | None:
        """The trusted checker's line."""
        return self.evidence.line

    @property
    def reason(self) -> str:
        """Why there is no proof or no line."""
        return self.evidence.reason

    def to_bytes(self) -> bytes:
        """The proof; ``NotEstablished``: there is none, with the reason."""
        if self.proof is None:
            raise NotEstablished(f"no proof: {self.reason}")
        return self.proof

    def document(self) -> dict[str, Any]:
        """The claim and its proof, as JSON."""
        return {"model": self.automaton.model.name, "claim": self.what} | self.evidence.document()

    def write(self, path: str | Path | None) -> None:
        """Write the proof to a file, where there is one and a file is named."""
        if path is not None and self.proof is not None:
            write_bytes(Path(path), self.proof)

    def proof_text(self, path: str | Path | None = None) -> str:
        """The lines about the proof, which is in the file ``path``, and about what the checker said of it."""
        if self.proof is None:
            return f"  no proof file: {self.reason}"
        place = "" if path is None else f"  proof   written to {path} ({counted(len(self.proof), 'byte')})\n"
        return place + checked_line(self.line, "run `restrict check --limit STEPS`")

    @property
    def partly(self) -> str:
        """What a statement about every length adds where the model is not defined at some; else nothing."""
        return " at which it is defined" if self.automaton.undefined else ""


def once_text(once: Lengths | None) -> list[str]:
    """The line about lengths at which only one of two models is defined, if there are any."""
    return [f"  not compared, as exactly one of them is defined: {once.text()}"] if once else []


def once_document(once: Lengths | None) -> dict[str, Any]:
    """The lengths at which only one of two models is defined, for JSON; nothing where one model was asked about."""
    return {} if once is None else {"defined_once": once.document()}


@dataclass(frozen=True, eq=False)
class Proved(Evidenced):
    """The claim holds at every length ``n >= first`` at which the model is defined. ``other``: where two models were
    compared, the same claim about the second one, and the same automaton. ``defined_once``: then, the lengths (markers
    of the first model counted) at which exactly one of them is defined, of which nothing is claimed. ``forcing``: where
    it is about that, the pattern or the costs; ``at``: a length, and a restriction with the fewest fixed positions that
    forces the label there (``None``: none does)."""

    what: str
    first: int
    automaton: Automaton
    evidence: Evidence = field(default=Evidence(), repr=False)
    other: "Proved | None" = field(default=None, repr=False)
    defined_once: Lengths | None = field(default=None, repr=False)
    forcing: Pattern | Costs | None = field(default=None, repr=False)
    at: tuple[int, tuple[str, ...] | None] | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return True

    def write(self, path: str | Path | None) -> None:
        """Write the proof, where there is one and a file is named; that of the second model goes to
        ``NAME.other.json``, beside it."""
        super().write(path)
        if self.other is not None:
            self.other.write(_beside(path))

    def proof_text(self, path: str | Path | None = None) -> str:
        """The lines about the proofs, and about what the checker said of them."""
        more = [] if self.other is None else [self.other.proof_text(_beside(path))]
        return "\n".join([super().proof_text(path), *more, *once_text(self.defined_once)])

    def document(self) -> dict[str, Any]:
        """What is proved, and its proof.

        Returns:
            A JSON object.
        """
        undefined = self.automaton.undefined_document()
        if isinstance(self.forcing, Pattern):
            return super().document() | {"pattern": self.forcing.claim(), "fixed": self.forcing.cost} | undefined
        if self.forcing is not None:
            n, cells = self.at or (None, None)
            at = {"cost": self.forcing.claim(), "n": n, "restriction": None if cells is None else list(cells)}
            return super().document() | undefined | at
        since = {"proved": True, "from": max(self.first, 1)}
        return super().document() | since | undefined | once_document(self.defined_once)

    def text(self, path: str | Path | None = None) -> str:
        """What is proved, in words, with what the checker said.

        Args:
            path: the file that the proof was written to.

        Returns:
            Lines.
        """
        return f"{self._said()}\n{self.proof_text(path)}"

    def immune(self) -> str:
        """What is said where a refutation was asked for.

        Returns:
            One line.
        """
        line = f" ({self.line})" if self.line else ""
        name = self.automaton.model.name
        return f"immune (proved): {name} recognises {self.what} at every length{self.partly}{line}"

    def _said(self) -> str:
        name, forcing = self.automaton.model.name, self.forcing
        where = " at the last position" if self.automaton.every else ""
        if isinstance(forcing, Pattern):
            rest = f"and {round(100 * forcing.share)} % of the middle" if forcing.share else "the rest free"
            return (
                f"{name}: the label {forcing.label!r}{where} is forced at every n >= {forcing.first}{self.partly} by\n"
                f"  pattern {forcing.text()}   ({forcing.cost} fixed at the ends, {rest})"
            )
        if forcing is not None:
            told = [f"{name}: the fewest fixed positions that force {forcing.label!r}{where} (exact)"]
            told += [f"  {line}" for line in forcing.table()] + self.automaton.undefined_text()
            if self.at is not None:
                n, cells = self.at
                told.append(f"  at n = {n}: {'no restriction forces it' if cells is None else spoken(cells)}")
            return "\n".join(told)
        both = self.other is not None and (self.defined_once or self.partly)
        partly = " at which both are defined" if both else self.partly
        other = f"recognises {self.what}" if self.other is None else f"agrees with {self.other.automaton.model.name}"
        return f"proved: {name} {other} at every n >= {max(self.first, 1)}{partly}"

    def claim(self) -> str:
        """What is proved, in words."""
        return f"proved of {self.automaton.model.name} at every n >= {self.first}: {self.what}"


def _beside(path: str | Path | None) -> Path | None:
    """Where the second of two proofs goes."""
    return None if path is None else Path(path).with_name(f"{Path(path).stem}.other{Path(path).suffix}")


@dataclass(frozen=True, eq=False)
class Counterexample(Evidenced):
    """A shortest word on which the model is wrong: ``said`` by the model, ``member`` of the language; of at least
    ``first`` symbols, markers counted. ``defined_once``: where two models were compared, the lengths at which exactly
    one of them is defined; ``second``: the name of the other one."""

    what: str
    difference: Difference
    automaton: Automaton
    evidence: Evidence = field(default=Evidence(), repr=False)
    defined_once: Lengths | None = field(default=None, repr=False)
    first: int = 0
    second: str | None = None

    def __bool__(self) -> bool:
        return False

    def proof_text(self, path: str | Path | None = None) -> str:
        """The lines about the proof, and about what the checker said of it."""
        return "\n".join([super().proof_text(path), *once_text(self.defined_once)])

    def document(self) -> dict[str, Any]:
        """What is refuted, the word, and the proof.

        Returns:
            A JSON object.
        """
        one = self.difference
        found = {"proved": False, "word": list(one.word), "n": one.n, "said": one.said}
        found |= {"member": one.member} if one.other is None else {"other": one.other, "position": one.position}
        return super().document() | found | once_document(self.defined_once)

    def text(self, path: str | Path | None = None) -> str:
        """What is refuted, in words, with what the checker said.

        Args:
            path: the file that the proof was written to.

        Returns:
            Lines.
        """
        return f"{self.wrong()}\n{self.proof_text(path)}"

    def wrong(self) -> str:
        """The word, and what is said of it.

        Returns:
            One line.
        """
        name, one = self.automaton.model.name, self.difference
        since = f" with n >= {self.first}" if self.first > 1 else ""
        if one.other is not None:
            where = "" if one.position is None else f", position {one.position}"
            return (
                f"{name} and {self.second} differ on {spoken(one.word)} (n = {one.n}{where}, a shortest one{since}): "
                f"the labels are {one.said!r} and {one.other!r}"
            )
        return (
            f"{name} is wrong on {spoken(one.word)} (n = {one.n}, a shortest one{since}): it is "
            f"{'in' if one.member else 'not in'} the {'language of the other' if self.second else 'language'}, and the "
            f"model says {one.said!r}"
        )

    def claim(self) -> str:
        """What is refuted, in words."""
        return f"refuted of {self.automaton.model.name} at n = {self.difference.n}: {self.what}"


def proved(model: Model, found: Automaton, claim: dict[str, Any]) -> Evidence:
    """A proof of a claim, and the trusted checker's line; or neither, and why. ``NotEstablished``: the checker refuses
    the proof, which is a bug."""
    if "unchecked" in claim.get("language", ()):
        return Evidence(reason="the checker does not have this language")
    try:
        content = to_bytes(document(model, found.built, claim))
    except (NotEstablished, ResourceLimit) as error:
        return Evidence(reason=str(error))
    if model.content is None or len(content) > MOST_BYTES:
        too_large = f"a proof would be larger than {MOST_BYTES >> 20} MiB"
        return Evidence(reason=too_large if model.content else "the model has no file")
    return Evidence(content, run_checker(model, content))


def run_checker(model: Model, content: bytes) -> str | None:
    """The trusted checker's line; ``None``: too many steps. ``NotEstablished``: it refuses, which is a bug."""
    from restrict.checker.account import Reject

    assert model.content is not None
    folder = model.source.parent if model.source is not None else "."
    try:
        return main.verify(model.content, content, folder=folder, model_name=model.name, certificate_name="the proof")
    except Reject as reject:
        if reject.code == 5:
            return None
        raise NotEstablished(f"the trusted checker refuses the proof, which is a bug: {reject}") from None
