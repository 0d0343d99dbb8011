"""A model from what a person types: a file, a built-in model, or a generator with options such as
``random:layers=2,seed=1``."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from restrict.base.errors import UsageError, did_you_mean, near_files, quote
from restrict.base.files import is_there
from restrict.model import fileformat
from restrict.model.examples.builtin import BUILTINS
from restrict.model.examples.hard import HARD
from restrict.model.examples.random import random_model
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Model

MOST = {
    ("induction-head", "letters"): 26,
    ("tagger", "letters"): 26,
    ("parity8", "width"): 2_000,
    ("parity-attempt", "layers"): 2_000,
    ("tribes-trap", "width"): 80,
    ("shared-hubs", "width"): 1_000,
    ("dot-dense", "dim"): 120,
    ("dot-sparse", "dim"): 120,
}
"""The greatest values of options with which the model file grows (limits of the format); a random model has its own."""
GENERATORS: dict[str, Callable[..., dict[str, Any]]] = {**BUILTINS, **HARD, "random": random_model}


def load(source: str | Path) -> Model:
    """The model in a file, or made by a generator: ``NAME`` or ``NAME:option=integer,...``.

    Args:
        source: a file's path (``-``: standard input), or the text of a generator.

    Returns:
        The model, with the bytes of its file.

    Raises:
        UsageError: there is neither such a file nor such a generator.
        ModelError: a malformed file.
        ResourceLimit: a file of more than 64 MiB.
    """
    text = str(source)
    if isinstance(source, Path) or is_there(text):
        return fileformat.load(source)
    return loads(generated(text), text)


def generated(text: str) -> bytes:
    """The bytes of the built-in model or generator that a text describes where no file has that name. ``UsageError``:
    there is none of that name, so the message names files, too; or an option is wrong."""
    name = text.partition(":")[0]
    _known(name, f"{quote(text)} is neither a file nor a built-in model", lambda: _near(text, name))
    return document_bytes(text)


def _known(name: str, what: str, near: Callable[[], str]) -> None:
    if name not in GENERATORS:
        raise UsageError(f"{what}{near()}; built in are {', '.join(sorted(GENERATORS))}")


def _near(text: str, name: str) -> str:
    """A built-in model of nearly this name, or a file beside the one that is not there."""
    near = did_you_mean(name, GENERATORS)
    if near and "/" not in text:
        return near
    return near_files(text) or near


def document_bytes(text: str) -> bytes:
    """The bytes of the model file of ``NAME`` or ``NAME:option=integer,...`` in ``GENERATORS``; the same for the same
    text. ``UsageError``: no such model or option, or a value out of range."""
    name, _, rest = text.partition(":")
    _known(name, f"{quote(name)} is not a built-in model", lambda: did_you_mean(name, GENERATORS))
    build = GENERATORS[name]
    options = options_of(name, build, rest)
    for key, value in options.items():
        most = MOST.get((name, key))
        if most is not None and value > most:
            raise UsageError(f"{name}: {key}={value} may be at most {most}")
    document = build(**options)
    if options and name != "random":
        document["name"] = text
    return dumps(document)


def options_of(name: str, build: Callable[..., Any], rest: str) -> dict[str, int]:
    """The options ``key=integer,...`` behind a generator's name; each is at least 1, or 0 where that is its default.
    ``UsageError``: another option, one that is given twice, or a value out of range."""
    known = inspect.signature(build).parameters
    found: dict[str, int] = {}
    for part in rest.split(",") if rest else []:
        key, _, value = part.partition("=")
        if key not in known:
            names = ", ".join(f"{p.name}={p.default}" for p in known.values()) or "none"
            near = did_you_mean(key, known)
            raise UsageError(f"{quote(key)} is not an option of {name}{near}; its options are {names}")
        if key in found:
            raise UsageError(f"{name}: {key} is given twice")
        least = 0 if known[key].default == 0 else 1
        if not value.isascii() or not value.isdigit() or len(value) > 9 or int(value) < least:
            raise UsageError(
                f"{name}: {key}={quote(value)} must be an integer of at least {least} and at most 9 digits"
            )
        found[key] = int(value)
    return found
