"""What the commands share: arguments, the check before the work, progress, error lines. Imported with the command line,
so it stays light."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property, wraps
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from restrict.base.deadline import Progress, seconds
from restrict.base.errors import UsageError
from restrict.base.files import refusals, will_write
from restrict.cli.printer import put
from restrict.cli.terminal import complete_language, complete_model, error_line, is_terminal
from restrict.kernels.notice import on_first_compilation

if TYPE_CHECKING:
    from fractions import Fraction

    from restrict.base.strictjson import Record
    from restrict.model.program import Model

LONGEST = 100_000_000
"""Lengths are at most this (``restrict.model.program.MAX_N``, which is not imported here)."""
SHOWN = 120
"""Characters of a word without spaces that an error line repeats."""


def say(message: str, code: int) -> int:
    """Print one error line, in which long words are cut; returns the exit code."""
    words = (w if len(w) <= SHOWN else f"{w[: SHOWN // 2]}...{w[-SHOWN // 3 :]}" for w in message.split())
    line = "".join(c if c.isprintable() else "?" for c in " ".join(words))
    if sys.stderr is not None:
        with suppress(OSError):
            print(error_line(f"restrict: {line[:2000]}", sys.stderr), file=sys.stderr, flush=True)
    return code


def no_model(path: Path, advice: str) -> None:
    """Refuse the name of a model where a file with a result is expected."""
    from restrict.model.source import GENERATORS

    if str(path).partition(":")[0] in GENERATORS and not path.exists():
        raise UsageError(f"{path} is a model, where a file with a result is expected: {advice}")


# ---------------------------------------------------------------- parameters


class Parameter(click.ParamType):  # type: ignore[type-arg] # generic in new versions of click only
    """A type of arguments and options."""


class Text(Parameter):
    """Text that a person writes. It is read as UTF-8, also in a locale in which Python could not decode it."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, decoded."""
        if any("\ud800" <= c <= "\udfff" for c in value):
            try:
                return str(value.encode(sys.getfilesystemencoding(), "surrogateescape").decode("utf-8"))
            except UnicodeError:
                self.fail(f"{value!r} is not UTF-8", param, ctx)
        return str(value)


class Read(Parameter):
    """What a function reads from the text; where it refuses, the error says what the text is not."""

    def __init__(self, name: str, read: Callable[[Any], Any], wrong: str) -> None:
        self.name, self.read, self.wrong = name, read, wrong

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value as the API has it."""
        try:
            return self.read(value)
        except UsageError:
            self.fail(f"{value!r} is {self.wrong}", param, ctx)


def _target(value: Any) -> Any:
    if value in ("last", "all") or isinstance(value, int):
        return value
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        raise UsageError("no target")
    return int(value)


def _share(value: Any) -> Fraction:
    from restrict.model.arguments import the_share

    return the_share("the fraction", value)


TARGETS = Read("target", _target, "neither last, all nor a position")
SECONDS = Read("seconds", seconds, "not a number of seconds, at least 0")
SHARE = Read("fraction", _share, "not a fraction between 0 and 1")


class Whole(Parameter):
    """A whole number. The help shows it as ``N``; the limits are named only in the error about a wrong number."""

    name = "integer"

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least, self.most = least, most

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """What stands for the number in the help."""
        return "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, within the bounds of the option."""
        number: int = click.INT.convert(value, param, ctx)
        if self.most is not None and not self.least <= number <= self.most:
            self.fail(f"{number} is not between {self.least} and {self.most}", param, ctx)
        if number < self.least:
            self.fail(f"{number} is less than {self.least}", param, ctx)
        return number


class Given(SimpleNamespace):
    """What a command was given: an attribute for each of its arguments and options."""

    @cached_property
    def program(self) -> Model:
        """The hard-attention program that ``MODEL`` names, read when it is asked for."""
        from restrict.model.source import load

        return load(self.model)

    def only(self, *names: str) -> dict[str, Any]:
        """Some of them, by their names."""
        return {name: getattr(self, name) for name in names}


Decorator = Callable[[Any], Any]


