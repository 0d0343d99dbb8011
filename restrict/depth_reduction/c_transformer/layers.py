"""The layers of a transformer under one restriction, removed one after the other (Hahn 2020, Figure 1).

A certificate for all positions is made here, not from what a search reports: the program is collapsed afresh under the
restriction, layer by layer, until no layer is left, and the dependencies of the output's labels are counted.
:class:`LayerTrace` is one row of the figure, as measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from restrict.base.arrays import I64
from restrict.base.deadline import NEVER, Deadline
from restrict.depth_reduction.c_transformer.activations import Attended
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.model.program import Instance
from restrict.model.restriction import Restriction


@dataclass(frozen=True)
class LayerTrace:
    """One layer, under the final restriction; all numbers are certified bounds or exact counts.

    Attributes:
        layer: its number, from 1 on.
        heads: its heads, at all positions.
        captured: those whose lists end at a constant key for every query value.
        constant: those that have one value whatever the input.
        mean: inputs that an activation above the layer depends on, the mean.
        quantile: the same, the 99 % quantile.
        most: the same, the maximum.
        values: values per activation, the mean.
        fixed: inputs that were fixed for this layer.
    """

    layer: int
    heads: int
    captured: int
    constant: int
    mean: float
    quantile: float
    most: int
    values: float
    fixed: int

    def line(self) -> str:
        """The layer as a row of the table that ``--trace`` prints."""
        return (
            f"{self.layer:>5}  {self.heads:>5}  {self.captured:>8}  {self.constant:>8}  {self.values:>6.2f}"
            f"  {self.mean:>18.1f}  {self.quantile:>5.0f}  {self.most:>5}  {self.fixed:>12}"
        )


def collapsed(instance: Instance, restriction: Restriction, deadline: Deadline = NEVER) -> list[CTransformer]:
    """The c-transformers under a restriction, from the program itself to no layers; ``OutOfTime`` at the deadline.
    Result: one more than the program has layers. Cost: one score per row and possible pair of every layer."""
    out = [CTransformer.of_model(instance, None, restriction).until(deadline)]
    while out[-1].layers:
        out.append(out[-1].collapse())
    return out


def layer_traces(stages: Sequence[CTransformer], fixed: Sequence[int]) -> tuple[LayerTrace, ...]:
    """What is left of each layer of :func:`collapsed`'s stages, as measured; ``fixed``: the inputs fixed for it."""
    return tuple(_traced(layer, *pair, fixed) for layer, pair in enumerate(pairwise(stages), 1))


def _traced(layer: int, below: CTransformer, above: CTransformer, fixed: Sequence[int]) -> LayerTrace:
    captured = constant = 0
    for head in below.heads:
        constant += int(np.count_nonzero(above.base[head.name].sizes == 1))
        captured += int(np.count_nonzero(_captured(below, above, head.name)))
    sizes = [above.base[name].sizes for name in above.live if above.depth[name] == 0 and name not in below.base]
    degrees = above.degrees
    return LayerTrace(
        layer, len(below.heads) * below.n, captured, constant, float(degrees.mean()), float(np.quantile(degrees, 0.99)),
        int(degrees.max(initial=0)), float(np.mean(sizes)) if sizes else 1.0,
        fixed[layer - 1] if layer <= len(fixed) else 0,
    )  # fmt: skip


def _captured(below: CTransformer, above: CTransformer, name: str) -> I64:
    """Whether every list of the head at each position ends at a constant key (or it sees nothing), shape (n,)."""
    source = above.base[name].source
    assert isinstance(source, Attended)
    lists = source.lists
    if source.key is None:
        return np.ones(below.n, np.int64)
    if lists is None:
        assert source.captured is not None
        return source.captured
    sizes = below.base[source.key].sizes
    last = np.where(lists.stop > lists.start, lists.j[np.maximum(lists.stop - 1, 0)], 0)
    ends = (sizes[last] == 1) | (lists.own_j == last)
    open_ = np.bincount(lists.row_i[~ends[lists.row_list]], minlength=below.n)
    found: I64 = (open_ == 0).astype(np.int64)
    return found
