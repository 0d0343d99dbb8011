"""The description of a sweep: a TOML file with grids, each the product of its axes. A grid says for every key which
values it takes: one value, a list, or a range ``{from = 0, to = 9}`` (``step``, or ``factor`` for a geometric one; both
ends are included). ``model`` is a file (from the spec's folder), a built-in model or a generator, and may have fields
such as ``{layers}``, which are axes of the grid, too."""

import itertools
import math
import string
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from restrict.base.errors import ModelError, ResourceLimit, UsageError, quote
from restrict.base.files import read_bytes
from restrict.base.groups import RESULTS
from restrict.model.arguments import the_share
from restrict.sweep.items import ARGUMENTS, Item

TASKS = ("certify", "refute", "verify")
EVERY = "all"
"""The length of ``verify`` that stands for all of them."""
METHODS = ("auto", "lemma", "exchange", "repeating")
MAX_ITEMS = 10**6
LONGEST = 10**8
CHOICES: dict[str, tuple[str, ...]] = {"task": TASKS, "method": METHODS}
WHOLE = {"n": (1, LONGEST), "c": (0, LONGEST), "seed": (0, 2**63 - 1)}
"""Axes that are integers, and their range."""


@dataclass(frozen=True)
class Spec:
    """A sweep: its items in order, without repeats, and the file that it came from."""

    path: Path
    items: tuple[Item, ...]


def read_spec(path: str | Path) -> Spec:
    """The sweep that a file describes. ``path``: a TOML file (docs/scale.md). Result: the sweep, at most
    :data:`MAX_ITEMS` items."""
    path = Path(path)
    try:
        document = tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: this is no TOML: {error}") from None
    extra = sorted(set(document) - {"grid", "name"})
    if extra:
        raise ModelError(f"{path}: {quote(extra[0])} is not known; a sweep has a name and tables [[grid]]")
    grids = document.get("grid")
    if not isinstance(grids, list) or not grids or not all(isinstance(g, dict) for g in grids):
        raise ModelError(f"{path}: there is no table [[grid]]")
    made: dict[Item, None] = {}
    for number, grid in enumerate(grids, start=1):
        for item in Grid(f"{path}: grid {number}", grid, path.parent).items():
            made[item] = None
            if len(made) > MAX_ITEMS:
                raise ResourceLimit(f"{path}: more than {MAX_ITEMS} items; make several sweeps of it")
    return Spec(path, tuple(made))


