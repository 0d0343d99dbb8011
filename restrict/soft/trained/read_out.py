"""What is asked of the logits behind a prefix: signs of some labels, or that a wanted one is the greatest of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from restrict.base.arrays import I64
from restrict.soft.trained.stored import Array


class Asked(NamedTuple):
    """``signs``: for each label 1 where it is wanted, else -1; ``greatest``: whether the greatest is to be wanted."""

    signs: Array
    greatest: bool

    def rows(self, said: Array) -> Array:
        """Combinations of logits that are to be positive, shape ``(..., asked, labels)``: each wanted label and the
        negative of each other; or what the wanted label that is greatest in ``said`` is more than each that is not."""
        if not self.greatest:
            return np.diag(self.signs)
        best, units = np.where(self.signs > 0, said, -np.inf).argmax(-1), np.eye(len(self.signs))
        found: Array = units[best][..., None, :] - units[self.signs < 0]
        return found

    def errors(self, off: Array) -> Array:
        """How far off the combinations are where each label's logit is as far off as ``off`` says."""
        if not self.greatest:
            return off
        found: Array = off[self.signs < 0] + off[self.signs > 0].max()
        return found

    @property
    def places(self) -> I64:
        """The label that each combination is about."""
        return np.flatnonzero(self.signs < 0) if self.greatest else np.arange(len(self.signs))


def margin(said: Array, signs: Array, greatest: bool) -> Array:
    """The least of the combinations that are to be positive, over the last axis: labels of sign 0 are not asked for;
    infinite where nothing is."""
    if greatest:
        good, bad = (np.where(signs * k > 0, said, -np.inf).max(-1) for k in (1, -1))
        return np.where(np.isneginf(bad), np.inf, good - np.where(np.isneginf(bad), 0.0, bad))
    found: Array = np.where(signs != 0, said * signs, np.inf).min(-1)
    return found
