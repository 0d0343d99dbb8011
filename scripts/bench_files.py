"""Files of 64 MiB of every shape: processor seconds and memory until they are read or refused.

    python scripts/bench_files.py [--size 67000000] [--attacks] [--only WORD] [-o files.json]

Each row is a pair of a model and a proof, one of which has the given number of bytes. ``restrict check`` (elaboration,
then the trusted checker) and ``restrict check --fast`` must say the same: exit 0, 3, 4 or 5. ``restrict show`` must
read or refuse the large file: one line, or a page, and one of these exit codes, or 2 for a model. Every run is a
process of its own. Exit code 1 means that a run ended in another way, took 20 processor seconds, or more than 2 GiB
(docs/checker.md). With ``--attacks`` the pairs are the small ones of tests/corpus/attacks, which may take 10 seconds
and 1 GiB.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from harness import ROOT, Ended, arguments, command, ended, head, show, written

ATTACKS = ROOT / "tests" / "corpus" / "attacks"
CODES = (0, 3, 4, 5)
LARGE, SMALL = (20.0, 2048), (10.0, 1024)
"""Processor seconds and MiB: of large files, and of attacks that are small files."""
HEAD = {"name": "h", "kind": "head", "score": "k", "key": "token", "value": "token"}
OUTPUT = {"variable": "h", "position": "last"}
MODEL: dict[str, Any] = {
    "format": "restrict-model/1", "name": "m", "alphabet": ["0", "1"], "variables": [HEAD], "output": OUTPUT,
}  # fmt: skip
CLAIM = {"free": 10, "c": 0, "dependencies": [], "values": [0]}

Pair = tuple[bytes, bytes]


def dumps(document: Any) -> bytes:
    """JSON without spaces."""
    return json.dumps(document, separators=(",", ":")).encode()


def proof(model: bytes, **more: Any) -> bytes:
    """A certificate about this model."""
    fields = {"format": "restrict-certificate/1", "model": {"name": "m", "sha256": hashlib.sha256(model).hexdigest()}}
    return dumps({**fields, "n": 10, "target": "last", "fixed": [], "cone": "all", "claim": CLAIM, **more})


def in_model(path: str, piece: bytes, size: int, opening: bytes = b"[", closing: bytes = b"]") -> Pair:
    """A model with a long list of one piece in the place of the field at ``path``."""
    mark = "here"
    document = json.loads(dumps(MODEL))
    inside = document
    *folders, last = path.split(".")
    for folder in folders:
        inside = inside[int(folder) if folder.isdigit() else folder]
    inside[last] = mark
    before, after = dumps(document).split(b'"here"')
    count = (size - len(before) - len(after) - 2) // (len(piece) + 1)
    model = before + opening + b",".join([piece] * count) + closing + after
    return model, proof(model)


def in_proof(path: str, value: Callable[[int], bytes], size: int, **more: Any) -> Pair:
    """A certificate with a large value in the place of the field at ``path``."""
    model = dumps(MODEL)
    before, after = proof(model, **{**more, path: "here"}).split(b'"here"')
    return model, before + value(size - len(before) - len(after)) + after


def listed(piece: Callable[[int], str]) -> Callable[[int], bytes]:
    """A list of different pieces up to a size."""

    def made(size: int) -> bytes:
        parts, length, index = [], 2, 0
        while length < size:
            parts.append(piece(index))
            length += len(parts[-1]) + 1
            index += 1
        return ("[" + ",".join(parts[:-1]) + "]").encode()

    return made


def repeated(piece: bytes) -> Callable[[int], bytes]:
    """A list of one piece up to a size."""
    return lambda size: b"[" + b",".join([piece] * ((size - 2) // (len(piece) + 1))) + b"]"


def keys(size: int) -> bytes:
    """An object of different keys."""
    parts = [b'"%d":0' % index for index in range(size // 13)]
    return b"{" + b",".join(parts) + b"}"


def full_tree(size: int) -> bytes:
    """Cases for all words of some positions, as many as fit."""
    tree, at = b"{}", 99
    while 2 * len(tree) + 40 < size:
        tree = b'{"position":%d,"children":[%s,%s]}' % (at, tree, tree)
        at -= 1
    return tree


def many_leaves(size: int, names: int, runs: int) -> Pair:
    """A question whose leaves name cones of so many variables, each with so many runs."""
    leaf = {"cone": {f"v{at}": [[2 * run, 1] for run in range(runs)] for at in range(names)}}
    count = max(1, size // len(dumps(leaf)) - 1)
    variables = [{"name": f"v{at}", "kind": "map", "args": [], "domain": 1, "map": "0"} for at in range(names)]
    output = {"variable": "v0", "position": "last"}
    alphabet = [f"s{at}" for at in range(count)]
    model = dumps({**MODEL, "alphabet": alphabet, "variables": variables, "output": output})
    n, children = 2 * runs + 10, [leaf] * count
    claim = {**CLAIM, "free": n}
    return model, proof(model, n=n, cone={}, cases={"position": 0, "children": children}, claim=claim)


def shapes(size: int) -> Iterator[tuple[str, Callable[[], Pair]]]:
    """Pairs whose one file has about ``size`` bytes."""
    yield "lists", lambda: in_proof("provenance", lambda s: b'{"x":' + repeated(b"[]")(s - 8) + b"}", size)
    yield "objects", lambda: in_proof("provenance", lambda s: b'{"x":' + repeated(b"{}")(s - 8) + b"}", size)
    yield "integers", lambda: in_proof("provenance", lambda s: b'{"x":' + repeated(b"0")(s - 8) + b"}", size)
    yield "strings", lambda: in_proof("provenance", lambda s: b'{"x":' + repeated(b'""')(s - 8) + b"}", size)
    yield "one string", lambda: in_proof("provenance", lambda s: b'{"x":"' + b"a" * (s - 9) + b'"}', size)
    yield "escapes", lambda: in_proof("provenance", lambda s: b'{"x":"' + b"\\u0041" * ((s - 9) // 6) + b'"}', size)
    yield "keys", lambda: in_proof("provenance", keys, size)
    yield "brackets, not closed", lambda: (dumps(MODEL), b"[" * size)
    yield "backslash and quote, not closed", lambda: (dumps(MODEL), b'["' + b'\\"' * (size // 2))
    yield "spaces", lambda: (dumps(MODEL), proof(dumps(MODEL)) + b" " * (size - 400))
    yield "a long integer", lambda: in_proof("n", lambda s: b"1" * s, size)
    run = {"n": 100_000_000, "claim": {**CLAIM, "free": 1}}
    yield "runs that are fixed", lambda: in_proof("fixed", listed(lambda i: f'[{2 * i},1,"0"]'), size, **run)
    yield "runs that are fixed, out of order", lambda: in_proof("fixed", repeated(b'[0,1,"0"]'), size, **run)
    spots = listed(lambda i: f"[{2 * i},1]")
    yield "runs of a cone", lambda: in_proof("cone", lambda s: b'{"h":' + spots(s - 6) + b"}", size, **run)
    yield "cone of unknown names", lambda: in_proof("cone", keys, size)
    yield "split", lambda: in_proof("split", listed(str), size, **run)
    yield "values", lambda: in_proof("claim", lambda s: dumps(CLAIM)[:-4] + listed(str)(s - 60) + b"}", size)
    yield (
        "children of a case",
        lambda: in_proof("cases", lambda s: b'{"position":0,"children":' + repeated(b"{}")(s - 30) + b"}", size),
    )
    yield "a tree of cases", lambda: in_proof("cases", full_tree, size, n=100)
    yield "leaves that name many cones", lambda: many_leaves(size, 4000, 1)
    yield "leaves with many runs", lambda: many_leaves(size, 1, 150)
    yield "expression of names", lambda: in_model("variables.0.score", b"j", size, b'"max(', b')"')
    yield "expression of operators", lambda: in_model("variables.0.score", b"-j", size, b'"max(', b')"')
    yield "alphabet", lambda: in_model("alphabet", b'"a"', size)
    yield "variables", lambda: in_model("variables", dumps(HEAD), size)
    yield "arguments of a map", lambda: in_model("variables.0.args", b'"token"', size)
    yield "labels", lambda: in_model("output.labels", b'"a"', size)
    yield "accepted values", lambda: in_model("output.accept", b"0", size)
    table = b'{"table":{"axes":["j","k"],"values":['
    yield "a table", lambda: in_model("variables.0.score", b"[0,0]", size, table, b"]}}")
    yield "a table of one axis", lambda: in_model("variables.0.score", b"0", size, table.replace(b',"k"', b""), b"]}}")
    yield "files", lambda: in_model("files", b'"a":{"sha256":""}', size, b"{", b"}")
    yield "when", lambda: in_model("when", b"n", size, b'"max(', b')"')


def tensor_shapes(size: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Safetensors files whose header or data has about ``size`` bytes."""

    def file(header: bytes, data: int) -> bytes:
        return struct.pack("<Q", len(header)) + header + bytes(data)

    entry = b'{"dtype":"I64","shape":[%d],"data_offsets":[0,%d]}'
    yield "a tensor", lambda: file(b'{"t":' + entry % (size // 8, size // 8 * 8) + b"}", size // 8 * 8)
    ones = b'{"t":{"dtype":"I64","shape":[%s],"data_offsets":[0,8]}}'
    yield "dimensions", lambda: file(ones % b",".join([b"1"] * (size // 2)), 8)
    empty = b'"t%d":{"dtype":"I64","shape":[0],"data_offsets":[0,0]}'
    yield "tensors", lambda: file(b"{" + b",".join(empty % index for index in range(size // 60)) + b"}", 0)
    yield "header of spaces", lambda: file(b'{"t":' + entry % (2, 16) + b"}" + b" " * size, 16)


def pairs(size: int, folder: Path) -> Iterator[tuple[str, Callable[[], Pair]]]:
    """All shapes, with tensor files written beside the models that name them."""
    yield from shapes(size)
    for name, content in tensor_shapes(size):

        def made(tensors: Callable[[], bytes] = content) -> Pair:
            content = tensors()
            (folder / "t.safetensors").write_bytes(content)
            head = {**HEAD, "score": {"table": {"axes": ["j"], "file": "t.safetensors", "tensor": "t"}}}
            files = {"t.safetensors": hashlib.sha256(content).hexdigest()}
            model = dumps({**MODEL, "files": files, "variables": [head]})
            return model, proof(model)

        yield "tensor file: " + name, made


def as_row(run: Ended) -> dict[str, Any]:
    """Exit code, processor seconds, peak memory in MiB and what a process wrote."""
    return {"exit": run.code, "s": run.cpu, "MiB": int(run.mebibytes), "line": (run.out + run.err).strip()}


def kept(run: dict[str, Any], codes: tuple[int, ...], seconds: float, mebibytes: int) -> bool:
    """Whether a run kept the contract."""
    refused_in_one_line = run["exit"] == 0 or (run["line"].count("\n") == 0 and len(run["line"]) < 600)
    return run["exit"] in codes and refused_in_one_line and run["s"] < seconds and run["MiB"] < mebibytes


def write(shape: str, size: int, folder: Path) -> None:
    """Write the pair of a shape; in a process of its own, so that its memory is not counted with a reader's."""
    made = dict(pairs(size, folder))[shape]
    for name, content in zip(("m.json", "c.json"), made(), strict=True):
        (folder / name).write_bytes(content)


def measured(files: list[str], limits: tuple[float, int]) -> tuple[dict[str, dict[str, Any]], bool]:
    """The three runs on a pair of files, and whether all kept the contract and both checks said the same."""
    commands = {
        "check": command("check", *files, "--limit", "20000000"),
        "fast": command("check", "--fast", *files, "--limit", "20000000"),
        "show": command("show", max(files, key=os.path.getsize)),
    }
    runs = {name: as_row(ended(words)) for name, words in commands.items()}
    check, fast = runs["check"], runs["fast"]
    same = check["exit"] == fast["exit"] and check["line"] == fast["line"]
    codes = {"check": CODES, "fast": CODES, "show": (2, *CODES)}
    return runs, same and all(kept(run, codes[name], *limits) for name, run in runs.items())


def attacks() -> Iterator[tuple[str, list[str]]]:
    """The names and the files of the attacks."""
    for path in sorted(ATTACKS.glob("*.c.json")):
        name = path.name.removesuffix(".c.json")
        soft = ATTACKS / f"{name}.m.safetensors"
        yield name, [str(soft if soft.exists() else ATTACKS / f"{name}.m.json"), str(path)]


def large(size: int, only: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The shapes whose name has a word, and the files of each, written when it is its turn."""
    context = get_context("spawn")
    for shape in [shape for shape, _ in pairs(size, folder) if only in shape]:
        writer = context.Process(target=write, args=(shape, size, folder))
        writer.start()
        writer.join()
        yield shape, [str(folder / "m.json"), str(folder / "c.json")]


def main() -> int:
    """Print a row for each shape."""
    parser = arguments("time and memory of large files", quick=None)
    parser.add_argument("--size", type=int, default=67_000_000, help="bytes of the large file (the limit is 67108864)")
    parser.add_argument("--attacks", action="store_true", help="the pairs of tests/corpus/attacks instead")
    parser.add_argument("--only", default="", help="shapes whose name has this word")
    options = parser.parse_args()
    columns = [column for name in ("check", "fast", "show") for column in (f"{name} exit", "s", "MiB")]
    print(head(("attack" if options.attacks else "shape", *columns, "line")))
    rows, broken = [], 0
    with tempfile.TemporaryDirectory() as name:
        todo = attacks() if options.attacks else large(options.size, options.only, Path(name))
        for shape, files in todo:
            runs, fine = measured(files, SMALL if options.attacks else LARGE)
            broken += not fine
            line = runs["check"]["line"].replace(str(Path(files[0]).parent) + "/", "")[:60].replace("|", "\\|")
            numbers = [cell for run in runs.values() for cell in (run["exit"], f"{run['s']:.1f}", run["MiB"])]
            show((shape, *numbers, line + " **BROKEN**" * (not fine)))
            if not fine:
                print("\n".join(f"  {kind}: {run['line'][:300]}" for kind, run in runs.items()), flush=True)
            rows.append({"shape": shape, **runs})
    written(options.output, rows)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
