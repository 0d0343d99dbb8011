"""The JSON objects of model files (docs/format.md), for what writes programs; nothing is checked here."""

from collections.abc import Sequence
from typing import Any

FORMAT = "restrict-model/1"
Variable = dict[str, Any]


def model(
    name: str, description: str, alphabet: Sequence[str], variables: Sequence[Variable], output: dict[str, Any],
    **more: str | None,
) -> dict[str, Any]:  # fmt: skip
    """A model. ``more``: ``when`` and the markers, where there are any."""
    first = {"format": FORMAT, "name": name, "description": description, "alphabet": list(alphabet)}
    first |= {key: text for key, text in more.items() if text is not None}
    return first | {"variables": list(variables), "output": output}


def head(name: str, **fields: Any) -> Variable:
    """A head; ``fields``: ``value``, ``score`` and what else the format has, in the order of the file."""
    return {"name": name, "kind": "head", **fields}


def mapped(name: str, args: Sequence[str], domain: int | str, rule: Any) -> Variable:
    """A map by an expression or a :func:`table`, with values 0 .. domain - 1."""
    return {"name": name, "kind": "map", "args": list(args), "domain": domain, "map": rule}


def table(axes: Sequence[str], values: Any) -> Variable:
    """The rule whose values, nested lists, stand in a table."""
    return {"table": {"axes": list(axes), "values": values}}


def accept(variable: str, *values: int, position: str = "last") -> dict[str, Any]:
    """The output that accepts these values."""
    return {"variable": variable, "position": position, "accept": list(values)}
