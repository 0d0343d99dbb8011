"""How large the pages of `restrict report` are, and how long a real browser takes to open them.

    python scripts/bench_report.py

A certificate of every position at n = 200 with three layers, and one of the last position at n = 1 000 000 with half of
the inputs fixed one by one (the most runs). Each page is opened in headless Chromium five times; what is printed is
the browser's own clock, from the start of the navigation until everything is loaded, run and laid out: least, median
and greatest. Exit 1 where a target is missed: 1 MB and 1 s at n = 200, 2 MB at n = 1 000 000.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from harness import arguments, ended, written

import restrict
from restrict.certificate.certificate import Certificate, certificate_of
from restrict.model.restriction import Restriction
from restrict.report.source import page_of

CLOCK = """<script>addEventListener("load", () => {
  document.body.getBoundingClientRect();
  document.querySelectorAll("svg").forEach(drawing => drawing.getBBox());
  document.documentElement.dataset.opened = performance.now();
});</script>"""


def certificates() -> Iterator[tuple[str, Certificate, int, float | None]]:
    """What is reported on: a name, the certificate, the most bytes, the most seconds."""
    instance = restrict.load("random:layers=3,heads=3,states=4,seed=2,every=1").at(200)
    rng = np.random.default_rng(0)
    fixed = {int(i): int(rng.integers(2)) for i in rng.choice(200, 80, replace=False)}
    yield "three layers, n = 200", certificate_of(instance, Restriction.of(instance, fixed), "all", "all"), 10**6, 1.0
    large = restrict.load("and-of-ors").at(10**6)
    half = Restriction.of(large, dict.fromkeys(range(0, 10**6, 2), 0))
    cone = {large.model.output.variable: (10**6 - 1,)}
    yield "and-of-ors, n = 1000000", certificate_of(large, half, cone), 2 * 10**6, None


def opened(browser: str, page: Path) -> float:
    """Seconds until the page is shown."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom")
    command = [browser, *flags, page.as_uri()]
    found = re.search(r'data-opened="([0-9.]+)"', ended(command, 90).out[:2000])
    if found is None:
        raise RuntimeError("the page was not opened ")
    return float(found[1]) / 1000


def main() -> int:
    """Print the table."""
    options, rows = arguments(__doc__, None).parse_args(), []
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        for title, certificate, most_bytes, most_seconds in certificates():
            path, page = Path(name) / "c.json", Path(name) / "c.html"
            certificate.save(path)
            text = page_of(path).html()
            page.write_text(text.replace("</body>", f"{CLOCK}</body>"), encoding="utf-8")
            line, times = f"{title}: {len(text.encode())} bytes", list[float]()
            missed += len(text.encode()) >= most_bytes
            if browser is not None:
                times = sorted(opened(browser, page) for _ in range(5))
                line += f", opened in {times[0]:.2f} / {median(times):.2f} / {times[-1]:.2f} s (least / median / most)"
                missed += most_seconds is not None and median(times) >= most_seconds
            rows.append({"page": title, "bytes": len(text.encode()), "seconds": times})
            print(line)
    written(options.output, rows)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
