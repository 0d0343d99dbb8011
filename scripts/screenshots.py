"""Pictures of all reports and of the documentation as a browser shows them: light, dark, and as wide as a phone.

    python scripts/screenshots.py FOLDER                  # a report of each kind
    python scripts/screenshots.py FOLDER --docs HTML      # every page that sphinx-build wrote to HTML

Each page gives ``NAME-light.png`` and ``NAME-dark.png``, 1300 pixels wide, and ``NAME-phone.png``, 380 pixels wide.
They are for looking at; that nothing is wider than the screen is asserted by tests/test_report_browser.py. Needs
Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDE, PHONE, HIGH = 1300, 380, 1500
EVERYWHERE = "certify random:layers=2,heads=2,states=2,seed=1,every=1 -n 200 --target all --free 0.8"
SWEEP = """[[grid]]
model = "random:layers={layers},heads={heads},states=2,seed={seed}"
layers = [1, 2]
heads = [1, 2]
seed = {from = 0, to = 2}
"""


def reports(folder: Path) -> list[Path]:
    """A report of each kind, as HTML files in a folder."""
    sys.path.insert(0, str(ROOT))
    from click.testing import CliRunner

    from restrict.cli.main import cli
    from restrict.report.source import page_of
    from tests.test_report_browser import written

    files = written(folder)
    files["everywhere"] = folder / "everywhere.json"
    CliRunner().invoke(cli, [*EVERYWHERE.split(), "-o", str(files["everywhere"])])
    for name, lengths in (("lengths", "[100, 300, 1000]"), ("one-length", "100")):
        (folder / f"{name}.toml").write_text(f"{SWEEP}n = {lengths}\n", encoding="utf-8")
        CliRunner().invoke(cli, ["sweep", str(folder / f"{name}.toml"), "--jobs", "0"])
        files[name] = folder / f"{name}.jsonl"
    for name, path in files.items():
        page_of(path, stages=name == "stages").save(folder / f"{name}.html")
    return [folder / f"{name}.html" for name in files]


def shot(browser: str, page: Path, picture: Path, home: str, *flags: str, width: int = WIDE) -> None:
    """One picture; a browser's window cannot be as narrow as a phone, so there the page is a frame."""
    if width < 500:
        source = escape(page.resolve().as_uri())
        frame = f'<body style="margin:0"><iframe src="{source}" width="{width}" height="{HIGH}" frameborder="0">'
        page = Path(home) / "frame.html"
        page.write_text(frame, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
               "--disable-background-networking", f"--user-data-dir={home}", f"--screenshot={picture}",
               f"--window-size={max(width, 500)},{HIGH}", *flags, page.resolve().as_uri()]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=90, check=True)


def main() -> int:
    """Take the pictures, and list them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--docs", type=Path, help="the folder of the documentation's HTML pages")
    parser.add_argument("--only", nargs="*", help="pages of these names")
    options = parser.parse_args()
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("no Chromium here", file=sys.stderr)
        return 2
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        pages = sorted(options.docs.glob("*.html")) if options.docs else reports(options.folder)
        dark = ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")
        for page in pages:
            if options.only and page.stem not in options.only:
                continue
            name = options.folder / page.stem
            shot(browser, page, name.with_name(f"{page.stem}-light.png"), home)
            shot(browser, page, name.with_name(f"{page.stem}-dark.png"), home, *dark)
            shot(browser, page, name.with_name(f"{page.stem}-phone.png"), home, width=PHONE)
            print(page.stem, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