def command(name: str | None = None) -> Callable[[Callable[[Given], None]], click.Command]:
    """A command: a function that takes all that was given as one object."""

    def made(body: Callable[[Given], None]) -> click.Command:
        @wraps(body)
        def run(**given: Any) -> None:
            body(Given(**given))

        return click.command(name)(run)

    return made


def option(names: str, kind: Any, text: str, **more: Any) -> Decorator:
    """An option: its names, what it takes (a type, or a tuple of words) and its help, which shows its default."""
    kind = click.Choice(kind) if isinstance(kind, tuple) else kind
    return click.option(*names.split(), type=kind, help=text, show_default="default" in more, **more)


def flag(names: str, text: str) -> Decorator:
    """An option that takes nothing."""
    return click.option(*names.split(), is_flag=True, help=text)


MODEL = click.argument("model", metavar="MODEL", shell_complete=complete_model)
LENGTH = option("-n", Whole(1, LONGEST), "Length, markers included.", required=True)


def length_or_all(lengths: Whole, length: str, every: str) -> Decorator:
    """The options ``-n`` and ``--all-lengths``, one of which must be given; ``length`` and ``every`` are their help."""

    def given(context: click.Context, parameter: click.Parameter, n: int | None) -> int | None:
        if n is None and not context.params.get("all_lengths"):
            raise click.MissingParameter("A length, such as -n 100, or --all-lengths.", ctx=context, param=parameter)
        return n

    one = option("-n", lengths, length, callback=given)
    everything = click.option("--all-lengths", is_flag=True, is_eager=True, help=every)
    return lambda command: one(everything(command))


LENGTH_OR_ALL = length_or_all(
    Whole(1, LONGEST), "Length, markers included.", "Every length at once, instead of -n (order-only models)."
)


TARGET = option("--target", TARGETS, "last, or a position.", default="last")
SEED = option("--seed", Whole(0, 2**63 - 1), "Same seed, same answer.", default=0)
TIME = option("--time", SECONDS, "Search up to this many seconds; keep the best found.")
PATH, FILE = click.Path(path_type=Path), click.Path(dir_okay=False, path_type=Path)
CERTIFICATE = click.argument("certificate", type=PATH)
JSON = flag("--json as_json", "Print JSON.")


def file_option(names: str, text: str, required: bool = False) -> Decorator:
    """An option that names a file to write; it is checked before the work starts."""
    return option(names, FILE, text, required=required, callback=_own_file)


def _own_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """A file that can be written, and that no other option of the command line names."""
    if check_writable(path) is not None:
        named = context.meta.setdefault("restrict.outputs", {})
        other = named.setdefault(os.path.realpath(str(path)), parameter.opts[-1])
        if other != parameter.opts[-1]:
            raise UsageError(f"{path}: {other} and {parameter.opts[-1]} would both be written there; name two files")
    return path


def model_option(text: str) -> Decorator:
    """The option ``--model``, of commands that also work without a model."""
    return option("--model", None, text, metavar="MODEL", shell_complete=complete_model)


def language_option(text: str, names: str = "-L --language spec", required: bool = False) -> Decorator:
    """An option that names a language."""
    return option(names, Text(), text, shell_complete=complete_language, required=required)


def output_option(what: str, required: bool = False) -> Decorator:
    """The option ``-o``."""
    return file_option("-o --output", f"Write {what} here.", required)


def print_verdict(line: str, as_json: bool, checker: str | None = None) -> None:
    """Print the line of a checker, never wrapped; as JSON also its parts, and which checker it was."""
    found: dict[str, Any] = {"verified": True, "line": line, "digest": line.rsplit(maxsplit=1)[-1], **parts_of(line)}
    found |= {"checker": checker} if checker else {}
    put(line, found, as_json, wide=True)


NAMES = {"computes", "cost-of", "deviates-from", "differs-from", "forces", "label", "labels", "recognises", "refutes"}
"""Parts of a checker's line that name a label or a language, which may look like a number."""


