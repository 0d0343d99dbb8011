"""Files, read within a limit and written whole or not at all."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from restrict.base.errors import ModelError, ResourceLimit, UsageError, near_files

MAX_BYTES = 64 * 2**20
"""A larger file is refused."""
PATIENCE = 2.0
"""Seconds to wait for somebody who writes to a pipe."""
STANDARD_INPUT = "-"
"""The name of a file that stands for standard input."""
File = tuple[int, int] | str
"""A file that is there, by device and inode, whatever its names; one that is not, by its resolved path."""


def is_there(text: str) -> bool:
    """Whether there is a file or a pipe of this name (not a folder); ``-``, standard input, is always there."""
    try:
        return text == STANDARD_INPUT or (Path(text).exists() and not Path(text).is_dir())
    except (OSError, ValueError):
        return False


@contextmanager
def refusals(what: str, read: str | None = None) -> Iterator[None]:
    """What the system refuses, a name that no file can have included, as ``UsageError``: ``what`` was not possible, and
    why; of a file to ``read`` that is not there, also the nearest names."""
    try:
        yield
    except UsageError:
        raise
    except (OSError, ValueError) as error:
        near = near_files(read) if read is not None and isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{what}: {getattr(error, 'strerror', None) or error}{near}") from None


def read_bytes(path: Path, regular: bool = False) -> bytes:
    """The bytes of a file, of a pipe, or (for ``-``) of standard input. ``regular``: refuse a pipe or a device, which
    might never end: for files that another file names. Gives the whole content, at most ``MAX_BYTES``."""
    standard = str(path) == STANDARD_INPUT and not regular
    name = "standard input" if standard else str(path)
    with refusals(f"{name}: cannot read", str(path)):
        if regular and not is_regular(path):
            raise UsageError(f"{path}: cannot read: it is not a regular file")
        content = _commands[-1].drained.get(str(path))
        if content is None:
            with open(0 if standard else _opened(path), "rb", closefd=not standard) as file:
                kept = _commands[-1].read(file.fileno(), name)
                content = (b"" if standard else _begun(file.fileno(), name)) + file.read(MAX_BYTES + 1)
            if not kept:
                _commands[-1].drained[str(path)] = content
    if len(content) > MAX_BYTES:
        raise ResourceLimit(f"{name}: the file is larger than {MAX_BYTES >> 20} MiB")
    return content


def _opened(path: Path) -> int:
    """A descriptor for reading; the opening of a pipe does not wait for a writer."""
    return os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))


def _begun(descriptor: int, name: str) -> bytes:
    """The first bytes of a pipe, as soon as somebody writes; nothing of other files. From then on reading waits."""
    first = b""
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        end = monotonic() + PATIENCE
        with suppress(BlockingIOError):  # there is a writer, who has not written yet
            while not (first := os.read(descriptor, 1 << 16)):
                if monotonic() > end:
                    raise UsageError(f"{name}: cannot read: nobody writes to this pipe")
                sleep(0.01)
    os.set_blocking(descriptor, True)
    return first


# ---------------------------------------------------------------- what a command reads and writes


@dataclass
class _Command:
    """The files of one command line. ``drained``: what pipes gave, which cannot be read again."""

    active: bool = False
    inputs: dict[File, str] = field(default_factory=dict)
    outputs: dict[File, str] = field(default_factory=dict)
    drained: dict[str, bytes] = field(default_factory=dict)

    def read(self, descriptor: int, name: str) -> bool:
        """Note an open file that is read; whether it can be read again (or nothing of it needs to be kept)."""
        status = os.fstat(descriptor)
        if self.active and stat.S_ISREG(status.st_mode):
            self.inputs[status.st_dev, status.st_ino] = name
            self._apart((status.st_dev, status.st_ino))
            return descriptor != 0
        return not self.active

    def write(self, path: Path) -> None:
        """Note a file that will be written, or is about to be."""
        if self.active and (path.is_file() or not path.exists()):
            self.outputs[_file(path)] = str(path)
            self._apart(_file(path))

    def _apart(self, file: File) -> None:
        if file in self.inputs and file in self.outputs:
            also = "" if self.inputs[file] == self.outputs[file] else f" ({self.inputs[file]})"
            raise UsageError(
                f"{self.outputs[file]}: this would replace a file that the command reads{also}; write the result "
                "somewhere else"
            )


_commands = [_Command()]
"""The command that is run, last; the first stands for code that uses the package."""


def _file(path: Path) -> File:
    try:
        status = path.stat()
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def is_regular(path: str | Path) -> bool:
    """Whether a path names a regular file, with other files beside it. ``path``: the path; links are followed. Gives
    the answer; ``False`` for standard input, pipes, devices, folders, and what is not there."""
    try:
        return str(path) != STANDARD_INPUT and stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


@contextmanager
def one_command() -> Iterator[None]:
    """While one command line is run: results must not replace what it reads, and what a pipe gave is kept. Yields
    nothing. Inside, :func:`read_bytes` and :func:`write_bytes` raise ``UsageError`` for a file that is both read and
    written, whatever its names (links are followed), and :func:`will_write` does so before the work."""
    _commands.append(_Command(active=True))
    try:
        yield
    finally:
        _commands.pop()


def will_write(path: Path) -> None:
    """Note a file that the command will write, so that reading it is refused at once."""
    _commands[-1].write(Path(path))


def will_read(path: Path) -> None:
    """Note a regular file, if it can be opened, that another reader reads, so that the command does not replace it."""
    with suppress(OSError, ValueError):
        if is_regular(path):
            with open(path, "rb") as file:
                _commands[-1].read(file.fileno(), str(path))


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """While a file's content is read: every :class:`ModelError` about it begins with the file's name."""
    try:
        yield
    except ModelError as error:
        text = str(error)
        raise ModelError(text if text.startswith(f"{path}:") else f"{path}: {text}") from None


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole, or leave it as it was: the content goes to a temporary file beside it, is synced, and takes
    the name in one step, with the permissions of an existing file; a link is followed. Devices and pipes are written in
    place."""
    path = Path(path)
    with refusals(f"{path}: cannot write"):
        _commands[-1].write(path)
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(path)), content)


def _replace(path: Path, content: bytes) -> None:
    """Write a regular file by way of a temporary one, which is removed where that fails."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
            os.fchmod(descriptor, _mode(path))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def _mode(path: Path) -> int:
    """The permissions of the file: what it had, or what a new file gets."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Write the new name to the disk; some file systems cannot sync a folder, and do not need it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
