"""Notebooks as pages: text cells are MyST, code cells are code, stored outputs stand below them. Nothing is run."""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser

WRAP = '<div class="notebook-output">\n{}\n</div>'


class NotebookParser(MystParser):
    """The notebook rewritten as Markdown, then read by MyST."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Read the page."""
        cells = json.loads(inputstring)["cells"]
        super().parse("\n\n".join(map(_markdown, cells)) + "\n", document)


def _markdown(cell: dict[str, Any]) -> str:
    """A cell in Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *map(_output, cell["outputs"])])


def _output(output: dict[str, Any]) -> str:
    """A stored output: HTML as it is, text as text."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text'])}\n```"
    data = output["data"]
    if "text/html" in data:
        return f"```{{raw}} html\n{WRAP.format(''.join(data['text/html']))}\n```"
    return f"```text\n{''.join(data['text/plain'])}\n```"


def setup(app: Any) -> dict[str, Any]:
    """Register the suffix and the parser."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"version": "1", "parallel_read_safe": True}
