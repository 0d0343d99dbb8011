"""Certificates at one length, explanations and boxes: words that agree with them are run."""

from collections.abc import Container, Mapping, Sequence
from typing import NoReturn

import numpy as np

from restrict.base.arrays import I64
from restrict.certificate.certificate import Certificate
from restrict.model.program import Instance
from restrict.model.task import position_of
from restrict.trial.disagreement import disagree
from restrict.trial.run import LONG, Sample, Trial, cost, too_long
from restrict.trial.words import completions, spelled

COUNTS = (12, 6, 3, 2)
"""Words with the same symbols at the dependencies: the first of these numbers that the work allows; the last beyond 64
positions."""
FEW = 32
"""All words under a restriction are run where they are at most so many."""
FLIPS = 24
"""Free positions whose symbol is changed alone, for a claim about every position."""
BOXES = 24
"""Boxes of a lower bound of which a word is run."""


def try_certificate(instance: Instance, certificate: Certificate) -> Trial:
    """Run words under the restriction: the output's value is claimed, and words that agree on the claimed dependencies
    have one label; for the target ``all``, no label changes with more than ``c`` single symbols."""
    trial, rng, claim = Trial(instance.model), np.random.default_rng(0), certificate.claim
    position, fixed = position_of(instance, certificate.target), certificate.restriction.tokens(instance.model)
    if position is None:
        _everywhere(trial, instance, certificate, rng)
        return trial
    if too_long(instance, (position,)):
        return trial
    for _ in range(2 if claim.dependencies else 1):
        chosen = {p: int(rng.integers(len(instance.model.alphabet))) for p in claim.dependencies or ()}
        sample = trial.run(_words(trial, instance, fixed | chosen, (position,), rng), (position,))
        if sample is None or trial.over:
            break
        for word, values, labels in zip(sample.words, sample.values.tolist(), sample.labels, strict=True):
            if claim.values is not None and values[0] not in claim.values:
                _wrong(instance, certificate, word, f"the output is among the values {claim.values}", str(values[0]))
            if labels != sample.labels[0]:
                said = f"the label is {sample.labels[0][0]!r} as on another word with the same dependencies,"
                _wrong(instance, certificate, word, said, repr(labels[0]))
    return trial


def _words(
    trial: Trial, instance: Instance, fixed: Mapping[int, int], positions: tuple[int, ...], rng: np.random.Generator
) -> I64:
    """As many words under a restriction as the work allows; the first two are constant where they are free."""
    counts = COUNTS if instance.n <= LONG else COUNTS[-1:]
    count = next((c for c in counts if cost(instance, c, positions) <= trial.work), COUNTS[-1])
    few = FEW if count == COUNTS[0] else 0
    words = completions(instance.unpinned, len(instance.model.alphabet), fixed, rng, count, few)
    if len(words) == count:
        free = np.ones(words.shape[1], dtype=np.bool_)
        free[np.array(sorted(fixed), dtype=np.int64) - instance.unpinned.start] = False
        for at in range(2 if count > COUNTS[-1] else 1):
            words[at, free] = at * (len(instance.model.alphabet) - 1)
    return words


