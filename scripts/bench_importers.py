"""What `restrict certify` says of imported Transformer Programs, compared with the exact optimum.

    python scripts/bench_importers.py [FILE.py|FOLDER ...] [--random 6] [-n 8 12 16] [--targets 2]

FILE.py are decompiled programs with their CSV beside them (published ones are not part of this repository), and FOLDER
holds such files; without any, random programs of the same shape are made by tests/transformer_programs.py. For each
program, length and target: the free positions of the default answer, the most that are possible (exact, or a certified
bound), how the answer is proved, and the processor seconds. Every certificate is checked by the trusted checker. A
program for longer inputs than it knows is left out at that length.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from harness import arguments, head, show, written

if TYPE_CHECKING:
    from restrict.model.program import Model

HEAD = (
    "program", "variables", "classes", "n", "target", "free", "most possible", "optimum by", "proof", "s", "checker",
)  # fmt: skip
SHAPES = ((4, 2, 2, 2), (8, 4, 2, 3), (12, 6, 3, 4), (24, 12, 2, 3), (8, 4, 4, 14), (4, 4, 5, 20))
"""Heads, MLPs, letters and classes of the random programs."""


def files(folder: Path, count: int, longest: int) -> Iterator[Path]:
    """Random programs, one shape after the other."""
    from tests.transformer_programs import write_program

    for seed in range(count):
        heads, mlps, letters, classes = SHAPES[seed % len(SHAPES)]
        path, _ = write_program(
            folder, np.random.default_rng(seed), longest=longest, heads=heads, mlps=mlps, letters=letters,
            classes=classes, markers=False,
        )  # fmt: skip
        yield path


def given(paths: list[Path]) -> list[Path]:
    """The programs that were named, those of folders in order."""
    return [path for named in paths for path in (sorted(named.rglob("*.py")) if named.is_dir() else [named])]


def main() -> None:
    """Import, certify, check, and print a table."""
    import restrict

    parser = arguments(__doc__, None)
    parser.add_argument("files", nargs="*", type=Path, help="programs, or folders of them")
    parser.add_argument("--random", type=int, default=6, help="so many random programs, where no file is given")
    parser.add_argument("-n", nargs="+", type=int, default=[8, 12, 16])
    parser.add_argument("--targets", type=int, default=2, help="so many positions of each length")
    options, rows = parser.parse_args(), []
    print(head(HEAD))
    with tempfile.TemporaryDirectory() as folder:
        for path in given(options.files) or files(Path(folder), options.random, max(options.n)):
            try:
                model = restrict.import_transformer_program(path).model
            except restrict.RestrictError as error:
                print(f"| {path.stem} | declined: {error} |", flush=True)
                continue
            for n in options.n:
                for target in np.linspace(n - 1, n // 3, options.targets, dtype=int).tolist():
                    if (found := row(path.stem, model, n, target)) is not None:
                        rows.append(found)
                        show(found)
    written(options.output, rows)


def row(name: str, model: Model, n: int, target: int) -> tuple[object, ...] | None:
    """One line of the table; ``None`` where the model is not defined at this length."""
    import restrict

    started = time.process_time()
    try:
        found = restrict.certify(model, n, target=target)
    except restrict.ModelError:
        return None
    seconds = time.process_time() - started
    least, bound = found.provenance.get("optimum"), int(str(found.provenance.get("optimum_at_least", 0)))
    size = len(model.at(n).unpinned)
    known = size - int(str(least)) if least is not None else f"at most {size - bound}"
    proof = "tree" if found.cases is not None else "split" if found.split else "one run"
    checked = "verified" if " VERIFIED " in restrict.check(model, found) else "REFUSED"
    variables, labels = len(model.variables), len(model.output.labels or ())
    how = found.provenance.get("optimum_by", "")
    return name, variables, labels, n, target, found.free, known, how, proof, f"{seconds:.1f}", checked


if __name__ == "__main__":
    main()
