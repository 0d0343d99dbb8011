"""Many abstract runs of one instance: the possible outputs under one restriction after another. On kernels
(:mod:`restrict.force.compiled`) where the arrays of the instance are not too large, in Python
(:mod:`restrict.force.on_demand`) elsewhere; the answers are the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from restrict.base.arrays import FREE_INPUT, I64
from restrict.force.compiled import CompiledRun, TooMuch, supported
from restrict.force.minimise import needed_cone
from restrict.force.on_demand import OnDemandState
from restrict.force.options import CASES
from restrict.model.program import Instance


class Looking:
    """V of the output at one position, run by run; rows are ordered once for all of them. ``spent``: the effort of all
    runs so far, in nodes examined on kernels (some millions a second)."""

    def __init__(self, instance: Instance, position: int) -> None:
        self.instance, self.position = instance, position
        self.shared = OnDemandState.of(instance, {})
        self.compiled = CompiledRun(instance, position, self.shared) if supported(instance) else None
        self.state = self.shared
        self.node = (instance.model.output.variable, position)
        self.spent = 0

    def values(self, fixed: Mapping[int, int]) -> tuple[int, ...]:
        """V of the output, value indices, ascending. Cost: the nodes that it reads, and rows that are new."""
        return self._values(lambda run: run.look(fixed), lambda: fixed)

    def _values(
        self, look: Callable[[CompiledRun], tuple[int, ...]], fixed: Callable[[], Mapping[int, int]]
    ) -> tuple[int, ...]:
        if self.compiled is not None:
            try:
                found = look(self.compiled)
                self.spent += CASES.node + self.examined
                return found
            except TooMuch:
                self.compiled = None
        self.state = self.shared.under(fixed())
        found = tuple(self.state.values(*self.node))
        self.spent += CASES.faster * self.examined
        return found

    def labels(self, fixed: Mapping[int, int]) -> set[str]:
        """The labels that are possible (an upper bound on the set). Cost: that of :meth:`values`."""
        return {self.instance.label(v) for v in self.values(fixed)}

    def label_of(self, word: I64) -> str:
        """The label of a word, symbol indices of all positions, markers included. Cost: the nodes read."""
        (value,) = self._values(lambda run: run.look_at(word), lambda: dict(enumerate(word.tolist())))
        return self.instance.label(value)

    def tokens_read(self) -> set[int]:
        """The positions whose tokens the last run read, markers left out: fixing or freeing others changes nothing."""
        if self.compiled is not None:
            return set(self.compiled.read().tolist()).difference(self.instance.pinned)
        return self.state.read_tokens(self.node).difference(self.instance.pinned)

    def cone(self) -> dict[str, tuple[int, ...]]:
        """The nodes on which the last run rests."""
        return needed_cone(self.state, self.node) if self.compiled is None else self.compiled.cone()

    def open_tokens(self) -> dict[int, float]:
        """The free positions that the last run read, each with how much the nodes that read it leave open: a node of
        more than one value that reads ``m`` free tokens counts ``2^-m`` for each."""
        if self.compiled is not None:
            read = self.compiled.read()
            free, weight = read[self.compiled.run.tokens[read] == FREE_INPUT], self.compiled.weights()
            return dict(zip(free.tolist(), weight[free].tolist(), strict=True))
        free = [i for i in self.tokens_read() if i not in self.state.tokens]
        counts = dict.fromkeys(free, 0.0)
        for node, sources in self.state.reads.items():
            tokens = [j for name, j in sources if name == "token" and j in counts]
            if len(self.state.values(*node)) > 1:
                for j in tokens:
                    counts[j] += 2.0 ** -len(tokens)
        return counts

    def open_weight(self) -> float:
        """The sum of :meth:`open_tokens`: how much the last run leaves open."""
        return sum(self.open_tokens().values()) if self.compiled is None else float(self.compiled.weights().sum())

    @property
    def examined(self) -> int:
        """How many nodes the last run examined."""
        return len(self.state.reads) if self.compiled is None else self.compiled.examined

    @property
    def scores(self) -> int:
        """Scores computed so far, for rows that were new."""
        return self.shared.scores if self.compiled is not None else self.shared.scores + self.state.scores
