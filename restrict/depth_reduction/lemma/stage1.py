"""Stage 1 of the Depth Reduction Lemma (Hahn 2020, section 5.1): no input feeds too many layer-0 activations. There are
at most ``n c`` (input, layer-0 activation) pairs, so fewer than ``eta C n`` inputs feed more than ``c / (eta C)``
activations each. These are fixed."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from restrict.base.arrays import I64
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.lemma.parameters import check_parameters
from restrict.model.arguments import as_written
from restrict.model.restriction import Restriction


@dataclass(frozen=True)
class Stage1Record:
    """What Stage 1 did, the paper's bounds beside what was measured (exact).

    Attributes:
        eta: the share of the free inputs that it may use up.
        C: the fraction of the positions that was free.
        c: the most inputs of a layer-0 activation.
        fixed: the inputs that it fixed, in order.
        fixed_bound: eta C n; at most this many are fixed.
        degree_before: the most layer-0 activations that a free input fed.
        degree_after: the same afterwards.
        degree_bound: c / (eta C); ``degree_after`` is at most that.
    """

    eta: Fraction
    C: Fraction
    c: int
    fixed: tuple[int, ...]
    fixed_bound: Fraction
    degree_before: int
    degree_after: int
    degree_bound: Fraction


def degrees(t: CTransformer) -> I64:
    """How many layer-0 activations each input feeds: int64, (n,). Cost: the inputs of all activations."""
    return t.depends.feeds()


def stage1(t: CTransformer, *, eta: float | Fraction, C: float | Fraction) -> tuple[Restriction, Stage1Record]:
    """Fix every free input that feeds more than ``c / (eta C)`` layer-0 activations, to the first symbol.

    Args:
        t: the c-transformer, with at least ``C n`` free inputs.
        eta: in (0, 1/2).
        C: in (0, 1].

    Returns:
        The refined restriction, and the record. Cost: the inputs of all activations.

    Raises:
        UsageError: eta or C is out of range.
    """
    check_parameters(eta=eta, C=C)
    eta, C, c = as_written(eta), as_written(C), t.c
    bound, before = Fraction(c) / (eta * C), degrees(t)
    heavy = [int(x) for x in np.flatnonzero(before) if before[x] > bound]
    restriction = t.fixing(dict.fromkeys(heavy, 0))
    after = degrees(t.restrict(restriction)) if heavy else before
    record = Stage1Record(
        eta, C, c, tuple(heavy), eta * C * t.n, int(before.max(initial=0)), int(after.max(initial=0)), bound
    )
    return restriction, record
