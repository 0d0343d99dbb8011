"""The registry: what the fuzzer needs to know of a kind of proof, and every kind under its name."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from numpy.random import Generator, default_rng

Document = dict[str, Any]
Verdict = Literal["true", "false", "undecided"]


@dataclass(frozen=True)
class Trial:
    """The bytes of a model and a proof, and of the tensor files beside the model."""

    model: bytes
    proof: bytes
    files: tuple[tuple[str, bytes], ...] = ()

    def documents(self) -> tuple[Document, Document]:
        """Both files, read anew, to be changed at will."""
        return json.loads(self.model), json.loads(self.proof)


Changed = tuple[Document, Document] | None
"""A pair of documents; None where an operator does not apply."""
Operator = Callable[[Generator, Document, Document, Trial], Changed]
"""Changes a pair of documents, in place or into others; the trial is another original."""


@dataclass(frozen=True)
class Kind:
    """A kind of proof.

    `original` makes a random small pair that the engine calls proved, `mutant` changes one of a pool, and `judge` says
    by brute force whether what a trial claims is true of its model. `elaborated`: the verdict by an elaborated proof is
    compared, too. `suffix` is how a model file's name ends. `each`: mutants of an original, more where making one takes
    long.
    """

    name: str
    original: Callable[[Generator], Trial]
    mutant: Callable[[Generator, Sequence[Trial]], Trial]
    judge: Callable[[Trial], Verdict]
    elaborated: bool = False
    suffix: str = ".json"
    each: int = 125


def sealed(model: Document | bytes, proof: Document, files: tuple[tuple[str, bytes], ...] = ()) -> Trial:
    """The trial with the model's digest put right, wherever the proof names a model."""
    data = model if isinstance(model, bytes) else json.dumps(model).encode()
    for part in (proof, proof.get("certificate")) if isinstance(proof, dict) else ():
        if isinstance(part, dict) and isinstance(part.get("model"), dict):
            part["model"]["sha256"] = sha256(data).hexdigest()
    return Trial(data, json.dumps(proof).encode(), files)


@cache
def kinds() -> dict[str, Kind]:
    """Every kind by its name. To add one: a module with `KINDS`, a list, named here."""
    from tests.fuzzing import all_lengths, bounds, certificates, every_length, refutations, soft, verdicts

    modules: list[Any] = [certificates, refutations, bounds, all_lengths, soft, verdicts, every_length]
    return {kind.name: kind for module in modules for kind in module.KINDS}


@cache
def originals(name: str) -> tuple[Trial, Trial]:
    """Two random pairs of a kind. Tests share them: making them takes as long as trying all their mutants."""
    rng = default_rng(1)
    return kinds()[name].original(rng), kinds()[name].original(rng)


def write(trial: Trial, folder: Path, suffix: str = ".json") -> None:
    """The files of a trial, `m` and `c`, and the tensor files under the names that the model has for them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"m{suffix}").write_bytes(trial.model)
    (folder / "c.json").write_bytes(trial.proof)
    for name, content in trial.files:
        (folder / name).write_bytes(content)


def read(folder: Path) -> Trial:
    """A trial that was written."""
    model = next(path for path in sorted(folder.iterdir()) if path.stem == "m")
    others = [path for path in sorted(folder.iterdir()) if path.name not in (model.name, "c.json", "wrong.txt")]
    files = tuple((path.name, path.read_bytes()) for path in others)
    return Trial(model.read_bytes(), (folder / "c.json").read_bytes(), files)
