"""Verify a pair of files: ``main`` for the command line, ``verify`` for bytes in memory (docs/checker.md)."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from .account import Meter, Place, Reject, Task, short
from .read import JSON_BYTES, read_file, read_json

USAGE = "usage: python -m restrict.checker MODEL CERTIFICATE [--limit STEPS]"
STANDARD_INPUT = "-"
DEFAULT_LIMIT = 2_000_000_000
CERTIFICATE = "restrict-certificate/1"
PROOFS = {
    CERTIFICATE: "kernel",
    "restrict-refutation/1": "refutation",
    "restrict-automaton/1": "all_lengths",
    "restrict-lower-bound/1": "lower_bound",
    "restrict-soft-certificate/1": "soft",
    "restrict-soft-verdict/1": "verdict",
    "restrict-soft-every-length/1": "verdict_every",
}
"""The module of this package with ``verify(task)`` for each format of a proof."""
KERNEL = b"restrict-kernel/1"
"""How a proof for the kernel that only checks begins; the model is then a `restrict-program/1`."""
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
) -> str:
    """The success line, if the certificate or refutation proves its claim about the model; raises ``Reject`` in every
    other case.

    ``folder`` holds the model's safetensors files, ``limit`` is the largest number of steps. The cost is at most about
    half a microsecond for each step and 2 GiB of memory. Source: docs/trusted-base.md.
    """
    top, meter = Place(certificate_name), Meter(limit)
    if certificate_bytes.startswith(KERNEL):
        kernel = import_module(".kernel1.proof", __package__)
        return str(kernel.check(model_bytes, certificate_bytes, (Place(model_name), top), meter).line_of_success())
    document = read_json(certificate_bytes, top, meter)
    proof = document.get("format") if isinstance(document, dict) else None
    name = PROOFS.get(proof if isinstance(proof, str) else "", PROOFS[CERTIFICATE])
    task = Task(document, top, model_bytes, Place(model_name), Path(folder), meter)
    return str(import_module(f".{name}", __package__).verify(task))


def arguments(argv: Sequence[str]) -> tuple[str, str, int]:
    """The two paths and the limit in steps; anything else is a usage error."""
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
    if len(paths) != 2:
        raise Reject(2, f"{USAGE} ({len(paths)} files given)")
    if paths[0] == paths[1] == STANDARD_INPUT:
        raise Reject(2, f"{USAGE} (standard input can be read only once)")
    return paths[0], paths[1], limit


def named(path: str) -> Path:
    """The file of an argument: standard input for ``-``."""
    return Path("/dev/stdin" if path == STANDARD_INPUT else path)


def check_files(argv: Sequence[str]) -> str:
    """Read and verify the two files that the arguments name; the line that says so."""
    model, certificate, limit = arguments(argv)
    names = [path if len(path) <= 300 else "..." + path[-297:] for path in (model, certificate)]
    return verify(
        *(read_file(named(p), Place(name), JSON_BYTES) for p, name in zip((model, certificate), names, strict=True)),
        folder=Path(model).parent if Path(model).is_file() else Path(),  # from a pipe: the working folder
        model_name=names[0],
        certificate_name=names[1],
        limit=limit,
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
