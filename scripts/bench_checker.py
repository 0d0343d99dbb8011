"""The trusted checker's steps and time: the most seconds that a step takes, and its time on honest certificates.

    python scripts/bench_checker.py [--limit 3000000] [-o bench.json]

The first table has the processor time of a step on the attacks of tests/corpus and on shapes made to be slow. The
second has the processor time of a fresh process on certificates that the search finds (docs/benchmarks.md): `restrict
check`, which elaborates and asks the kernel, and `check --fast`. Exit 1 where one of them is not verified.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from harness import ROOT, arguments, command, ended, show, written
from harness import head as top

from restrict.base.errors import RestrictError
from restrict.checker import main as checker
from restrict.checker.account import Meter, Reject
from restrict.elaboration.trusted import proof_in_memory
from tests import documents
from tests.documents import dot, head, map_, table

HONEST: tuple[tuple[str, int, Literal["last", "all"]], ...] = (
    ("random:layers=2,heads=2,states=4,seed=0", 100_000, "last"),
    ("random:layers=2,heads=2,states=4,seed=1", 1_000_000, "last"),
    ("random:layers=3,heads=2,states=4,seed=0", 20_000, "last"), ("and-of-ors", 10_000, "last"),
    ("alternating-tree", 9_984, "last"), ("parity8", 10_000, "last"),
    ("random:layers=1,heads=2,states=2,every=1", 300, "all"),
)  # fmt: skip


def pair(variables: list[dict[str, Any]], n: int, cone: Any, **more: Any) -> tuple[bytes, bytes]:
    """A model whose output is the last variable, and a certificate that claims next to nothing."""
    claim = {"free": n, "c": 0, "dependencies": [], "values": [0]}
    return documents.pair(documents.model(*variables), n, **{"claim": claim, "target": n - 1, "cone": cone, **more})


def last(name: str, n: int) -> dict[str, list[list[int]]]:
    """The node at the last position."""
    return {name: [[n - 1, 1]]}


def shapes() -> Iterator[tuple[str, bytes, bytes]]:
    """Pairs that are meant to take long for their steps."""
    wide = "+".join(["j"] * 40)
    scores = {
        "hash of two names": "hash(7, i, j, k)", "hash of one name": "hash(j)", "hash of five": "hash(j, k, j, k, j)",
        "sum of forty": wide, "minimum of thousands": "min(" + ",".join(["j"] * 3000) + ")",
        "chain of thousands": "<".join(["j"] * 3000), "roots": "isqrt(isqrt(j * j + k) + j)",
        "divisions": "j * j // (k + 3) % (j + 5) // (k + 7)", "conditions": "j if j % 3 else k if k else j + 1",
        "rising scores": "j", "a constant in j": "0 * j",
    }  # fmt: skip
    for name, score in scores.items():
        yield name, *pair([head("h", score, key="token")], 10**6, last("h", 10**6))
    n = 10**6
    yield "candidates everywhere", *pair([head("h", "k + j % 2", "position", key="token")], n, last("h", n))
    yield "the key as the value", *pair([head("h", "k + j % 2", key="token")], n, last("h", n))
    yield "position as the key", *pair([head("h", "k % 7", key="position", query="token")], n, last("h", n))
    yield "small maps", *pair([map_("o", ["token"], 2, "token")], n, {"o": [[0, n // 4]]})
    yield "constant maps", *pair([map_("o", [], 2, "i % 2")], n, {"o": [[0, n // 4]]})
    yield (
        "maps of many values",
        *pair([map_("u", [], 10**6, "0"), map_("o", ["u"], 2**40, "hash(u, i) // 8388608")], 3, {"o": [[0, 3]]}),
    )
    entries = table("j k", [[j % 5, j % 3] for j in range(50_000)])
    yield "a table", *pair([head("h", entries, key="token")], 50_000, {"h": [[0, 40]]})
    product = dot("dim", [1] * 64, "j dim", [[1] * 64] * 2000)
    yield "dot products", *pair([head("h", product)], 2000, {"h": [[0, 500]]})
    many = [map_(f"v{index}", [], 1, "0") for index in range(4000)]
    tree: Any = {}
    for at in range(10):
        tree = {"position": at, "children": [tree, tree]}
    yield "many variables in every case", *pair(many, 20, {}, cases=tree)
    runs = [[2 * at, 1, "0"] for at in range(200_000)]
    yield "many runs in every case", *pair(
        [map_("o", ["token"], 2, "token")], n, {}, fixed=runs, split=[1, 3, 5, 7],
        claim={"free": n - 200_000, "c": 0, "dependencies": [], "values": [0]},
    )  # fmt: skip
    copies = [head("a", "j == i"), head("h", "k", "a", key="a")]
    yield "unions of masks", *pair(copies, 3000, {"a": [[0, 3000]], "h": [[0, 100]]})


def attacks() -> Iterator[tuple[str, bytes, bytes]]:
    """The pairs of tests/corpus/attacks."""
    for path in sorted((ROOT / "tests/corpus/attacks").glob("*.c.json")):
        soft = path.with_name(path.name[:-7] + ".m.safetensors")
        model = soft if soft.exists() else path.with_name(path.name[:-7] + ".m.json")
        yield path.name[:-7], model.read_bytes(), path.read_bytes()


def measured(model: bytes, certificate: bytes, limit: int) -> tuple[int, float, int]:
    """Steps taken, processor seconds, exit code."""
    meters: list[Meter] = []

    def counted(most: int) -> Meter:
        meters.append(Meter(most))
        return meters[-1]

    vars(checker)["Meter"] = counted
    start, code = time.process_time(), 0
    spent = 0.0

    def proof(*given: Any) -> bytes:
        nonlocal spent
        before = time.process_time()
        try:
            return proof_in_memory(limit)(*given)
        finally:
            spent += time.process_time() - before

    try:
        checker.verify(model, certificate, limit=limit, proof=proof)
    except (Reject, RestrictError) as error:
        code = error.code if isinstance(error, Reject) else error.exit_code
    finally:
        vars(checker)["Meter"] = Meter
    return limit - meters[0].left, time.process_time() - start - spent, code


def steps_table(limit: int) -> list[dict[str, Any]]:
    """Seconds for each million steps, the worst first."""
    rows: list[dict[str, Any]] = []
    for kind, source in (("shape", shapes()), ("attack", attacks())):
        for name, model, certificate in source:
            steps, seconds, code = measured(model, certificate, limit)
            rows.append({"kind": kind, "name": name, "steps": steps, "seconds": seconds, "exit": code})
    long = [row for row in rows if row["steps"] > 100_000]
    return sorted(long, key=lambda row: -row["seconds"] / row["steps"])


def honest_table() -> list[dict[str, Any]]:
    """The check and the fast check of what the search finds, the better of two runs."""
    import restrict

    rows = []
    with tempfile.TemporaryDirectory() as name:
        for source, n, target in HONEST:
            program = restrict.load(source)
            certificate = restrict.certify(program, n, target=target, free=0.7 if target == "all" else None)
            assert program.content is not None
            files = [f"{name}/m.json", f"{name}/c.json"]
            Path(files[0]).write_bytes(program.content)
            certificate.save(files[1])
            row: dict[str, Any] = {"model": source, "n": n, "target": target}
            for kind, options in (("check", []), ("fast", ["--fast"])):
                runs = [ended(command("check", *options, *files)) for _ in range(2)]
                row |= {kind: min(run.cpu for run in runs), f"{kind} exit": max(run.code for run in runs)}
            rows.append(row)
    return rows


def main() -> int:
    """Print both tables."""
    parser = arguments("measure the trusted checker", quick=None)
    parser.add_argument("--limit", type=int, default=3_000_000, help="steps for the first table")
    options = parser.parse_args()
    steps = steps_table(options.limit)
    print(top(("pair", "steps", "processor s", "microseconds a step", "exit")))
    for row in steps[:12]:
        name, took, ratio = f"{row['kind']}: {row['name']}", row["seconds"], 1e6 * row["seconds"] / row["steps"]
        show((name, row["steps"], f"{took:.2f}", f"{ratio:.2f}", row["exit"]))
    honest = honest_table()
    print("\n" + top(("model", "n", "target", "check s", "check --fast s")))
    for row in honest:
        show((row["model"], row["n"], row["target"], f"{row['check']:.2f}", f"{row['fast']:.2f}"))
    written(options.output, {"steps": steps, "honest": honest})
    return int(any(row["check exit"] or row["fast exit"] for row in honest))


if __name__ == "__main__":
    sys.exit(main())
