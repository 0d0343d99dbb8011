"""Answers about every length, tried on the concrete model before they are given (:mod:`restrict.trial`). An automaton
is compared with runs on all short words, on a word for each of its edges, and on random words, at lengths around the
thresholds and periods of position classes and up to 64. What is derived from the automaton (patterns, costs, words on
which a language differs) is tried once more by itself."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from restrict.all_lengths.moore import Moore
from restrict.all_lengths.program import UNDEFINED, OrderOnly
from restrict.all_lengths.stages import Built
from restrict.base.arrays import I32
from restrict.base.errors import ResourceLimit
from restrict.languages.quasilinear import NEVER
from restrict.languages.search import of_restrictions
from restrict.languages.walk import breadth_first, letters_to
from restrict.model.program import Model
from restrict.trial.disagreement import disagree
from restrict.trial.run import LONG, Sample, Trial
from restrict.trial.words import FEW, by_length, completions, random_words, spelled, words_of

if TYPE_CHECKING:
    from restrict.all_lengths.compare import Difference
    from restrict.all_lengths.forcing import Costs
    from restrict.all_lengths.patterns import Pattern
    from restrict.languages.protocol import Language

FIRST, SHORT = 6, 8
"""Words of up to so many symbols come first, and those of up to so many before random long ones."""
LONGER = (60, 9, 27, 12, 40, 10, 18, 50, 15, 33)
"""Lengths of random words, in the order in which they are tried while there is work left."""
EACH, LONG_EACH = 8, 2
"""Random words of one length; and of one beyond 64."""
EDGES = 400
"""At most so many edges of an automaton get a word of their own."""
FARTHEST = 4096
"""Lengths around thresholds are tried up to here."""
COMPLETIONS = 128
"""All words of a restriction are run where they are at most so many."""
SMALL_CUBES = 4096
"""The cost of forcing is computed from runs of all words where there are at most so many restrictions."""
MEMBERS = 1_000
"""Words whose membership in a language is tested."""


# ---------------------------------------------------------------- automata


@dataclass(frozen=True, eq=False)
class Found:
    """What a model computes at every length, as far as it is tried in ``trial``. ``moore``: the minimal automaton of
    the label at the last position; with output everywhere ``built.machine`` is the bimachine of all labels."""

    model: Model
    built: Built
    moore: Moore
    trial: Trial = field(repr=False)

    @property
    def every(self) -> bool:
        """Whether the output is at every position."""
        return self.built.program.every


def try_automaton(found: Found) -> Trial:
    """Compare an automaton, or a bimachine, with runs of the model; lengths where it is not defined are listed."""
    trial = Trial(found.model)
    for words in _plan(found):
        if trial.over:
            break
        sample = trial.run(words)
        if sample is not None:
            agree(found, sample)
    return trial


def agree(found: Found, sample: Sample) -> None:
    """Compare the labels of an automaton with those of runs."""
    last = [[label] for label in end_labels(found, sample.words)]
    whole = [predicted(found, word, sample.positions) for word in sample.words] if found.every else last
    for word, end, said, seen in zip(sample.words, last, whole, sample.labels, strict=True):
        if said != seen or end[0] != seen[-1]:
            pairs = [*zip(sample.positions, said, seen, strict=True), (sample.n - 1, end[0], seen[-1])]
            i, claimed, shown = next((i, a, b) for i, a, b in pairs if a != b)
            claim = f"the automaton says {claimed or 'undefined'!r} at position {i}"
            disagree(found.model, claim, spelled(found.model.alphabet, word), repr(shown), _document(found))


def end_labels(found: Found, words: Any) -> list[str]:
    """The automaton's labels of the last position. ``words``: symbol indices in the model's alphabet, shape (count,
    symbols). Result: one label for each word; ``UNDEFINED`` where the model should not be defined."""
    one = found.moore
    state = np.zeros(len(words), dtype=np.int64)
    for column in np.asarray(words).T:
        state = one.delta[state, column].astype(np.int64)
    return [one.said[q] for q in state]


def predicted(found: Found, word: Sequence[int], positions: Sequence[int]) -> list[str]:
    """The labels at some positions of a word (markers counted), by the bimachine of a model with output everywhere;
    ``UNDEFINED`` also where there is no such position."""
    program, machine = found.built.program, found.built.machine
    end = [program.letters - 1] * program.end
    tokens = [*[len(program.alphabet)] * program.start, *(int(a) for a in word), *end]

    def states(delta: I32, letters: Iterable[int]) -> list[int]:
        """The states before and after each letter, -1 from where there is none."""
        return [*accumulate(letters, lambda q, x: int(delta[q, x]) if q >= 0 else -1, initial=0)]

    left, right = states(machine.left, tokens[:-1]), states(machine.right, reversed(tokens[1:]))[::-1]
    value, out = machine.column("@label"), []
    for i in positions:
        inside = left[i] >= 0 and right[i] >= 0
        label = int(machine.lab[left[i], tokens[i], right[i]]) if inside else -1
        out.append(program.labels[int(value[label])] if label >= 0 else UNDEFINED)
    return out


def _document(found: Found) -> dict[str, Any]:
    out = found.moore.document(list(found.moore.labels))
    return out | ({"output_at": "every position: the bimachine is not listed"} if found.every else {})


def _plan(found: Found) -> Iterator[Any]:
    """The words, the most telling first."""
    program, symbols = found.built.program, len(found.model.alphabet)
    rng, markers = np.random.default_rng(0), len(found.model.markers)
    yield from (words_of(symbols, t, rng) for t in range(FIRST))
    yield from by_length(list(found_shortest(found)) + _edge_words(found, rng))
    for n in _around(program):
        if n >= markers:
            yield random_words(symbols, n - markers, rng, EACH if n <= LONG else LONG_EACH)
    yield from (words_of(symbols, t, rng) for t in range(FIRST, SHORT + 1))
    yield from (random_words(symbols, t, rng, EACH) for t in LONGER)


def _around(program: OrderOnly) -> list[int]:
    """Lengths around the threshold and the first periods behind it."""
    t, p = program.threshold, program.period
    near = {n + d for n in (t, t + p, t + 2 * p) for d in (-1, 0, 1)}
    return sorted(n for n in near if FIRST < n <= FARTHEST)


def found_shortest(found: Found) -> Iterator[list[int]]:
    """The shortest word of each label, which commands print."""
    index = {a: x for x, a in enumerate(found.moore.alphabet)}
    return ([index[a] for a in word] for word in found.moore.shortest().values() if len(word) <= FARTHEST)


def _edge_words(found: Found, rng: np.random.Generator) -> list[list[int]]:
    """For each edge a shortest word that ends with it and, unless all are short, one that goes on at random."""
    rows, symbols, out = found.moore.delta.tolist(), len(found.moore.alphabet), list[list[int]]()
    reached = breadth_first(0, lambda state: rows[state])
    for state in reached:
        if len(out) >= 2 * EDGES:
            break
        before = letters_to(reached, state)
        for word in ([*before, x] for x in range(symbols)):
            if symbols ** len(word) > FEW and len(word) <= LONG:
                out += [word, [*word, *rng.integers(0, symbols, 4).tolist()]]
    return out


# ---------------------------------------------------------------- what is derived from them


def try_pattern(model: Model, pattern: Pattern) -> Trial:
    """Run words of a pattern at its first lengths and at some longer ones."""
    trial, rng, markers = Trial(model, 400), np.random.default_rng(0), len(model.markers)
    turn = len(pattern.middle)
    for n in (*range(pattern.first, pattern.first + turn + 3), pattern.first + 4 * turn + 1, pattern.first + 23):
        cells = pattern.cells(n - markers)
        if cells is not None and not trial.over:
            _try_cells(trial, cells, pattern.label, f"the pattern {pattern.text()} forces", pattern.claim(), rng)
    return trial


def try_cells(model: Model, cells: Sequence[str] | None, label: str, claim: str) -> None:
    """Run several words of a restriction that forces a label of the last position. ``cells``: a symbol or ``*`` for
    each position without a marker; ``None``: nothing is claimed."""
    if cells is not None:
        _try_cells(Trial(model), cells, label, claim, list(cells), np.random.default_rng(0))


def _try_cells(
    trial: Trial, cells: Sequence[str], label: str, claim: str, result: object, rng: np.random.Generator
) -> None:
    """Run several words that agree with cells, each a symbol or ``*``."""
    model = trial.model
    fixed = {t: model.alphabet.index(a) for t, a in enumerate(cells) if a != "*"}
    short = len(cells) + len(model.markers) <= LONG
    few, count = (COMPLETIONS, EACH) if short else (0, LONG_EACH)
    words = completions(range(len(cells)), len(model.alphabet), fixed, rng, count, few)
    if len(words) == count:
        for at, letter in enumerate(range(min(len(model.alphabet), count))):  # one symbol at all free positions
            words[at] = [fixed.get(t, letter) for t in range(len(cells))]
    sample = trial.run(words, (len(cells) + len(model.markers) - 1,))
    if sample is None:
        return
    for word, seen in zip(words, sample.labels, strict=True):
        if seen[0] != label:
            disagree(model, f"{claim} {label!r}", spelled(model.alphabet, word), repr(seen[0]), result)


def try_costs(found: Found, costs: Costs) -> None:
    """Compare an automaton's costs of forcing with those of all words of a length, and run words of restrictions."""
    model, markers = found.model, len(found.model.markers)
    size = len(model.alphabet)
    for sample in found.trial.samples:
        t = sample.n - markers
        whole = len(sample.words) == size**t and (size + 1) ** t <= SMALL_CUBES
        if not whole or t < costs.least or sample.positions[-1] != sample.n - 1:
            continue
        seen = least_cost(np.array([row[-1] == costs.label for row in sample.labels]), size, t)
        if seen != costs(t):
            claim = f"forcing {costs.label!r} takes {_said(costs(t))} of {t} symbols, for example"
            disagree(model, claim, spelled(model.alphabet, sample.words[0]), _said(seen), costs.claim())
    trial, rng = Trial(model, 200), np.random.default_rng(0)
    for t in (5, 11, 24):
        _try_restriction(trial, found, costs, t, rng)


