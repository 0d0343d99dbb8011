"""The values of a formula in a stream under construction: one coordinate for each number, written once.

Time goes in half layers. Attention of layer ``L`` reads what is ready at time ``2L`` and writes at ``2L + 1``; the
network of that layer reads at ``2L + 1`` and writes at ``2L + 2``. The embedding is ready at time 0. So everything
is in the first layer in which its inputs are ready, equal things are written once, and all numbers are still there
after the last layer.

Invariant of the compilers: a :class:`Value` that stands for a truth value is exactly 0 or 1, in real arithmetic and in
floating point (docs/compile-soft.md), so no error is handed from one layer to the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from restrict.simulate.stream import Affine, HeadRows, Stream, Unit
from restrict.soft.models.model import Mask, Place, SoftModel
from restrict.soft.models.terms import Term


@dataclass(frozen=True)
class Value:
    """``constant`` plus weighted coordinates, ready at ``time``; the weights are small integers or halves, so exact."""

    weights: tuple[tuple[int, float], ...] = ()
    constant: float = 0.0
    time: int = 0

    def __add__(self, other: "Value | float") -> "Value":
        if not isinstance(other, Value):
            return Value(self.weights, self.constant + other, self.time)
        found = dict(self.weights)
        for at, weight in other.weights:
            found[at] = found.get(at, 0.0) + weight
        kept = tuple(sorted((at, weight) for at, weight in found.items() if weight))
        return Value(kept, self.constant + other.constant, max(self.time, other.time))

    def __mul__(self, factor: float) -> "Value":
        return Value(tuple((at, weight * factor) for at, weight in self.weights), self.constant * factor, self.time)

    def __sub__(self, other: "Value | float") -> "Value":
        return self + (other * -1 if isinstance(other, Value) else -other)

    def __invert__(self) -> "Value":
        """One minus this value: the negation of a truth value."""
        return self * -1 + 1.0


@dataclass(frozen=True)
class PlannedHead:
    """A head before it is written: ``scale * sum of query_r(i) key_r(j)`` are its scores."""

    query: tuple[Value, ...]
    key: tuple[Value, ...]
    value: Value
    mask: Mask
    scale: str

    @property
    def time(self) -> int:
        """The time at which all that the head reads is ready."""
        return max(v.time for v in (*self.query, *self.key, self.value))


class Network:
    """Values in a stream that is built, equal ones once; the first coordinates are the one-hot embedding."""

    def __init__(self, alphabet: Sequence[str]) -> None:
        self.stream = Stream(alphabet)
        self.places: dict[int, tuple[int, int]] = {}
        self._made: dict[object, Value] = {}

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return self.stream.depth

    def symbol(self, symbol: str) -> Value:
        """The coordinate that is 1 where the input has this symbol, ready at time 0."""
        return Value(((self.stream.alphabet.index(symbol), 1.0),))

    def term(self, text: str) -> Value:
        """The coordinate of a position embedding, a term in ``i`` and ``n`` (docs/soft-format.md), ready at time 0."""
        return Value(((self.stream.term(text), 1.0),))

    def attend(self, head: PlannedHead) -> Value:
        """A head's result, in a coordinate of its own; the place of the head is in ``places``."""
        if head not in self._made:
            number = (head.time + 1) // 2
            target = self.stream.block(1, number + 1)
            rows = HeadRows(
                _rows(head.query), _rows(head.key), _rows([head.value]), target, head.mask, Term(head.scale)
            )
            self.places[target.start] = (number, self.stream.head(number, rows))
            self._made[head] = Value(((target.start, 1.0),), 0.0, 2 * number + 1)
        return self._made[head]

    def relus(self, *units: tuple[Value, float]) -> Value:
        """A weighted sum of ReLUs, in a coordinate of its own; a constant where all arguments are constant."""
        if not any(value.weights for value, _ in units):
            return Value((), sum(weight * max(value.constant, 0.0) for value, weight in units))
        if units not in self._made:
            number = max(value.time for value, _ in units) // 2
            at = self.stream.block(1, number + 1).start
            for value, weight in units:
                self.stream.unit(number, Unit(dict(value.weights), value.constant, {at: weight}))
            self._made[units] = Value(((at, 1.0),), 0.0, 2 * number + 2)
        return self._made[units]

    def model(self, name: str, description: str, output: Value, place: Place) -> SoftModel:
        """A model whose sign output is ``2 output - 1``. Cost linear in the size of the weights."""
        return self.stream.build(name, description, _rows([output * 2 - 1]), place=place)


def _rows(values: Sequence[Value]) -> list[Affine]:
    return [(dict(v.weights), v.constant) for v in values]
