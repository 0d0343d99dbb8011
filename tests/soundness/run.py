"""Run a checker on the cases of the soundness suite. Standard library only.

    python tests/soundness/run.py restrict check {model} {claim} --limit 20000000
    python tests/soundness/run.py --only false python -m restrict.checker {model} {claim} --limit 20000000

``{model}`` and ``{claim}`` stand for the files of a case. A checker verifies a claim by exit code 0 and a line that
begins with ``s VERIFIED``; whatever else it does is no verdict. Exit code 1: it verified a false claim, or an attack
took more than 10 seconds of the processor or more than 1 GiB. True claims that it does not verify are counted only.
"""

import json
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS, MEMORY = 10, 1 << 30


def limits() -> None:
    """Of an attack."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def verdict(command: list[str], case: dict[str, str]) -> str:
    """``verified``, ``refused`` or ``killed``."""
    words = [word.format(model=HERE / case["model"], claim=HERE / case["claim"]) for word in command]
    preexec = limits if case["truth"] == "unknown" else None
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=preexec)
    if done.returncode < 0:
        return "killed"
    said = any(line.startswith("s VERIFIED") for line in done.stdout.splitlines())
    return "verified" if done.returncode == 0 and said else "refused"


def main(words: list[str]) -> int:
    """Run all cases, or those of one truth or kind, and print what became of them."""
    only, command = (words[1], words[2:]) if words[:1] == ["--only"] else (None, words)
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    cases = [
        case for case in json.loads((HERE / "cases.json").read_text()) if only in (None, case["truth"], case["kind"])
    ]
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    for case in cases:
        found = verdict(command, case)
        counts[case["truth"], found] += 1
        if (case["truth"], found) == ("false", "verified") or found == "killed":
            wrong.append(f"{case['claim']}: {case['truth']} claim, {found}")
    for (truth, found), count in sorted(counts.items()):
        print(f"{truth:8} {found:9} {count}")
    print("\n".join([*wrong, f"{len(cases)} cases, {len(wrong)} wrong"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
