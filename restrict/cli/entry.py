"""Where a process begins: it imports almost nothing, so that Ctrl-C during the imports ends in one line, too."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

INTERRUPTED = b"restrict: interrupted\n"


def main() -> NoReturn:
    """The process ``restrict``: the command line with all its imports under one handler."""
    try:
        from restrict.cli.main import main as run

        run()
    except SystemExit:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
    except KeyboardInterrupt:
        leave(INTERRUPTED, 130)
    except MemoryError as error:
        error.__traceback__ = None
        leave(b"restrict: out of memory; try a smaller n\n", 5)


def leave(line: bytes, code: int) -> NoReturn:
    """End the process at once with a line on standard error: nothing more is flushed, imported or allocated."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.write(2, line)
    sys.stdout = sys.stderr = None  # what they hold is not written any more
    os._exit(code)
