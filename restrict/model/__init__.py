"""Models: hard-attention programs over categorical variables, as families over the length n (docs/format.md)."""

from restrict.model.fileformat import load, loads, save
from restrict.model.program import Head, Instance, Map, Model, Output, Trace
from restrict.model.rules import Dot, Table
from restrict.model.trace import run_batch

__all__ = ["Dot", "Head", "Instance", "Map", "Model", "Output", "Table", "Trace", "load", "loads", "run_batch", "save"]
