"""The command `simulate`: a hard-attention program as a softmax transformer, with its certified error."""

from __future__ import annotations

import re
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from restrict.base.errors import RestrictError, UsageError
from restrict.cli import common
from restrict.cli.printer import put

if TYPE_CHECKING:
    from fractions import Fraction

    from restrict.model.program import Model
    from restrict.simulate.ours.measure import Simulated
    from restrict.simulate.srasp.measure import Softened

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
    from restrict.simulate.torch_export import save

    found = (_srasp if is_srasp(o.model) else _hard)(o)
    soft = found.soft
    if o.output is not None:
        soft.save(o.output)
    if o.torch_file is not None:
        save(soft, o.n, o.torch_file)
    put(found.text, lambda: found.document(o.output), o.as_json, {"softmax model in": o.output})


def _hard(o: common.Given) -> Simulated:
    from restrict.simulate.ours.hard import compile_program
    from restrict.simulate.ours.measure import Simulated, measure, words_of

    _foretold(o.program, o.n, o.epsilon)
    with common.progress_on(o.model[:40]) as progress:
        progress("compiling", None)
        compiled = compile_program(o.program, o.n, o.epsilon)
        progress("measuring", None)
        return Simulated(compiled, measure(compiled, *words_of(compiled, o.samples, o.seed)))


def _srasp(o: common.Given) -> Softened:
    """An S-RASP program by Theorem 26."""
    from restrict.simulate.srasp.measure import soften
    from restrict.simulate.srasp.source import load

    return soften(load(o.model), o.n, o.epsilon, o.samples, o.seed)


def _foretold(program: Model, n: int, epsilon: Fraction) -> None:
    """Say how long a long compilation takes: it goes through all positions, so a hundredth of them tells."""
    from restrict.simulate.ours.hard import compile_program

    if n < LONG:
        return
    start = perf_counter()
    with suppress(RestrictError):  # such as a program that is not defined at the smaller length
        compile_program(program, n // 100, epsilon)
        click.echo(f"n = {n}: about {100 * (perf_counter() - start):.0f} s (estimate from n = {n // 100})", err=True)
