"""How a certificate is printed by the commands that find one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from restrict.base.wording import counted
from restrict.cli.checking import Asked, checked_line, document_of
from restrict.cli.common import Given
from restrict.cli.printer import parts, put

if TYPE_CHECKING:
    from restrict.certificate.certificate import Certificate
    from restrict.model.program import Model
    from restrict.optimum.exact import Exact
    from restrict.optimum.lower_bound import Bounds


def report(
    program: Model, found: Certificate, said: Asked, o: Given, optimum: Exact | None, bounds: Bounds | None
) -> None:
    """Print a certificate, in words or as JSON, with the name of its file and what a checker says."""
    from restrict.report.lower_bound import bound_document, bounds_below
    from restrict.report.text import summary

    def document() -> dict[str, Any]:
        out = certificate_document(found, said.line, o)
        if optimum is not None:
            out["exact"] = exact_document(optimum)
        if bounds is not None:
            out["lower_bound"] = bound_document(program, bounds, found, optimum)
        return out

    def text() -> str:
        told = [summary(program, found)]
        told += [] if optimum is None else [exact_lines(optimum)]
        told += [] if bounds is None else [bounds_below(program, found, bounds, o.output, optimum)]
        why = "the model has no file" if program.digest is None else said.why
        return "\n".join([*told, checked_line(said.line, o.checker, why)])

    put(text, document, o.as_json, {"  written to": o.output})


def certificate_document(found: Certificate, line: str | None, o: Given) -> dict[str, Any]:
    """A certificate with the name of its file and what a checker said."""
    place = {"file": str(o.output) if o.output else None}
    return {"certificate": json.loads(found.to_bytes())} | place | document_of(line, o.checker)


def exact_lines(found: Exact) -> str:
    """The bounds of an exact search in words."""
    lines = []
    if found.optimal:
        lines.append(
            f"  optimum {counted(found.upper, 'fixed position')} (exact: no restriction with fewer forces the output)"
        )
    else:
        lines.append(
            f"  optimum between {found.lower} and {counted(found.upper, 'fixed position')} "
            "(certified bounds; stopped early)"
        )
    if found.witnesses:
        cubes = sum(len(w.cubes) for w in found.witnesses)
        lines.append(
            f"  proof   {cubes} witness cubes, each forces another label, and no fewer positions contradict them all"
        )
    if not found.confirmed:
        text = " ".join(f"{i}:{s}" for i, s in found.restriction.fixed.items())
        lines.append(f"          {found.upper} is reached by {text}: SAT confirms it, but not the abstract run")
    return "\n".join(lines)


def exact_document(found: Exact) -> dict[str, Any]:
    """The bounds of an exact search as JSON."""
    cubes = [{"cubes": [sorted(c.items()) for c in w.cubes]} for w in found.witnesses]
    return {
        **parts(found, "lower upper"),
        "restriction": found.restriction.to_json(),
        "confirmed": found.confirmed,
        "witnesses": [parts(w, "label bound") | more for w, more in zip(found.witnesses, cubes, strict=True)],
    }
