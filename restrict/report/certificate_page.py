"""The report of a certificate or a refutation: the claim, the restriction, layers and attention, and the witnesses.

A certificate with too many lines for a drawing of all of them, as totals: what each output depends on, how many
nodes of each head can attend to each input, and how many of them the restriction captured.
"""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from restrict.abstract.run import abstract_run
from restrict.base.arrays import F64
from restrict.base.errors import ResourceLimit
from restrict.base.strictjson import Node
from restrict.base.wording import counted, percent
from restrict.certificate.cases import leaves
from restrict.certificate.certificate import Certificate, claim_of
from restrict.certificate.outline import Outline
from restrict.certificate.refutation import Refutation
from restrict.model.program import Model
from restrict.model.restriction import Restriction
from restrict.report.chart import Chart, colour
from restrict.report.page import Page, Section, interactive, word_copy
from restrict.report.picture import Axis, Picture, Track, draw_nodes, inputs_track, too_many
from restrict.report.scene import crowded, scene
from restrict.report.text import check_command, fixed_list, headline, model_words, origin_words, span_list

BOUND = ("certified bound", "claimed bound")
"""What the number of dependencies is: where a checker has spoken here, and where none has."""
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
CAPTURED = (("forced", "forced", "forced to one value"), ("reduced", "head", "sees fewer positions than before"),
            ("open", "faint", "sees what it saw before"))  # fmt: skip
"""What a restriction makes of a node of a head: the look, its colour, its meaning."""
ROW = 17.0
"""Points of a row of the heat map, and of a bar."""


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
            f"{outline.model_name} does not recognise {refutation.named} at n = {outline.n}: it gives two words "
            f"{_label(loaded)}, and exactly one of them is in the language."
        )
    page = Page(f"{model_words(outline.model_name)}, n = {outline.n}", kind, claim)
    page.sections.append(Section("The claim", facts=_facts(loaded, checked)))
    if refutation is not None:
        page.sections.append(_witnesses(refutation, _label(loaded)))
    model = loaded.model
    if model is not None and crowded(picture):
        page.sections.append(totals_section(picture, model.output.variable, outline.claim.c, BOUND[checked is None]))
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


def _label(loaded: Loaded) -> str:
    """What the certificate says of the label of both words; a note of it in the file is not repeated."""
    values, model = loaded.outline.claim.values, loaded.model
    labels = set() if model is None else {model.at(loaded.outline.n).label(v) for v in values or ()}
    return f"the label {labels.pop()!r}" if len(labels) == 1 else "the same label"


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
        ("fixed inputs", f"{fixed} ({percent(fixed, outline.n)} %)"),
        ("free inputs", f"{claim.free} ({percent(claim.free, outline.n)} %)"),
        ("c", f"{claim.c} ({BOUND[checked is None]} on the free inputs that an output depends on)"),
    ]
    if claim.values is not None:
        rows.append(("values", ", ".join(map(str, claim.values[:40])) + (" ..." if len(claim.values) > 40 else "")))
    if claim.dependencies:
        rows.append(("depends on", span_list(claim.dependencies, 12)))
    rows.append(("cone", f"{size} to examine"))
    if outline.split:
        rows.append(("split", f"proved for every way to fill positions {', '.join(map(str, outline.split))}"))
    refutation = loaded.refutation
    if refutation is not None and refutation.countable and refutation.errors is not None:
        counted_by = "" if checked else "; not checked here"
        rows.append(("errors", replace(refutation.errors, exact=False).text() + counted_by))
    rows.append(("checked", checked or "not here; the command at the end of this page checks it"))
    return rows


