"""Lower bounds in words and as JSON, beside the other bounds that are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from restrict.base.wording import counted, doing
from restrict.certificate.certificate import Certificate
from restrict.certificate.lower_bound import Box, LowerBound
from restrict.model.examples.known import known_optimum
from restrict.report.text import fixed_list, known_line, optimum_by, output_at, span

if TYPE_CHECKING:
    from restrict.optimum.exact import Exact
    from restrict.optimum.lower_bound import Bounds

WHY = {
    "optimal": "the bound is reached",
    "asked": "as far as was asked for",
    "open": "no further box was found where one was needed",
    "budget": "the budget of boxes and nodes is spent",
    "time": "time is up",
    "interrupted": "interrupted",
}
SHOWN = 8
"""Labels that are printed by name."""


def best_lower(bounds: Bounds, certificate: Certificate | None = None, exact: Exact | None = None) -> tuple[int, str]:
    """The greatest lower bound that is known for forcing the output, and its kind. ``bounds``: from
    :func:`restrict.optimum.lower_bound.lower_bound`. ``exact``: the result of the exact search for ``c = 0``. Result:
    the bound and where it comes from; of equal ones a certified one first."""
    bound = bounds.bound
    known = [(bounds.at_least, f"certified by {counted(len(bound.boxes), 'box')}")]
    if exact is not None and exact.c == 0:
        known.append((exact.lower, "exact search"))
    if certificate is not None and "optimum" in certificate.provenance:
        known.append((int(certificate.provenance["optimum"]), optimum_by(certificate)))
    optimum = known_optimum(bounds.model, bound.n, bound.target)
    if optimum is not None:
        known.append((optimum, "known for this model"))
    return max(known, key=lambda pair: pair[0])


def verdict(certificate: Certificate, bounds: Bounds, exact: Exact | None = None) -> str:
    """One line: how far from the optimum a certificate is at most."""
    fixed = len(certificate.restriction.fixed)
    least, kind = best_lower(bounds, certificate, exact)
    if least >= fixed:
        if fixed == 0:
            return "0 fixed, optimal"
        return f"{fixed} fixed, optimal: no {doing(fixed - 1, 'position', 'force')} the output (proved: {kind})"
    return f"{fixed} fixed, at least {least} ({kind})"


def bound_path(path: Path) -> Path:
    """Where the proof of the bound goes beside a certificate: ``cert.json`` and ``cert.lower.json``."""
    return path.with_name(f"{path.stem}.lower{path.suffix}")


def bounds_below(certificate: Certificate, bounds: Bounds, output: Path | None, exact: Exact | None = None) -> str:
    """What is printed under a certificate: the verdict, what proves it, and what else is known."""
    lines = [f"  bound   {verdict(certificate, bounds, exact)}"] if certificate.c == 0 else []
    lines.append(f"          {bounds.at_least} by {proof_line(bounds)}; by disjoint boxes alone {bounds.disjoint}")
    if bounds.at_least < len(certificate.restriction.fixed):
        lines.append(f"          labels: {label_bounds(bounds.bound)}; ended: {WHY[bounds.stopped]}")
    if output is not None and has_claim(bounds.bound):
        lines.append(f"          its proof is in {bound_path(output)}")
    return "\n".join(lines)


def bound_lines(bounds: Bounds) -> str:
    """The bound, its proof, and what else is known."""
    bound = bounds.bound
    lines = [
        f"{bounds.model.name} at n = {bound.n}: forcing {output_at(bound.target)} fixes at least "
        f"{counted(bounds.at_least, 'position')} (certified bound)",
        f"  labels  {label_bounds(bound)}",
        f"  proof   {proof_line(bounds)}",
        f"  beside  disjoint boxes alone: at least {bounds.disjoint}",
    ]
    lines += known_line(bounds.model, bound.n, bound.target)
    if bounds.forcing is not None:
        fixed, exactly = len(bounds.forcing.restriction.fixed), "exact: the optimum"
        kind = exactly if fixed == bounds.at_least else "certified bound"
        lines.append(f"  at most {fixed} ({kind}): {fixed_list(bounds.forcing.restriction)}")
    lines.append(f"  ended   {WHY[bounds.stopped]}")
    return "\n".join(lines)


def proof_line(bounds: Bounds) -> str:
    """What the proof consists of."""
    boxes = bounds.bound.boxes
    widest = max((len(box) for box in boxes), default=0)
    size = f"{counted(len(boxes), 'box')} of up to {counted(widest, 'position')}"
    return f"{size}; no fewer positions conflict with all that exclude a label"


def label_bounds(bound: LowerBound) -> str:
    """The bounds label by label."""
    listed = sorted(bound.labels.items(), key=lambda pair: pair[1])
    parts = [f"{label} at least {least}" for label, least in listed[:SHOWN]]
    if len(listed) > SHOWN:
        parts.append(f"{len(listed) - SHOWN} more at least {listed[SHOWN][1]}")
    if bound.others is not None:
        parts.append(f"all others at least {bound.others}")
    return ", ".join(parts) or "none"


def bound_document(
    bounds: Bounds, certificate: Certificate | None = None, exact: Exact | None = None
) -> dict[str, Any]:
    """What a search for lower bounds came to, as JSON."""
    least, kind = best_lower(bounds, certificate, exact)
    return {
        "at_least": bounds.at_least,
        "best": {"at_least": least, "kind": kind},
        "labels": dict(bounds.bound.labels),
        "others": bounds.bound.others,
        "disjoint": bounds.disjoint,
        "upper": bounds.upper,
        "optimal": bounds.upper is not None and bounds.at_least >= bounds.upper,
        "stopped": bounds.stopped,
        "forcing": None if bounds.forcing is None else bounds.forcing.document(),
        "certificate": bounds.bound.document() if has_claim(bounds.bound) else None,
    }


def has_claim(bound: LowerBound) -> bool:
    """Whether anything is claimed: a bound of 0 has no certificate."""
    return bool(bound.labels) or bound.others is not None


def box_words(box: Box) -> tuple[list[str], str]:
    """What a box allows, position by position, and the nodes that it reads."""
    cells = [f"{p}:{'|'.join(symbols)}" for p, symbols in box.only.items()]
    cells += [f"{p}:not {'|'.join(symbols)}" for p, symbols in box.never.items()]
    return cells, "; ".join(f"{name} at {span(where, 4)}" for name, where in box.cone.items())
