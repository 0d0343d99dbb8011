"""How a check ends without success, and the account of steps and memory that it keeps.

A rejection names the file, the place in it, and the reason, in one line, and has an exit code: ``unreadable`` 2,
``unproved`` 3, ``malformed`` (and ``require``) 4, ``exhausted`` 5. The account is charged before the work is done and
before the memory is taken: ``Meter.charge(steps)`` and ``Meter.hold(size)``. A module that verifies a format of its own
(``main`` names it in ``PROOFS``) is given a ``Task``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

LARGEST = (1 << 63) - 1
LEAST = -(1 << 63)
MEMORY = 2 << 30
READING = 24_000_000
"""Steps that reading the files may take at most, whatever the limit."""


class Reject(Exception):
    """The certificate is not accepted; ``code`` is the exit code, the text is the one line for standard error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Place(NamedTuple):
    """Where something stands: a file and a path inside it, such as ``variables[2].score``."""

    file: str
    path: str = ""

    def key(self, name: str) -> Place:
        """The place of a field of the object here."""
        return Place(self.file, f"{self.path}.{short(name)}" if self.path else short(name))

    def item(self, index: int) -> Place:
        """The place of an entry of the list here."""
        return Place(self.file, f"{self.path}[{index}]")

    def __str__(self) -> str:
        return f"{self.file}: {self.path or 'top level'}"


def short(text: str) -> str:
    """The text, cut to 60 characters."""
    return text if len(text) <= 60 else text[:57] + "..."


def shown(got: object) -> str:
    """A quotation of something read from a file: short, whatever its size (never the ``repr`` of a long list)."""
    if isinstance(got, list | dict):
        return f"{'a list' if isinstance(got, list) else 'an object'} of {len(got)}"
    return short(json.dumps(got[:60] if isinstance(got, str) else got))


def unreadable(place: Place, reason: str) -> NoReturn:
    """Reject with exit code 2: a file cannot be read."""
    raise Reject(2, f"{place.file}: cannot be read: {reason}" + "; `restrict new NAME -o FILE`" * (":" in place.file))


def unproved(place: Place, reason: str) -> NoReturn:
    """Reject with exit code 3: the claim does not follow."""
    raise Reject(3, f"{place}: {reason}")


def malformed(place: Place, reason: str, *got: object) -> NoReturn:
    """Reject with exit code 4: a file breaks a rule of its format."""
    raise Reject(4, f"{place}: {reason}" + "".join(f", not {shown(g)}" for g in got))


def require(holds: bool, place: Place, reason: str, *got: object) -> None:
    """A rule of a format: malformed where it does not hold."""
    if not holds:
        malformed(place, reason, *got)


def exhausted(place: Place, reason: str) -> NoReturn:
    """Reject with exit code 5: too many steps or too much memory."""
    raise Reject(5, f"{place}: {reason}")


class Meter:
    """The account: steps (each at most about half a microsecond) and bytes, both charged before they are spent."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit
        self.reading, self.held, self.place = READING, 0, Place("checker")

    def expect(self, steps: int) -> None:
        """Refuse at once what will need at least so many steps."""
        if steps > self.left:
            needed = min(self.limit - self.left + steps, 10**18)
            exhausted(self.place, f"needs at least {needed} steps, beyond the limit of {self.limit}")

    def charge(self, steps: int) -> None:
        """Spend steps; beyond the limit the check ends."""
        if steps > self.left:
            self.expect(steps)
        self.left -= steps

    def read(self, steps: int) -> None:
        """Spend steps of reading, which have a limit of their own, too."""
        self.reading -= steps
        if self.reading < 0:
            exhausted(self.place, "too much work to read; large tables belong in a safetensors file")
        self.charge(steps)

    def fits(self, size: int) -> None:
        """For memory that is given back soon."""
        if self.held + size > MEMORY:
            exhausted(self.place, "more than 2 GiB of memory are needed")

    def hold(self, size: int) -> None:
        """Take memory that is kept."""
        self.fits(size)
        self.held += size


class Task(NamedTuple):
    """What the module of a proof format is given; ``top`` and ``model_place`` name the two files in errors."""

    document: Any
    top: Place
    model: bytes
    model_place: Place
    folder: Path
    meter: Meter
