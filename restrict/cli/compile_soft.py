"""`compile --to soft`: formulas and star-free languages to softmax transformers. Imported with the command line, so it
stays light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restrict.base.errors import NotEstablished, UsageError
from restrict.base.wording import counted
from restrict.cli.common import Given, at_most, right_up_to
from restrict.cli.printer import put

if TYPE_CHECKING:
    from restrict.logic.formula import Formula
    from restrict.simulate.formulas.compiler import Compiled


COUNTS = "formulas that count (Theorems 20 to 23) may: give one in place of --language, such as 'odd(#past 1)'"
"""What is said of a language that is not star-free."""


def compile_to_soft(formula: str | None, symbols: list[str] | None, o: Given) -> None:
    """Write the weights and print the error budget."""
    from restrict.simulate.formulas.compiler import compile_soft
    from restrict.simulate.formulas.verify import counterexample

    if o.output is None:
        raise UsageError("--to soft writes a safetensors file; name it with -o")
    parsed, alphabet = _formula(formula, o.spec, symbols)
    compiled = compile_soft(
        parsed,
        alphabet,
        how=o.how,
        decoder=o.decoder,
        at=o.at,
        name=o.name or o.spec,
    )
    words = None
    if o.verify is not None:
        wrong, words = counterexample(compiled, o.verify)
        if wrong is not None:
            raise NotEstablished(f"the model and the formula differ on {' '.join(wrong)}; please report this as a bug")
    compiled.model.save(o.output)
    found = {"file": str(o.output), **compiled.budget.document(compiled.model, o.n)}
    put(_text(found, compiled, o, words), found | {"words_compared": words}, o.as_json)


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


def _text(found: dict[str, Any], compiled: Compiled, o: Given, words: int | None) -> str:
    heads = found["heads"]
    told = [
        f"{found['file']}: {counted(len(heads), 'head')} in {counted(found['layers'], 'layer')}, "
        f"width {found['width']} ({found['theorem']})"
    ]
    if compiled.model.positions.terms:
        told.append(f"  position embeddings: {', '.join(found['position_embeddings'])}")
    told.append(
        f"  before rounding every Boolean is within {at_most(found['deviation_at_every_n'])} of its truth value, "
        "at every length (certified bound; the limit is 0.25)"
    )
    if o.n is not None:
        told.append(f"  at n = {o.n}: within {at_most(compiled.budget.deviation(o.n))} (certified bound)")
    told += [f"  {kind}: {right_up_to(found[f'certified_length_{kind}'])}" for kind in ("float64", "float32")]
    for head in heads:
        bound = f", within {at_most(head['deviation_at_every_n'])}" if "deviation_at_every_n" in head else ""
        told.append(
            f"  layer {head['layer']} head {head['head']}: {head['pattern']}, mask {head['mask']}, "
            f"1/tau = {head['inverse_temperature']}{bound}, for {'; '.join(head['serves'])}"
        )
    if words is not None and o.verify is not None:
        told.append(
            f"  equal to the evaluator on all {words} words of up to {counted(o.verify, 'symbol')}, in float64 "
            "and float32 (exact)"
        )
    return "\n".join(told)
