"""The contributors' page names files and registries that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:restrict|tests|docs|scripts)/[\w./*]*)`", PAGE)))
REGISTRIES = [
    ("SolverName", "restrict/cover/solve.py"), ("solution_of", "restrict/cover/solution.py"),
    ("KINDS", "restrict/cli/import_.py"), ("LAYOUTS", "restrict/soft/importers/read.py"),
    ("assembled", "restrict/soft/importers/blocks.py"), ("READERS", "restrict/languages/source.py"),
    ("ByPattern", "restrict/languages/protocol.py"), ("BUILT_IN", "restrict/checker/refutation.py"),
    ("BUILT_IN", "restrict/certificate/refutation.py"), ("put", "restrict/cli/printer.py"),
    ("SHORT", "restrict/cli/examples.py"),
    ("EXAMPLES", "restrict/cli/examples.py"), ("SAME", "tests/test_cli.py"), ("PROOFS", "restrict/checker/main.py"),
    ("Meter", "restrict/checker/account.py"), ("Record", "restrict/base/strictjson.py"),
]  # fmt: skip


def test_every_path_of_the_page_exists() -> None:
    assert len(PATHS) > 20
    assert [path for path in PATHS if not list(ROOT.glob(path.rstrip("/")))] == []


@pytest.mark.parametrize(("name", "path"), REGISTRIES)
def test_every_registry_of_the_page_is_where_it_says(name: str, path: str) -> None:
    assert f"`{name}`" in PAGE
    assert re.search(rf"(?m)^(?:def |class )?{name}\b", (ROOT / path).read_text(encoding="utf-8"))
