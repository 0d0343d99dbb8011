"""Every command with bad input of every kind: one line on standard error, a documented exit code, no file left.

    python scripts/fuzz_cli.py --lines 10000 --seed 0          # in this process, one in 100 as a process of its own
    python scripts/fuzz_cli.py --line 1234 --seed 0            # one line again, with what it printed

A command line is drawn from the command's own parameters: most values are good, some are not. What is asserted of each:

- the exit code is one of 0, 2, 3, 4, 5, 130; never 1, which is a bug;
- with 0 nothing is on standard error; otherwise there is exactly one line of at most 2100 characters;
- "Traceback" is nowhere;
- after a failure there is no file that was not there before, and an old output file is what it was.

A line that takes longer than ``SLOW`` seconds is interrupted as by Ctrl-C, and counted.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

import click
from harness import ROOT

from restrict.cli.main import cli

CODES = {0, 2, 3, 4, 5, 130}
SLOW = 20
"""Seconds after which a line is interrupted."""
MOST = 2_100
"""Characters of an error line."""
PROCESS = 100
"""One line in so many is a process of its own, with closed or full streams and odd locales."""

NUMBERS = [
    "0", "1", "2", "5", "9", "-1", "x", "1e3", "5.5", "+5", "0x10", "1_000", "9" * 26, "-" + "9" * 20, "\u0663",
    "\u00b2",
]  # fmt: skip
SECONDS = ["0", "0.2", "0.1", "nan", "inf", "-inf", "-1", "1e400", "x", "0,5", ""]
SHARES = ["0", "0.5", "0.9", "1", "1.5", "-0.1", "nan", "inf", "1e-999999999", "1/2", "x", "", "9" * 3000]
WORDS = [
    "0110", "0", "1", "", "02", "0 1 0", "\u00e9", "\U0001f642", "\udcff", "0" * 400, "a" * 5000, "\x1b[31m", "ab",
    "((",
]  # fmt: skip
RESTRICTIONS = ["**1**", "*****", "1", "", ".....", "**2**", "* * 1 * *", "\u00e9****", "*" * 5000, ".***."]
MODELS = [
    "contains-one", "first-symbol", "tagger", "parity8:width=3", "anbn", "tribes:width=2", "flip-flop",
    "random:layers=1,heads=1,states=2", "random:layers=2,heads=2,states=3,every=1", "and-of-ors",
    "random:layers=99999999", "random:frog=1", "random:seed=", "tribes:width=0", "tribes:width=99999999",
    "frog", "", " ", ":", "x" * 5000, "\u00e9", "\udcff", "good.json", "broken.json", "empty.json", "list.json",
    "binary.json", "folder", "pipe", "pipes.json", "deep.json", "quotes.json", "c.json", "none.json", "/dev/null",
]  # fmt: skip
SOFT = [
    "parity", "soft.st", "first", "random:layers=1,width=8,percent=30,seed=1", "random:layers=2,width=16,seed=2",
    "random:layers=0", "random:width=-1", "random:percent=x", "trained.safetensors", "cut.st", *MODELS[15:],
]  # fmt: skip
TRAINED = ["trained.safetensors", "soft.st", "cut.st", *MODELS[15:]]
CERTIFICATES = [
    "c.json", "every.json", "wide.json", "good.json", "broken.json", "empty.json", "binary.json", "folder", "pipe",
    "none.json", "deep.json", "/dev/zero", "x" * 5000, "\udcff", "s.json", "verdict.json",
]  # fmt: skip
EPSILONS = ["0.5", "1/5", "0.01", "1/4", "1e-6", "0", "-1", "1e99999999", "1e-99999999", "nan", "inf", "\u0661", "1/0",
            "0.5\n", "1_0", "x", "", "9" * 5000, "1/" + "9" * 300]  # fmt: skip
LANGUAGES = [
    "parity", "dyck:1", "dyck:2,depth=3", "regex:(01)*", "regex:(", "regex:" + "(" * 2000, "dfa:none.json", "dfa:pipe",
    "dfa:good.json", "cfg:empty.json", "cfg:folder", "parity:x", "", "frog", "1*", "majority", "palindromes:01",
    "dyck:99999999", "regex:\\d{1,999999}", "mod:99999999999", "\u00e9", "shuffle-dyck:2", "regex:" + "0" * 5000,
]  # fmt: skip
DEEP, LONG = "(" * 5000 + "1", "true " * 500
FORMULAS = [
    "once 1", "0 since 1", "not 1", "strict once 1", "(", "once", "", "\u00e9", DEEP, LONG, "# 1 > 2", "1 and",
]  # fmt: skip
OUTPUTS = [
    "out.json", "old.json", "out2.json", "none/out.json", "folder", "/dev/full", "/dev/null", "x" * 5000, "", "\udcff",
]  # fmt: skip


TARGETS = ["last", "all", "3", "x", "-1", "99", "\u0663", ""]
LEFT_OUT = {
    "warm-up": "compiles every kernel, and reads nothing",
    "--figure": "needs a package of its own",
    "--parquet": "needs a package of its own",
    "--dask": "starts a cluster",
    "--jobs": "starts processes; a sweep has it with 0, which starts none",
}
"""Commands and options that no line has, and why."""
TYPES = {
    "integer": NUMBERS, "seconds": SECONDS, "fraction": SHARES, "float range": SHARES, "epsilon": EPSILONS,
    "target": TARGETS, "file": OUTPUTS, "directory": OUTPUTS, "path": CERTIFICATES,
}  # fmt: skip
GRIDS = ["grid.toml", "good.json", "broken.json", "binary.json", "folder", "pipe", "none.json"]
VALUES = {
    "model": MODELS, "--model": MODELS, "generator": MODELS, "soft model": SOFT, "soft verify model": TRAINED,
    "verify --equals": MODELS, "soft verify --equals": [*FORMULAS, *MODELS], "spec": GRIDS, "--table": GRIDS,
    "word": WORDS, "words": WORDS, "--input": WORDS, "--name": WORDS, "formula": FORMULAS,
    "-o": OUTPUTS, "-L": LANGUAGES, "name": LANGUAGES, "--inputs": LANGUAGES,
    "soft cross-entropy -L": ["parity", "2dyck", "x", ""],
    "-n": ["5", "6", "9", "5", "7", "30", *NUMBERS], "soft verify -n": ["3", "4", "5", "2", *NUMBERS],
    "--states": ["100", "1000", "5", "50", *NUMBERS], "sweep --jobs": ["0", "0", "0", "0", "-1", "x", "9" * 26],
    "soft --time": ["0.2", "0.1", "0.3", "0.5", *SECONDS], "-p": EPSILONS, "--epsilon": EPSILONS, "--eps": EPSILONS,
    "bounds -L": ["1", "2", *NUMBERS], "bounds -H": ["1", "2", *NUMBERS], "bounds -C": SHARES,
    "--export": ["out.hoa", "out.smv", "out.dot", "out.x", "folder"], "--restriction": RESTRICTIONS,
    "--label": ["accept", "reject", "frog", "", "\udcff"], "soft --label": ["all", "greatest", "0", "<eos>", "x", ""],
    "--weight": ["1=2", "1", "=", "1=0", "9=9", "1=99999999999", "x=y"],
    "--pre": ["first=20%:0", "0:1", "x", "first=999%:0", ""], "--verify": ["1", "3", "-1", "x"],
    "--alphabet": ["0,1", "0 1", "1,0", "0,1,2", "", "0,0", "\u00e9,1", ",", "a" * 5000],
    "bounds --alphabet": NUMBERS, "--fix": ["3:1", "1:0,2:1", "3:9", ":", "-1:0", "99:0", "\u0663:1", ""],
    "soft certificate": ["s.json", *CERTIFICATES], "soft verify --certificate": ["verdict.json", "missing.json"],
    "soft import file": [*TRAINED, *CERTIFICATES], "soft import --weights": [*OUTPUTS, "w.safetensors"],
    "soft import --config": ["trained.config.json", *CERTIFICATES], "--compare": CERTIFICATES,
    "soft import --alphabet": WORDS, "--labels": WORDS, "--start-marker": WORDS, "--end-marker": WORDS,
    "--never": WORDS, "--names": ["embedding=e", "embedding=", "=", "x=y", "embedding=e,embedding=f", ""],
}  # fmt: skip
"""Values of a parameter, of all commands or of one (or of a group), where its type says too little of them. The first
few of a list are good ones."""
OFTEN = {
    **{"-n": 0.97, "compile -n": 0.1, "compile --alphabet": 0.97, "soft certify --epsilon": 0.97, "verify -L": 0.7},
    **{"-o": 0.4, "--time": 0.4, "soft --time": 1, "sweep --jobs": 1, "--target": 0.3, "--samples": 0.5},
    **dict.fromkeys(("certify --all-lengths", "refute --all-lengths", "--method", "--lower-bound", "--verified"), 0.05),
}
"""How often a parameter is given: if not said here, one that is needed nearly always, another one in a sixth of the
lines."""


class Option(NamedTuple):
    """A parameter: its flag (``None`` for a positional one), where its values come from, and how often it is given."""

    flag: str | None
    values: list[str] | None
    often: float


def option_of(command: str, parameter: click.Parameter) -> Option:
    """A parameter of a command, as lines have it."""
    flag, kind = parameter.opts[0], parameter.type
    keys = (f"{command} {flag}", f"{command.partition(' ')[0]} {flag}", flag)
    needed = parameter.required or isinstance(parameter, click.Argument)
    often = 0.97 if needed else next((OFTEN[key] for key in keys if key in OFTEN), 0.15)
    values = next((VALUES[key] for key in keys if key in VALUES), None)
    if values is None and not getattr(parameter, "is_flag", False):
        values = [*kind.choices, "x"] if isinstance(kind, click.Choice) else TYPES[kind.name]
    return Option(flag if isinstance(parameter, click.Option) else None, values, often)


def parameters(group: click.Group, before: str = "") -> Iterator[tuple[str, list[click.Parameter]]]:
    """Every command by its words, with its parameters."""
    context = click.Context(group)
    for name in map(before.__add__, group.list_commands(context)):
        found = group.get_command(context, name.removeprefix(before))
        if isinstance(found, click.Group):
            yield from parameters(found, f"{name} ")
        elif found is not None:
            yield name, found.params


def drawn(command: str, parameter: click.Parameter) -> bool:
    """Whether lines have a parameter: some options only where there are values for a command."""
    return parameter.opts[0] not in LEFT_OUT or f"{command} {parameter.opts[0]}" in VALUES


NO_OPTION = Option("--frog", None, 0.01)
COMMANDS = {
    name: [*(option_of(name, one) for one in found if drawn(name, one)), NO_OPTION]
    for name, found in parameters(cli)
    if name not in LEFT_OUT
}
COMMANDS["frog"] = [Option(None, MODELS, 0.97)]


def command_line(seed: int, number: int) -> list[str]:
    """The words of one command line; the same for the same numbers."""
    rng = random.Random(f"{seed}/{number}")
    name = rng.choice(list(COMMANDS))
    words = name.split()
    for option in rng.sample(COMMANDS[name], len(COMMANDS[name])) if rng.random() < 0.1 else COMMANDS[name]:
        if rng.random() < option.often:
            words += [option.flag] if option.flag else []
            if option.values is not None:
                good = rng.random() < 0.75  # the first few values of a list are good ones
                words.append(rng.choice(option.values[:4] if good else option.values))
    return words


def prepare(folder: Path) -> None:
    """The files that the command lines name."""
    from restrict import certify, load
    from restrict.model.source import document_bytes

    good = document_bytes("contains-one")
    (folder / "good.json").write_bytes(good)
    certify(load("contains-one"), 5).save(folder / "c.json")
    certificate = json.loads((folder / "c.json").read_bytes())
    wide = certificate | {"n": 10**8, "fixed": [[0, 99_999_999, "1"]], "cone": {"seen": [[0, 10**8]]}}
    (folder / "wide.json").write_text(json.dumps(wide))
    (folder / "broken.json").write_bytes(good[: len(good) // 2])
    (folder / "empty.json").write_bytes(b"")
    (folder / "list.json").write_bytes(b"[1, 2.5]")
    (folder / "binary.json").write_bytes(bytes(range(256)) * 4)
    (folder / "deep.json").write_bytes(b"[" * 100_000)
    (folder / "quotes.json").write_bytes(b'"' + b'\\"' * 5_000)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    document = json.loads(good)
    document["variables"][0]["score"] = {"table": {"file": "pipe"}}
    (folder / "pipes.json").write_text(json.dumps(document))
    (folder / "old.json").write_text("old")
    (folder / "grid.toml").write_text(GRID)
    trained = ROOT / "tests" / "corpus" / "trained" / "contains-aba-1l1h16d-nope"
    for suffix in (".safetensors", ".config.json"):
        shutil.copy(f"{trained}{suffix}", folder / f"trained{suffix}")
    for line in PREPARED:
        in_process([str(folder / word) if "." in word[1:] else word for word in line.split()])
    (folder / "cut.st").write_bytes((folder / "soft.st").read_bytes()[:-7])


GRID = """[[grid]]
model = ["contains-one", "frog"]
n = [4, 5]
"""
PREPARED = (
    "certify contains-one --all-lengths --label accept -o every.json",
    "soft write parity -o soft.st",
    "soft certify soft.st -n 5 --epsilon 1/2 --time 1 -o s.json",
    "soft verify trained.safetensors -n 4 -o verdict.json",
)


class Outcome(NamedTuple):
    """The result of a command line."""

    code: object
    out: str
    err: str
    seconds: float


def in_process(words: list[str]) -> Outcome:
    """Run a command line in this process, with a time limit."""
    from restrict.cli import main

    def ring(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SLOW)
    started = time.perf_counter()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            out.reconfigure(errors="backslashreplace")
            code: object = main._run(words)
    except BaseException as error:
        code = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    shown = out.buffer.getvalue().decode("utf-8", "replace")
    return Outcome(code, shown, err.getvalue(), time.perf_counter() - started)


def as_process(words: list[str], number: int) -> Outcome:
    """Run a command line as a person does, every other one in an odd locale or with a full or closed stream."""
    words = [w for w in words if "\0" not in w]
    kind = number // PROCESS % 4
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if kind == 1:
        environment |= {"LC_ALL": "C", "PYTHONUTF8": "0"}
    command = " ".join(shlex.quote(w) for w in [sys.executable, "-m", "restrict.cli", *words])
    command += {2: " >/dev/full", 3: " >&-"}.get(kind, "")
    started = time.perf_counter()
    encoded = command.encode("utf-8", "surrogateescape")
    try:
        done = subprocess.run([b"bash", b"-c", encoded], capture_output=True, env=environment, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return Outcome("timeout", "", "", 60.0)
    out, err = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    return Outcome(done.returncode, out, err, time.perf_counter() - started)


def faults(words: list[str], found: Outcome, new: set[str], old: str) -> Iterator[str]:
    """What is wrong with an outcome."""
    if found.code not in CODES:
        yield f"exit {found.code}"
    if "Traceback" in found.out + found.err:
        yield "a traceback"
    if found.code == 0 and found.err and "--kernel" not in words:  # which says there how large the proof is
        yield "words on standard error after success"
    lines = found.err.splitlines()
    own = words[:1] in ([], ["frog"], ["check"]) or words[:2] == ["soft", "check"]
    # The help, and the trusted checker, which stands alone.
    prefixed = own or (bool(lines) and lines[0].startswith("restrict: "))
    if found.code not in (0, 130) and (len(lines) != 1 or not prefixed):
        yield f"{len(lines)} error lines"
    if any(len(line) > MOST for line in lines):
        yield "a long error line"
    told = words[:1] in (["verify"], ["lower-bound"]) and found.code == 3  # they write what they found instead
    told |= words[:2] == ["soft", "verify"] and found.code in (3, 5)  # what is decided is kept
    told |= "standard output" in found.err or words[:1] == ["automaton"]  # a file is whole, and then something fails
    if found.code not in (0, 130) and not told and (new or old != "old"):
        yield f"a file left after a failure: {sorted(new)}"
    if any(name.endswith(".part") for name in new):
        yield "a temporary file left"


def run_lines(
    numbers: range, seed: int, folder: Path, processes: bool, tell: Callable[[str], None]
) -> tuple[Counter[str], list[tuple[int, list[str], str, Outcome]]]:
    """Run command lines in a prepared folder; counts, and what failed."""
    counts: Counter[str] = Counter()
    wrong = []
    os.chdir(folder)
    known = {p.name for p in folder.iterdir()}
    for number in numbers:
        words = command_line(seed, number)
        separate = processes and number % PROCESS == 0
        found = as_process(words, number) if separate else in_process(words)
        new = {p.name for p in folder.iterdir()} - known
        old = (folder / "old.json").read_text("utf-8", "replace")
        for fault in faults(words, found, new, old):
            wrong.append((number, words, fault, found))
            tell(f"line {number}: {fault}: {[w[:60] for w in words]}: {found.err[:300]!r}")
        counts[f"exit {found.code}"] += 1
        counts["processes"] += separate
        counts["slow"] += found.seconds >= SLOW
        for name in new:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        (folder / "old.json").write_text("old")
        if number % 1000 == 999:
            tell(f"{number + 1} lines: {dict(sorted(counts.items()))}")
    return counts, wrong


def main() -> int:
    """Fuzz; exit 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first line")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--line", type=int, default=None, help="only this one, with its output")
    arguments = parser.parse_args()
    first, count = arguments.first, arguments.lines
    numbers = range(first, first + count) if arguments.line is None else range(arguments.line, arguments.line + 1)
    here, started = Path.cwd(), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        counts, wrong = run_lines(numbers, arguments.seed, Path(name), True, lambda text: print(text, flush=True))
        if arguments.line is not None:
            words = command_line(arguments.seed, arguments.line)
            print(shlex.join(words), in_process(words), sep="\n")
        os.chdir(here)
    print(f"{len(numbers)} command lines in {time.perf_counter() - started:.0f} s, {len(wrong)} faults: {dict(counts)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
