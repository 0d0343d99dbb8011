"""The trusted checker as the tests use it: its parts under one name, and what a run knows of every node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from restrict.checker import (
    all_lengths,
    claims,
    formats,
    kernel,
    labelling,
    lower_bound,
    main,
    positions,
    program,
    read,
    refutation,
    rows,
    rules,
    tensors,
    window,
)
from restrict.checker.formats import Certificate, read_pair
from restrict.checker.kernel import Nodes, Run
from restrict.checker.main import DEFAULT_LIMIT, check_files, verify
from restrict.checker.read import JSON_BYTES, Meter, Place, Reject, Task, read_json
from restrict.checker.rules import bind, function, interval

FOLDER = Path(str(main.__file__)).parent
MODULES = (read, tensors, rules, formats, kernel, refutation, lower_bound, main)
MODULES += (rows, positions, program, window, labelling, claims, all_lengths)
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
    "function",
]
__all__ += ["interval", "main", "nodes", "parse", "prepare", "read", "verify"]


def parse(text: str, place: Place, names: Any) -> rules.Tree:
    """The syntax tree of an expression."""
    return rules.Parser(text, place, names, Meter(DEFAULT_LIMIT)).tree


def prepare(model: bytes, certificate: bytes, folder: str | Path = ".") -> Certificate:
    """Both files, read."""
    meter, top = Meter(DEFAULT_LIMIT), Place("certificate")
    document = read_json(certificate, top, meter)
    return read_pair(Task(document, top, model, Place("model"), Path(folder), meter), document, top)


def nodes(
    model: bytes, certificate: bytes, folder: str | Path = "."
) -> dict[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]:
    """Values and dependencies of every node of the cone, both sorted."""
    found = prepare(model, certificate, folder)
    run = Run(found.model, found.fixed, found.free, found.cone)
    states = [(name, state) for name, state in run.states.items() if isinstance(state, Nodes)]
    return {
        (name, at): (tuple(sorted(values)), tuple(p for p in range(found.n) if mask >> p & 1))
        for name, state in states
        for at, (values, mask) in state.examined.items()
    }
