"""Write the imported example models: `instances/NAME.json` from the B-RASP texts, the Transformer Program and the
weights beside them, and the weights file itself.

    python scripts/make_imports.py [FOLDER]

The sources are ours; the same sources give the same bytes.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from restrict.importers import Imported, import_brasp, import_transformer_program, import_weights

INSTANCES = Path(__file__).resolve().parent.parent / "instances"
BRASP = ("brasp-ab-star", "brasp-dyck1-depth2", "brasp-flip-flop")
PROGRAMS = ("tp-same-as-first",)
WEIGHTS = ("weights-a-before-b",)


def a_before_b(path: Path) -> None:
    """The last symbol is b and an a comes before it: one head looks for an a in the strict past, a ReLU does the AND.

    The residual stream is (is a, is b, an a was seen, both).
    """
    config = {
        "format": "restrict-weights/1", "name": "weights-a-before-b", "alphabet": ["a", "b", "c"],
        "layers": [{"heads": [{"mask": "strict_past", "ties": "left"}]}],
        "output": {"position": "last", "accept": [1]}, "denominators": {"unembed_bias": 2},
    }  # fmt: skip
    tensors = {
        "embed": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], "layers.0.heads.0.query": [[1, 1, 0, 0], [0, 1, 0, 0]],
        "layers.0.heads.0.key": [[1, 0, 0, 0], [1, 0, 0, 0]], "layers.0.heads.0.value": [[1, 0, 0, 0]],
        "layers.0.heads.0.output": [[0], [0], [1], [0]], "layers.0.ffn.in": [[0, 1, 1, 0]],
        "layers.0.ffn.in_bias": [-1], "layers.0.ffn.out": [[0], [0], [0], [1]],
        "unembed": [[0, 0, 0, 0], [0, 0, 0, 1]], "unembed_bias": [0, -1],
    }  # fmt: skip
    arrays = {name: np.array(values, dtype=np.int8) for name, values in tensors.items()}
    path.write_bytes(save(arrays, metadata={"restrict": json.dumps(config)}))


def imported(name: str, folder: Path = INSTANCES) -> Imported:
    """The import of one example."""
    if name in BRASP:
        return import_brasp(folder / f"{name}.txt")
    if name in PROGRAMS:
        return import_transformer_program(folder / f"{name}.txt")
    return import_weights(folder / f"{name}.safetensors")


def main(folder: Path = INSTANCES) -> None:
    """Write everything; into another folder, the sources are copied there first."""
    if folder != INSTANCES:
        for source in [*INSTANCES.glob("brasp-*.txt"), *INSTANCES.glob("tp-*")]:
            shutil.copy(source, folder)
    a_before_b(folder / "weights-a-before-b.safetensors")
    for name in (*BRASP, *PROGRAMS, *WEIGHTS):
        imported(name, folder).save(folder / f"{name}.json")
        print(folder / f"{name}.json")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
