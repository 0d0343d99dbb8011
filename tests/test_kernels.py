"""The streamed row scan against a list of all pairs, and what numpy computes where a kernel is not worth compiling."""

import json
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import restrict
from restrict.base.arrays import I64, offsets
from restrict.base.deadline import NEVER
from restrict.base.errors import ResourceLimit
from restrict.depth_reduction.c_transformer.input_sets import InputSets
from restrict.kernels import input_sets
from restrict.kernels.collapse import ListArrays, arrange, filter_lists, filter_with_numpy
from restrict.kernels.cover_literals import greedy_literals, greedy_with_numpy
from restrict.kernels.cover_state import Literals
from restrict.kernels.exchange import occurrences, occurrences_with_numpy
from restrict.kernels.machine import BLOCK
from restrict.kernels.plain import always_compiled
from restrict.kernels.scan_lists import ScanKeys, first_from, scan_rows
from restrict.model.expr import HASH_SEED, hash_mix, signed
from restrict.model.fileformat import loads, to_document
from restrict.model.program import Head, Instance, Map, Model, Output
from restrict.rows import plain_lists
from restrict.rows.options import ROWS
from restrict.rows.row import Row
from restrict.rows.values import CONSTANT, Values
from tests import naive
from tests.fuzzing.meaning import compiled
from tests.marks import heavy_after, rows_after

Pairs = list[tuple[int, int]]


def instance(score: Any, n: int, domain: int = 3, **more: Any) -> Instance:
    """One head `h` at length `n` with key `x`, a variable of `domain` values."""
    head = Head("h", "token", score, key="x", **more)
    model = Model("m", ("0", "1"), (Map("x", ("token",), domain, "0"), head), Output("h"))
    return model.at(n)


def row_of(at: Instance, i: int, u: int) -> Row:
    return Row(at, head_of(at), i, u)


def head_of(at: Instance) -> Head:
    return next(v for v in at.model.variables if isinstance(v, Head))


def all_pairs(at: Instance, i: int, u: int, exceptions: dict[int, tuple[int, ...]]) -> list[naive.Pair]:
    """Every pair of the row, position by position."""
    head, domain = to_document(at.model)["variables"][1], at.domains["x"]
    keys = {("x", j): set(exceptions.get(j, range(domain))) for j in range(at.n)}
    score = partial(compiled(head["score"], ("n", "i", "q", "j", "k")), at.n)
    found = naive.pairs(naive.Instance({}, at.n, {}, {"h": score}, {}), head, i, u, naive.Abstract(keys, {}))
    return sorted(found, key=lambda pair: (pair.j, pair.w))


def together(j: np.ndarray, w: np.ndarray) -> Pairs:
    return list(zip(j.tolist(), w.tolist(), strict=True))


SCORES = (
    "0 * k", "k", "-k", "k % 2", "(j + k) % 3", "j * k % 5 - 2", "min(k, 1) * j", "hash(j, k) % 3",
    "hash(i, j, k, q)", "(k == q) + 0 * j", "j // 4 + (k != q)", "-abs(j - i) - k",
    "(k - 4611686018427387904) * 2 if k == 0 else 9223372036854775807", "-abs(j - 3)",
)  # fmt: skip
"""The last one without a key, so that every position has one pair."""


def check_row(at: Instance, i: int, u: int, exceptions: dict[int, tuple[int, ...]], counts: tuple[int, ...]) -> None:
    """Candidates and best pairs of one row are those of the list of all pairs."""
    pairs = all_pairs(at, i, u, exceptions)
    if not pairs:
        return
    keys = Values.make(at.domains["x"], exceptions) if at.key(head_of(at)) else CONSTANT
    row = row_of(at, i, u)
    assert together(*row.candidates(keys)) == [(pair.j, pair.w) for pair in naive.candidates(pairs)]
    order = sorted(pairs, key=lambda pair: (-pair.rank[0], -pair.rank[1], pair.w))
    for count in counts:
        j, w, complete = row.best(keys, count)
        assert together(j, w) == [(pair.j, pair.w) for pair in order[:count]]
        assert complete == (len(pairs) <= count)


Drawn = tuple[Instance, int, int, dict[int, tuple[int, ...]]]


