"""Formulas to softmax transformers, with parameters that do not depend on the length and a proof of the error budget.

Theorems 12, 13, 15, 16, 20 and 21 and Corollaries 17, 18, 22 and 23 of Yang, Strobl, Chiang & Angluin (2024): by
induction on the formula every subformula has a value at every position that is *exactly* its truth. Each temporal
operator is one head (:mod:`.patterns`) whose result is within 1/4 of a truth value (:mod:`.bounds`), which a ReLU
network then rounds (Lemma 9), so errors do not add up from layer to layer.

``phi since psi`` is the value of psi at the nearest ``j <= i`` with ``not phi or psi`` (docs/logic.md); ``weak
since``, ``trigger`` and ``strong trigger`` differ in key and value. ``once psi`` needs no tie-breaking: it asks whether
psi holds anywhere in view, with ``1/tau = O(log n)`` where the paper's since has ``O(n)``. A strict operator is
``previous`` of the reflexive one. Future operators are the mirror images.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restrict.base.wording import counted
from restrict.logic.counting import Inequality, NumericalPredicate
from restrict.logic.formula import Builder, Formula
from restrict.logic.operators import BOOLEAN, MIRROR, PAST, SINCE, SYMBOL, Node
from restrict.logic.parser import read_over
from restrict.logic.printer import shortened
from restrict.simulate.floating import UNITS, right_up_to, shown_bound, with_lengths
from restrict.simulate.formulas import counting, gates
from restrict.simulate.formulas.budget import HeadBudget, HeadRecord
from restrict.simulate.formulas.network import Network, Value
from restrict.simulate.formulas.patterns import How, Patterns, Result
from restrict.simulate.formulas.theorems import theorem
from restrict.soft.models.model import Mask, Place, SoftModel

MAX_LABEL = 60


@dataclass(frozen=True, eq=False)
class Compiled:
    """A formula as a softmax transformer. ``values[k]`` says where the truth of ``formula.nodes[k]`` stands in the
    residual stream after the last layer; ``budget`` has every head with what it serves and its certified bounds."""

    formula: Formula
    model: SoftModel
    budget: HeadBudget
    values: tuple[Value, ...]

    def document(self, n: int | None = None) -> dict[str, Any]:
        """The error budget.

        Args:
            n: a length, markers counted, at which bounds are wanted, too.

        Returns:
            A JSON object; see :meth:`restrict.simulate.formulas.budget.Budget.document`.
        """
        return self.budget.document(self.model, n)

    def text(self, place: str | Path, n: int | None = None) -> str:
        """The error budget in words.

        Args:
            place: the file that the weights were written to.
            n: a length, markers counted, at which bounds are wanted, too.

        Returns:
            Lines.
        """
        found = self.document(n)
        heads, layers = counted(len(found["heads"]), "head"), counted(found["layers"], "layer")
        told = [f"{place}: {heads} in {layers}, width {found['width']} ({found['theorem']})"]
        if self.model.positions.terms:
            told.append(f"  position embeddings: {', '.join(found['position_embeddings'])}")
        told.append(
            f"  before rounding every Boolean is within {shown_bound(found['deviation_at_every_n'])} of its truth "
            "value, at every length (certified bound; the limit is 0.25)"
        )
        if n is not None:
            told.append(f"  at n = {n}: within {shown_bound(self.budget.deviation(n))} (certified bound)")
        told += [f"  {kind}: {right_up_to(found[f'certified_length_{kind}'])}" for kind in UNITS]
        for head in found["heads"]:
            bound = f", within {shown_bound(head['deviation_at_every_n'])}" if "deviation_at_every_n" in head else ""
            told.append(
                f"  layer {head['layer']} head {head['head']}: {head['pattern']}, mask {head['mask']}, "
                f"1/tau = {head['inverse_temperature']}{bound}, for {'; '.join(head['serves'])}"
            )
        return "\n".join(told)


def compile_soft(
    formula: Formula | str,
    alphabet: Sequence[str],
    *,
    how: How = "temperature",
    decoder: bool = False,
    at: Place = "last",
    name: str | None = None,
) -> Compiled:
    """A softmax transformer that computes a formula at every length.

    Args:
        formula: a formula, or its text.
        alphabet: the symbols, each once.
        how: ``"temperature"`` for bounded position embeddings and inverse temperatures ``1/tau(n)``, ``"positions"``
            for unbounded position embeddings and temperature 1.
        decoder: every head sees ``j <= i`` only, and position embeddings do not depend on ``n``; for formulas that look
            left only.
        at: where the truth is read: ``"last"``, ``"first"`` or ``"every"`` position.
        name: the model's name, by default the formula.

    Returns:
        The model with its error budget. Cost linear in the formula times the width of the model.

    Raises:
        UsageError: a malformed formula or alphabet, or one for which there is no theorem; the message names it.
        ResourceLimit: more layers, heads or coordinates than a file may have.
    """
    formula, symbols = read_over(formula, alphabet, at)
    reason = theorem(formula, how, decoder)
    lowering = _Lowering(formula, Patterns(Network(symbols), how, decoder))
    values = lowering.values()
    budget = HeadBudget(reason, tuple(lowering.records), lowering.network.depth)
    name = name or shortened(formula, 100)
    model = lowering.network.model(name, f"compiled from temporal logic: {reason}", values[-1], at)
    certified = {kind: budget.safe_length(kind) for kind in UNITS}
    return Compiled(formula, with_lengths(model, certified), budget, tuple(values))


class _Lowering:
    """The formula's nodes, one after the other."""

    def __init__(self, formula: Formula, patterns: Patterns) -> None:
        self.formula, self.patterns, self.network = formula, patterns, patterns.network
        self.records: list[HeadRecord] = []
        self.known: dict[int, int] = {}
        self.label = ""
        self.builder = Builder()
        self.builder.include(formula)

    def values(self) -> list[Value]:
        """The truth value of every node."""
        found: list[Value] = []
        for at, node in enumerate(self.formula.nodes):
            self.label = _label(self.formula, at)
            found.append(self.lower(node, [found[a] for a in node.args]))
        return found

    def record(self, result: Result) -> Value:
        """Note a head once, with the first subformula that it serves; later ones are added to it."""
        raw = result.raw.weights[0][0]
        if raw not in self.known:
            self.known[raw] = len(self.records)
            layer, head = self.network.places[raw]
            self.records.append(HeadRecord(layer, head, result.pattern, (self.label,), raw, result.bound))
        record = self.records[self.known[raw]]
        if self.label not in record.serves:
            self.records[self.known[raw]] = record.also(self.label)
        return result.raw

    def rounded(self, result: Result) -> Value:
        return gates.rounded(self.network, self.record(result))

    def lower(self, node: Node, args: list[Value]) -> Value:
        """The truth value of a node from those of its operands."""
        op = node.op
        if op == SYMBOL:
            return self.network.symbol(node.symbol)
        if op in ("true", "false", "not", *BOOLEAN):
            return gates.operation(self.network, op, args)
        if isinstance(node.detail, Inequality):
            return counting.inequality(self.patterns, self.record, node.detail, args)
        if isinstance(node.detail, NumericalPredicate):
            return counting.predicate(self.patterns, self.record, node.detail, args)
        if op in PAST or op == "first":
            return self.temporal(op, args, "past")
        return self.temporal(MIRROR[op], args, "future")

    def temporal(self, op: str, args: list[Value], mask: Mask) -> Value:
        """A past operator, or under a future mask its mirror image."""
        if op == "first":
            return self.patterns.end(mask)
        if op == "previous":
            found = self.rounded(self.patterns.neighbour(args[0], mask))
            return gates.conjunction(self.network, found, ~self.patterns.end(mask))
        if op == "weak previous":
            return ~self.temporal("previous", [~args[0]], mask)
        if op.startswith("strict "):
            plain = op.removeprefix("strict ")
            weak = plain in ("historically", "weak since", "trigger")
            return self.temporal("weak previous" if weak else "previous", [self.temporal(plain, args, mask)], mask)
        if op in ("once", "historically"):
            return self.exists(args[0], mask) if op == "once" else ~self.exists(~args[0], mask)
        phi, psi = args
        return self.since(op, phi, psi, mask)

    def exists(self, key: Value, mask: Mask) -> Value:
        """``once``, or under a future mask ``eventually``."""
        return self.rounded(self.patterns.exists(key, mask)) if key.weights else key

    def since(self, op: str, phi: Value, psi: Value, mask: Mask) -> Value:
        """The four binary operators by their key and value."""
        turned, combined, _ = SINCE[op]
        key = gates.operation(self.network, "implies", [psi, phi] if turned else [phi, psi])
        value = psi if combined is None else gates.operation(self.network, combined, [phi, psi])
        return self.rounded(self.patterns.nearest(key, value, mask)) if value.weights else value


def _label(formula: Formula, at: int) -> str:
    """The text of a subformula, cut where it is long."""
    if len(formula.nodes) > 200:
        return f"{formula.nodes[at].op} (node {at})"
    builder = Builder()
    builder.nodes = list(formula.nodes)
    return shortened(builder.formula(at), MAX_LABEL)
