"""Lower bounds: boxes that no small restriction conflicts with; type and file format ``restrict-lower-bound/1``
(docs/format.md). A box gives some positions a set of allowed symbols; whatever the other positions are, the output then
lies in a set of values, by Theorem A for the box's cone. A restriction that forces the label ``y`` conflicts with every
box none of whose values has the label ``y``: it fixes a position of the box to a symbol that is not allowed there. So
where no ``k`` positions conflict with all of these boxes (:mod:`restrict.certificate.hitting_tree`), forcing ``y``
takes more than ``k`` (Theorem C of docs/kernel.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib import parse

from restrict.base.errors import quote
from restrict.base.htmltable import ShownTable
from restrict.base.strictjson import Node, Record, one_line_lists
from restrict.certificate.outline import NAMED
from restrict.checker.lower_bound import BOUND
from restrict.checker.read import integer, strings
from restrict.model.program import Model, Output
from restrict.model.restriction import read_runs, read_spans, runs, value_runs
from restrict.model.task import Target

FORMAT = "restrict-lower-bound/1"
Symbols = Mapping[int, tuple[str, ...]]
"""Positions with symbols of the alphabet."""


@dataclass(frozen=True)
class Box:
    """Position ``p`` has one of the symbols ``only[p]``, or none of ``never[p]``; ``cone`` are the nodes to examine."""

    only: Symbols
    never: Symbols
    cone: Mapping[str, Sequence[int]]

    def to_json(self) -> dict[str, Any]:
        """The box as the file has it."""
        only, never = (value_runs((p, list(kept[p])) for p in sorted(kept)) for kept in (self.only, self.never))
        document: dict[str, Any] = {"only": only} | ({"never": never} if never else {})
        return document | {"cone": {name: runs(where) for name, where in self.cone.items()}}

    def __len__(self) -> int:
        """How many positions are restricted."""
        return len(self.only) + len(self.never)


@dataclass(frozen=True, eq=False)
class LowerBound(Record):
    """Forcing the label ``y`` fixes at least ``labels[y]`` positions, and any label not listed at least ``others``
    (``None``: nothing is said of them). ``boxes`` prove it; ``sha256`` is ``None`` for a model without a file."""

    model_name: str
    sha256: str | None
    n: int
    target: Target
    boxes: tuple[Box, ...] = field(repr=False)
    labels: Mapping[str, int]
    others: int | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def at_least(self, model: Model) -> int:
        """The least number of positions that forcing any label must fix, as far as the claim says.

        Args:
            model: the program that the bound is for.

        Returns:
            The least of the claimed bounds; 0 where some label has none.
        """
        output = model.output
        count = label_count(output, model.at(self.n).domains[output.variable])
        rest = [] if len(self.labels) == count else [self.others or 0]
        return min([*self.labels.values(), *rest])

    def text(self, model: Model) -> str:
        """The claim as the checker prints it.

        Args:
            model: the program that the bound is for.

        Returns:
            One line without the digest.
        """
        named = ",".join(f"{parse.quote(label, safe='')}:{bound}" for label, bound in self.labels.items())
        more = (f" labels={named}" if named else "") + ("" if self.others is None else f" others={self.others}")
        return f"n={self.n} target={self.target} at_least={self.at_least(model)}{more}"

    def to_bytes(self) -> bytes:
        """The bytes of the file; the same for the same bound."""
        claim = {"labels": dict(self.labels)} | ({} if self.others is None else {"others": self.others})
        document = {
            "format": FORMAT,
            "model": {"name": self.model_name, "sha256": self.sha256},
            "n": self.n,
            "target": self.target,
            "boxes": [box.to_json() for box in self.boxes],
            "claim": claim,
            "provenance": dict(self.provenance),
        }
        return (one_line_lists(document, 2) + "\n").encode()

    @classmethod
    def from_json(cls, root: Node) -> "LowerBound":
        """A lower bound from its JSON form; see :class:`restrict.base.strictjson.Record`."""
        fields, nodes = root.read(BOUND | {"format": (FORMAT,), "model": NAMED}), dict(root.members())
        n, target, claim = fields["n"], fields["target"], dict(nodes["claim"].members())
        if target != "last":
            nodes["target"].read(integer(0, n - 1))
        labels = {name: node.read(integer(1, n + 1)) for name, node in claim["labels"].members()}
        others = claim["others"].read(integer(1, n + 1)) if "others" in claim else None
        if not labels and others is None:
            nodes["claim"].fail("nothing is claimed")
        boxes = tuple(_box(node, n) for node in nodes["boxes"].items())
        model, provenance = fields["model"], fields.get("provenance", {})
        return LowerBound(model["name"], model["sha256"], n, target, boxes, labels, others, provenance)

    def facts(self) -> ShownTable:
        """What a notebook shows."""
        rows: list[tuple[str, object]] = [("target", self.target), ("boxes", len(self.boxes))]
        rows += [(f"{label} takes at least", least) for label, least in self.labels.items()]
        rows += [] if self.others is None else [("any other label", self.others)]
        return ShownTable(f"lower bound: {self.model_name} at n = {self.n}", rows)


def label_count(output: Output, domain: int) -> int:
    """How many labels the values of the output variable, of this domain, have."""
    names = _label_names(output, domain)
    return domain if names is None else len(names)


def _label_names(output: Output, domain: int) -> set[str] | None:
    """The labels, or ``None`` where the values are their own labels."""
    if output.labels is not None:
        return set(output.labels)
    if output.accept is not None:
        return {output.label(v) for v in (*sorted(output.accept), *_first_other(output.accept, domain))}
    return None


def _first_other(accept: frozenset[int], domain: int) -> list[int]:
    return [v for v in range(min(domain, len(accept) + 1)) if v not in accept][:1]


# ---------------------------------------------------------------- reading


def _box(node: Node, n: int) -> Box:
    fields = node.fields(("only", "cone"), ("never",))
    only = _read_symbols(fields["only"], n)
    never = _read_symbols(fields["never"], n) if "never" in fields else {}
    both = next((p for p in only if p in never), None)
    if both is not None:
        node.fail(f"position {both} is in only and in never")
    cone = {name: read_runs(runs, n) for name, runs in fields["cone"].members()}
    empty = next((name for name, positions in cone.items() if not positions), None)
    if empty is not None:
        fields["cone"].fail(f"the run list of {quote(empty)} is empty")
    return Box(only, never, cone)


def _read_symbols(node: Node, n: int) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for at, (start, count) in enumerate(read_spans(node, n, 3)):
        symbols = tuple(Node(node.value[at][2], f"{node.place}[{at}][2]").read(strings))
        found.update(dict.fromkeys(range(start, start + count), symbols))
    return found


def indices(bits: int) -> tuple[int, ...]:
    """The numbers of the set bits, ascending."""
    return tuple(t for t, bit in enumerate(reversed(bin(bits)[2:])) if bit == "1")
