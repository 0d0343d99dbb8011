"""How results are shown: ``report_of(result)`` is the report of a result in memory, ``page_of(path)`` that of a file,
``figure_of(result)`` its drawing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from restrict.report.figure import Figure, figure_of, report_of
    from restrict.report.source import page_of

__all__ = ["Figure", "figure_of", "page_of", "report_of"]
_HOME = {"Figure": "figure", "figure_of": "figure", "page_of": "source", "report_of": "figure"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"restrict.report.{_HOME[name]}"), name)
    raise AttributeError(f"module 'restrict.report' has no attribute {name!r}")
