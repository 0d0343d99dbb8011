"""Commands as they are typed, run in this process."""

import shlex
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import pytest
from click.testing import CliRunner, Result

from restrict.cli import common, main


def typed(*words: object, **how: Any) -> Result:
    """What `restrict WORDS` did: its exit code, what it printed, its exception."""
    return CliRunner().invoke(main.cli, [*map(str, words)], **how)


def succeeded(*words: object) -> Result:
    """The same of a command that succeeds."""
    done = typed(*words)
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def failed(kind: type[Exception], *words: object) -> str:
    """The message of a command that fails: one line."""
    error = typed(*words).exception
    assert isinstance(error, kind), error
    assert "\n" not in str(error)
    return str(error)


def raising(error: BaseException | type[BaseException]) -> Callable[..., NoReturn]:
    """A function that raises, to be put in the place of another one."""

    def raises(*_: object, **__: object) -> NoReturn:
        raise error

    return raises


class Answer(NamedTuple):
    """What a command left: its exit code and both streams."""

    code: Any
    out: str
    err: str


class Shell:
    """Types commands, in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capfd = monkeypatch, capfd

    def __call__(self, *words: object) -> Answer:
        """The exit code and both streams of one command, given as its words or as one line."""
        line = shlex.split(str(words[0])) if len(words) == 1 else map(str, words)
        self.monkeypatch.setattr(sys, "argv", ["restrict", *line])
        common._pending.clear()  # a process of its own knows of no earlier Ctrl-C
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main.main()
        return Answer(stop.value.code or 0, *self.capfd.readouterr())

    def good(self, *words: object) -> str:
        """The output of a command that succeeds with nothing on standard error."""
        result = self(*words)
        assert (result.code, result.err) == (0, ""), result
        return result.out

    def bad(self, code: int, *words: object) -> str:
        """The one line on standard error of a command that fails."""
        result = self(*words)
        assert (result.code, result.out) == (code, ""), result
        assert result.err.endswith("\n")
        assert result.err.count("\n") == 1
        assert len(result.err) < 600
        assert "Traceback" not in result.err
        return result.err
