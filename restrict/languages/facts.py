"""What is known of a language at a length: forcing costs, growth, star-freeness, sensitivity (closed forms included).
Each question has an exact answer or an :class:`Unknown` with the reason; nothing is estimated.

Sensitivity of a language at a length: the largest number of pivotal positions of a word of that length.

A position of a word is *pivotal* if some other symbol there changes membership. (For two letters this is the usual
sensitivity of the Boolean function.)

For a regular language, whether position ``t`` is pivotal depends on the state before it, on its symbol, and on the
set ``R`` of states from which the rest is accepted; ``R`` runs through the states of the reversed automaton from
right to left. So the maximum is a longest walk over pairs (state, set), an exact dynamic program.
"""

from fractions import Fraction

import numpy as np

from restrict.base.arrays import I32
from restrict.base.errors import ResourceLimit
from restrict.languages.builtin import AnBn, Majority, Palindromes
from restrict.languages.consequences import Facts, Unknown, tried
from restrict.languages.dfa import Dfa
from restrict.languages.dyck import Dyck
from restrict.languages.growth import Case, Growth, regular_growth
from restrict.languages.monoid import Aperiodicity, quasi_aperiodic, star_free
from restrict.languages.predicate import completions, few
from restrict.languages.protocol import Language, the_language
from restrict.languages.regular import Regular
from restrict.languages.shuffle import ShuffleDyck
from restrict.languages.subset import bits, images, repeated
from restrict.languages.varieties import varieties
from restrict.languages.walk import breadth_first
from restrict.model.restriction import Restriction

NONE, FULL = Case("none"), Case("linear", rate=Fraction(1))
NOT_REGULAR = "not regular, hence not star-free (a known fact, by pumping)"
MAX_SETS = 5_000
MAX_STEPS = 4_000_000_000
NEVER = np.int32(-(1 << 30))


def facts(language: Language, n: int, pre: Restriction | None = None) -> Facts:
    """Everything that ``restrict language`` prints.

    Cost: that of the forcing costs, mostly.

    Args:
        language: the language.
        n: the length of the words.
        pre: a restriction of the words that is given beforehand and costs nothing.

    Returns:
        The facts; what is out of reach is :class:`Unknown`, with the reason.

    Raises:
        UsageError: not a language, a negative length, or a pre-restriction of another length.
    """
    the_language(language)
    aperiodic: Aperiodicity | Unknown | None = _known_not_regular(language)
    circuits: Aperiodicity | Unknown | None = None
    classes = None
    if isinstance(language, Regular):
        aperiodic = tried(star_free, language.dfa)
        known = aperiodic if isinstance(aperiodic, Aperiodicity) else None
        if known is not None and known.aperiodic:
            circuits = Aperiodicity(True, "as a star-free language")
        else:
            circuits = tried(quasi_aperiodic, language.dfa)
        classes = varieties(language.dfa, known)
    into, out = (tried(language.forcing_cost, n, member, pre) for member in (True, False))
    grows_in, grows_out = (tried(growth, language, member) for member in (True, False))
    most = tried(sensitivity, language, n)
    return Facts(language, n, pre, into, out, grows_in, grows_out, aperiodic, circuits, most, classes)


def _known_not_regular(language: Language) -> Aperiodicity | None:
    """The closed forms are known not to be regular (palindromes over one letter are all words)."""
    if isinstance(language, Palindromes) and len(language.letters) == 1:
        return Aperiodicity(True, "all words")
    if isinstance(language, Majority | AnBn | Palindromes | Dyck | ShuffleDyck):
        return Aperiodicity(False, NOT_REGULAR)
    return None


def growth(language: Language, member: bool) -> Growth:
    """The growth of the cost of forcing (non-)membership: by the subset graph, or from the closed form. ``member``:
    whether to force membership (true) or non-membership (false). Result: one case for each residue, for all large
    lengths and without a pre-restriction."""
    if isinstance(language, Regular):
        return regular_growth(language.dfa, member)
    cases: tuple[Case, ...] = ()
    if isinstance(language, Majority):
        cases = (Case("linear", rate=Fraction(1, 2)),)
    elif isinstance(language, Palindromes) and len(language.letters) == 1:
        cases = (Case("constant", 0) if member else NONE,)
    elif isinstance(language, Palindromes):
        cases = (FULL if member else Case("constant", 2),)
    elif isinstance(language, AnBn | Dyck | ShuffleDyck):
        cases = (FULL, NONE) if member else (Case("constant", 1), Case("constant", 0))
    else:
        raise ResourceLimit("the growth is not known: it is decided for regular languages and closed forms only")
    return Growth(cases, "closed form")


def sensitivity(language: Language, n: int) -> int:
    """The largest number of pivotal positions of a word of ``n`` symbols (:mod:`restrict.languages.facts`).

    Closed forms: a bracket that is reversed unbalances a balanced word, and a symbol of ``a^m b^m`` or of a
    palindrome (off its middle) is pivotal; a word of MAJORITY with just enough ones has all its ones pivotal.

    Cost: O(1) for closed forms; see :func:`restrict.languages.facts.regular_sensitivity` for automata. ``n``: the
    length of the words in symbols, without markers, at least 0. Result: the exact sensitivity, 0 .. n."""
    if isinstance(language, Regular):
        return regular_sensitivity(language.dfa, n)
    if isinstance(language, Majority):
        return n // 2 + 1 if n else 0
    if isinstance(language, AnBn | Dyck | ShuffleDyck):
        return n if n % 2 == 0 else 0
    if isinstance(language, Palindromes):
        return n // 2 * 2 if len(language.letters) > 1 else 0
    return by_enumeration(language, n)


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
    behind = accepted[dfa.table]  # [letter, state, set]
    pivotal = (behind.any(axis=0) != behind.all(axis=0)).astype(
        np.int32
    )  # some letter accepts, and some other does not
    # best[q, R]: the most pivotal positions of a suffix that is read from state q and has the set R.
    best = np.full((dfa.states, len(sets)), NEVER, dtype=np.int32)
    best[:, 0] = 0

    def longer(best: I32) -> I32:
        # best'[q, R'] = max over letters a and sets R with pre_a(R) = R' of pivotal_a[q, R] + best[delta(q, a), R]
        after = np.full_like(best, NEVER)
        for pre, successor in zip(np.array(before).T, dfa.table, strict=True):
            np.maximum.at(after.T, pre, (best[successor] + pivotal).T)
        return np.where(after > NEVER // 2, after, NEVER).astype(np.int32)

    return int(repeated(longer, best, n, NEVER)[0][0].max())


def by_enumeration(language: Language, n: int) -> int:
    """The sensitivity of any language with at most ``MAX_WORDS`` words of that length, else ``ResourceLimit``. Cost:
    one membership test for each word. ``n``: the length of the words in symbols, without markers, at least 0. Result:
    the exact sensitivity, 0 .. n."""
    if n > 16 or not few(language.alphabet, (None,) * n):
        raise ResourceLimit("the sensitivity is not known: too many words to enumerate")
    table = {w: language.contains(w) for w in completions(language.alphabet, (None,) * n)}
    return max(
        sum(any(table[(*w[:p], s, *w[p + 1 :])] != inside for s in language.alphabet) for p in range(n))
        for w, inside in table.items()
    )
