"""Reports and drawings: sizes, stable bytes, what is shown against the abstract run, and a real browser."""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.abstract.run import abstract_run
from restrict.base.errors import ModelError, UsageError
from restrict.base.strictjson import Node, parse
from restrict.certificate.certificate import Certificate, certificate_of
from restrict.certificate.outline import Outline, read_outline
from restrict.cli.checking import trusted_line
from restrict.depth_reduction.theorem1 import certify_all
from restrict.model.restriction import Restriction
from restrict.report.certificate_page import attended, totals_section
from restrict.report.chart import Chart, by_length
from restrict.report.drawing import Drawing, Shape, number, save
from restrict.report.page import packed, script, word_copy
from restrict.report.picture import Axis, Picture, candidates, draw_nodes, fixed_counts
from restrict.report.scene import crowded, scene
from restrict.report.source import page_of
from restrict.report.stages import asked as stages_asked
from restrict.report.stages import stages_section
from restrict.report.text import model_words, origin_words
from tests.commands import Shell
from tests.marks import heavy_after

pytest.importorskip("jinja2")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


FILES = {
    "certificate": "certify random:layers=2,heads=1,states=2,seed=1 -n 12 -o",
    "stages": "certify random:layers=1,heads=1,states=2,seed=1,every=1 -n 40 --target all --free 0.5 --method lemma -o",
    "everywhere": "certify random:layers=2,heads=2,states=2,seed=1,every=1 -n 40 --target all --free 0.7 -o",
    "refutation": "refute parity-attempt -L parity -n 100 -o",
    "bound": "lower-bound and-of-ors -n 16 -o",
    "automaton": "automaton instances/brasp-ab-star.json -o",
    "proof": "verify instances/brasp-dyck1-depth2.json -L dyck:1,depth=2 -o",
    "large": "certify and-of-ors -n 10000 -o",
    "soft": "soft certify parity -n 6 --epsilon 0.5 --time 1 -o",
}
"""Commands that write a file of each kind with a report, but for its name."""


def random_certificate(
    spec: str, n: int, free: float, cone: Any = "all", target: Any = "last", seed: int = 0
) -> Certificate:
    """A certificate of a random restriction: true, whatever it fixes."""
    model = restrict.load(spec)
    at, rng = model.at(n), np.random.default_rng(seed)
    open_ = [i for i in range(n) if i not in at.pinned]
    chosen = rng.choice(open_, int(len(open_) * (1 - free)), replace=False)
    fixed = {int(i): int(rng.integers(len(model.alphabet))) for i in chosen}
    return certificate_of(at, Restriction.of(at, fixed), cone, target)


def outline_of(content: bytes) -> Outline:
    return read_outline(Node(parse(content, "certificate"), "top level"))


def picture_of(certificate: Certificate) -> Picture:
    at = restrict.load(certificate.model_name).at(certificate.n)
    return draw_nodes(at, outline_of(certificate.to_bytes()), certificate)


@pytest.fixture(scope="module")
def refutation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "refutation.json"
    found = restrict.refute(restrict.load("parity-attempt"), "parity", 12)
    assert isinstance(found, restrict.Refutation)
    found.save(path)
    return path


# ---------------------------------------------------------------- what is drawn


@pytest.mark.parametrize("n", [1, 7, 400, 401, 1000, 9999])
def test_cells_are_a_partition(n: int) -> None:
    axis = Axis(n)
    spans = [axis.span(cell) for cell in range(axis.cells)]
    assert [i for start, stop in spans for i in range(start, stop)] == list(range(n))
    assert all(axis.cell(i) == cell for cell, (start, stop) in enumerate(spans) for i in range(start, stop))
    rng = np.random.default_rng(n)
    runs = [[i, 1] for i in np.flatnonzero(rng.random(n) < 0.3).tolist()]
    counts = [sum(start <= i < stop for i, _ in runs) for start, stop in spans]
    assert fixed_counts(runs, axis).tolist() == counts


