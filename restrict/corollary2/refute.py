"""Refutations of the claim that a model recognises a language (Hahn 2020, Corollary 2; theory of the project, section
8).

A restriction that forces the model's label and leaves membership open gives two words with one label, of which exactly
one is a member. The search of :mod:`restrict.force.search` runs with a guard that keeps membership open
(:mod:`restrict.corollary2.openness`); where it finds nothing it runs again on top of a pre-restriction that makes
membership hard to decide: for Dyck languages the first fifth of the positions opens and the last fifth closes, as in
the proof of Corollary 2; for others the ends of a random member. Afterwards the pre-restriction is freed as far as the
certificate allows.

A restriction that also decides membership is never called a refutation. Where all restrictions that force the label do
so, the language is *immune* (``1*``, ``a^n b^n``, or any language that the model recognises).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from restrict.base.deadline import OutOfTime, Progress
from restrict.base.errors import InternalError, NotEstablished, ResourceLimit, UsageError
from restrict.base.wording import counted
from restrict.certificate.certificate import Certificate, certified
from restrict.certificate.refutation import Errors, Refutation, language_document
from restrict.corollary2.openness import Openness, is_dyck
from restrict.corollary2.options import REFUTE
from restrict.corollary2.verdict import Immune, NoRefutation
from restrict.force.cases import forced
from restrict.force.minimise import Minimiser, needed_cone
from restrict.force.release import few_nodes, relax, releases
from restrict.force.search import GoalSearch
from restrict.force.state import ForcingState
from restrict.kernels.shield import kept
from restrict.languages.pre import corollary2
from restrict.languages.protocol import Language, Word, check_alphabet
from restrict.languages.regular import Regular
from restrict.model.arguments import the_integer
from restrict.model.on_demand import OnDemandRun
from restrict.model.program import Head, Instance, Model
from restrict.model.restriction import Restriction
from restrict.model.task import Target, Task
from restrict.model.trace import run_batch
from restrict.optimum.enumeration import few_restrictions
from restrict.trial.certificate import try_certificate
from restrict.trial.disagreement import disagree

if TYPE_CHECKING:
    from restrict.corollary2.exact import Unfinished


def refute(
    model: Model,
    language: Language | str,
    n: int,
    *,
    target: Target = "last",
    c: int = 0,
    seed: int = 0,
    time: float | None = None,
    exact: bool = False,
    progress: Progress | None = None,
) -> Refutation | Immune | NoRefutation:
    """Show that the model does not recognise the language at this length, or say why this method cannot.

    Args:
        model: the program.
        language: a language over the model's alphabet, or its specification (docs/languages.md).
        n: the length, markers included; words have ``n`` symbols less the markers.
        target: the position whose label is meant, ``"last"`` or a number.
        c: positions are freed until the label depends on up to this many inputs, as long as witnesses agree on these.
        seed: the same seed gives the same answer (without ``time``).
        time: seconds for everything together; by default a fixed budget of work.
        exact: the restriction with the most free positions under which the label is constant and membership is open,
            by running every word (up to 2^20 of them) or by SAT. Short lengths (up to 65 536 words, where that takes
            seconds) are always done exactly. Half of ``time`` is for this; if it does not finish, the search follows.
        progress: called with (what is being done, best number of fixed positions so far).

    Returns:
        A :class:`Refutation`, whose witnesses have been run and tested; or an :class:`Immune`: it is proved that there
        is no refutation, and it says how; or a :class:`NoRefutation`: none was found, which proves nothing. Cost: that
        of ``certify``, a few times.

    Raises:
        UsageError: a bad argument, or a language over another alphabet.
        ModelError: the model is not defined at ``n``.
        NotEstablished: the language gives no witnesses for the restriction that was found.
        ResourceLimit: the model is too deep for the search, or a completion could not be decided.
    """
    task = Task.of(model, n, target=target, seed=seed, time=time, progress=progress)
    task.one_position("a refutation")
    language = _language(language)
    check_alphabet(language, model.alphabet, f"the model {model.name!r}")
    if the_integer("c", c) and exact:
        raise UsageError(f"c = {c} must be 0 with exact")
    trivial = _trivial(task.instance, language)
    if trivial is not None:
        return trivial
    bound = None
    if exact or (c == 0 and few_restrictions(task.instance)):
        found = _exact(task, language)
        if isinstance(found, Refutation | Immune):
            return found
        bound = found
        task = task if bound is not None and bound.exact else task.noting(exact="out of time")
    answer = _search(task, language, c)
    if isinstance(answer, Refutation) and bound is not None:
        if answer.free > bound.most:
            raise InternalError(f"internal disagreement: {answer.free} free positions, at most {bound.most} by SAT")
        return replace(answer, optimum=bound.most)
    return _every_length(task, language, _bounded(answer, bound)) if isinstance(answer, NoRefutation) else answer


def _bounded(found: NoRefutation, bound: Unfinished | None) -> NoRefutation:
    """Nothing was found, with what the exact part has proved nevertheless."""
    if bound is None:
        return found
    proved = f"proved: a refutation leaves at most {bound.most} positions free"
    if bound.exact:
        proved = (
            f"proved: a restriction with {bound.most} free positions refutes the model, and none with more; no "
            "certificate of it is within the limits (a tree of cases would be too large)"
        )
    return replace(found, reason=f"{found.reason}; {proved}", most=bound.most)


def _every_length(task: Task, language: Language, found: NoRefutation) -> Immune | NoRefutation:
    """A proof instead of "not found", where the model recognises the language at every length."""
    from restrict.all_lengths.evidence import Proved
    from restrict.all_lengths.verify import verify

    if not isinstance(language, Regular) or task.instance.model.output.position != "last":
        return found
    try:
        proof = verify(task.instance.model, language, states=REFUTE.every_length)
    except (NotEstablished, ResourceLimit, UsageError):
        return found
    if not isinstance(proof, Proved):
        return found
    checked = "" if proof.line is None else ", verified by the trusted checker"
    reason = f"recognises {language.name} at every length (proved: its automaton is the language's{checked})"
    return Immune(found.model_name, found.language, found.n, reason, found.example, exact=True)


def _exact(task: Task, language: Language) -> Refutation | Immune | Unfinished | None:
    """The exact answer; where the time for it is over, an upper bound on the free positions, if one is known."""
    from restrict.corollary2.exact import Unfinished, refute_exact

    task = task.noting(strategy="exact").until(task.deadline.share(0.5))
    try:
        found = refute_exact(task, language)
    except Unfinished as stopped:
        return stopped
    except OutOfTime:
        return None
    if isinstance(found, Immune):
        return found
    certificate, most, complete = found
    return _refutation(task if complete else task.noting(exact="out of time"), language, certificate, most)


def _language(given: Language | str) -> Language:
    if not isinstance(given, str):
        return given
    from restrict.all_lengths.verify import named

    return named(given)


def _trivial(instance: Instance, language: Language) -> Immune | None:
    """The answer where at this length every word is a member, or none: then some constant answer is right."""
    for member, text in ((True, "no word"), (False, "every word")):
        try:
            known = language.complete(Restriction.of(instance), {}, member)
        except ResourceLimit:  # a search that found nothing, which is no proof
            continue
        if known is None:
            length = len(instance.unpinned)
            reason = f"{text} of {length} symbols is in the language, so nothing is left to decide"
            return Immune(instance.model.name, language.name, instance.n, reason)
    return None


# ---------------------------------------------------------------- the search


def _search(task: Task, language: Language, c: int) -> Refutation | Immune | NoRefutation:
    """Without a pre-restriction, then with each: each gets half of the time that is left."""
    refused, stopped = 0, None
    single = _single(task.instance, language)
    bases = _bases(task.instance, language, task.seed)
    for base, strategy in islice(bases, 1) if single else bases:
        guard = Openness(language, task.instance, base)
        part = task.until(task.deadline.share(0.5))
        search = GoalSearch(part, base=base, guard=guard, patience=1 if single else REFUTE.patience - bool(base))
        try:
            search.run()
        except KeyboardInterrupt:
            if search.best.fixed is None:
                raise
            stopped = "interrupted"
        refused += search.refused
        if search.best.fixed is not None:
            noted = task.noting(strategy=strategy, **({"stopped": stopped} if stopped else {}))
            found, late = kept(partial(_certified, noted, search, base))
            if late:
                noted, found = noted.noting(stopped="interrupted"), _interrupted(found)
            elif c > 0 and stopped is None:
                found = _relaxed(noted, language, found, c)
            return _refutation(noted, language, found)
    return _immune(task, language, refused)


def _single(instance: Instance, language: Language) -> bool:
    """Whether one word of this length is a member, or one is not: every open restriction then agrees with that word.
    What is fixed is fixed to its symbols, so one pass of the search says as much as several, and the ends of a member
    are nothing new."""
    count = language.count(Restriction.of(instance)) if instance.n <= REFUTE.counted else None
    return count is not None and count in (1, len(instance.model.alphabet) ** len(instance.unpinned) - 1)


def _bases(instance: Instance, language: Language, seed: int) -> Iterator[tuple[dict[int, int], str]]:
    """Pre-restrictions to try, as positions with symbol indices, the empty one first."""
    yield {}, "goal, open membership"
    index = {s: a for a, s in enumerate(instance.model.alphabet)}
    cells = instance.unpinned
    ends = len(cells) // REFUTE.share
    if ends == 0:
        return
    if is_dyck(language):
        before = corollary2(language, len(cells)).fixed
        base = {cells[t]: index[symbol] for t, symbol in before.items()}
        yield base, "goal, open membership, openers first and closers last"
        return
    rng = np.random.default_rng(seed)
    for _ in range(2):
        try:
            word = language.sample(len(cells), rng)
        except ResourceLimit:
            return
        if word is not None:
            held = [*range(ends), *range(len(cells) - ends, len(cells))]
            yield {cells[t]: index[word[t]] for t in held}, "goal, open membership, ends of a member"


def _certified(task: Task, search: GoalSearch, base: Mapping[int, int]) -> Certificate:
    """The certificate of the best restriction, with the pre-restriction freed as far as that one allows."""
    best = search.best
    assert best.fixed is not None
    fixed, cone = {**base, **best.fixed}, dict(best.cone)
    if base:
        fixed, cone = _without_base(task, base, fixed, cone, best.values)
    return forced(task, fixed, cone)


def _without_base(
    task: Task,
    base: Mapping[int, int],
    fixed: dict[int, int],
    cone: dict[str, tuple[int, ...]],
    values: tuple[int, ...],
) -> tuple[dict[int, int], dict[str, tuple[int, ...]]]:
    """Deletion over the pre-restriction: freeing never closes membership."""
    instance, position = task.instance, task.one_position("a refutation")
    state, node = ForcingState(instance), (instance.model.output.variable, position)
    state.tokens.update({i: (a,) for i, a in fixed.items()})
    for variable in instance.model.variables:
        for i in cone.get(variable.name, ()):
            state.examine(variable, i)
    label = instance.label(values[0])
    allowed = {v for v in range(instance.domains[node[0]]) if instance.label(v) == label}
    if node[0] not in ("token", "position") and node not in state.facts:
        state.examine(instance.model.by_name[node[0]], position)
    minimiser = Minimiser(state, node, lambda: allowed.issuperset(state.values(*node)))
    minimiser.minimise(np.random.default_rng(task.seed).permutation(sorted(base)).tolist())
    kept = {i: v[0] for i, v in sorted(state.tokens.items()) if i not in state.pinned}
    return kept, needed_cone(state, node)


def _relaxed(task: Task, language: Language, start: Certificate, c: int) -> Certificate:
    """More free positions for up to ``c`` dependencies, as long as two witnesses agree on them."""
    best = relax(task, start, c, None)
    if _witnesses(task.instance, language, best) is None:
        best = start
    for found in releases(task, start) if best is start or few_nodes(task) else ():
        if found.c > c:
            break
        if found.free > best.free and _witnesses(task.instance, language, found) is not None:
            best = found
    return best


def _witnesses(instance: Instance, language: Language, found: Certificate) -> tuple[Word, Word] | None:
    """A member and a non-member under the restriction that agree on the dependencies."""
    rho, depends = found.restriction, found.claim.dependencies or ()
    rng = np.random.default_rng(0)
    cells = instance.unpinned
    for turn in range(REFUTE.assignments if depends else 1):
        values = {i: instance.model.alphabet[int(rng.integers(len(instance.model.alphabet)))] for i in depends}
        try:
            if turn % 2 == 0 and depends:  # what a member has there
                word = language.complete(rho, {}, True)
                values = {i: s for i, s in zip(cells, word or (), strict=bool(word)) if i in values}
            member = language.complete(rho, values, True)
            nonmember = None if member is None else language.complete(rho, values, False)
        except ResourceLimit:
            continue
        if member is not None and nonmember is not None:
            return member, nonmember
    return None


# ---------------------------------------------------------------- results


def _interrupted(found: Certificate) -> Certificate:
    """A certificate with the note that Ctrl-C ended the work on it."""
    return replace(found, provenance={**found.provenance, "stopped": "interrupted"})


def _refutation(task: Task, language: Language, certificate: Certificate, optimum: int | None = None) -> Refutation:
    """Witnesses, run and tested, and the errors that follow. Raises where anything disagrees; Ctrl-C waits for it."""
    found, late = kept(partial(_made, task, language, certificate, optimum))
    return replace(found, certificate=_interrupted(found.certificate)) if late else found


def _made(task: Task, language: Language, certificate: Certificate, optimum: int | None) -> Refutation:
    instance, notes = task.instance, task.provenance
    words = _witnesses(instance, language, certificate)
    if words is None:
        raise NotEstablished("the language gives no witnesses for this restriction; try another seed")
    member, nonmember = words
    labels, how = _tried(task, language, certificate, words)
    assert certificate.claim.values is not None
    label = labels[0] if labels else instance.label(certificate.claim.values[0])
    errors = count_errors(instance, language, certificate)
    return Refutation(
        certificate, language.name, language_document(language), member, nonmember, label, errors, how, optimum, notes,
        start=int(0 in instance.pinned),
    )  # fmt: skip


def _tried(task: Task, language: Language, certificate: Certificate, words: tuple[Word, Word]) -> tuple[list[str], str]:
    """The labels of both witnesses by a run, and how; raises where they, or other runs, contradict the certificate."""
    instance, (member, nonmember) = task.instance, words
    model, file = instance.model, certificate.to_bytes()
    for word in words:
        if not certificate.restriction.admits(word):
            disagree(model, f"{language.name} completes the restriction", word, "a word against it", file)
    if not language.contains(member):
        disagree(model, f"{language.name} has the member", member, "that it has not", file)
    if language.contains(nonmember):
        disagree(model, f"{language.name} has no member", nonmember, "that it has", file)
    labels, how = run_witnesses(instance, words, task.one_position("a refutation"))
    if len(set(labels)) > 1:
        disagree(model, f"the label is {labels[0]!r} as on the member,", nonmember, repr(labels[1]), file)
    claimed = {instance.label(v) for v in certificate.claim.values or ()}
    if not set(labels) <= claimed:
        disagree(model, f"the labels {sorted(claimed)} are possible", member, repr(labels[0]), file)
    try_certificate(instance, certificate)
    return labels, how


def run_witnesses(instance: Instance, words: Sequence[Word], position: int) -> tuple[list[str], str]:
    """The labels of the words (without markers) at a position, by a run of every variable (``full``) or, where that is
    long, of what the ``output`` reads; none, and ``certificate``, where even that is too long."""
    rows = [instance.model.symbols(word) for word in words]
    heads = sum(isinstance(v, Head) for v in instance.model.variables)
    if instance.n**2 * max(1, heads) <= REFUTE.full:
        values = run_batch(instance, np.array(rows, dtype=np.int64).reshape(len(rows), -1)).values
        return [instance.label(int(v)) for v in values[instance.model.output.variable][:, position]], "full"
    try:
        return [OnDemandRun(instance, row).label(position) for row in rows], "output"
    except ResourceLimit:
        return [], "certificate"


def count_errors(instance: Instance, language: Language, certificate: Certificate) -> Errors | None:
    """How many inputs under the restriction are labelled wrongly, of how many, and whether that is exact (else a
    certified lower bound). With one label: all members or all others where the model says what it accepts, else the
    smaller of the two; with dependencies, summed over their values, one count each, at most ``assignments``. ``None``
    where the language cannot count its members, or there are too many values."""
    rho, values = certificate.restriction, certificate.claim.values or ()
    symbols, labels = len(instance.model.alphabet), {instance.label(v) for v in values}
    depends = () if len(labels) == 1 else certificate.claim.dependencies or ()
    if symbols ** len(depends) > REFUTE.assignments:
        return None
    known = instance.model.output.accept is not None and len(labels) == 1
    wrong = 0
    for t in range(symbols ** len(depends)):
        cells = {i: instance.model.alphabet[t // symbols**p % symbols] for p, i in enumerate(depends)}
        under = Restriction.of(instance, {**rho.fixed, **cells})
        members = language.count(under)
        if members is None:
            return None
        others = symbols**under.free - members
        wrong += (others if "accept" in labels else members) if known else min(members, others)
    return Errors(wrong, symbols**rho.free, known)


def _immune(task: Task, language: Language, refused: int) -> NoRefutation:
    """The answer "not found", with an example from the search without a guard: a restriction that forces the label."""
    instance = task.instance
    search = GoalSearch(task.noting(strategy="goal"), patience=1)
    with suppress(KeyboardInterrupt):
        search.run()
    example, late = None, task.deadline.passed
    how = f"no restriction was found {'in time ' if late else ''}that forces the output at all"
    if search.best.fixed is not None:
        example = certified(task, search.best.fixed, search.best.cone)
        k = len(search.best.fixed)
        kind = _decided(language, example)
        how = f"forcing the output takes {counted(k, 'position')} at most, and then every word is {kind}"
        if kind is None:
            how = "the restrictions found that force the output decide membership, or leave it unknown"
    if "exact" in task.provenance:
        how = f"the exact part ran out of time, and of the search: {how}"
    others = "1 other was found, which decides" if refused == 1 else f"{refused} others were found, which decide"
    count = f"; {others} membership, too" if refused else ""
    reason = f"{how}{count}. Not a proof: other restrictions may exist; the model may be exact"
    return NoRefutation(instance.model.name, language.name, instance.n, reason, example)


def _decided(language: Language, found: Certificate) -> str | None:
    """Which membership a restriction forces, in words."""
    try:
        if language.complete(found.restriction, {}, True) is None:
            return "a non-member"
        return "a member" if language.complete(found.restriction, {}, False) is None else None
    except ResourceLimit:
        return None
