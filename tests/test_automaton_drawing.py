"""Drawings of automata: what is on them, and that arrows keep clear of states."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from restrict.base.errors import UsageError
from restrict.languages.dfa import Dfa
from restrict.languages.export import edges
from restrict.languages.source import language
from restrict.report.automaton_drawing import RADIUS, RING, _crossings, _samples, _steps, draw_dfa
from restrict.report.drawing import Drawing, Shape
from tests.commands import failed, succeeded, typed

SPECS = ("parity", "regex[ab]:(ab)*", "dyck:1,depth=3", "dyck:2,depth=2", "flip-flop", "regex[ab]:(a|b)*abba(a|b)*")


def automaton_of(spec: str) -> Dfa:
    """The minimal automaton of a language."""
    return language(spec).dfa


def shapes(drawing: Drawing, kind: str) -> list[Shape]:
    """The shapes of a kind."""
    return [shape for group in drawing.groups for shape in group.shapes if shape.kind == kind]


def curve_of(at: tuple[float, ...]) -> npt.NDArray[np.complex128]:
    """Points of an arrow that was drawn."""
    return _samples(np.array(at).view(np.complex128))


@pytest.mark.parametrize("spec", SPECS)
def test_arrows_join_their_states_and_keep_clear_of_the_others(spec: str) -> None:
    dfa = automaton_of(spec)
    drawing, dead = draw_dfa(dfa), dfa.dead
    circles = [shape.at for shape in shapes(drawing, "circle") if shape.at[2] == RADIUS]
    shown = [q for q in range(dfa.states) if q != dead]
    named = {shape.text: (shape.at[0], shape.at[1] - 4) for shape in shapes(drawing, "text")}
    place = {q: named[str(q)] for q in shown if str(q) not in dfa.alphabet}
    assert len(circles) == len(shown)
    arrows = [shape.at for shape in shapes(drawing, "curve")]
    drawn = [edge for edge in edges(dfa.delta) if dead not in edge]
    assert len(arrows) == len(drawn) + 1  # and the one that points to the start
    for a in arrows:
        points = curve_of(a)
        ends = {min(range(len(circles)), key=lambda k: abs(complex(*circles[k][:2]) - points[end])) for end in (0, -1)}
        for k, (x, y, _) in enumerate(circles):
            if k not in ends:
                assert np.abs(complex(x, y) - points).min() > RADIUS
        assert all(0 <= z.real <= drawing.width and 0 <= z.imag <= drawing.height for z in points)
    rings = [shape.at for shape in shapes(drawing, "circle") if shape.at[2] == RING]
    assert len(rings) == len(dfa.accept)
    for q, (x, y) in place.items():
        assert any(math.dist((x, y), ring[:2]) < 1 for ring in rings) == (q in dfa.accept)


@pytest.mark.parametrize("spec", SPECS)
def test_no_two_labels_lie_on_each_other(spec: str) -> None:
    texts = shapes(draw_dfa(automaton_of(spec)), "text")
    for k, one in enumerate(texts):
        for other in texts[:k]:
            wide = 3 * (len(one.text) + len(other.text))
            assert abs(one.at[0] - other.at[0]) > wide or abs(one.at[1] - other.at[1]) > 6, (one.text, other.text)


@pytest.mark.parametrize("spec", ["regex[ab]:(a|b)*abb", "dyck:1,depth=3", "regex[abc]:(ab|bc)*a"])
def test_arrows_of_small_automata_do_not_cross_and_labels_are_beside_them(spec: str) -> None:
    """Two pairs of arrows that come back to one state crossed before, with their labels at the crossing."""
    drawing = draw_dfa(automaton_of(spec))
    arrows = [shape.at for shape in shapes(drawing, "curve")]
    curves = [curve_of(a) for a in arrows]
    for k, one in enumerate(curves):
        assert not any(_crossings(_steps(one), _steps(other)) for other in curves[:k]), (spec, k)
    circles = [shape.at[:2] for shape in shapes(drawing, "circle")]
    labels = [shape.at[:2] for shape in shapes(drawing, "text")]
    for x, y in labels:
        if min(math.dist((x, y - 4), circle) for circle in circles) > RADIUS:
            assert np.abs(complex(x, y - 4) - np.concatenate(curves)).min() > 5, (spec, x, y)


def test_a_state_that_accepts_nothing_is_left_out_unless_it_is_the_only_one() -> None:
    assert automaton_of("regex[ab]:(ab)*").dead == 2
    assert automaton_of("parity").dead is None
    empty = Dfa(("a",), ((0,),), frozenset())
    assert empty.dead == 0
    assert len(shapes(draw_dfa(empty), "circle")) == 1


def test_the_same_automaton_gives_the_same_bytes() -> None:
    dfa = automaton_of("dyck:2,depth=2")
    assert draw_dfa(dfa).svg() == draw_dfa(dfa).svg()


def test_the_figure_of_an_automaton_is_svg_or_pdf(tmp_path: Path) -> None:
    target = tmp_path / "a.svg"
    model = "instances/brasp-ab-star.json"
    succeeded("automaton", model, "--figure", target)
    assert target.read_text().count("<circle") == 4  # three states that are shown, one of which accepts
    page = ["automaton", "instances/brasp-dyck1-depth2.json", "--figure", str(target)]
    assert typed(*page).exit_code == 0
    assert (
        target.read_bytes() == Path("docs/figures/dyck1-depth2.svg").read_bytes()
    )  # the picture of docs/all-lengths.md
    assert "an .svg or a .pdf file" in failed(UsageError, "automaton", model, "--figure", tmp_path / "a.png")
