"""The proof of a certificate: facts at every leaf, and what holds in all cases of a question, from the leaves up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from restrict.checker.formats import Certificate, Cone
from restrict.checker.kernel1.lower import label_table
from restrict.checker.read import runs_of
from restrict.elaboration.context import LARGE, Depends, Known, Statement
from restrict.elaboration.rows import Rows
from restrict.elaboration.writer import LABEL, Writer
from restrict.errors import NotEstablished, ResourceLimit
from restrict.model.program import Instance

DEEP = 1 << 22
"""Pairs of positions up to which a claim that depends on everything that is free is shown by examining every node."""


@dataclass
class Part:
    """A node of the tree of cases: a leaf with its cone, or a position that is asked, with a part for each symbol."""

    path: dict[int, int]
    cone: Cone | None = None
    position: int = -1
    kids: list[Part] = field(default_factory=list)
    known: Known | None = None
    context: int = -1


class Shown:
    """The proof of one certificate, written to ``writer``; ``context`` is the restriction's."""

    def __init__(self, certificate: Certificate, instance: Instance, writer: Writer, deep: bool = False) -> None:
        self.certificate, self.instance, self.writer, self.deep = certificate, instance, writer, deep
        self.table, self.output = label_table(certificate.model), certificate.model.output
        self.fixed = {
            at: (symbol,)
            for (start, stop), symbol in zip(runs_of(certificate.fixed.bounds), certificate.fixed.symbols, strict=True)
            for at in range(start, stop)
        }
        self.rows = Rows()
        self.tree = tree_of(certificate)
        at = certificate.position
        self.targets = list(range(instance.n)) if at is None else [at]
        for leaf in leaves_of(self.tree):
            self.examine(leaf)
        writer.write_rows(self.rows)
        self.context = writer.box(-1, self.fixed)
        self.found = {at: self._written(self.tree, self.context, at) for at in self.targets}

    def examine(self, leaf: Part) -> None:
        """The facts at a leaf, and those about the labels."""
        tokens = {**self.fixed, **{at: (symbol,) for at, symbol in leaf.path.items()}}
        leaf.known = known = Known(self.instance, tokens, self.rows, self.deep)
        cone = leaf.cone or {}
        for variable in self.instance.model.variables:
            for i in chain.from_iterable(range(*run) for run in runs_of(cone.get(variable.name, ()))):
                known.examine(variable.name, i)
        for at in self.targets:
            if self.deep and self.output not in ("token", "position"):
                known.examine(self.output, at)
            if (said := self.label(known, at)).values:
                known.state(said)

    def label(self, known: Known, at: int) -> Statement:
        """The fact about the label at a position; without values where they are too many to be written down."""
        values = known.values(self.output, at)
        if len(values) > LARGE:
            return Statement(LABEL, at, (), None)
        labels = values if self.table is None else {self.table[value] for value in values}
        depends = 0 if len(labels) == 1 else known.depends(self.output, at)
        return Statement(LABEL, at, tuple(sorted(labels)), depends)

    def _written(self, part: Part, context: int, at: int) -> tuple[Sequence[int], Statement]:
        """The output's values in a part, and its label, with the lines that show them."""
        if part.known is not None:
            if part.context < 0:
                part.context = context
                for said in part.known.statements:
                    self.writer.statement(context, said)
            return part.known.values(self.output, at), self.label(part.known, at)
        kids = [self.writer.box(context, {part.position: (symbol,)}) for symbol in range(len(part.kids))]
        found = [self._written(kid, number, at) for kid, number in zip(part.kids, kids, strict=True)]
        if not all(said.values for _, said in found):
            raise ResourceLimit("certificate: cases: the output has too many values")
        values = sorted(set(chain.from_iterable(output for output, _ in found)))
        labels = sorted(set(chain.from_iterable(said.values for _, said in found)))
        depends: Depends = 0
        for _, said in found if len(labels) > 1 else ():
            depends = None if depends is None or said.depends is None else depends | said.depends | 1 << part.position
        if self.output not in ("token", "position"):
            output = Statement(self.output, at, tuple(values), None)
            self.writer.case(context, output, part.position, kids)
        label = Statement(LABEL, at, tuple(labels), depends)
        self.writer.case(context, label, part.position, kids)
        return values, label


def tree_of(certificate: Certificate) -> Part:
    """The tree of cases, or a single leaf, from the leaves in order."""
    root = Part({})
    for path, cone in certificate.leaves():
        part = root
        for at, symbol in path.items():
            part.position = at
            while len(part.kids) <= symbol:
                part.kids.append(Part({**part.path, at: len(part.kids)}))
            part = part.kids[symbol]
        part.cone = cone
    return root


def leaves_of(part: Part) -> Iterator[Part]:
    """The leaves of a tree, in order."""
    if not part.kids:
        yield part
    for kid in part.kids:
        yield from leaves_of(kid)


def certificate_lines(certificate: Certificate, instance: Instance, digest: str) -> Writer:
    """The proof that a certificate's claim holds, without its conclusion's refutation.

    Args:
        certificate: the certificate, as the checker reads it.
        instance: the engine's model, at the same length.
        digest: that of the program file.

    Returns:
        The lines, which end with ``claim`` or ``all``.

    Raises:
        NotEstablished: the claim does not follow from the cone.
        ResourceLimit: a row or an image is too large.
    """
    free = certificate.free.bit_count()
    if certificate.claimed_free != free:
        raise NotEstablished(f"certificate: claim.free: {free} positions are free, not {certificate.claimed_free}")
    writer = Writer(instance, digest)
    shown = Shown(certificate, instance, writer)
    if not _concluded(certificate, shown, False):
        if instance.n**2 * len(instance.model.variables) > DEEP:
            raise ResourceLimit("certificate: what depends on everything that is free is shown for small n only")
        writer = Writer(instance, digest)
        _concluded(certificate, Shown(certificate, instance, writer, deep=True), True)
    return writer


def _concluded(certificate: Certificate, shown: Shown, last: bool) -> bool:
    """Write the conclusion; False where a label depends on positions that are not free, by too few facts."""
    writer, free = shown.writer, certificate.free.bit_count()
    if (at := certificate.position) is None:
        sizes = [free if d is None else d.bit_count() for d in (said.depends for _, said in shown.found.values())]
        if max(sizes) > certificate.c:
            raise NotEstablished(f"certificate: claim.c: a label depends on {max(sizes)} free positions")
        writer.lines.append(f"all {shown.context} {free} {certificate.c}")
        return True
    values, label = shown.found[at]
    claimed = set(certificate.values)
    if (other := next((value for value in values if value not in claimed), None)) is not None:
        raise NotEstablished(f"certificate: claim.values: the output at {at} may take the value {other}")
    if label.depends is None and certificate.dependencies == certificate.free and free < certificate.n and not last:
        return False
    depends = certificate.free if label.depends is None else label.depends
    if more := depends & ~certificate.dependencies:
        lowest = (more & -more).bit_length() - 1
        raise NotEstablished(f"certificate: claim.dependencies: the output at {at} may depend on position {lowest}")
    where = writer.depends(certificate.dependencies)
    numbers = [shown.context, at, free, certificate.c, writer.set(claimed), where]
    writer.lines.append("claim " + " ".join(map(str, numbers)))
    return True
