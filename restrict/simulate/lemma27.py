"""Lemma 27 of Yang, Strobl, Chiang & Angluin (2024): how wide a ReLU network must be to round numbers. A piecewise
affine function that rounds ``p``-bit numbers to ``r`` bits has at least ``2^r`` pieces, and a ReLU network with ``L``
layers of width ``w`` has at most ``(2w)^L`` (Telgarsky 2015)."""

from restrict.base.errors import UsageError


def rounding_width(bits: int, layers: int) -> int:
    """The least width that a ReLU network needs to round longer numbers to ``bits`` bits (Lemma 27). ``bits``: ``r``:
    how many bits are left, at least 1. ``layers``: its depth, at least 1. Result: the least ``w`` with ``(2w)^layers >=
    2^bits`` (exact): a certified lower bound on the width, about ``2^(bits/layers) / 2``."""
    if bits < 1 or layers < 1:
        raise UsageError("bits and layers must be at least 1")
    most: int = 2**bits
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if (2 * middle) ** layers >= most else (middle, high)
    return high
