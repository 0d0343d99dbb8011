"""Whether membership is still open under a restriction, asked after every position that the search fixes.

Open: some completion is a member and some is not. Fixing more never opens it again. :meth:`Openness.accepts` decides it
by the language's own completions; :meth:`Openness.allows` is asked thousands of times and may wrongly answer yes:

- for a regular language it is decided: the set of states that the cells so far can reach, with the images of long
  free stretches by repeated squaring, all remembered;
- for Dyck languages the heights are kept within bounds, which decides it for one type of bracket;
- otherwise a pool of known members and non-members answers most questions (one that agrees with all that is fixed
  is a proof), a bounded number of completions the others.
"""

from collections.abc import Mapping
from functools import cache, reduce
from itertools import groupby, islice
from operator import or_

import numpy as np

from restrict.base.errors import ResourceLimit
from restrict.corollary2.options import REFUTE
from restrict.force.state import ForcingState
from restrict.languages.dyck import Balanced
from restrict.languages.protocol import Language, Word, word_positions
from restrict.languages.regular import Regular
from restrict.languages.subset import bits, images
from restrict.model.program import Instance
from restrict.model.restriction import Restriction


def is_dyck(language: Language) -> bool:
    """Whether the members are the balanced words over brackets, of any depth; bounded depth is regular."""
    return isinstance(language, Balanced)


class Openness:
    """The guard of a search for restrictions of ``at`` that leave membership open, on top of ``base``."""

    def __init__(self, language: Language, instance: Instance, base: Mapping[int, int] | None = None) -> None:
        self.language, self.instance, self.base = language, instance, dict(base or {})
        self.rho = Restriction.of(instance, dict(self.base))
        self.position = word_positions(self.rho)
        self.pools: dict[bool, list[list[int]]] = {True: [], False: []}
        self.closed: dict[frozenset[tuple[int, int]], None] = {}
        self.singles: set[tuple[int, int]] = set()
        self.accepted: dict[frozenset[tuple[int, int]], bool] = {}
        self.budget = REFUTE.symbols
        self.index = {s: a for a, s in enumerate(instance.model.alphabet)}
        self.reach = Reach(language, instance, self.base) if isinstance(language, Regular) else None
        self.heights = Heights(language, instance, self.base) if is_dyck(language) else None

    def witnesses(self, fixed: Mapping[int, int]) -> tuple[Word, Word] | None:
        """A member and a non-member under the restriction, or ``None`` where one of them is not found. ``fixed``:
        positions with symbol numbers of the model's alphabet, on top of the base. Result: the two words, without
        markers. ``None`` is no proof where the language answers by search."""
        try:
            member = self._completed(fixed, True)
            nonmember = None if member is None else self._completed(fixed, False)
        except ResourceLimit:
            return None
        return None if member is None or nonmember is None else (member, nonmember)

    def _completed(self, fixed: Mapping[int, int], member: bool) -> Word | None:
        return self.language.complete(Restriction.of(self.instance, {**self.base, **fixed}), {}, member)

    def accepts(self, fixed: Mapping[int, int]) -> bool:
        """Whether membership is open under base and ``fixed``; a search that finds no completion counts as no. Answers
        are remembered. ``fixed``: positions with symbol numbers of the model's alphabet, on top of the base. Result:
        whether a member and a non-member are known to exist; exact where the language is."""
        if self.reach is not None:
            return self.reach.open(fixed)
        key = frozenset(fixed.items())
        if key not in self.accepted:
            self.accepted[key] = self.witnesses(fixed) is not None
        return self.accepted[key]

    def allows(self, state: ForcingState, i: int, symbol: int) -> bool:
        """Whether membership may still be open when ``i`` is fixed, too. ``state``: the state of the search, with all
        that is fixed so far. ``i``: the position to be fixed, 0 .. n-1. Result: false only where membership is decided;
        true may be wrong."""
        if state.fixed > REFUTE.many and state.fixed % REFUTE.many:
            return True  # closed stays closed: it will be seen a little later
        # What is fixed on top of the pinned positions stands at the end of the tokens.
        recent = islice(reversed(state.tokens.items()), state.fixed)
        fixed = {j: values[0] for j, values in recent}
        fixed[i] = symbol
        if self.reach is not None:
            return self.reach.open(fixed)
        if self.heights is not None:
            # Where few of many positions are fixed, it rarely matters which brackets match.
            return self.heights.open(fixed) and (self.instance.n > REFUTE.short or self._by_pool(fixed, i))
        return self._by_pool(fixed, i)

    def _by_pool(self, fixed: dict[int, int], new: int) -> bool:
        """``new`` is the position that has not been asked about before."""
        if (new, fixed[new]) in self.singles:
            return False
        items = frozenset(fixed.items())
        if items in self.closed or any(core <= items for core in self.closed):
            return False
        return all(self._in_pool(fixed, member) or self._complete(fixed, member) for member in (True, False))

    def _in_pool(self, fixed: Mapping[int, int], member: bool) -> bool:
        pool = self.pools[member]
        for t, word in enumerate(pool):
            if all(word[i] == a for i, a in fixed.items()):
                pool.insert(0, pool.pop(t))
                return True
        return False

    def _complete(self, fixed: Mapping[int, int], member: bool) -> bool:
        if self.budget <= 0:
            return True
        self.budget -= self.instance.n
        try:
            word = self._completed(fixed, member)
        except ResourceLimit:
            return True
        if word is None:
            self._remember(fixed, member)
            return False
        cells = [-1] * self.instance.n
        for i, s in zip(self.position, word, strict=True):
            cells[i] = self.index[s]
        self.pools[member].insert(0, cells)
        del self.pools[member][REFUTE.pool :]
        return True

    def _remember(self, fixed: Mapping[int, int], member: bool) -> None:
        """Note a minimal part that already rules the membership out, found by deletion."""
        core = dict(fixed)
        for i in list(fixed) if len(fixed) <= 40 and self.budget > 0 else ():
            rest = {j: a for j, a in core.items() if j != i}
            if self._in_pool(rest, member):
                continue
            self.budget -= self.instance.n
            try:
                if self._completed(rest, member) is None:
                    core = rest
            except ResourceLimit:
                continue
        if len(core) == 1:
            self.singles.update(core.items())
        elif len(self.closed) < REFUTE.cores:
            self.closed[frozenset(core.items())] = None


