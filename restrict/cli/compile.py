"""The command `compile`: temporal logic to a hard-attention program. It stays light: `restrict` always imports it.
Also `compile --language` and `compile --to ltl`; and `compile --to soft`, formulas and star-free languages to softmax
transformers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restrict.base.errors import NotEstablished, UsageError
from restrict.base.wording import counted
from restrict.cli import common
from restrict.cli.printer import put, put_file

if TYPE_CHECKING:
    from restrict.logic.formula import Formula
    from restrict.model.program import Model

KINDS = (("heads", "head"), ("depth", "layer"), ("maps", "map"))
"""What is counted of a model, and its noun."""
COUNTS = "formulas that count (Theorems 20 to 23) may: give one in place of --language, such as 'odd(#past 1)'"
"""What is said of a language that is not star-free."""


@common.command("compile")
@click.argument("formula", metavar="FORMULA", type=common.Text(), required=False)
@common.language_option("A star-free language instead of a formula.")
@common.option(
    "--to",
    ("ltl", "ltlf", "soft"),
    "soft: a softmax transformer. ltl: FORMULA is a model; a formula for it. ltlf: the same for ltlf2dfa.",
)
@common.option(
    "--how",
    ("temperature", "positions"),
    "With --to soft: make attention sharp by temperature scaling, or by unbounded position embeddings.",
    default="temperature",
)
@common.flag("--decoder", "With --to soft: look at earlier positions only, independent of n.")
@common.option("-n", common.Whole(1, common.LONGEST), "With --to soft: bounds at this length.")
@common.option(
    "--alphabet", common.Text(), "The symbols, separated by commas, or by spaces where there are any: 0,1 or '( )'."
)
@common.option(
    "--at",
    ("last", "first", "every"),
    "Accept by the truth at the last position, at position 0, or label every position.",
    default="last",
)
@common.option("--name", common.Text(), "The model's name.  [default: the formula]")
@common.output_option("the model file, instead of printing it,")
@common.option(
    "--verify", common.Whole(1), "Compare the program with the evaluator on every word of up to N symbols.", metavar="N"
)
@common.flag("--json as_json", "With -o: print the summary as JSON.")
def compile_command(o: common.Given) -> None:
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


def _to_program(o: common.Given) -> None:
    from restrict.logic import compile_formula, parse
    from restrict.logic.verify import counterexample

    if o.formula is None or o.alphabet is None:
        raise UsageError("give FORMULA and its --alphabet, or --language LANGUAGE, or --to ltl MODEL")
    symbols, output, verify = _symbols(o.alphabet), o.output, o.verify
    parsed = parse(_text(o.formula), symbols)
    model = compile_formula(parsed, symbols, at=o.at, name=o.name)
    words = None if verify is None else _compared("program", counterexample(model, parsed, verify, at=o.at))
    assert model.content is not None
    found = {"file": str(output), **summary(model), "temporal_operators": parsed.temporal, "words_compared": words}
    text = f"{output}: {summed_up(model)} ({counted(parsed.temporal, 'different temporal subformula')})"
    if words is not None:
        text += _equal(words, verify) + " (exact)"
    put_file(model.content, output, text, found, o.as_json)


def _equal(words: int, longest: int) -> str:
    return f"\n  equal to the evaluator on all {words} words of up to {counted(longest, 'symbol')}"


def _compared(what: str, found: tuple[Sequence[str] | None, int]) -> int:
    """On how many words a model and its formula agree."""
    wrong, words = found
    if wrong is not None:
        raise NotEstablished(f"the {what} and the formula differ on {' '.join(wrong)}; please report this as a bug")
    return words


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


def compile_back(o: common.Given) -> None:
    """Compile a language to a model, or a model to a formula."""
    if o.to is None and o.formula is not None:
        raise UsageError("give a formula or --language, not both")
    if o.to is not None and (o.spec is not None or o.formula is None):
        raise UsageError(f"--to {o.to} needs a model: `restrict compile --to {o.to} MODEL`")
    (_to_model if o.to is None else _to_formula)(o)


def _to_model(o: common.Given) -> None:
    from restrict.all_lengths.compile_back import compile_language
    from restrict.all_lengths.verify import named
    from restrict.languages.regular import Regular

    language = named(f"dfa:{o.spec}" if Path(o.spec).is_file() else o.spec)
    if not isinstance(language, Regular):
        raise UsageError(f"{o.spec} is not a regular language, so no model of this kind recognises it at every length")
    model, proof = compile_language(language, name=o.name)
    assert model.content is not None
    content = {"file": str(o.output), **summary(model), "checked": proof.line}
    text = f"{o.output}: {summed_up(model)}\n  recognises {language.spec} at every length (proved)"
    text += "" if proof.line is None else f"\n  checked by the trusted checker: {proof.line}"
    put_file(model.content, o.output, text, content, o.as_json)


def summary(model: Model) -> dict[str, int]:
    """Numbers of heads and maps, and the depth of the output: the most heads on a path to it."""
    from restrict.model.program import Head

    heads = sum(isinstance(v, Head) for v in model.variables)
    return {"heads": heads, "maps": len(model.variables) - heads, "depth": model.depth}


def summed_up(model: Model) -> str:
    """Heads, layers and maps of a model in words."""
    found = summary(model)
    heads, layers, maps = (counted(found[key], noun) for key, noun in KINDS)
    return f"{heads} in {layers}, {maps}"


def _to_formula(o: common.Given) -> None:
    from restrict.all_lengths.compile_back import formula_of_model, spelled
    from restrict.logic.ltlf import to_ltlf2dfa
    from restrict.model.source import load

    model = load(o.formula)
    formula = formula_of_model(model)
    text = spelled(formula) if o.to == "ltl" else to_ltlf2dfa(formula, model.alphabet)
    content = {"file": str(o.output), "nodes": len(formula.nodes), "temporal": formula.temporal}
    told = f"{o.output}: {counted(len(formula.nodes), 'different subformula')}, {formula.temporal} of them temporal\n"
    told += "  equivalent to the model at the last position, at every length (proved)"
    put_file((text + "\n").encode(), o.output, told, content, o.as_json)


def compile_to_soft(formula: str | None, symbols: list[str] | None, o: common.Given) -> None:
    """Write the weights and print the error budget."""
    from restrict.simulate.formulas.compiler import compile_soft
    from restrict.simulate.formulas.verify import counterexample

    if o.output is None:
        raise UsageError("--to soft writes a safetensors file; name it with -o")
    parsed, alphabet = _formula(formula, o.spec, symbols)
    compiled = compile_soft(parsed, alphabet, how=o.how, decoder=o.decoder, at=o.at, name=o.name or o.spec)
    words = None if o.verify is None else _compared("model", counterexample(compiled, o.verify))
    compiled.model.save(o.output)
    document = {"file": str(o.output), **compiled.document(o.n), "words_compared": words}
    more = "" if words is None else f"{_equal(words, o.verify)}, in float64 and float32 (exact)"
    put(lambda: compiled.text(o.output, o.n) + more, document, o.as_json)


def _formula(formula: str | None, spec: str | None, symbols: list[str] | None) -> tuple[Formula, tuple[str, ...]]:
    from restrict.logic import parse

    if spec is None:
        if formula is None or symbols is None:
            raise UsageError("--to soft needs FORMULA and its --alphabet, or --language LANGUAGE")
        return parse(formula, symbols), tuple(symbols)
    from restrict.all_lengths.compile_back import formula_of
    from restrict.all_lengths.verify import named
    from restrict.languages.regular import Regular

    if formula is not None:
        raise UsageError("give a formula or --language, not both")
    language = named(spec)
    if not isinstance(language, Regular):
        raise UsageError(
            f"{spec} is not a regular language, so no formula without counting defines it; {COUNTS}, "
            "and S-RASP programs (Theorem 26, restrict simulate srasp:dyck-2)"
        )
    try:
        return formula_of(language.dfa, language.spec), language.alphabet
    except NotEstablished as error:
        raise NotEstablished(f"{error}; {COUNTS}") from None
