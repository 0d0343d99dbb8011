"""The proof of a lower bound: facts under every box, and a tree that shows how many positions a conflict takes. Trees
come first: boxes that no tree names, and facts that no label rests on, are left out.

A small tree of docs/kernel.md, *unforced*, for a set of boxes: few positions do not conflict with all of them. A
proof names a tree (:mod:`restrict.certificate.hitting_tree`); a smaller tree is a smaller proof. An end needs boxes
whose ways have nothing in common, more than positions are left: where a few are left they are searched for exactly,
since each end that is found early saves all branches below it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.certificate.hitting_tree import HittingTree, Uncovered, named
from restrict.certificate.lower_bound import indices
from restrict.checker.account import Meter, unproved
from restrict.checker.lower import label_table
from restrict.checker.lower_bound import Bound
from restrict.elaboration.context import Known
from restrict.elaboration.hints import ReadBox, Symbols, read_boxes
from restrict.elaboration.needs import needed, reachable
from restrict.elaboration.rows import Rows
from restrict.elaboration.statements import LARGE, Statement
from restrict.elaboration.tokens import Cell, Tokens
from restrict.elaboration.writer import LABEL, Writer
from restrict.model.program import Instance

BOX_WORDS = 250
"""How many words of a tree a box is worth, with its facts."""
EFFORT = 200_000
"""Words of all trees that are made to leave boxes out, some twenty microseconds each."""


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
    context, said = {box: number for number, box in enumerate(order)}, list[str]()
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
    bound: Bound, every: Sequence[ReadBox], labels: Mapping[int, frozenset[int]], wanted: frozenset[int], least: int,
    meter: Meter,
) -> Line:  # fmt: skip
    """A line of the conclusion, with its tree."""
    boxes = [number for number, met in labels.items() if not met & wanted]
    symbols = [every[number].symbols for number in boxes]
    try:
        part, words = least_tree(symbols, len(bound.model.alphabet), least - 1, meter)
    except NotEstablished as error:
        names, place = dict(zip(bound.claims, bound.named, strict=True)), bound.top.key("claim")
        named_ = [names[label] for label in bound.claims if label in wanted]
        unproved(place.key("labels").key(named_[0]) if named_ else place, str(error))
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


def small_tree(boxes: Sequence[Symbols], alphabet: int, most: int, meter: Meter) -> HittingTree:
    """A tree whose run is charged, and gives few words."""
    return HittingTree(list(boxes), (1 << alphabet) - 1, most, charge=meter.charge, small=True)


def least_tree(boxes: Sequence[Symbols], alphabet: int, most: int, meter: Meter) -> tuple[list[int], list[int]]:
    """A small tree over a part of the boxes: some are left out, if the tree still closes and what they would take is
    more than what it grows by. First many at once, of those that are named least often, then fewer; as long as the
    effort goes. ``boxes``: allowed symbols as bits by position."""
    if not boxes:
        raise NotEstablished("every box has the label")
    try:
        words = small_tree(boxes, alphabet, most, meter).run()
    except Uncovered as error:
        raise NotEstablished(f"lower bound: claim: {error}") from None
    part = [box for box, _ in Counter(named(words)).most_common()]
    effort, size = EFFORT, -(-len(part) // 4)
    while size and effort > 0:
        for end in range(len(part), 0, -size):
            less = part[: max(0, end - size)] + part[end:]
            longest = len(words) + BOX_WORDS * (len(part) - len(less))
            tree = small_tree([boxes[box] for box in less], alphabet, most, meter)
            tree.limit = longest // 2  # a node has two words at least
            with suppress(Uncovered, ResourceLimit):
                shorter = tree.run()
                if len(shorter) < longest:
                    part, words = less, shorter
            effort -= min(longest, 2 * tree.nodes)
            if effort <= 0:
                break
        size //= 2
    return part, small_tree([boxes[box] for box in part], alphabet, most, meter).run()


def renumbered(words: Sequence[int], numbers: Mapping[int, int]) -> list[int]:
    """A tree with other numbers for its boxes. ``words``: the tree in preorder."""
    found, at = list[int](), 0
    while at < len(words):
        end = at + 1 + max(1, words[at])
        case = words[end : end + 1] if words[at] == 0 else []
        found += [words[at], *(numbers[box] for box in words[at + 1 : end]), *case]
        at = end + len(case)
    return found
