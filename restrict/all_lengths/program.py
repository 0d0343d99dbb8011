"""Order-only programs in the form that the construction works on. A program is a list of :class:`Step` (a function of
variables at the same position) and :class:`Look` (a head whose score is a table of ranks). Two variables are given
besides the token: ``@p`` and ``@s``, the classes of the number of positions to the left and to the right (exact below
``threshold``, then by residue modulo ``period``)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from restrict.base.arrays import I32, I64, Bools

TOKEN, BEFORE, AFTER, WHEN = "token", "@p", "@s", "@when"
UNDEFINED = ""
"""The label of lengths at which the model is not defined; a model's own labels are never empty."""


@dataclass(frozen=True, eq=False)
class Step:
    """``name = rule(args)`` at the same position; ``rule`` takes one array per argument, of one shape."""

    name: str
    args: tuple[str, ...]
    rule: Callable[..., I64]
    size: int
    model_variable: str


@dataclass(frozen=True, eq=False)
class Look:
    """A head. ``query`` (a variable below U) chooses the row, ``pair`` (a variable below P) is what a position offers.
    ``rank`` (U, P): the order of the scores, larger is better, from 0. ``later`` (U, ranks): whether of two pairs of
    equal rank the one at the larger position wins. ``value`` (P,): what the head copies."""

    name: str
    query: str
    pair: str
    rank: I32
    later: Bools
    value: I64
    mask: str
    default: int
    size: int
    model_variable: str


@dataclass(frozen=True, eq=False)
class OrderOnly:
    """``output`` at the last position, or at every one. ``classes`` (threshold, period) of ``@p`` and ``@s``.
    ``label_of``: from an output value to a number in ``labels``. ``defined``: the variable (0 or 1) that says whether
    the model is defined at this length; ``None`` where it is defined at every one. ``accepts``: the labels are
    ``accept`` and ``reject``, by ``output.accept``."""

    alphabet: tuple[str, ...]
    start: bool
    end: bool
    steps: tuple[Step | Look, ...]
    output: str
    every: bool
    labels: tuple[str, ...]
    label_of: tuple[int, ...]
    threshold: int
    period: int
    defined: str | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    accepts: bool = False

    @property
    def letters(self) -> int:
        """Symbols and markers."""
        return len(self.alphabet) + self.start + self.end


def reads(step: Step | Look) -> tuple[str, ...]:
    """The variables that a step reads."""
    return step.args if isinstance(step, Step) else (step.query, step.pair)


def needed(steps: tuple[Step | Look, ...], goals: tuple[str, ...]) -> tuple[Step | Look, ...]:
    """The steps that the goals depend on, in order."""
    wanted = set(goals)
    kept = []
    for step in reversed(steps):
        if step.name in wanted:
            kept.append(step)
            wanted.update(reads(step))
    return tuple(reversed(kept))
