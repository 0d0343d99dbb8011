"""Floating point: how far a softmax model's result in float64 or float32 can be from the exact one, certified.

Two users of the budget in :mod:`restrict.simulate.floating`, which also says what is assumed of the library.

**Compiled programs** (:func:`head_error`, :func:`safe_length`). All blocks hold 0 and 1, and what units add are small
integers, so everything but the heads is exact in floating point, and Lemma 9 removes what a head errs as long as that
is at most 1/4. For one head with ranks up to ``R``: a product of query and key errs by at most ``u (R + 1.1)`` (one
rounding of rank plus tie-break, one of ``i/n``), its product with the scale by as much again, so scores err by ``eta =
scale u (2R + 2)`` beyond a factor common to the row. The bound grows with ``n``, so there is a length up to which
the result is right, and from which on it may be wrong.

**Any model** (:func:`logit_error`). Bounds on the activations and on their errors (:mod:`.propagate`): a head whose
scores err by ``eta`` moves its weights by at most ``2 tanh(eta / 2)`` in l1 norm (docs/soft.md, item 4). No LayerNorm.
"""

import math

from restrict.base.errors import UsageError
from restrict.simulate.floating import EXP_ULPS, SAFE, SHORT, UNITS, blown, deviation, longest
from restrict.simulate.ours.report import CompiledProgram, HeadReport
from restrict.simulate.propagate import logits_error, refuse
from restrict.soft.models.model import SoftModel
from restrict.soft.models.terms import Span, up


def head_error(head: HeadReport, n: int, unit: float) -> float:
    """How far what a head of a compiled program reads in floating point can be from the hard one. ``unit``: unit
    roundoff, 0 for exact arithmetic."""
    # Where ties are broken the scale is a multiple of n, so the bound falls with n where arithmetic is exact.
    exact = head.error(n if head.ties == "harmless" else min(n, SHORT), unit)
    if unit == 0 or exact >= 1:
        return exact
    errs = 2 * head.scale.enclose(0, n).high * unit * (2 * head.top + 2) * (1 + 1e-6)
    odds = up(exact / (1 - exact)) * blown(errs) * (1 + (EXP_ULPS + 8) * unit) * (1 + 1e-12)
    return deviation(odds, n, unit)


def program_error(compiled: CompiledProgram, unit: float, n: int | None = None) -> float:
    """The largest :func:`head_error` of a compiled program. ``unit``: unit roundoff. ``n``: the length; by default the
    one it was compiled for. Result: a certified bound; the result is right where it is at most 1/4. 1 where ranks are
    too large to be exact."""
    if any(head.top * unit > 0.25 for head in compiled.heads):
        return 1.0
    length = compiled.n if n is None else n
    return max((head_error(head, length, unit) for head in compiled.heads), default=0.0)


def safe_length(compiled: CompiledProgram, kind: str) -> int:
    """The length up to which a compiled program is right in floating point, on every word. ``kind``: ``float64`` or
    ``float32``. Result: the greatest such length up to 10 000 000 (certified): from the next one on the result may be
    wrong. For a model that holds at one length only: that length, or 0."""
    unit = _unit(kind)
    only = None if compiled.every_length else compiled.n
    return longest(lambda n: program_error(compiled, unit, n) <= SAFE, only)


def _unit(kind: str) -> float:
    if kind not in UNITS:
        raise UsageError(f"the type {kind!r} must be one of {', '.join(UNITS)}")
    return UNITS[kind]


# ------------------------------------------------------------ any model


def logit_error(model: SoftModel, n: int, kind: str) -> float:
    """How far any logit in floating point can be from the exact one, on any word and at any position. ``kind``:
    ``float64`` or ``float32``. Result: a certified bound, infinite where an activation may overflow."""
    unit = _unit(kind)
    refuse(model, "rounding")
    return logits_error(model, n, unit, lambda head, off, product: _moved(head.scale.enclose(0, n), off, product))


def _moved(scale: Span, off: float, product: float) -> float:
    """Scores that err by ``eta`` move the weights by at most ``2 tanh(eta / 2)``; a scale errs by ``2^-48``."""
    eta = max(abs(scale.low), abs(scale.high)) * (off + 2.0**-48 * product) * (1 + 1e-9)
    return 2 * math.tanh(min(eta, 700.0) / 2) * (1 + 1e-9)
