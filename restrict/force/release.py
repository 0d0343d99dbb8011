"""The search that trades c for free positions: what to fix so that the label depends on few other positions.

Given c, it looks for the fewest fixed positions; given a number of fixed positions, for the least c. It starts from a
restriction that forces the output. A position that is released may join the dependency set; one whose release would add
more dependencies than allowed stays fixed. There are three moves, all judged by
:class:`restrict.force.dependence.DependenceState`, which looks only as far as the bound on the dependencies allows, so
that a look costs the same at any length:

- **release** a fixed position;
- **exchange** one or two fixed positions for one that the last look read;
- **turn** a fixed position to another symbol.

A move is kept where it makes the answer smaller, or no larger and the set of dependencies no larger either.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from restrict.abstract.run import Cone
from restrict.certificate.certificate import Certificate, certificate_of, certified
from restrict.force.dependence import DependenceState
from restrict.force.options import RELEASES
from restrict.model.arguments import least_free
from restrict.model.task import Task

Cube = dict[int, int]


class Release:
    """A local search over restrictions; ``best`` is valid at any moment: its label depends on ``depends`` only."""

    def __init__(self, task: Task, start: Cube) -> None:
        self.task, self.rng = task, np.random.default_rng(task.seed)
        self.state = DependenceState(task.instance, task.one_position("a release"))
        self.symbols = len(task.instance.model.alphabet)
        self.best, self.depends = dict(start), frozenset[int]()
        self.readable: list[int] = []
        self.looks = 0
        self._stop = self.state.work + RELEASES.work

    @property
    def spent(self) -> bool:
        """Whether the effort, or the time, is spent."""
        if self.task.deadline.moment is not None:
            return self.task.deadline.passed
        return self.looks >= RELEASES.looks or self.state.work >= self._stop

    def look(self, fixed: Cube, most: int) -> frozenset[int] | None:
        """On which positions the label depends, if these are at most ``most``."""
        self.looks += 1
        self.state.work += 20
        found = self.state.look(fixed, most)
        if found is None:
            self.readable = self.state.free_tokens()
        return found

    def order(self, cube: Cube) -> list[int]:
        """The fixed positions in random order."""
        return [int(i) for i in self.rng.permutation(sorted(cube))]

    # ------------------------------------------------------------ given c

    def fewest_fixed(self, c: int) -> None:
        """The fewest fixed positions with at most ``c`` dependencies."""
        start = dict(self.best)
        self._greedy(start, c)
        turn = 0
        while not self.spent and self.best:
            turn += 1
            if turn % 8 == 1 and len(self.task.instance.unpinned) <= RELEASES.short:
                self._delete({i: int(self.rng.integers(self.symbols)) for i in self.task.instance.unpinned}, c)
            elif turn % 4 == 1 and len(start) > 1:
                self._delete(start, c)
            else:
                self._exchange(c)
            self.task.tell(f"releasing, c = {len(self.depends)}", len(self.best))

    def _greedy(self, cube: Cube, c: int) -> None:
        """Release one position after the other, always one that leaves the fewest dependencies."""
        while cube:
            trials: list[tuple[int, int, frozenset[int]]] = []
            for i in self.order(cube)[: RELEASES.greedy]:
                found = self.look({j: a for j, a in cube.items() if j != i}, c)
                if found is not None:
                    trials.append((len(found), i, found))
            if not trials or self.spent:
                return
            _, out, depends = min(trials, key=lambda trial: trial[:2])
            cube = {j: a for j, a in cube.items() if j != out}
            self._offer(cube, depends)

    def _delete(self, cube: Cube, c: int) -> None:
        """Release what can be, one position after the other, in random order; keep the result if it is no larger."""
        cube = dict(cube)
        depends = self.look(cube, c)
        if depends is None:
            return
        for i in self.order(cube):
            rest = {j: a for j, a in cube.items() if j != i}
            found = self.look(rest, c)
            if found is not None:
                cube, depends = rest, found
        self._offer(cube, depends)

    def _exchange(self, c: int) -> None:
        """Take one to three fixed positions out, and fix fewer, or as many, of what is read then; then release."""
        out = self.order(self.best)[: int(self.rng.integers(1, 4))]
        cube = {i: a for i, a in self.best.items() if i not in out}
        if self.rng.random() < 0.2:  # the same positions with other symbols
            cube |= {i: int(self.rng.integers(self.symbols)) for i in out[:-1] or out}
        depends = self.look(cube, c)
        while depends is None and self.readable and len(cube) < len(self.best) and not self.spent:
            cube[self._next(out)] = int(self.rng.integers(self.symbols))
            depends = self.look(cube, c)
        if depends is not None:
            self._offer(cube, depends)
            if cube == self.best:
                self._delete(cube, c)

    def _next(self, out: list[int]) -> int:
        """A free position that the last look read: one of those taken out before at times, else any."""
        known = [i for i in out if i in self.readable]
        pool = known if known and self.rng.random() < 0.3 else self.readable
        return int(pool[int(self.rng.integers(len(pool)))])

    def _offer(self, cube: Cube, depends: frozenset[int]) -> None:
        if (len(cube), len(depends)) <= (len(self.best), len(self.depends)) or len(cube) < len(self.best):
            self.best, self.depends = dict(cube), depends

    # ------------------------------------------------------------ given how many may be fixed

    def least_depends(self, most: int) -> None:
        """The fewest dependencies with at most ``most`` fixed positions; where a look is given up, all free ones."""
        everything = len(self.task.instance.unpinned)
        cube = dict(self.best)
        while len(cube) > most:
            cube = self._best_release(cube, len(cube) - most)
        found = self.look(cube, everything)
        free = frozenset(i for i in self.task.instance.unpinned if i not in cube)
        self.best, self.depends = cube, free if found is None else found
        while not self.spent and self.best and self.depends:
            self._improve()
            self.task.tell(f"releasing, c = {len(self.depends)}", len(self.best))

    def _best_release(self, cube: Cube, surplus: int) -> Cube:
        """The cube without one position, or without a share of many, chosen by the dependencies that are left."""
        everything = len(self.task.instance.unpinned)
        size = max(1, surplus // 16)
        trials: list[tuple[int, int, Cube]] = []
        for start in range(0, len(cube), size):
            if len(trials) >= RELEASES.sample or (trials and self.spent):
                break
            out = self.order(cube)[:size] if size > 1 else self.order(cube)[start : start + 1]
            rest = {i: a for i, a in cube.items() if i not in out}
            found = self.look(rest, everything)
            trials.append((everything + 1 if found is None else len(found), len(trials), rest))
        return min(trials)[2]

    def _improve(self) -> None:
        """Exchange one position, or turn one, where that adds no dependencies."""
        out = self.order(self.best)[0]
        cube = {i: a for i, a in self.best.items() if i != out}
        pool = sorted(self.depends)
        chosen = out if self.rng.random() < 0.3 else int(pool[int(self.rng.integers(len(pool)))])
        cube[chosen] = int(self.rng.integers(self.symbols))
        found = self.look(cube, len(self.depends))
        if found is not None:
            self.best, self.depends = cube, found


# ---------------------------------------------------------------- certificates


def relax(task: Task, start: Certificate, c: int, free: float | Fraction | None) -> Certificate:
    """Free as much as ``c`` dependencies allow; with ``free`` set, until that fraction is free, with few dependencies.
    ``start``: a certificate with ``c = 0``. Where Ctrl-C ended its search, there is no search here: only as many
    positions as ``free`` asks for are released, from the last one down."""
    instance = task.instance
    noted = task.noting(**{k: v for k, v in start.provenance.items() if k in ("strategy", "stopped")})
    search = Release(noted, start.restriction.tokens(instance.model))
    stopped = {}
    most = None if free is None else len(instance.unpinned) - least_free(len(instance.unpinned), free)
    try:
        if start.provenance.get("stopped") == "interrupted":
            raise KeyboardInterrupt  # one Ctrl-C ends all of the search
        if most is None:
            search.fewest_fixed(c)
        else:
            search.least_depends(most)
    except KeyboardInterrupt:
        stopped = {"stopped": "interrupted"}
        if most is not None and len(search.best) > most:
            search.best = dict(list(search.best.items())[:most])
    noted = noted.noting(**stopped)
    found = _confirmed(noted, search)
    return found if most is not None or (found.c <= c and found.free >= start.free) else start


def _confirmed(task: Task, search: Release) -> Certificate:
    """The certificate of the best restriction, over the nodes of the last look; where the program has few nodes, also
    over all, if that gives a smaller c."""
    instance = task.instance
    search.look(search.best, len(instance.unpinned))
    found = certified(task, search.best, search.state.cone())
    if found.c > len(search.depends) or (found.c and _nodes(task) <= RELEASES.every_node):
        whole = certified(task, search.best, "all") if _nodes(task) <= RELEASES.every_node else found
        found = whole if whole.c < found.c else found
    return found


def few_nodes(task: Task) -> bool:
    """Whether a greedy path, which examines nodes once for every fixed position and step, takes little time."""
    return _nodes(task) <= RELEASES.all_nodes


def _nodes(task: Task) -> int:
    return task.instance.n * max(1, len(task.instance.model.variables))


def releases(task: Task, start: Certificate) -> Iterator[Certificate]:
    """Free positions one at a time, always the one that leaves the fewest dependencies; yields the certificate after
    each. Cost: one abstract run per fixed position and step."""
    instance = task.instance
    cone: Cone = "all" if few_nodes(task) else start.cone
    rho = start.restriction
    while rho.fixed:
        trials = (
            (certificate_of(instance, rho.release([i]), cone, start.target, task.provenance), i) for i in rho.fixed
        )
        found, chosen = min(trials, key=lambda trial: (trial[0].c, trial[1]))
        rho = rho.release([chosen])
        task.tell(f"freeing positions, c = {found.c}", len(rho.fixed))
        yield found
