"""The notebook of the documentation, docs/notebook.ipynb: run its cells and store what they give, as Jupyter would.

    python scripts/make_notebook.py           # compare; exit 1 where a cell gives something else
    python scripts/make_notebook.py --write   # store what the cells give

The notebook is an ordinary one (nbformat 4): Jupyter opens and runs it. Running it here needs no Jupyter, and gives the
same bytes each time. What a cell's last expression gives is stored as text and, where it has a ``_repr_html_``, as
HTML. Of a cell with the tag ``times`` numbers are compared as ``#``.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
NUMBER = re.compile(r"\d+(\.\d+)?(e-?\d+)?")
Cell = dict[str, Any]


def executed(document: dict[str, Any]) -> dict[str, Any]:
    """The notebook with fresh outputs; its cells run in order, in one namespace, in an empty folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number, here = [], 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in document["cells"]:
                if cell["cell_type"] == "code":
                    number += 1
                    cell = {**cell, "execution_count": number, "outputs": _outputs(_source(cell), names, number)}
                cells.append(cell)
        finally:
            os.chdir(here)
    return {**document, "cells": cells}


def _source(cell: Cell) -> str:
    return "".join(cell["source"])


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and what its last expression gives."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    stream, value = io.StringIO(), None
    with contextlib.redirect_stdout(stream):
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if stream.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(stream.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": _lines(value._repr_html_()), **data}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    """Text as nbformat has it: lines with their ends."""
    return text.splitlines(keepends=True)


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The code cells whose stored outputs are not what they give."""
    wrong = []
    for a, b in zip(old["cells"], new["cells"], strict=True):
        vary = "times" in a["metadata"].get("tags", ())
        known, given = (json.dumps(cell.get("outputs")) for cell in (a, b))
        if vary:
            known, given = NUMBER.sub("#", known), NUMBER.sub("#", given)
        if known != given:
            wrong.append(f"cell {b['execution_count']}: {_source(b)!r} gives {given}, not {known}")
    return wrong


def dumped(document: dict[str, Any]) -> str:
    """The file's text, as Jupyter writes it."""
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(words: list[str]) -> int:
    """Compare, or write."""
    old = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    new = executed(old)
    wrong = differences(old, new)
    if "--write" in words:
        NOTEBOOK.write_text(dumped(new), encoding="utf-8")
        return 0
    print("\n".join(wrong) or "docs/notebook.ipynb: as it stands")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
