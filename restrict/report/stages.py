"""The stages of Lemma 4 (Hahn 2020, section 5.1) as a drawing to step through: what each one fixed, layer by layer."""

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction

from restrict.base.errors import UsageError
from restrict.base.wording import counted
from restrict.certificate.outline import Outline
from restrict.depth_reduction.lemma.lemma4 import Reduction
from restrict.depth_reduction.theorem1 import certify_all
from restrict.model.arguments import SEEDS, the_share
from restrict.model.program import Model
from restrict.model.restriction import runs
from restrict.report.drawing import Drawing, Shape
from restrict.report.page import Section
from restrict.report.picture import Axis, fixed_counts
from restrict.report.scene import LEFT
from restrict.report.text import span

HEIGHT = 26.0
LOOK = {1: "first", 2: "second", 3: "fixed"}
LEGEND = [
    ("first", "fixed by Stage 1"),
    ("second", "fixed by Stage 2"),
    ("fixed", "fixed by Stage 3"),
    ("free", "free"),
]


def stages_section(model: Model, outline: Outline) -> Section:
    """Run the lemma at the certificate's length and free share, and draw its stages. Result: a section with one strip
    for each stage. Cost: that of ``certify --target all --method lemma``."""
    if outline.target != "all":
        raise UsageError("the stages of Lemma 4 are for certificates of every position (certify --target all)")
    share, seed = asked(model, outline)
    found = certify_all(model, outline.n, free=share, method="lemma", seed=seed)
    same = tuple(map(tuple, found.certificate.restriction.to_json())) == outline.fixed
    words = ["The lemma was run again at this length, free share and seed; " + (
        "its restriction is the certificate's." if same else "its restriction is another one than the certificate's."
    )]  # fmt: skip
    return draw_stages(found.stages, outline.n, words)


def asked(model: Model, outline: Outline) -> tuple[Fraction, int]:
    """The fraction to leave free and the seed that a certificate's search was asked for, by its provenance; else the
    fraction that it leaves free (a search may fix less than it is allowed to), and 0."""
    said, seed = outline.provenance.get("share"), outline.provenance.get("seed")
    share = Fraction(outline.claim.free, max(1, outline.n - len(model.markers)))
    with suppress(UsageError):
        share = the_share("share", said) if isinstance(said, str) else share
    return share, seed if type(seed) is int and 0 <= seed < SEEDS else 0


def draw_stages(stages: Sequence[Reduction], n: int, words: Sequence[str] = ()) -> Section:
    """The stages of each layer: what each fixed, with the measured numbers beside the lemma's bounds."""
    axis = Axis(n)
    parts = [part for layer, step in enumerate(stages, 1) for part in _parts(layer, step)]
    dx = max(4.0, min(30.0, 900.0 / axis.cells))
    drawing = Drawing(LEFT + axis.cells * dx + 16, 30 + HEIGHT * len(parts), "the stages of Lemma 4")
    section = Section("The stages of Lemma 4", list(words), drawing=drawing, legend=LEGEND)
    section.head = ("layer", "stage", "fixed", "how many", "measured", "the lemma's bound")
    rows: list[Sequence[str]] = []
    before: dict[int, str] = {}
    earlier: set[int] = set()
    for at, (layer, stage, fixed, measured, bound) in enumerate(parts):
        fresh = sorted(set(fixed) - earlier)
        earlier.update(fresh)
        counts = fixed_counts(runs(fresh), axis)
        before |= {cell: LOOK[stage] for cell in range(axis.cells) if counts[cell]}
        group = drawing.group("strip", at)
        y = 12 + HEIGHT * at
        group.shapes.append(Shape("text", (LEFT - 10, y + 12, 10), "label", f"layer {layer}, Stage {stage}", "end"))
        for cell in range(axis.cells):
            look = before.get(cell, "free")
            group.shapes.append(Shape("rect", (LEFT + cell * dx, y, dx * 0.9, 16), look))
        section.steps.append(f"layer {layer}, Stage {stage}: {len(fresh)} fixed")
        rows.append((str(layer), str(stage), span(fresh, 8) or "none", str(len(fresh)), measured, bound))
    section.rows = rows
    return section


def _parts(layer: int, step: Reduction) -> list[tuple[int, int, Sequence[int], str, str]]:
    """The three stages of one layer: what they fixed, what was measured, and the bound."""
    noted = step.document()
    a, b, d = noted["stage1"], noted["stage2"], noted["stage3"]
    return [
        (layer, 1, step.stage1.fixed, f"an input feeds at most {a['degree_after']} activations", a["degree_bound"]),
        (
            layer, 2, tuple(step.stage2.fixed),
            f"{b['captured_after']} of {b['pairs']} pairs captured; at most {b['neighbours_after']} k-neighbours",
            f"{b['neighbours_bound']} k-neighbours",
        ),
        (
            layer, 3, tuple(step.restriction.fixed),
            f"{counted(d['pairs'], 'pair')} captured by {d['method']}; then c = {noted['c']}",
            f"c <= {noted['c_bound']}",
        ),
    ]  # fmt: skip
