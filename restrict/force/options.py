"""The options of the goal-directed search: name, value, range, meaning, and the value that switches each off. Work is
counted in pairs walked, some millions a second, so that the same seed gives the same answer on any machine. What is
called a *limit* bounds time and memory, and gains nothing on models that take less.
``scripts/ablation.py`` switches each off, and doubles it, on a fixed set of models and prints what it gains."""

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
    commit_noise: tuple[float, ...] = option((0.0, 0.05, 0.1, 0.2, 0.3), 0, 9, "their noise, in turn", (0.0,))
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
    symbols: int = option(24, 1, HUGE, "prices: symbols of a large alphabet that are tried at a token")
    stride: int = option(7919, 1, HUGE, "and how far apart the first ones of two neighbours are", 1)
    box_pairs: int = option(5, 1, HUGE, "pairs of a row that are priced as anchors")
    costly_pairs: int = option(16, 1, HUGE, "the same where a row is costly, and of the first layer if exact", 5)
    queries: int = option(3, 1, HUGE, "values tried of a query that is no argument, and of roots by exact prices", 1)
    roots: int = option(64, 1, HUGE, "choices of the roots' values that are tried", 1)
    close: int = option(1, 0, HUGE, "down to this depth a variable is priced closely", 0)
    close_scores: int = option(60_000_000, 0, HUGE, "where one look takes at most this many scores", 0)
    """A dive prices some hundred nodes: at 164 million scores each (two layers of eight heads, 64 states, 20
    symbols, n = 10^6) four dives spent all that they had, and 105 positions took 102 processor seconds; with this
    limit 101 take 11."""
    enough: float = option(1.5, 1, HUGE, "a price within this of the cheapest possible one ends the search", HUGE)
    box_scores: int = option(6_000_000_000, 1, HUGE, "limit: scores for the rows of all choices of roots but the first")
    wide_box_scores: int = option(9_000_000_000, 1, HUGE, "limit: the same, wide")
    close_look: int = option(150_000_000, 1, HUGE, "limit: the same for a variable that is priced closely")
    box_scores_a_position: int = option(2**24, 1, HUGE, "limit, wide: the same for each position, for short instances")
    hungry: int = option(16, 1, HUGE, "choices of the roots that are tried at any cost while there is no box", 1)
    scores_a_step: int = option(12_000, 1, HUGE, "unit: so many scores take as long as one step of work")
    pricing: int = option(16, 1, HUGE, "boxes that a price looks at for each number of arguments left out")
    repairs: int = option(24, 0, HUGE, "how often a part of one goal may fail in a committed dive", 0)
    """Four layers of eight heads, 16 states: nothing fails at n = 100 000, and at n = 10 000, where nearly all
    tokens are needed, no answer was met with 24 of them."""
    compiled_nodes: int = option(2**22, 0, HUGE, "limit: nodes, and words of all V, for which arrays are made", 0)
    compiled_keys: int = option(64, 0, HUGE, "limit: values of a key, other than the position, for arrays", 0)
    compiled_cells: int = option(2**24, 0, HUGE, "limit: values of all tables that are kept", 0)
    one_table: int = option(2**16, 0, HUGE, "limit: values of one table that is kept", 0)
    small_table: int = option(2**12, 0, HUGE, "limit: the same of a callable", 0)
    compiled_pairs: int = option(2**23, 0, HUGE, "limit: pairs of all rows that are kept", 0)
    layer_boxes: int = option(20_000, 0, HUGE, "limit: boxes of a map that is priced exactly (3^9 = 19 683)", 0)
    layer_scores: int = option(4_000_000_000, 0, HUGE, "limit: scores for the lists of all rows", 0)
    free_anchors: int = option(512, 1, HUGE, "anchors with nothing harmful above them that a noisy pass looks at", 1)
    priced: int = option(32, 0, 2**16, "wide: maps with more combinations than this are forced by priced boxes")
    values_a_step: int = option(64, 1, HUGE, "unit: so many values of a large alphabet take as long as a step of work")
    too_much: int = option(3, 1, HUGE, "wide: an anchor is not tried at over so many times the tokens left", HUGE)
    guarded_anchors: int = option(4, 0, HUGE, "how many more anchors than alternatives are looked at with a guard", 0)
    points: int = option(768, 1, HUGE, "cheapest combinations evaluated for one choice of the roots")
    line: int = option(256, 1, HUGE, "limit: values of an argument that may be left out", 1)
    box_points: int = option(4096, 1, HUGE, "limit: points of a box", 1)
    lines: int = option(40_000, 1, HUGE, "limit: points evaluated for one choice of the arguments that are left out", 1)
    level: int = option(192, 1, HUGE, "boxes that are kept for each number of these", 1)
    table: int = option(4096, 0, HUGE, "all boxes are looked at where a product has at most this many points", 0)
    boxes: int = option(60_000, 0, HUGE, "and at most this many boxes", 0)
    probes: int = option(3, 0, HUGE, "points of a large box that are tried first", 0)
    image: int = option(2**16, 1, HUGE, "limit: combinations of a map's arguments in an image; beyond it is wide")
    spelt: int = option(2**12, 0, HUGE, "the values of a whole domain of up to this size are listed one by one", 0)
    rest: int = option(2**20, 0, HUGE, "limit: values that a goal lists because it excludes the others", 0)
    plan_pairs: int = option(12, 1, HUGE, "pairs of a row that the planner looks at as anchors")
    plan_boxes: int = option(2**16, 1, HUGE, "boxes up to which their sides are all sets, else fewer", 1)
    largest: int = option(8, 1, 8, "limit: values of an argument of a planned map: the costs of sets are a vector", 1)
    classes: int = option(13, 1, 16, "limit: values of a planned map", 1)
    vain: int = option(8, 0, HUGE, "plans that cannot be met are not counted up to so many times as many in all", HUGE)
    samples: int = option(16, 1, HUGE, "nodes of a variable whose mean cost stands for those that are not opened", 1)
    draws: int = option(8, 1, HUGE, "draws of what is below each of them", 1)
    plan_word: int = option(100_000, 1, HUGE, "limit: positions of the word that they are taken from", 1)
    listed: int = option(2**20, 1, HUGE, "the run abstains on a long row whose floor is not among so many pairs", HUGE)
    long_list: int = option(2**24, 1, HUGE, "a row of more pairs than this is long", HUGE)
    few_facts: int = option(64, 0, HUGE, "a long walk is given up for the row's index where so few facts are known", 0)
    long_walk: int = option(200, 1, HUGE, "steps of such a walk; where more is known, a walk soon reaches the floor")
    pair_charge: int = option(50, 0, HUGE, "scores that listing one pair counts as, where rows are charged", 0)
    many_keys: int = option(64, 1, HUGE, "the run abstains on a row with more key values and a floor that is not", HUGE)
    longest_walk: int = option(400, 1, HUGE, "among so many pairs: candidates above it have nearly all values", HUGE)


