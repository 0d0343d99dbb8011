"""``verify_every_length``: is a model without position embeddings right on every prefix of every word of a language?

The cases are decided by bounds that hold at every length; then the model is right, and the certificate has potentials.
Else open cases are attacked at growing lengths, and blocks of lengths below the wrong word are decided one by one: so
the exact length is found at which the model breaks.

Potentials: the witness that bounds hold at every length, as longest paths in the integers of the trusted checker.
The checker reads a list of numbers for each bound and tests it; the elaborator here is the same checker, asked for the
lists instead. What it writes is read and tested again by the checker itself, so nothing here is trusted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx

from restrict.base.errors import ModelError, UsageError
from restrict.base.options import Fact
from restrict.base.strictjson import Node, translated
from restrict.checker.account import Meter, Place, Reject, Task
from restrict.checker.verdict_every import EVERY, Everywhere, Ways
from restrict.checker.verdict_model import Atoms, Model
from restrict.checker.verdict_numbers import Vector
from restrict.checker.verdict_paths import Language
from restrict.soft.trained.answer import Decided, pairs, said_of
from restrict.soft.trained.claim import head, wrong_document
from restrict.soft.trained.cycles import ALL, EverySearch, cases
from restrict.soft.trained.decide import Tell, demand_claim
from restrict.soft.trained.graph import Graph
from restrict.soft.trained.hints import bases_document, case_document
from restrict.soft.trained.memory import memories
from restrict.soft.trained.model import Trained
from restrict.soft.trained.options import OPTIONS
from restrict.soft.trained.reader import as_read, ended, opened, without_reader
from restrict.soft.trained.verdict import Case, Open, Search
from restrict.soft.trained.wrong import Hunt, Wrong, behind, wrong_of

FORMAT = "restrict-soft-every-length/1"
LONGEST: Fact[int] = 4096
UNLIMITED: Fact[int] = 1 << 62
Phi = list[list[list[int]]]
"""For each case, for each of its bounds, a number for each state."""


@dataclass(kw_only=True, repr=False)
class EveryLength(Decided):
    """``right`` is at every length. Prefixes of at most ``upto`` symbols are right (``None``: all)."""

    upto: int | None
    blocks: list[tuple[int, int]]
    proof: Proof | None

    @property
    def proves(self) -> bool:
        """Whether there is anything to certify."""
        return self.proof is not None

    @classmethod
    def told(cls, root: Node) -> dict[str, Any]:
        """The attributes that a certificate holds."""
        fields, less, told = said_of(root, EVERY)
        blocks, last = pairs(dict(root.members())["blocks"], ALL, UNLIMITED), last_of(fields)
        status = "wrong" if told["wrong"] else "right" if last == math.inf else "open"
        upto = None if last == math.inf else max(int(last) - less, -1)
        return told | {"blocks": blocks, "upto": upto, "status": status}

    def document(self) -> dict[str, Any]:
        """The certificate: an object of integers and texts."""
        if self.proof is None:
            raise ModelError(f"{self.model.name}: nothing is proved, so there is no certificate")
        found = beginning(self.model, self.graph, self.bases, self.blocks) | {
            "scale": self.proof.scale,
            "cases": [case_document(case, case.basis) for case in self.proof.cases],
            "phi": self.proof.phi,
        }
        if self.wrong is not None:
            found["wrong"] = wrong_document(self.model, self.wrong)
        return found | self.provenance()


def last_of(found: dict[str, Any]) -> float:
    """The length up to which a certificate of every length shows each prefix to be right."""
    if not found["blocks"]:
        return -1 if "wrong" in found and not found["wrong"]["word"] else 0
    last = found["blocks"][-1][1]
    return math.inf if last == ALL else float(last)


def beginning(model: Trained, graph: Graph, bases: dict[str, Any], blocks: list[tuple[int, int]]) -> dict[str, Any]:
    """The claim of a certificate, its bases and its blocks of lengths."""
    return head(FORMAT, model, graph) | bases | {"blocks": [list(block) for block in blocks]}


class _Run:
    """One search for every length."""

    def __init__(self, model: Trained, graph: Graph, longest: int, until: float, tell: Tell) -> None:
        self.hunt, self.until, self.tell = Hunt(model, graph, min(OPTIONS.first_words, longest)), until, tell
        self.model, self.base, self.longest = as_read(model, graph, longest)
        self.memory: tuple[str, ...] = ()
        self.stopped: str | None = None
        self.wrong: Wrong | None = None
        self.blocks: list[tuple[int, int]] = []
        self.on(self.base)

    def on(self, graph: Graph) -> None:
        """Take up a graph, of which nothing is decided."""
        self.graph, self.search = graph, EverySearch(self.model, graph)
        self.found: list[Case] = []
        self.open: list[Open] = []

    def late(self) -> bool:
        if time.monotonic() > self.until:
            self.stopped = "time"
        return self.stopped is not None

    def everything(self) -> bool:
        """Decide the cases of all lengths; whether none is open."""
        self.search.block = (1, ALL)
        for key in [*cases(self.graph, 0), *cases(self.graph)]:
            if self.late():
                return False
            self.tell(f"every length, {len(self.open)} open")
            found = self.search.case(key)
            if isinstance(found, Open):
                self.open.append(found)
            else:
                self.found.append(found)
        return not self.open

    def attacked(self) -> None:
        """Look for a wrong word that ends an open case: at lengths that double, then, by halving, at shorter ones."""
        length = 1
        while length <= self.longest and self.wrong is None and not self.late():
            self.at(length)
            length *= 2
        if self.wrong is not None:
            low, high = length // 4, len(self.wrong.word)
            while high - low > 1 and not self.late():
                middle = (low + high) // 2
                self.at(middle)
                low, high = (low, len(self.wrong.word)) if len(self.wrong.word) < high else (middle, high)

    def at(self, length: int) -> None:
        """Attack the open cases at one length, or at the next one at which each occurs; keep a shorter wrong word."""
        self.tell(f"words of about {length} symbols")
        reached = self.base.reached(length + len(self.base.delta))
        for case in self.open:
            _, a, q = case.key
            fits = (i for i in range(length, len(reached)) if any(self.base.delta[p][a] == q for p in reached[i - 1]))
            i = next(fits, None)
            if i is not None and a >= 0 and (self.wrong is None or i < len(self.wrong.word)):
                self.wrong = self.word(self.base, case, i) or self.wrong

    def word(self, graph: Graph, case: Open, i: int) -> Wrong | None:
        """A wrong word of one length that ends a case."""
        for word in Search(self.model, graph, i).attack((i, *case.key[1:]), case.label):
            if behind(self.model, self.base, word) <= 0:
                found = wrong_of(self.model, self.base, word)
                if found is not None:
                    return found
        return None

    def climb(self) -> None:
        """Decide as many lengths as possible, with the first memory that reaches the wrong word, or the best."""
        best: tuple[int, list[tuple[int, int]], list[Case], EverySearch, tuple[str, ...]] | None = None
        for name, finer in [("", self.base), *self.memories()]:
            if self.late() and best is not None:
                break
            self.graph, self.search, self.memory = finer, EverySearch(self.model, finer), (name,) if name else ()
            self.found, self.blocks = [], []
            self.upwards()
            upto = self.blocks[-1][1] if self.blocks else 0
            if best is None or upto > best[0]:
                best = (upto, self.blocks, self.found, self.search, self.memory)
            if upto >= self.most():
                break
        assert best is not None
        _, self.blocks, self.found, self.search, self.memory = best
        self.graph = self.search.graph

    def memories(self) -> Iterator[tuple[str, Graph]]:
        """The graph refined by each memory in turn."""
        for name, table in memories(len(self.model.symbols)):
            with suppress(ModelError):
                yield name, self.base.remembering(table)

    def upwards(self) -> None:
        """Decide blocks of lengths from 1 up to the wrong word, if there is one; each as long as it can be."""
        first, reach = 1, self.most()
        for key in cases(self.graph, 0) if self.wrong is None or self.wrong.word else ():
            case = self.search.case(key)
            if isinstance(case, Open):
                return
            self.found = [case]
        while first <= self.most() and not self.late():
            last = min(first + reach - 1, self.most())
            if self.whole(first, last):
                first, reach = last + 1, 2 * (last - first + 1)
            elif first < last:
                reach = (last - first + 1) // 2
            else:
                return

    def most(self) -> int:
        """The greatest length that is of interest."""
        return self.longest if self.wrong is None else len(self.wrong.word) - 1

    def whole(self, first: int, last: int) -> bool:
        """Decide all cases of a block, or none; a single length is attacked where it is open."""
        self.tell(f"lengths {first} .. {last} of {self.most()}")
        self.search.block, number, found = (first, last), len(self.blocks) + 1, []
        for key in cases(self.graph, number, first, last):
            case = self.search.case(key)
            if isinstance(case, Open):
                self.wrong = (self.word(self.graph, case, first) if first == last else None) or self.wrong
                return False
            if self.late():
                return False
            found.append(case)
        self.found += found
        self.blocks.append((first, last))
        return True

    def remembered(self) -> bool:
        """Decide the cases of all lengths on a graph with a memory, if there is one that will do."""
        still = self.open
        for name, finer in self.memories():
            self.on(finer)
            self.memory = (name,)
            if self.everything():
                return True
            if self.late():
                break
        self.on(self.base)
        self.memory, self.open = (), still
        return False

    def decided(self) -> None:
        """Every length, or a wrong word, or how far it goes."""
        self.tell("short words")
        self.wrong = ended(self.model, self.hunt.short()[0])
        if self.wrong is None and self.everything():
            self.blocks = [(1, ALL)]
            return
        if self.wrong is None:
            self.attacked()
        if self.wrong is None and self.remembered():
            self.blocks = [(1, ALL)]
            return
        self.climb()


def verify_every_length(
    model: Trained, graph: Graph, *, longest: int = LONGEST, language: str = "", seconds: float | None = None,
    tell: Tell | None = None,
) -> EveryLength:  # fmt: skip
    """Decide whether a model is right on every prefix of every word of a graph, of whatever length, in ``seconds`` if
    given; an interrupt ends the search, and what is decided is kept. Cost: O(states x transitions x directions) for a
    case of all lengths, O(last x transitions x directions) for one of a block. Theorem 10, docs/soft-verdicts.md."""
    begin = time.monotonic()
    if len(model.layers) != 1:
        raise ModelError(
            f"{model.name} has {len(model.layers)} layers; every length at once is for models of one layer"
        )
    if model.positions is not None:
        raise UsageError(
            f"{model.name} has position embeddings; every length at once is for models without, use -n for this one"
        )
    if not 1 <= longest <= LONGEST:
        raise UsageError(f"-n must be in 1 .. {LONGEST} with --all-lengths, not {longest}")
    demand_claim(model, graph, None)
    run = _Run(model, graph, longest, math.inf if seconds is None else begin + seconds, tell or (lambda _: None))
    try:
        run.decided()
    except KeyboardInterrupt:
        run.stopped = "interrupted"
    return _finished(model, run, language, begin)


def _finished(model: Trained, run: _Run, language: str, begin: float) -> EveryLength:
    """The answer, with potentials where all lengths are decided."""
    run.tell("potentials")
    kept, proof = [case for case in run.found if case.key[0] <= len(run.blocks)], None
    bases, numbers = bases_document(run.search.turns, kept)
    kept = [replace(case, basis=numbers[case.basis]) for case in kept]
    least, less = (1, 1) if run.model.closing else (run.model.first, 0)  # a reader is no symbol of a word
    if run.blocks or (run.wrong is not None and (kept or len(run.wrong.word) == least)):
        proof = elaborated(run.model, beginning(run.model, run.graph, bases, run.blocks), kept)
    upto = run.blocks[-1][1] if run.blocks else 0 if kept or run.model.first else -1
    right = proof is not None and bool(run.blocks) and upto == ALL
    return EveryLength(
        model=model,
        graph=run.graph,
        language=language,
        status="wrong" if run.wrong is not None else "right" if right else "open",
        upto=None if right else max(upto - less, -1),
        blocks=run.blocks,
        cases=kept,
        bases=bases,
        proof=proof,
        open=[opened(model, run.base, case) for case in run.open],
        wrong=without_reader(model, run.wrong),
        memory=run.memory,
        seconds=time.monotonic() - begin,
        stopped=run.stopped,
    )


class NoPotentials(Exception):
    """A bound that no potentials prove: some cycle or path is positive in the checker's enclosures."""


class Elaborator(Everywhere):
    """The trusted checker, which is asked for potentials and writes them down instead of reading them."""

    def begin(self) -> None:
        """Begin anew, with nothing written."""
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
        found = [start - int(least[p]) for p in ways.states]
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
    for scale in OPTIONS.scales:
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
    for more in OPTIONS.looser:
        upper, width = [u + more for u in case.upper], [w + 2 * more for w in case.width]
        try:
            checker.weigh(case.key[0], case.key[1])
            checker.case(case.key, [upper, width, case.tree, case.basis], Place("case"))
        except (NoPotentials, Reject):
            continue
        return replace(case, upper=upper, width=width)
    return None
