"""Messages of the package in the words of the command line: an argument of Python becomes an option. The package names
its arguments in backquotes, alone or with a value: ``target="last"``, ``seed``."""

from __future__ import annotations

import re

ARGUMENTS = {
    "target": "--target", "seed": "--seed", "time": "--time", "free": "--free", "first": "--from", "limit": "--limit",
    "self_rule": "--self", "how": "--how", "decoder": "--decoder",
}  # fmt: skip
"""The option for each argument that a message names."""
NAMED = re.compile(rf'`({"|".join(ARGUMENTS)})(?:="([\w-]+)")?`')


def for_the_shell(message: str) -> str:
    """A message as the command line says it. Gives the line; unchanged where it names no argument."""
    return NAMED.sub(lambda found: " ".join(filter(None, (ARGUMENTS[found[1]], found[2]))), message)
