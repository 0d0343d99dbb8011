"""The user's folder for what can be made again; it imports nothing of numba."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "RESTRICT_CACHE"
"""The variable that names another folder."""


def home() -> Path:
    """``RESTRICT_CACHE``, or the folder that the system has for caches."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _user() / "AppData" / "Local") / "restrict" / "Cache"
    if sys.platform == "darwin":
        return _user() / "Library" / "Caches" / "restrict"
    return Path(os.environ.get("XDG_CACHE_HOME") or _user() / ".cache") / "restrict"


def _user() -> Path:
    """The home folder; where the system names none, a folder that cannot be made."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.devnull)
