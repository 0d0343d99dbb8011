"""Verify a pair of files: ``main`` for the command line, ``verify`` for bytes in memory (docs/checker.md)."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from .account import Meter, Place, Reject, Task, short
from .read import JSON_BYTES, read_file, read_json

USAGE = "usage: python -m restrict.checker MODEL CERTIFICATE [PROOF] [--limit STEPS]"
STANDARD_INPUT = "-"
DEFAULT_LIMIT = 2_000_000_000
CERTIFICATE = "restrict-certificate/1"
PROOFS = {
    CERTIFICATE: "one_length",
    "restrict-refutation/1": "one_length",
    "restrict-automaton/1": "all_lengths",
    "restrict-lower-bound/1": "one_length",
    "restrict-soft-certificate/1": "soft",
    "restrict-soft-verdict/1": "verdict",
    "restrict-soft-verdict/2": "verdict_second",
    "restrict-soft-every-length/1": "verdict_every",
}
"""The module of this package with ``verify(task)`` for each format of a proof."""
KERNEL = b"restrict-kernel/1"
"""How a proof for the kernel begins; the model is then a `restrict-program/1`."""
ELABORATOR = Path(__file__).parent.parent / "elaboration" / "child.py"
"""The program that writes a proof, where this folder is part of the package. Nothing that it writes is believed."""
OUT_OF_MEMORY = b"restrict.checker: out of memory or stack\n"


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector: there are no cycles in what is read, and millions of lists to look through."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


@uncollected()
def verify(
    model_bytes: bytes,
    certificate_bytes: bytes,
    *,
    folder: str | Path = ".",
    model_name: str = "model",
    certificate_name: str = "certificate",
    limit: int = DEFAULT_LIMIT,
    proof: Callable[..., bytes] | None = None,
) -> str:
    """The success line, if the certificate or refutation proves its claim about the model; raises ``Reject`` in every
    other case.

    ``folder`` holds the model's safetensors files, ``limit`` is the largest number of steps. ``proof`` is asked for the
    bytes of an elaborated proof, where the claim is about one length (``one_length.Prover``). The cost is at most
    about half a microsecond for each step and 2 GiB of memory. Source: docs/trusted-base.md.
    """
    top, meter = Place(certificate_name), Meter(limit)
    if certificate_bytes.startswith(KERNEL):
        kernel = import_module(".proof", __package__)
        return str(kernel.check(model_bytes, certificate_bytes, (Place(model_name), top), meter).line_of_success())
    document = read_json(certificate_bytes, top, meter)
    named = document.get("format") if isinstance(document, dict) else None
    name = PROOFS.get(named if isinstance(named, str) else "", PROOFS[CERTIFICATE])
    task = Task(document, top, model_bytes, Place(model_name), Path(folder), meter)
    found = import_module(f".{name}", __package__)
    return str(found.verify(task, proof) if name == PROOFS[CERTIFICATE] else found.verify(task))


def elaborated(model: bytes, certificate: bytes, folder: Path, names: Sequence[str], limit: int) -> bytes:
    """The proof, written by another process; its reason, in its words, where it finds none."""
    if __package__ != "restrict.checker" or not ELABORATOR.is_file():
        raise Reject(2, f"{names[1]}: no proof is given; `restrict elaborate MODEL CERTIFICATE -o PROOF` writes one")
    command = [sys.executable, str(ELABORATOR), str(folder), *names, str(limit), str(len(model))]
    done = subprocess.run(command, input=model + certificate, capture_output=True, check=False)
    if done.returncode == 0:
        return done.stdout
    reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    raise Reject(done.returncode if done.returncode in (3, 4, 5) else 5, reason or f"{names[1]}: no proof was found")


def arguments(argv: Sequence[str]) -> tuple[list[str], int]:
    """The two or three paths and the limit in steps; anything else is a usage error."""
    paths, limit, rest = [], DEFAULT_LIMIT, iter(argv)
    for argument in rest:
        if argument == "--limit":
            steps = next(rest, "")
            if not re.fullmatch("[0-9]{1,18}", steps):
                raise Reject(2, USAGE + " (STEPS is a number of at most 18 digits)")
            limit = int(steps)
        elif argument.startswith("-") and argument != STANDARD_INPUT:
            raise Reject(2, f"{USAGE} (unknown option {short(argument)})")
        else:
            paths.append(argument)
    if len(paths) not in (2, 3):
        raise Reject(2, f"{USAGE} ({len(paths)} files given)")
    if paths.count(STANDARD_INPUT) > 1:
        raise Reject(2, f"{USAGE} (standard input can be read only once)")
    return paths, limit


def named(path: str) -> Path:
    """The file of an argument: standard input for ``-``."""
    return Path("/dev/stdin" if path == STANDARD_INPUT else path)


def check_files(argv: Sequence[str]) -> str:
    """Read and verify the files that the arguments name; the line that says so."""
    paths, limit = arguments(argv)
    names = [path if len(path) <= 300 else "..." + path[-297:] for path in paths]
    model, certificate, *proofs = (
        read_file(named(path), Place(name), JSON_BYTES) for path, name in zip(paths, names, strict=True)
    )
    folder = Path(paths[0]).parent if Path(paths[0]).is_file() else Path()  # from a pipe: the working folder

    def proof(*_: object) -> bytes:
        """The third file; or what the elaborator makes of the first two."""
        return proofs[0] if proofs else elaborated(model, certificate, folder, names, limit)

    return verify(
        model, certificate, folder=folder, model_name=names[0], certificate_name=names[1], limit=limit, proof=proof
    )


def say(stream: Any, text: str) -> bool:
    """Write one line of printable ASCII; False if it did not arrive."""
    text = text.encode("ascii", "backslashreplace").decode()
    line = re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", text)
    try:
        stream.write(line + "\n")
        stream.flush()
    except (AttributeError, OSError, ValueError):
        return False
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Check the files named by ``argv``; returns the exit code (docs/checker.md)."""
    try:
        line = check_files(sys.argv[1:] if argv is None else argv)
        if say(sys.stdout, line):
            return 0
        # Nobody has read the line: no success. A closed pipe must not be flushed again at exit, with a traceback.
        say(sys.stderr, "restrict.checker: cannot write to standard output")
        with suppress(AttributeError, OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except Reject as reject:
        say(sys.stderr, str(reject))
        return reject.code
    except KeyboardInterrupt:
        say(sys.stderr, "restrict.checker: interrupted")
        return 130
    except (MemoryError, RecursionError, SystemError) as error:
        # The frames hold what fills the memory. Nothing is made here: the line was there before.
        error.__traceback__ = None
        os.write(2, OUT_OF_MEMORY)
        return 5
