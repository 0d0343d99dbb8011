"""The graph of a program: which variable reads which, as a networkx graph. An edge ``a -> b`` says that ``b`` reads
``a``; its attribute ``roles`` is a tuple of ``argument``, ``value``, ``query`` and ``key``. So ancestors are what a
variable is computed from, and a topological order is an order of evaluation. A node has the attribute ``kind``:
``given`` (``token``, ``position``), ``map`` or ``head``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from restrict.model.variables import BUILT_IN, Head, Variable, references

if TYPE_CHECKING:
    import networkx as nx


def program_graph(variables: Iterable[Variable]) -> nx.DiGraph[str]:
    """The graph of a list of variables, which need not be a valid program. Cost linear in the references."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    for name in BUILT_IN:
        graph.add_node(name, kind="given")
    for variable in variables:
        graph.add_node(variable.name, kind="head" if isinstance(variable, Head) else "map")
        for role, name in references(variable):
            roles = graph.edges[name, variable.name]["roles"] if graph.has_edge(name, variable.name) else ()
            graph.add_edge(name, variable.name, roles=(*roles, role))
    return graph


def cycle(graph: nx.DiGraph[str]) -> list[str]:
    """A cyclic definition, names that each read the one after and the last the first; empty where there is none."""
    import networkx as nx

    try:
        return [reader for _, reader in nx.find_cycle(graph)][::-1]
    except nx.NetworkXNoCycle:
        return []
