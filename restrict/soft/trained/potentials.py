"""Potentials: the witness that bounds hold at every length, as longest paths in the integers of the trusted checker.
The checker reads a list of numbers for each bound and tests it; the elaborator here is the same checker, asked for the
lists instead. What it writes is read and tested again by the checker itself, so nothing here is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx

from restrict.base.strictjson import translated
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.verdict_every import Everywhere, Ways
from restrict.checker.verdict_model import Atoms, Model
from restrict.checker.verdict_numbers import Vector
from restrict.checker.verdict_paths import Language
from restrict.soft.trained.model import Trained
from restrict.soft.trained.verdict import Case

SCALES = (40, 48, 54)
"""Bits behind the point of potentials, the fewest first that will do."""
LOOSER = (0, 4, 64, 1024)
"""By how many units of ``2^-24`` bounds are moved outward until there are potentials."""
UNLIMITED = 1 << 62
Phi = list[list[list[int]]]
"""For each case, for each of its bounds, a number for each state."""


class NoPotentials(Exception):
    """A bound that no potentials prove: some cycle or path is positive in the checker's enclosures."""


class Elaborator(Everywhere):
    """The trusted checker, which is asked for potentials and writes them down instead of reading them."""

    def begin(self) -> None:
        """Nothing is written."""
        self.written: Phi = []

    def case(self, key: tuple[int, int, int], hints: list[Any], place: Place) -> None:
        """One case; its potentials become an entry of ``written``."""
        self.phi = [[]] * (self.count + 1)
        self.written[self.count :] = [[]]
        super().case(key, hints, place)

    def potentials(self, ways: Ways, start: int, steps: Vector) -> Sequence[int]:
        """The longest path to each state, if there is one."""
        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        graph.add_nodes_from(ways.states)
        graph.add_weighted_edges_from((p, t, -steps[s]) for p, s, t in ways.edges)
        try:
            least = nx.single_source_bellman_ford_path_length(graph, 0)
        except nx.NetworkXUnbounded:
            raise NoPotentials from None
        found = [start - least[p] for p in ways.states]
        if max(map(abs, found)) >= UNLIMITED:
            raise NoPotentials
        self.written[-1].append(found)
        return found


@dataclass
class Proof:
    """Cases, their bounds moved outward a little, with the potentials of these."""

    scale: int
    cases: list[Case]
    phi: Phi


@translated("certificate")
def elaborated(model: Trained, document: dict[str, Any], found: Sequence[Case]) -> Proof | None:
    """The proof of all cases of the blocks, in order, or ``None`` where the checker's enclosures are too wide for one.
    ``document``: the certificate without ``cases``. Cost: O(states x transitions) for each bound."""
    task = Task(document, Place("certificate"), model.content, Place("model"), Path(), Meter(UNLIMITED))
    checked = Model(task, document["model"], task.top)
    language = Language(document["language"], document.get("memory"), task.top, len(checked.rows), checked.labels)
    atoms = Atoms(checked, 1, task.meter)
    for scale in SCALES:
        checker = Elaborator(task, checked, language, atoms, scale)
        checker.begin()
        checker.read_basis(document["basis"], task.top)
        checker.read_turned(document.get("turned", []), task.top)
        checker.read_blocks(document["blocks"], task.top)
        kept: list[Case] = []
        for case in found:
            loose = _loosened(checker, case)
            if loose is None:
                break
            kept.append(loose)
        if len(kept) == len(found):
            return Proof(scale, kept, checker.written)
    return None


def _loosened(checker: Elaborator, case: Case) -> Case | None:
    """The case with its bounds as far outward as is needed."""
    for more in LOOSER:
        upper, width = [u + more for u in case.upper], [w + 2 * more for w in case.width]
        try:
            checker.weigh(case.key[0], case.key[1])
            checker.case(case.key, [upper, width, case.tree, case.basis], Place("case"))
        except (NoPotentials, Reject):
            continue
        return replace(case, upper=upper, width=width)
    return None