def drawn(rng: np.random.Generator, score: str, masks: tuple[str, ...], most: int = 25, share: float = 0.4) -> Drawn:
    """A row of a random instance: position, query value, and positions with fewer key values."""
    n, domain, ties = int(rng.integers(1, most)), int(rng.integers(1, 6)), str(rng.choice(["left", "right"]))
    query = "x" if score.startswith("hash(i, q") else str(rng.choice(["x", "token"]))
    at = instance(score, n, domain, ties=ties, mask=str(rng.choice(masks)), query=query)
    exceptions = {
        j: tuple(sorted(rng.choice(domain, int(rng.integers(1, domain + 1)), replace=False).tolist()))
        for j in range(n)
        if rng.random() < share
    }
    return at, int(rng.integers(n)), int(rng.integers(domain if query == "x" else min(domain, 2))), exceptions


HASHED = "hash(i, q, j, k)"
SOME = "none", "past", "strict_future"
WAYS: dict[str, tuple[tuple[str, ...], int, float, list[dict[str, int]]]] = {
    "any score": (("none", "past", "strict_past", "future"), 25, 0.4, [{}, {"wide_key": 1}]),
    "short": (SOME, 25, 0.4, [{"numpy_pairs": 0}, {"short_row": 0}, {"short_row": 0, "numpy_pairs": 0}]),
    "parts": (SOME, 40, 0.2, [
        {"short_row": 0, "numpy_pairs": 0, "part": size, "few_less": few} | long
        for size, long, few in ((2, {"long_row": 1}, 16), (4, {"long_row": 1}, 0), (8, {}, 0), (4, {}, 0))
    ]),
}  # fmt: skip
"""With the floor of the restricted positions computed beforehand, as in long rows, and without. Hashed rows by numpy
with the pairs of all positions, which rows share, with those that the row sees, and by the kernel. Long ones in parts
of 2 to 8 positions, cut around each position with fewer values, around none, or only for threads."""


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("way", "seed"), rows_after([(way, seed) for seed in range(60) for way in WAYS if seed < 24 or way[0] == "a"], 78)
)
def test_random_rows_are_those_of_the_list_of_all_pairs(way: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTRICT_THREADS", "1")
    masks, most, share, settings = WAYS[way]
    rng = np.random.default_rng(seed)
    for setting, _ in product(settings, range(4)):
        row = drawn(rng, SCORES[seed % len(SCORES)] if way[0] == "a" else HASHED, masks, most, share)
        with monkeypatch.context() as patch:
            for name, value in setting.items():
                patch.setattr(ROWS, name, value)
            assert way[0] == "a" or row_of(*row[:3]).seed is not None
            check_row(*row, (1, 2, 7, 1000))


# ---------------------------------------------------------------- rows longer than a block

LONG = (
    ("j // 3 % 7 - k % 2", "none"), ("hash(j, k) % 1000", "none"), ("hash(j, k)", "past"), ("j + k", "none"),
    ("-j - k", "future"), ("0 * k", "none"),
)  # fmt: skip


@pytest.mark.parametrize("ties", heavy_after(["right", "left"], 1))
@pytest.mark.parametrize(("score", "mask"), LONG)
def test_positions_and_domains_may_straddle_blocks(score: str, mask: str, ties: str) -> None:
    rng = np.random.default_rng(5)
    n, domain = 3001, 7
    assert n * domain > 2 * BLOCK
    assert BLOCK % domain != 0
    at = instance(score, n, domain, mask=mask, ties=ties, query="x")
    exceptions = {int(j): (int(rng.integers(domain)),) for j in rng.choice(n, 900, replace=False)}
    check_row(at, 1500, 0, exceptions, (48, 5000))
    check_row(at, 2999, 6, {}, (100,))


@pytest.mark.parametrize("ties", heavy_after(["left", "right"], 1))
@pytest.mark.parametrize("score", ["k % 97 + 0 * j", "j * k % 1009", "hash(j, k)", "0 * k"])
def test_a_domain_may_be_bigger_than_a_block(score: str, ties: str) -> None:
    domain = BLOCK + 1234
    at = instance(score, 5, domain, ties=ties, query="x")
    check_row(at, 2, 700, {1: (3, 8191, 8192, domain - 1), 4: tuple(range(0, domain, 2))}, (10,))


@pytest.mark.parametrize("ties", ["left", "right"])
def test_what_is_kept_is_compacted_as_the_floor_rises_and_nothing_is_lost(ties: str) -> None:
    """Scores rise with `j`, so each block overtakes the one before: the buffer of four blocks overflows many times."""
    n = 10 * BLOCK
    at = instance("j // 10000 + 3 * (k == 1)", n, 2, ties=ties)
    j, w = row_of(at, 0, 0).candidates(Values.make(2, {}))
    positions, values = np.repeat(np.arange(n), 2), np.tile([0, 1], n)
    scores = positions // 10000 + 3 * values
    top = (n - 1) // 10000
    floor = 10000 * top if ties == "left" else n - 1
    level = positions <= floor if ties == "left" else positions >= floor
    chosen = (scores > top) | ((scores == top) & level)
    assert chosen.sum() > 2 * BLOCK
    assert (j.tolist(), w.tolist()) == (positions[chosen].tolist(), values[chosen].tolist())


@pytest.mark.parametrize("ties", ["left", "right"])
@pytest.mark.parametrize("count", [1, 48, 3000])
def test_the_best_of_a_long_row_survive_the_compaction(ties: str, count: int) -> None:
    n = 6 * BLOCK
    at = instance("j % 5000 - k", n, 2, ties=ties)
    j, w, complete = row_of(at, 0, 0).best(Values.make(2, {}), count)
    positions, values = np.repeat(np.arange(n), 2), np.tile([0, 1], n)
    scores = positions % 5000 - values
    order = np.lexsort((values, positions if ties == "left" else -positions, -scores))[:count]
    assert (j.tolist(), w.tolist(), complete) == (positions[order].tolist(), values[order].tolist(), False)


def test_a_row_of_too_many_pairs_is_refused_with_advice() -> None:
    at = instance("k", 2**21, 2**20)
    with pytest.raises(ResourceLimit, match="examine the key"):
        row_of(at, 0, 0).candidates(Values.make(2**20, {}))


# ---------------------------------------------------------------- long rows: the hash kernel and threads


def one_head(n: int, name: str, **changes: str) -> Instance:
    """A model of one head that is changed."""
    document = json.loads(restrict.load(name).content or b"")
    document["variables"][0] |= changes
    return loads(json.dumps(document).encode()).at(n)


def long_row(ties: str, seed: int) -> tuple[Row, Values]:
    """A hashed row of 70 000 positions with some positions fixed or examined; query and key are one variable."""
    at = one_head(70_000, f"random:layers=1,heads=1,seed={seed},symbols=4", ties=ties)
    rng = np.random.default_rng(seed)
    exceptions = {int(j): (int(rng.integers(4)),) for j in rng.integers(0, at.n, 50)} | {69_999: (0, 2)}
    return row_of(at, 35_000, 1), Values.make(4, exceptions)


@pytest.mark.parametrize("ties", ["left", "right"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_long_hashed_row_is_the_same_by_either_kernel_and_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, ties: str, seed: int
) -> None:
    found = []
    for general, threads in ((True, "1"), (False, "1"), (False, "2"), (False, "3"), (True, "2")):
        monkeypatch.setenv("RESTRICT_THREADS", threads)
        row, keys = long_row(ties, seed)
        row.seed = None if general else row.seed
        candidates = sorted(zip(*(a.tolist() for a in row.candidates(keys)), strict=True))
        j, w, complete = row.best(keys, 200)
        found.append((candidates, j.tolist(), w.tolist(), complete))
    assert all(answer == found[0] for answer in found)
    assert len(found[0][0]) > 100


@pytest.mark.parametrize("symbols", heavy_after([2, 8, 7, 26, 5, 23, 24, 300, 40], 3))
@pytest.mark.parametrize("ties", ["left", "right"])
def test_the_best_pairs_of_a_hashed_row_are_those_of_the_whole_row_in_order(symbols: int, ties: str) -> None:
    at = instance("hash(i, q, j, k)", 5_000, symbols, ties=ties, query="x")
    check_row(at, 7, 0, {}, (1, 48, 700))
    check_row(at, 4_999, 1, {3: (0,), 4_000: tuple(range(1, symbols)), 4_001: (symbols - 1,)}, (1, 48, 700))


@pytest.mark.parametrize(("score", "n"), [pytest.param("k", 5, marks=pytest.mark.nojit), ("hash(i, q, j, k)", 200_000)])
def test_a_row_that_sees_nothing_has_no_pairs_also_once_the_kernel_is_compiled(score: str, n: int) -> None:
    at = instance(score, n, 8, query="x", mask="strict_past", default=0)
    keys = Values.make(8, {})
    assert len(row_of(at, n - 1, 1).candidates(keys)[0])  # a long one compiles it
    row = row_of(at, 0, 1)
    assert [part.tolist() for part in row.candidates(keys)] == [[], []]
    assert row.ranked(keys).shape == row.scored(keys).shape == (3, 0)
    assert row.best(keys, 3)[2] is True


def seed_of(score: str) -> int | None:
    """What the row of query value 1 at position 7 mixes before ``j``, at n = 50."""
    at = one_head(50, "random:layers=1,heads=1", score=score)
    return at.row_seed(head_of(at), 7, 1)


@pytest.mark.parametrize(
    "score", ["hash(i, j, q, k)", "hash(i, q, j)", "hash(i + 1, j, k)", "hash(j, j, k)", "hash(i, j, k) % 7", "j + k"]
)
def test_no_other_score_is_taken_for_a_hash_of_position_and_key(score: str) -> None:
    assert seed_of(score) is None


def test_the_seed_of_a_hashed_row_is_the_state_before_the_position() -> None:
    state = signed(HASH_SEED)
    for argument in (3, 100, 7, 1):
        state = hash_mix(state, argument)
    assert seed_of("hash(3, 2 * n, i, q, j, k)") == state


def test_the_certificate_is_the_same_with_one_thread_and_two(monkeypatch: pytest.MonkeyPatch) -> None:
    model = restrict.load("random:layers=2,seed=3")
    answers = set()
    for threads in ("1", "2"):
        monkeypatch.setenv("RESTRICT_THREADS", threads)
        answers.add(restrict.certify(model, 40_000, seed=5).to_bytes())
    assert len(answers) == 1


@pytest.mark.nojit
@pytest.mark.parametrize("domain", [1, 2, 8, 13, 24, 26, 63, 64, 100, 1000, 4097])
def test_the_bound_on_a_positions_hashed_scores_is_their_maximum_in_the_upper_half(domain: int) -> None:
    """Blocks of consecutive hash states go through every key value of the domain, and no other."""
    from restrict.kernels.scan_lists import after_position, bound_of, pair_score, tops_of_chunk

    rng, size = np.random.default_rng(domain), 5
    with np.errstate(over="ignore"):
        for _ in range(4):
            seed, first = int(rng.integers(-(2**63), 2**63 - 1)), int(rng.integers(10**8))
            room = np.empty((2, size + 1), dtype=np.int64)
            states = np.array([after_position(seed, first + t) for t in range(size)])
            top = tops_of_chunk(size, domain, states, room)
            bests = [
                max(int(pair_score(after_position(seed, first + t), w)) for w in range(domain)) for t in range(size)
            ]
            bounds = [int(bound_of(state)) for state in room[1, :size]]
            assert top == max(bounds)
            assert all(bound >= best and bound >> 31 == best >> 31 for bound, best in zip(bounds, bests, strict=True))


def test_where_a_span_begins_is_found_as_by_numpy() -> None:
    for positions in (np.zeros(0, np.int64), np.array([3]), np.array([0, 1, 4, 4, 9])):
        assert [first_from(positions, j) for j in range(-1, 11)] == np.searchsorted(positions, range(-1, 11)).tolist()


# ----------------------------------------------------------------
# What numpy computes where a kernel is not worth compiling, against the kernel: lists of hashed rows, greedy covering,
# occurrences of literals, lists under fewer key values, sets of inputs, a part of an array sorted.


def some_keys(rng: np.random.Generator, n: int, domain: int) -> ScanKeys:
    """At some positions some key values, at the others all."""
    few = np.flatnonzero(rng.random(n) < rng.choice([0, 0.1, 0.5, 1]))
    values = [np.sort(rng.choice(domain, rng.integers(1, domain + 1), replace=False)) for _ in few]
    plain = np.setdiff1d(np.arange(n), few)
    j, w = np.repeat(few, list(map(len, values))), np.concatenate([*values, np.zeros(0, np.int64)])
    sizes = np.bincount(j, minlength=n)
    sizes[plain] = domain
    return ScanKeys(domain, plain, j, w, sizes)


@pytest.mark.parametrize("seed", heavy_after(range(40), 2))
def test_the_lists_of_hashed_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr("restrict.rows.options.ROWS.plain_block", int(rng.choice([1, 100, 1 << 17])))
    for _ in range(20):
        n, domain, rows = int(rng.integers(1, 60)), int(rng.integers(1, 11)), int(rng.integers(1, 30))
        keys, seeds = some_keys(rng, n, domain), rng.integers(-(2**63), 2**63 - 1, rows, dtype=np.int64)
        bounds = np.ascontiguousarray(np.sort(rng.integers(0, n + 1, (2, rows)), axis=0))
        own, right, limit = int(rng.integers(2)), int(rng.integers(2)), int(rng.choice([0, 1, 3, 20]))
        given = seeds, rng.integers(0, n, rows), rng.integers(0, domain, rows), bounds, own, right, limit, keys
        out, ends, complete = np.empty((2, 20_000), np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        with np.errstate(over="ignore"):
            assert scan_rows(*given, out, ends, complete) == rows
        listed = plain_lists.listed(*given, NEVER)
        assert listed[0].tolist() == out[:, : ends[-1]].tolist()
        assert listed[1].tolist() == ends.tolist()
        assert listed[2].tolist() == complete.tolist()


def test_the_best_pairs_of_one_hashed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are asked for, whatever the scores: those of a row need not be spread evenly, and few may be high."""
    monkeypatch.setattr("restrict.rows.options.ROWS.plain_block", 7)
    j, low = np.arange(100), np.zeros(100, np.int64)
    for scores in (j, j % 3, (2**62 + 1) * (j % 2), np.full(100, 5), 2**63 - 1 - j):
        monkeypatch.setattr(plain_lists, "scores_after", lambda states, w, scores=scores: scores[w % 100])
        for count in (1, 3, 50, 99):
            found = plain_lists.pairs_of_row(1, (0, 100, 0, -1), False, count, (j, j, np.arange(101)), 0)
            least = np.sort(scores)[100 - count]
            assert found.tolist() == [row[scores >= least].tolist() for row in (j, j, low + scores)]


@pytest.mark.parametrize("seed", heavy_after(range(20), 2))
def test_greedy_covering_and_occurrences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        symbols, inputs = int(rng.integers(1, 4)), int(rng.integers(1, 30))
        count = symbols * inputs
        rows = [rng.choice(count, rng.integers(0, min(count, 6) + 1)) for _ in range(rng.integers(1, 40))]
        ptr, flat = offsets(np.array(list(map(len, rows)))), np.concatenate(rows).astype(np.int64)
        order, lit_ptr = np.argsort(flat, kind="stable"), offsets(np.bincount(flat, minlength=count))
        problem = Literals(symbols, ptr, flat, lit_ptr, np.repeat(np.arange(len(rows)), np.diff(ptr))[order])
        ties, limit = rng.permutation(count), int(rng.integers(0, inputs + 1))
        chosen = np.zeros((2, inputs), np.int64)
        places = np.zeros((4, len(flat)), np.int32)
        with always_compiled():
            found = greedy_literals(problem, ties, limit, chosen[0])
            occurrences(ptr, flat.astype(np.int32), lit_ptr, places[0], places[1])
        assert greedy_with_numpy(problem, ties, limit, chosen[1]) == found
        assert chosen[0].tolist() == chosen[1].tolist()
        occurrences_with_numpy(ptr, flat.astype(np.int32), lit_ptr, places[2], places[3])
        assert places[:2].tolist() == places[2:].tolist()


@pytest.mark.parametrize("size", [*range(12), 100, 1000])
def test_a_part_is_sorted_in_place(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.integers(max(1, size // 2), size=size + 5)
    wanted = values.copy()
    wanted[2 : 2 + size].sort()
    arrange(values, 2, 2 + size)
    assert values.tolist() == wanted.tolist()


@pytest.mark.parametrize("seed", heavy_after(range(20), 2))
def test_lists_under_fewer_key_values(seed: int) -> None:
    """With rows that see themselves, with lists that end early, and with none."""
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n, domain, rows = int(rng.integers(1, 9)), int(rng.integers(1, 5)), int(rng.integers(0, 12))
        keys = [np.flatnonzero(rng.random(domain) < 0.6) for _ in range(n)]
        all_pairs = [rng.permutation(n * domain)[: rng.integers(0, n * domain + 1)] for _ in range(rows)]
        ends = np.cumsum([len(pairs) for pairs in all_pairs]).astype(np.int64)
        pairs = np.concatenate([*all_pairs, np.zeros(0, np.int64)])
        start = np.append(0, ends)[:-1]
        own_j = rng.integers(-1, n, rows)
        given = (
            start, ends, pairs // domain, pairs % domain, own_j, rng.integers(0, domain, rows),
            offsets([len(key) for key in keys]), np.concatenate(keys),
        )  # fmt: skip
        found = []
        for body in (filter_lists, filter_with_numpy):
            out, stop, reached = np.zeros((2, len(pairs)), np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
            with always_compiled():
                body(*given, out, stop, reached)
            found.append((out[:, : stop[-1] if rows else 0].tolist(), stop.tolist(), reached.tolist()))
        assert found[0] == found[1]


def some_sets(rng: np.random.Generator, n: int) -> input_sets.SetRows:
    """A set of inputs for each of n positions: few, many, or none."""
    sets = [np.flatnonzero(rng.random(n) < rng.choice([0, 0.01, 0.3, 1])) for _ in range(n)]
    found = InputSets.of_lists(offsets([len(one) for one in sets]), np.concatenate(sets).astype(np.int64))
    return found.arrays


@pytest.mark.parametrize("seed", heavy_after(range(20), 2))
def test_sets_of_inputs_are_united(seed: int) -> None:
    """Block by block where room is short."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        n = int(rng.choice([1, 5, 63, 64, 65, 150]))
        words = (n + 63) // 64
        a, b, none = some_sets(rng, n), some_sets(rng, n), input_sets.SetRows(np.zeros(1, np.int64), a_few(rng, 0, 1))
        rows = offsets(rng.integers(0, 3, n))
        lists, count = a_few(rng, int(rows[-1]), max(1, n)), max(1, n)
        start = np.sort(rng.integers(0, 50, count))
        arrays = ListArrays(
            rows, lists, np.zeros(len(lists), np.int64), start, start + rng.integers(0, 4, count), a_few(rng, 60, n),
            np.zeros(60, np.int64),
        )  # fmt: skip
        several, sizes = a_few(rng, len(lists), 2), a_few(rng, n, 3)
        reads = input_sets.Reads(*(found if rng.random() < 0.7 else none for found in (a, b, a)))
        cache = np.zeros((count if rng.random() < 0.5 else 0, words + 1), np.int64)
        room = int(rng.integers(words, 1 + n * words))
        for kernel, numpy, given in (
            (input_sets.unite_sets, input_sets.unite_with_numpy, (a, b, a_few(rng, n, 2))),
            (input_sets.head_depends, input_sets.depends_with_numpy, (arrays, several, sizes, reads, cache)),
        ):
            found = []
            for body in (kernel, numpy):
                start_at, ends, bits, blocks = 0, np.zeros(n, np.int64), np.zeros(words, np.int64), list[object]()
                while start_at < n:
                    out = np.zeros(room, np.int64)
                    with always_compiled():
                        start_at = body(*given, start_at, bits, out, ends)
                    blocks.append((start_at, out[: ends[start_at - 1]].tolist()))
                found.append((blocks, ends.tolist()))
            assert found[0] == found[1]


def a_few(rng: np.random.Generator, count: int, below: int) -> I64:
    """Some numbers."""
    return rng.integers(0, below, count)
