"""Commands as they are typed, run in this process."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from restrict.cli.main import cli


def typed(*words: object, **how: Any) -> Result:
    """What `restrict WORDS` did: its exit code, what it printed, its exception."""
    return CliRunner().invoke(cli, [*map(str, words)], **how)
