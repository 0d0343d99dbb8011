"""The lengths at which an automaton is wrong about a language: equations between sets of lengths (:mod:`.equations`).

A language is given by real-time **stack machines**: a letter changes the control, and pushes a symbol, pops the top one
or leaves the stack alone, depending on the control and the top. Run beside the automaton, with ``p`` for both states:

- ``C(t, p, q)``: the lengths of words that lead from ``p``, with ``t`` on top, to ``q``, and pop this ``t`` with their
  last letter;
- ``E(t, p)``: of words that begin at ``p`` with ``t`` on top, never pop it, and at whose end both disagree.

A word's first letter pops, stays, or pushes; then what is pushed is popped later or never. So, over the letters,

    C(t, p, q) = {1 if the letter pops and leads to q} | C(t, p', q) + 1 | C(t', p', s) + C(t, s, q) + 1 for all s
    E(t, p) = {0 if they disagree} | E(t, p') + 1 | E(t', p') + 1 | C(t', p', s) + E(t, s) + 1 for all s

and ``E(bottom, start)`` are the lengths looked for. Palindromes are read from both ends: ``S(p, q)``, ``D(p, q)`` and
``A(p, q)`` are the lengths of the words from ``p`` to ``q`` that are palindromes, are none, and of all.

Words with several kinds of brackets, each balanced for itself, have no stack machine. Such a word is not a member iff
one kind is not balanced, so errors where the model accepts are exact; where it rejects, words that are well nested give
lengths that are surely there, and words with one kind balanced, for each kind, those that can be.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from .account import Meter, Place, malformed, unproved
from .equations import Rule, System, late
from .machines import DEAD, LOST, POP, PUSH, STAY, Stack, Top, stacks_of
from .read import integer, integers
from .refutation import Language

SET = {"early": integers(0, 1), "cycle": integers(0, 1)}
LENGTHS = {"least": SET, "most": SET, "settled": integer(0, 100_000), "turn": integer(1, 100_000)}


class Walked(NamedTuple):
    """An automaton: successors by letter, and what it says at each state (0 rejects, 1 accepts, else nothing);
    ``order`` gives the language's number of each letter."""

    moves: list[list[int]]
    said: list[int]
    order: list[int]


class Wrong(NamedTuple):
    """The lengths of words on which both differ: the union of the sets ``sure``, and no others but those that lie in
    all sets ``perhaps`` (where there are such). Numbers of sets of the system, whose equations come from ``source``."""

    source: Any
    system: System
    sure: list[int]
    perhaps: list[int]

    def at(self, t: int, first: int, turn: int) -> tuple[bool, bool]:
        """Whether ``t`` is surely, and whether it can be, such a length; the sets repeat from ``first`` on."""
        found = self.system.members
        surely = any(late(found[u], first, turn, t) for u in self.sure)
        return surely, surely or (bool(self.perhaps) and all(late(found[u], first, turn, t) for u in self.perhaps))


def errors_of(automaton: Walked, language: Language, meter: Meter) -> Wrong:
    """The equations of the lengths at which an automaton and a language differ on some word."""
    if language.automaton is None and language.name == "palindromes":
        ends = [q for q, said in enumerate(automaton.said) if said in (0, 1)]
        mirror = Mirror(automaton, meter)
        roots = [("SD"[automaton.said[q]], 0, q) for q in ends]
        system = System(roots, mirror.rule, meter)
        return Wrong(mirror, system, [system.numbers[root] for root in roots], [])
    machines = stacks_of(language)
    both, well, apart = (0, 1), 0, range(1, len(machines))
    pushdown = Pushdown(automaton, machines, meter)
    if not apart:
        sure, perhaps = [pushdown.root(well, both)], []
    else:
        sure = [pushdown.root(well, (0,)), *(pushdown.root(kind, (1,)) for kind in apart)]
        perhaps = [pushdown.root(kind, (0,)) for kind in apart]
    system = System([*sure, *perhaps], pushdown.rule, meter)
    numbers = system.numbers
    return Wrong(pushdown, system, [numbers[root] for root in sure], [numbers[root] for root in perhaps])


class Mirror:
    """Words read from both ends: the equations of ``S``, ``D`` and ``A``."""

    def __init__(self, automaton: Walked, meter: Meter) -> None:
        self.moves, self.meter = automaton.moves, meter
        meter.hold(80 * len(self.moves) * len(automaton.order))
        self.before: list[list[list[int]]] = [[[] for _ in steps] for steps in self.moves]
        for s, steps in enumerate(self.moves):
            for x, q in enumerate(steps):
                self.before[q][x].append(s)

    def rule(self, name: Any) -> Rule:
        """The equation of the unknown with this name."""
        kind, p, q = name
        steps, before = self.moves[p], self.before[q]
        letters, ends = len(steps), sum(map(len, before))
        work = letters + (ends if kind == "S" else letters * (letters + ends) if kind == "D" else 0)
        self.meter.charge(work)
        self.meter.fits(150 * work)
        if kind == "A":
            return Rule(+(p == q), [(1, ("A", to, q)) for to in steps], [])
        same = [(2, (kind, to, s)) for to, ends in zip(steps, before, strict=True) for s in ends]
        if kind == "S":
            return Rule((p == q) | (q in steps) << 1, same, [])
        other = [
            (2, ("A", to, s)) for x, to in enumerate(steps) for y, ends in enumerate(before) if x != y for s in ends
        ]
        return Rule(0, [*same, *other], [])


State = tuple[int, int]
"""A state of the automaton and a control."""


