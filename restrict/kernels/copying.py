"""One array into another, as kernels do it. In a compiled kernel ``a[:m] = b[:m]`` brings the text of numpy's error for
two different lengths along, with all that strings and their joining need: three seconds of compilation in each
process."""

from __future__ import annotations

from typing import Any

from restrict.kernels.jit import sized_kernel


def _with_numpy(into: Any, given: Any) -> None:
    """As :func:`copy`, without compilation."""
    into[:] = given


@sized_kernel(reads=lambda into, given: given.shape[0], plainly=_with_numpy)
def copy(into: Any, given: Any) -> None:
    """``into[:] = given`` for two arrays of one axis and one length that share nothing."""
    for at in range(given.shape[0]):
        into[at] = given[at]
