"""Hands an elaborated proof to `restrict-verified`, the checker that is proved in Rocq (docs/proof.md). That program
says that the proof is right, and what it concludes. That this is what the user's file claims is compared here, by the
functions that compare it for the Python kernel; no line of the proof is checked twice."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

import restrict.checker
from restrict.base.errors import OF_CODE, UsageError
from restrict.base.strictjson import translated
from restrict.checker.one_length import line_of
from restrict.elaboration.make import Elaborated, Elaboration

NAME = "restrict-verified"
BUILT = Path(restrict.checker.__file__).parent / "rocq" / NAME
"""Where `make` puts the program in a clone."""
MISSING = (
    f"{NAME} is neither on the PATH nor built; `make -C restrict/checker/rocq` builds it in a clone "
    "(Debian: coq ocaml ocaml-findlib libzarith-ocaml-dev)"
)
MOST_STEPS = 10**18 - 1
"""The program reads limits of at most 18 digits."""


class ProofContext(NamedTuple):
    """A context of the proof, from the words of its line."""

    runs: list[int]
    sets: list[set[int]]


def program() -> Path:
    """The program on the PATH, else in a clone."""
    found = shutil.which(NAME)
    if found is None and not BUILT.is_file():
        raise UsageError(MISSING)
    return Path(found or BUILT).resolve()


def verdict(made: Elaborated, limit: int | None) -> str:
    """Run the program on the two files; its line of success, or its reason as an error of its exit code."""
    with TemporaryDirectory() as folder:
        for name, content in (("program", made.program), ("proof", made.proof)):
            Path(folder, name).write_bytes(content)
        more = [] if limit is None else ["--limit", str(min(limit, MOST_STEPS))]
        done = subprocess.run(
            [program(), "program", "proof", *more], cwd=folder, capture_output=True, text=True, check=False
        )
    line = done.stdout.removesuffix("\n")
    if done.returncode == 0 and line.startswith("s VERIFIED ") and line.endswith(f" {made.digest}"):
        return line
    if done.returncode == 130:
        raise KeyboardInterrupt
    reason = done.stderr.strip() or f"{NAME}: ended with {done.returncode} and no reason"
    # A signal, for want of memory as a rule, has no exit code of its own.
    raise OF_CODE.get(done.returncode if done.returncode >= 0 else 5, RuntimeError)(reason)


def concluded(line: str, proof: bytes) -> Any:
    """What the proof concludes, by the line of success, with the context and the runs that the claim names."""
    said = dict(part.split("=", 1) for part in line.split() if "=" in part)
    words = [text.split() for text in proof.decode("ascii").splitlines()]
    kind, *numbers = next(line for line in words if line[0] in ("claim", "all", "unforced"))
    sets = [list(map(int, rest)) for name, *rest in words if name == "set"]
    runs = [(0, int(said["n"])), *(tuple(map(int, rest)) for name, *rest in words if name == "runs")]
    triples = [list(map(int, line[2:])) for line in words if line[0] == "box"]
    boxes = [
        ProofContext([at for k, at in enumerate(t) if k % 3 < 2], [set(sets[number]) for number in t[2::3]])
        for t in triples
    ]
    found = SimpleNamespace(
        kind="refutes" if "refutes" in said else kind,
        at=-1 if said["target"] == "all" else int(said["target"]),
        context=int(numbers[0]) if kind != "unforced" else -1,
        where=int(numbers[5]) if kind == "claim" else -1,
        values=[int(value) for value in said.get("values", "").split(",") if value],
        c=int(said.get("c", 0)),
        labels=[tuple(map(int, pair.split(":"))) for pair in said.get("labels", "").split(",") if pair],
    )
    return SimpleNamespace(found=found, kernel=SimpleNamespace(contexts=boxes, runs=runs))


def check_verified(found: Elaboration, limit: int | None = None) -> str:
    """The line ``s VERIFIED ...`` of the user's file, where `restrict-verified` decides on an elaborated proof in
    ``limit`` steps. Cost: docs/proof.md, and a temporary folder with the two files."""
    line = verdict(found.made, limit)
    with translated(found.name):
        proof = concluded(line, found.made.proof)
        proof.program = SimpleNamespace(domains=[labels_of(found.made.program)])
        return line_of(found.claim, proof)


def labels_of(lines: bytes) -> int:
    """How many labels the program has: the domain of its last line."""
    return int(lines.splitlines()[-1].split()[1])
