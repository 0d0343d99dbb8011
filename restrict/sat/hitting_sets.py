"""Implicit hitting sets (Reiter 1987; Chandrasekaran et al., SODA 2011): one loop, and solvers that propose. Sets that
must be hit are known only through an oracle, which finds one that a proposal misses. A proposal that misses none is an
answer; where proposals come in order of cost, so do the answers. The parts are given as functions: how a proposal is
made (:class:`Cheapest`, :class:`Priced`, or :class:`restrict.optimum.hitting.Problem` within a bound), and what is
learnt from it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from typing import Generic, TypeVar

from restrict.base.deadline import NEVER, Deadline
from restrict.sat.limit import Budget, ask

Proposal = TypeVar("Proposal")
Symbol = TypeVar("Symbol")


def unmissed(
    propose: Callable[[], Proposal | None], learn: Callable[[Proposal], bool], rounds: int | None = None
) -> Iterator[Proposal]:
    """The proposals that miss nothing, in the order in which they are made. ``propose``: the next proposal; ``None``
    where there is none. One that was an answer must be blocked to go on; ``rounds``: proposals at most; ``None``: any
    number. Cost: one call of each function for every proposal."""
    for _ in count() if rounds is None else range(rounds):
        proposal = propose()
        if proposal is None:
            return
        if not learn(proposal):
            yield proposal


class Cheapest(Generic[Symbol]):
    """Restrictions of the fewest positions that conflict with every known cube, by RC2. ``symbols``: the symbols that
    each of them may get, at least one."""

    def __init__(self, places: Iterable[int], symbols: Sequence[Symbol]) -> None:
        from pysat.examples.rc2 import RC2
        from pysat.formula import WCNF

        self.symbols = symbols
        self.element = {pair: x for x, pair in enumerate(product(places, symbols), 1)}
        formula = WCNF()
        for (i, a), x in self.element.items():
            formula.append([-x], weight=1)
            formula.extend([[-x, -self.element[i, b]] for b in symbols[: symbols.index(a)]])
        self.solver = RC2(formula)

    def add(self, cube: Mapping[int, Symbol]) -> None:
        """A restriction must fix a position of this cube to another symbol."""
        self.solver.add_clause([self.element[i, b] for i, a in cube.items() for b in self.symbols if b != a])

    def get(self) -> dict[int, Symbol] | None:
        """A restriction that conflicts with every cube; ``None`` where there is none."""
        model = self.solver.compute()
        return None if model is None else {i: a for (i, a), x in self.element.items() if x in set(model)}


class Priced:
    """Sets of positions of the least price that hit every known set, by MaxSAT on what :func:`reduced` leaves, anew for
    every proposal. ``prices``: the price of a position, at least 1, where it is not 1; ``budget``: conflicts that the
    calls of SAT may still take together; ``None``: any number. ``OutOfTime`` where it is spent, or the time is."""

    def __init__(self, prices: Mapping[int, int], deadline: Deadline = NEVER, budget: Budget | None = None) -> None:
        self.prices, self.deadline, self.budget = prices, deadline, budget
        self.sets, self.blocked = set[frozenset[int]](), list[frozenset[int]]()

    def add(self, positions: Iterable[int]) -> None:
        """One of these must be in the set."""
        self.sets.add(frozenset(positions))

    def block(self, positions: Iterable[int]) -> None:
        """Propose no set that includes this one any more."""
        self.blocked.append(frozenset(positions))

    def get(self) -> list[int] | None:
        """The next proposal, ascending; ``None`` where there is none any more."""
        from pysat.examples.rc2 import RC2
        from pysat.formula import WCNF

        self.deadline.check()
        left = reduced(self.sets, self.prices, frozenset[int]().union(*self.blocked))
        rest = sorted(sorted(one) for one in left if len(one) != 1)
        taken = {i for one in left if len(one) == 1 for i in one}
        element = {i: x for x, i in enumerate(dict.fromkeys(i for one in rest for i in one), 1)}
        blocked = [one - taken for one in self.blocked if taken.union(element) >= one]
        if not all(blocked):
            return None
        if rest:
            formula = WCNF()
            formula.extend([[element[i] for i in one] for one in rest] + [[-element[i] for i in b] for b in blocked])
            formula.extend([[-x] for x in element.values()], weights=[self.prices.get(i, 1) for i in element])
            with RC2(formula, solver="glucose4") as maxsat:
                maxsat._call_oracle = lambda assumptions, **_: ask(
                    maxsat.oracle, assumptions, self.deadline, self.budget
                )
                if (model := maxsat.compute()) is None:
                    return None
                true = set(model)
            taken.update(i for i, x in element.items() if x in true)
        return sorted(taken)

    def weight(self, positions: Iterable[int]) -> int:
        """The price of some positions together."""
        return sum(self.prices.get(i, 1) for i in positions)


def reduced(
    sets: Iterable[frozenset[int]], prices: Mapping[int, int], kept: Collection[int] = ()
) -> set[frozenset[int]]:
    """Sets with which as little hits all, over fewer positions: without a set that includes another one, and without a
    position where another one, which costs no more, is in all of its sets (Weihe, ALEX 1998). Over the blocks of an
    explanation a third of the positions are left, and MaxSAT takes few conflicts where it took thousands. ``kept``: no
    position goes for the sake of one of these. Cost: a few rounds of an intersection for each set and position."""
    left, before = set(sets), None
    while left != before:
        before, places = left, dict[int, list[frozenset[int]]]()
        for one in left:
            for i in one:
                places.setdefault(i, []).append(one)
        including = {i: set(ones) for i, ones in places.items()}
        left = left.difference(*(set.intersection(*(including[i] for i in one)) - {one} for one in left if one))
        gone = set[int]()
        for i in sorted(places, key=lambda i: (len(places[i]), -i)):
            others = frozenset.intersection(*places[i]) - {i}
            if any(j not in gone and j not in kept and prices.get(j, 1) <= prices.get(i, 1) for j in others):
                gone.add(i)
        left = {one - gone for one in left}
    return left
