"""The trusted checker as the tests use it: its parts under one name, with proofs from the elaborator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from restrict.checker import (
    account,
    all_lengths,
    claims,
    costs,
    equations,
    formats,
    kernel,
    labelling,
    lengths,
    lower,
    lower_bound,
    machines,
    main,
    normal_form,
    one_length,
    positions,
    program,
    proof,
    read,
    refutation,
    rows,
    rules,
    soft,
    soft_layers,
    soft_model,
    soft_run,
    soft_sets,
    soft_terms,
    tensors,
    tree,
    window,
)
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.formats import Certificate
from restrict.checker.main import DEFAULT_LIMIT, check_files
from restrict.checker.read import JSON_BYTES, read_json
from restrict.checker.rules import compiled, interval
from restrict.elaboration.check import proof_in_memory
from restrict.errors import RestrictError

FOLDER = Path(str(main.__file__)).parent
MODULES = (
    account, read, tensors, rules, formats, lower, normal_form, kernel, tree, proof, one_length, refutation,
    lower_bound, main,
    rows, positions, program, machines, window, labelling, costs, equations, lengths, claims, all_lengths,
    soft_terms, soft_sets, soft_model, soft_layers, soft_run, soft,
)  # fmt: skip
FILES = tuple(Path(str(module.__file__)) for module in MODULES)
__all__ = [
    "DEFAULT_LIMIT",
    "FILES",
    "FOLDER",
    "JSON_BYTES",
    "MODULES",
    "Place",
    "Reject",
    "bind",
    "check_files",
]
__all__ += ["interval", "main", "parse", "prepare", "read", "verify"]


def verify(model: bytes, certificate: bytes, *, limit: int = DEFAULT_LIMIT, **names: Any) -> str:
    """The checker's line, by a proof that is elaborated in memory; every failure is a ``Reject``."""
    try:
        return main.verify(model, certificate, limit=limit, proof=proof_in_memory(limit), **names)
    except RestrictError as error:
        raise Reject(error.exit_code, str(error)) from None


def parse(text: str, place: Place, names: Any) -> rules.Tree:
    """The syntax tree of an expression."""
    return rules.Parser(text, place, names, Meter(DEFAULT_LIMIT)).tree


def bind(tree: rules.Tree, known: dict[str, int], others: list[str]) -> Any:
    """The tree with the known names folded in: a function of a tuple with the others."""
    return compiled(tree, rules.mentioned(tree), others)(known)


def prepare(model: bytes, certificate: bytes, folder: str | Path = ".") -> Certificate:
    """Both files, read."""
    meter, top = Meter(DEFAULT_LIMIT), Place("certificate")
    document = read_json(certificate, top, meter)
    return Certificate(Task(document, top, model, Place("model"), Path(folder), meter), document, top)
