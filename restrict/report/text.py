"""Text pictures: a restriction, a certificate, and what each examined node came to."""

import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from restrict.abstract.run import AbstractRun, abstract_run
from restrict.base.wording import counted, fixed_spans, joined, joiner, percent
from restrict.certificate.cases import leaves
from restrict.certificate.certificate import Certificate
from restrict.certificate.outline import Outline
from restrict.certificate.refutation import Refutation
from restrict.model.examples.known import known_optimum
from restrict.model.program import Instance, Model
from restrict.model.restriction import Restriction, runs
from restrict.model.source import GENERATORS
from restrict.model.task import Target

WIDTH = 64
NODES = 60
"""Examined nodes that are printed."""
WIDEST = 60
"""Symbols of a witness that are printed."""
SHADES = " .:-=+*#"
CLAIMED = "case by case"
"""How a certificate says that it is proved, where it was not checked."""
TRIVIAL = "          the trivial bound: no free input was ruled out; fix more (a smaller --free), or give -c"
"""What a certificate for every position says where some output may depend on every free input."""


def restriction_picture(fixed: Sequence[tuple[int, int, str]], n: int, pinned: Collection[int] = ()) -> str:
    """Up to 640 positions: the text form with a ruler; beyond: how much is fixed in each of 64 equal parts."""
    if n <= 10 * WIDTH and all(len(symbol) == 1 for _, _, symbol in fixed):
        symbols = {i: a for start, count, a in fixed for i in range(start, start + count)}
        cells = Restriction(n, symbols, frozenset(pinned)).text()
        return "\n".join(f"  {at:>7}  {cells[at : at + WIDTH]}" for at in range(0, n, WIDTH))
    counts = [0] * WIDTH
    for start, count, _ in fixed:
        for part in range(start * WIDTH // n, (start + count - 1) * WIDTH // n + 1):
            first, stop = -(-part * n // WIDTH), -(-(part + 1) * n // WIDTH)
            counts[part] += max(0, min(stop, start + count) - max(first, start))
    size = max(1, n // WIDTH)
    strip = "".join(SHADES[min(len(SHADES) - 1, -(-c * (len(SHADES) - 1) // size))] for c in counts)
    return f"  |{strip}|  each cell is {counted(size, 'position')}; blank = none fixed, # = all"


def fixed_list(rho: Restriction | Sequence[Sequence[Any]], most: int = 12) -> str:
    """The fixed positions as runs (start, count, symbol), the first few of them."""
    spans = rho.to_json() if isinstance(rho, Restriction) else rho
    return fixed_spans(spans, most)


def span(positions: Sequence[int], most: int = 8) -> str:
    """Positions as runs, the first few of them."""
    return span_list(runs(positions), most)


def span_list(spans: Sequence[Sequence[int]], most: int = 8) -> str:
    """Runs (start, count), the first few of them."""
    parts = [str(s) if c == 1 else f"{s}-{s + c - 1}" for s, c in spans[:most]]
    return ", ".join(parts) + (f", ... ({len(spans) - most} more)" if len(spans) > most else "")


def output_at(target: object) -> str:
    """The output at a target, in words."""
    return "the output" if target == "last" else f"the output at {target}"


def headline(model: Model, certificate: Certificate) -> str:
    """The claim in words."""
    instance, claim = model.at(certificate.n), certificate.claim
    output = output_at(certificate.target)
    if claim.values is None:
        return f"every output depends on at most {claim.c} of the free inputs"
    labels = list(dict.fromkeys(instance.label(v) for v in claim.values))
    free = counted(claim.free, "free input")
    if len(labels) == 1:
        return f"{output} is forced: {labels[0]}, whatever the {free} {'is' if claim.free == 1 else 'are'}"
    return f"{output} depends on at most {claim.c} of the {free}: {span(claim.dependencies or ())}"


def summary(model: Model, certificate: Certificate) -> str:
    """What a person wants to know of a certificate."""
    n, fixed = certificate.n, len(certificate.restriction.fixed)
    size = certificate.cone_size
    lines = [
        f"{model.name} at n = {n}: {headline(model, certificate)}",
        f"  fixed   {fixed} of {n} positions, {certificate.free} free ({percent(certificate.free, n)} %)",
        f"  c       {certificate.c} (certified bound on the inputs that the output depends on)",
        *([TRIVIAL] if certificate.target == "all" and certificate.c == certificate.free > 0 else []),
        f"  rho     {fixed_list(certificate.restriction)}",
        f"  cone    {'every node' if size is None else counted(size, 'node')} to examine",
    ]
    if certificate.split or certificate.cases is not None:
        lines.append(cases_line(certificate))
    known = known_line(model, n, certificate.target) if certificate.c == 0 else []
    if known:
        lines += known
    elif "optimum" in certificate.provenance:
        optimum = counted(certificate.provenance["optimum"], "fixed position")
        lines.append(f"  optimum {optimum} (exact, {optimum_by(certificate)})")
    elif "optimum_at_least" in certificate.provenance:
        least = counted(certificate.provenance["optimum_at_least"], "fixed position")
        lines.append(
            f"  optimum at least {least} (exact bound: smaller restrictions allow two words of different labels)"
        )
    return "\n".join(lines)


def known_line(model: Model, n: int, target: Target) -> list[str]:
    """The line about the optimum of a built-in model, if there is one."""
    known = known_optimum(model, n, target)
    told = f"  optimum {counted(known or 0, 'fixed position')} (exact, known for this model: instances/README.md)"
    return [] if known is None else [told]


def optimum_by(certificate: Certificate) -> str:
    """How the optimum that a certificate's provenance tells was found: "by enumeration", "by SAT" or "by words"."""
    return f"by {certificate.provenance.get('optimum_by', 'enumeration')}"


def cases_line(certificate: Certificate, how: str = "proved case by case") -> str:
    """How a certificate that is split, or has a tree of cases, is proved; ``how``: as far as that is known."""
    if certificate.cases is not None:
        paths = [path for path, _ in leaves(certificate.cases)]
        positions = counted(len(set().union(*paths)), "position")
        return f"  cases   a tree of {counted(len(paths), 'case')} over {positions}: {how}"
    return f"  split   over position{'s' * (len(certificate.split) > 1)} {span(certificate.split)}: {how}"


def certificate_picture(outline: Outline, model: Model | None = None, found: Certificate | None = None) -> str:
    """The restriction and the cone; with the model, what each examined node may be and depends on. ``outline``: the
    certificate, whose runs are not expanded. ``found``: the certificate itself, where its nodes are to be examined."""
    pinned = () if model is None else model.at(outline.n).pinned
    lines = [
        f"certificate for {outline.model_name}, n = {outline.n}, target {outline.target}",
        f"  claim   {outline.claim.text(outline.n, outline.target)}",
        f"  model   sha256 {outline.sha256 or 'none (a model without a file)'}",
        f"  fixed   {fixed_list(outline.fixed)}",
        restriction_picture(outline.fixed, outline.n, pinned),
    ]
    if model is None or found is None:
        why = "give --model MODEL to see what the nodes come to" if model is None else "too many nodes to examine here"
        lines.append(f"  cone    ({why})")
        cone = outline.cone
        lines += ["    every node"] if cone == "all" else [f"    {name} at {span_list(p)}" for name, p in cone.items()]
        return "\n".join(lines)
    if found.cases is not None:
        return "\n".join([*lines, cases_line(found, CLAIMED)])
    instance = model.at(outline.n)
    rho = Restriction.of(instance, found.restriction.fixed)
    if found.split:
        lines += [cases_line(found, CLAIMED), "  before the split:"]
    return "\n".join([*lines, "  cone", *_nodes(instance, abstract_run(instance, rho, found.cone))])


def _nodes(instance: Instance, run: AbstractRun) -> Iterable[str]:
    names = [variable.name for variable in instance.model.variables]
    facts = [(f"{name}[{i}]", *fact) for name in names for i, fact in run.facts.get(name, {}).items()]
    for node, values, depends in facts[:NODES]:
        shown = "{" + ",".join(map(str, values[:8])) + (",..." if len(values) > 8 else "") + "}"
        size = depends.bit_count()
        yield f"    {node} in {shown}" + (f", depends on {counted(size, 'input')}" if size else "")
    if len(facts) > NODES:
        yield f"    ... and {counted(len(facts) - NODES, 'more node')}"


RERUN = {
    "full": "both were run in full",
    "output": "both were run as far as the output reads",
    "certificate": "too long to run; equal by the certificate",
}
"""How the two words of a refutation were run."""


def refutation_summary(found: Refutation) -> str:
    """What a person wants to know of a refutation."""
    certificate, differ = found.certificate, sum(a != b for a, b in zip(found.member, found.nonmember, strict=True))
    lines = [
        f"{certificate.model_name} does not recognise {found.language} at n = {found.n}: two words get the label "
        f"{found.label!r}",
        f"  fixed   {len(certificate.restriction.fixed)} of {found.n} positions, {found.free} free",
        f"  c       {certificate.c} (certified bound on the inputs that the label depends on)",
        f"  rho     {fixed_list(certificate.restriction)}",
        *witness_lines(found),
        f"  they differ at {differ} of the free positions; {RERUN[found.rechecked]}",
    ]
    if certificate.split or certificate.cases is not None:
        lines.append(cases_line(certificate))
    if found.errors is not None:
        lines.append(f"  errors  {found.errors.text()}")
    if found.optimum is not None and "exact" in found.provenance and found.optimum > found.free:
        lines.append(f"  optimum at most {found.optimum} free positions (certified bound; the time was over)")
    elif found.optimum is not None:
        best = f"{found.optimum} are possible, by enumeration or SAT"
        best = "the most possible" if found.optimum == found.free else best
        lines.append(f"  optimum {found.free} free positions: {best} (exact)")
    return "\n".join(lines)


def witness_lines(found: Refutation) -> list[str]:
    """The two words, shortened."""
    return [f"  member      {shown(found.member)}", f"  non-member  {shown(found.nonmember)}"]


def shown(word: tuple[str, ...]) -> str:
    """A word, cut in the middle where it is long."""
    if len(word) <= WIDEST:
        return joined(word)
    gap = joiner(word)
    return f"{gap.join(word[: WIDEST // 2])} ... {gap.join(word[-WIDEST // 2 :])}"


def model_words(name: str) -> str:
    """What a model is, for a title: a random one in words, another one by its name."""
    kind, _, options = name.partition(":")
    given = dict(part.partition("=")[::2] for part in options.split(","))
    if kind != "random" or not {"layers", "heads", "states", "seed"} <= given.keys():
        return name
    layers, heads, states = (given[key] for key in ("layers", "heads", "states"))
    several = f"{layers} layers of" if layers != "1" else "one layer of"
    return f"Random model {given['seed']}: {several} {heads} head{'s' * (heads != '1')}, {states} states"


STOPPED = {
    "budget": "after its work budget",
    "time": "when its time was up",
    "interrupted": "by Ctrl-C; this is the best until then",
    "finished": "by itself",
    "optimum": "at the proved optimum",
    "goal": "when nothing better was found",
}
ORIGIN = {
    "engine": "made by",
    "exact": "the exact search",
    "method": "the method",
    "optimum": "fewest positions that can be fixed",
    "optimum_by": "the optimum was proved by",
    "repaired": "repaired afterwards",
    "seed": "seed of the search",
    "share": "share asked to stay free",
    "stopped": "the search stopped",
    "strategy": "found by",
    "time": "seconds that it was given",
    "version": "written by restrict",
}
"""What the notes of a search are called; a note without a name keeps its key."""


def origin_words(key: str, value: Any) -> tuple[str, str]:
    """A note of a file's provenance in words."""
    told = STOPPED.get(str(value), str(value)) if key == "stopped" else str(value)
    return ORIGIN.get(key, key), told[:300]


def check_command(model_name: str, path: Path) -> str:
    """The command that checks a file. ``model_name``: the name in the file; only a built-in model or a generator is
    found by it. Result: the line; ``MODEL`` stands where the reader has to name the model's file."""
    known = model_name.partition(":")[0] in GENERATORS
    return shlex.join(["restrict", "check", model_name if known else "MODEL", path.name])
