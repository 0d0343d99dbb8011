"""A model under construction: its variables with their domains, and the parts that all regions have in common."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.random import Generator

from tests import naive
from tests.generator.expressions import FAR, Phrase, Range, apply, bounded, constant, grown

MASKS = ("none", "past", "strict_past", "future", "strict_future")
LONGEST = 7
"""Models of the region "any" are defined at every length up to here (where ``when`` holds)."""
POSITIONS = ("i", "j", "position")
MARKS = {"start_marker": "<", "end_marker": ">"}
Model = dict[str, Any]


@dataclass(frozen=True)
class Sized:
    """A domain over ``n``: its text, and bounds of its size over all lengths."""

    text: str
    low: int
    high: int


@dataclass
class Draft:
    """A program under construction, for all lengths or (with ``n``) for one."""

    rng: Generator
    n: int | None = None
    domain: dict[str, int | Sized] = field(default_factory=dict)
    depth: dict[str, int] = field(default_factory=dict)
    variables: list[Model] = field(default_factory=list)

    def below(self, size: int) -> int:
        """A random integer in ``0 .. size-1``."""
        return int(self.rng.integers(size))

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return bool(self.rng.random() < probability)

    def pick(self, options: Sequence[Any]) -> Any:
        """One of the options."""
        return options[self.below(len(options))]

    def recent(self, names: Sequence[str], share: float = 0.3) -> str:
        """One of the names, more likely the last one."""
        return names[-1] if self.chance(share) else str(self.pick(names))

    def declare(self, variable: Model, domain: int | Sized, depth: int) -> None:
        """Put a variable at the end of the list."""
        self.variables.append(variable)
        self.domain[variable["name"]] = domain
        self.depth[variable["name"]] = depth

    def most(self, name: str) -> int:
        """The largest size of a variable's domain, at any length."""
        size = self.domain[name]
        return size if isinstance(size, int) else size.high

    def ranges(self, names: Sequence[str], query: str = "", key: str = "") -> dict[str, Range]:
        """The intervals of names in an expression; ``q`` and ``k`` are those of the query and the key."""
        top = self.n or FAR
        known = {"n": (self.n or 1, top), "i": (0, top - 1), "j": (0, top - 1)}
        roles = {"q": query, "k": key}
        return {a: known[a] if a in known else (0, self.most(roles.get(a, a)) - 1) for a in names}


def started(rng: Generator, n: int | None, letters: int, marked: float) -> tuple[Draft, Model]:
    """A draft with its tokens, and the head of its model."""
    draft = Draft(rng, n)
    model: Model = {"format": "restrict-model/1", "name": "random", "alphabet": list("abcdefgh"[:letters])}
    for key, symbol in MARKS.items():
        if draft.chance(marked) and not (n == 1 and "start_marker" in model):
            model[key] = symbol
    markers = sum(key in model for key in MARKS)
    draft.domain = {"token": letters + markers, "position": n or Sized("n", 1, FAR)}
    draft.depth = {"token": 0, "position": 0}
    return draft, model


def over_n(draft: Draft, size: int) -> Sized:
    """A domain over ``n`` of at least ``size`` values at every length."""
    rng, names = draft.rng, draft.ranges(["n"])
    more = bounded(rng, grown(rng, names, 1 + draft.below(2), shallow=0.8, large=0.0), 1 + draft.below(3))
    whole: Phrase = apply(rng, "+", constant(size), more)
    if draft.chance(0.2):
        whole = apply(rng, "max", grown(rng, names, 0, large=0.0), constant(size))
    return Sized(whole.text, max(whole.low, size), whole.high)


def point(draft: Draft, ranges: Mapping[str, Range]) -> dict[str, int]:
    """Small values for some names, with the positions below ``n``."""
    n_draw, *draws = draft.rng.integers(1 << 30, size=1 + len(ranges)).tolist()
    n = draft.n or 2 + n_draw % 6
    found = {
        a: low + draw % (min(high - low, 7) + 1) for draw, (a, (low, high)) in zip(draws, ranges.items(), strict=True)
    }
    return {a: n if a == "n" else value % n if a in POSITIONS else value for a, value in found.items()}


def lively(draft: Draft, make: Callable[[], Phrase], ranges: Mapping[str, Range], free: Sequence[str]) -> Phrase:
    """A phrase that changes with the free names alone, if a few draws give one; most random arithmetic is constant."""
    phrase, moving = make(), {a: ranges[a] for a in free if a in ranges}
    for _ in range(6):
        for _ in range(3):
            here = point(draft, ranges)
            value = naive.evaluate(phrase.text, here)
            # A position beyond n is no harm here: the interval of the phrase holds at every n.
            if any(naive.evaluate(phrase.text, here | point(draft, moving)) != value for _ in range(3)):
                return phrase
        phrase = make()
    return phrase


def when_text(draft: Draft) -> Phrase:
    """A condition over ``n``."""
    return grown(draft.rng, draft.ranges(["n"]), 1 + draft.below(3))


