"""Every figure and table of the documentation, by the scripts that made them.

    python scripts/reproduce.py --list               # which there are, on which pages, with which arguments
    python scripts/reproduce.py bounds wide          # these, as the pages have them (minutes to hours each)
    python scripts/reproduce.py --quick [NAME ...]   # all, or these, on less: whether they still run and what they say
    python scripts/reproduce.py --all                # all as the pages have them (a day on two cores)
    python scripts/reproduce.py --all --log docs/reproduced.md --limit 300   # in pieces

After each run it says how many of the printed lines are on the page as printed (apart from spaces and table bars), how
many more are there if numbers with a decimal point are ignored, how many if all numbers are, and prints the latter.
Counts, sizes and certified bounds are the same on every machine; seconds are not. Figures are compared byte by byte. An
entry that fails does not stop the others; the exit code is then 1.

`--log` keeps one row for each run in a page (reproduce_log.py), written after each run; what it has as good is left out
of `--all` and `--quick`, and so is what `--limit` has stopped before. Naming an entry runs it again.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from harness import ROOT, spent
from reproduce_log import Logged, kinds, page, read, summary

SCRIPTS, DOCS = ROOT / "scripts", ROOT / "docs"
MAKERS = (
    "bench_", "bound_sweep", "paper_", "verify_", "docs_", "random_transformers", "soundness_", "soft_", "fuzz_",
    "growth_", "golden_", "all_lengths_", "kernel_",
)  # fmt: skip
"""How the names of scripts that make figures and tables begin."""


@dataclass(frozen=True)
class Entry:
    """One script with its arguments; ``{folder}`` is a fresh folder for what it writes.

    Attributes:
        name: what it is called here.
        script: its file in scripts/, without the ending.
        full: arguments as the pages have it; one list for each run.
        quick: arguments of a run of a minute or so.
        figures: whether the folder then holds figures of docs/figures.
    """

    name: str
    script: str
    full: tuple[str, ...] = ("",)
    quick: str = ""
    figures: bool = False

    @property
    def pages(self) -> list[Path]:
        """The pages that name the script."""
        return [page for page in sorted(DOCS.glob("*.md")) if f"{self.script}.py" in page.read_text(encoding="utf-8")]

    @property
    def says(self) -> str:
        """The first line of what the script says of itself."""
        told = ast.get_docstring(ast.parse((SCRIPTS / f"{self.script}.py").read_text(encoding="utf-8"))) or ""
        return told.partition("\n")[0]


KNOWN = (
    Entry("paper-figures", "paper_figures", ("{folder}",), "{folder}", True),
    Entry("commands", "docs_commands"),
    Entry("cold", "bench_cold", ("",), "--pages tutorial --only 0100"),
    Entry("certify", "bench_certify", ("",), "--quick --only scan known"),
    Entry(
        "unseen",
        "bench_unseen",
        ("--only long symbols deep --seeds 21", "--only bound --seeds 21 22", "--only explain --seeds 2003 2001 2005"),
        "--only long --seeds 21",
    ),
    Entry("against", "bench_against", (". --quick",), ". --quick --seeds 1 --n 1000"),
    Entry("report", "bench_report"),
    Entry("wide", "bench_wide", ("",), "--quick --n 1000 --heads 2 --states 4 --symbols 2"),
    Entry(
        "ablation", "ablation",
        ("--off", "--sets large --off", *(f"--search {name} --off" for name in ("verdict", "optimum", "exchange"))),
        "--models instances/contains-one.json:9 --only noise spare",
    ),
    Entry("release", "bench_release", ("",), "-n 8 -c 2 --models 3"),
    Entry("bounds", "bench_bounds", ("", "-n 1000 --seeds 1"), "--quick"),
    Entry("lemma", "bench_lemma", ("", "--section methods"), "--quick --section methods"),
    Entry("cover", "bench_cover", ("",), "-n 200 -k 10 --lemma-up-to 0"),
    Entry("lower-bound", "bench_lower_bound", ("-n 10000 --time 100 --trusted",), "-n 200 --seeds 1 --time 10"),
    Entry("bound-mutants", "bound_sweep", ("--mutants 400 --seed 3",), "--mutants 20 --seed 3"),
    Entry("every-k", "bound_sweep", ("--every-k 50 -n 13",), "--every-k 1 -n 5"),
    Entry("all-lengths", "bench_all_lengths", ("",), "--share 0.02"),
    Entry("importers", "bench_importers", ("",), "--random 1 -n 8 --targets 1"),
    Entry("checker", "bench_checker", ("",), "--limit 100000"),
    Entry("files", "bench_files", ("", "--attacks"), "--size 100000 --only runs"),
    Entry("soundness", "soundness_sweep", ("--mutants 40000 --seed 1",), "--mutants 60"),
    Entry(
        "fuzz-checker", "fuzz_checker", ("--mutants 100000 --seed 20261122 --jobs 2 --folder {folder}",),
        "--kind certificate --kind forces --mutants 50 --folder {folder}",
    ),
    Entry("all-lengths-sweep", "all_lengths_sweep", ("--programs 20000 --seed 7 --jobs 2 --folder {folder}",),
          "--programs 40 --folder {folder}"),
    Entry("full-sizes", "full_sizes", ("",), "--share 0.01"),
    Entry("lying-prover", "lying_prover", ("--programs 100 --seed 1",), "--programs 3"),
    Entry("kernel", "bench_kernel", ("",), "--quick"),
    Entry("kernel-sweep", "kernel_sweep", ("files", "certificates --count 100000 --seed 2 --folder {folder}",
          "proofs --count 100000 --seed 2 --folder {folder}", "programs --count 10000 --seed 2 --folder {folder}",
          "models --count 3000 --seed 3 --folder {folder}", "untrue --count 28000 --seed 2 --folder {folder}"),
          "programs --count 14 --folder {folder}"),
    Entry("fuzz-cli", "fuzz_cli", ("--lines 10000 --seed 31",), "--lines 3"),
    Entry("soft", "bench_soft", ("triples", "usual", "parity", "restrictions", "influence"), "--quick triples"),
    Entry("every-length", "bench_every_length", ("tests/corpus/trained",), "tests/corpus/trained --only contains"),
    Entry("crown", "bench_crown", ("write tests/corpus/trained -o {folder}",),
          "write tests/corpus/trained -n 8 -o {folder}"),
    Entry("plan-costs", "plan_costs", ("",), "-n 1000 --seeds 1"),
    Entry("soft-peers", "bench_soft_peers", ("tests/corpus/trained",), "tests/corpus/trained -n 8 --only tomita2"),
    Entry("verdicts", "bench_verdicts", ("tests/corpus/trained",), "tests/corpus/trained -n 5 --only tomita2"),
    Entry("forced", "bench_forced", ("tests/corpus/trained",), "tests/corpus/trained -n 9 --only tomita2"),
    Entry("pairs", "bench_pairs", ("tests/corpus/trained",), "tests/corpus/trained -n 9 --only tomita2"),
    Entry("verdict-sweep", "verdict_sweep", ("--supports 10000 --points 1000000 --seed 1",
          "--supports 0 --points 0 --every 60 --forced 60 --seed 1"),
          "--supports 100 --points 5000"),
    Entry("simulate", "bench_simulate", ("dyck", "long", "sharp", "growth"), "dyck --length 4 --count 2"),
    Entry("growth-figure", "growth_figure", ("{folder}/growth.svg",), "{folder}/growth.svg", True),
    Entry(
        "soft-formulas", "soft_formulas_sweep",
        ("--formulas 2000 --seconds 20000 --state {folder}/state.json", "--scales 6"),
        "--formulas 2 --seconds 20 --state {folder}/state.json",
    ),
    Entry("golden", "golden_certificates", ("",), "--match and-of-ors"),
    Entry("sweep", "bench_sweep", ("", "--parts"), "--quick --sleep"),
    Entry("scale", "bench_scale", ("",), "--quick --only last repeating"),
    Entry(
        "random-transformers", "random_transformers",
        ("{folder}/rows.jsonl --figures {folder}",), "{folder}/rows.jsonl --quick", True,
    ),
    Entry("corollaries", "verify_corollaries", ("{folder}/rows.jsonl",), "{folder}/rows.jsonl --quick"),
)  # fmt: skip


def entries() -> dict[str, Entry]:
    """All entries by name: the known ones, and scripts that have come since, without arguments."""
    known = {entry.name: entry for entry in KNOWN}
    scripts = {entry.script for entry in KNOWN}
    for path in sorted(SCRIPTS.glob("*.py")):
        if path.stem.startswith(MAKERS) and path.stem not in scripts:
            known[path.stem] = Entry(path.stem, path.stem)
    return known


def words_of(line: str) -> str:
    """A line without its layout: bars, dashes between heads and body, more than one space."""
    return " ".join(re.sub(r"[|`]", " ", line).split())


def standing(printed: list[str], pages: list[Path]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """How the printed lines are on the pages, counted; those with other numbers beside a line of a page."""
    there = {words_of(line) for page in pages for line in page.read_text(encoding="utf-8").splitlines()}
    return kinds((words for line in printed if len(words := words_of(line)) > 3), there)


def run(script: str, words: str, folder: str, limit: float | None = None) -> tuple[int | None, list[str]]:
    """Run a script, passing on what it prints: its exit code (None: stopped after ``limit`` seconds) and its lines."""
    command = [sys.executable, str(SCRIPTS / f"{script}.py"), *words.replace("{folder}", folder).split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    printed: list[str] = []
    late = threading.Event()
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None

        def stop() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        clock = threading.Timer(limit or 0, stop)
        if limit:
            clock.start()
        try:
            for line in process.stdout:
                print(line, end="", flush=True)
                printed.append(line)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            clock.cancel()
    return None if late.is_set() else process.returncode, printed


def compared(folder: Path) -> tuple[int, str]:
    """Whether the figures in a folder are those of the documentation, byte by byte."""
    made = sorted(folder.glob("*.svg"))
    other = [p.name for p in made if not (DOCS / "figures" / p.name).exists()
             or p.read_bytes() != (DOCS / "figures" / p.name).read_bytes()]  # fmt: skip
    said = f"; other bytes than in docs/figures: {', '.join(other)}" if other else ", all as in docs/figures"
    return len(other), f"{len(made)} figure{'s' * (len(made) != 1)}{said}"


def version() -> str:
    """The commit, with a ``+`` if the package or the scripts have other changes."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short=8", "HEAD") + "+" * bool(git("status", "--porcelain", "restrict", "scripts"))


