"""The command `soft verify`. Imported with the command line, so it stays light."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import UsageError
from restrict.base.files import read_bytes
from restrict.base.wording import at_least, counted
from restrict.cli import common
from restrict.cli.printer import put

if TYPE_CHECKING:
    from restrict.languages.dfa import Dfa
    from restrict.soft.trained.decide import Verdict
    from restrict.soft.trained.every_length import EveryLength
    from restrict.soft.trained.given import Proved
    from restrict.soft.trained.graph import Graph
    from restrict.soft.trained.model import Trained


LISTED = 8
"""Undecided cases that are printed."""
WORD = 120
"""Symbols of a wrong word that are printed, where no length was given."""


class Upto(common.Whole):
    """The greatest length of a word: ``150``, or ``1..150``, as shorter words are always meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The greatest length; ``1..n`` says the same as ``n``."""
        return super().convert(re.sub(r"^[01]\.\.(?=\d)", "", str(value)), param, ctx)


@common.command("verify")
@click.argument("model", metavar="MODEL", type=common.PATH)
@common.language_option("What is right; by default the automaton in the model's configuration.", "-L --language")
@common.length_or_all(
    Upto(0, 4096), "The greatest length of a word; with --all-lengths: up to which wrong words are looked for.",
    "Every length at once (no position embeddings).",
)  # fmt: skip
@common.option(
    "--equals",
    common.Text(),
    "Instead of -L: a model, built-in or file, or a formula; on all words, or those of --inputs.",
    metavar="PROGRAM",
)
@common.option("--inputs", common.Text(), "The words that may come, if not those of the language.")
@common.option(
    "--read-out",
    ("next-set", "membership", "next", "greatest", "tags"),
    "Which logits are to have which sign, or which is to be the greatest.  [default: as in the model's "
    "configuration, or next-set; membership with --equals]",
)
@common.option("--label", None, "With --read-out greatest: the label of members.")
@common.option(
    "--offset",
    common.Whole(0, 4096),
    "The start token stands at this position embedding, the symbols behind it.",
    default=0,
)
@common.option("--time seconds", common.SECONDS, "Stop after this long.", default=600.0)
@common.flag("--no-recheck", "Leave out the check of the certificate: floats, not a proof.")
@common.option(
    "--certificate",
    common.PATH,
    "Instead of a search: is the claim proved by this certificate, whoever made it?",
    metavar="FILE",
)
@common.output_option("the certificate")
@common.JSON
def verify_trained_command(o: common.Given) -> None:
    """Is a trained MODEL right on every prefix of every word of a language with at most n symbols, or of every length?

    With --equals: does it decide like a program? MODEL is a safetensors file with GPT-2's names, NAME.config.json
    beside it (docs/soft-verdicts.md). Exit 0: right. Exit 3: wrong, with a word. Exit 5: open, with the cases that are
    not decided.
    """
    from restrict.soft.trained.parts import Parts

    if o.certificate is not None and (o.no_recheck or o.output is not None):
        raise UsageError("--certificate searches for nothing: give it without -o and --no-recheck")
    # Before numpy is loaded: threads that wait for the next product take the cores of the parts of the check.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Parts of the check start while numba is loaded.
    whole = o.no_recheck or o.n is None or o.all_lengths or o.certificate is not None
    parts = click.get_current_context().with_resource(Parts(0 if whole else None))
    from restrict.soft.trained.confirm import Ahead, begun, confirmed
    from restrict.soft.trained.decide import verify_trained
    from restrict.soft.trained.model import load, shifted

    loaded = shifted(load(o.model), o.offset)
    o.read_out = o.read_out or ("membership" if o.equals is not None else configured(loaded, o.language))
    graph = claimed(loaded, o)
    language = (o.language if o.equals is None else f"the program {o.equals}") or "task"
    if graph.greatest:
        language = f"{language} (read-out {o.read_out})"
    if o.certificate is not None:
        from restrict.soft.trained.given import proved

        content, length = read_bytes(o.certificate), None if o.all_lengths else o.n
        said = proved(content, loaded, graph, length, language=language, name=str(o.certificate))
        put(lambda: proved_text(said), lambda: proved_document(said), o.as_json)
        leave(said, "the certificate goes no further")
        return
    with common.stages_on(f"{loaded.name[:40]}, {'every length' if o.all_lengths else f'n = {o.n}'}") as tell:
        given: dict[str, Any] = {"language": language, "seconds": o.seconds, "tell": tell}
        found: Any
        if o.n is None or o.all_lengths:
            from restrict.soft.trained.every_length import verify_every_length

            found = verify_every_length(loaded, graph, longest=4096 if o.n is None else o.n, **given)
        else:
            found = verify_trained(
                loaded, graph, o.n, float32=True, decided=begun(parts), ahead=Ahead(parts, loaded), **given
            )
        line = None
        try:
            if not o.no_recheck:
                found, line = confirmed(found, str(o.output or "certificate"), parts)
        except KeyboardInterrupt:  # what the search has decided is kept, for `restrict check`
            found = replace(found, stopped="interrupted")
    if o.output is not None and found.proves:
        found.save(o.output)
    files = {"certificate in": o.output if found.proves else None}
    put(lambda: text(found, line), lambda: document(found, line), o.as_json, files)
    leave(found)


def configured(loaded: Trained, language: str | None) -> str:
    """The read-out that a configuration names; tags are no language's."""
    from restrict.soft.trained.graph import task_read_out

    found = task_read_out(loaded)
    return "next-set" if language is not None and found == "tags" else found


