"""``restrict warm-up``: compile every kernel now, so that no later command waits for it."""

import sys
from collections.abc import Iterable, Iterator

from restrict.cli import common
from restrict.cli.printer import put
from restrict.cli.terminal import is_terminal


@common.command("warm-up")
@common.flag("--list listed", "Only say where compiled kernels are kept and how many are there.")
@common.option("--jobs", common.Whole(1, 4096), "Processes.  [default: all cores]")
@common.JSON
def warm_up(o: common.Given) -> None:
    """Compile every kernel now, so that no later command waits for it.

    This takes some minutes of processor time, once for each version of restrict on a machine. It is never needed:
    commands compile what they need when that pays.
    """
    from restrict.base.blocks import cores
    from restrict.kernels.cache import folder, forms

    if not o.listed:
        from restrict.sweep.exercises import EXERCISES, warm

        for _ in shown(warm(o.jobs or cores()), len(EXERCISES)):
            pass
    place, count = folder(), forms()
    nowhere = "the cache folder cannot be written, so that every process compiles for itself; RESTRICT_CACHE names one"
    told = nowhere if place is None else f"{count} compiled kernels in {place}"
    put(told, lambda: {"folder": None if place is None else str(place), "kernels": count}, o.as_json)


def shown(names: Iterator[str], total: int) -> Iterable[str]:
    """The names as they come, with a bar on a terminal."""
    if not is_terminal(sys.stderr):
        return names
    from rich.console import Console
    from rich.progress import track

    return track(names, "compiling kernels (once)", total=total, console=Console(stderr=True))
