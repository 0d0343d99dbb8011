"""The elaborator as a program of its own, which the checker's command line starts: the two files in, the proof out. It
is run by its path, so that the checker need not import the package. Standard input has the model and then the user's
file, standard output the proof. Where there is none, standard error has one line, and the exit code says why
(docs/checker.md)."""

import os
import signal
import sys
from pathlib import Path
from types import FrameType

PACKAGE = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """The folder of the model's tensor files, the names of the two files, the limit in steps, the model's size."""
    from restrict.base.errors import RestrictError
    from restrict.elaboration.make import Elaboration

    folder, model_name, certificate_name, limit, size = arguments
    content = sys.stdin.buffer.read()
    model, certificate = content[: int(size)], content[int(size) :]
    try:
        found = Elaboration(model, certificate, Path(folder), model_name, certificate_name, int(limit))
    except RestrictError as error:
        sys.stderr.write(" ".join(str(error).split()) + "\n")
        return error.exit_code
    sys.stdout.buffer.write(found.made.proof)
    sys.stdout.buffer.flush()
    return 0


def stop(number: int, frame: FrameType | None) -> None:
    """The checker says that it was interrupted."""
    os._exit(130)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, stop)
    # Run by its path: the package beside it, and nothing of its own folder.
    own = PACKAGE / "elaboration"
    sys.path[:] = [str(PACKAGE.parent), *(entry for entry in sys.path if Path(entry).resolve() != own)]
    sys.exit(main(sys.argv[1:]))
