"""``python -m restrict.soft.recheck MODEL.safetensors CERTIFICATE.json``."""

from __future__ import annotations

import sys
from pathlib import Path

from restrict.soft.recheck.claim import verify
from restrict.soft.recheck.fixed import Reject

MAX_BYTES = 64 * 2**20


def main(arguments: list[str]) -> int:
    """The command: prints the line or one error line; returns the exit code."""
    if len(arguments) != 2:
        print("recheck: usage: recheck.py MODEL.safetensors CERTIFICATE.json", file=sys.stderr)
        return 2
    try:
        contents = [Path(a).read_bytes() for a in arguments]
        if max(map(len, contents)) > MAX_BYTES:
            raise Reject(5, "a file is larger than 64 MiB")
        print(verify(*contents))
    except OSError as error:
        print(f"recheck: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except Reject as error:
        print(f"recheck: {error}", file=sys.stderr)
        return error.code
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        print(f"recheck: the model does not follow docs/soft-format.md: {type(error).__name__}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
