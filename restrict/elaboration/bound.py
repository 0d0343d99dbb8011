"""The proof of a lower bound: facts under every box, and a tree that shows how many positions a conflict takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from restrict.checker.kernel1.lower import label_table
from restrict.checker.lower_bound import Bound, Symbols, symbols_of
from restrict.checker.read import runs_of
from restrict.elaboration.context import LARGE, Known, Statement
from restrict.elaboration.rows import Rows
from restrict.elaboration.writer import LABEL, Writer
from restrict.errors import NotEstablished
from restrict.model.program import Instance


def bound_lines(bound: Bound, instance: Instance, digest: str) -> Writer:
    """The proof that a lower bound's claim holds.

    Args:
        bound: the lower bound, as the checker reads it.
        instance: the engine's model, at the same length.
        digest: that of the program file.

    Returns:
        The lines, which end with ``unforced``.

    Raises:
        NotEstablished: the boxes do not show it.
        ResourceLimit: a row or an image is too large.
    """
    writer, rows, found = Writer(instance, digest), Rows(), list[Known]()
    for box in bound.boxes:
        tokens = {at: tuple(sorted(symbols_of(bits))) for at, bits in box.symbols.items()}
        known = Known(instance, tokens, rows, blind=True)
        for variable in instance.model.variables:
            for i in chain.from_iterable(range(*run) for run in runs_of(box.cone.get(variable.name, ()))):
                known.examine(variable.name, i)
        found.append(known)
    writer.write_rows(rows)
    labels: dict[int, frozenset[int]] = {}
    table = label_table(bound.model)
    for box, known in zip(bound.boxes, found, strict=True):
        number = writer.box(-1, {at: tuple(sorted(symbols_of(bits))) for at, bits in box.symbols.items()})
        values = known.values(bound.model.output, bound.position)
        if len(values) > LARGE:
            continue  # of no use
        labels[number] = frozenset(values if table is None else (table[value] for value in values))
        for said in known.statements:
            writer.statement(number, said)
        writer.statement(number, Statement(LABEL, bound.position, tuple(sorted(labels[number])), None))
    conclusion: list[str] = []
    for wanted, least in claims(bound, labels, table):
        boxes = [number for number, met in labels.items() if not met & wanted]
        words = Tree([bound.boxes[number].symbols for number in boxes], len(bound.model.alphabet), least - 1).words()
        numbers = [writer.set(wanted), least - 1, bound.position, writer.set(boxes), *words]
        conclusion.append("unforced " + " ".join(map(str, numbers)))
    writer.lines += conclusion
    return writer


def claims(
    bound: Bound, labels: Mapping[int, frozenset[int]], table: Sequence[int] | None
) -> list[tuple[frozenset[int], int]]:
    """Sets of labels with what forcing any of them takes: those that are named, and the others, together where no box
    has them."""
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


class Tree:
    """The tree of docs/trusted-base.md, Theorem C, over boxes with allowed symbols as bits, in preorder."""

    def __init__(self, boxes: Sequence[Symbols], alphabet: int, most: int) -> None:
        self.boxes, self.most, self.everything = [dict(sorted(box.items())) for box in boxes], most, (1 << alphabet) - 1

    def words(self) -> list[int]:
        """The whole tree.

        Returns:
            Its words.

        Raises:
            NotEstablished: so few positions conflict with every box.
        """
        if not self.boxes:
            raise NotEstablished("lower bound: claim: every box has the label")
        return self._closed(frozenset(), {}, range(len(self.boxes)))

    def _unmet(self, chosen: frozenset[int], has: Symbols, candidates: Sequence[int]) -> list[tuple[int, list[int]]]:
        """The boxes without a certain conflict, with their ways, fewest first."""
        found = []
        for number in candidates:
            ways, met = list[int](), False
            for at, allowed in self.boxes[number].items():
                symbols = has.get(at, self.everything)
                met = met or (at in chosen and not symbols & allowed)
                if symbols & ~allowed and (at in chosen or len(chosen) < self.most):
                    ways.append(at)
            if not met:
                found.append((number, ways))
        return sorted(found, key=lambda entry: (len(entry[1]), entry[0]))

    def _closed(self, chosen: frozenset[int], has: Symbols, candidates: Sequence[int]) -> list[int]:
        """The words of one node and all below it."""
        unmet = self._unmet(chosen, has, candidates)
        if not unmet:
            raise NotEstablished(
                f"lower bound: claim: {len(chosen)} positions conflict with every box without the label"
            )
        number, ways = unmet[0]
        if not ways:
            return [1, number]
        apart, taken = list[int](), set(chosen)
        for box, others in unmet:
            if taken.isdisjoint(others):
                apart.append(box)
                taken.update(others)
        if len(apart) > (room := self.most - len(chosen)):
            return [room + 1, *apart[: room + 1]]
        rest, has, words, count = [box for box, _ in unmet], dict(has), list[int](), 0
        for at in ways:
            symbols, allowed = has.get(at, self.everything), self.boxes[number][at]
            words += self._closed(chosen | {at}, {**has, at: symbols & ~allowed}, rest)
            count, has[at] = count + 1, symbols & allowed
            if at in chosen and not has[at]:
                break
        return [-count, number, *words]