def parts_of(line: str) -> dict[str, int | str]:
    """The parts ``name=value`` of a checker's line, numbers as numbers; a bound's name ends in ``>=`` or ``<=``."""
    found: dict[str, int | str] = {}
    for name, sign, value in re.findall(r"(?<= )([^ =<>]+)([<>]?=)(\S+)", line):
        whole = value.isascii() and value.isdigit() and len(value) < 19 and name not in NAMES
        found[name + (sign if len(sign) > 1 else "")] = int(value) if whole else value
    return found


def check_writable(path: Path | None) -> Path | None:
    """Refuse an output that cannot be written, before the work starts, and note it: the command must not read it."""
    if path is None:
        return None
    folder = path.parent
    with refusals(f"{path}: cannot write"):
        if not folder.is_dir():
            raise UsageError(f"{path}: cannot write: the folder {folder} does not exist")
        if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
            raise UsageError(f"{path}: cannot write: permission denied, or it is a folder")
    will_write(path)
    return path


@contextmanager
def result_folder(path: Path | None) -> Iterator[None]:
    """Make a folder for results; if the work fails, remove it again."""
    made: list[Path] = []
    try:
        with refusals(f"{path}: cannot make the folder"):
            for folder in () if path is None else [*reversed(path.parents), path]:
                if not folder.is_dir():
                    folder.mkdir()
                    made.append(folder)
        yield
    except BaseException:
        with suppress(OSError):  # a folder that is not empty stays
            for folder in reversed(made):
                folder.rmdir()
        raise


# ---------------------------------------------------------------- while it runs, and after


_pending: list[bool] = []
"""Each Ctrl-C that may have got lost: Python drops what is raised in a destructor or a library's callback."""


def on_interrupt(signum: int, frame: FrameType | None) -> None:
    """The handler of Ctrl-C: note it, and raise."""
    _pending.append(True)
    signal.default_int_handler(signum, frame)


def _raise_pending(what: str) -> None:
    """Raise an interrupt that got lost. A search that already confirms what it found has seen the interrupt."""
    if _pending and not what.startswith("confirm"):
        _pending.clear()
        raise KeyboardInterrupt
    _pending.clear()


def announce_compilation() -> None:
    """On a terminal, say on standard error, so that no result is disturbed, why the first run on a machine is slow."""
    if is_terminal(sys.stderr):
        on_first_compilation(
            lambda: click.echo("compiling kernels for this machine (once; later runs load them)", err=True)
        )


@contextmanager
def progress_on(title: str) -> Iterator[Progress]:
    """A spinner on a terminal, nothing elsewhere."""
    if not is_terminal(sys.stderr):
        yield lambda what, _best: _raise_pending(what)
        return
    from rich.console import Console

    with Console(stderr=True).status(title) as status:

        def tell(what: str, best: int | None) -> None:
            _raise_pending(what)
            status.update(f"{title}: {what}" + ("" if best is None else f", best so far fixes {best}"))

        yield tell


@contextmanager
def stages_on(title: str) -> Iterator[Callable[[str], None]]:
    """Progress that has a text only."""
    with progress_on(title) as tell:
        yield lambda what: tell(what, None)


def crew(jobs: int | None, dask: str | None = None) -> AbstractContextManager[None]:
    """The workers that share the work, where --jobs or --dask asks for them."""
    if jobs is None and dask is None:
        return nullcontext()
    from restrict.sweep.workers import workers

    return workers(jobs, dask)


def saved(found: Record, path: Path | None) -> bool:
    """Write a result, if a file is named; Ctrl-C waits for it, and whether it came is the answer."""
    from restrict.kernels.shield import kept

    return path is not None and kept(lambda: found.save(path))[1]


def leave_interrupted(late: bool, output: Path | None, what: str = "certificate", state: str = "is valid") -> None:
    """After Ctrl-C (``late``) end the process; the best is already printed, and written where a file was named."""
    if not late:
        return
    place = f"; it is in {output}" if output else "; use -o FILE to keep it"
    sys.exit(say(f"interrupted; the {what} above is the best so far and {state}{place}", 130))