@pytest.mark.parametrize("seeds", heavy_after((range(1), range(1, 12)), 1))
def test_the_drawing_has_the_facts_of_the_abstract_run(seeds: range) -> None:
    """Every spot against a run of its own: looks, links after and before, and words."""
    for seed in seeds:
        spec = f"random:layers=2,heads=2,states=3,seed={seed}"
        certificate, model = random_certificate(spec, 9, 0.5, seed=seed), restrict.load(spec)
        at, picture = model.at(9), picture_of(certificate)
        after = abstract_run(at, Restriction.of(at, certificate.restriction.fixed), "all")
        before = abstract_run(at, Restriction.of(at), "all")
        assert [track.name for track in picture.tracks[1:]] == [v.name for v in model.variables]
        inputs = picture.tracks[0].spots
        needed = set(certificate.claim.dependencies or ())
        looks = [
            "needed" if i in needed else "fixed" if i in certificate.restriction.fixed else "free" for i in range(9)
        ]
        assert [s.look for s in inputs] == looks
        for track in picture.tracks[1:]:
            variable = model.by_name[track.name]
            for spot in track.spots:
                values, depends = after.facts[track.name][spot.cell]
                assert (spot.look == "forced") == (len(values) == 1)
                if len(values) > 1:
                    assert f"depends on {depends.bit_count()} free input" in "\n".join(spot.lines)
                if not isinstance(variable, restrict.Head):
                    continue
                for run, links in ((after, spot.after), (before, spot.before)):
                    reached = {int(j) for js, _ in candidates(run, variable, spot.cell).values() for j in js}
                    assert {c for _, first, count in links for c in range(first, first + count)} == reached


def painted(chart: Chart) -> Any:
    """The axes that a chart paints, for a look at what is on them."""
    from matplotlib.figure import Figure

    figure = Figure()
    chart.paint(figure)
    return figure


