"""The command `compile`: temporal logic to a hard-attention program. It stays light: `restrict` always imports it."""

from __future__ import annotations

import sys

import click

from restrict.base.errors import NotEstablished, UsageError
from restrict.base.wording import counted
from restrict.cli import common
from restrict.cli.common import Given, command, flag, option
from restrict.cli.compile_back import compile_back, summary, summed_up
from restrict.cli.compile_soft import compile_to_soft
from restrict.cli.printer import put_file


@command("compile")
@click.argument("formula", metavar="FORMULA", type=common.Text(), required=False)
@common.language_option("A star-free language instead of a formula.")
@option(
    "--to",
    ("ltl", "ltlf", "soft"),
    "soft: a softmax transformer. ltl: FORMULA is a model; a formula for it. ltlf: the same for ltlf2dfa.",
)
@option(
    "--how",
    ("temperature", "positions"),
    "With --to soft: make attention sharp by temperature scaling, or by unbounded position embeddings.",
    default="temperature",
)
@flag("--decoder", "With --to soft: look at earlier positions only, independent of n.")
@option("-n", common.Whole(1, common.LONGEST), "With --to soft: bounds at this length.")
@option(
    "--alphabet", common.Text(), "The symbols, separated by commas, or by spaces where there are any: 0,1 or '( )'."
)
@option(
    "--at",
    ("last", "first", "every"),
    "Accept by the truth at the last position, at position 0, or label every position.",
    default="last",
)
@option("--name", common.Text(), "The model's name.  [default: the formula]")
@common.output_option("the model file, instead of printing it,")
@option(
    "--verify", common.Whole(1), "Compare the program with the evaluator on every word of up to N symbols.", metavar="N"
)
@flag("--json as_json", "With -o: print the summary as JSON.")
def compile_command(o: Given) -> None:
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
    if o.to == "soft":
        symbols = None if o.alphabet is None else _symbols(o.alphabet)
        compile_to_soft(None if o.formula is None else _text(o.formula), symbols, o)
        return
    if o.decoder or o.n is not None or o.how != "temperature":
        raise UsageError("--how, --decoder and -n belong to --to soft")
    if o.as_json and o.output is None:
        raise UsageError("--json prints a summary beside the file; name that file with -o")
    (_to_program if o.spec is o.to is None else compile_back)(o)


def _to_program(o: Given) -> None:
    from restrict.logic import compile_formula, parse
    from restrict.logic.verify import counterexample

    if o.formula is None or o.alphabet is None:
        raise UsageError("give FORMULA and its --alphabet, or --language LANGUAGE, or --to ltl MODEL")
    symbols, output, verify = _symbols(o.alphabet), o.output, o.verify
    parsed = parse(_text(o.formula), symbols)
    model = compile_formula(parsed, symbols, at=o.at, name=o.name)
    words = None
    if verify is not None:
        wrong, words = counterexample(model, parsed, verify, at=o.at)
        if wrong is not None:
            raise NotEstablished(
                f"the program and the formula differ on {' '.join(wrong)}; please report this as a bug"
            )
    assert model.content is not None
    found = {"file": str(output), **summary(model), "temporal_operators": parsed.temporal, "words_compared": words}
    text = f"{output}: {summed_up(model)} ({counted(parsed.temporal, 'different temporal subformula')})"
    if words is not None and verify is not None:
        text += f"\n  equal to the evaluator on all {words} words of up to {counted(verify, 'symbol')} (exact)"
    put_file(model.content, output, text, found, o.as_json)


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
