"""How much the mutants of every format find out: what becomes of them, and how many refusals of the checker they reach.

    python scripts/mutation_power.py --mutants 2000 --seed 1

For each format the same number of mutants is made by its operators. The table says how many the trusted checker
accepts, finds unproved (exit code 3) or malformed (4), and how many distinct places in the checker's code refused one.
Every mutant that is accepted is judged by brute force on the way, as in the sweeps. Source: docs/soundness.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from restrict.checker.account import Reject  # noqa: E402 # after the path is set
from tests import bound_mutations, length_mutations, mutations, soft_mutations, trusted  # noqa: E402

ACCOUNT = "account.py"


class Power:
    """What became of the mutants of a format: exit codes, and the places that refused."""

    def __init__(self) -> None:
        self.codes: Counter[int] = Counter()
        self.sites: Counter[tuple[str, int]] = Counter()

    def watched(self, verify: Callable[..., str]) -> Callable[..., str]:
        """The checker, with every answer of it noted."""

        def watching(*args: Any, **names: Any) -> str:
            try:
                line = verify(*args, **names)
            except Reject as reject:
                self.codes[reject.code] += 1
                self.sites[refused_at(reject)] += 1
                raise
            self.codes[0] += 1
            return line

        return watching

    @contextmanager
    def watching(self, holder: Any) -> Iterator[None]:
        """While this lasts, what a module asks of the checker is noted."""
        verify, holder.verify = holder.verify, self.watched(holder.verify)
        try:
            yield
        finally:
            holder.verify = verify


def refused_at(reject: Reject) -> tuple[str, int]:
    """The file and the line that refused: the innermost frame that is not of the account itself."""
    frame, found = reject.__traceback__, ("", 0)
    while frame is not None:
        path = Path(frame.tb_frame.f_code.co_filename)
        if "restrict" in path.parts and path.name != ACCOUNT:
            found = (path.name, frame.tb_lineno)
        frame = frame.tb_next
    return found


def sweeps(seed: int, count: int) -> dict[str, tuple[Any, Callable[[], Any]]]:
    """For each format the module that asks the checker, and its sweep."""
    rng = np.random.default_rng(seed)
    return {
        "certificate": (trusted, lambda: mutations.sweep(seed, count)),
        "lower bound": (bound_mutations, lambda: bound_mutations.sweep(rng, count)),
        "all lengths": (length_mutations, lambda: length_mutations.attack(rng, 1 + count // 40, 40)),
        "soft": (soft_mutations, lambda: soft_mutations.sweep(rng, count)),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(sweeps(0, 0)), help="one format alone")
    parser.add_argument("--sites", action="store_true", help="list the places, too")
    options = parser.parse_args()
    print("| format | asked | accepted | unproved | malformed | other | places that refuse | processor seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (holder, sweep) in sweeps(options.seed, options.mutants).items():
        if options.only not in (None, name):
            continue
        power, start = Power(), time.process_time()
        with power.watching(holder):
            sweep()
        asked, seconds = sum(power.codes.values()), time.process_time() - start
        shares = [f"{power.codes[code] / asked:.1%}" for code in (0, 3, 4)]
        rest = asked - sum(power.codes[code] for code in (0, 3, 4))
        print(f"| {name} | {asked} | {' | '.join(shares)} | {rest} | {len(power.sites)} | {seconds:.0f} |", flush=True)
        for (file, line), hits in sorted(power.sites.items()) if options.sites else ():
            print(f"    {file}:{line} {hits}")


if __name__ == "__main__":
    main()
