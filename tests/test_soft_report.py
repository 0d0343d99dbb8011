"""The report of a verdict: what is drawn holds for the model, and the pages say what was wrong."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jinja2")

from restrict.base.errors import ModelError, RestrictError, UsageError
from restrict.report.source import page_of
from restrict.report.verdict_page import ranges_of
from restrict.soft.trained.claim import graph_of_document
from restrict.soft.trained.decide import Verdict, verify_trained
from restrict.soft.trained.every_length import EveryLength
from restrict.soft.trained.model import load
from tests.commands import failed, succeeded, typed
from tests.test_verdict_float32 import deviations
from tests.verdict_cases import FOLDER as TRAINED
from tests.verdict_cases import at_every_length, first

UNCHECKED = " (read from a file, not checked here)"


def verified(name: str, n: int | None, folder: Path, *more: str) -> tuple[str, Path]:
    """A model's file and a verdict on it, up to a length or on every length."""
    file, verdict = str(TRAINED / f"{name}.safetensors"), folder / "verdict.json"
    typed("soft", "verify", file, *(("--all-lengths",) if n is None else ("-n", n)), "-o", verdict, *more)
    return file, verdict


@pytest.mark.parametrize(
    ("name", "n"), [("tomita2-1l1h16d", 8), ("ax-or-ay-1l1h16d-nope", None), ("contains-aba-1l1h16d-nope", None)]
)
def test_every_value_lies_in_the_range_that_is_drawn(name: str, n: int | None, tmp_path: Path) -> None:
    """The logit times the last deviation, of all words, by a forward pass of its own."""
    file, verdict = verified(name, n, tmp_path)
    model, root = load(Path(file)), json.loads(verdict.read_text())
    graph = graph_of_document(root)
    drawn = {r.key: r for r in ranges_of(model, graph, root)}
    tried = 0
    for length in range(9 if len(model.symbols) == 2 else 7):
        for word in itertools.product(range(len(model.symbols)), repeat=length):
            state = 0
            for s in word:
                state = graph.delta[state][s] if state >= 0 else -1
            blocks = (k for k, (low, high) in enumerate(root.get("blocks", ()), 1) if low <= length <= high % 100)
            place = length if n is not None or not length else next(blocks, -1)
            key = (place, word[-1] if word else -1, state)
            if key not in drawn:
                continue
            logits, spread = deviations(model, model.rows([model.symbols[s] for s in word]))
            values = logits[-1, list(graph.labels)] * spread[-1]
            assert (values >= drawn[key].low - 1e-6).all()
            assert (values <= drawn[key].high + 1e-6).all()
            margin = np.where(search_signs(graph, state) > 0, values, -values).min()
            assert drawn[key].margin <= margin + 1e-6
            tried += 1
    assert tried >= (9 if n is not None else 4)


