"""The proof of a lower bound: facts under every box, and a tree that shows how many positions a conflict takes. Trees
come first: boxes that no tree names, and facts that no label rests on, are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from restrict.base.errors import NotEstablished
from restrict.certificate.hitting_tree import named
from restrict.certificate.lower_bound import indices
from restrict.checker.account import Meter, unproved
from restrict.checker.lower import label_table
from restrict.checker.lower_bound import Bound
from restrict.elaboration.conflicts import least_tree, renumbered
from restrict.elaboration.context import Known
from restrict.elaboration.hints import ReadBox, read_boxes
from restrict.elaboration.needs import needed, reachable
from restrict.elaboration.rows import Rows
from restrict.elaboration.statements import LARGE, Statement
from restrict.elaboration.tokens import Cell, Tokens
from restrict.elaboration.writer import LABEL, Writer
from restrict.model.program import Instance


class Line(NamedTuple):
    """What is concluded: labels, the fewest positions that force one, and a tree over the boxes of the file."""

    labels: frozenset[int]
    least: int
    boxes: Sequence[int]
    words: Sequence[int]


def bound_lines(bound: Bound, instance: Instance, digest: str, limit: int) -> Writer:
    """The proof that a lower bound's claim holds. ``limit``: steps that the elaboration may take, half a microsecond
    each. Gives the lines, which end with ``unforced``."""
    meter = Meter(limit)
    meter.place = bound.top
    writer, rows = Writer(instance, digest, meter), Rows(instance, meter)
    table, output, at = label_table(bound.model), bound.model.output, bound.position
    boxes = read_boxes(bound)
    labels: dict[int, frozenset[int]] = {}
    facts: list[list[Statement]] = []
    for number, hint in enumerate(boxes):
        known = examined(bound, hint, instance, rows)  # let go at once: it holds all tokens
        facts.append(needed(known, [(output, at)])[0])
        values = known.values(output, at)
        if len(values) <= LARGE:  # else it is of no use
            labels[number] = frozenset(values if table is None else (table[value] for value in values))
    lines = [concluded(bound, boxes, labels, wanted, least, meter) for wanted, least in claims(bound, labels, table)]
    often = Counter(line.boxes[number] for line in lines for number in named(line.words))
    order = [box for box, _ in often.most_common()]
    kept = [facts[box] for box in order]
    for statements in kept:
        for said in statements:
            rows.keep(said)
    writer.write_rows(rows)
    for box, statements in zip(order, kept, strict=True):
        number = writer.box(-1, cells_of(boxes[box]))
        label = Statement(LABEL, at, tuple(sorted(labels[box])), None)
        for said in [*statements, label]:
            writer.statement(number, said)
    conclude(writer, at, lines, order)
    return writer


def conclude(writer: Writer, at: int, lines: Sequence[Line], order: Sequence[int]) -> None:
    """The conclusion's lines; ``order`` are the boxes as they were written."""
    context = {box: number for number, box in enumerate(order)}
    said: list[str] = []
    for line in lines:
        mine = sorted(context[box] for box in {line.boxes[number] for number in named(line.words)})
        place = {order[number]: place for place, number in enumerate(mine)}
        words = renumbered(line.words, {at: place[box] for at, box in enumerate(line.boxes) if box in place})
        head = [writer.set(line.labels), line.least - 1, at, writer.set(mine)]
        said.append("unforced " + " ".join(map(str, [*head, *words])))
    for text in said:
        writer.add(text)


def cells_of(box: ReadBox) -> list[Cell]:
    """The symbols that a box allows, position by position."""
    return [(at, at + 1, indices(bits)) for at, bits in sorted(box.symbols.items())]


def examined(bound: Bound, box: ReadBox, instance: Instance, rows: Rows) -> Known:
    """What is known under a box."""
    rows.meter.charge(100 + instance.n // 64)
    rows.meter.fits(4 * instance.n)
    rows.meter.hold(2000)
    tokens = Tokens.make(instance.n, len(instance.model.alphabet), cells_of(box), instance.pinned)
    known = Known(instance, tokens, rows, blind=True)
    for name, i in reachable(instance, box.cone, bound.position, rows.meter):
        known.examine(name, i)
    known.finish()
    return known


def concluded(
    bound: Bound,
    every: Sequence[ReadBox],
    labels: Mapping[int, frozenset[int]],
    wanted: frozenset[int],
    least: int,
    meter: Meter,
) -> Line:
    """A line of the conclusion, with its tree."""
    boxes = [number for number, met in labels.items() if not met & wanted]
    symbols = [every[number].symbols for number in boxes]
    try:
        part, words = least_tree(symbols, len(bound.model.alphabet), least - 1, meter)
    except NotEstablished as error:
        names = [name for name, label in zip(bound.named, bound.claims, strict=True) if label in wanted]
        unproved(bound.top.key("claim").key("labels").key(names[0]) if names else bound.top.key("claim"), str(error))
    return Line(wanted, least, [boxes[number] for number in part], words)


def claims(
    bound: Bound, labels: Mapping[int, frozenset[int]], table: Sequence[int] | None
) -> list[tuple[frozenset[int], int]]:
    """Sets of labels with what forcing any takes: those named, and the others, together where no box has them."""
    domain = bound.model.domains[bound.model.output]
    if table is not None:
        domain = 2 if bound.model.accept is not None else len(bound.model.label_names)
    found = [(frozenset((label,)), least) for label, least in bound.claims.items()]
    if bound.others is None:
        return found
    met = frozenset[int]().union(*labels.values()) - bound.claims.keys()
    found += [(frozenset((label,)), bound.others) for label in sorted(met)]
    rest = frozenset(range(domain)) - met - bound.claims.keys()
    return [*found, (rest, bound.others)] if rest else found
