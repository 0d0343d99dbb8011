"""The options of scans and lists of rows: :mod:`restrict.base.options` says what a row is."""

from dataclasses import dataclass

from restrict.base.options import HUGE, option


@dataclass
class RowOptions:
    """Of time and memory: rows are the same with other values."""

    spread: int = option(1 << 22, 0, HUGE, "pairs of positions from which rows are shared among other processes", HUGE)
    least_rows: int = option(64, 1, HUGE, "and the fewest rows of a block")
    pairs: int = option(100_000_000, 1, HUGE, "limit: pairs kept for a head; beyond, it is not captured well enough")
    buffer: int = option(1 << 21, 1, HUGE, "pairs that a kernel fills at a time")
    scores: int = option(1 << 29, 1, HUGE, "scores from which a kernel returns, to look at the deadline")
    plain_pairs: int = option(1 << 24, 0, HUGE, "pairs that numpy takes: a quarter of what compilation takes", 0)
    plain_block: int = option(1 << 15, 1, HUGE, "pairs that are scored at a time, which stay in the cache")
    long_row: int = option(2**18, 0, HUGE, "pairs from which a row is shared among threads", HUGE)
    short_row: int = option(2**13, 0, HUGE, "pairs of all positions up to which numpy scans sooner than the kernel", 0)
    """The kernel's call has many arguments: at 3200 pairs it takes 0.3 to 0.6 ms, numpy 0.15 to 0.2."""
    numpy_pairs: int = option(2**20, 0, HUGE, "pairs of a row up to which it may, for as long as compiling takes", 0)
    few_less: int = option(16, 1, HUGE, "positions with less than the domain around which a long row is cut")
    pairs_a_part: int = option(2**21, 1, HUGE, "or one for so many pairs")
    wide_key: int = option(64, 0, HUGE, "key values from which the floor of what is restricted is computed first", HUGE)
    known: int = option(256, 0, HUGE, "from at most so many of them", 0)
    first_pairs: int = option(48, 1, HUGE, "pairs of a row that are listed at first")
    more_pairs: int = option(512, 1, HUGE, "the same where the row is costly")
    costly: int = option(2**22, 0, HUGE, "scores from which a row is")
    first_places: int = option(256, 1, HUGE, "places of a list looked at first, four times as many in each next step")
    vast: int = option(2**33, 0, HUGE, "scores of a row that takes seconds: more of its pairs are a new scan", HUGE)
    vast_pairs: int = option(4096, 1, HUGE, "so that so many are listed at first")
    kept: int = option(2**21, 0, HUGE, "limit: positions of all spans that are kept for scans, two numbers each", 0)
    part: int = option(2**20, 1, HUGE, "positions of a hashed row that are scanned at a time")
    long_scan: int = option(2**22, 0, HUGE, "scores of a row from which kinds are looked for: a millisecond", HUGE)


ROWS = RowOptions()
