"""What the importers share: the result type, reading files, and expressions that look a value up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restrict.base.errors import ModelError, ResourceLimit
from restrict.base.files import read_bytes, write_bytes
from restrict.base.wording import counted
from restrict.model.document import Variable, model
from restrict.model.fileformat import dumps, loads
from restrict.model.program import Head, Model

MAX_TABLE = 2**20
"""Entries of one imported table."""
MAX_VARIABLES = 4096
"""The format's limit on the variables of a model."""
OUTSIDE = "outside Theorem 1: restrict is about attention that reads one position"


@dataclass(frozen=True)
class Imported:
    """An imported model, and what a reader has to know about how it was imported. ``model`` has the content of a model
    file (and so a digest); ``notes`` say which rules were used and what was compared with the source."""

    model: Model
    notes: tuple[str, ...] = ()

    def save(self, path: str | Path) -> None:
        """Write the model file.

        Args:
            path: the file to write; an existing one is replaced.

        Raises:
            UsageError: the file cannot be written.
        """
        assert self.model.content is not None
        write_bytes(Path(path), self.model.content)

    def text(self, place: Path) -> str:
        """What was imported, in words.

        Args:
            place: the file that it is written to.

        Returns:
            Lines.
        """
        model = self.model
        when = f", defined for {model.when.text}" if model.when is not None and not isinstance(model.when, str) else ""
        symbols, variables = counted(len(model.alphabet), "symbol"), counted(len(model.variables), "variable")
        where = "the last" if model.output.position == "last" else "every"
        lines = [f"{place}: {model.name}, {symbols}, {variables}{when}", f"  {shape_of(model)}"]
        return "\n".join([*lines, f"  output at {where} position", *(f"  {note}" for note in self.notes)])

    def document(self, place: Path) -> dict[str, Any]:
        """What was imported, as JSON.

        Args:
            place: the file that it is written to.

        Returns:
            An object.
        """
        model = self.model
        return {
            "file": str(place), "name": model.name, "sha256": model.digest, "alphabet": list(model.alphabet),
            "variables": len(model.variables), "output": model.output.position, "notes": list(self.notes),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"Imported({self.model!r}, {len(self.notes)} notes)"


def source_text(path: Path) -> str:
    """The text of a UTF-8 source file (else ``ModelError``); ``UsageError``: unreadable; ``ResourceLimit``: too
    large."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not UTF-8 text: byte {error.start} cannot be read") from None


def finish(
    source: Path,
    name: str,
    description: str,
    alphabet: Sequence[str],
    variables: list[Variable],
    output: dict[str, Any],
    **more: str | None,
) -> Model:
    """The model of a document, read back from its bytes so that every rule of the format is checked (``ModelError``);
    ``variables``, each after those that it reads, and ``output`` are JSON objects of the format. ``more``: the texts
    ``start_marker``, ``end_marker`` and ``when``, where there are any. ``ResourceLimit``: too many variables."""
    if len(variables) > MAX_VARIABLES:
        raise ResourceLimit(
            f"{source}: the model needs {len(variables)} variables; a model file holds at most {MAX_VARIABLES}"
        )
    document = model(name, description, alphabet, variables, output, **more)
    return loads(dumps(document), f"{source} (as imported)", source.parent)


def lookup(name: str, values: Sequence[int]) -> str:
    """``values[name]`` as the text of an expression, in parentheses where it has an operator: a balanced tree of
    comparisons over the runs of equal values, of logarithmic height. ``name`` has the values 0 .. len(values)-1."""
    starts = [at for at, value in enumerate(values) if at == 0 or values[at - 1] != value]
    return _tree(name, values, starts)


def _tree(name: str, values: Sequence[int], starts: list[int]) -> str:
    if len(starts) == 1:
        return str(values[starts[0]])
    middle = len(starts) // 2
    low, high = _tree(name, values, starts[:middle]), _tree(name, values, starts[middle:])
    return f"({low} if {name} < {starts[middle]} else {high})"


def shape_of(model: Model) -> str:
    """The depth of a model and its heads by depth in words: ``L = 2, heads by depth: 1, 3; 7 maps``."""
    depth = model.depths
    heads = Counter(depth[v.name] for v in model.variables if isinstance(v, Head))
    layers = ", ".join(f"{heads[d]}" for d in sorted(heads)) or "none"
    maps = len(model.variables) - heads.total()
    return f"L = {depth[model.output.variable]}, heads by depth: {layers}; {maps} maps"
