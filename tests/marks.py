"""Marks that several test files use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from restrict.kernels.cache import config

LONG_TO_COMPILE = [] if config.DISABLE_JIT else [pytest.mark.heavy]
"""Marks of tests whose kernels take much longer to compile than to run: README's test command leaves them to CI, which
also runs them without compilation."""


def heavy_after(values: Iterable[Any], few: int, every: int = 1) -> list[Any]:
    """Parameters of a test: the first few run always, of the others one in ``every`` with the heavy tests, the rest by
    `scripts/full_sizes.py` alone."""
    marks = [pytest.mark.heavy, *[pytest.mark.slow(sampled=True)] * (every - 1)]
    return [pytest.param(v, marks=[marks[(k - few) % every]] if k >= few else []) for k, v in enumerate(values)]
