"""Sets of lengths that repeat from some length on, exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from restrict.languages.walk import least_period, until_repeat

T = TypeVar("T")


@dataclass(frozen=True)
class Lengths:
    """A set of lengths: ``early[n]`` for ``n`` below its size, then ``cycle[(n - len(early)) % len(cycle)]``."""

    early: tuple[bool, ...]
    cycle: tuple[bool, ...]

    def __contains__(self, n: object) -> bool:
        if not isinstance(n, int) or n < 0:
            return False
        if n < len(self.early):
            return self.early[n]
        return self.cycle[(n - len(self.early)) % len(self.cycle)]

    def __bool__(self) -> bool:
        return any(self.early) or any(self.cycle)

    def document(self) -> dict[str, list[int]]:
        """The lengths as a proof file has them."""
        return {"early": [int(b) for b in self.early], "cycle": [int(b) for b in self.cycle]}

    def text(self) -> str:
        """The lengths in words."""
        shown = [str(n) for n, there in enumerate(self.early) if there]
        start, period = len(self.early), len(self.cycle)
        if all(self.cycle):
            while start and self.early[start - 1]:
                start -= 1
                shown.pop()
            return ", ".join([*shown, f"every n >= {start}"])
        late = [start + at for at, there in enumerate(self.cycle) if there]
        residues = " or ".join(f"n = {n % period} mod {period}" for n in late)
        return ", ".join([*shown, *([f"from {late[0]} on: {residues}"] if late else [])]) or "none"


def lengths_where(
    start: T, after: Callable[[T], T], holds: Callable[[T], bool], markers: int, empty: bool, most: int
) -> Lengths:
    """The lengths, markers counted, at which something holds of the place that is reached. ``after``: the place one
    symbol further; ``empty``: whether the empty word counts, which is no input where there are no markers; at most
    ``most`` places, else ``ResourceLimit``."""
    # From the first symbol on: what is said of the empty word is not said of the place, to which a word may come back.
    places, first = until_repeat(after(start), after, most, f"two automata have more than {most} pairs of states")
    history = [False] * markers + [empty and holds(start)] + [holds(place) for place in places]
    return shortest_lengths(history[: first + markers + 1], history[first + markers + 1 :])


def shortest_lengths(early: list[bool], cycle: list[bool]) -> Lengths:
    """The same set with the least period, and with the fewest early entries."""
    cycle = cycle[: least_period(cycle)]
    while early and early[-1] == cycle[-1]:
        cycle = [early.pop(), *cycle[:-1]]
    return Lengths(tuple(early), tuple(cycle))
