"""The options of the searches for Theorem 1: :mod:`restrict.base.options` says what a row is."""

from dataclasses import dataclass

from restrict.base.options import HUGE, option


@dataclass
class ExchangeOptions:
    """Of the capture of a layer by exchange. ``scripts/ablation.py --search exchange`` prints what each gains."""

    puts: int = option(200, 2, HUGE, "a step puts in the best of so many random literals", 2)
    drops: int = option(8, 1, HUGE, "and takes out the best of so many random set inputs", 1)
    rounds: int = option(40, 1, HUGE, "rounds, each with a wall of its own", 1)
    steps: int = option(200, 0, HUGE, "steps of all rounds together for each input that may be set", 0)
    least: int = option(60_000, 0, HUGE, "and the fewest of them", 0)
    most: int = option(1_000_000, 1, HUGE, "and the most")
    shorter: int = option(16, 1, HUGE, "so many times fewer steps where an objective bends everywhere", 1)
    heat: float = option(0.1, 0, HUGE, "temperature of the first round, in parts of the objective for a set input", 0)
    hotter: int = option(10, 0, HUGE, "more where few are set: 1 + this / set inputs times as much", 0)
    above: int = option(120, 1, HUGE, "the wall, below which the mean counts, is where one position in so many is")
    steep: float = option(8.0, 0, HUGE, "beyond the wall a dependency costs at most exp(steep) times as much", 0)
    longest_list: int = option(512, 16, HUGE, "the most pairs of a row that the search looks at")
    pairs: int = option(24_000_000, 1, HUGE, "limit: the most pairs of a layer")
    lengths: float = option(1.3, 0, HUGE, "pairs of a row, in those that random inputs keep times log(rows)")
    """Half of that makes c twice as large on some programs whose keys take several inputs."""
    enough: int = option(160, 0, HUGE, "but at least so many: shorter lists do not show the worst positions", 0)
    held: int = option(64_000_000, 0, HUGE, "limit: while the layer has at most this many", 0)
    walks: int = option(60_000_000, 1, HUGE, "limit: pairs of one exchange for every set input; beyond, a sample")
    rows_at_once: int = option(2**21, 1, HUGE, "rows of keys between two looks at the deadline: a fraction of a second")
    sample_pairs: int = option(2_000_000, 1, HUGE, "limit: pairs of that sample")
    sample_scores: int = option(1_000_000_000, 1, HUGE, "limit: scores of that sample")
    shortest: int = option(16, 1, HUGE, "the fewest pairs of a row that the search looks at", 1)
    schedule: int = option(5, 0, 7, "the candidate that is taken unmeasured")


EXCHANGE = ExchangeOptions()


@dataclass
class RepeatingOptions:
    """Of the search for restrictions that repeat."""

    short: int = option(288, 1, HUGE, "patterns are tried at this length, or at six of the longest periods")
    longest: int = option(512, 1, HUGE, "the longest period that is tried", 1)
    ends: int = option(4, 0, HUGE, "the longest words at the two ends", 0)
    trials: int = option(40, 0, HUGE, "changes tried for each period", 0)
    looks: int = option(8, 1, HUGE, "patterns that are tried at the length asked for", 1)


REPEATING = RepeatingOptions()


@dataclass
class TheoremOptions:
    """Of candidates, of Stage 3, of the layers that all methods read, and of the theorem's constants."""

    checks: int = option(80, 0, HUGE, "collapses for freeing; with a deadline, freeing goes on until then", 0)
    repair_block: int = option(512, 1, HUGE, "labels whose dependency sets are unpacked at a time")
    measure_at: int = option(1200, 1, HUGE, "candidates are measured at this length, where n is longer")
    hopeless: float = option(0.98, 0, 1, "none follow where the best one's labels depend on so much of what is free", 1)
    """On average, at the very length that is asked for. Five symbols, two layers of two heads, 90 % free, n = 200:
    1.6 seconds instead of 62 for the same trivial c."""
    measuring: float = option(0.4, 0, 1, "with a deadline: the share of the time in which candidates are measured", 0)
    searching: float = option(0.8, 0, 1, "the share of the time left in which a run searches", 1)
    grace: float = option(3.0, 0, HUGE, "seconds after which even that is cut off", 0)
    parts: int = option(64, 1, HUGE, "given c, the free share is found to one part in so many", 1)
    first_shares: tuple[float, ...] = (0.8, 0.65, 0.5, 0.35, 0.2)
    """Shares of the inputs left that a layer below the last one may use, tried until one is worse than the one before:
    the smaller they are, the more inputs a layer keeps and the more the next one costs."""
    closer: float = option(0.94, 0, 1, "local search is asked for a k that is smaller by this factor, and again")
    roughly: int = option(8, 1, HUGE, "k is found to one part in so many while the split is measured", 1)
    meetings: int = option(100_000_000, 0, HUGE, "limit: (head, input, head) that are looked at to count neighbours", 0)
    lemma_pairs: int = option(5_000, 0, HUGE, "limit: uncaptured pairs for which the local lemma is checked", 0)
    points: int = option(1 << 24, 1, HUGE, "limit: points of a map that is tabulated at all positions at once")
    cube: int = option(12, 1, HUGE, "literals of a cube", 1)
    excluded: int = option(10, 0, HUGE, "pairs of a list that a cube may exclude", 0)
    widest: int = option(64, 0, HUGE, "limit: values of a domain for which cubes are looked for", 0)
    few_args: int = option(4, 0, HUGE, "arguments of a map up to which all boxes are tried", 0)
    most_args: int = option(16, 0, HUGE, "limit: and beyond which none are", 0)
    buffer: int = option(1 << 20, 1, HUGE, "words that a kernel fills at a time")
    part: int = option(16, 1, HUGE, "positions that a thread takes at a time")
    kept: int = option(10_000_000, 0, HUGE, "limit: pairs of a head whose lists are kept", 0)
    pilots: int = option(32, 1, HUGE, "rows that are scanned to estimate how many pairs all of them hold", 1)
    n0_weight: float = option(1e-3, 0, 1, "halving n0 counts as this part of halving k: else delta would shrink", 0)


THEOREM = TheoremOptions()
