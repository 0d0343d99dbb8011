"""The command `soft verify`. Imported with the command line, so it stays light."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.cli.common import JSON, Seconds, Text, Whole, output_option, progress_on, say
from restrict.cli.printer import Told, put
from restrict.cli.terminal import complete_language

if TYPE_CHECKING:
    from restrict.soft.trained.decide import Verdict
    from restrict.soft.trained.graph import Graph
    from restrict.soft.trained.model import Trained

LISTED = 8
"""Undecided cases that are printed."""


def given(context: click.Context, parameter: click.Parameter, n: int | None) -> int | None:
    """The length, which may be missing with --all-lengths only."""
    if n is None and not context.params.get("all_lengths"):
        raise click.MissingParameter("A length, such as -n 100, or --all-lengths.", ctx=context, param=parameter)
    return n


@click.command("verify")
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "-L", "--language", default=None, type=Text(), shell_complete=complete_language,
    help="What is right; by default the automaton in the model's configuration.",
)  # fmt: skip
@click.option(
    "-n", "n", default=None, type=Whole(0, 4096), callback=given,
    help="The greatest length of a word; with --all-lengths: up to which wrong words are looked for.",
)  # fmt: skip
@click.option("--all-lengths", is_flag=True, is_eager=True, help="Every length at once (no position embeddings).")
@click.option(
    "--equals", default=None, type=Text(), metavar="PROGRAM",
    help="Instead of -L: a model, built-in or file, or a formula; on all words, or those of --inputs.",
)  # fmt: skip
@click.option("--inputs", default=None, type=Text(), help="The words that may come, if not those of the language.")
@click.option(
    "--read-out", type=click.Choice(["next-set", "membership"]), default=None,
    help="Which logits are to have which sign.  [default: next-set; membership with --equals]",
)  # fmt: skip
@click.option(
    "--offset", type=Whole(0, 4096), default=0, show_default=True,
    help="The start token stands at this position embedding, the symbols behind it.",
)  # fmt: skip
@click.option("--time", "seconds", type=Seconds(), default=600.0, show_default=True, help="Stop after this long.")
@click.option("--no-recheck", is_flag=True, help="Leave out the check of the certificate: floats, not a proof.")
@output_option("the certificate")
@JSON
def verify_trained_command(
    model: Path,
    language: str | None,
    n: int | None,
    all_lengths: bool,
    equals: str | None,
    inputs: str | None,
    read_out: str | None,
    offset: int,
    seconds: float,
    no_recheck: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Is a trained MODEL right on every prefix of every word of a language with at most n symbols, or of every length?

    With --equals: does it decide like a program? MODEL is a safetensors file with GPT-2's names, NAME.config.json
    beside it (docs/soft-verdicts.md). Exit 0: right. Exit 3: wrong, with a word. Exit 5: open, with the cases that are
    not decided.
    """
    from restrict.soft.trained.decide import verify_trained
    from restrict.soft.trained.model import load, shifted

    loaded = shifted(load(model), offset)
    graph = claimed(loaded, language, equals, inputs, read_out)
    language = language if equals is None else f"the program {equals}"
    if all_lengths:
        from restrict.cli.soft_every import verify_all_lengths

        verify_all_lengths(
            loaded, graph, longest=n or 4096, language=language or "task", seconds=seconds, recheck=not no_recheck,
            output=output, as_json=as_json,
        )  # fmt: skip
        return
    assert n is not None
    with progress_on(f"{loaded.name[:40]}, n = {n}") as progress:
        found = verify_trained(
            loaded, graph, n, language=language or "task", seconds=seconds, tell=lambda what: progress(what, None)
        )
        try:
            found, line = (found, None) if no_recheck else confirmed(found, output)
        except KeyboardInterrupt:  # what the search has decided is kept, for `restrict check`
            found, line = replace(found, stopped="interrupted"), None
    if output is not None and found.proves:
        found.save(output)
    files = {"certificate in": output if found.proves else None}
    put(Told(lambda: text(found, line), lambda: document(found, line)), as_json, files)
    leave(found)


def claimed(
    loaded: Trained, language: str | None, equals: str | None, inputs: str | None, read_out: str | None
) -> Graph:
    """The words and what is wanted behind them.

    Raises:
        UsageError: a language and a program at once.
    """
    from restrict.errors import UsageError
    from restrict.soft.trained.graph import all_words, dfa_of, empty_left_out, graph_of, task_language

    words = None if inputs is None else dfa_of(named(inputs), loaded)
    if equals is None:
        right = task_language(loaded) if language is None else dfa_of(named(language), loaded)
        return graph_of(loaded, right, words, read_out or "next-set")
    if language is not None:
        raise UsageError("give a language with -L or a program with --equals, one of the two")
    from restrict.all_lengths.decisions import decides_empty, decisions_of, program_of

    program = program_of(equals, loaded.symbols)
    decided = dfa_of(decisions_of(program, loaded.symbols), loaded)
    graph = graph_of(loaded, decided, words or all_words(loaded), read_out or "membership")
    return graph if decides_empty(program) else empty_left_out(loaded, graph)