def least_cost(has: Any, size: int, length: int) -> int:
    """The exact fewest fixed symbols that force a label, or ``NEVER``; ``has``: whether each word of a length has it,
    in lexicographic order. Cost: a step for each of the ``(size + 1) ** length`` restrictions."""
    forced, fixed = of_restrictions(np.asarray(has).reshape((size,) * length))
    return int(fixed[forced].min()) if forced.any() else NEVER


def _said(cost: int) -> str:
    return "impossible" if cost == NEVER else str(cost)


def _try_restriction(trial: Trial, found: Found, costs: Costs, t: int, rng: np.random.Generator) -> None:
    """Run words of a cheapest restriction of ``t`` symbols, whose number of fixed symbols must be the cost."""
    from restrict.all_lengths.forcing import cheapest_restriction

    try:
        cells = cheapest_restriction(found.moore, costs.label, t)
    except ResourceLimit:
        return
    fixed = NEVER if cells is None else sum(a != "*" for a in cells)
    if fixed != costs(t):
        claim = f"forcing {costs.label!r} takes {_said(costs(t))} symbols"
        disagree(found.model, claim, tuple(cells or ()), f"{_said(fixed)} in a cheapest restriction", costs.claim())
    if cells is not None and not trial.over:
        _try_cells(trial, cells, costs.label, "a cheapest restriction forces", costs.claim(), rng)


