"""The first step of README's commands: end with one clear line where this Python is too old. It runs on any Python."""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "restrict needs Python 3.11 or later, but %s is Python %d.%d.%d. Install a later one, "
        "or write its name in place of python3, as in python3.12." % ((sys.executable,) + tuple(sys.version_info[:3]))
    )
