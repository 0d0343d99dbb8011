"""Sensitivity of a language at a length: the largest number of pivotal positions of a word of that length.

A position of a word is *pivotal* if some other symbol there changes membership. (For two letters this is the usual
sensitivity of the Boolean function.)

For a regular language, whether position ``t`` is pivotal depends on the state before it, on its symbol, and on the
set ``R`` of states from which the rest is accepted; ``R`` runs through the states of the reversed automaton from
right to left. So the maximum is a longest walk over pairs (state, set), an exact dynamic program.
"""

from __future__ import annotations

import numpy as np

from restrict.base.errors import ResourceLimit
from restrict.languages.dfa import Dfa
from restrict.languages.predicate import MAX_WORDS, completions, few
from restrict.languages.protocol import Language
from restrict.languages.subset import Costs, bits, images, repeated
from restrict.languages.walk import breadth_first

MAX_SETS = 5_000
MAX_STEPS = 4_000_000_000
NEVER = np.int32(-(1 << 30))


def _reversed_sets(dfa: Dfa) -> tuple[list[int], list[list[int]]]:
    """The sets ``{q : delta(q, u) accepts}`` for all words ``u``, and their preimages under each letter."""
    letters = images(dfa, backward=True)
    refusal = f"the sensitivity is not known: the reversed automaton has over {MAX_SETS} states"
    found = breadth_first(
        bits(dfa.target(True)), lambda subset: [image(subset) for image in letters], MAX_SETS, refusal
    )
    index = {subset: at for at, subset in enumerate(found)}
    return list(index), [[index[image(subset)] for image in letters] for subset in index]


def regular_sensitivity(dfa: Dfa, n: int) -> int:
    """The exact sensitivity at length ``n``. Cost O(n S R k) with ``R`` states of the reversed automaton. ``n``: the
    length of the words in symbols, at least 0. Result: the largest number of pivotal positions, 0 .. n."""
    sets, before = _reversed_sets(dfa)
    size = dfa.states * len(sets)
    if n * size * len(dfa.alphabet) > MAX_STEPS:
        raise ResourceLimit(f"the sensitivity is not known: {n} positions times {size} pairs are over the limit")
    accepted = np.array([[s >> q & 1 for s in sets] for q in range(dfa.states)], dtype=np.bool_)  # [state, set]
    moves = []
    for a in range(len(dfa.alphabet)):
        here = accepted[dfa.table[a]]
        pivotal = np.zeros_like(here)
        for b in range(len(dfa.alphabet)):
            pivotal |= accepted[dfa.table[b]] != here
        moves.append((np.array([row[a] for row in before]), dfa.table[a], pivotal.astype(np.int32)))
    # best[q, R]: the most pivotal positions of a suffix that is read from state q and has the set R.
    best = np.full((dfa.states, len(sets)), NEVER, dtype=np.int32)
    best[:, 0] = 0

    def longer(best: Costs) -> Costs:
        # best'[q, R'] = max over letters a and sets R with pre_a(R) = R' of pivotal_a[q, R] + best[delta(q, a), R]
        after = np.full_like(best, NEVER)
        for pre, successor, pivotal in moves:
            np.maximum.at(after.T, pre, (best[successor] + pivotal).T)
        return np.where(after > NEVER // 2, after, NEVER).astype(np.int32)

    return int(repeated(longer, best, n, NEVER)[0][0].max())


def by_enumeration(language: Language, n: int) -> int | None:
    """The sensitivity of any language with at most ``MAX_WORDS`` words of that length, else ``None``. Cost: one
    membership test for each word. ``n``: the length of the words in symbols, without markers, at least 0. Result: the
    exact sensitivity, 0 .. n, or ``None`` where there are too many words."""
    if n > 16 or not few(language.alphabet, (None,) * n) or len(language.alphabet) ** n > MAX_WORDS:
        return None
    table = {w: language.contains(w) for w in completions(language.alphabet, (None,) * n)}
    return max(
        sum(any(table[(*w[:p], s, *w[p + 1 :])] != inside for s in language.alphabet) for p in range(n))
        for w, inside in table.items()
    )
