"""QuickXplain (Junker, AAAI 2004): a subset-minimal part of a set that passes a monotone test.

Deletion tries every element alone, which takes as many tests as there are elements. Here the set is halved: where
everything else passes with one half alone, the other half goes at once. A part of ``k`` of ``n`` elements takes about
``2 k log2(n / k) + 2 k`` tests, so many orders can be tried, also from all of a long input.

*Proof of minimality* (Junker): when an element is kept, the test failed without it although everything before it in the
order, and what was kept of everything after it, was there; the answer is a part of that, and the test is monotone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from restrict.optimum.oracle import Cube

Test = Callable[[Cube], Cube | None]
"""A part of the cube that explains, or ``None`` where the cube does not."""


def quickxplain(test: Test, cube: Cube, order: Sequence[int]) -> Cube:
    """A subset-minimal part that passes a monotone test; positions that come early in the order are kept if possible.
    ``test``: gives a part of a cube that passes, or ``None``; a larger cube passes where a smaller one does. Cost:
    about ``2 k log2(n / k) + 2 k`` tests for ``k`` of ``n`` positions."""
    if not order or test({}) is not None:
        return {}

    def needed(behind: Cube, changed: bool, part: Sequence[int]) -> Cube:
        """What ``part`` adds to ``behind`` at least; ``changed``: whether ``behind`` has grown since the last test."""
        if changed and test(behind) is not None:
            return {}
        if len(part) == 1:
            return {part[0]: cube[part[0]]}
        first, second = part[: len(part) // 2], part[len(part) // 2 :]
        late = needed(behind | {i: cube[i] for i in first}, True, second)
        return needed(behind | late, bool(late), first) | late

    return needed({}, False, order)
