"""The options of the goal-directed search: name, value, range, meaning, and the value that switches each off. Work is
counted in pairs walked, some millions a second, so that the same seed gives the same answer on any machine. What is
called a *limit* bounds time and memory, and gains nothing on models that take less.
``scripts/ablation.py`` switches each off, and doubles it, on a fixed set of models and prints what it gains."""

from __future__ import annotations

from dataclasses import dataclass

from restrict.base.options import HUGE, option

Passes = tuple[tuple[tuple[int, ...], float], ...]
"""(alternatives tried by depth, noise) of successive passes."""


@dataclass
class SearchOptions:
    """What a search goes by; each field is one row of :func:`restrict.base.options.table`. All read :data:`OPTIONS`,
    which :func:`restrict.base.options.changed` changes."""

    passes: Passes = (((1,), 0.0), ((4, 1), 0.0), ((5, 2, 1), 0.4))
    """Of a model that is not wide, in turn with the next ones. They were seven; the other four gained nothing."""
    wide_passes: Passes = (((1,), 0.0), ((2, 2, 1), 0.0), ((2, 4, 2, 1), 0.1))
    """Boxes are priced by value, so the first alternative near the tokens is the cheapest. In a wide model only the
    first two: of one layer, eight and twelve heads, 40 positions fixed in 4.7 processor seconds; with three passes
    more 40 in 5.8."""
    deep: int = option(3, 1, HUGE, "from this depth on dives with priced boxes follow the first one", HUGE)
    priced_answer: int = option(12, 0, HUGE, "they do while more positions than this are fixed", HUGE)
    plans: tuple[tuple[int, float], ...] = (
        (2, 1.0), (3, 1.0), (4, 0.9), (5, 0.8), (6, 0.7), (7, 0.6), (8, 0.5), (9, 0.4), (10, 0.33), (11, 0.27),
    )  # fmt: skip
    """Of the planner: plans opened for each goal, and the share of the mean that an unopened goal counts."""
    planned: int = option(2, 1, HUGE, "from this depth on dives follow plans", HUGE)
    plan_rows: int = option(10_000, 0, HUGE, "limit: most rows that the planner lists", 0)
    plan_first: float = option(0.5, 0, 1, "share of them that the first plan may take; beyond it no plan follows", 1)
    """Five layers of three heads, four and eight states, n = 100 000: 2601 positions fixed in 47 processor seconds,
    off: 2686 in 41; 3854 where what was left of such plans was followed."""
    plan_work: int = option(300_000, 1, HUGE, "limit: work of a dive along a plan")
    hopeless: float = option(1.5, 1, HUGE, "a label whose plan takes this many times the best answer is left", HUGE)
    """Five layers of two heads, two states, n = 300, seeds 1 to 3: 80 fixed in 15 processor seconds, off: 83 in 16."""
    committed: int = option(2, 1, HUGE, "wide: from this depth on, committed dives come first", HUGE)
    """Two layers, 32 programs, n = 60 to 1000: 1579 positions fixed in 260 processor seconds, off: 2121 in 315. Four
    layers of eight heads, 16 states, n = 100 000: 7234 fixed in 38, off: none in 400."""
    commit_noise: tuple[float, ...] = option(
        (0.0, 0.05, 0.1, 0.2, 0.3), 0, 9, "their noise, one after the other", (0.0,)
    )
    commit_work: int = option(300, 1, HUGE, "limit: work of such a dive for each token of the output, or first_work")
    commit_more: int = option(600_000, 0, HUGE, "limit: work after which no more are made, beyond one a label", 0)
    huge: int = option(256, 1, HUGE, "deep and wide: from so many tokens on, later dives have less work", HUGE)
    crowded: float = option(2, 0, HUGE, "they price the first layer exactly below so many positions a token", 0)
    """Four layers of eight heads, 16 states, n = 10 000: 5407 fixed in 81 processor seconds, off: none."""
    first_work: int = option(100_000, 1, HUGE, "limit: work of an attempt while nothing is known; 4 times in each pass")
    more_work: int = option(200_000, 1, HUGE, "work of all later attempts together", 1)
    work_per_token: int = option(20_000, 0, HUGE, "and that much more for each token of the first answer", 0)
    spare: int = option(16, 0, HUGE, "not deep: but at most for so many tokens more than the best answer has", HUGE)
    many_values: int = option(16, 2, HUGE, "not wide: that much twice where some map has so many values", HUGE)
    """Two layers, two heads, 16 states, n = 100 000, seeds 0 to 2: 27 fixed in 16 processor seconds, off: 35 in 11."""
    wide_work: int = option(8_000_000, 1, HUGE, "limit: work of an attempt with priced boxes: a node takes many walks")
    first_limit: int = option(32, 1, HUGE, "limit: most tokens of the first dive")
    last_limit: int = option(1024, 1, HUGE, "limit: most tokens of the second one")
    wide_slack: int = option(16, 0, HUGE, "wide: tokens of the first dive beyond twice those of the anchors", 0)
    dives: int = option(3, 0, HUGE, "limit, wide: longest rows that a first dive may score for each anchor", 0)
    scores: int = option(2_400_000_000, 1, HUGE, "limit: scores of a search that has an answer, or after its plans")
    scores_a_position: int = option(200, 0, HUGE, "so many for each position, where that is more: 100 rows of 2", 0)
    wide_scores: int = option(24_000_000_000, 1, HUGE, "limit: the same, wide")
    deep_scores: int = option(12_000_000_000, 1, HUGE, "limit: the same, deep, and for plans and dives along them")
    row_charge: int = option(500_000, 0, HUGE, "wide, deep: scores that ordering a row counts beside its own", 0)
    """Four layers, two heads, four states, n = 10 000: 72 fixed in 12 processor seconds, off: 72 in 24."""
    noise: tuple[float, ...] = option((0.2, 0.6, 1.2), 0, 9, "relative errors on prices in improvements", (0.0,))
    wide_noise: tuple[float, ...] = option((0.0, 0.03, 0.1), 0, 9, "the same, wide: prices are sums of many", (0.0,))
    by_node: float = option(0.9, 0, 1, "wide: share of improvements that meet one node's goal again", 0.0)
    fewer: float = option(0.85, 0, 1, "wide: share of these that must take fewer tokens", 0.0)
    own_tokens: int = option(4, 1, HUGE, "wide: fewest tokens of such a node")
    node_work: int = option(20_000, 1, HUGE, "limit, wide: work of one of them")
    node_noise: tuple[float, ...] = option((0.03, 0.1, 0.3), 0, 9, "wide: noise of one of them", (0.0,))
    followed: int = option(3, 0, HUGE, "random inputs whose runs are followed where no dive succeeds", 0)
    guarded: int = option(256, 0, HUGE, "with more positions fixed a guard is asked before deletion, too", HUGE)


OPTIONS = SearchOptions()
