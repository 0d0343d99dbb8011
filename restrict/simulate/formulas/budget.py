"""The error budget of a compiled formula: every head, what it serves, and how far its result can be from the truth. The
budget holds when every deviation is below 1/4; then all Booleans are rounded to their truth values, and the model
computes the formula exactly. In exact arithmetic that is so at every length. In float64 and float32 it is so up to a
length that :meth:`HeadBudget.safe_length` computes; beyond it the result may be wrong, and nothing is claimed."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from restrict.simulate.floating import SAFE, UNITS, longest
from restrict.simulate.formulas.bounds import Bound
from restrict.soft.models.model import SoftModel


@dataclass(frozen=True)
class HeadRecord:
    """A head: its place, its pattern, the subformulas that it serves, its coordinate, and its bound. An average has no
    bound of its own: it is exact up to rounding, which is in the bound of the head that reads it."""

    layer: int
    head: int
    pattern: str
    serves: tuple[str, ...]
    coordinate: int
    bound: Bound | None

    def also(self, label: str) -> "HeadRecord":
        """The same head for one more subformula."""
        return replace(self, serves=(*self.serves, label))


@dataclass(frozen=True)
class HeadBudget:
    """All heads of a model, and the theorem that says how it was made."""

    theorem: str
    heads: tuple[HeadRecord, ...]
    depth: int

    @cached_property
    def bounds(self) -> frozenset[Bound]:
        """The different bounds of the heads."""
        return frozenset(head.bound for head in self.heads if head.bound is not None)

    def deviation(self, n: int, kind: str = "exact") -> float:
        """The largest deviation of an approximate Boolean from its truth value. ``kind``: ``"exact"``, ``"float64"`` or
        ``"float32"``."""
        unit = UNITS.get(kind, 0.0)
        return max((bound.deviation(n, unit) for bound in self.bounds), default=0.0)

    def everywhere(self) -> float:
        """The largest deviation at any length, in exact arithmetic."""
        return max((bound.everywhere() for bound in self.bounds), default=0.0)

    def safe_length(self, kind: str) -> int:
        """The largest length at which a floating-point run is certified to be right. ``kind``: ``"float64"`` or
        ``"float32"``. Result: the length, at most 10 million (the format's limit), with which all shorter ones are
        certified; 0 for none. Cost: some hundred evaluations of each head's bound."""
        return longest(lambda n: self.deviation(n, kind) < SAFE)

    def document(self, model: SoftModel, n: int | None = None) -> dict[str, Any]:
        """The budget as JSON. Result: a dictionary of texts and numbers; every number but ``depth`` and places is a
        certified bound."""
        heads = []
        for record in sorted(self.heads, key=lambda h: (h.layer, h.head)):
            head = model.layers[record.layer].heads[record.head]
            entry: dict[str, Any] = {"layer": record.layer, "head": record.head, "pattern": record.pattern}
            entry |= {"mask": head.mask, "inverse_temperature": head.scale.text, "serves": list(record.serves)}
            if record.bound is not None:
                entry["deviation_at_every_n"] = record.bound.everywhere()
                if n is not None:
                    entry["deviation"] = record.bound.deviation(n)
            heads.append(entry)
        found: dict[str, Any] = {"theorem": self.theorem, "layers": self.depth, "width": model.width}
        found["position_embeddings"] = [term.text for term in model.positions.terms]
        found |= {"limit": SAFE, "deviation_at_every_n": self.everywhere()}
        found |= {f"certified_length_{kind}": self.safe_length(kind) for kind in UNITS}
        return found | {"heads": heads}
