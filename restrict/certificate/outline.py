"""The file format ``restrict-certificate/1`` (docs/format.md) as it is written: runs of positions, none expanded. A
certificate of a few lines may name a hundred million positions. Code that only draws or lists a file reads this
form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from restrict.base.strictjson import Node
from restrict.checker.account import Place
from restrict.checker.formats import CERTIFICATE, CLAIM, CLAIM_ALL
from restrict.checker.read import digest, integer, integers, string
from restrict.model.restriction import Span, read_spans, read_symbol_spans
from restrict.model.task import Target

FORMAT = "restrict-certificate/1"


def digest_or_none(value: Any, place: Place) -> str | None:
    """A SHA-256; ``None`` for a model without a file, which the trusted checker refuses."""
    return None if value is None else str(digest(value, place))


NAMED = {"name": string, "sha256": digest_or_none}
"""How a proof names its model."""
MAX_SPLIT = 12
"""The most positions that a certificate may be split over."""
MOST_SHOWN = 64
"""The most values of a claim that are shown."""


@dataclass(frozen=True)
class Claim:
    """What a certificate says. For the target ``all``, ``dependencies`` and ``values`` are ``None``; in an outline,
    ``dependencies`` are runs of positions."""

    free: int
    c: int
    dependencies: tuple[Any, ...] | None
    values: tuple[int, ...] | None

    def text(self, n: int, target: Target) -> str:
        """The claim as the checker prints it; of more than 64 values, the first ones and their number.

        Args:
            n: the length, markers included.
            target: ``"last"``, ``"all"`` or a position.

        Returns:
            One line without the digest.
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
    claim: Claim = field(repr=False)
    split: tuple[int, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)
    cases: Node | None = field(default=None, repr=False)

    @property
    def positions(self) -> int:
        """How many positions it names in all."""
        cone = () if self.cone == "all" else self.cone.values()
        nodes = sum(count for spans in cone for _, count in spans)
        depends: int = sum(count for _, count in self.claim.dependencies or ())
        return sum(count for _, count, _ in self.fixed) + nodes + depends


def read_outline(root: Node) -> Outline:
    """A certificate from its JSON form, by the trusted checker's table of fields. ``root``: the JSON value, with its
    place for messages. Result: the parts of the file, positions as runs. The tree of cases is not read."""
    fields, nodes = root.read(CERTIFICATE | {"model": NAMED}), dict(root.members())
    n, target = fields["n"], fields["target"]
    if target not in ("last", "all"):
        nodes["target"].read(integer(0, n - 1))
    cone: Literal["all"] | dict[str, tuple[Span, ...]] = "all"
    if fields["cone"] != "all":
        nodes["cone"].expect(dict, '"all" or an object')
        cone = {name: read_spans(node, n) for name, node in nodes["cone"].members()}
    fixed, claim = read_symbol_spans(nodes["fixed"], n), _claim(nodes["claim"], n, target)
    split = _split(nodes["split"], n) if "split" in fields else ()
    if split and "cases" in fields:
        root.fail("at most one of split and cases")
    model, provenance = fields["model"], fields.get("provenance", {})
    return Outline(model["name"], model["sha256"], n, target, fixed, cone, claim, split, provenance, nodes.get("cases"))


def _split(node: Node, n: int) -> tuple[int, ...]:
    positions = tuple(node.read(integers(0, n - 1)))
    if len(positions) > MAX_SPLIT:
        node.fail(f"more than {MAX_SPLIT} positions")
    if any(a >= b for a, b in pairwise(positions)):
        node.fail("expected a strictly increasing list")
    return positions


def _claim(node: Node, n: int, target: Target) -> Claim:
    """What is claimed. There may be millions of values."""
    claim, nodes = node.read(CLAIM_ALL if target == "all" else CLAIM), dict(node.members())
    if target == "all":
        return Claim(claim["free"], claim["c"], None, None)
    values, dependencies = tuple(claim["values"]), read_spans(nodes["dependencies"], n)
    count = sum(length for _, length in dependencies)
    if claim["c"] != count:
        nodes["c"].fail(f"c is {claim['c']}, but {count} dependencies are listed")
    if not values or any(a >= b for a, b in pairwise(values)):
        nodes["values"].fail("expected a non-empty increasing list")
    return Claim(claim["free"], claim["c"], dependencies, values)
