"""What trials cost: the processor seconds of each command, and how many of them go into runs of its answers.

    python scripts/bench_trial.py            # a table
    python scripts/bench_trial.py -o FILE    # the same as JSON

Every command runs twice in this process (the first time loads kernels) and the second time counts; the time of a trial
is that of the outermost function of `restrict.trial` or `restrict.all_lengths.tried` that is called.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from harness import ROOT, arguments, written

INSTANCES = ROOT / "instances"
HAHN = "random:layers=3,heads=3,states=8,seed=1"
COMMANDS = [
    "automaton flip-flop", "automaton {}/brasp-dyck1-depth2.json", "automaton {}/tagger.json",
    "automaton {}/parity8.json", "automaton {}/weights-a-before-b.json",
    "verify {}/brasp-dyck1-depth2.json -L dyck:1", "verify {}/brasp-dyck1-depth2.json -L dyck:1,depth=2",
    "verify {}/brasp-dyck1-depth2.json --equals {}/dyck1-depth2.json",
    "certify {}/brasp-dyck1-depth2.json --all-lengths",
    "certify {}/brasp-dyck1-depth2.json --all-lengths --label reject --cost",
    "refute {}/brasp-dyck1-depth2.json -L dyck:1 --all-lengths -n 1000", "compile --to ltl {}/brasp-ab-star.json",
    "certify {}/and-of-ors.json -n 100", f"certify {HAHN} -n 100", f"certify {HAHN} -n 10000",
    "certify {}/contains-one.json -n 1000000", "certify {}/tagger.json -n 1000 --target all",
    "refute {}/contains-one.json -L parity -n 1000000", "refute {}/dyck1-depth2.json -L dyck:1 -n 1000",
    "explain {}/dyck1-depth3.json --input ((()))()()()((()))()()", "lower-bound {}/and-of-ors.json -n 100",
]  # fmt: skip
PREFIXES = ("try_", "agree", "disagree")


class Clock:
    """The time inside the outermost of the functions that it wraps."""

    def __init__(self) -> None:
        self.depth, self.seconds = 0, 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time added."""

        @wraps(function)
        def inner(*args: Any, **options: Any) -> Any:
            self.depth += 1
            start = time.process_time()
            try:
                return function(*args, **options)
            finally:
                self.depth -= 1
                if not self.depth:
                    self.seconds += time.process_time() - start

        return inner


def trials() -> Iterator[tuple[Any, str]]:
    """The places where the package names a function that tries answers."""
    for name, module in list(sys.modules.items()):
        if name.startswith("restrict."):
            for attribute, value in list(vars(module).items()):
                home = str(getattr(value, "__module__", ""))
                ours = home.startswith("restrict.trial") or home == "restrict.all_lengths.tried"
                if ours and attribute.startswith(PREFIXES) and callable(value):
                    yield module, attribute


def measured(command: str) -> dict[str, Any]:
    """The seconds of a command and of its trials, the second time that it runs."""
    from restrict.cli.main import _run

    words = command.replace("{}", str(INSTANCES)).split()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _run(words)
        clock, places = Clock(), list(trials())
        old = [(module, name, getattr(module, name)) for module, name in places]
        wrapped = {id(function): clock.timed(function) for _, _, function in old}
        for module, name, function in old:
            setattr(module, name, wrapped[id(function)])
        start = time.process_time()
        code = _run(words)
        total = time.process_time() - start
        for module, name, function in old:
            setattr(module, name, function)
    share = 100 * clock.seconds / total
    return {
        "command": command.replace("{}/", ""), "exit": code, "seconds": total, "trial": clock.seconds, "share": share,
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    chosen, rows = arguments(__doc__, None).parse_args(), []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for command in COMMANDS:
            rows.append(measured(command))
            row = rows[-1]
            figures = f"{row['seconds']:8.3f} s  {row['trial']:7.3f} s  {row['share']:5.1f} %"
            print(f"{figures}  exit {row['exit']}  {row['command']}", flush=True)
    written(chosen.output, rows)


if __name__ == "__main__":
    main()