def claimed(loaded: Trained, o: common.Given) -> Graph:
    """The words and what is wanted behind them."""
    from restrict.soft.trained.graph import all_words, dfa_of, empty_left_out, graph_of, tagged_graph, task_language

    def dfa(spec: str) -> Dfa:
        from restrict.all_lengths.verify import named  # for languages alone, as its imports take longer than a search

        return dfa_of(named(spec), loaded)

    words = None if o.inputs is None else dfa(o.inputs)
    if o.read_out == "tags":
        if o.language is not None or o.equals is not None or o.label is not None:
            raise UsageError("--read-out tags is what the configuration says: without -L, --equals and --label")
        return tagged_graph(loaded, words)
    if o.equals is None:
        right = task_language(loaded) if o.language is None else dfa(o.language)
        return graph_of(loaded, right, words, o.read_out, o.label)
    if o.language is not None:
        raise UsageError("give a language with -L or a program with --equals, one of the two")
    from restrict.all_lengths.decisions import decides_empty, decisions_of, program_of

    program = program_of(o.equals, loaded.symbols)
    decided = dfa_of(decisions_of(program, loaded.symbols), loaded)
    graph = graph_of(loaded, decided, words or all_words(loaded), o.read_out, o.label)
    return graph if decides_empty(program) else empty_left_out(loaded, graph)


def leave(found: Verdict | EveryLength | Proved, why: str = "see the cases above") -> None:
    """The exit code: 0 right, 3 wrong, 5 open, 130 interrupted."""
    if found.status == "wrong":
        sys.exit(common.say(f"{found.model.name} is wrong; the word stands above", 3))
    if getattr(found, "stopped", None) == "interrupted":
        sys.exit(common.say("interrupted; what is decided stands above", 130))
    if found.status == "open":
        n = longest(found)
        where = "at every length" if n is None else f"up to {n}"
        if not getattr(found, "open", True):  # it stopped before a case was left open
            why = "no case was reached" if not getattr(found, "cases", ()) else "what is decided stands above"
        sys.exit(common.say(f"{found.model.name}: not decided {where}; {why}", 5))


def longest(found: Verdict | EveryLength | Proved) -> int | None:
    """The length up to which an answer was asked for; None for every length."""
    return getattr(found, "n", None)


def symbol(found: Verdict | EveryLength, a: int) -> str:
    """The name of a symbol; the start token's for -1."""
    if a < 0 and found.model.reader is not None:
        return found.model.vocab[found.model.reader]
    return "the start" if a < 0 else found.model.symbols[a]