def search_signs(graph: object, state: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """1 where a label is wanted."""
    return np.array([1.0 if k in graph.want[state] else -1.0 for k in graph.labels])


RIGHT = {
    ("tomita2-1l1h16d", 3): ("s VERIFIED right n=0..3", "State 0", "The least margin at each position"),
    ("ax-or-ay-1l1h16d-nope", None): (
        "s VERIFIED right n&gt;=0", "whatever its length", "1 or more: each block is proved as a whole",
        "What proves it, case by case",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "n"), RIGHT)
def test_the_report_of_a_right_model(name: str, n: int | None, tmp_path: Path) -> None:
    file, verdict = verified(name, n, tmp_path)
    succeeded("report", verdict, "--model", file, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for text in (*RIGHT[name, n], "wanted negative", "Attention of the hardest word"):
        assert text in page
    with pytest.raises(UsageError, match="needs its model"):
        page_of(verdict)


def test_what_proves_every_length_is_on_the_page(tmp_path: Path) -> None:
    file, verdict = verified("ax-or-ay-1l1h16d-nope", None, tmp_path)
    succeeded("report", verdict, "--model", file, "--figure", tmp_path / "figure.svg", "-o", tmp_path / "page.html")
    assert (tmp_path / "figure.svg").read_text().startswith("<svg")
    table = next(section for section in page_of(verdict, file).sections if section.head[:1] == ("symbols",))
    root = json.loads(verdict.read_text())
    assert [row[4] for row in table.rows] == [str(len(lists)) for lists in root["phi"]]
    assert [row[2] for row in table.rows] == [str(q) for _, _, q, *_ in root["cases"]]
    least, greatest = (float(x) for x in table.rows[1][5].split(" to "))
    flat = [x * 2.0 ** -root["scale"] for numbers in root["phi"][1] for x in numbers]
    assert (least, greatest) == pytest.approx((min(flat), max(flat)), rel=1e-2)


@pytest.mark.parametrize("n", [12, None])
def test_the_report_of_a_wrong_word_goes_through_it_step_by_step(n: int | None, tmp_path: Path) -> None:
    file, verdict = verified("contains-aba-1l1h16d-nope", n, tmp_path)
    page = page_of(verdict, file)
    assert page.claim == "The sign of <eos> is wrong behind: a b a."
    assert page.sections[0].title.startswith("The verdict")
    steps = next(section for section in page.sections if section.title.startswith("The wrong word"))
    assert steps.rows[0][1] == "start"
    assert ["(wrong)" in " ".join(row) for row in steps.rows] == [False, False, False, True]
    assert ("longest paths, length by length" in page.text()) == (n is None)
    with pytest.raises(UsageError, match="needs its model"):
        page_of(verdict)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("name", ["plain", "no start", "greatest", "norms", "reader"])
def test_verdicts_on_random_models_are_reported_and_loaded(name: str, every: bool, tmp_path: Path) -> None:
    """With one head and several, start token or none, a reader or none."""
    for seed in range(4):
        model, _, graph, n = first(name, seed, placed=False if every else None)
        found: Verdict | EveryLength
        found = at_every_length(model, graph, 6) if every else verify_trained(model, graph, n, seconds=60)
        if not found.proves:
            continue
        try:
            page = found.report()
        except RestrictError:
            continue  # a margin that the checker does not see: no report, as no certificate
        assert "s VERIFIED" in page.text()
        found.save(tmp_path / "v.json")
        again = type(found).load(tmp_path / "v.json")
        told = ("upto", "asked", "language", "shortest", "status")
        assert [getattr(again, key) for key in told] == [getattr(found, key) for key in told]
        assert (again.wrong and again.wrong[:2]) == (found.wrong and found.wrong[:2])
        assert again._repr_html_().replace(UNCHECKED, "") == found._repr_html_()
        assert repr(again) == repr(found) + UNCHECKED


def test_no_name_stands_twice_on_a_page(tmp_path: Path) -> None:
    """Of several charts, each with ticks and clips that matplotlib names alike; what is referred to is there."""
    file, verdict = verified("dyck1-depth2-1l1h16d-nope", 6, tmp_path)
    succeeded("report", verdict, "--model", file, "-o", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    names = re.findall(r'<[^>]* id="([^"]*)"', text)
    assert len(set(names)) == len(names)
    referred = set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text))
    assert {a or b for a, b in referred} <= set(names)
    assert text.count("<clipPath") > 1


@pytest.mark.parametrize(
    ("label", "told"),
    [
        (None, "<eos> is negative"),
        ("all", "0 is positive, 1 is negative, <eos> is negative"),
        ("greatest", "0 is the greatest of 0 1 <eos>"),
    ],
)
def test_the_report_of_a_forced_decision(label: str | None, told: str, tmp_path: Path) -> None:
    file, forced = str(TRAINED / "tomita2-1l1h16d.safetensors"), tmp_path / "forced.json"
    more = () if label is None else ("--label", label)
    assert typed("soft", "certify", file, "-n", "9", "-o", forced, *more).exit_code == 0
    page = page_of(forced, file)
    assert page.claim == f"With 9: 1 fixed, {told} behind all words of 9 symbols that may come."
    assert "s VERIFIED forced n=9" in page.text()


def test_words_are_told_in_the_names_of_the_certificate(tmp_path: Path) -> None:
    """The same claim with the symbols in another order is as true; under the configuration's names it is another."""
    file, verdict = verified("tomita2-1l1h16d", 8, tmp_path, "-L", "regex:10|1010|()")
    root = json.loads(verdict.read_text())
    assert re.fullmatch("The sign of . is wrong behind: 1 0 1 0.", page_of(verdict, file).claim)
    root = {key: value for key, value in root.items() if key not in ("memory", "turned")}
    root |= {"upto": -1, "basis": [], "cases": []}
    root["model"] |= {"rows": root["model"]["rows"][::-1], "alphabet": ["1", "0"]}
    root["language"]["delta"] = [row[::-1] for row in root["language"]["delta"]]
    root["wrong"]["word"] = [1 - s for s in root["wrong"]["word"]]
    verdict.write_text(json.dumps(root))
    assert "s VERIFIED wrong" in typed("check", file, verdict).output
    with pytest.raises(ModelError, match="about a model with alphabet"):
        page_of(verdict, file)


def test_two_layers_have_the_facts_and_no_ranges(tmp_path: Path) -> None:
    file = str(TRAINED / "no-equal-neighbours-2l1h16d.safetensors")
    verdict = tmp_path / "verdict.json"
    typed("soft", "verify", file, "-n", "1", "-o", verdict)
    page = page_of(verdict, file)
    assert "s VERIFIED" in page.text()
    assert "forced decisions are about models of one layer" in failed(RestrictError, "soft", "certify", file, "-n", "3")
