"""The trusted checker as the tests use it: its parts under one name, and what a run knows of every node."""

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
    lower_bound,
    machines,
    main,
    positions,
    program,
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
    window,
)
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.formats import Certificate
from restrict.checker.kernel import Run
from restrict.checker.main import DEFAULT_LIMIT, check_files, verify
from restrict.checker.read import JSON_BYTES, read_json
from restrict.checker.rules import compiled, interval

FOLDER = Path(str(main.__file__)).parent
MODULES = (
    account, read, tensors, rules, formats, kernel, refutation, lower_bound, main,
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
__all__ += ["interval", "main", "nodes", "parse", "prepare", "read", "verify"]


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


def nodes(
    model: bytes, certificate: bytes, folder: str | Path = "."
) -> dict[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]:
    """Values and dependencies of every node of the cone, both sorted."""
    found = prepare(model, certificate, folder)
    run = Run(found.model, found.fixed, found.free, found.cone)
    return {
        (variable.name, at): (tuple(sorted(values)), tuple(p for p in range(found.n) if mask >> p & 1))
        for variable in found.model.variables
        for at, (values, mask) in zip(run.states[variable.name].starts, run.states[variable.name].nodes, strict=True)
    }
