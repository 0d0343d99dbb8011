"""A task: which output of which model at which length is asked about, and how and how long the search goes on. Every
public search makes one, with one check of the arguments, and passes it on to its parts."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from restrict.base.deadline import NEVER, Deadline, Progress
from restrict.base.errors import ResourceLimit, UsageError, quote
from restrict.model.arguments import the_integer, the_model, the_seed, the_time
from restrict.model.program import Instance, Model
from restrict.version import __version__

MAX_VALUES = 2**24
"""The most values of an output that are gone through."""
Target = Literal["last", "all"] | int


def position_of(instance: Instance, target: Target) -> int | None:
    """The position, 0 .. n-1, of the target ``"last"`` or a position; ``None`` for ``"all"``."""
    if target == "last":
        return instance.n - 1
    if instance.model.output.position != "every":
        raise UsageError(
            f"target {target}: {quote(instance.model.name)} has its output at the last position only; "
            'use `target="last"`'
        )
    if target == "all":
        return None
    if isinstance(target, str | bool) or not 0 <= target < instance.n:
        raise UsageError(f"target {quote(target)} is neither last, all nor a position 0..{instance.n - 1}")
    return target


@dataclass(frozen=True)
class Task:
    """The output of ``instance`` at ``target``; the search's ``seed``, ``deadline`` and ``progress``. The same seed
    gives the same answer where the deadline never comes. ``notes`` go into the provenance of the certificates made for
    this task, beside the engine's version and the seed."""

    instance: Instance
    target: Target = "last"
    seed: int = 0
    deadline: Deadline = NEVER
    progress: Progress | None = field(default=None, repr=False)
    notes: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def of(
        model: Model,
        n: int,
        *,
        target: Target = "last",
        seed: int = 0,
        time: float | None = None,
        progress: Progress | None = None,
    ) -> "Task":
        """The task of a public call; its clock starts here. ``target``: ``"last"``, ``"all"`` or a position. ``seed``:
        0 .. 2^63 - 1. ``time``: seconds, or ``None`` for a fixed budget of work. ``progress``: called with (what is
        being done, best number of fixed positions so far)."""
        deadline, seed = Deadline.after(the_time(time)), the_seed(seed)
        instance = the_model(model).at(the_integer("n", n, 1))
        position_of(instance, target)
        return Task(instance, target, seed, deadline, progress)

    @property
    def position(self) -> int | None:
        """The position of the output, ``None`` for all."""
        return position_of(self.instance, self.target)

    def one_position(self, what: str) -> int:
        """The position of the output. Gives 0 .. n-1."""
        if self.position is None:
            raise UsageError(f"target all: {what} is for one position")
        output = self.instance.model.output.variable
        if output != "position" and self.instance.domains[output] > MAX_VALUES:
            raise ResourceLimit(
                f"the output {quote(output)} has {self.instance.domains[output]} values, more than 2^24, which cannot "
                "be listed; let a map of few values be the output"
            )
        return self.position

    @property
    def provenance(self) -> dict[str, Any]:
        """The provenance of the certificates made for this task."""
        return {"engine": __version__, "seed": self.seed, **dict(self.notes)}

    def noting(self, **notes: Any) -> "Task":
        """The same task with more notes, which replace older ones of the same name."""
        return replace(self, notes=tuple({**dict(self.notes), **notes}.items()))

    def until(self, deadline: Deadline) -> "Task":
        """The same task with another deadline: that of a part of the work."""
        return replace(self, deadline=deadline)

    def tell(self, what: str, best: int | None = None) -> None:
        """Report progress, if asked for; ``best``: the least number of fixed positions so far, if there is one."""
        if self.progress is not None:
            self.progress(what, best)
