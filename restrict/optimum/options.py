"""The options of lower bounds, minimum sets and explanations: name, value, range, meaning, and the value that switches
each off. ``scripts/ablation.py --search optimum`` switches each off, and doubles it, and prints what it gains. What
only an interface or a unit of effort says is a constant of the modules."""

from __future__ import annotations

from dataclasses import dataclass

from restrict.base.options import HUGE, option


@dataclass
class OptimumOptions:
    """What the searches go by: all read :data:`OPTIONS`, which :func:`restrict.base.options.changed` changes."""

    # boxes
    goals: tuple[tuple[int, float], ...] = ((2, 0.0), (3, 0.5), (3, 1.0), (3, 1.0))
    """Alternatives tried and noise of the goal-directed searches for one box."""
    work: int = option(50_000, 1, HUGE, "effort of one search for a box", 1)
    more_work: int = option(2_000_000, 1, HUGE, "effort of the one that follows where all of these fail", 1)
    apart_work: int = option(200_000, 1, HUGE, "effort of the search for a box without given positions", 1)
    widenings: int = option(24, 0, HUGE, "sets of symbols tried at one position to allow more of them", 0)
    tokens: int = option(24, 1, HUGE, "positions that a goal-directed search may fix", 1)
    words: int = option(200, 0, HUGE, "random words tried where the goals find nothing", 0)
    enough: int = option(3, 1, HUGE, "boxes made of them", 1)
    box_sat_length: int = option(2_000, 0, HUGE, "up to this length SAT is asked where everything else fails", 0)
    box_sat_clauses: int = option(500_000, 0, HUGE, "and up to this size of the formula", 0)

    # lower bounds
    boxes: int = option(4_000, 1, HUGE, "boxes at most")
    nodes: int = option(40_000_000, 1, HUGE, "nodes of one tree at most")
    plain_nodes: int = option(400_000, 1, HUGE, "the same where the symbols are too many for a compiled run")
    """That is a hundred times as slow."""
    most_apart: int = option(256, 1, HUGE, "disjoint boxes of one label that are looked for at first", 1)
    harvest: int = option(20_000, 1, HUGE, "nodes of one tree over all boxes after a search of larger steps", 1)
    trimmed: int = option(10_000_000, 1, HUGE, "nodes of one tree, at most, by which boxes are left out", 1)
    step: int = option(6, 0, HUGE, "from this level on the next one is at most twice as far", HUGE)
    cheap: int = option(1_000, 0, HUGE, "if the last one's trees had at most so many nodes", 0)
    """As for models that are made of blocks. Else a tree several levels on would not end, and prove nothing."""

    # minimum sets
    dives: int = option(
        40, 1, HUGE, "dives without another label, after which SAT is asked or all is left undecided", 1
    )
    few_dives: int = option(8, 1, HUGE, "the same where SAT is in reach", 1)
    dive_step: int = option(8, 1, HUGE, "one step of a dive sets one part of so many of the open tokens", 1)
    fails: int = option(6, 1, HUGE, "random words without another label: no further disjoint block is expected", 1)
    first_fails: int = option(80, 1, HUGE, "a proof is tried", 1)
    more_words: int = option(2_000, 1, HUGE, "SAT is asked or the proposal is left undecided", 1)
    slow_words: int = option(300, 1, HUGE, "the same for runs that are not on kernels", 1)
    apart: int = option(8, 1, HUGE, "disjoint blocks that one proposal adds, at most; half as many by dives", 1)
    leaves: int = option(256, 1, HUGE, "leaves of the tree of one proposal", 1)
    small_tree: int = option(64, 1, HUGE, "leaves of the trees that deletion may use", 1)
    looks_first: int = option(2_500, 0, HUGE, "runs that choosing the questions of a larger tree takes, first set", 0)
    looks_others: int = option(800, 0, HUGE, "the same for each further one", 0)
    looks: int = option(12_000, 0, HUGE, "and later", 0)
    short: int = option(128, 0, HUGE, "up to this length that is done, and more spent on the first one", 0)
    """Of longer inputs no larger tree is asked for where the effort is limited: it takes seconds, and on ten random
    models (2 layers, 4 heads, n = 200 to 800) none was found."""
    lighter: int = option(600_000, 0, HUGE, "nodes that deletion by trees may cost beyond the rest", 0)
    length: int = option(20_000, 0, HUGE, "longest input for which a minimum is sought by default", 0)
    rounds: int = option(200, 1, HUGE, "its proposals at most", 1)
    reserve: int = option(6, 1, HUGE, "the last part of so many of the effort is without SAT", HUGE)
    after: int = option(10_000_000, 0, HUGE, "nodes to spend once the bound stands, without a limit before", 0)
    alternatives: int = option(8, 1, HUGE, "further minimum sets with a small tree before a large one is sought", 1)
    hard: int = option(4_000, 0, HUGE, "conflicts of a proposal from which an explanation is made of it at once", HUGE)
    """Since there may be no other."""
    sat_length: int = option(1_000, 0, HUGE, "longest input for which SAT is asked", 0)
    clauses: int = option(60_000, 0, HUGE, "largest formula of what is left under a proposal", 0)

    # explanations
    orders: int = option(3, 1, HUGE, "orders of deletion for one explanation, besides two of QuickXplain", 1)
    long_orders: int = option(9, 1, HUGE, "the same where no lighter one is sought by hitting sets", 1)
    sat_orders: int = option(4, 0, HUGE, "orders of deletion by SAT", 0)
    confirm_tries: int = option(50, 1, HUGE, "minimum explanations tried until the abstract run confirms one", 1)
    quick_length: int = option(1_000, 0, HUGE, "longest input of which QuickXplain takes all, not what is read", 0)
    """Large explanations are smaller within what is read, and deletion is faster: 52 against 55 positions, and 154
    against 163, on random models of three layers, n = 400, and of 16 states, n = 800."""
    effort: int = option(2_500_000, 1, HUGE, "nodes of all runs for a lighter explanation, without a time limit", 1)
    short_effort: int = option(5_000_000, 1, HUGE, "the same up to the length ``short``", 1)
    minimal_length: int = option(
        100, 0, HUGE, "to this length SAT says, unasked, whether it is minimal for the model", 0
    )


OPTIONS = OptimumOptions()
