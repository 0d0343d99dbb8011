"""The strongest refutation: the restriction with the most free positions under which the label is constant and
membership is not; or the proof that there is none.

Where there are few, every restriction is looked at: a table over ``{0 .. s-1, *}^m`` is filled axis by axis, the entry
at ``*`` from those at the symbols (constant where they are equal; open where any is, or where both kinds occur).

Beyond that, implicit hitting sets (:mod:`restrict.optimum.exact`): a restriction of at most ``k`` positions that
conflicts with every known cube of another label is proposed by SAT. If it decides membership, a minimal part of it that
does is forbidden, for every label. If some input under it has another label, a cube of that input that forces the
label is added. Otherwise it is the answer; where nothing is proposed, ``k`` grows, up to the number of positions.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from restrict.certificate.certificate import Certificate
from restrict.corollary2.verdict import Immune
from restrict.deadline import Progress
from restrict.errors import NotEstablished
from restrict.force.cases import confirm_by_cases
from restrict.languages.protocol import Language
from restrict.languages.regular import Regular
from restrict.model.program import Instance
from restrict.model.trace import run_batch
from restrict.optimum.cnf import encode
from restrict.optimum.exact import Cube, Oracle, Problem, confirm
from restrict.restriction import Restriction
from restrict.task import Target

WORDS, CELLS = 1 << 20, 20_000_000
"""Words and restrictions that are enumerated, at most."""
CHUNK = 1 << 12
TRIES = 200
"""Restrictions of one size that the abstract run is asked to confirm."""
CASES = 8
"""Restrictions of one size that it is asked to confirm case by case, where it confirms none as they are."""
Found = tuple[Certificate, int]
MIXED = -1


def refute_exact(
    instance: Instance,
    language: Language,
    target: Target,
    position: int,
    seed: int,
    time: float | None,
    provenance: dict[str, Any],
    progress: Progress | None,
) -> Found | Immune:
    """A certificate and the most free positions possible, or the proof that there is no such restriction.

    The certificate has fewer free positions than that where the abstract run confirms no optimal restriction. Raises
    :class:`NotEstablished` where it confirms none at all, :class:`OutOfTime` past ``time`` (SAT only), and
    :class:`ResourceLimit` where a completion is not known.
    """
    symbols, m = len(instance.model.alphabet), len(instance.unpinned)
    if symbols**m <= WORDS and (symbols + 1) ** m <= CELLS:
        return by_table(instance, language, target, position, provenance)
    deadline = None if time is None else clock.monotonic() + time
    return by_sat(instance, language, target, position, seed, deadline, provenance, progress)


# ---------------------------------------------------------------- every restriction


def by_table(
    instance: Instance, language: Language, target: Target, position: int, provenance: dict[str, Any]
) -> Found | Immune:
    """By enumeration. Cost: every word is run and tested, and one pass over ``(s+1)^m`` entries for each position."""
    cells = instance.unpinned
    symbols = len(instance.model.alphabet)
    labels, names = all_labels(instance, position)
    members = all_members(instance, language, len(cells))
    free, order = open_cubes(labels, members, symbols, len(cells))
    if not len(order):
        return _immune_by_table(instance, language, labels, names, members)
    restrictions = (_cube(index, symbols, cells) for index in order)
    found = _first_confirmed(instance, zip(restrictions, free.tolist(), strict=True), target, provenance)
    if found is None:
        raise NotEstablished(
            f"a restriction with {int(free[0])} free positions refutes the model on all words, but the abstract run "
            "confirms none, so there is no certificate"
        )
    return found, int(free[0])


def all_labels(instance: Instance, position: int) -> tuple[npt.NDArray[np.int16], list[str]]:
    """The label of every word at the target, as an index into the labels' names; words in the order of their digits."""
    symbols, m = len(instance.model.alphabet), len(instance.unpinned)
    parts, names = [], dict[str, int]()
    for start in range(0, symbols**m, CHUNK):
        words = digits(np.arange(start, min(symbols**m, start + CHUNK)), symbols, m)
        values = run_batch(instance, words).values[instance.model.output.variable][:, position]
        each = {int(v): names.setdefault(instance.label(int(v)), len(names)) for v in np.unique(values)}
        parts.append(np.array([each[v] for v in values.tolist()], dtype=np.int16))
    return np.concatenate(parts), list(names)