def _witnesses(refutation: Refutation, label: str) -> Section:
    section = Section("The two words")
    differ = [t for t, (a, b) in enumerate(zip(refutation.member, refutation.nonmember, strict=True)) if a != b]
    places = ", ".join(str(t + refutation.start) for t in differ[:12]) + (" ..." if len(differ) > 12 else "")
    many = f"{len(differ)} free positions ({places})" if len(differ) > 1 else f"one free position ({places})"
    section.words.append(
        f"They differ at {many}, and agree wherever something is fixed and wherever the output depends on an input. "
        f"So the model gives both {label}."
    )
    section.copies = [
        word_copy(f"In {refutation.named}", refutation.member),
        word_copy(f"Not in {refutation.named}", refutation.nonmember),
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
    counts: Counter[str] = Counter()
    for _, count, symbol in outline.fixed:
        counts[symbol] += count
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


def totals_section(picture: Picture, output: str, c: int, bound: str = BOUND[0]) -> Section:
    """The totals of a drawing; ``output``: the variable of the outputs; ``c``: bounds what one depends on."""
    heads = [track for track in picture.tracks if track.kind == "head"]
    outputs = next((track for track in picture.tracks if track.name == output), picture.tracks[-1])
    words = [
        "Top: on how many free inputs the output at each position depends. Middle: for each head, how many of its "
        "nodes can attend to each position, darker for more; above with nothing fixed, below under the restriction. "
        "Bottom: the nodes of each head, by what the restriction made of them."
    ]
    if picture.axis.cells < picture.axis.n:
        words.append("Positions are taken together in cells; of each cell the first nodes count.")

    def paint(figure: Any) -> None:
        rows = [ROW * (2 * len(heads) + 1), ROW * len(heads)]
        first, second, third = figure.subplots(3, 1, height_ratios=[90.0, *rows])
        _dependencies(first, outputs, picture, c, bound)
        _heat(second, heads, picture)
        _captured(third, heads)
        first.sharex(second)

    height = 220 + ROW * (3 * len(heads) + 1)
    drawing = Chart(f"dependencies, attention and captured nodes of {len(heads)} heads", paint, height=height)
    table = [[track.name, str(track.layer), *map(str, _counts(track))] for track in heads]
    head = ("head", "layer", *(meaning for *_, meaning in CAPTURED))
    return Section("In total", words, drawing=drawing, head=head, rows=table)


def attended(track: Track, role: str, cells: int) -> F64:
    """How many of a head's nodes can attend to each cell; ``role``: ``before`` or ``after``."""
    out = np.zeros(cells + 1)
    for spot in track.spots:
        for _, first, count in getattr(spot, role):
            out[first] += 1
            out[first + count] -= 1
    return np.cumsum(out)[:-1]


def _counts(track: Track) -> list[int]:
    """The nodes of a head by what became of them."""
    found = Counter(spot.look for spot in track.spots)
    return [found[look] for look, *_ in CAPTURED]


def _dependencies(axes: Any, outputs: Track, picture: Picture, c: int, bound: str) -> None:
    examined = [spot for spot in outputs.spots if spot.look != "unexamined"]
    axes.bar([s.cell for s in examined], [s.depends for s in examined], width=1.0, color=colour("head"))
    axes.axhline(c, color=colour("needed"), linewidth=1)
    axes.text(picture.axis.cells - 0.5, c, f"c = {c}, {bound}", ha="right", va="bottom", color=colour("needed"))
    axes.set(title="free inputs that the output depends on", ylim=(0, max(1, c) * 1.15))


def _heat(axes: Any, heads: list[Track], picture: Picture) -> None:
    """Colours as shares of one colour that light and dark paper both carry."""
    cells, looks = picture.axis.cells, [spot.look for spot in picture.tracks[0].spots]
    rows, names = [], []
    for track in reversed(heads):
        most = max(1, sum(spot.look != "unexamined" for spot in track.spots))
        for role, name, tint in (("before", "before", "grey"), ("after", "after", "head")):
            rows.append(_tinted(attended(track, role, cells) / most, tint))
            names.append(f"{track.name} {name}")
    rows.append(_tinted(np.array([float(look == "fixed") for look in looks]), "fixed"))
    image = np.array(rows)
    axes.imshow(image, aspect="auto", interpolation="none", extent=(-0.5, cells - 0.5, len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), [*names, "fixed inputs"])
    ticks = list(range(0, cells, max(1, cells // 10)))
    axes.set_xticks(ticks, [str(picture.axis.span(cell)[0]) for cell in ticks])
    axes.set_title("positions that nodes can attend to")


def _tinted(shares: F64, name: str) -> F64:
    """A row of RGBA values: the darkest where the share is 1, seen from the smallest positive one on."""
    light = colour(name)
    out = np.zeros((len(shares), 4))
    out[:, :3] = [int(light[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    out[:, 3] = np.where(shares > 0, 0.1 + 0.9 * np.sqrt(shares), 0.0)
    return out


def _captured(axes: Any, heads: list[Track]) -> None:
    left = np.zeros(len(heads))
    names = [f"layer {track.layer}: {track.name}" for track in heads]
    counts = np.array([_counts(track) for track in heads], dtype=float)
    shares = 100 * counts / np.maximum(1, counts.sum(1, keepdims=True))
    for at, (_, name, meaning) in enumerate(CAPTURED):
        axes.barh(names, shares[:, at], left=left, height=0.7, color=colour(name), label=meaning)
        left += shares[:, at]
    axes.set(title="what the restriction captured: nodes of each head (%)", xlim=(0, 100))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25 - 0.3 / max(1, len(heads))), ncols=3)
