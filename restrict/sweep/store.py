"""The rows of a sweep: an append-only file, one JSON object per line, which survives a kill at any moment. Invariants:
a line is written by one system call, after the files that it names; what a kill leaves of a last line is cut off before
the next one is written; one process at a time writes (a lock on the file). Where an item has two rows (after ``retry``)
the later one counts."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from restrict.base.errors import UsageError
from restrict.base.groups import Row
from restrict.sweep.items import Outcome

SYNC_SECONDS = 2.0
"""How often rows are forced to the disk; a crash of the machine (not a kill) can lose those since."""


def read_rows(path: Path) -> tuple[dict[str, Row], int]:
    """The rows of a file by their identity, and how many bytes of it are whole lines. ``path``: a file of rows, or one
    that is not there yet."""
    try:
        content = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise UsageError(f"{path}: cannot read: {error.strerror or error}") from None
    whole = content.rfind(b"\n") + 1
    rows: dict[str, Row] = {}
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            row = json.loads(line)
            rows[row["id"]] = row
            if not isinstance(row["ok"], bool) or not isinstance(row["id"], str):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(f"{path}: line {number} is no row of a sweep; choose another -o") from None
    return rows, whole


@dataclass
class Store:
    """An open file of rows; ``folder`` takes the files that they name."""

    path: Path
    folder: Path
    rows: dict[str, Row]
    descriptor: int
    synced: float = field(default_factory=time.monotonic)

    def keep(self, outcome: Outcome) -> None:
        """Write the files of a row, then the row."""
        for name, content in outcome.files.items():
            _put(self.folder / name, content)
        row = {k: self._place(v) if k in ("certificate", "model_file") else v for k, v in outcome.row.items()}
        line = json.dumps(row).encode() + b"\n"
        if os.write(self.descriptor, line) != len(line):
            raise OSError(28, "no space left for a row", str(self.path))
        self.rows[row["id"]] = row
        if time.monotonic() - self.synced > SYNC_SECONDS:
            os.fsync(self.descriptor)
            self.synced = time.monotonic()

    def _place(self, name: str) -> str:
        """A file as a row names it: from the folder of the rows, or absolute."""
        return name if os.path.isabs(name) else f"{self.folder.name}/{name}"


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """Open a file of rows to go on with it. ``path``: the file; certificates go to the folder beside it with
    ``.certificates`` added to its name. Yields the store, with the rows that are there."""
    folder = path.with_name(path.name + ".certificates")
    try:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        raise UsageError(f"{error.filename or path}: cannot write: {error.strerror or error}") from None
    try:
        _lock(descriptor, path)
        rows, whole = read_rows(path)
        os.ftruncate(descriptor, whole)
        for part in folder.glob("*.part"):  # of a worker that was killed while it wrote
            part.unlink(missing_ok=True)
        yield Store(path, folder, rows, descriptor)
        os.fsync(descriptor)
    except OSError as error:
        raise UsageError(f"{error.filename or path}: {error.strerror or error}") from None
    finally:
        os.close(descriptor)
        with suppress(OSError):
            folder.rmdir()  # where nothing was written into it


def _put(path: Path, content: bytes) -> None:
    """A file that is there whole or not at all, whoever is killed. Not synced: that would be most of a short item."""
    if path.name.startswith("model-") and path.exists():  # its name says what is in it
        return
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"{path}: another sweep is at work on this file; wait for it or choose another -o") from None