def named(spec: str) -> Any:
    """The language of a specification, ``model:FILE`` included."""
    from restrict.all_lengths.verify import named as named_language

    return named_language(spec)


def confirmed(found: Verdict, output: Path | None) -> tuple[Verdict, str | None]:
    """What the trusted checker takes of a verdict, and its line; a case that it does not take is open.

    The search decides with floats. Where a margin is too small for the checker's integers, what comes before stays.
    """
    from restrict.elaboration.check import trusted_check
    from restrict.errors import NotEstablished

    while found.proves:
        try:
            return found, trusted_check(found.model.content, found.to_bytes(), None, str(output or "certificate"), None)
        except NotEstablished as error:
            if (doubted := re.search(r": cases\[([0-9]+)\]: label ([0-9]+) is not shown", str(error))) is None:
                raise
            found = found.without(*map(int, doubted.groups()))
    return found, None


def leave(found: Verdict) -> None:
    """The exit code: 0 right, 3 wrong, 5 open, 130 interrupted."""
    if found.status == "wrong":
        sys.exit(say(f"{found.model.name} is wrong; the word stands above", 3))
    if found.stopped == "interrupted":
        sys.exit(say("interrupted; what is decided stands above", 130))
    if found.status == "open":
        sys.exit(say(f"{found.model.name}: not decided up to {found.n}; see the cases above", 5))


def document(found: Verdict, line: str | None) -> dict[str, Any]:
    """The verdict for machines."""
    wrong = found.wrong
    return {
        "model": found.model.name,
        "sha256": found.model.sha256,
        "language": found.language,
        "n": found.n,
        "status": found.status,
        "upto": found.upto,
        "cases": len(found.cases),
        "cells": sum(case.cells for case in found.cases),
        "memory": list(found.memory),
        "seconds": round(found.seconds, 3),
        "stopped": found.stopped,
        "checked": line,
        "wrong": None if wrong is None else {
            "word": [found.model.symbols[s] for s in wrong.word], "label": found.model.labels[wrong.label],
            "logit": wrong.logit, "shortest": found.shortest,
        },
        "open": [
            {"position": case.key[0], "symbol": symbol(found, case.key[1]), "state": case.key[2],
             "label": found.model.labels[case.label], "bound": case.least}
            for case in found.open
        ],
    }  # fmt: skip


def symbol(found: Verdict, a: int) -> str:
    """The name of a symbol; the start token's for -1."""
    return "the start" if a < 0 else found.model.symbols[a]


def text(found: Verdict, line: str | None) -> str:
    """The verdict in words."""
    name, wrong = found.model.name, found.wrong
    cells = sum(case.cells for case in found.cases)
    work = f"{len(found.cases)} cases, {cells} cells, {found.seconds:.1f} s"
    told = [f"{name} on {found.language}, n = 0 .. {found.n}: {found.status} ({work})"]
    told += [f"memory: {what}" for what in found.memory]
    if wrong is not None:
        word = " ".join(found.model.symbols[s] for s in wrong.word) or "the empty word"
        which = "no shorter prefix is wrong" if found.shortest else "a shorter one may be wrong"
        wanted = "negative" if wrong.logit > 0 else "positive"
        told.append(f"wrong behind: {word}")
        told.append(f"length {len(wrong.word)} ({which}): logit of {found.model.labels[wrong.label]} is "
                    f"{wrong.logit:.4g}, wanted {wanted}")  # fmt: skip
    elif found.status == "open":
        told.append(
            f"every prefix of at most {found.upto} symbols is right" if found.upto >= 0 else "nothing is decided"
        )
        if found.stopped is not None:
            told.append(f"stopped: {found.stopped}")
    for case in found.open[:LISTED]:
        i, a, q = case.key
        told.append(f"open: position {i}, symbol {symbol(found, a)}, state {q}: "
                    f"{found.model.labels[case.label]} reaches {case.least:.3g} only")  # fmt: skip
    if len(found.open) > LISTED:
        told.append(f"open: {len(found.open) - LISTED} more cases")
    told.append(line or "not checked: a search in floats, not a proof")
    return "\n".join(told)
