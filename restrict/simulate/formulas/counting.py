"""Counting terms as attention (Theorems 20 and 21): averages, look-ups of counts, and thresholds.

A count is ``N`` times an average over the ``N`` visible positions, which softmax computes exactly with scores 0. The
inequality ``T >= 0`` of integers is ``h = (T + 1/2) / N > 0``, and ``|h| >= 1 / (2N)``.

- *One direction only*: ``h`` is an average plus a multiple of the embedding ``1/N``, so one threshold head decides it.
  Where the query's position is the only one in view, no attention can decide it; there ``N = 1``, and ``relu(h + 1/2) -
  relu(h - 1/2)`` is the answer.
- *Several directions*: ``#future phi`` is ``#all phi - #past phi + phi``, and ``#past phi / n`` is looked up (Lemma 7)
  from ``#past phi / (i+1)`` in a table of ``(i+1)/n``, with an error of at most ``1 / (8n)``. A count of 0 has
  no entry; another head says whether the count is 0, and what was read is then replaced by 0.
- *A numerical predicate of a count* is looked up in the same way, in a table of its truth at ``i + 1``; its truth at 0
  is a position embedding.

The paper adds unbounded counts in a ReLU network; the threshold is ours, since it keeps embeddings bounded.
"""

from collections.abc import Callable
from fractions import Fraction

from restrict.logic.counting import Inequality, NumericalPredicate, parsed, truths
from restrict.simulate.formulas import gates
from restrict.simulate.formulas.network import Value
from restrict.simulate.formulas.patterns import Patterns, Result
from restrict.simulate.formulas.terms import predicate_term
from restrict.soft.models.model import Mask

Record = Callable[[Result], Value]
"""Notes a head's place and bound, and gives its coordinate."""
MASKS: dict[str, Mask] = {"past": "past", "future": "future", "all": "none"}


def predicate(patterns: Patterns, record: Record, detail: NumericalPredicate, args: list[Value]) -> Value:
    """The truth of a numerical predicate at every position; ``args``: the formula counted, or nothing for positions."""
    network = patterns.network
    if not detail.direction:
        return network.term(predicate_term(detail.text, "i"))
    mask = MASKS[detail.direction]
    share = record(patterns.average(args[0], mask))
    some = gates.rounded(network, record(patterns.exists(args[0], mask)))
    table = network.term(predicate_term(detail.text, "(i+1)"))
    seen: Mask = "past" if patterns.decoder else "none"
    found = gates.rounded(network, record(patterns.lookup(share, patterns.whole(mask), table, seen)))
    if "n" in parsed(detail.text).names:
        at_zero = network.term(predicate_term(detail.text, "0"))
    else:
        at_zero = gates.TRUE if truths(detail.text, 1)[0] else gates.FALSE
    return gates.disjunction(
        network, gates.conjunction(network, found, some), gates.conjunction(network, at_zero, ~some)
    )


def inequality(patterns: Patterns, record: Record, detail: Inequality, args: list[Value]) -> Value:
    """The truth of a linear inequality of counts at every position."""

    def at_least(bound: int) -> Value:
        return _positive(patterns, record, detail, args, detail.constant - bound)

    if detail.relation in (">=", "<"):
        found = at_least(0)
    elif detail.relation in (">", "<="):
        found = at_least(1)
    else:
        found = gates.conjunction(patterns.network, at_least(0), ~at_least(1))
    return found if detail.relation in (">=", ">", "=") else ~found


def _positive(patterns: Patterns, record: Record, detail: Inequality, args: list[Value], constant: int) -> Value:
    """Whether ``constant + sum of weights * counts >= 0``."""
    if not detail.weights:
        return gates.TRUE if constant >= 0 else gates.FALSE
    size = sum(abs(w) for w in detail.weights) + abs(constant + 0.5)
    directions = set(detail.directions)
    if len(directions) > 1:
        return _mixed(patterns, record, detail, args, constant, size)
    mask = MASKS[directions.pop()]
    total = sum((value * float(w) for value, w in zip(args, detail.weights, strict=True)), Value())
    number = record(patterns.average(total, mask)) + patterns.whole(mask) * (constant + 0.5)
    return _decided(patterns, record, number, mask, size, Fraction(1))


def _mixed(
    patterns: Patterns, record: Record, detail: Inequality, args: list[Value], constant: int, size: float
) -> Value:
    """Whether a sum of counts of several directions, all as shares of ``n``, is at least 0."""
    network = patterns.network
    here, past, everywhere = Value(), dict[Value, float](), Value()
    for value, weight, direction in zip(args, detail.weights, detail.directions, strict=True):
        if direction != "past":
            everywhere = everywhere + value * float(weight)
        if direction == "future":
            here = here + value * float(weight)
        if direction != "all":
            past[value] = past.get(value, 0.0) + weight * (1.0 if direction == "past" else -1.0)
    looked_up = {value: weight for value, weight in past.items() if weight}
    heavy = int(sum(abs(w) for w in looked_up.values()))
    number = record(patterns.average(everywhere, "none")) + patterns.whole("none") * (constant + 0.5)
    number = number + _over_n(patterns, here)
    for value, times in looked_up.items():
        share = record(patterns.average(value, "past"))
        some = gates.rounded(network, record(patterns.exists(value, "past")))
        table = patterns.network.term("(i+1)/n")
        found = record(patterns.lookup(share, patterns.whole("past"), table, "none", heavy))
        number = number + network.relus((found + some - 1.0, 1.0)) * times
    return _decided(patterns, record, number, "none", size + heavy, Fraction(4, 3))


def _over_n(patterns: Patterns, here: Value) -> Value:
    """``here / n`` for a weighted sum of truth values: ``relu(1/n + phi - 1)`` is ``1/n`` where phi holds."""
    whole = patterns.whole("none")
    found = whole * here.constant
    for at, weight in here.weights:
        one = Value(((at, 1.0),), 0.0, here.time)
        found = found + patterns.network.relus((whole + one - 1.0, 1.0)) * weight
    return found


def _decided(patterns: Patterns, record: Record, number: Value, mask: Mask, size: float, per: Fraction) -> Value:
    """A threshold head, and the answer where the position is alone."""
    network = patterns.network
    raw = record(patterns.threshold(number, mask, size, per))
    found, alone = gates.rounded(network, raw), patterns.alone(mask)
    single = network.relus((number + 0.5, 1.0), (number - 0.5, -1.0))
    # Where the position is not alone, single is at most 1 (up to rounding) and adds nothing; else it is 0 or 1.
    return network.relus((found - alone, 1.0), (single + alone * 2 - 2.0, 1.0))
