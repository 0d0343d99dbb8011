"""Restrictions from inputs: the symbols that the output reads on a word force it, and deletion makes them minimal.
Where everything is fixed the abstract run is exact, so every word gives an answer, at any depth and width: the tokens
that the output reads on it (an explanation of the label, in the sense of :mod:`restrict.optimum.explain`). For programs
of hundreds of maps, as imported ones are, this is far quicker than a search from the output, since a run on kernels
costs microseconds a node."""

from __future__ import annotations

import numpy as np

from restrict.base.deadline import OutOfTime
from restrict.force.looking import Looking
from restrict.force.minimise import shrink
from restrict.force.options import INPUTS
from restrict.model.task import Task


def by_inputs(task: Task) -> tuple[dict[int, int] | None, str]:
    """A restriction that forces the label at the target, from random words; the smallest of several. Gives symbol
    indices by position, and why no more words were tried (``"budget"`` or ``"interrupted"``). The abstract run shows
    that they force the label. ``None`` in place of the symbols where none are known when the time is over, or because
    the program is too deep for a run. Cost: a run for each token read, word and order, about ``runs`` in all."""
    runs = Looking(task.instance, task.one_position("a forced output"))
    rng, best, left = np.random.default_rng(task.seed), None, INPUTS.runs
    stopped = "budget"

    def test(cube: dict[int, int]) -> dict[int, int] | None:
        """What was read of a restriction that forces the label."""
        nonlocal left
        task.deadline.check()
        left -= 1
        if len(runs.labels(cube)) != 1:
            return None
        read = runs.tokens_read()
        return {i: a for i, a in cube.items() if i in read}

    try:
        for _ in range(INPUTS.words):
            task.deadline.check()
            word = {i: int(rng.integers(len(task.instance.model.alphabet))) for i in task.instance.unpinned}
            runs.values(word)
            read = {i: word[i] for i in runs.tokens_read()}
            for _ in range(INPUTS.orders):
                found = shrink(test, read, rng.permutation(sorted(read)).tolist())
                if best is None or len(found) < len(best):
                    best = found
                    task.tell("inputs", len(best))
            if left < 0 or not best:
                break
    except (OutOfTime, RecursionError):
        pass
    except KeyboardInterrupt:
        if best is None:
            raise
        stopped = "interrupted"
    return best, stopped
