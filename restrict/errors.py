"""Exceptions with the exit codes of the command line (docs/checker.md); every message is one line that says what to
do."""

from __future__ import annotations


class RestrictError(Exception):
    """Base of every error that the package raises on purpose."""

    exit_code = 2


class UsageError(RestrictError):
    """A wrong argument, or a file that cannot be read or written (exit 2)."""


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


def quote(text: object, limit: int = 60) -> str:
    """``repr`` of a piece of somebody's file, on one line and not longer than ``limit``."""
    shown = repr(text)
    return shown if len(shown) <= limit else shown[: limit - 4] + "..." + shown[0]
