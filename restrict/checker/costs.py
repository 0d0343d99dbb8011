"""Least costs of walks of every length, checked by local inequalities (Theorem D below, no search).

A graph has edges of cost 0 (the first of a node) and 1 (its others). ``x_v(t)`` is the least cost of a walk of ``t``
edges from node 0 to ``v``, infinite where there is none, and ``x(t)`` the least of them over the goals.

A proof names ``T`` (``settled``) and ``P`` (``turn``). The checker walks ``T + 2 P`` steps and compares the costs
claimed below ``T + P``. With ``a_v = x_v(t)`` and ``c_v = x_v(t + P) - x_v(t)`` for ``T <= t < T + P``, and ``a'_v``,
``c'_v`` the same for ``t + 1`` (where ``t + 1 = T + P``: ``a'_v = x_v(T + P)``, and ``c'_v`` that of ``T``), it checks

1. ``x_v(t)`` and ``x_v(t + P)`` are both finite, or neither;
2. for each ``v``, over the edges ``u -> v`` with ``a_u`` finite: no ``c_u`` is below ``c'_v``, and one edge has
   ``a_u + cost = a'_v`` and ``c_u = c'_v``;
3. over the goals with ``a_v`` finite: no ``c_v`` is below ``c``, and one has ``a_v = x(t)`` and ``c_v = c``, where
   ``c`` is what the claim adds in ``P`` steps.

**Theorem D.** Then ``x_v(t + k P) = a_v + k c_v`` and ``x(t + k P) = x(t) + k c`` for all ``k >= 0``.

*Proof.* Induction on the length. ``x_v`` at the next length is the least ``a_u + k c_u + cost`` over the edges into
``v``. At ``k = 0`` the least ``a_u + cost`` is ``a'_v``, by the walk; with ``c_u >= c'_v`` no term is below
``a'_v + k c'_v``, and by 2 one is equal. By 1, finite and infinite values stay what they are. 3 is the same for the
goals. ∎
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from .account import Meter, Place, malformed, unproved
from .read import integer, integers

INFINITE = 1 << 62
MOST = 1_000_000_000
"""No claimed cost comes near ``INFINITE``."""
COSTS = {
    "costs": integers(-1, MOST),
    "growth": integers(0, MOST),
    "settled": integer(0, 1_000_000),
    "turn": integer(1, 100_000),
}
Vector = Sequence[int]


def spoken_costs(costs: Any, growth: Any) -> str:
    """What is claimed of large lengths, in words; ``impossible=1/2``: at one of each two."""
    late, turn = [c for c in costs[-len(growth) :] if c >= 0], len(growth)
    how = f"grows={max(growth)}" if any(growth) else f"at-most={max(late)}" if late else "impossible"
    some = f" impossible={turn - len(late)}/{turn}" if 0 < len(late) < turn else ""
    return f"{how}{some} period={turn} from={len(costs) - turn}"


class Costs:
    """``costs[t]`` (-1: infinite); from the end of the list on, the last ``len(growth)`` entries repeat, and each time
    ``growth`` is added to them."""

    def __init__(self, fields: dict[str, Any], place: Place, meter: Meter) -> None:
        self.costs, self.growth = fields["costs"], fields["growth"]
        self.settled, self.turn = fields["settled"], fields["turn"]
        self.place, self.meter = place, meter
        self.start = len(self.costs) - len(self.growth)
        if not self.growth or self.start < 0:
            malformed(place.key("growth"), "expected an entry for each of the last costs, and at least one")
        if any(g and c < 0 for g, c in zip(self.growth, self.costs[self.start :], strict=True)):
            malformed(place.key("growth"), "a cost of -1 does not grow")
        if self.turn % len(self.growth) or self.settled < self.start:
            unproved(place.key("settled"), "expected a length of the last costs, and a multiple of their period")

    def at(self, t: int) -> int:
        """The cost claimed at ``t``."""
        turns, r = divmod(t - self.start, len(self.growth)) if t >= len(self.costs) else (0, t - self.start)
        value = self.costs[self.start + r]
        return INFINITE if value < 0 else value + (turns * self.growth[r] if turns else 0)

    def check(self, edges: list[list[int]], goals: list[int], least: int) -> None:
        """The claim, at every length from ``least`` on."""
        if self.settled < least:
            unproved(self.place.key("settled"), f"no claim is about lengths below {least}")
        end, turn = self.settled + self.turn, self.turn
        size = sum(len(steps) for steps in edges) + len(goals)
        self.meter.charge((end + 2 * turn + 2) * (size + 4) * 2)
        row = [0] + [INFINITE] * (len(edges) - 1)
        kept: list[Vector] = []
        for t in range(end + turn):
            found = min([row[v] for v in goals], default=INFINITE)
            if least <= t < end and found != self.at(t):
                unproved(self.place.key("costs"), f"the cost for {t} symbols is not {self.shown(t)}")
            if t >= self.settled:
                self.meter.hold(100 + 12 * len(row))  # and the rises, one for two rows
                kept.append(array("q", row))
            row = after(row, edges)
        rises = [self.rise(one, two) for one, two in zip(kept[:turn], kept[turn:], strict=True)]
        for r in range(turn):
            self.step(edges, (kept[r], rises[r]), (kept[r + 1], rises[(r + 1) % turn]))
            self.end(goals, kept[r], rises[r], self.settled + r)

    def shown(self, t: int) -> int:
        """The claimed cost as it is written."""
        return -1 if self.at(t) == INFINITE else self.at(t)

    def rise(self, one: Vector, two: Vector) -> Vector:
        """What a turn adds to each finite cost (1)."""
        if any((a == INFINITE) != (b == INFINITE) for a, b in zip(one, two, strict=True)):
            unproved(self.place.key("settled"), "a set that is reached at one length is not a turn later")
        return array("q", [b - a for a, b in zip(one, two, strict=True)])

    def step(self, edges: list[list[int]], here: tuple[Vector, Vector], then: tuple[Vector, Vector]) -> None:
        """Condition 2 for one length."""
        (a, c), (later, rises) = here, then
        met = [value == INFINITE for value in later]
        for u, steps in enumerate(edges):
            if a[u] == INFINITE:
                continue
            for k, v in enumerate(steps):
                if c[u] < rises[v]:
                    unproved(self.place.key("settled"), "the costs are not settled there: one will fall behind")
                if a[u] + (k > 0) == later[v] and c[u] == rises[v]:
                    met[v] = True
        if not all(met):
            unproved(self.place.key("settled"), "the costs are not settled there: one grows faster")

    def end(self, goals: list[int], a: Vector, c: Vector, t: int) -> None:
        """Condition 3 for one length."""
        finite = [v for v in goals if a[v] < INFINITE]
        if not finite:
            return  # the claim says so at t, and so for ever
        grows = self.at(t + self.turn) - self.at(t)
        if any(c[v] < grows for v in finite) or (self.at(t), grows) not in [(a[v], c[v]) for v in finite]:
            unproved(self.place.key("growth"), f"from {t} symbols on, {self.turn} more do not add {grows}")


def after(row: Vector, edges: list[list[int]]) -> list[int]:
    """The least costs one edge later."""
    out = [INFINITE] * len(row)
    for cost, steps in zip(row, edges, strict=True):
        if cost == INFINITE:
            continue
        for k, v in enumerate(steps):
            if cost + (k > 0) < out[v]:
                out[v] = cost + (k > 0)
    return out
