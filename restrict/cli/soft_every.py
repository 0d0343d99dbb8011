"""The option `--all-lengths` of `soft verify`. Imported where it is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from restrict.cli.common import progress_on
from restrict.cli.printer import Told, put
from restrict.cli.trained_words import document, leave, text

if TYPE_CHECKING:
    from restrict.soft.trained.graph import Graph
    from restrict.soft.trained.model import Trained


def verify_all_lengths(
    loaded: Trained, graph: Graph, *, longest: int, language: str, seconds: float, recheck: bool, output: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Decide, check, write and print. Exit 0: right at every length; 3: wrong, with a word; 5: open."""
    from restrict.soft.trained.confirm import confirmed
    from restrict.soft.trained.every_length import verify_every_length

    with progress_on(f"{loaded.name[:40]}, every length") as progress:
        found = verify_every_length(
            loaded, graph, longest=longest, language=language, seconds=seconds, tell=lambda what: progress(what, None)
        )
        line = None
        try:
            if recheck:
                found, line = confirmed(found, str(output or "certificate"))
        except KeyboardInterrupt:  # what the search has decided is kept, for `restrict check`
            found = replace(found, stopped="interrupted")
    if output is not None and found.proves:
        found.save(output)
    files = {"certificate in": output if found.proves else None}
    put(Told(lambda: text(found, line), lambda: document(found, line)), as_json, files)
    leave(found)
