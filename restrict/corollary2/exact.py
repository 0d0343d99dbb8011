"""The strongest refutation: the restriction with the most free positions under which the label is constant and
membership is not; or the proof that there is none.

Where there are few words, every one is run and tested; :mod:`restrict.optimum.faces` finds the most free positions.

Beyond that, implicit hitting sets (:mod:`restrict.optimum.exact`): a restriction of at most ``k`` positions that
conflicts with every known cube of another label is proposed by SAT. If it decides membership, a minimal part of it that
does is forbidden, for every label. If some input under it has another label, a cube of that input that forces the
label is added. Otherwise it is the answer; where nothing is proposed, ``k`` grows, up to the number of positions.
"""

from collections.abc import Iterator

import numpy as np

from restrict.base.arrays import I16, Bools, digits, word_chunks
from restrict.base.deadline import NEVER, Deadline, OutOfTime
from restrict.certificate.certificate import Certificate
from restrict.corollary2.options import REFUTE
from restrict.corollary2.verdict import Immune
from restrict.force.cases import confirm
from restrict.force.minimise import shrink
from restrict.languages.protocol import Language
from restrict.languages.regular import Regular
from restrict.model.program import Instance
from restrict.model.restriction import Restriction
from restrict.model.task import Task
from restrict.optimum.enumeration import Labels, all_labels, confirm_one, words_fit
from restrict.optimum.faces import largest_faces
from restrict.optimum.hitting import Problem
from restrict.optimum.options import ENUMERATION
from restrict.optimum.oracle import Cube, Oracle
from restrict.sat.hitting_sets import unmissed

Found = tuple[Certificate, int, bool]
"""A certificate, how many free positions are possible at most, and whether that is exact."""


class Unfinished(OutOfTime):
    """There is no certificate yet; no restriction of the kind wanted has more than ``most`` free positions. ``exact``:
    there is one with exactly ``most``, but no certificate of it within the limits; else the time was over."""

    def __init__(self, most: int, exact: bool = False) -> None:
        super().__init__(f"at most {most} free positions")
        self.most, self.exact = most, exact


def refute_exact(task: Task, language: Language) -> Found | Immune:
    """A certificate and the most free positions possible (exact, or a certified upper bound where time ran out), by
    :func:`by_table` where the words are few, else by :func:`by_sat`; or an :class:`Immune`, the proof that there is no
    such restriction. The certificate has fewer free positions where the abstract run confirms no optimal restriction.
    ``task``: the model at a length, with one target position, a deadline and a seed."""
    return by_table(task, language) if words_fit(task.instance) else by_sat(task, language)


# ---------------------------------------------------------------- every restriction


def by_table(task: Task, language: Language) -> Found | Immune:
    """By enumeration. Cost: every word is run and tested, then :func:`restrict.optimum.faces.largest_faces`. ``task``:
    the model at a length, with one target position and a deadline. Result: a certificate, the most free positions
    possible, and whether that is exact (a certified upper bound where time ran out); or an :class:`Immune`, which is
    proved."""
    instance = task.instance
    labels, names = all_labels(instance, task.one_position("a refutation"), task.deadline)
    members = all_members(instance, language, task.deadline)
    if _mixed(labels, members, len(names)) and _open_edge(labels, members):
        faces = largest_faces(labels, members, keep=ENUMERATION.kept, deadline=task.deadline)
        if faces.largest >= 0 and (found := confirm_one(task, faces.cubes(instance.unpinned))) is not None:
            return found, faces.most, faces.complete
        if faces.largest >= 0 or not faces.complete:
            raise Unfinished(faces.most, faces.complete)
    return _immune_by_table(instance, language, labels.reshape(-1), names, members.reshape(-1))


def _mixed(labels: Labels, members: Bools, count: int) -> list[int]:
    """The labels that both a member and another word get."""
    kinds = [set(members[labels == t].tolist()) for t in range(count)]
    return [t for t, found in enumerate(kinds) if len(found) == 2]


