"""Marks that several test files use."""

from collections.abc import Iterable
from typing import Any

import pytest

from restrict.kernels.cache import config

LONG_TO_COMPILE = [] if config.DISABLE_JIT else [pytest.mark.heavy]
"""Marks of tests whose kernels take much longer to compile than to run: README's test command leaves them to CI, which
also runs them without compilation."""


def heavy_after(values: Iterable[Any], few: int) -> list[Any]:
    """Parameters of a test: the first few run always, the others are full sizes (`scripts/full_sizes.py`)."""
    return rows_after(((v,) for v in values), few)


def rows_after(rows: Iterable[Any], few: int) -> list[Any]:
    """The same for several parameters at once."""
    return [pytest.param(*row, marks=[pytest.mark.slow] * (k >= few)) for k, row in enumerate(rows)]