def reproduced(entry: Entry, words: str, folder: Path, limit: float | None = None) -> Logged:
    """Run an entry with some arguments and print how it compares."""
    row = Logged(entry.name, words, version(), datetime.date.today().isoformat())
    print(f"== {entry.name}: scripts/{entry.script}.py {words}".rstrip(), flush=True)
    before = spent()
    code, printed = run(entry.script, words, str(folder), limit)
    row = replace(row, seconds=round(spent() - before))
    if code is None:
        row = replace(row, seconds=0, ended=f"stopped after {limit:.0f} s")
    else:
        found, other = standing(printed, entry.pages)
        same, decimals, numbers, absent = (found[kind] for kind in ("same", "decimals", "numbers", "absent"))
        row = replace(row, same=same, decimals=decimals, numbers=numbers, absent=absent)
        row = replace(row, ended="ok" if code == 0 else f"exit {code}")
        for here, there in other:
            print(f"   printed  {here}\n   the page {there}")
    if code == 0 and entry.figures and any(folder.glob("*.svg")):
        wrong, said = compared(folder)
        row = replace(row, ended=f"{'not ' * bool(wrong)}ok: {said}")
    where = ", ".join(page.name for page in entry.pages)
    told = (
        f"{row.same} same, {row.decimals} but for decimals, {row.numbers} but for numbers, {row.absent} not on {where}"
    )
    print(f"-- {entry.name}: {row.ended}; {row.seconds} processor s; {told} ({where or 'no page'})", flush=True)
    return row


