"""`compile --language` and `compile --to ltl`. Imported with the command line, so it stays light."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from restrict.base.errors import UsageError
from restrict.base.wording import counted
from restrict.cli.common import Given
from restrict.cli.printer import put_file

if TYPE_CHECKING:
    from restrict.model.program import Model

KINDS = (("heads", "head"), ("depth", "layer"), ("maps", "map"))
"""What is counted of a model, and its noun."""


def compile_back(o: Given) -> None:
    """Compile a language to a model, or a model to a formula."""
    if o.to is None and o.formula is not None:
        raise UsageError("give a formula or --language, not both")
    if o.to is not None and (o.spec is not None or o.formula is None):
        raise UsageError(f"--to {o.to} needs a model: `restrict compile --to {o.to} MODEL`")
    (_to_model if o.to is None else _to_formula)(o)


def _to_model(o: Given) -> None:
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


def _to_formula(o: Given) -> None:
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
