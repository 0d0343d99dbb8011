"""Files are written whole or stay what they were, and read without waiting for ever."""

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from restrict.base.errors import ResourceLimit, UsageError
from restrict.base.files import MAX_BYTES, one_command, read_bytes, will_write, write_bytes
from tests.commands import raising

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
@pytest.mark.parametrize("old", [b"old", None])
def test_a_full_disk_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, old: bytes | None
) -> None:
    path = tmp_path / "c.json"
    if old is not None:
        path.write_bytes(old)
    monkeypatch.setattr(os, step, raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    with pytest.raises(UsageError, match=r"c\.json: cannot write: No space left on device"):
        write_bytes(path, b"new")
    assert sorted(tmp_path.iterdir()) == ([path] if old is not None else [])
    assert old is None or path.read_bytes() == old


def test_a_kill_in_the_midst_leaves_the_old_file(tmp_path: Path) -> None:
    """The process dies with the content written and not yet renamed."""
    path = tmp_path / "c.json"
    path.write_bytes(b"old")
    code = (
        "import os, signal, sys; from pathlib import Path; from restrict.base.files import write_bytes\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_bytes(Path(sys.argv[1]), b'new' * 100000)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False)
    assert done.returncode == -9
    assert path.read_bytes() == b"old"


def test_of_many_writers_one_wins_whole(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    contents = [bytes([65 + t]) * 100_000 for t in range(6)]
    threads = [threading.Thread(target=write_bytes, args=(path, content)) for content in contents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            assert path.read_bytes() in contents
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "c.json", tmp_path / "link.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "fresh.json", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "fresh.json").stat().st_mode & 0o777 == 0o640


def test_devices_are_written_in_place() -> None:
    write_bytes(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(UsageError, match="No space left"):
        write_bytes(Path("/dev/full"), b"new")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "none/c.json", "."])
def test_a_name_that_no_file_can_have_is_a_usage_error(tmp_path: Path, name: str) -> None:
    for action in (read_bytes, lambda path: write_bytes(path, b"")):
        with pytest.raises(UsageError, match="cannot"):
            action(tmp_path / name)


def test_a_pipe_or_a_device_that_a_file_names_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(UsageError, match="cannot read"):
            read_bytes(path, regular=True)


def nobody_writes(pipe: Path) -> None:
    """Somebody is waited for, and then no longer."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("restrict.base.files.PATIENCE", 0.1)
        with pytest.raises(UsageError, match="nobody writes to this pipe"):
            read_bytes(pipe)


def test_a_pipe_is_read_up_to_the_limit(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"text",))
    writer.start()
    assert read_bytes(tmp_path / "pipe") == b"text"
    writer.join()
    nobody_writes(tmp_path / "pipe")
    command = f"mkfifo {tmp_path}/late; (sleep 0.1; echo text; sleep 0.1; echo more) > {tmp_path}/late"
    with subprocess.Popen(["bash", "-c", command]):
        while not (tmp_path / "late").exists():
            time.sleep(0.01)
        assert read_bytes(tmp_path / "late") == b"text\nmore\n"
    with pytest.raises(ResourceLimit, match="larger than 64 MiB"):
        read_bytes(Path("/dev/zero"))


def test_what_a_command_reads_is_not_replaced(tmp_path: Path) -> None:
    """Whatever its name is there, and whichever comes first: naming the output, reading, or writing."""
    paths = [tmp_path / name for name in ("file", "link", "hard", "other")]
    paths[0].write_bytes(b"old")
    paths[1].symlink_to(paths[0])
    paths[2].hardlink_to(paths[0])
    for path in paths[:3]:
        with one_command():
            will_write(path)
            with pytest.raises(UsageError, match=f"^{path}: this would replace a file that the command reads"):
                read_bytes(paths[0])
        for action in (will_write, lambda path: write_bytes(path, b"new")):
            with one_command():
                read_bytes(paths[0])
                with pytest.raises(UsageError, match=f"^{path}: this would replace"):
                    action(path)
    with one_command():
        will_write(paths[3])
        read_bytes(paths[0])
        write_bytes(paths[3], b"new")
    assert [path.read_bytes() for path in paths] == [b"old"] * 3 + [b"new"]
    write_bytes(paths[0], read_bytes(paths[0]))  # a program may


def test_what_a_pipe_gave_is_kept_for_one_command(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"text")
    os.close(writing)
    path = Path(f"/dev/fd/{reading}")
    with one_command():
        assert [read_bytes(path), read_bytes(path)] == [b"text"] * 2
    nobody_writes(path)
    os.close(reading)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ResourceLimit, match="larger than 64 MiB"):
        read_bytes(path)


def test_of_a_file_that_is_not_there_the_nearest_name_is_told(tmp_path: Path) -> None:
    (tmp_path / "certificate.json").touch()
    with pytest.raises(UsageError, match=r"read: No such file or directory \(did you mean .*/certificate\.json\?"):
        read_bytes(tmp_path / "certifcate.json")
