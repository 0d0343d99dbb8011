"""Two models compared: do they say the same at every length at which **both** are defined?

The question is symmetric. Its proofs are about one model each, so both are compared with one **common machine**: at a
length at which the second model is defined it says what the second one says, at any other length what the first one
says. The two models agree wherever both are defined if and only if the first model agrees with the common machine
wherever the first is defined; the second one always does. A difference of the first model from the common machine is a
difference of the two models, and a shortest one if no shorter word is.

At which lengths exactly one of them is defined is computed, too: whether a model is defined depends on the length
alone, so the pairs of states along one letter repeat.
"""

from typing import Any

import numpy as np

from restrict.all_lengths import labels
from restrict.all_lengths.automaton import Automaton, Progress, automaton
from restrict.all_lengths.bimachine import merged
from restrict.all_lengths.compare import Difference, spelled
from restrict.all_lengths.evidence import Counterexample, Proved, proved
from restrict.all_lengths.lengths import Lengths, lengths_where
from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED
from restrict.all_lengths.tried import try_difference, try_equal
from restrict.base.errors import UsageError
from restrict.languages.regular import Regular
from restrict.languages.walk import breadth_first
from restrict.model.program import Model

MAX_PAIRS = 2_000_000
"""Pairs of states of two automata."""
TOO_MANY = f"two automata have more than {MAX_PAIRS} pairs of states"


def equal(one: Model, two: Model, first: int, states: int, progress: Progress | None) -> Proved | Counterexample:
    """Whether two models have the same labels wherever both are defined."""
    here, there = (automaton(model, states=states, progress=progress, keep=True) for model in (one, two))
    labels.comparable(here.built.program, there.built.program)
    if here.every and first > 1:
        raise UsageError("with output at every position `first` is not available")
    languages = all(model.output.accept is not None and model.output.position == "last" for model in (one, two))
    what, ends = f"{'language' if languages else 'labels'} of {two.name}", (len(one.markers), len(two.markers))
    wrong, claims = _compared(here, there, ends, first, languages)
    once = defined_once(here.moore, there.moore, ends)
    if wrong is not None:
        try_difference(one, wrong, claims[0], other=two)
        return Counterexample(what, wrong, here, proved(one, here, claims[0]), once, first, two.name)
    try_equal(here, there, first)
    second = Proved(what, first, there, proved(two, there, claims[1]))
    return Proved(what, first, here, proved(one, here, claims[0]), second, once)


def _compared(
    one: Automaton, two: Automaton, ends: tuple[int, int], first: int, languages: bool
) -> tuple[Difference | None, list[dict[str, Any]]]:
    """A shortest difference, and the claim about each model; ``ends``: how many markers each has."""
    if one.every:
        wrong = labels.difference_anywhere(one.built, two.built)
        machine = labels.common_bimachine(one.built, two.built)
    else:
        wrong = labels.difference_at_the_end(one.moore, two.moore, ends, first)
        both = common(one.moore, two.moore)
        taken = (*one.built.program.labels, *two.built.program.labels)
        machine = both.document(labels.named_labels(both.labels, taken))
        if languages:
            machine = spelled(Regular(f"the language of {two.model.name}", two.model.name, both.language()))
    words = ("language", "recognises", "differs") if languages else ("machine", "computes", "deviates")
    which, positive, negative = words
    claims = [{"kind": positive, which: machine, "from": first + end - min(ends)} for end in ends]
    if wrong is not None:
        claims[0] |= {"kind": negative, "word": list(wrong.word), "shortest": 1}
        claims[0] |= {"position": wrong.position} if one.every else {}
        if languages:
            wrong = Difference(wrong.word, wrong.n, wrong.said, wrong.other == "accept")
    return wrong, claims


def common(one: Moore, two: Moore) -> Moore:
    """The automaton that says what the second one says, and where that is undefined what the first one says."""
    order = [two.alphabet.index(a) for a in one.alphabet]
    left, right = one.delta.tolist(), two.delta[:, order].tolist()
    pairs = breadth_first((0, 0), lambda pair: zip(left[pair[0]], right[pair[1]], strict=True), MAX_PAIRS, TOO_MANY)
    number = {pair: at for at, pair in enumerate(pairs)}
    delta = [[number[to] for to in zip(left[a], right[b], strict=True)] for a, b in pairs]
    said = [two.said[b] or one.said[a] for a, b in pairs]
    names = tuple(dict.fromkeys((*two.labels, *one.labels, UNDEFINED)))
    label = np.array([names.index(name) for name in said], dtype=np.int64)
    _, small, reps = merged(np.array(delta, dtype=np.int32), label)
    return Moore(one.alphabet, small, label[reps], names, one.accepts and two.accepts)


def defined_once(one: Moore, two: Moore, markers: tuple[int, int]) -> Lengths:
    """The lengths, markers of the first model counted, at which exactly one of two models is defined: exact."""
    return lengths_where(
        (0, 0),
        lambda pair: (int(one.delta[pair[0], 0]), int(two.delta[pair[1], 0])),
        lambda pair: bool(one.said[pair[0]]) != bool(two.said[pair[1]]),
        markers[0],
        min(markers) > 0,  # the empty word may be no run at all
        MAX_PAIRS,
    )