OPTIONS = SearchOptions()


@dataclass
class CaseOptions:
    """Of the trees of cases."""

    leaves: int = option(4096, 1, HUGE, "leaves of a tree", 1)
    quick_leaves: int = option(256, 1, HUGE, "leaves of a tree whose questions are not compared", 1)
    deepest: int = option(256, 1, 512, "limit: questions on the way to a leaf: each is a call on Python's stack", 1)
    compared: int = option(12, 1, HUGE, "positions, those that leave most open, that are compared for a question", 1)
    others: float = option(0.3, 0, HUGE, "weight of the cases other than the worst one", 0)
    looks: int = option(40_000, 0, HUGE, "runs for the choice of questions", 0)
    quick_nodes: int = option(8_000, 1, HUGE, "nodes of all runs of a tree whose questions are not compared")
    long_nodes: int = option(200_000, 1, HUGE, "the same where they are compared: some seconds")
    quick_runs: int = option(60, 0, HUGE, "added to quick_nodes for each variable, for programs of many maps", 0)
    long_runs: int = option(400, 0, HUGE, "the same to long_nodes", 0)
    faster: int = option(12, 1, HUGE, "unit: how many times as many nodes are examined on kernels as in Python", 1)
    quick_scores: int = option(10_000_000, 0, HUGE, "scores of all runs of a tree whose questions are not compared", 0)
    node: int = option(100, 0, HUGE, "unit: what a run costs besides its nodes, in nodes", 0)


CASES = CaseOptions()


@dataclass
class InputOptions:
    """Of the search by random inputs."""

    words: int = option(40, 1, HUGE, "random words", 1)
    orders: int = option(3, 1, HUGE, "orders of deletion for each", 1)
    runs: int = option(40_000, 1, HUGE, "runs in all of them together")


INPUTS = InputOptions()


@dataclass
class ReleaseOptions:
    """Of the search that releases positions."""

    all_nodes: int = option(4_000, 0, HUGE, "up to so many nodes all are examined, for the least dependencies", 0)
    every_node: int = option(60_000, 0, HUGE, "up to so many the answer is also looked at with all of them, once", 0)
    work: int = option(400_000, 1, HUGE, "effort of one search, in units of ForcingState.work", 1)
    looks: int = option(4_000, 1, HUGE, "looks of one search", 1)
    short: int = option(400, 0, HUGE, "up to this length it also starts from whole inputs: their label is fixed", 0)
    sample: int = option(24, 1, HUGE, "releases that are compared before one is chosen, for the least c", 1)
    greedy: int = option(100, 1, HUGE, "the same for the fewest fixed positions", 1)


RELEASES = ReleaseOptions()
