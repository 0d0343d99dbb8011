"""The options of lower bounds, minimum sets and explanations: name, value, range, meaning, and the value that switches
each off. ``scripts/ablation.py --search optimum`` switches each off, and doubles it, and prints what it gains. What
only an interface or a unit of effort says is a constant of the modules."""

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
    dives: int = option(40, 1, HUGE, "dives without another label, after which SAT is asked, or nothing", 1)
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
    minimal_length: int = option(100, 0, HUGE, "to this length SAT says, unasked, whether it is minimal", 0)
    pairwise: int = option(6, 1, HUGE, "values up to which 'at most one' is written by pairs; else along a chain", 1)
    points: int = option(4096, 1, HUGE, "combinations of arguments that are written out; a wider map is refined")
    many_labels: int = option(64, 0, HUGE, "labels up to which all are named, else those that boxes show")
    check: int = option(20_000_000, 0, HUGE, "steps that the check of what was found may take")
    checked_a_second: int = option(2_000_000, 1, HUGE, "unit: and about how many it does in a second")
    grace: float = option(1.0, 0, HUGE, "seconds for what comes after a search whose time is over", 0)
    clause: int = option(8, 0, HUGE, "unit: what a clause costs to write, in nodes of a run", 0)
    conflict: int = option(20, 0, HUGE, "unit: what a conflict of the search for a hitting set costs", 0)
    block_length: int = option(400, 0, HUGE, "longest input for which blocks are searched for with CNF", 0)
    small: int = option(5, 0, HUGE, "blocks of up to this size are sought smallest first", 0)
    width: int = option(3, 1, HUGE, "alternatives tried at a goal of one goal-directed search for a block", 1)
    block_work: int = option(250_000, 1, HUGE, "its effort", 1)


OPTIONS = OptimumOptions()


@dataclass
class WordOptions:
    """Of the search by words."""

    trees: tuple[tuple[int, int, int], ...] = ((6, 256, 0), (1, 4096, 40_000))
    """Restrictions for which a tree is tried, its leaves, and the runs that choose its questions (0: they are not
    compared), one after the other."""
    batch: int = option(4096, 1, HUGE, "words of one batch")
    nodes: int = option(60_000_000, 1, HUGE, "limit: nodes of all variables on them")
    restrictions: int = option(2_000, 0, HUGE, "restrictions of the largest size tried", 0)
    length: int = option(64, 0, HUGE, "longest instance", 0)
    met: int = option(600, 1, HUGE, "words on which a restriction that stays in question has met one label", 1)
    at_once: int = option(256, 1, HUGE, "restrictions that share a batch of words", 1)
    batches: int = option(8, 1, HUGE, "batches of one size", 1)
    clauses: int = option(1_000_000, 0, HUGE, "largest formula that decides what words leave open", 0)
    conflicts: int = option(50_000, 0, HUGE, "conflicts of all its calls together: half a minute", 0)
    """A published program for two kinds of brackets, n = 15, takes 450 000 clauses and 23 000 conflicts, and has
    its optimum only so."""


WORDS = WordOptions()


@dataclass
class DescentOptions:
    """Of the descent by hitting sets."""

    length: int = option(128, 0, HUGE, "longest instance on which this is done by default", 0)
    clauses: int = option(150_000, 0, HUGE, "largest formula on which it is", 0)
    rounds: int = option(160, 1, HUGE, "proposals for each label", 1)
    conflicts: int = option(120_000, 1, HUGE, "conflicts of the search for them", 1)
    propagations: int = option(50_000_000, 1, HUGE, "propagations of the calls that refute them: seven seconds", 1)
    """n = 30 with 16 states and five symbols took 345 million, and nothing was gained."""
    large: int = option(16, 0, HUGE, "with more positions fixed there are too many possible proposals", 0)


DESCENT = DescentOptions()


@dataclass
class EnumerationOptions:
    """Of what is found by enumeration, of words or of restrictions."""

    trials: tuple[tuple[int, int, int], ...] = ((16, 400, 12), (256, 8_000, 6), (4096, 40_000, 3))
    """Leaves of a tree, runs for the choice of its questions, and optimal restrictions for which it is tried: the
    smallest first, since every leaf is a run of its own for the certificate and for the checker."""
    restrictions: int = option(50_000_000, 0, HUGE, "restrictions that are gone through by default", 0)
    words: int = option(2**16, 0, HUGE, "words that are", 0)
    nodes: int = option(600_000_000, 0, HUGE, "nodes of all words that are: some seconds", 0)
    many_words: int = option(2**19, 0, HUGE, "words that are where a search takes long, too", 0)
    read: int = option(1_000_000_000, 0, HUGE, "nodes that the output reads on all of them: some 10^8 a second", 0)
    table_restrictions: int = option(2_500_000, 0, HUGE, "restrictions of a table made by default, for c > 0", 0)
    table_words: int = option(2**14, 0, HUGE, "words of such a table", 0)
    kept: int = option(64, 1, HUGE, "optimal restrictions that are tried as they are", 1)
    tries: int = option(400, 1, HUGE, "c > 0: restrictions of one size that the abstract run is asked to confirm", 1)
    trees: int = option(20, 0, HUGE, "the same by a tree of cases", 0)
    chunk: int = option(1 << 14, 1, HUGE, "words that are run together")
    timed: int = option(1 << 9, 1, HUGE, "the same at first, where the clock is looked at behind them")
    exact_tries: int = option(200, 1, HUGE, "optimal restrictions tried until one is confirmed as it is", 1)
    table_tries: int = option(50, 1, HUGE, "the same for c > 0", 1)
    wide_words: int = option(2**17, 0, HUGE, "words that are run one by one where maps are too wide for the formula", 0)
    kept_entries: int = option(1 << 20, 0, HUGE, "tables of up to so many entries are kept for the recursion", 0)


ENUMERATION = EnumerationOptions()
