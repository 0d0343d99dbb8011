"""Boolean operations on exact truth values, and rounding (Lemma 9), by ReLU networks. With operands that are exactly 0
or 1 every result is exactly 0 or 1, in floating point too: only numbers of a few bits occur. Rounding is written
``relu(2x - 1/2) - relu(2x - 3/2)``. For ``x`` in [3/4, 5/4] both are multiples of the unit in the last place of ``2x``,
so both differences, and theirs, are computed exactly: the result is exactly 1; for ``x <= 1/4`` both are 0."""

from restrict.simulate.formulas.network import Network, Value

TRUE, FALSE = Value((), 1.0), Value((), 0.0)


def rounded(network: Network, raw: Value) -> Value:
    """Lemma 9: 0 for what is at most 1/4 and 1 for what is at least 3/4. ``network``: gets the two units."""
    return network.relus((raw * 2 - 0.5, 1.0), (raw * 2 - 1.5, -1.0))


def conjunction(network: Network, *values: Value) -> Value:
    """Whether all are true: ``relu(sum - (count - 1))``, a unit unless the result is constant or one of the values."""
    if any(not v.weights and v.constant == 0 for v in values):
        return FALSE
    left = list(dict.fromkeys(v for v in values if v.weights))
    if len(left) < 2:
        return left[0] if left else TRUE
    total = sum(left[1:], left[0])
    return network.relus((total - float(len(left) - 1), 1.0))


def disjunction(network: Network, *values: Value) -> Value:
    """Whether one is true. ``network``: gets a unit, unless the result is constant or one of the values."""
    return ~conjunction(network, *(~v for v in values))


def different(network: Network, a: Value, b: Value) -> Value:
    """Exclusive or: ``relu(a - b) + relu(b - a)``, two units unless one operand is constant."""
    for one, other in ((a, b), (b, a)):
        if not one.weights:
            return ~other if one.constant else other
    return network.relus((a - b, 1.0), (b - a, 1.0))


def operation(network: Network, op: str, args: list[Value]) -> Value:
    """``true``, ``false``, ``not``, ``and``, ``or``, ``implies``, ``xor`` or ``iff``, in units of the network."""
    match op:
        case "true" | "false":
            return TRUE if op == "true" else FALSE
        case "not":
            return ~args[0]
        case "and":
            return conjunction(network, *args)
        case "or":
            return disjunction(network, *args)
        case "implies":
            return disjunction(network, ~args[0], args[1])
    found = different(network, *args)
    return found if op == "xor" else ~found
