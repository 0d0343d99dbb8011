"""Text pictures: a restriction, a certificate, and what each examined node came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from restrict.abstract.run import AbstractRun, abstract_run
from restrict.certificate.cases import leaves
from restrict.certificate.certificate import Certificate
from restrict.certificate.refutation import Refutation
from restrict.model.examples.known import known_optimum
from restrict.model.program import Instance, Model
from restrict.restriction import Restriction, runs

WIDTH = 64
WIDEST = 60
"""Symbols of a witness that are printed."""
SHADES = " .:-=+*#"


def restriction_picture(rho: Restriction) -> str:
    """Up to 640 positions: the text form with a ruler; beyond: how much is fixed in each of 64 equal parts."""
    short = all(len(s) == 1 for s in rho.fixed.values())
    if rho.n <= 10 * WIDTH and short:
        cells = rho.text()
        return "\n".join(f"  {at:>7}  {cells[at : at + WIDTH]}" for at in range(0, rho.n, WIDTH))
    counts = [0] * WIDTH
    for i in rho.fixed:
        counts[i * WIDTH // rho.n] += 1
    size = max(1, rho.n // WIDTH)
    strip = "".join(SHADES[min(len(SHADES) - 1, -(-c * (len(SHADES) - 1) // size))] for c in counts)
    return f"  |{strip}|  each cell is {size} positions; blank = none fixed, # = all"


def fixed_list(rho: Restriction, most: int = 12) -> str:
    """The fixed positions as runs, the first few of them."""
    parts = [
        f"{start}:{symbol}" if count == 1 else f"{start}-{start + count - 1}:{symbol}"
        for start, count, symbol in rho.to_json()
    ]
    more = f" ... ({len(parts) - most} more)" if len(parts) > most else ""
    return " ".join(parts[:most]) + more if parts else "none"


def span(positions: Sequence[int], most: int = 8) -> str:
    """Positions as runs, the first few of them."""
    parts = [str(s) if c == 1 else f"{s}-{s + c - 1}" for s, c in runs(positions)]
    return ", ".join(parts[:most]) + (f", ... ({len(parts) - most} more)" if len(parts) > most else "")


def headline(model: Model, certificate: Certificate) -> str:
    """The claim in words."""
    at, claim = model.at(certificate.n), certificate.claim
    where = "the output" if certificate.target == "last" else f"the output at {certificate.target}"
    if claim.values is None:
        return f"every output depends on at most {claim.c} of the free inputs"
    labels = list(dict.fromkeys(at.label(v) for v in claim.values))
    if len(labels) == 1:
        return f"{where} is forced: {labels[0]}, whatever the {claim.free} free inputs are"
    return f"{where} depends on at most {claim.c} of the {claim.free} free inputs: {span(claim.dependencies or ())}"


def summary(model: Model, certificate: Certificate) -> str:
    """What a person wants to know of a certificate."""
    n, fixed = certificate.n, len(certificate.restriction.fixed)
    size = certificate.cone_size
    lines = [
        f"{model.name} at n = {n}: {headline(model, certificate)}",
        f"  fixed   {fixed} of {n} positions, {certificate.free} free ({100 * certificate.free / n:.4g} %)",
        f"  c       {certificate.c} (certified bound on the inputs that the output depends on)",
        f"  rho     {fixed_list(certificate.restriction)}",
        f"  cone    {'every node' if size is None else f'{size} node' + 's' * (size != 1)} to examine",
    ]
    if certificate.split or certificate.cases is not None:
        lines.append(cases_line(certificate))
    known = known_optimum(model, n) if certificate.target in ("last", n - 1) and certificate.c == 0 else None
    if known is not None:
        lines.append(f"  optimum {known} fixed positions (exact, known for this model: instances/README.md)")
    elif "optimum" in certificate.provenance:
        lines.append(f"  optimum {certificate.provenance['optimum']} fixed positions (exact, by enumeration)")
    return "\n".join(lines)


def cases_line(certificate: Certificate) -> str:
    """How a certificate that is split, or has a tree of cases, is proved."""
    if certificate.cases is not None:
        paths = [path for path, _ in leaves(certificate.cases)]
        return f"  cases   a tree of {len(paths)} cases over {len(set().union(*paths))} positions: proved case by case"
    return f"  split   over position{'s' * (len(certificate.split) > 1)} {span(certificate.split)}: proved case by case"


def certificate_picture(certificate: Certificate, model: Model | None = None) -> str:
    """The restriction and the cone; with the model, what each examined node may be and depends on."""
    rho = certificate.restriction
    lines = [
        f"certificate for {certificate.model_name}, n = {certificate.n}, target {certificate.target}",
        f"  claim   {certificate.claim.text(certificate.n, certificate.target)}",
        f"  model   sha256 {certificate.sha256 or 'none (a model without a file)'}",
        f"  fixed   {fixed_list(rho)}",
        restriction_picture(rho if model is None else Restriction.of(model.at(certificate.n), rho.fixed)),
    ]
    if model is None:
        lines.append("  cone    (give --model MODEL to see what the nodes come to)")
        cone = certificate.cone
        lines += ["    every node"] if cone == "all" else [f"    {name} at {span(p)}" for name, p in cone.items()]
        return "\n".join(lines)
    at = model.at(certificate.n)
    if certificate.cases is not None:
        return "\n".join([*lines, cases_line(certificate)])
    if certificate.split:
        lines += [cases_line(certificate), "  before the split:"]
    return "\n".join([*lines, "  cone", *_nodes(at, abstract_run(at, rho, certificate.cone), certificate)])


def _nodes(at: Instance, run: AbstractRun, certificate: Certificate, most: int = 60) -> Iterable[str]:
    count = 0
    for variable in at.model.variables:
        for i, (values, depends) in run.facts.get(variable.name, {}).items():
            count += 1
            if count <= most:
                shown = "{" + ",".join(map(str, values[:8])) + (",..." if len(values) > 8 else "") + "}"
                size = depends.bit_count()
                yield f"    {variable.name}[{i}] in {shown}" + (f", depends on {size} inputs" if size else "")
    if count > most:
        yield f"    ... and {count - most} more nodes"


def witness_lines(found: Refutation) -> list[str]:
    """The two words, shortened."""
    return [f"  member      {shown(found.member)}", f"  non-member  {shown(found.nonmember)}"]


def shown(word: tuple[str, ...]) -> str:
    """A word, cut in the middle where it is long."""
    gap = "" if all(len(s) == 1 for s in word) else " "
    if len(word) <= WIDEST:
        return gap.join(word)
    return f"{gap.join(word[: WIDEST // 2])} ... {gap.join(word[-WIDEST // 2 :])}"
