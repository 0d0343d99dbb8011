"""The options of the search for refutations: :mod:`restrict.base.options` says what a row is."""

from dataclasses import dataclass

from restrict.base.options import HUGE, option


@dataclass
class RefuteOptions:
    """Of refutations and of the optimum among them."""

    tries: int = option(200, 1, HUGE, "restrictions that the abstract run is asked to confirm", 1)
    pool: int = option(40, 0, HUGE, "words kept of either kind", 0)
    symbols: int = option(10_000_000, 1, HUGE, "limit: symbols, over all completions, that one search may ask for")
    cores: int = option(200, 0, HUGE, "closed restrictions of more than one position that are remembered", 0)
    many: int = option(64, 0, HUGE, "with more positions fixed the question is asked only once in so many times")
    short: int = option(300, 0, HUGE, "Dyck languages: the pool and completions are used only up to this length", 0)
    patience: int = option(3, 1, HUGE, "passes after which a vain search ends; one fewer after a pre-restriction", 1)
    share: int = option(5, 1, HUGE, "at either end the pre-restriction fixes one position in so many")
    full: int = option(40_000_000, 0, HUGE, "limit: scores (n^2 for each head) of a witness that is run in full", 0)
    counted: int = option(20_000, 0, HUGE, "up to this length the members are counted before the search", 0)
    assignments: int = option(256, 1, HUGE, "values of the dependencies that are tried for c > 0", 1)
    every_length: int = option(20_000, 0, HUGE, "limit: states of an automaton that may prove it for all lengths", 0)


REFUTE = RefuteOptions()
