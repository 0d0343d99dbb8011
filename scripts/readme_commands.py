"""Print one of README.md's two commands: 1 installs and certifies a model, 2 installs and runs the tests.

``.ci/run`` runs what this prints, so that the README cannot drift from what works. Standard library only.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def commands(text: str) -> list[str]:
    """The contents of the fenced bash blocks; raises ValueError unless there are two, of one line each."""
    blocks = [
        block.strip("\n") for block in re.findall(r"^```bash[ \t]*\n(.*?)^```[ \t]*$", text, re.DOTALL | re.MULTILINE)
    ]
    if len(blocks) != 2:
        raise ValueError(f"expected two fenced bash blocks, found {len(blocks)}")
    for number, block in enumerate(blocks, 1):
        if not block.strip() or "\n" in block:
            raise ValueError(f"bash block {number} must hold one line, found {len(block.splitlines())}")
    return blocks


def main(arguments: list[str]) -> int:
    if arguments not in (["1"], ["2"]):
        print("usage: readme_commands.py 1|2", file=sys.stderr)
        return 2
    try:
        print(commands(README.read_text(encoding="utf-8"))[int(arguments[0]) - 1])
    except (OSError, ValueError) as error:
        print(f"README.md: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