def _open_edge(labels: Labels, members: Bools) -> bool:
    """Whether two words that differ at one position have one label and only one of them is a member. If a restriction
    has one label and leaves membership open, then so does one that fixes all positions but one: walk from a member to
    another word under it, changing one position at a time; membership changes at some step. (Over more than two symbols
    the one free position may need two of them only, so the label is compared pair by pair.)"""
    for axis in range(labels.ndim):
        for a in range(labels.shape[axis]):
            for b in range(a):
                one, other = (members.take(t, axis=axis) for t in (a, b))
                if bool(((one != other) & (labels.take(a, axis=axis) == labels.take(b, axis=axis))).any()):
                    return True
    return False


def all_members(instance: Instance, language: Language, deadline: Deadline = NEVER) -> Bools:
    """Whether each word is a member, in the order of the digits; shape (s,) * m. Cost: one membership test for each of
    the ``s ** m`` words; regular languages take all words of a block at once. ``instance``: the model at a length, with
    ``s`` symbols and ``m`` unpinned positions. ``deadline``: when to stop; never by default. Result: a bool array with
    one axis of ``s`` entries for each unpinned position."""
    alphabet, m, parts = instance.model.alphabet, len(instance.unpinned), []
    for words in word_chunks(len(alphabet), m):
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


def _immune_by_table(instance: Instance, language: Language, labels: I16, names: list[str], members: Bools) -> Immune:
    """The proof by the table that no restriction has one label and leaves membership open."""
    count, m = len(labels), len(instance.unpinned)
    mixed = _mixed(labels, members, len(names))
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
    """By implicit hitting sets. Cost: SAT calls, which grow steeply with the number of fixed positions needed.
    ``task``: the model at a length, with one target position, a deadline and a seed. Result: a certificate, the exact
    most free positions possible, and true; or an :class:`Immune`, which is proved. The certificate may have fewer free
    positions."""
    instance, position = task.instance, task.one_position("a refutation")
    oracle = Oracle.of(instance, position, deadline=task.deadline)
    problems = [Problem(oracle, label) for label in oracle.same]
    optimum: int | None = None
    seen: list[Cube] = []
    try:
        for h in _open_forcing(task, language, problems):
            optimum = len(instance.unpinned) - len(h) if optimum is None else optimum
            if (found := confirm(task, h)) is not None:
                return found, optimum, True
            seen.append(h)
            if len(seen) == REFUTE.tries:
                break
    except OutOfTime:
        fewest = min(p.lower for p in problems)
        most = len(instance.unpinned) - fewest if optimum is None else optimum
        raise Unfinished(most, optimum is not None) from None
    if optimum is None:
        reason = "no restriction forces the output and leaves membership open, by SAT with implicit hitting sets"
        return Immune(instance.model.name, language.name, instance.n, reason)
    if (found := confirm_one(task, seen)) is None:
        raise Unfinished(optimum, True)
    return found, optimum, True


def _open_forcing(task: Task, language: Language, problems: list[Problem]) -> Iterator[Cube]:
    """All minimal restrictions that force a label and leave membership open, by number of fixed positions."""
    rng = np.random.default_rng(task.seed)
    if len(problems) == 1:  # the label never changes
        yield {}
        return

    def propose() -> tuple[Problem, Cube] | None:
        while alive := [p for p in problems if p.lower <= len(p.inputs)]:
            task.deadline.check()
            problem = min(alive, key=lambda p: p.lower)
            if (h := problem.hit()) is not None:
                return problem, h
            problem.lower += 1
            task.tell(f"exact: at least {min(p.lower for p in problems)} fixed")
        return None

    def learn(proposal: tuple[Problem, Cube]) -> bool:
        problem, h = proposal
        core = decided_part(task.instance, language, h)
        if core is None:
            return problem.missed(h, rng) is not None
        for other in problems:
            other.block(core)
        return True

    for problem, h in unmissed(propose, learn):
        yield h
        problem.block(h)


def decided_part(instance: Instance, language: Language, fixed: Cube) -> Cube | None:
    """A subset-minimal part of a restriction that decides membership; ``None`` where it leaves it open. Cost: at most
    two completions, and one for each fixed position. Result: the part, from positions to symbol numbers, or
    ``None``."""

    def has(cube: Cube, member: bool) -> bool:
        return language.complete(Restriction.of(instance, dict(cube)), {}, member) is not None

    kind = next((member for member in (True, False) if not has(fixed, member)), None)
    if kind is None:
        return None
    return shrink(lambda rest: None if has(rest, kind) else rest, fixed, list(fixed))
