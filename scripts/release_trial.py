"""The wheel and the sdist of this clone in empty environments, outside the clone, with one Python after another.

    python scripts/release_trial.py python3.11 python3.12 python3.13 [--pages PAGE ...]

Builds both, installs the wheel with each Python and the sdist with the first one, and runs what a new user runs: a
certificate, its check, its report and figure. With the first Python it then runs the commands of the readers' first
pages as they stand (scripts/docs_commands.py --installed) and compares their outputs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READERS = (
    "for-readers-of-hahn", "for-trained-models", "for-proof-checkers", "for-teachers", "for-batches", "contributing",
    "neighbours",
)  # fmt: skip
COMMANDS = (
    "restrict --version", "restrict certify and-of-ors -n 100 -o c.json", "restrict check and-of-ors c.json",
    "restrict report c.json -o c.html --figure c.pdf", "restrict language 'regex:(ab)*' -n 8",
    "python -c 'import restrict; print(restrict.certify(restrict.load(\"parity8\"), 20))'",
)  # fmt: skip
BUILD = "import sys; from hatchling.build import build_sdist, build_wheel; print(build_{}(sys.argv[1]))"


def environment(python: str, folder: Path) -> Path:
    """An empty environment; its folder of programs."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    return folder / "bin"


def built(folder: Path, python: str) -> list[Path]:
    """The wheel and the sdist."""
    tools = environment(python, folder / "build")
    subprocess.run([tools / "pip", "install", "-q", "hatchling"], check=True)
    for kind in ("wheel", "sdist"):
        subprocess.run([tools / "python", "-c", BUILD.format(kind), str(folder)], cwd=ROOT, check=True)
    return [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]


def tried(bin_: Path, package: Path, folder: Path) -> bool:
    """Install a package and run the commands in an empty folder; whether all succeeded."""
    subprocess.run([bin_ / "pip", "install", "-q", str(package)], check=True)
    folder.mkdir()
    for command in COMMANDS:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env={"PATH": f"{bin_}:/usr/bin:/bin", "HOME": str(folder)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = (done.stdout or done.stderr).strip().splitlines()
        print(f"  {command}: exit {done.returncode}: {said[-1][:90] if said else ''}", flush=True)
        if done.returncode:
            return False
    return True


def main() -> int:
    """Try all, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--pages", nargs="*", default=READERS, help="pages of docs/, by default those of all readers")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packages = built(folder, options.pythons[0])
        for at, python in enumerate(options.pythons):
            for package in packages if at == 0 else packages[:1]:
                print(f"{python}: {package.name}", flush=True)
                bin_ = environment(python, folder / f"env{at}{package.suffix}")
                good &= tried(bin_, package, folder / f"try{at}{package.suffix}")
        if options.pages:
            pages = [str(folder / "env0.whl" / "bin" / "python"), "scripts/docs_commands.py", "--installed"]
            good &= subprocess.run([*pages, *options.pages], cwd=ROOT, check=False).returncode == 0
    print("all as expected" if good else "something failed")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
