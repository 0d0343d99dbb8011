"""What the trusted checker takes of a verdict: the search decides with floats, the checker with integers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from restrict.base.errors import NotEstablished
from restrict.elaboration.trusted import trusted_check
from restrict.soft.trained.atoms import Basis
from restrict.soft.trained.decide import Verdict
from restrict.soft.trained.forms import leaves
from restrict.soft.trained.hints import basis_document
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.parts import Processes
from restrict.soft.trained.verdict import Case, Open

if TYPE_CHECKING:
    from restrict.soft.trained.every_length import EveryLength

DOUBTED = r": cases\[([0-9]+)\]: (?:label ([0-9]+) is not shown|.* beyond the bound)"
"""How the checker says that a case of a certificate does not hold."""
UNSHOWN = r": wrong: label [0-9]+ is not shown|the weights of the word vanish"
"""How it says that it does not see that a word is wrong."""
Found = TypeVar("Found", Verdict, "EveryLength")


def confirmed(found: Found, name: str, parts: Processes | None = None) -> tuple[Found, str | None]:
    """What the trusted checker takes of a verdict, and its line; a case that it does not take is open. Where a margin
    is too small for the checker's integers, what comes before stays; of a verdict on every length nothing does. A word
    whose logit is too near to 0 is not wrong: its case is open. ``name`` is what messages call the certificate.
    ``parts``: processes that may have begun to check it."""
    while found.proves:
        try:
            content = found.to_bytes()
            line = None if parts is None else parts.line(content)
            return found, line or trusted_check(found.model.content, content, None, name, None)
        except NotEstablished as error:
            if found.wrong is not None and re.search(UNSHOWN, str(error)):
                found = unshown(found)
                continue
            doubted = re.search(DOUBTED, str(error))
            if doubted is None or not isinstance(found, Verdict):
                raise
            found = found.without(int(doubted[1]), int(doubted[2] or found.graph.labels[0]))
    return found, None


def cost_of(case: Case, said: dict[tuple[int, int], list[int]], alike: bool) -> int:
    """What a case costs a check. ``said``: the bounds of the last one with its symbol and state, here put to it;
    ``alike``: without positions cells that are the same are shown once."""
    i, a, q = case.key
    known = alike and said.get((a, q)) == case.upper
    said[a, q] = case.upper
    return len(case.upper) * (i + 1) + OPTIONS.leaf * leaves(case.tree) * (not known)


def begun(parts: Processes) -> Callable[[Verdict], None]:
    """A function that has ``parts`` begin the check of the verdict that it is given."""

    def begin(found: Verdict) -> None:
        said, alike = dict[tuple[int, int], list[int]](), found.model.positions is None
        costs = [(*case.key[:2], cost_of(case, said, alike)) for case in found.cases]
        if found.proves:
            parts.begin(found.model.content, found.to_bytes(), costs)

    return begin


class Ahead:
    """Has cases verified while the search goes on, where there are processes for it. Nothing depends on it but time:
    the certificate's own check takes a case as verified only where it has all that was verified. To be called behind
    each decided case; those with one position and symbol are sent together."""

    def __init__(self, parts: Processes, model: Trained) -> None:
        self.parts, self.model, self.head = parts, model, dict[str, Any]()
        self.anew()

    def anew(self) -> None:
        """Begin anew: nothing has been sent."""
        self.sent = 0
        self.said = dict[tuple[int, int], list[int]]()
        self.costs: list[int] = []
        self.bases: dict[int, list[int]] = {}

    def __call__(self, head: dict[str, Any], cases: list[Case], turns: list[list[Basis]]) -> None:
        if len(self.parts.processes) < 2:
            return
        if any(head.get(name) != self.head.get(name) for name in ("language", "memory")):  # a wrong word may be shorter
            self.head = head
            self.anew()
            self.parts.ahead(self.model.content)
        alike = self.model.positions is None
        self.costs += [cost_of(case, self.said, alike) for case in cases[len(self.costs) :]]
        if sum(self.costs) < OPTIONS.worth * OPTIONS.leaf:
            return
        while (number := self.parts.free()) is not None and (end := self.enough(cases)):
            self.send(number, cases[self.sent : end], turns)
            self.sent = end

    def enough(self, cases: list[Case]) -> int:
        """The end of the cases that are sent together next, 0 where these are too few."""
        cost = 0
        for k in range(self.sent, len(cases) - 1):
            cost += self.costs[k]
            if cost >= OPTIONS.sent * OPTIONS.leaf and cases[k].key[:2] != cases[k + 1].key[:2]:
                return k + 1
        return 0

    def send(self, number: int, cases: list[Case], turns: list[list[Basis]]) -> None:
        """Cases for a process: their bases first, those that it does not have."""
        begun = number in self.bases
        has = self.bases.setdefault(number, [])
        new = sorted({case.basis for case in cases} - set(has))
        bases = [basis_document(turns[k]) for k in new]
        has += new
        if not begun:
            self.parts.send(
                number, {"head": self.head | {"basis": bases.pop(0), "cases": []}}, model=self.model.content
            )
        entries = [[*case.key, case.upper, case.width, case.tree, has.index(case.basis), case.held] for case in cases]
        self.parts.send(number, {"bases": bases, "cases": entries})
        self.parts.began[number] += 1
        self.parts.owners.update((case.key[:2], number) for case in cases)


def unshown(found: Found) -> Found:
    """The verdict where the checker does not see that the wrong word is wrong: the case that it ends with is open."""
    assert found.wrong is not None
    word = found.wrong.word
    a = word[-1] if word and found.model.reader is None else -1
    case = Open((len(word), a, found.graph.state(word)), found.wrong.label, -abs(found.wrong.logit))
    less = replace(found, status="open", wrong=None, open=[case, *found.open])
    if isinstance(less, Verdict) or found.cases:
        return less
    return replace(less, proof=None)  # nothing was asked of shorter words