def document(found: Verdict | EveryLength, line: str | None) -> dict[str, Any]:
    """The answer for machines. For every length ``upto`` is null where all are decided, and a case has no position."""
    model, n = found.model, longest(found)
    every: dict[str, Any] = {} if n is not None else {"blocks": [list(block) for block in getattr(found, "blocks", ())]}
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
        "wrong": wrong_document(found),
        "open": [
            {**({} if n is None else {"position": case.key[0]}), "symbol": symbol(found, case.key[1]),
             "state": case.key[2], "label": model.labels[case.label], "bound": case.least}
            for case in found.open
        ],
    }  # fmt: skip


def wrong_document(found: Verdict | EveryLength | Proved) -> dict[str, Any] | None:
    """A wrong word for machines."""
    if (wrong := found.wrong) is None:
        return None
    model, length = found.model, {} if longest(found) is not None else {"length": len(wrong.word)}
    return {
        "word": [model.symbols[s] for s in wrong.word], **length, "label": model.labels[wrong.label],
        "logit": wrong.logit, "shortest": found.shortest,
    }  # fmt: skip


def asked(found: Verdict | EveryLength | Proved) -> str:
    """The lengths that were asked for."""
    n = longest(found)
    return "every length" if n is None else f"n = 0 .. {n}"


def text(found: Verdict | EveryLength, line: str | None) -> str:
    """The answer in words."""
    n, cells = longest(found), sum(case.cells for case in found.cases)
    told = [f"{found.model.name} on {found.language}, {asked(found)}: {found.status} "
            f"({counted(len(found.cases), 'case')}, {counted(cells, 'cell')}, {found.seconds:.1f} s)"]  # fmt: skip
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


def proved_document(found: Proved) -> dict[str, Any]:
    """What a given certificate proves, for machines."""
    return {
        "model": found.model.name, "sha256": found.model.sha256, "language": found.language, "n": found.n,
        "status": found.status, "upto": found.upto, "wrong": wrong_document(found), "checked": found.line,
    }  # fmt: skip


def proved_text(found: Proved) -> str:
    """What a given certificate proves, in words."""
    told = f"{found.model.name} on {found.language}, {asked(found)}: {found.status}, by the given certificate"
    return "\n".join([told, *decided(found), *wrong_word(found), found.line])


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
        f"right as run in float32: {which}; every margin is at least {at_least(said['ratio'], 3)} times its rounding "
        f"({said['margin']:.3g} beside {said['rounding']:.2g} at position {said['position']}; this engine's bound)"
    ]


def decided(found: Verdict | EveryLength | Proved) -> list[str]:
    """What is said of the prefixes that are right, where it is not all that was asked for."""
    if found.upto is None:
        return ["every prefix of every word that may come is right, whatever its length"]
    limited = longest(found) is None or found.status == "open"
    if found.upto >= 0:
        return [f"every prefix of at most {found.upto} symbols is right"] if limited else []
    return ["nothing is decided"] if longest(found) is not None and limited else []


def wrong_word(found: Verdict | EveryLength | Proved) -> list[str]:
    """The word behind which the model is wrong."""
    if (wrong := found.wrong) is None:
        return []
    word = [found.model.symbols[s] for s in wrong.word]
    most = WORD if longest(found) is None else len(word)
    more = f" ... ({len(word)} symbols)" if len(word) > most else ""
    which = "no shorter prefix is wrong" if found.shortest else "a shorter one may be wrong"
    want = found.graph.want[found.graph.state(wrong.word)]  # of a logit near to 0 a float may have the other sign
    told = f"wanted {'positive' if wrong.label in want else 'negative'}"
    if found.graph.greatest:
        told = f"above every wanted one: {' '.join(found.model.labels[k] for k in sorted(want))}"
    return [
        f"wrong behind: {' '.join(word[:most]) or 'the empty word'}{more}",
        f"length {len(word)} ({which}): logit of {found.model.labels[wrong.label]} is {wrong.logit:.4g}, {told}",
    ]
