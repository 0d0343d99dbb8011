"""What the trusted checker takes of a verdict: the search decides with floats, the checker with integers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from restrict.base.errors import NotEstablished
from restrict.elaboration.trusted import trusted_check
from restrict.soft.trained.decide import Verdict
from restrict.soft.trained.forms import leaves
from restrict.soft.trained.parts import LEAF, Parts
from restrict.soft.trained.verdict import Open

if TYPE_CHECKING:
    from restrict.soft.trained.every_length import EveryLength

DOUBTED = r": cases\[([0-9]+)\]: (?:label ([0-9]+) is not shown|.* beyond the bound)"
"""How the checker says that a case of a certificate does not hold."""
UNSHOWN = r": wrong: label [0-9]+ is not shown|the weights of the word vanish"
"""How it says that it does not see that a word is wrong."""
Found = TypeVar("Found", Verdict, "EveryLength")


def confirmed(found: Found, name: str, parts: Parts | None = None) -> tuple[Found, str | None]:
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


def begun(parts: Parts) -> Callable[[Verdict], None]:
    """What has parts of the check begin, given a verdict."""

    def begin(found: Verdict) -> None:
        said, costs = dict[tuple[int, int], list[int]](), list[tuple[int, int, int]]()
        for case in found.cases:
            i, a, q = case.key  # without positions cells that are the same are shown once
            known = found.model.positions is None and said.get((a, q)) == case.upper
            costs.append((i, a, len(case.upper) * (i + 1) + LEAF * leaves(case.tree) * (not known)))
            said[a, q] = case.upper
        if found.proves:
            parts.begin(found.model.content, found.to_bytes(), costs)

    return begin


def unshown(found: Found) -> Found:
    """The verdict where the checker does not see that the wrong word is wrong: the case that it ends with is open."""
    assert found.wrong is not None
    word = found.wrong.word
    a = word[-1] if word and found.model.reader is None else -1
    case = Open((len(word), a, found.graph.state(word)), found.wrong.label, -abs(found.wrong.logit))
    less = replace(found, status="open", wrong=None, open=[case, *found.open])
    if isinstance(less, Verdict):
        return replace(less, shortest=False)
    return less if word else replace(less, proof=None)  # behind the empty word nothing was asked
