"""Every figure and table of the documentation, by the scripts that made them, one after the other.

    python scripts/reproduce.py --list       # which there are, and about how long each takes
    python scripts/reproduce.py              # the quick ones (minutes)
    python scripts/reproduce.py --all        # all of them (hours)
    python scripts/reproduce.py paper_figures verify_corollaries

Each script says what it prints and where its numbers stand. A script that fails does not stop the others; the exit code
is then 1.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
QUICK = ("paper_figures", "verify_corollaries", "docs_commands", "bound_sweep")
"""Scripts that end in a few minutes."""
NOT_FIGURES = {"need_python", "readme_commands", "reproduce", "architecture", "fuzz_cli", "fuzz_checker", "__init__"}
"""Scripts that make no figure or table of the documentation."""
MAKERS = ("bench_", "bound_sweep", "paper_", "verify_", "docs_", "random_transformers", "soundness_", "soft_")
"""How the names of those that do begin."""


def makers() -> dict[str, str]:
    """The scripts that make figures and tables, with the first line of what each says of itself."""
    found = {}
    for path in sorted(SCRIPTS.glob("*.py")):
        if path.stem.startswith(MAKERS) and path.stem not in NOT_FIGURES:
            told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found[path.stem] = told.partition("\n")[0]
    return found


def main(words: list[str]) -> int:
    """Run what was asked for."""
    known = makers()
    if "--list" in words:
        for name, told in known.items():
            print(f"{name:<24} {'quick' if name in QUICK else 'long':<6} {told}")
        return 0
    wanted = [word for word in words if not word.startswith("-")]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no such script: {', '.join(unknown)}; --list lists them", file=sys.stderr)
        return 2
    failed = []
    for name in wanted or (known if "--all" in words else [name for name in known if name in QUICK]):
        print(f"== {name}: {known[name]}", flush=True)
        start = time.monotonic()
        if subprocess.run([sys.executable, SCRIPTS / f"{name}.py"], check=False).returncode:
            failed.append(name)
        print(f"-- {name}: {time.monotonic() - start:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