# ---------------------------------------------------------------- languages and other models


def try_difference(model: Model, wrong: Difference, result: object = None, other: Model | None = None) -> None:
    """Run the word on which a model is said to differ from a language or from another model."""
    _says(model, wrong.word, wrong.position, wrong.said, result)
    if other is not None:
        label = wrong.other if wrong.other is not None else "accept" if wrong.member else "reject"
        _says(other, wrong.word, wrong.position, label, result)


def _says(model: Model, word: tuple[str, ...], position: int | None, label: str, result: object) -> None:
    """One run. A word too long to be run is left out."""
    n = len(word) + len(model.markers)
    model.at(n)
    where = n - 1 if position is None else position
    sample = Trial(model).run(np.array([model.symbols(word)], dtype=np.int64).reshape(1, -1), (where,))
    if sample is not None and sample.labels[0][0] != label:
        disagree(model, f"the answer has {label!r} at position {where}", word, repr(sample.labels[0][0]), result)


def try_member(language: Language, model: Model, word: tuple[str, ...], member: bool, result: object = None) -> None:
    """Test the membership of a word, by the language itself."""
    if language.contains(word) != member:
        claim = f"the answer has a {'member' if member else 'word that is no member'} of {language.name}"
        disagree(model, claim, word, "the opposite by the membership test", result)


