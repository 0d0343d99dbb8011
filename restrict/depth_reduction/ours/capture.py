"""Capturing the heads of one layer with at most B more inputs, also where forcing a key takes several inputs. Two
searches, both untrusted, both measured afterwards by collapsing the layer: where every key value is forced by one
input, the exchange of :mod:`restrict.depth_reduction.ours.exchange`; else rounds of greedy forcing by cheap cubes
(:mod:`restrict.depth_reduction.c_transformer.forcing`), each followed by a refinement of all facts, because an input
that is set for one cube makes other activations constant, too."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from restrict.base.arrays import I64, offsets
from restrict.base.deadline import Deadline
from restrict.base.options import Fact
from restrict.depth_reduction.c_transformer.ctransformer import CTransformer
from restrict.depth_reduction.c_transformer.forcing import ValueCubes, forcing_cubes
from restrict.depth_reduction.options import EXCHANGE
from restrict.depth_reduction.ours.exchange import ExchangeSearch, LiteralLists
from restrict.kernels import force_keys
from restrict.model.restriction import Restriction
from restrict.model.task import Task
from restrict.rows.lists import Lists, candidate_lists
from restrict.rows.values import Values

SHORT_UNIT: Fact[int] = 2**20
"""Of the objective of :class:`LayerObjective`, which is an integer."""


@dataclass(frozen=True)
class LayerObjective:
    """What a capture makes small: "long": the long lists; "short": the positions that have lists at all (below the last
    layer: constant keys are cheap anchors for the next one), with the scale ``tau``, in inputs."""

    kind: Literal["long", "short"] = "long"
    tau: float = 3.0

    def text(self) -> str:
        """What is made small, in words."""
        return "few long lists" if self.kind == "long" else f"few positions with lists (scale {self.tau:g})"

    def phi(self, size: int) -> I64 | None:
        """The rising objective (size,) of "short" by a position's dependencies; ``None``: the exchange's."""
        if self.kind == "long":
            return None
        return np.rint(SHORT_UNIT * (1.0 - np.exp(-np.arange(size) / self.tau))).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Captured:
    """The restriction, and each head's candidate lists as they were before; none where a sample was looked at."""

    restriction: Restriction
    lists: dict[str, Lists]


