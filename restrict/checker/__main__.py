"""The command line of the checker: ``python -m restrict.checker MODEL CERTIFICATE``, or ``python -I FOLDER ...``.

``main.verify`` is the same from Python, on bytes. ``main.PROOFS`` says which module verifies which format.
"""

from __future__ import annotations

import os
import sys

HOME = os.path.dirname(os.path.abspath(__file__))
if not __package__:
    # Run as a folder, whatever its name: the package is this folder and nothing beside it.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HOME]

TROUBLE = (MemoryError, RecursionError, SystemError)
"""What a machine without memory or stack raises. Ends in exit 5 and one line that was there before."""
OUT_OF_MEMORY = b"restrict.checker: out of memory or stack\n"


def run() -> int:
    """The whole program, imports included: nothing is imported or made once memory is short."""
    try:
        if __package__:
            from .main import main
        else:
            from importlib.util import module_from_spec, spec_from_file_location

            spec = spec_from_file_location("checker", HOME + "/__init__.py", submodule_search_locations=[HOME])
            assert spec is not None
            assert spec.loader is not None
            sys.modules["checker"] = module_from_spec(spec)
            spec.loader.exec_module(sys.modules["checker"])
            from importlib import import_module

            main = import_module("checker.main").main
        return int(main())
    except (*TROUBLE, ImportError) as error:
        error.__traceback__ = None
        os.write(2, OUT_OF_MEMORY)
        return 5
    except KeyboardInterrupt:
        os.write(2, b"restrict.checker: interrupted\n")
        return 130


if __name__ == "__main__":
    # At once: the destructors of a large document take time, and nothing is left to flush.
    os._exit(run())