def _everywhere(trial: Trial, instance: Instance, certificate: Certificate, rng: np.random.Generator) -> None:
    """Change single free symbols of a word: no label may change more than ``c`` times."""
    fixed, size = certificate.restriction.tokens(instance.model), len(instance.model.alphabet)
    free = [t for t, i in enumerate(instance.unpinned) if i not in fixed]
    if instance.n > LONG or not free or size == 1:
        return
    word = completions(instance.unpinned, size, fixed, rng, 1)[0]
    flipped = rng.permutation(free)[:FLIPS]
    while len(flipped) > 1 and cost(instance, len(flipped), tuple(range(instance.n))) > trial.work:
        flipped = flipped[: len(flipped) // 2]
    words = np.repeat(word[None, :], 1 + len(flipped), axis=0)
    for at, t in enumerate(flipped.tolist(), 1):
        words[at, t] = (words[at, t] + 1 + rng.integers(size - 1)) % size
    sample = trial.run(words, range(instance.n))
    if sample is None:
        return
    labels = np.array(sample.labels)
    changes = (labels[1:] != labels[0]).sum(axis=0)
    if changes.max(initial=0) > certificate.c:
        i = int(changes.argmax())
        said = f"the label at position {i} depends on at most {certificate.c} symbols, for example"
        _wrong(instance, certificate, word, said, f"{int(changes[i])} symbols that change it")


def _wrong(instance: Instance, certificate: Certificate, word: I64, claim: str, found: str) -> NoReturn:
    disagree(instance.model, claim, spelled(instance.model.alphabet, word), found, certificate.to_bytes())


def try_forced(
    instance: Instance, fixed: Mapping[int, int], position: int, label: str | None, word: Sequence[int] | None = None
) -> Trial:
    """Run words under a restriction that is said to force a label (``None``: any one) at a position."""
    trial, rng = Trial(instance.model), np.random.default_rng(0)
    if too_long(instance, (position,)):
        return trial
    words = _words(trial, instance, fixed, (position,), rng)
    if word is not None:
        words = np.concatenate([words, np.array([word], dtype=np.int64).reshape(1, -1)])
    sample = trial.run(words, (position,))
    if sample is not None:
        _only(instance, sample, {label or sample.labels[0][0]}, {str(i): a for i, a in fixed.items()})
    return trial


def try_dependency(instance: Instance, position: int, p: int, one: Sequence[str], two: Sequence[str]) -> None:
    """Run two words that are said to show that a position matters. ``position``: where the label is."""
    model = instance.model
    words = np.array([model.symbols(one), model.symbols(two)], dtype=np.int64)
    differ = [instance.unpinned[t] for t in np.flatnonzero(words[0] != words[1]).tolist()]
    sample = Trial(model).run(words, (position,))
    same = sample is not None and sample.labels[0] == sample.labels[1]
    if differ != [p] or same:
        found = f"a word that differs at {differ}" + (" and has the same label" if same else "")
        disagree(model, f"a change at position {p} alone changes the label", tuple(one), found, [list(one), list(two)])


def try_independence(instance: Instance, fixed: Mapping[int, int], position: int, positions: Sequence[int]) -> None:
    """Change single symbols at positions that are said not to matter. ``position``: where the label is."""
    model, trial, rng = instance.model, Trial(instance.model), np.random.default_rng(0)
    for p in positions[:FLIPS]:
        if trial.over:
            return
        words = completions(instance.unpinned, len(model.alphabet), fixed, rng, 1)
        words = np.repeat(words, len(model.alphabet), axis=0)
        words[:, instance.unpinned.index(p)] = range(len(model.alphabet))
        sample = trial.run(words, (position,))
        if sample is not None:
            _only(instance, sample, {sample.labels[0][0]}, {"not_a_dependency": p})


def try_boxes(
    instance: Instance, boxes: Sequence[tuple[Mapping[int, Sequence[int]], Container[str]]], at: int
) -> Trial:
    """Run a word of each box of a lower bound. ``at``: where the label is."""
    trial, rng = Trial(instance.model), np.random.default_rng(0)
    for symbols, labels in boxes[:BOXES]:
        if trial.over:
            break
        fixed = {i: int(rng.choice(allowed)) for i, allowed in symbols.items()}
        words = completions(instance.unpinned, len(instance.model.alphabet), fixed, rng, 1)
        sample = trial.run(words, (at,))
        if sample is not None:
            _only(instance, sample, labels, {str(i): list(a) for i, a in symbols.items()})
    return trial


def _only(instance: Instance, sample: Sample, labels: Container[str], result: object) -> None:
    """Every label that was seen is one of these."""
    for word, seen in zip(sample.words, sample.labels, strict=True):
        if seen[0] not in labels:
            shown = spelled(instance.model.alphabet, word)
            disagree(instance.model, f"the restriction allows the labels {labels!r} only", shown, repr(seen[0]), result)
