"""Forcing a label at every length: the cheapest pattern of fixed symbols, and the exact costs, each with its proof."""

from restrict.all_lengths.automaton import Progress, automaton, known_label, labels_of
from restrict.all_lengths.bimachine import DEFAULT_STATES
from restrict.all_lengths.evidence import Evidence, Proved, proved
from restrict.all_lengths.forcing import Costs, costs
from restrict.all_lengths.moore import moore
from restrict.all_lengths.patterns import Pattern
from restrict.base.errors import NotEstablished, ResourceLimit
from restrict.model.program import Model


def certify_all_lengths(
    model: Model, *, label: str | None = None, states: int = DEFAULT_STATES, progress: Progress | None = None
) -> tuple[Pattern, Proved]:
    """The cheapest pattern of fixed symbols that forces a label of the last position at every length, with its proof.

    Args:
        model: an order-only model.
        label: the label; by default the one with the cheapest pattern.
        states: the state limit.
        progress: called with a line after each stage.

    Returns:
        The pattern and the proof.

    Raises:
        UsageError: no value of the output has this label.
        NotEstablished: not order-only, or no pattern with a middle of up to four cells forces a label.
        ModelError: the model is not defined at any length.
        ResourceLimit: too large.
    """
    found = automaton(model, states=states, progress=progress, keep=True)
    wanted = [label] if label is not None else labels_of(found)
    patterns = [p for name in wanted if (p := found.pattern(known_label(found, name))) is not None]
    if not patterns:
        which = "a label" if label is None else f"the label {label!r}"
        raise NotEstablished(
            f"no pattern `start middle middle ... end` with a middle of up to four cells forces {which} at every length"
        )
    best = min(patterns, key=lambda p: (p.share, p.cost))
    evidence = proved(model, found, best.claim())
    return best, Proved(f"{best.text()} forces {best.label}", best.first, found, evidence, forcing=best)


def certify_costs(
    model: Model, label: str, *, n: int | None = None, states: int = DEFAULT_STATES, progress: Progress | None = None
) -> tuple[Costs, Proved]:
    """The exact cost of forcing a label of the last position at every length, with its proof.

    Args:
        model: an order-only model.
        label: the label.
        n: a length, markers counted: ``at`` of the proof then has a restriction with the fewest fixed positions there.
        states: the state limit.
        progress: called with a line after each stage.

    Returns:
        The costs and the proof: the least costs of all sets of states that fixed and free positions reach, length by
        length until they are settled, are both the upper and the lower bound.

    Raises:
        UsageError: no value of the output has this label, or there are no inputs of length ``n``.
        NotEstablished: not order-only.
        ModelError: the model is not defined at any length, or not at ``n``.
        ResourceLimit: too large.
    """
    found = automaton(model, states=states, progress=progress, keep=True)
    values = found.costs(known_label(found, label))
    try:  # of the states that the checker walks, which need not be the fewest
        evidence = proved(model, found, costs(moore(found.built, merging=False), label, len(model.markers)).claim())
    except ResourceLimit as error:
        evidence = Evidence(reason=str(error))
    at = None if n is None else (n, found.cheapest(label, n))
    return values, Proved(f"cost of {label}", 1, found, evidence, forcing=values, at=at)
