"""What is said, and kept for a report, where a run of the model contradicts an answer."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from restrict.base.errors import Disagreement
from restrict.base.wording import spoken
from restrict.model.program import Model
from restrict.version import __version__

FORMAT = "restrict-disagreement/1"
MOST = 999
"""Files of this kind in one folder."""
SHOWN = 60
"""Characters of a word in the message; the file has all of it."""


def disagree(model: Model, claim: str, word: tuple[str, ...], found: str, result: object = None) -> NoReturn:
    """Save the model and the answer, and raise the error that says where."""
    n = len(word) + len(model.markers)
    document = {
        "format": FORMAT,
        "version": __version__,
        "claim": claim,
        "found": found,
        "n": n,
        "word": list(word),
        "model": {"name": model.name, "sha256": model.digest, "content": _text(model.content)},
        "result": _text(result) if isinstance(result, bytes) else result,
    }
    path = _saved((json.dumps(document, default=repr) + "\n").encode())
    text = spoken(word)
    text = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    kept = "" if path is None else f" with the file {path}"
    raise Disagreement(
        f"internal disagreement: {claim} on {text} (n = {n}), but a run of the model shows {found}; "
        f"please report it{kept}"
    )


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")


def _saved(content: bytes) -> Path | None:
    """A new file in the current folder, or in the one for temporary files; no file is ever replaced."""
    folders = [Path(tempfile.gettempdir())]
    with suppress(OSError):
        folders.insert(0, Path.cwd())
    for folder in folders:
        for number in range(1, MOST + 1):
            path = folder / f"restrict-disagreement-{number}.json"
            try:
                with path.open("xb") as file:
                    file.write(content)
            except FileExistsError:
                continue
            except OSError:
                break
            return path
    return None
