"""Star-freeness: is the transition monoid of the minimal automaton aperiodic? (Schuetzenberger 1965)

A regular language is star-free iff every element ``m`` of its syntactic monoid satisfies ``m^k = m^(k+1)`` for some
``k``. The syntactic monoid is the transition monoid of the minimal automaton: the maps of states that words induce.
An element violates the law iff its functional graph has a cycle of length over 1; its word is then a witness.

The monoid is enumerated breadth first up to a bound, which finds a witness soon where there is one. Beyond the bound,
its D-classes are computed by libsemigroups (extra ``languages``), without listing the elements: a finite monoid is
aperiodic iff every regular D-class has H-classes of one element.

**Quasi-aperiodic** (Barrington, Compton, Straubing and Therien 1992): a regular language is in AC0 iff no set
``eta(Sigma^t)``, the maps induced by the words of one length ``t``, contains a non-trivial group. The sets are
eventually periodic in ``t``; some ``s`` has ``eta(Sigma^s) = eta(Sigma^2s)``, a semigroup, and it is enough that this
*stable* semigroup is aperiodic.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from restrict.base.arrays import I64
from restrict.base.errors import ResourceLimit
from restrict.base.wording import counted, install, joined, parts
from restrict.languages.dfa import Dfa
from restrict.languages.walk import until_repeat

MAX_ELEMENTS = 20_000
MIN_ELEMENTS = 200
STABLE_ELEMENTS = 4_000
STABLE_WORK = 200_000_000
MAX_POWERS = 2_000
MAX_DEGREE = 2_000


@dataclass(frozen=True)
class Aperiodicity:
    """Whether the monoid is aperiodic, and how that was found. Where it is not, ``word`` (if known) moves ``states``
    round in a cycle: ``states[0] -> states[1] -> ...`` in the minimal automaton."""

    aperiodic: bool
    method: str
    word: tuple[str, ...] | None = None
    states: tuple[int, ...] = ()

    def text(self) -> str:
        """Whether it is, in words."""
        shown = ""
        if self.word is not None and not self.aperiodic:
            states = counted(len(self.states), "state")
            shown = f"; the word {joined(self.word)} permutes {states} of the minimal automaton"
        return f"{'yes' if self.aperiodic else 'no'} (exact; {self.method}{shown})"

    def document(self) -> dict[str, Any]:
        """Whether it is, as JSON."""
        return {"holds": self.aperiodic} | parts(self, "method word states")


def group_cycle(element: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """A cycle, at least two states in order, of a map (array) of states, or ``()``. O(S log S)."""
    inner = element
    for _ in range((len(element) - 1).bit_length()):  # element^S; its image is what lies on cycles
        inner = inner[inner]
    ends = np.unique(inner)
    cycle = ends[element[ends] != ends][:1].tolist()
    while cycle and (to := int(element[cycle[-1]])) != cycle[0]:
        cycle.append(to)
    return tuple(cycle)


def star_free(dfa: Dfa) -> Aperiodicity:
    """Whether the language of a minimal automaton is star-free. Cost: O(states * symbols) for each element of the
    monoid. Source: Schuetzenberger 1965. ``dfa``: the minimal automaton; for another one the answer may be wrong.
    Result: the exact answer; where it is negative, with a witness if one was found."""
    limit = max(MIN_ELEMENTS, min(MAX_ELEMENTS, 20_000_000 // dfa.states))
    method, known = "enumeration of the transition monoid", set[bytes]()
    words: list[tuple[tuple[str, ...], I64]] = [((), np.arange(dfa.states))]
    for word, element in words:
        for symbol, letter in zip(dfa.alphabet, dfa.table, strict=True):
            after = letter[element]
            if after.tobytes() in known:
                continue
            known.add(after.tobytes())
            words.append(((*word, symbol), after))
            if cycle := group_cycle(after):
                return Aperiodicity(False, f"{method}, up to a witness", words[-1][0], cycle)
        if len(known) > limit:
            return _by_library(dfa, limit)
    return Aperiodicity(True, f"{method}, {counted(len(known), 'element')} besides the empty word's")


def _by_library(dfa: Dfa, seen: int) -> Aperiodicity:
    try:
        from libsemigroups_pybind11 import Konieczny, ReportGuard, Transf
    except ImportError:
        raise ResourceLimit(
            f"star-freeness is not known: the transition monoid has over {seen} elements; "
            f"{install('languages')} has libsemigroups, which may know"
        ) from None
    if dfa.states > MAX_DEGREE:
        raise ResourceLimit(f"star-freeness is not known: the monoid has over {seen} maps of {dfa.states} states")
    from datetime import timedelta

    guard = ReportGuard(False)
    monoid = Konieczny(*[Transf(row.tolist()) for row in dfa.table])
    monoid.run_for(timedelta(seconds=20))
    del guard
    if not monoid.finished():
        raise ResourceLimit("star-freeness is not known: libsemigroups did not finish within 20 seconds")
    groups = any(d.is_regular_D_class() and d.size_H_class() > 1 for d in monoid.D_classes())
    return Aperiodicity(not groups, f"D-classes by libsemigroups, {monoid.size()} elements")


def quasi_aperiodic(dfa: Dfa) -> Aperiodicity:
    """Whether the language of a minimal automaton is in AC0, exactly: the stable semigroup is aperiodic (Barrington,
    Compton, Straubing and Therien 1992); if not, with the states of a cycle, without a word. Cost: O(states * symbols)
    for each map of each length of words that is compared."""
    letters = [np.asarray(row) for row in dfa.table]
    work = 0

    def times(maps: Iterable[bytes]) -> frozenset[bytes]:
        nonlocal work
        out: set[bytes] = set()
        for one in maps:
            work += len(letters) * dfa.states
            element = np.frombuffer(one, dtype=np.int64)
            out.update(letter[element].tobytes() for letter in letters)
        if len(out) > STABLE_ELEMENTS or work > STABLE_WORK:
            raise ResourceLimit(
                f"membership in AC0 is not known: {len(out)} maps of {dfa.states} states by words of one length "
                "are over the limit"
            )
        return frozenset(out)

    refusal = f"membership in AC0 is not known: over {MAX_POWERS} lengths of words to compare"
    layers, first = until_repeat(times([np.arange(dfa.states, dtype=np.int64).tobytes()]), times, MAX_POWERS, refusal)
    first, period = first + 1, len(layers) - first
    # layers[t-1] belongs to length t, and length t and t + period agree from t = first on: s is a multiple of period.
    s = period * -(-first // period)
    stable = layers[first - 1 + (s - first) % period]
    method = f"stable semigroup, words of {counted(s, 'symbol')}"
    cycles = (group_cycle(np.frombuffer(one, dtype=np.int64)) for one in sorted(stable))
    if cycle := next(filter(None, cycles), None):
        return Aperiodicity(False, method, None, cycle)
    return Aperiodicity(True, f"{method}, {len(stable)} elements")
