"""The trusted checker and its fast run on one pair of files: the same line or the same rejection, at every limit.

Every row is scanned by the kernels here, however short it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from restrict.certificate import fast
from restrict.checker import main
from restrict.checker.account import Meter, Reject

LIMIT = 20_000_000


@contextmanager
def every_row_by_kernels() -> Iterator[None]:
    """Rows of any length are long."""
    before, fast.LONG = fast.LONG, 0
    try:
        yield
    finally:
        fast.LONG = before


def answer(
    model: bytes, certificate: bytes, folder: Path, limit: int, runner: Callable[..., Any] | None
) -> tuple[int, str, int]:
    """Exit code, line, and the steps that were spent."""
    meters: list[Meter] = []

    def counted(most: int) -> Meter:
        meters.append(Meter(most))
        return meters[-1]

    vars(main)["Meter"] = counted
    try:
        line, code = main.verify(model, certificate, folder=folder, limit=limit, runner=runner), 0
    except Reject as reject:
        line, code = str(reject), reject.code
    finally:
        vars(main)["Meter"] = Meter
    return code, line, limit - meters[0].left


def difference(model: bytes, certificate: bytes, folder: Path = Path(), limit: int = LIMIT) -> str | None:
    """What the two runs say differently, at ``limit`` or at one below it; None where there is nothing."""
    code, line, steps = pure = answer(model, certificate, folder, limit, None)
    with every_row_by_kernels():
        if (other := answer(model, certificate, folder, limit, fast.FastRun)) != pure:
            return f"at the limit {limit}: {pure}, the fast run {other}"
        # At the steps that were spent nothing changes; one less, or half of them, are not enough for either.
        for least in sorted({steps, steps - 1, steps // 2}) if code in (0, 3) and steps else ():
            expected = (code, line, steps) if least == steps else answer(model, certificate, folder, least, None)
            other = answer(model, certificate, folder, least, fast.FastRun)
            if (expected[0] == 5) != (least < steps):
                return f"at the limit {least}: {expected}, of {steps} steps"
            if other[:2] != expected[:2]:
                return f"at the limit {least}: {expected}, the fast run {other}"
    return None
