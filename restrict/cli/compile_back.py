"""`compile --language` and `compile --to ltl`. Imported with the command line, so it stays light."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from restrict.base.errors import UsageError
from restrict.base.files import write_bytes
from restrict.base.wording import counted
from restrict.cli.printer import Told, put

if TYPE_CHECKING:
    from restrict.cli.compile_soft import CompileOptions
    from restrict.model.program import Model

KINDS = (("heads", "head"), ("depth", "layer"), ("maps", "map"))
"""What is counted of a model, and its noun."""


def compile_back(options: CompileOptions) -> None:
    """Compile a language to a model, or a model to a formula."""
    to, spec = options.to, options.spec
    if to is None and options.formula is not None:
        raise UsageError("give a formula or --language, not both")
    if to is None:
        assert spec is not None
        _to_model(spec, options.name, options.output, options.as_json)
    elif spec is not None or options.formula is None:
        raise UsageError(f"--to {to} needs a model: `restrict compile --to {to} MODEL`")
    else:
        _to_formula(options.formula, to, options.output, options.as_json)


def _to_model(spec: str, name: str | None, output: Path | None, as_json: bool) -> None:
    from restrict.all_lengths.compile_back import compile_language
    from restrict.all_lengths.verify import named
    from restrict.languages.regular import Regular

    language = named(f"dfa:{spec}" if Path(spec).is_file() else spec)
    if not isinstance(language, Regular):
        raise UsageError(f"{spec} is not a regular language, so no model of this kind recognises it at every length")
    model, proof = compile_language(language, name=name)
    assert model.content is not None
    if output is None:
        click.echo(model.content, nl=False)
        return
    write_bytes(output, model.content)
    content = {"file": str(output), **summary(model), "checked": proof.line}
    text = f"{output}: {summed_up(model)}\n  recognises {language.spec} at every length (proved)"
    text += "" if proof.line is None else f"\n  checked by the trusted checker: {proof.line}"
    put(Told(lambda: text, lambda: content), as_json)


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


def _to_formula(source: str, to: str, output: Path | None, as_json: bool) -> None:
    from restrict.all_lengths.compile_back import formula_of_model, spelled
    from restrict.logic.ltlf import to_ltlf2dfa
    from restrict.model.source import load

    model = load(source)
    formula = formula_of_model(model)
    text = spelled(formula) if to == "ltl" else to_ltlf2dfa(formula, model.alphabet)
    if output is None:
        click.echo(text)
        return
    write_bytes(output, (text + "\n").encode())
    content = {"file": str(output), "nodes": len(formula.nodes), "temporal": formula.temporal}
    told = f"{output}: {counted(len(formula.nodes), 'different subformula')}, {formula.temporal} of them temporal\n"
    told += "  equivalent to the model at the last position, at every length (proved)"
    put(Told(lambda: told, lambda: content), as_json)
