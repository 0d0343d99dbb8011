"""The report of a certificate or a refutation: the claim, the restriction, layers and attention, and the witnesses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from restrict.abstract.run import abstract_run
from restrict.base.errors import ResourceLimit
from restrict.base.strictjson import Node
from restrict.base.wording import counted
from restrict.certificate.cases import leaves
from restrict.certificate.certificate import Certificate, claim_of
from restrict.certificate.outline import Outline
from restrict.certificate.refutation import Refutation
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.report.page import Page, Section, interactive, word_copy
from restrict.report.picture import Axis, Picture, draw_nodes, inputs_track, too_many
from restrict.report.scene import crowded, scene
from restrict.report.text import check_command, fixed_list, headline, model_words, origin_words, span_list
from restrict.report.totals import totals_section

MOST_CASES = 40
"""Cases of a tree that are told."""
LISTED = 60
"""Runs of a restriction that are written out."""
LEGEND = [
    ("fixed", "fixed input"),
    ("free", "free input"),
    ("needed", "input that the output depends on"),
    ("forced", "forced node"),
    ("reduced", "head that sees less than before"),
    ("open", "other examined node"),
    ("unexamined", "not examined"),
    ("solid", "can attend to, under the restriction"),
    ("dashed", "could attend to before"),
    ("skip", "further down, where you point"),
]


@dataclass(frozen=True)
class Loaded:
    """A certificate as it is written, its JSON form, and its model where that is known."""

    path: Path
    outline: Outline
    root: Node
    model: Model | None = None
    refutation: Refutation | None = None


def certificate_page(loaded: Loaded, checked: str | None = None) -> Page:
    """The report of a certificate, or of a refutation. ``checked``: the trusted checker's line, where it was run.
    Result: the page. Cost: that of drawing the nodes, where they are few enough."""
    outline, refutation = loaded.outline, loaded.refutation
    picture, reason, found = _picture(loaded)
    kind = "Certificate" if refutation is None else "Refutation"
    claim = _claim(outline, loaded.model, found)
    if refutation is not None:
        claim = (
            f"{outline.model_name} does not recognise {refutation.language} at n = {outline.n}: it gives two words the "
            f"label {refutation.label!r}, and exactly one of them is in the language."
        )
    page = Page(f"{model_words(outline.model_name)}, n = {outline.n}", kind, claim)
    page.sections.append(Section("The claim", facts=_facts(loaded, checked)))
    if refutation is not None:
        page.sections.append(_witnesses(refutation))
    model = loaded.model
    if model is not None and crowded(picture):
        page.sections.append(totals_section(picture, model.output.variable, outline.claim.c))
    page.sections.append(_drawn(outline, picture, reason))
    page.sections.append(_restriction(outline))
    if found is not None and found.cases is not None and loaded.model is not None:
        page.sections.append(_cases(loaded.model, found))
    page.sections.append(_origin(loaded))
    return page


def _picture(loaded: Loaded) -> tuple[Picture, str | None, Certificate | None]:
    """The drawing's facts, why nodes are missing from it, and the certificate where it was read in full."""
    outline, model = loaded.outline, loaded.model
    pinned = () if model is None else model.at(outline.n).pinned
    bare = Picture(Axis(outline.n), [inputs_track(outline, pinned)])
    if model is None:
        return bare, "The model is not known here; give --model MODEL to see what its nodes come to.", None
    why = too_many(outline, len(model.variables))
    if why is not None:
        return bare, f"Only the inputs are drawn: {why}.", None
    found = Certificate.from_json(loaded.root)
    instance = model.at(outline.n)
    try:
        if found.cases is None:
            return draw_nodes(instance, outline, found), None, found
        _, cone = next(leaves(found.cases))
        return (
            draw_nodes(instance, outline, found, cone),
            "Drawn is the cone of the first case, before its questions.",
            found,
        )
    except ResourceLimit as error:
        return bare, f"Only the inputs are drawn: {error}.", found


def _claim(outline: Outline, model: Model | None, found: Certificate | None) -> str:
    if model is not None and found is not None:
        sentence = headline(model, found)
        return sentence[0].upper() + sentence[1:] + "."
    where = "every output" if outline.target == "all" else "the output"
    free = counted(outline.claim.free, "free input")
    return f"With the restriction, {where} depends on at most {outline.claim.c} of {free}."


