"""Claims about one length: a certificate, a refutation or a lower bound, compared with what a proof concludes.

The user's file is read by the checker's reader; of its hints (cone, cases, split) nothing is used. The proof may have
been made by anyone: it has to be about the program that this file makes of the model, and to conclude the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from .account import Place, Reject, Task, unproved
from .formats import Certificate
from .lower import lower
from .lower_bound import Bound
from .proof import Proof, check
from .read import mask_of, runs_of
from .refutation import Refutation

Claim = Certificate | Refutation | Bound
Piece = tuple[int, int, Collection[int]]
"""Positions from a first one up to another one, with the symbols that are allowed there."""
Prover = Callable[[Task, Claim, bytes], bytes]
"""Has the bytes of a proof about a program; nothing of them is believed."""
KINDS: dict[str, Any] = {"restrict-refutation/1": Refutation, "restrict-lower-bound/1": Bound}


def read_claim(task: Task) -> Claim:
    """The user's file, with its model; a certificate where the format is another one, which it then refuses."""
    named = task.document.get("format") if isinstance(task.document, dict) else None
    kind = KINDS.get(named) if isinstance(named, str) else None
    return kind(task) if kind is not None else Certificate(task, task.document, task.top)


def verify(task: Task, proof: Prover | None) -> str:
    """The success line for a file about one length; its proof is asked for once the file is found well-formed."""
    claim = read_claim(task)
    if proof is None:
        raise Reject(2, f"{task.top.file}: no proof is given")
    program = program_of(claim)
    return established(claim, program, proof(task, claim, program))


def program_of(claim: Claim) -> bytes:
    """The program that a proof of the claim has to be about."""
    return lower(claim.model)


def established(claim: Claim, program: bytes, proof: bytes) -> str:
    """The success line of the user's file, if the proof shows what it claims; raises ``Reject`` in every other case."""
    return line_of(claim, check(program, proof, (Place("program"), Place("proof")), claim.model.meter))


def line_of(claim: Claim, found: Proof) -> str:
    """The success line of the user's file, if what a proof concludes is what it claims."""
    certificate = claim.certificate if isinstance(claim, Refutation) else claim
    if isinstance(certificate, Bound):
        same_bound(certificate, found)
    else:
        same_certificate(certificate, found)
    if isinstance(claim, Refutation):
        return claim.certificate.line(claim.decide())
    return claim.line()


def same_certificate(certificate: Certificate, proof: Proof) -> None:
    """The restriction is the same, and the proof's claim is no weaker."""
    found, place = proof.found, certificate.top.key("claim")
    assert found is not None
    # Any value, as a function of all that is free: that holds of every model, and needs no facts.
    any_value = len(certificate.values) == certificate.model.domains[certificate.model.output]
    nothing = any_value and certificate.dependencies == certificate.free
    single = ("claim", "refutes", "all") if nothing else ("claim", "refutes")
    if found.kind not in (("all",) if certificate.position is None else single):
        unproved(place, "the proof concludes something else")
    fixed, theirs = certificate.fixed, proof.kernel.contexts[found.context]
    mine = ((start, stop, {symbol}) for (start, stop), symbol in zip(runs_of(fixed.bounds), fixed.symbols, strict=True))
    if joined(mine) != joined(zip(theirs.runs[::2], theirs.runs[1::2], theirs.sets, strict=True)):
        unproved(certificate.top.key("fixed"), "the proof is about another restriction")
    if certificate.claimed_free != certificate.free.bit_count():
        unproved(place.key("free"), "not the number of free positions")
    if certificate.position is None:
        if found.c > certificate.c:
            unproved(place.key("c"), "the proof shows more dependencies")
        return
    if found.kind == "all":
        return
    more = mask_of(proof.kernel.runs[found.where]) & ~certificate.dependencies
    if found.at != certificate.position or more or not set(found.values) <= set(certificate.values):
        unproved(place, "the proof shows another position, more values or more dependencies")


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with those that touch and have the same symbols made one."""
    found: list[Piece] = []
    for start, stop, symbols in pieces:
        touches = found and found[-1][1:] == (start, symbols)
        found.append((found.pop()[0] if touches else start, stop, symbols))
    return found


def same_bound(bound: Bound, proof: Proof) -> None:
    """Every label that is claimed has a bound in the proof that is no smaller."""
    found, place = proof.found, bound.top.key("claim")
    assert found is not None
    if found.kind != "unforced" or found.at != bound.position:
        unproved(place, "the proof concludes something else")
    shown: dict[int, int] = {}
    for label, least in found.labels:
        shown[label] = max(least, shown.get(label, 0))
    for label, least in bound.claims.items():
        if shown.get(label, 0) < least:
            unproved(place, f"the proof shows only {shown.get(label, 0)} for the label number {label}")
    for label in range(proof.program.domains[-1]) if bound.others is not None else ():
        if label not in bound.claims and shown.get(label, 0) < (bound.others or 0):
            unproved(place.key("others"), f"the proof does not show it for the label number {label}")