@dataclass(frozen=True)
class Grid:
    """One table ``[[grid]]``; ``place`` names it in messages, ``folder`` is what files are found from."""

    place: str
    table: dict[str, Any]
    folder: Path

    def fail(self, key: str, reason: str) -> NoReturn:
        """Refuse the grid: ``ModelError``."""
        raise ModelError(f"{self.place}: {key}: {reason}")

    def items(self) -> Iterator[Item]:
        """The product, axes in the order of the file, the last one running fastest. ``ModelError``: a value that is not
        allowed, or an axis that means nothing; ``ResourceLimit``: too many items."""
        axes = {key: self.values(key, value) for key, value in self.table.items()}
        for needed in ("model", "n"):
            if needed not in axes:
                self.fail(needed, "is missing")
        if math.prod(len(values) for values in axes.values()) > MAX_ITEMS:
            raise ResourceLimit(f"{self.place}: more than {MAX_ITEMS} items; make several sweeps of it")
        fields = {name for model in axes["model"] for name in self.fields(model)}
        for key in axes:
            if key in RESULTS:
                self.fail(key, "is the name of a column of the results")
            if key not in ARGUMENTS and key not in fields:
                self.fail(key, f"is not known ({', '.join(ARGUMENTS)}), and no model has a field {{{key}}}")
        for name in sorted(fields - set(axes)):
            self.fail("model", f"the field {{{name}}} has no axis of this name")
        for point in itertools.product(*axes.values()):
            yield self.item(dict(zip(axes, point, strict=True)))

    def fields(self, model: str) -> set[str]:
        """The names in braces of a model; ``ModelError``: braces that do not hold one."""
        try:
            found = {name for _, name, _, _ in string.Formatter().parse(model) if name is not None}
        except ValueError as error:
            self.fail("model", f"{quote(model)}: {error}")
        if not all(name.isidentifier() for name in found):
            self.fail("model", f"{quote(model)}: a field is a name in braces, such as {{layers}}")
        return found

    def filled(self, model: str, point: dict[str, Any]) -> str:
        """The model with its fields filled in; ``ModelError``: a field asks for a form that its value does not have."""
        try:
            return model.format(**{name: point[name] for name in self.fields(model)})
        except ValueError as error:
            self.fail("model", f"{quote(model)}: {error}")

    def values(self, key: str, value: Any) -> list[Any]:
        """The values of an axis; ``ModelError``: not one value, a list of some, or a range."""
        if isinstance(value, dict):
            value = self.range(key, value)
        found = value if isinstance(value, list) else [value]
        if not found:
            self.fail(key, "has no values")
        for one in found:
            self.check(key, one)
        return found

    def range(self, key: str, table: dict[str, Any]) -> list[int]:
        """The integers of ``{from, to}`` with ``step`` or ``factor``; ``ModelError``: another table."""
        known = {"from", "to", "step", "factor"}
        whole = all(isinstance(v, int) and not isinstance(v, bool) for v in table.values())
        if not {"from", "to"} <= set(table) <= known or not whole or {"step", "factor"} <= set(table):
            self.fail(key, "a range is {from = 0, to = 9}, with step = 1 or factor = 10, all integers")
        low, high, factor = table["from"], table["to"], table.get("factor")
        if factor is None:
            step = table.get("step", 1)
            if step < 1 or (high - low) // step > MAX_ITEMS:
                self.fail(key, "a range needs a step of at least 1 and not too many values")
            return list(range(low, high + 1, step))
        if factor < 2 or low < 1:
            self.fail(key, "a range with a factor starts at 1 or more, and the factor is at least 2")
        return [low * factor**k for k in range(64) if low * factor**k <= high]

    def check(self, key: str, value: Any) -> None:
        """One value of an axis; ``ModelError``: another type, or out of range."""
        if not self.allowed(key, value):
            self.fail(key, f"{quote(value)} is not allowed here{HINTS.get(key, '')}")

    def allowed(self, key: str, value: Any) -> bool:
        """Whether an axis may have this value."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        if key in CHOICES:
            return value in CHOICES[key]
        if key == "n" and value == EVERY:
            return self.table.get("task") == "verify"
        if key in WHOLE:
            return whole and WHOLE[key][0] <= value <= WHOLE[key][1]
        if key == "target":
            return value in ("last", "all") or (whole and 0 <= value < LONGEST)
        if key == "free":
            return self.share(value)
        if key == "time":
            return (whole or isinstance(value, float)) and 0 <= value < math.inf
        if key == "exact":
            return isinstance(value, bool)
        return (isinstance(value, str) and value != "") or (whole and key not in ("model", "language"))

    @staticmethod
    def share(value: Any) -> bool:
        """Whether this is a fraction between 0 and 1."""
        try:
            the_share("free", value if isinstance(value, str) else repr(value))
        except UsageError:
            return False
        return not isinstance(value, bool)

    def item(self, point: dict[str, Any]) -> Item:
        """The item at a point of the grid; ``ModelError``: keys that do not go together."""
        task = point.get("task", "refute" if "language" in point else "certify")
        if task != "verify" and (task == "refute") != ("language" in point):
            self.fail("language", "is for the tasks refute and verify, and needed for refute")
        for key in NOT_FOR[task]:
            if key in point:
                self.fail(key, f"is not for the task {task}")
        if "c" in point and "free" in point:
            self.fail("free", "give c or free, not both")
        model = self.filled(point["model"], point)
        path = str((self.folder / model).resolve()) if _is_file(self.folder / model) else None
        given = {k: MADE.get(k, lambda value: value)(v) for k, v in point.items() if k in ARGUMENTS}
        parameters = tuple((k, v) for k, v in point.items() if k not in ARGUMENTS)
        return Item(**given | {"task": task, "model": model, "path": path, "parameters": parameters})


MADE: dict[str, Callable[[Any], Any]] = {
    "free": lambda x: x if isinstance(x, str) else repr(x),
    "time": float,
    "n": lambda n: 0 if n == EVERY else n,
}
"""What becomes of the values of an axis."""
NOT_FOR = {"certify": ("exact",), "refute": ("free", "method"), "verify": ("target", "c", "free", "method", "exact")}
"""Axes that a task does not have."""
HINTS = {
    "task": f" ({', '.join(TASKS)})",
    "n": ' (a length, at least 1, or "all" for the task verify)',
    "target": " (last, all or a position)",
    "free": " (a fraction between 0 and 1)",
    "method": f" ({', '.join(METHODS)})",
    "time": " (seconds)",
}


def _is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have is not there."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
