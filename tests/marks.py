"""Marks that several test files use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def heavy_after(values: Iterable[Any], few: int) -> list[Any]:
    """Parameters of a test: the first few run always, the others with the heavy tests."""
    return [pytest.param(v, marks=[pytest.mark.heavy] if k >= few else []) for k, v in enumerate(values)]