def _facts(loaded: Loaded, checked: str | None) -> list[tuple[str, str]]:
    outline, claim = loaded.outline, loaded.outline.claim
    fixed = sum(count for _, count, _ in outline.fixed)
    cone = outline.cone
    size = "every node" if cone == "all" else counted(sum(c for p in cone.values() for _, c in p), "node")
    rows = [
        ("model", f"{outline.model_name} (SHA-256 {outline.sha256 or 'none: a model without a file'})"),
        ("length n", str(outline.n)),
        (
            "target",
            {"last": "the last position", "all": "every position"}.get(
                str(outline.target), f"position {outline.target}"
            ),
        ),
        ("fixed inputs", f"{fixed} ({100 * fixed / outline.n:.4g} %)"),
        ("free inputs", f"{claim.free} ({100 * claim.free / outline.n:.4g} %)"),
        ("c", f"{claim.c} (certified bound on the free inputs that an output depends on)"),
    ]
    if claim.values is not None:
        rows.append(("values", ", ".join(map(str, claim.values[:40])) + (" ..." if len(claim.values) > 40 else "")))
    if claim.dependencies:
        rows.append(("depends on", span_list(claim.dependencies, 12)))
    rows.append(("cone", f"{size} to examine"))
    if outline.split:
        rows.append(("split", f"proved for every way to fill positions {', '.join(map(str, outline.split))}"))
    refutation = loaded.refutation
    if refutation is not None and refutation.errors is not None:
        rows.append(("errors", refutation.errors.text()))
    rows.append(("checked", checked or "not here; the command at the end of this page checks it"))
    return rows


def _witnesses(refutation: Refutation) -> Section:
    section = Section("The two words")
    differ = [t for t, (a, b) in enumerate(zip(refutation.member, refutation.nonmember, strict=True)) if a != b]
    places = ", ".join(str(t + refutation.start) for t in differ[:12]) + (" ..." if len(differ) > 12 else "")
    many = f"{len(differ)} free positions ({places})" if len(differ) > 1 else f"one free position ({places})"
    section.words.append(
        f"They differ at {many}, and agree wherever something is fixed and wherever the output depends on an input. "
        f"So the model gives both the label {refutation.label!r}."
    )
    section.copies = [
        word_copy(f"In {refutation.language}", refutation.member),
        word_copy(f"Not in {refutation.language}", refutation.nonmember),
    ]
    return section


def _drawn(outline: Outline, picture: Picture, reason: str | None) -> Section:
    words = [
        "Inputs are at the bottom, layers above them. A solid line leads from a head to what it can still attend to "
        "under the restriction; a dashed line or fan to what it could attend to when nothing was fixed."
    ]
    if crowded(picture):
        words.append(
            "There are too many lines for all of them: point at a node, or tap it, for its own and the way down."
        )
    if picture.axis.cells < picture.axis.n:
        start, stop = picture.axis.span(0)
        words.append(
            f"Each cell stands for {stop - start} positions or one less; its colour says whether any is fixed."
        )
    words += [*([] if reason is None else [reason]), *picture.notes]
    if len(picture.tracks) == 1:
        words = words[1:]
    drawing = scene(picture, f"{outline.model_name} at n = {outline.n}: inputs, layers and attention")
    used = {spot.look for track in picture.tracks for spot in track.spots} | {"solid", "dashed", "skip"}
    section = Section("Layers and attention", words, drawing=drawing)
    section.legend = [
        pair
        for pair in LEGEND
        if pair[0] in used and (len(picture.tracks) > 1 or pair[0] in ("fixed", "free", "needed"))
    ]
    return interactive(section, picture)


def _restriction(outline: Outline) -> Section:
    if not outline.fixed:
        return Section("The restriction", ["Nothing is fixed."])
    words = [fixed_list(outline.fixed, LISTED)]
    counts: dict[str, int] = {}
    for _, count, symbol in outline.fixed:
        counts[symbol] = counts.get(symbol, 0) + count
    shown = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:20]
    return Section(
        "The restriction", words, head=("symbol", "positions fixed to it"), rows=[(s, str(c)) for s, c in shown]
    )


def _cases(model: Model, found: Certificate) -> Section:
    assert found.cases is not None
    instance, alphabet = model.at(found.n), model.alphabet
    rho = Restriction.of(instance, found.restriction.fixed)
    section = Section("Case by case", head=("when", "the output is one of", "it depends on"))
    paths, rows = list(leaves(found.cases)), []
    for path, cone in paths[:MOST_CASES]:
        claim = claim_of(abstract_run(instance, rho | Restriction.of(instance, dict(path)), cone), found.target)
        when = ", ".join(f"{p} is {alphabet[a]}" for p, a in path.items()) or "always"
        labels = dict.fromkeys(instance.label(v) for v in claim.values or ())
        rows.append((when, ", ".join(labels), counted(claim.c, "input")))
    section.rows = rows
    if len(paths) > MOST_CASES:
        section.words.append(f"The first {MOST_CASES} of {len(paths)} cases.")
    return section


def _origin(loaded: Loaded) -> Section:
    """Where it comes from, and how to check it."""
    noted = loaded.outline.provenance if loaded.refutation is None else loaded.refutation.provenance
    rows = [origin_words(str(name), value) for name, value in list(noted.items())[:30]]
    section = Section("Where it comes from, and how to check it", facts=rows)
    section.code = [check_command(loaded.outline.model_name, loaded.path)]
    section.words.append(
        "What the file says of its origin; a checker ignores it. The command below verifies the claim with the trusted "
        "checker (in place of the model's name give its file where it is one)."
    )
    return section
