"""Random programs at every length: automata and proofs against evaluation of the words.

    python scripts/all_lengths_sweep.py --programs 20000 --seed 0 --jobs 1 --folder failures -o sweep.json

The programs are those of tests/generator that are likely to be order-only. Each one's automaton is compared with an
evaluator that shares nothing with the package (tests/fuzzing/meaning.py) on all words of up to seven positions (two
letters; of larger alphabets where they are few), on random words of up to forty positions, at lengths around the
program's threshold and period, and on one of 200. For a share of them a claim that follows from the automaton (forces,
cost, recognises, lengths, ...) is proved, checked by the trusted checker, and compared with the words. What is wrong (a
label, a verified claim that is false, a proof of ours that the checker refuses, an exception) is written to
``--folder`` as a model file with a note; then the exit code is 1. The same seed gives the same programs, whatever
``--jobs`` is.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from harness import arguments, shared_out, written

from tests import every_length

CHUNK = 100


def part(task: tuple[int, int, int, float]) -> every_length.Result:
    """The programs ``first .. last-1`` of a seed."""
    seed, first, last, proofs = task
    found = every_length.Result()
    for index in range(first, last):
        found.add(every_length.swept(seed, index, proofs))
    return found


def keep(folder: Path, found: every_length.Result) -> None:
    """Write the models that are wrong, each with a note; more come into the same folder."""
    if found.wrong:
        folder.mkdir(parents=True, exist_ok=True)
    for note, model in found.wrong:
        number = len(list(folder.glob("*.m.json")))
        (folder / f"{number}.m.json").write_text(json.dumps(model) + "\n")
        (folder / f"{number}.txt").write_text(note + "\n")
        print(f"wrong {number}: {note[:200]}", flush=True)


def report(found: every_length.Result, seconds: float) -> None:
    """Print the counts."""
    counts = found.counts
    words = f"{counts['short words']} words of up to 7 positions and {counts['long words']} longer ones"
    print(f"{counts['programs']} programs, {counts['accepted']} accepted; {words}; {seconds:.0f} s")
    print(f"of the accepted: {', '.join(f'{k} {v}' for k, v in sorted(found.shown.items()))}")
    print(f"claims proved and verified: {dict(sorted(found.claims.items()))}")
    for text, count in found.declined.most_common():
        print(f"    declined {count}: {text}")
    print(f"wrong: {len(found.wrong)}")


def main() -> int:
    """Run the sweep."""
    parser = arguments(__doc__, None)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="begin with this program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--proofs", type=float, default=0.3, help="the share of automata about which a claim is proved")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("failures"), help="where what is wrong is written")
    options = parser.parse_args()
    start, total = time.monotonic(), every_length.Result()
    end = options.first + options.programs
    tasks = [(options.seed, a, min(end, a + CHUNK), options.proofs) for a in range(options.first, end, CHUNK)]
    try:
        for found in shared_out(part, tasks, options.jobs):
            keep(options.folder, found)
            total.add(found)
    except KeyboardInterrupt:
        print("interrupted; the counts are those until here")
    seconds = time.monotonic() - start
    report(total, seconds)
    content = {"seconds": seconds, "counts": total.counts, "claims": total.claims, "declined": total.declined}
    written(options.output, content | {"shown": total.shown, "wrong": len(total.wrong), "seed": options.seed})
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