def capture(
    task: Task, t: CTransformer, budget: int, objective: LayerObjective, *, seed: int = 0, rounds: int = 6,
    power: float = 8.0,
) -> Captured:  # fmt: skip
    """A refinement of ``t``'s restriction that fixes a few more inputs so that the lists of layer 1 are short. The
    task's deadline ends the search, ``t``'s raises ``OutOfTime``; else the same seed gives the same answer."""
    if budget <= 0 or not t.heads:
        return Captured(t.restriction, {})
    cubes = forcing_cubes(t)
    rows = len(t.heads) * t.n * widest_query(t)
    length = len(t.symbols) * t.restriction.free / budget
    most = max(EXCHANGE.pairs // rows, min(EXCHANGE.enough, EXCHANGE.held // rows))
    limit = int(max(EXCHANGE.shortest, min(EXCHANGE.lengths * np.log(rows + 2) * length, EXCHANGE.longest_list, most)))
    long = budget * rows * min(length, limit) ** 2 > EXCHANGE.walks * t.n  # one changes rows * length / n rows
    task.tell("capturing")
    lists = sampled_lists(t, np.random.default_rng(seed)) if long else [t.lists(head, limit) for head in t.heads]
    known = {} if long else {head.name: found for head, found in zip(t.heads, lists, strict=True)}
    if all(single(t, cubes, lists)):
        symbols = _exchange(t, cubes, lists, budget, objective, seed, long, task.deadline)
        return Captured(t.fixing(dict(enumerate(symbols.tolist()))), known)
    return Captured(_forcing(t, lists, budget, rounds, power, task.deadline), known)


def sampled_lists(t: CTransformer, rng: np.random.Generator) -> list[Lists]:
    """The first pairs of a random sample of the rows of every head of layer 1. Gives Lists of at most
    ``EXCHANGE.shortest`` pairs, of so few rows that they are quickly made."""
    out = []
    for head in t.heads:
        query, key = t.read(head)
        most = len(t.heads) * max(1, len(key.flat))
        count = max(
            1,
            min(
                len(query.flat),
                EXCHANGE.sample_pairs // EXCHANGE.shortest // len(t.heads),
                EXCHANGE.sample_scores // most,
            ),
        )
        kept = np.sort(rng.choice(len(query.flat), count, False))
        owner = np.repeat(np.arange(t.n), np.diff(query.ptr))[kept]
        ptr = offsets(np.bincount(owner, minlength=t.n))
        thin = Values(query.domain, query.positions, ptr, query.flat[kept])
        out.append(candidate_lists(t.instance, head, thin, key, EXCHANGE.shortest))
    return out


def widest_query(t: CTransformer) -> int:
    """The most query values that a head of layer 1 has at a position."""
    queries = [t.instance.query(head) for head in t.heads]
    return max((int(t.base[q].sizes.max()) for q in queries if q is not None), default=1)


def single(t: CTransformer, cubes: dict[str, ValueCubes], lists: list[Lists]) -> list[bool]:
    """For each head of layer 1: whether every pair of its lists is forced by at most one input."""
    out = []
    for head, found in zip(t.heads, lists, strict=True):
        if (key := t.instance.key(head)) is None:
            out.append(True)
            continue
        length, domain = cubes[key].length, t.base[key].values.domain
        out.append(length.shape[1] == domain and bool(np.isin(length[found.j, found.w], (0, 1)).all()))
    return out


def _exchange(
    t: CTransformer, cubes: dict[str, ValueCubes], lists: list[Lists], budget: int, objective: LayerObjective,
    seed: int, long: bool, deadline: Deadline,
) -> I64:  # fmt: skip
    parts = []
    for head, found in zip(t.heads, lists, strict=True):
        key, query = t.instance.key(head), t.instance.query(head)
        guard = cubes[query] if query is not None and cubes[query].length.shape[1] else None
        if key is not None:
            parts.append((found, _literals(cubes[key]), None if guard is None else _literals(guard)))
    if not parts:
        return np.full(t.n, -1, np.int64)
    t.deadline.check()
    rows = LiteralLists.of(t.n, len(t.symbols), parts)
    t.deadline.check()
    rng = np.random.default_rng(seed)
    share = budget / max(1, t.restriction.free) / len(t.symbols)
    k = max(2, int(np.log(max(2, rows.count)) / 4 / max(share, 1e-3)))
    start = rows.start(budget, k, rng)
    t.deadline.check()
    if long:
        return _filled(t, start, budget, rng)
    search, phi = ExchangeSearch(rows, budget, rng), objective.phi(rows.longest + 2)
    search.load(start, [i for i in range(t.n) if t.fixed[i] >= 0 or i not in t.instance.unpinned])
    return search.run(phi, deadline, maximum=t.layers == 1)  # the maximum of the last layer is c


def _filled(t: CTransformer, symbols: I64, budget: int, rng: np.random.Generator) -> I64:
    """The assignment with as many more free inputs set, at random, as the budget allows."""
    left = np.setdiff1d(t.instance.unpinned, np.flatnonzero((symbols >= 0) | (t.fixed >= 0)))
    more = rng.permutation(left)[: max(0, budget - int((symbols >= 0).sum()))]
    symbols[more] = rng.integers(0, len(t.symbols), len(more))
    return symbols


def _literals(cubes: ValueCubes) -> I64:
    """(n, domain): the literal that forces a value, -1 where none or more than one is needed."""
    return np.where(cubes.length == 1, cubes.literal[:, :, 0], -1).astype(np.int64)


def _forcing(
    t: CTransformer, lists: list[Lists], budget: int, rounds: int, power: float, deadline: Deadline
) -> Restriction:
    left, now = budget, t
    for turn in range(rounds):
        cubes = forcing_cubes(now)
        assignment = now.fixed.copy()
        spent = 0
        for head, found in _by_key(now, lists):
            t.deadline.check()
            goal = -(-left // (rounds - turn)) - spent
            spent += _cover(now, cubes, head, found, goal, power, assignment, deadline)
        if spent == 0:
            break
        left -= spent
        now = now.restrict(now.fixing(dict(enumerate(assignment.tolist()))))
        lists = [found.under(*now.read(head)) for head, found in zip(t.heads, lists, strict=True)]
        if left <= 0 or deadline.passed:
            break
    return now.restriction


def _by_key(t: CTransformer, lists: list[Lists]) -> list[tuple[str, list[tuple[Lists, bool]]]]:
    """The lists of the heads that share a key, each with whether its query is that variable, too."""
    keys: dict[str, list[tuple[Lists, bool]]] = {}
    for head, found in zip(t.heads, lists, strict=True):
        key = t.instance.key(head)
        if key is not None:
            keys.setdefault(key, []).append((found, t.instance.query(head) == key))
    return list(keys.items())


def _cover(
    t: CTransformer, cubes: dict[str, ValueCubes], key: str, lists: list[tuple[Lists, bool]], budget: int, power: float,
    assignment: I64, deadline: Deadline,
) -> int:  # fmt: skip
    """Force keys within the budget; changes ``assignment``; returns how many inputs were set."""
    domain, known = t.base[key].values.domain, cubes[key]
    if known.length.shape[1] != domain or budget <= 0:
        return 0
    literal = np.arange(t.n * domain).reshape(t.n, domain)
    literal[t.base[key].sizes == 1] = -1
    rows = LiteralLists.of(t.n, domain, [(found, literal, literal if same else None) for found, same in lists])
    weight = t.base[key].degrees
    for head in t.heads:
        if t.instance.key(head) == key and head.value != key:
            weight = np.maximum(weight, t.base[head.value].degrees)
    arrays, size = rows.arrays, t.n * domain
    lengths = np.zeros(rows.count, np.int64), np.zeros(rows.count, np.int64), np.zeros(len(arrays.group_ptr) - 1)
    state = force_keys.RowLengths(*lengths, weight, power)
    flat = force_keys.KeyCubes(len(t.symbols), known.literal.reshape(size, -1), known.length.reshape(-1))
    queue = force_keys.KeyQueue(np.zeros(size), np.zeros(size, np.int64), np.zeros(3, np.int64))
    while not force_keys.force_keys(arrays, flat, state, budget, assignment, queue, EXCHANGE.rows_at_once):
        if deadline.passed:
            break
    return int(queue.state[force_keys.SPENT])