def tensor(draft: Draft, sizes: dict[str, int], low: int, high: int) -> Model:
    """A tensor with the given axes and random entries in ``low .. high``."""
    values = draft.rng.integers(low, high + 1, size=list(sizes.values())).tolist()
    return {"axes": list(sizes), "values": values}


def uneven(draft: Draft, sizes: dict[str, int], low: int, high: int) -> Model:
    """A tensor whose entries are not all equal, if a few draws give one."""
    found = tensor(draft, sizes, low, high)
    for _ in range(3):
        if len(set(str(found["values"]).replace("[", "").replace("]", "").split(", "))) > 1:
            return found
        found = tensor(draft, sizes, low, high)
    return found


def axis_size(draft: Draft, name: str) -> int:
    """The size of the axis of a variable, or of ``i`` or ``j``, for which it may be more than is needed."""
    if name in ("i", "j"):
        return (draft.n or LONGEST) + draft.below(2)
    size = draft.domain[name]
    assert isinstance(size, int)
    return size


def shuffled(draft: Draft, sizes: dict[str, int]) -> dict[str, int]:
    """The same in another order."""
    order = [list(sizes)[int(index)] for index in draft.rng.permutation(len(sizes))]
    return {axis: sizes[axis] for axis in order}


def table_score(draft: Draft, query: str, key: str, wanted: dict[str, float]) -> Model:
    """A table or a dot product; ``wanted`` is the probability of each axis."""
    roles = {"q": query, "k": key, "i": "i", "j": "j"}
    sizes = {axis: axis_size(draft, roles[axis]) for axis in wanted if fits(draft, roles[axis])}
    axes = shuffled(draft, {axis: size for axis, size in sizes.items() if draft.chance(wanted[axis])})
    if draft.chance(0.5):
        return {"table": uneven(draft, axes, -1, 1 + draft.below(2))}
    dim = 1 + draft.below(3)
    left = {axis: size for axis, size in axes.items() if axis in "qi"} | {"dim": dim}
    right = {axis: size for axis, size in axes.items() if axis in "kj"} | {"dim": dim}
    return {"dot": {"query": tensor(draft, left, -1, 1), "key": tensor(draft, right, -1, 1)}}


def fits(draft: Draft, name: str) -> bool:
    """Whether a variable (or ``i`` or ``j``) can be the axis of a table: its size is known."""
    return name in ("i", "j") or isinstance(draft.domain[name], int)


def map_table(draft: Draft, args: Sequence[str], size: int, placed: float) -> Model:
    """A table over some of the arguments, and with the probability ``placed`` over ``i``."""
    axes = [name for name in args if fits(draft, name) and draft.chance(0.85)]
    if len(axes) < 3 and draft.chance(placed):
        axes.insert(draft.below(len(axes) + 1), "i")
    return {"table": uneven(draft, {axis: axis_size(draft, axis) for axis in axes}, 0, size - 1)}


def finished(draft: Draft, head: Model, mask: str | None = None, over: float = 0.1) -> None:
    """Mask, ties, domain and default of a head with its roles and score, and declare it; each may stay unsaid."""
    if mask is not None or draft.chance(0.8):
        head["mask"] = mask or draft.pick(MASKS)
    if draft.chance(0.7):
        head["ties"] = draft.pick(("left", "right"))
    size = draft.domain[head["value"]]
    if draft.chance(0.35):
        size = wider(draft, size, over)
        head["domain"] = size.text if isinstance(size, Sized) else size
    if draft.chance(0.6):
        head["default"] = draft.below(size if isinstance(size, int) else size.low)
    read = [head["value"]] + [head[role] for role in ("query", "key") if role in head]
    draft.declare(head, size, 1 + max(draft.depth[name] for name in read))


def wider(draft: Draft, size: int | Sized, over: float) -> int | Sized:
    """A domain for copies of a value: as large, or larger; ``over`` is the share of those over ``n``."""
    if isinstance(size, Sized):
        return Sized(f"{size.text} + 1", size.low + 1, size.high + 1)
    return over_n(draft, size) if draft.chance(over) else size + draft.below(2)


def random_output(draft: Draft, accept_only: bool, every: float, share: float = 0.7) -> Model:
    """Any variable, mostly the last one, with all three ways to name labels."""
    names = list(draft.domain)
    variable = names[-1] if draft.chance(share) or accept_only else draft.pick(names)
    output: Model = {"variable": variable, "position": "every" if draft.chance(every) else "last"}
    size = draft.domain[variable]
    kind = 0 if accept_only else draft.below(3)
    if kind == 0:
        number = size if isinstance(size, int) else size.low
        output["accept"] = [a for a in range(number) if draft.chance(0.5)]
        if len(output["accept"]) in (0, number) and draft.chance(0.7):
            output["accept"] = [draft.below(number)]
    elif kind == 1 and isinstance(size, int):
        output["labels"] = [draft.pick(("x", "y", "z")) for _ in range(size)]
    return output
