"""Files, read within a limit and written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from restrict.errors import ModelError, ResourceLimit, UsageError, near_files

MAX_BYTES = 64 * 2**20
"""A larger file is refused."""


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Args:
        path: a regular file, or a link to one.

    Returns:
        The whole content, at most ``MAX_BYTES``.

    Raises:
        UsageError: it cannot be read, or is a folder, a pipe or a device, which might never end.
        ResourceLimit: it is larger than ``MAX_BYTES``.
    """
    try:
        # Without O_NONBLOCK the opening of a pipe waits for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path}: cannot read: it is not a regular file")
            content = file.read(min(status.st_size, MAX_BYTES) + 1)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        near = near_files(str(path)) if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{path}: cannot read: {getattr(error, 'strerror', None) or error}{near}") from None
    if len(content) > MAX_BYTES:
        raise ResourceLimit(f"{path}: the file is larger than {MAX_BYTES >> 20} MiB")
    return content


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """While a file's content is read: every :class:`ModelError` about it begins with the file's name.

    Args:
        path: the file.

    Yields:
        Nothing.

    Raises:
        ModelError: the one raised inside, with the file's name put in front unless it begins with it.
    """
    try:
        yield
    except ModelError as error:
        text = str(error)
        raise ModelError(text if text.startswith(f"{path}:") else f"{path}: {text}") from None


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file: whole, or leave it as it was.

    The content goes to a temporary file beside it, is synced, and takes the name in one step. So after a full disk, a
    kill or a second writer there is the old file or the new one. Devices and pipes are written in place.

    Args:
        path: the file; a link is followed, and an existing file keeps its permissions.
        content: all of its bytes.

    Raises:
        UsageError: it cannot be written.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(path)), content)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot write: {getattr(error, 'strerror', None) or error}") from None


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