def all_members(instance: Instance, language: Language, m: int) -> npt.NDArray[np.bool_]:
    """Whether each word is a member."""
    alphabet, parts = instance.model.alphabet, []
    for start in range(0, len(alphabet) ** m, CHUNK):
        words = digits(np.arange(start, min(len(alphabet) ** m, start + CHUNK)), len(alphabet), m)
        if isinstance(language, Regular):
            state, table = np.zeros(len(words), dtype=np.int64), language.dfa.table
            letter = np.array([language.dfa.index[s] for s in alphabet])
            for t in range(m):
                state = table[letter[words[:, t]], state]
            parts.append(language.dfa.target(True)[state])
        else:
            parts.append(
                np.array([language.contains([alphabet[a] for a in w]) for w in words.tolist()], dtype=np.bool_)
            )
    return np.concatenate(parts)


def digits(numbers: npt.NDArray[np.int64], base: int, m: int) -> npt.NDArray[np.int64]:
    """The ``m`` digits of each number, the first most significant; shape (numbers, m)."""
    powers = np.array([base**p for p in range(m - 1, -1, -1)], dtype=np.int64)
    return numbers[:, None] // powers % base


def open_cubes(
    labels: npt.NDArray[np.int16], members: npt.NDArray[np.bool_], symbols: int, m: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Free positions and index (digits in base ``symbols + 1``, the last digit for free) of every restriction under
    which the label is constant and membership is not; most free positions first."""
    constant = labels.reshape((symbols,) * m)
    kinds = np.where(members, np.uint8(2), np.uint8(1)).reshape((symbols,) * m)
    for p in range(m):
        first = constant.take([0], axis=p)
        same = (constant == first).all(axis=p, keepdims=True)
        constant = np.concatenate([constant, np.where(same, first, np.int16(MIXED))], axis=p)
        kinds = np.concatenate([kinds, np.bitwise_or.reduce(kinds, axis=p, keepdims=True)], axis=p)
    index = np.flatnonzero((constant != MIXED) & (kinds == 3))
    free = (digits(index, symbols + 1, m) == symbols).sum(axis=1)
    order = np.lexsort((index, -free))
    return free[order], index[order]


def _cube(index: int, symbols: int, cells: Sequence[int]) -> Cube:
    row = digits(np.array([index]), symbols + 1, len(cells))[0].tolist()
    return {i: a for i, a in zip(cells, row, strict=True) if a < symbols}


def _first_confirmed(
    instance: Instance, restrictions: Iterator[tuple[Cube, int]], target: Target, provenance: dict[str, Any]
) -> Certificate | None:
    """A certificate with the most free positions: of each size ``TRIES`` restrictions as they are, some by cases."""
    for _, group in groupby(restrictions, key=lambda r: r[1]):
        found = _confirmed_one(instance, [cube for cube, _ in islice(group, TRIES)], target, provenance)
        if found is not None:
            return found
    return None


def _confirmed_one(
    instance: Instance, cubes: list[Cube], target: Target, provenance: dict[str, Any]
) -> Certificate | None:
    for cube in cubes:
        if (found := confirm(instance, cube, target, provenance)) is not None:
            return found
    by_cases = (confirm_by_cases(instance, cube, target, provenance) for cube in cubes[:CASES])
    return next((found for found in by_cases if found is not None), None)


def _immune_by_table(
    instance: Instance,
    language: Language,
    labels: npt.NDArray[np.int16],
    names: list[str],
    members: npt.NDArray[np.bool_],
) -> Immune:
    """Proved: no entry of the table is constant and open."""
    count, m = len(labels), len(instance.unpinned)
    mixed = [t for t in range(len(names)) if len(set(members[labels == t].tolist())) == 2]
    if not mixed:
        text = f"the model's label tells members from non-members on all {count} words of this length"
        output = instance.model.output
        if output.accept is not None and any(
            bool(members[labels == t].any()) != (s == "accept") for t, s in enumerate(names)
        ):
            text += " (though it does not accept just the members)"
        return Immune(instance.model.name, language.name, instance.n, text, exact=True)
    alphabet, t = instance.model.alphabet, mixed[0]
    chosen = [int(np.flatnonzero((labels == t) & (members == kind))[0]) for kind in (True, False)]
    x, y = (" ".join(alphabet[a] for a in digits(np.array([c]), len(alphabet), m)[0]) for c in chosen)
    text = (
        f"the model errs (the label {names[t]} for the member {x} and the non-member {y}), but none of the "
        f"{(len(alphabet) + 1) ** m} restrictions has one label and leaves membership open"
    )
    return Immune(instance.model.name, language.name, instance.n, text)


# ---------------------------------------------------------------- implicit hitting sets


def by_sat(
    instance: Instance,
    language: Language,
    target: Target,
    position: int,
    seed: int,
    deadline: float | None,
    provenance: dict[str, Any],
    progress: Progress | None,
) -> Found | Immune:
    """By implicit hitting sets. Cost: SAT calls, which grow steeply with the number of fixed positions needed."""
    oracle = Oracle(encode(instance, Restriction.of(instance), [position]), position, deadline)
    problems = [Problem(oracle, label) for label in oracle.same]
    rng = np.random.default_rng(seed)
    optimum: int | None = None
    seen: list[Cube] = []
    for h in _open_forcing(instance, language, oracle, problems, rng, progress):
        optimum = len(instance.unpinned) - len(h) if optimum is None else optimum
        found = confirm(instance, h, target, provenance)
        if found is not None:
            return found, optimum
        seen.append(h)
        if len(seen) == TRIES:
            break
    if optimum is not None:
        found = _confirmed_one(instance, seen, target, provenance)
        if found is not None:
            return found, optimum
        raise NotEstablished(
            f"a restriction with {optimum} free positions refutes the model by SAT, but the abstract run confirms none"
        )
    reason = "no restriction forces the output and leaves membership open, by SAT with implicit hitting sets"
    return Immune(instance.model.name, language.name, instance.n, reason)


def _open_forcing(
    instance: Instance,
    language: Language,
    oracle: Oracle,
    problems: list[Problem],
    rng: np.random.Generator,
    progress: Progress | None,
) -> Iterator[Cube]:
    """Restrictions that force a label and leave membership open, by number of fixed positions; each minimal one."""
    if len(problems) == 1:  # the label never changes
        yield {}
        return
    while True:
        alive = [p for p in problems if p.lower <= len(p.inputs)]
        if not alive:
            return
        problem = min(alive, key=lambda p: p.lower)
        h = problem.hit()
        if h is None:
            problem.lower += 1
            if progress is not None:
                progress(f"exact: at least {min(p.lower for p in problems)} fixed", None)
            continue
        core = decided_part(instance, language, h)
        if core is not None:
            for other in problems:
                other.block(core)
            continue
        x = oracle.find(h, oracle.other[problem.label])
        if x is None:
            yield h
            problem.block(h)
        else:
            order = [int(i) for i in rng.permutation(sorted(x))]
            problem.add(oracle.shrink(x, oracle.same[problem.label], order))


def decided_part(instance: Instance, language: Language, fixed: Cube) -> Cube | None:
    """A subset-minimal part of a restriction that decides membership; ``None`` where it leaves it open."""

    def has(cube: Cube, member: bool) -> bool:
        return language.complete(Restriction.of(instance, dict(cube)), {}, member) is not None

    kind = next((member for member in (True, False) if not has(fixed, member)), None)
    if kind is None:
        return None
    core = dict(fixed)
    for i in fixed:
        rest = {j: a for j, a in core.items() if j != i}
        if not has(rest, kind):
            core = rest
    return core
