"""A user's certificate, refutation or lower bound with its model, elaborated: the program and the proof."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from restrict.base.errors import ModelError, ResourceLimit
from restrict.base.strictjson import translated
from restrict.certificate.claimed import Claimed
from restrict.checker.account import Meter, Place, Task
from restrict.checker.formats import Fixed
from restrict.checker.lower_bound import Bound
from restrict.checker.main import DEFAULT_LIMIT
from restrict.checker.normal_form import LINE, Head, Program
from restrict.checker.one_length import Claim, established, program_of, read_claim
from restrict.checker.read import read_json, runs_of
from restrict.checker.refutation import Refutation
from restrict.elaboration.bound import bound_lines
from restrict.elaboration.certificate import certificate_lines
from restrict.elaboration.writer import Writer
from restrict.model.fileformat import loads
from restrict.model.program import Instance, Model

MOST_STEPS = 64
"""About what the kernel charges for a pair, of a long score: where fewer pairs are left, the program is not read a
second time."""


class Elaborated(NamedTuple):
    """The two files: ``program`` is a `restrict-program/1`, ``proof`` a `restrict-kernel/1` about it."""

    program: bytes
    proof: bytes

    @property
    def digest(self) -> str:
        """The SHA-256 of the program, by which the proof names it."""
        return sha256(self.program).hexdigest()


class Elaboration:
    """A user's file with its model, read by the checker's reader; ``made`` has the two files."""

    def __init__(
        self, model: bytes, certificate: bytes, folder: Path = Path(), model_name: str = "model",
        certificate_name: str = "certificate", limit: int | None = None,
    ) -> None:  # fmt: skip
        with translated(certificate_name):
            most = DEFAULT_LIMIT if limit is None else limit
            self.meter = Meter(most)
            task = task_of(model, certificate, (Place(model_name), Place(certificate_name)), folder, self.meter)
            self.claim: Claim = read_claim(task)
            self.name, program = certificate_name, program_of(self.claim)
            self.instance = instance_of(self.claim, task)
            proof = written(self.claim, program, self.instance, most).to_bytes()
            self.made = Elaborated(program, proof)

    def check(self) -> str:
        """Hand the proof over to the kernel: the line ``s VERIFIED ...`` of the user's file. ``NotEstablished``: it
        does not show the claim; ``ResourceLimit``: over the limit; ``ModelError``: malformed, a mistake of the
        elaborator."""
        with translated(self.name):
            return established(self.claim, *self.made)


def task_of(model: bytes, certificate: bytes, places: tuple[Place, Place], folder: Path, meter: Meter) -> Task:
    """What the checker's reader is given. ``places``: what its messages call the two files."""
    return Task(read_json(certificate, places[1], meter), places[1], model, places[0], folder, meter)


def instance_of(claim: Claim, task: Task) -> Instance:
    """The engine's model at the length of a claim. ``ResourceLimit``: it takes less than the checker's reader."""
    certified = claim.certificate if isinstance(claim, Refutation) else claim
    try:
        return loads(task.model, task.model_place.file, task.folder).at(certified.n)
    except ModelError as error:
        raise ResourceLimit(f"{task.model_place.file}: cannot be elaborated: {error}") from None


def proof_in_reach(claim: Claim, program: bytes, instance: Instance, limit: int) -> bytes:
    """The proof for a kernel with that limit, too: refused at once where its rows and facts need more steps."""
    writer = written(claim, program, instance, limit)
    if MOST_STEPS * writer.scored.total() + writer.steps > limit:
        meter = Meter(limit)
        meter.place = Place("proof")
        meter.expect(least_steps(Program(program, Place("program"), meter), writer))
    return writer.to_bytes()


def least_steps(program: Program, writer: Writer) -> int:
    """What the kernel charges at least for lines, rows and facts (``row``, ``map``, ``head`` of :class:`Kernel`)."""
    heads = ((v, head.code) for v, head in enumerate(program.variables) if isinstance(head, Head))
    lines = LINE * len(writer.lines)
    # Each charge is rounded down.
    return lines + writer.steps + sum(c.work(writer.scored[v], writer.calls[v]) - writer.charges[v] for v, c in heads)


def written(claim: Claim, program: bytes, instance: Instance, limit: int) -> Writer:
    """The proof of a certificate, a refutation or a lower bound that the checker has read, for the ``program`` that it
    makes of the model, in ``limit`` steps. ``Reject``: the claim does not follow, or over the limit; ``ResourceLimit``:
    a row has too many pairs, or the output too many values."""
    certified, digest = claim.certificate if isinstance(claim, Refutation) else claim, sha256(program).hexdigest()
    if isinstance(certified, Bound):
        return bound_lines(certified, instance, digest, limit)
    writer = certificate_lines(certified, instance, digest, limit)
    if isinstance(claim, Refutation):
        refutation_lines(claim, writer)
    return writer


def refutation_lines(refutation: Refutation, writer: Writer) -> None:
    """The two words and the automaton, where the language is one."""
    before = refutation.meter.left
    refutation.decide()  # its reasons name the word and the position, those of the kernel a line of the proof
    refutation.meter.left = before
    if (automaton := refutation.language.automaton) is None or not automaton.accept:
        return
    symbols = len(refutation.model.alphabet)
    moves = [row[refutation.index[a]] for row in automaton.moves for a in range(symbols)]
    claim = writer.lines.pop()
    numbers = [len(automaton.moves), automaton.start, writer.set(automaton.accept), *moves]
    writer.add("dfa " + " ".join(map(str, numbers)))
    for key in ("member", "nonmember"):
        fixed = refutation.model.read_fixed(refutation.fields[key], refutation.top.key(key))
        writer.add(" ".join(["word", *map(str, counted(fixed))]))
    writer.add(claim)
    writer.add("refutes 0 1 0")


def counted(fixed: Fixed) -> list[int]:
    """A word as symbols with their counts, no symbol twice in a row."""
    found: list[int] = []
    for (start, stop), symbol in zip(runs_of(fixed.bounds), fixed.symbols, strict=True):
        if found and found[-1] == symbol:
            found[-2] += stop - start
        else:
            found += [stop - start, symbol]
    return found


def elaboration_of(
    model: Model, content: bytes, model_name: str, certificate_name: str, limit: int | None = None
) -> Elaboration:
    """A proof for the kernel of a certificate's ``content``; the names are what messages say."""
    assert model.content is not None
    folder = model.source.parent if model.source else Path()
    return Elaboration(model.content, content, folder, model_name, certificate_name, limit)


def elaborate(model: Model, certificate: Claimed) -> Elaborated:
    """Write every step of a certificate's proof down, for the kernel that only checks.

    What comes out is not trusted: the kernel reads both files (docs/kernel.md). Cost: one scan of every row for each
    case or box that uses it, and one more for each row.

    Args:
        model: the program; it has to come from a file.
        certificate: a certificate, a refutation or a lower bound of this model.

    Returns:
        The bytes of the program and of the proof.

    Raises:
        NotEstablished: the claim does not follow.
        ModelError: the certificate is malformed or for another model, or the model has no file.
        ResourceLimit: a row, an image or a file is too large.
    """
    if model.content is None:
        raise ModelError("model: a model without a file has no digest that a proof could be about; save it first")
    return elaboration_of(model, certificate.to_bytes(), str(model.source or "model"), "certificate").made
