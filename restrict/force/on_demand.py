"""The abstract run on demand, for the search: it examines only what is asked for, and what that reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from restrict.force.state import ForcingState, Node
from restrict.model.program import Instance


class OnDemandState(ForcingState):
    """A :class:`ForcingState` in which asking for the values of a node examines it, and what it reads, first."""

    @staticmethod
    def of(instance: Instance, fixed: Mapping[int, int]) -> OnDemandState:
        """The state under a restriction, given by symbol indices. A node costs its row walks, once."""
        state = OnDemandState(instance)
        state.tokens.update({i: (a,) for i, a in fixed.items()})
        return state

    def values(self, name: str, i: int) -> Sequence[int]:
        """V of a node, by the abstract run with every node in the cone."""
        if name not in ("token", "position") and (name, i) not in self.facts:
            self.examine(self.instance.model.by_name[name], i)
        return super().values(name, i)

    def under(self, fixed: Mapping[int, int]) -> OnDemandState:
        """The same program under another restriction; rows already ordered are shared."""
        other = OnDemandState.of(self.instance, fixed)
        other.rows = self.rows
        return other

    def read_tokens(self, target: Node) -> set[int]:
        """The positions whose tokens were read, where only the target was asked for: freeing others changes nothing."""
        nodes = {target}.union(*self.reads.values())
        return {i for name, i in nodes if name == "token"}
