"""What `soft verify` prints of its answer, up to a length or for every length. Imported where there is an answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from restrict.cli.common import say

if TYPE_CHECKING:
    from restrict.soft.trained.decide import Verdict
    from restrict.soft.trained.every_length import EveryLength

LISTED = 8
"""Undecided cases that are printed."""
WORD = 120
"""Symbols of a wrong word that are printed, where no length was given."""


def leave(found: Verdict | EveryLength) -> None:
    """The exit code: 0 right, 3 wrong, 5 open, 130 interrupted."""
    if found.status == "wrong":
        sys.exit(say(f"{found.model.name} is wrong; the word stands above", 3))
    if found.stopped == "interrupted":
        sys.exit(say("interrupted; what is decided stands above", 130))
    if found.status == "open":
        n = longest(found)
        where = "at every length" if n is None else f"up to {n}"
        sys.exit(say(f"{found.model.name}: not decided {where}; see the cases above", 5))


def longest(found: Verdict | EveryLength) -> int | None:
    """The length up to which an answer was asked for; None for every length."""
    return getattr(found, "n", None)


def symbol(found: Verdict | EveryLength, a: int) -> str:
    """The name of a symbol; the start token's for -1."""
    if a < 0 and found.model.reader is not None:
        return found.model.vocab[found.model.reader]
    return "the start" if a < 0 else found.model.symbols[a]


def document(found: Verdict | EveryLength, line: str | None) -> dict[str, Any]:
    """The answer for machines. For every length ``upto`` is null where all are decided, and a case has no position."""
    model, wrong, n = found.model, found.wrong, longest(found)
    every: dict[str, Any] = {} if n is not None else {"blocks": [list(block) for block in getattr(found, "blocks", ())]}
    length = {} if n is not None or wrong is None else {"length": len(wrong.word)}
    return {
        "model": model.name,
        "sha256": model.sha256,
        "language": found.language,
        **({} if n is None else {"n": n}),
        "status": found.status,
        "upto": found.upto,
        **every,
        "cases": len(found.cases),
        "cells": sum(case.cells for case in found.cases),
        "memory": list(found.memory),
        "seconds": round(found.seconds, 3),
        "stopped": found.stopped,
        "checked": line,
        "float32": rounded(found),
        "wrong": None if wrong is None else {
            "word": [model.symbols[s] for s in wrong.word], **length, "label": model.labels[wrong.label],
            "logit": wrong.logit, "shortest": found.shortest,
        },
        "open": [
            {**({} if n is None else {"position": case.key[0]}), "symbol": symbol(found, case.key[1]),
             "state": case.key[2], "label": model.labels[case.label], "bound": case.least}
            for case in found.open
        ],
    }  # fmt: skip


def text(found: Verdict | EveryLength, line: str | None) -> str:
    """The answer in words."""
    n, cells = longest(found), sum(case.cells for case in found.cases)
    asked = "every length" if n is None else f"n = 0 .. {n}"
    told = [f"{found.model.name} on {found.language}, {asked}: {found.status} "
            f"({len(found.cases)} cases, {cells} cells, {found.seconds:.1f} s)"]  # fmt: skip
    told += [] if found.graph.empty else ["no start token: nothing is asked behind the empty word"]
    told += [*(f"memory: {what}" for what in found.memory), *decided(found), *as_run(found), *wrong_word(found)]
    if found.stopped is not None:
        told.append(f"stopped: {found.stopped}")
    for case in found.open[:LISTED]:
        i, a, q = case.key
        where = "open at every length: " if n is None else f"open: position {i}, "
        told.append(f"{where}symbol {symbol(found, a)}, state {q}: "
                    f"{found.model.labels[case.label]} reaches {case.least:.3g} only")  # fmt: skip
    if len(found.open) > LISTED:
        told.append(f"open: {len(found.open) - LISTED} more cases")
    told.append(line or "not checked: a search in floats, not a proof")
    return "\n".join(told)


def rounded(found: Verdict | EveryLength) -> dict[str, Any] | None:
    """What is right as run: margin and rounding are those of a label's logit times the last deviation."""
    run = getattr(found, "float32", None)
    if run is None or run.closest is None:
        return None
    near = run.closest
    found_to = min(run.upto, found.upto if found.upto is not None else run.upto)
    return {"upto": found_to, "ratio": float(near.ratio), "margin": float(near.least), "rounding": float(near.error),
            "position": near.key[0]}  # fmt: skip


def as_run(found: Verdict | EveryLength) -> list[str]:
    """What is said of executions in float32."""
    if (said := rounded(found)) is None or said["upto"] < 0:
        return []
    whole = found.status == "right" and said["upto"] == found.upto
    which = "every prefix" if whole else f"prefixes of at most {said['upto']} symbols"
    return [
        f"right as run in float32: {which}; every margin is at least {said['ratio']:.3g} times its rounding "
        f"({said['margin']:.3g} beside {said['rounding']:.2g} at position {said['position']}; this engine's bound)"
    ]


def decided(found: Verdict | EveryLength) -> list[str]:
    """What is said of the prefixes that are right, where it is not all that was asked for."""
    if found.upto is None:
        return ["every prefix of every word that may come is right, whatever its length"]
    asked = longest(found) is None or found.status == "open"
    if found.upto >= 0:
        return [f"every prefix of at most {found.upto} symbols is right"] if asked else []
    return ["nothing is decided"] if longest(found) is not None and asked else []


def wrong_word(found: Verdict | EveryLength) -> list[str]:
    """The word behind which the model is wrong."""
    if (wrong := found.wrong) is None:
        return []
    word = [found.model.symbols[s] for s in wrong.word]
    most = WORD if longest(found) is None else len(word)
    more = f" ... ({len(word)} symbols)" if len(word) > most else ""
    which = "no shorter prefix is wrong" if found.shortest else "a shorter one may be wrong"
    told = f"wanted {'negative' if wrong.logit > 0 else 'positive'}"
    if found.graph.greatest:
        want = sorted(found.graph.want[found.graph.state(wrong.word)])
        told = f"the greatest, wanted {' or '.join(found.model.labels[k] for k in want)}"
    return [
        f"wrong behind: {' '.join(word[:most]) or 'the empty word'}{more}",
        f"length {len(word)} ({which}): logit of {found.model.labels[wrong.label]} is {wrong.logit:.4g}, {told}",
    ]
