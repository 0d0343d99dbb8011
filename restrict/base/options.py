"""Tables of options: what a search goes by, each with its value, range, meaning, and the value that switches it off.
``scripts/ablation.py`` switches each off, and doubles it, on a fixed set of models and prints what it gains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, fields
from typing import Annotated, Any, NamedTuple, TypeVar

T = TypeVar("T")
Fact = Annotated[T, "fact"]
"""The type of a constant that is no option, as another value would be wrong: a unit, a code, a number of a format or of
a proof, or a limit beyond which a question is refused. Modules of searches have no other numbers
(``tests/test_options.py``)."""
HUGE: Fact[int] = 2**62


class Option(NamedTuple):
    """One option: its range (``None``: given by its type), what it means, and its value where it is switched off."""

    name: str
    value: Any
    least: float | None
    most: float | None
    off: Any
    meaning: str


def option(value: Any, least: float | None, most: float | None, meaning: str, off: Any = None) -> Any:
    """A field of a dataclass that is a row of its :func:`table`."""
    return field(default=value, metadata={"least": least, "most": most, "meaning": meaning, "off": off})


def table(options: type[Any]) -> tuple[Option, ...]:
    """The rows of a dataclass of options, as they are by default; fields that no :func:`option` made have none."""
    known = [one for one in fields(options) if one.metadata]
    return tuple(
        Option(one.name, one.default, *(one.metadata[key] for key in ("least", "most", "off", "meaning")))
        for one in known
    )


@contextmanager
def changed(options: Any, **values: Any) -> Iterator[None]:
    """Within it options that the whole process shares have other values. ``AttributeError``: there is none of a name.
    Not for several threads at once."""
    before = {name: getattr(options, name) for name in values}
    try:
        for name, value in values.items():
            setattr(options, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(options, name, value)
