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

from collections.abc import Iterator
from itertools import groupby, islice

import numpy as np
import numpy.typing as npt

from restrict.arrays import I64
from restrict.certificate.certificate import Certificate
from restrict.corollary2.verdict import Immune
from restrict.deadline import NEVER, Deadline
from restrict.errors import NotEstablished
from restrict.force.cases import confirm, confirm_by_cases
from restrict.languages.protocol import Language
from restrict.languages.regular import Regular
from restrict.model.program import Instance
from restrict.optimum.cnf import encode
from restrict.optimum.enumeration import (
    MIXED,
    Labels,
    all_labels,
    all_words,
    by_size,
    constant_labels,
    cube_of,
    digits,
    lift,
    restrictions_fit,
)
from restrict.optimum.exact import Cube, Oracle, Problem
from restrict.restriction import Restriction
from restrict.task import Task

TRIES = 200
"""Restrictions of one size that the abstract run is asked to confirm."""
CASES = 8
"""Restrictions of one size that it is asked to confirm case by case, where it confirms none as they are."""
Found = tuple[Certificate, int]


def refute_exact(task: Task, language: Language) -> Found | Immune:
    """A certificate and the most free positions possible, or the proof that there is no such restriction.

    The certificate has fewer free positions than that where the abstract run confirms no optimal restriction.

    Raises:
        NotEstablished: the abstract run confirms no restriction at all.
        OutOfTime: the task's deadline has passed.
        ResourceLimit: a completion is not known.
    """
    return by_table(task, language) if restrictions_fit(task.instance) else by_sat(task, language)


# ---------------------------------------------------------------- every restriction


def by_table(task: Task, language: Language) -> Found | Immune:
    """By enumeration. Cost: every word is run and tested, and one pass over ``(s+1)^m`` entries for each position."""
    instance, symbols = task.instance, len(task.instance.model.alphabet)
    labels, names = all_labels(instance, task.one_position("a refutation"), task.deadline)
    members = all_members(instance, language, task.deadline)
    sizes, order = open_cubes(labels, members)
    if not len(order):
        return _immune_by_table(instance, language, labels.reshape(-1), names, members.reshape(-1))
    restrictions = (cube_of(index, symbols, instance.unpinned) for index in order.tolist())
    found = _first_confirmed(task, restrictions)
    free = len(instance.unpinned) - int(sizes[0])
    if found is None:
        raise NotEstablished(
            f"a restriction with {free} free positions refutes the model on all words, but the abstract run "
            "confirms none, so there is no certificate"
        )
    return found, free


def all_members(instance: Instance, language: Language, deadline: Deadline = NEVER) -> npt.NDArray[np.bool_]:
    """Whether each word is a member, in the order of the digits; shape (s,) * m.

    Raises:
        OutOfTime: the deadline has passed.
    """
    alphabet, m, parts = instance.model.alphabet, len(instance.unpinned), []
    for words in all_words(len(alphabet), m):
        deadline.check()
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
    return np.concatenate(parts).reshape((len(alphabet),) * m)


def open_cubes(labels: Labels, members: npt.NDArray[np.bool_]) -> tuple[I64, I64]:
    """How many positions each restriction fixes under which the label is constant and membership is not, and its
    index (:mod:`restrict.optimum.enumeration`); the fewest first. Both tables have shape (s,) * m."""
    kinds = lift(
        np.where(members, np.uint8(2), np.uint8(1)),
        lambda table, axis: np.bitwise_or.reduce(table, axis=axis, keepdims=True),
    )
    return by_size((constant_labels(labels) != MIXED) & (kinds == 3))


def _first_confirmed(task: Task, restrictions: Iterator[Cube]) -> Certificate | None:
    """A certificate with the most free positions: of each size ``TRIES`` restrictions as they are, some by cases."""
    for _, group in groupby(restrictions, key=len):
        task.deadline.check()
        found = _confirmed_one(task, list(islice(group, TRIES)))
        if found is not None:
            return found
    return None


def _confirmed_one(task: Task, cubes: list[Cube]) -> Certificate | None:
    for cube in cubes:
        if (found := confirm(task, cube)) is not None:
            return found
    by_cases = (confirm_by_cases(task, cube) for cube in cubes[:CASES])
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


def by_sat(task: Task, language: Language) -> Found | Immune:
    """By implicit hitting sets. Cost: SAT calls, which grow steeply with the number of fixed positions needed."""
    instance, position = task.instance, task.one_position("a refutation")
    oracle = Oracle(encode(instance, Restriction.of(instance), [position]), position, task.deadline)
    problems = [Problem(oracle, label) for label in oracle.same]
    optimum: int | None = None
    seen: list[Cube] = []
    for h in _open_forcing(task, language, oracle, problems):
        optimum = len(instance.unpinned) - len(h) if optimum is None else optimum
        found = confirm(task, h)
        if found is not None:
            return found, optimum
        seen.append(h)
        if len(seen) == TRIES:
            break
    if optimum is not None:
        found = _confirmed_one(task, seen)
        if found is not None:
            return found, optimum
        raise NotEstablished(
            f"a restriction with {optimum} free positions refutes the model by SAT, but the abstract run confirms none"
        )
    reason = "no restriction forces the output and leaves membership open, by SAT with implicit hitting sets"
    return Immune(instance.model.name, language.name, instance.n, reason)


def _open_forcing(task: Task, language: Language, oracle: Oracle, problems: list[Problem]) -> Iterator[Cube]:
    """Restrictions that force a label and leave membership open, by number of fixed positions; each minimal one."""
    rng = np.random.default_rng(task.seed)
    if len(problems) == 1:  # the label never changes
        yield {}
        return
    while True:
        task.deadline.check()
        alive = [p for p in problems if p.lower <= len(p.inputs)]
        if not alive:
            return
        problem = min(alive, key=lambda p: p.lower)
        h = problem.hit()
        if h is None:
            problem.lower += 1
            task.tell(f"exact: at least {min(p.lower for p in problems)} fixed")
            continue
        core = decided_part(task.instance, language, h)
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
