"""The options of the bounds on influence: :mod:`restrict.base.options` says what a row is."""

from dataclasses import dataclass

from restrict.base.options import HUGE, option


@dataclass
class InfluenceOptions:
    """Of the searches for pairs of words, and of the covers of what bounds them."""

    near: float = option(1.02, 1, HUGE, "how near the bound on attention is to be, by the two words found", HUGE)
    parts: int = option(40, 1, HUGE, "parts that are looked at for it", 1)
    narrow: float = option(1.01, 1, HUGE, "parts whose limits are nearer than this are not halved")
    light: float = option(1e-12, 0, 1, "what a lower limit counts at least, by the upper one")
    words: int = option(192, 1, HUGE, "words that the search for pairs begins with", 1)
    rounds: int = option(12, 0, HUGE, "rounds of changing the best ones", 0)
    kept: int = option(4, 1, HUGE, "how many are kept of a logit", 1)
    mutants: int = option(24, 1, HUGE, "changed words of each", 1)
    exchanges: int = option(96, 1, HUGE, "exchanges tried of one word", 1)
    exhaustive: int = option(2**16, 0, HUGE, "exchanges that are all tried before sampling starts", 0)
    starts: int = option(64, 1, HUGE, "words of each kind that the ascent to a large change begins with", 1)
    climb: int = option(6, 1, HUGE, "pairs of a symbol and logit that climb", 1)
    again: int = option(5, 0, HUGE, "times that the best are changed and climb again", 0)
    ways: int = option(4, 1, HUGE, "parts of the way between two words' results, at most", 1)
    cells: int = option(4000, 1, HUGE, "pairs of cells of one symbol and logit", 1)
    near_logit: float = option(1.02, 1, HUGE, "pairs are halved until the bound is this near what is attained", HUGE)
    active: int = option(6, 1, HUGE, "axes along which a pair's exchanges are tried", 1)
    paired: int = option(7, 1, HUGE, "how many of them are paired", 1)
    fan: int = option(6, 1, HUGE, "directions in a plane of two", 1)
    first_fan: int = option(16, 1, HUGE, "the same in a plane of the widest axis, over all words", 1)
    thin: float = option(1e-6, 0, 1, "coordinates of a cell with less of the widest one have no generator", 0)
    products: int = option(128, 1, HUGE, "generators, the largest ones, whose products are told apart", 1)
    table_words: int = option(1 << 20, 0, HUGE, "words of one symbol at the output whose logits are computed", 0)
    table_more: int = option(8, 1, HUGE, "so many times more where the time will do", 1)
    table_speed: float = option(100_000, 0, HUGE, "words a second that this counts on", 0)
    batch: int = option(1 << 11, 1, HUGE, "and at a time")
    even: int = option(48, 4, HUGE, "directions of a polygon, all around")
    finer: int = option(8, 0, HUGE, "halvings of the angle on both sides of that of the least y", 0)
    pieces: int = option(8, 1, HUGE, "parts of a range between whose ends a GELU is interpolated", 1)
    small: float = option(1e-4, 0, HUGE, "ranges not wider than this have a slope instead", 0)
    floor_cells: int = option(8, 1, HUGE, "cells of a symbol and logit; the floor is the same on every machine", 1)
    prefixes: int = option(2**14, 0, HUGE, "prefixes that are all evaluated; beyond, samples", 0)
    sample: int = option(64, 1, HUGE, "random words of which axes are made", 1)
    planes: int = option(4, 1, HUGE, "axes whose planes are covered", 1)
    half_fan: int = option(16, 1, HUGE, "directions of a half plane", 1)


INFLUENCE = InfluenceOptions()
