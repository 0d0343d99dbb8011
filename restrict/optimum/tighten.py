"""Tightening: which claimed dependencies do not exist, by SAT on the exact cone (theory of the project, section 3).

The abstract run forgets that nodes are correlated, so ``D`` can hold positions that never matter. For a position
``p`` take two copies of the cone's CNF (:mod:`restrict.optimum.cnf`) that share all inputs but ``p``, and ask for two
different labels. If that is unsatisfiable, changing ``p`` alone never changes the label, on any ``x |= rho``. All such
``p`` can be dropped together: two inputs that differ at several of them are joined by a path of inputs, all
``|= rho``, that change one at a time.

A tightened claim is **beyond what the abstract-run checker verifies**: the certificate stays as it was, and
:class:`Tightened` is a separate record whose proofs (DIMACS and DRAT) an outside checker can check; that the CNF says
what it should depends on :func:`tighten_formula`. PySAT's proof logging is unreliable for some solvers (its issue 139),
so a proof counts only after :mod:`restrict.sat.drat_check` has checked it against the very clauses that are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pysat import solvers

from restrict.base.deadline import Deadline, OutOfTime
from restrict.base.errors import InternalError, ModelError, UsageError, quote
from restrict.base.files import write_bytes
from restrict.base.wording import counted, parts
from restrict.certificate.certificate import Certificate
from restrict.elaboration.check import check
from restrict.model.arguments import the_model, the_time
from restrict.model.on_demand import OnDemandRun
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.model.task import position_of
from restrict.optimum.cnf import Encoding, encode
from restrict.sat.drat_check import ProofError, check_refutation, dimacs
from restrict.sat.limit import ask
from restrict.trial.certificate import try_dependency, try_independence

PROOF_SOLVERS = ("cadical153", "glucose4", "lingeling")
"""Tried in this order for a proof that can be checked."""


@dataclass(frozen=True)
class NeverMatters:
    """That ``position`` never matters: an unsatisfiable formula and its refutation (:mod:`restrict.sat.drat_check`).
    ``solver`` is ``None`` where no solver gave a proof that could be checked: then the SAT answer is the only
    evidence."""

    position: int
    clauses: Sequence[Sequence[int]] = field(repr=False)
    top: int
    lines: tuple[str, ...] = field(repr=False)
    solver: str | None

    @property
    def verified(self) -> bool:
        """Whether the proof was checked."""
        return self.solver is not None


@dataclass(frozen=True, eq=False)
class Tightened:
    """The label of ``certificate`` is a function of the inputs at ``dependencies``: its own without ``removed``.
    ``needed`` are dependencies that certainly matter, with two inputs that agree off the position and have different
    labels; those in neither were not decided in time."""

    certificate: Certificate
    removed: tuple[int, ...]
    needed: dict[int, tuple[list[str], list[str]]]
    proofs: tuple[NeverMatters, ...]

    @property
    def dependencies(self) -> tuple[int, ...]:
        """What is left of the claimed dependencies."""
        assert self.certificate.claim.dependencies is not None
        return tuple(p for p in self.certificate.claim.dependencies if p not in self.removed)

    @property
    def c(self) -> int:
        """How many dependencies are left."""
        return len(self.dependencies)

    @property
    def verified(self) -> int:
        """How many removals have a proof that was checked."""
        return sum(proof.verified for proof in self.proofs)

    def text(self) -> str:
        """What was removed, and what is left, in words."""
        open_, claimed = self.c - len(self.needed), counted(self.certificate.claim.c, "claimed dependency")
        lines = [f"c = {self.c} after removing {len(self.removed)} of {claimed}, by SAT"]
        left = f", undecided: {open_}" if open_ else " (so c is exact)"
        lines.append(f"  certainly needed: {len(self.needed)}{left}")
        if self.verified < len(self.proofs):  # the solvers gave no proof that could be checked
            lines.append(f"  of {len(self.proofs) - self.verified} removed only the answer of SAT is known, no proof")
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """What was removed, what is left and what is proved, as JSON."""
        proved = [proof.position for proof in self.proofs if proof.verified]
        return parts(self, "c dependencies removed") | {"needed": sorted(self.needed), "proved": proved}


def tighten_formula(code: Encoding, position: int, p: int) -> tuple[list[list[int]], Encoding]:
    """Clauses of two copies whose labels differ, satisfiable iff a change of input ``p`` alone can change the label at
    ``position``, and the second copy. With wide maps they are satisfiable *if* it can; what a model breaks is added
    then."""
    other = code.copy([i for i in code.inputs if i != p])
    clauses = [*code.clauses, *other.clauses[1:]]
    for label, literals in code.labels(position).items():
        clauses += [[-a, -b] for a in literals for b in other.labels(position)[label]]
    return clauses, other


def tighten(
    model: Model, certificate: Certificate, *, folder: str | Path | None = None, time: float | None = None
) -> Tightened:
    """Remove every claimed dependency that SAT shows not to exist.

    The trusted checker verifies the certificate first, since what is left is only as true as what it claims. Cost: that
    check, and one SAT call per dependency.

    Args:
        model: the program.
        certificate: one position's claim; it must be for this model.
        folder: where to write ``position-P.cnf`` and ``position-P.drat`` for each removed ``P`` with a checked proof.
        time: seconds; what is undecided then stays a dependency.

    Returns:
        The dependencies that are left, those that were removed, and the files of the proofs.

    Raises:
        UsageError: the target ``all``, or an argument that is not a model or a certificate.
        ModelError: another model.
        NotEstablished: the certificate is false.
        ResourceLimit: the cone does not fit, or the check takes too many steps.
        Disagreement: a run of the model contradicts what was found, which is a bug.
    """
    the_model(model)
    if not isinstance(certificate, Certificate):
        raise UsageError(f"expected a Certificate, not {quote(certificate)}; restrict.load_certificate reads its file")
    if certificate.claim.dependencies is None:
        raise UsageError("tighten is for the claim of one position, not for the target all")
    if certificate.sha256 != model.digest:
        raise ModelError(f"model.sha256: the certificate is for another model ({certificate.model_name!r})")
    check(model, certificate)
    instance = model.at(certificate.n)
    position = position_of(instance, certificate.target)
    assert position is not None
    code = encode(instance, Restriction.of(instance, certificate.restriction.fixed), [position])
    deadline = Deadline.after(the_time(time))
    needed: dict[int, tuple[list[str], list[str]]] = {}
    proofs: list[NeverMatters] = []
    with suppress(OutOfTime):
        for p in certificate.claim.dependencies:
            found = _decide(code, position, p, deadline)
            if isinstance(found, NeverMatters):
                proofs.append(found)
            else:
                needed[p] = found
    for p, (one, two) in needed.items():
        try_dependency(instance, position, p, one, two)
    try_independence(instance, certificate.restriction.tokens(model), position, [proof.position for proof in proofs])
    if folder is not None:
        write_proofs(proofs, Path(folder))
    return Tightened(certificate, tuple(proof.position for proof in proofs), needed, tuple(proofs))


def _decide(code: Encoding, position: int, p: int, deadline: Deadline) -> NeverMatters | tuple[list[str], list[str]]:
    """A proof that ``p`` never matters, or two inputs that show that it does."""
    clauses, other = tighten_formula(code, position, p)
    with solvers.Solver("glucose4", bootstrap_with=clauses) as solver:
        while ask(solver, [], deadline):
            shown = solver.get_model()
            one, two = code.decode(shown), other.decode(shown)
            if not code.wide or _label(code, position, one) != _label(code, position, two):
                return one, two
            true = set(shown)
            for clause in code.refuting(true) + other.refuting(true):
                clauses.append(clause)
                solver.add_clause(clause)
    return prove(p, clauses, other.top)


def _label(code: Encoding, position: int, word: Sequence[str]) -> str:
    return OnDemandRun(code.instance, code.instance.model.symbols(word)).label(position)


def prove(position: int, clauses: Sequence[Sequence[int]], top: int) -> NeverMatters:
    """The first solver's refutation of unsatisfiable clauses (``top``: their largest variable) that
    :mod:`restrict.sat.drat_check` accepts, with the solver's name; unverified where there is none. ``InternalError``: a
    solver finds a model."""
    for name in PROOF_SOLVERS:
        with solvers.Solver(name, bootstrap_with=clauses, with_proof=True) as solver:
            if solver.solve():
                raise InternalError(f"{name} finds a model of what another solver refuted")
            lines = tuple(solver.get_proof() or ())
        try:
            check_refutation(clauses, lines)
        except ProofError:
            continue
        return NeverMatters(position, clauses, top, lines, name)
    return NeverMatters(position, clauses, top, (), None)


def write_proofs(proofs: Sequence[NeverMatters], folder: Path) -> None:
    """Write the checked proofs, two files each, to a folder, made where it does not exist; ``UsageError``: it cannot be
    written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for proof in (p for p in proofs if p.verified):
            stem, lines = folder / f"position-{proof.position}", "".join(f"{line}\n" for line in proof.lines)
            write_bytes(stem.with_suffix(".cnf"), dimacs(proof.clauses, proof.top).encode("ascii"))
            write_bytes(stem.with_suffix(".drat"), lines.encode("ascii"))
    except OSError as error:
        raise UsageError(f"{folder}: the proofs cannot be written: {error}") from None