def runs(known: dict[str, Entry]) -> list[tuple[str, str, bool]]:
    """Every run: the entry, its arguments, and whether it is on less."""
    full = [(name, words, False) for name, entry in known.items() for words in entry.full]
    return full + [(name, entry.quick, True) for name, entry in known.items() if entry.quick not in entry.full]


def wanted(
    known: dict[str, Entry], options: argparse.Namespace, rows: dict[tuple[str, str], Logged]
) -> list[tuple[str, str]]:
    """The runs asked for; of those that nobody named, not what the log has, or what ran into the limit before."""
    asked = [(name, words) for name, words, quick in runs(known) if quick == options.quick]
    if options.quick:
        asked += [(name, entry.quick) for name, entry in known.items() if entry.quick in entry.full]
    if options.names:
        return [run for run in asked if run[0] in options.names]

    def again(row: Logged | None) -> bool:
        stopped = re.match(r"stopped after (\d+) s", row.ended) if row else None
        return row is None or not (row.good or (stopped and int(stopped[1]) >= (options.limit or float("inf"))))

    return [run for run in asked if again(rows.get(run))]


def main(words: list[str]) -> int:
    """List, or run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--quick", action="store_true", help="on less")
    parser.add_argument("--all", action="store_true", help="all, as the pages have them")
    parser.add_argument("--log", type=Path, metavar="PAGE", help="keep a row for each run in this page")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="stop a run after")
    options, known = parser.parse_args(words), entries()
    unknown = [name for name in options.names if name not in known]
    if unknown:
        print(f"no such entry: {', '.join(unknown)}; --list lists them", file=sys.stderr)
        return 2
    if options.list or not (options.names or options.quick or options.all):
        for name, entry in known.items():
            pages = ", ".join(page.name for page in entry.pages) or "-"
            print(f"{name:<20} {pages:<28} {entry.says}")
        return 0
    rows = read(options.log) if options.log else {}
    failed = []
    for name, arguments in wanted(known, options, rows):
        with tempfile.TemporaryDirectory() as folder:
            row = reproduced(known[name], arguments, Path(folder), options.limit)
        failed += [] if row.good else [name]
        rows[name, arguments] = row
        if options.log:
            options.log.write_text(page(runs(known), rows), encoding="utf-8")
    if options.log:
        print(summary(runs(known), rows))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
