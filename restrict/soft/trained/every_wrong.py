"""All wrong words of a claim, one search after another: each leaves out the wrong words before it, and the last one's
certificate is about all other words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from restrict.base.errors import ModelError, ResourceLimit, UsageError
from restrict.base.wording import counted
from restrict.soft.trained.confirm import confirmed, unshown
from restrict.soft.trained.decide import Ahead, Tell, Verdict, verify_trained
from restrict.soft.trained.excepted import Behind, Share, excepting, words_asked
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.model import Trained
from restrict.soft.trained.wrong import Hunt


def every_wrong(
    model: Trained, graph: Graph, n: int, most: int, *, language: str = "", seconds: float | None = None,
    tell: Tell | None = None, float32: bool = False, decided: Callable[[Verdict], None] | None = None,
    ahead: Ahead | None = None, recheck: bool = True,
) -> Verdict:  # fmt: skip
    """Look for up to ``most`` wrong words, and decide the claim without them.

    Args:
        model, graph, n: as :func:`verify_trained` takes them.
        most: how many wrong words end the search, at least 1. That all others are right needs one search more than
            there are wrong words, and so one more here.
        language: the claim's name; a certificate's says how many words were left out.
        seconds: of all searches together.
        tell, float32, decided, ahead: for each search, as :func:`verify_trained` takes them; ``decided`` is not called
            for a verdict behind which another search comes.
        recheck: whether the trusted checker confirms each wrong word before it is left out.

    Returns:
        The last verdict: on the claim without the wrong words before its own. Its ``wrong_words`` are all of them,
        and ``share`` says how many words the claim has. It is ``right`` only if all other words are.
        Words near a wrong one are tried, and the rest is for the next search. A word of a search that the checker does
        not take is an open case, and ends the search; so does what needs more than 4096 states, an interrupt, or the
        end of the time. A last verdict that would prove nothing is left for the one before.

    Raises:
        UsageError: ``most`` is less than 1, or as :func:`verify_trained`.
        ModelError: as :func:`verify_trained`.
    """
    if most < 1:
        raise UsageError(f"at least one wrong word is looked for, not {most}")
    begin, until = time.monotonic(), None if seconds is None else time.monotonic() + seconds
    wrong, claim, before = list[Behind](), graph, None
    while True:
        last = len(wrong) + 1 == most
        found = verify_trained(
            model, claim, n,
            language=f"{language}, without {counted(len(wrong), 'wrong word')}" if wrong else language,
            seconds=None if until is None else max(0.0, until - time.monotonic()), tell=_telling(tell, len(wrong)),
            float32=float32, decided=partial(_begin, last, decided), ahead=ahead,
        )  # fmt: skip
        found = _taken(found) if recheck else found
        if found.wrong is not None:
            found = _gathered(found, claim, wrong, most, until, recheck)
        if found.wrong is None or len(wrong) == most or found.stopped is not None:
            break
        before = found
        try:
            claim = excepting(model, graph, [behind.word for behind in wrong])
        except ModelError:
            break
    if before is not None and not found.proves:
        found = replace(before, stopped=found.stopped, open=found.open)
    share = Share(most, words_asked(graph, n), tuple(wrong))
    return replace(found, share=share, seconds=time.monotonic() - begin)


def _begin(last: bool, decided: Callable[[Verdict], None] | None, found: Verdict) -> None:
    """Hand on a verdict behind which no other search comes."""
    if decided is not None and (found.wrong is None or last):
        decided(found)


def _telling(tell: Tell | None, count: int) -> Tell | None:
    """The function that is told what is being done, with how many wrong words there are so far."""
    if tell is None or not count:
        return tell
    return lambda what: tell(f"{counted(count, 'wrong word')} left out; {what}")


def _taken(found: Verdict) -> Verdict:
    """The verdict, if the trusted checker takes its wrong word, if any; else with an open case there. Its cases are
    left for the certificate: only the word is checked here."""
    if found.wrong is None:
        return found
    try:
        less = replace(found, cases=[], open=[], upto=-1 - (found.last - found.upto))
        return found if confirmed(less, "certificate")[0].wrong is not None else unshown(found)
    except ResourceLimit:
        return unshown(found)
    except KeyboardInterrupt:
        return replace(unshown(found), stopped="interrupted")


def _gathered(
    found: Verdict, claim: Graph, wrong: list[Behind], most: int, until: float | None, recheck: bool
) -> Verdict:
    """Add the wrong word of a verdict on a claim to those before it, and the wrong words near it: often all of a kind
    differ in a symbol, and none of them then needs a search of its own. The verdict, which may have been stopped."""
    assert found.wrong is not None
    wrong.append(Behind.of(found.model, claim, found.wrong))
    try:
        for near in Hunt(found.model, claim, found.n).near(found.wrong.word):
            if len(wrong) == most or found.stopped is not None:
                break
            said = _taken(replace(found, wrong=near)) if recheck else found
            if said.wrong is not None:
                wrong.append(Behind.of(found.model, claim, near))
            late = until is not None and time.monotonic() > until
            found = replace(found, stopped="time" if late else said.stopped)
    except KeyboardInterrupt:
        return replace(found, stopped="interrupted")
    return found
