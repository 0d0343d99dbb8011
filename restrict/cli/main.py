"""The command line: parse, call the API, print. Exit codes are those of docs/checker.md.

Messages of the package in the words of the command line: an argument of Python becomes an option. The package names
its arguments in backquotes, alone or with a value: ``target="last"``, ``seed``.
"""

import os
import re
import signal
import sys
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from typing import NoReturn

import click
from click.shell_completion import shell_complete

from restrict.base.deadline import OutOfTime
from restrict.base.errors import RestrictError
from restrict.base.files import one_command
from restrict.cli.common import announce_compilation, on_interrupt, say
from restrict.cli.examples import SHORT, epilog
from restrict.cli.soft import soft
from restrict.version import __version__

COMPLETION = "_RESTRICT_COMPLETE"
"""The variable by which a shell asks for completions (docs/command-line.md)."""
OUT_OF_MEMORY = "out of resources ({}); try a smaller n or model"
TEXTS = ("--input", "--restriction", "--label", "--alphabet", "--pre")
"""Options whose value is a text of the user, which may be a hyphen."""
MEMORY_WORDS = (
    "failed to map segment",
    "Cannot allocate memory",
    "out of memory",
    "can't start new thread",
    "shared object file",
)
"""What libraries say in other errors where memory has run out."""
ARGUMENTS = {
    "target": "--target", "seed": "--seed", "time": "--time", "free": "--free", "first": "--from", "limit": "--limit",
    "self_rule": "--self", "how": "--how", "decoder": "--decoder",
}  # fmt: skip
"""The option for each argument that a message names."""
NAMED = re.compile(rf'`({"|".join(ARGUMENTS)})(?:="([\w-]+)")?`')


def main() -> NoReturn:
    """Entry point: every error is one line on standard error and a documented exit code."""
    if sys.stdout is None:
        sys.exit(say("standard output is closed: send it to a file or to /dev/null", 2))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a letter that the locale lacks must not lose the answer
    before = signal.signal(signal.SIGINT, on_interrupt)
    sys.unraisablehook = _unraisable
    announce_compilation()
    try:
        code = _run(sys.argv[1:])
    finally:
        signal.signal(signal.SIGINT, before)
    sys.exit(code)


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C in a library's callback is noted by its handler and raised later, so nothing is printed for it here."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _run(words: list[str]) -> int:
    """Run one command line; its exit code, after its error line."""
    try:
        if COMPLETION in os.environ:
            return _completed(os.environ[COMPLETION])
        if _standard_inputs(words) > 1:
            return say("standard input can be read only once, so only one argument can be `-`", 2)
        # Not cli(): click's own main() prints an empty line at Ctrl-C and exits 1 at a closed pipe.
        with cli.make_context("restrict", words) as context:
            cli.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as stop:
        return stop.exit_code or _flushed()
    except SystemExit as stop:  # a command that ends with a code of its own
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        return code or _flushed()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.UsageError as error:
        return say(error.format_message() + _way_out(error), 2)
    except click.ClickException as error:
        return say(error.format_message(), 2)
    except RestrictError as error:
        return say(for_the_shell(str(error)), error.exit_code)
    except OutOfTime:
        return say("the time was over before there was an answer; give a longer --time", 5)
    except (KeyboardInterrupt, click.Abort):
        return say("interrupted before there was a result", 130)
    except (MemoryError, RecursionError, SystemError) as error:
        error.__traceback__ = None  # frees memory, which printing the line needs
        return say(OUT_OF_MEMORY.format(type(error).__name__), 5)
    except BrokenPipeError:
        return _silent()
    except OSError as error:
        return _bug(error) if error.errno is None else _system(error)
    except Exception as error:
        return _bug(error)


def _standard_inputs(words: list[str]) -> int:
    """How many words name standard input; some options take a text, which may be a hyphen, too."""
    return sum(word == "-" and before not in TEXTS for before, word in pairwise(["", *words]))


def _completed(instruction: str) -> int:
    """What a shell asks for: its script, or the words that can follow those in COMP_WORDS."""
    try:
        return shell_complete(cli, {}, "restrict", COMPLETION, instruction) and say(
            f"{COMPLETION}={instruction} is not known; docs/command-line.md has the line for each shell", 2
        )
    except (KeyError, ValueError):  # no COMP_WORDS or COMP_CWORD, or no numbers in them
        return say(
            f"{COMPLETION}={instruction} is how a shell asks for completions, with COMP_WORDS and COMP_CWORD set; for "
            f"anything else unset {COMPLETION}", 2,
        )  # fmt: skip


def _way_out(error: click.UsageError) -> str:
    """Where to look after a wrong command line: the help of the command that was meant."""
    if error.ctx is None or (isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter)):
        return ""  # a wrong value is explained by its own line
    return f" See `{error.ctx.command_path} --help`."


def _flushed() -> int:
    """Write what is still in the buffer; the exit code."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _silent()
    except OSError as error:
        return _system(error)
    return 0


def _silent() -> int:
    """After a failed write: drop what is still in the buffer; the exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 2


def _system(error: OSError) -> int:
    """What the system refused: memory, or most likely the writing of standard output."""
    if any(word in str(error) for word in MEMORY_WORDS):
        return say(OUT_OF_MEMORY.format("memory"), 5)
    place = "standard output: cannot write" if error.filename is None else f"{error.filename}: cannot be used"
    code = say(f"{place}: {error.strerror or error}", 2)
    _silent()
    return code


def _bug(error: Exception) -> int:
    """An unexpected error: one line that says where, for a report. Libraries without memory say so in many ways."""
    if any(word in str(error) for word in MEMORY_WORDS):
        return say(OUT_OF_MEMORY.format("memory"), 5)
    if os.environ.get("RESTRICT_TRACEBACK"):
        raise error
    trace, place = error.__traceback__, "an unknown place"
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if name.startswith("restrict"):
            place = f"{name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return say(
        f"internal error ({type(error).__name__}: {error}) in {place}; please report it "
        "(RESTRICT_TRACEBACK=1 shows where it comes from)",
        1,
    )


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version=__version__, prog_name="restrict")
def cli() -> None:
    """Proofs about what hard-attention transformers can compute.

    MODEL is a model file, a built-in model such as and-of-ors, or a generator such as
    random:layers=2,heads=2,states=4,seed=1 (see `restrict new --list`).
    """
    click.get_current_context().with_resource(one_command())


def command_named(words: str) -> click.Command:
    """The command that the file of its name has."""
    module = import_module(f"restrict.cli.{'import_' if words == 'import' else re.sub('[ -]', '_', words)}")
    name = words.rsplit(maxsplit=1)[-1]
    return next(made for made in vars(module).values() if isinstance(made, click.Command) and made.name == name)


for _said, _short in SHORT.items():
    _command = command_named(_said)
    _command.epilog, _command.short_help = epilog(_said), _short
    (soft if " " in _said else cli).add_command(_command)
cli.epilog = epilog("")


def for_the_shell(message: str) -> str:
    """A message as the command line says it. Gives the line; unchanged where it names no argument."""
    return NAMED.sub(lambda found: " ".join(filter(None, (ARGUMENTS[found[1]], found[2]))), message)