def try_wrong_word(model: Model, language: Language, word: tuple[str, ...]) -> None:
    """Run a word on which a model is said to be wrong about a language. ``model``: the model, with ``accept``."""
    _says(model, word, None, "reject" if language.contains(word) else "accept", {"wrong_about": language.name})


Members = Callable[[Any], Sequence[bool]]
"""Which of some words of one length (symbol indices, one row each) are members of a language."""


def members_of(found: Found, language: Callable[[tuple[str, ...]], bool]) -> Members:
    """A test of single words as one of many. ``language``: whether a word, without markers, is a member."""
    alphabet = found.model.alphabet
    return lambda words: [language(spelled(alphabet, word)) for word in words]


def agree_with(found: Found, members: Members, what: str, samples: Iterable[Sample] | None = None) -> None:
    """Compare a test of membership with runs of a model that recognises a language, on up to ``MEMBERS`` words.
    ``found``: the automaton, with its trial. ``samples``: the runs; by default those of the trial."""
    left = MEMBERS
    for sample in found.trial.samples if samples is None else samples:
        words = sample.words[:left]
        for word, member, seen in zip(words, members(words), sample.labels, strict=False):
            if member != (seen[-1] == "accept"):
                claim = f"the model is said to agree with {what}, which has {'a' if member else 'no'} member"
                shown = spelled(found.model.alphabet, word)
                disagree(found.model, claim, shown, repr(seen[-1]), _document(found))
        left -= len(words)
        if left <= 0:
            return


def try_language(found: Found, language: Language, first: int, lengths: Container[int] | None = None) -> None:
    """Test that the runs of a model agree with a language, for an answer that says so. ``found``: the automaton, with
    its trial. ``first``: lengths from here on are compared, markers counted. ``lengths``: instead, a set of lengths at
    which the model may be wrong; all others are compared."""
    symbols, markers = len(found.model.alphabet), len(found.model.markers)
    rng, more = np.random.default_rng(1), Trial(found.model, 400)
    for n in range(first, first + 3) if first > FIRST else ():
        more.run(random_words(symbols, max(0, n - markers), rng, EACH if n <= LONG else LONG_EACH))
    runs = (*more.samples, *found.trial.samples)
    compared = [s for s in runs if s.n >= first and (lengths is None or s.n not in lengths)]
    agree_with(found, members_of(found, language.contains), language.name, compared)


def try_equal(one: Found, two: Found, first: int) -> None:
    """Run the words of one model's trial on the other, for an answer that says that they agree from length ``first``
    on, the markers of either counted."""
    order = [two.model.alphabet.index(a) for a in one.model.alphabet]
    more = len(two.model.markers) - len(one.model.markers)
    trial = Trial(two.model)
    for sample in one.trial.samples:
        if min(sample.n, sample.n + more) < first or trial.over:
            continue
        positions = sample.positions if one.every else (sample.n + more - 1,)
        other = trial.run(np.array(order, dtype=np.int64)[sample.words], positions)
        if other is None:
            continue
        for word, seen, there in zip(sample.words, sample.labels, other.labels, strict=True):
            if seen != there:
                claim = f"{one.model.name} and {two.model.name} are said to agree, but {seen!r} is what the first says"
                disagree(two.model, claim, spelled(one.model.alphabet, word), repr(there), _document(one))
