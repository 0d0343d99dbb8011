"""The option `--all-lengths` of `soft verify`. Imported where it is asked for."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from restrict.cli.common import progress_on, say
from restrict.cli.printer import Told, put

if TYPE_CHECKING:
    from restrict.soft.trained.every_length import EveryLength
    from restrict.soft.trained.graph import Graph
    from restrict.soft.trained.model import Trained

LISTED = 8
"""Undecided cases that are printed."""
WORD = 120
"""Symbols of a wrong word that are printed."""


def verify_all_lengths(
    loaded: Trained, graph: Graph, *, longest: int, language: str, seconds: float, recheck: bool, output: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Decide, check, write and print. Exit 0: right at every length; 3: wrong, with a word; 5: open."""
    from restrict.elaboration.check import trusted_check
    from restrict.soft.trained.every_length import verify_every_length

    with progress_on(f"{loaded.name[:40]}, every length") as progress:
        found = verify_every_length(
            loaded, graph, longest=longest, language=language, seconds=seconds, tell=lambda what: progress(what, None)
        )
        line = None
        try:
            if recheck and found.proves:
                line = trusted_check(loaded.content, found.to_bytes(), None, str(output or "certificate"), None)
        except KeyboardInterrupt:  # what the search has decided is kept, for `restrict check`
            found = replace(found, stopped="interrupted")
    if output is not None and found.proves:
        found.save(output)
    files = {"certificate in": output if found.proves else None}
    put(Told(lambda: text(found, line), lambda: document(found, line)), as_json, files)
    leave(found)


def leave(found: EveryLength) -> None:
    """The exit code: 0 right, 3 wrong, 5 open, 130 interrupted."""
    if found.status == "wrong":
        sys.exit(say(f"{found.model.name} is wrong; the word stands above", 3))
    if found.stopped == "interrupted":
        sys.exit(say("interrupted; what is decided stands above", 130))
    if found.status == "open":
        sys.exit(say(f"{found.model.name}: not decided at every length; see the cases above", 5))


def document(found: EveryLength, line: str | None) -> dict[str, Any]:
    """The answer for machines; ``upto`` is null where every length is decided."""
    model, wrong = found.model, found.wrong
    return {
        "model": model.name,
        "sha256": model.sha256,
        "language": found.language,
        "status": found.status,
        "upto": found.upto,
        "blocks": [list(block) for block in found.blocks],
        "cases": len(found.cases),
        "cells": sum(case.cells for case in found.cases),
        "memory": list(found.memory),
        "seconds": round(found.seconds, 3),
        "stopped": found.stopped,
        "checked": line,
        "wrong": None if wrong is None else {
            "word": [model.symbols[s] for s in wrong.word], "length": len(wrong.word),
            "label": model.labels[wrong.label], "logit": wrong.logit, "shortest": found.shortest,
        },
        "open": [
            {"symbol": named(found, case.key[1]), "state": case.key[2], "label": model.labels[case.label],
             "bound": case.least}
            for case in found.open
        ],
    }  # fmt: skip


def named(found: EveryLength, a: int) -> str:
    """The name of a symbol; the start token's for -1."""
    return "the start" if a < 0 else found.model.symbols[a]


def text(found: EveryLength, line: str | None) -> str:
    """The answer in words."""
    model, wrong = found.model, found.wrong
    cells = sum(case.cells for case in found.cases)
    told = [f"{model.name} on {found.language}, every length: {found.status} "
            f"({len(found.cases)} cases, {cells} cells, {found.seconds:.1f} s)"]  # fmt: skip
    told += [f"memory: {what}" for what in found.memory]
    if found.upto is None:
        told.append("every prefix of every word that may come is right, whatever its length")
    elif found.upto >= 0:
        told.append(f"every prefix of at most {found.upto} symbols is right")
    if wrong is not None:
        word = [model.symbols[s] for s in wrong.word]
        more = f" ... ({len(word)} symbols)" if len(word) > WORD else ""
        which = "no shorter prefix is wrong" if found.shortest else "a shorter one may be wrong"
        wanted = "negative" if wrong.logit > 0 else "positive"
        told.append(f"wrong behind: {' '.join(word[:WORD]) or 'the empty word'}{more}")
        told.append(f"length {len(word)} ({which}): logit of {model.labels[wrong.label]} is {wrong.logit:.4g}, "
                    f"wanted {wanted}")  # fmt: skip
    if found.stopped is not None:
        told.append(f"stopped: {found.stopped}")
    if found.status == "open":
        for case in found.open[:LISTED]:
            told.append(f"open at every length: symbol {named(found, case.key[1])}, state {case.key[2]}: "
                        f"{model.labels[case.label]} reaches {case.least:.3g} only")  # fmt: skip
    told.append(line or "not checked: a search in floats, not a proof")
    return "\n".join(told)
