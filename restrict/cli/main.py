"""The command line: parse, call the API, print. Exit codes are those of docs/checker.md."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from restrict.cli.bounds import bounds
from restrict.cli.certify import certify
from restrict.cli.check import check
from restrict.cli.common import say
from restrict.cli.compile import compile_command
from restrict.cli.explain import explain
from restrict.cli.import_ import import_
from restrict.cli.language import language
from restrict.cli.lower_bound import lower_bound
from restrict.cli.new import new
from restrict.cli.refute import refute
from restrict.cli.run import run
from restrict.cli.show import show
from restrict.cli.tighten import tighten
from restrict.version import __version__

COMMANDS = (
    bounds,
    certify,
    check,
    compile_command,
    explain,
    import_,
    language,
    lower_bound,
    new,
    refute,
    run,
    show,
    tighten,
)


def main() -> NoReturn:
    """Entry point: every error is one line on standard error and a documented exit code."""
    from restrict.errors import RestrictError

    try:
        # Not cli(): click's own main() prints an empty line at Ctrl-C and exits 1 at a closed pipe.
        with cli.make_context("restrict", sys.argv[1:]) as context:
            cli.invoke(context)
        sys.stdout.flush()
        code = 0
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        code = 2
    except click.ClickException as error:
        code = say(error.format_message(), 2)
    except RestrictError as error:
        code = say(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        code = say("interrupted", 130)
    except (MemoryError, RecursionError) as error:
        code = say(f"out of resources ({type(error).__name__}); try a smaller n", 5)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 2
    sys.exit(code)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version=__version__, prog_name="restrict")
def cli() -> None:
    """Proofs about what hard-attention transformers can compute.

    MODEL is a model file, a built-in model such as and-of-ors, or a generator such as
    random:layers=2,heads=2,states=4,seed=1
    (see `restrict new --list`).
    """


for _command in COMMANDS:
    cli.add_command(_command)
