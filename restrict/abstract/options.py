"""The options of the abstract run: :mod:`restrict.base.options` says what a row is."""

from dataclasses import dataclass

from restrict.base.options import HUGE, option


@dataclass
class RunOptions:
    """Of time and memory: the run says the same with other values, where it answers."""

    box: int = option(4096, 1, HUGE, "limit: combinations of a map's arguments; beyond, the run goes node by node")
    block: int = option(2**16, 1, HUGE, "positions scored at a time")
    shared: int = option(2**12, 0, HUGE, "points of images, and pairs of candidates, that are kept for other runs", 0)
    most_shared: int = option(2**15, 0, HUGE, "limit: images, and candidates, that are kept", 0)
    points: int = option(2**20, 1, HUGE, "limit: combinations of arguments of a map, unless a cone asks for it")


RUN = RunOptions()
