"""Write the example models: every builder of `restrict.model.examples.builtin` and `restrict.model.examples.hard`, with
its defaults, to `instances/NAME.json`.

    python scripts/make_instances.py [FOLDER]

The same builders give the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from restrict.model.examples.builtin import BUILTINS
from restrict.model.examples.hard import HARD
from restrict.model.fileformat import dumps

INSTANCES = Path(__file__).resolve().parent.parent / "instances"


def main(folder: Path = INSTANCES) -> None:
    """Write all models."""
    for name, build in {**BUILTINS, **HARD}.items():
        path = folder / f"{name}.json"
        path.write_bytes(dumps(build()))
        print(path)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
