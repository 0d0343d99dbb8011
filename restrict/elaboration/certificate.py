"""The proof of a certificate: facts at every leaf, and what holds in all cases of a question, from the leaves up."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from restrict.base.errors import ResourceLimit
from restrict.checker.account import Meter, unproved
from restrict.checker.formats import Certificate
from restrict.checker.lower import label_table
from restrict.elaboration.context import Known, OutOfReach
from restrict.elaboration.hints import Cone, Hints
from restrict.elaboration.needs import Node, needed, reachable
from restrict.elaboration.rows import Rows
from restrict.elaboration.statements import LARGE, NODE, Statement, joined
from restrict.elaboration.tokens import Tokens, fixed_cells
from restrict.elaboration.writer import LABEL, Writer
from restrict.model.program import Instance


@dataclass
class Part:
    """A node of the tree of cases: a leaf with its cone, or a position that is asked, with a part for each symbol."""

    path: dict[int, int]
    cone: Cone | None = None
    position: int = -1
    kids: "list[Part]" = field(default_factory=list)
    known: Known | None = None
    outputs: dict[int, Sequence[int]] = field(default_factory=dict)
    labels: dict[int, Statement] = field(default_factory=dict)
    context: int = -1


class Shown:
    """The proof of one certificate, written to ``writer``; ``context`` is the restriction's. Every leaf is examined; a
    fact that is the same in all leaves below a question is tried there, and then stated once (``hoist``); what no
    conclusion needs is left out (``keep``); then rows and lines are written."""

    def __init__(self, hints: Hints, instance: Instance, writer: Writer, meter: Meter, deep: bool = False) -> None:
        self.certificate, self.instance, self.writer, self.meter = hints.certificate, instance, writer, meter
        certificate = hints.certificate
        self.deep, self.table, self.output = deep, label_table(certificate.model), certificate.model.output
        self.fixed = fixed_cells(certificate)
        self.rows = Rows(instance, meter)
        at = certificate.position
        self.targets = range(instance.n) if at is None else range(at, at + 1)
        self.tree = tree_of(charged(hints, meter))
        n, symbols = instance.n, len(instance.model.alphabet)
        self.tokens = Tokens.make(n, symbols, self.fixed, instance.pinned)
        for leaf in leaves_of(self.tree):
            self.examine(leaf)
        self.hoist(self.tree, None)
        self.keep(self.tree)
        writer.write_rows(self.rows)
        self.context = writer.box(-1, self.fixed)
        self.write(self.tree, self.context)

    def known(self, part: Part, above: Known | None) -> Known:
        """Nothing but the symbols and what a context above has stated."""
        self.meter.charge(8 + self.instance.n // 64)
        self.meter.hold(2000)
        tokens = self.tokens.answered(part.path) if part.path else self.tokens
        return Known(self.instance, tokens, self.rows, self.deep, given=above.facts if above else None)

    def examine(self, leaf: Part) -> None:
        """The facts at a leaf, and those about the labels."""
        leaf.known = known = self.known(leaf, None)
        target = self.certificate.position
        if target is None and self.certificate.claimed_free <= self.certificate.c:
            return  # that every label depends on free positions alone needs no facts
        for name, i in reachable(self.instance, leaf.cone or {}, target, self.meter):
            known.examine(name, i)
        self.meter.charge(NODE * len(self.targets) // 4)
        self.meter.hold(400 * len(self.targets))
        for at in self.targets:
            if self.deep and self.output not in ("token", "position"):
                known.examine(self.output, at)
            leaf.outputs[at], leaf.labels[at] = known.values(self.output, at), self.label(known, at)
        known.finish()

    def label(self, known: Known, at: int) -> Statement:
        """The fact about the label at a position; without values where they are too many to be written down."""
        values = known.values(self.output, at)
        if len(values) > LARGE:
            return Statement(LABEL, at, (), None)
        self.meter.charge(len(values) // 4)
        labels = values if self.table is None else {self.table[value] for value in values}
        depends = 0 if len(labels) == 1 else known.depends(self.output, at)
        return Statement(LABEL, at, tuple(sorted(labels)), depends)

    def hoist(self, part: Part, above: Known | None) -> None:
        """Facts that are the same in all leaves below, stated here where they hold here; and so on below."""
        if not part.kids:
            if above is not None and part.known is not None:
                stated = part.known.statements
                part.known.statements = [said for said in stated if above.fact(said.name, said.i) != said]
            return
        part.known = known = self.known(part, above)
        leaves = [leaf.known.statements for leaf in leaves_of(part) if leaf.known is not None]
        self.meter.charge(sum(map(len, leaves)))
        same = set(leaves[0]).intersection(*leaves[1:])
        for said in leaves[0]:
            if said in same and known.fact(said.name, said.i) != said:
                with suppress(OutOfReach, ResourceLimit):  # a fact that holds in all leaves can be out of reach above
                    known.examine(said.name, said.i)
                if known.fact(said.name, said.i) != said:
                    known.forget(said.name, said.i)
        for kid in part.kids:
            self.hoist(kid, known)

    def keep(self, part: Part) -> set[tuple[str, int]]:
        """Leave out what is not needed; the nodes of which something has to be known from above."""
        assert part.known is not None
        goals = set[Node]().union(*map(self.keep, part.kids))
        if not part.kids:
            goals = {(self.output, i) for i, said in part.labels.items() if self.worth_stating(said)}
            goals |= {(self.output, i) for i in self.targets if self.certificate.position is not None}
        part.known.statements, more = needed(part.known, goals)
        for said in part.known.statements:
            self.rows.keep(said)
        return more

    def worth_stating(self, label: Statement) -> bool:
        """Whether a label's fact says more than nothing does."""
        return bool(label.values) and (self.certificate.position is not None or label.depends is not None)

    def write(self, part: Part, context: int) -> None:
        """The facts of a part and all below it; then what holds of the output in all cases."""
        assert part.known is not None
        part.context = context
        for said in part.known.statements:
            self.writer.statement(context, said)
        if not part.kids:
            for label in filter(self.worth_stating, part.labels.values()):
                self.writer.statement(context, label)
            return
        cells = ((part.position, part.position + 1, (symbol,)) for symbol in range(len(part.kids)))
        kids = [self.writer.box(context, [cell]) for cell in cells]
        for kid, number in zip(part.kids, kids, strict=True):
            self.write(kid, number)
        for at in self.targets:
            self._case(part, at, kids)

    def _case(self, part: Part, at: int, kids: Sequence[int]) -> None:
        """The output and its label in all cases of a question."""
        labels = [kid.labels[at] for kid in part.kids]
        if not all(said.values for said in labels):
            raise ResourceLimit(f"{self.certificate.top.file}: cases: the output has too many values")
        values = sorted(set(chain.from_iterable(kid.outputs[at] for kid in part.kids)))
        met = sorted(set(chain.from_iterable(said.values for said in labels)))
        depends = joined([said.depends for said in labels] + [1 << part.position]) if len(met) > 1 else 0
        part.outputs[at], part.labels[at] = values, Statement(LABEL, at, tuple(met), depends)
        if self.output not in ("token", "position"):
            self.writer.case(part.context, Statement(self.output, at, tuple(values), None), part.position, kids)
        self.writer.case(part.context, part.labels[at], part.position, kids)


