"""The options of the search for verdicts on trained models: name, value, range, meaning, and the value that switches
each off. They are hints' options: no value of them can make a certificate wrong, as the trusted checker decides.
``scripts/ablation.py --search verdict`` switches each off, and doubles it, and prints what it gains. What the checker
has, too, what numbers a certificate can hold, and what floats may be off are constants of the modules."""

from dataclasses import dataclass

from restrict.base.options import HUGE, option

Fine = tuple[float, int]
"""How far keys may be from their centre in a cell of a node, and halvings on one branch."""


@dataclass
class VerdictOptions:
    """What the search goes by: all read :data:`OPTIONS`, which :func:`restrict.base.options.changed` changes."""

    # one layer: a case
    cells: int = option(400, 1, HUGE, "cells of one case before it is left open")
    fewer: int = option(75, 1, HUGE, "the same where a memory can tell all words apart, of several heads")
    deepest: int = option(24, 1, 60, "halvings on one branch: cases that are decided need at most half as many")
    tried: int = option(5, 1, HUGE, "coordinates, the widest ones, that are tried before one is halved", 1)
    coarse: tuple[float, ...] = option(
        (0.1, 0.03), 0, 1, "a case is first tried without coordinates in which no value is farther from the mean", ()
    )
    """The time of a check grows with their number. A quarter must be left out, or the try is not worth its bytes."""
    finest: float = option(1e-9, 0, 1, "an open case is tried with all in which some value is farther, too", 1e-3)
    """What others leave to the remainder no cell makes smaller."""
    few: int = option(3, 0, HUGE, "a case of more cells is tried in coordinates of its own", HUGE)
    along: int = option(100, 1, HUGE, "cells of a case along its worst label, which is the last that is tried")
    hard: int = option(12, 0, HUGE, "several heads: a case of more cells is tried along its worst label, too", HUGE)
    """More coordinates of their own take more bytes than a few cells."""
    turns: int = option(24, 0, 250, "coordinates of their own in one certificate", 0)
    room: int = option(10_000, 0, HUGE, "their numbers (nine bytes each); beyond, they are for open cases alone", 0)
    again: float = option(1.3, 1, HUGE, "own coordinates are tried again at a position that is this much greater", HUGE)
    shortest: int = option(4, 1, HUGE, "the shortest words for which own coordinates are tried", 1)
    words: int = option(60, 2, HUGE, "words that are sampled for own coordinates")
    gain: float = option(0.7, 0, 1, "the share of cells that is worth own coordinates")
    parts: tuple[int, ...] = option((1, 2), 1, 64, "parts of the range of the inverse deviation on a cell", (1,))
    held_parts: tuple[int, ...] = option((1, 2, 4, 8), 1, 64, "the same with bounds on what neurons read", (1,))
    simple: int = option(7, 1, HUGE, "a case of more cells is tried with bounds on what neurons read", HUGE)
    neurons: int = option(24, 0, 1 << 16, "on so many of them; of a case that is still open, on all", 0)
    apart: float = option(4.0, 0, HUGE, "a quotient of denominators is halved where it loses so many times more", HUGE)
    """Than what is not of the first order: its halves take no more cells than others, and make multipliers
    stronger."""
    pieces: int = option(16, 2, HUGE, "the most pieces of a neuron's range, at whose width the grid begins", 2)

    # one layer: cells that no word reaches, and multipliers of sides
    cut: float = option(1e-3, 0, 1, "a side of a cell counts where it is off the box's by this part of its width")
    known: int = option(64, 1, HUGE, "words nearest to a cell with which the search for multipliers begins", 1)
    tries: int = option(24, 1, HUGE, "words that are looked at for one bound", 1)
    penalty: float = option(2.0, 0, HUGE, "the penalty, in parts of the bound's own size, at first")
    steeper: float = option(8.0, 1.01, HUGE, "how much more it is where it does not do")
    steepest: float = option(1e4, 0, HUGE, "and how much at most")
    inside: float = option(0.01, 0, 1, "a mixture that leaves the cell by less, in half widths, shows there are none")

    # one layer: cases that share their hints
    ahead: int = option(8, 0, HUGE, "cases to come for which a box is made wider, at first")
    farthest: int = option(64, 1, HUGE, "and at most; twice as many where that does, else a quarter")
    rest: int = option(-1, -HUGE, 0, "where not even the next case can share, so many are left alone, less one")

    # the run
    many: int = option(60, 1, HUGE, "open cases after which the search gives up", 1)
    memories: int = option(3, 0, HUGE, "memories, one upon the other", 0)
    single: int = option(200, 1, HUGE, "prefixes shorter than a wrong word up to which each is a case of its own", 1)
    """One cell, no search."""
    singles_room: int = option(18_000, 0, HUGE, "the same, times the width, where a case stays open otherwise", 0)
    """The certificate has so many numbers for them."""
    whole_room: int = option(500_000, 0, HUGE, "the same for all prefixes, where there are no more", 0)
    """A sum modulo p: what the neurons make of all words of one sum is no cell."""
    run: int = option(6, 1, HUGE, "the length of the last run of a symbol is remembered up to this")
    below: float = option(1, 0, HUGE, "below a wrong word cases have so many times the seconds taken so far", 0)
    """All that is left there is whether it is shortest."""
    least_below: float = option(10.0, 0, HUGE, "but at least so many seconds", 0.0)
    least_memory: float = option(
        0.5, 0, HUGE, "from the first open case on, while memories are tried, at least these", 0.0
    )

    # wrong words
    short_words: int = option(2000, 1, HUGE, "words that are tried for one length, if there are no more", 1)
    each: int = option(1 << 19, 0, HUGE, "scores of all words of the shortest lengths that are tried one by one", 0)
    random: int = option(256, 1, HUGE, "random words of the greatest length", 1)
    random_work: int = option(1 << 22, 1, HUGE, "scores of all of them: at 2000 symbols one random word is left", 1)
    starts: int = option(4, 0, HUGE, "random words that an attack starts from, beside the mean of all values", 0)
    steps: int = option(6, 1, HUGE, "linearisations from each", 1)
    worst: int = option(2, 1, HUGE, "labels of one case that are attacked: those of the least margin at the mean", 1)
    grid: int = option(8, 1, HUGE, "positions of a first round of attacks", 1)
    many_words: int = option(1 << 16, 1, HUGE, "several layers: words that are tried for one length", 1)
    dear: int = option(3 * 10**10, 0, HUGE, "several layers: products of numbers for all of them", 0)
    climb: int = option(1 << 25, 0, HUGE, "scores of a climb without a shorter wrong word", 0)
    changes: tuple[int, ...] = option((1, 2, 4, 8), 1, HUGE, "how many symbols are changed on average", (1,))

    # two layers: the order of trials
    finer: tuple[Fine, ...] = ((0.2, 3), (0.1, 4), (0.05, 5))
    wider: tuple[Fine, ...] = ((0.5, 3), (0.2, 3), (0.1, 4))
    """With the memory made for the model: boxes are narrow there, and a cell that is open is halved anyway."""
    several: Fine = (0.2, 4)
    """The first of these with several heads: boxes are wide there but mostly empty."""
    histories: tuple[tuple[int, float, int], ...] = ((40, 1.0, 4), (40, 0.3, 2), (40, 0.0, 3), (80, 0.0, 1))
    """What came before is remembered by at most so many states for a position, which are one where they span no more
    than the second number, for such a part of the time that is left: half as many states, where they do, are half as
    many cases; where they hardly do, they need many cells."""
    patient: float = option(
        0.5, 0, HUGE, "where more is spanned, an open case has no second try: finer ones come", HUGE
    )
    sparse: float = option(0.6, 0, 1, "where states that span little are one, at most so many of all cases", 0)
    hunt: int = option(4, 1, HUGE, "the hunt for wrong words has one part of so many of the time")
    share: int = option(8, 1, HUGE, "what has no memory that is made for the model has one part of so many of it")
    samples: int = option(6, 1, HUGE, "words that stand for a state", 1)
    seen_later: tuple[int, ...] = option((3, 10), 1, HUGE, "symbols later the second layer is looked at, too")

    # two layers: nodes and cases
    narrow: float = option(1e-3, 0, HUGE, "cells of a node are not narrower", 0.0)
    node_deepest: int = option(40, 1, 60, "halvings on one branch")
    one_left: float = option(1 / 8, 0, 1, "what a halving counts where one half of a node's cell has no word", 1.0)
    """It makes no more cells."""
    point: float = option(1e-3, 0, 1, "what is open on so small a part of a cell is open however the cell is halved")
    second_parts: tuple[int, ...] = option((1, 2, 4), 1, 64, "parts of the inverse deviation on a cell", ())
    output_cells: int = option(6, 0, HUGE, "cells of the second layer's output at one cell of a node", 0)
    slopes: tuple[float, ...] = option(
        (0.5, 1.0, 2.0, 0.02, -1.0), -HUGE, HUGE, "slopes that are tried, by the last good one", ()
    )
    slopes_near: tuple[float, ...] = option((0.75, 1.3), -HUGE, HUGE, "and then by the best", ())
    sloped: float = option(0.1, 0, 2, "the share of the widest side from which a side of the box has a slope", 2.0)
    leaves: tuple[int, int] = option((24, 200), 0, HUGE, "more cells of a case's own node, at first and in the end")
    split: int = option(10, 0, 20, "how often a cell that is not decided is halved on a branch", 0)
    node_turns: int = option(4, 1, HUGE, "a node is tried in the last coordinates of its symbol and state", 1)
    node_bases: int = option(240, 0, 250, "coordinates of nodes' own in one certificate, which holds 256", 0)
    near: float = option(4, 0.001, HUGE, "and in its own where the sides are more than this part of the width", 0.001)
    """That its keys may have. Those of one word, which has no axes, hold no other."""
    better: float = option(0.75, 0, 1, "its own are kept where that sum is so much smaller")
    node_rest: int = option(15, 0, HUGE, "in vain, more and more nodes are left alone, up to so many", 0)
    least_axis: float = option(1e-3, 0, HUGE, "directions in which no value is farther from the mean are left out", 0)
    axis_words: int = option(64, 1, HUGE, "random words of each length that is looked at for axes", 1)
    long: int = option(32, 0, HUGE, "generators, the longest ones, that are multiplied for a form's deviation", 0)
    scales: tuple[int, ...] = option(
        (40, 48, 54), 24, 62, "bits behind the point of potentials, the fewest first that will do", (54,)
    )
    looser: tuple[int, ...] = option((0, 4, 64, 1024), 0, HUGE, "units of 2^-24 by which bounds move outward", (0,))
    far: int = option(256, 1, HUGE, "words of about this length show the coordinates of a hard case of all lengths")
    cycle_turns: int = option(240, 0, 250, "coordinates of their own of all lengths", 0)
    first_words: int = option(12, 0, HUGE, "words up to this length are tried first, all of them where they are few", 0)
    firm: int = option(25, 1, HUGE, "cells of a case in coordinates of its own", 1)
    """Twice as many take 4 seconds more for 4 more positions of one model in three, none of the others."""
    together: int = option(32, 1, HUGE, "cells whose rounding is bounded at once: more take no less time", 1)
    transitions: int = option(100, 0, HUGE, "transitions that are gone through for a case, as looking takes longer", 0)
    equal: float = option(1e-7, 0, HUGE, "states that are nearer are merged in any case", 0)
    processes: int = option(8, 1, 64, "processes", 1)
    worth: int = option(24, 1, HUGE, "leaves of cases that are worth a process")
    leaf: int = option(900, 1, HUGE, "unit: how many bounds a symbol of a path one costs")
    sent: int = option(6, 0, HUGE, "leaves of cases that are sent together before there is a certificate", 0)
    process_room: int = option(1 << 22, 0, HUGE, "larger models are checked in one process, as each has tables", 0)
    waiting: int = option(2, 0, HUGE, "how often a process is sent cases before it has verified the first", 0)
    least_second: float = option(1e-9, 0, HUGE, "directions of the first layer that are left to the remainder", 0)
    maps: int = option(128, 0, HUGE, "unit: a token's maps take as long as d^2 by this many scores")
    batch: int = option(1 << 22, 1, HUGE, "numbers in the scores, or in the neurons, of one batch")


OPTIONS = VerdictOptions()
