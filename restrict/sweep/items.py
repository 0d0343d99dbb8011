"""One item of a sweep, and its row: what the engine finds, or why it does not."""

import hashlib
import json
import time
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from restrict.base.errors import InternalError, RestrictError, UsageError, quote
from restrict.base.groups import Row
from restrict.model.arguments import as_written
from restrict.sweep.said import certified, refuted

DECIDE_SECONDS, LONGEST = 600.0, 4096
"""What a trained model gets where the spec has no ``time``, and up to which length a wrong word is looked for."""
OUT_OF_MEMORY = "out of memory; try a smaller n or fewer jobs"


@dataclass(frozen=True)
class Item:
    """What one row is about. ``model`` is the text of the spec, ``path`` the file it names, where it names one; ``n``
    is 0 for every length; the other fields are the arguments of ``certify`` and ``refute``. ``parameters`` are the
    grid's other axes, for the row."""

    task: str
    model: str
    path: str | None
    n: int
    target: str | int = "last"
    c: int | None = None
    free: str | None = None
    method: str = "auto"
    seed: int = 0
    language: str | None = None
    time: float | None = None
    exact: bool = False
    parameters: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def row(self) -> Row:
        """The part of the row that is known before: the identity and the arguments."""
        named: Row = {name: getattr(self, name) for name in ARGUMENTS}
        text = json.dumps([named, self.parameters], sort_keys=True)
        return {"id": hashlib.sha256(text.encode()).hexdigest()[:20], **named, **dict(self.parameters)}

    @property
    def identity(self) -> str:
        """What makes two items the same: the arguments, not the place of the file."""
        return str(self.row["id"])


ARGUMENTS = tuple(f.name for f in fields(Item) if f.name not in ("path", "parameters"))
"""What a grid may say of an item, besides its own axes."""


@dataclass(frozen=True)
class Outcome:
    """A row, and the files that belong to it, by name: the model's and the certificate's."""

    row: Row
    files: dict[str, bytes] = field(default_factory=dict)


def work(item: Item) -> Outcome:
    """Do one item. Only Ctrl-C raises: an error of the engine becomes part of the row. Result: the row, ``ok`` true or
    false, and its files. Cost: that of ``certify`` or ``refute``, and a check."""
    start = time.perf_counter()
    try:
        found = {"certify": _certified, "refute": _refuted, "verify": _verified}[item.task](item)
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

    model, where, files = _model(item)
    target: Any = item.target
    method: Any = item.method
    free = None if item.free is None else as_written(item.free)
    found = certify(model, item.n, target=target, c=item.c, free=free, method=method, seed=item.seed, time=item.time)
    if found.provenance.get("stopped") == "interrupted":
        raise KeyboardInterrupt  # the engine returns its best; a row must not depend on when Ctrl-C came
    row = {"ok": True} | certified(found)
    return _checked(item, found, row, (model, where, files))


def _checked(item: Item, found: Any, row: Row, made: tuple[Any, str, dict[str, bytes]]) -> Outcome:
    """The row of a certificate or refutation with what the check says, and its file."""
    from restrict.elaboration.check import check

    model, where, files = made
    start = time.perf_counter()
    row["verified"] = check(model, found, fast=True) if getattr(found, "checkable", True) else None
    row |= {"check_seconds": round(time.perf_counter() - start, 4), "provenance": dict(found.provenance)}
    row |= {"model_file": where, "model_digest": model.digest}
    return _kept(item, row, files, found.to_bytes())


def _kept(item: Item, row: Row, files: dict[str, bytes], certificate: bytes) -> Outcome:
    """A row with its certificate."""
    name = f"{item.identity}.cert.json"
    return Outcome(row | {"certificate": name}, files | {name: certificate})


def _refuted(item: Item) -> Outcome:
    from restrict.certificate.refutation import Refutation
    from restrict.corollary2.refute import refute

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
    row = {"ok": True} | refuted(found)
    return _checked(item, found, row, (model, where, files))


def _verified(item: Item) -> Outcome:
    """The row: ``outcome`` is right, wrong or open; a certificate goes with what is proved."""
    trained = item.path is not None and item.path.endswith(".safetensors")
    return _trained(item) if trained else _every_length(item)


def _every_length(item: Item) -> Outcome:
    """A hard-attention model."""
    from restrict.all_lengths.evidence import Proved
    from restrict.all_lengths.verify import verify

    model, where, files = _model(item)
    if item.n or item.language is None:
        raise UsageError('a hard-attention model is verified at every length: n = "all", and a language')
    found = verify(model, item.language)
    row: Row = {"ok": True, "outcome": "right" if isinstance(found, Proved) else "wrong"}
    if not isinstance(found, Proved):
        row["word"] = " ".join(found.difference.word)
    row |= {"model_file": where, "model_digest": model.digest, "verified": found.line}
    return (
        Outcome(row | {"reason": found.reason}, files) if found.proof is None else _kept(item, row, files, found.proof)
    )


def _trained(item: Item) -> Outcome:
    from restrict.all_lengths.verify import named
    from restrict.soft.trained.confirm import confirmed
    from restrict.soft.trained.decide import verify_trained
    from restrict.soft.trained.every_length import verify_every_length
    from restrict.soft.trained.graph import dfa_of, graph_of, task_graph
    from restrict.soft.trained.model import load

    model = load(Path(str(item.path)))
    spec = item.language or "task"
    graph = task_graph(model) if item.language is None else graph_of(model, dfa_of(named(item.language), model))
    most = DECIDE_SECONDS if item.time is None else item.time
    found: Any
    if item.n:
        found = verify_trained(model, graph, item.n, language=spec, seconds=most)
    else:
        found = verify_every_length(model, graph, longest=LONGEST, language=spec, seconds=most)
    if found.stopped == "interrupted":
        raise KeyboardInterrupt
    found, line = confirmed(found, "certificate")
    row: Row = {"ok": True, "outcome": found.status, "upto": found.upto,
                "model_file": item.path, "model_digest": model.sha256, "verified": line}  # fmt: skip
    if found.wrong is not None:
        row["word"] = " ".join(model.symbols[s] for s in found.wrong.word)
    return _kept(item, row, {}, found.to_bytes()) if found.proves else Outcome(row)


def _model(item: Item) -> tuple[Any, str, dict[str, bytes]]:
    """The model, the file that a re-check finds it in, and that file's content where it has to be written. A generator
    makes models with their output at the last position; for another target it is put at every position."""
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