def charged(hints: Hints, meter: Meter) -> Hints:
    """The hints, once the cases and their nodes are charged, and what is kept of each."""
    leaves = len(hints.model.alphabet) ** len(hints.split)
    meter.expect(leaves * 20 * NODE)
    meter.fits(leaves * 4000)
    if hints.cases is None:
        meter.expect(leaves * (hints.model.n // 64))
    return hints


def tree_of(hints: Hints) -> Part:
    """The tree of cases, or a single leaf, from the leaves in order."""
    root = Part({})
    for path, cone in hints.leaves():
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


def certificate_lines(certificate: Certificate, instance: Instance, digest: str, limit: int) -> Writer:
    """The proof that a certificate's claim holds, without its conclusion's refutation. ``limit``: steps that the
    elaboration may take, half a microsecond each. Gives the lines, which end with ``claim`` or ``all``."""
    hints, free = Hints(certificate), certificate.free.bit_count()
    if certificate.claimed_free != free:
        place = certificate.top.key("claim").key("free")
        unproved(place, f"{free} positions are free, not {certificate.claimed_free}")
    for deep in (False, True):
        meter = Meter(limit)
        meter.place = certificate.top
        writer = Writer(instance, digest, meter)
        if _concluded(certificate, Shown(hints, instance, writer, meter, deep), deep):
            break
    return writer


def _concluded(certificate: Certificate, shown: Shown, last: bool) -> bool:
    """Write the conclusion; False where a label depends on positions that are not free, by too few facts."""
    writer, free, place = shown.writer, certificate.free.bit_count(), certificate.top.key("claim")
    output = certificate.model.output
    if (at := certificate.position) is None:
        for where, said in shown.tree.labels.items():
            if (size := free if said.depends is None else said.depends.bit_count()) > certificate.c:
                unproved(place.key("c"), f"{output} at {where} depends on {size} free positions")
        writer.add(f"all {shown.context} {free} {min(certificate.c, certificate.n)}")
        return True
    values, label = shown.tree.outputs[at], shown.tree.labels[at]
    claimed = set(certificate.values)
    if (other := next((value for value in values if value not in claimed), None)) is not None:
        unproved(place.key("values"), f"{output} at {at} may take the value {other}")
    if label.depends is None and certificate.dependencies == certificate.free and free < certificate.n:
        if len(claimed) == certificate.model.domains[output]:
            writer.add(f"all {shown.context} {free} {free}")  # the claim says nothing, so no node has to be examined
            return True
        if not last:
            return False
    depends = certificate.free if label.depends is None else label.depends
    if more := depends & ~certificate.dependencies:
        lowest = (more & -more).bit_length() - 1
        unproved(place.key("dependencies"), f"{output} at {at} may depend on position {lowest}")
    where = writer.depends(certificate.dependencies)
    numbers = [shown.context, at, free, certificate.c, writer.set(claimed), where]
    writer.add("claim " + " ".join(map(str, numbers)))
    return True
