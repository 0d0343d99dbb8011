"""The command `soft verify`. Imported with the command line, so it stays light."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from restrict.base.errors import ResourceLimit, UsageError
from restrict.base.files import read_bytes
from restrict.base.wording import counted
from restrict.cli import common
from restrict.cli.printer import put

if TYPE_CHECKING:
    from restrict.languages.dfa import Dfa
    from restrict.soft.trained.decide import Verdict
    from restrict.soft.trained.every_length import EveryLength
    from restrict.soft.trained.given import ProvedClaim
    from restrict.soft.trained.graph import Graph
    from restrict.soft.trained.model import Trained


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
@common.option(
    "--answers",
    common.PATH,
    "Instead of -L: lines WORD -> ANSWER, the label that is to be the greatest behind each word; no other may come.",
    metavar="FILE",
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
@common.option(
    "--wrong-words",
    common.Whole(1, 1000),
    "Look for up to so many wrong words; what is proved is about all others.",
    default=1,
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

    With --equals: does it decide like a program? With --answers: does it give these? MODEL is a safetensors file with
    GPT-2's names, NAME.config.json beside it (docs/soft-verdicts.md). Exit 0: right. Exit 3: wrong, with a word. Exit
    5: open, with the cases that are not decided.
    """
    from restrict.soft.trained.parts import Processes

    if o.certificate is not None and (o.no_recheck or o.output is not None):
        raise UsageError("--certificate searches for nothing: give it without -o and --no-recheck")
    if o.wrong_words > 1 and (o.certificate is not None or o.n is None or o.all_lengths):
        raise UsageError("--wrong-words searches up to a length: give it with -n, without --all-lengths, --certificate")
    # Before numpy is loaded: threads that wait for the next product take the cores of the parts of the check.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Parts of the check start while numba is loaded.
    whole = o.no_recheck or o.n is None or o.all_lengths or o.certificate is not None
    parts = click.get_current_context().with_resource(Processes(0 if whole else None))
    from restrict.soft.trained.confirm import Ahead, begun, confirmed
    from restrict.soft.trained.decide import verify_trained
    from restrict.soft.trained.every_wrong import every_wrong
    from restrict.soft.trained.model import load, shifted

    loaded = shifted(load(o.model), o.offset)
    graph, language = claimed(loaded, o)
    if o.certificate is not None:
        from restrict.soft.trained.given import proved

        content, length = read_bytes(o.certificate), None if o.all_lengths else o.n
        said = proved(content, loaded, graph, length, language=language, name=str(o.certificate))
        put(said.text, said.summary, o.as_json)
        leave(said, "the certificate goes no further")
        return
    with common.stages_on(f"{loaded.name[:40]}, {'every length' if o.all_lengths else f'n = {o.n}'}") as tell:
        given: dict[str, Any] = {"language": language, "seconds": o.seconds, "tell": tell}
        found: Any
        if o.n is None or o.all_lengths:
            from restrict.soft.trained.every_length import verify_every_length

            found = verify_every_length(loaded, graph, longest=4096 if o.n is None else o.n, **given)
        else:
            given |= {"float32": True, "decided": begun(parts), "ahead": Ahead(parts, loaded)}
            if o.wrong_words == 1:
                found = verify_trained(loaded, graph, o.n, **given)
            else:
                found = every_wrong(loaded, graph, o.n, o.wrong_words, recheck=not o.no_recheck, **given)
        line = None
        try:
            if not o.no_recheck:
                found, line = confirmed(found, str(o.output or "certificate"), parts)
        except KeyboardInterrupt:  # what the search has decided is kept, for `restrict check`
            found = replace(found, stopped="interrupted")
        except ResourceLimit as error:
            beyond(found, o, error)
    if o.output is not None and found.proves:
        found.save(o.output)
    files = {"certificate in": o.output if found.proves else None}
    put(lambda: found.text(line), lambda: found.summary(line), o.as_json, files)
    leave(found)


def beyond(found: Verdict | EveryLength, o: common.Given, error: ResourceLimit) -> NoReturn:
    """Keep a certificate whose check takes more than its limit, and say how it is checked."""
    kept = f"-o CERTIFICATE keeps what was found; then `restrict check {o.model} CERTIFICATE --limit STEPS`"
    if getattr(found, "wrong_words", ()):  # each of them was confirmed
        put(lambda: found.text(None), lambda: found.summary(None), o.as_json)
    if o.output is not None:
        found.save(o.output)
        kept = f"the certificate is in {o.output}: `restrict check {o.model} {o.output} --limit STEPS`"
    raise ResourceLimit(f"not checked: {error}; {kept} with more of them")


def configured(loaded: Trained, language: str | None) -> str:
    """The read-out that a configuration names; tags are no language's."""
    from restrict.soft.trained.graph import task_read_out

    found = task_read_out(loaded)
    return "next-set" if language is not None and found == "tags" else found


def claimed(loaded: Trained, o: common.Given) -> tuple[Graph, str]:
    """The words and what is wanted behind them, and what that is called."""
    if o.answers is not None:
        from restrict.soft.trained.labelled import answered, read_answers

        if any(given is not None for given in (o.language, o.equals, o.inputs, o.read_out, o.label)):
            raise UsageError("--answers says all of the claim: without -L, --equals, --inputs, --read-out and --label")
        answers = read_answers(o.answers)
        asked = sum(o.n is None or o.all_lengths or len(word) <= o.n for word in answers)
        some = "" if asked == len(answers) else f"{asked} of "  # nothing is said of longer words
        return answered(loaded, answers), f"{some}{counted(len(answers), 'answer')} of {o.answers.name}"
    o.read_out = o.read_out or ("membership" if o.equals is not None else configured(loaded, o.language))
    language, graph = (o.language if o.equals is None else f"the program {o.equals}") or "task", judged(loaded, o)
    return graph, f"{language} (read-out {o.read_out})" if graph.greatest else language


def judged(loaded: Trained, o: common.Given) -> Graph:
    """The words of a language, the configuration's or a program's, and what a read-out wants behind them."""
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


def leave(found: Verdict | EveryLength | ProvedClaim, why: str = "see the cases above") -> None:
    """The exit code: 0 right, 3 wrong, 5 open, 130 interrupted."""
    if (count := len(getattr(found, "wrong_words", ()))) or found.status == "wrong":
        sys.exit(common.say(f"{found.model.name} is wrong; the word{'s stand' if count > 1 else ' stands'} above", 3))
    if getattr(found, "stopped", None) == "interrupted":
        sys.exit(common.say("interrupted; what is decided stands above", 130))
    if found.status == "open":
        where = "at every length" if found.asked is None else f"up to {found.asked}"
        if not getattr(found, "open", True):  # it stopped before a case was left open
            why = "no case was reached" if not getattr(found, "cases", ()) else "what is decided stands above"
        sys.exit(common.say(f"{found.model.name}: not decided {where}; {why}", 5))
