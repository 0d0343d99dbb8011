"""What is shown about every length, and the file that proves it to the trusted checker."""

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from restrict.all_lengths.automaton import Automaton
from restrict.all_lengths.compare import Difference
from restrict.all_lengths.lengths import Lengths
from restrict.all_lengths.proof import MOST_BYTES, document, to_bytes
from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.base.htmltable import ShownTable
from restrict.base.strictjson import Node, Record
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


@dataclass(frozen=True, eq=False)
class Proved(Evidenced):
    """The claim holds at every length ``n >= first`` at which the model is defined. ``other``: where two models were
    compared, the same claim about the second one, and the same automaton. ``defined_once``: then, the lengths (markers
    of the first model counted) at which exactly one of them is defined, of which nothing is claimed."""

    what: str
    first: int
    automaton: Automaton
    evidence: Evidence = field(default=Evidence(), repr=False)
    other: "Proved | None" = field(default=None, repr=False)
    defined_once: Lengths | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return True

    def claim(self) -> str:
        """What is proved, in words."""
        return f"proved of {self.automaton.model.name} at every n >= {self.first}: {self.what}"


@dataclass(frozen=True, eq=False)
class Counterexample(Evidenced):
    """A shortest word on which the model is wrong: ``said`` by the model, ``member`` of the language. ``defined_once``:
    where two models were compared, the lengths at which exactly one of them is defined."""

    what: str
    difference: Difference
    automaton: Automaton
    evidence: Evidence = field(default=Evidence(), repr=False)
    defined_once: Lengths | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return False

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
