"""Same input, same certificate: 60 command lines whose certificates a refactoring must not change.

    python scripts/golden_certificates.py            # compare with tests/golden.json, say which lines differ
    python scripts/golden_certificates.py --record   # write tests/golden.json again (with --match: these lines of it)

A line is what follows ``restrict``; ``-o`` is added. What is kept is the exit code and the SHA-256 of the certificate
without its provenance, which says how it was found. A change of the engine that finds better restrictions records them
again, in a commit that says so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import ROOT, command, ended

GOLDEN = ROOT / "tests" / "golden.json"


def lines() -> Iterator[str]:
    """The 60 command lines: every strategy, instances and generators, small and large n."""
    for name, n in (
        ("contains-one", 1000), ("all-ones", 50), ("first-symbol", 40), ("anbn", 10), ("q-then-u", 30),
        ("and-of-ors", 10000), ("or-of-ands", 400), ("alternating-tree", 640), ("tribes", 800), ("flip-flop", 100),
        ("induction-head", 60), ("dyck1-depth2", 64), ("dyck1-depth3", 33), ("parity8", 100), ("parity-attempt", 30),
        ("brasp-ab-star", 25), ("brasp-dyck1-depth2", 20), ("weights-a-before-b", 12),
    ):  # fmt: skip
        yield f"certify instances/{name}.json -n {n}"
    for layers, heads, states, seed, n in (
        (1, 2, 4, 0, 13), (2, 2, 4, 1, 13), (2, 2, 4, 2, 13), (2, 2, 4, 3, 40), (2, 2, 4, 4, 40), (2, 1, 3, 5, 100),
        (2, 2, 4, 1, 1000), (2, 2, 4, 2, 10000), (2, 2, 4, 3, 1000000), (3, 2, 4, 1, 10000), (1, 1, 2, 7, 9),
        (3, 1, 2, 8, 200),
    ):  # fmt: skip
        yield f"certify random:layers={layers},heads={heads},states={states},seed={seed} -n {n}"
    small = "random:layers=2,heads=2,states=4,seed=1"
    every = "random:layers=1,heads=2,states=2,every=1"
    yield f"certify {small} -n 200 --seed 3"
    yield f"certify {small} -n 60 --seed 11"
    yield f"certify {small} -n 40 -c 2"
    yield f"certify {small} -n 13 -c 1"
    yield f"certify {small} -n 30 --free 0.95"
    yield "certify random:layers=2,heads=1,states=3,seed=4 -n 50 -c 3"
    yield f"certify {small} -n 9 --exact"
    yield "certify random:layers=1,heads=2,states=3,seed=2 -n 11 --exact"
    yield "certify instances/tribes.json -n 32 --exact"
    yield f"certify {small} -n 5 --restriction 01**1"
    yield "certify instances/contains-one.json -n 8 --restriction ***1****"
    yield "certify instances/tagger.json -n 40"
    yield "certify instances/tagger.json -n 40 --target 7"
    yield "certify instances/tagger.json -n 30 --target all"
    yield "certify instances/brasp-flip-flop.json -n 200 --target all --free 0.9"
    yield "certify instances/shared-hubs.json -n 100 --target all --free 0.8"
    yield "certify instances/dot-sparse.json -n 100 --target all --free 0.8"
    yield "certify instances/tribes-trap.json -n 200 --target all --free 0.8"
    yield f"certify {every} -n 300 --target all --free 0.9"
    yield f"certify {every} -n 1000 --target all --free 0.9"
    yield f"certify {every} -n 200 --target all -c 0"
    yield "certify random:layers=2,heads=2,states=2,every=1,seed=1 -n 400 --target all --free 0.6"
    yield "certify random:layers=1,heads=1,states=2,every=1,seed=5 -n 500 --target all -c 30"
    yield f"certify {every} -n 500 --target 17"
    yield "certify random:layers=1,heads=2,states=4,brackets=1 -n 20"
    yield "explain instances/induction-head.json --input abcdabca"
    yield f"explain {small} --input 0110100110010110"
    yield f"explain {small} --input 010011010111 --exact"
    yield "refute instances/parity-attempt.json -L parity -n 200"
    yield f"refute {small} -L parity -n 100"


def outcome(line: str, folder: Path) -> dict[str, object]:
    """The result of a line: its exit code, and the digest of what it wrote."""
    written = folder / (hashlib.sha256(line.encode()).hexdigest() + ".json")
    done = ended(command(*line.split(), "-o", str(written)))
    digest = None
    if written.exists():
        document = json.loads(written.read_bytes())
        for part in (document, document.get("certificate", {})):
            part.pop("provenance", None)
        digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    print(f"{done.seconds:6.1f} s  exit {done.code}  {line}  {done.err.strip()[-200:]}", flush=True)
    return {"line": line, "exit": done.code, "sha256": digest}


def main() -> int:
    """Record or compare; exit 1 where a line differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="write tests/golden.json again")
    parser.add_argument("--match", default="", help="only lines that contain this text")
    arguments = parser.parse_args()
    chosen = [line for line in lines() if arguments.match in line]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda line: outcome(line, Path(name)), chosen))
    known = {row["line"]: row for row in json.loads(GOLDEN.read_text())}
    if arguments.record:
        known |= {row["line"]: row for row in found}
        GOLDEN.write_text(json.dumps([known[line] for line in lines() if line in known], indent=1) + "\n")
        return 0
    wrong = [row["line"] for row in found if known.get(row["line"]) != row]
    print(f"{len(found) - len(wrong)} of {len(found)} lines as recorded", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
