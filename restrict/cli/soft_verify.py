"""The command `soft verify`. Imported with the command line, so it stays light."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import UsageError
from restrict.cli.common import JSON, SECONDS, Text, Whole, length_or_all, output_option, progress_on
from restrict.cli.printer import Told, put
from restrict.cli.terminal import complete_language

if TYPE_CHECKING:
    from restrict.languages.dfa import Dfa
    from restrict.soft.trained.graph import Graph
    from restrict.soft.trained.model import Trained


class Upto(Whole):
    """The greatest length of a word: ``150``, or ``1..150``, as shorter words are always meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        return super().convert(re.sub(r"^[01]\.\.(?=\d)", "", str(value)), param, ctx)


@click.command("verify")
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "-L", "--language", type=Text(), shell_complete=complete_language,
    help="What is right; by default the automaton in the model's configuration.",
)  # fmt: skip
@length_or_all(
    Upto(0, 4096), "The greatest length of a word; with --all-lengths: up to which wrong words are looked for.",
    "Every length at once (no position embeddings).",
)  # fmt: skip
@click.option(
    "--equals", type=Text(), metavar="PROGRAM",
    help="Instead of -L: a model, built-in or file, or a formula; on all words, or those of --inputs.",
)  # fmt: skip
@click.option("--inputs", type=Text(), help="The words that may come, if not those of the language.")
@click.option(
    "--read-out", type=click.Choice(["next-set", "membership", "next", "greatest", "tags"]),
    help="Which logits are to have which sign, or which is to be the greatest.  [default: as in the model's "
    "configuration, or next-set; membership with --equals]",
)  # fmt: skip
@click.option("--label", help="With --read-out greatest: the label of members.")
@click.option(
    "--offset", type=Whole(0, 4096), default=0, show_default=True,
    help="The start token stands at this position embedding, the symbols behind it.",
)  # fmt: skip
@click.option("--time", "seconds", type=SECONDS, default=600.0, show_default=True, help="Stop after this long.")
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
    label: str | None,
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
    from restrict.soft.trained.parts import Parts

    whole = no_recheck or n is None or all_lengths  # else parts of the check, which start while numba is loaded
    parts = click.get_current_context().with_resource(Parts(0 if whole else None))
    from restrict.cli.trained_words import document, leave, text
    from restrict.soft.trained.confirm import begun, confirmed
    from restrict.soft.trained.decide import verify_trained
    from restrict.soft.trained.model import load, shifted

    loaded = shifted(load(model), offset)
    read_out = read_out or ("membership" if equals is not None else configured(loaded, language))
    graph = claimed(loaded, language, equals, inputs, read_out, label)
    language = language if equals is None else f"the program {equals}"
    if graph.greatest:
        language = f"{language or 'task'} (read-out {read_out})"
    where = "every length" if all_lengths else f"n = {n}"
    with progress_on(f"{loaded.name[:40]}, {where}") as progress:
        given: dict[str, Any] = {"language": language or "task", "seconds": seconds}
        given["tell"] = lambda what: progress(what, None)
        found: Any
        if n is None or all_lengths:
            from restrict.soft.trained.every_length import verify_every_length

            found = verify_every_length(loaded, graph, longest=n or 4096, **given)
        else:
            found = verify_trained(loaded, graph, n, float32=True, decided=begun(parts), **given)
        line = None
        try:
            if not no_recheck:
                found, line = confirmed(found, str(output or "certificate"), parts)
        except KeyboardInterrupt:  # what the search has decided is kept, for `restrict check`
            found = replace(found, stopped="interrupted")
    if output is not None and found.proves:
        found.save(output)
    files = {"certificate in": output if found.proves else None}
    put(Told(lambda: text(found, line), lambda: document(found, line)), as_json, files)
    leave(found)


def configured(loaded: Trained, language: str | None) -> str:
    """The read-out that a configuration names; tags are no language's."""
    from restrict.soft.trained.graph import task_read_out

    found = task_read_out(loaded)
    return "next-set" if language is not None and found == "tags" else found


def claimed(
    loaded: Trained, language: str | None, equals: str | None, inputs: str | None, read_out: str, label: str | None
) -> Graph:
    """The words and what is wanted behind them."""
    from restrict.soft.trained.graph import all_words, dfa_of, empty_left_out, graph_of, tagged_graph, task_language

    def dfa(spec: str) -> Dfa:
        from restrict.all_lengths.verify import named  # for languages alone, as its imports take longer than a search

        return dfa_of(named(spec), loaded)

    words = None if inputs is None else dfa(inputs)
    if read_out == "tags":
        if language is not None or equals is not None or label is not None:
            raise UsageError("--read-out tags is what the configuration says: without -L, --equals and --label")
        return tagged_graph(loaded, words)
    if equals is None:
        right = task_language(loaded) if language is None else dfa(language)
        return graph_of(loaded, right, words, read_out, label)
    if language is not None:
        raise UsageError("give a language with -L or a program with --equals, one of the two")
    from restrict.all_lengths.decisions import decides_empty, decisions_of, program_of

    program = program_of(equals, loaded.symbols)
    decided = dfa_of(decisions_of(program, loaded.symbols), loaded)
    graph = graph_of(loaded, decided, words or all_words(loaded), read_out, label)
    return graph if decides_empty(program) else empty_left_out(loaded, graph)
