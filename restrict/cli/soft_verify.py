"""The command `soft verify`. Imported with the command line, so it stays light."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import UsageError
from restrict.cli.common import (
    JSON,
    SECONDS,
    Given,
    Text,
    Whole,
    command,
    flag,
    language_option,
    length_or_all,
    option,
    output_option,
    stages_on,
)
from restrict.cli.printer import put

if TYPE_CHECKING:
    from restrict.languages.dfa import Dfa
    from restrict.soft.trained.graph import Graph
    from restrict.soft.trained.model import Trained


class Upto(Whole):
    """The greatest length of a word: ``150``, or ``1..150``, as shorter words are always meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        return super().convert(re.sub(r"^[01]\.\.(?=\d)", "", str(value)), param, ctx)


@command("verify")
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
@language_option("What is right; by default the automaton in the model's configuration.", "-L --language")
@length_or_all(
    Upto(0, 4096), "The greatest length of a word; with --all-lengths: up to which wrong words are looked for.",
    "Every length at once (no position embeddings).",
)  # fmt: skip
@option(
    "--equals",
    Text(),
    "Instead of -L: a model, built-in or file, or a formula; on all words, or those of --inputs.",
    metavar="PROGRAM",
)
@option("--inputs", Text(), "The words that may come, if not those of the language.")
@option(
    "--read-out",
    ("next-set", "membership", "next", "greatest", "tags"),
    "Which logits are to have which sign, or which is to be the greatest.  [default: as in the model's "
    "configuration, or next-set; membership with --equals]",
)
@option("--label", None, "With --read-out greatest: the label of members.")
@option(
    "--offset", Whole(0, 4096), "The start token stands at this position embedding, the symbols behind it.", default=0
)
@option("--time seconds", SECONDS, "Stop after this long.", default=600.0)
@flag("--no-recheck", "Leave out the check of the certificate: floats, not a proof.")
@output_option("the certificate")
@JSON
def verify_trained_command(o: Given) -> None:
    """Is a trained MODEL right on every prefix of every word of a language with at most n symbols, or of every length?

    With --equals: does it decide like a program? MODEL is a safetensors file with GPT-2's names, NAME.config.json
    beside it (docs/soft-verdicts.md). Exit 0: right. Exit 3: wrong, with a word. Exit 5: open, with the cases that are
    not decided.
    """
    from restrict.soft.trained.parts import Parts

    whole = o.no_recheck or o.n is None or o.all_lengths  # else parts of the check, which start while numba is loaded
    parts = click.get_current_context().with_resource(Parts(0 if whole else None))
    from restrict.cli.trained_words import document, leave, text
    from restrict.soft.trained.confirm import begun, confirmed
    from restrict.soft.trained.decide import verify_trained
    from restrict.soft.trained.model import load, shifted

    loaded = shifted(load(o.model), o.offset)
    o.read_out = o.read_out or ("membership" if o.equals is not None else configured(loaded, o.language))
    graph = claimed(loaded, o)
    language = (o.language if o.equals is None else f"the program {o.equals}") or "task"
    if graph.greatest:
        language = f"{language} (read-out {o.read_out})"
    with stages_on(f"{loaded.name[:40]}, {'every length' if o.all_lengths else f'n = {o.n}'}") as tell:
        given: dict[str, Any] = {"language": language, "seconds": o.seconds, "tell": tell}
        found: Any
        if o.n is None or o.all_lengths:
            from restrict.soft.trained.every_length import verify_every_length

            found = verify_every_length(loaded, graph, longest=o.n or 4096, **given)
        else:
            found = verify_trained(loaded, graph, o.n, float32=True, decided=begun(parts), **given)
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


def claimed(loaded: Trained, o: Given) -> Graph:
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
