"""What `verify`, `certify --all-lengths` and `refute --all-lengths` share. Imported with them, so it stays light."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from restrict.base.errors import NotEstablished, ResourceLimit, UsageError
from restrict.base.files import write_bytes
from restrict.base.wording import counted, joined
from restrict.cli import common
from restrict.cli.checking import Asked
from restrict.cli.printer import put, put_json

if TYPE_CHECKING:
    from restrict.all_lengths.automaton import Automaton
    from restrict.all_lengths.evidence import Counterexample, Proved
    from restrict.all_lengths.wrong import WrongLengths

STATES = common.option(
    "--states", common.Whole(1, 10_000_000), "Give up (exit 5) where an automaton has more states.", default=200_000
)


def write_proof(path: Path | None, found: Proved | Counterexample | WrongLengths) -> str:
    """Write the proof, where there is one; the lines about it and about what the checker said. For two models that
    agree there are two proofs, both about the same automaton; the second goes to ``NAME.other.json``."""
    from restrict.all_lengths.evidence import Proved

    if isinstance(found, Proved) and found.other is not None:
        beside = None if path is None else path.with_name(f"{path.stem}.other{path.suffix}")
        return "\n".join([write_proof(path, replace(found, other=None)), write_proof(beside, found.other)])
    if found.proof is None:
        return f"  no proof file: {found.reason}"
    lines = []
    if path is not None:
        write_bytes(path, found.proof)
        lines.append(f"  proof   written to {path} ({counted(len(found.proof), 'byte')})")
    lines.append(Asked(found.line, why="run `restrict check --limit STEPS`").text())
    return "\n".join(lines)


def document(found: Proved | Counterexample | WrongLengths) -> dict[str, Any]:
    """An answer as JSON."""
    return {"model": found.automaton.model.name, "claim": found.what} | found.evidence.document()


def where_defined(found: Proved | Counterexample) -> str:
    """What a statement about every length adds where the model is not defined at some; else nothing."""
    return " at which it is defined" if found.automaton.undefined else ""


def undefined_lines(content: dict[str, Any]) -> list[str]:
    """The line about lengths at which a model is not defined, where there are any."""
    return [f"  not defined, and nothing is said (a cost is 0): {content['text']}"] if content else []


def undefined_document(found: Automaton) -> dict[str, Any]:
    """The lengths at which a model is not defined, for JSON; nothing where there is none."""
    lengths = found.undefined
    return {"undefined": lengths.document() | {"text": lengths.text()}} if lengths else {}


def refuse_others(allowed: tuple[str, ...]) -> None:
    """Refuse options that mean nothing with --all-lengths."""
    context = click.get_current_context()
    for one in context.command.params:
        given = context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
        if given and isinstance(one, click.Option) and one.name not in ("all_lengths", *allowed):
            draws = "; `restrict automaton MODEL --figure FILE.svg` draws what a model recognises at every length"
            raise UsageError(f"{one.opts[0]} is not for --all-lengths" + draws * (one.name == "figure"))


def certify_pattern(o: common.Given) -> None:
    """The command `certify --all-lengths`."""
    from restrict.all_lengths.certify import certify_all_lengths

    with common.stages_on(o.program.name[:40]) as tell:
        pattern, found = certify_all_lengths(o.program, label=o.label, states=o.states, progress=tell)
    lines = write_proof(o.output, found)
    where, at = " at the last position" if found.automaton.every else "", where_defined(found)
    rest = "the rest free" if not pattern.share else f"and {round(100 * pattern.share)} % of the middle"
    text = (
        f"{o.program.name}: the label {pattern.label!r}{where} is forced at every n >= {pattern.first}{at} by\n"
        f"  pattern {pattern.text()}   ({pattern.cost} fixed at the ends, {rest})\n{lines}"
    )
    more = {"pattern": pattern.claim(), "fixed": pattern.cost} | undefined_document(found.automaton)
    put(text, lambda: document(found) | more, o.as_json)


def certify_cost(o: common.Given) -> None:
    """The command `certify --all-lengths --cost`; with a length, also a restriction with the fewest fixed positions."""
    from restrict.all_lengths.certify import certify_costs

    with common.stages_on(o.program.name[:40]) as tell:
        costs, found = certify_costs(o.program, o.label, states=o.states, progress=tell)
    example = None if o.n is None else found.automaton.cheapest(o.label, o.n)
    lines = write_proof(o.output, found)
    where = " at the last position" if found.automaton.every else ""
    told = [f"{o.program.name}: the fewest fixed positions that force {o.label!r}{where} (exact)"]
    told += [f"  {line}" for line in costs.table()]
    more = undefined_document(found.automaton)
    told += undefined_lines(more.get("undefined", {}))
    if o.n is not None:
        told.append(f"  at n = {o.n}: {'no restriction forces it' if example is None else shown(example)}")
    more |= {"cost": costs.claim(), "n": o.n, "restriction": None if example is None else list(example)}
    put("\n".join([*told, lines]), lambda: document(found) | more, o.as_json)


def refute_everywhere(o: common.Given) -> None:
    """The command `refute --all-lengths`; with a length, also a word of that length."""
    from restrict.all_lengths.evidence import Proved
    from restrict.all_lengths.verify import named, verify
    from restrict.all_lengths.wrong import lengths_of

    language = named(o.spec)
    with common.stages_on(o.program.name[:40]) as tell:
        found = verify(o.program, language, states=o.states, progress=tell)
        if isinstance(found, Proved):
            if o.as_json:
                put_json(document(found) | {"immune": True} | undefined_document(found.automaton))
            line = f" ({found.line})" if found.line else ""
            at = f"every length{where_defined(found)}"
            raise NotEstablished(f"immune (proved): {o.program.name} recognises {language.spec} at {at}{line}")
        wrong, first = found.difference, f"{found.difference.n}, the first such length"
        try:
            where = lengths_of(o.program, language, found)
            text, reason = where.text(), ""
        except ResourceLimit as error:
            where, text, reason = None, f"wrong at n = {first}", str(error)
    if o.n is not None and where is None:
        raise ResourceLimit(reason)
    word = None if o.n is None or where is None else where.word(o.n)
    answer = found if where is None or where.proof is None else where
    lines = write_proof(o.output, answer)

    def content() -> dict[str, Any]:
        out = document(answer) | {"word": list(wrong.word), "n": wrong.n, "exact": where is not None and where.exact}
        out["lengths"] = None if where is None else where.least.document()
        out["at_most"] = None if where is None else where.most.document()
        out |= {} if word is None else {"word_at": {"n": o.n, "word": list(word)}}
        return out | {"reason": reason or None}

    member = "a member" if wrong.member else "not a member"
    told = [f"{o.program.name} does not recognise {language.spec}", f"  {text}", *([f"  {reason}"] if reason else [])]
    told.append(f"  shortest word: {shown(wrong.word)} (n = {wrong.n}): {member}, the model says {wrong.said!r}")
    told += [] if word is None else [f"  at n = {o.n}: {shown(word)}"]
    put("\n".join([*told, lines]), content, o.as_json)


def shown(word: tuple[str, ...]) -> str:
    """A word as text; the empty word is named."""
    return joined(word) or "the empty word"
