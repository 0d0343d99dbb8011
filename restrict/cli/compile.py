"""The command `compile`: temporal logic to a hard-attention program. It stays light: `restrict` always imports it."""

from __future__ import annotations

import sys
from typing import Any

import click

from restrict.base.errors import NotEstablished, UsageError
from restrict.base.files import write_bytes
from restrict.base.wording import counted
from restrict.cli import common
from restrict.cli.compile_back import compile_back, summary, summed_up
from restrict.cli.compile_soft import CompileOptions, compile_to_soft
from restrict.cli.printer import Told, put


@click.command("compile")
@click.argument("formula", metavar="FORMULA", type=common.Text(), required=False)
@common.language_option("A star-free language instead of a formula.")
@click.option(
    "--to",
    "to",
    type=click.Choice(["ltl", "ltlf", "soft"]),
    help="soft: a softmax transformer. ltl: FORMULA is a model; a formula for it. ltlf: the same for ltlf2dfa.",
)
@click.option(
    "--how",
    type=click.Choice(["temperature", "positions"]),
    default="temperature",
    show_default=True,
    help="With --to soft: make attention sharp by temperature scaling, or by unbounded position embeddings.",
)
@click.option("--decoder", is_flag=True, help="With --to soft: look at earlier positions only, independent of n.")
@click.option("-n", "n", type=common.Whole(1, common.LONGEST), help="With --to soft: bounds at this length.")
@click.option(
    "--alphabet",
    type=common.Text(),
    help="The symbols, separated by commas, or by spaces where there are any: 0,1 or '( )'.",
)
@click.option(
    "--at",
    type=click.Choice(["last", "first", "every"]),
    default="last",
    show_default=True,
    help="Accept by the truth at the last position, at position 0, or label every position.",
)
@click.option("--name", type=common.Text(), help="The model's name.  [default: the formula]")
@common.output_option("the model file, instead of printing it,")
@click.option(
    "--verify",
    type=common.Whole(1),
    metavar="N",
    help="Compare the program with the evaluator on every word of up to N symbols.",
)
@click.option("--json", "as_json", is_flag=True, help="With -o: print the summary as JSON.")
def compile_command(**given: Any) -> None:
    """Compile FORMULA of temporal logic with past and future to a hard-attention program, one head per operator.

    Symbols of the alphabet are atoms; a symbol that is an operator's name, or not a word, is put in quotes. Operators:
    not, and, or, implies, iff, xor; previous, once, historically, since, trigger look left and next, eventually,
    always, until, release look right, the current position included unless `strict` precedes them; weak and strong
    variants, and first, last, true, false. The usual signs and letters work too: ! & | -> Y O H S X F G U R.
    FORMULA `-` is read from standard input.

    With --language: a model of a star-free language such as 'regex:(ab)*' or dfa:FILE.json, proved right at every
    length before it is written. With --to ltl MODEL: a formula that is true at the last position of what MODEL accepts.

    With --to soft: a softmax transformer for a formula (which may count: "#past 1 > #past 0", "odd(#past 1)") or a
    star-free language, with certified errors (docs/compile-soft.md).
    """
    options = CompileOptions(**given)
    if options.to == "soft":
        symbols = None if options.alphabet is None else _symbols(options.alphabet)
        compile_to_soft(None if options.formula is None else _text(options.formula), symbols, options)
        return
    if options.decoder or options.n is not None or options.how != "temperature":
        raise UsageError("--how, --decoder and -n belong to --to soft")
    if options.as_json and options.output is None:
        raise UsageError("--json prints a summary beside the file; name that file with -o")
    (_to_program if options.spec is options.to is None else compile_back)(options)


def _to_program(options: CompileOptions) -> None:
    from restrict.logic import compile_formula, parse
    from restrict.logic.verify import counterexample

    if options.formula is None or options.alphabet is None:
        raise UsageError("give FORMULA and its --alphabet, or --language LANGUAGE, or --to ltl MODEL")
    symbols, output, verify = _symbols(options.alphabet), options.output, options.verify
    parsed = parse(_text(options.formula), symbols)
    model = compile_formula(parsed, symbols, at=options.at, name=options.name)
    words = None
    if verify is not None:
        wrong, words = counterexample(model, parsed, verify, at=options.at)
        if wrong is not None:
            raise NotEstablished(
                f"the program and the formula differ on {' '.join(wrong)}; please report this as a bug"
            )
    assert model.content is not None
    if output is None:
        click.echo(model.content, nl=False)
        return
    write_bytes(output, model.content)
    found = {"file": str(output), **summary(model), "temporal_operators": parsed.temporal, "words_compared": words}
    text = f"{output}: {summed_up(model)} ({counted(parsed.temporal, 'different temporal subformula')})"
    if words is not None and verify is not None:
        text += f"\n  equal to the evaluator on all {words} words of up to {counted(verify, 'symbol')} (exact)"
    put(Told(lambda: text, lambda: found), options.as_json)


def _symbols(text: str) -> list[str]:

    parts = text.split() if any(c.isspace() for c in text.strip()) else text.strip().split(",")
    if any(not part for part in parts):
        raise UsageError("--alphabet has an empty symbol; write it like 0,1, or with spaces where a comma is a symbol")
    if len(set(parts)) != len(parts):
        twice = next(part for part in parts if parts.count(part) > 1)
        raise UsageError(f"--alphabet: the symbol {twice!r} occurs twice")
    return parts


def _text(formula: str) -> str:

    if formula != "-":
        return formula
    if sys.stdin is None:
        raise UsageError("standard input is closed; give the formula as an argument")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 at byte {error.start}") from None