def test_a_chart_has_a_curve_for_each_name_and_bars_where_there_is_one_length() -> None:
    rows = {"layers 1": [(100, 1.0), (100, 3.0), (100, 2.0)], "layers 2": [(100, 5.0)]}
    (axes,) = painted(by_length("t", rows, "fixed inputs")).axes
    assert [bar.get_height() for bar in axes.patches] == [2.0, 5.0]
    assert axes.get_xlabel() == "n = 100"
    longer = {name: [*pairs, (1000, 7.0)] for name, pairs in rows.items()}
    figure = painted(by_length("t", longer, "fixed inputs"))
    (axes,) = figure.axes
    assert [container.lines[0].get_ydata().tolist() for container in axes.containers] == [[2.0, 7.0], [5.0, 7.0]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["layers 1", "layers 2"]


def test_a_chart_follows_the_page_and_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    chart = by_length("a & b <i>", {"<b>": [(10, 1.0), (20, 2.0)]}, "c")
    text = chart.svg()
    ET.fromstring(text)
    inside = chart.svg(alone=False)
    assert "var(--head)" in inside
    assert not re.search('#[0-9a-f]{6}[;"]', inside)
    assert "<i>" not in inside
    assert "http" not in inside
    save(chart, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() == text.encode()
    assert chart.written("pdf") == chart.written("pdf")


def test_totals_are_those_of_the_abstract_run() -> None:
    """Dependencies by position, who can attend where, and what became of each head, against a run of its own."""
    spec = "random:layers=2,heads=2,states=3,seed=2,every=1"
    certificate = random_certificate(spec, 24, 0.5, target="all")
    at = restrict.load(spec).at(24)
    after = abstract_run(at, Restriction.of(at, certificate.restriction.fixed), "all")
    picture = picture_of(certificate)
    assert crowded(picture)
    assert not any('data-role="after"' in line for line in scene(picture, "t").svg().splitlines())
    section = totals_section(picture, "y2", certificate.claim.c)
    assert isinstance(section.drawing, Chart)
    first, heat, _ = painted(section.drawing).axes
    assert [bar.get_height() for bar in first.patches] == [after.facts["y2"][i][1].bit_count() for i in range(24)]
    assert max(bar.get_height() for bar in first.patches) == certificate.claim.c
    assert heat.images[0].get_array().shape[:2] == (2 * 4 + 1, 24)
    for track in picture.tracks:
        if track.kind != "head":
            continue
        head = at.model.by_name[track.name]
        assert isinstance(head, restrict.Head)
        seen = np.zeros(24)
        for i in range(24):
            seen[sorted({int(j) for js, _ in candidates(after, head, i).values() for j in js})] += 1
        assert attended(track, "after", 24).tolist() == seen.tolist()
        forced = sum(len(values) == 1 for values, _ in after.facts[track.name].values())
        row = next(row for row in section.rows if row[0] == track.name)
        assert (int(row[2]), sum(map(int, row[2:]))) == (forced, 24)


def test_titles_and_origins_are_words() -> None:
    assert model_words("random:layers=2,heads=1,states=3,seed=4,symbols=2") == (
        "Random model 4: 2 layers of 1 head, 3 states"
    )
    assert model_words("and-of-ors") == "and-of-ors"
    assert origin_words("stopped", "budget") == ("the search stopped", "after its work budget")
    assert origin_words("mine", 3) == ("mine", "3")


def test_links_are_packed_and_unpacked() -> None:
    links = ((3, 0, 1), (3, 2, 4), (3, 9, 1))
    assert packed(links) == [3, 0, 1, -4, 3]
    assert packed(()) == []


def test_words_are_carried_as_runs() -> None:
    copy = word_copy("w", tuple("aab"))
    assert copy.runs == [[2, "a"], [1, "b"]]
    assert copy.shown == "aab"
    wide = word_copy("w", ("if", "if", "x"))
    assert (wide.joiner, wide.shown) == (" ", "if if x")
    long = word_copy("w", tuple("ab" * 100_000))
    assert long.runs == []
    assert "in the file" in long.shown


# ---------------------------------------------------------------- files


@pytest.mark.heavy
@pytest.mark.parametrize("n", heavy_after([40, 80, 200], 1))
def test_a_report_of_three_layers_is_small_and_fetches_nothing(n: int, tmp_path: Path) -> None:
    certificate = random_certificate("random:layers=3,heads=3,states=4,seed=2,every=1", n, 0.6, target="all")
    certificate.save(tmp_path / "c.json")
    text = page_of(tmp_path / "c.json").html()
    assert len(text.encode()) < 1_000_000
    assert re.findall(r"""[\s"'](?:src|href|srcset|action)\s*=\s*["']?([^"'\s>]+)""", text) == ["data:,"]
    assert "http" not in re.sub(r'xmlns="http://www\.w3\.org/2000/svg"|"http://www\.w3\.org/2000/svg"', "", text)
    assert text == page_of(tmp_path / "c.json").html()


@pytest.mark.heavy
@pytest.mark.parametrize("n", heavy_after([448**2, 1_000_000], 1))
def test_a_report_of_many_positions_is_small(n: int, tmp_path: Path) -> None:
    """Half of the positions fixed one by one: the worst case for runs."""
    model = restrict.load("and-of-ors")
    at = model.at(n)
    cone = {v.name: (n - 1,) for v in model.variables if v.name == model.output.variable}
    fixed = dict.fromkeys(range(0, n, 2), 0)
    certificate_of(at, Restriction.of(at, fixed), cone).save(tmp_path / "c.json")
    assert len(page_of(tmp_path / "c.json").html().encode()) < 2_000_000


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script><!--"
    document = json.loads(random_certificate("random:layers=1,heads=1,states=2,seed=1", 8, 0.5).to_bytes())
    document["model"] = {"name": evil, "sha256": None}
    document["provenance"] = {evil: evil}
    document["fixed"] = [[0, 2, evil[:60]]]
    (tmp_path / "c.json").write_text(json.dumps(document))
    page = page_of(tmp_path / "c.json")
    assert "alert(1)</script>" not in page.html()
    assert "<!--" not in page.html()
    assert page.drawing is not None
    ET.fromstring(page.drawing.svg())
    assert "<" not in script({"a": evil})


def test_figures_are_well_formed_and_stable(tmp_path: Path) -> None:
    certificate = random_certificate("random:layers=2,heads=1,states=2,seed=3", 12, 0.5)
    drawing = scene(picture_of(certificate), "a & b")
    save(drawing, tmp_path / "a.svg")
    save(drawing, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    root = ET.fromstring((tmp_path / "a.svg").read_text())
    assert root.tag.endswith("svg")
    with pytest.raises(UsageError, match=r"an \.svg or a \.pdf"):
        save(drawing, tmp_path / "a.png")


def test_pdf_figures_are_stable(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawing = Drawing(200, 100, "d")
    drawing.group().shapes += [
        Shape("line", (0, 0, 100, 50), "dashed"), Shape("circle", (50, 50, 9), "forced"),
        Shape("rect", (10, 10, 20, 20), "fixed"), Shape("path", (0, 0, 50, 0, 50, 50), "fan"),
        Shape("text", (60, 60, 10), "label", "x_1 $y$ <&", "middle"),
    ]  # fmt: skip
    save(drawing, tmp_path / "a.pdf")
    save(drawing, tmp_path / "b.pdf")
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    assert b"CreationDate" not in (tmp_path / "a.pdf").read_bytes()


def test_numbers_are_short() -> None:
    assert [number(x) for x in (1.0, 1.25, -0.01, 100.0, -3.5)] == ["1", "1.2", "0", "100", "-3.5"]


# ---------------------------------------------------------------- the command


@pytest.mark.heavy
def test_every_kind_of_file_has_a_report(shell: Shell, refutation: Path, tmp_path: Path) -> None:
    kinds = {"Certificate": "certificate", "Lower bound": "bound", "Proof for all lengths": "proof"}
    files: dict[str, Path] = {"Refutation": refutation}
    for kind, name in (kinds | {"Automaton": "automaton"}).items():
        files[kind] = tmp_path / f"{name}.json"
        shell.good(f"{FILES[name]} {files[kind]}")
    for kind, path in files.items():
        out = tmp_path / "report.html"
        told = json.loads(shell.good("report", path, "-o", out, "--json"))
        assert told["kind"] == kind
        assert told["claim"] in out.read_text().replace("&#39;", "'").replace("&gt;", ">")
        shown = shell.good("show", path)
        assert shown.strip()


@pytest.mark.heavy
def test_a_report_shows_the_stages_of_the_lemma(shell: Shell, tmp_path: Path) -> None:
    model = "random:layers=1,heads=1,states=2,seed=1,every=1"
    shell.good(f"certify {model} -n 60 --target all --free 0.5 --method lemma -o {tmp_path}/c.json")
    shell.good(f"report {tmp_path}/c.json --stages -o {tmp_path}/c.html")
    text = (tmp_path / "c.html").read_text().replace("&#39;", "'")
    assert "The lemma was run again at this length, free share and seed; its restriction is the certificate's." in text
    assert text.count('data-role="strip"') == 3


@pytest.mark.heavy  # the lemma's kernels take half a minute to compile
@pytest.mark.parametrize(
    ("n", "asked"), [(60, {"free": 0.5}), (60, {"free": 0.7}), (41, {"free": "1/3"}), (40, {"c": 9})]
)
def test_the_lemma_run_again_gives_the_certificate_s_restriction(n: int, asked: dict[str, Any]) -> None:
    model = restrict.load("random:layers=1,heads=1,states=2,seed=1,every=1")
    for seed in (0, 3, 2**63 - 1):
        given: dict[str, Any] = {k: Fraction(v) if isinstance(v, str) else v for k, v in asked.items()}
        found = certify_all(model, n, method="lemma", seed=seed, **given)
        outline = outline_of(found.certificate.to_bytes())
        words = stages_section(model, outline).words[0]
        same = "repaired" not in found.how
        assert words.endswith("its restriction is the certificate's.") is same, (seed, found.how, words)
        if "free" in asked:
            assert same
            assert (float(stages_asked(model, outline)[0]), seed) == (float(given["free"]), outline.provenance["seed"])


@pytest.mark.heavy
def test_a_fresh_run_takes_its_share_from_the_claim_where_the_provenance_does_not_say_it() -> None:
    model = restrict.load("random:layers=1,heads=1,states=2,seed=1,every=1")
    document = json.loads(certify_all(model, 21, free=0.5, method="lemma").certificate.to_bytes())
    free = Fraction(document["claim"]["free"], 21)
    for share in ("abc", "7", "-1", 3, None, ["0.5"]):
        for seed in (-1, "x", 2**63 - 1, True):
            document["provenance"] |= {"share": share, "seed": seed}
            outline = outline_of(json.dumps(document).encode())
            assert stages_asked(model, outline) == (free, seed if seed == 2**63 - 1 else 0)


def test_what_report_refuses(shell: Shell, refutation: Path, tmp_path: Path) -> None:
    assert "nothing to write" in shell.bad(2, "report", refutation)
    assert "change the ending" in shell.bad(2, "report", refutation, "--figure", tmp_path / "x.png")
    for words in (["show"], ["show", "--json"], ["report", "-o", tmp_path / "x.html"]):
        line = shell.bad(2, *words[:1], "instances/contains-one.json", *words[1:])
        assert "contains-one.json is a model, where a file with a result is expected: `restrict certify" in line
        (tmp_path / "other.json").write_text('{"format": "other/1"}')
        assert "no report for the format 'other/1'" in shell.bad(2, *words[:1], tmp_path / "other.json", *words[1:])
    assert "another model" in shell.bad(4, "report", refutation, "--model", "contains-one", "-o", tmp_path / "x.html")
    assert "cannot read" in shell.bad(2, "report", tmp_path / "none", "-o", tmp_path / "x.html")
    assert "certificates of every position" in shell.bad(2, "report", refutation, "--stages", "-o", tmp_path / "x.html")
    (tmp_path / "bad.json").write_text('{"rows": [{"n": 1}], "model": "m"}')
    assert "not an influence table" in shell.bad(4, "report", tmp_path / "bad.json", "-o", tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()
    with pytest.raises(ModelError):
        Certificate.from_json(Node(parse(refutation.read_bytes(), "r"), "top level"))


def test_the_report_of_a_sweep_of_verdicts_counts_them(tmp_path: Path) -> None:
    """What the verdicts came to stands in the first line; no column is empty in every row."""
    base = {"task": "verify", "model": "m", "n": 10, "ok": True, "seconds": 0.5}
    outcomes = ["right", "wrong", "right"]
    rows = [base | {"id": str(k), "name": str(k), "outcome": said} for k, said in enumerate(outcomes)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    page = page_of(tmp_path / "s.jsonl")
    assert page.claim == "3 rows: 3 with a result (2 right, 1 wrong), 0 with an error."
    assert page.sections[-1].head == ("model", "n", "outcome", "seconds")
    assert [row[2] for row in page.sections[-1].rows] == outcomes


def test_the_rows_of_a_sweep_have_a_report(shell: Shell, tmp_path: Path) -> None:
    base: dict[str, Any] = {"task": "certify", "model": "m", "ok": True, "seconds": 0.5}
    rows = [base | {"id": f"{k}", "n": 10**k, "fixed_count": k, "seed": k} for k in range(1, 5)]
    rows.append({"id": "x", "task": "certify", "model": "<m>", "n": 7, "ok": False, "error": "no <luck>", "seconds": 1})
    text = "\n".join(map(json.dumps, [rows[0], *rows]))
    (tmp_path / "s.jsonl").write_text(text + '\n{"id": "cut o')
    page = page_of(tmp_path / "s.jsonl")
    assert page.claim == "5 rows: 4 with a result, 1 with an error."
    assert isinstance(page.drawing, Chart)
    assert [section.title for section in page.sections][1:3] == ["What was fixed", "How long it took"]
    shell.good("report", tmp_path / "s.jsonl", "-o", tmp_path / "s.html")
    assert "no &lt;luck&gt;" in (tmp_path / "s.html").read_text()
    assert "seconds in all" in shell.good("show", tmp_path / "s.jsonl")
    (tmp_path / "s.jsonl").write_text(text + "\n[]\n{}\n")
    assert "line 7: not a row" in shell.bad(4, "report", tmp_path / "s.jsonl", "-o", tmp_path / "s.html")


# ---------------------------------------------------------------- a real browser


def browse(page: Path, home: Path, *flags: str) -> tuple[str, str]:
    """The page's elements after it has run, and what the browser's console said."""
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               "--virtual-time-budget=4000", "--enable-logging=stderr", *flags, "--dump-dom",
               page.as_uri()]  # fmt: skip
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True, env=environment)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


# ---------------------------------------------------------------- notebooks


@pytest.mark.heavy
def test_notebooks_show_tables(refutation: Path) -> None:
    """What a notebook calls, for everything that a person looks at there."""
    model = restrict.load("flip-flop")
    shown: list[Any] = [model, restrict.automaton(model), restrict.Refutation.load(refutation)]
    shown.append(restrict.automaton(restrict.load("contains-one")))
    shown.append(random_certificate("random:layers=1,heads=1,states=2,seed=1", 8, 0.5))
    for what in shown:
        html = what._repr_html_()
        root = ET.fromstring(html)
        assert (root.tag, root[0].tag) == ("table", "caption")
        assert (root.get("style") == "width:100%") is ("<svg" in html)  # a drawing has the page's width
    assert "0000010000" in shown[2]._repr_html_()
    hostile = restrict.Model("<b>&", ("<i>",), (), restrict.Output("token"))
    assert "<b>" not in hostile._repr_html_()


def test_few_positions_have_all_their_lines() -> None:
    """Where nothing is fixed every head may attend everywhere: at 12 positions these lines are drawn, at 24 not."""
    for n in (12, 24):
        certificate = random_certificate("random:layers=2,heads=1,states=2,seed=1,every=1", n, 1, target="all")
        assert crowded(picture_of(certificate)) is (n == 24)
        assert n == 24 or "dashed" in certificate.figure()._repr_svg_()


# ---------------------------------------------------------------- what a file says and what is shown


def test_notes_of_a_refutation_are_not_repeated_as_facts(refutation: Path, tmp_path: Path) -> None:
    """Language, label and "exact" of the notes are not what the checker reads."""
    document = json.loads(refutation.read_text())
    document["provenance"] |= {"language": "DYCK-1", "label": "accept", "errors": {"wrong": "5", "exact": True}}
    document["errors"] = "5"
    path = tmp_path / "notes.json"
    path.write_text(json.dumps(document))
    page = page_of(path, "parity-attempt", trusted_line)
    assert page.claim.startswith("parity-attempt does not recognise parity at n = 12: it gives two words the label")
    assert "'reject'" in page.claim
    facts = dict(page.sections[0].facts)
    assert facts["checked"].startswith("s VERIFIED n=12 target=last free=6 c=0 values=0 refutes=parity errors>=5 ")
    assert facts["errors"] == "wrong on 5 of the 64 inputs under the restriction (certified lower bound)"
    assert "DYCK-1" not in page.text()


def test_what_was_not_checked_is_called_a_claim(shell: Shell, tmp_path: Path) -> None:
    bound, proof = tmp_path / "bound.json", tmp_path / "proof.json"
    shell.good("lower-bound", "and-of-ors", "-n", 9, "-o", bound)
    shell.good("verify", "contains-one", "-L", "regex[01]:(0|1)*1(0|1)*", "-o", proof)
    document = json.loads(bound.read_text())
    document["claim"]["labels"] = {"accept": 7, "reject": 7}  # false
    bound.write_text(json.dumps(document))
    proof.write_text(proof.read_text().replace('"accept": [1]', '"accept": [0]'))  # false
    for path, claim in ((bound, "Forcing the output fixes at least 7 positions."), (proof, "At every length from 1")):
        line = shell.good("show", path).split("\n")[1]
        assert line.startswith(f"  Not checked here; the file claims: {claim}")
        assert "certified" not in shell.good("show", path)
    assert shell.good("report", proof, "-o", tmp_path / "r.html").startswith("contains-one: Not checked here; ")


def test_a_chart_does_not_depend_on_the_last_bit_of_a_place() -> None:
    """The layout of two runs may differ in it, and matplotlib names clips by a digest of all bits."""

    def at(left: float, alone: bool) -> str:
        def paint(figure: Any) -> None:
            figure.set_layout_engine("none")
            axes = figure.add_axes((left, 0.1, 0.8, 0.8))
            axes.bar([1, 2], [3, 4])

        return Chart("bars", paint).svg(alone)

    places = [0.1 + step * 2.0**-55 for step in range(8)]
    assert len(set(places)) > 2
    for alone in (False, True):
        assert len({at(left, alone) for left in places}) == 1
    assert "url(#" in at(0.1, False)
