"""Sets of lengths that are given by equations, known at every length from finitely many.

An equation says of a set ``X`` of numbers that it is a union of some of: ``{0}``, ``{1}``; ``Y + k`` for ``k = 1, 2``;
``Y + Z + 1``; where ``Y`` and ``Z`` are unknown sets of the system, too. Whether ``n`` is in ``X`` depends on numbers
below ``n`` only; so a system has exactly one solution, and it is computed number by number.

**Theorem E.** Let ``T >= 0``, ``P >= 1`` and ``H = 2 T + 2 P + 4``. If in the solution ``t`` and ``t + P`` are in the
same sets for all ``T <= t < H - P``, then for all ``t >= T``.

*Proof.* Let ``S'`` agree with the solution below ``T + P``, and repeat with period ``P`` from ``T`` on; they agree
below ``H``, and so do both sides of the equations for ``S'``, as they look at smaller numbers. A sum ``Y' + Z'``
repeats from ``2 T + P - 1`` on: of two parts of ``n >= 2 T`` one is at least ``T``, and has ``P`` added; of two parts
of ``n + P >= 2 T + 2 P - 1`` one is at least ``T + P``, and has ``P`` taken away. So both sides of each equation repeat
from ``2 T + P + 1`` (or 2) on, and agree up to a period beyond that: ``S'`` is a solution, hence the solution. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from .account import Meter


class Rule(NamedTuple):
    """What a set is the union of: ``0`` and ``1`` (bits of ``start``), ``Y + k`` (pairs ``k, Y``), ``Y + Z + 1``."""

    start: int
    shifts: Iterable[tuple[int, Hashable]]
    sums: Iterable[tuple[Hashable, Hashable]]


class System:
    """The equations of some sets, and of all that these mention; sets are named by what ``rule`` understands."""

    def __init__(self, roots: Iterable[Hashable], rule: Callable[[Hashable], Rule], meter: Meter) -> None:
        self.meter = meter
        self.numbers: dict[Hashable, int] = {}
        self.names: list[Hashable] = []
        self.start: list[int] = []
        self.shifts: list[list[tuple[int, int]]] = []
        self.sums: list[list[tuple[int, int]]] = []
        for root in roots:
            self.number(root)
        for name in self.names:
            start, shifts, sums = rule(name)
            self.start.append(start)
            self.shifts.append(sorted({(k, self.number(y)) for k, y in shifts}))
            self.sums.append(sorted({(self.number(y), self.number(z)) for y, z in sums}))
            self.meter.charge(4 + 4 * self.width(-1))
            self.meter.hold(400 + 100 * self.width(-1))
        self.size = sum(self.width(u) for u in range(len(self.names)))
        self.known = 0
        self.members = [0] * len(self.names)
        self.backwards = [0] * len(self.names)

    def number(self, name: Hashable) -> int:
        """The number of a set."""
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]

    def width(self, u: int) -> int:
        """How many terms an equation has."""
        return 1 + len(self.shifts[u]) + len(self.sums[u])

    def extend(self, most: int) -> None:
        """Solve for all numbers below ``most``: bit ``t`` of ``members[u]``, bit ``known - 1 - t`` of
        ``backwards[u]``."""
        while self.known < most:
            self.meter.charge(self.size * (1 + self.known // 256))
            bits = [self.holds(u) for u in range(len(self.names))]
            for u, bit in enumerate(bits):
                self.members[u] |= bit << self.known
                self.backwards[u] = self.backwards[u] << 1 | bit
            self.known += 1

    def holds(self, u: int) -> int:
        """Whether the next number is in a set."""
        members, backwards = self.members, self.backwards
        if self.start[u] >> self.known & 1:
            return 1
        for k, y in self.shifts[u]:
            if backwards[y] >> (k - 1) & 1:
                return 1
        return +any(members[y] & backwards[z] for y, z in self.sums[u])

    def repeats(self, first: int, turn: int) -> bool:
        """Whether all sets repeat with a period from a number on, by Theorem E."""
        most = 2 * first + 2 * turn + 4
        self.meter.expect(most * self.size)
        self.meter.hold(most * len(self.names) // 4)
        self.extend(most)
        window = ((1 << (most - turn)) - 1) >> first << first
        return not any((m ^ (m >> turn)) & window for m in self.members)


def late(members: int, first: int, turn: int, t: int) -> bool:
    """Whether ``t`` is in a set that repeats with the period ``turn`` from ``first`` on."""
    at = t if t < first + turn else first + (t - first) % turn
    return bool(members >> at & 1)
