"""The parameters of the Depth Reduction Lemma (Hahn 2020, section 5.1): their ranges, and what to take instead. ``C``
and ``C'``: the fractions of the n positions that are free before and after. ``eta``: Stages 1 and 2 may each use up a
share eta of the free inputs. ``k``: selections per pair. ``q``: the share that Stage 3 sets at random, with tolerance
``delta``. All are exact fractions, so that a bound never depends on rounding."""

from fractions import Fraction

from restrict.base.errors import UsageError
from restrict.base.wording import counted
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer


def check_parameters(
    *, eta: float | Fraction | None = None, k: int | None = None, q: float | Fraction | None = None,
    delta: float | Fraction | None = None, C: float | Fraction | None = None, C_next: float | Fraction | None = None,
) -> None:  # fmt: skip
    """Refuse parameters, where not ``None``, outside the lemma's ranges: 0 < ``eta`` < 1/2; ``k`` >= 1; 0 < ``q`` < 1;
    0 < ``delta`` <= 1; 0 < ``C`` <= 1; 0 <= ``C_next`` < ``C``."""
    if eta is not None and not 0 < eta < Fraction(1, 2):
        raise UsageError(
            f"eta = {eta} must lie strictly between 0 and 1/2; take eta = {'0.01' if eta <= 0 else '0.49'}"
        )
    if k is not None and k < 1:
        raise UsageError(f"k = {k} must be at least 1; take k = 1")
    if q is not None and not 0 < q < 1:
        raise UsageError(f"q = {q} must lie strictly between 0 and 1; take q = {'0.01' if q <= 0 else '0.99'}")
    if delta is not None and not 0 < delta <= 1:
        raise UsageError(f"delta = {delta} must be above 0 and at most 1; take delta = {'0.1' if delta <= 0 else '1'}")
    if C is not None and not 0 < C <= 1:
        raise UsageError(f"C = {float(C):g} must be above 0 and at most 1; take C = {'0.01' if C <= 0 else '1'}")
    if C_next is not None and C is not None and not 0 <= C_next < C:
        nearest = "0" if C_next < 0 else f"below {float(C):g}, such as {float(C) * 0.99:.4g}"
        raise UsageError(
            f"C' = {float(C_next):g} must be at least 0 and less than C = {float(C):g}; take C' = {nearest}"
        )


def need_length(t: CTransformer, k: int) -> None:
    """Refuse n <= c k, where k selections cannot exist in general. ``k``: selections per pair."""
    c = max(1, t.c)
    if t.n <= c * k:
        most = (t.n - 1) // c
        advice = f"take k <= {most}, or n >= {c * k + 1}" if most else f"take n >= {c * k + 1}"
        raise UsageError(
            f"n = {t.n} is too small for k = {k} selections of activations of up to {counted(c, 'input')}: {advice}"
        )
