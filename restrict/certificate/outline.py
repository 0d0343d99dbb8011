"""The file format ``restrict-certificate/1`` (docs/format.md) as it is written: runs of positions, none expanded.

A certificate of a few lines may name a hundred million positions. Code that only draws or lists a file reads this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from restrict.arrays import MAX64
from restrict.model.program import MAX_N
from restrict.restriction import Span, read_spans, read_symbol_spans
from restrict.strictjson import Node
from restrict.task import Target

FORMAT = "restrict-certificate/1"
MAX_SPLIT = 12
"""The most positions that a certificate may be split over."""
MOST_SHOWN = 64
"""The most values of a claim that are shown."""


@dataclass(frozen=True)
class OutlineClaim:
    """A claim; ``values`` and ``dependencies`` are ``None`` for the target ``all``."""

    free: int
    c: int
    dependencies: tuple[Span, ...] | None
    values: tuple[int, ...] | None

    def text(self, n: int, target: Target) -> str:
        """The claim as the checker prints it; of more than :data:`MOST_SHOWN` values, the first ones and their number.

        ``n``: the length, markers included. ``target``: ``"last"``, ``"all"`` or a position. Result: one line without
        the digest.
        """
        head = f"n={n} target={target} free={self.free} c={self.c}"
        if self.values is None:
            return head
        more = f",... ({len(self.values)} values)" if len(self.values) > MOST_SHOWN else ""
        return f"{head} values={','.join(map(str, self.values[:MOST_SHOWN]))}{more}"


@dataclass(frozen=True)
class Outline:
    """The parts of a certificate, as in the file; ``fixed`` are (start, count, symbol), ``cases`` is not read yet."""

    model_name: str
    sha256: str | None
    n: int
    target: Target
    fixed: tuple[tuple[int, int, str], ...] = field(repr=False)
    cone: Literal["all"] | Mapping[str, tuple[Span, ...]] = field(repr=False)
    claim: OutlineClaim = field(repr=False)
    split: tuple[int, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)
    cases: Node | None = field(default=None, repr=False)

    @property
    def positions(self) -> int:
        """How many positions it names in all."""
        cone = () if self.cone == "all" else self.cone.values()
        nodes = sum(count for spans in cone for _, count in spans)
        depends = sum(count for _, count in self.claim.dependencies or ())
        return sum(count for _, count, _ in self.fixed) + nodes + depends


def read_outline(root: Node) -> Outline:
    """A certificate from its JSON form.

    ``root``: the JSON value, with its place for messages. Result: the parts of the file, positions as runs. The tree of
    cases is not read.
    """
    optional = ("split", "cases", "provenance")
    fields = root.document(FORMAT, ("model", "n", "target", "fixed", "cone", "claim"), optional)
    model = fields["model"].fields(("name", "sha256"))
    n = fields["n"].integer(1, MAX_N)
    target: Target = fields["target"].value
    if target not in ("last", "all"):
        target = fields["target"].integer(0, n - 1)
    cone: Literal["all"] | dict[str, tuple[Span, ...]] = "all"
    if fields["cone"].value != "all":
        fields["cone"].expect(dict, '"all" or an object')
        cone = {name: read_spans(node, n) for name, node in fields["cone"].members()}
    provenance = fields["provenance"].expect(dict, "an object") if "provenance" in fields else {}
    digest = None if model["sha256"].value is None else model["sha256"].text()
    fixed = read_symbol_spans(fields["fixed"], n)
    claim = _claim(fields["claim"], n, target)
    split = _split(fields["split"], n) if "split" in fields else ()
    if split and "cases" in fields:
        root.fail("at most one of split and cases")
    cases = fields.get("cases")
    return Outline(model["name"].text(), digest, n, target, fixed, cone, claim, split, provenance, cases)


def _split(node: Node, n: int) -> tuple[int, ...]:
    """The positions of a split."""
    if len(node.expect(list, "a list")) > MAX_SPLIT:
        node.fail(f"more than {MAX_SPLIT} positions")
    positions = tuple(p.integer(0, n - 1) for p in node.items())
    if list(positions) != sorted(set(positions)):
        node.fail("expected a strictly increasing list")
    return positions


def _claim(node: Node, n: int, target: Target) -> OutlineClaim:
    """What is claimed."""
    if target == "all":
        fields = node.fields(("free", "c"))
        return OutlineClaim(fields["free"].integer(0, n), fields["c"].integer(0, n), None, None)
    fields = node.fields(("free", "c", "dependencies", "values"))
    values = _values(fields["values"])
    dependencies = read_spans(fields["dependencies"], n)
    c = fields["c"].integer(0, n)
    count = sum(length for _, length in dependencies)
    if c != count:
        fields["c"].fail(f"c is {c}, but {count} dependencies are listed")
    return OutlineClaim(fields["free"].integer(0, n), c, dependencies, values)


def _values(node: Node) -> tuple[int, ...]:
    """The values of a claim. There may be millions, so entries are looked at one by one only where one is wrong."""
    values = tuple(node.expect(list, "a list"))
    if set(map(type, values)) != {int} or min(values) < 0 or max(values) > MAX64:
        for entry in node.items():
            entry.integer(0)
    if not values or any(a >= b for a, b in pairwise(values)):
        node.fail("expected a non-empty increasing list")
    return values