class Reach:
    """The states that an automaton may be in at the end, under cells that are fixed or free. Sets are bit masks."""

    def __init__(self, language: Regular, instance: Instance, base: Mapping[int, int]) -> None:
        self.letters, self.accept = images(language.dfa, False), bits(language.dfa.target(True))
        self.letter = letter = [language.dfa.index[s] for s in instance.model.alphabet]
        positions = list(instance.unpinned)
        # Stretches (first, stop, letters) between which everything is free; positions without markers are contiguous.
        self.first, self.stop = (positions[0], positions[-1] + 1) if positions else (0, 0)
        self.stretches: list[tuple[int, int, list[tuple[int, int]]]] = []
        for _, group in groupby(enumerate(sorted(base)), key=lambda pair: pair[1] - pair[0]):
            cells = [i for _, i in group]
            runs = [(a, sum(1 for _ in run)) for a, run in groupby(letter[base[i]] for i in cells)]
            self.stretches.append((cells[0], cells[-1] + 1, runs))
        self.image, self.leap, self.through = cache(self._image), cache(self._leap), cache(self._through)

    def open(self, fixed: Mapping[int, int]) -> bool:
        """Whether words of both kinds agree with the base and with these positions. ``fixed``: positions with symbol
        numbers of the model's alphabet; none of them in the base. Result: whether membership is open, exactly."""
        states = self.states(fixed)
        return bool(states & self.accept) and bool(states & ~self.accept)

    def states(self, fixed: Mapping[int, int]) -> int:
        """The states that some completion ends in. ``fixed``: positions with symbol numbers of the model's alphabet;
        none of them in the base. Result: the set of states as a bit mask: bit ``q`` for state ``q``."""
        events = [(i, i + 1, a, -1) for i, a in fixed.items()]
        events += [(first, stop, -1, t) for t, (first, stop, _) in enumerate(self.stretches)]
        now, at = 1, self.first
        for first, stop, a, t in sorted(events):
            now = self.jump(now, -1, first - at)
            now = self.image(now, self.letter[a]) if a >= 0 else self.through(now, t)
            at = stop
        return self.jump(now, -1, self.stop - at)

    def _through(self, states: int, t: int) -> int:
        """After a stretch of the base. ``t``: the number of the stretch in ``stretches``."""
        for a, count in self.stretches[t][2]:
            states = self.jump(states, a, count)
        return states

    def _image(self, states: int, a: int) -> int:
        """After one symbol. ``a``: a letter number of the automaton, or -1 for any symbol."""
        return reduce(or_, (after(states) for after in (self.letters if a < 0 else [self.letters[a]])))

    def jump(self, states: int, a: int, count: int) -> int:
        """After ``count`` symbols ``a``, by powers of two. Cost: O(log count) images of sets, remembered. ``a``: a
        letter number of the automaton, or -1 for any symbol. ``count``: the number of symbols, at least 0."""
        level = 0
        while count:
            if count & 1:
                states = self.leap(states, a, level)
            count, level = count >> 1, level + 1
        return states

    def _leap(self, states: int, a: int, level: int) -> int:
        """After ``2 ** level`` symbols."""
        if level == 0:
            return self.image(states, a)
        return self.leap(self.leap(states, a, level - 1), a, level - 1)


class Heights:
    """Whether a pattern of brackets can be balanced when types are ignored: no prefix has more closers, no suffix more
    openers than half its length (restrict/languages/dyck.py). Symbols of even index in the language's alphabet open."""

    def __init__(self, language: Language, instance: Instance, base: Mapping[int, int]) -> None:
        self.closes = [language.alphabet.index(s) % 2 for s in instance.model.alphabet]
        self.first, self.last = int(0 in instance.pinned), instance.n - 1 - int(instance.n - 1 in instance.pinned)
        sides = np.zeros((2, self.last - self.first + 1), dtype=np.int64)
        for i, a in base.items():
            sides[self.closes[a], i - self.first] = 1
        # room[q] = the least slack of a prefix that holds q; each further closer at or before q takes 2.
        lengths = np.arange(1, sides.shape[1] + 1)
        self.prefix = np.minimum.accumulate((lengths - 2 * np.cumsum(sides[1]))[::-1])[::-1]
        self.suffix = np.minimum.accumulate((lengths - 2 * np.cumsum(sides[0][::-1]))[::-1])[::-1]

    def open(self, fixed: Mapping[int, int]) -> bool:
        """Whether the base with these positions, too, can be completed to heights of a member. Cost: O(k log k) for k
        fixed positions. ``fixed``: positions with symbol numbers of the model's alphabet; none of them in the base.
        Result: the exact answer for one type of bracket at an even length, where the base alone can be completed;
        otherwise true may be wrong."""
        closers = sorted(i - self.first for i, a in fixed.items() if self.closes[a])
        openers = sorted(self.last - i for i, a in fixed.items() if not self.closes[a])
        return all(self.prefix[q] >= 2 * t for t, q in enumerate(closers, 1)) and all(
            self.suffix[q] >= 2 * t for t, q in enumerate(openers, 1)
        )
