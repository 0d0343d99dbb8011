"""Every kind of report in a real browser: nothing on the console, and everything that can be pressed does something.

All pages are frames of one page, 390 pixels wide as on a phone, so that one browser looks at all of them. Each has a
script added that presses every button and switch, points at every node, and tells what happened.
"""

import json
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from restrict.report.source import page_of
from tests.commands import succeeded, typed
from tests.test_report import BROWSER, FILES, browse

pytestmark = [pytest.mark.heavy, pytest.mark.skipif(BROWSER is None, reason="no Chromium here")]

ROWS = [
    {"id": f"{n}", "task": "certify", "model": "m", "n": n, "ok": n < 9, "fixed_count": 1, "seconds": 0.5, "error": "e"}
    for n in (7, 8, 9)
]
WORKS = """
<script>
const wrong = [];
addEventListener("error", event => wrong.push(event.message));
addEventListener("unhandledrejection", event => wrong.push(String(event.reason)));
for (const kind of ["error", "warn"]) console[kind] = (...words) => wrong.push(words.join(" "));
addEventListener("load", async () => {
  const told = {steps: [], after: [], said: [], spots: 0, silent: 0, lines: 0, switches: 0, copied: []};
  for (const section of document.querySelectorAll("section")) {
    const svg = section.querySelector(".scroll svg"), press = name => section.querySelector(name).click();
    const looks = () => [...svg.querySelectorAll("g[data-role]")].map(g => g.getAttribute("class")).join();
    const after = () => [...svg.querySelectorAll("g[data-role=after]")].filter(g => !g.classList.contains("hide"));
    if (section.querySelector(".next")) {
      const name = section.querySelector(".step"), seen = [looks()];
      told.after.push(after().length);
      while (!section.querySelector(".next").disabled) {
        press(".next"); told.steps.push(name.textContent); seen.push(looks()); told.after.push(after().length);
      }
      if (seen.some((look, at) => at && look === seen[at - 1])) wrong.push("a step changes nothing: " + section.id);
      press(".back"); press(".all");
      if (looks() !== seen[0] || name.textContent !== "everything at once") wrong.push("not all again: " + section.id);
    }
    for (const box of section.querySelectorAll("[data-switch]")) {
      const before = looks();
      box.click(); told.switches += looks() !== before; box.click();
      if (looks() !== before) wrong.push("a switch does not go back: " + section.id);
    }
    const tell = section.querySelector(".tell");
    for (const spot of section.querySelectorAll("[data-k]")) {
      tell.textContent = "";
      spot.dispatchEvent(new Event(told.spots % 2 ? "click" : "pointerover", {bubbles: true}));
      told.spots += 1; told.silent += !tell.textContent; told.lines += svg.lastChild.childElementCount;
      if (!spot.classList.contains("picked")) wrong.push("not marked: " + section.id);
    }
    if (tell) told.said.push(tell.textContent);
    if (tell && svg.querySelectorAll("[data-k]").length > 1) {
      const last = tell.textContent;
      svg.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
      if (tell.textContent === last && svg.querySelectorAll("[data-k]").length > 2) told.keys = "no";
    }
    for (const button of section.querySelectorAll(".copy")) button.click();
  }
  await new Promise(done => setTimeout(done, 500));
  told.copied = [...document.querySelectorAll(".copy")].map(button => Number(button.dataset.length));
  told.wide = document.documentElement.scrollWidth - innerWidth;
  told.wrong = wrong;
  parent.postMessage([frameElement.id, told], "*");
});
</script>
"""
HOST = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><output></output><script>
const told = {};
addEventListener("message", event => {
  told[event.data[0]] = event.data[1];
  document.querySelector("output").textContent = JSON.stringify(told);
});
</script>"""


def written(folder: Path) -> dict[str, Path]:
    """A small file of each kind that has a report."""
    files = {name: folder / f"{name}.json" for name in (*FILES, "influence")}
    for name, command in FILES.items():
        done = succeeded(*command.split(), files[name])
    done = typed("soft", "influence", "random:layers=1,width=4,seed=1", "-n", "4,8", "--samples", "9", "--json")
    files["influence"].write_text(done.output)
    files["sweep"] = folder / "sweep.jsonl"
    files["sweep"].write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return files


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the script in each page says, and under ``console`` what the browser's console does."""
    folder = tmp_path_factory.mktemp("reports")
    frames = []
    for name, path in written(folder).items():
        page = page_of(path, stages=name == "stages").html().replace("<head>", "<head>" + WORKS, 1)
        frames.append(f'<iframe id="{name}" width="390" height="800" srcdoc="{escape(page)}"></iframe>')
    (folder / "host.html").write_text(HOST + "\n".join(frames), encoding="utf-8")
    dom, console = browse(folder / "host.html", folder, "--virtual-time-budget=20000")
    found = re.search("<output>(.*?)</output>", dom, re.DOTALL)
    assert found is not None, dom[:500]
    return {**json.loads(unescape(found.group(1))), "console": {"lines": console}}


KINDS = [*FILES, "influence", "sweep"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_goes_wrong_and_nothing_is_wider_than_a_phone(told: dict[str, Any], kind: str) -> None:
    assert told["console"]["lines"] == ""
    assert told[kind]["wrong"] == []
    assert told[kind]["wide"] <= 0


def test_what_can_be_pressed_does_something(told: dict[str, Any]) -> None:
    for kind in KINDS:
        assert told[kind]["silent"] == 0, kind
        assert "keys" not in told[kind], kind
    for kind in ("certificate", "stages", "everywhere", "refutation", "large"):
        assert told[kind]["steps"], kind
        assert told[kind]["spots"] > 5, kind
    for kind in ("certificate", "refutation"):
        assert told[kind]["switches"] >= 2, kind
    for kind in ("certificate", "refutation", "everywhere"):
        assert told[kind]["lines"] > 5, kind
    refutation = told["refutation"]
    assert refutation["copied"] == [98, 98]
    assert refutation["steps"][:2] == ["1 of 5: the inputs", "2 of 5: layer 1"]
    assert refutation["after"][0] > 1
    assert refutation["after"][1:3] == [0, 1]
    assert any(said.startswith("parity4 at 99: forced to 1 (accept)") for said in refutation["said"])
