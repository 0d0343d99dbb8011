"""c-transformers (Hahn 2020, Definition 3): transformers whose layer-0 activations are functions of few inputs each.

A :class:`CTransformer` is a program whose first variables, the *base*, are given as functions of the inputs
``x_0 .. x_{n-1}`` under a restriction (:mod:`restrict.depth_reduction.c_transformer.activations`). A program is the
case c = 1.
:meth:`CTransformer.collapse` removes a layer. Invariant (Theorem A, docs/kernel.md): on every input that agrees
with the restriction an activation's value lies in its V and is a function of the inputs in its D, and the collapsed
transformer computes what the original does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from restrict.base.arrays import FREE_INPUT, I64
from restrict.base.deadline import NEVER, Deadline
from restrict.base.errors import ResourceLimit, UsageError
from restrict.base.options import Fact
from restrict.depth_reduction.c_transformer.activations import (
    Activation,
    Attended,
    Mapped,
    Truth,
    attended_activation,
    check_truth,
    map_activation,
    truth_activation,
    values_read,
)
from restrict.depth_reduction.c_transformer.evaluation import decided, tabulated
from restrict.depth_reduction.c_transformer.input_sets import InputSets
from restrict.depth_reduction.c_transformer.streamed import keeps_lists, streamed_activation
from restrict.model.program import Head, Instance, Map, Model, Variable
from restrict.model.restriction import Restriction
from restrict.model.trace import Batch, run_variable
from restrict.model.variables import depths, references
from restrict.rows.lists import Lists, candidate_lists, completed
from restrict.rows.values import Values

MOST_POSITIONS: Fact[int] = 250_000
"""The scans of all rows take n^2 scores for each head and query value: half a minute at n = 100 000."""


@dataclass(frozen=True, eq=False)
class CTransformer:
    """A program whose variables in ``base`` are activations (layer 0) and whose others are above.

    Attributes:
        instance: the program at its length n.
        symbols: the alphabet of the inputs.
        restriction: the restriction under which everything holds.
        base: the activations by name, in program order.
        deadline: scoring and collapsing, of it and of what is made from it, raise ``OutOfTime`` when this has passed.
    """

    instance: Instance
    symbols: tuple[str, ...]
    restriction: Restriction
    base: Mapping[str, Activation]
    deadline: Deadline = field(default=NEVER, repr=False, compare=False)

    # ------------------------------------------------------------ making

    @staticmethod
    def of_model(
        model: Model | Instance, n: int | None = None, restriction: Restriction | None = None
    ) -> "CTransformer":
        """The 1-transformer that a program is.

        Args:
            model: a model, or an instance.
            n: the length, markers included; of a model only.
            restriction: the restriction under which it is taken (default: nothing fixed).

        Returns:
            The transformer; no layer is collapsed. Cost linear in n.

        Raises:
            UsageError: the restriction is of another length.
            ModelError: the model is not defined at ``n``.
            ResourceLimit: n is too large.
        """
        instance = model if isinstance(model, Instance) else model.at(n if n is not None else 0)
        _check_length(instance)
        size = range(len(instance.model.alphabet))
        pinned = instance.pinned
        token = Truth.make(((), (pinned[i],)) if i in pinned else ((i,), size) for i in range(instance.n))
        return CTransformer.of_truth(instance, instance.model.alphabet, token, restriction or Restriction.of(instance))

    @staticmethod
    def of_truth(
        instance: Instance, symbols: tuple[str, ...], token: Truth, restriction: Restriction
    ) -> "CTransformer":
        """The c-transformer whose layer-0 activations, which the program reads as its tokens, are truth tables.

        Args:
            instance: the program at its length n.
            symbols: the alphabet of the inputs, which may differ from the program's.
            token: per position a table over inputs, with values among the program's tokens.
            restriction: the restriction of the inputs.

        Returns:
            The transformer.

        Raises:
            UsageError: the tables do not fit.
            ResourceLimit: n, or the tables, are too large.
        """
        _check_length(instance)
        if restriction.n != instance.n:
            raise UsageError(f"the restriction has {restriction.n} positions, not {instance.n}")
        check_truth(token, instance.n, len(symbols), instance.domains["token"])
        empty, domains = InputSets.empty(instance.n), instance.domains
        positions = Truth.make(((), (i,)) for i in range(instance.n))
        given = {"token": token, "position": positions}  # their V and D are computed by the restriction below
        base = {name: Activation(name, t, Values.one(domains[name], instance.n), empty) for name, t in given.items()}
        return CTransformer(instance, symbols, restriction, base).restrict(restriction)._settled()

    def until(self, deadline: Deadline) -> "CTransformer":
        """The same transformer with another deadline."""
        return replace(self, deadline=deadline)

    # ------------------------------------------------------------ facts

    @property
    def n(self) -> int:
        """The number of positions, and of inputs."""
        return self.instance.n

    @cached_property
    def fixed(self) -> I64:
        """The symbol index that each input is fixed to, ``FREE_INPUT`` where it is free, shape (n,). A marker's
        position counts as free here, but nothing depends on it."""
        out = np.full(self.n, FREE_INPUT, np.int64)
        index = {symbol: a for a, symbol in enumerate(self.symbols)}
        for i, symbol in self.restriction.fixed.items():
            out[i] = index[symbol]
        return out

    @cached_property
    def above(self) -> tuple[Variable, ...]:
        """The variables that are not in the base, in program order."""
        return tuple(v for v in self.instance.model.variables if v.name not in self.base)

    @cached_property
    def depth(self) -> dict[str, int]:
        """The number of heads on the longest path from the base to each variable."""
        return depths(self.above, self.base)

    @property
    def layers(self) -> int:
        """L: the layers of heads above the base that the output rests on."""
        return self.depth[self.instance.model.output.variable]

    @cached_property
    def live(self) -> tuple[str, ...]:
        """The base variables that something above reads, or that are the output: the residual stream."""
        read = {name for v in self.above for _, name in references(v)} | {self.instance.model.output.variable}
        return tuple(name for name in self.base if name in read)

    @property
    def heads(self) -> tuple[Head, ...]:
        """The heads of layer 1."""
        return tuple(v for v in self.above if isinstance(v, Head) and self.depth[v.name] == 1)

    @cached_property
    def depends(self) -> InputSets:
        """The inputs of the layer-0 activation at each position: the union over the live base variables."""
        return InputSets.unions([self.base[name].depends for name in self.live], np.ones(self.n, np.int64))

    @cached_property
    def degrees(self) -> I64:
        """How many inputs the layer-0 activation at each position is a function of."""
        return self.depends.sizes

    @property
    def c(self) -> int:
        """The greatest of :attr:`degrees`: this is a c-transformer."""
        return int(self.degrees.max(initial=0))

    def output_depends(self) -> I64:
        """How many inputs the output's label at each position is a function of.

        Returns:
            int64, shape (n,): certified bounds (Theorem A).

        Raises:
            KeyError: the output is above the base: collapse first.
        """
        activation, instance = self.base[self.instance.model.output.variable], self.instance
        values, degrees = activation.values, activation.degrees
        name = {int(v): instance.label(int(v)) for v in np.unique(values.flat)}
        for i in np.flatnonzero(degrees):
            if len({name[v] for v in activation.possible(int(i))}) == 1:
                degrees[i] = 0
        return degrees

    # ------------------------------------------------------------ refining and collapsing

    def fixing(self, symbols: Mapping[int, int]) -> Restriction:
        """The restriction with more inputs fixed.

        Args:
            symbols: input to symbol index; ``FREE_INPUT`` says nothing, and an input that is fixed stays as it is.

        Returns:
            A refinement of the present restriction.
        """
        new = {x: self.symbols[symbol] for x, symbol in symbols.items() if symbol != FREE_INPUT}
        return replace(self.restriction, fixed={**new, **self.restriction.fixed})

    def restrict(self, restriction: Restriction) -> "CTransformer":
        """The transformer under a refinement of the restriction: V, D and the lists shrink, no score is computed.

        Args:
            restriction: fixes what the present one fixes, to the same symbols, and more.

        Returns:
            The transformer under it. Cost: the base's tables and lists.

        Raises:
            UsageError: it does not refine the present one.
            ResourceLimit: a row has too many pairs.
        """
        if not restriction.refines(self.restriction):
            raise UsageError("the new restriction does not refine the present one")
        fresh = replace(self, restriction=restriction, base={})
        base: dict[str, Activation] = {}
        for name, old in self.base.items():
            base[name] = fresh._again(old, base)
        return replace(fresh, base=base)

    def _again(self, old: Activation, base: Mapping[str, Activation]) -> Activation:
        match old.source:
            case Truth():
                return truth_activation(self.instance, old.name, old.source, len(self.symbols), self.fixed)
            case Mapped(variable):
                return map_activation(self.instance, variable, base)
            case Attended(head, _, _, None):
                return streamed_activation(self.instance, head, base, self.deadline)
            case Attended(head, query, key, lists):
                assert lists is not None
                lists = lists.under(*values_read(self.instance, head, base))
                return attended_activation(self.instance, Attended(head, query, key, lists), base, self.deadline)

    def _settled(self) -> "CTransformer":
        """The transformer with every map of base variables in the base, too."""
        base = dict(self.base)
        for v in self.above:
            if isinstance(v, Map) and all(a in base for a in v.args):
                base[v.name] = map_activation(self.instance, v, base)
        return replace(self, base=base)

    def lists(self, head: Head, limit: int = 0) -> Lists:
        """The candidate lists of a head of layer 1.

        Args:
            head: one of :attr:`heads`.
            limit: keep at most this many pairs of a row (0: down to the floor).

        Returns:
            The lists (:func:`restrict.rows.lists.candidate_lists`).

        Raises:
            ResourceLimit: too many pairs in all.
        """
        return candidate_lists(self.instance, head, *self.read(head), limit, self.deadline)

    def read(self, head: Head) -> tuple[Values, Values]:
        """What a head of layer 1 reads.

        Args:
            head: one of :attr:`heads`.

        Returns:
            The possible values of its query and of its key at each position; where there is none: one value 0.
        """
        return values_read(self.instance, head, self.base)

    def collapse(self, known: Mapping[str, Lists] | None = None) -> "CTransformer":
        """Remove the first layer: its heads, and the maps that read nothing above them, become layer-0 activations.

        Args:
            known: by the head's name lists of all its rows, truncated or not, that were made under a restriction that
                this one refines. Only rows of which they do not show all candidates are scored again.

        Returns:
            A c'-transformer of one layer less that equals this one on every input that agrees with the restriction; its
            ``c`` says how large c' is. Cost: one score per row and possible pair. Where the candidate lists would be
            too many to be kept they are streamed (:mod:`restrict.depth_reduction.c_transformer.streamed`).

        Raises:
            ResourceLimit: the candidate lists hold too many pairs.
        """
        base = dict(self.base)
        for head in self.heads:
            if keeps_lists(self.instance, head, base):
                queries, keys = self.read(head)
                lists = known[head.name].under(queries, keys) if known and head.name in known else None
                lists = (
                    self.lists(head) if lists is None else completed(lists, self.instance, head, keys, self.deadline)
                )
                source = Attended(head, self.instance.query(head), self.instance.key(head), lists)
                base[head.name] = attended_activation(self.instance, source, base, self.deadline)
            else:
                base[head.name] = streamed_activation(self.instance, head, base, self.deadline)
        return replace(self, base=base)._settled()

    # ------------------------------------------------------------ evaluating

    def evaluate(self, inputs: I64) -> dict[str, I64]:
        """Every variable at every position.

        Args:
            inputs: symbol indices that agree with the restriction, shape (b, n); markers' positions may hold anything.

        Returns:
            By name the values, int64, shape (b, n). Cost: that of the lists, and n^2 comparisons per head above.

        Raises:
            UsageError: an input does not agree with the restriction.
        """
        batch, x, everywhere = Batch({}, {}), np.asarray(inputs, dtype=np.int64), np.arange(self.n)
        for name, activation in self.base.items():
            match activation.source:
                case Truth():
                    batch.values[name] = tabulated(activation.source, len(self.symbols), x)
                case Mapped(v) | Attended(head=v, lists=None):
                    run_variable(self.instance, v, batch, everywhere)
                case Attended(lists=lists):
                    assert lists is not None
                    batch.values[name] = decided(activation.source, lists, batch.values)
        for v in self.above:
            run_variable(self.instance, v, batch, everywhere)
        return batch.values

    def output(self, inputs: I64) -> list[list[str]]:
        """The output's label at every position.

        Args:
            inputs: as for :meth:`evaluate`.

        Returns:
            For each input its n labels.

        Raises:
            UsageError: an input does not agree with the restriction.
        """
        values = self.evaluate(inputs)[self.instance.model.output.variable]
        return [[self.instance.label(int(v)) for v in row] for row in values]

    def __repr__(self) -> str:
        free = self.restriction.free
        return f"CTransformer({self.instance.model.name!r}, n={self.n}, L={self.layers}, c={self.c}, free={free})"


def _check_length(instance: Instance) -> None:
    """Refuse lengths at which a run would take hours."""
    if instance.n > MOST_POSITIONS:
        raise ResourceLimit(
            f"n = {instance.n}: every position reads every other one, and a run would take hours; take n <= "
            f"{MOST_POSITIONS}"
        )
