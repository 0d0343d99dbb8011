"""One item of a sweep, and its row: what the engine finds, or why it does not."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from restrict.base.errors import InternalError, RestrictError, UsageError, quote
from restrict.model.arguments import as_written

Row = dict[str, Any]
RESULTS = (
    "id", "ok", "error", "exit_code", "seconds", "fixed_count", "free_count", "free_fraction", "depends", "cone_size",
    "verified", "check_seconds", "provenance", "model_file", "model_digest", "certificate", "outcome", "reason",
    "label", "optimum",
)  # fmt: skip
"""Columns that a row adds; no parameter of a grid may have such a name."""
OUT_OF_MEMORY = "out of memory; try a smaller n or fewer jobs"


@dataclass(frozen=True)
class Item:
    """What one row is about.

    ``model`` is the text of the spec, ``path`` the file it names, where it names one; the other fields are the
    arguments of ``certify`` and ``refute``. ``parameters`` are the grid's other axes, for the row.
    """

    task: str
    model: str
    path: str | None
    n: int
    target: str | int
    c: int | None
    free: str | None
    method: str
    seed: int
    language: str | None
    time: float | None
    exact: bool
    parameters: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def row(self) -> Row:
        """The part of the row that is known before: the identity and the arguments."""
        named: Row = {
            "task": self.task, "model": self.model, "n": self.n, "target": self.target, "c": self.c, "free": self.free,
            "method": self.method, "seed": self.seed, "language": self.language, "time": self.time,
            "exact": self.exact,
        }  # fmt: skip
        text = json.dumps([named, self.parameters], sort_keys=True)
        return {"id": hashlib.sha256(text.encode()).hexdigest()[:20], **named, **dict(self.parameters)}

    @property
    def identity(self) -> str:
        """What makes two items the same: the arguments, not the place of the file."""
        return str(self.row["id"])


@dataclass(frozen=True)
class Outcome:
    """A row, and the files that belong to it, by name: the model's and the certificate's."""

    row: Row
    files: dict[str, bytes] = field(default_factory=dict)


def work(item: Item) -> Outcome:
    """Do one item. Only Ctrl-C raises: an error of the engine becomes part of the row.

    Result: the row, ``ok`` true or false, and its files. Cost: that of ``certify`` or ``refute``, and a check.
    """
    start = time.perf_counter()
    try:
        found = _refuted(item) if item.task == "refute" else _certified(item)
    except RestrictError as error:
        found = Outcome({"ok": False, "error": str(error), "exit_code": error.exit_code})
    except MemoryError:
        found = Outcome({"ok": False, "error": OUT_OF_MEMORY, "exit_code": 5})
    except Exception as error:  # a bug must not end the sweep; the row says which input shows it
        message = f"internal: {type(error).__name__}: {error}"
        found = Outcome({"ok": False, "error": message, "exit_code": InternalError.exit_code})
    seconds = round(time.perf_counter() - start, 4)
    return Outcome(item.row | found.row | {"seconds": seconds}, found.files)


def lost(item: Item, reason: str) -> Outcome:
    """The row of an item whose process was killed."""
    return Outcome(item.row | {"ok": False, "error": reason, "exit_code": 5, "seconds": None})


def warm_up() -> str:
    """Compile, or load, what every item needs, so that parallel workers find it in the cache; says where it ran."""
    from restrict.certification import certify
    from restrict.elaboration.check import check
    from restrict.kernels.plain import always_compiled
    from restrict.model.source import load

    with always_compiled():
        model = load("random:layers=2,heads=1,states=2")
        check(model, certify(model, 12), fast=True)
    return __file__


def _certified(item: Item) -> Outcome:
    from restrict.certification import certify
    from restrict.elaboration.check import check

    model, where, files = _model(item)
    target: Any = item.target
    method: Any = item.method
    free = None if item.free is None else as_written(item.free)
    found = certify(model, item.n, target=target, c=item.c, free=free, method=method, seed=item.seed, time=item.time)
    if found.provenance.get("stopped") == "interrupted":
        raise KeyboardInterrupt  # the engine returns its best; a row must not depend on when Ctrl-C came
    start = time.perf_counter()
    name = f"{item.identity}.cert.json"
    row = {
        "ok": True,
        "fixed_count": len(found.restriction.fixed),
        "free_count": found.free,
        "free_fraction": found.free / max(1, found.free + len(found.restriction.fixed)),
        "depends": found.c,
        "cone_size": found.cone_size,
        "verified": check(model, found, fast=True),
        "check_seconds": round(time.perf_counter() - start, 4),
        "provenance": dict(found.provenance),
        "model_file": where,
        "model_digest": model.digest,
        "certificate": name,
    }
    return Outcome(row, files | {name: found.to_bytes()})


def _refuted(item: Item) -> Outcome:
    from restrict.certificate.refutation import Refutation
    from restrict.corollary2.refute import refute
    from restrict.elaboration.check import check

    model, where, files = _model(item)
    target: Any = item.target
    assert item.language is not None
    found = refute(
        model, item.language, item.n, target=target, c=item.c or 0, seed=item.seed, time=item.time, exact=item.exact
    )
    row: Row
    if not isinstance(found, Refutation):
        kind = {"Immune": "immune", "NoRefutation": "none"}[type(found).__name__]
        row = {"ok": True, "outcome": kind, "reason": found.reason, "model_file": where, "model_digest": model.digest}
        return Outcome(row, files)
    start = time.perf_counter()
    row = {
        "ok": True, "outcome": "refuted", "free_count": found.free, "depends": found.certificate.c,
        "fixed_count": len(found.certificate.restriction.fixed), "label": found.label, "optimum": found.optimum,
        "verified": check(model, found, fast=True) if found.checkable else None,
        "check_seconds": round(time.perf_counter() - start, 4), "provenance": dict(found.provenance),
        "model_file": where, "model_digest": model.digest, "certificate": f"{item.identity}.cert.json",
    }  # fmt: skip
    return Outcome(row, files | {row["certificate"]: found.to_bytes()})


def _model(item: Item) -> tuple[Any, str, dict[str, bytes]]:
    """The model, the file that a re-check finds it in, and that file's content where it has to be written.

    A generator makes models with their output at the last position; for another target it is put at every position.
    """
    from restrict.model.fileformat import dumps, load, loads
    from restrict.model.source import GENERATORS, document_bytes

    if item.path is not None:
        return load(Path(item.path)), item.path, {}
    if item.model.partition(":")[0] not in GENERATORS:
        raise UsageError(f"{quote(item.model)} is neither a file, from the spec's folder, nor a built-in model")
    content = document_bytes(item.model)
    document = json.loads(content)
    if item.target != "last" and document["output"]["position"] == "last":
        document["output"]["position"] = "every"
        document["name"] += ",position=every"
        content = dumps(document)
    name = f"model-{hashlib.sha256(content).hexdigest()[:20]}.json"
    return loads(content, item.model), name, {name: content}
