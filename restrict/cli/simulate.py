"""The command `simulate`: a hard-attention program as a softmax transformer, with its certified error."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import RestrictError, UsageError
from restrict.base.wording import at_most, counted, parts
from restrict.cli import common
from restrict.cli.printer import put

if TYPE_CHECKING:
    from fractions import Fraction

    from restrict.model.program import Model
    from restrict.simulate.ours.measure import Measured
    from restrict.simulate.ours.report import CompiledProgram
    from restrict.soft.models.model import SoftModel


LONG = 10_000_000
"""From this length on a compilation takes tens of seconds, and it is said how many before it starts."""


def _epsilon(value: Any) -> Fraction:
    from fractions import Fraction

    if isinstance(value, Fraction):
        return value
    if len(value) > 40 or not re.fullmatch(r"\d+/0*[1-9]\d*|\d*\.?\d+(e-?\d{1,2})?", value, re.ASCII):
        raise UsageError("no number")
    return Fraction(value)


@common.command("simulate")
@common.MODEL
@common.LENGTH
@common.option(
    "--epsilon",
    common.Read("epsilon", _epsilon, "not a positive number such as 0.01 or 1/100"),
    "How far what a head reads may be from the hard value; at most 1/4, so that rounding restores it exactly.",
    default="1/5",
)
@common.option("--samples", common.Whole(1, 10**6), "Words to draw.", default=200)
@common.SEED
@common.output_option("the softmax model (restrict-soft/1)")
@common.file_option(
    "--torch torch_file", "Write the float32 weights of an nn.Module at this length here (safetensors)."
)
@common.JSON
def simulate(o: common.Given) -> None:
    """Simulate hard attention by softmax: the temperature that MODEL needs at length N, and the error.

    Prints the inverse temperature 1/tau of each head, the certified bound on what it loses, and the largest loss that
    was measured: on all words where there are at most 4096, else on samples. With -o the softmax model is written; it
    is evaluated by `restrict soft` and by restrict.soft. A variable that cannot be compiled is named with the reason.

    MODEL may also be an S-RASP program: a file ending in .srasp, or srasp:dyck-2, srasp:flip-flop, srasp:induction-1.
    It becomes a uniform-tieless average-hard transformer, and Theorem 26 gives the temperature.
    """
    from restrict.simulate.srasp.source import is_srasp

    if is_srasp(o.model):
        _srasp(o)
        return
    from restrict.simulate.ours.hard import compile_program
    from restrict.simulate.ours.measure import measure, words_of

    _foretold(o.program, o.n, o.epsilon)
    with common.progress_on(o.model[:40]) as progress:
        progress("compiling", None)
        compiled = compile_program(o.program, o.n, o.epsilon)
        progress("measuring", None)
        found = measure(compiled, *words_of(compiled, o.samples, o.seed))
    _write(compiled.soft, o)
    document = _document(compiled, found, o.output)
    put(_text(compiled, found), document, o.as_json, {"softmax model in": o.output})


def _foretold(program: Model, n: int, epsilon: Fraction) -> None:
    """Say how long a long compilation takes: it goes through all positions, so a hundredth of them tells."""
    from restrict.simulate.ours.hard import compile_program

    if n < LONG:
        return
    start = perf_counter()
    with suppress(RestrictError):  # such as a program that is not defined at the smaller length
        compile_program(program, n // 100, epsilon)
        click.echo(f"n = {n}: about {100 * (perf_counter() - start):.0f} s (estimate from n = {n // 100})", err=True)


def _write(soft: SoftModel, o: common.Given) -> None:
    from restrict.simulate.torch_export import save

    if o.output is not None:
        soft.save(o.output)
    if o.torch_file is not None:
        save(soft, o.n, o.torch_file)


def _safe(n: int, longest: int, every_length: bool, *most: int) -> str:
    """What is certified about floating point; ``most``: the longest length, if not that of the format."""
    if not every_length:
        return f"right at n = {n} (certified)" if longest else f"at n = {n} the result may be wrong"
    return common.right_up_to(longest, *most)


def _text(compiled: CompiledProgram, found: Measured) -> str:
    soft, n = compiled.soft, compiled.n
    told = [
        f"{compiled.program.name} at n = {n}: "
        f"heads {len(compiled.heads)}, layers {len(soft.layers)}, width {soft.width}",
        f"needed 1/tau: {at_most(compiled.scale, 6)}; every head is within {common.at_most(compiled.error)} of the "
        f"hard one (certified; asked for {compiled.epsilon}), and rounding makes it exact",
        _measured(found),
        *(f"{kind}: {_safe(n, longest, compiled.every_length)}" for kind, longest in soft.certified.items()),
    ]
    every = "every length at which the program is defined" if compiled.every_length else f"n = {n} only"
    told.append(f"the softmax model holds for {every}")
    width = max((len(h.variable) for h in compiled.heads), default=4)
    for head, measured in zip(compiled.heads, found.errors, strict=True):
        told.append(
            f"  {head.variable:<{width}}  layer {head.layer:>3}  ties {head.ties:<8}  1/tau = {head.scale.text}"
            f"  certified {common.at_most(head.error(n))}  measured {_shown(measured) if found.words else '-'}"
        )
    return "\n".join(told)


def _shown(x: float) -> str:
    """A measured number; below the size of rounding errors, which differ from machine to machine, only that is said."""
    return f"{x:.4g}" if x == 0 or x > 1e-12 else "below 1e-12"


def _measured(found: Any) -> str:
    if not found.words:
        return "measured: nothing, one word of this length is too much"
    on = (
        f"all {counted(found.words, 'word')}"
        if found.exhaustive
        else f"{counted(found.words, 'sampled word')} (estimate from below)"
    )
    wrong = "no wrong label" if not found.wrong else f"WRONG LABELS on {found.wrong} words; please report this as a bug"
    return f"measured: {found.error:.6g} on {on}, {wrong}"


def _common(
    asked: dict[str, Any], scale: float, error: float, found: Any, soft: SoftModel, output: Path | None, **more: Any
) -> dict[str, Any]:
    """What is told of both kinds of programs, as JSON; ``asked`` comes first, ``more`` after what was measured."""
    return asked | {
        "inverse_temperature": scale, "certified_error": error, "measured_error": found.error, "words": found.words,
        "exhaustive": found.exhaustive, "wrong": found.wrong, **more, "layers": len(soft.layers), "width": soft.width,
        "file": None if output is None else str(output), "sha256": soft.digest,
    }  # fmt: skip


def _document(compiled: CompiledProgram, found: Measured, output: Path | None) -> dict[str, Any]:
    asked = {"model": compiled.program.name, "n": compiled.n, "epsilon": str(compiled.epsilon)}
    safe, every = dict(compiled.soft.certified), compiled.every_length
    return _common(
        asked, compiled.scale, compiled.error, found, compiled.soft, output, safe_length=safe, every_length=every
    ) | {
        "heads": [
            parts(head, "variable layer ties")
            | {"scale": head.scale.text, "certified_error": head.error(compiled.n), "measured_error": measured}
            for head, measured in zip(compiled.heads, found.errors, strict=True)
        ]
    }


def _srasp(o: common.Given) -> None:
    """An S-RASP program by Theorem 26."""
    from restrict.simulate.floating import UNITS
    from restrict.simulate.srasp.compiler import compile_with_budget
    from restrict.simulate.srasp.measure import measure
    from restrict.simulate.srasp.source import load

    program = load(o.model)
    hard, budget = compile_with_budget(program)
    sharp = budget.sharpness(hard.check_length(o.n), o.epsilon)
    soft = budget.soften(hard, sharp)
    found = measure(program, soft, budget.raw, o.n, o.samples, o.seed)
    safe = {kind: soft.certified[kind] for kind in UNITS}
    _write(soft, o)
    asked = {"model": program.name, "n": o.n, "epsilon": str(o.epsilon), "gap": str(sharp.gap)}
    document = _common(asked, sharp.scale, sharp.error, found, soft, o.output, safe_length=safe)
    heads = sum(len(layer.heads) for layer in soft.layers)
    told = [
        f"{program.name} at n = {o.n} (start marker counted): heads {heads}, "
        f"layers {len(soft.layers)}, width {soft.width}",
        f"needed 1/tau: {at_most(sharp.scale, 6)} for the gap {sharp.gap} (Theorem 26); all that is read is within "
        f"{common.at_most(sharp.error)} of the hard one (certified; asked for {o.epsilon}), "
        "and rounding makes it exact, " + (f"at every length up to {o.n}" if budget.every_length else f"at n = {o.n}"),
        _measured(found),
        *(f"{kind}: {_safe(o.n, longest, budget.every_length, o.n)}" for kind, longest in safe.items()),
    ]
    put("\n".join(told), document, o.as_json, {"softmax model in": o.output})
