"""Exceptions with the exit codes of the command line (docs/checker.md); every message is one line that says what to
do."""

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class RestrictError(Exception):
    """Base of every error that the package raises on purpose."""

    exit_code = 2


class UsageError(RestrictError, ValueError):
    """A wrong argument, or a file that cannot be read or written (exit 2). From Python it is a ``ValueError``, too."""


class NotEstablished(RestrictError):
    """A well-formed claim that could not be established, or no restriction found within the budget (exit 3)."""

    exit_code = 3


class ModelError(RestrictError):
    """A malformed file, or a model that is not defined at this length (exit 4)."""

    exit_code = 4


class ResourceLimit(RestrictError):
    """The work would exceed a limit; nothing is known (exit 5)."""

    exit_code = 5


class InternalError(RestrictError):
    """Two parts of the package disagree: a bug, to be reported (exit 1)."""

    exit_code = 1


class Disagreement(InternalError):
    """A run of the concrete model contradicts an answer, which is therefore not given (exit 1); the message names the
    file with the model, the word and the answer."""


OF_CODE: dict[int, type[RestrictError]] = {
    e.exit_code: e for e in (UsageError, NotEstablished, ModelError, ResourceLimit)
}
"""The error that an exit code of the checkers stands for."""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """The part of a message about an unknown name that proposes similar names. Result: `` (did you mean X?)`` with up
    to three of the nearest names; empty where none is near."""
    near = get_close_matches(word.lower(), list(names), n=3, cutoff=0.7)
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def near_files(text: str) -> str:
    """The part of a message about a file that does not exist: the nearest names in its folder. Result: `` (did you mean
    X?)``; empty where none is near."""
    folder, name = os.path.split(text)
    try:
        others = (
            other for other in os.listdir(folder or ".") if other != name
        )  # a file of this very name exists, such as a pipe
        names = {other.lower(): os.path.join(folder, other) for other in others}
    except (OSError, ValueError):
        return ""
    near = get_close_matches(name.lower(), names, n=3, cutoff=0.8)
    return f" (did you mean {' or '.join(names[other] for other in near)}?)" if near else ""


def quote(text: object, limit: int = 60) -> str:
    """``repr`` of a value from a file or a caller, on one line and at most ``limit`` characters long."""
    shown = repr(text)
    return shown if len(shown) <= limit else shown[: limit - 4] + "..." + shown[0]


def indices_of(word: Sequence[str], alphabet: Sequence[str], of: str = "", whose: str = "the alphabet") -> list[int]:
    """The numbers of a word's symbols; :class:`UsageError` at the first that is not in the alphabet. ``of``, ``whose``:
    what the message says of the word and of the alphabet."""
    index = {symbol: a for a, symbol in enumerate(alphabet)}
    if not index.keys() >= set(word):
        at, symbol = next((at, symbol) for at, symbol in enumerate(word) if symbol not in index)
        shown = " ".join(alphabet)[:80]
        raise UsageError(f"symbol {quote(symbol)} at index {at}{of} is not in {whose}: {shown}")
    return [index[symbol] for symbol in word]