class Pushdown:
    """The automaton beside stack machines: the equations of ``C`` and ``E``."""

    def __init__(self, automaton: Walked, machines: list[Stack], meter: Meter) -> None:
        self.automaton, self.machines, self.meter = automaton, machines, meter
        self.ends: dict[Hashable, set[State]] = {}
        for number in range(len(machines)):
            self.find_ends(number)

    def root(self, machine: int, errors: tuple[int, ...]) -> Hashable:
        """The set of lengths of words on which the automaton says one of ``errors``, wrongly."""
        return "E", machine, None, (0, self.machines[machine].start), errors

    def steps(self, machine: int, top: Top, p: State) -> Iterator[tuple[State, int, Top]]:
        """What the letters do: the state, and what happens to the stack."""
        state, control = p
        move = self.machines[machine].move
        for x, a in enumerate(self.automaton.order):
            to, what, pushed = move(control, top, a) if control != DEAD else LOST
            yield (self.automaton.moves[state][x], to), what, pushed

    def find_ends(self, machine: int) -> None:
        """For each symbol that is pushed and the state after that: the states in which it can be popped."""
        start = (machine, None, (0, self.machines[machine].start))
        todo = [(start, start[2])]
        seen, callers = set(todo), dict[Hashable, list[Any]]()

        def reach(entry: Any, p: State) -> None:
            if (entry, p) not in seen:
                self.meter.charge(20)
                self.meter.hold(300)
                seen.add((entry, p))
                todo.append((entry, p))

        while todo:
            entry, p = todo.pop()
            self.meter.charge(10 * len(self.automaton.order))
            for to, what, pushed in self.steps(machine, entry[1], p):
                if what == STAY:
                    reach(entry, to)
                elif what == PUSH:
                    inner = (machine, pushed, to)
                    callers.setdefault(inner, []).append(entry)
                    reach(inner, to)
                    ends = self.ends.get(inner, ())
                    self.meter.charge(len(ends))
                    for q in ends:
                        reach(entry, q)
                elif to not in self.ends.setdefault(entry, set()):
                    self.ends[entry].add(to)
                    self.meter.charge(len(callers[entry]))
                    for caller in callers[entry]:
                        reach(caller, to)

    def rule(self, name: Any) -> Rule:
        """The equation of the unknown with this name."""
        kind, machine, top, p, last = name
        start = 0
        shifts: list[tuple[int, Hashable]] = []
        sums: list[tuple[Hashable, Hashable]] = []
        if kind == "E":
            said = self.automaton.said[p[0]]
            start = +(said in last and said != self.machines[machine].member(p[1], top))
        for to, what, pushed in self.steps(machine, top, p):
            if what == POP:
                start |= (kind == "C" and to == last) << 1
            elif what == STAY:
                if kind == "E" or to[1] != DEAD:
                    shifts.append((1, (kind, machine, None if to[1] == DEAD else top, to, last)))
            else:
                inner = self.ends.get((machine, pushed, to), ())
                self.meter.charge(5 + 2 * len(inner))
                self.meter.hold(250 * len(inner))
                sums += [(("C", machine, pushed, to, s), (kind, machine, top, s, last)) for s in inner]
                if kind == "E":
                    shifts.append((1, ("E", machine, pushed, to, last)))
        return Rule(start, shifts, sums)


# ---------------------------------------------------------------- the claim


def contains(lengths: dict[str, Any], n: int) -> bool:
    """Whether a set of lengths has ``n``: ``early[n]``, then ``cycle`` for ever."""
    early, cycle = lengths["early"], lengths["cycle"]
    return bool(early[n] if n < len(early) else cycle[(n - len(early)) % len(cycle)])


def check_lengths(fields: dict[str, Any], place: Place, wrong: Wrong, markers: int) -> str:
    """The claim that all lengths in ``least``, and none that are not in ``most``, are wrong; in words."""
    least, most, first, turn = fields["least"], fields["most"], fields["settled"], fields["turn"]
    for key, claimed in (("least", least), ("most", most)):
        if not len(claimed["cycle"]):
            malformed(place.key(key).key("cycle"), "expected at least one entry")
        if turn % len(claimed["cycle"]):
            unproved(place.key("turn"), f"it is no multiple of the period of {key!r}")
    if not wrong.system.repeats(first, turn):
        unproved(place.key("settled"), "the lengths do not repeat with this turn from there on")
    # A whole turn of lengths that are claimed: the empty run is none.
    end = max(1, first + markers, len(least["early"]), len(most["early"])) + turn
    wrong.system.meter.charge(8 * end * (1 + len(wrong.sure) + len(wrong.perhaps)))
    for n in range(end):
        counts = n >= max(1, markers)  # no claim is about the empty run
        surely, perhaps = wrong.at(n - markers, first, turn) if counts else (False, False)
        if contains(least, n) and not surely:
            unproved(place.key("least"), f"no word of {n} positions is shown to be wrong")
        if perhaps and not contains(most, n):
            unproved(place.key("most"), f"a word of {n} positions can be wrong")
    return f"wrong-at={spoken_lengths(least)}" + ("" if least == most else f" at-most={spoken_lengths(most)}")


def spoken_lengths(lengths: dict[str, Any]) -> str:
    """A set of lengths in one word: ``3,5,n>=8`` or ``3,5,n>=8:2/3`` (two of each three from 8 on)."""
    early, cycle = lengths["early"], lengths["cycle"]
    some = [str(n) for n, there in enumerate(early) if there]
    shown = [*some[:20], *(["..."] if len(some) > 20 else [])]
    if any(cycle):
        shown.append(f"n>={len(early)}" + ("" if all(cycle) else f":{sum(cycle)}/{len(cycle)}"))
    return ",".join(shown) or "none"
