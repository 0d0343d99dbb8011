"""A certificate with too many lines for a drawing of all of them, as totals: what each output depends on, how many
nodes of each head can attend to each input, and how many of them the restriction captured."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from restrict.base.arrays import F64
from restrict.report.chart import Chart, colour
from restrict.report.page import Section
from restrict.report.picture import Picture, Track

CAPTURED = (("forced", "forced", "forced to one value"), ("reduced", "head", "sees fewer positions than before"),
            ("open", "faint", "sees what it saw before"))  # fmt: skip
"""What a restriction makes of a node of a head: the look, its colour, its meaning."""
ROW = 17.0
"""Points of a row of the heat map, and of a bar."""


def totals_section(picture: Picture, output: str, c: int) -> Section:
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
        _dependencies(first, outputs, picture, c)
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


def _dependencies(axes: Any, outputs: Track, picture: Picture, c: int) -> None:
    examined = [spot for spot in outputs.spots if spot.look != "unexamined"]
    axes.bar([s.cell for s in examined], [s.depends for s in examined], width=1.0, color=colour("head"))
    axes.axhline(c, color=colour("needed"), linewidth=1)
    axes.text(picture.axis.cells - 0.5, c, f"c = {c}, certified bound", ha="right", va="bottom", color=colour("needed"))
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
