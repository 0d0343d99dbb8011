"""The command `automaton`. Imported with the command line, so it stays light."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from restrict.base.errors import ResourceLimit, UsageError
from restrict.base.files import write_bytes
from restrict.base.wording import counted
from restrict.cli import common
from restrict.cli.every_length import STATES, shown, undefined_document, undefined_lines
from restrict.cli.printer import put

if TYPE_CHECKING:
    from restrict.all_lengths.automaton import Automaton

LABELS = 8
"""The cost of forcing is computed for at most this many labels."""


@common.command("automaton")
@common.MODEL
@STATES
@common.output_option("the minimal automaton (restrict-dfa/1)")
@common.file_option("--dot", "Write a drawing for Graphviz here.")
@common.file_option("--export", "Write the minimal automaton here for another tool: FILE.hoa, FILE.smv or FILE.dot.")
@common.file_option("--figure", "Draw it here: FILE.svg or FILE.pdf.")
@common.JSON
def automaton_command(o: common.Given) -> None:
    """Compute what MODEL recognises at every length: its minimal automaton.

    Prints the states, whether the language is star-free, the cost of forcing each label at every length, and shortest
    words. Exit 3 where the model is not order-only, 5 where an automaton is too large.
    """
    from restrict.all_lengths.automaton import automaton
    from restrict.languages.export import exported, to_json
    from restrict.report.drawing import check_ending
    from restrict.report.figure import figure_of_dfa

    if o.figure is not None:
        check_ending(o.figure)
    with common.stages_on(o.program.name[:40]) as tell:
        found = automaton(o.program, states=o.states, progress=tell)
    if found.every and (o.output or o.dot or o.export or o.figure):
        raise UsageError(
            "-o, --dot, --export and --figure are for models with output at the last position, not at every one"
        )
    if o.output is not None:
        write_bytes(o.output, to_json(found.dfa(), f"what {found.model.name} recognises").encode())
    for path, suffix in ((o.dot, ".dot"), (o.export, o.export.suffix if o.export else "")):
        if path is not None:
            write_bytes(path, exported(found.dfa(), f"what {found.model.name} recognises", suffix).encode())
    if o.figure is not None:
        figure_of_dfa(found.dfa()).save(o.figure)
    content = facts(found)
    files = {
        f"  {k} written to": path
        for k, path in (("automaton", o.output), ("drawing", o.dot), ("export", o.export), ("figure", o.figure))
    }
    put("\n".join(lines(content)), content, o.as_json, files)


def facts(found: Automaton) -> dict[str, Any]:
    """Everything that is printed, as JSON."""
    from restrict.all_lengths.automaton import labels_of

    out: dict[str, Any] = {"model": found.model.name, "stages": []} | undefined_document(found)
    for record in found.account:
        stage = {"heads": list(record.heads), "before_merging": list(record.grown), "states": list(record.states)}
        out["stages"].append(stage | {"seconds": round(record.seconds, 3)})
    if found.every:
        machine = found.built.machine
        out["bimachine"] = {"left": len(machine.left), "right": len(machine.right), "labels": labels_of(found)}
    one = found.moore
    out["states"], out["labels"] = one.states, labels_of(found)
    out["shortest"] = {label: list(word) for label, word in one.shortest().items() if label}
    if one.accepts and not found.every:
        dfa = found.dfa()
        out["dfa_states"] = dfa.states
        out["star_free"] = _tried(_star_free, dfa)
    for label in out["labels"][:LABELS]:
        out[f"cost_{label}"] = _tried(_cost, found, label)
        out[f"pattern_{label}"] = _tried(_pattern, found, label)
    return out


def _tried(question: Callable[..., Any], *about: Any) -> Any:
    try:
        return question(*about)
    except ResourceLimit as error:
        return {"unknown": str(error)}


def _star_free(dfa: Any) -> dict[str, Any]:
    from restrict.languages.monoid import star_free

    found = star_free(dfa)
    return {"holds": found.aperiodic, "word": None if found.word is None else list(found.word), "method": found.method}


def _cost(found: Automaton, label: str) -> dict[str, Any]:
    costs = found.costs(label)
    cost = costs.cost
    content = {"values": list(cost.values), "growth": list(cost.growth), "period": cost.period}
    return content | {"bounded": costs.bounded, "text": costs.text()}


def _pattern(found: Automaton, label: str) -> dict[str, Any] | None:
    pattern = found.pattern(label)
    return None if pattern is None else pattern.claim() | {"text": pattern.text(), "fixed": pattern.cost}


def lines(content: dict[str, Any]) -> list[str]:
    """The facts in words."""
    out = [f"{content['model']}: at every length at which it is defined (exact)"]
    out += undefined_lines(content.get("undefined", {}))
    for stage in content["stages"]:
        heads = ", ".join(stage["heads"]) or "maps"
        grown, states = stage["before_merging"], stage["states"]
        sides = f"{grown[0]} left and {grown[1]} right states, {states[0]} and {states[1]} after merging"
        out.append(f"  stage   {heads[:60]}: {sides}, {stage['seconds']} s")
    if "bimachine" in content:
        machine = content["bimachine"]
        out.append(f"  labels  at every position by a bimachine of {machine['left']} and {machine['right']} states")
        out.append("  what follows is about the label at the last position")
    more = f" and {len(content['labels']) - 20} more" if len(content["labels"]) > 20 else ""
    out.append(f"  states  {content['states']} with the labels {', '.join(content['labels'][:20])}{more}")
    for label, word in content["shortest"].items():
        out.append(f"  shortest word with {label!r}: {shown(tuple(word))}")
    if "star_free" in content:
        out.append(f"  minimal automaton of the accepted words: {counted(content['dfa_states'], 'state')}")
        out.append(f"  star-free: {_said(content['star_free'], _star_text)}")
    for label in content["labels"][:LABELS]:
        out.append(f"  cost of forcing {label!r}: {_said(content[f'cost_{label}'], lambda c: c['text'])}")
        pattern = content[f"pattern_{label}"]
        if pattern is not None and "text" in pattern:
            out.append(f"    {pattern['text']} forces it at every n >= {pattern['from']}")
    return out


def _said(answer: Any, text: Any) -> str:
    return f"unknown: {answer['unknown']}" if "unknown" in answer else str(text(answer))


def _star_text(answer: dict[str, Any]) -> str:
    if answer["holds"]:
        return "yes"
    return "no" if answer["word"] is None else f"no: {shown(tuple(answer['word']))} permutes states"
