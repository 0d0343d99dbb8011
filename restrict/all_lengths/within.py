"""Rules whose values at the classes of positions fit 64 bits: those of the others are not followed. The engine
evaluates forms (:mod:`.forms`) on arrays of 64-bit integers, the checker with integers of any size. A class stands for
positions up to ``MOST`` on each side; beyond 64 bits there an array would hold another number. That counts for
differences, too: a comparison, ``min``, ``max`` and ``abs`` look at the sign of one, which a model at one length never
computes."""

from collections.abc import Iterator

from restrict.all_lengths.forms import Declined, show, tree_of
from restrict.base.arrays import MIN64
from restrict.base.errors import ModelError, quote
from restrict.checker.positions import MOST
from restrict.model.expr import Expr
from restrict.model.expr_parser import COMPARED
from restrict.model.interval import interval

RANGES = {"i": (0, MOST), "j": (0, MOST), "n": (1, 2 * MOST + 1)}


def within(expr: Expr, whole: bool = True) -> Expr:
    """The rule over ``i``, ``j`` and ``n`` itself; declined if a difference that it looks at may leave 64 bits, or its
    value, where the whole is asked for: of a rule that grows with the position only its slope is read."""
    for part in (*differences(expr), *([expr] if whole else [])):
        try:
            fits = interval(part, RANGES)[0] > MIN64  # the least number has no absolute value
        except ModelError as error:
            fits = "overflow" not in str(error)  # what may divide by 0 is refused where the model is read
        if not fits:
            reason = f"{quote(show(tree_of(part)), 90)} leaves 64 bits at some n below {RANGES['n'][1]}"
            raise Declined(f"the sub-expression {reason}")
    return expr


def differences(expr: Expr) -> Iterator[Expr]:
    """The differences whose signs are looked at, innermost first."""
    for arg in expr.args:
        yield from differences(arg)
    if expr.op in (*COMPARED, "min", "max"):
        yield Expr("sub", expr.args)
    if expr.op == "abs" and expr.args[0].op != "fin":  # a hash is never negative, and does not grow
        yield Expr("add", (expr.args[0], expr.args[0]))
