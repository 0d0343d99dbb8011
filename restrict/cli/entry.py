"""Where a process begins: it imports almost nothing, so that Ctrl-C during the imports also ends in one line."""

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

LEAST = 480_000_000
INTERRUPTED = b"restrict: interrupted\n"
MATRIX_THREADS = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
"""Variables that numpy's libraries read when they are loaded. The matrices here are small: threads would wait for each
other, busily, for several times as long as one takes."""


def main() -> NoReturn:
    """The process ``restrict``: the command line with all its imports under one handler."""
    if _address_space() < LEAST and not {"-h", "--help", "--version"} & set(sys.argv):
        leave(b"restrict: out of memory: less than 480 MB of address space (ulimit -v) is too little for numba\n", 5)
    for variable in MATRIX_THREADS:
        os.environ.setdefault(variable, "1")
    try:
        from restrict.cli import main

        main.main()
    except SystemExit:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _forget_interrupt()
        raise
    except KeyboardInterrupt:
        leave(INTERRUPTED, 130)
    except MemoryError as error:
        error.__traceback__ = None
        leave(b"restrict: out of memory; try a smaller n or model\n", 5)


def _forget_interrupt() -> None:
    """Make the process end with the exit code of the command line, also after Ctrl-C inside ``exec(text)``. Python
    notes an interrupt that left evaluated text (dataclasses are made so while they are imported), and at its end kills
    itself by the signal, although the interrupt was handled. Evaluating any text clears the note."""
    eval("None")


def _address_space() -> float:
    """How many bytes of address space the process may have; with too few, C libraries end it with their own errors."""
    try:
        import resource
    except ImportError:
        return float("inf")
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if soft == resource.RLIM_INFINITY else float(soft)


def leave(line: bytes, code: int) -> NoReturn:
    """End the process at once with a line on standard error: nothing more is flushed, imported or allocated."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.write(2, line)
    sys.stdout = sys.stderr = None  # what they hold is not written any more
    os._exit(code)
